/* Tokens of PTX text.  The lexer keeps one token; a position is a byte offset into the text.  */
#ifndef ROLLER_SIM_PTX_PTX_LEX_H
#define ROLLER_SIM_PTX_PTX_LEX_H
#include "sim/ptx/ptx.h"

typedef enum {
    TOK_END, TOK_WORD,        /* identifier, register, special register */
    TOK_DOT,                  /* .directive, without the dot */
    TOK_INT, TOK_REAL, TOK_STRING, TOK_PUNCT
} PtxTokKind;

typedef struct {
    const char *file, *text;
    size_t len, pos;          /* pos: after the current token */
    int line;                 /* of the current token, from 1 */
    size_t line_start;
    PtxTokKind kind;
    size_t at;                /* where the current token starts */
    const char *word;         /* not terminated; strings without quotes */
    size_t n;
    uint64_t value;           /* TOK_INT */
    bool is_unsigned;
    double real;              /* TOK_REAL */
    bool single;              /* 0f........ */
    char punct;
    Diag *diag;
    bool failed;
} PtxLex;

void sim_lex_init(PtxLex *x, Diag *d, const char *file, const char *text, size_t len);
/* Moves to the next token.  A character that no token starts with is an error (failed).  */
void sim_lex_next(PtxLex *x);
/* Extends the current word by dotted parts: an opcode with its modifiers.  */
void sim_lex_opcode(PtxLex *x);
/* Reports at the current token; sets failed, returns false.  */
bool sim_lex_error(PtxLex *x, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static inline bool lex_is(const PtxLex *x, char punct) {
    return x->kind == TOK_PUNCT && x->punct == punct;
}
bool sim_lex_word_is(const PtxLex *x, PtxTokKind kind, const char *word);
#endif
