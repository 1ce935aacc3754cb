/* Lowering of `column`: row groups that meet, and a kernel that adds the slices.  */
#include "codegen/lower/lower.h"

/* The row groups of a block meet, those of several warps through shared memory; the block makes
 * these nodes.  */
static void add_groups(FormBuilder *b, const Lowered *l) {
    Node *put, *add;
    form_open(b, NODE_REDUCE, REDUCE_THREADS)->note = "reduce: the row groups";
    if (rprog_column_copies(l->r) > 0) {
        put = form_add(b, NODE_STORE, STORE_WARPS);
        form_block_sync(b);
        add = form_add(b, NODE_REDUCE, REDUCE_LANES);
        for (int online = 0; online < 2; online++) {
            Reductions of = {l->p->group->columns, 0, online};
            lower_writes(b, put, ROOM_PARTIALS, of);
            lower_reads(b, add, ROOM_PARTIALS, of);
        }
    }
    form_close(b);
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
