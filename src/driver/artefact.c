#include "driver/artefact.h"
#include "base/json.h"

#include <string.h>

/* jansson reports exhaustion by NULL; here it unwinds like any other allocation.  */
static json_t *need(Arena *a, json_t *v) {
    if (!v) arena_fail(a);
    return v;
}

static void set(Arena *a, json_t *object, const char *key, json_t *v) {
    if (json_object_set_new(object, key, need(a, v)) != 0) arena_fail(a);
}

static void push(Arena *a, json_t *array, json_t *v) {
    if (json_array_append_new(array, need(a, v)) != 0) arena_fail(a);
}

static json_t *text(const char *s) { return s ? json_string(s) : json_null(); }

static void drop_tree(void *p) { json_decref(p); }

/* An extent: a number, or a size expression in the run-time sizes.  */
static json_t *extent(Arena *a, const Te *te, const TeExtent *e) {
    if (!e->expr) return json_integer(e->value);
    Buf b = buf_new(a);
    te_print_expr(te, NULL, e->expr, &b);
    return json_string(buf_str(&b));
}

static json_t *extents(Arena *a, const Te *te, const TeExtent *e, int n) {
    json_t *list = need(a, json_array());
    for (int i = 0; i < n; i++) push(a, list, extent(a, te, &e[i]));
    return list;
}

static json_t *args(Arena *a, const Te *te, int align) {
    json_t *list = need(a, json_array());
    for (int i = 0; i < te->n_in + te->n_out; i++) {
        const TeTensor *t = &te->tensor[i];
        json_t *o = need(a, json_object());
        push(a, list, o);
        set(a, o, "name", text(t->name));
        set(a, o, "role", text(t->role == TE_VALUE    ? "scalar"
                               : t->role == TE_OUTPUT ? "output"
                                                      : "input"));
        set(a, o, "dtype", text(te_dtype_name(t->dtype)));
        set(a, o, "shape", extents(a, te, t->shape, t->rank));
        set(a, o, "strides", extents(a, te, t->stride, t->rank));
        set(a, o, "align", json_integer(t->role == TE_VALUE ? te_dtype_bytes(t->dtype) : align));
    }
    return list;
}

static json_t *sizes(Arena *a, const Te *te) {
    json_t *o = need(a, json_object());
    for (int i = 0; i < te->n_size; i++) {
        const TeSize *s = &te->size[i];
        if (!s->used || s->kind == TE_SIZE_LET) continue;
        if (s->kind == TE_SIZE_STATIC) {
            set(a, o, s->name, json_integer(s->extent.value));
            continue;
        }
        json_t *range = need(a, json_object());
        set(a, o, s->name, range);
        set(a, range, "min", json_integer(s->extent.min));
        set(a, range, "max", json_integer(s->extent.value));
        set(a, range, "multiple", json_integer(s->extent.multiple));
    }
    return o;
}

/* Sizes made of run-time sizes, in an order in which each needs only those before it.  */
static json_t *lets(Arena *a, const Te *te) {
    json_t *o = need(a, json_object());
    for (int i = 0; i < te->n_size; i++) {
        const TeSize *s = &te->size[i];
        if (s->kind == TE_SIZE_LET && s->extent.expr)
            set(a, o, s->name, extent(a, te, &s->extent));
    }
    return o;
}

/* What all kernels take, in this order, before their tensor maps.  */
static json_t *params(Arena *a, const Te *te, const KernelProgram *p) {
    static const char *const kind[] = {[PARAM_INPUT] = "input", [PARAM_SIZE] = "size",
                                       [PARAM_SCALAR] = "scalar", [PARAM_OUTPUT] = "output",
                                       [PARAM_WORKSPACE] = "workspace"};
    json_t *list = need(a, json_array());
    for (int i = 0; i < p->n_param; i++) {
        const KernelParam *x = &p->param[i];
        json_t *o = need(a, json_object());
        push(a, list, o);
        set(a, o, "kind", text(kind[x->kind]));
        set(a, o, "name", text(x->kind == PARAM_WORKSPACE ? NULL
                               : x->kind == PARAM_SIZE    ? te->size[x->ref].name
                                                          : te->tensor[x->ref].name));
        set(a, o, "type", text(x->kind == PARAM_SIZE     ? "i32"
                               : x->kind == PARAM_SCALAR ? te_dtype_name(te->tensor[x->ref].dtype)
                                                         : "pointer"));
    }
    return list;
}

static json_t *triple(Arena *a, int64_t x, int64_t y, int64_t z) {
    json_t *list = need(a, json_array());
    push(a, list, json_integer(x));
    push(a, list, json_integer(y));
    push(a, list, json_integer(z));
    return list;
}

/* Blocks along each axis: numbers, or for x an expression.  */
static json_t *grid(Arena *a, const Te *te, const KernelLaunch *l) {
    json_t *list = need(a, json_array());
    push(a, list, extent(a, te, &(TeExtent){.value = l->grid[0], .expr = l->blocks}));
    push(a, list, json_integer(l->grid[1]));
    push(a, list, json_integer(l->grid[2]));
    return list;
}

bool artefact_waits(const Build *b, const char *symbol) {
    static const char wait[] = "griddepcontrol.wait", entry[] = ".entry ";
    if (!b->compiled) return strstr(b->program.source, wait) != NULL;
    size_t len = strlen(symbol);
    for (const char *at = strstr(b->nvrtc.ptx, entry); at; at = strstr(at, entry)) {
        at += sizeof entry - 1;
        if (strncmp(at, symbol, len) != 0 || strcspn(at, "( \n") != len) continue;
        const char *found = strstr(at, wait), *next = strstr(at, entry);
        return found && (!next || found < next);
    }
    return false;
}

static json_t *numbers(Arena *a, const uint32_t *v, int n) {
    json_t *list = need(a, json_array());
    for (int i = 0; i < n; i++) push(a, list, json_integer(v[i]));
    return list;
}

/* The arguments of cuTensorMapEncodeTiled or ...Im2col, enumerations in the driver's numbers.  */
static json_t *tensor_map(Arena *a, const Te *te, const KernelMap *m) {
    const TensorMap *x = &m->fixed;
    json_t *o = need(a, json_object());
    set(a, o, "kind", text(x->im2col ? "im2col" : "tiled"));
    set(a, o, "tensor", text(m->tensor < 0 ? NULL : te->tensor[m->tensor].name));
    set(a, o, "offset", extent(a, te, &m->offset));
    set(a, o, "type", json_integer(x->type));
    set(a, o, "dims", extents(a, te, m->dim, x->rank));
    set(a, o, "strides", extents(a, te, m->stride, x->rank - 1));
    if (x->im2col) {
        set(a, o, "lower", extents(a, te, m->lower, x->rank - 2));
        set(a, o, "upper", extents(a, te, m->upper, x->rank - 2));
        set(a, o, "channels", json_integer(x->channels));
        set(a, o, "pixels", json_integer(x->pixels));
    } else {
        set(a, o, "box", numbers(a, x->box, x->rank));
    }
    set(a, o, "element_strides", numbers(a, x->element_stride, x->rank));
    set(a, o, "interleave", json_integer(x->interleave));
    set(a, o, "swizzle", json_integer(x->swizzle));
    set(a, o, "l2_promotion", json_integer(x->promotion));
    set(a, o, "fill", json_integer(x->fill));
    return o;
}

static json_t *tensor_maps(Arena *a, const Te *te, const KernelLaunch *l) {
    json_t *list = need(a, json_array());
    for (int i = 0; i < l->n_map; i++) push(a, list, tensor_map(a, te, &l->map[i]));
    return list;
}

static json_t *kernels(Arena *a, const Te *te, const Build *b) {
    json_t *list = need(a, json_array());
    for (int i = 0; i < b->program.n_kernel; i++) {
        const KernelLaunch *l = &b->program.kernel[i];
        const KernelChoice *choice = &b->program.choice[l->group];
        const KernelResources *r = build_resources(b, l->symbol);
        json_t *o = need(a, json_object());
        push(a, list, o);
        set(a, o, "symbol", text(l->symbol));
        set(a, o, "grid", grid(a, te, l));
        set(a, o, "block", triple(a, l->block[0], l->block[1], l->block[2]));
        set(a, o, "cluster", triple(a, l->cluster[0], l->cluster[1], l->cluster[2]));
        set(a, o, "dynamic_smem", json_integer(l->dynamic_smem));
        set(a, o, "static_smem", r ? json_integer(r->static_smem) : json_null());
        set(a, o, "registers", r ? json_integer(r->registers) : json_null());
        set(a, o, "spill_bytes",
            r ? json_integer(r->spill_stores + r->spill_loads) : json_null());
        set(a, o, "tensor_maps", tensor_maps(a, te, l));
        set(a, o, "waits_for_previous", json_boolean(artefact_waits(b, l->symbol)));
        set(a, o, "split", json_integer(choice->split));
        set(a, o, "group", json_integer(choice->part));
        set(a, o, "program", json_integer(l->group));
    }
    return list;
}

/* Ways to split the op into kernels.  */
static json_t *splits(Arena *a, const KernelProgram *p) {
    json_t *list = need(a, json_array());
    for (int i = 0; i < p->n_split; i++) {
        json_t *o = need(a, json_object());
        push(a, list, o);
        set(a, o, "split", json_integer(i));
        set(a, o, "name", text(p->split[i].decisions));
    }
    return list;
}

/* The programs that a launch takes: those of the first entry whose bounds its sizes keep.  */
static json_t *choices(Arena *a, const KernelProgram *p) {
    const RSelector *s = p->select;
    json_t *list = need(a, json_array());
    for (int k = 0; k < (s ? s->n : 1); k++) {
        const RChoice *c = s ? &s->choice[k] : NULL;
        const KernelSplit *split = &p->split[c ? c->split : 0];
        json_t *o = need(a, json_object()), *upto = need(a, json_array());
        json_t *programs = need(a, json_array());
        push(a, list, o);
        set(a, o, "upto", upto);
        set(a, o, "split", json_integer(c ? c->split : 0));
        set(a, o, "programs", programs);
        for (int m = 0; s && m < s->n_measure; m++)
            push(a, upto, c->most[m] < INT64_MAX ? json_integer(c->most[m]) : json_null());
        for (int g = 0; g < split->n_group; g++)
            push(a, programs, json_integer(split->first + (c ? c->program[g] : g)));
    }
    return list;
}

static json_t *predicted(Arena *a, const RollerKernel *k) {
    static const char *const term[] = {
#define X(id, key, text) key,
        MP_TERMS(X)
#undef X
    };
    Estimate e;
    compile_estimate(&k->plan.whole, &e);
    json_t *o = need(a, json_object());
    set(a, o, "us", json_real(e.us));
    set(a, o, "limiter", text(term[e.limiter]));
    json_t *terms = need(a, json_object());
    set(a, o, "terms_us", terms);
    for (int i = 0; i < MP_COUNT; i++) set(a, terms, term[i], json_real(e.term[i]));
    return o;
}

static json_t *measured(Arena *a, const RollerKernel *k) {
    const Timing *t = k->measured;
    if (!t) return json_null();
    json_t *o = need(a, json_object());
    set(a, o, "on", text(k->measured_on));
    set(a, o, "cold_us", json_real(t->cold_us));
    set(a, o, "warm_us", json_real(t->warm_us));
    set(a, o, "spread", json_real(t->spread));
    set(a, o, "samples", json_integer(t->samples));
    set(a, o, "clock_mhz", json_real(t->clock_mhz));
    return o;
}

/* How the sums of the op may be formed.  */
static json_t *numerics(Arena *a, const Te *te) {
    bool tf32 = false, x3 = false, fast = false;
    const char *accum = NULL;
    for (int i = 0; i < te->n_stmt; i++) {
        const TeStmt *s = &te->stmt[i];
        tf32 |= s->tf32;
        x3 |= s->fp32x3;
        fast |= s->fast;
        if (s->accum != TE_DTYPE_COUNT) accum = te_dtype_name(s->accum);
    }
    json_t *o = need(a, json_object());
    set(a, o, "accum", text(accum));
    set(a, o, "tf32", json_boolean(tf32));
    set(a, o, "fp32x3", json_boolean(x3));
    set(a, o, "fast", json_boolean(fast));
    return o;
}

/* Parts of the workspace of each split, and between which kernels each keeps its contents.  */
static json_t *workspace(Arena *a, const Te *te, const KernelProgram *p) {
    json_t *parts = need(a, json_array());
    for (int n = 0; n < p->n_split; n++) {
        const KernelSplit *split = &p->split[n];
        for (int i = 0; i < split->workspace.n; i++) {
            const WorkspacePart *x = &split->workspace.part[i];
            int first = p->n_kernel, last = 0;
            for (int k = 0; k < p->n_kernel; k++) {
                const KernelChoice *c = &p->choice[p->kernel[k].group];
                if (c->split != n) continue;
                if (c->part >= x->first && k < first) first = k;
                if (c->part <= x->last) last = k;
            }
            json_t *o = need(a, json_object());
            set(a, o, "split", json_integer(n));
            set(a, o, "offset", json_integer(x->at));
            set(a, o, "bytes", extent(a, te, &split->part_bytes[i]));
            set(a, o, "first_kernel", json_integer(first));
            set(a, o, "last_kernel", json_integer(last));
            push(a, parts, o);
        }
    }
    return parts;
}

static json_t *target(Arena *a, const RollerKernel *k) {
    const Device *dev = k->plans->set.dev;
    json_t *o = need(a, json_object());
    set(a, o, "arch", text(k->build.arch));
    json_t *profile = need(a, json_object());
    set(a, o, "profile", profile);
    set(a, profile, "name", text(dev->name));
    set(a, profile, "sha256", text(dev->sha256));
    set(a, o, "plan", text(k->plan.text));
    set(a, o, "predicted", predicted(a, k));
    set(a, o, "measured", measured(a, k));
    set(a, o, "numerics", numerics(a, k->plans->op->te));
    set(a, o, "static_smem", json_boolean(k->plans->set.options.static_smem));
    set(a, o, "params", params(a, k->plans->op->te, &k->build.program));
    set(a, o, "workspace_bytes", json_integer(k->build.program.workspace_bytes));
    set(a, o, "workspace", workspace(a, k->plans->op->te, &k->build.program));
    const KernelProgram *p = &k->build.program;
    set(a, o, "splits", splits(a, p));
    set(a, o, "measures",
        extents(a, k->plans->op->te, p->select ? p->select->measure : NULL,
                p->select ? p->select->n_measure : 0));
    set(a, o, "choices", choices(a, p));
    set(a, o, "kernels", kernels(a, k->plans->op->te, &k->build));
    return o;
}

int kernel_align(const RollerKernel *k) {
    enum { DEFAULT_ALIGN = 16 };
    int align = k->plans->set.options.align;
    return align > 0 ? align : DEFAULT_ALIGN;
}

void artefact_json(const RollerKernel *const *k, int n, Buf *out) {
    Arena *a = out->arena;
    const RollerOp *op = k[0]->plans->op;
    const Te *te = op->te;
    json_t *o = need(a, json_object());
    arena_defer(a, drop_tree, o);
    set(a, o, "schema", text("roller-kernel"));
    set(a, o, "schema_version", json_integer(2));
    set(a, o, "version", text(ROLLER_VERSION));
    set(a, o, "op", text(te->name));
    set(a, o, "te", text(op->text));
    set(a, o, "args", args(a, te, kernel_align(k[0])));
    set(a, o, "sizes", sizes(a, te));
    set(a, o, "lets", lets(a, te));
    const Build *b = &k[0]->build;
    set(a, o, "nvrtc",
        b->compiled ? json_string(arena_printf(a, "%d.%d", b->nvrtc_major, b->nvrtc_minor))
                    : json_null());
    json_t *targets = need(a, json_array());
    set(a, o, "targets", targets);
    for (int i = 0; i < n; i++) push(a, targets, target(a, k[i]));
    json_write(o, 2, out);
    buf_putc(out, '\n');
}
