#include "driver/pipeline/compile.h"
#include "driver/plan/fusion.h"
#include "driver/sizes/size_strategies.h"

Status compile(Arena *a, Diag *d, const CompileRequest *r, Compiled *out) {
    *out = (Compiled){0};
    Candidate one = {&out->plan, &out->build, NULL};
    Candidates all = {.set = &out->set, .c = &one, .n = 1, .trial = &out->trial};
    BuiltPlan built = {&out->set, &out->plan, &out->build};
    PlanRequest asked = {NULL, r->dev, r->plan};

    /* 1: text to statements with sizes, checked.  */
    Status s = te_parse(a, d, r->text, r->op, r->defines, &out->te);
    asked.te = out->te;

    /* 2: te_canonical, te_decided; 3: access_groups; 4: rtile_problem; 5: rprog_candidates;
     * 6: mp_rank.  For each decision that pays, as often as search.c asks parting.c.  */
    if (!s) s = compile_plan(a, d, &asked, &out->set);
    if (!s) compile_choose(a, &out->set, 0, &out->plan);

    /* 7: cg_emit; 8: nvrtc_compile.  Kernels that spill move to their next candidates.  */
    if (!s) s = compile_best(a, d, &out->set, r->build, &out->plan, &out->build);

    /* 9: run and compared with the op as written.  */
    if (!s && r->check) s = check_kernel(a, d, &built, r->check, &out->proof);

    /* 10: timed on a device.  */
    if (r->measure) all.at = r->measure->at;
    if (!s && r->measure) s = measure_candidates(a, d, &all, 1, r->measure);
    return s;
}

Status compile_plan(Arena *a, Diag *d, const PlanRequest *r, PlanSet *out) {
    Status s = r->te->runtime ? size_strategies_plan(a, d, r, out) : fusion_plan(a, d, r, out);
    if (!s) plan_forget_watch(out);
    return s;
}
