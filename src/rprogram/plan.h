/* A plan, the workspace that its kernels share, and its text form.  */
#ifndef ROLLER_RPROGRAM_PLAN_H
#define ROLLER_RPROGRAM_PLAN_H
#include "rprogram/rprog.h"

enum { RPLAN_SET = 12 };      /* programs at most that compute one thing, of all splits */

/* A plan: one RProg per kernel group of an op, right at all sizes.  With run-time sizes there may
 * be more programs of a group behind those of all groups, each with the sizes up to which it is
 * taken.  A launch takes the first one of a group that its sizes allow, else the one for all
 * sizes.
 * For some sizes the op may also be split into other kernels: these are plans of their own, a list.
 * A launch takes the first one of the list that its sizes allow, whole, else the plan itself.  */
typedef struct RPlan {
    const Te *te;             /* normalized */
    KernelGroup *group;       /* per program, as are: */
    Problem *problem;         /* at the largest sizes it is taken for */
    RProg *prog;
    int n;
    int n_group;              /* kernel groups; 0: n */
    int *part;                /* the program's group; NULL: its number */
    const int64_t **upto;     /* per size of the op; NULL, for one program or all: every size */
    int align;                /* promised alignment of tensors, bytes; 0: 16 */
    const int64_t *within;    /* sizes up to which the plan is taken; NULL: all */
    struct RPlan *other;      /* the next one of the list of other splits */
} RPlan;

static inline int rplan_groups(const RPlan *p) { return p->n_group ? p->n_group : p->n; }
static inline int rplan_part(const RPlan *p, int i) { return p->part ? p->part[i] : i; }
/* Program `i` of a group takes its sizes only up to these; NULL: all.  */
static inline const int64_t *rplan_upto(const RPlan *p, int i) {
    return p->upto ? p->upto[i] : NULL;
}
/* Is the size an argument of the op's kernels?  */
static inline bool rplan_varies(const Te *te, int size) {
    return te->size[size].kind == TE_SIZE_RUNTIME && te->size[size].used;
}
/* Are these sizes of the op none larger than those up to which something is taken (NULL: all)?  */
static inline bool rplan_allows(const Te *te, const int64_t *upto, const int64_t *size) {
    bool within = true;
    for (int s = 0; s < te->n_size && upto; s++) within &= size[s] <= upto[s];
    return within;
}
/* Room for `more` programs behind those there are.  */
void rplan_extend(Arena *a, RPlan *p, int more);

/* The workspace of a plan: temporaries that live in memory from the group that makes them to the
 * last one that reads them, and partial results, which live in their group.  What does not live at
 * the same time may lie at the same place.  */
enum { WORKSPACE_STEP = 256 };
typedef struct {
    int tensor;               /* -1: partial results of group `first` */
    int first, last;          /* groups; launch order */
    int64_t at, bytes;        /* multiples of WORKSPACE_STEP */
} WorkspacePart;
typedef struct {
    WorkspacePart *part;
    int n;
    int64_t bytes;            /* of the whole */
    int64_t bound;            /* most that lives at one time: no placement needs less */
} Workspace;
void rprog_plan_workspace(Arena *a, const RPlan *plan, Workspace *out);
/* Where the partial results of a group lie; -1: it has none.  */
int64_t rprog_partial_at(const Workspace *w, int group);
/* Places parts of given lifetimes and sizes; sets at, bytes, bound.  */
void rprog_place_parts(Arena *a, Workspace *w);

/* The text form; rprog_read(rprog_print(x)) == x.  Lines `key value` (`unit NAME [swapped]`,
 * `store N [shared]`), a header `roller-plan 1`, one `kernel` section per group, then those for
 * some sizes, `kernel 2 of 0 upto s0 64`: s0 is the first size that the file declares.  Each other
 * split follows, headed `upto s0 64`, its kernels counted from 0.  What is decided stands before
 * the kernels, `statement 3 joined`, by TeStmt.site; earlier texts name one of a few splits of the
 * whole op, `split joined`: what is decided at all statements that allow it.  */
void rprog_print(const RPlan *plan, const Device *dev, Buf *out);
/* The decisions of the splits that a plan text is for, `most` at most: the plan's own, then those
 * for some sizes.  Returns how many there are; what is wrong is reported when it is read.  */
int rprog_read_decisions(const char *text, size_t len, TeDecisions *out, int most);
/* Reads plan text for the same op and device, checks it (ST_PLAN_TEXT with line and column).
 * `plan` holds te, group, problem, n and align for the groups; the rest is filled.  */
Status rprog_read(Arena *a, Diag *d, const char *file, const char *text, size_t len,
                  const Device *dev, RPlan *plan);
#endif
