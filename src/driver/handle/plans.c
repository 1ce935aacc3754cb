/* Plans, with their texts.  */
#include "base/clock.h"
#include "driver/pipeline/compile.h"
#include "driver/handle/handle.h"
#include "driver/handle/picture.h"
#include <string.h>

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

typedef void PictureOf(const Problem *p, const Device *dev, const RProg *r, Buf *out);

/* A picture of the first program that has one.  */
static const char *picture(Arena *a, const RPlan *r, const Device *dev, PictureOf *of) {
    Buf out = buf_new(a);
    for (int g = 0; g < r->n && !out.len; g++) of(&r->problem[g], dev, &r->prog[g], &out);
    return buf_str(&out);
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
    plan->picture = picture(a, r, dev, plan_picture);
    plan->timeline = picture(a, r, dev, plan_timeline);
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

Status plans_make(Arena *a, Diag *d, const PlansAsked *asked, Watch *watch,
                  RollerPlans **out) {
    RollerPlans *p = ARENA_NEW(a, RollerPlans);
    handle_init(&p->h, a);
    *out = p;
    p->op = (RollerOp *)asked->op;
    p->profile = (RollerProfile *)asked->profile;
    p->options = asked->o;
    p->options.struct_size = sizeof p->options;
    p->options.arch = asked->o.arch ? arena_strdup(a, asked->o.arch) : NULL;
    p->read = asked->text.text != NULL;
    int64_t limit = asked->o.workspace_limit;
    CompileOptions o = {.top = asked->o.top,
                        .align = asked->o.align,
                        .workspace_limit = limit > 0 ? limit : -1,
                        .fast_compile = asked->o.fast_compile != 0,
                        .static_smem = asked->o.static_smem != 0,
                        .programs = asked->o.programs,
                        .watch = watch};
    double begin = clock_now_s();
    const Device *dev = asked->profile->dev;
    if (asked->o.arch) {
        Device *reduced;
        Status bad = hal_device_for_arch(a, d, dev, asked->o.arch, &reduced);
        if (bad) return bad;
        dev = reduced;
    }
    if (o.static_smem) dev = with_static_smem(a, dev);
    if (asked->o.plain_abi) {
        p->left_out = movers_with_maps(a, dev);
        dev = hal_device_plain(a, dev);
    }
    p->arch = dev->arch;
    PlanRequest request = {asked->op->te, dev, &o};
    Status s = p->read ? compile_read_plan(a, d, &request, asked->text, &p->set)
                       : compile_plan(a, d, &request, &p->set);
    if (s == ST_PLAN_TEXT && o.static_smem)
        diag_hint(d, "kernels declare %.0f bytes of shared memory at most; launches may give more",
                  dev->limits.smem_per_block_optin.value);
    if (s == ST_PLAN_TEXT && p->left_out) hint_mover(d, asked->profile->dev);
    if (s) return s;
    p->plan_ms = (clock_now_s() - begin) * 1e3;
    p->plan = ARENA_ARRAY(a, RollerPlan, p->set.n_rank);
    for (int r = 0; r < p->set.n_rank && !s; r++) s = describe(d, p, r);
    return s;
}
