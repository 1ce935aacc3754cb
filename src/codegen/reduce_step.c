#include "codegen/reduce.h"

/* Reductions that follow another one of their pass (RowTie), in a step of elements that a thread
 * has at hand: the leaders' turn moves them first, then the tied ones are looked at.  */

void reduce_step_begin(Cg *cg, const Partials *p, int deep) {
    if (deep == 0 && monoid_counts(p)) cg_line(cg, "int fresh = 0;");
    for (int i = 0; i < p->n; i++) {
        const Partial *lead = &p->at[i];
        if (!monoid_leads(p, i)) continue;
        cg_line(cg, "const %s past%s = %s;", cg_type(lead->e->type), lead->name, lead->value);
        if (monoid_restarts(lead)) cg_line(cg, "%s = 0;", lead->value);
    }
}

bool reduce_step_follow(Cg *cg, const Partials *p, int deep, const char **made) {
    bool any = false;
    for (int i = 0; i < p->n; i++) {
        const Partial *tied = &p->at[i], *lead = &p->at[tied->leader];
        if (!tied->tie) continue;
        monoid_follow(cg, tied, cg_text(cg, "past%s", lead->name), lead->value, deep);
        made[tied->center] = cg_text(cg, "base%s", tied->name);
        any = true;
    }
    return any;
}

void reduce_step_end(Cg *cg, const Partials *p, const char **made) {
    for (int i = 0; i < p->n; i++) {
        const Partial *lead = &p->at[i];
        if (lead->tie) made[lead->center] = NULL;
        if (monoid_leads(p, i) && monoid_restarts(lead))
            cg_line(cg, "%s += past%s;", lead->value, lead->name);
    }
}
