#include "driver/level.h"
#include "microperf/compile_cost.h"

/* What the kernels of the other groups add to the time of group g's, each as planned.  */
static int others_ms(const PlanSet *set, int g) {
    int sum = 0;
    for (int i = 0; i < set->n_group && !set->te->runtime; i++) {
        const GroupPlans *p = &set->plans[i];
        RProg full = p->ranked[0].prog;
        full.quick = false;
        int ms = i == g ? 0 : mp_compile_ms(&p->problem, set->dev, &full) - MP_COMPILE_SHARED;
        if (ms > 0) sum += ms;
    }
    return sum;
}

static void choose(PlanSet *set, int level) {
    for (int i = 0; i < set->n_program; i++) {
        GroupPlans *p = &set->plans[i];
        int others = level ? 0 : others_ms(set, i);
        for (int k = 0; k < p->n; k++) {
            RProg *r = &p->ranked[k].prog;
            r->quick = level ? level == 2 : mp_compile_quick(&p->problem, set->dev, r, others);
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
