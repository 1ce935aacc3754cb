#include "driver/artefact/artefact.h"
#include "base/json.h"
#include "driver/sizes/size_values.h"

#include <string.h>

/* An extent: a number, or a size expression in the run-time sizes.  */
static json_t *extent(Arena *a, const Te *te, const TeExtent *e) {
    if (!e->expr) return json_integer(e->value);
    Buf b = buf_new(a);
    te_print_expr(te, NULL, e->expr, &b);
    return json_text(buf_str(&b));
}

static json_t *extents(Arena *a, const Te *te, const TeExtent *e, int n) {
    json_t *list = json_new(a, json_array());
    for (int i = 0; i < n; i++) json_push(a, list, extent(a, te, &e[i]));
    return list;
}

static json_t *args(Arena *a, const Te *te, int align) {
    json_t *list = json_new(a, json_array());
    for (int i = 0; i < te->n_in + te->n_out; i++) {
        const TeTensor *t = &te->tensor[i];
        json_t *o = json_push(a, list, json_object());
        json_set(a, o, "name", json_text(t->name));
        json_set(a, o, "role", json_text(t->role == TE_VALUE    ? "scalar"
                                         : t->role == TE_OUTPUT ? "output"
                                                                : "input"));
        json_set(a, o, "dtype", json_text(te_dtype_name(t->dtype)));
        json_set(a, o, "shape", extents(a, te, t->shape, t->rank));
        json_set(a, o, "strides", extents(a, te, t->stride, t->rank));
        json_set(a, o, "align",
                 json_integer(t->role == TE_VALUE ? te_dtype_bytes(t->dtype) : align));
    }
    return list;
}

static json_t *sizes(Arena *a, const Te *te) {
    json_t *o = json_new(a, json_object());
    for (int i = 0; i < te->n_size; i++) {
        const TeSize *s = &te->size[i];
        if (!size_is_param(s)) continue;
        if (s->kind == TE_SIZE_STATIC) {
            json_set(a, o, s->name, json_integer(s->extent.value));
            continue;
        }
        json_t *range = json_set(a, o, s->name, json_object());
        json_set(a, range, "min", json_integer(s->extent.min));
        json_set(a, range, "max", json_integer(s->extent.value));
        json_set(a, range, "multiple", json_integer(s->extent.multiple));
    }
    return o;
}

/* Sizes made of run-time sizes, in an order in which each needs only those before it.  */
static json_t *lets(Arena *a, const Te *te) {
    json_t *o = json_new(a, json_object());
    for (int i = 0; i < te->n_size; i++) {
        const TeSize *s = &te->size[i];
        if (s->kind == TE_SIZE_LET && s->extent.expr)
            json_set(a, o, s->name, extent(a, te, &s->extent));
    }
    return o;
}

/* What a kernel takes, in this order, before its tensor maps.  */
static json_t *params(Arena *a, const Te *te, const KernelLaunch *l) {
    static const char *const kind[] = {[PARAM_INPUT] = "input", [PARAM_SIZE] = "size",
                                       [PARAM_SCALAR] = "scalar", [PARAM_OUTPUT] = "output",
                                       [PARAM_WORKSPACE] = "workspace"};
    json_t *list = json_new(a, json_array());
    for (int i = 0; i < l->n_param - l->n_map; i++) {
        const KernelParam *x = &l->param[i];
        json_t *o = json_push(a, list, json_object());
        json_set(a, o, "kind", json_text(kind[x->kind]));
        json_set(a, o, "name", json_text(x->kind == PARAM_WORKSPACE ? NULL
                                         : x->kind == PARAM_SIZE    ? te->size[x->ref].name
                                                                    : te->tensor[x->ref].name));
        json_set(a, o, "type",
                 json_text(x->kind == PARAM_SIZE     ? "i32"
                           : x->kind == PARAM_SCALAR ? te_dtype_name(te->tensor[x->ref].dtype)
                                                     : "pointer"));
        if (x->kind == PARAM_WORKSPACE) json_set(a, o, "offset", json_integer(x->offset));
    }
    return list;
}

/* Blocks along each axis: numbers, or for x an expression.  */
static json_t *grid(Arena *a, const Te *te, const KernelLaunch *l) {
    json_t *list = json_new(a, json_array());
    json_push(a, list, extent(a, te, &(TeExtent){.value = l->grid[0], .expr = l->blocks}));
    json_push(a, list, json_integer(l->grid[1]));
    json_push(a, list, json_integer(l->grid[2]));
    return list;
}

static json_t *numbers(Arena *a, const uint32_t *v, int n) {
    json_t *list = json_new(a, json_array());
    for (int i = 0; i < n; i++) json_push(a, list, json_integer(v[i]));
    return list;
}

/* The arguments of cuTensorMapEncodeTiled or ...Im2col, enumerations in the driver's numbers.  */
static json_t *tensor_map(Arena *a, const Te *te, const KernelMap *m) {
    const TensorMap *x = &m->fixed;
    json_t *o = json_new(a, json_object());
    json_set(a, o, "kind", json_text(x->im2col ? "im2col" : "tiled"));
    json_set(a, o, "tensor", json_text(m->tensor < 0 ? NULL : te->tensor[m->tensor].name));
    json_set(a, o, "offset", extent(a, te, &m->offset));
    json_set(a, o, "type", json_integer(x->type));
    json_set(a, o, "dims", extents(a, te, m->dim, x->rank));
    json_set(a, o, "strides", extents(a, te, m->stride, x->rank - 1));
    if (x->im2col) {
        json_set(a, o, "lower", extents(a, te, m->lower, x->rank - 2));
        json_set(a, o, "upper", extents(a, te, m->upper, x->rank - 2));
        json_set(a, o, "channels", json_integer(x->channels));
        json_set(a, o, "pixels", json_integer(x->pixels));
    } else {
        json_set(a, o, "box", numbers(a, x->box, x->rank));
    }
    json_set(a, o, "element_strides", numbers(a, x->element_stride, x->rank));
    json_set(a, o, "interleave", json_integer(x->interleave));
    json_set(a, o, "swizzle", json_integer(x->swizzle));
    json_set(a, o, "l2_promotion", json_integer(x->promotion));
    json_set(a, o, "fill", json_integer(x->fill));
    return o;
}

static json_t *tensor_maps(Arena *a, const Te *te, const KernelLaunch *l) {
    json_t *list = json_new(a, json_array());
    for (int i = 0; i < l->n_map; i++) json_push(a, list, tensor_map(a, te, &l->map[i]));
    return list;
}

static json_t *kernels(Arena *a, const Te *te, const Build *b) {
    json_t *list = json_new(a, json_array());
    for (int i = 0; i < b->program.n_kernel; i++) {
        const KernelLaunch *l = &b->program.kernel[i];
        const KernelChoice *choice = &b->program.choice[l->group];
        const KernelResources *r = build_resources(b, l->symbol);
        json_t *o = json_push(a, list, json_object());
        json_set(a, o, "symbol", json_text(l->symbol));
        json_set(a, o, "grid", grid(a, te, l));
        json_set(a, o, "resident", l->stays ? extent(a, te, &l->wanted) : json_null());
        json_set(a, o, "block", json_triple(a, l->block[0], l->block[1], l->block[2]));
        json_set(a, o, "cluster", json_triple(a, l->cluster[0], l->cluster[1], l->cluster[2]));
        json_set(a, o, "dynamic_smem", json_integer(l->dynamic_smem));
        json_set(a, o, "static_smem", r ? json_integer(r->static_smem) : json_null());
        json_set(a, o, "registers", r ? json_integer(r->registers) : json_null());
        json_set(a, o, "spill_bytes",
                 r ? json_integer(r->spill_stores + r->spill_loads) : json_null());
        if (r && r->image) json_set(a, o, "image", json_integer((json_int_t)r->image));
        json_set(a, o, "params", params(a, te, l));
        json_set(a, o, "tensor_maps", tensor_maps(a, te, l));
        json_set(a, o, "waits_for_previous", json_boolean(l->waits));
        json_set(a, o, "split", json_integer(choice->strategy));
        json_set(a, o, "group", json_integer(choice->group));
        json_set(a, o, "program", json_integer(l->group));
    }
    return list;
}

/* The fusion strategies.  */
static json_t *splits(Arena *a, const KernelProgram *p) {
    json_t *list = json_new(a, json_array());
    for (int i = 0; i < p->n_strategy; i++) {
        json_t *o = json_push(a, list, json_object());
        json_set(a, o, "split", json_integer(i));
        json_set(a, o, "name", json_text(p->strategy[i].decisions));
    }
    return list;
}

/* The programs that a launch takes: those of the first entry whose bounds its sizes keep.  */
static json_t *choices(Arena *a, const KernelProgram *p) {
    const RSelector *s = p->select;
    json_t *list = json_new(a, json_array());
    for (int k = 0; k < (s ? s->n : 1); k++) {
        const RChoice *c = s ? &s->choice[k] : NULL;
        const KernelStrategy *strategy = &p->strategy[c ? c->strategy : 0];
        json_t *o = json_push(a, list, json_object());
        json_t *upto = json_set(a, o, "upto", json_array());
        json_set(a, o, "split", json_integer(c ? c->strategy : 0));
        json_t *programs = json_set(a, o, "programs", json_array());
        for (int m = 0; s && m < s->n_measure; m++)
            json_push(a, upto, c->most[m] < INT64_MAX ? json_integer(c->most[m]) : json_null());
        for (int g = 0; g < strategy->n_group; g++)
            json_push(a, programs, json_integer(strategy->first + (c ? c->program[g] : g)));
    }
    return list;
}

static json_t *predicted(Arena *a, const RollerKernel *k) {
    Estimate e;
    compile_estimate_largest(&k->plans->set, &k->plan.whole, &e);
    json_t *o = json_new(a, json_object());
    json_set(a, o, "us", json_real(e.us));
    json_set(a, o, "limiter", json_text(mp_term_key[e.limiter]));
    json_t *terms = json_set(a, o, "terms_us", json_object());
    for (int i = 0; i < MP_COUNT; i++) json_set(a, terms, mp_term_key[i], json_real(e.term[i]));
    return o;
}

static json_t *measured(Arena *a, const RollerKernel *k) {
    const Timing *t = k->measured;
    if (!t) return json_null();
    json_t *o = json_new(a, json_object());
    json_set(a, o, "on", json_text(k->measured_on));
    json_set(a, o, "cold_us", json_real(t->cold_us));
    json_set(a, o, "warm_us", json_real(t->warm_us));
    json_set(a, o, "spread", json_real(t->spread));
    json_set(a, o, "samples", json_integer(t->samples));
    json_set(a, o, "clock_mhz", json_real(t->clock_mhz));
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
    json_t *o = json_new(a, json_object());
    json_set(a, o, "accum", json_text(accum));
    json_set(a, o, "tf32", json_boolean(tf32));
    json_set(a, o, "fp32x3", json_boolean(x3));
    json_set(a, o, "fast", json_boolean(fast));
    return o;
}

/* Parts of the workspace of each strategy, and between which kernels each keeps its contents.  */
static json_t *workspace(Arena *a, const Te *te, const KernelProgram *p) {
    json_t *parts = json_new(a, json_array());
    for (int n = 0; n < p->n_strategy; n++) {
        const KernelStrategy *strategy = &p->strategy[n];
        for (int i = 0; i < strategy->workspace.n; i++) {
            const WorkspaceBuffer *x = &strategy->workspace.buffer[i];
            int first = p->n_kernel, last = 0;
            for (int k = 0; k < p->n_kernel; k++) {
                const KernelChoice *c = &p->choice[p->kernel[k].group];
                if (c->strategy != n) continue;
                if (c->group >= x->first && k < first) first = k;
                if (c->group <= x->last) last = k;
            }
            json_t *o = json_push(a, parts, json_object());
            json_set(a, o, "split", json_integer(n));
            json_set(a, o, "offset", json_integer(x->at));
            json_set(a, o, "bytes", extent(a, te, &strategy->buffer_bytes[i]));
            json_set(a, o, "first_kernel", json_integer(first));
            json_set(a, o, "last_kernel", json_integer(last));
        }
    }
    return parts;
}

static json_t *target(Arena *a, const RollerKernel *k) {
    const Device *dev = k->plans->set.dev;
    json_t *o = json_new(a, json_object());
    json_set(a, o, "arch", json_text(k->build.arch));
    json_t *profile = json_set(a, o, "profile", json_object());
    json_set(a, profile, "name", json_text(dev->name));
    json_set(a, profile, "sha256", json_text(dev->sha256));
    json_set(a, o, "plan", json_text(k->plan.text));
    json_set(a, o, "predicted", predicted(a, k));
    json_set(a, o, "measured", measured(a, k));
    json_set(a, o, "numerics", numerics(a, k->plans->op->te));
    json_set(a, o, "static_smem", json_boolean(k->plans->set.options.static_smem));
    json_set(a, o, "plain_abi", json_boolean(k->plans->options.plain_abi != 0));
    json_set(a, o, "workspace_bytes", json_integer(k->build.program.workspace_bytes));
    json_set(a, o, "workspace", workspace(a, k->plans->op->te, &k->build.program));
    const KernelProgram *p = &k->build.program;
    json_set(a, o, "splits", splits(a, p));
    json_set(a, o, "measures",
             extents(a, k->plans->op->te, p->select ? p->select->measure : NULL,
                     p->select ? p->select->n_measure : 0));
    json_set(a, o, "choices", choices(a, p));
    json_set(a, o, "kernels", kernels(a, k->plans->op->te, &k->build));
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
    json_t *o = json_tree(a);
    json_set(a, o, "schema", json_text("roller-kernel"));
    json_set(a, o, "schema_version", json_integer(3));
    json_set(a, o, "version", json_text(ROLLER_VERSION));
    json_set(a, o, "op", json_text(te->name));
    json_set(a, o, "te", json_text(op->text));
    json_set(a, o, "args", args(a, te, kernel_align(k[0])));
    json_set(a, o, "sizes", sizes(a, te));
    json_set(a, o, "lets", lets(a, te));
    const Build *b = &k[0]->build;
    json_set(a, o, "nvrtc",
             b->compiled ? json_text(arena_printf(a, "%d.%d", b->nvrtc_major, b->nvrtc_minor))
                         : json_null());
    json_t *targets = json_set(a, o, "targets", json_array());
    for (int i = 0; i < n; i++) json_push(a, targets, target(a, k[i]));
    json_write(o, 2, out);
    buf_putc(out, '\n');
}
