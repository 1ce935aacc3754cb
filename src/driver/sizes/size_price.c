#include "driver/sizes/size_price.h"
#include "base/hash.h"
#include "rprogram/derived.h"

#include <math.h>
#include <string.h>

enum { KEPT = 6, TAKEN = 3, CANDIDATES = 4000 };

typedef struct {
    Arena *a;
    const SizePoints *at;
    SizedGroup *group;
    const SizedSet *strategy; /* all n of them */
    int n;
} Pricing;

static bool depends_on_sizes(const Te *te, const KernelGroup *g) {
    const TeStmt *s = &te->stmt[g->root];
    bool varies = false;
    for (int i = 0; i < s->n_index; i++) varies = varies || s->index[i].hi.expr;
    return varies;
}

/* The group's problem at these sizes, or at the largest below them that its op is for.  It is of
 * g->sized, so it stands until the next one.  */
static void resize(const Pricing *x, const int64_t *size, Problem *out) {
    const SizedGroup *g = x->group;
    int64_t below[TE_MAX_SIZES];
    for (int i = 0; i < g->sized->n_size; i++) {
        const TeExtent *of = &g->set->te->size[i].extent;
        below[i] = size[i] < of->value ? size[i] - size[i] % of->multiple : of->value;
    }
    te_resize(g->sized, g->stmt, g->n_stmt, below);
    rtile_resize(x->a, &g->set->plans[g->number].problem, g->sized, g->set->options.align, out);
}

/* Points of the group's domain at the sizes of the last `resize`.  */
static int64_t domain(const Pricing *x) {
    return rplan_domain(x->a, x->group->sized, &x->group->set->group[x->group->number]).value;
}

/* ---- up to where a program is right ---- */

static bool is_right(const Pricing *x, const RProg *r, const int64_t *size) {
    ArenaMark m = arena_mark(x->a);
    Problem p;
    resize(x, size, &p);
    bool right = !rprog_check(&p, x->group->set->dev, r);
    arena_reset(x->a, m);
    return right;
}

/* Where it is not right at the largest sizes: from those it was planned for, each size is grown as
 * far as it stays right.  */
static const int64_t *right_upto(const Pricing *x, const RProg *r, int point) {
    const Te *te = x->group->set->normal;
    if (is_right(x, r, x->at->value[0])) return NULL;
    int64_t *upto = ARENA_ARRAY(x->a, int64_t, te->n_size + 1);
    memcpy(upto, x->at->value[point], (size_t)te->n_size * sizeof *upto);
    for (int s = te->n_size - 1; s >= 0; s--) {
        int64_t q = te_extent_divisor(&te->size[s].extent), good = upto[s] / q;
        int64_t bad = te->size[s].extent.value / q + 1;
        if (!rplan_varies(te, s)) continue;
        for (int64_t next = bad - 1; good + 1 < bad; next = good + (bad - good) / 2) {
            if (next > 2 * good && next + 1 < bad) next = 2 * good;
            upto[s] = next * q;
            if (is_right(x, r, upto)) good = next;
            else bad = next;
        }
        upto[s] = good * q;
    }
    return upto;
}

/* Bytes of the program's workspace at these sizes.  */
static int64_t bytes_at(const Pricing *x, const RProg *r, const int64_t *size) {
    ArenaMark m = arena_mark(x->a);
    Problem p;
    resize(x, size, &p);
    int64_t bytes = rprog_workspace(&p, r);
    arena_reset(x->a, m);
    return bytes;
}

/* ---- programs ---- */

static bool is_known(const SizedGroup *g, const RProg *r) {
    bool known = false;
    for (int k = 0; k < g->n && !known; k++)
        known = rprog_same(&g->program[k].ranked->prog, r);
    return known;
}

static void add_program(const Pricing *x, Ranked *ranked, int n, const RProgSet *set, int point) {
    SizedGroup *g = x->group;
    SizedProgram *p = &g->program[g->n];
    if (is_known(g, &ranked->prog)) return;
    *p = (SizedProgram){.ranked = ranked, .n = n, .set = set};
    int64_t bytes = bytes_at(x, &ranked->prog, x->at->value[point]);
    if (bytes > g->room) g->room = bytes;
    if (point > 0) p->upto = right_upto(x, &ranked->prog, point);
    g->n++;
}

/* Has the group other extents than at all earlier points?  */
static bool is_new(const Pricing *x, const Problem *p, int point) {
    int64_t (*extent)[AX_CLASSES] = x->group->extent;
    bool known = false;
    memcpy(extent[point], p->extent, sizeof p->extent);
    for (int i = 0; i < point && !known; i++)
        known = memcmp(extent[i], p->extent, sizeof p->extent) == 0;
    return !known;
}

/* The best programs at a point, of which alone something is kept; returns how many.  */
static int rank_at(const Pricing *x, int point, Ranked *best, RProgSet *all) {
    const PlanSet *set = x->group->set;
    const CompileOptions *o = &set->options;
    RPlanOptions options = {.align = o->align, .workspace_limit = o->workspace_limit,
                            .max_candidates = CANDIDATES};
    ArenaMark mark = arena_mark(x->a);
    Diag quiet = diag_new(x->a);
    Problem p;
    Ranked *ranked;
    int n = 0;
    resize(x, x->at->value[point], &p);
    if (is_new(x, &p, point) && domain(x) > 0 &&
        !rprog_candidates(x->a, &quiet, &p, set->dev, &options, all)) {
        n = mp_rank(x->a, &p, set->dev, all, KEPT, &ranked);
        memcpy(best, ranked, (size_t)n * sizeof *best);
    }
    all->prog = NULL;
    arena_reset(x->a, mark);
    return n;
}

/* Plans a group at a point; no program there is no error.  */
static void plan_at(const Pricing *x, int point) {
    RProgSet all = {0};
    Ranked best[KEPT];
    int n = rank_at(x, point, best, &all);
    if (n == 0) return;
    RProgSet *set = ARENA_NEW(x->a, RProgSet);
    Ranked *ranked = ARENA_ARRAY(x->a, Ranked, n);
    *set = all;
    memcpy(ranked, best, (size_t)n * sizeof *ranked);
    for (int k = 0; k < n && k < TAKEN; k++) add_program(x, ranked + k, n - k, set, point);
}

/* ---- prices ---- */

/* Of how many points of the domain the workspace of a program is small enough.  */
static int64_t most_outs(const Pricing *x, const SizedProgram *p) {
    const SizedGroup *g = x->group;
    int64_t bytes = bytes_at(x, &p->ranked->prog, x->at->value[0]);
    if (p == g->program || bytes <= g->room || g->outs <= 0) return INT64_MAX;
    return g->room / ((bytes + g->outs - 1) / g->outs);
}

/* What all programs take at a point that their op is for; memo: what was counted of them at others.
 */
static void price_at(const Pricing *x, int point, CountMemo *memo) {
    SizedGroup *g = x->group;
    const int64_t *size = x->at->value[point];
    ArenaMark mark = arena_mark(x->a);
    Problem problem;
    resize(x, size, &problem);
    int64_t outs = domain(x);
    mp_count_resized(memo);
    for (int k = 0; k < g->n; k++) {
        SizedProgram *p = &g->program[k];
        Estimate e;
        if (outs > p->outs || !rplan_allows(g->set->normal, p->upto, size)) continue;
        mp_estimate_again(&problem, &p->ranked->prog, g->set->dev, memo, &e);
        p->us[point] = e.us;
        if (e.us < g->best[point]) g->best[point] = e.us;
    }
    arena_reset(x->a, mark);
}

static double *never(Arena *a, int n) {
    double *us = ARENA_ARRAY(a, double, n);
    for (int i = 0; i < n; i++) us[i] = INFINITY;
    return us;
}

static void price(const Pricing *x, int n) {
    SizedGroup *g = x->group;
    g->best = never(x->a, n);
    for (int k = 0; k < g->n; k++) {
        g->program[k].outs = most_outs(x, &g->program[k]);
        g->program[k].us = never(x->a, n);
    }
    ArenaMark mark = arena_mark(x->a);
    CountMemo *memo = mp_count_memo(x->a);
    for (int i = 0; i < n; i++)
        if (te_gives(g->set->normal, x->at->value[i])) price_at(x, i, memo);
    arena_reset(x->a, mark);
}

/* ---- the sizes that a strategy is for ---- */

/* Is the op for all sizes that the other one is for?  */
static bool is_for(const Te *te, const Te *other) {
    for (int i = 0; i < te->n_size; i++) {
        const TeExtent *is = &te->size[i].extent, *of = &other->size[i].extent;
        if (of->multiple % is->multiple || of->value > is->value) return false;
    }
    return true;
}

/* Is more known of the op of `set` at a point, and would such a group gain by it?  A usual strategy
 * that would is one of that op, too; for others, what is found for that op is enough.  */
static bool knows_more(const Pricing *x, const PlanSet *set, int point) {
    const PlanSet *own = x->group->set, *usual = x->strategy->set;
    bool more = is_for(own->te, set->te) && !is_for(set->te, own->te);
    return more && te_gives(set->te, x->at->value[point]) &&
           (own->te != usual->te || te_same_decisions(set->normal, own->normal));
}

/* Is the group for the sizes of a point, and not in a strategy of which more is known there?  */
static bool is_planned_at(const Pricing *x, int point) {
    bool is = te_gives(x->group->set->te, x->at->value[point]);
    for (int s = 0; s < x->n && is; s++) is = !knows_more(x, x->strategy[s].set, point);
    return is;
}

/* ---- groups ---- */

static void open_group(const Pricing *x) {
    SizedGroup *g = x->group;
    const GroupPlans *all = &g->set->plans[g->number];
    const KernelGroup *group = &g->set->group[g->number];
    ArenaMark mark;
    Problem largest;
    g->apart = depends_on_sizes(g->set->normal, group);
    g->extent = arena_calloc(x->a, (size_t)x->at->n_planned, sizeof *g->extent);
    g->program = ARENA_ARRAY(x->a, SizedProgram, TAKEN * x->at->n_planned + 1);
    g->stmt = ARENA_ARRAY(x->a, int, group->n_fused + 1);
    g->stmt[g->n_stmt++] = group->root;
    for (int i = 0; i < group->n_fused; i++) g->stmt[g->n_stmt++] = group->fused[i];
    mark = arena_mark(x->a);
    resize(x, x->at->value[0], &largest);
    memcpy(g->extent[0], largest.extent, sizeof largest.extent);
    g->outs = domain(x);
    arena_reset(x->a, mark);
    add_program(x, all->ranked, all->n, &all->set, 0);
}

static void size_group(const Pricing *x, const SizeRound *round) {
    int first = round->first > 0 ? round->first : 1;
    if (round->first == 0) open_group(x);
    for (int i = first; i < round->end && x->group->apart; i++)
        if (is_planned_at(x, i)) plan_at(x, i);
    price(x, round->n);
}

/* The same group of a strategy; NULL: it has none.  */
static SizedGroup *known_group(const SizedSet *s, const char *text, uint64_t hash) {
    for (int g = 0; g < s->n; g++)
        if (s->group[g].hash == hash && strcmp(s->group[g].text, text) == 0) return &s->group[g];
    return NULL;
}

void size_price_open(Arena *a, PlanSet *set, const SizePoints *at, SizedSet *out) {
    const char **text = ARENA_ARRAY(a, const char *, set->n_group);
    Te *sized = te_sized(a, set->normal, at->value[0]);
    *out = (SizedSet){set, ARENA_ARRAY(a, SizedGroup, set->n_group), 0,
                      ARENA_ARRAY(a, int, set->n_group), ARENA_ARRAY(a, double, at->n)};
    access_group_texts(a, set->normal, set->group, set->n_group, text);
    for (int g = 0; g < set->n_group; g++) {
        uint64_t hash = hash64(text[g], strlen(text[g]), 0);
        SizedGroup *known = known_group(out, text[g], hash);
        if (!known) {
            known = &out->group[out->n++];
            *known = (SizedGroup){.text = text[g], .hash = hash, .set = set, .number = g,
                                  .sized = sized};
        }
        known->count++;
        out->of[g] = (int)(known - out->group);
    }
}

/* A strategy's groups, but for what those before it have, too.  */
static void price_strategy(Arena *a, const SizePoints *at, const SizeRound *round,
                           SizedSet *strategy, int n, int s) {
    SizedSet *out = &strategy[s];
    for (int i = 0; i < round->n; i++) out->us[i] = 0;
    for (int g = 0; g < out->n; g++) {
        SizedGroup *own = &out->group[g];
        const SizedGroup *known = NULL;
        int count = own->count;
        for (int k = 0; k < s && !known; k++)
            if (is_for(strategy[k].set->te, out->set->te))
                known = known_group(&strategy[k], own->text, own->hash);
        if (known) *own = *known;
        else size_group(&(Pricing){a, at, own, strategy, n}, round);
        own->count = count;
        for (int i = 0; i < round->n; i++) out->us[i] += count * own->best[i];
    }
}

void size_price(Arena *a, const SizePoints *at, const SizeRound *round, SizedSet *strategy, int n) {
    for (int s = 0; s < n; s++) price_strategy(a, at, round, strategy, n, s);
}
