/* The kernels of a plan: the table of skeletons, and programs in launch order.  */
#include "codegen/lower/lower.h"
#include "te/tree/arith.h"

static const LowerRow *row_of(const RProg *r) {
    static const LowerRow *const rows[SK_COUNT] = {
#define X(id, name) &lower_##name,
        RPROG_SKELETONS(X)
#undef X
    };
    return rows[r->skeleton];
}

static int kernels_of(const Problem *p, const RProg *r) {
    const LowerRow *row = row_of(r);
    return row->kernels ? row->kernels(p, r) : r->split > 1 ? 2 : 1;
}

typedef struct {
    const RPlan *plan;
    const Device *dev;
    int first;                /* number of the plan's first group among all */
    Lowered *l;
    int n;
    int program;              /* the first kernel of the program at hand */
    bool overlaps;            /* kernels begin before those before them have ended */
    FormBuilder b;
} Lowering;

/* Begins the next kernel, of program g of the plan.  The first one of a launch waits for nothing;
 * every other does for the one before, which has done so too: its end is that of all.  */
static Lowered *begin(Lowering *x, int g) {
    Lowered *l = &x->l[x->n++];
    bool first = x->n - 1 == x->program;
    if (!first && x->overlaps) form_next(x->b.arena, l[-1].form);
    *l = (Lowered){.group = x->first + g,
                   .p = &x->plan->problem[g],
                   .r = &x->plan->prog[g],
                   .dev = x->dev,
                   .waits = x->overlaps && (!first || rplan_group_of(x->plan, g) > 0)};
    l->layout = rprog_layout(x->b.arena, l->p, l->dev, l->r);
    l->form = form_begin(&x->b, x->b.arena, l->layout);
    l->task = ARENA_NEW(x->b.arena, Task);
    *l->task = (Task){.p = l->p, .r = l->r};
    index_map(l->p, l->r, 0, &l->task->map);
    l->launch = (KernelLaunch){.group = l->group, .grid = {1, 1, 1}, .block = {1, 1, 1},
                               .cluster = {1, 1, 1}};
    return l;
}

/* The kernels of program g, in launch order.  */
static void lower_program(Lowering *x, int g) {
    const LowerRow *row = row_of(&x->plan->prog[g]);
    for (int i = 0, n = kernels_of(&x->plan->problem[g], &x->plan->prog[g]); i < n; i++) {
        Lowered *l = begin(x, g);
        row->kernel(&x->b, l, i);
        if (l->waits) form_wait_first(x->b.arena, l->form);
    }
}

/* A program of a group, and whether kernels of other groups follow.  */
static void lower_one(Lowering *x, int g, bool followed) {
    x->program = x->n;
    lower_program(x, g);
    if (followed && x->overlaps) form_next(x->b.arena, x->l[x->n - 1].form);
}

/* Group by group, of each the programs for some sizes before the one for all.  */
static void lower_groups(Lowering *x) {
    int groups = rplan_groups(x->plan);
    for (int g = 0; g < groups; g++) {
        for (int i = groups; i < x->plan->n; i++) {
            if (rplan_group_of(x->plan, i) == g) lower_one(x, i, g + 1 < groups);
        }
        lower_one(x, g, g + 1 < groups);
    }
}

Lowered *lower_plan(Arena *a, const RPlan *plan, const Device *dev, int *n) {
    int all = 0;
    for (const RPlan *x = plan; x; x = x->other)
        for (int g = 0; g < x->n; g++) all += kernels_of(&x->problem[g], &x->prog[g]);
    Lowering x = {.dev = dev, .l = ARENA_ARRAY(a, Lowered, all), .overlaps = hal_overlaps(dev),
                  .b = {.arena = a}};
    for (; plan; x.first += plan->n, plan = plan->other) {
        x.plan = plan;
        lower_groups(&x);
    }
    for (int i = 0; i < x.n; i++) {
        x.l[i].form->warps = (int)ceil_div(x.l[i].launch.block[0], 32);
        x.l[i].launch.waits = x.l[i].waits;
    }
    *n = x.n;
    return x.l;
}
