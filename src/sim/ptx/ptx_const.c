/* Constant expressions and initialisers.  */
#include "sim/ptx/ptx_parse.h"
#include <string.h>

/* Precedence climbing over the integer operators of C.  Sums wrap.  */
typedef struct {
    const char *text;
    int level;
} Operator;

static const Operator operators[] = {
    {"||", 1}, {"&&", 2}, {"|", 3}, {"^", 4}, {"&", 5}, {"==", 6}, {"!=", 6}, {"<=", 7}, {">=", 7},
    {"<<", 8}, {">>", 8}, {"<", 7}, {">", 7}, {"+", 9}, {"-", 9},  {"*", 10}, {"/", 10}, {"%", 10},
};

static bool expression(PtxParser *p, int level, int depth, int64_t *out);

static bool primary(PtxParser *p, int depth, int64_t *out) {
    PtxLex *x = &p->lex;
    if (depth > 100) return sim_lex_error(x, "an expression nested too deeply");
    if (x->kind == TOK_INT) {
        *out = (int64_t)x->value;
        sim_lex_next(x);
        return !x->failed;
    }
    if (x->kind != TOK_PUNCT) return sim_lex_error(x, "expected an integer");
    char c = x->punct;
    if (!strchr("(-+~!", c)) return sim_lex_error(x, "expected an integer");
    sim_lex_next(x);
    if (c == '(') {
        if (x->kind == TOK_DOT) {             /* a cast: (.s64) (.u64) */
            sim_lex_next(x);
            return sim_ptx_expect(p, ')') && primary(p, depth + 1, out);
        }
        return expression(p, 0, depth + 1, out) && sim_ptx_expect(p, ')');
    }
    if (!primary(p, depth + 1, out)) return false;
    if (c == '-') *out = (int64_t)(0 - (uint64_t)*out);
    if (c == '~') *out = ~*out;
    if (c == '!') *out = !*out;
    return true;
}

/* The binary operator at the current token, or NULL.  */
static const Operator *operator_here(const PtxLex *x) {
    if (x->kind != TOK_PUNCT) return NULL;
    char next = x->pos < x->len ? x->text[x->pos] : '\0';
    for (size_t k = 0; k < sizeof operators / sizeof operators[0]; k++) {
        const char *t = operators[k].text;
        if (t[0] == x->punct && (t[1] == '\0' || t[1] == next)) return &operators[k];
    }
    return NULL;
}

static bool apply(PtxParser *p, const char *op, int64_t a, int64_t b, int64_t *out) {
    uint64_t ua = (uint64_t)a, ub = (uint64_t)b;
    if (strchr("/%", op[0]) && (b == 0 || (b == -1 && a == INT64_MIN))) {
        return sim_lex_error(&p->lex, "division by zero in a constant");
    }
    switch (op[0]) {
    case '+': *out = (int64_t)(ua + ub); return true;
    case '-': *out = (int64_t)(ua - ub); return true;
    case '*': *out = (int64_t)(ua * ub); return true;
    case '/': *out = a / b; return true;
    case '%': *out = a % b; return true;
    case '^': *out = a ^ b; return true;
    case '=': *out = a == b; return true;
    case '!': *out = a != b; return true;
    case '|': *out = op[1] ? a || b : a | b; return true;
    case '&': *out = op[1] ? a && b : a & b; return true;
    case '<':
        *out = op[1] == '<' ? (int64_t)(ua << (ub & 63)) : op[1] ? a <= b : a < b;
        return true;
    default: *out = op[1] == '>' ? a >> (ub & 63) : op[1] ? a >= b : a > b; return true;
    }
}

static bool expression(PtxParser *p, int level, int depth, int64_t *out) {
    if (!primary(p, depth, out)) return false;
    for (;;) {
        const Operator *op = operator_here(&p->lex);
        if (!op || op->level <= level) return true;
        sim_lex_next(&p->lex);
        if (op->text[1]) sim_lex_next(&p->lex);
        int64_t right;
        if (!expression(p, op->level, depth + 1, &right)) return false;
        if (!apply(p, op->text, *out, right, out)) return false;
    }
}

bool sim_ptx_int(PtxParser *p, int64_t *out) { return expression(p, 0, 0, out); }

bool sim_ptx_plus(PtxParser *p, int64_t *offset) {
    while (lex_is(&p->lex, '+') || lex_is(&p->lex, '-')) {
        bool minus = lex_is(&p->lex, '-');
        sim_lex_next(&p->lex);
        int64_t v;
        if (!sim_ptx_int(p, &v)) return false;
        *offset = (int64_t)((uint64_t)*offset + (minus ? 0 - (uint64_t)v : (uint64_t)v));
    }
    return true;
}
