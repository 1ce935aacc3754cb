/* Syntax trees that no text has: what statements become before they are checked.  */
#include "te/front/front.h"

Ast *ast_int(Front *f, int64_t v, uint32_t pos) {
    Ast *a = ARENA_NEW(f->arena, Ast);
    *a = (Ast){.kind = TE_INT, .pos = pos, .depth = 1, .i = v};
    return a;
}

Ast *ast_name(Front *f, Symbol *sym, uint32_t pos) {
    Ast *a = ARENA_NEW(f->arena, Ast);
    *a = (Ast){.kind = TE_INDEX, .pos = pos, .depth = 1, .sym = sym};
    return a;
}

Ast *ast_node(Front *f, TeKind kind, uint32_t pos, const Ast *const *operand, int n) {
    Ast *a = ARENA_NEW(f->arena, Ast), **tail = &a->args;
    *a = (Ast){.kind = kind, .pos = pos, .depth = 1};
    for (int i = 0; i < n; i++) {
        Ast *x = *tail = ARENA_NEW(f->arena, Ast);
        *x = *operand[i];
        x->next = NULL;
        tail = &x->next;
        if (x->depth >= a->depth) a->depth = (uint16_t)(x->depth + 1);
    }
    return a;
}
