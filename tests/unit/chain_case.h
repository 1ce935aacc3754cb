/* Softmax attention as a chain: its problem and its candidates.  */
#ifndef ROLLER_TEST_CHAIN_CASE_H
#define ROLLER_TEST_CHAIN_CASE_H
#include "microperf/microperf.h"
#include "decide.h"
#include "plan_fixture.h"

typedef struct {
    Te *normal;
    KernelGroup *group;
    Problem p;
    Device *dev;
    RProgSet set;
} Case;

/* Softmax attention, of `heads` in all.  */
static inline const char *attention_of(Arena *a, int64_t heads, int64_t keys, int64_t head,
                                const char *score) {
    return arena_printf(a, "param B = %lld, L = %lld, D = %lld; op f(Q: bf16[B,L,D],"
                        " T: bf16[B,L,D], V: bf16[B,L,D]) -> O: bf16[B,L,D] {"
                        " s[b,i,j] = sum[d](Q[b,i,d] * T[b,j,d]) * 0.08838835; t[b,i,j] = %s;"
                        " m[b,i] = max[j](t[b,i,j]); z[b,i] = sum[j](exp(t[b,i,j] - m[b,i]));"
                        " O[b,i,e] = sum[j](bf16(exp(t[b,i,j] - m[b,i])) * V[b,j,e]) / z[b,i]; }",
                        (long long)heads, (long long)keys, (long long)head, score);
}

static inline const char *attention(Arena *a, int64_t keys, int64_t head, const char *score) {
    return attention_of(a, 32, keys, head, score);
}

static inline Case open_case(Arena *a, const char *device, const char *text) {
    Case c = {.dev = fixture_device(a, device)};
    Diag d = diag_new(a);
    Te *te;
    must(te_parse(a, &d, diag_text("x", text), NULL, NULL, &te));
    te->decisions = decide(a, JOINED);
    te->decisions->chains = true;
    must(te_normalize(a, &d, te, &c.normal));
    assert_int_equal(access_groups(a, c.normal, &c.group), 1);
    must(rtile_problem(a, &d, c.normal, &c.group[0], 16, &c.p));
    assert_non_null(c.p.next);
    must(rprog_candidates(a, &d, &c.p, c.dev, NULL, &c.set));
    return c;
}

/* With programs of units of that scope alone.  */
static inline Case only(Arena *a, Case c, UnitScope scope) {
    RProgSet some = {.prog = ARENA_ARRAY(a, RProg, c.set.n)};
    for (int i = 0; i < c.set.n; i++) {
        const RProg *x = &c.set.prog[i];
        if (c.dev->unit[x->unit].scope == scope) some.prog[some.n++] = *x;
    }
    c.set = some;
    return c;
}

/* The best time of all, or of those with such a tile (0: any).  */
static inline double best_us(Arena *a, const Case *c, int rows, int columns, int threads) {
    Ranked *r;
    RProgSet some = {.prog = ARENA_ARRAY(a, RProg, c->set.n)};
    for (int i = 0; i < c->set.n; i++) {
        const RProg *x = &c->set.prog[i];
        if (rows && x->block.extent[AX_M] != rows) continue;
        if (columns && x->block.extent[AX_N] != columns) continue;
        if (!threads || x->threads == threads) some.prog[some.n++] = *x;
    }
    return mp_rank(a, &c->p, c->dev, &some, 1, &r) ? r[0].estimate.us : -1;
}
#endif
