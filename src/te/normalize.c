#include "te/normalize.h"
#include "te/access.h"
#include "te/arith.h"
#include "te/tree.h"
#include <string.h>

/* A read of one index over a dimension that is just as long, or an affine one of static range.  */
bool normalize_inside(const Te *te, const TeStmt *s, const TeExpr *read) {
    const TeTensor *t = &te->tensor[read->v.ref];
    for (int d = 0; d < t->rank; d++) {
        const TeExpr *sub = read->args[d];
        if (sub->kind == TE_INDEX && te_extent_same(&s->index[sub->v.ref].hi, &t->shape[d]))
            continue;
        Affine f;
        int64_t lo, hi;
        if (t->shape[d].expr || !access_affine(te, s, sub, &f))
            return false;
        for (int i = 0; i < s->n_index; i++) {
            if (f.coef[i] != 0 && s->index[i].hi.expr)
                return false;
        }
        access_range(s, &f, &lo, &hi);
        if (lo <= hi && (lo < 0 || hi >= t->shape[d].value))
            return false;
    }
    return true;
}

static DiagPlace place_of(const Te *te, uint32_t pos) {
    return (DiagPlace){ .file = te->file, .text = te->text, .len = te->text_len, .pos = pos };
}

static bool name_taken(const Te *te, const char *name) {
    for (int i = 0; i < te->n_size; i++) {
        if (strcmp(te->size[i].name, name) == 0)
            return true;
    }
    for (int i = 0; i < te->n_tensor; i++) {
        if (strcmp(te->tensor[i].name, name) == 0)
            return true;
    }
    for (int i = 0; i < te->n_stmt; i++) {
        for (int j = 0; j < te->stmt[i].n_index; j++) {
            if (strcmp(te->stmt[i].index[j].name, name) == 0)
                return true;
        }
    }
    return false;
}

/* NAME_OP, NAME_OP2, ...: no reserved word has such a form.  `te` has the names made so far, `in`
 * those of the statements still to come.  */
static const char *fresh_name(Norm *n, const Te *in, const char *base, TeRedop red) {
    static const char *const redop[] = {
#define X(id, name) name,
        TE_REDOPS(X)
#undef X
    };
    for (int i = 1;; i++) {
        const char *name = i == 1 ? arena_printf(n->a, "%.40s_%s", base, redop[red])
                                  : arena_printf(n->a, "%.40s_%s%d", base, redop[red], i);
        if (!name_taken(n->te, name) && !name_taken(in, name))
            return name;
    }
}

/* ---- Ranges from 0 ---- */

static TeExtent extent_between(Norm *n, const TeExtent *lo, const TeExtent *hi, uint32_t pos) {
    TeExtent e = { .value = hi->value - lo->min, .min = hi->min - lo->value, .multiple = 1 };
    e.min = e.min > 0 ? e.min : 0;
    if (!lo->expr && !hi->expr)
        return e;
    TeExpr *sub = te_expr_node(n->a, TE_SUB, TE_I64, 2, pos);
    sub->args[0] = hi->expr ? te_expr_copy(n->a, hi->expr) : te_expr_int(n->a, hi->value, TE_I64, pos);
    sub->args[1] = lo->expr ? te_expr_copy(n->a, lo->expr) : te_expr_int(n->a, lo->value, TE_I64, pos);
    e.expr = sub;
    return e;
}

static void shift_index(Norm *n, TeExpr **slot, int index, const TeExtent *by) {
    TeExpr *e = *slot;
    if (e->kind == TE_INDEX && e->v.ref == index) {
        TeExpr *sum = te_expr_node(n->a, TE_ADD, TE_I64, 2, e->pos);
        sum->args[0] = e;
        sum->args[1] = by->expr ? te_expr_copy(n->a, by->expr)
                                : te_expr_int(n->a, by->value, TE_I64, e->pos);
        *slot = sum;
        return;
    }
    for (int i = 0; i < e->n_args; i++)
        shift_index(n, &e->args[i], index, by);
    if (e->other)
        shift_index(n, &e->other, index, by);
}

static bool start_at_zero(Norm *n, TeStmt *s) {
    bool any = false;
    for (int i = 0; i < s->n_index; i++) {
        TeIndex *x = &s->index[i];
        if (x->lo.value == 0 && !x->lo.expr)
            continue;
        shift_index(n, &s->rhs, i, &x->lo);
        x->hi = extent_between(n, &x->lo, &x->hi, s->pos);
        x->lo = (TeExtent){ .multiple = 1 };
        any = true;
    }
    return any;
}

/* ---- Simplification ---- */

/* Has a type of its own, so that it may stand without the cast around it.  */
static bool is_typed_leaf(const TeExpr *e) {
    return e->kind == TE_READ || e->kind == TE_SCALAR || e->kind == TE_CAST || e->kind == TE_REDUCE;
}

/* Drops casts that change nothing and joins nested reductions of one kind.  */
static bool simplify(Norm *n, TeExpr **slot) {
    TeExpr *e = *slot;
    bool any = false;
    for (int i = 0; i < e->n_args; i++)
        any |= simplify(n, &e->args[i]);
    if (e->other)
        any |= simplify(n, &e->other);
    if (e->kind == TE_CAST && is_typed_leaf(e->args[0]) && e->type == e->args[0]->type &&
        (e->store == e->type || e->store == e->args[0]->store)) {
        *slot = e->args[0];
        return true;
    }
    bool joins = e->kind == TE_REDUCE && e->args[0]->kind == TE_REDUCE && e->red == e->args[0]->red &&
                 e->red != TE_RED_ARGMAX && e->red != TE_RED_ARGMIN;
    if (!joins || e->type != e->args[0]->type)
        return any;
    const TeExpr *inner = e->args[0];
    memcpy(e->index + e->n_index, inner->index, inner->n_index);
    e->n_index = (uint8_t)(e->n_index + inner->n_index);
    e->args[0] = inner->args[0];
    return true;
}

/* ---- Hoisting ---- */

static void free_indices(const TeExpr *e, uint32_t bound, uint8_t *order, int *n, uint32_t *seen) {
    if (e->kind == TE_INDEX && !((bound | *seen) >> e->v.ref & 1)) {
        *seen |= 1u << e->v.ref;
        order[(*n)++] = (uint8_t)e->v.ref;
    }
    for (int i = 0; i < e->n_args; i++)
        free_indices(e->args[i], bound, order, n, seen);
    if (e->other)
        free_indices(e->other, bound, order, n, seen);
}

static void renumber(TeExpr *e, const uint8_t *to) {
    if (e->kind == TE_INDEX)
        e->v.ref = to[e->v.ref];
    for (int i = 0; e->kind == TE_REDUCE && i < e->n_index; i++)
        e->index[i] = to[e->index[i]];
    for (int i = 0; i < e->n_args; i++)
        renumber(e->args[i], to);
    if (e->other)
        renumber(e->other, to);
}

/* Reads that a condition around the reduction kept inside get a condition of their own.  */
static void guard_reads(Norm *n, const TeStmt *s, TeExpr *e) {
    if (e->kind == TE_READ && !e->other && (e->checked || !normalize_inside(n->te, s, e))) {
        e->other = te_expr_zero(n->a, e->type, e->pos);
        e->checked = false;
    }
    for (int i = 0; i < e->n_args; i++)
        guard_reads(n, s, e->args[i]);
    if (e->other)
        guard_reads(n, s, e->other);
}

static TeExtent extent_product(Norm *n, const TeExtent *x, const TeExtent *y, uint32_t pos) {
    TeExtent e = { .min = x->min * y->min };
    if (!mul_fits(x->value, y->value, &e.value))
        e.value = INT64_MAX;
    if (!mul_fits(x->multiple, y->multiple, &e.multiple) || e.value == INT64_MAX)
        e.multiple = 1;
    if (x->expr || y->expr) {
        TeExpr *mul = te_expr_node(n->a, TE_MUL, TE_I64, 2, pos);
        mul->args[0] = x->expr ? te_expr_copy(n->a, x->expr) : te_expr_int(n->a, x->value, TE_I64, pos);
        mul->args[1] = y->expr ? te_expr_copy(n->a, y->expr) : te_expr_int(n->a, y->value, TE_I64, pos);
        e.expr = mul;
    }
    return e;
}

static void set_dense_strides(Norm *n, TeTensor *t) {
    TeExtent stride = { .value = 1, .min = 1, .multiple = 1 };
    for (int d = t->rank - 1; d >= 0; d--) {
        t->stride[d] = stride;
        stride = extent_product(n, &stride, &t->shape[d], t->pos);
    }
}

static TeExpr *read_of(Norm *n, int tensor, const TeExpr *reduce, const uint8_t *at, int rank) {
    TeExpr *r = te_expr_node(n->a, TE_READ, reduce->type, rank, reduce->pos);
    r->v.ref = tensor;
    for (int d = 0; d < rank; d++)
        r->args[d] = te_expr_index(n->a, at[d], reduce->pos);
    return r;
}

static void append(Norm *n, const TeStmt *s, int origin, bool changed) {
    n->te->stmt[n->te->n_stmt] = *s;
    n->origin[n->te->n_stmt] = origin;
    n->changed[n->te->n_stmt] = changed;
    n->te->n_stmt++;
}

/* A statement T[free] = reduce for a new temporary T; the read of T takes the reduction's place.  */
static Status hoist(Norm *n, const Te *in, const TeStmt *s, int origin, TeExpr **slot, bool branch) {
    TeExpr *reduce = *slot;
    uint8_t order[TE_MAX_INDICES], to[TE_MAX_INDICES] = { 0 };
    uint32_t bound = 0, seen = 0;
    int rank = 0;
    for (int i = 0; i < reduce->n_index; i++)
        bound |= 1u << reduce->index[i];
    free_indices(reduce, bound, order, &rank, &seen);
    if (rank > TE_MAX_RANK || n->te->n_stmt >= TE_MAX_STMTS - 1)
        return diag_error(n->d, ST_TE, "limit", place_of(in, reduce->pos),
                          rank > TE_MAX_RANK ? "a reduction inside an expression depends on more than "
                                               "8 indices"
                                             : "more than 256 statements after splitting reductions");
    if (branch)
        guard_reads(n, s, reduce);

    int tensor = n->te->n_tensor;
    TeTensor *t = &n->te->tensor[tensor];
    *t = (TeTensor){ .role = TE_TEMP, .dtype = reduce->type, .rank = rank, .pos = reduce->pos };
    t->name = fresh_name(n, in, in->tensor[s->tensor].name, (TeRedop)reduce->red);
    n->te->n_tensor++;
    TeStmt h = { .tensor = tensor, .n_left = rank, .n_index = rank, .accum = TE_DTYPE_COUNT,
                 .temp_type = TE_DTYPE_COUNT, .fast = s->fast, .pos = reduce->pos };
    for (int d = 0; d < rank; d++) {
        h.index[d] = s->index[order[d]];
        h.index[d].reduction = false;
        to[order[d]] = (uint8_t)d;
        t->shape[d] = h.index[d].hi;
    }
    set_dense_strides(n, t);
    for (int i = 0; i < reduce->n_index; i++) {
        to[reduce->index[i]] = (uint8_t)h.n_index;
        h.index[h.n_index++] = s->index[reduce->index[i]];
    }
    if (reduce->red == TE_RED_SUM || reduce->red == TE_RED_PROD)
        h.accum = s->accum;
    h.tf32 = s->tf32 && reduce->red == TE_RED_SUM;
    h.fp32x3 = s->fp32x3 && reduce->red == TE_RED_SUM;
    *slot = read_of(n, tensor, reduce, order, rank);
    renumber(reduce, to);
    h.rhs = reduce;
    append(n, &h, origin, true);
    return ST_OK;
}

/* Hoists every reduction below *slot, innermost first.  `branch`: some condition decides whether
 * *slot is evaluated.  */
static Status hoist_below(Norm *n, const Te *in, const TeStmt *s, int origin, TeExpr **slot,
                          bool branch, bool root) {
    TeExpr *e = *slot;
    for (int i = 0; i < e->n_args; i++) {
        bool decided = i > 0 && (e->kind == TE_SELECT || e->kind == TE_AND || e->kind == TE_OR);
        Status st = hoist_below(n, in, s, origin, &e->args[i], branch || decided, false);
        if (st != ST_OK)
            return st;
    }
    if (e->other) {
        Status st = hoist_below(n, in, s, origin, &e->other, true, false);
        if (st != ST_OK)
            return st;
    }
    if (e->kind != TE_REDUCE || root)
        return ST_OK;
    return hoist(n, in, s, origin, slot, branch);
}

/* After hoisting: only the left indices and those of a reduction at the root are left.  */
static void drop_unused_indices(TeStmt *s) {
    uint8_t to[TE_MAX_INDICES] = { 0 };
    TeIndex kept[TE_MAX_INDICES];
    int n = s->n_left;
    for (int i = 0; i < n; i++) {
        to[i] = (uint8_t)i;
        kept[i] = s->index[i];
    }
    for (int i = 0; s->rhs->kind == TE_REDUCE && i < s->rhs->n_index; i++) {
        to[s->rhs->index[i]] = (uint8_t)n;
        kept[n++] = s->index[s->rhs->index[i]];
    }
    renumber(s->rhs, to);
    memcpy(s->index, kept, (size_t)n * sizeof kept[0]);
    s->n_index = n;
}

static Status split_statement(Norm *n, const Te *in, int stmt) {
    TeStmt s = in->stmt[stmt];
    s.rhs = te_expr_copy(n->a, s.rhs);
    int before = n->te->n_stmt;
    bool changed = start_at_zero(n, &s);
    changed |= simplify(n, &s.rhs);
    Status st = hoist_below(n, in, &s, stmt, &s.rhs, false, true);
    if (st != ST_OK)
        return st;
    if (n->te->n_stmt >= TE_MAX_STMTS)
        return diag_error(n->d, ST_TE, "limit", place_of(in, s.pos),
                          "more than 256 statements after splitting reductions");
    changed |= n->te->n_stmt != before;
    drop_unused_indices(&s);
    if (s.rhs->kind != TE_REDUCE) {
        s.accum = TE_DTYPE_COUNT;
        s.tf32 = s.fp32x3 = false;
    }
    append(n, &s, stmt, changed);
    return ST_OK;
}

/* ---- What is written ---- */

static bool has_branch(const TeExpr *e) {
    if (e->kind == TE_SELECT || e->kind == TE_AND || e->kind == TE_OR)
        return true;
    for (int i = 0; i < e->n_args; i++) {
        if (has_branch(e->args[i]))
            return true;
    }
    return e->other && has_branch(e->other);
}

/* Looks for reads with plain index i as a subscript.  */
static void find_plain(const Te *te, const TeExpr *e, int i, const TeExtent *range, bool *found,
                       bool *differs) {
    for (int d = 0; d < e->n_args; d++) {
        const TeExpr *sub = e->args[d];
        if (e->kind == TE_READ && sub->kind == TE_INDEX && sub->v.ref == i) {
            *found = true;
            *differs |= !te_extent_same(&te->tensor[e->v.ref].shape[d], range);
        }
        find_plain(te, sub, i, range, found, differs);
    }
    if (e->other)
        find_plain(te, e->other, i, range, found, differs);
}

/* A range that a reader could no longer infer is written out.  */
static void write_ranges(Norm *n) {
    for (int k = 0; k < n->te->n_stmt; k++) {
        TeStmt *s = &n->te->stmt[k];
        bool temp = n->te->tensor[s->tensor].role == TE_TEMP;
        for (int i = 0; i < s->n_index; i++) {
            if (s->index[i].where || (i < s->n_left ? !temp : !n->changed[k]))
                continue;
            bool found = false, differs = false;
            find_plain(n->te, s->rhs, i, &s->index[i].hi, &found, &differs);
            s->index[i].where = !found || differs || has_branch(s->rhs);
        }
        if (n->changed[k])
            s->asg = TE_ASSIGN;
    }
}

/* ---- Temporaries nobody reads ---- */

static void count_reads(const TeExpr *e, int *reads) {
    if (e->kind == TE_READ)
        reads[e->v.ref]++;
    for (int i = 0; i < e->n_args; i++)
        count_reads(e->args[i], reads);
    if (e->other)
        count_reads(e->other, reads);
}

static void retarget(TeExpr *e, const int *to) {
    if (e->kind == TE_READ || e->kind == TE_SCALAR)
        e->v.ref = to[e->v.ref];
    for (int i = 0; i < e->n_args; i++)
        retarget(e->args[i], to);
    if (e->other)
        retarget(e->other, to);
}

/* Removes them from the last statement up, so that chains of them go at once.  */
static void drop_dead(Norm *n) {
    Te *te = n->te;
    int reads[TE_MAX_ARGS + 2 * TE_MAX_STMTS] = { 0 }, to[TE_MAX_ARGS + 2 * TE_MAX_STMTS];
    bool dead[TE_MAX_STMTS] = { false };
    for (int k = te->n_stmt - 1; k >= 0; k--) {
        int t = te->stmt[k].tensor;
        dead[k] = te->tensor[t].role == TE_TEMP && reads[t] == 0;
        if (!dead[k])
            count_reads(te->stmt[k].rhs, reads);
    }
    int kept = 0;
    for (int t = 0; t < te->n_tensor; t++) {
        to[t] = kept;
        if (te->tensor[t].role != TE_TEMP || reads[t] > 0)
            te->tensor[kept++] = te->tensor[t];
    }
    te->n_tensor = kept;
    kept = 0;
    for (int k = 0; k < te->n_stmt; k++) {
        if (dead[k])
            continue;
        te->stmt[kept] = te->stmt[k];
        n->origin[kept] = n->origin[k];
        n->changed[kept] = n->changed[k];
        retarget(te->stmt[kept].rhs, to);
        te->stmt[kept].tensor = to[te->stmt[kept].tensor];
        kept++;
    }
    te->n_stmt = kept;
}

/* A `let` of the body stands before the first statement that came from the one behind it.  */
static void place_lets(Norm *n, const Te *in) {
    n->te->size = ARENA_ARRAY(n->a, TeSize, in->n_size);
    for (int i = 0; i < in->n_size; i++) {
        TeSize *z = &n->te->size[i];
        *z = in->size[i];
        if (z->kind != TE_SIZE_LET || z->stmt < 0)
            continue;
        int before = 0;
        while (before < n->te->n_stmt && n->origin[before] < in->size[i].stmt)
            before++;
        z->stmt = before;
    }
}

Status te_normalize(Arena *a, Diag *d, const Te *in, Te **out) {
    Te *te = ARENA_NEW(a, Te);
    *te = *in;
    te->tensor = ARENA_ARRAY(a, TeTensor, TE_MAX_ARGS + 2 * TE_MAX_STMTS);
    memcpy(te->tensor, in->tensor, (size_t)in->n_tensor * sizeof *in->tensor);
    te->stmt = ARENA_ARRAY(a, TeStmt, TE_MAX_STMTS);
    te->n_stmt = 0;
    Norm *n = ARENA_NEW(a, Norm);
    *n = (Norm){ .a = a, .d = d, .te = te };
    for (int i = 0; i < in->n_stmt; i++) {
        Status st = split_statement(n, in, i);
        if (st != ST_OK)
            return st;
    }
    normalize_inline(n);
    drop_dead(n);
    write_ranges(n);
    place_lets(n, in);
    te->n_node = 0;
    for (int i = 0; i < te->n_stmt; i++)
        te->n_node += te_expr_nodes(te->stmt[i].rhs);
    *out = te;
    return ST_OK;
}
