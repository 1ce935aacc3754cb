/* links: sim */
#include "kernel_fixture.h"
#include "sim/async/tensormap.h"

#include "base/hash.h"
#include "judge.h"
#include "microperf/microperf.h"
#include "open_choices.h"

#include <string.h>

/* Of a block: more than any here needs, and no more than seconds of an endless loop.  */
enum { MOST_INSTRUCTIONS = 1 << 26 };

static const char *said(const KernelCase *c, const char *what) {
    const DiagMessage *m = diag_first_error(&c->diag);
    return arena_printf(c->arena, "%s: %s%s%s", what, m ? m->message : "no message",
                        m && m->hint ? "; " : "", m && m->hint ? m->hint : "");
}

const char *kernel_open_decided(KernelCase *c, Arena *a, const Device *dev, const char *text,
                              const char *op, unsigned taken) {
    *c = (KernelCase){.arena = a, .diag = diag_new(a), .dev = dev};
    if (te_parse(a, &c->diag, diag_text("case.te", text), op, NULL, &c->te))
        return said(c, "parse");
    c->te->decisions = decide(a, taken);
    if (te_normalize(a, &c->diag, c->te, &c->normal)) return said(c, "normalize");
    RPlan *p = &c->plan;
    p->te = c->normal;
    p->n = access_groups(a, c->normal, &p->group);
    p->problem = ARENA_ARRAY(a, Problem, p->n);
    p->prog = ARENA_ARRAY(a, RProg, p->n);
    c->set = ARENA_ARRAY(a, RProgSet, p->n);
    for (int g = 0; g < p->n; g++) {
        if (rtile_problem(a, &c->diag, c->normal, &p->group[g], 16, &p->problem[g]))
            return said(c, "problem");
        RPlanOptions o = {.align = 16, .workspace_limit = -1};
        if (rprog_candidates(a, &c->diag, &p->problem[g], dev, &o, &c->set[g]))
            return said(c, "candidates");
    }
    return NULL;
}

const char *kernel_open(KernelCase *c, Arena *a, const Device *dev, const char *text,
                        const char *op) {
    return kernel_open_decided(c, a, dev, text, op, USUAL);
}

const char *kernel_keep_groups(KernelCase *c) {
    RProgSet *set = &c->set[0];
    int n = 0;
    for (int i = 0; i < set->n; i++)
        if (c->dev->unit[set->prog[i].unit].b_smem) set->prog[n++] = set->prog[i];
    set->n = n;
    return n > 0 ? NULL : "there is no program for warpgroups";
}

const char *kernel_pick(KernelCase *c, uint64_t seed) {
    Rng rng = {seed};
    for (int g = 0; g < c->plan.n; g++) {
        Ranked *r;
        if (seed) {
            c->plan.prog[g] = c->set[g].prog[rng_below(&rng, (uint32_t)c->set[g].n)];
            draw_choices(&c->plan.problem[g], c->dev, seed + (uint64_t)g, &c->plan.prog[g]);
            continue;
        }
        if (!mp_rank(c->arena, &c->plan.problem[g], c->dev, &c->set[g], 1, &r))
            return said(c, "rank");
        c->plan.prog[g] = r[0].prog;
    }
    return NULL;
}

const char *kernel_emit(KernelCase *c) {
    CgOptions o = {.align = 16};
    Status s = cg_emit(c->arena, &c->diag, &c->plan, c->dev, &o, &c->program);
    return s ? said(c, "emit") : NULL;
}

const char *kernel_compile(KernelCase *c, Nvrtc *n, bool cubin) {
    NvrtcRequest want = {.ptx = true, .cubin = cubin};
    Status s =
        nvrtc_compile(n, c->arena, &c->diag, c->program.source, c->dev->arch, &want, &c->code);
    return s ? said(c, "compile") : NULL;
}

/* ---- runs ---- */

typedef struct {
    SimGpu *gpu;
    SimModule *module;
    TeData *in;
    uint64_t *at; /* per argument */
    uint64_t workspace;
} Memory;

static Status parse(KernelCase *c, SimModule **out) {
    return sim_parse(c->arena, &c->diag, "kernel.ptx", c->code.ptx, c->code.ptx_len, out);
}

static size_t argument_bytes(const Te *te, int i) {
    const TeTensor *t = &te->tensor[i];
    return t->role == TE_VALUE ? (size_t)te_dtype_bytes(t->dtype) : te_tensor_bytes(t);
}

/* Tensors and workspace, of poison.  */
static Status take_memory(KernelCase *c, Memory *m) {
    const Te *te = c->te;
    Status s = sim_gpu_create(c->arena, &c->diag, c->dev, &m->gpu);
    m->module = c->module;
    if (!s && !m->module) s = parse(c, &m->module);
    m->in = ARENA_ARRAY(c->arena, TeData, te->n_in);
    m->at = ARENA_ARRAY(c->arena, uint64_t, te->n_in + te->n_out);
    for (int i = 0; i < te->n_in + te->n_out && !s; i++) {
        size_t bytes = argument_bytes(te, i);
        if (te->tensor[i].role == TE_VALUE) continue;
        s = sim_malloc(m->gpu, &c->diag, bytes ? bytes : 1, &m->at[i]);
    }
    int64_t room = c->program.workspace_bytes;
    if (c->size) room = cg_workspace(te, &c->program, c->size);
    if (!s && room > 0) s = sim_malloc(m->gpu, &c->diag, (size_t)room, &m->workspace);
    return s;
}

static Status fill_input(KernelCase *c, int i, TeFill fill, uint64_t seed, Memory *m) {
    size_t bytes = argument_bytes(c->te, i);
    m->in[i] = (TeData){arena_alloc(c->arena, bytes + 1), bytes};
    if (c->in) memcpy(m->in[i].data, c->in[i].data, bytes);
    else te_fill(c->te, i, fill, seed, m->in[i]);
    if (c->te->tensor[i].role == TE_VALUE || !bytes) return ST_OK;
    return sim_write(m->gpu, &c->diag, m->at[i], m->in[i].data, bytes);
}

static Status fill_memory(KernelCase *c, TeFill fill, uint64_t seed, Memory *m) {
    Status s = take_memory(c, m);
    for (int i = 0; i < c->te->n_in && !s; i++) s = fill_input(c, i, fill, seed, m);
    return s;
}

static const char *put_map(const KernelCase *c, const Memory *m, const KernelMap *map,
                           unsigned char *to) {
    TensorMap x;
    uint64_t base = map->tensor < 0 ? m->workspace : m->at[map->tensor];
    memset(to, 0, TM_BYTES);
    return kernel_map_at(c->normal, map, base, c->size, &x) ? sim_tensormap_encode(&x, to) : NULL;
}

static const char *put_params(const KernelCase *c, const Memory *m, const KernelLaunch *k,
                              const SimParam *slot, unsigned char *space) {
    for (int i = 0; i < k->n_param; i++) {
        const KernelParam *p = &k->param[i];
        unsigned char *to = space + slot[i].offset;
        uint64_t at = m->workspace + (uint64_t)p->offset;
        const char *wrong = p->kind == PARAM_MAP ? put_map(c, m, &k->map[p->ref], to) : NULL;
        if (wrong) return wrong;
        if (p->kind == PARAM_WORKSPACE) memcpy(to, &at, 8);
        if (p->kind == PARAM_INPUT || p->kind == PARAM_OUTPUT) memcpy(to, &m->at[p->ref], 8);
        if (p->kind == PARAM_SCALAR) memcpy(to, m->in[p->ref].data, (size_t)p->bytes);
        if (p->kind == PARAM_SIZE) memcpy(to, &(int32_t){(int32_t)c->size[p->ref]}, 4);
    }
    return NULL;
}

static void count(const SimCounters *from, SimCounters *to) {
#define X(name, text) to->name += from->name;
    SIM_COUNTERS(X)
#undef X
    for (int i = 0; i < SIM_PIPE_COUNT; i++) to->pipe[i] += from->pipe[i];
}

/* As the cubin says, if there is one.  */
static int registers_of(const KernelCase *c, const char *kernel) {
    for (int i = 0; i < c->code.n_kernel; i++) {
        if (strcmp(c->code.kernel[i].kernel, kernel) == 0) return c->code.kernel[i].registers;
    }
    return 0;
}

/* The blocks of a launch that are timed: all of few, or neighbours from four places in it, fewer
 * where each has many of the `points` of its domain, unless they are not `alike`.  They fill SMs,
 * which hold so many `together`.  For each place there is its mirror image, so that the mean is
 * right where lengths grow evenly, as under a causal mask.  Beside each place one more has
 * its SM alone.  */
enum { PLACES = 4, NEIGHBOURS = 3, MOST_TIMED = PLACES * 33 };
static int64_t timed_blocks(int64_t blocks, double points, bool alike, int64_t together,
                            int64_t out[MOST_TIMED]) {
    enum { MANY = 1 << 24, TOO_MANY = 1 << 28 };
    double each = points / (double)blocks;
    int64_t n = 0, near = each < MANY ? (NEIGHBOURS + together - 1) / together : 1;
    int64_t places = each < TOO_MANY || !alike ? PLACES : 1, sms = blocks / together;
    if (sms <= places * near) return 0;
    for (int64_t p = 0; p < places; p++) {
        int64_t pair = p < places - 1 - p ? p : places - 1 - p;
        int64_t first = (sms - near) * (2 * pair + 1) / (2 * places);
        if (p > pair) first = sms - near - first;
        bool alone = together > 1;
        if (p > pair && alone) out[n++] = first * together - 1;
        for (int i = 0; i < near * together; i++) out[n++] = first * together + i;
        if (p <= pair && alone) out[n] = out[n - 1] + 1, n++;
    }
    return n;
}

/* Blocks of a launch that share an SM.  */
static int64_t together(const KernelCase *c, const SimLaunch *l) {
    int64_t sms = (int64_t)c->dev->limits.sm_count.value;
    int64_t even = ((int64_t)l->grid[0] * l->grid[1] + sms - 1) / sms;
    int64_t held = hal_blocks_per_sm(c->dev, (int)l->block[0], l->registers, l->dynamic_smem);
    int64_t n = even < held ? even : held;
    return n < 1 ? 1 : n < 32 ? n : 32;
}

/* Of the domain of a group.  */
static double points_of(const KernelCase *c, int group) {
    double points = 1;
    for (int axis = 0; axis < AX_CLASSES; axis++)
        points *= (double)c->plan.problem[group].extent[axis];
    return points;
}

static const char *launch_all(KernelCase *c, const Memory *m, uint64_t seed, bool timed) {
    c->counted = (SimCounters){0};
    c->us = 0;
    for (int i = 0; i < c->program.n_kernel; i++) {
        const KernelLaunch *k = &c->program.kernel[i];
        const SimParam *slot;
        int64_t blocks = cg_resident(c->te, &c->program, k, (KernelTaken){0, NULL}, c->size,
                                     c->resident);
        if (blocks == 0) continue;
        int n = sim_kernel_params(m->module, k->symbol, &slot);
        if (n != k->n_param) return "the kernel has other parameters than it says";
        size_t bytes = (size_t)(slot[n - 1].offset + slot[n - 1].bytes);
        unsigned char *space = arena_alloc(c->arena, bytes + 8);
        const char *wrong = put_params(c, m, k, slot, space);
        if (wrong) return wrong;
        SimLaunch l = {.module = m->module,
                       .kernel = k->symbol,
                       .grid = {(uint32_t)blocks, (uint32_t)k->grid[1], 1},
                       .block = {(uint32_t)k->block[0], 1, 1},
                       .cluster = {(uint32_t)k->cluster[0], 1, 1},
                       .dynamic_smem = (uint32_t)k->dynamic_smem,
                       .registers = timed ? registers_of(c, k->symbol) : 0,
                       .overlaps = cg_overlaps(c->te, &c->program, i, (KernelTaken){0, NULL},
                                               c->size),
                       .params = space,
                       .params_bytes = bytes};
        SimOptions o = {.seed = seed, .errors = seed + 1, .threads = 1, .strict = true,
                        .timed = timed, .no_races = timed, .max_instructions = MOST_INSTRUCTIONS};
        int64_t some[MOST_TIMED];
        bool alike = c->plan.prog[k->group].tail == 0;
        if (timed) o.n_blocks = timed_blocks(blocks, points_of(c, k->group), alike,
                                             together(c, &l), some);
        if (o.n_blocks) o.blocks = some;
        if (c->most) o.max_instructions = c->most;
        SimReport report;
        if (sim_launch(m->gpu, c->arena, &c->diag, &l, &o, &report)) return said(c, "simulator");
        if (report.faults) {
            Buf text = buf_new(c->arena);
            sim_fault_text(&report.fault[0], &text);
            return buf_str(&text);
        }
        count(&report.total, &c->counted);
        c->us += report.time_us;
    }
    return NULL;
}

static void load_values(const TeTensor *t, const char *from, TeValue *to) {
    int64_t count = te_tensor_count(t), at[TE_MAX_RANK];
    for (int64_t i = 0; i < count; i++) {
        int64_t rest = i;
        for (int d = t->rank - 1; d >= 0; d--) {
            at[d] = rest % t->shape[d].value;
            rest /= t->shape[d].value;
        }
        to[i] = te_load(t->dtype, from + te_tensor_offset(t, at) * te_dtype_bytes(t->dtype));
    }
}

static const char *compare(KernelCase *c, const Memory *m, bool exact) {
    const Te *te = c->te;
    TeEval *e = NULL;
    if (!c->want && te_eval_create(c->arena, &c->diag, te, m->in, &e))
        return said(c, "evaluate");
    for (int t = te->n_in; t < te->n_in + te->n_out; t++) {
        const TeTensor *x = &te->tensor[t];
        int64_t last, rows = judge_rows(x, &last);
        size_t bytes = te_tensor_bytes(x);
        const char *got = sim_host(m->gpu, m->at[t], bytes);
        TeValue *want = ARENA_ARRAY(c->arena, TeValue, last + 1);
        if (c->got) load_values(x, got, c->got[t - te->n_in]);
        for (int64_t row = 0; row < rows; row++) {
            int64_t at[TE_MAX_RANK];
            judge_row_at(x, row, at);
            if (e && te_eval_row(e, t, at, last, want)) return said(c, "evaluate");
            const TeValue *values = e ? want : c->want[t - te->n_in] + row * last;
            const char *wrong = judge_row(c->arena, te, t, at, values, last, got, exact);
            if (wrong) return wrong;
        }
    }
    return NULL;
}

const char *kernel_run(KernelCase *c, TeFill fill, uint64_t seed, bool exact) {
    Memory m = {0};
    if (fill_memory(c, fill, seed, &m)) return said(c, "memory");
    const char *wrong = launch_all(c, &m, seed, false);
    return wrong ? wrong : compare(c, &m, exact);
}

const char *kernel_settle(KernelCase *c, TeFill fill, uint64_t seed) {
    const Te *te = c->te;
    TeData *in = ARENA_ARRAY(c->arena, TeData, te->n_in);
    const TeValue **want = ARENA_ARRAY(c->arena, const TeValue *, te->n_out);
    TeEval *e;
    for (int i = 0; i < te->n_in; i++) {
        const TeTensor *t = &te->tensor[i];
        size_t bytes = t->role == TE_VALUE ? (size_t)te_dtype_bytes(t->dtype) : te_tensor_bytes(t);
        in[i] = (TeData){arena_alloc(c->arena, bytes + 1), bytes};
        te_fill(te, i, fill, seed, in[i]);
    }
    if (te_eval_create(c->arena, &c->diag, te, in, &e)) return said(c, "evaluate");
    for (int i = 0; i < te->n_out; i++) {
        const TeTensor *t = &te->tensor[te->n_in + i];
        int64_t last, rows = judge_rows(t, &last);
        TeValue *all = ARENA_ARRAY(c->arena, TeValue, rows * last + 1);
        for (int64_t row = 0; row < rows; row++) {
            int64_t at[TE_MAX_RANK];
            judge_row_at(t, row, at);
            if (te_eval_row(e, te->n_in + i, at, last, all + row * last))
                return said(c, "evaluate");
        }
        want[i] = all;
    }
    c->in = in;
    c->want = want;
    return parse(c, &c->module) ? said(c, "parse") : NULL;
}

const char *kernel_time(KernelCase *c, uint64_t seed) {
    Memory m = {0};
    Status s = take_memory(c, &m);
    for (int i = 0; i < c->te->n_in && !s; i++) {
        if (c->te->tensor[i].role == TE_VALUE) s = fill_input(c, i, TE_FILL_REALS, seed, &m);
    }
    return s ? said(c, "memory") : launch_all(c, &m, seed, true);
}

const char *kernel_prove(KernelCase *c, uint64_t seed) {
    const char *wrong = te_exact(c->te) ? kernel_run(c, TE_FILL_INTEGERS, seed, true) : NULL;
    if (!wrong) wrong = kernel_run(c, TE_FILL_REALS, seed, false);
    if (!wrong) wrong = kernel_run(c, TE_FILL_EXTREMES, seed, true);
    return wrong ? wrong : kernel_run(c, TE_FILL_SPARSE, seed, true);
}

const char *kernel_report(KernelCase *c, const char *name, const char *what) {
    Buf b = buf_new(c->arena);
    buf_printf(&b, "%s: %s\n", name, what);
    if (c->plan.prog) rprog_print(&c->plan, c->dev, &b);
    return buf_str(&b);
}

const char *kernel_examine(KernelCase *k) {
    Buf text = buf_new(k->arena), again = buf_new(k->arena);
    for (int g = 0; g < k->plan.n; g++) {
        const char *why = rprog_check(&k->plan.problem[g], k->dev, &k->plan.prog[g]);
        if (why) return why;
        Estimate e;
        mp_estimate(&k->plan.problem[g], &k->plan.prog[g], k->dev, &e);
        if (!(e.us > 0) || !(e.us < 1e6)) return "the estimate is no time";
    }
    rprog_print(&k->plan, k->dev, &text);
    RPlan back = k->plan;
    if (rprog_read(k->arena, &k->diag, (DiagText){"plan", text.text, text.len}, k->dev, &back))
        return diag_first_error(&k->diag)->hint ? diag_first_error(&k->diag)->hint
                                                : diag_first_error(&k->diag)->message;
    rprog_print(&back, k->dev, &again);
    return strcmp(buf_str(&text), buf_str(&again)) ? "the text reads back as another plan" : NULL;
}
