#include "codegen/skeleton/skeleton.h"
#include "codegen/expr/sizes.h"
#include "te/tree/arith.h"

/* Maps that change the layout: a box of points is read in the order of its sources, put down in
 * shared memory, and computed and written in the order of the outputs.  */

static const PermuteView *view_of(const Kernel *k) { return &k->task->p->permute; }

static Ir unsigned_of(const Kernel *k, int64_t v) { return ir_number(k->cg, IR_U32, v); }

static Ir extent_of(const Kernel *k, int axis) {
    return size_value(k->cg, index_extent(k->cg->arena, &k->task->map, axis));
}

static int tile_of(const Kernel *k, int axis) { return k->task->r->block.extent[axis]; }

static bool is_whole(const Kernel *k, int axis) {
    return !view_of(k)->varies[axis] && tile_of(k, axis) == view_of(k)->out.digit[axis].extent;
}

static TeDtype dtype_of(const Kernel *k, int source) {
    return k->cg->te->tensor[view_of(k)->source[source].access.tensor].dtype;
}

static void permute_place(Kernel *k) {
    Cg *cg = k->cg;
    ir_note(cg, "place: the box");
    Ir smem = kernel_smem(k, 16);
    box_place(k);
    for (int i = 0; i < view_of(k)->n_source; i++)
        k->part[i] = ir_let(cg, ir_numbered(cg, "part", i),
                            kernel_room(k, smem, ir_storage(dtype_of(k, i)),
                                        rprog_room_at(k->l->layout, ROOM_BOX, i)));
    ir_simple(cg, IR_STMT_BLANK);
}

/* Element `at` of a part behind its swizzle.  */
static Ir skewed(const Kernel *k, int source, Ir at) {
    const Cg *cg = k->cg;
    const RLayout *l = &k->task->r->load[source].layout;
    int bytes = view_of(k)->source[source].bytes, chunk = RTILE_ACCESS / bytes;
    int64_t row = rprog_room(k->l->layout, ROOM_BOX, source)->row / bytes;
    if (!l->bits) return at;
    Ir line = ir_div(cg, at, unsigned_of(k, row));
    if (l->shift) line = ir_binary(cg, IR_SHR, line, ir_int(cg, l->shift));
    line = ir_rem(cg, line, unsigned_of(k, 1 << l->bits));
    return ir_binary(cg, IR_XOR, at, ir_mul(cg, line, unsigned_of(k, chunk << l->base)));
}

/* Sum of d * step over the axes, with `extra` added to one of them (NULL: to none).  */
static Ir place_in_tile(const Kernel *k, int source, const BoxVector *at, int axis, Ir extra) {
    const Cg *cg = k->cg;
    int32_t step[PERMUTE_AXES] = {0};
    Ir sum = NULL;
    rprog_permute_steps(k->task->p, k->task->r, source, step);
    for (int a = 0; a < view_of(k)->out.n_digit; a++) {
        if (step[a] == 0 || tile_of(k, a) == 1) continue;
        Ir d = a == axis && extra ? ir_add(cg, at->d[a], extra) : at->d[a];
        sum = ir_sum(cg, sum, ir_mul(cg, d, unsigned_of(k, step[a])));
    }
    return sum ? sum : unsigned_of(k, 0);
}

/* ---- filling ---- */

/* The source's element at the box's first point (`at` NULL), or at a place from there.  */
static Ir source_offset(const Kernel *k, const PermuteSource *x, const BoxVector *at) {
    const Cg *cg = k->cg;
    IrBase base = place_base(rprog_wide(k->task->p, k->task->r, &x->access, -1));
    Ir sum = at ? NULL : size_add_offset(cg, &x->access, 0, NULL);
    for (int i = 0; i < x->n_order; i++) {
        int a = x->order[i];
        if (at ? tile_of(k, a) == 1 : is_whole(k, a)) continue;
        Ir term = ir_as(cg, base, at ? at->d[a] : k->box[a]);
        if (x->stride[a] != 1 || x->varies[a])
            term = ir_mul(cg, term, size_of_stride(cg, &x->access, view_of(k)->moving[a]));
        sum = ir_sum(cg, sum, term);
    }
    return sum ? sum : ir_int(cg, 0);
}

/* Is the vector inside of the source?  An index of a tested subscript is an axis of its own.  */
static Ir is_inside(const Kernel *k, const PermuteSource *x, const BoxVector *at) {
    const Cg *cg = k->cg;
    const PermuteView *v = view_of(k);
    const TeTensor *t = &cg->te->tensor[x->access.tensor];
    Ir test = NULL;
    for (int d = 0; d < t->rank; d++) {
        const Affine *f = &x->access.sub[d];
        Ir sub = cg_int(cg, TE_I64, f->c);
        if (!x->access.guard[d]) continue;
        for (int a = 0; a < v->out.n_digit; a++) {
            Ir coef = cg_int(cg, TE_I64, f->coef[v->moving[a]]);
            if (ir_is(coef, 0)) continue;
            sub = ir_add(cg, sub, ir_mul(cg, k->box[a], coef));
            sub = ir_add(cg, sub, ir_mul(cg, ir_cast(cg, IR_I32, at->d[a]), coef));
        }
        test = ir_both(cg, test, size_inside(cg, sub, t->shape[d], false));
    }
    return test;
}

/* Stores a vector's elements one by one: their order is another here.  */
static void put_down(Kernel *k, int source, const Walked *w, BoxVector at, Ir in) {
    Cg *cg = k->cg;
    bool along = tile_of(k, w->axis[0]) % w->vec == 0;
    Ir v = w->vec > 1 ? ir_count(cg, "v", w->vec, IR_UNROLL_ALL) : NULL;
    if (v && !along) box_decode(k, w, ir_let_as(cg, IR_U32, "m", ir_add(cg, at.n, v)), at.d);
    Ir to = ir_let_as(cg, IR_U32, "at",
                      place_in_tile(k, source, &at, w->axis[0], along ? v : NULL));
    ir_set(cg, ir_element(cg, k->part[source], skewed(k, source, to)),
           ir_lane(cg, ir_element(cg, in, at.u), v));
    if (v) ir_close(cg);
}

/* Loads the vectors of a source into registers.  */
static Ir fetch(Kernel *k, int source, const Walked *w) {
    Cg *cg = k->cg;
    const PermuteSource *x = &view_of(k)->source[source];
    Ir from = ir_let(cg, "from", ir_add(cg, cg_tensor(cg, x->access.tensor),
                                        source_offset(k, x, NULL)));
    IrType type = ir_vector(ir_storage(dtype_of(k, source)), w->vec);
    int64_t rounds = box_rounds(k, w);
    Ir in = x->guarded ? ir_zeros(cg, type, "in", rounds)
                       : ir_array(cg, type, "in", rounds, 0, 0);
    BoxVector at = box_open(k, w);
    if (x->guarded) box_open_if(k, &at, is_inside(k, x, &at));
    ir_set(cg, ir_element(cg, in, at.u),
           ir_load(cg, ir_add(cg, from, source_offset(k, x, &at)), w->vec));
    box_close(k, &at);
    return in;
}

static void permute_fill(Kernel *k, const Node *n) {
    int source = n->of;
    Cg *cg = k->cg;
    const PermuteSource *x = &view_of(k)->source[source];
    Walked w = {.vec = k->task->r->load[source].vec, .unroll = BOX_UNROLL, .domain = true};
    for (int i = 0; i < x->n_order; i++) box_along(&w, x->order[i], tile_of(k, x->order[i]));
    ir_note(cg, "fill: %s in its own order, %d at a time",
            cg_tensor(cg, x->access.tensor)->name->word, w.vec);
    ir_scope(cg);
    Ir in = fetch(k, source, &w);
    BoxVector at = box_open(k, &w);
    put_down(k, source, &w, at, in);
    box_close(k, &at);
    ir_close(cg);
}

/* ---- outputs ---- */

/* The indices at the vector's first point, and its number where lanes need it.  */
static void find_indices(Kernel *k, const BoxVector *place) {
    Cg *cg = k->cg;
    Elements *at = &k->at;
    const FusedAxis *out = &view_of(k)->out;
    Ir number = NULL;
    bool wide = place_wide(out->extent, 0);
    for (int a = 0; a < out->n_digit; a++) {
        Ir p = ir_let_as(cg, place_base(box_wide(k, a)), ir_numbered(cg, "p", a),
                         box_point(k, place, a));
        place_axis(k, a, p, box_wide(k, a), at->index, at->wide);
        number = number ? ir_add(cg, ir_mul(cg, number, extent_of(k, a)), p)
                        : ir_as(cg, place_base(wide), p);
    }
    if (at->vec == 1 || !elements_decoded(k)) return;
    at->line = (Line){ALONG_ALL, ir_let_as(cg, place_base(wide), "at", number), wide};
}

/* A source's accesses of a vector, as an array of them.  */
static Ir take_up(Kernel *k, int source, const BoxVector *at) {
    Cg *cg = k->cg;
    int width = rprog_permute_width(k->task->p, k->task->r, source), accesses = k->at.vec / width;
    Ir y = ir_array(cg, ir_vector(ir_storage(dtype_of(k, source)), width),
                    ir_numbered(cg, "y", source), accesses, 0, 0);
    Ir p = ir_count(cg, "p", accesses, IR_UNROLL_ALL);
    Ir first = place_in_tile(k, source, at, -1, NULL);
    Ir from = ir_let_as(cg, IR_U32, "at",
                        ir_add(cg, first, ir_mul(cg, p, unsigned_of(k, width))));
    Ir pointer = ir_add(cg, k->part[source], skewed(k, source, from));
    ir_set(cg, ir_element(cg, y, p), ir_load(cg, pointer, width));
    ir_close(cg);
    return y;
}

/* Reads of a source are what lies in its part.  */
static void give(Kernel *k, int stmt, const Ir *y) {
    const Cg *cg = k->cg;
    const TeStmt *s = &cg->te->stmt[stmt];
    ReadList read = access_reads(s->rhs);
    for (int i = 0; i < read.n; i++) {
        int source = rtile_permute_source(k->task->p, s, read.at[i]);
        if (source < 0 || elements_given(k, stmt, read.at[i])) continue;
        Ir width = ir_int(cg, rprog_permute_width(k->task->p, k->task->r, source));
        Ir lane = elements_lane(k);
        Ir access = ir_element(cg, y[source], ir_div(cg, lane, width));
        elements_give(k, stmt, read.at[i],
                      cg_decode(cg, dtype_of(k, source),
                                ir_lane(cg, access, ir_rem(cg, lane, width))));
    }
}

static void permute_elements(Kernel *k, const Node *n) {
    (void)n;
    Elements *at = &k->at;
    const PermuteView *v = view_of(k);
    const KernelGroup *g = k->task->p->group;
    Walked w = {.vec = k->task->vec, .unroll = BOX_UNROLL, .domain = true};
    Ir y[PERMUTE_SOURCES];
    elements_order(k, v->out.index, v->out.n, k->task->vec);
    for (int a = v->out.n_digit - 1; a >= 0; a--) box_along(&w, a, tile_of(k, a));
    ir_note(k->cg, "elements: %d at a time", at->vec);
    BoxVector place = box_open(k, &w);
    at->open = place.open;
    find_indices(k, &place);
    for (int i = 0; i < v->n_source; i++) y[i] = take_up(k, i, &place);
    give(k, g->root, y);
    for (int i = 0; i < g->n_fused; i++) give(k, g->fused[i], y);
}

const KernelRow kernel_permute = {
    .place = permute_place,
    .copy = permute_fill,
    .elements = permute_elements,
};
