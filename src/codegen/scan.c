#include "codegen/scan.h"
#include "codegen/reduction.h"
#include "codegen/sizes.h"

/* Reductions that run to their own place: where a block's elements lie, their terms, and the
 * statements behind them.  */

static bool is_wide(const Kernel *k) {
    return place_wide(scan_view(k)->out.extent, k->l->r->block.extent[AX_M]);
}

static TeExtent walk_of(const Kernel *k) { return index_extent(k->cg->arena, &k->l->map, 1); }

Partial scan_partial(const Kernel *k, const char *stem, Ir lane) {
    return monoid_pass(k->cg, k->l->p->group->columns, 0, stem, lane).at[0];
}

void scan_copy(Kernel *k, const Partial *to, const Partial *from) {
    ir_set(k->cg, to->value, from->value);
    if (to->where) ir_set(k->cg, to->where, from->where);
}

/* ---- place ---- */

static void place_along_walk(Kernel *k, const char *type) {
    Cg *cg = k->cg;
    const RProg *r = k->l->r;
    int threads = rprog_threads_along(r, AX_N), lanes = rprog_scan_lanes(k->l->p, r);
    int vec = r->store_vec;
    cg_line(cg, "// place: %d threads of a result, %d pieces of %d elements", threads,
            scan_vectors(k), vec);
    cg_line(cg, "const int tid = threadIdx.x, lane = tid %% %du;", threads);
    cg_line(cg, "const %s at = (%s)blockIdx.x * %d + tid / %du;", type, type,
            (int)r->block.extent[AX_M], threads);
    cg_line(cg, "const int own = lane / %d * %d + lane %% %d * %d;", lanes,
            lanes * (int)r->thread.extent[AX_N], lanes, vec);
}

static void place_down(Kernel *k, const char *type) {
    Cg *cg = k->cg;
    const RProg *r = k->l->r;
    int across = rprog_threads_along(r, AX_M), vec = r->store_vec;
    cg_line(cg, "// place: %d x %d results, %d groups of %d elements", across, vec,
            rprog_threads_along(r, AX_N), (int)r->thread.extent[AX_N]);
    cg_line(cg, "const int tid = threadIdx.x;");
    cg_line(cg, "const int col = tid %% %du * %d, row = tid / %du;", across, vec, across);
    cg_line(cg, "const %s at = (%s)blockIdx.x * %d + col;", type, type,
            (int)r->block.extent[AX_M]);
    cg_line(cg, "const int own = row * %d;", (int)r->thread.extent[AX_N]);
}

static void place_slice(Kernel *k) {
    Cg *cg = k->cg;
    const RProg *r = k->l->r;
    if (r->split <= 1) return;
    const char *slice = text_number(cg, index_slice(cg->arena, &k->l->map, 1, r->split));
    cg_line(cg, "const int first = (int)min((long long)blockIdx.y * %s, (long long)N);", slice);
    cg_line(cg, "const int last = min(first + %s, N);", slice);
}

void scan_place(Kernel *k) {
    Cg *cg = k->cg;
    const ScanView *v = scan_view(k);
    const RProg *r = k->l->r;
    const char *type = place_type(is_wide(k));
    TeExtent walk = walk_of(k), all = index_extent(cg->arena, &k->l->map, 0);
    cg_line(cg, "%s int N = %s;", walk.expr ? "const" : "constexpr", text_number(cg, walk));
    cg_line(cg, "%s %s TOTAL = %s;", all.expr ? "const" : "constexpr", type, text_number(cg, all));
    (v->down ? place_down : place_along_walk)(k, type);
    place_slice(k);
    if (!scan_carries(k->l->p, r)) cg_line(cg, "constexpr int base = 0;");
    if (k->l->kind == KERNEL_SCAN && rprog_scan_meets(k->l->p, r) > 1) {
        Partials p = monoid_pass(cg, k->l->p->group->columns, 0, "acc", NULL);
        Ir smem = kernel_smem(k, 128);
        reduce_rooms(cg, &p, (ReduceArrays){"met", IR_SHARED}, k->l->layout, smem);
    }
    Elements *at = &k->at;
    at->vec = r->store_vec;
    at->n_order = at->n_vector = 0;
    at->domain = v->down;
    at->domain_wide = is_wide(k);
    place_axis(k, 0, text_index(cg, "at", is_wide(k)), is_wide(k), at->index, at->wide);
    if (!v->down) at->order[at->n_order++] = v->of.index;
    for (int i = v->out.n - 1; i >= 0 && v->down; i--) {
        if (v->out.digit[i].extent != 1) at->order[at->n_order++] = v->out.index[i];
    }
    cg_blank(cg);
}

/* ---- vectors of a step ---- */

void scan_open_steps(Kernel *k) {
    bool sliced = k->l->r->split > 1;
    cg_line(k->cg, "#pragma unroll 1");
    cg_open(k->cg, "for (int base = %s; base < %s; base += %d)", sliced ? "first" : "0",
            sliced ? "last" : "N", (int)k->l->r->block.extent[AX_N]);
}

/* The test that a vector has elements; NULL: it always has.  */
static const char *vector_test(const Kernel *k) {
    const char *test = NULL;
    /* A walk that may have no elements at run time has no loop to say so.  */
    if (index_ragged(&k->l->map, 1) ||
        (!scan_carries(k->l->p, k->l->r) && walk_of(k).min == 0))
        test = "pos < N";
    if (index_ragged(&k->l->map, 0)) test = both(k->cg, test, "at < TOTAL");
    return test;
}

/* A loop over vectors, in which those have their indices that have elements; returns how many
 * scopes are open.  */
static int open_vectors(Kernel *k) {
    Cg *cg = k->cg;
    const ScanView *v = scan_view(k);
    int vec = k->l->r->store_vec, along = v->of.index;
    int step = v->down ? 1 : rprog_scan_lanes(k->l->p, k->l->r) * vec;
    const char *test = vector_test(k), *x = cg_text(cg, "i%d", along);
    cg_line(cg, "#pragma unroll");
    cg_open(cg, "for (int u = 0; u < %d; u++)", scan_vectors(k));
    cg_line(cg, "const int pos = base + own + u * %d;", step);
    if (test) cg_open(cg, "if (%s)", test);
    if (v->of.reversed) cg_line(cg, "const int %s = N - %d - pos;", x, v->down ? 1 : vec);
    else cg_line(cg, "const int %s = pos;", x);
    k->at.index[along] = text_index(cg, x, false);
    k->at.wide[along] = false;
    k->at.n_vector = 0;
    return 1 + (test != NULL);
}

/* Where element v of vector u is.  */
static const char *place_of(const Kernel *k) {
    int vec = k->l->r->store_vec;
    const char *v = "v";
    if (vec == 1) return "u";
    if (scan_view(k)->of.reversed && !scan_view(k)->down) v = cg_text(k->cg, "%d - v", vec - 1);
    return cg_text(k->cg, "u * %d + %s", vec, v);
}

/* The terms of a vector: each is held apart (`each`), or folded into its result.  */
static void fold_vectors(Kernel *k, bool each) {
    Cg *cg = k->cg;
    const TeExpr *term = scan_view(k)->of.term;
    Ir lane = scan_items(k) == 0 ? NULL : elements_lane(k);
    Partial x = scan_partial(k, "acc", each ? text_index(cg, place_of(k), false) : lane);
    int stmt = k->l->p->group->root, open = open_vectors(k);
    elements_load_vectors(k, stmt, term);
    elements_open_lanes(k);
    CgPoint p = elements_point(k, stmt, false);
    Ir value = cg_expr(&p, term, te_reduced_type(x.e));
    Ir where = x.where ? ir_as(cg, IR_I32, p.index[scan_view(k)->of.over]) : NULL;
    if (each) {
        ir_set(cg, x.value, value);
        if (where) ir_set(cg, x.where, where);
    } else {
        monoid_fold(cg, &x, value, where, false);
    }
    elements_close_lanes(k);
    for (; open > 0; open--) cg_close(cg);
    k->at.n_vector = 0;
}

void scan_fold(Kernel *k) {
    Cg *cg = k->cg;
    bool each = k->l->kind == KERNEL_SCAN;
    Partials p = monoid_pass(cg, k->l->p->group->columns, 0, "acc",
                             scan_items(k) || each ? text_index(cg, "u", false) : NULL);
    cg_line(cg, each ? "// terms: one for each element" : "// fold: the elements of the slice");
    reduce_clear(cg, &p, each ? scan_vectors(k) * k->l->r->store_vec : scan_items(k));
    if (!each) scan_open_steps(k);
    fold_vectors(k, each);
    if (!each) cg_close(cg);
    cg_blank(cg);
}

void scan_elements(Kernel *k) {
    cg_line(k->cg, "// elements: %d at a time", k->at.vec);
    Partial x = scan_partial(k, "acc", text_index(k->cg, place_of(k), false));
    k->at.open = open_vectors(k);
    k->at.root = monoid_result(&x);
    k->at.root_type = kernel_root(k)->rhs->type;
}

/* ---- slices ---- */

static Ir word(const Kernel *k, const char *text) { return text_index(k->cg, text, true); }

static ThreadMap scan_map(const Kernel *k, const char *stem) {
    const Cg *cg = k->cg;
    const RProg *r = k->l->r;
    const ScanView *v = scan_view(k);
    bool ragged = index_ragged(&k->l->map, 0);
    int partials = rprog_scan_partials(k->l->p, r), vec = r->store_vec;
    ThreadMap m = {.group = k->l->p->group->columns, .stem = stem, .count = IR_I32,
                   .threads = v->down ? 1 : rprog_threads_along(r, AX_N),
                   .block = r->threads, .partials = r->split * partials * v->out.extent};
    if (v->down) {
        m.items = vec;
        m.lane = ir_name(cg, ir_type(IR_I32), "v");
        m.own = word(k, cg_text(cg, "((long long)blockIdx.y * %d + row) * TOTAL + at", partials));
        m.n_partial = word(k, cg_text(cg, "(int)blockIdx.y * %d", partials));
        m.at = word(k, cg_text(cg, "(long long)s * TOTAL + %s",
                       ragged ? cg_text(cg, "min(at, TOTAL - %d)", vec) : "at"));
        return m;
    }
    m.first = word(k, cg_text(cg, "%s * %dll", ragged ? "min(at, TOTAL - 1)" : "at",
                              (int)r->split));
    m.own = word(k, "blockIdx.y");
    m.only = word(k, ragged ? "lane == 0 && at < TOTAL" : "lane == 0");
    m.rank = word(k, "lane");
    m.n_partial = word(k, "(int)blockIdx.y");
    m.at = word(k, "s");
    return m;
}

void scan_meet_slice(Kernel *k) {
    ThreadMap m = scan_map(k, "acc");
    Partials p = reduction_partials(k, &m, 0);
    reduction_meet(k, &m, &p, NULL);
}

void scan_leave(Kernel *k) {
    ThreadMap m = scan_map(k, "acc");
    Partials p = reduction_partials(k, &m, 0);
    if (m.items) cg_open(k->cg, "if (at < TOTAL)");
    reduction_leave(k, &m, &p);
    if (m.items) cg_close(k->cg);
}

void scan_combine(Kernel *k) {
    ThreadMap m = scan_map(k, "carry");
    Partials p = reduction_partials(k, &m, 0);
    cg_line(k->cg, "// combine: the slices before this one");
    reduction_left(k, &m, &p);
    reduction_combine(k, &m, &p);
    cg_blank(k->cg);
}

void scan_clear(Kernel *k) {
    Partials p = monoid_pass(k->cg, k->l->p->group->columns, 0, "carry", NULL);
    reduce_clear(k->cg, &p, scan_items(k));
}
