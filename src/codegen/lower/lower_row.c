/* Lowering of `row`: passes over rows, of slices a kernel for each.  */
#include "codegen/lower/lower.h"
#include "te/tree/arith.h"

/* Rows that stay in shared memory: copies of the sources, and the wait for them.  */
static void add_hold(FormBuilder *b, const Lowered *l) {
    const RowFacts *f = rprog_row_facts(l->p, l->r);
    bool flat = l->r->keep == KEEP_FLAT, waits = false;
    Node *node = form_sequence(b, "hold");
    node->note = flat ? "hold: the rows of the block as they lie in memory"
                      : "hold: rows in shared memory, each thread its own columns";
    node->blank = true;
    for (int n = 0; n < f->n_source; n++) {
        if (!rprog_room(l->layout, ROOM_ROWS, n)) continue;
        Node *x = form_add(b, NODE_COPY, 0);
        x->of = n;
        if (f->source[n].made) continue;
        x->mover = rprog_row_mover(l->dev, l->p, l->r, n);
        Use *u = form_writes(b, x, ROOM_ROWS, n);
        u->share = flat ? SHARE_BLOCK : SHARE_THREAD;
        x->done = u->room->filled;
        u->late = x->done != DONE_AT_ONCE;
        waits |= u->late;
    }
    if (waits) {
        form_sync(b, SYNC_COPIES, SYNC_COMMIT, 0);
        form_sync(b, SYNC_COPIES, SYNC_WAIT, 0);
    }
    if (flat) form_block_sync(b);
    form_close(b);
}

/* A pass over the columns.  What is kept in shared memory it reads from there, or puts there.  */
static void add_walk(FormBuilder *b, const Lowered *l, int pass) {
    const RowFacts *f = rprog_row_facts(l->p, l->r);
    const RowGroup *g = f->group;
    Node *n = form_add(b, NODE_LOOP, LOOP_WALK);
    n->from = pass;
    for (int i = 0; i < f->n_source; i++) {
        const RowSource *s = &f->source[i];
        bool flat = l->r->keep == KEEP_FLAT && !s->made, makes = false;
        if (!rprog_row_holds(l->r, s)) continue;
        if (s->passes >> pass & 1)
            form_reads(b, n, ROOM_ROWS, i)->share = flat ? SHARE_BLOCK : SHARE_THREAD;
        for (int x = 0; x < g->n && s->made; x++)
            makes |= l->p->te->stmt[g->stmt[x]].tensor == s->tensor && g->pass[x] == pass;
        if (makes) form_writes(b, n, ROOM_ROWS, i)->share = SHARE_THREAD;
    }
}

/* The threads of a row meet; NULL: the pass reduces nothing.  Several warps do through shared
 * memory, leaders before those that follow them; the block makes these nodes.  */
static Node *add_threads(FormBuilder *b, const Lowered *l, int pass, NodeKind kind, int what,
                         const char *note) {
    const RowGroup *g = rprog_row_facts(l->p, l->r)->group;
    bool any[2] = {false, false};
    for (int i = 0; i < g->n; i++) {
        if (g->role[i] == ROW_REDUCE && g->pass[i] == pass) any[g->follow[i] != FOLLOW_NONE] = true;
    }
    if (kind == NODE_REDUCE && !any[0] && !any[1]) return NULL;
    Node *n = form_open(b, kind, what);
    n->from = pass;
    n->note = note;
    for (int online = 0; online < 2 && rprog_row_threads(l->r) > 32; online++) {
        if (any[online]) lower_meet_warps(b, (Reductions){g, pass, online});
    }
    form_close(b);
    return n;
}

/* All passes, or one over slices.  */
static void kernel(FormBuilder *b, Lowered *l, int which) {
    const RProg *r = l->r;
    int passes = rprog_row_facts(l->p, r)->group->n_pass;
    bool last = r->split > 1 && which == passes;
    lower_grid(b, l, KERNEL_ROW);
    if (last) l->launch.grid[1] = 1;
    if (lower_empty(l->p)) return;
    form_add(b, NODE_VALUES, VALUES_ROWS)->to = r->split == 1 || which == 0;
    if (r->keep == KEEP_SHARED || r->keep == KEEP_FLAT) add_hold(b, l);
    for (int pass = 0; pass < passes && r->split == 1; pass++) {
        add_walk(b, l, pass);
        add_threads(b, l, pass, NODE_REDUCE, REDUCE_THREADS, "values of the rows");
        form_add(b, NODE_VALUES, VALUES_FINISH)->from = pass;
    }
    if (r->split == 1) return;
    for (int pass = 0; pass < which; pass++) {
        Node *n = add_threads(b, l, pass, NODE_VALUES, VALUES_COMBINE, NULL);
        n->to = pass + 1 == which;
    }
    if (last) return;
    add_walk(b, l, which);
    if (!add_threads(b, l, which, NODE_REDUCE, REDUCE_THREADS, "values of the slice")) return;
    form_add(b, NODE_STORE, STORE_LEAVE)->from = which;
}

const LowerRow lower_row = {.kernels = rprog_row_kernels, .kernel = kernel};
