/* Several programs of a group for different run-time sizes.  */
#include "rprogram/plan.h"

void rplan_extend(Arena *a, RPlan *p, int more) {
    int n = p->n, all = n + more;
    RPlan x = *p;
    x.group = ARENA_ARRAY(a, KernelGroup, all);
    x.problem = ARENA_ARRAY(a, Problem, all);
    x.prog = ARENA_ARRAY(a, RProg, all);
    x.part = ARENA_ARRAY(a, int, all);
    x.upto = ARENA_ARRAY(a, const int64_t *, all);
    for (int i = 0; i < n; i++) {
        x.group[i] = p->group[i];
        x.problem[i] = p->problem[i];
        x.prog[i] = p->prog[i];
        x.part[i] = rplan_part(p, i);
        x.upto[i] = rplan_upto(p, i);
    }
    x.n_group = rplan_groups(p);
    *p = x;
}
