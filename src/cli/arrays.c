/* --in and --out: run the whole kernel on .npy arrays, on a device or in the simulator.  */
#include "cli/gen.h"
#include "driver/handle.h"
#include "driver/npy.h"
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

static void describe(Arrays *x, int i, TeDtype t) {
    static const uint8_t code[] = {2, 2, 2, 4, 10, 12, 0, 0, 0, 0, 1, 6};
    RollerArg *arg = &x->arg[i];
    RollerTensor *tensor = &x->tensor[i];
    *tensor = (RollerTensor){.device = {1, 0}, .ndim = arg->rank, .shape = arg->shape,
                             .strides = arg->strides};
    tensor->dtype.code = code[t];
    tensor->dtype.bits = (uint8_t)(8 * te_dtype_bytes(t));
    tensor->dtype.lanes = 1;
    tensor->data = arena_alloc(x->g->a, (size_t)(spanned(arg) * te_dtype_bytes(t)) + 16);
}

static void scalar(TeDtype t, const char *text, void *to) {
    if (t == TE_F64) {
        double v = strtod(text, NULL);
        memcpy(to, &v, sizeof v);
    } else if (t == TE_F32) {
        float v = strtof(text, NULL);
        memcpy(to, &v, sizeof v);
    } else {
        int64_t v = strtoll(text, NULL, 10);
        memcpy(to, &v, (size_t)te_dtype_bytes(t));
    }
}

/* Shapes at the run-time sizes that the arrays have; sizes that none of them shows are the
 * largest.  */
static void take_sizes(Arrays *x) {
    const Te *te = x->r->op->te;
    int64_t *size = ARENA_ARRAY(x->g->a, int64_t, te->n_size + 1);
    for (int i = 0; i < te->n_size; i++) size[i] = te->size[i].extent.value;
    for (int i = 0; i < x->n_in; i++) {
        const TeTensor *t = &te->tensor[i];
        for (int k = 0; k < t->rank && x->file[i].rank == t->rank; k++) {
            const TeExpr *e = t->shape[k].expr;
            if (e && e->kind == TE_SIZE && te->size[e->v.ref].kind == TE_SIZE_RUNTIME)
                size[e->v.ref] = x->file[i].shape[k];
        }
    }
    for (int i = 0; i < x->n && te->runtime; i++) {
        for (int k = 0; k < x->arg[i].rank; k++) {
            x->arg[i].shape[k] = te_extent_eval(te, &te->tensor[i].shape[k], size);
            x->arg[i].strides[k] = te_extent_eval(te, &te->tensor[i].stride[k], size);
        }
    }
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

static int read_array(Arrays *x, int i, TeDtype t, const char *path) {
    Gen *g = x->g;
    RollerArg *arg = &x->arg[i];
    const Npy file = x->file[i];
    bool fits = file.rank == arg->rank && strcmp(file.descr, npy_descr(t)) == 0;
    for (int k = 0; fits && k < arg->rank; k++) fits = file.shape[k] == arg->shape[k];
    if (!fits) {
        Buf want = buf_new(g->a);
        for (int k = 0; k < arg->rank; k++)
            buf_printf(&want, "%s%lld", k ? "," : "", (long long)arg->shape[k]);
        diag_error(&g->diag, ST_ARGS, "npy", DIAG_NOWHERE,
                   "%s: '%s' needs an array of type %s and shape (%s)", path, arg->name,
                   npy_descr(t), buf_str(&want));
        return gen_fail_here(g);
    }
    describe(x, i, t);
    spread(arg, file.itemsize, x->tensor[i].data, file.data, false);
    return 0;
}

/* Inputs that are not given: small integers by seed, as a check would use, for the largest
 * sizes.  */
static void fill(Arrays *x, int i, TeDtype t) {
    size_t bytes = te_tensor_bytes(&x->r->op->te->tensor[i]);
    describe(x, i, t);
    x->tensor[i].data = arena_alloc(x->g->a, bytes + 16);
    roller_fill(x->r->op, i, x->g->o.seed, x->tensor[i].data, bytes);
}

static int read_inputs(Arrays *x) {
    for (int i = 0; i < x->n_in; i++) {
        TeDtype t;
        te_dtype_parse(x->arg[i].dtype, strlen(x->arg[i].dtype), &t);
        const char *value = bound_to(x->g->o.in, x->g->o.n_in, x->arg[i].name);
        int code = 0;
        if (!value) {
            fill(x, i, t);
        } else if (x->arg[i].role == ROLLER_SCALAR) {
            describe(x, i, t);
            scalar(t, value, x->tensor[i].data);
        } else {
            code = read_array(x, i, t, value);
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
        TeDtype t;
        te_dtype_parse(arg->dtype, strlen(arg->dtype), &t);
        int bytes = te_dtype_bytes(t);
        Npy file = {.descr = npy_descr(t), .rank = arg->rank, .itemsize = bytes};
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
    for (int i = x.n_in; i < x.n; i++) {
        TeDtype t;
        te_dtype_parse(x.arg[i].dtype, strlen(x.arg[i].dtype), &t);
        describe(&x, i, t);
    }
    RollerRunOptions o = {.struct_size = sizeof o,
                          .device = g->o.device ? g->o.device : "auto",
                          .watchdog_s = g->o.watchdog};
    const char *where;
    RollerStatus s = roller_run(g->ctx, r->kernel, x.tensor, x.n_in, x.tensor + x.n_in,
                                x.n - x.n_in, &o, &where);
    r->ran = arena_strdup(g->a, where);
    return s ? gen_fail(g, s) : write_outputs(&x);
}
