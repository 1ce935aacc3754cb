/* The parser's own state, shared by its files.  A parse function returns false after an error.  */
#ifndef ROLLER_SIM_PTX_PTX_PARSE_H
#define ROLLER_SIM_PTX_PTX_PARSE_H
#include "sim/ptx/ptx_lex.h"

/* .reg .b32 %r<10>, %x;  */
typedef struct PtxRegDecl PtxRegDecl;
struct PtxRegDecl {
    const char *name;
    size_t len;
    int first, count;         /* register numbers; count -1: a single register of that name */
    PtxRegDecl *next;
};

typedef struct PtxScope PtxScope;
struct PtxScope {
    PtxScope *outer;
    PtxRegDecl *reg;
    PtxSymbol *symbol;
};

typedef struct {
    const char *name;
    PtxScope *scope;
    int target;
} PtxLabel;

/* A label or table named by an operand, to be resolved at the end of the function.  */
typedef struct {
    PtxOpnd *opnd;            /* NULL: entry of a branch table */
    int *slot;
    const char *name;
    PtxScope *scope;
    size_t at;
} PtxUse;

typedef enum { WORD_FREE, WORD_TYPE, WORD_MOD, WORD_OP, WORD_SREG } PtxWordKind;
typedef struct {
    const char *text;
    size_t n;
    PtxWordKind kind;
    int id;
} PtxWord;
enum { PTX_WORDS = 2048 };    /* a power of two, several times the number of words */

typedef struct {
    PtxLex lex;
    Arena *arena;
    PtxModule *m;
    PtxScope *scope;          /* the innermost one; the last is that of the module */
    PtxScope top;
    PtxFunc *f;               /* the function being read */
    PtxLabel *label;
    size_t n_label, cap_label;
    PtxUse *use;
    size_t n_use, cap_use;
    int cu_file, cu_line;     /* of the last .loc */
    const char *unknown;      /* an operand of the instruction that nobody knows; else NULL */
    uint32_t unused;          /* bytes that the next load does not need, by a pragma before it */
    PtxWord *words;
} PtxParser;

bool sim_ptx_expect(PtxParser *p, char punct);
bool sim_ptx_accept(PtxParser *p, char punct);
bool sim_ptx_int(PtxParser *p, int64_t *out);                   /* a constant expression */
const char *sim_ptx_name(PtxParser *p);             /* a word, copied; NULL after an error */
PtxType sim_ptx_type(const PtxParser *p, const char *s, size_t n);     /* PTX_NONE if it is none */
/* Kind and number of a word of an opcode, or of a special register; WORD_FREE if unknown.  */
PtxWordKind sim_ptx_word(const PtxParser *p, PtxWordKind kind, const char *s, size_t n, int *id);
void sim_ptx_words(PtxParser *p);                               /* fills the table */

/* Variables.  The current token is what follows the state space.  */
bool sim_ptx_variables(PtxParser *p, PtxSpace space, bool external);
/* One declarator with alignment and type, without initialiser; for parameters.  */
PtxSymbol *sim_ptx_parameter(PtxParser *p);
PtxSymbol *sim_ptx_symbol(const PtxParser *p, const char *name, size_t n);
/* [N] after the name of a variable, if it is there: adds N elements in bytes.  */
bool sim_ptx_index(PtxParser *p, const PtxSymbol *v, int64_t *offset);
bool sim_ptx_plus(PtxParser *p, int64_t *offset);               /* +N -N, any number of them */
int64_t sim_ptx_place(int64_t *used, int64_t bytes, int64_t align);
PtxFunc *sim_ptx_func(const PtxParser *p, const char *name, size_t n);

/* (.param ..., ...), the current token being the bracket.  */
bool sim_ptx_parameters(PtxParser *p, PtxSymbol ***list, int *n);
/* .callprototype or .calltargets, the current token being what follows; `name` is the label.  */
bool sim_ptx_prototype(PtxParser *p, const char *name, bool targets);
bool sim_ptx_body(PtxParser *p);                                /* after '{' */
bool sim_ptx_loc(PtxParser *p);                                 /* after .loc */
bool sim_ptx_skip_statement(PtxParser *p);                      /* up to and including ';' */
bool sim_ptx_inst(PtxParser *p, int guard, bool guard_not);     /* at the opcode, extended */
void sim_ptx_demand(Arena *a, PtxFunc *f);                      /* fills `unused` of loads */
bool sim_ptx_reg(const PtxParser *p, const char *name, size_t n, int *reg);
#endif
