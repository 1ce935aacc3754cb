#include "codegen/reduction.h"

Partials reduction_partials(const Kernel *k, const ThreadMap *m, int pass) {
    Partials p = monoid_pass(k->cg, m->group, pass, m->stem,
                             m->lane ? text_index(k->cg, m->lane, false) : NULL);
    p.count = m->count;
    return p;
}

/* ---- what follows another reduction of its pass (RowFollow) ---- */

/* Leaders as they were are kept as past.  */
static void begin_step(Cg *cg, const Partials *p) {
    for (int i = 0; i < p->n; i++) {
        const Partial *leader = &p->at[i];
        if (!monoid_is_leader(p, i)) continue;
        cg_line(cg, "const %s past%s = %s;", cg_type(leader->e->type), leader->name,
                text_of(cg, leader->value));
        if (monoid_restarts(leader)) ir_set(cg, leader->value, ir_int(cg, 0));
    }
}

/* Does anything follow?  Its terms are made with `base` then.  */
static bool follow(Kernel *k, const Partials *p, int deep) {
    bool any = false;
    for (int i = 0; i < p->n; i++) {
        const Partial *online = &p->at[i], *leader = &p->at[online->leader];
        if (!online->follow) continue;
        Ir past = monoid_name(k->cg, ir_compute(leader->e->type), "past", leader);
        monoid_follow(k->cg, online, past, leader->value, deep);
        k->at.made[online->center] =
            monoid_name(k->cg, ir_compute(online->e->type), "base", online);
        any = true;
    }
    return any;
}

static void end_step(Kernel *k, const Partials *p) {
    for (int i = 0; i < p->n; i++) {
        const Partial *leader = &p->at[i];
        if (leader->follow) k->at.made[leader->center] = NULL;
        if (monoid_is_leader(p, i) && monoid_restarts(leader))
            cg_line(k->cg, "%s += past%s;", text_of(k->cg, leader->value), leader->name);
    }
}

void reduction_step(Kernel *k, const Partials *p, int deep, ReductionFold *fold, int of) {
    bool counts = deep == 0 && monoid_counts(p);
    if (counts) cg_line(k->cg, "int fresh = 0;");
    begin_step(k->cg, p);
    fold(k, p, of, false);
    if (follow(k, p, deep)) fold(k, p, of, true);
    end_step(k, p);
    if (counts) cg_line(k->cg, "seen += fresh;");
}

/* ---- meetings ---- */

/* Opens the loop over the results that a thread holds.  */
static void open_items(Kernel *k, const ThreadMap *m) {
    if (m->items == 0) return;
    cg_line(k->cg, "#pragma unroll");
    cg_open(k->cg, "for (int %s = 0; %s < %d; %s++)", m->lane, m->lane, m->items, m->lane);
}

static void close_items(Kernel *k, const ThreadMap *m) {
    if (m->items > 0) cg_close(k->cg);
}

void reduction_meet(Kernel *k, const ThreadMap *m, const Partials *p, const char *elements) {
    enum { WARP = 32 };
    int lanes = m->threads > 1 ? (m->threads < WARP ? m->threads : WARP) - 1 : m->lanes;
    if (lanes == 0) return;
    open_items(k, m);
    reduce_threads(k->cg, p, lanes, m->threads / WARP, m->block, elements);
    close_items(k, m);
}

void reduction_settle(Kernel *k, const ThreadMap *m, const Partials *p) {
    if (!monoid_scales(p)) return;
    open_items(k, m);
    monoid_settle(k->cg, p, m->live ? text_value(k->cg, TE_BOOL, m->live) : NULL);
    close_items(k, m);
}

void reduction_left(Kernel *k, const ThreadMap *m, const Partials *p) {
    reduce_arrays(k->cg, p, "left", text_partials(k->cg),
                  m->partials, m->first);
}

void reduction_leave(Kernel *k, const ThreadMap *m, const Partials *p) {
    reduction_left(k, m, p);
    reduce_put(k->cg, p, m->items, m->only, "left", m->own);
}

void reduction_combine(Kernel *k, const ThreadMap *m, const Partials *p) {
    ReducePartial partial = {"left", m->elements, m->at};
    reduce_clear(k->cg, p, m->items);
    reduce_gather(k->cg, p, m->items, &partial,
                  (ReduceRange){m->threads > 1 ? "lane" : "0", m->n_partial, m->threads});
    reduction_meet(k, m, p, m->total);
    reduction_settle(k, m, p);
}

void reduction_values(Kernel *k, const RowGroup *g, int pass, const char *live, const char *at,
                      bool stores) {
    Cg *cg = k->cg;
    Partials now = monoid_pass(cg, g, pass, "acc", NULL);
    const char *only = live ? cg_text(cg, "if (%s) ", live) : "";
    for (int i = 0; i < g->n; i++) {
        const TeStmt *s = &cg->te->stmt[g->stmt[i]];
        int t = s->tensor;
        bool reduced = g->role[i] == ROW_REDUCE && g->pass[i] == pass;
        if (!reduced && !(g->role[i] == ROW_SCALAR && g->pass[i] == pass + 1)) continue;
        CgPoint p = elements_point(k, g->stmt[i], true);
        elements_define(k, t, s->rhs->type,
                        reduced ? monoid_result(monoid_of(&now, s->rhs))
                                : cg_expr(&p, s->rhs, s->rhs->type));
        if (at) cg_line(cg, "%s%s[%s] = %s;", only, cg_name(cg, "value", t), at,
                        text_of(cg, k->at.made[t]));
        if (!stores || !elements_in_memory(k, t)) continue;
        TeDtype dtype = cg->te->tensor[t].dtype;
        cg_line(cg, "%s%s[%s] = %s;", only, text_tensor(cg, t),
                text_of(cg, cg_offset(cg, t, p.index)),
                text_of(cg, cg_encode(cg, dtype, te_dtype_compute(dtype), k->at.made[t])));
    }
}
