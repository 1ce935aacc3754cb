/* roller.h: planning.  */
#include "driver/handle/handle.h"
#include "driver/sizes/size_strategies.h"
#include "driver/sizes/size_values.h"
#include <string.h>

/* Candidates that an explanation compares with those asked for.  */
enum { RUNNERS_UP = 8 };

typedef struct {
    PlansAsked asked;
    Arena *arena;
    RollerPlans *out;
} PlanCall;

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
    _Static_assert((int)RPLAN_SET == (int)ROLLER_MAX_PROGRAMS &&
                   (int)RPLAN_USUAL == (int)ROLLER_PROGRAMS, "as many as a plan may have");
    PlanCall *c = user;
    Status s = plans_make(c->arena, &ctx->diag, &c->asked, &ctx->watch, &c->out);
    if (!s) explain(c->out);
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
    case ROLLER_PLAN_PICTURE: *text = p->picture; break;
    case ROLLER_PLAN_TIMELINE: *text = p->timeline; break;
    default: return ROLLER_USAGE;
    }
    *len = strlen(*text);
    return ROLLER_OK;
}

/* What the caller sees of an estimate.  */
static void report_estimate(const RollerPlan *p, const Estimate *e, const char *takes,
                            RollerEstimate *out) {
    _Static_assert((int)MP_COUNT <= (int)ROLLER_MAX_TERMS, "RollerEstimate is too small");
    RollerEstimate r = {.us = e->us, .limiter = mp_term_key[e->limiter], .n_terms = MP_COUNT,
                        .takes = takes};
    for (int i = 0; i < MP_COUNT; i++) {
        r.term[i] = mp_term_key[i];
        r.term_us[i] = e->term[i];
    }
    const RPlan *plan = &p->whole.rplan;
    int dominant = p->plans->set.dominant;
    r.skeleton = plan->n ? rprog_skeleton_name[plan->prog[dominant].skeleton] : "none";
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
    compile_estimate_largest(&p->plans->set, &p->whole, &e);
    report_estimate(p, &e, "", out);
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
    else compile_estimate_largest(set, &c->plan->whole, &e);
    report_estimate(c->plan, &e, size_taken(ctx->call, set, size), c->out);
    return ST_OK;
}

RollerStatus roller_plan_estimate_at(RollerCtx *ctx, const RollerPlan *p, const char *const *at,
                                     int n_at, RollerEstimate *out) {
    EstimateCall c = {p, at, n_at, out};
    return call_run(ctx, NULL, estimate_at, &c);
}
