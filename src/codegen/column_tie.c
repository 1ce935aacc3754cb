#include "codegen/column.h"

/* Reductions by columns that follow another one of their pass, in a step: what the leader takes of
 * its rows is kept until those have moved it.  */

void column_tie_begin(Kernel *k, int deep) {
    Partials p = column_partials(k, "v");
    for (int i = 0; i < p.n; i++) {
        if (monoid_leads(&p, i))
            cg_line(k->cg, "%s e%s[%d];", cg_type(p.at[i].e->type), p.at[i].name,
                    deep * k->at.vec);
    }
}

static const char *taken(const Kernel *k, const Partial *lead, int deep, const char *lane) {
    if (deep == 1) return cg_text(k->cg, "e%s[%s]", lead->name, lane);
    return cg_text(k->cg, "e%s[u * %d + %s]", lead->name, k->at.vec, lane);
}

void column_tie_take(Kernel *k, const Partial *lead, int deep, const char *lane,
                     const char *value) {
    cg_line(k->cg, "%s = %s;", taken(k, lead, deep, lane), value);
}

static void open_step(Kernel *k, int deep) {
    if (deep == 1) return;
    cg_line(k->cg, "#pragma unroll");
    cg_open(k->cg, "for (int u = 0; u < %d; u++)", deep);
}

static void close_step(Kernel *k, int deep) {
    if (deep > 1) cg_close(k->cg);
}

/* Adds the terms of the step to tied sum t.  */
static void add_terms(Kernel *k, const Partials *all, int t, int deep, const char *lane) {
    Cg *cg = k->cg;
    const Partial *tied = &all->at[t];
    const TeExpr *term = tied->e->args[0], *difference = term->args[0];
    CgGiven given = {difference->args[0], taken(k, &all->at[tied->leader], deep, lane)};
    open_step(k, deep);
    CgPoint p = elements_point(k, column_group(k)->stmt[tied->number], false);
    p.given = &given;
    p.n_given = 1;
    k->at.made[tied->center] = cg_text(cg, "base%s", tied->name);
    monoid_fold(cg, tied, cg_expr(&p, term, tied->e->type), NULL, false);
    k->at.made[tied->center] = NULL;
    close_step(k, deep);
}

static void step_of(Kernel *k, const Partials *p, int leader, int deep, const char *lane) {
    Cg *cg = k->cg;
    Partial now = p->at[leader];
    const char *past = now.value;
    bool sums = monoid_restarts(&now);
    now.value = cg_text(cg, "now%s", now.name);
    cg_line(cg, "%s %s = %s;", cg_type(now.e->type), now.value, sums ? "0" : past);
    open_step(k, deep);
    monoid_fold(cg, &now, taken(k, &now, deep, lane), NULL, false);
    close_step(k, deep);
    for (int t = 0; t < p->n; t++) {
        if (!p->at[t].tie || p->at[t].leader != leader) continue;
        monoid_follow(cg, &p->at[t], past, now.value, deep);
        add_terms(k, p, t, deep, lane);
    }
    cg_line(cg, "%s %s %s;", past, sums ? "+=" : "=", now.value);
}

void column_tie_step(Kernel *k, int deep) {
    const char *lane = k->at.vec > 1 ? "v" : "0";
    Partials p = column_partials(k, lane);
    if (!column_view(k)->tied) return;
    elements_open_lanes(k);
    for (int i = 0; i < p.n; i++) {
        if (monoid_leads(&p, i)) step_of(k, &p, i, deep, lane);
    }
    elements_close_lanes(k);
    if (monoid_counts(&p)) cg_line(k->cg, "seen += %d;", deep);
}
