#include "driver/size_sets.h"

#include <string.h>

enum { KEPT = 6, CANDIDATES = 4000 };
static const double least_gain = 0.005;

/* ---- programs and what they would take ---- */

static bool is_planned_apart(const Te *te, const KernelGroup *g) {
    const TeStmt *s = &te->stmt[g->root];
    bool varies = false;
    for (int i = 0; i < s->n_index; i++) varies = varies || s->index[i].hi.expr;
    return varies;
}

/* Is the point below one that a program is right up to?  */
static bool is_below(const SizedSet *s, const SizePoints *at, const SizedProgram *x, int point) {
    for (int u = 0; u < at->n_planned; u++) {
        if (x->right[u] && rplan_allows(s->set->normal, at->value[u], at->value[point]))
            return true;
    }
    return x->right[point];
}

/* A program is right up to the sizes it was planned at, and to others where a check says so.  */
static void price(Arena *a, const SizedSet *s, int g, const SizePoints *at, SizedProgram *x) {
    const PlanSet *set = s->set;
    const Problem *p = s->group[g].problem;
    const RProg *prog = &x->plans.ranked->prog;
    x->us = ARENA_ARRAY(a, double, at->n);
    x->right = ARENA_ARRAY(a, bool, at->n);
    for (int i = 0; i < at->n; i++)
        x->right[i] = rplan_allows(set->normal, x->plans.upto, at->value[i]) ||
                      !rprog_check(&p[i], set->dev, prog);
    for (int i = 0; i < at->n; i++) {
        Estimate e;
        if (!is_below(s, at, x, i)) continue;
        mp_estimate(&p[i], prog, set->dev, &e);
        x->us[i] = e.us;
    }
}

/* Plans group g at a point; no program there is no error, and there is none once it was ended.  */
static void plan_at(Arena *a, const SizedSet *s, int g, const SizePoints *at, int i) {
    const PlanSet *set = s->set;
    const CompileOptions *o = &set->options;
    SizedGroup *group = &s->group[g];
    SizedProgram *x = &group->program[group->n];
    Diag quiet = diag_new(a);
    if (watch_ended(o->watch)) return;
    *x = (SizedProgram){.plans = {.part = g, .upto = at->value[i], .problem = group->problem[i]},
                        .point = i};
    RPlanOptions options = {.align = o->align, .workspace_limit = o->workspace_limit,
                            .max_candidates = CANDIDATES};
    GroupPlans *p = &x->plans;
    if (rprog_candidates(a, &quiet, &p->problem, set->dev, &options, &p->set)) return;
    if (mp_rank(a, &quiet, &p->problem, set->dev, &p->set, KEPT, &p->ranked, &p->n)) return;
    p->set.prog = NULL;
    price(a, s, g, at, x);
    group->n++;
}

/* What the best programs take at every point, of all groups together.  */
static void add_up(const SizedSet *s, const SizePoints *at) {
    for (int i = 0; i < at->n; i++) {
        s->us[i] = 0;
        for (int g = 0; g < s->set->n_group; g++) {
            const SizedGroup *x = &s->group[g];
            double best = x->program[x->n - 1].us[i];
            for (int k = 0; k < x->n; k++) {
                const SizedProgram *p = &x->program[k];
                if (p->right[i] && p->us[i] < best) best = p->us[i];
            }
            s->us[i] += best;
        }
    }
}

void size_sets_open(Arena *a, PlanSet *set, const SizePoints *at, SizedSet *out) {
    *out = (SizedSet){set, ARENA_ARRAY(a, SizedGroup, set->n_group), ARENA_ARRAY(a, double, at->n)};
    for (int g = 0; g < set->n_group; g++) {
        SizedGroup *x = &out->group[g];
        const GroupPlans *all = &set->plans[g];
        x->apart = is_planned_apart(set->normal, &set->group[g]);
        x->problem = ARENA_ARRAY(a, Problem, at->n);
        x->program = ARENA_ARRAY(a, SizedProgram, at->n + 1);
        for (int i = 0; i < at->n; i++)
            rtile_resize(a, &all->problem, te_sized(a, set->normal, at->value[i]),
                         set->options.align, &x->problem[i]);
        if (x->apart && at->n_planned > 1) plan_at(a, out, g, at, 0);
        SizedProgram *last = &x->program[x->n++];
        *last = (SizedProgram){.plans = *all, .point = at->n_planned - 1};
        price(a, out, g, at, last);
    }
    add_up(out, at);
}

void size_sets_fill(Arena *a, const SizePoints *at, SizedSet *x) {
    for (int g = 0; g < x->set->n_group; g++) {
        SizedGroup *group = &x->group[g];
        SizedProgram last = group->program[group->n - 1];
        if (!group->apart) continue;
        group->n--;
        /* The last point is the largest: planned already.  */
        for (int i = 1; i + 1 < at->n_planned; i++) {
            if (!size_points_tiny(x->set->normal, at->value[i])) plan_at(a, x, g, at, i);
        }
        for (int i = at->n - at->n_tried; i < at->n; i++) plan_at(a, x, g, at, i);
        group->program[group->n++] = last;
    }
    add_up(x, at);
}

/* The program planned at a point; -1: there is none.  */
static int planned_at(const SizedGroup *x, int point) {
    for (int k = 0; k < x->n; k++) {
        if (x->program[k].point == point) return k;
    }
    return -1;
}

bool size_sets_has(const SizedSet *x, const SizePoints *at, int point) {
    for (int g = 0; g < x->set->n_group; g++) {
        if (x->group[g].apart && planned_at(&x->group[g], point) < 0) return false;
    }
    return point < at->n_planned;
}

/* ---- words ---- */

void size_sets_print(const Te *te, const int64_t *value, const char *relation, Buf *out) {
    const char *comma = "";
    for (int s = 0; s < te->n_size; s++) {
        if (!rplan_varies(te, s)) continue;
        buf_printf(out, "%s%s %s%lld", comma, te->size[s].name, relation, (long long)value[s]);
        comma = ", ";
    }
}

typedef struct {
    const SizedSet *set;
    const SizePoints *at;
    int group;
    SizeChoice c;             /* of the programs below, each up to the sizes of a point */
    const SizedProgram *const *program;
    const int *upto;
    const bool *counts;
} Choice;

static void explain(const Choice *x, int n, double mean_of_one, double worst_of_one, Buf *b) {
    const SizedSet *s = x->set;
    const Te *te = s->set->normal;
    double worst;
    int tried = 0;
    for (int i = 0; i < x->at->n; i++) tried += x->counts[i];
    size_loss(&x->c, &worst);
    buf_printf(b, "sizes: kernel %d has %d program%s; tried at %d sizes, each takes at most\n"
               "  %.1f %% more than the best program found for it by prediction; one would\n"
               "  take up to %.1f %% more, %.1f %% on average\n", x->group, n, n > 1 ? "s" : "",
               tried, worst * 100, worst_of_one * 100, mean_of_one * 100);
    for (int k = 0; k < x->c.n && n > 1; k++) {
        const GroupPlans *p = &x->program[k]->plans;
        if (!x->c.option[k].chosen) continue;
        buf_puts(b, "  ");
        if (k + 1 < x->c.n) size_sets_print(te, x->at->value[x->upto[k]], "<= ", b);
        else buf_puts(b, "else");
        buf_puts(b, ": ");
        mp_summary(&p->problem, s->set->dev, &p->ranked->prog, b);
        buf_putc(b, '\n');
    }
    for (int i = 0; i < x->at->n_planned && n > 1; i++) {
        if (!x->counts[i]) continue;
        buf_puts(b, "    ");
        size_sets_print(te, x->at->value[i], "", b);
        buf_printf(b, ": predicted %.2f us, best found %.2f us, one program %.2f us\n",
                   x->c.option[size_taken(&x->c, i)].us[i], x->c.best[i],
                   x->c.option[x->c.n - 1].us[i]);
    }
}

/* ---- the choice ---- */

/* What a program takes where it is taken up to a point's sizes.  */
static const double *within(Arena *a, const Choice *x, const SizedProgram *p, int upto) {
    const Te *te = x->set->set->normal;
    double *us = ARENA_ARRAY(a, double, x->at->n);
    for (int i = 0; i < x->at->n; i++)
        us[i] = rplan_allows(te, x->at->value[upto], x->at->value[i]) ? p->us[i] : -1;
    return us;
}

/* The first program of the group that is the same one.  */
static int same_as(const SizedGroup *g, const SizedProgram *p) {
    const RProg *prog = &p->plans.ranked->prog;
    int k = 0;
    while (memcmp(&g->program[k].plans.ranked->prog, prog, sizeof *prog) != 0) k++;
    return k;
}

/* The programs of a group, each up to every point that it is right for within the sizes of `point`,
 * and the one planned at that last.  */
static void options_of(Arena *a, const SizedGroup *g, int point, Choice *x) {
    const Te *te = x->set->set->normal;
    int room = g->apart ? g->n * point + 1 : 1, n = 0;
    const SizedProgram **program = ARENA_ARRAY(a, const SizedProgram *, room);
    SizeOption *option = ARENA_ARRAY(a, SizeOption, room);
    int *upto = ARENA_ARRAY(a, int, room);
    for (int u = 0; u < point && g->apart; u++) {
        if (!rplan_allows(te, x->at->value[point], x->at->value[u])) continue;
        for (int k = 0; k < g->n; k++) {
            const SizedProgram *p = &g->program[k];
            if (!p->right[u]) continue;
            option[n] = (SizeOption){.us = within(a, x, p, u), .what = same_as(g, p)};
            upto[n] = u;
            program[n++] = p;
        }
    }
    const SizedProgram *last = &g->program[g->apart ? planned_at(g, point) : g->n - 1];
    option[n] = (SizeOption){.us = last->us, .what = same_as(g, last)};
    upto[n] = point;
    program[n++] = last;
    double *best = ARENA_ARRAY(a, double, x->at->n);
    for (int i = 0; i < x->at->n; i++) {
        best[i] = last->us[i];
        for (int k = 0; k < g->n; k++) {
            const SizedProgram *p = &g->program[k];
            if (p->right[i] && p->us[i] < best[i]) best[i] = p->us[i];
        }
    }
    x->program = program;
    x->upto = upto;
    x->c = (SizeChoice){.option = option, .n = n, .best = best, .counts = x->counts,
                        .taken = ARENA_ARRAY(a, int, x->at->n), .n_point = x->at->n,
                        .least_gain = least_gain};
}

/* A program to be taken up to a point's sizes, and of those that may take its place the ones that
 * are right there.  */
static GroupPlans taken_up_to(Arena *a, const Choice *x, const SizedProgram *program, int upto) {
    const PlanSet *set = x->set->set;
    GroupPlans p = program->plans;
    const Ranked *all = p.ranked;
    int n = p.n;
    p.upto = x->at->value[upto];
    p.problem = x->set->group[x->group].problem[upto];
    p.ranked = ARENA_ARRAY(a, Ranked, n);
    p.n = 0;
    for (int i = 0; i < n; i++) {
        bool right = rplan_allows(set->normal, program->plans.upto, p.upto) ||
                     !rprog_check(&p.problem, set->dev, &all[i].prog);
        if (right) p.ranked[p.n++] = all[i];
    }
    return p;
}

static void add_programs(Arena *a, const Choice *x, int n, PlanSet *out) {
    GroupPlans *all = ARENA_ARRAY(a, GroupPlans, out->n_program + n);
    memcpy(all, out->plans, (size_t)out->n_program * sizeof *all);
    for (int k = 0; k + 1 < x->c.n; k++) {
        if (x->c.option[k].chosen)
            all[out->n_program++] = taken_up_to(a, x, x->program[k], x->upto[k]);
    }
    out->plans = all;
}

int size_sets_choose(Arena *a, const SizedSet *s, const SizePoints *at, int point,
                     const bool *counts, int most, PlanSet *out, Buf *why) {
    int needed = 1;
    bool all = point + 1 == at->n_planned;
    *out = *s->set;
    out->within = all ? NULL : at->value[point];
    out->plans = ARENA_ARRAY(a, GroupPlans, out->n_group);
    memcpy(out->plans, s->set->plans, (size_t)out->n_group * sizeof *out->plans);
    for (int g = 0; g < out->n_group; g++) {
        Choice x = {.set = s, .at = at, .group = g, .counts = counts};
        options_of(a, &s->group[g], point, &x);
        out->plans[g] = x.program[x.c.n - 1]->plans;
        out->plans[g].upto = NULL;
        out->plans[g].problem = s->group[g].problem[point];
        if (!s->group[g].apart) continue;
        x.c.option[x.c.n - 1].chosen = true;
        double worst, mean = size_loss(&x.c, &worst);
        int n = size_choose(&x.c, most);
        explain(&x, n, mean, worst, why);
        add_programs(a, &x, n, out);
        if (n > needed) needed = n;
    }
    return needed;
}
