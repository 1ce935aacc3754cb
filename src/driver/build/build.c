#include "driver/build/build.h"
#include "base/clock.h"
#include "rprogram/derived.h"
#include "te/tree/arith.h"
#include <stdlib.h>
#include <string.h>

/* Plans that spill, or that the compiler refuses, are replaced twice at most: each replacement
 * costs what compiling takes.  */
enum { REPLACED_MOST = 2 };

static Status emit(Arena *a, Diag *d, const WholePlan *plan, const Device *dev,
                   const CgOptions *o, Build *out) {
    double start = clock_now_s();
    Status s = cg_emit(a, d, &plan->rplan, dev, o, &out->program);
    out->emit_ms = (clock_now_s() - start) * 1e3;
    return s;
}

Status compile_emit(Arena *a, Diag *d, const WholePlan *plan, const Device *dev,
                    const CompileOptions *o, Build *out) {
    CgOptions how = {.align = o->align, .static_smem = o->static_smem};
    return emit(a, d, plan, dev, &how, out);
}

NvrtcOptions compile_keep(Arena *a, const NvrtcOptions *o) {
    NvrtcOptions kept = o ? *o : (NvrtcOptions){0};
    if (kept.path) kept.path = arena_strdup(a, kept.path);
    if (kept.folders) kept.folders = arena_strdup(a, kept.folders);
    return kept;
}

Status compile_build(Arena *a, Diag *d, const WholePlan *plan, const Device *dev,
                     const BuildOptions *o, Build *out) {
    *out = (Build){.arch = o->arch ? o->arch : dev->arch};
    CgOptions how = {.align = plan->rplan.align, .only = o->only, .static_smem = o->static_smem};
    Status s = emit(a, d, plan, dev, &how, out);
    if (s || dev->language != LANGUAGE_CUDA) return s;
    out->compiler = compile_keep(a, o->nvrtc);
    out->line_info = o->line_info;
    out->level = o->fast_compile ? 2 : 3;
    return build_code(a, d, plan->rplan.te->name, o, out);
}

Status compile_again(Arena *a, Diag *d, const Build *b, const NvrtcOptions *nvrtc, Build *out) {
    *out = *b;
    out->compiler = *nvrtc;
    return build_code(a, d, "it", &(BuildOptions){0}, out);
}

/* A kernel of the program that spills; NULL: there is none.  */
static const KernelResources *spilling(const Build *b, int program) {
    for (int i = 0; i < b->program.n_kernel; i++) {
        if (b->program.kernel[i].group != program) continue;
        for (int j = 0; j < b->nvrtc.n_kernel; j++) {
            const KernelResources *r = &b->nvrtc.kernel[j];
            if (strcmp(r->kernel, b->program.kernel[i].symbol) == 0 &&
                r->spill_stores + r->spill_loads > 0)
                return r;
        }
    }
    return NULL;
}

static bool spills(const Build *b, int program) { return spilling(b, program) != NULL; }

/* Registers that a thread may have beside the others of its SM.  */
static int64_t register_limit(const GroupPlans *plans, const Device *dev, const RProg *r) {
    const DeviceLimits *limit = &dev->limits;
    int64_t threads = (int64_t)r->threads * rprog_resident(&plans->problem, dev, r);
    int64_t share = (int64_t)limit->registers_per_sm.value / threads / 8 * 8;
    int64_t most = (int64_t)limit->registers_per_thread.value;
    return share < most ? share : most;
}

/* The candidate after `now`.  One that spills needs more registers than was expected, and others
 * may in proportion: the first that has them; if none has, just the next.  */
static int next_candidate(const GroupPlans *plans, const Device *dev, int now,
                          const KernelResources *spilled) {
    enum { REGISTER = 4 };                /* bytes */
    if (!spilled) return now + 1;
    int64_t needs = spilled->registers + ceil_div(spilled->stack, REGISTER);
    int64_t expected = plans->ranked[now].prog.registers;
    for (int i = now + 1; i < plans->n; i++) {
        const RProg *r = &plans->ranked[i].prog;
        int64_t limit = register_limit(plans, dev, r);
        if (limit < spilled->registers) limit = spilled->registers;
        if (r->registers * needs <= expected * limit) return i;
    }
    return now + 1;
}

void compile_warn_spills(Diag *d, const Build *b) {
    bool any = false;
    for (int p = 0; p < b->program.n_choice && !any; p++) any = spills(b, p);
    if (any) diag_warning(d, NULL, DIAG_NOWHERE, "every plan that was tried spills");
}

/* Does the message name a kernel of the program, or none at all?  */
static bool is_named(const Build *b, int program, const char *message) {
    bool any = false;
    for (int i = 0; i < b->program.n_kernel; i++) {
        bool named = strstr(message, b->program.kernel[i].symbol) != NULL;
        if (named && b->program.kernel[i].group == program) return true;
        any |= named;
    }
    return !any;
}

/* Moves every program that spills, or that the compiler refuses with a message, to its next
 * candidate, if any `may` and there is one, and marks it; says how many there are.  */
static int move_on(const PlanSet *set, WholePlan *plan, const Build *b, const char *refused,
                   bool may, bool *moved) {
    int n = 0;
    memset(moved, 0, (size_t)b->program.n_choice * sizeof *moved);
    for (int first = 0; set; first += set->n_program, set = set->other, plan = plan->other) {
        for (int g = 0; g < set->n_program; g++) {
            if (refused ? !is_named(b, first + g, refused) : !spills(b, first + g)) continue;
            int now = plan->choice[g];
            bool last = !may || now + 1 >= set->plans[g].n;
            const KernelResources *spilled = refused ? NULL : spilling(b, first + g);
            if (!last)
                compile_take(set, plan, g,
                             next_candidate(&set->plans[g], set->dev, now, spilled));
            moved[first + g] = !last;
            n += !last;
        }
    }
    return n;
}

/* Our own source, refused, is a mistake of ours.  Who uses roller is better off with the next plan
 * and a warning; who works on it, and every test, wants to see it fail: ROLLER_REFUSED=fail.  */
static bool refused_fails(void) {
    const char *what = getenv("ROLLER_REFUSED");
    return what && strcmp(what, "fail") == 0;
}

/* What a compiler that refused said.  */
static const char *refusal(const Diag *d) {
    const DiagMessage *m = diag_first_error(d);
    return m ? m->message : "";
}

/* After the first round only the programs that moved are compiled, at the end all of them.  What is
 * refused is so as a whole, and then all of it is compiled again.  */
Status compile_best(Arena *a, Diag *d, const PlanSet *set, const BuildOptions *o, WholePlan *plan,
                    Build *out) {
    double emit_ms = 0, compile_ms = 0;
    bool *moved = NULL;
    BuildOptions now = *o;
    for (int dropped = 0;;) {
        Diag own = diag_new(d->arena);
        if (dropped) watch_note(o->watch, "a kernel spills or is refused: the next candidate");
        watch_step(o->watch, "build", dropped, REPLACED_MOST + 1, "NVRTC");
        Status s = compile_build(a, &own, plan, set->dev, &now, out);
        out->spilled = dropped;
        out->emit_ms = emit_ms += out->emit_ms;
        out->compile_ms = compile_ms += out->compile_ms;
        if (!moved && out->program.n_choice) moved = ARENA_ARRAY(a, bool, out->program.n_choice);
        const char *refused = s == ST_COMPILE && !refused_fails() ? refusal(&own) : NULL;
        bool may = dropped < REPLACED_MOST, whole = !now.only;
        bool any = (!s || refused) && move_on(set, plan, out, refused, may, moved) > 0;
        if (refused && any) {
            diag_warning(d, NULL, DIAG_NOWHERE, "the next plan is taken: %s", refused);
            dropped++;
            continue;
        }
        diag_append(d, &own);
        if (s) return s;
        dropped += any;
        now.only = any && out->program.n_choice > 1 ? moved : o->only;
        if (any || !whole) continue;
        compile_warn_spills(d, out);
        return ST_OK;
    }
}
