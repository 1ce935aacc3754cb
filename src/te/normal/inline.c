/* Element-wise temporaries that are computed again rather than stored.
 *
 * Holds for all types and data: the value is cast to the type that the temporary was stored in,
 * subscripts stay inside of what it reads, and the rules around it permit no more than those that
 * it was written under (@fast, @tf32).  */
#include "te/group/groups.h"
#include "te/normal/normalize.h"
#include "te/tree/tree.h"

/* Limits of repetition: of the size of a substituted body, of the number of places it goes to, and
 * of the trees it makes.  */
enum { BODY_NODES = 64, PLACES = 16, DEPTH = 56, NODES = 1 << 14 };

/* A scan meets each of its terms once.  */
static double iterations(const TeStmt *s) {
    double n = 1;
    Scan scan;
    bool once = access_scan(s, &scan);
    for (int i = 0; i < s->n_index; i++)
        n *= once && i == scan.over ? 1 : (double)s->index[i].hi.value;
    return n;
}

static int reads_of(const TeExpr *e, int t) {
    int n = e->kind == TE_READ && e->v.ref == t;
    for (int i = 0; i < e->n_args; i++)
        n += reads_of(e->args[i], t);
    return n + (e->other ? reads_of(e->other, t) : 0);
}

static bool is_any_read(const TeExpr *e) {
    return e->kind == TE_READ && !e->other;
}

/* Is it each element of another tensor in an order of its own: whoever leaves the copy leaves that,
 * too?  */
static bool is_permuted_copy(const Te *te, const TeStmt *s) {
    TeDtype stored = te->tensor[s->tensor].dtype;
    uint8_t at[TE_MAX_RANK];
    return access_permutes(te, s, at) &&
           (stored == s->rhs->type || stored == te->tensor[s->rhs->v.ref].dtype);
}

/* Every read of t below e may be replaced: no condition of its own, inside wherever it stands, and
 * no more permissive arithmetic around it than where t was computed.  */
static bool replaceable(const Norm *n, const TeStmt *made, const TeStmt *s, const TeExpr *e) {
    if (e->kind == TE_READ && e->v.ref == made->tensor) {
        bool inside = te_always_inside(e) && normalize_inside(n->te, s, e);
        if (!inside && (n->te->tensor[made->tensor].tested || !is_permuted_copy(n->te, made)))
            return false;
        for (int d = 0; d < e->n_args; d++) {
            if (reads_of(e->args[d], made->tensor) > 0)
                return false;
        }
    }
    for (int i = 0; i < e->n_args; i++) {
        if (!replaceable(n, made, s, e->args[i]))
            return false;
    }
    return !e->other || replaceable(n, made, s, e->other);
}

/* Where factors may be shortened: does it stay one factor, which is shortened once it is made?
 * Those of a product would be factors of the sum.  */
static bool stays_factor(const TeExpr *e) {
    return is_any_read(e) || e->kind == TE_ADD || e->kind == TE_SUB || e->kind == TE_CALL;
}

static bool rules_agree(const TeStmt *made, const TeStmt *s) {
    if (te_narrows_rules(made, s) && te_approximable(s->rhs))
        return false;
    if ((s->tf32 || s->fp32x3) && !stays_factor(made->rhs))
        return false;
    return te_expr_depth(made->rhs) + te_expr_depth(s->rhs) <= DEPTH;
}

/* A temporary that stays in registers behind a reduction is free.  Where it would be stored, it is
 * decided: usually it is computed again where that is as often as it was.  */
static bool is_repeated(const Norm *n, Groups *g, int made) {
    const Te *te = n->te;
    const TeStmt *m = &te->stmt[made];
    groups_place(te, g, g->last[m->tensor] + 1);
    groups_place(te, g, made + 1);
    if (g->root[g->home[made]] != made && te->stmt[g->root[g->home[made]]].rhs->kind == TE_REDUCE)
        return false;
    int places = 0;
    bool outside = false, usual = true;
    for (int i = made + 1; i <= g->last[m->tensor]; i++) {
        int reads = reads_of(te->stmt[i].rhs, m->tensor);
        places += reads;
        outside = outside || (reads > 0 && g->home[i] != g->home[made]);
        usual = usual && (reads == 0 || is_any_read(m->rhs) ||
                          iterations(&te->stmt[i]) <= iterations(m));
    }
    if (!outside || places > PLACES)
        return places == 1;
    return te_takes(te, m, usual ? TE_STORED : TE_REPEATED) != usual;
}

static bool is_of_sizes(const TeExpr *e) {
    bool is = e->kind != TE_READ && e->kind != TE_INDEX && e->kind != TE_SCALAR;
    for (int i = 0; i < e->n_args && is; i++) is = is_of_sizes(e->args[i]);
    return is;
}

/* Nodes that an element is made of: of two branches between which the sizes choose, those of the
 * larger one.  */
static int body_nodes(const TeExpr *e) {
    int n = 1;
    if (e->kind == TE_SELECT && is_of_sizes(e->args[0])) {
        int yes = body_nodes(e->args[1]), no = body_nodes(e->args[2]);
        return yes > no ? yes : no;
    }
    for (int i = 0; i < e->n_args; i++) n += body_nodes(e->args[i]);
    return e->other ? n + body_nodes(e->other) : n;
}

static bool can_inline(const Norm *n, Groups *g, int made) {
    const Te *te = n->te;
    const TeStmt *m = &te->stmt[made];
    if (!te_is_passing(&te->tensor[m->tensor]) || m->rhs->kind == TE_REDUCE)
        return false;
    int nodes = te_expr_nodes(m->rhs), total = 0;
    if (body_nodes(m->rhs) > BODY_NODES)
        return false;
    for (int i = made + 1; i <= g->last[m->tensor]; i++) {
        const TeStmt *s = &te->stmt[i];
        int reads = reads_of(s->rhs, m->tensor);
        if (reads > 0) total += te_expr_nodes(s->rhs) + reads * nodes;
        if (reads > 0 && (!rules_agree(m, s) || !replaceable(n, m, s, s->rhs)))
            return false;
    }
    return total <= NODES && is_repeated(n, g, made);
}

TeExpr *normalize_instance(Norm *n, const TeStmt *m, const TeExpr *read) {
    TeDtype stored = n->te->tensor[m->tensor].dtype;
    TeExpr *body = te_expr_at(n->a, m->rhs, read->args);
    bool keeps = body->kind == TE_READ && n->te->tensor[body->v.ref].dtype == stored &&
                 (!body->other || (te_dtype_zero(stored) && te_is_zero(body->other)));
    if (body->kind == TE_READ && !te_always_inside(read)) {
        body->other = read->other;
        body->inside = read->inside;
        body->type = read->type;
    } else if (!keeps && (stored != body->type || !te_own_type(body))) {
        TeExpr *cast = te_expr_node(n->a, TE_CAST, te_dtype_compute(stored), 1, read->pos);
        cast->store = stored;
        cast->args[0] = body;
        body = cast;
    }
    return body;
}

static void substitute(Norm *n, const TeStmt *m, TeExpr **slot) {
    TeExpr *e = *slot;
    for (int i = 0; i < e->n_args; i++)
        substitute(n, m, &e->args[i]);
    if (e->other)
        substitute(n, m, &e->other);
    if (e->kind == TE_READ && e->v.ref == m->tensor) *slot = normalize_instance(n, m, e);
}

static bool inline_statement(Norm *n, Groups *g, int made) {
    const TeStmt *m = &n->te->stmt[made];
    int last = g->last[m->tensor];
    bool any = false;
    for (int i = made + 1; i <= last; i++) {
        TeStmt *s = &n->te->stmt[i];
        if (reads_of(s->rhs, m->tensor) == 0)
            continue;
        s->fast &= !te_narrows_rules(m, s);
        substitute(n, m, &n->te->stmt[i].rhs);
        te_expr_list_reads(n->a, n->te->stmt[i].rhs);
        if (!any)
            groups_withdraw(g, i);
        n->changed[i] = any = true;
    }
    ReadList reads = access_reads(m->rhs);
    for (int i = 0; i < reads.n && any; i++) {
        int *known = &g->last[reads.at[i]->v.ref];
        *known = *known > last ? *known : last;
    }
    g->last[m->tensor] = -1;
    return any;
}

/* Where one goes, those that it reads may follow.  */
void normalize_inline(Norm *n) {
    Groups g;
    normalize_list_reads(n);
    groups_open(n->te, &g);
    for (bool any = true; any;) {
        any = false;
        for (int made = 0; made < n->te->n_stmt; made++)
            any |= can_inline(n, &g, made) &&
                   normalize_note(n, TE_MADE_INLINED, inline_statement(n, &g, made));
    }
}
