/* Lowering: an RProg to kernels, each a tree of nodes (form.h).
 *
 * lower_plan decides which kernels a plan needs and makes their trees.  Nothing here prints
 * code.  */
#ifndef ROLLER_CODEGEN_LOWER_H
#define ROLLER_CODEGEN_LOWER_H
#include "codegen/cg.h"
#include "codegen/form.h"
#include "rprogram/derived.h"
#include "rprogram/product.h"
#include "rprogram/skeletons.h"
#include "rprogram/index_map.h"

typedef enum {
    KERNEL_CONTRACT,
    KERNEL_SUMS,
    KERNEL_STREAM,
    KERNEL_COLUMN,
    KERNEL_COLUMN_SUMS,       /* adds the slices of a split column reduction */
    KERNEL_WINDOW,
    KERNEL_PERMUTE,
    KERNEL_STATS,             /* makes values of rows from what blocks leave of them */
    KERNEL_ROW,
    KERNEL_SCAN,
    KERNEL_SCAN_SUMS          /* reduces the slices of a split scan */
} KernelKind;

typedef struct {
    KernelKind kind;
    int group;
    const Problem *p;
    const RProg *r;
    const Device *dev;
    const Layout *layout;     /* of the program; all its kernels have it, ... */
    IndexMap map;             /* ... and this */
    const Contract *contract; /* KERNEL_CONTRACT: its product */
    int vec;                  /* elements of a store */
    int pass;                 /* over rows of a contraction's results, in parts */
    bool waits;               /* others of the program are launched before */
    KernelLaunch launch;      /* symbol is set by the printer */
    Form *form;
} Lowered;

/* Skeletons as rows: the kernels of a program (NULL: one) and the tree of each, in launch order;
 * does it wait for the kernel before it in a place of its own?  */
typedef struct {
    int (*kernels)(const Problem *p, const RProg *r);
    void (*kernel)(FormBuilder *b, Lowered *l, int number);
    bool (*waits_itself)(const Lowered *l, int number);   /* NULL: no */
} LowerRow;
#define X(id, name) extern const LowerRow lower_##name;
RPROG_SKELETONS(X)
#undef X

Lowered *lower_plan(Arena *a, const RPlan *plan, const Device *dev, int *n);
void lower_print(const Lowered *l, Buf *out);

/* -- inside of lowering -- */

/* lower_parts.c: is there nothing to compute, so that the kernel that the grid needs does
 * nothing?  */
bool lower_empty(const Problem *p);
/* A statement, or all of a group and their stores, at the elements of the loop that is open.  */
void lower_statement(FormBuilder *b, int stmt);
void lower_statements(FormBuilder *b, const KernelGroup *g);
/* A loop over outputs and their statements.  */
void lower_outputs(FormBuilder *b, const Lowered *l);
/* The reductions of a pass over a group, those that follow another one or not.  */
typedef struct {
    const RowGroup *group;
    int pass;
    bool online;
} Reductions;
/* Reads or writes their rooms of a kind.  */
void lower_reads(FormBuilder *b, Node *n, RoomKind kind, Reductions of);
void lower_writes(FormBuilder *b, Node *n, RoomKind kind, Reductions of);
/* Their partial results meet, of the block's warps: they are stored, synced and read.  */
void lower_meet_warps(FormBuilder *b, RoomKind kind, Reductions of);
/* A grid of that many blocks along x; a static one has at least one.  */
void lower_blocks(Lowered *l, TeExtent blocks);
/* Blocks of `span` elements over the flattened domain, where the grid is too small larger spans;
 * the grid that the program says.  */
void lower_domain(Arena *a, Lowered *l, int threads, int64_t items);
void lower_grid(FormBuilder *b, Lowered *l, KernelKind kind);
/* lower_contract.c: the tree of a product; lower_results.c: what becomes of its sums.  */
void lower_steps(FormBuilder *b, Lowered *l);
void lower_results(FormBuilder *b, Lowered *l);
#endif
