/* One op from its syntax tree, and the file around it.  */
#include "te/front/front.h"
#include "te/tree/tree.h"
#include <inttypes.h>
#include <string.h>

enum { FILE_LIMIT = 1 << 20 };

static Op op_begin(Front *f, const AstItem *item) {
    Op op = {.f = f};
    Te *te = op.te = f->te = ARENA_NEW(f->arena, Te);
    te->name = item->sym->name;
    te->file = f->file;
    te->text = f->text;
    te->text_len = f->len;
    te->size = f->size;
    int n_tensor = 2 * item->n_args + item->n_stmt;        /* packed outputs are two */
    te->tensor = ARENA_ARRAY(f->arena, TeTensor, n_tensor);
    te->stmt = ARENA_ARRAY(f->arena, TeStmt, item->n_args + item->n_stmt);
    op.tensor = ARENA_ARRAY(f->arena, TensorInfo, n_tensor);
    op.range = ARENA_ARRAY(f->arena, Interval, n_tensor);
    for (int i = 0; i < n_tensor; i++) op.range[i] = INTERVAL_ALL;
    op.stmt = ARENA_ARRAY(f->arena, StmtInfo, item->n_stmt);
    for (int i = 0; i < f->n_size; i++) f->size[i].used = false;
    return op;
}

/* So that reading a tensor above its assignment gets a better message than "not declared".  */
static void note_targets(Front *f, const AstItem *item) {
    for (const AstStmt *s = item->stmt; s; s = s->next) {
        if (s->let) continue;
        if (s->sym->op != f->op) {
            s->sym->op = f->op;
            s->sym->kind = NAME_FREE;
        }
        s->sym->target = true;
    }
}

static bool statements(Op *op, const AstItem *item) {
    bool ok = true;
    note_targets(op->f, item);
    for (const AstStmt *s = item->stmt; s && !too_many_errors(op->f); s = s->next) {
        if (s->let)
            ok = size_let(op->f, s->sym, s->pos, s->rhs, op->te->n_stmt) && ok;
        else
            stmt_check(op, s, op->te->n_stmt++);
    }
    op->n_atom = op->f->polys.n_atom;
    for (int i = 0; i < op->te->n_stmt; i++) ok = ok && !op->stmt[i].bad;
    for (int t = 0; t < op->te->n_tensor; t++) {
        const TeTensor *x = &op->te->tensor[t];
        if (x->role == TE_OUTPUT && !op->tensor[t].assigned)
            ok = complain(op->f, "assign", x->pos, "output '%s' is never assigned", x->name);
    }
    return ok;
}

static void use_expr(TeSize *size, const TeExpr *e) {
    if (!e) return;
    if (e->kind == TE_SIZE) size[e->v.ref].used = true;
    for (int i = 0; i < e->n_args; i++) use_expr(size, e->args[i]);
    use_expr(size, e->other);
}

static void use_extent(TeSize *size, const TeExtent *e) {
    use_expr(size, e->expr);
    use_expr(size, e->written);
}

/* Marks the sizes that the op uses, through lets too.  */
static void use_sizes(Te *te) {
    for (int t = 0; t < te->n_tensor; t++) {
        for (int d = 0; d < te->tensor[t].rank; d++) {
            use_extent(te->size, &te->tensor[t].shape[d]);
            use_extent(te->size, &te->tensor[t].stride[d]);
        }
    }
    for (int s = 0; s < te->n_stmt; s++) {
        use_expr(te->size, te->stmt[s].rhs);
        for (int i = 0; i < te->stmt[s].n_index; i++) {
            use_extent(te->size, &te->stmt[s].index[i].lo);
            use_extent(te->size, &te->stmt[s].index[i].hi);
        }
    }
    for (int i = te->n_size - 1; i >= 0; i--) {
        if (te->size[i].used) use_expr(te->size, te->size[i].expr);
    }
}

static bool is_size(const TeExtent *e, int size) {
    return e->expr && e->expr->kind == TE_SIZE && e->expr->v.ref == size;
}

/* A launch reads the run-time sizes from shapes and strides, so each must be one.  */
static bool readable(const Te *te, int size) {
    for (int t = 0; t < te->n_in + te->n_out; t++) {
        const TeTensor *x = &te->tensor[t];
        for (int d = 0; d < x->rank; d++) {
            if (is_size(&x->shape[d], size) || (x->strided && is_size(&x->stride[d], size)))
                return true;
        }
    }
    return false;
}

static bool runtime_sizes(Op *op, uint32_t pos) {
    Te *te = op->te;
    bool ok = true;
    for (int i = 0; i < te->n_size; i++) {
        const TeSize *s = &te->size[i];
        if (!s->used || s->kind != TE_SIZE_RUNTIME) continue;
        te->runtime = true;
        if (readable(te, i)) continue;
        ok = complain(op->f, "size", pos,
                      "run-time size '%s' is no extent or stride of an argument", s->name);
        hint(op->f, "make it an extent by itself, or give it one value: -D %s=N", s->name);
    }
    return ok;
}

static void warn_unused(Op *op) {
    for (int t = 0; t < op->te->n_tensor; t++) {
        const TeTensor *x = &op->te->tensor[t];
        if (x->role == TE_OUTPUT || op->tensor[t].read) continue;
        diag_warning(op->f->diag, "name", place(op->f, x->pos), "%s '%s' is never read",
                     x->role == TE_TEMP ? "temporary" : "input", x->name);
    }
}

static bool finish(Op *op, const AstItem *item) {
    Te *te = op->te;
    bool ok = true;
    if (!ranges_check(op)) return false;
    for (int t = te->n_in + te->n_out; t < te->n_tensor; t++) ok = tensor_measure(op, t) && ok;
    for (int s = 0; ok && s < te->n_stmt && !too_many_errors(op->f); s++) bounds_check(op, s);
    for (int s = 0; s < te->n_stmt; s++) ok = ok && !op->stmt[s].bad;
    for (int s = 0; ok && s < te->n_stmt; s++) {
        if (te_is_recurrence(te->stmt[s].rhs)) ok = recurrence_finish(op, &te->stmt[s]);
    }
    ok = ok && packed_expand(op);
    te->n_size = op->f->n_size;
    te->size = ARENA_ARRAY(op->f->arena, TeSize, te->n_size);
    memcpy(te->size, op->f->size, (size_t)te->n_size * sizeof *te->size);
    use_sizes(te);
    for (int s = 0; s < te->n_stmt; s++) te_expr_list_reads(op->f->arena, te->stmt[s].rhs);
    ok = runtime_sizes(op, item->pos) && ok;
    if (ok) warn_unused(op);
    return ok;
}

bool op_check(Front *f, AstItem *item, Te **out) {
    int n_size = f->n_size, n_atom = f->polys.n_atom;
    Te *outer = f->te;
    f->op++;
    bool ok = parts_join(f, item);
    Op op = op_begin(f, item);
    if (item->sym->op_name)
        ok = complain(f, "name", item->pos, "op '%s' is declared twice", item->sym->name);
    item->sym->op_name = true;
    ok = args_check(&op, item) && ok;
    ok = ok && !item->bad && statements(&op, item);
    ok = ok && finish(&op, item);
    f->n_size = n_size;
    f->polys.n_atom = n_atom;
    f->te = outer;
    *out = op.te;
    return ok;
}

/* Its name alone, so that a fault in it is no fault of another.  */
static Te *unchecked(Front *f, const AstItem *item) {
    Te *te = ARENA_NEW(f->arena, Te);
    te->name = item->sym->name;
    return te;
}

static bool is_param(const AstItem *items, const char *name, ItemKind *kind) {
    for (; items; items = items->next) {
        if (items->kind == ITEM_OP || strcmp(items->sym->name, name) != 0) continue;
        *kind = items->kind;
        return true;
    }
    return false;
}

static void no_param(Front *f, const AstItem *items, const char *name) {
    Nearest near = {.name = name};
    Buf all = buf_new(f->arena);
    for (; items; items = items->next) {
        if (items->kind != ITEM_PARAM) continue;
        nearest_offer(&near, items->sym->name);
        buf_printf(&all, " %s", items->sym->name);
    }
    diag_error(f->diag, ST_TE, "size", DIAG_NOWHERE, "-D %s: the file has no such param", name);
    if (near.best) diag_hint(f->diag, "did you mean '%s'?", near.best);
    else if (all.len) diag_hint(f->diag, "its params are%s", buf_str(&all));
}

static void defines_check(Front *f, const AstItem *items) {
    for (int i = 0; i < f->define.n; i++) {
        const char *name = f->define.item[i].name;
        ItemKind kind;
        if (!is_param(items, name, &kind))
            no_param(f, items, name);
        else if (kind == ITEM_LET)
            diag_error(f->diag, ST_TE, "size", DIAG_NOWHERE, "-D %s: a let cannot be set", name);
    }
}

/* `only`: the op that is checked; NULL: all are.  */
static bool check_items(Front *f, AstItem *items, const char *only, Te **te) {
    int n = 0;
    bool sizes = true, ok = true;
    defines_check(f, items);
    for (AstItem *i = items; i && !too_many_errors(f); i = i->next) {
        if (i->kind == ITEM_PARAM)
            sizes = size_param(f, i) && sizes;
        else if (i->kind == ITEM_LET)
            sizes = size_let(f, i->sym, i->pos, i->expr, -1) && sizes;
        else if (only && strcmp(i->sym->name, only) != 0)
            te[n++] = unchecked(f, i);
        else if (sizes)
            ok = op_check(f, i, &te[n++]) && ok;
    }
    return ok && f->diag->errors == f->errors;
}

static int count_ops(const AstItem *items) {
    int n = 0;
    for (; items; items = items->next) n += items->kind == ITEM_OP;
    return n;
}

static Front *front_new(Arena *a, Diag *d, DiagText text) {
    Front *f = ARENA_NEW(a, Front);
    f->arena = a;
    f->diag = d;
    f->errors = d->errors;
    f->file = arena_strdup(a, text.file ? text.file : "");
    f->text = arena_strndup(a, text.text, text.len);
    f->len = text.len;
    f->op = f->stmt = -1;
    f->te = ARENA_NEW(a, Te);
    f->te->size = f->size;
    symbols_init(&f->symbols, a);
    polys_init(&f->polys, a);
    return f;
}

typedef struct {
    DiagText text;
    const TeDefines *defines;
    const char *only;         /* the op that is checked; NULL: all are */
} Asked;

static Status parse_ops(Arena *a, Diag *d, const Asked *asked, Te ***out, int *n_out) {
    DiagText text = asked->text;
    if (text.len > FILE_LIMIT)
        return diag_error(d, ST_TE, "limit", (DiagPlace){.file = text.file, .text = ""},
                          "file of %zu bytes, the limit is 1 MiB", text.len);
    Front *f = front_new(a, d, text);
    if (asked->defines) f->define = *asked->defines;
    AstItem *items = parse_file(f, asked->only);
    if (!items) return ST_TE;
    *n_out = count_ops(items);
    *out = ARENA_ARRAY(a, Te *, *n_out);
    return check_items(f, items, asked->only, *out) ? ST_OK : ST_TE;
}

Status te_parse_all(Arena *a, Diag *d, DiagText text, const TeDefines *defines, Te ***out,
                    int *n_out) {
    return parse_ops(a, d, &(Asked){text, defines, NULL}, out, n_out);
}

static Status several(Diag *d, const char *file, Te *const *te, int n) {
    Buf b = buf_new(d->arena);
    for (int i = 0; i < n; i++) buf_printf(&b, "%s%s", i ? ", " : "", te[i]->name);
    diag_error(d, ST_TE, "name", DIAG_NOWHERE, "%s has %d ops: %s", file, n, buf_str(&b));
    diag_hint(d, "name one of them");
    return ST_TE;
}

static Status no_op(Diag *d, const char *file, Te *const *te, int n, const char *op) {
    Nearest near = {.name = op};
    for (int i = 0; i < n; i++) nearest_offer(&near, te[i]->name);
    diag_error(d, ST_TE, "name", DIAG_NOWHERE, "%s has no op '%s'", file, op);
    if (near.best) diag_hint(d, "did you mean '%s'?", near.best);
    else if (n == 1) diag_hint(d, "it has '%s'", te[0]->name);
    else diag_hint(d, "roller-gen --op all takes every op of the file");
    return ST_TE;
}

Status te_parse(Arena *a, Diag *d, DiagText text, const char *op, const TeDefines *defines,
                Te **out) {
    Te **te;
    int n;
    Status s = parse_ops(a, d, &(Asked){text, defines, op}, &te, &n);
    if (s != ST_OK) return s;
    if (!op && n > 1) return several(d, text.file, te, n);
    for (int i = 0; i < n; i++) {
        if (op && strcmp(te[i]->name, op) != 0) continue;
        *out = te[i];
        return ST_OK;
    }
    return no_op(d, text.file, te, n, op);
}
