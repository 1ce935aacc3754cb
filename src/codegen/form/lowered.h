/* Lowered: a kernel as a tree of nodes (form.h), with the program that it belongs to.  */
#ifndef ROLLER_CODEGEN_FORM_LOWERED_H
#define ROLLER_CODEGEN_FORM_LOWERED_H
#include "codegen/form/form.h"
#include "codegen/ir/cg.h"
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

/* What a kernel, or one of its products, computes.  */
typedef struct {
    const Problem *p;
    const RProg *r;
    IndexMap map;
    int vec;                  /* elements of a store */
} Task;

typedef struct {
    KernelKind kind;
    int group;
    const Problem *p;         /* of the program, ... */
    const RProg *r;
    const Device *dev;
    const Layout *layout;     /* ... as all its kernels have it */
    Task *task;               /* of several products (Layout.product) that of each */
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

/* lower_print.c: the tree as text, --dump lowered.  */
void lower_print(const Lowered *l, Buf *out);
#endif
