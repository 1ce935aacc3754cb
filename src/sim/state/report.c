/* Faults: who, where, what.  */
#include "sim/state/exec.h"
#include "sim/state/memory.h"

static const char *const texts[] = {
#define X(id, text) text,
    SIM_FAULTS(X)
#undef X
};

static const char *source_file(const PtxModule *m, const PtxInst *p) {
    bool known = p->cu_file >= 0 && (size_t)p->cu_file < m->n_files;
    return known ? m->files[p->cu_file] : NULL;
}

void sim_fault_place(SimFault *f, SimFaultKind kind, const SimBlock *b, const SimInst *i,
                     int thread) {
    const SimRun *run = b->cluster->run;
    const int n[3] = {(int)run->ntid[0], (int)run->ntid[1], (int)run->ntid[2]};
    *f = (SimFault){.kind = kind,
                    .kernel = run->kernel->func->name,
                    .thread = {thread % n[0], thread / n[0] % n[1], thread / n[0] / n[1]},
                    .ptx_line = i->ptx->line,
                    .cu_file = source_file(run->ptx, i->ptx)};
    if (f->cu_file) f->cu_line = i->ptx->cu_line;
    for (int k = 0; k < 3; k++) f->block[k] = (int)b->ctaid[k];
}

static void record(SimLane by, const SimFault *f, const char *fmt, va_list ap) {
    SimBlock *b = by.w->block;
    if (b->n_fault == SIM_MAX_FAULTS) return;
    SimFault *to = &b->fault[b->n_fault++];
    sim_fault_place(to, f->kind, b, by.i, by.w->id * LANES + by.lane);
    to->warning = f->warning;
    to->text = arena_vprintf(b->cluster->arena, fmt, ap);
}

void sim_fault(SimLane by, SimFaultKind kind, const char *fmt, ...) {
    SimBlock *b = by.w->block;
    b->stop = by.w->yield = true;
    b->faults++;
    va_list ap;
    va_start(ap, fmt);
    record(by, &(SimFault){.kind = kind}, fmt, ap);
    va_end(ap);
}

bool sim_warn(SimLane by, SimFaultKind kind, const char *fmt, ...) {
    SimBlock *b = by.w->block;
    bool strict = b->cluster->run->options->strict;
    for (int k = 0; k < b->n_fault && !strict; k++) {
        if (b->fault[k].warning && b->fault[k].ptx_line == by.i->ptx->line) return true;
    }
    if (!strict && b->n_fault >= SIM_MAX_FAULTS / 2) return true;       /* room for a fault */
    if (strict) {
        b->stop = by.w->yield = true;
        b->faults++;
    }
    va_list ap;
    va_start(ap, fmt);
    record(by, &(SimFault){.kind = kind, .warning = !strict}, fmt, ap);
    va_end(ap);
    return !strict;
}

void sim_fault_text(const SimFault *f, Buf *out) {
    buf_printf(out, "kernel %s, block (%d,%d,%d), thread (%d,%d,%d): %s: %s (ptx line %d",
               f->kernel, f->block[0], f->block[1], f->block[2], f->thread[0], f->thread[1],
               f->thread[2], texts[f->kind], f->text, f->ptx_line);
    if (f->cu_file) buf_printf(out, ", %s line %d", f->cu_file, f->cu_line);
    buf_putc(out, ')');
}
