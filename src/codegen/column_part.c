#include "codegen/column.h"

/* Partial results of reductions by columns.  Those of argmax and argmin are pairs of value and
 * position.  */

const TeExpr *column_sum(const Kernel *k, int i) {
    return k->cg->te->stmt[column_view(k)->sum[i]].rhs;
}

TeDtype column_type(const Kernel *k, int i) {
    const TeExpr *e = column_sum(k, i);
    return column_view(k)->positional ? e->args[0]->type : e->type;
}

const char *column_held(const Kernel *k, int i) {
    if (i > 0) return cg_text(k->cg, "acc%d", i);
    return column_view(k)->positional ? "best" : "acc";
}

/* The array where such values meet.  */
static const char *array_of(const Kernel *k, int i) {
    return i > 0 ? cg_text(k->cg, "part%d", i) : "part";
}

void column_declare(Kernel *k, int vec) {
    Cg *cg = k->cg;
    if (column_view(k)->positional) {
        cg_line(cg, "%s best[%d];", cg_type(column_type(k, 0)), vec);
        cg_line(cg, "int where[%d];", vec);
        cg_line(cg, "#pragma unroll");
        cg_open(cg, "for (int v = 0; v < %d; v++)", vec);
        cg_line(cg, "best[v] = %s;", cg_int(cg, column_type(k, 0), 0));
        cg_line(cg, "where[v] = -1;");
        cg_close(cg);
        return;
    }
    for (int i = 0; i < column_view(k)->n_sum; i++) {
        const TeExpr *e = column_sum(k, i);
        cg_line(cg, "%s %s[%d];", cg_type(e->type), column_held(k, i), vec);
        cg_line(cg, "#pragma unroll");
        cg_line(cg, "for (int v = 0; v < %d; v++) %s[v] = %s;", vec, column_held(k, i),
                cg_identity(cg, (TeRedop)e->red, e->type));
    }
    if (column_counts(k)) cg_line(cg, "int seen = 0;");
}

/* Is `value` better than what is held, whichever came first?  NaN is better than any number.  */
static const char *is_better(const Kernel *k, const char *best) {
    const Cg *cg = k->cg;
    bool max = column_sum(k, 0)->red == TE_RED_ARGMAX;
    if (te_dtype_class(column_type(k, 0)) == TE_CLASS_REAL)
        return cg_text(cg, "(%s == %s && !(value %s %s))", best, best, max ? "<=" : ">=", best);
    return cg_text(cg, "value %s %s", max ? ">" : "<", best);
}

static const char *is_tie(const Kernel *k, const char *best) {
    if (te_dtype_class(column_type(k, 0)) == TE_CLASS_REAL)
        return cg_text(k->cg, "(value == %s || (value != value && %s != %s))", best, best, best);
    return cg_text(k->cg, "value == %s", best);
}

static void take(Kernel *k, const char *lane, const char *condition, const char *position) {
    cg_open(k->cg, "if (where[%s] < 0 || %s)", lane, condition);
    cg_line(k->cg, "best[%s] = value;", lane);
    cg_line(k->cg, "where[%s] = %s;", lane, position);
    cg_close(k->cg);
}

void column_fold_element(Kernel *k, int deep, const char *lane) {
    Cg *cg = k->cg;
    for (int i = 0; i < column_view(k)->n_sum; i++) {
        const TeExpr *e = column_sum(k, i);
        if (column_view(k)->tie[i]) continue;
        CgPoint p = elements_point(k, column_view(k)->sum[i], false);
        const char *value = cg_expr(&p, e->args[0], column_type(k, i));
        if (column_view(k)->positional) {
            cg_line(cg, "const %s value = %s;", cg_type(column_type(k, i)), value);
            take(k, lane, is_better(k, cg_text(cg, "best[%s]", lane)), "k_now");
            return;
        }
        if (column_leads(k, i)) {
            column_tie_take(k, i, deep, lane, value);
            continue;
        }
        const char *acc = cg_text(cg, "%s[%s]", column_held(k, i), lane);
        cg_line(cg, "%s = %s;", acc, cg_fold(cg, (TeRedop)e->red, e->type, acc, value));
    }
}

const char *column_other(const Kernel *k, int i, const char *element) {
    return i > 0 ? cg_text(k->cg, "x%d%s", i, element) : cg_text(k->cg, "x%s", element);
}

/* The better one of two pairs.  */
static void fold_pair(Kernel *k, const char *lane, const char *element) {
    Cg *cg = k->cg;
    const char *best = cg_text(cg, "best[%s]", lane);
    cg_line(cg, "const %s value = x%s;", cg_type(column_type(k, 0)), element);
    cg_line(cg, "const int at_k = y%s;", element);
    cg_open(cg, "if (at_k >= 0)");
    take(k, lane, cg_text(cg, "%s || (%s && at_k < where[%s])", is_better(k, best),
                          is_tie(k, best), lane), "at_k");
    cg_close(cg);
}

void column_fold_partial(Kernel *k, const char *lane, const char *element) {
    Cg *cg = k->cg;
    if (column_view(k)->positional) {
        fold_pair(k, lane, element);
        return;
    }
    for (int i = 0; i < column_view(k)->n_sum; i++) {
        const TeExpr *e = column_sum(k, i);
        const char *acc = cg_text(cg, "%s[%s]", column_held(k, i), lane);
        if (column_view(k)->tie[i]) continue;
        if (column_leads(k, i)) column_tie_merge(k, i, lane, element);
        else
            cg_line(cg, "%s = %s;", acc, cg_fold(cg, (TeRedop)e->red, e->type, acc,
                                                 column_other(k, i, element)));
    }
}

/* Elements of one access to partial results of `bytes` each.  */
static int pieces(int vec, int bytes) {
    while (vec * bytes > 16) vec /= 2;
    return vec;
}

void column_store(Kernel *k, int vec, const char *at) {
    Cg *cg = k->cg;
    int m = pieces(vec, 4);
    for (int i = 0; i < column_view(k)->n_sum; i++) {
        int n = pieces(vec, column_view(k)->part[i]);
        cg_line(cg, "#pragma unroll");
        cg_line(cg, "for (int p = 0; p < %d; p++) rl_store<%d>(%s + (%s) + p * %d, %s + p * %d);",
                vec / n, n, array_of(k, i), at, n, column_held(k, i), n);
    }
    if (!column_view(k)->positional) return;
    cg_line(cg, "#pragma unroll");
    cg_line(cg, "for (int p = 0; p < %d; p++) rl_store<%d>(from + (%s) + p * %d, where + p * %d);",
            vec / m, m, at, m, m);
}

void column_add(Kernel *k, int vec, const char *at) {
    Cg *cg = k->cg;
    int n = vec;
    for (int i = 0; i < column_view(k)->n_part; i++) n = pieces(n, column_view(k)->part[i]);
    cg_line(cg, "#pragma unroll");
    cg_open(cg, "for (int p = 0; p < %d; p++)", vec / n);
    for (int i = 0; i < column_view(k)->n_sum; i++)
        cg_line(cg, "const rl_vec<%s, %d> %s = rl_load<%d>(%s + (%s) + p * %d);",
                cg_type(column_type(k, i)), n, column_other(k, i, ""), n, array_of(k, i), at, n);
    if (column_view(k)->positional)
        cg_line(cg, "const rl_vec<int, %d> y = rl_load<%d>(from + (%s) + p * %d);", n, n, at, n);
    cg_line(cg, "#pragma unroll");
    cg_open(cg, "for (int v = 0; v < %d; v++)", n);
    column_fold_partial(k, cg_text(cg, "p * %d + v", n), ".v[v]");
    cg_close(cg);
    cg_close(cg);
}

void column_pointers(Kernel *k, const char *base, int64_t results) {
    Cg *cg = k->cg;
    for (int i = 0; i < column_view(k)->n_part; i++) {
        bool position = column_view(k)->positional && i > 0;
        const char *type = position ? "int" : cg_type(column_type(k, i)), *at = base;
        if (i > 0)
            at = cg_text(cg, "%s + %lldll", base,
                         (long long)rprog_column_part(k->l->p, results, i));
        cg_line(cg, "%s *const %s = reinterpret_cast<%s *>(%s);", type,
                position ? "from" : array_of(k, i), type, at);
    }
}
