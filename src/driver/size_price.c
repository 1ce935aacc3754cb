#include "driver/size_price.h"
#include "rprogram/derived.h"

#include <math.h>
#include <string.h>

enum { KEPT = 6, TAKEN = 3, CANDIDATES = 4000 };

typedef struct {
    Arena *a;
    const PlanSet *set;
    const SizePoints *at;
    SizedGroup *group;
    int g;
} Pricing;

static bool depends_on_sizes(const Te *te, const KernelGroup *g) {
    const TeStmt *s = &te->stmt[g->root];
    bool varies = false;
    for (int i = 0; i < s->n_index; i++) varies = varies || s->index[i].hi.expr;
    return varies;
}

static void resize(const Pricing *x, const int64_t *size, Problem *out) {
    const PlanSet *set = x->set;
    rtile_resize(x->a, &set->plans[x->g].problem, te_sized(x->a, set->normal, size),
                 set->options.align, out);
}

/* ---- up to where a program is right ---- */

static bool is_right(const Pricing *x, const RProg *r, const int64_t *size) {
    ArenaMark m = arena_mark(x->a);
    Problem p;
    resize(x, size, &p);
    bool right = !rprog_check(&p, x->set->dev, r);
    arena_reset(x->a, m);
    return right;
}

/* Where it is not right at the largest sizes: from those it was planned for, each size is grown as
 * far as it stays right.  */
static const int64_t *right_upto(const Pricing *x, const RProg *r, int point) {
    const Te *te = x->set->normal;
    if (!rprog_check(&x->group->problem[0], x->set->dev, r)) return NULL;
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

/* No program has more partial results than some have at the sizes they were planned for: bytes.  */
static int64_t room_for_partials(const SizedGroup *g) {
    int64_t most = 0;
    for (int k = 0; k < g->n; k++)
        if (g->program[k].bytes > most) most = g->program[k].bytes;
    return most;
}

/* ---- programs ---- */

static bool is_known(const SizedGroup *g, const RProg *r) {
    bool known = false;
    for (int k = 0; k < g->n && !known; k++)
        known = memcmp(&g->program[k].ranked->prog, r, sizeof *r) == 0;
    return known;
}

static void add_program(const Pricing *x, Ranked *ranked, int n, const RProgSet *set, int point) {
    SizedGroup *g = x->group;
    SizedProgram *p = &g->program[g->n];
    if (is_known(g, &ranked->prog)) return;
    *p = (SizedProgram){.ranked = ranked, .n = n, .set = set};
    p->bytes = rprog_workspace(&g->problem[point], &ranked->prog);
    if (point > 0) p->upto = right_upto(x, &ranked->prog, point);
    g->n++;
}

/* Has the group other extents than at all earlier points?  */
static bool is_new(const Pricing *x, int point) {
    const Problem *p = x->group->problem;
    bool known = false;
    for (int i = 0; i < point && !known; i++)
        known = memcmp(p[i].extent, p[point].extent, sizeof p->extent) == 0;
    return !known;
}

/* Plans a group at a point; no program there is no error.  */
static void plan_at(const Pricing *x, int point) {
    const PlanSet *set = x->set;
    const CompileOptions *o = &set->options;
    Diag quiet = diag_new(x->a);
    RPlanOptions options = {.align = o->align, .workspace_limit = o->workspace_limit,
                            .max_candidates = CANDIDATES};
    const Problem *p = &x->group->problem[point];
    RProgSet *all = ARENA_NEW(x->a, RProgSet);
    Ranked *ranked;
    if (!is_new(x, point)) return;
    if (rprog_candidates(x->a, &quiet, p, set->dev, &options, all)) return;
    int n = mp_rank(x->a, p, set->dev, all, KEPT, &ranked);
    all->prog = NULL;
    for (int k = 0; k < n && k < TAKEN; k++) add_program(x, ranked + k, n - k, all, point);
}

/* ---- prices ---- */

static void price(const Pricing *x, SizedProgram *p, int64_t room, int n) {
    const SizedGroup *g = x->group;
    const RProg *r = &p->ranked->prog;
    int64_t bytes = rprog_workspace(&g->problem[0], r);
    p->outs = INT64_MAX;
    if (p != g->program && bytes > room && g->outs[0] > 0)
        p->outs = room / ((bytes + g->outs[0] - 1) / g->outs[0]);
    p->us = ARENA_ARRAY(x->a, double, n);
    for (int i = 0; i < n; i++) {
        Estimate e;
        p->us[i] = INFINITY;
        if (g->outs[i] > p->outs || !rplan_allows(x->set->normal, p->upto, x->at->value[i]))
            continue;
        mp_estimate(&g->problem[i], r, x->set->dev, &e);
        p->us[i] = e.us;
    }
}

static void open_group(const Pricing *x, int n) {
    SizedGroup *g = x->group;
    const GroupPlans *all = &x->set->plans[x->g];
    const KernelGroup *group = &x->set->group[x->g];
    g->set = x->set;
    g->number = x->g;
    g->apart = depends_on_sizes(x->set->normal, group);
    g->problem = ARENA_ARRAY(x->a, Problem, x->at->n);
    g->outs = ARENA_ARRAY(x->a, int64_t, x->at->n);
    g->program = ARENA_ARRAY(x->a, SizedProgram, TAKEN * x->at->n_planned + 1);
    for (int i = 0; i < n; i++) resize(x, x->at->value[i], &g->problem[i]);
    add_program(x, all->ranked, all->n, &all->set, 0);
}

static void size_group(const Pricing *x, const SizeRound *round) {
    SizedGroup *g = x->group;
    int n = round->n;
    for (int i = 0; i < n; i++) {
        if (!g->problem[i].te) resize(x, x->at->value[i], &g->problem[i]);
        g->outs[i] = rplan_domain(x->a, g->problem[i].te, &x->set->group[x->g]).value;
    }
    for (int i = round->first > 0 ? round->first : 1; i < round->end && g->apart; i++)
        plan_at(x, i);
    int64_t room = room_for_partials(g);
    g->best = ARENA_ARRAY(x->a, double, n);
    for (int i = 0; i < n; i++) g->best[i] = INFINITY;
    for (int k = 0; k < g->n; k++) {
        price(x, &g->program[k], room, n);
        for (int i = 0; i < n; i++)
            if (g->program[k].us[i] < g->best[i]) g->best[i] = g->program[k].us[i];
    }
}

/* The same group of a strategy before this one; NULL: there is none.  */
static const SizedGroup *known_group(const SizedSet *strategy, int s, const char *text) {
    for (int k = 0; k < s; k++) {
        for (int g = 0; g < strategy[k].set->n_group; g++)
            if (strcmp(strategy[k].group[g].text, text) == 0) return &strategy[k].group[g];
    }
    return NULL;
}

void size_price(Arena *a, const SizePoints *at, const SizeRound *round, SizedSet *strategy, int n) {
    for (int s = 0; s < n; s++) {
        SizedSet *out = &strategy[s];
        const PlanSet *set = out->set;
        if (round->first == 0)
            *out = (SizedSet){out->set, ARENA_ARRAY(a, SizedGroup, set->n_group),
                              ARENA_ARRAY(a, double, at->n)};
        const char **text = ARENA_ARRAY(a, const char *, set->n_group);
        access_group_texts(a, set->normal, set->group, set->n_group, text);
        for (int i = 0; i < round->n; i++) out->us[i] = 0;
        for (int g = 0; g < set->n_group; g++) {
            Pricing x = {a, set, at, &out->group[g], g};
            const SizedGroup *known = known_group(strategy, s, text[g]);
            if (known) {
                out->group[g] = *known;
            } else {
                if (round->first == 0) open_group(&x, round->n);
                x.set = x.group->set;         /* the strategy that it was found in may be gone */
                x.g = x.group->number;
                size_group(&x, round);
                x.group->text = text[g];
            }
            for (int i = 0; i < round->n; i++) out->us[i] += x.group->best[i];
        }
    }
}
