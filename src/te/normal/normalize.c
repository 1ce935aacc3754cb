#include "te/normal/normalize.h"
#include "te/access/access.h"
#include "te/canon/canon.h"
#include "te/front/front.h"
#include "te/tree/tree.h"
#include <string.h>

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

/* Ranges that a changed reader no longer gives are written out.  */
static void write_ranges(Norm *n) {
    bool any = n->te->n_stmt < n->n_source;
    for (int k = 0; k < n->te->n_stmt; k++)
        any = any || n->changed[k];
    if (!any)
        return;
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
    }
}

/* What was written as an accumulation may be none any more.  */
static void assign_changed(Norm *n) {
    for (int k = 0; k < n->te->n_stmt; k++) {
        if (n->changed[k]) n->te->stmt[k].asg = TE_ASSIGN;
    }
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

/* Every statement is a site of decisions, and those that are made from it later.  */
static void number_sites(Te *te) {
    TeDecisions *x = te->decisions;
    for (int k = 0; k < te->n_stmt; k++) {
        te->stmt[k].site = k;
        if (!x) continue;
        x->name[k] = te->tensor[te->stmt[k].tensor].name;
        x->possible[k] = 0;
    }
    if (x) x->n = te->n_stmt;
}

/* A copy of the op with room for what passes add, and no statements yet.  */
static Norm *open_norm(Arena *a, Diag *d, const Te *in) {
    Te *te = ARENA_NEW(a, Te);
    *te = *in;
    te->tensor = ARENA_ROOM(a, TeTensor, TE_MAX_TENSORS);
    memcpy(te->tensor, in->tensor, (size_t)in->n_tensor * sizeof *in->tensor);
    te->stmt = ARENA_ROOM(a, TeStmt, TE_MAX_STMTS);
    te->n_stmt = 0;
    Norm *n = ARENA_NEW(a, Norm);
    n->a = a;
    n->d = d;
    n->te = te;
    return n;
}

static void store_reads(const Te *te, TeExpr *e) {
    for (int i = 0; i < e->n_args; i++) store_reads(te, e->args[i]);
    if (e->other) store_reads(te, e->other);
    if (e->kind == TE_READ) e->store = te->tensor[e->v.ref].dtype;
}

/* The real type that all who read a tensor cast it to as they do; its own: there is none.  */
static void find_casts(const Te *te, const TeExpr *e, TeDtype cast, TeDtype *to, bool *seen) {
    if (e->kind == TE_READ) {
        TeDtype own = te->tensor[e->v.ref].dtype, *type = &to[e->v.ref];
        bool rounds = cast != TE_DTYPE_COUNT && te_dtype_class(own) == TE_CLASS_REAL &&
                      te_dtype_compute(cast) == te_dtype_compute(own) &&
                      te_dtype_bytes(cast) < te_dtype_bytes(own) &&
                      (!e->other || te_is_zero(e->other));
        TeDtype reads = rounds ? cast : own;
        *type = !seen[e->v.ref] || *type == reads ? reads : own;
        seen[e->v.ref] = true;
    }
    TeDtype below = e->kind == TE_CAST ? e->store : TE_DTYPE_COUNT;
    for (int i = 0; i < e->n_args; i++) find_casts(te, e->args[i], below, to, seen);
    if (e->other) find_casts(te, e->other, TE_DTYPE_COUNT, to, seen);
}

/* Drops casts of reads to the type that is stored; one to f8e5m2 saturates its infinities.  */
static bool drop_casts(const TeTensor *tensor, TeExpr **slot) {
    TeExpr *e = *slot;
    bool any = false;
    for (int i = 0; i < e->n_args; i++) any |= drop_casts(tensor, &e->args[i]);
    if (e->other) any |= drop_casts(tensor, &e->other);
    const TeExpr *read = e->kind == TE_CAST ? e->args[0] : e;
    if (read == e || read->kind != TE_READ || e->type != read->type ||
        e->store != tensor[read->v.ref].dtype || e->store == TE_F8E5M2)
        return any;
    *slot = e->args[0];
    return true;
}

/* A reduction that all its readers round is rounded as it is stored, once in either place.  */
static void round_stores(Norm *n) {
    TeDtype to[TE_MAX_TENSORS];
    bool seen[TE_MAX_TENSORS] = {false}, any = false;
    Te *te = n->te;
    for (int k = 0; k < te->n_stmt; k++)
        find_casts(te, te->stmt[k].rhs, TE_DTYPE_COUNT, to, seen);
    for (int k = 0; k < te->n_stmt; k++) {
        TeTensor *t = &te->tensor[te->stmt[k].tensor];
        int at = te->stmt[k].tensor;
        bool rounds = te_is_passing(t) && te->stmt[k].rhs->kind == TE_REDUCE && seen[at] &&
                      to[at] != t->dtype && !te_is_recurrence(te->stmt[k].rhs);
        if (rounds) t->dtype = te->stmt[k].temp_type = to[at];
        any |= rounds;
    }
    for (int k = 0; k < te->n_stmt && any; k++)
        n->changed[k] |= drop_casts(te->tensor, &te->stmt[k].rhs);
}

/* What stands in another place than it was written at may keep another type.  A temporary has the
 * narrowest one that holds its values exactly, so that a rounding is one whether it is a cast or
 * the type of a temporary; a reduction has the one that it is folded in, as others of its rows do.
 * What reads it computes in the type that it did.  */
static void keep_storages(Norm *n) {
    for (int k = 0; k < n->te->n_stmt; k++) {
        TeExpr *e = n->te->stmt[k].rhs;
        TeTensor *t = &n->te->tensor[n->te->stmt[k].tensor];
        store_reads(n->te, e);
        keep_storage(e);
        bool same = te_dtype_compute(t->dtype) == te_dtype_compute(e->store);
        bool narrower = te_dtype_bytes(e->store) < te_dtype_bytes(t->dtype);
        if (te_is_passing(t) && e->kind != TE_REDUCE && same && narrower) t->dtype = e->store;
    }
}

Status te_canonical(Arena *a, Diag *d, const Te *in, TeCanonical *out) {
    Norm *n = open_norm(a, d, in);
    n->n_source = in->n_stmt;
    for (int i = 0; i < in->n_stmt; i++) {
        Status st = normalize_append(n, in, i);
        if (st != ST_OK)
            return st;
    }
    normalize_canon(n);
    normalize_share(n);
    assign_changed(n);
    keep_storages(n);
    round_stores(n);
    normalize_list_reads(n);
    *out = (TeCanonical){n->te, n->origin, n->changed, n->n_source};
    return ST_OK;
}

Te *te_decided(Arena *a, const TeCanonical *c, const TeDecisions *decisions) {
    Diag quiet = diag_new(a);              /* a pass that finds no room leaves things as they are */
    Norm *n = open_norm(a, &quiet, c->te);
    Te *te = n->te;
    te->n_stmt = c->te->n_stmt;
    n->n_source = c->n_source;
    for (int k = 0; k < te->n_stmt; k++) {
        te->stmt[k] = c->te->stmt[k];
        te->stmt[k].rhs = te_expr_copy(a, te->stmt[k].rhs);
        n->origin[k] = c->origin[k];
        n->changed[k] = c->changed[k];
    }
    te->decisions = NULL;
    if (decisions) {
        te->decisions = ARENA_NEW(a, TeDecisions);
        *te->decisions = *decisions;
    }
    number_sites(te);
    normalize_list_reads(n);
    normalize_two_step(n);
    normalize_share(n);
    normalize_unroll(n);
    normalize_inline(n);
    normalize_canon(n);
    normalize_chain(n);
    normalize_phase(n);
    normalize_block(n);
    normalize_dead(n);
    normalize_relaid(n);
    write_ranges(n);
    assign_changed(n);
    place_lets(n, c->te);
    keep_storages(n);
    normalize_list_reads(n);
    te->n_node = 0;
    for (int i = 0; i < te->n_stmt; i++)
        te->n_node += te_expr_nodes(te->stmt[i].rhs);
    return te;
}

Status te_normalize(Arena *a, Diag *d, const Te *in, Te **out) {
    TeCanonical c;
    Status s = te_canonical(a, d, in, &c);
    if (!s) *out = te_decided(a, &c, in->decisions);
    return s;
}
