#include "driver/plan/plan_set.h"
#include "driver/plan/fusion.h"
#include <string.h>

void plan_forget_watch(PlanSet *set) {
    for (; set; set = set->other) set->options.watch = NULL;
}

static void whole_plan(Arena *a, const PlanSet *set, WholePlan *out) {
    int n = set->n_group, all = set->n_program;
    *out = (WholePlan){.rplan = {.te = set->normal, .group = set->group, .n = n, .n_group = n,
                                 .align = set->options.align, .select = set->select},
                       .estimate = ARENA_ARRAY(a, Estimate, all),
                       .choice = ARENA_ARRAY(a, int, all)};
    RPlan *p = &out->rplan;
    p->problem = ARENA_ARRAY(a, Problem, n);
    p->prog = ARENA_ARRAY(a, RProg, n);
    for (int g = 0; g < n; g++) p->problem[g] = set->plans[g].problem;
    if (all > n) rplan_extend(a, p, all - n);
    for (int i = n; i < all; i++) {
        p->group_of[i] = set->plans[i].group;
        p->group[i] = set->group[p->group_of[i]];
        p->problem[i] = set->plans[i].problem;
    }
    p->n = all;
    if (!set->other) return;
    out->other = ARENA_NEW(a, WholePlan);
    whole_plan(a, set->other, out->other);
    p->other = &out->other->rplan;
}

static void whole(Arena *a, const PlanSet *set, WholePlan *out) {
    whole_plan(a, set, out);
    if (set->select) rplan_bound(a, &out->rplan);
}

void compile_take(const PlanSet *set, WholePlan *p, int group, int choice) {
    const Ranked *r = &set->plans[group].ranked[choice];
    p->choice[group] = choice;
    p->rplan.prog[group] = r->prog;
    p->estimate[group] = r->estimate;
}

void compile_choose(Arena *a, const PlanSet *set, int rank, WholePlan *out) {
    whole(a, set, out);
    for (int i = 0; i < set->n_program; i++)
        compile_take(set, out, i, i == set->dominant ? rank : 0);
    for (WholePlan *x = out->other; x; x = x->other) {
        set = set->other;
        for (int i = 0; i < set->n_program; i++) compile_take(set, x, i, 0);
    }
}

/* The programs that were read, with what is predicted of each.  */
static void keep_read(Arena *a, const Device *dev, const RPlan *p, PlanSet *out) {
    GroupPlans *plans = ARENA_ARRAY(a, GroupPlans, p->n);
    if (out->n_group) memcpy(plans, out->plans, (size_t)out->n_group * sizeof *plans);
    out->plans = plans;
    out->n_program = p->n;
    out->select = p->select;
    for (int g = 0; g < out->n_program; g++) {
        GroupPlans *group = &out->plans[g];
        group->problem = p->problem[g];
        group->group = rplan_group_of(p, g);
        group->ranked = ARENA_NEW(a, Ranked);
        group->n = 1;
        group->set.enumerated = group->set.n = 1;
        group->ranked->prog = p->prog[g];
        mp_estimate(&group->problem, &p->prog[g], dev, &group->ranked->estimate);
    }
    out->n_rank = 1;
    for (int g = 0; g < out->n_group; g++)
        if (out->plans[g].ranked->estimate.us > out->plans[out->dominant].ranked->estimate.us)
            out->dominant = g;
}

Status compile_read_plan(Arena *a, Diag *d, const PlanRequest *r, DiagText text, PlanSet *out) {
    RStrategy *strategy = ARENA_ARRAY(a, RStrategy, RPLAN_SET);
    int n = rprog_read_strategies(text.text, text.len, strategy, r->te->runtime ? RPLAN_SET : 1);
    PlanSet *set = out;
    for (int i = 0; i < n; i++) {
        if (i > 0) set = set->other = ARENA_NEW(a, PlanSet);
        Te *given = i > 0 ? te_given(a, r->te, strategy[i].given) : NULL;
        PlanRequest of = {given ? given : r->te, r->dev, r->o};
        Status s = fusion_open(a, d, &of, &strategy[i].decisions, set);
        if (s) return s;
    }
    WholePlan p;
    whole(a, out, &p);
    Status s = rprog_read(a, d, text, r->dev, &p.rplan);
    if (s) return s;
    const RPlan *read = &p.rplan;
    for (set = out; set; set = set->other, read = read->other) keep_read(a, r->dev, read, set);
    plan_forget_watch(out);
    return ST_OK;
}

static void add_estimate(const Estimate *e, double *most, Estimate *out) {
    out->us += e->us;
    for (int t = 0; t < MP_COUNT; t++) out->term[t] += e->term[t];
    out->dram_bytes += e->dram_bytes;
    out->blocks += e->blocks;
    if (e->us > *most) {
        *most = e->us;
        out->limiter = e->limiter;
    }
}

void compile_estimate(const WholePlan *p, Estimate *out) {
    *out = (Estimate){0};
    double most = -1;
    for (int g = 0; g < rplan_groups(&p->rplan); g++) add_estimate(&p->estimate[g], &most, out);
}

void compile_estimate_at(Arena *a, const PlanSet *set, const WholePlan *p, const int64_t *size,
                         Estimate *out) {
    *out = (Estimate){0};
    double most = -1;
    const RChoice *taken = set->select ? rplan_choose(set->select, size) : NULL;
    for (int i = taken ? taken->strategy : 0; i > 0; i--) {
        set = set->other;
        p = p->other;
    }
    const Te *sized = te_sized(a, set->normal, size);
    for (int g = 0; g < set->n_group; g++) {
        int program = taken ? taken->program[g] : g;
        Problem at = p->rplan.problem[program];
        Estimate e;
        if (set->normal->runtime)
            rtile_resize(a, &p->rplan.problem[program], sized, set->options.align, &at);
        mp_estimate(&at, &p->rplan.prog[program], set->dev, &e);
        add_estimate(&e, &most, out);
    }
}

void compile_estimate_largest(const PlanSet *set, const WholePlan *p, Estimate *out) {
    if (!set->select) {
        compile_estimate(p, out);
        return;
    }
    Arena *a = arena_create(NULL);
    int64_t *size = ARENA_ARRAY(a, int64_t, set->te->n_size + 1);
    for (int i = 0; i < set->te->n_size; i++) size[i] = set->te->size[i].extent.value;
    compile_estimate_at(a, set, p, size, out);
    arena_destroy(a);
}
