/* Pairs of decisions.  */
#include "driver/plan/search_ask.h"
#include <math.h>
#include <stdlib.h>

static bool share_kernel(const Tried *a, const Tried *b) {
    bool same = false;
    for (int i = 0; i < a->n; i++)
        for (int k = 0; k < b->n; k++) same |= a->gone[i] == b->gone[k];
    return same;
}

static bool pair_was_tried(const Search *x, int one, int other) {
    const PairTried *p = x->pair[one];
    while (p && !(p->other == other && search_tried(&p->tried))) p = p->next;
    return p != NULL;
}

typedef struct {
    int decision;
    double lost;
} Open;

static int by_loss(const void *a, const void *b) {
    const Open *p = a, *q = b;
    return p->lost != q->lost ? (p->lost < q->lost ? -1 : 1) : p->decision - q->decision;
}

static int by_number(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }

/* What can be decided, that which loses the least first, and which place each has there (-1:
 * none).  */
static int open_decisions(const Search *x, Open *open, int *rank) {
    const TeDecisions *now = search_decided(x);
    int n = 0;
    for (int i = 0; i < now->n * TE_DECISION_COUNT; i++) {
        const Tried *t = &x->whole.tried[i];
        bool possible = now->possible[i / TE_DECISION_COUNT] >> i % TE_DECISION_COUNT & 1;
        rank[i] = -1;
        if (possible && t->gone && isfinite(t->lost)) open[n++] = (Open){i, t->lost};
    }
    qsort(open, (size_t)n, sizeof *open, by_loss);
    for (int i = 0; i < n; i++) rank[open[i].decision] = i;
    return n;
}

/* Those before `one` that replace a kernel that it would replace.  Equal kernels of other places,
 * as repeated layers have them, are not the same.  */
static int meeting(Search *x, const int *rank, int one, int *before) {
    int n = 0, site = one / TE_DECISION_COUNT;
    ArenaMark mark = arena_mark(x->whole.plan.a);
    NearPart p;
    near_find(&x->near, &site, 1, &p);
    for (int i = 0; i < p.n * TE_DECISION_COUNT; i++) {
        int other = p.stmt[i / TE_DECISION_COUNT] * TE_DECISION_COUNT + i % TE_DECISION_COUNT;
        if (rank[other] >= 0 && rank[other] < rank[one] &&
            share_kernel(&x->whole.tried[one], &x->whole.tried[other]))
            before[n++] = rank[other];
    }
    arena_reset(x->whole.plan.a, mark);
    qsort(before, (size_t)n, sizeof *before, by_number);
    return n;
}

static void try_pair(Search *x, int one, int other) {
    Question q = {.site = {one / TE_DECISION_COUNT, other / TE_DECISION_COUNT}, .n = 2,
                  .decision = {one % TE_DECISION_COUNT, other % TE_DECISION_COUNT}};
    NearPart p;
    near_find(&x->near, q.site, q.n, &p);
    Answer *found = search_ask(x, &q, &p);
    if (!found) return;
    if (found->n_flip > 0 && !search_refused(x, found, q.site[0])) {
        search_accept(x, &p, found, q.site[0]);
        return;
    }
    PairTried *t = ARENA_NEW(x->whole.plan.kept, PairTried);
    *t = (PairTried){other, found->tried[0], x->pair[one]};
    x->pair[one] = t;
}

/* Two decisions of which none is a gain alone, as when each of two operands keeps a product from
 * its fastest unit.  As many pairs as there were single ones, at most.  */
Status search_pairs(Search *x, Diag *d, bool *any) {
    Arena *a = x->whole.plan.a;
    int all = search_decided(x)->n * TE_DECISION_COUNT;
    Open *open = ARENA_ARRAY(a, Open, all);
    int *rank = ARENA_ARRAY(a, int, all), *before = ARENA_ARRAY(a, int, all);
    int n = open_decisions(x, open, rank);
    Status s = ST_OK;
    for (int k = 1; k < n && x->pairs < x->steps && !s; k++) {
        int one = open[k].decision, n_before = meeting(x, rank, one, before);
        for (int i = 0; i < n_before && x->pairs < x->steps && !s; i++) {
            int other = open[before[i]].decision;
            if (pair_was_tried(x, one, other)) continue;
            ArenaMark mark = arena_mark(a);
            try_pair(x, one, other);
            arena_reset(a, mark);
            s = watch_check(x->whole.plan.asked.o->watch, d);
        }
    }
    *any = x->accepted != NULL;
    if (*any && !s) search_take_accepted(x);
    return s;
}
