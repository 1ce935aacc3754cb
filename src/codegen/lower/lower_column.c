/* Lowering of `column`: row groups that meet, and a kernel that adds the slices.  */
#include "codegen/lower/lower.h"

static void store_groups(FormBuilder *b, const Lowered *l, const char *test, bool half) {
    Node *some = form_if(b, WHEN_SOME, 0);
    some->name = test;
    some->from = half;
    Node *n = form_add(b, NODE_STORE, STORE_GROUPS);
    n->from = half;
    for (int online = 0; online < 2; online++)
        lower_writes(b, n, ROOM_PARTIALS, (Reductions){l->p->group->columns, 0, online});
    form_close(b);
    form_block_sync(b);
}

static void add_up_groups(FormBuilder *b, const Lowered *l, bool half) {
    Node *n = form_add(b, NODE_REDUCE, REDUCE_GROUPS);
    n->from = half;
    for (int online = 0; online < 2; online++)
        lower_reads(b, n, ROOM_PARTIALS, (Reductions){l->p->group->columns, 0, online});
}

/* The row groups of a block meet.  */
static void add_groups(FormBuilder *b, const Lowered *l) {
    bool halves = rprog_column_copies(l->r) < rprog_threads_along(l->r, AX_K) - 1;
    form_add(b, NODE_VALUES, VALUES_GROUPS);
    if (halves) {
        form_open(b, NODE_LOOP, LOOP_HALVES)->loop.count = -1;
        store_groups(b, l, "row >= u && row < 2 * u", true);
        form_if(b, WHEN_OTHERS, 0)->name = "row < u";
        add_up_groups(b, l, true);
        form_close(b);
        form_block_sync(b);
        form_close(b);
    } else {
        store_groups(b, l, "row > 0", false);
    }
    Node *end = form_if(b, WHEN_SOME, 0);
    end->name = "row > 0";
    end->leaves = true;
    form_close(b);
    if (!halves) add_up_groups(b, l, false);
}

static void lower_main(FormBuilder *b, Lowered *l) {
    const RProg *r = l->r;
    lower_grid(b, l, KERNEL_COLUMN);
    form_add(b, NODE_VALUES, VALUES_PLACE);
    form_add(b, NODE_LOOP, LOOP_FOLD)->of = l->p->group->root;
    if (rprog_threads_along(r, AX_K) > 1) add_groups(b, l);
    if (r->split > 1) form_add(b, NODE_STORE, STORE_PARTIAL);
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

static int kernels(const Problem *p, const RProg *r) {
    (void)p;
    return r->split > 1 ? 2 : 1;
}

static void kernel(FormBuilder *b, Lowered *l, int number) {
    if (number == 0) lower_main(b, l);
    else add_sums(b, l);
}

const LowerRow lower_column = {.kernels = kernels, .kernel = kernel};
