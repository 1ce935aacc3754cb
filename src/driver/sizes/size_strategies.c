#include "driver/sizes/size_strategies.h"
#include "driver/plan/fusion.h"
#include "driver/sizes/size_given.h"
#include "driver/sizes/size_select.h"

#include <math.h>
#include <string.h>

enum { NEAR = 50, FIRST_PLANNED = 5, FIRST_PRICED = 96 };
enum { WORTH_PRICING = 64 };              /* programs that are priced at all points, at least */
static const double least_gain = 0.005;   /* of a kernel: of weighed losses */

/* ---- which strategies compete ---- */

/* Marks the strategies that are the fastest at some point; an earlier one is, where another gains
 * little.  */
static void find_winners(const SizedSet *strategy, int n, int points, bool *wins) {
    for (int i = 0; i < points; i++) {
        int best = 0;
        for (int s = 1; s < n; s++)
            if (strategy[s].us[i] < strategy[best].us[i] * (1 - 1.0 / NEAR)) best = s;
        wins[best] = true;
    }
}

/* Drops the strategies that never win, but for the one that stays, number `keep`, which becomes the
 * first; returns how many there are.  */
static int drop_losers(Arena *a, SizedSet *strategy, int n, int points, int keep) {
    bool *wins = ARENA_ARRAY(a, bool, n);
    SizedSet *all = ARENA_ARRAY(a, SizedSet, n);
    int left = 1;
    find_winners(strategy, n, points, wins);
    for (int s = 0; s < n; s++) all[s] = strategy[s];
    strategy[0] = all[keep];
    for (int s = 0; s < n; s++)
        if (wins[s] && s != keep) strategy[left++] = all[s];
    return left;
}

/* The strategies as plans, for what depends on them all.  */
static RPlan *as_plans(Arena *a, const SizedSet *strategy, int n) {
    RPlan *first = NULL, **end = &first;
    for (int s = 0; s < n; s++, end = &(*end)->other) {
        const PlanSet *set = strategy[s].set;
        *end = ARENA_NEW(a, RPlan);
        **end = (RPlan){.te = set->normal, .group = set->group, .n = set->n_group,
                        .n_group = set->n_group, .align = set->options.align,
                        .problem = ARENA_ARRAY(a, Problem, set->n_group)};
        for (int g = 0; g < set->n_group; g++) (*end)->problem[g] = set->plans[g].problem;
    }
    return first;
}

/* ---- words ---- */

/* Its decisions, and the sizes that it is for if that is not all: `usual, N % 8 == 0`.  */
static const char *strategy_name(Arena *a, const PlanSet *first, const PlanSet *set) {
    Buf out = buf_new(a);
    buf_puts(&out, te_decisions_text(a, set->normal));
    for (int i = 0; i < set->te->n_size; i++) {
        TeGiven x = rplan_given(first->te, set->te, i);
        const char *name = set->te->size[i].name;
        if (x.multiple) buf_printf(&out, ", %s %% %lld == 0", name, (long long)x.multiple);
        if (x.most) buf_printf(&out, ", %s <= %lld", name, (long long)x.most);
    }
    return buf_str(&out);
}

static double taken_us(const SizePick *x, const RSelector *select, int point) {
    const RChoice *c = rplan_choose(select, x->at->value[point]);
    const SizedSet *s = &x->strategy[c->strategy];
    double us = 0;
    for (int g = 0; g < s->set->n_group; g++) {
        int program = x->picked[size_slot(x, c->strategy, s->of[g])][c->program[g]];
        us += s->group[s->of[g]].program[program].us[point];
    }
    return us;
}

/* What is lost with what is taken, and with the programs for all sizes alone.  */
static void explain_losses(const SizePick *x, const RSelector *s, Buf *b) {
    double worst = 0, mean = 0, one_worst = 0, one_mean = 0;
    int n = x->at->n;
    for (int i = 0; i < n; i++) {
        double us = taken_us(x, s, i), one = 0;
        for (int g = 0; g < x->strategy->n; g++)
            one += x->strategy->group[g].program->us[i] * x->strategy->group[g].count;
        double loss = us / x->best[i] - 1, of_one = one / x->best[i] - 1;
        mean += loss / n;
        one_mean += of_one / n;
        if (loss > worst) worst = loss;
        if (of_one > one_worst) one_worst = of_one;
    }
    buf_printf(b, "sizes: tried at %d, each takes at most %.1f %% more than the best found for it "
                  "by\n  prediction, %.1f %% on average; one program for all would take up to %.1f "
                  "%% more,\n  %.1f %% on average\n",
               n, worst * 100, mean * 100, one_worst * 100, one_mean * 100);
}

static void print_taken(const PlanSet *set, const RChoice *c, Buf *b) {
    const PlanSet *first = set;
    for (int k = 0; k < c->strategy; k++) set = set->other;
    if (c->strategy) buf_printf(b, "strategy %s, ", strategy_name(b->arena, first, set));
    for (int g = 0; g < set->n_group; g++)
        buf_printf(b, "%s %d", g ? "," : set->n_group > 1 ? "kernels" : "kernel", c->program[g]);
}

const char *size_taken(Arena *a, const PlanSet *set, const int64_t *size) {
    Buf b = buf_new(a);
    if (set->select && size) print_taken(set, rplan_choose(set->select, size), &b);
    return buf_str(&b);
}

static void explain_choice(const PlanSet *set, const RSelector *s, const RChoice *c, Buf *b) {
    const char *comma = "  ";
    for (int m = 0; m < s->n_measure; m++) {
        if (c->most[m] == INT64_MAX) continue;
        buf_puts(b, comma);
        te_print_expr(s->te, NULL, s->measure[m].expr, b);
        buf_printf(b, " %s %lld", rplan_is_rest(&s->measure[m]) ? "==" : "<=",
                   (long long)c->most[m]);
        comma = ", ";
    }
    buf_puts(b, c == s->choice + s->n - 1 ? "  else: " : ": ");
    print_taken(set, c, b);
    buf_putc(b, '\n');
}

static void explain(const PlanSet *set, const RSelector *s, Buf *b) {
    for (const PlanSet *x = set; x; x = x->other) {
        bool several = set->other != NULL;
        if (several)
            buf_printf(b, "  strategy %s, %d kernel%s:\n", strategy_name(b->arena, set, x),
                       x->n_group, x->n_group == 1 ? "" : "s");
        for (int i = 0; i < x->n_program; i++) {
            const GroupPlans *p = &x->plans[i];
            if (i < x->n_group) buf_printf(b, "  %d: ", i);
            else buf_printf(b, "  %d, in place of %d: ", i, p->group);
            mp_summary(&p->problem, x->dev, &p->ranked->prog, b);
            buf_putc(b, '\n');
        }
    }
    for (int k = 0; k < s->n; k++) explain_choice(set, s, &s->choice[k], b);
}

/* ---- all of it ---- */

/* Programs, and strategies, that some choice takes get new numbers: those of each group first.  */

static bool is_taken(const RSelector *s, int strategy, int group, int program) {
    bool taken = false;
    for (int k = 0; k < s->n; k++)
        taken |= s->choice[k].strategy == strategy && s->choice[k].program[group] == program;
    return taken;
}

static bool is_strategy_taken(const RSelector *s, int strategy) {
    bool taken = strategy == 0;
    for (int k = 0; k < s->n; k++) taken |= s->choice[k].strategy == strategy;
    return taken;
}

static GroupPlans plans_of(TeSized *ops, const SizePick *x, int strategy, int group, int pick) {
    const SizedSet *s = &x->strategy[strategy];
    const PlanSet *set = s->set;
    int slot = size_slot(x, strategy, s->of[group]);
    const SizedProgram *p = &s->group[s->of[group]].program[x->picked[slot][pick]];
    GroupPlans out = {.problem = set->plans[group].problem, .set = *p->set, .group = group,
                      .ranked = ARENA_ARRAY(ops->a, Ranked, p->n)};
    if (p->upto)
        rtile_resize(ops->a, &set->plans[group].problem, te_sized_once(ops, p->upto),
                     set->options.align, &out.problem);
    for (int i = 0; i < p->n; i++) {
        bool right = i == 0 || !rprog_check(&out.problem, set->dev, &p->ranked[i].prog);
        if (right) out.ranked[out.n++] = p->ranked[i];
    }
    return out;
}

/* Is the program, by its number among those picked, in the strategy's set?  */
static bool is_in_set(const RSelector *s, int strategy, int group, int pick) {
    bool own = strategy == 0 && pick == 0;               /* right at all sizes: always there */
    return own || is_taken(s, strategy, group, pick);
}

static int programs_in_set(const SizePick *x, const RSelector *s, int strategy) {
    const SizedSet *of = &x->strategy[strategy];
    int n = 0;
    for (int g = 0; g < of->set->n_group; g++) {
        for (int k = 0; k < x->n_picked[size_slot(x, strategy, of->of[g])]; k++)
            n += is_in_set(s, strategy, g, k);
    }
    return n;
}

static void number_program(RSelector *s, int strategy, int group, int pick, int to) {
    for (int c = 0; c < s->n; c++) {
        RChoice *choice = &s->choice[c];
        if (choice->strategy == strategy && choice->program[group] == pick)
            choice->program[group] = -1 - to;
    }
}

/* The set of a strategy with the programs that are taken of it, and the choices with their numbers
 * there.  */
static PlanSet *make_set(Arena *a, const SizePick *x, RSelector *s, int strategy, int number) {
    const SizedSet *of = &x->strategy[strategy];
    const PlanSet *from = of->set;
    PlanSet *set = ARENA_NEW(a, PlanSet);
    TeSized ops = {a, from->normal, NULL};
    *set = *from;
    set->plans = ARENA_ARRAY(a, GroupPlans, programs_in_set(x, s, strategy));
    set->n_program = from->n_group;
    for (int g = 0; g < from->n_group; g++) {
        bool first = true;
        for (int k = 0; k < x->n_picked[size_slot(x, strategy, of->of[g])]; k++) {
            if (!is_in_set(s, strategy, g, k)) continue;
            int to = first ? g : set->n_program++;
            first = false;
            set->plans[to] = plans_of(&ops, x, strategy, g, k);
            number_program(s, strategy, g, k, to);
        }
    }
    for (int c = 0; c < s->n; c++) {
        RChoice *choice = &s->choice[c];
        if (choice->strategy != strategy) continue;
        for (int g = 0; g < from->n_group; g++) choice->program[g] = -1 - choice->program[g];
        choice->strategy = -1 - number;
    }
    return set;
}

static void make_sets(Arena *a, const SizePick *x, RSelector *s, PlanSet *out) {
    PlanSet **end = &out->other;
    int number = 0;
    for (int strategy = 0; strategy < x->n_strategy; strategy++) {
        if (!is_strategy_taken(s, strategy)) continue;
        PlanSet *set = make_set(a, x, s, strategy, number);
        if (number++ == 0) {
            const char *why = out->sizes;
            *out = *set;
            out->sizes = why;
            out->other = NULL;
            continue;
        }
        *end = set;
        end = &set->other;
        set->other = NULL;
    }
    for (int c = 0; c < s->n; c++) s->choice[c].strategy = -1 - s->choice[c].strategy;
}

/* One choice of the groups' own programs needs no selector.  */
static bool is_trivial(const PlanSet *set, const RSelector *s) {
    bool own = s->n == 1 && s->choice->strategy == 0;
    for (int g = 0; g < set->n_group && own; g++) own = s->choice->program[g] == g;
    return own;
}

static int most_programs(const CompileOptions *o) {
    return o->programs > 0 && o->programs <= RPLAN_SET ? o->programs : RPLAN_USUAL;
}

/* The strategies for all sizes, then those for some.  */
static Status find_strategies(Arena *a, Diag *d, const PlanRequest *r, Strategies *out) {
    int given;
    Strategies usual, more;
    Status s = fusion_strategies(a, d, r, &usual);
    if (s) return s;
    RSelector axes;
    SizedSet *strategy = ARENA_ARRAY(a, SizedSet, usual.n);
    for (int i = 0; i < usual.n; i++) strategy[i].set = &usual.set[i];
    rplan_measures(a, as_plans(a, strategy, usual.n), &axes);
    Te **op = size_given(a, usual.set, usual.n, &axes, &given);
    *out = usual;
    out->set = ARENA_ARRAY(a, PlanSet, usual.n + given * (usual.n + 1));
    memcpy(out->set, usual.set, (size_t)usual.n * sizeof *usual.set);
    for (int i = 0; i < given && !s; i++) {
        Diag quiet = diag_new(a);
        PlanRequest of = {op[i], r->dev, r->o};
        if (fusion_given(a, &quiet, &of, &usual, &more)) more.n = 0;
        for (int k = 0; k < more.n; k++)
            if (size_given_helps(&more.set[k], usual.set, usual.n))
                out->set[out->n++] = more.set[k];
        s = watch_check(r->o->watch, d);
    }
    return s;
}

/* Per size the most that a strategy knows.  */
static int64_t *known_multiples(Arena *a, const PlanSet *set, int n) {
    int64_t *multiple = ARENA_ARRAY(a, int64_t, set->te->n_size + 1);
    for (int i = 0; i < set->te->n_size; i++) {
        multiple[i] = 1;
        for (int k = 0; k < n; k++)
            if (set[k].te->size[i].extent.multiple > multiple[i])
                multiple[i] = set[k].te->size[i].extent.multiple;
    }
    return multiple;
}

/* Leaves a group the programs that are picked of it where it stands first, or is the same.  */
static void keep_programs(Arena *a, SizedGroup *g) {
    const SizedProgram *all = g->program;
    int n = g->n;
    g->program = ARENA_ARRAY(a, SizedProgram, n);
    g->n = 0;
    for (int k = 0; k < n; k++)
        if (all[k].kept) g->program[g->n++] = all[k];
}

/* Leaves what is picked, of groups that are the same what is of any.  */
static void keep_picked(const SizePick *x, SizedSet *strategy) {
    for (int s = 0; s < x->n_strategy; s++) {
        for (int g = 0; g < strategy[s].n; g++) {
            int slot = size_slot(x, s, g);
            SizedProgram *program = strategy[s].group[g].program;
            program->kept = true;
            for (int k = 0; x->open[s] && k < x->n_picked[slot]; k++)
                program[x->picked[slot][k]].kept = true;
        }
    }
    for (int s = 0; s < x->n_strategy; s++)
        for (int g = 0; g < strategy[s].n; g++) keep_programs(x->a, &strategy[s].group[g]);
}

/* Programs for all points but the first, which have theirs.  What each takes at those points tells
 * the few that may be worth picking, whose prices at many more points tell where.  */
static void plan_and_price(Arena *a, const SizePoints *at, int first, int programs,
                           SizedSet *strategy, int n) {
    SizePoints planned = *at;
    planned.n = at->n_planned;
    size_price(a, at, &(SizeRound){first, at->n_planned, at->n_planned}, strategy, n);
    SizePick x = size_pick_new(a, strategy, n, &planned);
    x.most = 2 * programs > WORTH_PRICING ? 2 * programs : WORTH_PRICING;
    x.all = true;
    size_pick(&x);
    keep_picked(&x, strategy);
    size_price(a, at, &(SizeRound){at->n_planned, at->n_planned, at->n}, strategy, n);
}

/* Finds programs for all sizes and how a launch chooses.  set[keep] is right at all of them.  */
static Status choose(Arena *a, Diag *d, PlanSet *set, int n, int keep, PlanSet *out) {
    SizedSet *strategy = ARENA_ARRAY(a, SizedSet, n);
    SizePoints at;
    RSelector *s = ARENA_NEW(a, RSelector);
    Buf why = buf_new(a);
    *out = set[keep];
    int programs = most_programs(&out->options);
    if (out->n_group == 0) return ST_OK;
    for (int k = 0; k < n; k++) strategy[k].set = &set[k];
    rplan_measures(a, as_plans(a, strategy, n), s);
    size_points_find(a, out->normal, s, known_multiples(a, set, n), programs, &at);
    for (int k = 0; k < n; k++) size_price_open(a, &set[k], &at, &strategy[k]);
    int first = at.n_planned < FIRST_PLANNED ? at.n_planned : FIRST_PLANNED;
    int priced = at.n < FIRST_PRICED ? at.n : FIRST_PRICED;
    size_price(a, &at, &(SizeRound){0, first, priced}, strategy, n);
    n = drop_losers(a, strategy, n, priced, keep);
    Status status = watch_check(out->options.watch, d);
    if (status) return status;
    plan_and_price(a, &at, first, programs, strategy, n);
    SizePick x = size_pick_new(a, strategy, n, &at);
    x.most = programs;
    x.least_gain = least_gain;
    size_pick(&x);
    rplan_measures(a, as_plans(a, strategy, n), s);
    size_select(&x, s);
    explain_losses(&x, s, &why);
    make_sets(a, &x, s, out);
    rplan_keep_bounded(a, s);
    if (!is_trivial(out, s)) {
        out->select = s;
        explain(out, s, &why);
    }
    out->sizes = buf_str(&why);
    return ST_OK;
}

Status size_strategies_plan(Arena *a, Diag *d, const PlanRequest *r, PlanSet *out) {
    Strategies all;
    Status s = find_strategies(a, d, r, &all);
    return s ? s : choose(a, d, all.set, all.n, all.best, out);
}
