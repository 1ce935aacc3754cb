/* The building blocks of each skeleton: rows of its kinds of kernels, and what nodes of its own
 * ask for.  Blocks of `row` are row.h's.  */
#ifndef ROLLER_CODEGEN_SKELETON_SKELETON_H
#define ROLLER_CODEGEN_SKELETON_SKELETON_H
#include "codegen/elements/reduction.h"

/* A kind of kernel: what its nodes become.  NULL: it has no such nodes.  */
typedef struct {
    bool resident;            /* the compiler is told how many blocks an SM holds */
    void (*begin)(Kernel *k);                     /* constants, before all nodes */
    void (*place)(Kernel *k);                     /* where a thread is */
    void (*rows)(Kernel *k, const Node *n);       /* ... in rows that are reduced */
    void (*clear)(Kernel *k, const Node *n);      /* before anything joins */
    void (*copy)(Kernel *k, const Node *n);
    void (*walk)(Kernel *k, const Node *n);       /* a pass over rows */
    void (*fold)(Kernel *k);
    ThreadMap (*map)(const Kernel *k, const Node *n);         /* how threads of a result meet */
    void (*finish)(Kernel *k, const Node *n);     /* values of rows */
    void (*elements)(Kernel *k, const Node *n);   /* opens loops over elements */
    void (*gather)(Kernel *k);                    /* what slices left for them */
} KernelRow;
extern const KernelRow kernel_column, kernel_column_sums, kernel_scan, kernel_scan_sums,
    kernel_window, kernel_permute, kernel_stream, kernel_row;

/* scan.c, scan_meet.c */
void scan_open_steps(Kernel *k);
void scan_meet(Kernel *k);

/* window.c */
int window_open_outer(Kernel *k);         /* how many loops */
#endif
