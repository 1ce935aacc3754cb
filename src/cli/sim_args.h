/* Arguments of a kernel run by roller-sim: arrays in the simulated memory and numbers.  */
#ifndef ROLLER_CLI_SIM_ARGS_H
#define ROLLER_CLI_SIM_ARGS_H
#include "cli/sim_options.h"
#include "cli/npy.h"
#include "sim/sim.h"

typedef struct {
    const char *name;         /* in the source, or the PTX */
    bool given, array, mapped;            /* mapped: a tensor map over the array is passed */
    const char *type;         /* of the elements: f16, bf16, ... */
    Npy npy;                  /* of an array */
    uint64_t at;              /* its device address */
} SimToolArg;

/* `param`, `n` and `names` are the kernel's, and said before; the rest is simtool_args'.  */
typedef struct {
    const SimParam *param;
    int n;
    const char *const *names; /* n of them in the source; NULL: not known */
    SimToolArg *arg;
    unsigned char *params;
    size_t params_bytes;
} SimToolArgs;

/* Names of the parameters of `kernel` in CUDA source: those of the declaration after __global__;
 * returns how many, 0 if the declaration is not found.  */
int simtool_param_names(Arena *a, const char *source, const char *kernel, const char ***out);
/* Reads --in and --alloc, fills device memory and the parameter space.  Parameters are called by
 * name, by their PTX name, or by number from 0; every one must be given.  */
Status simtool_args(Arena *a, Diag *d, const SimToolOptions *o, SimGpu *g, SimToolArgs *out);
/* The tensor map that `text`, the value of --tensormap, describes over an array.  */
Status simtool_map(Diag *d, const char *text, const SimToolArg *x, unsigned char out[128]);
/* Writes what --out asks for.  */
Status simtool_outputs(Arena *a, Diag *d, const SimToolOptions *o, SimGpu *g, SimToolArgs *args);
#endif
