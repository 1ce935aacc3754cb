/* Programs with statements over rows of a product, for their tests.  */
#ifndef TESTS_STATS_CASE_H
#define TESTS_STATS_CASE_H
#include "base/hash.h"
#include "kernel_fixture.h"

#define STATS_SOFTMAX(type, out, shape_q, shape_k)                                                 \
    "op f(Q: " type shape_q ", K: " type shape_k ") -> S: " out "[B,M,N] {"                        \
    " t[b,i,j] = sum[d](Q[b,i,d] * K[b,j,d]); u[b,i,j] = t[b,i,j] / 4;"                            \
    " m[b,i] = max[j](u[b,i,j]); z[b,i] = sum[j](exp(u[b,i,j] - m[b,i]));"                         \
    " S[b,i,j] = exp(u[b,i,j] - m[b,i]) / z[b,i]; }"

typedef struct {
    RowStats stats;
    bool matrix, shared, swapped;
} StatsKind;

static inline bool stats_is_kind(const Device *dev, const RProg *r, StatsKind k) {
    bool matrix = rprog_matrix(dev, r);
    return r->stats == k.stats && matrix == k.matrix && (r->via == VIA_SHARED) == k.shared &&
           r->swapped == k.swapped;
}

/* A candidate of a kind, by seed; false: there is none.  */
static inline bool stats_pick(KernelCase *c, StatsKind kind, uint64_t seed) {
    const RProgSet *set = &c->set[0];
    int n = 0;
    for (int i = 0; i < set->n; i++) n += stats_is_kind(c->dev, &set->prog[i], kind);
    if (n == 0) return false;
    int64_t want = (int64_t)(rng_next(&(Rng){seed}) % (uint64_t)n);
    for (int i = 0; i < set->n; i++) {
        if (stats_is_kind(c->dev, &set->prog[i], kind) && want-- == 0)
            c->plan.prog[0] = set->prog[i];
    }
    return true;
}

static const StatsKind stats_kinds[] = {
    {STATS_WHOLE, false, false, false}, {STATS_PARTIAL, false, false, false},
    {STATS_WHOLE, true, false, false},  {STATS_PARTIAL, true, false, false},
    {STATS_WHOLE, true, true, false},   {STATS_PARTIAL, true, true, false},
    {STATS_WHOLE, true, false, true},   {STATS_PARTIAL, true, false, true},
    {STATS_WHOLE, true, true, true},    {STATS_PARTIAL, true, true, true},
    {STATS_TURNS, false, false, false}, {STATS_TURNS, true, false, false},
    {STATS_TURNS, true, true, false},   {STATS_TURNS, true, false, true},
    {STATS_TURNS, true, true, true},
};
enum { STATS_KINDS = sizeof stats_kinds / sizeof *stats_kinds };
#endif
