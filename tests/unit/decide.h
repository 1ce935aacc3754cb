/* Decisions on how statements part into kernels, the same for all statements.  */
#ifndef ROLLER_TESTS_DECIDE_H
#define ROLLER_TESTS_DECIDE_H
#include "te/te.h"

enum {
    USUAL = 0,
#define X(id, name) id = 1 << TE_##id,
    TE_DECISIONS(X)
#undef X
    RELAID = PHASED | PACKED,
    CHAINS = 1 << 16          /* no decision: products of chains may be joined */
};

static inline TeDecisions *decide(Arena *a, unsigned taken) {
    TeDecisions *x = ARENA_NEW(a, TeDecisions);
    x->chains = (taken & CHAINS) != 0;
    for (int i = 0; i < TE_MAX_STMTS; i++) x->taken[i] = (TeDecided)taken;
    return x;
}

/* All that is decided somewhere in a normalized op.  */
static inline unsigned decided(const Te *normal) {
    unsigned taken = 0;
    for (int i = 0; i < normal->decisions->n; i++) taken |= te_taken(normal->decisions, i);
    return taken;
}
#endif
