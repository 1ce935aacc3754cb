#include "random_trip.h"

#include "base/hash.h"
#include "plan_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { ALIGN = 16 };

void targets_open(Arena *a, Targets *out) {
    static const char *const names[TARGETS] = {"h200", "a100", "rtx4090", "tiny", "v100"};
    Diag d = diag_new(a);
    for (int i = 0; i < TARGETS; i++) {
        out->name[i] = names[i];
        out->dev[i] = fixture_device(a, names[i]);
        if (i >= COMPILED_TARGETS) continue;
        if (nvrtc_open(a, &d, NULL, out->dev[i]->arch, &out->nvrtc[i]))
            fail_msg("%s", d.messages[0].message);
    }
}

static const char *said(const Trip *t, const char *stage) {
    const DiagMessage *m = diag_first_error(&t->diag);
    return arena_printf(t->arena, "%s: %s", stage, m ? m->message : "no message");
}

const char *trip_plan(Trip *t) {
    CompileOptions o = {.top = TRIP_RANKS, .align = ALIGN, .workspace_limit = -1};
    if (te_parse(t->arena, &t->diag, "random.te", t->text, strlen(t->text), NULL, NULL, 0, &t->te))
        return said(t, "parse");
    const Device *dev = t->targets->dev[t->target];
    return compile_plan(t->arena, &t->diag, t->te, dev, &o, &t->set) ? said(t, "plan") : NULL;
}

const char *trip_choose(Trip *t, int rank) {
    compile_choose(t->arena, &t->set, rank, &t->whole);
    t->chosen = true;
    return NULL;
}

const char *trip_choose_any(Trip *t, uint64_t seed) {
    trip_choose(t, 0);
    Rng rng = {seed};
    for (int g = 0; g < t->set.n_group; g++) {
        RPlanOptions o = {.align = ALIGN, .workspace_limit = -1};
        RProgSet all;
        if (rprog_candidates(t->arena, &t->diag, &t->set.plans[g].problem, t->set.dev, &o, &all))
            return said(t, "candidates");
        t->whole.rplan.prog[g] = all.prog[rng_below(&rng, (uint32_t)all.n)];
    }
    return NULL;
}

const char *trip_build(Trip *t) {
    Build *b = &t->build;
    *b = (Build){.arch = t->set.dev->arch};
    CgOptions cg = {.align = ALIGN};
    if (cg_emit(t->arena, &t->diag, &t->whole.rplan, t->set.dev, &cg, &b->program))
        return said(t, "emit");
    if (t->target >= COMPILED_TARGETS || b->program.n_kernel == 0) return NULL;
    NvrtcRequest want = {.ptx = true};
    if (nvrtc_compile(t->targets->nvrtc[t->target], t->arena, &t->diag, b->program.source, b->arch,
                      &want, &b->nvrtc))
        return said(t, "compile");
    b->compiled = true;
    return NULL;
}

const char *trip_check(Trip *t) {
    if (!t->build.compiled) return NULL;
    CheckOptions o = {.seed = t->seed, .threads = 1};
    CheckResult r;
    Status s = check_kernel(t->arena, &t->diag, &t->set, &t->whole, &t->build, &o, &r);
    return s ? said(t, "check") : NULL;
}

const char *trip_outputs(Trip *t, TeData *in, const void **out) {
    const Te *te = t->te;
    Run run;
    int64_t *size = ARENA_ARRAY(t->arena, int64_t, te->n_size + 1);
    if (run_create(t->arena, &t->diag, t->set.dev, te, t->set.normal, &t->build, in, size, &run))
        return said(t, "run");
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
    buf_printf(out, "%s: %s\n", t->targets->name[t->target], wrong);
    if (t->te) te_print(t->te, out);
    else buf_puts(out, t->text);
    if (t->chosen) rprog_print(&t->whole.rplan, t->set.dev, out);
}
