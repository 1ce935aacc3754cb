/* Lowering of `window`: inputs that slide.  */
#include "codegen/lower/lower.h"

/* The inputs of a window, by the outer indices of its reduction.  */
static void add_window(FormBuilder *b, const Lowered *l) {
    const WindowView *v = &l->p->window;
    const TeStmt *s = &l->p->te->stmt[l->p->group->root];
    bool again = false;
    for (int i = s->n_left; i < s->n_index && !v->map; i++) again |= i != v->s && i != v->r;
    form_open(b, NODE_LOOP, LOOP_OUTER)->loop.count = again ? -1 : 1;
    form_add(b, NODE_LOOP, LOOP_FOLD)->of = l->p->group->root;
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
