/* Inside te_normalize: the op being rewritten, and what its passes rewrite it by.  */
#ifndef ROLLER_TE_EDIT_EDIT_H
#define ROLLER_TE_EDIT_EDIT_H
#include "te/te.h"

typedef struct NameSet NameSet;
typedef struct {
    Arena *a;
    Diag *d;
    Te *te;                                /* owned copy; room for every table's limit */
    NameSet *names;                        /* all that te has, while a pass adds many; or NULL */
    int origin[TE_MAX_STMTS];              /* statement -> the one of the source it came from */
    bool changed[TE_MAX_STMTS];            /* its right side is no longer the written one */
    int n_source;                          /* statements of the source */
} Norm;

/* Notes that a rewrite changed something, if it did.  */
static inline bool normalize_note(Norm *n, TeRewrite what, bool did) {
    if (did) n->te->rewritten |= UINT64_C(1) << what;
    return did;
}

/* May the read be moved out of every condition around it?  True if no subscript can leave.  */
bool normalize_inside(const Te *te, const TeStmt *s, const TeExpr *read);
bool normalize_inside_along(const Te *te, const TeStmt *s, const TeExpr *read, int d);
/* Appends statement `stmt` of `in` with ranges from 0 and its inner reductions as statements of
 * their own before it.  */
Status normalize_append(Norm *n, const Te *in, int stmt);
/* A reduction over a range that is empty at all sizes becomes its identity, a read of a tensor that
 * has no element what it is outside, and the right side of a statement without iterations 0.  Did
 * anything change?  */
bool normalize_empty(Norm *n, TeStmt *s);
/* Tensor t becomes tensor to[t] wherever e reads it.  */
void normalize_retarget(TeExpr *e, const int *to);
/* Puts a statement before statement k (n_stmt: behind all), of the same origin and site.  */
void normalize_insert(Norm *n, int k, int origin, const TeStmt *s);
/* What reductions are hoisted out of.  */
typedef struct {
    const Te *in;             /* has the names of the statements still to come, or NULL */
    const TeStmt *stmt;
    int origin;               /* the statement's, among those of the program as it was written */
} HoistFrom;
/* A new statement before statement k computes the reduction *slot, a read of it takes its place.
 * `branch`: some condition decides whether *slot is evaluated.  */
Status normalize_hoist(Norm *n, const HoistFrom *from, int k, TeExpr **slot, bool branch);
/* Only the left indices of s and those of a reduction at its root are used: drops the others.  */
void normalize_indices(TeStmt *s);
/* Does a size, tensor or index of the op have the name?  */
bool normalize_taken(const Te *te, const char *name);
/* BASE_WHAT, BASE_WHAT2, ...: the first that the op does not have yet, nor `in` (may be NULL).  No
 * reserved word has such a form.  */
const char *normalize_name(Norm *n, const Te *in, const char *base, const char *what);
/* The op's names, for Norm.names; forgotten when a pass is done, for others give names unasked.  */
NameSet *normalize_names(Arena *a, const Te *te);
/* Strides of a tensor that lies row by row, from its shape.  */
void normalize_dense(Norm *n, TeTensor *t);
/* Reads below e that a condition around it keeps inside get a condition of their own.  */
void normalize_guard_reads(Norm *n, TeExpr *e);
/* Folds constants in the right side of a statement of n->te's sizes.  Did anything change?  */
bool normalize_fold(Norm *n, TeExpr **rhs);
/* Drops temporaries that nothing reads.  Were there any?  */
bool normalize_dead(Norm *n);
/* Statements that compute what an earlier one did read it instead.  */
void normalize_share(Norm *n);
/* Lists the reads of every statement, which rewriting has changed.  */
void normalize_list_reads(Norm *n);
#endif
