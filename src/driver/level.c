#include "driver/level.h"
#include "microperf/compile_cost.h"

static void choose(PlanSet *set, int level) {
    for (int i = 0; i < set->n_program; i++) {
        GroupPlans *p = &set->plans[i];
        for (int k = 0; k < p->n; k++) {
            RProg *r = &p->ranked[k].prog;
            mp_compile_sooner(&p->problem, set->dev, r);
            if (level) r->quick = level == 2;
            if (level == 3) r->fill_in_loop = false;
        }
    }
}

void level_choose(PlanSet *set) {
    for (; set; set = set->other) choose(set, set->options.level);
}

int level_of(const RPlan *p) {
    for (; p; p = p->other) {
        for (int i = 0; i < p->n; i++) {
            if (p->prog[i].quick) return 2;
        }
    }
    return 3;
}
