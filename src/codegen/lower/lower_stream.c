/* Lowering of `stream`: a loop over outputs.  */
#include "codegen/lower/lower.h"

static void kernel(FormBuilder *b, Lowered *l, int number) {
    const TeExpr *root = l->p->te->stmt[l->p->group->root].rhs;
    (void)number;
    l->kind = KERNEL_STREAM;
    l->task->vec = l->r->store_vec;
    lower_domain(b->arena, l, l->r->threads, l->r->thread.extent[AX_M]);
    index_map(l->p, l->r, l->launch.span, &l->task->map);
    if (lower_empty(l->p)) return;
    form_add(b, NODE_VALUES, VALUES_PLACE);
    form_open(b, NODE_LOOP, LOOP_OUTPUTS);
    if (root->kind == TE_REDUCE)
        form_add(b, NODE_LOOP, LOOP_FOLD)->of = l->p->group->root;
    lower_statements(b, l->p->group);
    form_close(b);
    if (!rprog_stream_rest(l->p, l->r)) return;
    form_open(b, NODE_LOOP, LOOP_OUTPUTS)->rest = true;
    lower_statements(b, l->p->group);
    form_close(b);
}

const LowerRow lower_stream = {.kernel = kernel};
