#include "codegen/elements/elements.h"
#include "codegen/block/product.h"

int elements_root_index(const Kernel *k, int stmt, int j) {
    const KernelGroup *g = k->l->p->group;
    /* The terms of a scan are made at their own place.  */
    const Scan *scan = &k->l->p->scan.of;
    if (kernel_scans(k) && stmt == g->root && j == scan->over) return scan->index;
    for (int i = 0; g->row && i < g->row->n; i++) {
        if (g->row->stmt[i] == stmt) return g->row->axis[i][j];
    }
    for (int i = 0; i < g->n_fused && stmt != g->root; i++) {
        bool own = j < k->cg->te->stmt[stmt].n_left || g->stats || g->chain;  /* others are the root's */
        if (g->fused[i] == stmt) return own ? g->perm[i][j] : j;
    }
    return j;
}

/* Place of a statement in the group: 0 the root, n statement fused[n - 1].  */
static int place_of(const Kernel *k, int stmt) {
    const KernelGroup *g = k->l->p->group;
    int n = 0;
    while (n < g->n_fused && stmt != g->root && g->fused[n] != stmt) n++;
    return stmt == g->root ? 0 : n + 1;
}

/* Do the indices of two statements of the group stand for the same indices of the root?  Then
 * reads with equal subscripts are equal.  */
static bool same_indices(const Kernel *k, int stmt, int place) {
    const KernelGroup *g = k->l->p->group;
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
        if (access_same(at->vector[i].expr, read) && same_indices(k, stmt, at->vector_of[i]))
            return true;
    }
    return false;
}

void elements_give(Kernel *k, int stmt, const TeExpr *read, Ir value) {
    Elements *at = &k->at;
    at->vector_of[at->n_vector] = place_of(k, stmt);
    at->vector[at->n_vector++] = (CgGiven){read, value};
}

static int64_t extent_of(const Kernel *k, int index) {
    return kernel_root(k)->index[index].hi.value;
}

bool elements_makes(const Kernel *k, int tensor) {
    const KernelGroup *g = k->l->p->group;
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

/* ---- widths ---- */

int elements_width(const Kernel *k, int stmt, const Access *x) {
    uint8_t to_root[TE_MAX_INDICES] = {0};
    int n = k->cg->te->stmt[stmt].n_index;
    Access own = *x;
    if (!x->affine) return 1;
    for (int j = 0; j < n; j++) to_root[j] = (uint8_t)elements_root_index(k, stmt, j);
    rtile_row_access(to_root, n, &own);
    Neighbours near = {kernel_root(k), k->at.order, k->at.n_order, k->at.vec,
                       stream_is_flat(k, stmt, x)};
    return rtile_neighbour_width(k->cg->te, &near, &own, k->cg->align);
}

/* ---- the elements of a thread of `contract` ---- */

/* What output i of the thread, by its vectors, adds along an axis.  */
static Ir step_of(const Kernel *k, AxisClass axis, Ir i) {
    const Cg *cg = k->cg;
    Ir vec = product_size(k, 'V', axis), lanes = product_size(k, 'L', axis);
    return ir_add(cg, ir_mul(cg, ir_div(cg, i, vec), ir_mul(cg, lanes, vec)), ir_rem(cg, i, vec));
}

void elements_place_outputs(Kernel *k) {
    Cg *cg = k->cg;
    int vec = k->l->vec, columns = k->l->r->thread.extent[AX_N];
    k->at.open = 0;
    k->at.turns = (Turns){0};
    if (k->c.matrix.used) {
        mma_place_outputs(k);
        return;
    }
    Ir j = product_int(cg, "j"), row = step_of(k, AX_M, product_int(cg, "i"));
    Ir column = step_of(k, AX_N, j);
    ir_scope(cg);
    k->at.open = 1;
    store_position(k, AX_M, ir_add(cg, product_first(k, AX_M), product_int(cg, "row")), row);
    store_position(k, AX_N, ir_add(cg, product_first(k, AX_N), product_int(cg, "col")), column);
    store_turns(k, &(Turns){.var = "j",
                            .end = columns,
                            .by = vec,
                            .count = columns / vec,
                            .turn = ir_div(cg, j, ir_int(cg, vec)),
                            .part = {NULL, column},
                            .rest = row});
}

void elements_open_outputs(Kernel *k) {
    Cg *cg = k->cg;
    const int32_t *own = k->l->r->thread.extent;
    if (k->c.matrix.used) {
        mma_open_outputs(k);
        return;
    }
    ir_count(cg, "i", own[AX_M], IR_UNROLL_ALL);
    store_open_inside(k, AX_M, index_ragged(&k->l->map, AX_M));
    stats_rows(k);
    ir_for(cg, "j", ir_int(cg, 0), ir_int(cg, own[AX_N]), k->at.walk ? k->at.walk : k->l->vec,
           IR_UNROLL_ALL);
    k->at.open += 2;
    store_open_inside(k, AX_N, index_ragged(&k->l->map, AX_N));
}

void elements_order(Kernel *k, int vec) {
    const FusedAxis *n = &k->l->p->con.axis[AX_N];
    k->at.vec = vec;
    k->at.n_order = k->at.n_vector = 0;
    for (int i = n->n - 1; i >= 0; i--) {
        if (extent_of(k, n->index[i]) != 1) k->at.order[k->at.n_order++] = n->index[i];
    }
}

/* The result at element v.  */
static Ir result_of(const Kernel *k) {
    const Cg *cg = k->cg;
    Ir lane = elements_lane(k);
    if (k->c.matrix.used) return mma_element(k, lane);
    return product_sum(k, product_int(cg, "i"), ir_add(cg, product_int(cg, "j"), lane));
}

void elements_begin(Kernel *k) {
    Elements *at = &k->at;
    elements_order(k, at->walk ? at->walk : k->l->vec);
    at->root = result_of(k);
    at->root_type = k->l->p->con.acc;
    if (!at->walk)
        ir_note(k->cg, "elements: %d outputs of the thread at a time%s", at->vec,
                k->c.r->via == VIA_SHARED ? ", through shared memory" : "");
    place_axis(k, AX_B, product_int(k->cg, "b"), false, at->index, at->wide);
}

void elements_indices(Kernel *k) {
    for (int axis = AX_M; axis <= AX_N; axis++) {
        bool wide = place_wide(k->l->p->con.axis[axis].extent, 0);
        Ir at = ir_name(k->cg, ir_type(place_base(wide)), axis == AX_M ? "m" : "n");
        place_axis(k, axis, at, wide, k->at.index, k->at.wide);
    }
}

void elements_contract(Kernel *k) {
    elements_begin(k);
    elements_place_outputs(k);
    if (!k->at.walk) store_pointers(k);
    elements_open_outputs(k);
    elements_indices(k);
}

void elements_end(Kernel *k) {
    for (; k->at.open > 0; k->at.open--) ir_close(k->cg);
    k->at.own[0] = k->at.own[1] = NULL;
}

/* ---- lanes of a vector ---- */

Ir elements_lane(const Kernel *k) { return k->at.vec > 1 ? k->at.v : ir_int(k->cg, 0); }

/* The indices of element v of a map from those of the first one, where no vector is longer than the
 * innermost index: it crosses its end once at most, and carries into the next.  */
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

/* Decodes the indices of element v anew, where a vector crosses the end of an index.  */
static void decode_lane(Kernel *k) {
    Cg *cg = k->cg;
    Elements *at = &k->at;
    const Problem *p = k->l->p;
    if (at->domain) {
        Ir first = ir_name(cg, ir_type(place_base(at->domain_wide)), "at");
        Ir next = ir_add(cg, first, elements_lane(k));
        if (kernel_scans(k))              /* beside the walk */
            place_axis(k, 0, next, at->domain_wide, at->lane_index, at->wide);
        else place_domain(k, next, at->domain_wide, at->lane_index, at->wide);
    } else if (k->l->kind != KERNEL_STREAM) {
        bool wide = place_wide(p->extent[AX_N], 0);
        Ir next = ir_add(cg, ir_name(cg, ir_type(place_base(wide)), "n"), elements_lane(k));
        place_axis(k, AX_N, next, wide, at->lane_index, at->wide);
    } else if (kernel_root(k)->index[at->order[0]].hi.min >= at->vec) {
        carry_lane(k);
    } else {
        place_domain(k, ir_add(cg, at->at, elements_lane(k)), place_wide(p->extent[AX_M], 0),
                     at->lane_index, at->wide);
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
    if (te_extent_divisor(&kernel_root(k)->index[inner].hi) % at->vec == 0)
        at->lane_index[inner] = ir_sum(cg, at->index[inner], at->v);
    else decode_lane(k);
}

void elements_close_lanes(Kernel *k) {
    k->at.in_lanes = false;
    if (k->at.vec > 1) ir_close(k->cg);
}

CgPoint elements_point(const Kernel *k, int stmt, bool first) {
    const TeStmt *s = &k->cg->te->stmt[stmt];
    const Elements *at = &k->at;
    CgPoint p = {.cg = k->cg, .stmt = s, .made = at->made, .inverse = at->inverse};
    for (int j = 0; j < s->n_index; j++) {
        int x = elements_root_index(k, stmt, j);
        p.index[j] = first ? at->index[x] : at->lane_index[x];
        p.wide[j] = at->wide[x];
    }
    if (first) return p;
    CgGiven *given = ARENA_ARRAY(k->cg->arena, CgGiven, at->n_vector);
    for (int i = 0; i < at->n_vector; i++) {
        if (same_indices(k, stmt, at->vector_of[i])) given[p.n_given++] = at->vector[i];
    }
    p.given = given;
    return p;
}

/* ---- the statements of a pass ---- */

void elements_fold(Kernel *k, const RowGroup *g, const Partial *x, Ir where, bool next) {
    CgPoint p = elements_point(k, g->stmt[x->number], false);
    Ir value = cg_expr(&p, x->e->args[0], te_reduced_type(x->e));
    if (x->where && !where) where = monoid_position(&p);
    monoid_fold(k->cg, x, value, where, next);
}

void elements_statements(Kernel *k, const RowGroup *g, uint64_t mask, const Partials *all,
                         const Output *out) {
    for (int i = 0; i < g->n; i++) {
        const TeExpr *e = k->cg->te->stmt[g->stmt[i]].rhs;
        if (!(mask >> i & 1)) continue;
        if (g->role[i] == ROW_MAP) {
            CgPoint p = elements_point(k, g->stmt[i], false);
            store_define(k, g->stmt[i], e->type, cg_expr(&p, e, e->type), &out[i]);
        } else {
            elements_fold(k, g, monoid_of(all, e), NULL, false);
        }
    }
    for (int i = 0; i < g->n; i++) {
        if (g->role[i] == ROW_MAP) k->at.made[k->cg->te->stmt[g->stmt[i]].tensor] = NULL;
    }
}
