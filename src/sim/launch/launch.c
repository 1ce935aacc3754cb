/* A launch: limits, the state all clusters share, and the report in order of the blocks.  */
#include "sim/launch/launch.h"
#include "base/hash.h"
#include "sim/linker/link.h"
#include "sim/state/memory_state.h"
#include "sim/state/order.h"
#include "sim/ptx/ptx_parse.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- limits ---- */

static void limit(Arena *a, const SimRun *r, SimReport *out, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
static void limit(Arena *a, const SimRun *r, SimReport *out, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    out->faults++;
    if (out->n_fault < SIM_MAX_FAULTS) {
        out->fault[out->n_fault++] = (SimFault){.kind = SIM_LIMIT, .kernel = r->kernel->func->name,
                                                .ptx_line = r->kernel->func->line,
                                                .text = arena_vprintf(a, fmt, ap)};
    }
    va_end(ap);
}

static uint64_t volume(const uint32_t n[3]) { return (uint64_t)n[0] * n[1] * n[2]; }

static void check_shape(Arena *a, const SimRun *r, SimReport *out) {
    const DeviceLimits *l = &r->dev->limits;
    const PtxFunc *f = r->kernel->func;
    uint64_t threads = volume(r->ntid), most = (uint64_t)l->threads_per_block.value;
    if (threads == 0 || threads > most || threads > 1024) {
        limit(a, r, out, "a block of %" PRIu64 " threads; the device takes 1 to %" PRIu64, threads,
              most);
    }
    for (int k = 0; k < 3; k++) {
        double widest = k == 0 ? l->grid_max.value : 65535;
        if (r->grid[k] == 0 || r->grid[k] > widest) {
            limit(a, r, out, "%u blocks along %c; the device takes 1 to %.0f", r->grid[k],
                  "xyz"[k], widest);
        }
        if (f->reqntid[0] && r->ntid[k] != (uint32_t)f->reqntid[k]) {
            limit(a, r, out, "%u threads along %c, the kernel requires %d", r->ntid[k], "xyz"[k],
                  f->reqntid[k]);
        }
        if (r->cluster[k] && r->grid[k] % r->cluster[k]) {
            limit(a, r, out, "%u blocks along %c are no multiple of the cluster's %u", r->grid[k],
                  "xyz"[k], r->cluster[k]);
        }
    }
    uint64_t declared = (uint64_t)f->maxntid[0] * (uint64_t)f->maxntid[1] * (uint64_t)f->maxntid[2];
    if (declared && threads > declared) {
        limit(a, r, out, "a block of %" PRIu64 " threads; the kernel is compiled for %" PRIu64,
              threads, declared);
    }
}

static void check_resources(Arena *a, const SimRun *r, SimReport *out) {
    const DeviceLimits *l = &r->dev->limits;
    uint64_t smem = (uint64_t)r->smem_bytes, cluster = volume(r->cluster);
    if (smem > (uint64_t)l->smem_per_block_optin.value) {
        limit(a, r, out, "%" PRIu64 " bytes of shared memory; a block has %.0f", smem,
              l->smem_per_block_optin.value);
    }
    uint64_t most = (uint64_t)l->cluster_max.value;
    if (cluster > most && cluster > 1) {
        limit(a, r, out, "a cluster of %" PRIu64 " blocks; the device takes %" PRIu64, cluster,
              most);
    }
}

/* ---- constants ---- */

/* The constants in both widths, with the addresses of variables.  */
static unsigned char *constants(Arena *a, const SimRun *r, const SimLoaded *x) {
    const SimKernel *k = r->kernel;
    unsigned char *pool = arena_alloc(a, k->n_konst * 512 + 64);
    pool += (32 - (uintptr_t)pool % 32) % 32;
    uint32_t align = k->dynamic_align;
    uint32_t dynamic = r->smem_base + (k->static_smem + align - 1) / align * align;
    for (size_t n = 0; n < k->n_konst; n++) {
        const SimConst *c = &k->konst[n];
        uint64_t v = c->bits64;
        uint32_t half = c->bits32;
        if (c->symbol) {
            PtxSpace s = c->symbol->space;
            uint64_t base = s == SPACE_SHARED ? (c->symbol->external ? dynamic : r->smem_base)
                            : s == SPACE_CONST ? x->const_base + (uint64_t)c->symbol->offset
                                               : x->global_base + (uint64_t)c->symbol->offset;
            v = base + (uint64_t)c->add;
            half = (uint32_t)v;
        }
        for (int l = 0; l < LANES; l++) {
            memcpy(pool + n * 256 + (size_t)l * 8, &v, 8);
            memcpy(pool + (k->n_konst + n) * 256 + (size_t)l * 4, &half, 4);
        }
    }
    return pool;
}

/* ---- what to run ---- */

static int64_t cluster_of(const SimRun *r, int64_t block) {
    int64_t at[3], n[3], out = 0;
    for (int k = 0; k < 3; k++) {
        at[k] = block % r->grid[k] / r->cluster[k];
        n[k] = r->grid[k] / r->cluster[k];
        block /= r->grid[k];
    }
    for (int k = 2; k >= 0; k--) out = out * n[k] + at[k];
    return out;
}

static int ascending(const void *x, const void *y) {
    const int64_t *a = x, *b = y;
    return (*a > *b) - (*a < *b);
}

static SimTasks tasks(Arena *a, SimRun *r) {
    const SimOptions *o = r->options;
    int64_t all = (int64_t)(volume(r->grid) / volume(r->cluster));
    int64_t count = o->blocks ? o->n_blocks : all;
    int64_t *id = ARENA_ARRAY(a, int64_t, count + 1);
    int64_t used = 0;
    for (int64_t k = 0; k < count; k++) {
        int64_t c = o->blocks ? o->blocks[k] : k;
        if (o->blocks && (c < 0 || c >= (int64_t)volume(r->grid))) continue;
        id[used++] = o->blocks ? cluster_of(r, c) : c;
    }
    if (o->blocks) qsort(id, (size_t)used, sizeof *id, ascending);
    SimTask *task = ARENA_ARRAY(a, SimTask, used + 1);
    SimTasks out = {task, 0};
    for (int64_t k = 0; k < used; k++) {
        if (k > 0 && id[k] == id[k - 1]) continue;
        task[out.n++] = (SimTask){.run = r, .cluster = id[k]};
    }
    if (r->kernel->cancels) r->waiting = (SimWaiting){ARENA_ARRAY(a, int64_t, out.n + 1), out.n};
    for (int64_t k = 0; k < r->waiting.n; k++) r->waiting.cluster[k] = task[k].cluster;
    return out;
}

/* ---- the report ---- */

typedef struct {
    Arena *arena;
    const SimRun *run;
    SimFault *fault;
    size_t n, cap;
    uint64_t faults;
} Faults;

static int64_t linear(const SimRun *r, const int block[3]) {
    return block[0] + (int64_t)r->grid[0] * (block[1] + (int64_t)r->grid[1] * block[2]);
}

/* Insertion keeps the order of the block, then of arrival; the list stays short.  */
static void add_fault(Faults *f, const SimFault *x) {
    int64_t at = linear(f->run, x->block);
    size_t k = f->n;
    while (k > 0 && linear(f->run, f->fault[k - 1].block) > at) k--;
    if (k >= SIM_MAX_FAULTS) return;
    f->fault = arena_grow(f->arena, f->fault, &f->cap, f->n + 1, sizeof *f->fault);
    memmove(&f->fault[k + 1], &f->fault[k], (f->n - k) * sizeof *f->fault);
    f->fault[k] = *x;
    f->fault[k].text = arena_strdup(f->arena, x->text);
    if (f->n < SIM_MAX_FAULTS) f->n++;
}

static void add_overlap(void *user, const SimWrites *earlier, const SimWrite *first,
                        const SimWrites *later, const SimWrite *second) {
    Faults *f = user;
    const SimRun *r = f->run;
    const PtxInst *p = second->inst->ptx;
    bool known = p->cu_file >= 0 && (size_t)p->cu_file < r->ptx->n_files;
    uint64_t at = first->at > second->at ? first->at : second->at;
    SimFault x = {.kind = SIM_RACE_GLOBAL, .kernel = r->kernel->func->name, .ptx_line = p->line,
                  .cu_file = known ? r->ptx->files[p->cu_file] : NULL,
                  .cu_line = known ? p->cu_line : 0};
    for (int k = 0; k < 3; k++) x.block[k] = (int)later->ctaid[k];
    x.thread[0] = second->thread % (int)r->ntid[0];
    x.thread[1] = second->thread / (int)r->ntid[0] % (int)r->ntid[1];
    x.thread[2] = second->thread / (int)r->ntid[0] / (int)r->ntid[1];
    x.text = arena_printf(f->arena, "block (%u,%u,%u) writes 0x%" PRIx64 " as well, at ptx line %d",
                          earlier->ctaid[0], earlier->ctaid[1], earlier->ctaid[2], at,
                          first->inst->ptx->line);
    f->faults++;
    add_fault(f, &x);
}

static void add_warning(Arena *a, const SimFault *x, SimReport *out) {
    for (int k = 0; k < out->n_warning; k++) {
        if (out->warning[k].ptx_line == x->ptx_line) return;
    }
    if (out->n_warning == SIM_MAX_FAULTS) return;
    SimFault *to = &out->warning[out->n_warning++];
    *to = *x;
    to->text = arena_strdup(a, x->text);
}

static void collect(Arena *a, const SimRun *r, const SimTasks *x, SimReport *out) {
    const SimTask *task = x->task;
    Faults f = {.arena = a, .run = r};
    int64_t blocks = 0, at = 0;
    for (int64_t k = 0; k < x->n; k++) {
        out->blocks_run += task[k].n_block;
        if (task[k].cancelled) out->blocks_cancelled += (int64_t)volume(r->cluster);
        f.faults += task[k].faults;
        blocks += task[k].n_block;
        for (int e = 0; e < task[k].n_fault; e++) {
            const SimFault *one = &task[k].fault[e];
            if (one->warning) add_warning(a, one, out);
            else add_fault(&f, one);
        }
    }
    if (r->order) {
        const SimFault *race;
        size_t races = sim_order_races(r->order, &race);
        for (size_t k = 0; k < races; k++) add_fault(&f, &race[k]);
        f.faults += races;
    } else if (!r->options->no_races) {
        SimWrites **all = ARENA_ARRAY(a, SimWrites *, blocks + 1);
        for (int64_t k = 0; k < x->n; k++) {
            for (int b = 0; b < task[k].n_block; b++) all[at++] = task[k].writes[b];
        }
        sim_find_overlaps(a, all, blocks, add_overlap, &f);
    }
    out->faults += f.faults;
    for (size_t k = 0; k < f.n && out->n_fault < SIM_MAX_FAULTS; k++) {
        out->fault[out->n_fault++] = f.fault[k];
    }
}

static int by_number(const void *x, const void *y) {
    const SimBlockCounters *a = x, *b = y;
    return (a->linear > b->linear) - (a->linear < b->linear);
}

/* Clusters are in order of their number, their blocks need not be in order of theirs.  */
static const SimBlockCounters *per_block(Arena *a, const SimTasks *x, int64_t blocks) {
    SimBlockCounters *all = ARENA_ARRAY(a, SimBlockCounters, blocks + 1);
    int64_t at = 0;
    for (const SimTask *t = x->task; t < x->task + x->n; t++) {
        for (int b = 0; b < t->n_block; b++) all[at++] = t->count[b];
    }
    qsort(all, (size_t)at, sizeof *all, by_number);
    return all;
}

static void describe(SimRun *r, SimGpu *g, int kernel, const SimLaunch *launch,
                     const SimOptions *o) {
    const SimModule *m = launch->module;
    *r = (SimRun){.gpu = g, .dev = g->dev, .ptx = m->ptx, .kernel = m->kernel[kernel],
                  .launch = launch, .options = o};
    const PtxFunc *f = r->kernel->func;
    for (int k = 0; k < 3; k++) {
        r->grid[k] = launch->grid[k];
        r->ntid[k] = launch->block[k];
        r->cluster[k] = launch->cluster[k] ? launch->cluster[k] : 1;
        if (f->cluster[0] && volume(launch->cluster) == 0) r->cluster[k] = (uint32_t)f->cluster[k];
    }
    uint32_t align = r->kernel->dynamic_align;
    r->smem_base = (uint32_t)r->dev->limits.smem_reserved.value;
    r->smem_bytes = r->kernel->static_smem;
    if (launch->dynamic_smem) {
        r->smem_bytes = (r->smem_bytes + align - 1) / align * align + launch->dynamic_smem;
    }
}

static double time_of(Arena *a, const SimRun *r, const SimTasks *x, const SimReport *report,
                      const SimSlices *work) {
    double all = (double)volume(r->grid), of_cluster = (double)volume(r->cluster);
    double span = x->n ? (double)(x->task[x->n - 1].cluster - x->task[0].cluster + 1) : 1;
    int64_t done = report->blocks_run + report->blocks_cancelled;
    SimRan ran = {all / (double)done, all / of_cluster / span};
    SimFootprint f;
    sim_l2_settle(r->gpu, &ran, &f);
    return sim_time(a, r, &report->total, work, &f, done);
}

/* The kernel reached what the simulator does not know: that is no fault of the kernel.  */
static Status refused(Diag *d, const SimRun *r, const SimReport *out) {
    const SimFault *f = out->fault;
    while (f < out->fault + out->n_fault && f->kind != SIM_NOT_SIMULATED) f++;
    if (f == out->fault + out->n_fault) return ST_OK;
    const SimKernel *k = r->kernel;
    for (uint32_t n = 0; n < k->n_code; n++) {
        const PtxInst *p = k->code[n].ptx;
        if (k->code[n].exec != sim_exec_refused || p->line != f->ptx_line) continue;
        size_t at = 0;
        for (int line = 1; line < p->line && at < r->ptx->len; at++) {
            line += r->ptx->text[at] == '\n';
        }
        DiagPlace place = {r->ptx->file, r->ptx->text, r->ptx->len, at + (size_t)(p->column - 1)};
        return diag_error(d, ST_SIMULATOR, "ptx", place, "%s", f->text);
    }
    return ST_SIMULATOR;
}

static SimSlices *start_timing(Arena *a, SimRun *r) {
    r->timing = sim_timing_new(a, r);
    SimSlices *work = ARENA_NEW(a, SimSlices);
    sim_slices_new(a, r->timing->n_work, work);
    return work;
}

Status sim_launch(SimGpu *g, Arena *a, Diag *d, const SimLaunch *launch, const SimOptions *o,
                  SimReport *out) {
    *out = (SimReport){0};
    int k = sim_find_kernel(launch->module, launch->kernel);
    if (k < 0) {
        return diag_error(d, ST_SIMULATOR, "sim", DIAG_NOWHERE, "no kernel %s in this module",
                          launch->kernel);
    }
    SimRun *r = ARENA_NEW(a, SimRun);
    SimOptions *options = ARENA_NEW(a, SimOptions);
    if (o) *options = *o;
    if (options->timed || options->per_block || launch->overlaps) options->no_counters = false;
    describe(r, g, k, launch, options);
    size_t need = (size_t)r->kernel->func->param_bytes;
    if (launch->params_bytes < need) {
        return diag_error(d, ST_ARGS, "sim", DIAG_NOWHERE,
                          "%s takes %zu bytes of parameters, got "
                          "%zu",
                          launch->kernel, need, launch->params_bytes);
    }
    check_shape(a, r, out);
    check_resources(a, r, out);
    if (out->n_fault) return ST_OK;
    unsigned char *params = arena_alloc(a, need + 64);
    memset(params, SIM_POISON, need + 64);
    if (need) memcpy(params, launch->params, need);
    r->params = params;
    r->params_bytes = need;
    const SimLoaded *x = sim_load_variables(g, r->ptx);
    r->constants = constants(a, r, x);
    sim_overlap_begin(g, r);
    sim_clear_sectors(g);
    SimSlices *work = r->options->timed ? start_timing(a, r) : NULL;
    if (r->kernel->serial && !r->options->no_races) r->order = sim_order_new(a, g);
    SimTasks all = tasks(a, r);
    Status st = sim_run_tasks(a, d, &all, r, &out->total, work);
    if (r->order) sim_order_forget(g);
    if (st != ST_OK) return st;
    for (int64_t e = 0; e < all.n && options->print; e++) {
        const SimTask *one = &all.task[e];
        if (one->n_printed) options->print(options->print_user, one->printed, one->n_printed);
    }
    out->total.unique_load_sectors = sim_sum_sectors(g, false);
    out->total.unique_store_sectors = sim_sum_sectors(g, true);
    collect(a, r, &all, out);
    sim_overlap_end(g, r, out->blocks_run);
    st = refused(d, r, out);
    if (st != ST_OK) return st;
    if (options->per_block) out->block = per_block(a, &all, out->blocks_run);
    if (work) out->time_us = time_of(a, r, &all, out, work);
    bool known = hal_mover(r->dev, "tcgen05.cp") != NULL;
    if (work && r->kernel->untimed && !known) out->untimed = sim_op_name(r->kernel->untimed->op);
    return ST_OK;
}
