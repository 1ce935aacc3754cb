/* CUPTI behind dlopen: when each kernel began and ended, on the device's own clock.
 *
 * CUPTI calls back without saying for whom, so a process has one Cupti at most, and one thread uses
 * it.  Open it before the driver.  Whatever is missing or not permitted is an error that the caller
 * may ignore: events measure the same, only less exactly.  */
#ifndef ROLLER_HAL_CUPTI_H
#define ROLLER_HAL_CUPTI_H
#include "hal/cuda.h"

typedef struct Cupti Cupti;

/* libcupti by versioned soname, then in the toolkit of $CUDA_PATH or in its default folder.  Starts
 * to record kernels; stops with the arena.  */
Status cupti_open(Arena *a, Diag *d, bool ignore_environment, Cupti **out);

typedef struct {
    uint64_t begin_ns, end_ns;
} CuptiKernel;
/* Forgets what was recorded so far.  All work must have ended.  */
Status cupti_reset(Cupti *c, Diag *d);
/* The kernels since, in order of their beginning.  All work must have ended.  Good until the next
 * call.  */
Status cupti_kernels(Cupti *c, Diag *d, const CuptiKernel **out, int *n);

/* ---- counters ----
 * By the range profiler, where the system permits them to this user.  The work is run as often as
 * the counters need passes.  A process that counts does not record kernels as well.  */
/*    id             metric */
#define CUPTI_COUNTERS(X)                                                                          \
    X(DRAM_READ,     "dram__bytes_read.sum")                                                       \
    X(DRAM_WRITE,    "dram__bytes_write.sum")                                                      \
    X(L2_READ,       "lts__t_sectors_srcunit_tex_op_read.sum")                                     \
    X(L2_WRITE,      "lts__t_sectors_srcunit_tex_op_write.sum")                                    \
    X(SHARED_LOAD,   "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum")                       \
    X(SHARED_STORE,  "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum")                       \
    X(CONFLICTS,     "l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum")                         \
    X(INSTRUCTIONS,  "sm__inst_executed.sum")                                                      \
    X(TENSOR,        "sm__inst_executed_pipe_tensor.sum")                                          \
    X(FFMA,          "smsp__sass_thread_inst_executed_op_ffma_pred_on.sum")                        \
    X(DFMA,          "smsp__sass_thread_inst_executed_op_dfma_pred_on.sum")                        \
    X(LOCAL_LOAD,    "l1tex__t_bytes_pipe_lsu_mem_local_op_ld.sum")                                \
    X(LOCAL_STORE,   "l1tex__t_bytes_pipe_lsu_mem_local_op_st.sum")
typedef enum {
#define X(id, metric) CUPTI_##id,
    CUPTI_COUNTERS(X)
#undef X
        CUPTI_COUNTER_COUNT
} CuptiCounter;

/* Runs the work in the context, which is current, and waits for it.  */
typedef Status CuptiWork(void *user, Diag *d);
/* ST_CUDA with tag "counters" if there are none: no CUPTI, one too old, no permission.  A counter
 * that this GPU does not have is NAN.  */
Status cupti_count(CudaContext *x, Arena *a, Diag *d, bool ignore_environment, CuptiWork *work,
                   void *user, double value[CUPTI_COUNTER_COUNT]);

/* The library; NULL: there is none.  */
void *cupti_library(Arena *a, bool ignore_environment);
#endif
