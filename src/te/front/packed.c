/* Packed arguments, two elements to a byte, become tensors of pairs: no later stage sees half a
 * byte.
 *
 * `A: f4e2m1[M,K]` is `A: f4e2m1x2[M,K/2]`.  A read takes its half of the pair, and an output is
 * made as a temporary of one byte per element, of which a last statement joins two and two.  Holds
 * for all data: the last extent is even, so every pair has both elements, and k is inside where k/2
 * is.  */
#include "te/front/front.h"
#include "te/tree/tree.h"
#include <string.h>

enum { PER_BYTE = 2, CODES = 16 };

static bool is_packed(const TeTensor *t) { return t->dtype == TE_F4E2M1; }

/* ---- nodes ---- */

static TeExpr *number(Op *op, int64_t v, TeDtype type, uint32_t pos) {
    return te_expr_int(op->f->arena, v, type, pos);
}

static TeExpr *both(Op *op, TeKind kind, TeExpr *x, TeExpr *y) {
    TeExpr *e = te_expr_node(op->f->arena, kind, x->type, 2, x->pos);
    e->args[0] = x;
    e->args[1] = y;
    if (kind >= TE_EQ && kind <= TE_OR) e->type = e->store = TE_BOOL;
    return e;
}

static TeExpr *with(Op *op, TeKind kind, TeExpr *x, int64_t by) {
    return both(op, kind, x, number(op, by, x->type, x->pos));
}

static TeExpr *call(Op *op, TeFn fn, TeDtype type, TeDtype store, TeExpr *x) {
    TeExpr *e = te_expr_node(op->f->arena, TE_CALL, type, 1, x->pos);
    e->v.fn = fn;
    e->store = store;
    e->args[0] = x;
    return e;
}

static TeExpr *cast(Op *op, TeDtype to, TeExpr *x) {
    TeExpr *e = te_expr_node(op->f->arena, TE_CAST, te_dtype_compute(to), 1, x->pos);
    e->store = to;
    e->args[0] = x;
    return e;
}

/* A copy of a subscript that has its type beside literals, too.  */
static TeExpr *typed(Op *op, const TeExpr *sub) {
    TeExpr *e = te_expr_copy(op->f->arena, sub);
    return te_own_type(e) ? e : cast(op, e->type, e);
}

static TeExpr *choice(Op *op, TeExpr *condition, TeExpr *x, TeExpr *y) {
    TeExpr *e = te_expr_node(op->f->arena, TE_SELECT, x->type, 3, x->pos);
    TeExpr *const args[] = {condition, x, y};
    memcpy(e->args, args, sizeof args);
    return e;
}

static TeExtent halved(Op *op, const TeExtent *e) {
    TeExtent h = {.value = e->value / PER_BYTE, .min = e->min / PER_BYTE, .multiple = 1};
    Arena *a = op->f->arena;
    if (e->multiple % PER_BYTE == 0) h.multiple = e->multiple / PER_BYTE;
    if (e->expr) h.expr = with(op, TE_DIV, te_expr_copy(a, e->expr), PER_BYTE);
    if (e->written) h.written = with(op, TE_DIV, te_expr_copy(a, e->written), PER_BYTE);
    return h;
}

static bool halve(Op *op, int tensor) {
    TeTensor *t = &op->te->tensor[tensor];
    int last = t->rank - 1;
    t->dtype = TE_F4E2M1X2;
    t->shape[last] = halved(op, &t->shape[last]);
    for (int d = 0; t->strided && d < last; d++) t->stride[d] = halved(op, &t->stride[d]);
    return t->strided || tensor_measure(op, tensor);
}

/* ---- reads ---- */

/* Its pair's low half where the subscript is even; one that is always the same decides here.  */
static TeExpr *half_of(Op *op, TeExpr *pair, const TeExpr *at) {
    Arena *a = op->f->arena;
    Interval fixed = indices_in(at) ? INTERVAL_ALL : expr_range(op, at);
    bool known = fixed.lo == fixed.hi, odd = known && floor_mod(fixed.lo, PER_BYTE);
    if (known) return with(op, odd ? TE_DIV : TE_MOD, pair, CODES);
    TeExpr *first = with(op, TE_EQ, with(op, TE_MOD, typed(op, at), PER_BYTE), 0);
    return choice(op, first, with(op, TE_MOD, pair, CODES),
                  with(op, TE_DIV, te_expr_copy(a, pair), CODES));
}

static TeExpr *code_of(Op *op, const TeExpr *read) {
    Arena *a = op->f->arena;
    int last = read->n_args - 1;
    TeExpr *pair = te_expr_copy(a, read), *at = pair->args[last];
    pair->type = te_dtype_compute(TE_F4E2M1X2);
    pair->store = TE_F4E2M1X2;
    pair->other = read->other ? te_expr_zero(a, pair->type, read->pos) : NULL;
    pair->args[last] = with(op, TE_DIV, at, PER_BYTE);
    return half_of(op, pair, at);
}

static TeExpr *extent_expr(Op *op, const TeExtent *e, uint32_t pos) {
    return e->expr ? te_expr_copy(op->f->arena, e->expr) : number(op, e->value, TE_I64, pos);
}

/* An extent of pairs, in elements, to compare a subscript with.  */
static TeExpr *end_of(Op *op, const TeExtent *e, int64_t each, const TeExpr *sub) {
    if (e->expr) return with(op, TE_MUL, te_expr_copy(op->f->arena, e->expr), each);
    int64_t end = end_mul(e->value, each);
    return number(op, end, end > INT32_MAX ? TE_I64 : sub->type, sub->pos);
}

static TeExpr *is_inside(Op *op, const TeExpr *read) {
    const TeTensor *t = &op->te->tensor[read->v.ref];
    TeExpr *all = NULL;
    for (int d = 0; d < read->n_args; d++) {
        bool last = d == read->n_args - 1;
        TeExpr *low = typed(op, read->args[d]), *high = typed(op, read->args[d]);
        TeExpr *end = end_of(op, &t->shape[d], last ? PER_BYTE : 1, low);
        TeExpr *in = both(op, TE_AND, with(op, TE_GE, low, 0), both(op, TE_LT, high, end));
        all = all ? both(op, TE_AND, all, in) : in;
    }
    return all;
}

/* The value of a read of a packed tensor, whose extents are halved already.  */
static TeExpr *element_of(Op *op, TeExpr *read) {
    TeExpr *e = call(op, TE_FN_E2M1, TE_F32, TE_F4E2M1, code_of(op, read));
    if (read->type != TE_F32) e = cast(op, read->type, e);    /* that of its else value */
    if (!read->other || te_is_zero(read->other)) return e;
    return choice(op, is_inside(op, read), e, read->other);
}

static void write_end(Op *op, TeExtent *e, uint32_t pos) {
    if (!e->written) e->written = extent_expr(op, e, pos);
}

/* Their ranges came from extents that are halved now: the text must tell them.  */
static void keep_ranges(Op *op, TeStmt *s, uint32_t indices) {
    for (int i = 0; i < s->n_index; i++) {
        if (!(indices >> i & 1)) continue;
        s->index[i].where = true;
        write_end(op, &s->index[i].lo, s->pos);
        write_end(op, &s->index[i].hi, s->pos);
    }
}

static void unpack_reads(Op *op, TeStmt *s, TeExpr **slot, const int *to) {
    TeExpr *e = *slot;
    for (int i = 0; i < e->n_args; i++) unpack_reads(op, s, &e->args[i], to);
    if (e->other) unpack_reads(op, s, &e->other, to);
    if (e->kind != TE_READ || to[e->v.ref] < 0) return;
    bool output = to[e->v.ref] != e->v.ref;
    e->v.ref = to[e->v.ref];
    if (output) return;
    keep_ranges(op, s, indices_in(e->args[e->n_args - 1]));
    *slot = element_of(op, e);
    keep_storage(*slot);
}

/* ---- outputs ---- */

static const char *free_name(Op *op, const char *of) {
    for (int n = 0;; n++) {
        const char *name = n ? arena_printf(op->f->arena, "%.48s_elements%d", of, n)
                             : arena_printf(op->f->arena, "%.48s_elements", of);
        Symbol *sym = symbol(&op->f->symbols, name, strlen(name));
        bool is_free = !sym->reserved && name_kind(op->f, sym) == NAME_FREE;
        if (is_free && declare(op->f, sym, 0, NAME_TENSOR, 0))
            return sym->name;
    }
}

/* The temporary that the output's statement makes from now on.  */
static int elements_of(Op *op, int output) {
    Te *te = op->te;
    int i = te->n_tensor++;
    te->tensor[i] = te->tensor[output];
    te->tensor[i].name = free_name(op, te->tensor[output].name);
    te->tensor[i].role = TE_TEMP;
    te->tensor[i].strided = false;
    op->tensor[i] = (TensorInfo){.assigned = true, .read = true};
    return i;
}

/* The code of the pair's element `half`.  */
static TeExpr *code_at(Op *op, const TeStmt *s, int elements, int half) {
    TeExpr *read = te_expr_node(op->f->arena, TE_READ, TE_F32, s->n_left, s->pos);
    read->v.ref = elements;
    read->store = TE_F4E2M1;
    for (int d = 0; d < s->n_left; d++) read->args[d] = te_expr_index(op->f->arena, d, s->pos);
    TeExpr *at = with(op, TE_MUL, read->args[s->n_left - 1], PER_BYTE);
    read->args[s->n_left - 1] = half ? with(op, TE_ADD, at, half) : at;
    return call(op, TE_FN_E2M1_CODE, TE_I32, TE_I32, read);
}

static void join(Op *op, const TeStmt *made, int output, int elements) {
    Te *te = op->te;
    TeStmt *s = &te->stmt[te->n_stmt++];
    int n = made->n_left;
    *s = (TeStmt){.tensor = output, .n_left = n, .n_index = n, .accum = TE_DTYPE_COUNT,
                  .temp_type = TE_DTYPE_COUNT, .pos = made->pos};
    for (int d = 0; d < n; d++)
        s->index[d] = (TeIndex){.name = made->index[d].name, .lo = {.multiple = 1},
                                .hi = te->tensor[output].shape[d]};
    TeExpr *high = with(op, TE_MUL, code_at(op, s, elements, 1), CODES);
    s->rhs = cast(op, TE_F4E2M1X2, both(op, TE_ADD, code_at(op, s, elements, 0), high));
    keep_storage(s->rhs);
}

static void rename_reads(TeExpr *e, const int *to) {
    if (e->kind == TE_READ || e->kind == TE_SCALAR) e->v.ref = to[e->v.ref];
    for (int i = 0; i < e->n_args; i++) rename_reads(e->args[i], to);
    if (e->other) rename_reads(e->other, to);
}

/* Temporaries in the order of their statements, as the text tells them.  */
static void order_temporaries(Op *op) {
    Te *te = op->te;
    int n_arg = te->n_in + te->n_out, n = n_arg, *to = ARENA_ARRAY(op->f->arena, int, te->n_tensor);
    TeTensor *tensor = ARENA_ARRAY(op->f->arena, TeTensor, te->n_tensor);
    TensorInfo *info = ARENA_ARRAY(op->f->arena, TensorInfo, te->n_tensor);
    for (int t = 0; t < n_arg; t++) to[t] = t;
    for (int k = 0; k < te->n_stmt; k++)
        if (te->stmt[k].tensor >= n_arg) to[te->stmt[k].tensor] = n++;
    for (int t = 0; t < te->n_tensor; t++) {
        tensor[to[t]] = te->tensor[t];
        info[to[t]] = op->tensor[t];
    }
    for (int k = 0; k < te->n_stmt; k++) {
        te->stmt[k].tensor = to[te->stmt[k].tensor];
        rename_reads(te->stmt[k].rhs, to);
    }
    te->tensor = tensor;
    op->tensor = info;
}

static bool expand_output(Op *op, TeStmt *s, const int *to) {
    int output = s->tensor;
    if (to[output] < 0) return true;
    if (op->te->n_stmt == TE_MAX_STMTS)
        return complain(op->f, "limit", s->pos, "more than %d statements", TE_MAX_STMTS);
    s->tensor = to[output];
    s->temp_type = TE_F4E2M1;
    keep_ranges(op, s, (1u << s->n_left) - 1);
    join(op, s, output, to[output]);
    return true;
}

bool packed_expand(Op *op) {
    Te *te = op->te;
    int to[TE_MAX_TENSORS], n_stmt = te->n_stmt, n_arg = te->n_in + te->n_out;
    bool any = false;
    for (int t = 0; t < te->n_tensor; t++) to[t] = -1;
    for (int t = 0; t < n_arg; t++) {
        if (!is_packed(&te->tensor[t])) continue;
        any = true;
        to[t] = t < te->n_in ? t : elements_of(op, t);
        if (!halve(op, t) || (to[t] != t && !tensor_measure(op, to[t]))) return false;
    }
    for (int k = 0; any && k < n_stmt; k++) {
        polys_enter(op, k);
        unpack_reads(op, &te->stmt[k], &te->stmt[k].rhs, to);
        if (!expand_output(op, &te->stmt[k], to)) return false;
    }
    if (any) order_temporaries(op);
    return true;
}
