/* The pipeline: expression and device in, proved kernel out.
 *
 * compile.c read from top to bottom is the architecture: every stage is one call, takes values and
 * gives values.  The public API makes the same calls one by one, for hosts that want what lies
 * between them.  Nothing here prints, keeps state or knows a command line.  */
#ifndef ROLLER_DRIVER_PIPELINE_COMPILE_H
#define ROLLER_DRIVER_PIPELINE_COMPILE_H
#include "driver/check/check.h"
#include "driver/device/measure.h"

typedef struct {
    DiagText text;
    const char *op;           /* which of its ops; NULL: it has one */
    const TeDefines *defines; /* sizes; NULL: as the text says */
    const Device *dev;
    const CompileOptions *plan;
    const BuildOptions *build;
    const CheckOptions *check;            /* NULL: it is not proved */
    const MeasureOptions *measure;        /* NULL: it is not timed */
} CompileRequest;

typedef struct {
    Te *te;
    PlanSet set;
    WholePlan plan;
    Build build;
    CheckResult proof;
    Trial trial;
} Compiled;

/* Text -> kernel.  What earlier stages gave is in *out where a later one fails.  */
Status compile(Arena *a, Diag *d, const CompileRequest *r, Compiled *out);
/* Its stages 2 to 6, for an op as parsed.  No GPU, no NVRTC.  */
Status compile_plan(Arena *a, Diag *d, const PlanRequest *r, PlanSet *out);
#endif
