/* Inside te_eval: expressions evaluated over strips of points.
 *
 * A strip is up to STRIP consecutive values of one index of a statement, the others being fixed,
 * so that walking the tree is paid once per strip.  The rules of a value: reals are f64 with a
 * bound on how far any permitted computation may be from them; a value with bound 0 can be
 * represented in its compute type.  Integers and bool are exact.  */
#ifndef ROLLER_TE_EVAL_EVAL_IMPL_H
#define ROLLER_TE_EVAL_EVAL_IMPL_H
#include "base/hot.h"
#include "te/access/access.h"
#include "te/eval/eval.h"
#include <string.h>

enum { STRIP = 64 };

enum {
    LANE_UNDECIDED = 1,       /* any value is right */
    LANE_PADDING = 2,         /* a 0 that pads (te_pads), or a product with it */
    LANE_ANY_ZERO = 4,        /* if zero: of either sign */
    LANE_FADED = 8,           /* an exponential that is nothing beside one of the same sum */
    LANE_MASKED = 16,         /* a -inf instead of what a condition does not let through */
    LANE_LEFT_OUT = 32        /* e^ of that, or a product with it: like a padding 0 */
};

/* What a sum's terms have of exponentials: such a sum may be kept relative to a running maximum,
 * and be rescaled by another exponential, at most 1, whenever that grows.  */
typedef enum { EXP_NONE, EXP_FACTOR, EXP_TERM } ExpPart;

/* The values of a node on a strip.  b counts only if !exact, f only if !plain; else they are 0.  */
typedef struct {
    double v[STRIP], b[STRIP];
    int64_t i[STRIP];
    uint8_t f[STRIP];
    bool exact, plain;
} Lanes;

/* A node prepared for evaluation.  */
typedef struct Node Node;
struct Node {
    const TeExpr *e;
    TeKind kind;
    TeDtype type;             /* of the value */
    TeDtype meet;             /* in which the operands meet */
    uint32_t uses;            /* indices the value depends on */
    int n_args;
    Node **args;
    Node *other;
    double v;                 /* literal, size: converted to its type */
    int64_t i;
    bool fast;                /* @fast */
    bool inverse;             /* DIV: by a sum of exponentials, whose reciprocal may be a factor */
    bool rescaled;            /* CALL: of an exponential, some of which are summed */
    bool centered;            /* SUB: an exponent E - m of such a one */
    double factor_loss;       /* @tf32: relative, per factor of a summed product */
    double product_loss;      /* @fp32x3: relative, of a summed product */
    /* READ */
    bool affine[TE_MAX_RANK], leaves[TE_MAX_RANK];        /* leaves: may be outside the dimension */
    Affine *sub;
    int64_t stride[TE_MAX_RANK];
    bool pads;                /* READ, SELECT: its 0 pads */
    bool moved;               /* READ, CAST: its rounding to 16 bits, of an exponential in a sum,
                               * may be made before or after that is divided or rescaled */
    /* REDUCE */
    int sweep;                /* its longest index */
    int64_t count;            /* number of terms */
    TeDtype acc;              /* type it accumulates in */
    double acc_step;          /* sum: how far an addition is off, as a share of the magnitudes; */
    double acc_each, acc_most;            /* ... how many count for a term, for one of all */
    bool acc_rounds, acc_all, acc_coarse; /* ... what else counts: see acc_roundoff */
    bool written;             /* sum: as it is written */
    double acc_moved;         /* sum: what dividing it as a whole may be off by, as a share */
    double acc_limit;         /* sum: magnitudes beyond leave the accumulator's range */
    double acc_exact;         /* sum: integers up to this are exact in it */
    double acc_tiny;          /* sum: absolute loss of a term */
    const Node *divisor;      /* sum of exponentials that are divided by it; else NULL */
    const Node *factored;     /* sum: what else it may be made as (access_factored); or NULL */
    const Node *elements, *scales;        /* sum with scales of blocks: those of its factors alone;
                                           * or NULL */
    const Node *mean;         /* sum of squared deviations from it; else NULL */
};

/* Values of a tensor computed by a statement, remembered in chunks of STRIP elements.  */
typedef struct {
    int64_t number;           /* chunk: elements number * STRIP and following; -1: free */
    uint64_t done, waiting;   /* waiting: for elements that were put off, in the round */
    int64_t round;
    Lanes *values;
} MemoChunk;

typedef struct {
    MemoChunk *table;         /* open addressing; size is a power of two */
    size_t size, used;
} Memo;

typedef struct {
    TeEval *owner;
    const TeStmt *s;
    Node *root;
    Lanes *slot;              /* evaluation stack */
    int64_t at[TE_MAX_INDICES];            /* of lane 0 */
    int strip;                /* the index that runs along the lanes; -1: there is one point */
    int levels;               /* of calls that evaluating it takes */
    Memo memo;
} Prog;

/* Elements of a temporary to be computed before what reads them.  */
typedef struct {
    Prog *prog;
    int64_t pos;
    int n;
} PutOff;

/* Levels of calls beyond which elements of temporaries are put off: chains of them may be of any
 * length, stacks not.  */
enum { EVAL_LEVELS = 2048 };

struct TeEval {
    Arena *arena;
    const Te *te;
    const void **data;        /* per tensor: in memory, or NULL: computed by prog[maker] */
    const Lazy **lazy;        /* per tensor: where data is made when it is read; or NULL */
    int *maker;               /* per tensor: statement or -1 */
    Prog *prog;               /* per statement */
    uint8_t *exps;            /* per tensor: ExpPart of its elements */
    bool sums_exps, multiplies_exps;      /* some statement does; ... as a chain's second product */
    bool *in_sums;            /* per tensor: a temporary that nothing but terms of sums read */
    bool in_sum;              /* the terms of a sum are being built */
    bool in_order;            /* a sum with scales is being built that is summed before these */
    Watch *watch;
    int levels;               /* of calls that are under way */
    bool put_off;             /* what is evaluated now depends on elements that were put off */
    PutOff *later;
    size_t later_room;
    int n_later;
    int64_t round;            /* evaluations since such were computed */
};

/* What has been seen so far of each of up to STRIP reductions.
 * sum: v the sum, mag the sum of magnitudes with their bounds, b the sum of bounds, n the terms
 *   that need not be 0; odd, odd_fine how far terms are from integers and from multiples of 2^-12,
 *   in all: 0 where all of them are such, without a bound.
 * prod: v, b likewise of the product; hi, lo the product of the factors above and below 1; mag the
 *   largest magnitude of a factor; some: a factor is NaN; whole: all are integers without a bound;
 *   fine: none is certainly zero.
 * max, min: v with lo..hi, the values it may have.
 * argmax, argmin: v (i) at pos with b; rival the most another real candidate may be.  */
typedef struct {
    double v[STRIP], b[STRIP], mag[STRIP], lo[STRIP], hi[STRIP], rival[STRIP], close_rival[STRIP];
    double n[STRIP], odd[STRIP], odd_fine[STRIP];
    int64_t i[STRIP], pos[STRIP];
    uint8_t f[STRIP];
    uint8_t open;              /* sum: flags of terms that may be left out */
    bool some[STRIP];          /* a term was seen */
    bool whole[STRIP], fine[STRIP];
} Acc;

/* eval_acc.c: one strip of terms after another.  */
bool acc_is_arg(int red);
/* How far a sum may be off as a share of the magnitudes, so many of whose terms are not 0: adding a
 * 0 loses nothing, whatever the order.  */
double acc_roundoff(const Node *x, double terms);
void acc_start(Acc *a, const Node *x, int n);
/* Where terms go: all into accumulator 0 (fold; positions pos, pos + step, ...), or one each (all
 * at position pos).  */
typedef struct {
    bool fold;
    int64_t pos, step;
} AccTerms;
/* Takes n terms.  */
void acc_take(Acc *a, const Node *x, const Lanes *y, int n, AccTerms t);
void acc_finish(const Acc *a, const Node *x, Lanes *out, int n);

/* exact.c: does a matrix unit sum products of f8 there, with scales of blocks or without?  */
bool eval_sums_narrow(const Te *te, const TeStmt *s, const TeExpr *sum);

/* eval_exp.c: finds exponentials, and sums of them.  *direct: none is a temporary.  */
void eval_find_exps(TeEval *ev);
/* Is e, of statement s, a sum whose terms may be made otherwise?  */
static inline bool eval_sums(const TeStmt *s, const TeExpr *e) {
    return e->kind == TE_REDUCE && e->red == TE_RED_SUM && !s->written;
}
ExpPart eval_exp_part(const TeEval *ev, const TeExpr *term, bool *direct);
/* What exponentials of the term are divided by, themselves or in their exponents, as log(z); NULL:
 * nothing.  */
const TeExpr *eval_exp_divisor(const TeEval *ev, const TeExpr *term);
/* Is it a read of a sum of exponentials, nothing else?  */
bool eval_exp_sum(const TeEval *ev, const TeExpr *e);

/* eval_build.c */
Node *eval_build(TeEval *ev, const TeStmt *s, const TeExpr *e);
int eval_slots(const Node *x);

/* Which elements a strip reads.  even: all are inside, the same step apart from offset `first` in
 * the tensor on; else each has an offset, and is inside of it or not.  */
typedef struct {
    bool even;
    int64_t first, step;
    int64_t offset[STRIP];
    bool inside[STRIP];
} Elements;
static inline int64_t elements_at(const Elements *x, int j) {
    return x->even ? x->first + j * x->step : x->offset[j];
}
static inline bool elements_inside(const Elements *x, int j) { return x->even || x->inside[j]; }
/* eval.c: the values of the computed tensor that x reads, at dense positions.  */
void eval_fetch(TeEval *ev, const Node *x, const Elements *at, int n, Lanes *out);
/* Elements of a tensor in memory.  */
void eval_gather(const TeEval *ev, int tensor, const Elements *at, int n, Lanes *out);

/* eval_node.c: x over n lanes into p->slot[k]; slots above k are scratch.  */
void eval_node(Prog *p, const Node *x, int k, int n);
void eval_reduce(Prog *p, const Node *x, int k, int n);
void eval_recurrence(Prog *p, const Node *x, int k, int n);          /* eval_recurrence.c */
static inline bool eval_stopped(const TeEval *ev) {
    return watch_ended(ev->watch);
}

/* lanes.c: flags, bounds, conversions.  */
void lanes_show_bounds(Lanes *x, int n);                   /* makes b valid */
void lanes_show_flags(Lanes *x, int n);                    /* makes f valid */
void lanes_flag(Lanes *x, int n, int j, uint8_t flag);
void lanes_join_flags(Lanes *x, const Lanes *y, uint8_t keep, int n);
void lanes_copy(Lanes *to, int i, const Lanes *from, int j, int n);
void lanes_settle(Lanes *x, TeDtype t, int n);             /* infinities, the type's range */
void lanes_convert(Lanes *x, TeDtype from, TeDtype to, int n);
void lanes_cast(Lanes *x, TeDtype from, TeDtype to, int n);
/* The same where the rounding, to 16 bits, may have been made of a multiple instead.  */
void lanes_cast_moved(Lanes *x, TeDtype from, TeDtype to, int n);
/* What one rounding may be off by: `share` of the largest power of two (f64: of the value) that is
 * not above the magnitude.  f64 is computed here with the same unit as in a kernel, so that both
 * errors count.  */
typedef struct {
    double share;
    uint64_t kept;            /* bits of a magnitude */
} Rounding;
Rounding lanes_rounding(TeDtype t);
static inline double lanes_lost(Rounding r, double magnitude) {
    uint64_t bits;
    memcpy(&bits, &magnitude, sizeof bits);
    bits &= r.kept;
    memcpy(&magnitude, &bits, sizeof bits);
    return r.share * magnitude;
}
double lanes_roundoff(TeDtype t);                          /* the same as a share of the value */
/* Absolute, near zero.  */
static inline double lanes_tiny(TeDtype t) { return t == TE_F64 ? 0x1p-1073 : 0x1p-149; }
double eval_round(TeDtype t, double v);                    /* to a real storage type, as a double */
double eval_real(int64_t i);                               /* rounded to odd, to be rounded again */
int64_t eval_wrap(TeDtype t, uint64_t v);
void lanes_wrap(TeDtype t, int64_t *i, int n);             /* the same of many */
/* Sets lane j of n to the smallest value with bound that covers lo..hi, around v; undecided where
 * v is infinite or NaN and another value is as right.  */
void lanes_hull(Lanes *x, int n, int j, double v, double lo, double hi);
/* The same where a jump lies between: neither end is more right than the other.  */
void lanes_middle(Lanes *x, int n, int j, double lo, double hi);

/* eval_arith.c: x = x op y, both of type t.  */
void lanes_arith(const Node *node, Lanes *x, Lanes *y, int n);
void lanes_compare(TeKind kind, TeDtype t, Lanes *x, Lanes *y, int n);
void lanes_logic(TeKind kind, Lanes *x, Lanes *y, int n);
void lanes_select(TeDtype t, Lanes *cond, Lanes *yes, Lanes *no, int n);      /* into cond */
void lanes_negate(TeDtype t, Lanes *x, int n);
void lanes_extreme(bool max, TeDtype t, Lanes *x, Lanes *y, int n);
/* eval_call.c */
void lanes_call(const Node *node, Lanes *x, Lanes *y, int n);
#endif
