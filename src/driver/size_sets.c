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

static void price(Arena *a, const SizedSet *s, int g, const SizePoints *at, SizedProgram *x) {
    const PlanSet *set = s->set;
    x->us = ARENA_ARRAY(a, double, at->n);
    for (int i = 0; i < at->n; i++) {
        Estimate e;
        x->us[i] = -1;
        if (!rplan_allows(set->normal, x->plans.upto, at->value[i])) continue;
        mp_estimate(&s->group[g].problem[i], &x->plans.ranked->prog, set->dev, &e);
        x->us[i] = e.us;
    }
}

/* Plans group g at a point; no program there is no error.  */
static void plan_at(Arena *a, const SizedSet *s, int g, const SizePoints *at, int i) {
    const PlanSet *set = s->set;
    const CompileOptions *o = &set->options;
    SizedGroup *group = &s->group[g];
    SizedProgram *x = &group->program[group->n];
    Diag quiet = diag_new(a);
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
                double us = x->program[k].us[i];
                if (us >= 0 && us < best) best = us;
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
        x->program = ARENA_ARRAY(a, SizedProgram, at->n_planned + 1);
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
    SizeChoice c;             /* of the programs below */
    const SizedProgram *const *program;
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
        if (k + 1 < x->c.n) size_sets_print(te, p->upto, "<= ", b);
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

/* The programs of a group that may be taken up to a point's sizes, the one planned at it last.  */
static void options_of(Arena *a, const SizedGroup *g, int point, Choice *x) {
    const Te *te = x->set->set->normal;
    const SizedProgram **program = ARENA_ARRAY(a, const SizedProgram *, g->n);
    SizeOption *option = ARENA_ARRAY(a, SizeOption, g->n);
    int last = g->apart ? planned_at(g, point) : g->n - 1, n = 0;
    for (int k = 0; k <= last; k++) {
        const SizedProgram *p = &g->program[k];
        if (k < last && !rplan_allows(te, x->at->value[point], p->plans.upto)) continue;
        option[n] = (SizeOption){.us = p->us};
        program[n++] = p;
    }
    double *best = ARENA_ARRAY(a, double, x->at->n);
    for (int i = 0; i < x->at->n; i++) {
        best[i] = program[n - 1]->us[i];
        for (int k = 0; k < n; k++) {
            if (program[k]->us[i] >= 0 && program[k]->us[i] < best[i]) best[i] = program[k]->us[i];
        }
    }
    x->program = program;
    x->c = (SizeChoice){.option = option, .n = n, .best = best, .counts = x->counts,
                        .n_point = x->at->n, .least_gain = least_gain};
}

static void add_programs(Arena *a, const Choice *x, int n, PlanSet *out) {
    GroupPlans *all = ARENA_ARRAY(a, GroupPlans, out->n_program + n);
    memcpy(all, out->plans, (size_t)out->n_program * sizeof *all);
    for (int k = 0; k + 1 < x->c.n; k++) {
        if (x->c.option[k].chosen) all[out->n_program++] = x->program[k]->plans;
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
