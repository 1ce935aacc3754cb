#include "codegen/blocks.h"

/* Sums that follow another reduction of their pass, in a step: its elements, as many as `fresh`
 * says, move the leader first, then they are looked at again.  */

void row_tie_begin(Kernel *k, int pass) {
    Cg *cg = k->cg;
    Partials p = row_partials(k, pass);
    if (monoid_counts(&p)) cg_line(cg, "int fresh = 0;");
    for (int i = 0; i < p.n; i++) {
        const Partial *lead = &p.at[i];
        if (!monoid_leads(&p, i)) continue;
        cg_line(cg, "const %s past%s = %s;", cg_type(lead->e->type), lead->name, lead->value);
        if (monoid_restarts(lead)) cg_line(cg, "%s = 0;", lead->value);
    }
}

void row_tie_count(Kernel *k, int pass) {
    Partials p = row_partials(k, pass);
    if (monoid_counts(&p)) cg_line(k->cg, "fresh += %d;", k->l->r->store_vec);
}

bool row_tie_follow(Kernel *k, int pass) {
    Cg *cg = k->cg;
    Partials p = row_partials(k, pass);
    bool any = false;
    for (int i = 0; i < p.n; i++) {
        const Partial *tied = &p.at[i], *lead = &p.at[tied->leader];
        if (!tied->tie) continue;
        monoid_follow(cg, tied, cg_text(cg, "past%s", lead->name), lead->value, 0);
        k->at.made[tied->center] = cg_text(cg, "base%s", tied->name);
        any = true;
    }
    return any;
}

void row_tie_end(Kernel *k, int pass) {
    Cg *cg = k->cg;
    Partials p = row_partials(k, pass);
    for (int i = 0; i < p.n; i++) {
        if (p.at[i].tie) k->at.made[p.at[i].center] = NULL;
        if (monoid_leads(&p, i) && monoid_restarts(&p.at[i]))
            cg_line(cg, "%s += past%s;", p.at[i].value, p.at[i].name);
    }
    if (monoid_counts(&p)) cg_line(cg, "seen += fresh;");
}
