#include "codegen/blocks.h"
#include <inttypes.h>

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

const char *store_waiting(const Kernel *k, int tensor) { return cg_name(k->cg, "o", tensor); }

void store_declare(Kernel *k, int stmt, const Output *o) {
    int t = k->cg->te->stmt[stmt].tensor;
    if (o->stored)
        cg_line(k->cg, "%s %s[%d];", cg_waiting(k->cg->te->tensor[t].dtype, o->pairs),
                store_waiting(k, t), k->at.vec);
}

/* Before the first statement: vectors that are read and written.  */
static void begin(Kernel *k) {
    const Te *te = k->cg->te;
    for (int i = 0; i <= k->l->p->group->n_fused; i++) {
        int stmt = statement_of(k, i);
        const TeExpr *e = te->stmt[stmt].rhs;
        if (!stats_emits(k, stmt)) continue;
        Output o = output_of(k, stmt);
        if (e->kind != TE_REDUCE && !stats_is_kept(k, stmt)) elements_load_vectors(k, stmt, e);
        store_declare(k, stmt, &o);
    }
    elements_open_lanes(k);
}

void store_define(Kernel *k, int stmt, TeDtype type, const char *value, const Output *o) {
    Cg *cg = k->cg;
    int t = cg->te->stmt[stmt].tensor;
    TeDtype dtype = cg->te->tensor[t].dtype, compute = te_dtype_compute(dtype);
    const char *name = cg_name(cg, "e", t);
    const char *out = cg_text(cg, "%s[%s]", store_waiting(k, t), k->at.vec > 1 ? "v" : "0");
    if (o->stored && (dtype != compute || !o->needed)) {
        cg_line(cg, "%s = %s;", out, cg_wait(cg, dtype, o->pairs, type, value));
        if (o->needed)
            cg_line(cg, "const %s %s = %s;", cg_type(compute), name, cg_decode(cg, dtype, out));
    } else {
        cg_line(cg, "const %s %s = %s;", cg_type(compute), name, cg_cast(cg, dtype, type, value));
        if (o->stored) cg_line(cg, "%s = %s;", out, cg_encode(cg, dtype, compute, name));
    }
    k->at.made[t] = name;
}

static void define_value(Kernel *k, int stmt, TeDtype type, const char *value) {
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

bool store_vector(Kernel *k, int stmt, const Output *o, const char *put, const char *to,
                  const char *offset) {
    Cg *cg = k->cg;
    int parts = k->at.vec / o->width;
    const char *out = store_waiting(k, cg->te->stmt[stmt].tensor);
    if (parts == 1 && !put) {
        cg_line(cg, "%s[%s] = %s[0];", to, offset, out);
    } else if (parts == 1) {
        cg_line(cg, "%s(%s + (%s), %s);", put, to, offset, out);
    } else if (o->width > 1) {
        cg_line(cg, "#pragma unroll");
        cg_line(cg, "for (int p = 0; p < %d; p++)", parts);
        cg_line(cg, "    %s(%s + (%s) + p * %d, %s + p * %d);", put, to, offset, o->width, out,
                o->width);
    }
    return parts == 1 || o->width > 1;
}

/* Tests that the element exists, the first or that of a lane; NULL: all do.  */
static const char *clip_test(const Kernel *k, int stmt, bool first) {
    Cg *cg = k->cg;
    const TeTensor *t = &cg->te->tensor[cg->te->stmt[stmt].tensor];
    const char *test = NULL;
    CgPoint p = t->n_clip > 0 ? elements_point(k, stmt, first) : (CgPoint){0};
    for (int c = 0; c < t->n_clip; c++) {
        const char *sum = NULL;
        for (int d = 0; d < t->rank; d++) {
            int64_t weight = t->clip[c].weight[d];
            if (weight == 0) continue;
            const char *term = cg_text(cg, "%s * %" PRId64, p.index[d], weight);
            sum = sum ? cg_text(cg, "%s + %s", sum, term) : term;
        }
        test = cg_text(cg, "%s%s%s < %" PRId64, test ? test : "", test ? " && " : "", sum,
                       t->clip[c].end);
    }
    return test;
}

/* Each element by itself.  */
static void store_lanes(Kernel *k, int stmt) {
    Cg *cg = k->cg;
    int t = cg->te->stmt[stmt].tensor;
    elements_open_lanes(k);
    CgPoint lane = elements_point(k, stmt, false);
    const char *there = clip_test(k, stmt, false);
    if (there) cg_open(cg, "if (%s)", there);
    cg_line(cg, "%s[%s] = %s[v];", cg_tensor(cg, t), cg_offset(cg, t, lane.index),
            store_waiting(k, t));
    if (there) cg_close(cg);
    elements_close_lanes(k);
}

void store_direct(Kernel *k) {
    Cg *cg = k->cg;
    elements_close_lanes(k);
    for (int i = 0; i <= k->l->p->group->n_fused; i++) {
        int stmt = statement_of(k, i), t = cg->te->stmt[stmt].tensor;
        if (!stats_emits(k, stmt) || !stats_stores(k, stmt)) continue;
        Access x;
        access_write(cg->te, &cg->te->stmt[stmt], &x);
        Output o = output_of(k, stmt);
        const char *put = cg_store(cg, cg->te->tensor[t].dtype, o.pairs, o.width);
        if (k->l->kind == KERNEL_CONTRACT && k->c.r->via == VIA_BOXES) {
            const char *box = ring_box_place(k, cg_storage(cg->te->tensor[t].dtype));
            store_vector(k, stmt, &o, put, box, "0");
            continue;
        }
        const char *there = clip_test(k, stmt, true);
        if (there && o.width < k->at.vec) {
            store_lanes(k, stmt);
            continue;
        }
        const char *offset, *to = store_place(k, stmt, &x, &offset);
        bool unrolled = k->l->kind == KERNEL_CONTRACT && !k->l->r->stats;
        /* Under a test of its own each would be a branch, and all sums wait until the last one.  */
        bool tested = unrolled && k->c.matrix.used && k->c.own_ragged[1];
        if (unrolled && !tested && !o.pairs)              /* many stores, for a compiler */
            put = cg_text(cg, "rl_store_global<%d>", o.width);
        else if (o.width == 1) put = NULL;
        if (there) cg_open(cg, "if (%s)", there);
        if (!store_vector(k, stmt, &o, put, to, offset)) store_lanes(k, stmt);
        if (there) cg_close(cg);
    }
}
