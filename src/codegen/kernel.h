/* Kernel: text for a plan, CUDA C++ or OpenCL C, with what is needed to launch it.
 *
 * cg_emit lowers each RProg to a tree of nodes (form.h), makes statements of it by building blocks
 * (ir.h), and prints them.  The text has no #include and no name of the user; its tokens are
 * checked against an allow-list before it is handed out (source_check).  */
#ifndef ROLLER_CODEGEN_KERNEL_H
#define ROLLER_CODEGEN_KERNEL_H
#include "codegen/kernel_map.h"
#include "rprogram/plan.h"

enum { CG_SYMBOL = 40 };

/* What a parameter of a kernel is given by a launch.  */
typedef enum {
    PARAM_INPUT, PARAM_SIZE, PARAM_SCALAR, PARAM_OUTPUT, PARAM_WORKSPACE, PARAM_MAP
} ParamKind;
typedef struct {
    ParamKind kind;
    int ref;                  /* tensor or size; -1: the workspace; number in KernelLaunch.map */
    int bytes;                /* 8 for pointers */
    int64_t offset;           /* into the workspace: of a temporary, or of partial results */
} KernelParam;

/* A launch: a kernel, with what it is given.  Groups that do the same to other tensors have one
 * kernel, and a launch each; grid and tensor maps, which have 128 bytes each, are the launch's.  A
 * kernel takes what it touches, in this order: input tensors as declared, other tensors that it
 * reads, run-time sizes, scalars, outputs as declared, temporaries that it writes, partial results,
 * tensor maps.  */
typedef struct {
    char symbol[CG_SYMBOL];   /* of the kernel: rk_HHHHHHHHHHHHHHHH_n; "": it was not wanted */
    int group;                /* the program it belongs to: see KernelProgram.choice */
    int64_t grid[3];          /* at the largest sizes; grid[0] alone depends on run-time sizes */
    const TeExpr *blocks;     /* grid[0] as an expression of them, 0 where there is nothing to do;
                               * NULL: static */
    bool stays;               /* its blocks go through several tiles: any number of whole clusters
                               * is right, grid[0] is what the profile's device holds, ... */
    TeExtent wanted;          /* ... and never more than there is work for at once */
    int block[3], cluster[3];
    int64_t dynamic_smem;
    /* `stream` kernels and the adding kernel of a split reduction: block x computes elements
     * [x * span, (x + 1) * span) of the flattened domain; those that make values of rows as many
     * rows; 0 for kernels that compute tiles.  */
    int64_t span;
    const KernelParam *param; /* in the kernel's order, its maps last */
    int n_param;
    const KernelMap *map;     /* the tensor maps that it takes, by value: `map0`, `map1`, ... */
    int n_map;                /* ... encoded for every launch at its sizes and addresses */
    bool waits;               /* for the kernel before, so that it may be launched before the end of
                               * that: by programmatic serialization */
} KernelLaunch;

/* Bytes of all parameters that any device takes, and so the most parameters and maps of a kernel.
 */
enum {
    CG_PARAM_BYTES = 4096,
    CG_MOST_PARAMS = CG_PARAM_BYTES / 4,
    CG_MOST_MAPS = CG_PARAM_BYTES / TM_BYTES
};

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
    size_t *text;             /* where the text of each of its n_text kernels begins in it, and
                               * where the last one ends; before are comments and what all use */
    int n_text;
    int least_cc;             /* the first compute capability that has every instruction of it */
    KernelLaunch *kernel;     /* launch order */
    int n_kernel;
    KernelChoice *choice;     /* per program of the plan and its other strategies */
    int n_choice;
    KernelStrategy *strategy; /* the plan's own, then those for some sizes */
    const RSelector *select;  /* what is taken at which sizes; NULL: the first of each group */
    int n_strategy;
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
/* The same on a device that holds so many of its blocks at a time (0: it does not tell).  */
int64_t cg_resident(const Te *te, const KernelProgram *p, const KernelLaunch *k, KernelTaken t,
                    const int64_t *size, int64_t resident);
/* Is kernel i launched before the one before it has ended?  The first one of a launch is not: what
 * it waits for is not the program's.  */
bool cg_overlaps(const Te *te, const KernelProgram *p, int i, KernelTaken t, const int64_t *size);
/* Bytes of the workspace that launches at these sizes touch at most.  */
int64_t cg_workspace(const Te *te, const KernelProgram *p, const int64_t *size);
/* Does a kernel take tensor maps?  */
bool cg_maps(const KernelProgram *p);
/* Maps of temporaries become maps of the workspace, where these lie (KernelStrategy).  */
void cg_place_maps(Arena *a, const int64_t *temp_offset, KernelLaunch *k);
/* Are the parameters of all kernels no more than any device takes, and does every driver take their
 * maps, at all sizes and with tensors aligned to `align` bytes?  */
Status cg_check_params(Diag *d, const KernelProgram *p, int align);
Status cg_emit(Arena *a, Diag *d, const RPlan *plan, const Device *dev, const CgOptions *o,
               KernelProgram *out);
/* The phases of a plan as text (--dump=lowered).  */
Status cg_print_lowered(Arena *a, Diag *d, const RPlan *plan, const Device *dev, Buf *out);
#endif
