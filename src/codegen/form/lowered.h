/* Lowered: a kernel as a tree of nodes (form.h), with the program that it belongs to.  */
#ifndef ROLLER_CODEGEN_FORM_LOWERED_H
#define ROLLER_CODEGEN_FORM_LOWERED_H
#include "codegen/form/form.h"
#include "codegen/ir/cg.h"
#include "codegen/reduce/reduce.h"
#include "rprogram/derived.h"
#include "rprogram/product.h"
#include "rprogram/skeletons.h"
#include "rprogram/index_map.h"

/* KERNEL_CONTRACT: kernel_contract has what its nodes become (codegen/skeleton/skeleton.h).  */
#define KERNEL_KINDS(X)                                                                            \
    X(CONTRACT,    contract,    "contract")                                                        \
    X(SUMS,        sums,        "sums")           /* adds the slices of a product */               \
    X(STREAM,      stream,      "stream")                                                          \
    X(COLUMN,      column,      "column")                                                          \
    X(COLUMN_SUMS, column_sums, "column sums")    /* adds the slices of a column reduction */      \
    X(WINDOW,      window,      "window")                                                          \
    X(PERMUTE,     permute,     "permute")                                                         \
    X(STATS,       stats,       "values of rows") /* makes them of what blocks leave of them */    \
    X(ROW,         row,         "row")                                                             \
    X(SCAN,        scan,        "scan")                                                            \
    X(SCAN_SUMS,   scan_sums,   "slices of a scan")
typedef enum {
#define X(id, name, text) KERNEL_##id,
    KERNEL_KINDS(X)
#undef X
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

/* Skeletons as rows: the kernels of a program (NULL: one, with slices two) and the tree of each, in
 * launch order.  */
typedef struct {
    int (*kernels)(const Problem *p, const RProg *r);
    void (*kernel)(FormBuilder *b, Lowered *l, int number);
} LowerRow;
#define X(id, name) extern const LowerRow lower_##name;
RPROG_SKELETONS(X)
#undef X

/* lower_print.c: the tree as text, --dump lowered.  */
void lower_print(const Lowered *l, Buf *out);
#endif
