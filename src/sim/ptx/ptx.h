/* PTX text as data: the parsed form of a module.
 *
 * Takes: PTX text.  Gives: a PtxModule on the arena, immutable afterwards.  Nothing here executes;
 * exec.h has the executable form, ptx_words.h the closed sets of the language.  */
#ifndef ROLLER_SIM_PTX_PTX_H
#define ROLLER_SIM_PTX_PTX_H
#include "base/diag.h"
#include "sim/ptx/ptx_words.h"

typedef enum {
    SPACE_GENERIC, SPACE_GLOBAL, SPACE_SHARED, SPACE_SHARED_CLUSTER, SPACE_LOCAL, SPACE_CONST,
    SPACE_PARAM, SPACE_COUNT
} PtxSpace;

/* A variable in memory (or a parameter).  `offset` is relative to the start of its space: of the
 * parameter space for parameters, of the function's frame for .local and .param inside a body, of
 * the module's image for .global and .const; .shared is placed by the linker.  */
typedef struct PtxSymbol PtxSymbol;
typedef struct {
    int64_t at;               /* byte offset in the variable */
    const PtxSymbol *symbol;  /* an address as initialiser */
    const struct PtxFunc *func;           /* that of a function instead */
    int64_t add;
    int first, bytes;         /* which bytes of the address are stored */
} PtxReloc;
struct PtxSymbol {
    const char *name;
    PtxSpace space;
    PtxType type;
    int64_t bytes, align, offset;
    bool external;            /* extern .shared []: the dynamic part */
    const uint8_t *init;      /* the first init_bytes bytes, the others are 0; or NULL */
    int64_t init_bytes;
    const PtxReloc *reloc;
    int n_reloc;
    int line;
    PtxSymbol *next;          /* in its scope */
    PtxSymbol *chain;         /* .global and .const: the next one of the module */
};

typedef enum {
    OPND_NONE,                /* '_' */
    OPND_REG,                 /* reg; `negate` for !p */
    OPND_INT, OPND_REAL,      /* immediates */
    OPND_SREG,
    OPND_SYMBOL,              /* address of a variable, plus `offset` */
    OPND_VECTOR,              /* {a, b, ..}: elem */
    OPND_PAIR,                /* d|p: elem[0], elem[1] */
    OPND_ADDRESS,             /* [base + offset]: elem[0] is REG, SYMBOL or INT; [base, {c0, c1}]
                               * has elem[1] VECTOR */
    OPND_LABEL, OPND_FUNC, OPND_TABLE,
    OPND_PROTOTYPE,           /* of an indirect call: func is one of the function's prototypes */
    OPND_LIST                 /* (a, b) of a call */
} PtxOpndKind;
typedef struct PtxFunc PtxFunc;
typedef struct PtxOpnd PtxOpnd;
struct PtxOpnd {
    PtxOpndKind kind;
    bool negate, single;      /* single: a real written as 0f........ */
    int reg;                  /* register number in its function; PtxSreg for OPND_SREG */
    int n;
    int64_t offset;           /* value of OPND_INT (two's complement); address offset */
    double real;
    const PtxSymbol *symbol;
    const char *name;         /* of label, function or table, resolved when the function ends */
    int target;               /* label: instruction number; table: index in tables */
    PtxFunc *func;
    PtxOpnd *elem;
};

enum { PTX_MAX_TYPES = 8, PTX_MAX_OPERANDS = 16 };
typedef struct {
    PtxOp op;
    PtxMods mods;
    PtxMod order[16];         /* the modifiers as written */
    PtxType type[PTX_MAX_TYPES];
    int n_order, n_type, m, n, k;      /* m, n, k: of a shape .m16n8k16, else 0 */
    int guard;                /* register number of the predicate, -1: none */
    bool guard_not;
    int line, column;         /* in the PTX text */
    int cu_file, cu_line;     /* index into files of the module, -1: none */
    uint32_t unused;          /* of what a load reads: bytes that nothing depends on */
    const char *text;         /* opcode with modifiers, as written */
    const char *why;          /* OP_UNKNOWN: what is not known of it */
    PtxOpnd *opnd;
    int n_opnd;
} PtxInst;

typedef struct {
    const char *name;         /* as declared; the registers of a range share its prefix */
    PtxType type;
    int index;                /* of a register of a range, -1: a single one */
} PtxReg;

typedef struct {
    const char *name;
    int *target;              /* instruction numbers */
    int n;
    const char **label;
} PtxTable;

/* A function; or a prototype, which has parameters and results, and may list what can be called. */
struct PtxFunc {
    const char *name;
    int number;               /* in the module, from 0 */
    bool kernel, defined;
    bool taken;               /* its address is used otherwise than to call it by name */
    PtxFunc *prototype;       /* those of the body, linked by next */
    PtxFunc **callee;         /* of a prototype by .calltargets; NULL: any function of that shape */
    size_t n_callee;
    PtxSymbol **param, **result;
    int n_param, n_result;
    int64_t param_bytes, frame_bytes;  /* frame: .local and .param of the body */
    PtxReg *reg;
    size_t n_reg, cap_reg;
    PtxInst *inst;
    size_t n_inst, cap_inst;
    PtxTable *table;
    size_t n_table, cap_table;
    int reqntid[3], maxntid[3], cluster[3];   /* 0: not given */
    int minnctapersm, maxnreg, max_cluster;
    bool explicit_cluster;
    int line;
    PtxFunc *next;
};

typedef struct {
    const char *file;         /* of the PTX text, for messages */
    const char *text;
    size_t len;
    int version_major, version_minor, sm;     /* .version 9.0, .target sm_90a: 90 */
    bool arch_specific;       /* the 'a' (or 'f') of .target */
    PtxFunc *func;            /* in order of the text */
    PtxSymbol *variable;      /* .global and .const of all scopes, linked by chain */
    const char **files;       /* of .file */
    size_t n_files, cap_files;
    int64_t global_bytes, const_bytes;        /* static variables, aligned */
} PtxModule;

/* Parses the text.  ST_SIMULATOR names what is unknown with its place.  */
Status sim_ptx_parse(Arena *a, Diag *d, const char *file, const char *text, size_t len,
                     PtxModule **out);
int sim_type_bits(PtxType t);
const char *sim_type_name(PtxType t);
const char *sim_mod_name(PtxMod m);
const char *sim_op_name(PtxOp op);
const char *sim_op_pattern(PtxOp op);         /* the operands, as in PTX_OPS */
static inline bool ptx_is_int(PtxType t) { return t >= PTX_B8 && t <= PTX_S64; }
static inline bool ptx_signed(PtxType t) {
    return t == PTX_S8 || t == PTX_S16 || t == PTX_S32 || t == PTX_S64 || t == PTX_S4;
}
#endif
