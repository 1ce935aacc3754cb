/* The body of a function: registers, scopes, labels, tables, statements.  */
#include "sim/ptx/ptx_parse.h"
#include <stdlib.h>
#include <string.h>

enum { MAX_REGISTERS = 1 << 20, MAX_SCOPES = 64 };

static bool registers(PtxParser *p) {
    PtxLex *x = &p->lex;
    PtxType type = x->kind == TOK_DOT ? sim_ptx_type(p, x->word, x->n) : PTX_NONE;
    if (type == PTX_NONE) return sim_lex_error(x, "expected the type of a register");
    sim_lex_next(x);
    PtxFunc *f = p->f;
    do {
        PtxRegDecl *d = ARENA_NEW(p->arena, PtxRegDecl);
        d->name = sim_ptx_name(p);
        if (!d->name) return false;
        d->len = strlen(d->name);
        d->count = -1;
        d->first = (int)f->n_reg;
        int64_t n = 1;
        if (sim_ptx_accept(p, '<')) {
            /* the number alone: `>` would end an expression as an operator */
            n = x->kind == TOK_INT && x->value <= MAX_REGISTERS ? (int64_t)x->value : -1;
            if (n < 0) return sim_lex_error(x, "expected a number of registers");
            sim_lex_next(x);
            if (!sim_ptx_expect(p, '>')) return false;
            d->count = (int)n;
        }
        if (f->n_reg + (size_t)n > MAX_REGISTERS) return sim_lex_error(x, "too many registers");
        f->reg = arena_grow(p->arena, f->reg, &f->cap_reg, f->n_reg + (size_t)n, sizeof *f->reg);
        for (int k = 0; k < n; k++) {
            f->reg[f->n_reg++] = (PtxReg){d->name, type, d->count < 0 ? -1 : k};
        }
        d->next = p->scope->reg;
        p->scope->reg = d;
    } while (sim_ptx_accept(p, ','));
    return sim_ptx_expect(p, ';');
}

bool sim_ptx_loc(PtxParser *p) {
    PtxLex *x = &p->lex;
    int64_t file, line, column;
    if (!sim_ptx_int(p, &file) || !sim_ptx_int(p, &line) || !sim_ptx_int(p, &column)) return false;
    p->cu_file = file >= 0 && file < 1 << 20 ? (int)file : -1;
    p->cu_line = line >= 0 && line < 1 << 30 ? (int)line : 0;
    while (sim_ptx_accept(p, ',')) {      /* function_name L+n, inlined_at file line column */
        int numbers = sim_lex_word_is(x, TOK_WORD, "inlined_at") ? 3 : 0;
        sim_lex_next(x);
        if (numbers == 0) sim_lex_next(x);
        if (numbers == 0 && sim_ptx_accept(p, '+')) numbers = 1;
        for (int k = 0; k < numbers; k++) {
            if (x->kind != TOK_INT) return sim_lex_error(x, "bad .loc");
            sim_lex_next(x);
        }
    }
    return !x->failed;
}

static void add_label(PtxParser *p, const char *name) {
    p->label = arena_grow(p->arena, p->label, &p->cap_label, p->n_label + 1, sizeof *p->label);
    p->label[p->n_label++] = (PtxLabel){name, p->scope, (int)p->f->n_inst};
}

static void add_use(PtxParser *p, int *slot, const char *name, size_t at) {
    p->use = arena_grow(p->arena, p->use, &p->cap_use, p->n_use + 1, sizeof *p->use);
    p->use[p->n_use++] = (PtxUse){NULL, slot, name, p->scope, at};
}

/* NAME: .branchtargets a, b, c;  */
static bool branch_table(PtxParser *p, const char *name) {
    PtxFunc *f = p->f;
    f->table = arena_grow(p->arena, f->table, &f->cap_table, f->n_table + 1, sizeof *f->table);
    PtxTable *t = &f->table[f->n_table++];
    *t = (PtxTable){.name = name};
    size_t cap = 0, n = 0, cap_at = 0;
    size_t *at = NULL;
    do {
        at = arena_grow(p->arena, at, &cap_at, n + 1, sizeof *at);
        at[n] = p->lex.at;
        const char *label = sim_ptx_name(p);
        if (!label) return false;
        t->label = arena_grow(p->arena, t->label, &cap, n + 1, sizeof *t->label);
        t->label[n++] = label;
    } while (sim_ptx_accept(p, ','));
    t->n = (int)n;
    t->target = ARENA_ARRAY(p->arena, int, n);
    for (size_t k = 0; k < n; k++) add_use(p, &t->target[k], t->label[k], at[k]);
    return sim_ptx_expect(p, ';');
}

static bool labelled(PtxParser *p, const char *name) {
    PtxLex *x = &p->lex;
    if (sim_lex_word_is(x, TOK_DOT, "branchtargets")) {
        sim_lex_next(x);
        return branch_table(p, name);
    }
    bool targets = sim_lex_word_is(x, TOK_DOT, "calltargets");
    if (targets || sim_lex_word_is(x, TOK_DOT, "callprototype")) {
        sim_lex_next(x);
        return sim_ptx_prototype(p, name, targets);
    }
    add_label(p, name);
    return true;
}

/* A compiler that reads more than was written tells which bytes it needs of the next load.  */
static bool pragma(PtxParser *p) {
    static const char mask[] = "used_bytes_mask ";
    PtxLex *x = &p->lex;
    sim_lex_next(x);
    if (x->kind == TOK_STRING && x->n >= sizeof mask && !memcmp(x->word, mask, sizeof mask - 1)) {
        const char *number = arena_strndup(p->arena, x->word, x->n) + sizeof mask - 1;
        char *end;
        unsigned long long used = strtoull(number, &end, 0);
        if (*end || used > UINT32_MAX) return sim_lex_error(x, "expected a mask of bytes");
        p->unused = ~(uint32_t)used;
    }
    return sim_ptx_skip_statement(p);
}

static bool directive(PtxParser *p) {
    PtxLex *x = &p->lex;
    static const struct {
        const char *name;
        PtxSpace space;
    } spaces[] = {{"local", SPACE_LOCAL},   {"param", SPACE_PARAM},   {"shared", SPACE_SHARED},
                  {"global", SPACE_GLOBAL}, {"const", SPACE_CONST}};
    bool external = sim_lex_word_is(x, TOK_DOT, "extern");
    if (external) sim_lex_next(x);
    for (size_t k = 0; k < sizeof spaces / sizeof spaces[0]; k++) {
        if (!sim_lex_word_is(x, TOK_DOT, spaces[k].name)) continue;
        sim_lex_next(x);
        return sim_ptx_variables(p, spaces[k].space, external);
    }
    if (sim_lex_word_is(x, TOK_DOT, "reg")) {
        sim_lex_next(x);
        return registers(p);
    }
    if (sim_lex_word_is(x, TOK_DOT, "loc")) {
        sim_lex_next(x);
        return sim_ptx_loc(p);
    }
    if (sim_lex_word_is(x, TOK_DOT, "pragma")) return pragma(p);
    return sim_lex_error(x, "unknown directive .%.*s", (int)x->n, x->word);
}

static bool guarded(PtxParser *p) {
    PtxLex *x = &p->lex;
    sim_lex_next(x);                      /* '@' */
    bool flip = sim_ptx_accept(p, '!');
    int reg;
    if (x->kind != TOK_WORD || !sim_ptx_reg(p, x->word, x->n, &reg)) {
        return sim_lex_error(x, "expected a predicate");
    }
    if (p->f->reg[reg].type != PTX_PRED) return sim_lex_error(x, "the guard is not a predicate");
    sim_lex_next(x);
    if (x->kind != TOK_WORD) return sim_lex_error(x, "expected an instruction");
    sim_lex_opcode(x);
    return sim_ptx_inst(p, reg, flip);
}

/* A word: a label, or the opcode of an instruction.  */
static bool word_statement(PtxParser *p) {
    PtxLex *x = &p->lex;
    PtxLex before = *x;
    const char *word = x->word;
    size_t n = x->n;
    char next = x->pos < x->len ? x->text[x->pos] : '\0';
    if (next != '.') {
        sim_lex_next(x);
        if (lex_is(x, ':')) {
            sim_lex_next(x);
            return labelled(p, arena_strndup(p->arena, word, n));
        }
        *x = before;
    }
    sim_lex_opcode(x);
    return sim_ptx_inst(p, -1, false);
}

static bool resolve(PtxParser *p, const PtxUse *u, int *target) {
    for (const PtxScope *s = u->scope; s; s = s->outer) {
        for (size_t k = 0; k < p->n_label; k++) {
            if (p->label[k].scope == s && strcmp(p->label[k].name, u->name) == 0) {
                *target = p->label[k].target;
                return true;
            }
        }
    }
    p->lex.at = u->at;
    return sim_lex_error(&p->lex, "no label or variable '%s'", u->name);
}

static bool resolve_all(PtxParser *p) {
    PtxFunc *f = p->f;
    for (size_t k = 0; k < p->n_use; k++) {
        PtxUse *u = &p->use[k];
        int *target = u->opnd ? &u->opnd->target : u->slot;
        if (u->opnd && u->opnd->kind == OPND_TABLE) {
            *target = -1;
            for (size_t t = 0; t < f->n_table; t++) {
                if (strcmp(f->table[t].name, u->name) == 0) *target = (int)t;
            }
            p->lex.at = u->at;
            if (*target < 0) return sim_lex_error(&p->lex, "no branch targets '%s'", u->name);
        } else if (!resolve(p, u, target)) {
            return false;
        }
    }
    return true;
}

bool sim_ptx_body(PtxParser *p) {
    PtxLex *x = &p->lex;
    PtxScope *outermost = p->scope;
    PtxScope *frame = ARENA_NEW(p->arena, PtxScope);
    frame->outer = outermost;
    for (int k = 0; k < p->f->n_param; k++) {
        p->f->param[k]->next = frame->symbol;
        frame->symbol = p->f->param[k];
    }
    for (int k = 0; k < p->f->n_result; k++) {
        p->f->result[k]->next = frame->symbol;
        frame->symbol = p->f->result[k];
    }
    p->scope = frame;
    p->n_label = p->n_use = 0;
    p->cu_file = -1;
    for (int depth = 1; depth > 0;) {
        bool good = true;
        if (x->kind == TOK_DOT) {
            good = directive(p);
        } else if (x->kind == TOK_WORD) {
            good = word_statement(p);
        } else if (lex_is(x, '@')) {
            good = guarded(p);
        } else if (lex_is(x, '{')) {
            if (++depth > MAX_SCOPES) return sim_lex_error(x, "scopes nested too deeply");
            PtxScope *inner = ARENA_NEW(p->arena, PtxScope);
            inner->outer = p->scope;
            p->scope = inner;
            sim_lex_next(x);
        } else if (lex_is(x, '}')) {
            depth--;
            p->scope = p->scope->outer;
            sim_lex_next(x);
        } else if (lex_is(x, ';')) {
            sim_lex_next(x);
        } else {
            return sim_lex_error(x, "expected a statement");
        }
        if (!good || x->failed) return false;
    }
    if (!resolve_all(p)) return false;
    sim_ptx_demand(p->arena, p->f);
    return true;
}
