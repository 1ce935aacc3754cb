/* Tokens that the grammar asks for, and what names stand for.  */
#include "sim/ptx/ptx_parse.h"
#include <string.h>

bool sim_ptx_accept(PtxParser *p, char punct) {
    if (!lex_is(&p->lex, punct)) return false;
    sim_lex_next(&p->lex);
    return !p->lex.failed;
}

bool sim_ptx_expect(PtxParser *p, char punct) {
    if (sim_ptx_accept(p, punct)) return true;
    return sim_lex_error(&p->lex, "expected '%c'", punct);
}

const char *sim_ptx_name(PtxParser *p) {
    if (p->lex.kind != TOK_WORD) {
        sim_lex_error(&p->lex, "expected a name");
        return NULL;
    }
    const char *s = arena_strndup(p->arena, p->lex.word, p->lex.n);
    sim_lex_next(&p->lex);
    return s;
}

bool sim_ptx_skip_statement(PtxParser *p) {
    while (p->lex.kind != TOK_END && !lex_is(&p->lex, ';')) sim_lex_next(&p->lex);
    return sim_ptx_expect(p, ';');
}

PtxFunc *sim_ptx_func(const PtxParser *p, const char *name, size_t n) {
    for (PtxFunc *f = p->m->func; f; f = f->next) {
        if (strlen(f->name) == n && memcmp(f->name, name, n) == 0) return f;
    }
    return NULL;
}

PtxSymbol *sim_ptx_symbol(const PtxParser *p, const char *name, size_t n) {
    for (const PtxScope *s = p->scope; s; s = s->outer) {
        for (PtxSymbol *v = s->symbol; v; v = v->next) {
            if (strlen(v->name) == n && memcmp(v->name, name, n) == 0) return v;
        }
    }
    return NULL;
}

/* True if `name` is one of the registers of `d`; *index is its place in the range.  */
static bool matches(const PtxRegDecl *d, const char *name, size_t n, int *index) {
    *index = 0;
    if (n < d->len || memcmp(d->name, name, d->len) != 0) return false;
    if (d->count < 0) return n == d->len;
    if (n == d->len || n > d->len + 7) return false;
    if (name[d->len] == '0' && n > d->len + 1) return false;
    for (size_t k = d->len; k < n; k++) {
        if (name[k] < '0' || name[k] > '9') return false;
        *index = *index * 10 + (name[k] - '0');
    }
    return *index < d->count;
}

bool sim_ptx_reg(const PtxParser *p, const char *name, size_t n, int *reg) {
    for (const PtxScope *s = p->scope; s; s = s->outer) {
        for (const PtxRegDecl *d = s->reg; d; d = d->next) {
            int index;
            if (!matches(d, name, n, &index)) continue;
            *reg = d->first + index;
            return true;
        }
    }
    return false;
}
