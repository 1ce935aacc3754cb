/* A plan, the workspace that its kernels share, and its text form.  */
#ifndef ROLLER_RPROGRAM_PLAN_H
#define ROLLER_RPROGRAM_PLAN_H
#include "rprogram/rprog.h"

/* Programs at most that compute one thing, of all strategies; as many as there are if nobody says
 * it; choices.  */
enum { RPLAN_SET = 64, RPLAN_USUAL = 12, RPLAN_CHOICES = 256 };

/* What launches take where sizes are known at run time.  A choice is a fusion strategy and a
 * program of each of its groups; a launch takes the first one whose bounds its sizes keep.  The
 * bounds are of measures: what the time of a kernel depends on, such as the extents of its fused
 * axes, as expressions of the sizes.  The last choice has no bounds.  */
typedef struct {
    int64_t *most;            /* per measure; INT64_MAX: any */
    int strategy;             /* 0: the plan itself, else the number in its list of others */
    int *program;             /* per group of the strategy */
} RChoice;
typedef struct {
    const Te *te;             /* whose sizes they are */
    TeExtent *measure;        /* first those of kernels, then the sizes that are none of them */
    int n_measure, n_axis;    /* n_axis: of kernels */
    RChoice *choice;
    int n;
} RSelector;

/* A plan: one RProg per kernel group of an op.  With run-time sizes there may be more programs of a
 * group behind those of all groups, and the op may also have other kernels for some sizes:
 * these are plans of their own, a list.  The selector says which are taken at which sizes.  */
typedef struct RPlan {
    const Te *te;             /* normalized */
    KernelGroup *group;       /* per program, as are: */
    Problem *problem;         /* at the largest sizes it is taken for */
    RProg *prog;
    int n;
    int n_group;              /* kernel groups; 0: n */
    int *group_of;            /* the program's group; NULL: its number */
    int64_t *outs;            /* rplan_domain of the group at most where it is taken; NULL, for one
                               * program or all, < 0: no bound but the sizes */
    int align;                /* promised alignment of tensors, bytes; 0: 16 */
    const RSelector *select;  /* NULL: the plan's programs, one per group, at all sizes */
    struct RPlan *other;      /* the next one of the list of other strategies */
} RPlan;

static inline int rplan_groups(const RPlan *p) { return p->n_group ? p->n_group : p->n; }
static inline int rplan_group_of(const RPlan *p, int i) { return p->group_of ? p->group_of[i] : i; }
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
/* Points of a group's domain, as far as they depend on run-time sizes.  Results of a split
 * reduction, of whatever skeleton, are as many times their number.  */
TeExtent rplan_domain(Arena *a, const Te *te, const KernelGroup *g);
/* The measures of a plan and its other strategies, each once: extents of the fused axes of its
 * groups, their domains, the sizes themselves, and the rests of those of which a strategy knows
 * more multiples than the plan (te_given): that it is for these alone is a bound of 0.  */
void rplan_measures(Arena *a, const RPlan *plan, RSelector *out);
/* Keeps those measures that some choice bounds, in order of their texts.  */
void rplan_keep_bounded(Arena *a, RSelector *s);
/* The number of a measure; -1: it is none, or the same at all sizes.  */
int rplan_measure(const RSelector *s, const TeExtent *e);
/* Is this measure the rest of a size, which is 0 or not?  */
static inline bool rplan_is_rest(const TeExtent *e) {
    return e->expr->kind == TE_MOD && e->expr->args[0]->kind == TE_SIZE &&
           e->expr->args[1]->kind == TE_INT;
}
/* Bounds a choice to the sizes that its strategy, of this op, is for; false: it was not.  */
bool rplan_bound_given(const RSelector *s, const Te *strategy, RChoice *c);
/* What the strategy knows of a size beyond the op.  */
TeGiven rplan_given(const Te *op, const Te *strategy, int size);
/* `s0*s1`: as plan texts have it.  */
void rplan_print_measure(const TeExtent *e, Buf *out);
/* What is taken at these sizes.  */
const RChoice *rplan_choose(const RSelector *s, const int64_t *size);
/* The largest sizes for which a program of a strategy is taken: per size of the op; false, and
 * none: it is taken for no sizes.  */
bool rplan_upto(const RSelector *s, int strategy, int group, int program, int64_t *upto);
/* Sets the problems of all programs and ->outs to the sizes for which they are taken.  */
void rplan_bound(Arena *a, RPlan *plan);
/* Bytes of a program's partial results, at most.  */
int64_t rplan_partial_bytes(const RPlan *p, int i);

/* The workspace of a plan: temporaries that live in memory from the group that makes them to the
 * last one that reads them, and partial results, which live in their group.  What does not live at
 * the same time may lie at the same place.  */
enum { WORKSPACE_STEP = 256 };
typedef struct {
    int tensor;               /* -1: partial results of group `first` */
    int first, last;          /* groups; launch order */
    int64_t at, bytes;        /* multiples of WORKSPACE_STEP */
} WorkspaceBuffer;
typedef struct {
    WorkspaceBuffer *buffer;
    int n;
    int64_t bytes;            /* of the whole */
    int64_t bound;            /* most that lives at one time: no placement needs less */
} Workspace;
void rprog_plan_workspace(Arena *a, const RPlan *plan, Workspace *out);
/* Where the partial results of a group lie; -1: it has none.  */
int64_t rprog_partial_at(const Workspace *w, int group);
/* Places buffers of given lifetimes and sizes; sets at, bytes, bound.  */
void rprog_place_buffers(Arena *a, Workspace *w);

/* The text form; rprog_read(rprog_print(x)) == x.  Lines `key value` (`unit NAME [swapped]`, `store
 * N [shared]`), a header `roller-plan 1`, one `kernel` section per group, then those of groups with
 * more, `kernel 2 of 0`.  Each other strategy follows behind a line `other`, its kernels counted
 * from 0.  First stand the choices, if there are several: `upto s0*s1 64 s2 8 take 2 1`, `upto s2
 * 64 take strategy 1 0 0`, `else take 0 1`: s0 is the first size that the file declares, the
 * numbers behind `take` are those of kernels, one per group.  What is decided stands before the
 * kernels of each strategy, `statement 3 joined`, by TeStmt.site; earlier texts name one of a few
 * for the whole op, `split joined`: what is decided at all statements that allow it.  There, too,
 * stand the sizes that another strategy is for, `given s2 8`: multiples of 8 alone, `given s0 upto
 * 1`: none above 1.  */
void rprog_print(const RPlan *plan, const Device *dev, Buf *out);
/* What is decided and given in a strategy: see te_given.  */
typedef struct {
    TeDecisions decisions;
    TeGiven given[TE_MAX_SIZES];
} RStrategy;
/* The strategies that a plan text is for, `most` at most: the plan's own, then those for some
 * sizes.  Returns how many there are; what is wrong is reported when it is read.  */
int rprog_read_strategies(const char *text, size_t len, RStrategy *out, int most);
/* Reads plan text for the same op and device, checks it (ST_PLAN_TEXT with line and column).
 * `plan` holds te, group, problem, n and align for the groups; the rest is filled.  */
Status rprog_read(Arena *a, Diag *d, DiagText text, const Device *dev, RPlan *plan);
#endif
