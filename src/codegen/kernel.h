/* Kernel: CUDA C++ text for a plan, with what is needed to launch it.
 *
 * cg_emit lowers each RProg to phases (lower.c) and prints them (emit.c); each phase kind is one
 * building block: load_*.c, compute_*.c, store_*.c.  The text has no #include and no name of the
 * user; its tokens are checked against an allow-list before it is handed out (source_check).  */
#ifndef ROLLER_CODEGEN_KERNEL_H
#define ROLLER_CODEGEN_KERNEL_H
#include "hal/tensor_map.h"
#include "rprogram/plan.h"

enum { CG_SYMBOL = 40 };

typedef struct {
    char symbol[CG_SYMBOL];   /* rk_HHHHHHHHHHHHHHHH_n */
    int group;                /* the program it belongs to: see KernelProgram.choice */
    int64_t grid[3];          /* at the largest sizes; grid[0] alone depends on run-time sizes */
    const TeExpr *blocks;     /* grid[0] as an expression of them, 0 where there is nothing to do;
                               * NULL: static */
    int block[3], cluster[3];
    int64_t dynamic_smem;
    /* `stream` kernels and the adding kernel of a split reduction: block x computes elements
     * [x * span, (x + 1) * span) of the flattened domain; those that make values of rows as many
     * rows; 0 for kernels that compute tiles.  */
    int64_t span;
    const KernelMap *map;     /* the tensor maps that it takes, ... */
    int n_map;                /* ... encoded for every launch at its sizes and addresses */
    bool waits;               /* for the kernel before, so that it may be launched before the end of
                               * that: by programmatic serialization */
} KernelLaunch;

/* All kernels take the same parameters, in this order: inputs, run-time sizes, scalars, outputs,
 * workspace.  Behind them each takes its own tensor maps, by value (`map0`, `map1`, ...): a map has
 * 128 bytes, so programs for many sizes would otherwise soon fill the 4 KB of all parameters.  */
typedef enum {
    PARAM_INPUT, PARAM_SIZE, PARAM_SCALAR, PARAM_OUTPUT, PARAM_WORKSPACE, PARAM_MAP
} ParamKind;
typedef struct {
    ParamKind kind;
    int ref;                  /* tensor or size; -1 for the workspace; number in KernelLaunch.map */
    int bytes;                /* 8 for pointers */
} KernelParam;
/* Bytes of all parameters that any device takes, and so the most maps of a kernel.  */
enum { CG_PARAM_BYTES = 4096, CG_MOST_MAPS = CG_PARAM_BYTES / TM_BYTES };

/* A program of the plan.  */
typedef struct {
    int strategy, group;      /* its group, by number in its strategy */
    TeExtent slices;          /* bytes of partial results in the workspace */
} KernelChoice;

/* The op as kernels of one fusion strategy: programs first..first+n-1, one of each group first.  */
typedef struct {
    const char *decisions;    /* that it was made with, in words */
    int first, n, n_group;
    int64_t *temp_offset;     /* per tensor of its normalized op: where a temporary lies in the
                               * workspace (dense, its dtype), bytes; -1: not in memory */
    Workspace workspace;      /* its buffers, and when they live */
    TeExtent *buffer_bytes;   /* of each buffer at the sizes at hand; of partial results the most of
                               * any program */
} KernelStrategy;

typedef struct {
    const char *source;       /* NUL-terminated CUDA C++ */
    size_t source_len;
    int least_cc;             /* the first compute capability that has every instruction of it */
    KernelLaunch *kernel;     /* launch order */
    int n_kernel;
    KernelChoice *choice;     /* per program of the plan and its other strategies */
    int n_choice;
    KernelStrategy *strategy; /* the plan's own, then those for some sizes */
    const RSelector *select;  /* what is taken at which sizes; NULL: the first of each group */
    int n_strategy;
    KernelParam *param;       /* those of all kernels */
    int n_param;
    int64_t workspace_bytes;  /* the most of any strategy: enough for all sizes */
    char hash[17];            /* of expression and plan */
} KernelProgram;

typedef struct {
    int align;                /* promised alignment of tensors, bytes; 0: 16 */
    const bool *only;         /* per program: is its text wanted?  NULL: all are */
    bool static_smem;         /* kernels declare their shared memory: launches give none */
} CgOptions;

/* What a launch takes at some sizes.  */
typedef struct {
    int strategy;
    const int *program;       /* per group of it: numbers of `choice`, less its `first`; NULL: the
                               * groups' own */
} KernelTaken;
KernelTaken cg_taken(const KernelProgram *p, const int64_t *size);
/* The program of a group of the strategy taken.  */
int cg_program(const KernelProgram *p, KernelTaken t, int group);
/* Blocks along x where this is taken; 0: the kernel is not launched.  */
int64_t cg_blocks(const Te *te, const KernelProgram *p, const KernelLaunch *k, KernelTaken t,
                  const int64_t *size);
/* Is kernel i launched before the one before it has ended?  The first one of a launch is not: what
 * it waits for is not the program's.  */
bool cg_overlaps(const Te *te, const KernelProgram *p, int i, KernelTaken t, const int64_t *size);
/* Bytes of the workspace that launches at these sizes touch at most.  */
int64_t cg_workspace(const Te *te, const KernelProgram *p, const int64_t *size);
/* Parameter i of a kernel, of cg_params: those of all kernels, then its maps.  */
static inline int cg_params(const KernelProgram *p, const KernelLaunch *k) {
    return p->n_param + k->n_map;
}
static inline KernelParam cg_param(const KernelProgram *p, int i) {
    if (i < p->n_param) return p->param[i];
    return (KernelParam){PARAM_MAP, i - p->n_param, TM_BYTES};
}
/* Does a kernel take tensor maps?  */
bool cg_maps(const KernelProgram *p);
/* Maps of temporaries become maps of the workspace, where these lie (KernelStrategy).  */
void cg_place_maps(Arena *a, const int64_t *temp_offset, KernelLaunch *k);
/* Does every driver take the maps of all kernels, at all sizes and with tensors aligned to `align`
 * bytes, and are they no more than parameters may be?  */
Status cg_check_maps(Diag *d, const KernelProgram *p, int align);
Status cg_emit(Arena *a, Diag *d, const RPlan *plan, const Device *dev, const CgOptions *o,
               KernelProgram *out);
/* The phases of a plan as text (--dump=lowered).  */
Status cg_print_lowered(Arena *a, Diag *d, const RPlan *plan, const Device *dev, Buf *out);
/* The place in `source` of the first token that no emitter may print; NULL if all are allowed.  */
const char *source_check(const char *source, size_t len);
#endif
