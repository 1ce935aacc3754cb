/* Lowering of `permute`: boxes that are filled as their sources lie, and read as outputs do.  */
#include "codegen/lower/lower.h"

static void kernel(FormBuilder *b, Lowered *l, int number) {
    (void)number;
    lower_grid(b, l, KERNEL_PERMUTE);
    form_add(b, NODE_VALUES, VALUES_PLACE);
    for (int i = 0; i < l->p->permute.n_source; i++) {
        Node *n = form_add(b, NODE_COPY, 0);
        n->of = i;
        form_writes(b, n, ROOM_BOX, i);
    }
    form_block_sync(b);
    Node *loop = form_open(b, NODE_LOOP, LOOP_OUTPUTS);
    for (int i = 0; i < l->p->permute.n_source; i++) form_reads(b, loop, ROOM_BOX, i);
    lower_statements(b, l->p->group);
    form_close(b);
}

const LowerRow lower_permute = {.kernel = kernel};
