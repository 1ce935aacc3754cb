/* Run: one kernel program in the simulator, with its tensors in device memory.  */
#ifndef ROLLER_DRIVER_RUN_H
#define ROLLER_DRIVER_RUN_H
#include "driver/compile.h"
#include "sim/sim.h"
#include "te/eval.h"

enum { RUN_MEMORY_LIMIT_GIB = 12 };

typedef struct {
    const Te *te;             /* the arguments; static sizes */
    const Te *normal;
    const Build *build;
    SimGpu *gpu;
    SimModule *module;
    TeData *data;             /* host data per input, scalars included */
    uint64_t *at;             /* device address per argument tensor */
    uint64_t workspace;
    const int64_t *size;      /* value per size, for run-time sizes */
    SimOptions options;
    SimReport report;         /* of all launches so far: faults of the first launch that had some */
} Run;

/* Puts inputs (data[0..n_in-1]) into device memory and leaves outputs and workspace poisoned.  te
 * is static; size[i] is the value of size i.  */
Status run_create(Arena *a, Diag *d, const Device *dev, const Te *te, const Te *normal,
                  const Build *build, TeData *data, const int64_t *size, Run *out);
/* Launches kernel i of the program: all blocks, or the given ones.  Faults stay in run->report.  */
Status run_launch(Run *r, Arena *a, Diag *d, int i, const int64_t *blocks, int64_t n_blocks);
/* Device address of a tensor of the normalized op: an argument or a temporary in the workspace.  */
uint64_t run_address(const Run *r, int tensor);
#endif
