/* Ranges of indices: the six rules of docs/te-reference.md, "Ranges".  */
#include "te/front/front.h"
#include "te/tree/tree.h"
#include <inttypes.h>
#include <string.h>

static TeIndex *index_at(Op *op, int stmt, int i) { return &op->te->stmt[stmt].index[i]; }

static bool extent_known(const Op *op, const Subscript *u) {
    return op->tensor[u->read->v.ref].known[u->dim];
}

static const TeExtent *extent_at(const Op *op, const Subscript *u) {
    return &op->te->tensor[u->read->v.ref].shape[u->dim];
}

static const char *tensor_name(const Op *op, const Subscript *u) {
    return op->te->tensor[u->read->v.ref].name;
}

static bool same_extent(Op *op, const TeExtent *a, const TeExtent *b) {
    return poly_same(extent_poly(op, a), extent_poly(op, b));
}

/* Fixes index i to 0..hi-1; a temporary's left index is its extent.  */
static void fix(Op *op, int stmt, int i, RangeBy by, const TeExtent *hi, const char *from) {
    TeStmt *s = &op->te->stmt[stmt];
    StmtInfo *info = &op->stmt[stmt];
    if (by != BY_WHERE) {
        extent_of(op->f, poly_const(&op->f->polys, 0), &s->index[i].lo);
        s->index[i].hi = *hi;
    }
    info->by[i] = by;
    info->from[i] = from;
    if (i >= s->n_left || op->te->tensor[s->tensor].role != TE_TEMP) return;
    op->te->tensor[s->tensor].shape[i] = s->index[i].hi;
    op->tensor[s->tensor].known[i] = true;
}

/* An extent, and the tensor that says it.  */
typedef struct {
    const TeExtent *extent;
    const char *tensor;
} Said;

/* The read without padding that gave dimension d of temporary t its extent; NULL: none did.  */
static const Subscript *window_of(Op *op, int t, int d) {
    int s = 0;
    while (s < op->te->n_stmt && op->te->stmt[s].tensor != t) s++;
    if (s == op->te->n_stmt || op->stmt[s].by[d] != BY_WINDOW) return NULL;
    for (int k = 0; k < op->stmt[s].n_sub; k++) {
        const Subscript *u = &op->stmt[s].sub[k];
        if (u->plain < 0 && !u->guarded && (u->uses >> d & 1) &&
            strcmp(tensor_name(op, u), op->stmt[s].from[d]) == 0)
            return u;
    }
    return NULL;
}

/* An output asks for more of a temporary than there is without padding.  */
static bool padding_is_missing(Op *op, const Subscript *of, const Subscript *u, Said out) {
    Front *f = op->f;
    const char *name = tensor_name(op, of);
    complain(f, "extent", of->sub->pos,
             "'%s' is read inside alone, so dimension %d of '%s' has extent %s, and '%s' has %s",
             name, u->dim, tensor_name(op, u), extent_text(f, extent_at(op, u)), out.tensor,
             extent_text(f, out.extent));
    hint(f, "write (%s[...] else 0) if padding is meant", name);
    return false;
}

/* The read with 0 for the subscript.  */
static const char *read_at_zero(Op *op, int stmt, const Subscript *u) {
    TeExpr *read = te_expr_copy(op->f->arena, u->read);
    read->other = NULL;
    read->args[u->dim] = te_expr_int(op->f->arena, 0, TE_I64, u->sub->pos);
    return expr_text(op->f, &op->te->stmt[stmt], read);
}

/* "index 'k' has extent K = 64 in 'A' and L = 60 in 'B'": b is the subscript's.  */
static bool two_extents(Op *op, int stmt, int i, Said first, const TeExtent *b,
                        const Subscript *u) {
    Front *f = op->f;
    const TeExtent *a = first.extent;
    const char *name = index_at(op, stmt, i)->name, *in_b = tensor_name(op, u);
    bool b_less = poly_le(&f->polys, extent_poly(op, b), extent_poly(op, a));
    bool a_less = poly_le(&f->polys, extent_poly(op, a), extent_poly(op, b));
    bool fixed = op->stmt[stmt].by[i] == BY_OUTPUT;
    const TeExtent *less = b_less ? b : a;
    const Subscript *of = fixed && b_less ? window_of(op, u->read->v.ref, u->dim) : NULL;
    op->stmt[stmt].bad = true;
    if (of) return padding_is_missing(op, of, u, first);
    complain(f, "extent", u->sub->pos, "index '%s' has extent %s in '%s' and %s in '%s'", name,
             extent_text(f, a), first.tensor, extent_text(f, b), in_b);
    bool one = b_less && !b->expr && b->value == 1;
    if (one)
        hint(f, "an extent of 1 is not spread by itself: write %s", read_at_zero(op, stmt, u));
    else if (fixed && b_less)
        hint(f, "write (%s[...] else 0) if padding is meant", in_b);
    else if ((a_less || b_less) && !less->expr)
        hint(f, "to use a part, say so: where %s in 0:%" PRId64, name, less->value);
    else if (a_less || b_less)
        hint(f, "to use a part, say so: where %s in 0:%s", name, expr_text(f, NULL, less->expr));
    return false;
}

static const char *range_text(Front *f, const TeExtent *e) {
    return e->written ? expr_text(f, NULL, e->written)
                      : arena_printf(f->arena, "%" PRId64, e->value);
}

/* Rule 1.  `where` was noted when the statement was read.  */
static void by_declaration(Op *op, int stmt) {
    Front *f = op->f;
    TeStmt *s = &op->te->stmt[stmt];
    StmtInfo *info = &op->stmt[stmt];
    const TeTensor *t = &op->te->tensor[s->tensor];
    for (int i = 0; i < s->n_left; i++) {
        TeIndex *x = &s->index[i];
        int64_t lo;
        if (!x->where) {
            if (t->role == TE_OUTPUT) fix(op, stmt, i, BY_OUTPUT, &t->shape[i], t->name);
            continue;
        }
        bool from_0 = poly_is_const(extent_poly(op, &x->lo), &lo) && lo == 0;
        if (t->role == TE_OUTPUT && !(from_0 && same_extent(op, &x->hi, &t->shape[i])))
            info->bad = !complain(f, "extent", info->index_pos[i],
                                  "index '%s' runs over %s:%s, but '%s' has extent %s", x->name,
                                  range_text(f, &x->lo), range_text(f, &x->hi), t->name,
                                  extent_text(f, &t->shape[i]));
        else if (!from_0)
            info->bad = !complain(f, "range", info->index_pos[i],
                                  "index '%s' of a temporary must start at 0", x->name);
        const AstPart *p = info->part;
        fix(op, stmt, i, BY_WHERE, &x->hi, t->name);
        if (!p || !p->inferred || x->name != p->index->name) continue;
        info->by[i] = BY_OUTPUT;
        info->from[i] = p->of->name;
    }
}

/* Rule 3: the extent of what an index subscripts by itself.  */
static bool by_extent(Op *op, int stmt) {
    StmtInfo *info = &op->stmt[stmt];
    bool changed = false;
    for (int k = 0; k < info->n_sub; k++) {
        const Subscript *u = &info->sub[k];
        int i = u->plain;
        if (i < 0 || (u->excluded >> i & 1) || info->by[i] != BY_NOTHING || !extent_known(op, u))
            continue;
        fix(op, stmt, i, BY_EXTENT, extent_at(op, u), tensor_name(op, u));
        changed = true;
    }
    return changed;
}

/* The one index of u without a range, if u is linear with a slope of known sign; else -1.  */
static int open_index(Op *op, int stmt, const Subscript *u, const Poly **p) {
    const StmtInfo *info = &op->stmt[stmt];
    int open = -1;
    for (int i = 0; i < op->te->stmt[stmt].n_index; i++) {
        if (!(u->uses >> i & 1) || info->by[i] != BY_NOTHING) continue;
        if (open >= 0 || (u->excluded >> i & 1)) return -1;
        open = i;
    }
    if (open < 0) return -1;
    *p = expr_poly(op, u->sub);
    for (int t = 0; *p && t < (*p)->n; t++) {
        int indices = 0;
        for (int j = 0; j < (*p)->term[t].degree; j++) {
            const Atom *a = &op->f->polys.atom[(*p)->term[t].atom[j]];
            if (a->open && a->kind != ATOM_INDEX) return -1;
            indices += a->kind == ATOM_INDEX;
        }
        if (indices > 1) return -1;
    }
    return open;
}

/* The longest range from 0 for which slope * i + rest stays inside the dimension.  */
static const Poly *window(Op *op, const Poly *p, int i, const TeExtent *dim) {
    Polys *ps = &op->f->polys;
    const Poly *slope, *rest, *room, *zero = poly_const(ps, 0), *one = poly_const(ps, 1);
    if (!poly_linear(ps, p, i, &slope, &rest)) return NULL;
    if (poly_le(ps, one, slope)) {
        rest = poly_bound(ps, rest, true);
        room = poly_add(ps, poly_add(ps, extent_poly(op, dim), one, -1), rest, -1);
    } else {
        slope = poly_add(ps, zero, slope, -1);
        if (!poly_le(ps, one, slope)) return NULL;
        room = poly_bound(ps, rest, false);
    }
    const Poly *n = poly_add(ps, poly_quotient(ps, room, slope), one, 1);
    return n ? poly_greatest(ps, n, zero) : NULL;
}

/* Rule 4, one round: windows found with what was known before it.  */
static bool by_window(Op *op, int stmt) {
    StmtInfo *info = &op->stmt[stmt];
    const Subscript *first[TE_MAX_INDICES] = {0};
    const Poly *found[TE_MAX_INDICES] = {0};
    TeExtent extent[TE_MAX_INDICES] = {0};
    bool changed = false;
    polys_enter(op, stmt);
    for (int k = 0; k < info->n_sub; k++) {
        const Subscript *u = &info->sub[k];
        const Poly *p, *n;
        TeExtent e;
        int i = u->guarded || !extent_known(op, u) ? -1 : open_index(op, stmt, u, &p);
        if (i < 0 || !(n = window(op, p, i, extent_at(op, u))) || !extent_of(op->f, n, &e))
            continue;
        if (found[i] && !poly_same(found[i], n))
            return two_extents(op, stmt, i, (Said){&extent[i], tensor_name(op, first[i])}, &e, u);
        extent_clamp(&e);
        found[i] = n;
        extent[i] = e;
        first[i] = u;
    }
    for (int i = 0; i < op->te->stmt[stmt].n_index; i++) {
        if (!found[i]) continue;
        fix(op, stmt, i, BY_WINDOW, &extent[i], tensor_name(op, first[i]));
        changed = true;
    }
    return changed;
}

/* What the reader `u` in statement r gives temporary t's dimension d, else NULL.  */
static const TeExtent *reader_extent(const Op *op, int r, const Subscript *u, int t, int d) {
    if (u->read->v.ref != t || u->dim != d || u->plain < 0) return NULL;
    const TeIndex *x = &op->te->stmt[r].index[u->plain];
    bool known = op->stmt[r].by[u->plain] != BY_NOTHING && !x->lo.expr && x->lo.value == 0;
    return known ? &x->hi : NULL;
}

/* Rule 5: from later statements that read the temporary.  */
static bool by_reader(Op *op, int stmt, int i) {
    int t = op->te->stmt[stmt].tensor;
    const TeExtent *found = NULL;
    const char *from = NULL;
    for (int r = stmt + 1; r < op->te->n_stmt; r++) {
        const StmtInfo *info = &op->stmt[r];
        for (int k = 0; k < info->n_sub && !info->bad; k++) {
            const TeExtent *e = reader_extent(op, r, &info->sub[k], t, i);
            if (!e) continue;
            if (found && !same_extent(op, found, e)) {
                op->stmt[stmt].bad = true;
                return complain(
                    op->f, "extent", info->sub[k].sub->pos,
                    "dimension %d of '%s' is read with extent %s for '%s' and %s for '%s'", i,
                    op->te->tensor[t].name, extent_text(op->f, found), from, extent_text(op->f, e),
                    op->te->tensor[op->te->stmt[r].tensor].name);
            }
            found = e;
            from = op->te->tensor[op->te->stmt[r].tensor].name;
        }
    }
    if (found) fix(op, stmt, i, BY_READER, found, from);
    return found;
}

static bool infer(Op *op, int stmt) {
    bool changed = false, again;
    do {
        again = by_extent(op, stmt) || (!op->stmt[stmt].bad && by_window(op, stmt));
        changed = changed || again;
    } while (again && !op->stmt[stmt].bad);
    return changed;
}

static bool infer_readers(Op *op) {
    bool changed = false;
    for (int s = op->te->n_stmt - 1; s >= 0; s--) {
        const TeStmt *stmt = &op->te->stmt[s];
        for (int i = 0; i < stmt->n_left && !op->stmt[s].bad; i++) {
            if (op->stmt[s].by[i] == BY_NOTHING && by_reader(op, s, i)) changed = true;
        }
    }
    return changed;
}

static bool is_open(const Op *op, int stmt) {
    for (int i = 0; i < op->te->stmt[stmt].n_index; i++) {
        if (op->stmt[stmt].by[i] == BY_NOTHING) return !op->stmt[stmt].bad;
    }
    return false;
}

/* Rule 2, and the "all must be equal" of rule 3: plain subscripts against the range found.  */
static void plain_check(Op *op, int stmt) {
    StmtInfo *info = &op->stmt[stmt];
    for (int k = 0; k < info->n_sub && !info->bad; k++) {
        const Subscript *u = &info->sub[k];
        int i = u->plain;
        if (i < 0 || (u->excluded >> i & 1) || info->by[i] == BY_WHERE || !extent_known(op, u))
            continue;
        const TeExtent *hi = &index_at(op, stmt, i)->hi, *dim = extent_at(op, u);
        if (same_extent(op, hi, dim)) continue;
        if (!u->guarded || info->by[i] == BY_EXTENT) {
            two_extents(op, stmt, i, (Said){hi, info->from[i]}, dim, u);
        } else {
            diag_warning(op->f->diag, "extent", place(op->f, u->sub->pos),
                         "index '%s' has extent %s, dimension %d of '%s' has %s",
                         index_at(op, stmt, i)->name, extent_text(op->f, hi), u->dim,
                         tensor_name(op, u), extent_text(op->f, dim));
        }
    }
}

/* What a subscript lets the range of index i end at: what its axis has, as many times as the index
 * is divided by.  NULL: it says nothing, as a rest does.  */
static const char *extent_said(Op *op, const Subscript *u, int i) {
    const TeExpr *by = u->sub->n_args == 2 ? u->sub->args[1] : NULL;
    if (!(u->uses >> i & 1) || !extent_known(op, u) || u->sub->kind == TE_MOD) return NULL;
    const TeExtent *e = extent_at(op, u);
    const char *text = e->written ? expr_text(op->f, NULL, e->written) : extent_text(op->f, e);
    if (u->sub->kind != TE_DIV || by->kind != TE_INT) return text;
    bool one = !e->written || e->written->n_args == 0;
    return arena_printf(op->f->arena, one ? "%s*%" PRId64 : "(%s)*%" PRId64, text, by->v.i);
}

/* Rule 6.  */
static bool ask_for_where(Op *op, int stmt) {
    StmtInfo *info = &op->stmt[stmt];
    const TeStmt *s = &op->te->stmt[stmt];
    for (int i = 0; i < s->n_index && !info->bad; i++) {
        if (info->by[i] != BY_NOTHING) continue;
        const char *extent = NULL;
        for (int k = info->n_sub - 1; k >= 0; k--) {
            const char *said = extent_said(op, &info->sub[k], i);
            if (said) extent = said;
        }
        complain(op->f, "range", info->index_pos[i], "cannot infer the range of '%s'",
                 s->index[i].name);
        /* In no subscript and no single letter: it was hardly meant to be an index.  */
        if (extent || !s->index[i].name[1] || !hint_nearest(op, s->index[i].name, false))
            hint(op->f, "add: where %s in 0:%s", s->index[i].name, extent ? extent : "N");
        info->bad = true;
    }
    return !info->bad;
}

bool ranges_check(Op *op) {
    bool changed = true, ok = true;
    int n = op->te->n_stmt;
    for (int s = 0; s < n; s++) {
        subscripts_collect(op, s);
        by_declaration(op, s);
    }
    while (changed) {
        changed = false;
        for (int s = 0; s < n; s++) changed = (is_open(op, s) && infer(op, s)) || changed;
        changed = infer_readers(op) || changed;
    }
    for (int s = 0; s < n; s++) {
        if (!op->stmt[s].bad) plain_check(op, s);
        ok = ask_for_where(op, s) && ok;
    }
    return ok;
}
