/* --in and --out: run the whole kernel on .npy arrays, on a device or in the simulator.  */
#include "cli/gen.h"
#include "cli/npy.h"
#include <stdlib.h>
#include <string.h>

typedef struct {
    Gen *g;
    Result *r;
    RollerArg *arg;
    RollerTensor *tensor;
    Npy *file;                /* per input; rank 0: none was given */
    int n, n_in;
} Arrays;

static int usage(Gen *g, const char *fmt, const char *name) {
    diag_error(&g->diag, ST_USAGE, NULL, DIAG_NOWHERE, fmt, name);
    return gen_fail_here(g);
}

static const char *bound_to(const Binding *list, int n, const char *name) {
    for (int i = 0; i < n; i++)
        if (strcmp(list[i].name, name) == 0) return list[i].value;
    return NULL;
}

static int64_t elements(const int64_t *shape, int rank) {
    int64_t n = 1;
    for (int i = 0; i < rank; i++) n *= shape[i];
    return n;
}

/* Elements spanned in memory by the declared strides.  */
static int64_t spanned(const RollerArg *arg) {
    int64_t last = 0;
    for (int i = 0; i < arg->rank; i++) {
        if (arg->shape[i] == 0) return 0;
        last += (arg->shape[i] - 1) * arg->strides[i];
    }
    return last + 1;
}

/* Between a dense array and the declared strides.  */
static void spread(const RollerArg *arg, int bytes, void *strided, void *dense, bool out) {
    int64_t n = elements(arg->shape, arg->rank);
    for (int64_t i = 0; i < n; i++) {
        int64_t rest = i, at = 0;
        for (int k = arg->rank - 1; k >= 0; k--) {
            at += rest % arg->shape[k] * arg->strides[k];
            rest /= arg->shape[k];
        }
        char *s = (char *)strided + at * bytes, *d = (char *)dense + i * bytes;
        memcpy(out ? d : s, out ? s : d, (size_t)bytes);
    }
}

static int element_bytes(const RollerArg *arg) { return arg->bits / 8; }

static const NpyType *file_type(const RollerArg *arg) {
    return npy_type(arg->dtype, strlen(arg->dtype));
}

static void describe(Arrays *x, int i) {
    RollerArg *arg = &x->arg[i];
    RollerTensor *tensor = &x->tensor[i];
    *tensor = (RollerTensor){.device = {1, 0}, .ndim = arg->rank, .shape = arg->shape,
                             .strides = arg->strides};
    tensor->dtype.code = arg->code;
    tensor->dtype.bits = arg->bits;
    tensor->dtype.lanes = 1;
    tensor->data = arena_alloc(x->g->a, (size_t)(spanned(arg) * element_bytes(arg)) + 16);
}

static void scalar(const RollerArg *arg, const char *text, void *to) {
    if (strcmp(arg->dtype, "f64") == 0) {
        double v = strtod(text, NULL);
        memcpy(to, &v, sizeof v);
    } else if (strcmp(arg->dtype, "f32") == 0) {
        float v = strtof(text, NULL);
        memcpy(to, &v, sizeof v);
    } else {
        int64_t v = strtoll(text, NULL, 10);
        memcpy(to, &v, (size_t)element_bytes(arg));
    }
}

/* Shapes at the run-time sizes that the arrays have; sizes that none of them shows are the
 * largest.  */
static void take_sizes(Arrays *x) {
    const RollerOp *op = x->r->op;
    int n = roller_op_sizes(op);
    int64_t *value = ARENA_ARRAY(x->g->a, int64_t, n + 1);
    for (int i = 0; i < n; i++) {
        RollerSize s = {.struct_size = sizeof s};
        roller_op_size(op, i, &s);
        value[i] = s.value;
    }
    for (int i = 0; i < x->n_in; i++) {
        const RollerArg *arg = &x->arg[i];
        for (int k = 0; k < arg->rank && x->file[i].rank == arg->rank; k++)
            if (arg->size[k] >= 0) value[arg->size[k]] = x->file[i].shape[k];
    }
    for (int i = 0; i < x->n; i++) roller_op_arg_at(op, i, value, &x->arg[i]);
}

static int read_files(Arrays *x) {
    Gen *g = x->g;
    x->file = ARENA_ARRAY(g->a, Npy, x->n_in + 1);
    for (int i = 0; i < x->n_in; i++) {
        const char *path = bound_to(g->o.in, g->o.n_in, x->arg[i].name);
        if (!path || x->arg[i].role == ROLLER_SCALAR) continue;
        if (npy_read(g->a, &g->diag, path, SIZE_MAX / 4, &x->file[i])) return gen_fail_here(g);
    }
    take_sizes(x);
    return 0;
}

static int read_array(Arrays *x, int i, const char *path) {
    Gen *g = x->g;
    RollerArg *arg = &x->arg[i];
    const Npy file = x->file[i];
    bool fits = file.rank == arg->rank && strcmp(file.descr, file_type(arg)->descr) == 0;
    for (int k = 0; fits && k < arg->rank; k++) fits = file.shape[k] == arg->shape[k];
    if (!fits) {
        Buf want = buf_new(g->a);
        for (int k = 0; k < arg->rank; k++)
            buf_printf(&want, "%s%lld", k ? "," : "", (long long)arg->shape[k]);
        diag_error(&g->diag, ST_ARGS, "npy", DIAG_NOWHERE,
                   "%s: '%s' needs an array of type %s and shape (%s)", path, arg->name,
                   file_type(arg)->descr, buf_str(&want));
        return gen_fail_here(g);
    }
    describe(x, i);
    spread(arg, file.itemsize, x->tensor[i].data, file.data, false);
    return 0;
}

/* An input that is not given: small integers by seed, as a check would use, for the largest
 * sizes.  */
static void fill(Arrays *x, int i) {
    RollerArg largest = {.struct_size = sizeof largest};
    roller_op_arg(x->r->op, i, &largest);
    size_t bytes = (size_t)(spanned(&largest) * element_bytes(&largest));
    describe(x, i);
    x->tensor[i].data = arena_alloc(x->g->a, bytes + 16);
    roller_fill(x->r->op, i, x->g->o.seed, x->tensor[i].data, bytes);
}

static int read_inputs(Arrays *x) {
    for (int i = 0; i < x->n_in; i++) {
        const char *value = bound_to(x->g->o.in, x->g->o.n_in, x->arg[i].name);
        int code = 0;
        if (!value) {
            fill(x, i);
        } else if (x->arg[i].role == ROLLER_SCALAR) {
            describe(x, i);
            scalar(&x->arg[i], value, x->tensor[i].data);
        } else {
            code = read_array(x, i, value);
        }
        if (code) return code;
    }
    return 0;
}

static int write_outputs(Arrays *x) {
    Gen *g = x->g;
    for (int i = x->n_in; i < x->n; i++) {
        RollerArg *arg = &x->arg[i];
        const char *path = bound_to(g->o.out, g->o.n_out, arg->name);
        if (!path) continue;
        int bytes = element_bytes(arg);
        Npy file = {.descr = file_type(arg)->descr, .rank = arg->rank, .itemsize = bytes};
        memcpy(file.shape, arg->shape, sizeof file.shape);
        file.bytes = (size_t)(elements(arg->shape, arg->rank) * bytes);
        file.data = arena_alloc(g->a, file.bytes + 1);
        spread(arg, bytes, x->tensor[i].data, file.data, true);
        if (npy_write(g->a, &g->diag, path, &file)) return gen_fail_here(g);
    }
    return 0;
}

static int known_names(Arrays *x, const Binding *list, int n, bool outputs) {
    for (int i = 0; i < n; i++) {
        bool found = false;
        for (int k = outputs ? x->n_in : 0; k < (outputs ? x->n : x->n_in); k++)
            found |= strcmp(x->arg[k].name, list[i].name) == 0;
        if (!found)
            return usage(x->g, outputs ? "'%s' is no output of the op"
                                       : "'%s' is no input of the op", list[i].name);
    }
    return 0;
}

int gen_run_arrays(Gen *g, Result *r) {
    Arrays x = {.g = g, .r = r, .n = roller_op_args(r->op)};
    x.arg = ARENA_ARRAY(g->a, RollerArg, x.n);
    x.tensor = ARENA_ARRAY(g->a, RollerTensor, x.n);
    for (int i = 0; i < x.n; i++) {
        x.arg[i].struct_size = sizeof x.arg[i];
        roller_op_arg(r->op, i, &x.arg[i]);
        x.n_in += x.arg[i].role != ROLLER_OUTPUT;
    }
    int code = known_names(&x, g->o.in, g->o.n_in, false);
    if (!code) code = known_names(&x, g->o.out, g->o.n_out, true);
    if (!code) code = read_files(&x);
    if (!code) code = read_inputs(&x);
    if (code) return code;
    for (int i = x.n_in; i < x.n; i++) describe(&x, i);
    RollerRunOptions o = {.struct_size = sizeof o,
                          .device = g->o.device ? g->o.device : "auto",
                          .watchdog_s = g->o.watchdog};
    const char *where;
    RollerStatus s = roller_run(g->ctx, r->kernel, x.tensor, x.n_in, x.tensor + x.n_in,
                                x.n - x.n_in, &o, &where);
    r->ran = arena_strdup(g->a, where);
    return s ? gen_fail(g, s) : write_outputs(&x);
}
