/* Lowering of `column`: row groups that meet, and a kernel that adds the slices.  */
#include "codegen/lower/lower.h"

static void lower_main(FormBuilder *b, Lowered *l) {
    const RProg *r = l->r;
    lower_grid(b, l, KERNEL_COLUMN);
    form_add(b, NODE_VALUES, VALUES_PLACE);
    form_add(b, NODE_LOOP, LOOP_FOLD)->of = l->p->group->root;
    if (rprog_threads_along(r, AX_K) > 1)
        lower_meet(b, (Reductions){l->p->group->columns, 0, MEET_ALL}, rprog_column_copies(r) > 0,
                   "reduce: the row groups");
    if (r->split > 1)
        form_add(b, NODE_STORE, STORE_LEAVE)->note =
            "partial: results of this slice to the workspace";
    else lower_outputs(b, l);
}

static void add_sums(FormBuilder *b, Lowered *l) {
    l->kind = KERNEL_COLUMN_SUMS;
    l->task->vec = rprog_meeting_vec(l->p, l->r);
    lower_domain(b->arena, l, RPROG_MEETING / l->r->lanes, l->task->vec);
    l->launch.block[0] = RPROG_MEETING;
    form_open(b, NODE_LOOP, LOOP_OUTPUTS);
    form_add(b, NODE_VALUES, VALUES_GATHER);
    lower_statements(b, l->p->group);
    form_close(b);
}

static void kernel(FormBuilder *b, Lowered *l, int number) {
    if (number == 0) lower_main(b, l);
    else add_sums(b, l);
}

const LowerRow lower_column = {.kernel = kernel};
