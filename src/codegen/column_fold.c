#include "codegen/column.h"
#include "codegen/reduction.h"

/* The walk down the columns of a thread, in steps of some rows.  What the leaders of online
 * reductions take of a step is kept until those have followed.  */

/* The leader's element of the row at hand in a step of `deep`.  */
static const char *taken(const Kernel *k, const Partial *leader, int deep, const char *lane) {
    if (deep == 1) return cg_text(k->cg, "e%s[%s]", leader->name, lane);
    return cg_text(k->cg, "e%s[u * %d + %s]", leader->name, k->at.vec, lane);
}

static void open_rows(Kernel *k, int deep) {
    if (deep == 1) return;
    cg_line(k->cg, "#pragma unroll");
    cg_open(k->cg, "for (int u = 0; u < %d; u++)", deep);
}

static void close_rows(Kernel *k, int deep) {
    if (deep > 1) cg_close(k->cg);
}

/* One row of the thread's columns, at k_now; positions grow from call to call.  */
static void fold_row(Kernel *k, int deep) {
    Cg *cg = k->cg;
    Elements *at = &k->at;
    Ir lane = column_lane(k);
    Partials p = column_partials(k, lane);
    place_axis(k, 1, text_index(cg, "k_now", false), false, at->index, at->wide);
    for (int i = 0; i < p.n; i++)
        elements_load_vectors(k, column_group(k)->stmt[p.at[i].number], p.at[i].e->args[0]);
    elements_open_lanes(k);
    for (int i = 0; i < p.n; i++) {
        const Partial *x = &p.at[i];
        if (x->follow) continue;
        if (!monoid_is_leader(&p, i)) {
            elements_fold(k, column_group(k), x, text_index(cg, "k_now", false), true);
            continue;
        }
        CgPoint point = elements_point(k, column_group(k)->stmt[x->number], false);
        cg_line(cg, "%s = %s;", taken(k, x, deep, text_of(cg, lane)),
                text_expr(&point, x->e->args[0], x->e->type));
    }
    elements_close_lanes(k);
    at->n_vector = 0;
}

static Ir taken_value(const Kernel *k, const Partial *x, int deep) {
    return text_value(k->cg, te_reduced_type(x->e),
                      taken(k, x, deep, text_of(k->cg, column_lane(k))));
}

/* The term of an online sum: what the leader took of a row stands in it as it was.  */
static void fold_term(Kernel *k, const Partials *p, const Partial *online, int deep) {
    const TeExpr *term = online->e->args[0], *difference = term->args[0];
    CgGiven given = {difference->args[0], taken_value(k, &p->at[online->leader], deep)};
    CgPoint point = elements_point(k, column_group(k)->stmt[online->number], false);
    point.given = &given;
    point.n_given = 1;
    monoid_fold(k->cg, online, cg_expr(&point, term, online->e->type), NULL, false);
}

static void fold_half(Kernel *k, const Partials *p, int deep, bool online) {
    open_rows(k, deep);
    for (int i = 0; i < p->n; i++) {
        const Partial *x = &p->at[i];
        if (online && x->follow) fold_term(k, p, x, deep);
        if (!online && monoid_is_leader(p, i))
            monoid_fold(k->cg, x, taken_value(k, x, deep), NULL, false);
    }
    close_rows(k, deep);
}

static void follow(Kernel *k, int deep) {
    Partials p = column_partials(k, column_lane(k));
    if (!column_view(k)->followers) return;
    elements_open_lanes(k);
    reduction_step(k, &p, deep, fold_half, deep);
    elements_close_lanes(k);
    if (monoid_counts(&p)) cg_line(k->cg, "seen += %d;", deep);
}

/* Steps of `deep` rows from kk on, while there are so many.  */
static void fold_steps(Kernel *k, int deep) {
    Cg *cg = k->cg;
    int groups = column_groups(k);
    Partials p = column_partials(k, text_index(k->cg, "v", false));
    const char *last = deep > 1 ? cg_text(cg, "kk + %d", (deep - 1) * groups) : "kk";
    cg_line(cg, "#pragma unroll 1");
    cg_open(cg, "for (; %s < rows; kk += %d)", last, deep * groups);
    for (int i = 0; i < p.n; i++) {
        if (monoid_is_leader(&p, i))
            cg_line(cg, "%s e%s[%d];", cg_type(p.at[i].e->type), p.at[i].name, deep * k->at.vec);
    }
    open_rows(k, deep);
    cg_line(cg, "const int k_now = %s;", deep > 1 ? cg_text(cg, "kk + u * %d", groups) : "kk");
    fold_row(k, deep);
    close_rows(k, deep);
    follow(k, deep);
    cg_close(cg);
}

void column_fold(Kernel *k) {
    Cg *cg = k->cg;
    const RProg *r = k->l->r;
    int deep = r->thread.extent[AX_K];
    bool ragged = index_ragged(&k->l->map, 0);
    Partials p = column_partials(k, text_index(k->cg, "v", false));
    cg_line(cg, "// fold: every %d. row, %d in flight", column_groups(k), deep);
    reduce_clear(cg, &p, r->thread.extent[AX_M]);
    if (ragged) cg_open(cg, "if (at < TOTAL)");
    cg_line(cg, "int kk = first + row;");
    if (deep > 1) fold_steps(k, deep);
    if (deep == 1 || index_ragged(&k->l->map, 1)) fold_steps(k, 1);
    if (ragged) cg_close(cg);
}
