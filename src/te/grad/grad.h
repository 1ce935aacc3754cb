/* Inside of te_gradient: the op that is made, and what its parts tell each other.  */
#ifndef ROLLER_TE_GRAD_GRAD_H
#define ROLLER_TE_GRAD_GRAD_H
#include "te/grad/gradient.h"
#include "te/tree/tree.h"

/* A tensor of either op: those of the given op first, by their own numbers.  */
typedef struct {
    TeTensor t;
    bool active;              /* depends on an input that is asked for */
    int *part;                /* tensors whose sum is its derivative */
    size_t n_part, room;
} GradTensor;

typedef struct {
    Arena *a;
    Diag *d;
    const Te *in;
    GradTensor *tensor;
    size_t n_tensor, tensor_room;
    TeStmt **stmt;            /* made so far, in order */
    size_t n_stmt, stmt_room;
    const char *letter;       /* of new indices */
    int names;                /* given so far */
    Status failed;            /* the first refusal; what is made from there on is not used */
} Grad;

/* A read, and what the statement's result changes with it: the derivative times that of the
 * result.  */
typedef struct {
    const TeExpr *read;
    TeExpr *weight, *when;    /* where it counts, and is evaluated; NULL: everywhere */
    const TeStmt *of;
} GradTerm;
typedef struct {
    GradTerm *term;
    size_t n, room;
} GradTerms;

/* ---- nodes.c ---- */
TeExpr *grad_node(Grad *g, TeKind kind, TeExpr *x, TeExpr *y);     /* of two, or y NULL */
TeExpr *grad_call(Grad *g, TeFn fn, TeExpr *x, TeExpr *y);
TeExpr *grad_select(Grad *g, TeExpr *c, TeExpr *x, TeExpr *y);
TeExpr *grad_real(Grad *g, double v, TeDtype type);
TeExpr *grad_size(Grad *g, const TeExtent *e);
/* A read of a tensor with the first n indices.  */
TeExpr *grad_read(Grad *g, int tensor, int n);
/* x && y, where either may be NULL: true.  */
TeExpr *grad_both(Grad *g, TeExpr *x, TeExpr *y);
/* Index i of e becomes by[i]; NULL: it stays.  A copy; of NULL NULL.  */
TeExpr *grad_put(Grad *g, const TeExpr *e, TeExpr *const *by);

/* ---- made.c ---- */
/* What has more dimensions than there may be.  */
void grad_refuse(Grad *g, const char *what, int has, int most);
GradTensor *grad_add(Grad *g);
/* A new temporary, named after another tensor.  */
int grad_tensor(Grad *g, int like, TeDtype type, int rank, const TeExtent *shape);
/* A statement that assigns the whole of a tensor, with an index for each of its dimensions; formed
 * and annotated like another one (NULL: like none).  */
TeStmt *grad_assign(Grad *g, int tensor, const TeStmt *like);
/* The statement is done.  */
void grad_push(Grad *g, TeStmt *s);
/* ---- forward.c ---- */
/* The statement as derivatives take it: a map, or one reduction as the whole right side, behind
 * those for reductions inside of it.  */
void grad_forward(Grad *g, const TeStmt *from);

/* ---- partial.c ---- */
/* Adds, for each read below e that matters, what e changes with it, times `seed`.  */
void grad_partial(Grad *g, const TeStmt *of, TeExpr *e, TeExpr *seed, GradTerms *out);
/* Does e depend on what is asked for?  */
bool grad_depends(const Grad *g, const TeExpr *e);

/* ---- solve.c ---- */
/* A statement that sums a term over all points of its statement, at each element of what it reads;
 * gives the tensor that it assigns, -1 where there are too many indices.  */
int grad_collect(Grad *g, const GradTerm *t);
#endif
