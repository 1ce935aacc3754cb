/* Small ops planned, emitted, compiled and run, for tests of code generation.  Everything reports
 * by texts, so that cases may run on several threads.  */
#ifndef TESTS_KERNEL_FIXTURE_H
#define TESTS_KERNEL_FIXTURE_H
#include "codegen/kernel.h"
#include "decide.h"
#include "hal/nvrtc.h"
#include "rprogram/derived.h"
#include "rprogram/skeletons.h"
#include "sim/sim.h"
#include "te/eval/eval.h"

typedef struct {
    Arena *arena;
    Diag diag;
    const Device *dev;
    Te *te, *normal;
    RPlan plan;
    RProgSet *set;            /* candidates, per group */
    KernelProgram program;
    NvrtcOutput code;
    const TeData *in;         /* data of the inputs; NULL: filled by kernel_run */
    const TeValue *const *want;           /* per output: its values; NULL: evaluated */
    TeValue *const *got;      /* per output: receives its values; NULL: nobody asks */
    int64_t resident;         /* blocks that the device holds of those that stay; 0: its profile */
    uint64_t most;            /* warp instructions of a block; 0: more than any here needs */
    const int64_t *size;      /* values of run-time sizes; te is then the op at these sizes */
    SimCounters counted;      /* of the last run, all launches */
    double us;                /* of the last kernel_time */
    SimModule *module;        /* the parsed text; NULL: parsed for every run */
} KernelCase;

/* Parses `op` (NULL: the only one) of a text, finds its candidates.  NULL, or what went wrong.  */
const char *kernel_open(KernelCase *c, Arena *a, const Device *dev, const char *text,
                        const char *op);
/* The same with these decisions taken wherever they are possible.  */
const char *kernel_open_decided(KernelCase *c, Arena *a, const Device *dev, const char *text,
                              const char *op, unsigned taken);
/* Candidates for units of warpgroups alone, of the only group.  */
const char *kernel_keep_groups(KernelCase *c);
/* Takes the program the model ranks first (seed 0), or a random candidate, in every group.  */
const char *kernel_pick(KernelCase *c, uint64_t seed);
const char *kernel_emit(KernelCase *c);
const char *kernel_compile(KernelCase *c, Nvrtc *n, bool cubin);
/* What is wrong with the plan: every program is legal and has a time, and its text reads back.  */
const char *kernel_examine(KernelCase *k);
/* Runs the compiled program on the simulator on data of this kind; NULL if there is no fault and
 * every output is right.  Exact: bit for bit.  */
const char *kernel_run(KernelCase *c, TeFill fill, uint64_t seed, bool exact);
/* Fills the inputs, evaluates the outputs and parses the text once, for many runs.  */
const char *kernel_settle(KernelCase *c, TeFill fill, uint64_t seed);
/* The same on every data set: integers only where the op is exact on them, and extremes bit for bit
 * where the reference has no bound.  */
const char *kernel_prove(KernelCase *c, uint64_t seed);
/* Times a run from a cold L2: all launches, of large ones some blocks.  Tensors hold poison,
 * results are not looked at.  */
const char *kernel_time(KernelCase *c, uint64_t seed);
/* What went wrong, with the plan and where it came from.  */
const char *kernel_report(KernelCase *c, const char *name, const char *what);
#endif
