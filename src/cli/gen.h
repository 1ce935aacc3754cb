/* roller-gen: what its parts share.
 *
 * A thin user of roller.h: roller-gen.c is the flow (read, parse, plan, build, check, write,
 * report), the others are the parts of the flow that talk to files and people.  */
#ifndef ROLLER_CLI_GEN_H
#define ROLLER_CLI_GEN_H
#include "cli/options.h"
#include "cli/progress.h"
#include "roller.h"
#include <pthread.h>

typedef struct {
    const char *kind, *path;
    size_t bytes;
    char sha256[65];
} Written;

/* One op for one target.  */
typedef struct {
    const char *stem;         /* of the artefacts, without the arch */
    const char *arch;
    RollerOp *op;
    RollerProfile *profile;
    RollerPlans *plans;
    RollerKernel *kernel;
    Written written[EMIT_COUNT + 1];
    int n_written;
    bool checked;
    RollerTrial *trial;       /* per plan; NULL: nothing was measured */
    const char *where;        /* they were measured */
    const char *ran;          /* where --in and --out ran; NULL: nowhere */
    size_t taken;             /* rank of the plan that the kernel was built from */
    RollerCheckReport check;
    const char *check_text, *counters, *counters_json;
    bool hit;                 /* the kernel came from the cache */
    double parse_ms, plan_ms, emit_ms, compile_ms, check_ms, measure_ms;
} Result;

/* The thread that loads NVRTC while the op is planned.  */
typedef struct {
    pthread_t thread;
    bool running;
    int driver;               /* as of Gen */
} GenEarly;

typedef struct {
    Arena *a;
    Diag diag;                /* of the command line and the files; library errors are in ctx */
    GenOptions o;
    RollerCtx *ctx;
    Buf report;               /* standard output, or standard error with -o - */
    Buf artefact;             /* standard output with -o - */
    Buf messages;             /* standard error */
    const char *text;         /* the input */
    size_t len;
    Result *result;
    int n_result;
    int n_target;             /* targets per op */
    RollerError error;        /* the first, copied */
    bool failed;
    int warnings;
    double start_ms;
    int driver;               /* of RollerCtxOptions */
    GenEarly early;
    Progress progress;
} Gen;

/* gen.c: what all parts ask.  */
double gen_now_ms(void);
const char *gen_keep(Gen *g, const char *s);              /* as arena memory; NULL of NULL */
bool gen_on_stdout(const Gen *g);         /* does standard output carry an artefact? */
RollerPlanOptions gen_plan_options(const Gen *g, const Result *r);
/* Of a plan at the sizes of --at.  */
void gen_estimate(Gen *g, const RollerPlan *plan, RollerEstimate *out);
/* STEM from -o or from the input's name.  */
const char *gen_stem(Gen *g, const char *op);
const char *gen_result_stem(Gen *g, const char *op); /* named after the op if all are made */
/* Keeps the library's or the command line's error; returns its exit code.  */
int gen_fail(Gen *g, RollerStatus s);
int gen_fail_here(Gen *g);
void gen_warnings(Gen *g);

/* early.c: begins to load the newest NVRTC, which nearly every target needs; failures are left to
 * who needs it.  Who opens it meanwhile waits in the loader.  The thread must have ended before
 * anything is forked and before main returns.  */
void gen_load_early(Gen *g);
void gen_end_early(Gen *g);

/* emits.c: targets, and which artefacts are made for them.  */
/* Profile and arch of target i of each op; else the exit code.  */
int gen_load_target(Gen *g, int i, Result *r);
/* The source of kernels for a profile; NULL: for that of the first target.  */
GenEmit gen_source(Gen *g, const RollerProfile *p);
const char *gen_source_path(Gen *g);      /* of the first target, where -o names none */
uint32_t gen_emits(Gen *g, const RollerProfile *p);       /* bits of GenEmit */
/* Is there each artefact that is asked for?  */
int gen_check_emits(Gen *g, const Result *r);

/* outputs.c: artefact names and files.  */
/* Finds what cannot be written before there is anything to write.  */
int gen_check_outputs(Gen *g);
/* Refuses outputs, for any of n ops, that would replace an input.  */
int gen_check_apart(Gen *g, const char *const *op, int n);
int gen_write(Gen *g, Result *r);
/* What holds all targets of one op: description and launchers.  */
int gen_write_whole(Gen *g, Result *first, int n);
/* shared.c: a launcher in C as a shared library; ST_IO where no compiler makes it.  */
Status gen_shared(Gen *g, const void *source, size_t len, const void **data, size_t *size);
/* A report of what only we can mend, beside the output.  */
void gen_write_failure(Gen *g, const Result *r, RollerStatus s);

/* cached.c: the kernel cache.  */
/* Takes the kernel from the cache, if it is there and no plan was given.  */
void gen_take_cached(Gen *g, Result *r);
/* Keeps what the last call says of the cache.  */
void gen_cache_told(Gen *g, Result *r);
int gen_list_cache(Gen *g);
int gen_clear_cache(Gen *g);

/* arrays.c: --in and --out.  */
int gen_run_arrays(Gen *g, Result *r);

/* measured.c: --measure.  */
/* All ops that are planned for this target, together.  */
int gen_measure(Gen *g, int target);
void gen_report_measured(Gen *g, const Result *r);

/* report.c and report_json.c.  */
void gen_report(Gen *g, const Result *r);
void gen_report_files(Gen *g, const Result *r, int first);   /* written, from `first` on */
const char *gen_dump_name(GenDump what);
const char *gen_dump_text(Gen *g, const Result *r, GenDump what);
void gen_report_json(Gen *g, int exit_code);

/* make_rule.c: -M, -MD.  */
const char *gen_make_rule(Gen *g);

/* lists.c: --list-*.  */
int gen_list_archs(Gen *g);
int gen_list_profiles(Gen *g);
int gen_list_ops(Gen *g);
#endif
