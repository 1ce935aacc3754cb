/* Divisions by a value that many elements have in common: its reciprocal can take its place.  */
#include "te/tree/tree.h"

/* The first division by a read that no condition decides on.  */
static const TeExpr *find_division(const TeExpr *e) {
    if (e->kind == TE_DIV && e->type == TE_F32 && e->args[1]->kind == TE_READ) return e;
    switch (e->kind) {
    case TE_ADD: case TE_SUB: case TE_MUL: case TE_DIV: case TE_NEG: case TE_CALL: break;
    default: return NULL;
    }
    for (int i = 0; i < e->n_args; i++) {
        const TeExpr *found = find_division(e->args[i]);
        if (found) return found;
    }
    return NULL;
}

/* Dividends from +0 to 2^60, and NaN, go without a test: the forms lose the sign of -0.  Quotients
 * below 2^-38 are 0 in small types, so that what is lost of a dividend below 2^-102 does not
 * count.  */
TeQuotient te_quotient(const Te *te, const TeStmt *s) {
    TeQuotient q = {.e = s->fast ? NULL : find_division(s->rhs), .most = 0x1p32};
    TeDtype to = te->tensor[s->tensor].dtype;
    if (!q.e) return q;
    TeRealRange x = te_real_range(te, s, q.e->args[0]);
    bool small = (to == TE_F16 || to == TE_F8E4M3 || to == TE_F8E5M2) && q.e == s->rhs;
    q.tested = x.lo < 0 || x.minus_zero || x.hi > 0x1p60;
    q.low = !q.tested && !small;
    if (!q.tested && small) q.most = 0x1p64;
    return q;
}
