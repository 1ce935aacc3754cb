#include "codegen/elements/elements.h"
#include "codegen/block/product.h"

int elements_root_index(const Kernel *k, int stmt, int j) {
    const KernelGroup *g = k->task->p->group;
    const KernelGroup *chain = kernel_merges(k) ? k->l->p->group : NULL;
    for (int i = 0; chain && i < chain->n_fused && stmt != g->root; i++)
        if (chain->fused[i] == stmt) return rtile_chain_index(chain, chain->perm[i][j]);
    /* The terms of a scan are made at their own place.  */
    const Scan *scan = &k->task->p->scan.of;
    if (kernel_scans(k) && stmt == g->root && j == scan->over) return scan->index;
    for (int i = 0; g->row && i < g->row->n; i++) {
        if (g->row->stmt[i] == stmt) return g->row->axis[i][j];
    }
    for (int i = 0; i < g->n_fused && stmt != g->root; i++) {
        /* Others are the root's.  */
        bool own = j < k->cg->te->stmt[stmt].n_left || g->stats || g->chain;
        if (g->fused[i] == stmt) return own ? g->perm[i][j] : j;
    }
    return j;
}

/* Place of a statement in the group: 0 the root, n statement fused[n - 1].  */
static int place_of(const Kernel *k, int stmt) {
    const KernelGroup *g = k->task->p->group;
    int n = 0;
    while (n < g->n_fused && stmt != g->root && g->fused[n] != stmt) n++;
    return stmt == g->root ? 0 : n + 1;
}

/* Do the indices of two statements of the group stand for the same indices of the root?  Then
 * reads with equal subscripts are equal.  */
static bool same_indices(const Kernel *k, int stmt, int place) {
    const KernelGroup *g = k->task->p->group;
    int other = place ? g->fused[place - 1] : g->root;
    const Te *te = k->cg->te;
    int n = g->stats || g->row || g->chain ? te->stmt[stmt].n_index : te->stmt[stmt].n_left;
    for (int j = 0; j < n && stmt != other; j++) {
        if (elements_root_index(k, stmt, j) != elements_root_index(k, other, j)) return false;
    }
    return true;
}

bool elements_given(const Kernel *k, int stmt, const TeExpr *read) {
    const Elements *at = &k->at;
    for (int i = 0; i < at->n_vector; i++) {
        if (access_same(at->vector[i].read.expr, read) && same_indices(k, stmt, at->vector[i].of))
            return true;
    }
    return false;
}

void elements_give(Kernel *k, int stmt, const TeExpr *read, Ir value) {
    Elements *at = &k->at;
    at->vector = arena_grow(k->cg->arena, at->vector, &at->room_vector, (size_t)at->n_vector + 1,
                            sizeof *at->vector);
    at->vector[at->n_vector++] = (GivenOf){{read, value}, place_of(k, stmt)};
}

bool elements_makes(const Kernel *k, int tensor) {
    const KernelGroup *g = k->task->p->group;
    bool made = k->cg->te->stmt[g->root].tensor == tensor;
    for (int i = 0; i < g->n_fused && !made; i++)
        made = k->cg->te->stmt[g->fused[i]].tensor == tensor;
    return made;
}

bool elements_in_memory(const Kernel *k, int tensor) {
    return k->cg->te->tensor[tensor].role == TE_OUTPUT || k->cg->temp_at[tensor] >= 0;
}

void elements_define(Kernel *k, int t, TeDtype type, Ir value) {
    TeDtype dtype = k->cg->te->tensor[t].dtype;
    k->at.made[t] = ir_let_as(k->cg, ir_compute(te_dtype_compute(dtype)), cg_name(k->cg, "e", t),
                              cg_cast(k->cg, dtype, type, value));
}

/* ---- indices ---- */

void elements_order(Kernel *k, const uint8_t *index, int n, int vec) {
    k->at.vec = vec;
    k->at.n_order = k->at.n_vector = 0;
    while (n-- > 0)
        if (!te_extent_is_one(&kernel_root(k)->index[index[n]].hi))
            k->at.order[k->at.n_order++] = index[n];
}

void elements_columns(Kernel *k, int vec) {
    const FusedAxis *n = &k->task->p->con.axis[AX_N];
    elements_order(k, n->index, n->n, vec);
}

void elements_along(Kernel *k, int axis, Ir at, bool wide) {
    k->at.line = (Line){axis, at, wide};
    place_axis(k, axis, at, wide, k->at.index, k->at.wide);
}

bool elements_decoded(const Kernel *k) {
    const TeExtent *inner = &kernel_root(k)->index[k->at.order[0]].hi;
    return k->at.n_order > 1 && te_extent_divisor(inner) % k->at.vec != 0 &&
           inner->min < k->at.vec;
}

void elements_indices(Kernel *k) {
    for (int axis = AX_M; axis <= AX_N; axis++) {
        bool wide = place_wide(k->task->p->con.axis[axis].extent, 0);
        elements_along(k, axis, axis == AX_M ? k->var.m : k->var.n, wide);
    }
}

/* ---- lanes of a vector ---- */

Ir elements_lane(const Kernel *k) { return k->at.vec > 1 ? k->at.v : ir_int(k->cg, 0); }

/* The indices of element v from those of the first one.  A vector crosses the end of the innermost
 * index once at most, and carries into the next.  */
static void carry_lane(Kernel *k) {
    Cg *cg = k->cg;
    Elements *at = &k->at;
    Ir carry = elements_lane(k);
    for (int n = 0; n < at->n_order; n++) {
        int x = at->order[n];
        Ir next = ir_add(cg, at->index[x], carry);
        if (n + 1 < at->n_order) {
            Ir extent = cg_extent(cg, &kernel_root(k)->index[x].hi);
            carry = ir_let_as(cg, IR_I32, ir_numbered(cg, "d", x),
                              ir_binary(cg, IR_GE, next, extent));
            next = ir_sub(cg, next, ir_select(cg, carry, extent, ir_int(cg, 0)));
        }
        at->lane_index[x] = ir_let_as(cg, place_base(at->wide[x]),
                                      ir_numbered(cg, "q", x), next);
    }
}

void elements_open_lanes(Kernel *k) {
    Cg *cg = k->cg;
    Elements *at = &k->at;
    for (int i = 0; i < TE_MAX_INDICES; i++) at->lane_index[i] = at->index[i];
    at->in_lanes = true;
    if (at->vec == 1) return;
    ir_loop(cg, at->v, ir_int(cg, 0), ir_lt(cg, at->v, ir_int(cg, at->vec)),
            (IrNext){IR_ADD, ir_int(cg, 1)}, IR_UNROLL_ALL);
    int inner = at->order[0];
    const Line *x = &at->line;
    if (te_extent_divisor(&kernel_root(k)->index[inner].hi) % at->vec == 0)
        at->lane_index[inner] = ir_sum(cg, at->index[inner], at->v);
    else if (!elements_decoded(k)) carry_lane(k);
    else place_axis(k, x->axis, ir_add(cg, x->at, at->v), x->wide, at->lane_index, at->wide);
}

void elements_close_lanes(Kernel *k) {
    k->at.in_lanes = false;
    if (k->at.vec > 1) ir_close(k->cg);
}

CgPoint elements_point(const Kernel *k, int stmt, bool first) {
    const TeStmt *s = &k->cg->te->stmt[stmt];
    const Elements *at = &k->at;
    CgPoint p = {.cg = k->cg, .stmt = s, .made = at->made, .inverse = at->inverse,
                 .near = at->near, .factor = at->factor};
    for (int j = 0; j < s->n_index; j++) {
        int x = elements_root_index(k, stmt, j);
        p.index[j] = first ? at->index[x] : at->lane_index[x];
        p.wide[j] = at->wide[x];
    }
    if (first) return p;
    CgGiven *given = ARENA_ARRAY(k->cg->arena, CgGiven, at->n_vector);
    for (int i = 0; i < at->n_vector; i++) {
        if (same_indices(k, stmt, at->vector[i].of)) given[p.n_given++] = at->vector[i].read;
    }
    p.given = given;
    return p;
}

/* ---- reductions ---- */

void elements_fold(Kernel *k, const RowGroup *g, const Partial *x, Ir where, FoldSide side) {
    CgPoint p = elements_point(k, g->stmt[x->number], false);
    Ir value = cg_expr(&p, x->e->args[0], te_reduced_type(x->e)), beside = where;
    if (te_is_recurrence(x->e)) beside = cg_expr(&p, x->e->args[1], te_beside_type(x->e));
    else if (x->beside && !where) beside = monoid_position(&p);
    monoid_fold(k->cg, x, value, beside, side);
}
