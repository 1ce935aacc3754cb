#include "random_trip.h"

#include "base/hash.h"
#include "driver/pipeline/compile.h"
#include "open_choices.h"
#include "plan_fixture.h"
#include "rprogram/derived.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { ALIGN = 16, FEW_SMS = 2 };

void targets_open(Arena *a, Targets *out) {
    static const char *const names[TARGETS] = {"h200", "a100", "rtx4090", "tiny",
                                               "v100", "t4",   "rtx5090", "b200"};
    for (int i = 0; i < TARGETS; i++) {
        out->name[i] = names[i];
        out->dev[i] = fixture_device(a, names[i]);
    }
    out->few = fixture_device(a, names[0]);
    out->few->limits.sm_count.value = FEW_SMS;
    families_open(a, &out->families);
}

static const char *said(const Trip *t, const char *stage) {
    const DiagMessage *m = diag_first_error(&t->diag);
    return arena_printf(t->arena, "%s: %s", stage, m ? m->message : "no message");
}

const char *trip_plan(Trip *t) { return trip_plan_sized(t, NULL, 0); }

const char *trip_plan_sized(Trip *t, const TeDefine *define, int n) {
    CompileOptions o = {.top = TRIP_RANKS, .align = ALIGN, .workspace_limit = -1};
    if (te_parse(t->arena, &t->diag, diag_text("trip.te", t->text), t->op, &(TeDefines){define, n},
                 &t->te))
        return said(t, "parse");
    const Device *dev = t->few ? t->targets->few : t->targets->dev[t->target];
    return compile_plan(t->arena, &t->diag, &(PlanRequest){t->te, dev, &o}, &t->set)
               ? said(t, "plan")
               : NULL;
}

const char *trip_choose(Trip *t, int rank) {
    compile_choose(t->arena, &t->set, rank, &t->whole);
    t->chosen = true;
    return NULL;
}

/* Values of the run-time sizes that are allowed; the smallest ones now and then.  */
static int64_t *any_sizes(const Trip *t, Rng *rng) {
    int64_t *value = ARENA_ARRAY(t->arena, int64_t, t->te->n_size + 1);
    for (int i = 0; i < t->te->n_size; i++) {
        const TeExtent *e = &t->te->size[i].extent;
        value[i] = e->value;
        if (!rplan_varies(t->te, i)) continue;
        int64_t q = e->multiple, lo = (e->min + q - 1) / q, hi = e->value / q;
        value[i] = (lo + (int64_t)rng_below(rng, (uint32_t)(hi - lo + 1))) * q;
        if (rng_below(rng, 6) == 0) value[i] = lo * q;
    }
    return value;
}

static bool warpgroups(const Device *dev, const RProg *r) {
    return r->skeleton == SK_CONTRACT && dev->unit[r->unit].b_smem;
}

/* Other blocks for the same tiles: clusters, and ones that stay, where they are right.  */
static void draw_blocks(const Problem *p, const Device *dev, Rng *rng, RProg *r) {
    static const StoreVia via[] = {VIA_DIRECT, VIA_SHARED, VIA_BOXES};
    enum { TRIES = 12 };
    for (int i = 0; i < TRIES; i++) {
        RProg x = *r;
        x.cluster = (uint8_t)(2u << rng_below(rng, 2));
        x.grid = (Grid)rng_below(rng, 3);
        x.via = via[rng_below(rng, 3)];
        if (!rprog_cluster_order(p, dev, &x) || rprog_check(p, dev, &x)) continue;
        *r = x;
        return;
    }
}

/* One of them, of warpgroups if the trip asks for those.  */
static void draw_program(const Trip *t, const Problem *p, RProgSet *all, Rng *rng, RProg *out) {
    int n = 0;
    for (int i = 0; i < all->n && t->groups; i++)
        if (warpgroups(t->set.dev, &all->prog[i])) all->prog[n++] = all->prog[i];
    *out = all->prog[rng_below(rng, (uint32_t)(n ? n : all->n))];
    draw_choices(p, t->set.dev, rng_next(rng), out);
    if (n) draw_blocks(p, t->set.dev, rng, out);
}

/* Any program of group g at some sizes; false if there is none.  */
static bool any_program(Trip *t, const RPlan *p, int g, const int64_t *size, Rng *rng, int to) {
    Diag quiet = diag_new(t->arena);
    RPlanOptions o = {.align = ALIGN, .workspace_limit = -1};
    RProgSet all;
    Problem whole;
    if (rtile_problem(t->arena, &quiet, p->te, &p->group[g], ALIGN, &whole)) return false;
    rtile_resize(t->arena, &whole, te_sized(t->arena, p->te, size), ALIGN, &p->problem[to]);
    if (rprog_candidates(t->arena, &quiet, &p->problem[to], t->set.dev, &o, &all)) return false;
    draw_program(t, &p->problem[to], &all, rng, &p->prog[to]);
    return true;
}

/* A decision that the op as planned could have taken; any, where there is none.  */
static unsigned possible_decision(const Trip *t, Rng *rng) {
    const TeDecisions *x = t->set.normal->decisions;
    int some[TE_DECISION_COUNT], n = 0;
    unsigned possible = 0;
    for (int i = 0; x && i < x->n; i++) possible |= x->possible[i];
    for (int d = 0; d < TE_DECISION_COUNT; d++)
        if (!possible || possible >> d & 1) some[n++] = d;
    return 1u << some[rng_below(rng, (uint32_t)n)];
}

/* Any decisions; half of the time all rows of products join them, and products of these.  */
static TeDecisions *some_decisions(Trip *t, Rng *rng) {
    TeDecisions *x = decide(t->arena, rng_below(rng, 2) ? JOINED | CHAINS : USUAL);
    enum { ALL = 1 << TE_DECISION_COUNT };
    unsigned everywhere = possible_decision(t, rng), some = rng_below(rng, ALL);
    for (int i = 0; i < TE_MAX_STMTS; i++)
        x->taken[i] |= (TeDecided)(everywhere | (rng_below(rng, ALL) & some));
    return x;
}

/* The op by some decisions, any programs, and sizes up to which each is taken.  */
typedef struct {
    RPlan *plan;              /* NULL: it cannot be */
    const int64_t **upto;
} Given;

static Given any_split(Trip *t, TeDecisions *decisions, const int64_t *within, Rng *rng) {
    RPlan *p = ARENA_NEW(t->arena, RPlan);
    Given none = {0}, x = {.plan = p};
    Te *normal, source = *t->te;
    source.decisions = decisions;
    *p = (RPlan){.align = ALIGN};
    if (te_normalize(t->arena, &t->diag, &source, &normal)) return none;
    p->te = normal;
    p->n = p->n_group = access_groups(t->arena, normal, &p->group);
    p->problem = ARENA_ARRAY(t->arena, Problem, p->n);
    p->prog = ARENA_ARRAY(t->arena, RProg, p->n);
    x.upto = ARENA_ARRAY(t->arena, const int64_t *, 2 * p->n + 1);
    for (int g = 0; g < p->n; g++) {
        if (!any_program(t, p, g, within, rng, g)) return none;
        x.upto[g] = within;
    }
    for (int g = 0; g < p->n_group && t->te->runtime; g++) {
        int64_t *upto = any_sizes(t, rng);
        if (rng_below(rng, 3) == 0) continue;
        for (int s = 0; s < t->te->n_size; s++)
            upto[s] = upto[s] < within[s] ? upto[s] : within[s];
        rplan_extend(t->arena, p, 1);
        p->group_of[p->n] = g;
        p->group[p->n] = p->group[g];
        x.upto[p->n] = upto;
        if (any_program(t, p, g, upto, rng, p->n)) p->n++;
    }
    return x;
}

/* One program more of a group (-1: of none), where the sizes are none larger than its.  */
static void add_choice(Trip *t, RSelector *s, const Given *x, int split, int program) {
    const RPlan *p = x->plan;
    RChoice *c = &s->choice[s->n++];
    *c = (RChoice){ARENA_ARRAY(t->arena, int64_t, s->n_measure + 1), split,
                   ARENA_ARRAY(t->arena, int, p->n_group + 1)};
    for (int g = 0; g < p->n_group; g++)
        c->program[g] = program >= p->n_group && p->group_of[program] == g ? program : g;
    for (int m = 0; m < s->n_measure; m++) {
        const TeExpr *e = s->measure[m].expr;
        bool bounds = e->kind == TE_SIZE && p->n_group > 0;
        int64_t upto = bounds ? x->upto[program][e->v.ref] : 0;
        bounds = bounds && upto < p->te->size[e->v.ref].extent.value;
        c->most[m] = bounds ? upto : INT64_MAX;
    }
}

/* What is taken up to fewer sizes first, of the other split before the plan's own.  */
static void any_selector(Trip *t, const Given *own, const Given *other) {
    RSelector *s = ARENA_NEW(t->arena, RSelector);
    if (!t->te->runtime || own->plan->n_group == 0) return;
    rplan_measures(t->arena, own->plan, s);
    s->choice = ARENA_ARRAY(t->arena, RChoice, RPLAN_CHOICES);
    for (int i = 0; other->plan && i < other->plan->n; i++)
        if (i >= other->plan->n_group) add_choice(t, s, other, 1, i);
    if (other->plan) add_choice(t, s, other, 1, 0);
    for (int i = own->plan->n_group; i < own->plan->n; i++) add_choice(t, s, own, 0, i);
    add_choice(t, s, own, 0, 0);
    rplan_keep_bounded(t->arena, s);
    own->plan->select = s;
}

/* A plan through its text form.  */
static const char *read_back(Trip *t, const RPlan *p) {
    Buf text = buf_new(t->arena);
    rprog_print(p, t->set.dev, &text);
    if (compile_read_plan(t->arena, &t->diag, &(PlanRequest){t->te, t->set.dev, &t->set.options},
                          (DiagText){"plan", buf_str(&text), text.len}, &t->set))
        return said(t, "read");
    return trip_choose(t, 0);
}

static const char *choose_other_split(Trip *t, Rng *rng, bool *chosen) {
    int64_t *sizes = ARENA_ARRAY(t->arena, int64_t, t->te->n_size + 1);
    for (int i = 0; i < t->te->n_size; i++) sizes[i] = t->te->size[i].extent.value;
    Given x = any_split(t, some_decisions(t, rng), sizes, rng), none = {0};
    *chosen = x.plan != NULL;
    if (!x.plan) return NULL;
    any_selector(t, &x, &none);
    return read_back(t, x.plan);
}

const char *trip_choose_any(Trip *t, uint64_t seed) {
    trip_choose(t, 0);
    Rng rng = {seed};
    bool chosen = false;
    if (rng_below(&rng, 3)) {
        const char *wrong = choose_other_split(t, &rng, &chosen);
        if (wrong || chosen) return wrong;
    }
    for (int g = 0; g < t->set.n_group; g++) {
        RPlanOptions o = {.align = ALIGN, .workspace_limit = -1};
        RProgSet all;
        if (rprog_candidates(t->arena, &t->diag, &t->set.plans[g].problem, t->set.dev, &o, &all))
            return said(t, "candidates");
        t->whole.rplan.prog[g] = all.prog[rng_below(&rng, (uint32_t)all.n)];
        draw_choices(&t->set.plans[g].problem, t->set.dev, seed + (uint64_t)g,
                     &t->whole.rplan.prog[g]);
    }
    return NULL;
}

static const char *draw_warpgroups(Trip *t, Rng *rng) {
    bool chosen = false;
    const char *wrong = rng_below(rng, 2) ? choose_other_split(t, rng, &chosen) : NULL;
    for (int g = 0; g < t->set.n_group && !wrong && !chosen; g++) {
        const Problem *p = &t->set.plans[g].problem;
        RPlanOptions o = {.align = ALIGN, .workspace_limit = -1};
        RProgSet all;
        if (rprog_candidates(t->arena, &t->diag, p, t->set.dev, &o, &all))
            return said(t, "candidates");
        draw_program(t, p, &all, rng, &t->whole.rplan.prog[g]);
    }
    return wrong;
}

const char *trip_choose_warpgroups(Trip *t, uint64_t seed) {
    Rng rng = {seed};
    trip_choose(t, 0);
    t->groups = true;
    const char *wrong = draw_warpgroups(t, &rng);
    t->groups = false;
    return wrong;
}

const char *trip_choose_sized(Trip *t, uint64_t seed) {
    Rng rng = {seed};
    int64_t *most = ARENA_ARRAY(t->arena, int64_t, t->te->n_size + 1);
    for (int i = 0; i < t->te->n_size; i++) most[i] = t->te->size[i].extent.value;
    trip_choose(t, 0);
    Given x = any_split(t, decide(t->arena, USUAL), most, &rng), other = {0};
    if (!x.plan) return NULL;
    TeDecisions *decisions = some_decisions(t, &rng);
    const int64_t *within = any_sizes(t, &rng);
    if (rng_below(&rng, 2)) other = any_split(t, decisions, within, &rng);
    x.plan->other = other.plan;
    any_selector(t, &x, &other);
    return read_back(t, x.plan);
}

const char *trip_emit(Trip *t) {
    Build *b = &t->build;
    *b = (Build){.arch = t->set.dev->arch};   /* of nothing, where there is no kernel */
    CgOptions cg = {.align = ALIGN};
    if (cg_emit(t->arena, &t->diag, &t->whole.rplan, t->set.dev, &cg, &b->program))
        return said(t, "emit");
    if (t->reached) trip_reach(t->reached, t->set.dev, &t->whole.rplan);
    return NULL;
}

const char *trip_compile(Trip *t, const Family *f, bool *crashed) {
    Build *b = &t->build;
    b->arch = f->arch;
    b->compiled = false;
    if (families_compile(f, t->arena, &t->diag, b->program.source, &b->nvrtc, crashed))
        return said(t, "compile");
    b->compiled = !*crashed;
    return NULL;
}

/* Only the device's own architecture has units of warpgroups.  */
static bool runs_elsewhere(const Trip *t) {
    for (const RPlan *p = &t->whole.rplan; p; p = p->other)
        for (int i = 0; i < p->n; i++)
            if (warpgroups(t->set.dev, &p->prog[i])) return false;
    return true;
}

const char *trip_build(Trip *t) {
    const char *wrong = trip_emit(t);
    if (wrong || t->build.program.n_kernel == 0) return wrong;
    uint64_t seed = t->seed;
    bool crashed;
    do {
        int least = t->build.program.least_cc;
        Family f = *families_draw(&t->targets->families, least, seed++);
        if (!runs_elsewhere(t)) f = families_own(&t->targets->families, t->set.dev);
        wrong = trip_compile(t, &f, &crashed);
    } while (crashed);
    return wrong;
}

const char *trip_check(Trip *t) {
    if (!t->build.compiled) return NULL;
    CheckOptions o = {.seed = t->seed, .threads = 1, .budget_s = t->budget_s,
                      .sampled = t->sampled};
    CheckResult r;
    Status s =
        check_kernel(t->arena, &t->diag, &(BuiltPlan){&t->set, &t->whole, &t->build}, &o, &r);
    return s ? said(t, "check") : NULL;
}

const char *trip_check_sizes(Trip *t, uint64_t seed, int n) {
    Rng rng = {seed};
    const char *wrong = NULL;
    for (int i = 0; i < n && !wrong && t->build.compiled; i++) {
        CheckOptions o = {.seed = t->seed, .threads = 1, .at = any_sizes(t, &rng)};
        CheckResult r;
        if (check_kernel(t->arena, &t->diag, &(BuiltPlan){&t->set, &t->whole, &t->build}, &o, &r))
            wrong = said(t, "check");
    }
    return wrong;
}

const char *trip_outputs(Trip *t, TeData *in, const void **out) {
    const Te *te = t->te;
    int64_t *size = ARENA_ARRAY(t->arena, int64_t, te->n_size + 1);
    Run run = {.te = te,
               .normal = t->set.normal,
               .build = &t->build,
               .place = {.dev = t->set.dev},
               .data = in,
               .size = size};
    if (run_create(&run, t->arena, &t->diag)) return said(t, "run");
    run.options = (SimOptions){.seed = t->seed, .threads = 1};
    for (int i = 0; i < t->build.program.n_kernel; i++) {
        if (run_launch(&run, t->arena, &t->diag, i, NULL, 0)) return said(t, "run");
        if (run.fault) return arena_printf(t->arena, "run: %s", run.fault);
    }
    for (int k = 0; k < te->n_out; k++) {
        size_t bytes = te_tensor_bytes(&te->tensor[te->n_in + k]);
        out[k] = run_read(&run, t->arena, &t->diag, run.at[te->n_in + k], bytes);
        if (!out[k]) return said(t, "run");
    }
    return NULL;
}

void trip_describe(const Trip *t, const char *wrong, Buf *out) {
    buf_printf(out, "%s for %s: %s\n", t->targets->name[t->target],
               t->build.arch ? t->build.arch : "no architecture", wrong);
    if (t->te) te_print(t->te, out);
    else buf_puts(out, t->text);
    if (t->chosen) rprog_print(&t->whole.rplan, t->set.dev, out);
}
