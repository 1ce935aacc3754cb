/* Names of the text: what they stand for, and what is said where they are wrong.  */
#include "te/front/front.h"

#include <inttypes.h>

DiagPlace place(const Front *f, uint32_t pos) {
    return (DiagPlace){.file = f->file, .text = f->text, .len = f->len, .pos = pos};
}

bool complain(Front *f, const char *tag, uint32_t pos, const char *fmt, ...) {
    va_list ap;
    if (too_many_errors(f)) return false;
    va_start(ap, fmt);
    diag_error(f->diag, ST_TE, tag, place(f, pos), "%s", arena_vprintf(f->arena, fmt, ap));
    va_end(ap);
    return false;
}

void hint(Front *f, const char *fmt, ...) {
    va_list ap;
    if (f->diag->errors > DIAG_MAX) return;
    va_start(ap, fmt);
    diag_hint(f->diag, "%s", arena_vprintf(f->arena, fmt, ap));
    va_end(ap);
}

bool too_many_errors(const Front *f) { return f->diag->errors > DIAG_MAX; }

const char *expr_text(Front *f, const TeStmt *s, const TeExpr *e) {
    Buf b = buf_new(f->arena);
    te_print_expr(f->te, s, e, &b);
    return buf_str(&b);
}

const char *extent_text(Front *f, const TeExtent *e) {
    if (e->expr) return expr_text(f, NULL, e->written ? e->written : e->expr);
    if (!e->written || e->written->kind == TE_INT)
        return arena_printf(f->arena, "%" PRId64, e->value);
    return arena_printf(f->arena, "%s = %" PRId64, expr_text(f, NULL, e->written), e->value);
}

const char *kind_text(NameKind k) {
    return k == NAME_SIZE ? "a size" : k == NAME_TENSOR ? "a tensor" : "an index";
}

NameKind name_kind(const Front *f, const Symbol *sym) {
    if (sym->op == f->op && sym->kind != NAME_FREE) return sym->kind;
    return sym->size >= 0 ? NAME_SIZE : NAME_FREE;
}

bool declare(Front *f, Symbol *sym, uint32_t pos, NameKind kind, int ref) {
    NameKind old = name_kind(f, sym);
    if (old != NAME_FREE && (old != NAME_INDEX || kind != NAME_INDEX))
        return complain(f, "name", pos, "'%s' is already %s", sym->name, kind_text(old));
    if (sym->op != f->op) sym->target = false;
    sym->op = f->op;
    sym->kind = kind;
    sym->ref = ref;
    return true;
}

bool hint_nearest(Op *op, const char *name, bool tensors_only) {
    Nearest near = {.name = name};
    if (too_many_errors(op->f)) return false;
    for (int i = 0; i < op->te->n_tensor; i++) nearest_offer(&near, op->te->tensor[i].name);
    for (int i = 0; i < op->f->n_size && !tensors_only; i++)
        nearest_offer(&near, op->f->size[i].name);
    if (near.best) hint(op->f, "did you mean '%s'?", near.best);
    return near.best;
}

bool size_find(const Front *f, const Symbol *sym, int *ref) {
    *ref = sym->op == f->op && sym->kind != NAME_FREE ? (sym->kind == NAME_SIZE ? sym->ref : -1)
                                                      : sym->size;
    return *ref >= 0;
}
