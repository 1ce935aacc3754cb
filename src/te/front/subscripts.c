/* The subscripts of a statement, with what decides whether they constrain ranges.  */
#include "te/front/front.h"

uint32_t indices_in(const TeExpr *e) {
    uint32_t bits = e->kind == TE_INDEX ? 1u << e->v.ref : 0;
    for (int i = 0; i < e->n_args; i++) bits |= indices_in(e->args[i]);
    return e->other ? bits | indices_in(e->other) : bits;
}

static int count(const TeExpr *e) {
    int n = e->kind == TE_READ ? e->n_args : 0;
    for (int i = 0; i < e->n_args; i++) n += count(e->args[i]);
    return e->other ? n + count(e->other) : n;
}

static void collect(StmtInfo *info, const TeExpr *e, uint32_t excluded) {
    bool branches = e->kind == TE_SELECT || e->kind == TE_AND || e->kind == TE_OR;
    uint32_t inner = branches ? excluded | indices_in(e->args[0]) : excluded;
    for (int i = 0; i < e->n_args; i++) collect(info, e->args[i], i ? inner : excluded);
    if (e->other) collect(info, e->other, excluded);
    if (e->kind != TE_READ) return;
    for (int d = 0; d < e->n_args; d++) {
        const TeExpr *sub = e->args[d];
        info->sub[info->n_sub++] = (Subscript){
            .read = e, .sub = sub, .dim = d, .plain = sub->kind == TE_INDEX ? sub->v.ref : -1,
            .uses = indices_in(sub), .excluded = excluded, .guarded = e->other};
    }
}

void subscripts_collect(Op *op, int stmt) {
    StmtInfo *info = &op->stmt[stmt];
    const TeExpr *rhs = op->te->stmt[stmt].rhs;
    info->sub = ARENA_ARRAY(op->f->arena, Subscript, count(rhs));
    info->n_sub = 0;
    collect(info, rhs, 0);
}
