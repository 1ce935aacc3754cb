/* roller.h: planning.  */
#include "base/clock.h"
#include "driver/compile.h"
#include "driver/handle.h"
#include "driver/size_values.h"
#include <string.h>

/* Candidates that an explanation compares with those asked for.  */
enum { RUNNERS_UP = 8 };

typedef struct {
    PlansAsked asked;
    Arena *arena;
    RollerPlans *out;
} PlanCall;

/* The texts of one rank.  */
static Status describe(Diag *d, RollerPlans *p, int rank) {
    Arena *a = p->h.arena;
    RollerPlan *plan = &p->plan[rank];
    plan->plans = p;
    plan->rank = rank;
    compile_choose(a, &p->set, rank, &plan->whole);
    return plan_texts(a, d, plan);
}

/* The programs of a strategy, a line each.  */
static void print_programs(const RPlan *plan, const RPlan *r, const Device *dev, Buf *summary,
                           Buf *tiles) {
    const RSelector *s = plan->select;
    const RChoice *rest = s ? &s->choice[s->n - 1] : NULL;
    for (int g = 0; g < r->n; g++) {
        bool others = rest && (rest->strategy || r != plan ||
                               rest->program[rplan_group_of(r, g)] != g);
        if (summary->len > 0) buf_putc(summary, '\n');
        mp_summary(&r->problem[g], dev, &r->prog[g], summary);
        if (others) buf_puts(summary, ", for some sizes");
        rtile_print(&r->problem[g], tiles);
    }
}

Status plan_texts(Arena *a, Diag *d, RollerPlan *plan) {
    const Device *dev = plan->plans->set.dev;
    const RPlan *r = &plan->whole.rplan;
    Buf text = buf_new(a), summary = buf_new(a), tiles = buf_new(a), lowered = buf_new(a);
    rprog_print(r, dev, &text);
    plan->workspace_bytes = 0;
    for (const RPlan *x = r; x; x = x->other) {
        Workspace workspace;
        print_programs(r, x, dev, &summary, &tiles);
        rprog_plan_workspace(a, x, &workspace);
        if (workspace.bytes > plan->workspace_bytes) plan->workspace_bytes = workspace.bytes;
    }
    Status s = cg_print_lowered(a, d, r, dev, &lowered);
    plan->text = buf_str(&text);
    if (r->n == 0) buf_puts(&summary, "no kernel: there is no element to compute");
    plan->summary = buf_str(&summary);
    plan->tiles = buf_str(&tiles);
    plan->lowered = buf_str(&lowered);
    return s;
}

/* The device as kernels see it that declare their shared memory.  */
static const Device *with_static_smem(Arena *a, const Device *dev) {
    Device *own = ARENA_NEW(a, Device);
    *own = *dev;
    own->limits.smem_per_block_optin.value = dev->limits.smem_per_block.value;
    return own;
}

/* The names of a device's movers that need tensor maps; NULL: it has none.  */
static const char *movers_with_maps(Arena *a, const Device *dev) {
    Buf names = buf_new(a);
    for (int i = 0; i < dev->n_mover; i++)
        if (hal_moves_by_map(&dev->mover[i]))
            buf_printf(&names, "%s%s", names.len ? ", " : "", dev->mover[i].name);
    return names.len ? buf_str(&names) : NULL;
}

/* Of a plan that names a mover of these.  */
static void hint_mover(Diag *d, const Device *dev) {
    for (int i = 0; i < dev->n_mover; i++)
        if (hal_moves_by_map(&dev->mover[i]) &&
            strstr(diag_first_error(d)->message, dev->mover[i].name))
            diag_hint(d, "%s needs tensor maps, which a plain ABI leaves out", dev->mover[i].name);
}

static Status plan(PlanCall *c, Watch *watch, Diag *d) {
    Arena *a = c->arena;
    RollerPlans *p = ARENA_NEW(a, RollerPlans);
    handle_init(&p->h, a);
    c->out = p;
    p->op = (RollerOp *)c->asked.op;
    p->profile = (RollerProfile *)c->asked.profile;
    p->options = c->asked.o;
    p->options.arch = c->asked.o.arch ? arena_strdup(a, c->asked.o.arch) : NULL;
    p->read = c->asked.text.text != NULL;
    int64_t limit = c->asked.o.workspace_limit;
    CompileOptions o = {.top = c->asked.o.top,
                        .align = c->asked.o.align,
                        .workspace_limit = limit > 0 ? limit : -1,
                        .fast_compile = c->asked.o.fast_compile != 0,
                        .static_smem = c->asked.o.static_smem != 0,
                        .watch = watch};
    double begin = clock_now_s();
    const Device *dev = c->asked.profile->dev;
    if (c->asked.o.arch) {
        Device *reduced;
        Status bad = hal_device_for_arch(a, d, dev, c->asked.o.arch, &reduced);
        if (bad) return bad;
        dev = reduced;
    }
    if (o.static_smem) dev = with_static_smem(a, dev);
    if (c->asked.o.plain_abi) {
        p->left_out = movers_with_maps(a, dev);
        dev = hal_device_plain(a, dev);
    }
    p->arch = dev->arch;
    PlanRequest request = {c->asked.op->te, dev, &o};
    Status s = p->read ? compile_read_plan(a, d, &request, c->asked.text, &p->set)
                       : compile_plan(a, d, &request, &p->set);
    if (s == ST_PLAN_TEXT && o.static_smem)
        diag_hint(d, "kernels declare %.0f bytes of shared memory at most; launches may give more",
                  dev->limits.smem_per_block_optin.value);
    if (s == ST_PLAN_TEXT && p->left_out) hint_mover(d, c->asked.profile->dev);
    if (s) return s;
    p->plan_ms = (clock_now_s() - begin) * 1e3;
    p->plan = ARENA_ARRAY(a, RollerPlan, p->set.n_rank);
    for (int r = 0; r < p->set.n_rank && !s; r++) s = describe(d, p, r);
    return s;
}

static void explain(RollerPlans *p) {
    Buf why = buf_new(p->h.arena);
    int top = p->set.options.top;
    if (p->left_out)
        buf_printf(&why, "no tensor maps, as asked for: no plan has the movers %s\n", p->left_out);
    if (p->set.decisions) buf_puts(&why, p->set.decisions);
    for (int g = 0; g < p->set.n_group; g++) {
        const GroupPlans *group = &p->set.plans[g];
        int shown = (top > 1 ? top : 1) + RUNNERS_UP;
        mp_explain(&group->problem, p->set.dev, &group->set, group->ranked,
                   group->n < shown ? group->n : shown, &why);
    }
    if (p->set.sizes) buf_puts(&why, p->set.sizes);
    p->explain = buf_str(&why);
}

static Status plan_and_explain(RollerCtx *ctx, void *user) {
    PlanCall *c = user;
    Status s = plan(c, &ctx->watch, &ctx->diag);
    if (!s) explain(c->out);
    return s;
}

Status plans_from_text(Arena *a, Diag *d, const PlansAsked *asked, RollerPlans **out) {
    PlanCall c = {.asked = *asked, .arena = a};
    Status s = plan(&c, NULL, d);
    *out = c.out;
    return s;
}

static RollerStatus run_plan(RollerCtx *ctx, PlanCall *c, RollerPlans **out) {
    *out = NULL;
    c->arena = call_arena(ctx);
    if (!c->arena) return call_nomem(ctx);
    RollerStatus s = call_run(ctx, c->arena, plan_and_explain, c);
    if (s) {
        arena_destroy(c->arena);
        return s;
    }
    *out = c->out;
    handle_hold(&c->out->h, 0, &c->out->op->h);
    handle_hold(&c->out->h, 1, &c->out->profile->h);
    return ROLLER_OK;
}

RollerStatus roller_plan(RollerCtx *ctx, const RollerOp *op, const RollerProfile *p,
                         const RollerPlanOptions *o, RollerPlans **out) {
    PlanCall c = {.asked = {.op = op, .profile = p}};
    api_options(&c.asked.o, sizeof c.asked.o, o);
    return run_plan(ctx, &c, out);
}

RollerStatus roller_plan_read(RollerCtx *ctx, const RollerOp *op, const RollerProfile *p,
                              const char *text, size_t len, const char *file,
                              const RollerPlanOptions *o, RollerPlans **out) {
    PlanCall c = {.asked = {op, p, .text = {file ? file : "<plan>", text, len}}};
    api_options(&c.asked.o, sizeof c.asked.o, o);
    return run_plan(ctx, &c, out);
}

size_t roller_plans_count(const RollerPlans *p) { return (size_t)p->set.n_rank; }

const RollerPlan *roller_plans_get(const RollerPlans *p, size_t rank) {
    return rank < roller_plans_count(p) ? &p->plan[rank] : NULL;
}

RollerStatus roller_plans_explain(const RollerPlans *p, const char **text, size_t *len) {
    *text = p->explain;
    *len = strlen(p->explain);
    return ROLLER_OK;
}

RollerStatus roller_plans_stats(const RollerPlans *p, RollerPlanStats *out) {
    static const char *const reject[] = {
#define X(id, name, text) name,
        RPROG_REJECTS(X)
#undef X
    };
    _Static_assert((int)REJECT_COUNT <= (int)ROLLER_MAX_REJECTS, "RollerPlanStats is too small");
    RollerPlanStats s = {.n_rejects = REJECT_COUNT, .plan_ms = p->plan_ms};
    for (int g = 0; g < p->set.n_group; g++) {
        const RProgSet *set = &p->set.plans[g].set;
        s.enumerated += set->enumerated;
        s.legal += set->n;
        for (int i = 0; i < REJECT_COUNT; i++) s.rejected[i] += set->rejected[i];
    }
    for (int i = 0; i < REJECT_COUNT; i++) s.reject[i] = reject[i];
    api_report(out, &s, sizeof s);
    return ROLLER_OK;
}

void roller_plans_destroy(RollerPlans *p) {
    if (p) handle_release(&p->h);
}

RollerStatus roller_plan_text(const RollerPlan *p, RollerPlanText what, const char **text,
                              size_t *len) {
    switch (what) {
    case ROLLER_PLAN: *text = p->text; break;
    case ROLLER_PLAN_SUMMARY: *text = p->summary; break;
    case ROLLER_PLAN_TILES: *text = p->tiles; break;
    case ROLLER_PLAN_LOWERED: *text = p->lowered; break;
    default: return ROLLER_USAGE;
    }
    *len = strlen(*text);
    return ROLLER_OK;
}

/* What the caller sees of an estimate.  */
static void report_estimate(const RollerPlan *p, const Estimate *e, RollerEstimate *out) {
    static const char *const term[] = {
#define X(id, key, text) key,
        MP_TERMS(X)
#undef X
    };
    static const char *const skeleton[] = {
#define X(id, name) name,
        RPROG_SKELETONS(X)
#undef X
    };
    _Static_assert((int)MP_COUNT <= (int)ROLLER_MAX_TERMS, "RollerEstimate is too small");
    RollerEstimate r = {.us = e->us, .limiter = term[e->limiter], .n_terms = MP_COUNT};
    for (int i = 0; i < MP_COUNT; i++) {
        r.term[i] = term[i];
        r.term_us[i] = e->term[i];
    }
    const RPlan *plan = &p->whole.rplan;
    r.skeleton = plan->n ? skeleton[plan->prog[p->plans->set.dominant].skeleton] : "none";
    r.workspace_bytes = p->workspace_bytes;
    Floor least;
    mp_floor(plan->te, plan->problem, rplan_groups(plan), p->plans->set.dev, &least);
    r.floor_us = least.us;
    r.floor_dram_us = least.dram_us;
    r.floor_compute_us = least.compute_us;
    r.floor_launch_us = least.launch_us;
    r.flops = least.flops;
    r.bytes = least.reads + least.writes;
    api_report(out, &r, sizeof r);
}

RollerStatus roller_plan_estimate(const RollerPlan *p, RollerEstimate *out) {
    Estimate e;
    compile_estimate(&p->whole, &e);
    report_estimate(p, &e, out);
    return ROLLER_OK;
}

typedef struct {
    const RollerPlan *plan;
    const char *const *at;
    int n_at;
    RollerEstimate *out;
} EstimateCall;

static Status estimate_at(RollerCtx *ctx, void *user) {
    const EstimateCall *c = user;
    const PlanSet *set = &c->plan->plans->set;
    int64_t *size;
    Estimate e;
    Status s = size_values(ctx->call, &ctx->diag, set->te, c->at, c->n_at, &size);
    if (s) return s;
    if (size) compile_estimate_at(ctx->call, set, &c->plan->whole, size, &e);
    else compile_estimate(&c->plan->whole, &e);
    report_estimate(c->plan, &e, c->out);
    return ST_OK;
}

RollerStatus roller_plan_estimate_at(RollerCtx *ctx, const RollerPlan *p, const char *const *at,
                                     int n_at, RollerEstimate *out) {
    EstimateCall c = {p, at, n_at, out};
    return call_run(ctx, NULL, estimate_at, &c);
}
