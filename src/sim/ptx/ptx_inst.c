/* One instruction: opcode, modifiers, types, shape and operands.  */
#include "sim/ptx/ptx_parse.h"
#include <string.h>

/* .m16n8k16  */
static bool shape(PtxInst *i, const char *s, size_t n) {
    static const char letters[] = "mnk";
    int value[3] = {0, 0, 0};
    size_t at = 0;
    for (int k = 0; k < 3 && at < n; k++) {
        if (s[at++] != letters[k]) return false;
        size_t start = at;
        while (at < n && s[at] >= '0' && s[at] <= '9' && at - start < 5) {
            value[k] = value[k] * 10 + (s[at++] - '0');
        }
        if (at == start) return false;
    }
    if (at != n || value[1] == 0) return false;
    i->m = value[0];
    i->n = value[1];
    i->k = value[2];
    return true;
}

/* Length of the longest dotted prefix that is an opcode, 0 if there is none.  */
static size_t opcode(const PtxParser *p, const char *s, size_t n, PtxOp *op) {
    for (size_t len = n; len > 0;) {
        int id;
        if (sim_ptx_word(p, WORD_OP, s, len, &id)) {
            *op = (PtxOp)id;
            return len;
        }
        do len--;
        while (len > 0 && s[len] != '.');
    }
    return 0;
}

static bool modifier(PtxParser *p, PtxInst *i, const char *s, size_t n) {
    PtxLex *x = &p->lex;
    int id;
    if (sim_ptx_word(p, WORD_TYPE, s, n, &id)) {
        if (i->n_type == PTX_MAX_TYPES) return sim_lex_error(x, "too many types in %s", i->text);
        i->type[i->n_type++] = (PtxType)id;
    } else if (sim_ptx_word(p, WORD_MOD, s, n, &id)) {
        if (i->n_order == 16) return sim_lex_error(x, "too many modifiers in %s", i->text);
        i->order[i->n_order++] = (PtxMod)id;
        i->mods.w[id / 64] |= (uint64_t)1 << (id % 64);
    } else if (!shape(i, s, n)) {
        i->why = arena_printf(p->arena, "unknown modifier .%.*s in %s", (int)n, s, i->text);
    }
    return true;
}

static bool decode_opcode(PtxParser *p, PtxInst *i) {
    PtxLex *x = &p->lex;
    const char *s = x->word;
    size_t n = x->n, at = opcode(p, s, n, &i->op);
    i->text = arena_strndup(p->arena, s, n);
    if (at == 0) i->why = arena_printf(p->arena, "unknown instruction %s", i->text);
    while (at < n && !i->why) {
        size_t start = ++at;                  /* after the dot */
        while (at < n && s[at] != '.') at++;
        if (!modifier(p, i, s + start, at - start)) return false;
    }
    if (i->why) i->op = OP_UNKNOWN;
    return true;
}

static bool operand(PtxParser *p, PtxOp op, PtxOpnd *o, int depth);

/* A comma-separated list up to `close`, the current token being the opening bracket.  */
static bool list(PtxParser *p, PtxOp op, PtxOpnd *o, char close, int depth) {
    size_t cap = 0, n = 0;
    PtxOpnd *elem = NULL;
    sim_lex_next(&p->lex);
    while (!lex_is(&p->lex, close)) {
        PtxOpnd e = {.kind = OPND_NONE};
        if (!operand(p, op, &e, depth + 1)) return false;
        elem = arena_grow(p->arena, elem, &cap, n + 1, sizeof *elem);
        elem[n++] = e;
        if (!lex_is(&p->lex, close) && !sim_ptx_expect(p, ',')) return false;
    }
    sim_lex_next(&p->lex);
    o->elem = elem;
    o->n = (int)n;
    return !p->lex.failed;
}

/* [base], [base+offset], [map, {c0, c1}]: elements as said in ptx.h, labels not allowed.  */
static bool address(PtxParser *p, PtxOp op, PtxOpnd *o, int depth) {
    if (!list(p, op, o, ']', depth)) return false;
    if (o->n == 0) return sim_lex_error(&p->lex, "an address needs a base");
    PtxOpnd *base = &o->elem[0];
    if (base->kind != OPND_REG && base->kind != OPND_SYMBOL && base->kind != OPND_INT) {
        return sim_lex_error(&p->lex, "bad base of an address");
    }
    o->kind = OPND_ADDRESS;
    o->offset = base->offset;
    base->offset = 0;
    return true;
}

static void add_use(PtxParser *p, PtxOpnd *o, size_t at) {
    p->use = arena_grow(p->arena, p->use, &p->cap_use, p->n_use + 1, sizeof *p->use);
    p->use[p->n_use++] = (PtxUse){o, NULL, o->name, p->scope, at};
}

static PtxFunc *prototype(const PtxFunc *f, const char *name, size_t n) {
    PtxFunc *x = f->prototype;
    while (x && (strlen(x->name) != n || memcmp(x->name, name, n) != 0)) x = x->next;
    return x;
}

/* A name: register, special register, variable, function; else a label or table of the function. */
static bool name_operand(PtxParser *p, PtxOp op, PtxOpnd *o) {
    PtxLex *x = &p->lex;
    const char *s = x->word;
    size_t n = x->n;
    int sreg;
    PtxSymbol *symbol;
    if (n == 1 && s[0] == '_') {
        o->kind = OPND_NONE;
    } else if (sim_ptx_reg(p, s, n, &o->reg)) {
        o->kind = OPND_REG;
    } else if (sim_ptx_word(p, WORD_SREG, s, n, &sreg)) {
        o->kind = OPND_SREG;
        o->reg = sreg;
    } else if (sim_lex_word_is(x, TOK_WORD, "WARP_SZ")) {
        o->kind = OPND_INT;
        o->offset = 32;
    } else if ((symbol = sim_ptx_symbol(p, s, n)) != NULL) {
        o->kind = OPND_SYMBOL;
        o->symbol = symbol;
    } else if ((o->func = sim_ptx_func(p, s, n)) != NULL) {
        o->kind = OPND_FUNC;
        o->func->taken |= op != OP_CALL;
    } else if (op == OP_CALL && (o->func = prototype(p->f, s, n)) != NULL) {
        o->kind = OPND_PROTOTYPE;
    } else if (op == OP_BRA || op == OP_BRX) {
        o->kind = op == OP_BRA ? OPND_LABEL : OPND_TABLE;
        o->name = arena_strndup(p->arena, s, n);
    } else if (s[0] == '%') {                /* a special register of a newer ISA */
        p->unknown = arena_printf(p->arena, "no register, variable or label '%.*s'", (int)n, s);
        o->kind = OPND_NONE;
    } else {
        return sim_lex_error(x, "no register, variable or label '%.*s'", (int)n, s);
    }
    sim_lex_next(x);
    if (o->kind == OPND_SYMBOL && !sim_ptx_index(p, o->symbol, &o->offset)) return false;
    bool based = o->kind == OPND_REG || o->kind == OPND_SYMBOL;
    return !based || sim_ptx_plus(p, &o->offset);
}

static bool pair(PtxParser *p, PtxOp op, PtxOpnd *o, int depth) {
    PtxOpnd *elem = ARENA_ARRAY(p->arena, PtxOpnd, 2);
    elem[0] = *o;
    sim_lex_next(&p->lex);
    *o = (PtxOpnd){.kind = OPND_PAIR, .n = 2, .elem = elem};
    return operand(p, op, &elem[1], depth + 1);
}

static bool number_operand(PtxParser *p, PtxOpnd *o) {
    PtxLex *x = &p->lex;
    PtxLex before = *x;
    bool minus = lex_is(x, '-');
    if (minus || lex_is(x, '+')) sim_lex_next(x);
    if (x->kind == TOK_REAL) {
        o->kind = OPND_REAL;
        o->real = minus ? -x->real : x->real;
        o->single = x->single;
        sim_lex_next(x);
        return !x->failed;
    }
    *x = before;
    o->kind = OPND_INT;
    return sim_ptx_int(p, &o->offset);
}

/* An element of an array may be named without brackets around it: ld.global.u32 %r1, table[3].  */
static void bare_address(PtxParser *p, PtxOp op, int number, PtxOpnd *o) {
    const char *pattern = sim_op_pattern(op);
    for (int k = 0; *pattern; pattern++) {
        if (*pattern == '/') continue;
        if (k++ == number) break;
    }
    if (o->kind != OPND_SYMBOL || *pattern != 'm') return;
    PtxOpnd *base = ARENA_NEW(p->arena, PtxOpnd);
    *base = *o;
    *o = (PtxOpnd){.kind = OPND_ADDRESS, .n = 1, .elem = base, .offset = base->offset};
    base->offset = 0;
}

static bool operand(PtxParser *p, PtxOp op, PtxOpnd *o, int depth) {
    PtxLex *x = &p->lex;
    if (depth > 4) return sim_lex_error(x, "operands nested too deeply");
    if (lex_is(x, '[')) return address(p, op, o, depth);
    if (lex_is(x, '{')) {
        o->kind = OPND_VECTOR;
        return list(p, op, o, '}', depth);
    }
    if (lex_is(x, '(') && op == OP_CALL) {
        o->kind = OPND_LIST;
        return list(p, op, o, ')', depth);
    }
    bool negate = lex_is(x, '!');
    if (negate) sim_lex_next(x);
    if (x->kind == TOK_WORD) {
        if (!name_operand(p, op, o)) return false;
        if (negate && o->kind != OPND_REG) return sim_lex_error(x, "'!' needs a predicate");
    } else if (!negate) {
        if (!number_operand(p, o)) return false;
    } else {
        return sim_lex_error(x, "'!' needs a predicate");
    }
    o->negate = negate;
    return !lex_is(x, '|') || pair(p, op, o, depth);
}

static bool operands(PtxParser *p, PtxInst *i) {
    PtxLex *x = &p->lex;
    PtxOpnd opnd[PTX_MAX_OPERANDS] = {0};
    size_t use_at[PTX_MAX_OPERANDS];
    sim_lex_next(x);
    while (!lex_is(x, ';')) {
        if (i->n_opnd == PTX_MAX_OPERANDS) return sim_lex_error(x, "too many operands");
        use_at[i->n_opnd] = x->at;
        if (!operand(p, i->op, &opnd[i->n_opnd], 0)) return false;
        bare_address(p, i->op, i->n_opnd, &opnd[i->n_opnd]);
        i->n_opnd++;
        if (!lex_is(x, ';') && !sim_ptx_expect(p, ',')) return false;
        if (x->kind == TOK_END) return sim_lex_error(x, "an instruction without an end");
    }
    sim_lex_next(x);
    i->opnd = ARENA_ARRAY(p->arena, PtxOpnd, i->n_opnd + 1);
    memcpy(i->opnd, opnd, (size_t)i->n_opnd * sizeof opnd[0]);
    for (int k = 0; k < i->n_opnd; k++) {
        PtxOpndKind kind = i->opnd[k].kind;
        if (kind == OPND_LABEL || kind == OPND_TABLE) add_use(p, &i->opnd[k], use_at[k]);
    }
    return !x->failed;
}

bool sim_ptx_inst(PtxParser *p, int guard, bool guard_not) {
    PtxLex *x = &p->lex;
    PtxInst i = {.guard = guard, .guard_not = guard_not, .line = x->line,
                 .column = (int)(x->at - x->line_start) + 1, .cu_file = p->cu_file,
                 .cu_line = p->cu_line};
    if (!decode_opcode(p, &i)) return false;
    if (i.op == OP_LD) i.unused = p->unused;
    p->unused = 0;
    p->unknown = NULL;
    if (i.op == OP_UNKNOWN ? !sim_ptx_skip_statement(p) : !operands(p, &i)) return false;
    if (p->unknown) {
        i.op = OP_UNKNOWN;
        i.why = p->unknown;
        i.n_opnd = 0;
    }
    PtxFunc *f = p->f;
    f->inst = arena_grow(p->arena, f->inst, &f->cap_inst, f->n_inst + 1, sizeof *f->inst);
    f->inst[f->n_inst++] = i;
    return !x->failed;
}
