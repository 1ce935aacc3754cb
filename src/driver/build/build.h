/* Builds: the source of a plan, compiled, by the next candidates where kernels spill.  */
#ifndef ROLLER_DRIVER_BUILD_BUILD_H
#define ROLLER_DRIVER_BUILD_BUILD_H
#include "codegen/kernel.h"
#include "driver/plan/plan_set.h"
#include "hal/nvrtc_identity.h"

typedef struct {
    const NvrtcOptions *nvrtc;            /* NULL: defaults */
    const char *arch;         /* compile target; NULL: the device's */
    bool line_info;
    bool fast_compile;        /* level 2 of ptxas, not 3: sooner, for longer loops */
    bool static_smem;         /* as CgOptions */
    const bool *only;         /* per program of all strategies: is it wanted?  NULL: all are */
    int threads;              /* kernels compiled at a time; 0: one per core */
    Watch *watch;             /* NULL: nobody's */
} BuildOptions;

typedef struct {
    KernelProgram program;
    const char *arch;
    bool compiled;            /* false: only the source exists */
    int level;                /* of ptxas, 2 or 3 */
    NvrtcOutput nvrtc;
    int nvrtc_major, nvrtc_minor;
    char nvrtc_files[NVRTC_FILES];        /* "": they cannot be told */
    NvrtcOptions compiler;    /* how the source is compiled, and can be once more; on its arena */
    bool line_info;
    double emit_ms, compile_ms;
    int spilled;              /* plans that were compiled and dropped: they spill, or are refused */
} Build;

/* A plan of a set, and what it was built to.  */
typedef struct {
    const PlanSet *set;
    const WholePlan *plan;
    const Build *build;
} BuiltPlan;

/* The source of a plan and what describes its launches, into a build whose arch is set.  */
Status compile_emit(Arena *a, Diag *d, const WholePlan *plan, const Device *dev,
                    const CompileOptions *o, Build *out);
/* emit -> NVRTC.  ST_NVRTC leaves the source in *out.  */
Status compile_build(Arena *a, Diag *d, const WholePlan *plan, const Device *dev,
                     const BuildOptions *o, Build *out);
/* The same for a plan of the set, whose groups move to their next candidates where kernels
 * spill.  */
Status compile_best(Arena *a, Diag *d, const PlanSet *set, const BuildOptions *o, WholePlan *plan,
                    Build *out);
/* The code of a build whose source is there, by the NVRTC that it names; op: for the watch.  */
Status build_code(Arena *a, Diag *d, const char *op, const BuildOptions *o, Build *b);
NvrtcOptions compile_keep(Arena *a, const NvrtcOptions *o);       /* a copy on `a` */
/* The program of a build compiled once more, by another NVRTC.  */
Status compile_again(Arena *a, Diag *d, const Build *b, const NvrtcOptions *nvrtc, Build *out);
/* Warns of a best kernel that spills all the same.  */
void compile_warn_spills(Diag *d, const Build *b);
/* Version and sources of this build.  */
const char *build_id(void);
#endif
