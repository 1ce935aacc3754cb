/* What a kernel computes: typed values in a tree of statements.
 *
 * Values are pure: numbers, names, the arithmetic of C, choices, conversions, elements of arrays
 * and of memory, calls.  Operands meet by the usual conversions of C, so a value means the same in
 * CUDA C++ and in OpenCL C.  Statements define, assign, store, loop, test.  Building blocks make
 * both in the order of the kernel, in the block of Cg that is open; ir_print.c prints each kind in
 * one place.
 *
 * The folding of numbers here is the only simplifier.  */
#ifndef ROLLER_CODEGEN_IR_IR_H
#define ROLLER_CODEGEN_IR_IR_H
#include "base/buf.h"
#include "codegen/ir/sync_kinds.h"
#include "hal/device.h"

/* ---- types ---- */

#define IR_BASES(X)           /*  CUDA C++; OpenCL C; middle of function names; bytes; signed */   \
    X(VOID, "void",               "void",   "",    0, false)                                      \
    X(BOOL, "bool",               "bool",   "b",   1, false)                                      \
    X(I8,   "signed char",        "char",   "i8",  1, true)                                       \
    X(U8,   "unsigned char",      "uchar",  "u8",  1, false)                                      \
    X(I16,  "short",              "short",  "i16", 2, true)                                       \
    X(U16,  "unsigned short",     "ushort", "u16", 2, false)                                      \
    X(I32,  "int",                "int",    "i32", 4, true)                                       \
    X(U32,  "unsigned",           "uint",   "u32", 4, false)                                      \
    X(I64,  "long long",          "long",   "i64", 8, true)                                       \
    X(U64,  "unsigned long long", "ulong",  "u64", 8, false)                                      \
    X(F32,  "float",              "float",  "f32", 4, true)                                       \
    X(F64,  "double",             "double", "f64", 8, true)
typedef enum {
#define X(id, cuda, opencl, middle, bytes, sign) IR_##id,
    IR_BASES(X)
#undef X
        IR_BASE_COUNT
} IrBase;

typedef enum { IR_REGISTERS, IR_GLOBAL, IR_SHARED } IrSpace;

enum { IR_RANK = 3 };
/* A scalar (which a vector of one is, too), a vector of `lanes` elements, or, with `rank` > 0, an
 * array of these or a pointer to them in a space of memory.  */
typedef struct {
    uint8_t base, lanes, rank, space;
    bool constant;            /* pointer: the elements do not change */
} IrType;

static inline IrType ir_type(IrBase base) { return (IrType){.base = (uint8_t)base, .lanes = 1}; }
static inline IrType ir_pointer(IrBase base, IrSpace space, bool constant) {
    return (IrType){(uint8_t)base, 1, 1, (uint8_t)space, constant};
}
static inline IrType ir_array_of(IrBase base) { return ir_pointer(base, IR_REGISTERS, false); }
static inline IrType ir_vector(IrBase base, int lanes) {
    return (IrType){.base = (uint8_t)base, .lanes = (uint8_t)lanes};
}
/* The type of an element in memory, of a value in registers.  */
IrBase ir_storage(TeDtype t);
IrBase ir_compute(TeDtype t);

/* ---- values ---- */

#define IR_OPS(X)             /*  sign in C; binds tighter the larger the number */                \
    X(NUMBER,  "",   16)      /* `i`, or `r` of a real type */                                     \
    X(NAME,    "",   16)                                                                           \
    X(SPECIAL, "",   16)      /* special register `i` of the thread: IrSpecial */                  \
    X(CALL,    "",   16)      /* function<number, ...>(values) */                                  \
    X(ELEMENT, "",   15)      /* array[index] */                                                   \
    X(LANE,    "",   15)      /* element of a vector */                                            \
    X(ADDRESS, "&",  14)                                                                           \
    X(NEG,     "-",  14)                                                                           \
    X(NOT,     "!",  14)                                                                           \
    X(CAST,    "",   14)                                                                           \
    X(MUL,     "*",  13)                                                                           \
    X(DIV,     "/",  13)                                                                           \
    X(REM,     "%",  13)                                                                           \
    X(ADD,     "+",  12)                                                                           \
    X(SUB,     "-",  12)                                                                           \
    X(SHL,     "<<", 11)                                                                           \
    X(SHR,     ">>", 11)                                                                           \
    X(LT,      "<",  10)                                                                           \
    X(LE,      "<=", 10)                                                                           \
    X(GT,      ">",  10)                                                                           \
    X(GE,      ">=", 10)                                                                           \
    X(EQ,      "==", 9)                                                                            \
    X(NE,      "!=", 9)                                                                            \
    X(AND,     "&",  8)                                                                            \
    X(XOR,     "^",  7)                                                                            \
    X(OR,      "|",  6)                                                                            \
    X(BOTH,    "&&", 5)                                                                            \
    X(EITHER,  "||", 4)                                                                            \
    X(SELECT,  "?",  3)
typedef enum {
#define X(id, sign, binds) IR_##id,
    IR_OPS(X)
#undef X
        IR_OP_COUNT
} IrOp;

/* The number of the thread in its block, of the block along x and y, of blocks along x.  */
typedef enum { IR_THREAD, IR_BLOCK_X, IR_BLOCK_Y, IR_BLOCKS_X } IrSpecial;

/* What a name stands for: the definition that has it.  The printer makes its text of the word
 * (names.c), which tells readers what it is, and need not be the only one.  */
typedef struct {
    const char *word;
    IrType type;
    bool natural;             /* never below 0 */
    const char *text;         /* made by the printer */
    bool open;                /* (of the printer) it has been defined, in a scope that is open */
} IrName;

typedef struct IrValue IrValue;
/* A value; NULL: none.  */
typedef const IrValue *Ir;
struct IrValue {
    IrOp op;
    IrType type;
    int n;
    const Ir *arg;
    int64_t i;
    double r;
    IrName *name;
    const char *text;         /* CALL: the function */
    const int *number;        /* CALL: numbers in its name, ... */
    int n_number, places;     /* ... and its first arguments, which it changes */
};

/* ---- statements ---- */

#define IR_STATEMENTS(X)                                                                           \
    X(BLOCK,    "block")      /* children in a scope of their own; the root: the kernel's body */  \
    X(LET,      "let")        /* a name that keeps its value */                                    \
    X(CONSTANT, "constant")   /* ... which is a number that the compiler knows */                  \
    X(VARIABLE, "variable")   /* a name, an array maybe, with a value or not */                    \
    X(ROOM,     "room")       /* shared memory of the block */                                     \
    X(SET,      "set")        /* place op= value */                                                \
    X(DO,       "do")         /* a call for its effect */                                          \
    X(MULTIPLY, "multiply")   /* to += arg 0 * arg 1, in registers or by descriptors, by the */    \
                              /* instruction `text` of a unit's row, of forms `number`; to = it */ \
                              /* where there is an arg 2 that is false */                          \
    X(MATRICES, "matrices")   /* `number` 0 of 8 rows each, transposed if `number` 1, from the */  \
                              /* shared memory at arg 0, the lane's row of one, to registers */    \
    X(SYNC,     "sync")       /* see IrSyncOf */                                                   \
    X(COPY,     "copy")       /* to shared memory without registers: see IrCopy */                 \
    X(BOX,      "box")        /* a copy of a box of a tensor map: see IrBox */                     \
    X(SETTLE,   "settle")     /* registers `to`, of instructions under way, have their values */   \
    X(REGISTERS, "registers") /* `number` 0 to a thread from here on, fewer if `number` 1 */       \
    X(FOR,      "for")                                                                             \
    X(UNTIL,    "until")      /* children, then the test whether to go on */                       \
    X(IF,       "if")         /* children, and `other` */                                          \
    X(BREAK,    "break")                                                                           \
    X(CONTINUE, "continue")                                                                        \
    X(RETURN,   "return")                                                                          \
    X(NOTE,     "note")       /* a comment */                                                      \
    X(BLANK,    "blank")      /* an empty line */                                                  \
    X(WAIT,     "wait")       /* for the kernel before; `child`: pointers made anew behind it */   \
    X(EXCHANGE, "exchange")   /* a name for what another lane of the warp has of a value */
typedef enum {
#define X(id, name) IR_STMT_##id,
    IR_STATEMENTS(X)
#undef X
        IR_STMT_COUNT
} IrKind;

/* Whose threads meet: what each has stored before is then seen by all of them.  */
typedef enum { IR_SYNC_WARP = SYNC_WARP, IR_SYNC_BLOCK = SYNC_BLOCK } IrSync;

/* Another lane, of a group of `lanes` neighbours (XOR: of the warp): the one whose number differs
 * in the bits `by`, that is `by` below (its own where there is none), that has the number `by`.
 * All lanes of the warp come to it.  */
typedef struct {
    enum { IR_LANE_XOR, IR_LANE_BELOW, IR_LANE_NUMBER } which;
    Ir by;
    int lanes;
} IrOther;

/* Copies of a loop's body: all, or so many; as the compiler likes.  */
enum { IR_UNROLL_ALL = 0, IR_UNROLL_FREE = -1 };

typedef struct IrStmt IrStmt;
struct IrStmt {
    IrKind kind;
    IrName *name;             /* that is defined, or runs through a loop */
    Ir to, value;             /* SET: place and value; FOR: first value in `value`, NULL: the name
                               * is a variable that has one */
    Ir test;                  /* FOR, UNTIL, IF */
    IrOp op;                  /* SET: IR_NUMBER: =; FOR: how the name goes on, ... */
    Ir by;                    /* ... with this */
    int unroll;               /* FOR, UNTIL; ROOM: how its bytes are aligned */
    IrOther lane;             /* EXCHANGE */
    int64_t extent[IR_RANK];  /* VARIABLE: of an array; ROOM: its bytes */
    bool zero;                /* VARIABLE: an array of zeros */
    const Ir *arg;            /* of what instructions do */
    const int *number;
    int n, n_number;
    SyncScope scope;          /* SYNC */
    SyncOp sync;
    const char *text;         /* NOTE; SYNC: a comment behind it, or NULL */
    IrStmt *child, *other, *next, *parent;
    IrStmt **end;             /* while it is built: where the next statement in it goes */
};

/* ---- building: in the block of Cg that is open ---- */

typedef struct Cg Cg;

/* Values.  A `long long` number prints as one.  */
Ir ir_number(const Cg *c, IrBase base, int64_t v);
Ir ir_int(const Cg *c, int64_t v);              /* int where it fits, else long long */
Ir ir_real(const Cg *c, IrBase base, double v);
Ir ir_bool(const Cg *c, bool v);
Ir ir_zero(const Cg *c, IrType type);           /* a vector of zeros, too */
/* Words of names: a stem and a number, "i3"; two in one.  */
const char *ir_numbered(const Cg *c, const char *stem, int number);
const char *ir_joined(const Cg *c, const char *stem, const char *end);
/* A name that is defined later.  */
Ir ir_name(const Cg *c, IrType type, const char *word);
Ir ir_counter(const Cg *c, IrBase base, const char *word); /* likewise, never below 0 */
Ir ir_named(const Cg *c, IrName *name);
/* A name in a value for people, which no definition has.  */
Ir ir_given(const Cg *c, IrType type, const char *text);
Ir ir_binary(const Cg *c, IrOp op, Ir x, Ir y);
Ir ir_unary(const Cg *c, IrOp op, Ir x);        /* NEG, NOT, ADDRESS */
Ir ir_cast(const Cg *c, IrBase base, Ir x);
Ir ir_as(const Cg *c, IrBase base, Ir x); /* the value itself where it has that type */
Ir ir_view(const Cg *c, IrType pointer, Ir x);  /* memory as elements of another type */
Ir ir_const(const Cg *c, Ir pointer);     /* to elements that do not change */
Ir ir_select(const Cg *c, Ir test, Ir yes, Ir no);
Ir ir_element(const Cg *c, Ir array, Ir index);
Ir ir_lane(const Cg *c, Ir vector, Ir lane);
/* function(n values) of `type`; `numbers` stand in its name, as the 4 of rl_load<4>.  */
Ir ir_call(const Cg *c, IrType type, const char *function, int n, ...);
Ir ir_call_n(const Cg *c, IrType type, const char *function, int number, int n, ...);
/* x, of which neither a simplifier here nor a compiler knows anything more: a guard against faults
 * of compilers, or for what they would make again and again.  */
Ir ir_hidden(const Cg *c, IrBase type, Ir x);
/* Changes its first `places` arguments.  */
Ir ir_call_in_place(const Cg *c, const char *function, int places, int n, ...);
Ir ir_load(const Cg *c, Ir pointer, int width); /* a vector of neighbours; of one: the element */

static inline Ir ir_add(const Cg *c, Ir x, Ir y) { return ir_binary(c, IR_ADD, x, y); }
static inline Ir ir_sub(const Cg *c, Ir x, Ir y) { return ir_binary(c, IR_SUB, x, y); }
static inline Ir ir_mul(const Cg *c, Ir x, Ir y) { return ir_binary(c, IR_MUL, x, y); }
static inline Ir ir_div(const Cg *c, Ir x, Ir y) { return ir_binary(c, IR_DIV, x, y); }
static inline Ir ir_rem(const Cg *c, Ir x, Ir y) { return ir_binary(c, IR_REM, x, y); }
static inline Ir ir_lt(const Cg *c, Ir x, Ir y) { return ir_binary(c, IR_LT, x, y); }
/* Both tests; either may be NULL.  */
Ir ir_both(const Cg *c, Ir x, Ir y);
/* A sum whose first part may be NULL.  */
static inline Ir ir_sum(const Cg *c, Ir sum, Ir x) { return sum ? ir_add(c, sum, x) : x; }
/* x (or NULL) + y, a part of y after the other: compilers tell x + (y + z) from x + y + z.  */
Ir ir_add_parts(const Cg *c, Ir x, Ir y);
/* x + n, x * n, x / n, x < n for a number of x's type (of int, for narrower ones).  */
Ir ir_add_n(const Cg *c, Ir x, int64_t n);
Ir ir_mul_n(const Cg *c, Ir x, int64_t n);

Ir ir_min(const Cg *c, Ir x, Ir y);       /* of integers */
Ir ir_max(const Cg *c, Ir x, Ir y);

bool ir_is_number(Ir x, int64_t *v);      /* an integer that is known */
bool ir_is(Ir x, int64_t v);
int ir_bytes(IrBase base);

Ir ir_thread(const Cg *c);                      /* number of the thread in its block: unsigned */
Ir ir_block(const Cg *c, int dim);              /* number of the block, ... */
Ir ir_blocks(const Cg *c);                      /* ... of how many along x */

/* Statements.  What defines a name gives it back.  */
void ir_begin(Cg *c);                     /* the body of a kernel */
Ir ir_let(Cg *c, const char *name, Ir value);
Ir ir_let_as(Cg *c, IrBase base, const char *name, Ir value);
Ir ir_constant(Cg *c, const char *name, Ir value);        /* let, if it is no number */
void ir_define(Cg *c, Ir name, Ir value); /* the same of a name that there is */
Ir ir_variable(Cg *c, IrBase base, const char *name, Ir value);          /* NULL: none */
Ir ir_variable_of(Cg *c, const char *name, Ir value);     /* of the value's type, a pointer maybe */
/* An array in registers, of vectors if type.lanes > 1, of pointers; extent 0 ends the list.  The
 * same in shared memory; one of zeros.  */
Ir ir_array(Cg *c, IrType type, const char *name, int64_t n0, int64_t n1, int64_t n2);
Ir ir_shared_array(Cg *c, IrBase base, const char *name, int64_t n);
Ir ir_zeros(Cg *c, IrType type, const char *name, int64_t n);
/* The same of a name that there is: a value or (NULL) none, an array of n.  */
void ir_declare(Cg *c, Ir name, Ir value);
void ir_declare_array(Cg *c, Ir name, int64_t n);
void ir_set(Cg *c, Ir place, Ir value);
void ir_update(Cg *c, IrOp op, Ir place, Ir value);       /* place op= value */
void ir_do(Cg *c, Ir call);
/* Stores `width` neighbours of an array, or with 1 the value: function NULL, rl_store.  */
void ir_store(Cg *c, const char *function, int width, Ir pointer, Ir array);
/* What an instruction of a matrix unit adds to registers, and what `ldmatrix` fetches.  */
typedef struct {
    const char *instruction;
    const int *form;          /* numbers in its name */
    int forms;
    Ir adds;                  /* does it, or begin anew?  NULL: it cannot be told */
    const Ir *scale;          /* with scales of blocks: registers of a and of b, or where they begin
                               * in Tensor Memory, their first byte, ... */
    int scales;               /* ... and of registers lanes of a and of b */
} IrUnit;
enum { IR_SCALES = 5, IR_TENSOR_SCALES = 3 };
void ir_multiply(Cg *c, const IrUnit *unit, Ir to, Ir a, Ir b);
void ir_matrices(Cg *c, int n, bool transposed, Ir to, Ir from);
/* Any sync.  NAMED: `number` threads at the barrier of arg 0.  BARRIER: that at arg 0 in shared
 * memory: INIT: of `number` arrivals; WAIT: until the round of parity arg 1 ends; ARRIVE: if not 0,
 * `number` bytes are to come besides; with arg 1: at the block of the cluster that it is.  Groups:
 * WAIT until at most `number` are under way; INIT: registers are as the first of PRODUCTS needs
 * them.  */
typedef struct {
    SyncScope scope;
    SyncOp op;
    int number;
    Ir arg[2];                /* or NULL */
    const char *note;         /* or NULL */
    bool pair;                /* COMMIT: of products of a pair; ARRIVE: at another block's */
    bool copies;              /* COMMIT: of copies */
} IrSyncOf;
void ir_sync_of(Cg *c, const IrSyncOf *x);
/* A copy to the address `to` in shared memory, by the prelude's function of a mover; zeros where it
 * is not `inside`.  */
typedef struct {
    const char *mover;
    Ir to, from, inside;
    Ir wanted;                /* is there one?  NULL: there is */
} IrCopy;
void ir_copy(Cg *c, const IrCopy *x);
enum { IR_BOX = 5 };
typedef struct {
    Ir map, shared;           /* tensor map, and the address in shared memory */
    Ir barrier;               /* that a load tells; NULL: it is a store */
    int blocks;               /* of the cluster, bits, that all get a load; 0: this one */
    bool pair;                /* the barrier may be the other block's of a pair */
    int rank;
    Ir at[IR_BOX];            /* coordinates */
    int offsets;              /* > 0: a column of pixels (im2col), moved by so many offsets */
    Ir offset[IR_BOX];
} IrBox;
void ir_box(Cg *c, const IrBox *x);
void ir_settle(Cg *c, Ir registers);
void ir_registers(Cg *c, int n, bool fewer);
/* for (int name = from; name < end; name += by).  */
Ir ir_for(Cg *c, const char *name, Ir from, Ir end, int64_t by, int unroll);
Ir ir_count(Cg *c, const char *name, int64_t n, int unroll);             /* from 0 */
/* The same of a name that there is.  */
Ir ir_for_of(Cg *c, Ir var, Ir from, Ir end, int64_t by, int unroll);
Ir ir_count_of(Cg *c, Ir var, int64_t n, int unroll);
/* Any other: the test asks `var`, an ir_name.  */
typedef struct {
    IrOp op;
    Ir by;
} IrNext;                     /* var op= by */
void ir_loop(Cg *c, Ir var, Ir from, Ir test, IrNext next, int unroll);
/* The same from where a variable is.  */
void ir_go_on(Cg *c, Ir var, Ir test, IrNext next, int unroll);
void ir_until_begin(Cg *c, int unroll);
void ir_until_end(Cg *c, Ir go_on);
/* Goes on while ++var < end: compilers tell that from var += 1 before the test.  */
void ir_until_count(Cg *c, Ir var, Ir end);
void ir_if(Cg *c, Ir test);
void ir_else(Cg *c);                      /* instead of ir_close of the if */
void ir_scope(Cg *c);
void ir_close(Cg *c);
void ir_simple(Cg *c, IrKind kind);       /* BREAK, CONTINUE, RETURN, BLANK */
void ir_note(Cg *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void ir_wait(Cg *c);                      /* for the kernel before */
void ir_sync(Cg *c, IrSync scope, const char *note);      /* note: what for, or NULL */
Ir ir_exchange(Cg *c, const char *name, Ir value, IrOther other);        /* of a bool: an int */
Ir ir_room(Cg *c, const char *name, int align, int64_t bytes);           /* < 0: by the launch */

/* ---- legalize.c ---- */

/* The body of a kernel of so many threads for a language that has no shuffles and no barriers of
 * warps.  NULL: it has a meeting that not all threads come to.  */
const IrStmt *ir_legalize(Cg *c, const IrStmt *body, int threads);
#endif
