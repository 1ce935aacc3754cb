/* How one access lies in memory along an axis.  Inside rtile.  */
#ifndef ROLLER_RTILE_FACTS_H
#define ROLLER_RTILE_FACTS_H
#include "rtile/rtile.h"
#include "te/tree/arith.h"

/* An address as a function of a statement's indices, and what an access must respect.  */
typedef struct {
    const TeStmt *stmt;       /* whose indices the coefficients count */
    Affine offset;            /* elements */
    int64_t divisor[TE_MAX_INDICES];      /* as in Access */
    uint32_t varies;
    int64_t c_divisor;
    const TeTensor *tensor;
    int bytes;                /* of an element */
    int n_guard;              /* subscripts tested at run time, and their dimensions */
    Affine guard[TE_MAX_RANK];
    int64_t bound[TE_MAX_RANK];
} Span;

/* The address of a read (must be affine) and of a statement's write.  */
Span span_of_read(const Te *te, const TeStmt *s, const Access *a);
Span span_of_write(const Te *te, const TeStmt *s);
/* The same address over the indices of `root`, whose index perm[j] runs with left index j.  */
Span span_through(const Span *own, const TeStmt *root, const uint8_t *perm);
/* Elements that are neighbours in memory along the axis, from every multiple of the result on.  */
int64_t span_run(const Span *s, const FusedAxis *axis);
/* The same of elements that lie `step` apart.  */
int64_t span_steps(const Span *s, const FusedAxis *axis, int64_t step);
/* The longest vector along the axis under the promised alignment, in elements.  */
int span_vector(const Span *s, const FusedAxis *axis, int align);
/* The longest vector at multiples of it in the domain of `root`, over whose indices the access is,
 * where the end of the domain may be less; 1: the access does not lie as the domain does.  */
int flat_vector(const Te *te, const TeStmt *root, const Access *x, int align);
/* Elements between neighbours along the axis; 0 if it does not move the address.  */
int64_t span_stride(const Span *s, const FusedAxis *axis);
/* The longest chunk along the axis whose reads rtile_chunk_reads finds; 1: none.  */
int chunk_vector(const Te *te, const TeStmt *s, const TeExpr *e, const FusedAxis *axis, int align);
/* The longest run of a gathered read along the axis, whatever its other subscripts are and whether
 * it has an `else`; 1: none.  */
int chunk_gathered(const Te *te, const TeStmt *s, const TeExpr *read, const FusedAxis *axis,
                   int align);
/* Distinct elements that an access touches.  */
/* Elements of the tensor for each of those that the access touches.  */
double access_room(const Te *te, const TeStmt *s, const Access *a);
int64_t gathered_unique(const Te *te, const TeStmt *s, const Access *a, int64_t all);
int64_t access_unique(const Te *te, const TeStmt *s, const Access *a);
/* The read of an expression that moves the most data, which stands for it, and the bytes of all;
 * false: it reads nothing.  */
bool operand_widest(const Problem *p, const TeStmt *s, const TeExpr *e, Access *out,
                    double *bytes);
/* Fills Problem.op[side] of a contraction.  */
void operand_describe(const Operand *o, int side, int align, Problem *p);
/* The same of op[0] where it is made of the results of the product before.  */
void operand_made(const Operand *o, Problem *p);
/* problem.c: all that follows from te, group, con and `contraction`.  */
void problem_describe(Arena *a, int align, Problem *p);
/* chain.c: the rest of the first problem of a chain whose operands are there, and its next one
 * (before: the one at other sizes, or NULL).  */
void chain_describe(Arena *a, int align, const bool *stored, Problem *p);
/* The facts of a row group; does the group store statement i's tensor?  */
RowFacts *rows_facts(Arena *a, const Te *te, const RowGroup *g, int align, const bool *stored);
/* Which passes evaluate statement i, as bits: a reduction its own, for what it folds, a map that is
 * stored its own, and every map those that need it, unless it `stays` to be read back.  */
void rows_evaluated(const Te *te, const RowGroup *g, const bool *stored, const bool *stays,
                    uint64_t *folds, uint64_t *emits);
/* Fills what there is about peeling, for accesses x to rows that differ from row to row.  */
void rows_peel(const Te *te, RowFacts *f, const Access *const *x, int n, int align);
/* The facts of statements over rows of a contraction's results; is the root stored, too?  */
StatFacts *stats_facts(Arena *a, const Te *te, const KernelGroup *kernel, const RowGroup *g,
                       const bool *stored, bool root_stored);
/* Fills gap_reads and gap_writes of a map; the read `counted` (or NULL) is left out.  */
void rtile_gaps(Problem *p, const FusedAxis *domain, const Access *counted);
/* Fills the views of a reduction, or those of a map.  */
void rtile_views(Problem *p, int align);
void rtile_permute(Problem *p, int align);
void rtile_window(Problem *p, int align);
void rtile_stencil(Problem *p, int align);
/* Statement `which` of the group, -1: the root; do they make tensor t?  */
static inline const TeStmt *view_statement(const Problem *p, int which) {
    return &p->te->stmt[which < 0 ? p->group->root : p->group->fused[which]];
}
static inline const TeStmt *view_root(const Problem *p) { return view_statement(p, -1); }
bool view_makes(const Problem *p, int tensor);
/* A reduction as a scan.  */
void rtile_scan(Problem *p, int align);
/* What views share: the extent of an index; an index as a further digit of an axis; the affine read
 * below e that moves the most bytes and that `wanted` takes, or NULL; the spatial index along which
 * an access is contiguous, or -1.  */
int64_t view_extent(const TeStmt *s, int index);
void view_digit(const TeStmt *s, int index, FusedAxis *axis);
const TeExpr *view_widest(const Te *te, const TeStmt *s, const TeExpr *e,
                          bool (*wanted)(const TeStmt *, const Access *), Access *out);
int view_contiguous(const TeStmt *s, const Access *a);
/* What stores allow along an axis of the root's indices: all statements of the group that are
 * stored, temporaries as if they were.  */
void view_stores(const Problem *p, const FusedAxis *axis, int align, int *vec, int64_t *run);
/* Do both operands of a contraction move the result along axes of their own, so that tiles of
 * products reuse them?  */
bool view_reuses(const Problem *p);
/* The index, of those from `first` to `end` - 1, that occurs in dimension d and in no other; -1 if
 * there is not exactly one.  */
int window_index(const Te *te, const Access *a, int d, int first, int end);
/* An else value that is the same everywhere and cheap, or none.  */
bool window_constant_else(const TeExpr *read);
/* The rest of a window's view, from its sources and q, p, s, r.  */
void window_describe(Problem *p, int align);
/* The different reads of a map's group along an axis of the root's indices, those that `skip` takes
 * left out; *bytes: what those that move with the axis read for one element.  */
ReadWidths rtile_widths(const Problem *p, const FusedAxis *axis, int align,
                        bool (*skip)(const Problem *, const TeExpr *), double *bytes);
/* Fills widths and shifts of a map.  */
void rtile_map_reads(Problem *p, const FusedAxis *domain, int align);
/* Finds the values of a row group that later passes need again.  Those of `passes` that evaluate
 * statement i's read where these values are kept.  */
void rows_values(const Te *te, RowFacts *f);
uint64_t rows_bare(const RowFacts *f, int i, const TeExpr *read, uint64_t passes);
/* Instructions of a call of a function, or of a division.  */
enum { EXPR_CALL = 8 };
/* Arithmetic of an expression, in instructions; of one that `in` takes (NULL: unknown), without a
 * and b and what is below them.  */
double expr_ops(const TeExpr *e);
double expr_ops_without(const TeExpr *e, const TeExpr *in, const TeExpr *a, const TeExpr *b);
/* The same of a statement: e^x are cheaper where they are approximate, or all terms of sums.  */
double stmt_ops(const Te *te, const TeStmt *s);
/* What one of the units for functions makes of f32: is it such a function; functions and divisions
 * of an expression.  */
bool expr_is_function(const TeExpr *e);
double expr_functions(const TeExpr *e);
/* Instructions of a quotient by a reciprocal that is at hand.  */
double quotient_ops(TeQuotient q);
/* The same for each element of runs along an index that begin at multiples of `run`: of a selection
 * by the index modulo a divisor of that, the larger arm.  */
double expr_ops_in_run(const TeExpr *e, int index, int run);
#endif
