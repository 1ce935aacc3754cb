#include "codegen/elements/reduction.h"

/* Statements evaluated at an element, results collected per vector, vectors written to memory.  */

static bool is_read_later(const Kernel *k, int tensor) {
    const KernelGroup *g = k->task->p->group;
    for (int i = 0; i < g->n_fused; i++) {
        ReadList reads = access_reads(k->cg->te->stmt[g->fused[i]].rhs);
        for (int r = 0; r < reads.n; r++) {
            if (reads.at[r]->v.ref == tensor) return true;
        }
    }
    return false;
}

static int statement_of(const Kernel *k, int i) {
    const KernelGroup *g = k->task->p->group;
    return i == 0 ? g->root : g->fused[i - 1];
}

/* What later statements read is rounded for them before.  */
static Output output_of(const Kernel *k, int stmt) {
    int t = k->cg->te->stmt[stmt].tensor;
    Access x;
    access_write(k->cg->te, &k->cg->te->stmt[stmt], &x);
    Output o = {.stored = stats_stores(k, stmt), .needed = is_read_later(k, t),
                .width = elements_width(k, stmt, &x)};
    if (k->cg->te->tensor[t].n_clip > 0 && o.width != k->at.vec) o.width = 1;
    o.pairs = !o.needed && cg_pairs(k->cg->te->tensor[t].dtype, o.width);
    return o;
}

void store_declare(Kernel *k, int stmt, const Output *o) {
    int t = k->cg->te->stmt[stmt].tensor;
    if (!o->stored) return;
    IrType type = ir_type(cg_waiting(k->cg->te->tensor[t].dtype, o->pairs));
    k->at.out[t] = ir_array(k->cg, type, cg_name(k->cg, "o", t), k->at.vec, 0, 0);
}

/* Before the first statement: vectors that are read and written.  */
static void begin(Kernel *k) {
    const Te *te = k->cg->te;
    for (int i = 0; i <= k->task->p->group->n_fused; i++) {
        int stmt = statement_of(k, i);
        const TeExpr *e = te->stmt[stmt].rhs;
        if (!stats_emits(k, stmt)) continue;
        Output o = output_of(k, stmt);
        if (e->kind != TE_REDUCE && !stats_is_kept(k, stmt)) elements_load_vectors(k, stmt, e);
        store_declare(k, stmt, &o);
    }
    elements_open_lanes(k);
}

void store_define(Kernel *k, int stmt, TeDtype type, Ir value, const Output *o) {
    Cg *cg = k->cg;
    int t = cg->te->stmt[stmt].tensor;
    TeDtype dtype = cg->te->tensor[t].dtype, compute = te_dtype_compute(dtype);
    const char *name = cg_name(cg, "e", t);
    Ir out = o->stored ? ir_element(cg, k->at.out[t], elements_lane(k)) : NULL, made = NULL;
    if (o->stored && (dtype != compute || !o->needed)) {
        ir_set(cg, out, cg_wait(cg, dtype, o->pairs, type, value));
        if (o->needed)
            made = ir_let_as(cg, ir_compute(compute), name, cg_decode(cg, dtype, out));
    } else {
        made = ir_let_as(cg, ir_compute(compute), name, cg_cast(cg, dtype, type, value));
        if (o->stored) ir_set(cg, out, cg_encode(cg, dtype, compute, made));
    }
    k->at.made[t] = made;
}

static void define_value(Kernel *k, int stmt, TeDtype type, Ir value) {
    Output o = output_of(k, stmt);
    store_define(k, stmt, type, value, &o);
}

void store_statement(Kernel *k, int stmt) {
    const TeStmt *s = &k->cg->te->stmt[stmt];
    if (!k->at.in_lanes) begin(k);
    if (!stats_emits(k, stmt)) return;
    if (stats_is_kept(k, stmt)) {
        define_value(k, stmt, k->at.root_type, k->at.root);
        return;
    }
    if (stmt == k->task->p->group->root && s->rhs->kind == TE_REDUCE) {
        define_value(k, stmt, k->at.root_type, k->at.root);
        return;
    }
    if (s->rhs->kind == TE_REDUCE) {
        define_value(k, stmt, s->rhs->type, reduction_column(k, stmt));
        return;
    }
    CgPoint p = elements_point(k, stmt, false);
    define_value(k, stmt, s->rhs->type, cg_expr(&p, s->rhs, s->rhs->type));
}

bool store_vector(Kernel *k, int stmt, const Output *o, const char *put, Ir to, Ir offset) {
    Cg *cg = k->cg;
    Ir out = k->at.out[cg->te->stmt[stmt].tensor], at = ir_add(cg, to, offset);
    int parts = k->at.vec / o->width;
    if (parts == 1 && !put) {
        ir_set(cg, ir_element(cg, to, offset), ir_element(cg, out, ir_int(cg, 0)));
    } else if (parts == 1) {
        ir_store(cg, put, o->width, at, out);
    } else if (o->width > 1) {
        Ir p = ir_count(cg, "p", parts, IR_UNROLL_ALL), by = ir_mul_n(cg, p, o->width);
        ir_store(cg, put, o->width, ir_add(cg, at, by), ir_add(cg, out, by));
        ir_close(cg);
    }
    return parts == 1 || o->width > 1;
}

/* Tests that the element exists, the first or that of a lane; NULL: all do.  */
static Ir clip_test(const Kernel *k, int stmt, bool first) {
    Cg *cg = k->cg;
    const TeTensor *t = &cg->te->tensor[cg->te->stmt[stmt].tensor];
    Ir test = NULL;
    CgPoint p = t->n_clip > 0 ? elements_point(k, stmt, first) : (CgPoint){0};
    for (int c = 0; c < t->n_clip; c++) {
        Ir sum = NULL;
        for (int d = 0; d < t->rank; d++) {
            int64_t weight = t->clip[c].weight[d];
            if (weight != 0) sum = ir_sum(cg, sum, ir_mul(cg, p.index[d], ir_int(cg, weight)));
        }
        test = ir_both(cg, test, ir_lt(cg, sum, ir_int(cg, t->clip[c].end)));
    }
    return test;
}

/* Each element by itself.  */
static void store_lanes(Kernel *k, int stmt) {
    Cg *cg = k->cg;
    int t = cg->te->stmt[stmt].tensor;
    elements_open_lanes(k);
    CgPoint lane = elements_point(k, stmt, false);
    Ir there = clip_test(k, stmt, false);
    if (there) ir_if(cg, there);
    ir_set(cg, ir_element(cg, cg_tensor(cg, t), cg_offset(cg, t, lane.index)),
           ir_element(cg, k->at.out[t], elements_lane(k)));
    if (there) ir_close(cg);
    elements_close_lanes(k);
}

void store_direct(Kernel *k) {
    Cg *cg = k->cg;
    elements_close_lanes(k);
    for (int i = 0; i <= k->task->p->group->n_fused; i++) {
        int stmt = statement_of(k, i), t = cg->te->stmt[stmt].tensor;
        if (!stats_emits(k, stmt) || !stats_stores(k, stmt)) continue;
        Access x;
        access_write(cg->te, &cg->te->stmt[stmt], &x);
        Output o = output_of(k, stmt);
        TeDtype dtype = cg->te->tensor[t].dtype;
        const char *put = cg_store(cg, dtype, o.pairs);
        if (k->l->kind == KERNEL_CONTRACT && k->c->r->via == VIA_BOXES) {
            store_vector(k, stmt, &o, put, ring_box_place(k, ir_storage(dtype)), ir_int(cg, 0));
            continue;
        }
        Ir there = clip_test(k, stmt, true), offset;
        if (there && o.width < k->at.vec) {
            store_lanes(k, stmt);
            continue;
        }
        Ir to = store_place(k, stmt, &x, &offset);
        bool unrolled = k->l->kind == KERNEL_CONTRACT && !k->task->r->stats;
        /* Under a test of its own each would be a branch, and all sums wait until the last one.  */
        bool tested = unrolled && k->c->matrix.used && k->c->side[1].ragged;
        if (unrolled && !tested && !o.pairs) put = "rl_store_global"; /* many, for a compiler */
        else if (o.width == 1) put = NULL;
        if (there) ir_if(cg, there);
        if (!store_vector(k, stmt, &o, put, to, offset)) store_lanes(k, stmt);
        if (there) ir_close(cg);
    }
}
