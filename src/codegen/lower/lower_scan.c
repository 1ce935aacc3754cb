/* Lowering of `scan`: a walk in steps, each of which meets before its elements are stored, and in
 * front of slices the kernel that reduces them.  */
#include "codegen/lower/lower.h"
#include "codegen/skeleton/scan.h"

static Reductions of(const Lowered *l, int which) {
    return (Reductions){l->p->group->columns, 0, which};
}

static void add_step(FormBuilder *b, const Lowered *l) {
    bool meets = rprog_scan_meets(l->p, l->r) > 1;
    form_add(b, NODE_LOOP, LOOP_FOLD)->of = l->p->group->root;
    form_add(b, NODE_REDUCE, REDUCE_SCAN)->note = "scan: what the elements come to";
    if (meets) lower_meet_warps(b, of(l, MEET_EACH));
    form_add(b, NODE_VALUES, VALUES_FINISH);
    form_open(b, NODE_LOOP, LOOP_OUTPUTS);
    lower_statements(b, l->p->group);
    form_close(b);
    if (meets && scan_carries(l->p, l->r)) form_block_sync(b);
}

static void lower_main(FormBuilder *b, Lowered *l) {
    const RProg *r = l->r;
    lower_grid(b, l, KERNEL_SCAN);
    form_add(b, NODE_VALUES, VALUES_PLACE);
    if (r->split > 1) {
        form_add(b, NODE_VALUES, VALUES_COMBINE)->note = "combine: the slices before this one";
        bool meets = !l->p->scan.down && rprog_scan_meets(l->p, r) > 1;
        lower_meet(b, of(l, MEET_ALL), meets, NULL);
        if (meets) form_block_sync(b)->blank = true;
    } else if (scan_carries(l->p, r)) {
        form_add(b, NODE_VALUES, VALUES_CLEAR);
    }
    if (!scan_carries(l->p, r)) {
        add_step(b, l);
        return;
    }
    form_open(b, NODE_LOOP, LOOP_SCAN)->loop.count = -1;
    add_step(b, l);
    form_close(b);
}

static void add_sums(FormBuilder *b, Lowered *l) {
    lower_grid(b, l, KERNEL_SCAN_SUMS);
    form_add(b, NODE_VALUES, VALUES_PLACE);
    form_add(b, NODE_LOOP, LOOP_FOLD)->of = l->p->group->root;
    if (!l->p->scan.down)
        lower_meet(b, of(l, MEET_ALL), rprog_scan_meets(l->p, l->r) > 1, "value of the slice");
    form_add(b, NODE_STORE, STORE_LEAVE);
}

static void kernel(FormBuilder *b, Lowered *l, int number) {
    if (l->r->split > 1 && number == 0) add_sums(b, l);
    else lower_main(b, l);
}

const LowerRow lower_scan = {.kernel = kernel};
