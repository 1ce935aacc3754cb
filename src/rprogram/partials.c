/* Partial results of reductions: the arrays in which they wait for each other.  */
#include "rprogram/internal.h"

enum { POSITION_BYTES = 4 };

static int64_t whole_pieces(int64_t bytes) { return ceil_div(bytes, PIECE_MAX) * PIECE_MAX; }

int rprog_partial_bytes(const TeExpr *e) {
    return te_dtype_bytes(te_reduced_type(e)) + (te_positional(e) ? POSITION_BYTES : 0);
}

int64_t rprog_partial_values(const TeExpr *e, int64_t n) {
    return whole_pieces(n * te_dtype_bytes(te_reduced_type(e)));
}

int64_t rprog_partials(const Te *te, const RowGroup *g, int i, int64_t n) {
    int64_t at = 0;
    for (int j = 0; j < i; j++) {
        const TeExpr *e = te->stmt[g->stmt[j]].rhs;
        if (g->role[j] != ROW_REDUCE) continue;
        at += rprog_partial_values(e, n);
        if (te_positional(e)) at += whole_pieces(n * POSITION_BYTES);
    }
    return at;
}

int rprog_partial_arrays(const Te *te, const RowGroup *g) {
    int n = 0;
    for (int i = 0; i < g->n; i++) {
        if (g->role[i] == ROW_REDUCE) n += te_positional(te->stmt[g->stmt[i]].rhs) ? 2 : 1;
    }
    return n;
}
