/* Inside check_kernel.  */
#ifndef ROLLER_DRIVER_CHECK_CHECK_IMPL_H
#define ROLLER_DRIVER_CHECK_CHECK_IMPL_H
#include "driver/check/check.h"
#include "driver/check/compare.h"
#include "driver/check/sample.h"

typedef struct {
    Arena *a;
    Diag *d;
    const PlanSet *set;       /* the strategy that is taken at these sizes, as are: */
    const WholePlan *plan;
    const Build *build;
    const CheckOptions *o;
    CheckResult *out;
    const Te *te;             /* static */
    const Te *normal;
    Problem *problem;         /* per group, at these sizes */
    int *program;             /* per group: the program that is taken at these sizes */
    const int64_t *size;
    int n_sizes;              /* sets of sizes in all */
    TeFill fill;
    const Lazy **data;        /* per tensor: inputs, and what the group at hand is given */
    const Lazy **given;       /* per tensor of `normal`: what kernels hand over; else NULL */
    bool *drawn;              /* per tensor: given, and drawn like an input */
    Reference ref;
    int *as_written;          /* per tensor of `normal`: the same one of `te`; -1: it has none */
    bool rewritten;           /* `normal` is another text than `te` */
    Reference written;        /* of `te`, with what the group at hand is given */
    bool loose;               /* that lacks some of it */
    Run run;
    CompareResult sum;
    atomic_bool no_memory;    /* some data could not be made */
    int failed_tensor;        /* of `normal` or `te`; -1: none */
} Check;

static inline uint64_t check_seed(const Check *c) { return c->o->seed ? c->o->seed : 1; }
/* check_tally.c: data sets in the order in which they are tried; adds a comparison to the sum.  */
typedef struct {
    const char *name;
    bool exact;               /* compared bit for bit where the reference has no bound, if it has
                               * none anywhere on integers, or wherever it has none */
} CheckData;
extern const CheckData check_data_set[TE_FILLS];
void check_tally(Check *c, const Te *te, int tensor, const CompareResult *r);

/* check_fill.c: data that is made where something reads it: by `make`, or as the data set says.  */
const Lazy *check_lazy(Check *c, const Te *te, int tensor, LazyMake *make, void *user);
const Lazy *check_fill(Check *c, const Te *te, int tensor);
/* Adds to the result how many elements of tensors first..end-1 were made.  */
void check_count_filled(Check *c, const Te *te, const Lazy *const *data, int first, int end);

/* check_given.c: sets what kernels hand over; sample: per group, without blocks if it is left out;
 * share: terms that may be added up for one tensor.  */
void check_hand_over(Check *c, const Sample *sample, double share);
/* Does a statement of the group assign the tensor, or read it?  */
bool check_makes(const Check *c, const KernelGroup *g, int tensor);
bool check_reads(const Check *c, const KernelGroup *g, int tensor);
/* Is a tensor that statements make stored?  */
bool check_in_memory(const Check *c, int t);

/* check_tally.c: on a device, tells what was stored from what was there before: launches again
 * where that is in doubt.  tensor: n of them, of `normal`.  */
typedef Status CheckLaunch(Check *c, void *user);
Status check_stored(Check *c, const int *tensor, int n, CheckLaunch *launch, void *user);

/* check_written.c: tensors of both forms, for these sizes; the reference `written` for the group at
 * hand, once `data` is set.  */
void check_find_written(Check *c);
void check_bind_written(Check *c);
/* How many of n elements of a tensor of `normal` may be compared with the op as written for `share`
 * terms; 0 where values were drawn that it does not have.  The first ones become elements of its
 * own, evenly spread before.  */
int check_rows_written(Check *c, int tensor, CompareRow *row, int n, double share);

/* check_group.c: the kernel groups each by itself, on sampled blocks, as far as the budget
 * allows.  */
Status check_groups(Check *c);
#endif
