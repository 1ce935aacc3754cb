/* Proof that a kernel computes what its expression says; kernels run on the caller's data.
 *
 * Both happen in the simulator, or on a device by a worker, which is a process of its own
 * (docs/worker.md).  */
#ifndef ROLLER_CHECK_H
#define ROLLER_CHECK_H
#include "roller/context.h"

#ifdef __cplusplus
extern "C" {
#endif
typedef struct {
    size_t struct_size;
    uint64_t seed;            /* 0: 1 */
    double budget_s;          /* for sampled checking (60) */
    int counters;             /* fill `counters` */
    const char *device;       /* number, UUID, NULL: simulator, "auto": device 0 or simulator */
    const char *const *at;    /* run-time sizes, "M=64": at these alone, the largest of others */
    int n_at;                 /* 0: at the ends of all ranges, between, and where programs change */
} RollerCheckOptions;
typedef struct {
    size_t struct_size;
    int ok;
    int64_t compared, outputs, undecided; /* elements; of all data and size sets */
    int size_sets, data_sets, exact;      /* exact: integer data was compared bit for bit */
    const char *where;        /* "simulator", "NVIDIA H200" */
    const char *text;         /* the line to print; on failure also the worst element or fault */
    const char *counters;     /* counted beside predicted, or "" */
    const char *counters_json;            /* the same as an object, with every block, or "" */
    const char *data;         /* the data sets: "integer, real, extreme and sparse" */
    int64_t filled;           /* elements of inputs and temporaries that were made: those read */
    int runs, left_out;       /* of sampled kernels, one per data and size set; beyond the budget */
    double needed_s;          /* the budget that has room for all */
} RollerCheckReport;
/* Runs the kernel on integer, real, extreme and sparse data and compares with the reference
 * evaluator.  ROLLER_CHECK if it is wrong.  Texts live until the next call.  */
ROLLER_API RollerStatus roller_check(RollerCtx *ctx, const RollerKernel *k,
                                     const RollerCheckOptions *o, RollerCheckReport *report);
/* Fills the memory of input i as a check on integer data would.  */
ROLLER_API RollerStatus roller_fill(const RollerOp *op, int i, uint64_t seed, void *data,
                                    size_t bytes);
typedef struct {
    size_t struct_size;
    const char *device;       /* as for a check */
    double watchdog_s;        /* of a wait for a kernel on a device (20) */
} RollerRunOptions;
/* Runs the whole kernel on tensors in host memory: one entry per declared input (scalars are 0-dim)
 * and output.  ROLLER_CHECK if a fault ends it.  *where (may be
 * NULL): "simulator" or the device's name, until the next call.  */
ROLLER_API RollerStatus roller_run(RollerCtx *ctx, const RollerKernel *k, const RollerTensor *in,
                                   int nin, const RollerTensor *out, int nout,
                                   const RollerRunOptions *o, const char **where);
/* Fills rank, dtype and shape of each output from the inputs; out[i].shape has room for 8.  Where
 * the inputs lie does not matter.  Its errors: roller_error(NULL).  */
ROLLER_API RollerStatus roller_infer(const RollerKernel *k, const RollerTensor *in, int nin,
                                     RollerTensor *out, int nout);
/* Evaluates the op by its definition (docs/te-reference.md, "Values") on tensors in host memory:
 * outputs are the reference's values, rounded once.  Slow; needs no kernel.  */
ROLLER_API RollerStatus roller_evaluate(RollerCtx *ctx, const RollerOp *op, const RollerTensor *in,
                                        int nin, const RollerTensor *out, int nout);
typedef struct {
    size_t struct_size;
    int64_t compared, undecided, wrong;   /* elements of the outputs */
    double excess;            /* of the worst wrong one: its distance over what is allowed */
} RollerJudgement;
/* Are these outputs right for these inputs, whoever made them?  */
ROLLER_API RollerStatus roller_judge(RollerCtx *ctx, const RollerOp *op, const RollerTensor *in,
                                     int nin, const RollerTensor *out, int nout,
                                     RollerJudgement *report);
/* As roller_run, always in the simulator.  */
ROLLER_API RollerStatus roller_simulate(RollerCtx *ctx, const RollerKernel *k,
                                        const RollerTensor *in, int nin,
                                        const RollerTensor *out, int nout);

#ifdef __cplusplus
}
#endif
#endif
