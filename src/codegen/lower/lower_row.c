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

/* The threads of a row meet; false: the pass reduces nothing.  */
static bool add_threads(FormBuilder *b, const Lowered *l, int pass, const char *note) {
    const RowGroup *g = rprog_row_facts(l->p, l->r)->group;
    bool any[MEET_ALL] = {false, false}, warps = rprog_row_parts(l->p, l->r) > 1;
    for (int i = 0; i < g->n; i++) {
        if (g->role[i] == ROW_REDUCE && g->pass[i] == pass) any[g->follow[i] != FOLLOW_NONE] = true;
    }
    if (!any[MEET_LEADERS]) return false;
    lower_meet(b, (Reductions){g, pass, any[MEET_ONLINE] ? MEET_LEADERS : MEET_ALL}, warps, note);
    if (any[MEET_ONLINE]) lower_meet(b, (Reductions){g, pass, MEET_ONLINE}, warps, NULL);
    return true;
}

static void add_finish(FormBuilder *b, int pass, bool stores) {
    Node *n = form_add(b, NODE_VALUES, VALUES_FINISH);
    n->from = pass;
    n->to = stores;
}

/* All passes, or one over slices.  */
static void kernel(FormBuilder *b, Lowered *l, int which) {
    const RProg *r = l->r;
    int passes = rprog_row_facts(l->p, r)->group->n_pass;
    bool last = r->split > 1 && which == passes;
    lower_grid(b, l, KERNEL_ROW);
    l->pass = which;
    if (last) l->launch.grid[1] = 1;
    if (lower_empty(l->p)) return;
    form_add(b, NODE_VALUES, VALUES_ROWS)->to = r->split == 1 || which == 0;
    if (r->keep == KEEP_SHARED || r->keep == KEEP_FLAT) add_hold(b, l);
    for (int pass = 0; pass < passes && r->split == 1; pass++) {
        add_walk(b, l, pass);
        add_threads(b, l, pass, "values of the rows");
        add_finish(b, pass, true);
    }
    if (r->split == 1) return;
    for (int pass = 0; pass < which; pass++) {
        Node *n = form_add(b, NODE_VALUES, VALUES_COMBINE);
        n->note = arena_printf(b->arena, "combine: the slices of pass %d", pass);
        n->from = pass;
        add_threads(b, l, pass, NULL);
        add_finish(b, pass, pass + 1 == which);
    }
    if (last) return;
    add_walk(b, l, which);
    if (!add_threads(b, l, which, "values of the slice")) return;
    form_add(b, NODE_STORE, STORE_LEAVE)->from = which;
}

const LowerRow lower_row = {.kernels = rprog_row_kernels, .kernel = kernel};
