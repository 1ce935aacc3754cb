/* Access: which element of which tensor an iteration touches, and what kind of loop nest it is.
 *
 * Takes a normalized Te (every index starts at 0).  Gives affine maps with guards for every read,
 * and the contraction pattern: axis classes, fused axes, operands.  Pure facts: no device, no
 * tiles.
 *
 * Where sizes are known at run time, every fact holds for all of them: a guard is left out, indices
 * make one digit, a run is contiguous only if that is so for each size.  Numbers (extents, offsets)
 * are those of the largest sizes.  */
#ifndef ROLLER_TE_ACCESS_ACCESS_H
#define ROLLER_TE_ACCESS_ACCESS_H
#include "te/te.h"

/* c + sum coef[i] * index[i] over the statement's indices.  */
typedef struct {
    int64_t c;
    int64_t coef[TE_MAX_INDICES];
} Affine;

typedef struct {
    const TeExpr *read;                   /* the TE_READ node; NULL for the statement's own write */
    int tensor;
    bool affine;                          /* every subscript is affine; else sub, offset are void */
    uint16_t joined;                      /* bit d: dimensions d and d + 1 have e / c and e % c, and
                                           * lie as e alone would: their sub are 0 and e */
    Affine sub[TE_MAX_RANK];
    bool guard[TE_MAX_RANK];              /* the subscript can leave its dimension: to be tested */
    Affine offset;                        /* elements from element 0 */
    int64_t divisor[TE_MAX_INDICES];      /* divides offset.coef[i] at all sizes; 0 if that is 0 */
    uint32_t varies;                      /* bit i: offset.coef[i] is not the same at all sizes */
    bool c_varies;                        /* offset.c is not; */
    int64_t c_divisor;                    /* this divides it at all sizes; 0 if that is 0 */
    uint32_t uses;                        /* bit i: index i occurs in some subscript */
} Access;

/* Is e affine in the indices of s?  Static sizes are constants, others are not affine.  */
bool access_affine(const Te *te, const TeStmt *s, const TeExpr *e, Affine *out);
/* Is it so at the sizes at hand, the largest or those of te_sized?  For figures only.  */
bool access_affine_figures(const Te *te, const TeStmt *s, const TeExpr *e, Affine *out);
/* Are they e / c and e % c, for an affine e that is nowhere negative?  */
bool access_digits(const Te *te, const TeStmt *s, const TeExpr *high, const TeExpr *low,
                   int64_t *c, Affine *e);
/* Smallest and largest value over the ranges of f's indices (an empty one gives lo > hi).  */
void access_range(const TeStmt *s, const Affine *f, int64_t *lo, int64_t *hi);
/* Do 32 bits not hold an affine value, or the sum of any of its terms, where index i goes up to
 * beyond[i] past its last value?  */
bool access_wide(const TeStmt *s, const Affine *f, const int64_t *beyond);
/* Fills `out` for one TE_READ of statement s.  Reads that are tested join no dimensions.  */
void access_read(const Te *te, const TeStmt *s, const TeExpr *read, Access *out);
/* Is a step of index `outer` of s as many elements as all of index `inner` is, at all sizes?  Where
 * the sizes vary, that is so of neighbouring dimensions of a dense tensor, the inner one whole.  */
bool access_as_one(const Te *te, const TeStmt *s, const Access *x, int outer, int inner);
/* How far sub[d] runs: the shape of the dimension, or of the two that are joined.  */
int64_t access_extent(const Te *te, const Access *x, int d);
/* The statement's write.  */
void access_write(const Te *te, const TeStmt *s, Access *out);
/* Is any subscript of the access tested at run time?  */
bool access_guarded(const Te *te, const Access *x);
/* ... one that moves with the index?  */
bool access_tests(const Te *te, const Access *x, int index);
/* Does the statement read every element of one tensor, each dimension by an index of its own?  at:
 * their numbers, one per dimension.  */
bool access_permutes(const Te *te, const TeStmt *s, uint8_t *at);
/* Can subscript `sub`, which is f, leave a dimension of extent n at some size?  */
bool access_leaves(const TeStmt *s, const TeExpr *sub, const Affine *f, const TeExtent *n);
typedef struct {
    const TeExpr *const *at;
    int n;
} ReadList;
/* Every TE_READ of e, itself too, in order of appearance.  */
static inline ReadList access_reads(const TeExpr *e) { return (ReadList){e->reads, e->n_reads}; }
/* Does one of them read the tensor?  */
bool access_reads_tensor(const TeExpr *e, int tensor);
/* Do two reads of a tensor always touch different elements?  Known where literals tell them
 * apart.  */
bool access_apart(const Te *te, const TeExpr *x, const TeExpr *y);
/* Is the value of `read`, below e, one of those that e needs whatever a condition says?  */
bool access_unconditional(const TeExpr *e, const TeExpr *read);
/* May read `i` of e touch what one before it does?  */
bool access_again(const Te *te, const TeExpr *e, int i);
/* Bit i: index i occurs below e (in values or subscripts).  */
uint32_t access_uses(const TeExpr *e);
/* Does e multiply two values each of which has left indices (bits) that the other lacks?  */
bool access_is_product(const TeExpr *e, uint32_t left);
/* Bit i: index i moves e from value to value, not in a quotient alone.  */
uint32_t access_moving(const TeExpr *e);
/* What the maker of a temporary that s reads computes, in indices of its own, if that is a product
 * of reads and stored as it is made; NULL: it is none.  A sum of s with such factors as they are
 * written, where neighbours in the sum share a part of one (factors.c).  NULL: it has none.  */
const TeExpr *access_named_product(const Te *te, const TeStmt *s, const TeExpr *read);
TeExpr *access_opened(Arena *a, const Te *te, const TeStmt *s, const TeExpr *sum);
/* A sum of s made anew by its factors: those that no summed index reaches behind it, the others by
 * operand, a sum for each product (factors.c).  NULL: nothing would change.  */
TeExpr *access_factored(Arena *a, const Te *te, const TeStmt *s, const TeExpr *sum);

/* The classes of a contraction's axes.  */
typedef enum { AX_B, AX_M, AX_N, AX_K, AX_CLASSES } AxisClass;

/* One digit of a fused axis: adjacent indices that every access of the kernel's group treats as one
 * (outer stride == inner stride * inner extent everywhere, no guard on either), outermost first.
 * So the digit's stride in an access is that of its last index.  */
typedef struct {
    int first, n;                         /* into FusedAxis.index */
    int64_t extent;
} AxisDigit;

/* A fused axis: a mixed-radix number, outermost digit first.  No index: extent 1, no digit.
 * Indices of extent 1 come first, inside the first digit; they are always 0.  */
typedef struct {
    int n;
    uint8_t index[TE_MAX_INDICES];        /* indices of the statement, outermost first */
    int n_digit;
    AxisDigit digit[TE_MAX_INDICES];
    int64_t extent;
} FusedAxis;

/* Of the indices first..first+n-1 of a fused axis of statement s: a number that divides the product
 * of their extents at all sizes, and whether that product is known at run time only.  */
int64_t access_divisor(const TeStmt *s, const FusedAxis *axis, int first, int n);
bool access_varies(const TeStmt *s, const FusedAxis *axis, int first, int n);

/* An operand of a contraction: the part of the body that depends on one side's axes only.  It may
 * occur several times; every subexpression that is access_same to it is it.  */
typedef struct {
    const TeExpr *expr;                   /* maximal subexpression */
    const TeExpr *read;                   /* expr is this one TE_READ, affine, with or without
                                           * `else 0` (maybe under a cast that changes no value), so
                                           * it can be copied; else NULL */
    Access access;                        /* of `read`; void if NULL */
    TeDtype storage;                      /* of the tensor if `read`, else the compute type */
    TeDtype compute;                      /* type of expr's value */
    const TeExpr *scale;                  /* of access_scaled: the TE_READ of its scale, or NULL */
} Operand;

enum { CONTRACTION_OPERANDS = 2 };
/* T[b,m,n] = red over k of body(A[b,m,k], B[b,n,k]).  B may be absent (body depends on one side:
 * its axes are M, those of the output that it does not use N).
 * With two operands, N is that of M and N which holds the index that runs faster in the output, so
 * that stores lie closest along N; operands are swapped accordingly.
 * The order of indices in an axis: M, N, B as in the output (of the group's last statement in
 * memory); K by falling stride in the larger operand, so that the last K index is the most
 * contiguous one.  */
typedef struct {
    int stmt;                             /* the reduction statement */
    TeRedop red;
    const TeExpr *body;                   /* operand expressions appear in it by pointer */
    bool product;                         /* body is A * B (or A alone): multiply-add applies */
    FusedAxis axis[AX_CLASSES];
    Operand operand[CONTRACTION_OPERANDS]; /* A, B */
    int n_operand;
    TeDtype acc;                          /* accumulation type: F64 F32 I64 I32 BOOL */
    uint32_t within;                      /* reduction indices of no axis: they count the numbers
                                           * in an element of either operand (te_dtype_values) */
} Contraction;

/* Do two expressions of one statement have the same structure (places in the text apart)?  */
bool access_same(const TeExpr *x, const TeExpr *y);

/* The contraction of the same statement of te_sized's op: numbers change, axes and operands
 * stay.  */
void access_resize(const Te *sized, Contraction *c);
/* Recognises statement `stmt` as a contraction.  False if it is no reduction, or if the body does
 * not separate into two sides nor is all on one; *why says so in words.  For a reduction `out` is
 * then still a right description with the whole body as the only operand: it just reuses
 * nothing.  */
bool access_contraction(const Te *te, int stmt, Contraction *out, const char **why);
/* The same of the root of a group with `stats`, whose statements decide on the axes.  */
struct KernelGroup;
bool access_group_contraction(const Te *te, const struct KernelGroup *g, Contraction *out,
                              const char **why);
/* The same where the body is a product of two elements and of scales, at most one for each of
 * them, in whatever order: operands are the elements, which a unit takes as they are, packed ones
 * in pairs, so that an element of axis K is a pair.  False: it is none; *why says so in words, NULL
 * where it has no scales of such a type.  */
bool access_scaled(const Te *te, const struct KernelGroup *g, Contraction *out, const char **why);
/* The factors of such a sum, reads: elements, and scales, which have a type for that or are the
 * same for neighbours in the sum, as of subscripts k / 128.  */
typedef struct {
    uint32_t summed;          /* indices that take several values */
    const TeExpr *element[2], *scale[2];
    int n_element, n_scale;
    int half[2];              /* the index that counts the numbers of an element; -1: it has one */
    bool rounds;              /* a cast may not keep all bits */
    bool other;               /* some factor is neither */
} ScaledFactors;
bool access_scaled_factors(const Te *te, const TeStmt *s, const TeExpr *sum, ScaledFactors *out);
/* The second product of a group with a `chain`: operand a is made of the row, or the read of a
 * score of the chain; b is none of these.  Its axis K has the indices and digits of the root's axis
 * N, B and M those of the root's B and M, N what is its own.  */
bool access_chain_contraction(const Te *te, const struct KernelGroup *g, Contraction *out,
                              const char **why);

/* A reduction that runs to its own place, Y[i] = red[r](r <= i ? term : identity).  What Y[i] has
 * of the term at r does not depend on i: one walk along the index gives all of Y.  */
typedef struct {
    int index, over;          /* of the statement: i and r, which take the same values */
    const TeExpr *term;       /* depends on r, not on i */
    const TeExpr *factor;     /* of a recurrence: of what is before r, likewise; NULL */
    bool reversed;            /* r >= i: the walk goes down */
    bool exclusive;           /* r < i, r > i */
} Scan;
/* Recognises a statement as te_normalize spells it.  */
bool access_scan(const TeStmt *s, Scan *out);

enum { ROW_MAX_STMTS = 64 };

/* What a statement of a row group computes: a value per row by reduction over its columns, a value
 * per element, or a value per row from others.  */
typedef enum { ROW_REDUCE, ROW_MAP, ROW_SCALAR } RowRole;

/* How a sum whose terms hold another reduction's value x can be made in the same pass as that: each
 * thread adds terms made with what x is so far, and corrects its sum when x moves.  Of rows, and of
 * columns likewise.  */
typedef enum {
    FOLLOW_NONE,
    FOLLOW_SCALE,                         /* of a factor exp(E - x) (rows_power), x the maximum; of
                                           * chains also what that is raised to, max(m, c) */
    FOLLOW_SHIFT                          /* of (E - x) * (E - x), x the mean of E */
} RowFollow;

/* Statements over the same rows, computed by one kernel that walks over the columns of a row in
 * passes.  The frame is a reduction: its left indices are the rows, its reduction indices the
 * columns.  Index j of statement stmt[i] runs with the frame's index axis[i][j].  What statements
 * read of each other they read at their own point.  */
typedef struct RowGroup {
    int frame;                            /* statement; also KernelGroup.root */
    bool strips;              /* elements of a row lie apart, neighbouring rows side by side */
    int n;
    int stmt[ROW_MAX_STMTS];              /* ascending, an order of evaluation */
    RowRole role[ROW_MAX_STMTS];
    uint8_t axis[ROW_MAX_STMTS][TE_MAX_INDICES];
    /* REDUCE, MAP: computed by the walk of this number; SCALAR: known before it (maybe n_pass) */
    int pass[ROW_MAX_STMTS];
    int n_pass;
    /* online: the reduction that it follows (a position in stmt), and the tensor of x */
    RowFollow follow[ROW_MAX_STMTS];
    int leader[ROW_MAX_STMTS], center[ROW_MAX_STMTS];
    const struct RowGroup *online;        /* online, and in fewer passes; NULL if nothing can be */
} RowGroup;

/* The exponential by which a term of a sum follows a maximum x: exp((E - x) * k) or exp2, k a
 * positive number or left out, as a factor of the term, maybe rounded, or chosen instead of a 0;
 * NULL: there is none.  */
const TeExpr *rows_power(const TeExpr *term);
/* Its E - x.  */
const TeExpr *rows_difference(const TeExpr *power);
/* Is it the same whether this cast is made before a term is divided or rescaled, or after that?
 * One that rounds nothing, or one to f16 or bf16, which the language leaves open.  */
bool rows_cast_moves(const TeExpr *cast);
/* The statement of the group that makes a tensor, as a position in stmt; -1: none.  */
int row_group_maker(const Te *te, const RowGroup *g, int tensor);

enum { CHAIN_MAX_BOUNDS = 4, CHAIN_OWN = TE_MAX_RANK };

/* An end of the columns that have terms: e + add, e an expression of the left indices of statement
 * `stmt`, the rows among them alone, and of sizes and elements read at them.  */
typedef struct {
    int stmt;
    const TeExpr *e;
    int64_t add;
} ColumnBound;

/* Which columns of a row have terms.  A column's number counts through the indices of the columns,
 * the last one fastest.  Outside of max(from...) <= column < min(to...) every score is -inf, so
 * that maxima do not see it, and every factor of the products 0, so that their other factors need
 * not be read.  No bounds: all columns have terms.  */
typedef struct {
    int n_from, n_to;
    ColumnBound from[CHAIN_MAX_BOUNDS], to[CHAIN_MAX_BOUNDS];
    bool tested;              /* the bounds say all of the condition: columns within need no test */
} ColumnBounds;

/* What a statement of a chain runs over, and when: each column of the row (scores, and maps of
 * them); a reduction over the columns; a value of the row, once it is complete; the second
 * product; maps of its results.  */
typedef enum {
    CHAIN_SCORE, CHAIN_REDUCE, CHAIN_ROW, CHAIN_PRODUCT, CHAIN_RESULT
} ChainPart;

/* A product whose one factor is made, column by column, of another product's results:
 *   S[r,n] = sum[k](A[r,k] * B[n,k])                  the group's root
 *   x[r]   = reductions of the row over n, one pass   `rows`
 *   O[r,e] = sum[n](P(S[r,n], x[r]) * V[n,e])         `second`
 *   Y[r,e] = maps of O and of values of the row
 * Batch indices are rows.  Where P has the maximum x of the row in it, as in exp(S - x), `follow`
 * says how O is kept while x grows, as of a reduction of the row.  All statements but the root are
 * `fused`, in order; index j of fused[i] runs with the root's spatial index perm[i][j], or, from
 * CHAIN_OWN on, with an index e of `second` of its own: with CHAIN_OWN + k, e being its left index
 * number own[k].  */
typedef struct Chain {
    const RowGroup *rows;     /* of the reductions and values of the row, online and in one pass;
                               * NULL: there are none, two products back to back */
    uint32_t columns;         /* bit i: the root's left index i is of the columns, else of rows */
    uint8_t *part;            /* of fused[i]: a ChainPart */
    int second;               /* statement */
    RowFollow follow;         /* FOLLOW_NONE or FOLLOW_SCALE */
    int leader, center;       /* as in RowGroup: a position in rows->stmt, the tensor of x */
    const TeExpr *power;      /* FOLLOW_SCALE: the exp(E - x) or exp2(E - x) within the operand */
    int n_own;
    uint8_t own[TE_MAX_RANK];
    ColumnBounds bounds;
} Chain;

enum { TE_MAX_SUMS = 4 };

/* One kernel's worth of statements: a root (reduction or map) and the maps fused behind it, or a
 * row group, of which `fused` then holds all but the frame.  Beside a reduction up to TE_MAX_SUMS -
 * 1 of the fused statements may be reductions over the same indices in the same order, which read
 * of this group at most what they follow.  Behind a contraction with `stats` the fused
 * statements are the row group's: they run over rows of its results, the columns of which are its
 * axis N.  */
typedef struct KernelGroup {
    const RowGroup *row;                  /* or NULL */
    const RowGroup *stats;                /* or NULL */
    /* of other reductions: the same statements with one pass, results being rows; else NULL */
    const RowGroup *columns;
    const Chain *chain;                   /* or NULL; then there are neither stats nor columns */
    int root;                             /* statement */
    int n_fused;
    int *fused;               /* maps over the same domain, in order */
    /* statement fused[i]'s left index j (with `stats`: every index) runs with the root's spatial
     * index perm[i][j] */
    uint8_t (*perm)[TE_MAX_RANK];
} KernelGroup;

/* Splits a normalized op into groups in launch order: reductions whose rows lie contiguously in
 * what they read form row groups with each other and with the maps before, between and behind
 * them; maps over another root's spatial domain that read it at their own point follow it as its
 * epilogue; maps over one domain, and reductions over strided indices that read the same elements,
 * share a group; other statements stand alone.  Where it is decided so, a row group over the rows
 * of a contraction becomes its `stats`.  What has no iteration at any size is in no group.  */
int access_groups(Arena *a, const Te *te, KernelGroup **out);
/* Must tensor t (a temporary) exist in memory: is it read outside the group that makes it?  */
bool access_materialized(const Te *te, const KernelGroup *groups, int n, int t);

void access_print(const Te *te, const KernelGroup *groups, int n, Buf *out);   /* --dump=access */
/* All there is to know of each group: groups of an op that have the same text, by whatever
 * decisions, have the same kernels, but for the place in its tensors from which one reads.  */
void access_group_texts(Arena *a, const Te *te, const KernelGroup *groups, int n,
                        const char **text);
/* The same of the statements of a part, each with a mark: parts that have the same text come out
 * the same by the same decisions.  */
const char *access_part_text(Arena *a, const Te *te, const TeDecided *mark);
#endif
