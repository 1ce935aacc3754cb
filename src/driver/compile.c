#include "driver/compile.h"
#include "base/clock.h"
#include "driver/size_splits.h"
#include <math.h>
#include <string.h>

/* Candidates kept beyond those asked for: to be told of, and to replace plans that spill, twice at
 * most, since each replacement costs what compiling takes.  */
enum { SPARE_CANDIDATES = 24, REPLACED_MOST = 2 };

/* The groups of an op, split in this way, and what planning needs to know of each.  */
static Status open_set(Arena *a, Diag *d, const Te *te, TeSplit split, const Device *dev,
                       const CompileOptions *o, PlanSet *set) {
    *set = (PlanSet){.te = te, .dev = dev, .options = *o};
    Te *normal, whole = *te;
    whole.split = split;
    Status s = te_normalize(a, d, &whole, &normal);
    if (s) return s;
    set->normal = normal;
    set->n_group = access_groups(a, normal, &set->group);
    set->plans = ARENA_ARRAY(a, GroupPlans, set->n_group);
    set->n_program = set->n_group;
    for (int g = 0; g < set->n_group; g++) {
        set->plans[g].part = g;
        s = rtile_problem(a, d, normal, &set->group[g], o->align, &set->plans[g].problem);
        if (s) return s;
    }
    return ST_OK;
}

static Status plan_group(Arena *a, Diag *d, const Device *dev, const CompileOptions *o,
                         GroupPlans *out) {
    RPlanOptions options = {.align = o->align, .workspace_limit = o->workspace_limit};
    Problem given = out->problem;
    Diag other = diag_new(a);
    bool streams = given.contraction && !given.stats;
    Status s = rprog_candidates(a, streams ? &other : d, &given, dev, &options, &out->set);
    if (s == ST_NO_PLAN && streams) {           /* no tiles fit: element by element */
        rtile_as_stream(a, &given, o->align, &out->problem);
        s = rprog_candidates(a, d, &out->problem, dev, &options, &out->set);
    }
    if (s) return s;
    int keep = (o->top > 1 ? o->top : 1) + SPARE_CANDIDATES;
    return mp_rank(a, d, &out->problem, dev, &out->set, keep, &out->ranked, &out->n);
}

/* Plans the groups of a set.  *us: how long they take by prediction; INFINITY, and planning ends,
 * as soon as that is sure to be longer than `limit_us`.  */
static Status plan_set(Arena *a, Diag *d, const Device *dev, const CompileOptions *o,
                       double limit_us, PlanSet *out, double *us) {
    double most = -1;
    *us = 0;
    for (int g = 0; g < out->n_group && limit_us < INFINITY; g++)
        *us += mp_least_us(&out->plans[g].problem, dev);
    for (int g = 0; g < out->n_group; g++) {
        GroupPlans *p = &out->plans[g];
        Status s = watch_check(o->watch, d);
        if (s) return s;
        if (*us > limit_us) {
            *us = INFINITY;
            return ST_OK;
        }
        if (limit_us < INFINITY) *us -= mp_least_us(&p->problem, dev);
        s = plan_group(a, d, dev, o, p);
        if (s) return s;
        *us += p->ranked[0].estimate.us;
        if (p->ranked[0].estimate.us > most) {
            most = p->ranked[0].estimate.us;
            out->dominant = g;
        }
    }
    int top = o->top > 1 ? o->top : 1;
    int have = out->n_group ? out->plans[out->dominant].n : 1;
    out->n_rank = have < top ? have : top;
    return ST_OK;
}

/* Are the kernels of two sets the same?  */
static bool same_kernels(Arena *a, const PlanSet *x, const PlanSet *y) {
    Buf text[2] = {buf_new(a), buf_new(a)};
    const PlanSet *set[] = {x, y};
    for (int i = 0; i < 2; i++) {
        te_print_positional(set[i]->normal, &text[i]);
        for (int g = 0; g < set[i]->n_group; g++) {
            const KernelGroup *k = &set[i]->group[g];
            buf_printf(&text[i], "\n%d%s:", k->root, k->row ? " rows" : "");
            for (int j = 0; j < k->n_fused; j++) buf_printf(&text[i], " %d", k->fused[j]);
        }
    }
    return strcmp(buf_str(&text[0]), buf_str(&text[1])) == 0;
}

static const char *const split_name[] = {
#define X(id, text) text,
    TE_SPLITS(X)
#undef X
};

static const char *tell_split(Arena *a, const PlanSet *set, double us, double usual) {
    return arena_printf(a, "split: %s, %d kernel%s in %.2f us; the usual one takes %.2f us\n\n",
                        split_name[set->normal->split], set->n_group,
                        set->n_group == 1 ? "" : "s", us, usual);
}

/* The op in every split that gives other kernels, planned: the usual one first, then the others as
 * far as they could be faster than the best one before them by more than a 50th.  With run-time
 * sizes all of them.  Returns how many there are, and which is the best.  */
static int plan_splits(Arena *a, Diag *d, const Te *te, const Device *dev, const CompileOptions *o,
                       PlanSet *set, int *best, Status *failed) {
    enum { NEAR = 50 };
    int n = 0;
    double to_beat = INFINITY, usual = 0;
    *failed = ST_OK;
    *best = 0;
    for (int i = 0; i < TE_SPLIT_COUNT; i++) {
        Diag other = diag_new(a);         /* another split may fail for itself */
        watch_step(o->watch, "plan", i, TE_SPLIT_COUNT, split_name[i]);
        Status s = open_set(a, i ? &other : d, te, (TeSplit)i, dev, o, &set[n]);
        bool known = false;
        double us = 0;
        for (int k = 0; !s && k < n && !known; k++) known = same_kernels(a, &set[n], &set[k]);
        if (!s && !known)
            s = plan_set(a, i ? &other : d, dev, o, te->runtime ? INFINITY : to_beat, &set[n], &us);
        if (s && i == 0) *failed = s;
        if (!*failed && i > 0) *failed = watch_check(o->watch, d);
        if (*failed) return 0;
        if (s || known) continue;
        if (n == 0) usual = us;
        if (us < to_beat) {
            to_beat = us * (1 - 1.0 / NEAR);
            *best = n;
            if (n > 0 && !te->runtime) set[n].split = tell_split(a, &set[n], us, usual);
        }
        n++;
    }
    return n;
}

/* A set outlives the call that it was made in.  */
static void forget_watch(PlanSet *set) {
    for (; set; set = set->other) set->options.watch = NULL;
}

Status compile_plan(Arena *a, Diag *d, const Te *te, const Device *dev, const CompileOptions *o,
                    PlanSet *out) {
    PlanSet set[TE_SPLIT_COUNT];
    Status s;
    int best, n = plan_splits(a, d, te, dev, o, set, &best, &s);
    if (s) return s;
    *out = set[best];
    if (te->runtime) s = size_splits_plan(a, d, set, n, out);
    forget_watch(out);
    return s;
}

static void whole_plan(Arena *a, const PlanSet *set, WholePlan *out) {
    int n = set->n_group, all = set->n_program;
    *out = (WholePlan){.rplan = {.te = set->normal, .group = set->group, .n = n, .n_group = n,
                                 .align = set->options.align, .within = set->within},
                       .estimate = ARENA_ARRAY(a, Estimate, all),
                       .choice = ARENA_ARRAY(a, int, all)};
    RPlan *p = &out->rplan;
    p->problem = ARENA_ARRAY(a, Problem, n);
    p->prog = ARENA_ARRAY(a, RProg, n);
    for (int g = 0; g < n; g++) p->problem[g] = set->plans[g].problem;
    if (all > n) rplan_extend(a, p, all - n);
    for (int i = n; i < all; i++) {
        p->part[i] = set->plans[i].part;
        p->upto[i] = set->plans[i].upto;
        p->group[i] = set->group[p->part[i]];
        p->problem[i] = set->plans[i].problem;
    }
    p->n = all;
    if (!set->other) return;
    out->other = ARENA_NEW(a, WholePlan);
    whole_plan(a, set->other, out->other);
    p->other = &out->other->rplan;
}

static void take(const PlanSet *set, WholePlan *p, int group, int choice) {
    const Ranked *r = &set->plans[group].ranked[choice];
    p->choice[group] = choice;
    p->rplan.prog[group] = r->prog;
    p->estimate[group] = r->estimate;
}

void compile_choose(Arena *a, const PlanSet *set, int rank, WholePlan *out) {
    whole_plan(a, set, out);
    for (int i = 0; i < set->n_program; i++) take(set, out, i, i == set->dominant ? rank : 0);
    for (WholePlan *x = out->other; x; x = x->other) {
        set = set->other;
        for (int i = 0; i < set->n_program; i++) take(set, x, i, 0);
    }
}

/* The programs that were read, with what is predicted of each.  */
static void keep_read(Arena *a, const Device *dev, const RPlan *p, PlanSet *out) {
    GroupPlans *plans = ARENA_ARRAY(a, GroupPlans, p->n);
    if (out->n_group) memcpy(plans, out->plans, (size_t)out->n_group * sizeof *plans);
    out->plans = plans;
    out->n_program = p->n;
    out->within = p->within;
    for (int g = 0; g < out->n_program; g++) {
        GroupPlans *group = &out->plans[g];
        group->problem = p->problem[g];
        group->part = rplan_part(p, g);
        group->upto = rplan_upto(p, g);
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

Status compile_read_plan(Arena *a, Diag *d, const Te *te, const Device *dev,
                         const CompileOptions *o, const char *file, const char *text, size_t len,
                         PlanSet *out) {
    TeSplit split[RPLAN_SET];
    int n = rprog_read_splits(text, len, split, te->runtime ? RPLAN_SET : 1);
    PlanSet *set = out;
    for (int i = 0; i < n; i++) {
        if (i > 0) set = set->other = ARENA_NEW(a, PlanSet);
        Status s = open_set(a, d, te, split[i], dev, o, set);
        if (s) return s;
    }
    WholePlan p;
    whole_plan(a, out, &p);
    Status s = rprog_read(a, d, file, text, len, dev, &p.rplan);
    if (s) return s;
    const RPlan *read = &p.rplan;
    for (set = out; set; set = set->other, read = read->other) keep_read(a, dev, read, set);
    forget_watch(out);
    return ST_OK;
}

static Status emit(Arena *a, Diag *d, const WholePlan *plan, const Device *dev,
                   const CgOptions *o, Build *out) {
    double start = clock_now_s();
    Status s = cg_emit(a, d, &plan->rplan, dev, o, &out->program);
    out->emit_ms = (clock_now_s() - start) * 1e3;
    return s;
}

Status compile_emit(Arena *a, Diag *d, const WholePlan *plan, const Device *dev, int align,
                    Build *out) {
    return emit(a, d, plan, dev, &(CgOptions){.align = align}, out);
}

NvrtcOptions compile_keep(Arena *a, const NvrtcOptions *o) {
    NvrtcOptions kept = o ? *o : (NvrtcOptions){0};
    if (kept.path) kept.path = arena_strdup(a, kept.path);
    if (kept.folders) kept.folders = arena_strdup(a, kept.folders);
    return kept;
}

/* The source of a build by the NVRTC that it names.  */
static Status compile_source(Arena *a, Diag *d, const char *op, Watch *watch, Build *b) {
    Nvrtc *compiler;
    Status s = nvrtc_open(a, d, &b->compiler, b->arch, &compiler);
    if (s) return s;
    nvrtc_version(compiler, &b->nvrtc_major, &b->nvrtc_minor);
    nvrtc_files(compiler, b->nvrtc_files);
    watch_note(watch, "compiling %s for %s with NVRTC %d.%d", op, b->arch, b->nvrtc_major,
               b->nvrtc_minor);
    NvrtcRequest request = {.ptx = true, .cubin = true, .line_info = b->line_info,
                            .level = b->level, .watch = watch};
    s = nvrtc_compile(compiler, a, d, b->program.source, b->arch, &request, &b->nvrtc);
    b->compile_ms = b->nvrtc.ms;
    b->compiled = s == ST_OK;
    return s;
}

Status compile_build(Arena *a, Diag *d, const WholePlan *plan, const Device *dev, int align,
                     const BuildOptions *o, Build *out) {
    *out = (Build){.arch = o->arch ? o->arch : dev->arch};
    Status s = emit(a, d, plan, dev, &(CgOptions){.align = align, .only = o->only}, out);
    if (s) return s;
    out->compiler = compile_keep(a, o->nvrtc);
    out->line_info = o->line_info;
    out->level = o->fast_compile ? 2 : 3;
    return compile_source(a, d, plan->rplan.te->name, o->watch, out);
}

Status compile_again(Arena *a, Diag *d, const Build *b, const NvrtcOptions *nvrtc, Build *out) {
    *out = *b;
    out->compiler = *nvrtc;
    return compile_source(a, d, "it", NULL, out);
}

static bool spills(const Build *b, int program) {
    for (int i = 0; i < b->program.n_kernel; i++) {
        if (b->program.kernel[i].group != program) continue;
        for (int j = 0; j < b->nvrtc.n_kernel; j++) {
            const KernelResources *r = &b->nvrtc.kernel[j];
            if (strcmp(r->kernel, b->program.kernel[i].symbol) == 0 &&
                r->spill_stores + r->spill_loads > 0)
                return true;
        }
    }
    return false;
}

void compile_warn_spills(Diag *d, const Build *b) {
    bool any = false;
    for (int p = 0; p < b->program.n_choice && !any; p++) any = spills(b, p);
    if (any) diag_warning(d, NULL, DIAG_NOWHERE, "every plan that was tried spills");
}

/* Moves every program that spills to its next candidate, if any `may` and there is one, and marks
 * it; says how many there are.  */
static int move_on(const PlanSet *set, WholePlan *plan, const Build *b, bool may, bool *moved) {
    int n = 0;
    memset(moved, 0, (size_t)b->program.n_choice * sizeof *moved);
    for (int first = 0; set; first += set->n_program, set = set->other, plan = plan->other) {
        for (int g = 0; g < set->n_program; g++) {
            if (!spills(b, first + g)) continue;
            bool last = !may || plan->choice[g] + 1 >= set->plans[g].n;
            if (!last) take(set, plan, g, plan->choice[g] + 1);
            moved[first + g] = !last;
            n += !last;
        }
    }
    return n;
}

/* After the first round only the programs that moved are compiled, at the end all of them.  */
Status compile_best(Arena *a, Diag *d, const PlanSet *set, int rank, const BuildOptions *o,
                    WholePlan *plan, Build *out) {
    double emit_ms = 0, compile_ms = 0;
    bool *moved = NULL;
    BuildOptions now = *o;
    compile_choose(a, set, rank, plan);
    for (int dropped = 0;;) {
        if (dropped) watch_note(o->watch, "a kernel spills registers: trying the next candidate");
        watch_step(o->watch, "build", dropped, REPLACED_MOST + 1, "NVRTC");
        Status s = compile_build(a, d, plan, set->dev, set->options.align, &now, out);
        out->spilled = dropped;
        out->emit_ms = emit_ms += out->emit_ms;
        out->compile_ms = compile_ms += out->compile_ms;
        if (s) return s;
        if (!moved) moved = ARENA_ARRAY(a, bool, out->program.n_choice);
        bool may = dropped < REPLACED_MOST, whole = !now.only;
        bool any = move_on(set, plan, out, may, moved) > 0;
        dropped += any;
        now.only = any && out->program.n_choice > 1 ? moved : o->only;
        if (any || !whole) continue;
        compile_warn_spills(d, out);
        return ST_OK;
    }
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

/* The program of group g that is taken at these sizes.  */
static int taken_at(const PlanSet *set, int g, const int64_t *size) {
    for (int i = set->n_group; i < set->n_program; i++) {
        const GroupPlans *p = &set->plans[i];
        if (p->part == g && rplan_allows(set->normal, p->upto, size)) return i;
    }
    return g;
}

void compile_estimate_at(Arena *a, const PlanSet *set, const WholePlan *p, const int64_t *size,
                         Estimate *out) {
    *out = (Estimate){0};
    double most = -1;
    const PlanSet *other = set->other;
    const WholePlan *plan = p->other;
    for (; other && !rplan_allows(set->normal, other->within, size); other = other->other)
        plan = plan->other;
    if (other) {
        set = other;
        p = plan;
    }
    const Te *sized = te_sized(a, set->normal, size);
    for (int g = 0; g < set->n_group; g++) {
        Problem at = set->plans[g].problem;
        Estimate e;
        if (set->normal->runtime)
            rtile_resize(a, &set->plans[g].problem, sized, set->options.align, &at);
        mp_estimate(&at, &p->rplan.prog[taken_at(set, g, size)], set->dev, &e);
        add_estimate(&e, &most, out);
    }
}
