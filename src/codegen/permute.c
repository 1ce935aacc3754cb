#include "codegen/blocks.h"
#include "codegen/sizes.h"
#include "te/tree/arith.h"
#include <string.h>

/* Maps that change the layout: a box of points is read in the order of its sources, put down in
 * shared memory, and computed and written in the order of the outputs.
 *
 * Names in the text: g the box's first point and p a point along each axis, d the distance between
 * them, part the box of a source in shared memory, n a number of an element, `at` its place.  */

static const PermuteView *view_of(const Kernel *k) { return &k->l->p->permute; }

static const char *extent_text(const Kernel *k, int axis) {
    return text_number(k->cg, index_extent(k->cg->arena, &k->l->map, axis));
}

static int tile_of(const Kernel *k, int axis) { return k->l->r->block.extent[axis]; }

static bool is_whole(const Kernel *k, int axis) {
    return !view_of(k)->varies[axis] && tile_of(k, axis) == view_of(k)->out.digit[axis].extent;
}

void permute_place(Kernel *k) {
    Cg *cg = k->cg;
    Ir box[INDEX_DIGITS];
    cg_line(cg, "// place: the box");
    kernel_smem(k, 16);
    cg_line(cg, "const unsigned tid = threadIdx.x;");
    place_grid(k, ir_block(cg, 0), box);
    for (int a = view_of(k)->out.n_digit - 1; a >= 0; a--) {
        if (ir_is(box[a], 0)) cg_line(cg, "constexpr int g%d = 0;", a);
        else cg_line(cg, "const int g%d = (int)(%s) * %d;", a, text_of(cg, box[a]), tile_of(k, a));
    }
    for (int i = 0; i < view_of(k)->n_source; i++) {
        const char *type =
            cg_storage(cg->te->tensor[view_of(k)->source[i].access.tensor].dtype);
        cg_line(cg, "%s *const part%d = reinterpret_cast<%s *>(smem + %d);", type, i, type,
                (int)rprog_room_at(k->l->layout, ROOM_BOX, i));
    }
    cg_blank(cg);
}

/* The text of element `at` of a part behind padding or swizzle.  */
static const char *skewed(const Kernel *k, int source, const char *at) {
    const RLayout *l = &k->l->r->load[source].layout;
    int bytes = view_of(k)->source[source].bytes, chunk = RTILE_ACCESS / bytes;
    long long row = rprog_room(k->l->layout, ROOM_BOX, source)->row / bytes - l->pad;
    if (l->pad) return cg_text(k->cg, "%s + %s / %lldu * %du", at, at, row, l->pad);
    if (!l->bits) return at;
    const char *line = cg_text(k->cg, "%s / %lldu", at, row);
    if (l->shift) line = cg_text(k->cg, "(%s >> %d)", line, l->shift);
    return cg_text(k->cg, "%s ^ %s %% %du * %du", at, line, 1 << l->bits, chunk << l->base);
}

/* Sum of d * step over the axes, with `extra` added to one of them (< 0: none).  */
static const char *place_in_tile(const Kernel *k, int source, int axis, const char *extra) {
    int32_t step[PERMUTE_AXES] = {0};
    const char *sum = NULL;
    rprog_permute_steps(k->l->p, k->l->r, source, step);
    for (int a = 0; a < view_of(k)->out.n_digit; a++) {
        if (step[a] == 0 || tile_of(k, a) == 1) continue;
        const char *d = cg_text(k->cg, a == axis ? "(d%d + %s)" : "d%d", a, extra);
        if (step[a] > 1) d = cg_text(k->cg, "%s * %du", d, (int)step[a]);
        sum = sum ? cg_text(k->cg, "%s + %s", sum, d) : d;
    }
    return sum ? sum : "0u";
}

/* Defines d along `axes` (innermost first) from n.  */
static void decode_number(Kernel *k, const int *axes, int n_axes, const char *number) {
    TeExtent count[PERMUTE_AXES] = {{0}};
    const char *d[PERMUTE_AXES];
    for (int i = 0; i < n_axes; i++) count[n_axes - 1 - i] = size_number(tile_of(k, axes[i]));
    text_digits(k->cg, number, count, n_axes, false, d);
    for (int i = 0; i < n_axes; i++) {
        if (tile_of(k, axes[i]) > 1)
            cg_line(k->cg, "const unsigned d%d = %s;", axes[i], d[n_axes - 1 - i]);
    }
}

/* Opens the loop over a thread's vectors of the n-th elements, inside the box and the domain.
 * Returns how many scopes are open.  */
static int open_vectors(Kernel *k, const int *axes, int n_axes, int64_t elements, int vec) {
    enum { UNROLLED = 8 };
    Cg *cg = k->cg;
    int threads = k->l->r->threads, open = 1;
    int64_t rounds = ceil_div(elements, (int64_t)threads * vec);
    const char *test = NULL;
    cg_line(cg, rounds <= UNROLLED ? "#pragma unroll" : "#pragma unroll %d", UNROLLED);
    cg_open(cg, "for (int u = 0; u < %lld; u++)", (long long)rounds);
    cg_line(cg, "const unsigned n = (u * %du + tid) * %du;", threads, vec);
    if (rounds * threads * vec != elements) {
        cg_open(cg, "if (n < %lldu)", (long long)elements);
        open++;
    }
    decode_number(k, axes, n_axes, "n");
    for (int i = 0; i < n_axes; i++) {
        int a = axes[i];
        if (!index_ragged(&k->l->map, a)) continue;
        const char *d = tile_of(k, a) == 1 ? "0" : cg_text(cg, "(int)d%d", a);
        test = both(cg, test, cg_text(cg, "g%d + %s < %s", a, d, extent_text(k, a)));
    }
    if (test) {
        cg_open(cg, "if (%s)", test);
        open++;
    }
    return open;
}

/* The source's element at the box's first point, and at d from there.  */
static const char *source_offset(const Kernel *k, const PermuteSource *x, bool first) {
    const char *cast = rprog_wide(k->l->p, k->l->r, &x->access, -1) ? "(long long)" : "";
    const char *sum = NULL;
    if (first) sum = text_offset_of(k->cg, &x->access, 0, NULL);
    for (int i = 0; i < x->n_order; i++) {
        int a = x->order[i];
        bool stays = first ? is_whole(k, a) : tile_of(k, a) == 1;
        if (stays) continue;
        const char *term = cg_text(k->cg, "%s%s%d", cast, first ? "g" : *cast ? "d" : "(int)d", a);
        if (x->stride[a] != 1 || x->varies[a])
            term = cg_text(k->cg, "%s * %s", term,
                           text_stride(k->cg, &x->access, view_of(k)->moving[a]));
        sum = sum ? cg_text(k->cg, "%s + %s", sum, term) : term;
    }
    return sum ? sum : "0";
}

/* Stores a vector's elements one by one: their order is another here.  */
static void put_down(Kernel *k, int source, const int *axes, int n_axes, int vec) {
    Cg *cg = k->cg;
    bool along = tile_of(k, axes[0]) % vec == 0;
    if (vec > 1) {
        cg_line(cg, "#pragma unroll");
        cg_open(cg, "for (int v = 0; v < %d; v++)", vec);
        if (!along) {
            cg_line(cg, "const unsigned m = n + v;");
            decode_number(k, axes, n_axes, "m");
        }
    }
    cg_line(cg, "const unsigned at = %s;",
            place_in_tile(k, source, vec > 1 && along ? axes[0] : -1, "v"));
    cg_line(cg, "part%d[%s] = in[u].v[%s];", source, skewed(k, source, "at"), vec > 1 ? "v" : "0");
    if (vec > 1) cg_close(cg);
}

/* Is the vector inside of the source?  An index of a tested subscript is an axis of its own.  */
static const char *is_inside(const Kernel *k, const PermuteSource *x) {
    const Cg *cg = k->cg;
    const PermuteView *v = view_of(k);
    const TeTensor *t = &cg->te->tensor[x->access.tensor];
    const char *test = NULL;
    for (int d = 0; d < t->rank; d++) {
        const Affine *f = &x->access.sub[d];
        const char *sub = text_int(cg, TE_I64, f->c);
        if (!x->access.guard[d]) continue;
        for (int a = 0; a < v->out.n_digit; a++) {
            if (f->coef[v->moving[a]] == 0) continue;
            sub = cg_text(cg, "%s + g%d * %s", sub, a, text_int(cg, TE_I64, f->coef[v->moving[a]]));
            if (tile_of(k, a) > 1)
                sub = cg_text(cg, "%s + (int)d%d * %s", sub, a,
                              text_int(cg, TE_I64, f->coef[v->moving[a]]));
        }
        test = both(cg, test, text_inside(cg, sub, t->shape[d], false));
    }
    return test;
}

void permute_fill(Kernel *k, int source) {
    Cg *cg = k->cg;
    const PermuteSource *x = &view_of(k)->source[source];
    int axes[PERMUTE_AXES], n_axes = x->n_order, vec = k->l->r->load[source].vec, open;
    int64_t elements = rprog_permute_elements(k->l->p, k->l->r, source);
    const char *type = cg_storage(cg->te->tensor[x->access.tensor].dtype);
    for (int i = 0; i < n_axes; i++) axes[i] = x->order[i];
    cg_line(cg, "// fill: %s in its own order, %d at a time", text_tensor(cg, x->access.tensor),
            vec);
    cg_scope(cg);
    cg_line(cg, "const %s *const from = %s + (%s);", type, text_tensor(cg, x->access.tensor),
            source_offset(k, x, true));
    cg_line(cg, "rl_vec<%s, %d> in[%lld]%s;", type, vec,
            (long long)ceil_div(elements,
                                (int64_t)k->l->r->threads * vec), x->guarded ? " = {}" : "");
    open = open_vectors(k, axes, n_axes, elements, vec);
    cg_line(cg, "%sin[u] = rl_load<%d>(from + (%s));",
            x->guarded ? cg_text(cg, "if (%s) ", is_inside(k, x)) : "", vec,
            source_offset(k, x, false));
    for (; open > 0; open--) cg_close(cg);
    open = open_vectors(k, axes, n_axes, elements, vec);
    put_down(k, source, axes, n_axes, vec);
    for (; open > 0; open--) cg_close(cg);
    cg_close(cg);
}

/* ---- outputs ---- */

/* The indices at the vector's first point, and its number where lanes need it.  */
static void find_indices(Kernel *k) {
    Cg *cg = k->cg;
    Elements *at = &k->at;
    const FusedAxis *out = &view_of(k)->out;
    const TeStmt *s = &cg->te->stmt[k->l->p->group->root];
    const char *number = NULL;
    bool wide = place_wide(out->extent, 0);
    for (int a = 0; a < out->n_digit; a++) {
        if (tile_of(k, a) == 1) cg_line(cg, "const int p%d = g%d;", a, a);
        else cg_line(cg, "const int p%d = g%d + (int)d%d;", a, a, a);
        place_axis(k, a, text_index(cg, cg_text(cg, "p%d", a), false), false, at->index, at->wide);
        number = number ? cg_text(cg, "(%s * %s + p%d)", number, extent_text(k, a), a)
                        : cg_text(cg, "%sp%d", wide ? "(long long)" : "", a);
    }
    if (at->vec == 1 || te_extent_divisor(&s->index[at->order[0]].hi) % at->vec == 0) return;
    cg_line(cg, "const %s at = %s;", place_type(wide), number);
    at->domain = true;
    at->domain_wide = wide;
}

/* Reads of a source are what lies in its part.  */
static void give(Kernel *k, int stmt) {
    const TeStmt *s = &k->cg->te->stmt[stmt];
    ReadList read = access_reads(s->rhs);
    for (int i = 0; i < read.n && k->at.n_vector < MAX_VECTORS; i++) {
        int source = rtile_permute_source(k->l->p, s, read.at[i]);
        if (source < 0 || elements_given(k, stmt, read.at[i])) continue;
        int width = rprog_permute_width(k->l->p, k->l->r, source);
        const char *element = cg_text(k->cg, "y%d[v / %d].v[v %% %d]", source, width, width);
        if (k->at.vec == 1) element = cg_text(k->cg, "y%d[0].v[0]", source);
        TeDtype dtype = k->cg->te->tensor[read.at[i]->v.ref].dtype;
        elements_give(k, stmt, read.at[i], text_value(k->cg, te_dtype_compute(dtype),
                                                    text_decode(k->cg, dtype, element)));
    }
}

static void take_up(Kernel *k, int source) {
    Cg *cg = k->cg;
    int width = rprog_permute_width(k->l->p, k->l->r, source), accesses = k->at.vec / width;
    const char *type =
        cg_storage(cg->te->tensor[view_of(k)->source[source].access.tensor].dtype);
    cg_line(cg, "rl_vec<%s, %d> y%d[%d];", type, width, source, accesses);
    cg_line(cg, "#pragma unroll");
    cg_open(cg, "for (int p = 0; p < %d; p++)", accesses);
    cg_line(cg, "const unsigned at = %s + p * %du;", place_in_tile(k, source, -1, ""), width);
    cg_line(cg, "y%d[p] = rl_load<%d>(part%d + (%s));", source, width, source,
            skewed(k, source, "at"));
    cg_close(cg);
}

void permute_elements(Kernel *k) {
    Cg *cg = k->cg;
    Elements *at = &k->at;
    const PermuteView *v = view_of(k);
    const KernelGroup *g = k->l->p->group;
    const TeStmt *s = &cg->te->stmt[g->root];
    int axes[PERMUTE_AXES], n_axes = v->out.n_digit;
    at->vec = k->l->vec;
    at->n_vector = 0;
    for (int i = s->n_left - 1; i >= 0; i--) {
        if (s->index[i].hi.value != 1 || s->index[i].hi.expr) at->order[at->n_order++] = i;
    }
    for (int i = 0; i < n_axes; i++) axes[i] = n_axes - 1 - i;
    cg_line(cg, "// elements: %d at a time", at->vec);
    at->open = open_vectors(k, axes, n_axes, rprog_permute_points(k->l->p, k->l->r), at->vec);
    find_indices(k);
    for (int i = 0; i < v->n_source; i++) take_up(k, i);
    give(k, g->root);
    for (int i = 0; i < g->n_fused; i++) give(k, g->fused[i]);
}
