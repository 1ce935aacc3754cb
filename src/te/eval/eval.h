/* te_eval: the definition of right.  Slow and obvious; shares nothing with code generation.
 *
 * Reals are computed in f64 and integers exactly, each real with a rigorous error bound
 * (docs/te-reference.md, "Values").  Works on any Te with static sizes (te_specialize first).  */
#ifndef ROLLER_TE_EVAL_EVAL_H
#define ROLLER_TE_EVAL_EVAL_H
#include "base/lazy.h"
#include "base/watch.h"
#include "te/te.h"

/* A tensor in host memory: storage type, strides in elements as declared, element 0 first.  */
typedef struct {
    void *data;
    size_t bytes;
} TeData;

size_t te_tensor_bytes(const TeTensor *t);                  /* bytes spanned, static sizes */
bool te_tensor_has(const TeTensor *t, const int64_t *at);   /* no clip leaves the element out */
int64_t te_tensor_count(const TeTensor *t);                 /* elements */
int64_t te_tensor_offset(const TeTensor *t, const int64_t *at);   /* in elements */
/* The element at such an offset; false: none lies there.  */
bool te_tensor_at(const TeTensor *t, int64_t offset, int64_t *at);

typedef struct {
    double v;                 /* reals */
    int64_t i;                /* integers and bool */
    double bound;             /* |right - v| <= bound, before the store rounds */
    bool undecided;           /* the bound straddles a jump: any value is right */
    bool any_zero;            /* a zero of either sign is right */
    bool rounded;             /* the bound, if there is one, has room for the store's rounding */
} TeValue;

/* One TeEval per thread, each with an arena of its own; the data may be shared.  */
typedef struct TeEval TeEval;
/* data: one entry per te->tensor[0..n_in-1]; a scalar's points to one element of its type.  */
Status te_eval_create(Arena *a, Diag *d, const Te *te, const TeData *data, TeEval **out);
/* Takes the elements of an input, or those of another tensor instead of computing them (its storage
 * type and strides, so that one kernel of a program can be judged by itself), from where they are
 * made when they are read.  Before the first evaluation.  */
void te_eval_bind(TeEval *e, int tensor, const Lazy *values);
/* The values of `count` elements of an output or temporary along its last dimension from `at` on.
 * Temporaries are computed on demand and remembered.  ST_CANCELLED when asked to stop.  */
Status te_eval_row(TeEval *e, int tensor, const int64_t *at, int64_t count, TeValue *out);
/* Who may end it from now on.  */
void te_eval_watch(TeEval *e, Watch *watch);

typedef enum { TE_RIGHT, TE_WRONG, TE_UNDECIDED } TeVerdict;
/* Is the stored element at `p` (type t) right?  exact: compare bit for bit where the bound is 0,
 * which te_eval finds by itself when every intermediate is exact in any order (-0 equals +0 only if
 * the reference's zero sign is unspecified: max, min, sum).  */
TeVerdict te_judge(TeDtype t, const void *p, const TeValue *want, bool exact);

/* One element between storage and value.  Stores round and
 * saturate as docs/te-reference.md says ("Values").  */
TeValue te_load(TeDtype t, const void *p);
void te_store(TeDtype t, const TeValue *v, void *p);

/* The data sets of a check.
 * INTEGERS: small values such that every intermediate of a sum of products stays exact for the
 * op's reduction lengths; index tensors get legal and some illegal values where the op guards them.
 * REALS: normal deviates rounded to the type.
 * EXTREMES: half zeros of both signs, else a few large magnitudes; peaks far above them, and lines
 * all below or above zero; stretches of infinities and NaN, as many as leave some outputs without;
 * integers and indices up to the ends of their types.
 * SPARSE: what every bit of a result shows in: so many zeros that sums have about one term; else
 * odd integers of half a significand, so that a product fills one, significands that are full,
 * subnormals, and integers of 24 bits.  */
typedef enum {
    TE_FILL_INTEGERS, TE_FILL_REALS, TE_FILL_EXTREMES, TE_FILL_SPARSE, TE_FILLS
} TeFill;
void te_fill(const Te *te, int tensor, TeFill kind, uint64_t seed, TeData out);
/* The same by pages: bytes of whole pages from `from` on, the last one up to the tensor's end.  */
enum { TE_PAGE = LAZY_PAGE };
typedef struct TeSource TeSource;
TeSource *te_source(Arena *a, const Te *te, int tensor, TeFill kind, uint64_t seed);
void te_source_make(const TeSource *s, size_t from, size_t bytes, void *to);
/* Are all intermediates of the op exact on the data of TE_FILL_INTEGERS, so that results can be
 * compared bit for bit?  Not with division (but by powers of two), transcendental functions and
 * long products: such values are right within bounds.  */
bool te_exact(const Te *te);
#endif
