#include "codegen/column.h"
#include "codegen/sizes.h"

#include <math.h>

/* Reductions by columns that follow another one of their pass: steps, and where partial results
 * meet.  Sums of squared deviations by the identity of Chan, Golub and LeVeque (row_tie.c).  */

bool column_leads(const Kernel *k, int i) {
    const ColumnView *v = column_view(k);
    for (int t = 0; t < v->n_sum; t++) {
        if (v->tie[t] && v->leader[t] == i) return true;
    }
    return false;
}

bool column_counts(const Kernel *k) {
    const ColumnView *v = column_view(k);
    for (int t = 0; t < v->n_sum; t++) {
        if (v->tie[t] == TIE_SHIFT) return true;
    }
    return false;
}

/* Is t tied to reduction `lead`?  */
static bool follows(const Kernel *k, int t, int lead) {
    return column_view(k)->tie[t] && column_view(k)->leader[t] == lead;
}

/* ---- steps ---- */

void column_tie_begin(Kernel *k, int deep) {
    for (int i = 0; i < column_view(k)->n_sum; i++) {
        if (column_leads(k, i))
            cg_line(k->cg, "%s e%d[%d];", cg_type(column_type(k, i)), i, deep * k->at.vec);
    }
}

static const char *taken(const Kernel *k, int i, int deep, const char *lane) {
    if (deep == 1) return cg_text(k->cg, "e%d[%s]", i, lane);
    return cg_text(k->cg, "e%d[u * %d + %s]", i, k->at.vec, lane);
}

void column_tie_take(Kernel *k, int i, int deep, const char *lane, const char *value) {
    cg_line(k->cg, "%s = %s;", taken(k, i, deep, lane), value);
}

static void open_step(Kernel *k, int deep) {
    if (deep == 1) return;
    cg_line(k->cg, "#pragma unroll");
    cg_open(k->cg, "for (int u = 0; u < %d; u++)", deep);
}

static void close_step(Kernel *k, int deep) {
    if (deep > 1) cg_close(k->cg);
}

/* What a tied sum has so far is made to fit a maximum `now`.  */
static void follow_maximum(Kernel *k, int t, const char *past, const char *now, const char *lane) {
    Cg *cg = k->cg;
    const TeExpr *e = column_sum(k, t);
    cg_line(cg, "%s[%s] *= %s;", column_held(k, t), lane, row_tie_factor(cg, e, past, now));
    /* No maximum yet: every term is nothing.  */
    cg_line(cg, "const %s base%d = %s == %s ? 0 : %s;", cg_type(e->type), t, now,
            cg_identity(cg, TE_RED_MAX, e->type), now);
}

/* The rows of the step, of sum `now`, have a mean of their own.  */
static void follow_mean(Kernel *k, int t, int deep, const char *past, const char *now,
                        const char *lane) {
    Cg *cg = k->cg;
    const char *type = cg_type(column_type(k, t));
    cg_line(cg, "const %s base%d = %s * %s;", type, t, now,
            cg_real(cg, column_type(k, t), 1.0 / deep));
    cg_open(cg, "if (seen > 0)");
    cg_line(cg, "const %s d = %s * (%s / (%s)seen) - base%d;", type, past,
            cg_real(cg, column_type(k, t), 1), type, t);
    cg_line(cg, "%s[%s] += d * d * ((%s)seen * (%s / (%s)(seen + %d)));", column_held(k, t), lane,
            type, cg_real(cg, column_type(k, t), deep), type, deep);
    cg_close(cg);
}

/* Adds the terms of the step.  */
static void add_terms(Kernel *k, int t, int deep, const char *lane) {
    Cg *cg = k->cg;
    const ColumnView *v = column_view(k);
    const TeExpr *e = column_sum(k, t), *term = e->args[0], *difference = term->args[0];
    CgGiven given = {difference->args[0], taken(k, v->leader[t], deep, lane)};
    const char *acc = cg_text(cg, "%s[%s]", column_held(k, t), lane);
    open_step(k, deep);
    CgPoint p = elements_point(k, v->sum[t], false);
    p.given = &given;
    p.n_given = 1;
    k->at.made[v->center[t]] = cg_text(cg, "base%d", t);
    cg_line(cg, "%s += %s;", acc, cg_expr(&p, term, e->type));
    k->at.made[v->center[t]] = NULL;
    close_step(k, deep);
}

static void step_of(Kernel *k, int lead, int deep, const char *lane) {
    Cg *cg = k->cg;
    const TeExpr *e = column_sum(k, lead);
    bool sums = e->red == TE_RED_SUM;
    const char *past = cg_text(cg, "%s[%s]", column_held(k, lead), lane);
    const char *now = cg_text(cg, "now%d", lead);
    cg_line(cg, "%s %s = %s;", cg_type(e->type), now, sums ? "0" : past);
    open_step(k, deep);
    cg_line(cg, "%s = %s;", now, cg_fold(cg, (TeRedop)e->red, e->type, now,
                                         taken(k, lead, deep, lane)));
    close_step(k, deep);
    for (int t = 0; t < column_view(k)->n_sum; t++) {
        if (!follows(k, t, lead)) continue;
        if (sums) follow_mean(k, t, deep, past, now, lane);
        else follow_maximum(k, t, past, now, lane);
        add_terms(k, t, deep, lane);
    }
    cg_line(cg, "%s %s %s;", past, sums ? "+=" : "=", now);
}

void column_tie_step(Kernel *k, int deep) {
    if (!column_view(k)->tied) return;
    elements_open_lanes(k);
    for (int i = 0; i < column_view(k)->n_sum; i++) {
        if (column_leads(k, i)) step_of(k, i, deep, k->at.vec > 1 ? "v" : "0");
    }
    elements_close_lanes(k);
    if (column_counts(k)) cg_line(k->cg, "seen += %d;", deep);
}

/* ---- meetings ---- */

void column_tie_more(Kernel *k, const char *rows) {
    if (column_counts(k)) cg_line(k->cg, "const int more = %s;", rows);
}

void column_tie_met(Kernel *k) {
    if (column_counts(k)) cg_line(k->cg, "seen += more;");
}

static void merge_mean(Kernel *k, int t, const char *acc, const char *own, const char *other) {
    Cg *cg = k->cg;
    const char *type = cg_type(column_type(k, t));
    cg_open(cg, "if (seen > 0 && more > 0)");
    cg_line(cg, "const %s d = %s / (%s)seen - %s / (%s)more;", type, own, type, other, type);
    cg_line(cg, "%s += d * d * ((%s)seen * ((%s)more / (%s)(seen + more)));", acc, type, type,
            type);
    cg_close(cg);
}

void column_tie_merge(Kernel *k, int lead, const char *lane, const char *element) {
    Cg *cg = k->cg;
    const TeExpr *e = column_sum(k, lead);
    bool sums = e->red == TE_RED_SUM;
    const char *own = cg_text(cg, "%s[%s]", column_held(k, lead), lane);
    const char *other = column_other(k, lead, element), *now = cg_text(cg, "now%d", lead);
    cg_line(cg, "const %s %s = %s;", cg_type(e->type), now,
            cg_fold(cg, (TeRedop)e->red, e->type, own, other));
    for (int t = 0; t < column_view(k)->n_sum; t++) {
        if (!follows(k, t, lead)) continue;
        const TeExpr *tied = column_sum(k, t);
        const char *acc = cg_text(cg, "%s[%s]", column_held(k, t), lane);
        const char *x = column_other(k, t, element);
        if (sums) {
            merge_mean(k, t, acc, own, other);
            cg_line(cg, "%s += %s;", acc, x);
        } else {
            cg_line(cg, "%s = %s * %s + %s * %s;", acc, acc, row_tie_factor(cg, tied, own, now),
                    x, row_tie_factor(cg, tied, other, now));
        }
    }
    cg_line(cg, "%s = %s;", own, now);
}

const char *column_tie_result(const Kernel *k, int i, const char *lane) {
    const Cg *cg = k->cg;
    const char *acc = cg_text(cg, "%s[%s]", column_held(k, i), lane);
    if (column_view(k)->tie[i] != TIE_SCALE) return acc;
    /* All are -inf: each term is exp(-inf + inf).  */
    int lead = column_view(k)->leader[i];
    TeDtype type = column_type(k, i);
    TeExtent rows = size_axis(cg->arena, &cg->te->stmt[column_view(k)->sum[0]],
                              &column_view(k)->red);
    return cg_text(cg, "(%s%s%s[%s] == %s ? %s : %s)", rows.expr ? size_text(cg, rows) : "",
                   rows.expr ? " > 0 && " : "", column_held(k, lead), lane,
                   cg_identity(cg, TE_RED_MAX, type), cg_real(cg, type, (double)NAN), acc);
}
