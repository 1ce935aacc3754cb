/* Lowering of `window`: inputs that slide, or lie in shared memory with their halo.  */
#include "codegen/lower/lower.h"

/* The inputs of a window, by the outer indices of its reduction.  They may lie in shared memory,
 * with their halo.  */
static void add_window(FormBuilder *b, const Lowered *l) {
    const WindowView *v = &l->p->window;
    const TeStmt *s = &l->p->te->stmt[l->p->group->root];
    bool shared = l->r->keep == KEEP_SHARED, again = false;
    for (int i = s->n_left; i < s->n_index && !v->map; i++) again |= i != v->s && i != v->r;
    form_open(b, NODE_LOOP, LOOP_OUTER)->loop.count = again ? -1 : 1;
    if (shared) {
        Node *n = form_add(b, NODE_COPY, 0);
        n->of = 0;
        form_writes(b, n, ROOM_BOX, 0);
        form_block_sync(b);
    }
    Node *fold = form_add(b, NODE_LOOP, LOOP_FOLD);
    fold->of = l->p->group->root;
    if (shared) form_reads(b, fold, ROOM_BOX, 0);
    if (shared && again) form_block_sync(b);
    form_close(b);
}

static void kernel(FormBuilder *b, Lowered *l, int number) {
    (void)number;
    lower_grid(b, l, KERNEL_WINDOW);
    form_add(b, NODE_VALUES, VALUES_PLACE);
    if (!l->p->window.map) form_add(b, NODE_VALUES, VALUES_CLEAR);
    add_window(b, l);
    lower_outputs(b, l);
}

const LowerRow lower_window = {.kernel = kernel};
