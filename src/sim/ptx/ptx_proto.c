/* Parameters of functions, and what a call by address may reach.  */
#include "sim/ptx/ptx_parse.h"
#include <string.h>

bool sim_ptx_parameters(PtxParser *p, PtxSymbol ***list, int *n) {
    size_t cap = 0;
    sim_lex_next(&p->lex);            /* '(' */
    while (!lex_is(&p->lex, ')')) {
        if (!sim_lex_word_is(&p->lex, TOK_DOT, "param")) {
            return sim_lex_error(&p->lex, "parameters must be in the .param space");
        }
        sim_lex_next(&p->lex);
        PtxSymbol *v = sim_ptx_parameter(p);
        if (!v) return false;
        *list = arena_grow(p->arena, *list, &cap, (size_t)*n + 1, sizeof **list);
        (*list)[(*n)++] = v;
        if (!lex_is(&p->lex, ')') && !sim_ptx_expect(p, ',')) return false;
    }
    sim_lex_next(&p->lex);
    return !p->lex.failed;
}

static bool call_targets(PtxParser *p, PtxFunc *f) {
    size_t cap = 0;
    do {
        const char *name = sim_ptx_name(p);
        if (!name) return false;
        PtxFunc *callee = sim_ptx_func(p, name, strlen(name));
        if (!callee) return sim_lex_error(&p->lex, "no function '%s'", name);
        callee->taken = true;
        f->callee = arena_grow(p->arena, f->callee, &cap, f->n_callee + 1, sizeof *f->callee);
        f->callee[f->n_callee++] = callee;
    } while (sim_ptx_accept(p, ','));
    return sim_ptx_expect(p, ';');
}

/* NAME: .calltargets f, g;   NAME: .callprototype (results) _ (parameters) attributes;  */
bool sim_ptx_prototype(PtxParser *p, const char *name, bool targets) {
    PtxLex *x = &p->lex;
    PtxFunc *f = ARENA_NEW(p->arena, PtxFunc);
    f->name = name;
    f->next = p->f->prototype;
    p->f->prototype = f;
    if (targets) return call_targets(p, f);
    if (lex_is(x, '(') && !sim_ptx_parameters(p, &f->result, &f->n_result)) return false;
    if (!sim_ptx_name(p)) return false;
    if (lex_is(x, '(') && !sim_ptx_parameters(p, &f->param, &f->n_param)) return false;
    while (x->kind == TOK_DOT) sim_lex_next(x);          /* .noreturn and its like */
    return sim_ptx_skip_statement(p);
}
