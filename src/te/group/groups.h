/* Which statements share a kernel, and the axes of a contraction seen with its whole group.
 * Inside te; access.h is the public view.  */
#ifndef ROLLER_TE_GROUP_GROUPS_H
#define ROLLER_TE_GROUP_GROUPS_H
#include "te/access/access.h"

/* Group k has the root statement root[k]; a map in group home[i] = k runs with the root's spatial
 * index perm[i][j] as its left index j.  */
typedef struct {
    int n;
    int root[TE_MAX_STMTS];
    int home[TE_MAX_STMTS];                /* statement -> group */
    int maker[TE_MAX_TENSORS];          /* tensor -> statement, -1 for inputs */
    int last[TE_MAX_TENSORS];              /* no statement behind this one reads the tensor */
    bool ordered;             /* who needs a group has a higher number */
    int placed;                            /* statements that have a group */
    int before[TE_MAX_STMTS];              /* n when the statement was to be placed */
    uint8_t perm[TE_MAX_STMTS][TE_MAX_RANK];
} Groups;

/* Works with run-time sizes too.  */
void groups_find(const Te *te, Groups *out);
/* The same in parts: of no statement yet; of those before `end`, too; no longer of those from
 * `first` on.  */
void groups_open(const Te *te, Groups *out);
void groups_place(const Te *te, Groups *g, int end);
void groups_withdraw(Groups *g, int first);
/* Joins groups into row groups where that is legal.  Changes n, root, home and perm (which then is
 * the frame's index of each left index); returns the row group of each group, NULL for the
 * others.  */
const RowGroup **rows_find(Arena *a, const Te *te, Groups *g);
/* Fills pass and n_pass; drops those that do not save their reduction a pass.  */
void rows_passes(const Te *te, RowGroup *g);
/* Ties every reduction that can be, whatever its pass.  False: none can.  `raised`: the maximum
 * that terms are relative to may be raised behind the walk, as max(m, c).  */
bool rows_online(const Te *te, RowGroup *g, bool raised);
/* The group with every reduction online that can be; NULL where that saves no pass.  */
const RowGroup *rows_with_online(Arena *a, const Te *te, const RowGroup *g, bool raised);
/* The reduction (a position in stmt) that tensor `center` is, or is at least, as max(m, c); -1: it
 * is no value of the row, or another one.  */
int rows_leader(const Te *te, const RowGroup *g, int center, bool raised);
/* Is reduction `leader` of the group, a position in stmt, the maximum over the row of what e is in
 * statement x, whose index j runs with the frame's index axis[j]?  */
bool rows_is_maximum(const Te *te, const RowGroup *g, int leader, const TeStmt *x,
                     const uint8_t *axis, const TeExpr *e);
/* Does a read's subscripts name left indices of s so that s runs with the root the way the read
 * tensor's own statement does?  Fills or compares perm (0xff: still open).  */
bool groups_own_point(const Te *te, const Groups *g, const TeStmt *s, const TeExpr *read,
                      uint8_t *perm);
/* Can what group k computes come behind group `to` in its kernel?  Group `to` does not need it, and
 * neither does anything else that it needs need `to`.  What it reads of `to` itself is the caller's
 * matter.  */
bool groups_meet(const Te *te, const Groups *g, int k, int to);
/* The last group before `end` that group k reads and meets; -1: none.  */
int groups_behind(const Te *te, const Groups *g, int k, int end);
/* Group k becomes a part of group `to`, which it meets; those behind it move up.  */
void groups_merge(const Te *te, Groups *g, const RowGroup **row, int k, int to);
/* Clears `ordered` if it will not hold with group k in group `to`.  */
void groups_disorder(const Te *te, Groups *g, int k, int to);
/* Numbers the groups so that it holds.  */
void groups_order(const Te *te, Groups *g, const RowGroup **row, const RowGroup **stats);
/* Joins reductions over the same indices that read the same elements, neighbouring ones for
 * neighbouring results, and do not need each other but for what one follows.  */
void columns_join(Arena *a, const Te *te, Groups *g, const RowGroup **row);
/* The statements of group k, one pass that makes its reductions, with those online that follow
 * another one; NULL if the root is a map.  */
const RowGroup *columns_group(Arena *a, const Te *te, const Groups *g, int k);
/* Joins maps over one domain that read the same elements and do not need each other.  */
void siblings_join(const Te *te, Groups *g, const RowGroup **row);
/* A row group over the rows of a contraction's results.  */
typedef struct {
    const Te *te;
    const Groups *g;
    const RowGroup *row;                  /* of group k */
    int k, to;                            /* group `to` is the contraction */
    uint8_t root[TE_MAX_INDICES];         /* index of the frame -> of the contraction */
    uint8_t frame[TE_MAX_INDICES];        /* and back */
    const char *why;          /* in words, why it cannot join the last product that it reads */
} RowsJoin;
/* The contraction that row group j->k can join; -1: none.  `joined`: with the two as one.  */
int stats_find(RowsJoin *j, const RowGroup *const *row, const RowGroup *const *stats,
               Groups *joined);
/* The row group with the maps that the contraction has already.  */
const RowGroup *stats_joined(Arena *a, const RowsJoin *j);
/* Does the group reduce once, in its root, and neither to positions nor up to its own place?  */
bool stats_is_one_sum(const Te *te, const Groups *g, int k);
/* Is it such a sum, of products of two operands?  */
bool stats_is_product(const Te *te, const Groups *g, int k);
/* Joins row groups with the contraction whose rows they run over.  Returns the `stats` of each
 * group that is left.  */
const RowGroup **stats_join(Arena *a, const Te *te, Groups *g, const RowGroup **row);
/* The chain that group k's root is the second product of, where `joined` has all of it in group
 * `to`, `row` the row groups that are left; NULL: `why` says in words why there is none.  */
typedef struct {
    Groups *joined;
    const RowGroup **row;
    int to;
    const char *why;
} ChainFound;
const Chain *chain_find(Arena *a, const Te *te, const Groups *g, const RowGroup *const *row, int k,
                        ChainFound *out);
/* Joins the products of chains, where it is decided so.  Returns the chain of each root statement,
 * NULL for the others.  */
const Chain **chain_join(Arena *a, const Te *te, Groups *g, const RowGroup **row);
/* Why statement `stmt` is no second product of a chain, of groups_by_kinds; NULL: it is one.
 * chain_alone: it reads no other product's results.  */
extern const char *const chain_alone;
const char *chain_refusal(Arena *a, const Te *te, const Groups *g, const RowGroup *const *row,
                          int stmt);
/* Fills c->bounds.  `g`: the groups that have the chain in one.  */
void chain_bounds(Arena *a, const Te *te, const Groups *g, Chain *c);
/* Groups by kinds, before any joins a contraction: its row groups.  */
const RowGroup **groups_by_kinds(Arena *a, const Te *te, Groups *g);
/* access_contraction with these groups.  */
bool groups_contraction(const Te *te, const Groups *g, int stmt, Contraction *out,
                        const char **why);
/* The group, and everything else as another.  */
void groups_of_one(const Te *te, const KernelGroup *group, Groups *g);
/* Parts of these: an operand; the type of the sums; axes of operands that are known.  */
void contraction_describe(const Te *te, const TeStmt *s, const TeExpr *e, Operand *out);
TeDtype contraction_accumulator(const TeStmt *s, const TeExpr *reduce);
void contraction_axes(const Te *te, const Groups *g, int stmt, Contraction *out);
/* Is tensor t read outside the group that makes it?  Outputs and inputs always exist in memory.  */
bool groups_materialized(const Te *te, const Groups *g, int t);

/* The root's spatial index that runs fastest in what the group of `stmt` writes, of M and N if both
 * have one; -1 if every extent is 1 or there is none.  */
int axes_fastest(const Te *te, const Groups *g, int stmt, const uint8_t *class);
/* Fills c->axis: the indices by class, ordered and merged into digits.  c has its operands.  */
void axes_build(const Te *te, const Groups *g, int stmt, const uint8_t *class, Contraction *c);
#endif
