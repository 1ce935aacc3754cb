/* Partial results of reductions: how many slices leave some, the arrays in which these wait.  */
#include "rprogram/internal.h"

static int64_t whole_accesses(int64_t bytes) {
    return ceil_div(bytes, RTILE_ACCESS) * RTILE_ACCESS;
}

static int beside_bytes(const TeExpr *e) {
    return te_is_paired(e) ? te_dtype_bytes(te_beside_type(e)) : 0;
}

int rprog_partial_bytes(const TeExpr *e) {
    return te_dtype_bytes(te_reduced_type(e)) + beside_bytes(e);
}

int64_t rprog_partial_values(const TeExpr *e, int64_t n) {
    return whole_accesses(n * te_dtype_bytes(te_reduced_type(e)));
}

int64_t rprog_partial_beside(const TeExpr *e, int64_t n) {
    return whole_accesses(n * beside_bytes(e));
}

int64_t rprog_partials(const Te *te, const RowGroup *g, int i, int64_t n) {
    int64_t at = 0;
    for (int j = 0; j < i; j++) {
        const TeExpr *e = te->stmt[g->stmt[j]].rhs;
        if (g->role[j] == ROW_REDUCE)
            at += rprog_partial_values(e, n) + rprog_partial_beside(e, n);
    }
    return at;
}

int rprog_partial_arrays(const Te *te, const RowGroup *g) {
    int n = 0;
    for (int i = 0; i < g->n; i++) {
        if (g->role[i] == ROW_REDUCE) n += te_is_paired(te->stmt[g->stmt[i]].rhs) ? 2 : 1;
    }
    return n;
}

int rprog_splits(const Device *dev, int64_t blocks, int64_t steps, int32_t split[RPROG_FILLS]) {
    int64_t sms = (int64_t)dev->limits.sm_count.value, last = 1;
    int n = 0;
    for (int fill = 0; fill < RPROG_FILLS; fill++) {
        int64_t slices = ceil_div((sms << fill), blocks);
        if (slices > steps) slices = steps;
        if (slices > GRID_Y_MAX) slices = GRID_Y_MAX;
        if (slices > last) split[n++] = (int32_t)(last = slices);
    }
    return n;
}
