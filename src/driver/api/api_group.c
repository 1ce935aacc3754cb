/* roller.h: the kernel groups of a plan.  */
#include "driver/handle/handle.h"
#include "rprogram/derived.h"

typedef struct {
    const RollerPlan *plan;
    int group;
    RollerGroup *out;
} GroupCall;

static void put_name(const Te *te, int stmt, Buf *out) {
    buf_printf(out, "%s%s", out->len ? " " : "", te->tensor[te->stmt[stmt].tensor].name);
}

static void put_rows(const Te *te, const RowGroup *g, Buf *out) {
    for (int i = 0; i < g->n; i++) put_name(te, g->stmt[i], out);
}

static const char *made_by(Arena *a, const Te *te, const KernelGroup *g) {
    Buf names = buf_new(a);
    if (g->row) {
        put_rows(te, g->row, &names);
        return buf_str(&names);
    }
    put_name(te, g->root, &names);
    if (g->stats) put_rows(te, g->stats, &names);
    else for (int i = 0; i < g->n_fused; i++) put_name(te, g->fused[i], &names);
    return buf_str(&names);
}

static Status tell_group(RollerCtx *ctx, void *user) {
    const GroupCall *c = user;
    const WholePlan *whole = &c->plan->whole;
    const RPlan *plan = &whole->rplan;
    const Estimate *e = &whole->estimate[c->group];
    bool product = plan->prog[c->group].skeleton == SK_CONTRACT;
    RollerGroup r = {.us = e->us, .limiter = mp_term_key[e->limiter],
                     .skeleton = rprog_skeleton_name[plan->prog[c->group].skeleton],
                     .makes = made_by(ctx->call, plan->te, &plan->group[c->group])};
    const Problem *p = &plan->problem[c->group];
    r.refusal = product ? rprog_refusal(ctx->call, p, c->plan->plans->profile->dev)
                        : rprog_no_product(p);
    api_report(c->out, &r, sizeof r);
    return ST_OK;
}

int roller_plan_groups(const RollerPlan *p) { return rplan_groups(&p->whole.rplan); }

RollerStatus roller_plan_group(RollerCtx *ctx, const RollerPlan *p, int i, RollerGroup *out) {
    if (i < 0 || i >= roller_plan_groups(p)) return ROLLER_USAGE;
    return call_run(ctx, NULL, tell_group, &(GroupCall){p, i, out});
}
