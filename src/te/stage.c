/* Reductions in two steps: over the indices that lie contiguously first, which leaves rows, then
 * over those that stride across them, as for statistics of a channel in NCHW.  */
#include "te/access.h"
#include "te/normalize.h"
#include "te/tree.h"
#include <string.h>

static bool is_long(const TeStmt *s, int index) { return s->index[index].hi.value > 1; }

/* Does the read take one element for each point that e's indices have, none outside?  */
static bool takes_each_once(const Te *te, const TeStmt *s, const TeExpr *e, const Access *x) {
    uint32_t needed = access_uses(e);
    if (!x->affine)
        return false;
    for (int i = 0; i < e->n_index; i++) needed |= 1u << e->index[i];
    for (int i = 0; i < s->n_index; i++) {
        if (is_long(s, i) && (needed >> i & 1) && !(x->uses >> i & 1))
            return false;
    }
    for (int d = 0; d < te->tensor[x->tensor].rank; d++) {
        int moving = 0;
        for (int i = 0; i < s->n_index; i++) moving += x->sub[d].coef[i] != 0;
        if (moving > 1 || (x->guard[d] && x->read->inside != TE_INSIDE_GIVEN))
            return false;
    }
    return true;
}

/* The indices of e along which the read is contiguous at all sizes.  */
static uint32_t contiguous(const TeStmt *s, const TeExpr *e, const Access *x) {
    uint32_t found = 0;
    int64_t run = 1;
    for (bool more = true; more;) {
        more = false;
        for (int i = 0; i < e->n_index && !more; i++) {
            int index = e->index[i];
            const TeExtent *n = &s->index[index].hi;
            if (!is_long(s, index) || (x->varies >> index & 1) || x->offset.coef[index] != run)
                continue;
            found |= 1u << index;
            if (n->expr)
                return found;
            run *= n->value;
            more = true;
        }
    }
    return found;
}

/* e over the indices in `inner`, inside of one over the others.  */
static void nest(Norm *n, TeExpr *e, uint32_t inner) {
    TeExpr *step = ARENA_NEW(n->a, TeExpr);
    TeExpr *body = e->args[0];
    uint8_t index[TE_MAX_INDICES];
    int all = e->n_index;
    *step = *e;
    memcpy(index, e->index, sizeof index);
    step->args = ARENA_ARRAY(n->a, TeExpr *, 1);
    step->args[0] = body;
    e->args[0] = step;
    step->n_index = e->n_index = 0;
    for (int i = 0; i < all; i++) {
        TeExpr *to = inner >> index[i] & 1 ? step : e;
        to->index[to->n_index++] = index[i];
    }
}

/* What statement k reduces over first; 0: it is not worth two steps.  */
static uint32_t find_inner(Norm *n, int k) {
    const TeStmt *s = &n->te->stmt[k];
    const TeExpr *e = s->rhs;
    uint32_t across = 0;
    if (e->kind != TE_REDUCE || te_positional(e)) return 0;
    te_expr_list_reads(n->a, s->rhs);
    ReadList reads = access_reads(e->args[0]);
    for (int i = 0; i < e->n_index; i++)
        across |= is_long(s, e->index[i]) ? 1u << e->index[i] : 0;
    for (int i = 0; i < reads.n; i++) {
        Access x;
        access_read(n->te, s, reads.at[i], &x);
        uint32_t inner = takes_each_once(n->te, s, e, &x) ? contiguous(s, e, &x) : 0;
        if (inner && inner != across) return inner;
    }
    return 0;
}

void normalize_stage(Norm *n) {
    for (int k = 0; k < n->te->n_stmt && n->te->n_stmt < TE_MAX_STMTS - 1; k++) {
        uint32_t inner = find_inner(n, k);
        TeStmt s = n->te->stmt[k];
        int all = n->te->n_stmt;
        if (!inner || !te_takes(n->te, &s, TE_STAGED)) continue;
        nest(n, s.rhs, inner);
        if (normalize_hoist(n, NULL, &s, k, n->origin[k], &s.rhs->args[0], false)) return;
        normalize_indices(&s);
        k += n->te->n_stmt > all;
        n->te->stmt[k] = s;
        n->changed[k] = true;
    }
}
