/* links: te */
#include "te_points.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static int64_t floor_quotient(int64_t x, int64_t y) {
    int64_t q = x / y;
    return x % y != 0 && (x < 0) != (y < 0) ? q - 1 : q;
}

/* A subscript's value at a point, straight from the tree.  */
int64_t points_direct(const Te *te, const TeExpr *e, const int64_t *at) {
    int64_t x = e->n_args > 0 ? points_direct(te, e->args[0], at) : 0;
    int64_t y = e->n_args > 1 ? points_direct(te, e->args[1], at) : 0;
    switch (e->kind) {
    case TE_INT: return e->v.i;
    case TE_SIZE: return te->size[e->v.ref].extent.value;
    case TE_INDEX: return at[e->v.ref];
    case TE_CAST: return x;
    case TE_NEG: return -x;
    case TE_ADD: return x + y;
    case TE_SUB: return x - y;
    case TE_MUL: return x * y;
    case TE_DIV: return floor_quotient(x, y);
    case TE_MOD: return x - y * floor_quotient(x, y);
    case TE_SHL: return x * (INT64_C(1) << (y & 31));
    case TE_SHR: return floor_quotient(x, INT64_C(1) << (y & 31));
    case TE_BITAND: return x & y;
    case TE_BITXOR: return x ^ y;
    case TE_BITOR: return x | y;
    default: fail_msg("a subscript of kind %d", e->kind); return 0;
    }
}

int64_t points_apply(const Affine *f, const int64_t *at) {
    int64_t v = f->c;
    for (int i = 0; i < TE_MAX_INDICES; i++) v += f->coef[i] * at[i];
    return v;
}

bool points_next(const TeStmt *s, int64_t *at) {
    for (int i = s->n_index - 1; i >= 0; i--) {
        if (++at[i] < s->index[i].hi.value) return true;
        at[i] = 0;
    }
    return false;
}
