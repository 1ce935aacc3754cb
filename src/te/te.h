/* Te: WHAT is computed.  The language of docs/te.md as plain structs.
 *
 * te_parse takes the text of a file and gives one checked op with sizes applied: names resolved,
 * types, ranges and bounds inferred and proved.  Everything lives on the arena that was passed;
 * nothing points into the caller's text.  Later stages never see an op that te_check would
 * refuse.  */
#ifndef ROLLER_TE_TE_H
#define ROLLER_TE_TE_H
#include "base/diag.h"
#include "base/dtype.h"
#include <stdint.h>

enum {
    TE_MAX_RANK = 8,
    TE_MAX_INDICES = 16,      /* per statement */
    TE_MAX_ARGS = 2048,
    TE_MAX_STMTS = 4096,      /* also of the normal form */
    TE_MAX_TENSORS = TE_MAX_ARGS + 2 * TE_MAX_STMTS,
    TE_MAX_SIZES = 256,
    TE_MAX_OPS = 256,
    TE_MAX_NODES = 1 << 19,   /* expression nodes per op */
    TE_MAX_NAME = 64,
    TE_MAX_DEPTH = 640,       /* nested parentheses, brackets, unary operators, branches */
    TE_MAX_TREE = 1000        /* levels of an expression tree: a + b + c has three */
};

/* Reductions.   id      name      identity is in te_eval and codegen */
#define TE_REDOPS(X) \
    X(SUM, "sum") X(PROD, "prod") X(MAX, "max") X(MIN, "min") X(ANY, "any") X(ALL, "all") \
    X(ARGMAX, "argmax") X(ARGMIN, "argmin")
typedef enum {
#define X(id, name) TE_RED_##id,
    TE_REDOPS(X)
#undef X
        TE_RED_COUNT,
    /* Maps x -> a x + b, applied to 0 one behind the other: args[0] has the b, args[1] the a, both
     * (r <= i ? value : that of x -> x), or >=, for the walk goes up or down to the statement's own
     * place.  Programs write it as a recurrence, h[i] = a[i] * (h[i-1] else 0) + b[i].  */
    TE_RED_AFFINE = TE_RED_COUNT
} TeRedop;

/* Intrinsics.  id     name    operands (-1: two or more)  ulps that an f32 may be off by, counted
 * from the exact value: those of CUDA's Programming Guide, which counts from the value rounded
 * correctly, and half an ulp; of sequences what these have: exp ex2.approx and its argument, tanh
 * 1 - 2 / (1 + e^(2 abs(x))), most at 0.6  */
#define TE_INTRINSICS(X)                                                          \
    X(EXP, "exp", 1, 3.5) X(EXP2, "exp2", 1, 2.5) X(LOG, "log", 1, 2.5)           \
    X(LOG2, "log2", 1, 2.5) X(SQRT, "sqrt", 1, 0.5) X(RSQRT, "rsqrt", 1, 2.5)     \
    X(TANH, "tanh", 1, 4) X(ERF, "erf", 1, 3) X(SIN, "sin", 1, 2.5)               \
    X(COS, "cos", 1, 2.5) X(POW, "pow", 2, 8.5) X(FLOOR, "floor", 1, 0)           \
    X(CEIL, "ceil", 1, 0) X(ROUND, "round", 1, 0) X(ABS, "abs", 1, 0)             \
    X(MAX, "max", -1, 0) X(MIN, "min", -1, 0) X(PHILOX, "philox", 2, 0)          \
    X(E2M1, "e2m1", 1, 0) X(E2M1_CODE, "e2m1_code", 1, 0)
typedef enum {
#define X(id, name, n, ulp) TE_FN_##id,
    TE_INTRINSICS(X)
#undef X
        TE_FN_COUNT
} TeFn;
/* What an intrinsic takes: reals, any numbers, integers, which become i64 as its value is, an
 * integer for whose code it gives an f32, or a real for which it gives an i32.  */
typedef enum {
    TE_TAKES_REALS, TE_TAKES_NUMBERS, TE_TAKES_INTEGERS, TE_TAKES_CODE, TE_GIVES_CODE
} TeTakes;
static inline TeTakes te_takes_operands(TeFn fn) {
    switch (fn) {
    case TE_FN_ABS: case TE_FN_MAX: case TE_FN_MIN: return TE_TAKES_NUMBERS;
    case TE_FN_PHILOX: return TE_TAKES_INTEGERS;
    case TE_FN_E2M1: return TE_TAKES_CODE;
    case TE_FN_E2M1_CODE: return TE_GIVES_CODE;
    default: return TE_TAKES_REALS;
    }
}
#define TE_PHILOX_MAX INT64_C(0xFFFFFFFF)   /* the largest value of philox(); the lowest is 0 */

/* A literal's kind agrees with its type: TE_INT is I32 or I64, TE_REAL is F32 or F64 (so the 0
 * of `x * 0` is a TE_REAL where x is real), TE_BOOLEAN is BOOL.  v.r is the value as written, in
 * f64: who uses it as f32 rounds it.  Literals may be negative, `-1` is one node; inf is a
 * TE_REAL.  Operands of different types are converted to the later of I32, I64, F32, F64: that is
 * the type of the node, but for comparisons.  The element read and the else value are converted
 * likewise.  A REDUCE wider than its body (@accum) converts the body first.  BOOL compares with
 * BOOL by == and != alone, and may be cast to numbers: 0 or 1.  Subscripts are I32 or I64.  */
typedef enum {
    TE_INT, TE_REAL, TE_BOOLEAN,          /* literals: v.i, v.r, v.i */
    TE_SIZE, TE_INDEX, TE_SCALAR,         /* v.ref: size, index of the statement, tensor */
    TE_READ,                              /* v.ref: tensor; args: subscripts; other: else value */
    TE_NEG, TE_NOT,                       /* args[0] */
    TE_ADD, TE_SUB, TE_MUL, TE_DIV, TE_MOD,               /* te_is_arithmetic, and */
    TE_SHL, TE_SHR, TE_BITAND, TE_BITXOR, TE_BITOR,       /* of integers: te_is_bitwise */
    TE_EQ, TE_NE, TE_LT, TE_LE, TE_GT, TE_GE, TE_AND, TE_OR,
    TE_SELECT,                            /* args: condition, then, else */
    TE_CALL,                              /* v.fn; args */
    TE_CAST,                              /* store: the type cast to; args[0] */
    TE_REDUCE                             /* red, index[0..n_index-1]; args[0]: body */
} TeKind;

/* Operands of one type, which is the value's.  A shift takes its count modulo the type's width, so
 * x << n is x * 2^n, which wraps, and x >> n floor(x / 2^n).  ~x is x ^ -1.  */
static inline bool te_is_arithmetic(TeKind kind) { return kind >= TE_ADD && kind <= TE_BITOR; }
static inline bool te_is_bitwise(TeKind kind) { return kind >= TE_SHL && kind <= TE_BITOR; }

/* Where a read is inside its tensor, as te_parse proved it.  */
typedef enum {
    TE_INSIDE_ALWAYS,         /* at every point of its statement */
    TE_INSIDE_GIVEN,          /* where the conditions around it hold */
    TE_INSIDE_TESTED          /* that is tested when it runs: outside gives 0 */
} TeInside;

typedef struct TeExpr TeExpr;
struct TeExpr {
    TeKind kind;
    TeDtype type;             /* compute type of the value: F64 F32 I64 I32 BOOL */
    TeDtype store;            /* CAST: the target.  Else the storage type whose values it keeps */
    uint32_t pos;             /* byte offset in the file, for messages */
    bool whole;               /* REAL: written without a point, printed so */
    TeInside inside;          /* READ without else: where it is in its tensor */
    uint8_t red;              /* REDUCE: TeRedop */
    uint8_t n_index;          /* REDUCE */
    uint8_t index[TE_MAX_INDICES];        /* REDUCE: indices of the statement, as written */
    int n_args;
    TeExpr **args;
    TeExpr *other;            /* READ: else value, or NULL */
    const TeExpr **reads;     /* every READ of the tree below, itself too, in order of appearance */
    int n_reads;
    union {
        int64_t i;
        double r;
        int ref;
        TeFn fn;
    } v;
};

/* A value of sizes: an extent, a stride, a bound.  */
typedef struct {
    int64_t value;            /* the value; with run-time sizes the largest */
    int64_t min;              /* the smallest; == value when static */
    int64_t multiple;         /* every value is a multiple of this (>= 1; 0 is a multiple of all) */
    const TeExpr *expr;       /* NULL when static: value says it all */
    const TeExpr *written;    /* as in the file, for printing; NULL where it was inferred */
} TeExtent;

typedef enum { TE_SIZE_STATIC, TE_SIZE_RUNTIME, TE_SIZE_LET } TeSizeKind;
typedef struct {
    const char *name;
    TeSizeKind kind;
    TeExtent extent;          /* RUNTIME: min, value = largest, multiple */
    int64_t lo, hi;           /* RUNTIME: as declared; not always multiples */
    const TeExpr *expr;       /* LET: its definition */
    int stmt;                 /* LET in a body: number of statements before it; else -1 */
    bool used;                /* by the op at hand */
} TeSize;

/* Decisions on how statements part into kernels, each made at one statement; none is the usual.
 * te says which are possible, the predicted time which of them are taken.
 *    id        name          what becomes of the statement */
#define TE_DECISIONS(X)                                                                            \
    X(APART,    "apart")      /* a kernel of its own, beside or behind one that could take it */   \
    X(STORED,   "stored")     /* is read from memory by those that would compute it again */       \
    X(REPEATED, "repeated")   /* is computed again by those that would read it from memory */      \
    X(TWO_STEP, "two-step")   /* reduced over contiguous indices first, then strided ones */       \
    X(TILED,    "tiled")      /* a product, or sums of very short rows, not by rows */             \
    X(JOINED,   "joined")     /* rows or columns of a product, or beside others, reduced in their  \
                               * kernel; a product of such rows, or of a product, in theirs */     \
    X(PHASED,   "phased")     /* a sum of which each s-th term counts, phase by phase */           \
    X(PACKED,   "packed")     /* a product of copies of what only narrow accesses can read */      \
    X(FILLED,   "filled")     /* packed, but windows are laid out so in shared memory */           \
    X(UNROLLED, "unrolled")   /* a sum of a few terms, written out */                              \
    X(BLOCKED,  "blocked")    /* a product whose rows are blocks of pixels, not lines of them */   \
    X(STRIPS,   "strips")     /* reduced in the kernel of what reads it, rows side by side */
typedef enum {
#define X(id, name) TE_##id,
    TE_DECISIONS(X)
#undef X
        TE_DECISION_COUNT
} TeDecision;
extern const char *const te_decision_name[TE_DECISION_COUNT];

/* How a normal form can come about: each a rewrite that keeps the values of the op as written, for
 * the types and the data that its file says (te_normalize).
 *    id          what it makes */
#define TE_REWRITES(X)                                                                             \
    X(RANGES)     /* ranges that start at 0 */                                                     \
    X(EMPTY)      /* what is empty at all sizes a literal */                                       \
    X(NESTED)     /* no cast that changes nothing, one reduction of nested ones */                 \
    X(FOLDED)     /* literals of what is constant */                                               \
    X(FACTORS)    /* products behind a sum of factors that it shares */                            \
    X(HOISTED)    /* statements of reductions in expressions */                                    \
    X(KNOWN)      /* one statement of equal reductions */                                          \
    X(SIGNS)      /* fewer signs */                                                                \
    X(CASTS)      /* no cast to the type that there is */                                          \
    X(POWERS)     /* products of powers */                                                         \
    X(BITS)       /* arithmetic of bits */                                                         \
    X(QUOTIENTS)  /* quotients by less */                                                          \
    X(SUBSCRIPTS) /* sums of indices in one order */                                               \
    X(READS)      /* no guard of what is inside */                                                 \
    X(CONDITIONS) /* literals of comparisons that ranges decide */                                 \
    X(ZEROS)      /* no 0.0 that is added where nobody sees its sign */                            \
    X(VIEWS)      /* reads of what a temporary shows */                                            \
    X(DEAD)       /* no temporary that nothing reads */                                            \
    X(SCANS)      /* scans as access_scan knows them */                                            \
    X(MIRRORED)   /* scans from the other end */                                                   \
    X(EXCLUSIVE)  /* exclusive scans of those read one place behind */                             \
    X(DEGENERATE) /* no axis of extent 1 */                                                        \
    X(CUT)        /* two indices of one that is divided */                                         \
    X(DIGITS)     /* one index of two that are its digits */                                       \
    X(COPIES)     /* no copy into an output */                                                     \
    X(SHARED)     /* reads of what an equal statement made */                                      \
    X(STEPS)      /* reductions in two steps */                                                    \
    X(PARTS)      /* deviations from the means of parts */                                         \
    X(UNROLLED)   /* terms of sums that have a few */                                              \
    X(INLINED)    /* expressions of temporaries that they make */                                  \
    X(CHAINED)    /* a divisor of a whole sum of what divided its exponentials */                  \
    X(PHASES)     /* shorter sums, phase by phase */                                               \
    X(SPREAD)     /* sums of every s-th result, between zeros */                                   \
    X(BLOCKS)     /* blocks of pixels and places in them */                                        \
    X(RELAID)     /* reads of copies in another order */
typedef enum {
#define X(id) TE_MADE_##id,
    TE_REWRITES(X)
#undef X
        TE_REWRITE_COUNT
} TeRewrite;

typedef uint16_t TeDecided;   /* bit d: decision d */

/* Per statement as TeStmt.site counts them.  */
typedef struct {
    int n;                                /* sites; this and what is below: set by te_normalize */
    const char *name[TE_MAX_STMTS];       /* of the tensor that the statement assigns */
    TeDecided possible[TE_MAX_STMTS];     /* and access_groups: would make a difference */
    TeDecided taken[TE_MAX_STMTS];        /* given; counts where it is possible */
    bool chains;              /* given: there are kernels for chains, so JOINED is possible there */
} TeDecisions;
static inline unsigned te_taken(const TeDecisions *x, int site) {
    return x->taken[site] & x->possible[site];
}

/* Elements of a tensor that do not exist: those where the sum of subscripts times weights is `end`
 * or more.  Nobody writes or reads them.  */
typedef struct {
    int64_t weight[TE_MAX_RANK], end;
} TeClip;
typedef enum { TE_INPUT, TE_VALUE, TE_OUTPUT, TE_TEMP } TeRole;   /* VALUE: a scalar input */
typedef struct {
    const char *name;
    TeRole role;
    TeDtype dtype;            /* storage; a temporary's is its compute type unless @type */
    int rank;
    TeExtent shape[TE_MAX_RANK];
    TeExtent stride[TE_MAX_RANK];         /* in elements; dense row-major unless declared */
    bool strided;             /* strides were declared */
    int tested;               /* last dimensions, of stride 0, that reads may leave, and that is all
                               * they are for: it has no elements along them (normal form) */
    bool held;                /* a temporary of a part that the rest of the op makes or reads, too:
                               * it is stored, and as it is */
    uint32_t pos;
    int n_clip;               /* of outputs, in the normal form */
    const TeClip *clip;
} TeTensor;
/* Dimensions that its elements lie along.  */
static inline int te_own_rank(const TeTensor *t) { return t->rank - t->tested; }

typedef struct {
    const char *name;
    bool reduction;           /* else spatial */
    bool where;               /* range given by `where` (it is printed) */
    bool place;               /* normal form: in a block of pixels, or along lines that threads
                               * make; an axis has it behind others */
    TeExtent lo, hi;          /* runs over lo..hi-1 */
} TeIndex;

typedef enum { TE_ASSIGN, TE_ACCUMULATE } TeAsg;   /* T = e;  T op= e (rhs is then the REDUCE) */
typedef struct {
    int tensor;               /* assigned: output or temporary */
    int n_left;               /* == rank; index[0..n_left-1] are the left indices in order */
    int n_index;
    TeIndex index[TE_MAX_INDICES];        /* spatial, then reduction in the order written */
    TeAsg asg;
    TeExpr *rhs;
    TeDtype accum;            /* @accum, else TE_DTYPE_COUNT */
    TeDtype temp_type;        /* @type, else TE_DTYPE_COUNT */
    int site;                 /* normalized: the statement it was made from, when each reduction had
                               * become a statement of its own */
    bool tf32, fp32x3, fast;
    bool written;             /* of a reduction: as it is written (sums of exponentials) */
    uint32_t pos;
    const char *unchained;    /* normalized: why this product of rows of another product is not made
                               * in its kernel, in words; NULL: it could be, or is no such */
} TeStmt;

typedef struct {
    const char *name;         /* of the op */
    const char *file, *text;  /* for messages; text is a copy */
    size_t text_len;
    TeSize *size;
    int n_size;
    TeTensor *tensor;         /* inputs and scalars as declared, outputs as declared, temporaries */
    int n_tensor, n_in, n_out;            /* tensor[0..n_in-1], tensor[n_in..n_in+n_out-1] */
    TeStmt *stmt;
    int n_stmt;
    uint64_t rewritten;       /* normalized: bit per TeRewrite, those that changed something */
    int n_node;
    bool runtime;             /* some size used by the op is known only at run time */
    TeDecisions *decisions;   /* set it before te_normalize; NULL: none is taken */
} Te;

/* `-D`: a value, or a range that makes the size a run-time one.  */
typedef struct {
    const char *name;
    int64_t lo, hi, multiple; /* lo == hi: static */
} TeDefine;
typedef struct {
    const TeDefine *item;
    int n;
} TeDefines;
/* "M=64" or "M=1..4096%8".  */
Status te_define_parse(Arena *a, Diag *d, const char *text, TeDefine *out);

/* Parses and checks a file and gives op `op` (NULL: the only one); `defines` may be NULL.  Errors:
 * ST_TE with tag.  */
Status te_parse(Arena *a, Diag *d, DiagText text, const char *op, const TeDefines *defines,
                Te **out);
/* The ops of a file in order, after a full check of each.  */
Status te_parse_all(Arena *a, Diag *d, DiagText text, const TeDefines *defines, Te ***out,
                    int *n_out);

/* Names the first broken rule of the structure; NULL if there is none.  For asserts and tests: what
 * te_parse and te_normalize give must always pass.  */
const char *te_check(const Te *te);

/* The canonical text (docs/te-reference.md, "Canonical form"); that of one expression.  */
void te_print(const Te *te, Buf *out);
void te_print_expr(const Te *te, const TeStmt *s, const TeExpr *e, Buf *out);
/* The canonical text with names by order of declaration: the expression's identity for hashes.  */
void te_print_positional(const Te *te, Buf *out);
void te_print_stmt(const Te *te, const TeStmt *s, Buf *out);
/* The decisions taken in a normalized op, `t repeated + S joined`; "usual" if there are none.  */
const char *te_decisions_text(Arena *a, const Te *te);
/* Are the same taken in two normalized forms of an op?  */
bool te_same_decisions(const Te *te, const Te *other);
/* Is the decision taken at the statement's site?  Asked only where it would make a difference:
 * which is noted.  */
bool te_takes(const Te *te, const TeStmt *s, TeDecision d);

/* A run-time op with its sizes set: value[i] for size i (static ones are ignored); checks range and
 * multiple.  A static op is returned as it is.  */
Status te_specialize(Arena *a, Diag *d, const Te *te, const int64_t *value, const Te **out);
/* Value of a size expression, run-time sizes taken from value[].  */
int64_t te_extent_eval(const Te *te, const TeExtent *e, const int64_t *value);

/* The same op with its figures at these sizes: an extent's `value` is the one there, if the extent
 * grows with all its sizes (else the largest of all); what else there is stays.  So `value` is the
 * largest of all sizes up to these.  */
Te *te_sized(Arena *a, const Te *te, const int64_t *value);
/* Such copies of one op, each made once.  */
typedef struct {
    Arena *a;
    const Te *te;
    struct TeSizedAt *known;
} TeSized;
const Te *te_sized_once(TeSized *x, const int64_t *value);
/* What is known of a run-time size beyond its range; 0: nothing.  */
typedef struct {
    int64_t multiple, most;
} TeGiven;
/* The same op for those of its run-time sizes of which that holds, which is known of all that is
 * made of them, too: where one value is left it is a number.  The op as it is where nothing more is
 * known, so that a plan of one is a plan of the other.  NULL: there are no such sizes.  */
Te *te_given(Arena *a, const Te *te, const TeGiven *given);
/* Are all these run-time sizes what the op knows of them?  */
bool te_gives(const Te *te, const int64_t *value);
/* Other sizes for some statements of such a copy, and for all that these read and assign.  */
void te_resize(Te *sized, const int *stmt, int n, const int64_t *value);
/* Is a READ inside at every point of its statement, whatever the conditions around it say?  Only
 * then it may be made apart from them.  */
static inline bool te_always_inside(const TeExpr *read) {
    return !read->other && read->inside == TE_INSIDE_ALWAYS;
}
/* Does the reduction give a position: argmax, argmin?  */
static inline bool te_positional(const TeExpr *reduce) {
    return reduce->red == TE_RED_ARGMAX || reduce->red == TE_RED_ARGMIN;
}
/* The type in which an operand of a call is taken: that of the value, but for codes.  */
static inline TeDtype te_operand_type(const TeExpr *call, int i) {
    bool codes = te_takes_operands(call->v.fn) >= TE_TAKES_CODE;
    return codes ? call->args[i]->type : call->type;
}
/* The type of the values that it compares or adds.  */
static inline TeDtype te_reduced_type(const TeExpr *reduce) {
    return te_positional(reduce) ? reduce->args[0]->type : reduce->type;
}
static inline bool te_is_recurrence(const TeExpr *e) {
    return e->kind == TE_REDUCE && e->red == TE_RED_AFFINE;
}
/* Its (r <= i); NULL: it has one point.  */
static inline const TeExpr *te_recurrence_order(const TeExpr *e) {
    return e->args[0]->kind == TE_SELECT ? e->args[0]->args[0] : NULL;
}
/* What a partial result has beside its value: position, factor; TE_DTYPE_COUNT: nothing.  */
static inline TeDtype te_beside_type(const TeExpr *reduce) {
    if (te_positional(reduce)) return TE_I32;
    return te_is_recurrence(reduce) ? reduce->type : TE_DTYPE_COUNT;
}
static inline bool te_is_paired(const TeExpr *reduce) {
    return te_beside_type(reduce) != TE_DTYPE_COUNT;
}
/* A temporary that is there for other statements of this op alone: it need be stored nowhere.  */
static inline bool te_is_passing(const TeTensor *t) { return t->role == TE_TEMP && !t->held; }
/* What a reduction of the compute type gives over nothing: in *i of integers and bools, else in
 * *r.  */
void te_identity(TeRedop red, TeDtype type, int64_t *i, double *r);
/* How many values an index takes at the largest sizes.  */
static inline int64_t te_index_extent(const TeIndex *x) {
    int64_t n = x->hi.value - x->lo.value;
    return n > 0 ? n : 0;
}
/* Is it 1 at all sizes?  */
static inline bool te_extent_is_one(const TeExtent *e) { return !e->expr && e->value == 1; }
/* A number that divides the extent at all sizes; 0 if it is always 0.  */
static inline int64_t te_extent_divisor(const TeExtent *e) {
    return e->expr ? e->multiple : e->value;
}

/* Normal form: every statement is either a map (no REDUCE) or a reduction (a REDUCE as the whole
 * right side, no REDUCE inside).  Reductions inside expressions become temporaries of the
 * compute type with the free indices they depend on, equal ones once; element-wise temporaries are
 * substituted into their readers where that costs less than storing them and repeats no reduction.
 * Every index starts at 0, what nobody reads is gone, casts that change nothing too.  Same values
 * as `te`.  */
Status te_normalize(Arena *a, Diag *d, const Te *te, Te **out);

/* te_normalize in two halves.  An op in the form that does not depend on how it is spelled, before
 * anything is decided: what is decided is by its statements.  */
typedef struct {
    Te *te;
    int *origin;              /* statement -> the one of the source it came from */
    bool *changed;            /* per statement: its right side is no longer as it was written */
    int n_source;             /* statements of the source */
} TeCanonical;
Status te_canonical(Arena *a, Diag *d, const Te *te, TeCanonical *out);
/* The normal form with these decisions (NULL: the usual ones, and nothing is noted).  */
Te *te_decided(Arena *a, const TeCanonical *c, const TeDecisions *decisions);
/* Some statements of the op, in order, for te_decided alone: what they read of others are tensors
 * that nobody makes, which te_check allows in no op.  held[i]: the tensor of the i-th is stored for
 * others, too.  */
void te_part(Arena *a, const TeCanonical *whole, const int *stmt, const bool *held, int n,
             TeCanonical *out);
#endif
