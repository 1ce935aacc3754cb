#include "codegen/blocks.h"

/* The forms of kernels over views of tensors: columns, windows, changes of layout.  */

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

void lower_column(FormBuilder *b, Lowered *l) {
    const RProg *r = l->r;
    lower_grid(b, l, KERNEL_COLUMN);
    form_add(b, NODE_VALUES, VALUES_PLACE);
    form_add(b, NODE_LOOP, LOOP_FOLD)->of = l->p->group->root;
    if (rprog_threads_along(r, AX_K) > 1) add_groups(b, l);
    if (r->split > 1) form_add(b, NODE_STORE, STORE_PARTIAL);
    else lower_outputs(b, l);
}

void lower_column_sums(FormBuilder *b, Lowered *l) {
    l->kind = KERNEL_COLUMN_SUMS;
    l->vec = rprog_meeting_vec(l->p, l->r);
    lower_domain(b->arena, l, RPROG_MEETING / l->r->lanes, l->vec);
    l->launch.block[0] = RPROG_MEETING;
    form_open(b, NODE_LOOP, LOOP_OUTPUTS);
    form_add(b, NODE_VALUES, VALUES_GATHER);
    lower_statements(b, l->p->group);
    form_close(b);
}

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

void lower_window(FormBuilder *b, Lowered *l) {
    lower_grid(b, l, KERNEL_WINDOW);
    form_add(b, NODE_VALUES, VALUES_PLACE);
    if (!l->p->window.map) form_add(b, NODE_VALUES, VALUES_CLEAR);
    add_window(b, l);
    lower_outputs(b, l);
}

void lower_permute(FormBuilder *b, Lowered *l) {
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
