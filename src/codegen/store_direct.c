#include "codegen/blocks.h"

/* Statements evaluated at an element, results collected per vector, vectors written to memory.  */

static bool is_read_later(const Kernel *k, int tensor) {
    const KernelGroup *g = k->l->p->group;
    for (int i = 0; i < g->n_fused; i++) {
        ReadList reads = access_reads(k->cg->te->stmt[g->fused[i]].rhs);
        for (int r = 0; r < reads.n; r++) {
            if (reads.at[r]->v.ref == tensor) return true;
        }
    }
    return false;
}

static int statement_of(const Kernel *k, int i) {
    const KernelGroup *g = k->l->p->group;
    return i == 0 ? g->root : g->fused[i - 1];
}

/* Does the store round its elements?  What later statements read is rounded for them before.  */
static bool in_pairs(const Kernel *k, int stmt) {
    int t = k->cg->te->stmt[stmt].tensor;
    Access x;
    access_write(k->cg->te, &k->cg->te->stmt[stmt], &x);
    return !is_read_later(k, t) &&
           cg_pairs(k->cg->te->tensor[t].dtype, elements_width(k, stmt, &x));
}

/* Before the first statement: vectors that are read and written.  */
static void begin(Kernel *k) {
    const Te *te = k->cg->te;
    for (int i = 0; i <= k->l->p->group->n_fused; i++) {
        int stmt = statement_of(k, i), t = te->stmt[stmt].tensor;
        const TeExpr *e = te->stmt[stmt].rhs;
        if (!stats_emits(k, stmt)) continue;
        if (e->kind != TE_REDUCE && !stats_is_held(k, stmt)) elements_load_vectors(k, stmt, e);
        if (stats_stores(k, stmt))
            cg_line(k->cg, "%s o%d[%d];", cg_waiting(te->tensor[t].dtype, in_pairs(k, stmt)), t,
                    k->at.vec);
    }
    elements_open_lanes(k);
}

/* The value of a statement's tensor at the element, for stores and for later statements.  */
static void define_value(Kernel *k, int stmt, TeDtype type, const char *value) {
    Cg *cg = k->cg;
    int t = cg->te->stmt[stmt].tensor;
    TeDtype dtype = cg->te->tensor[t].dtype, compute = te_dtype_compute(dtype);
    const char *name = cg_text(cg, "e%d", t), *lane = k->at.vec > 1 ? "v" : "0";
    bool memory = stats_stores(k, stmt), later = is_read_later(k, t);
    const char *out = cg_text(cg, "o%d[%s]", t, lane);
    if (memory && (dtype != compute || !later)) {
        cg_line(cg, "%s = %s;", out, cg_wait(cg, dtype, in_pairs(k, stmt), type, value));
        if (later)
            cg_line(cg, "const %s %s = %s;", cg_type(compute), name, cg_decode(cg, dtype, out));
    } else {
        cg_line(cg, "const %s %s = %s;", cg_type(compute), name, cg_cast(cg, dtype, type, value));
        if (memory) cg_line(cg, "%s = %s;", out, cg_encode(cg, dtype, compute, name));
    }
    k->at.made[t] = name;
}

void store_statement(Kernel *k, int stmt) {
    const TeStmt *s = &k->cg->te->stmt[stmt];
    if (!k->at.in_lanes) begin(k);
    if (!stats_emits(k, stmt)) return;
    if (stats_is_held(k, stmt)) {
        define_value(k, stmt, k->at.root_type, k->at.root);
        return;
    }
    if (stmt == k->l->p->group->root && s->rhs->kind == TE_REDUCE) {
        define_value(k, stmt, k->at.root_type, k->at.root);
        return;
    }
    if (s->rhs->kind == TE_REDUCE) {
        define_value(k, stmt, s->rhs->type, column_result(k, stmt));
        return;
    }
    CgPoint p = elements_point(k, stmt, false);
    define_value(k, stmt, s->rhs->type, cg_expr(&p, s->rhs, s->rhs->type));
}

void store_direct(Kernel *k) {
    Cg *cg = k->cg;
    elements_close_lanes(k);
    for (int i = 0; i <= k->l->p->group->n_fused; i++) {
        int stmt = statement_of(k, i), t = cg->te->stmt[stmt].tensor;
        if (!stats_emits(k, stmt) || !stats_stores(k, stmt)) continue;
        Access x;
        access_write(cg->te, &cg->te->stmt[stmt], &x);
        int width = elements_width(k, stmt, &x);
        const char *offset, *to = store_place(k, stmt, &x, &offset);
        const char *put = cg_store(cg, cg->te->tensor[t].dtype, in_pairs(k, stmt), width);
        bool unrolled = k->l->kind == KERNEL_CONTRACT && !k->l->r->stats;
        /* Under a test of its own each would be a branch, and all sums wait until the last one.  */
        bool tested = unrolled && k->c.matrix.used && k->c.own_ragged[1];
        bool many = unrolled && !tested && !in_pairs(k, stmt);    /* stores, for a compiler */
        if (many) put = cg_text(cg, "rl_store_global<%d>", width);
        if (width == k->at.vec) {
            if (width == 1 && !many) cg_line(cg, "%s[%s] = o%d[0];", to, offset, t);
            else cg_line(cg, "%s(%s + (%s), o%d);", put, to, offset, t);
            continue;
        }
        if (width > 1) {
            cg_line(cg, "#pragma unroll");
            cg_line(cg, "for (int p = 0; p < %d; p++)", k->at.vec / width);
            cg_line(cg, "    %s(%s + (%s) + p * %d, o%d + p * %d);", put, to, offset, width, t,
                    width);
            continue;
        }
        elements_open_lanes(k);
        CgPoint lane = elements_point(k, stmt, false);
        cg_line(cg, "t%d[%s] = o%d[v];", t, cg_offset(cg, t, lane.index), t);
        elements_close_lanes(k);
    }
}
