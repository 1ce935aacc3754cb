#include "codegen/lower/lower.h"

/* What becomes of the sums of a `contract` kernel: slices of warps meet, rows are reduced, outputs
 * or partial sums are stored.  */

static void add_sums(FormBuilder *b, const Contract *c) {
    if (c->matrix.used && !contract_sums_values(c)) form_add(b, NODE_VALUES, VALUES_SUMS);
}

/* Slices of warps meet.  */
static void add_slices(FormBuilder *b, const Contract *c) {
    Node *node = form_sequence(b, "reduce"), *n;
    node->note = arena_printf(b->arena, "reduce: %d slices of warps", c->warps[AX_K]);
    node->blank = true;
    form_add(b, NODE_VALUES, VALUES_SLICES);
    form_block_sync(b);
    form_if(b, WHEN_UPPER, 0);
    n = form_add(b, NODE_STORE, STORE_SLICES);
    form_writes(b, n, ROOM_COPIES, 0);
    form_close(b);
    form_block_sync(b);
    form_if(b, WHEN_UPPER, 0)->leaves = true;
    form_close(b);
    n = form_add(b, NODE_REDUCE, REDUCE_SLICES);
    form_reads(b, n, ROOM_COPIES, 0);
    form_close(b);
}

/* All threads that have results have arrived.  */
static Node *sync_results(FormBuilder *b, const Contract *c) {
    return c->ring ? lower_computing_sync(b, c) : form_block_sync(b);
}

/* Is the node that was added last such a sync?  */
static bool is_synced(const FormBuilder *b) {
    const Node *n = b->open->child;
    while (n && n->next) n = n->next;
    if (!n || n->kind != NODE_SYNC) return false;
    return n->sync.scope == SYNC_BLOCK || n->sync.scope == SYNC_NAMED;
}

/* Opens the loops over a thread's outputs, or over those of partial sums.  Matrices may pass
 * through shared memory on their way, row by row of the warp's instructions.  */
static Node *open_outputs(FormBuilder *b, const Contract *c, bool sums) {
    bool shared = c->r->via == VIA_SHARED;
    Node *n;
    if (c->r->via == VIA_BOXES && !sums) return lower_open_boxes(b, c);
    if (!shared) {
        if (sums) form_add(b, NODE_VALUES, VALUES_OUTPUTS)->from = true;
        n = form_open(b, NODE_LOOP, LOOP_OUTPUTS);
        n->from = sums;
        return n;
    }
    Share share = c->warps[AX_K] > 1 ? SHARE_BLOCK : SHARE_WARP;
    SyncScope scope = c->warps[AX_K] > 1 ? SYNC_BLOCK : SYNC_WARP;
    bool synced = is_synced(b);           /* by the last of the rows' values */
    form_add(b, NODE_VALUES, VALUES_OUTPUTS)->from = sums;
    const Room *room = c->out_room;
    /* The warp has met to tell that its sums are free.  */
    bool met = c->stays && c->matrix.tensor && !c->may_be_empty;
    if (c->stays && !met) form_sync(b, SYNC_WARP, SYNC_BOTH, 0);
    else if (!c->stays && !synced) sync_results(b, c);
    Node *rows = form_open(b, NODE_LOOP, LOOP_ROWS);
    rows->from = sums;
    rows->loop = (Loop){.count = c->matrix.tiles[AX_M]};
    if (c->matrix.tiles[AX_M] > 1 && room->slots == 1)
        form_sync(b, scope, SYNC_BOTH, 0)->when = WHEN_LATER;
    n = form_add(b, NODE_STORE, STORE_STAGING);
    Use *u = form_writes(b, n, room->kind, 0);
    u->share = share;
    form_sync(b, scope, SYNC_BOTH, 0);
    n = form_open(b, NODE_LOOP, LOOP_VECTORS);
    n->from = sums;
    u = form_reads(b, n, room->kind, 0);
    u->share = share;
    return n;
}

static void close_outputs(FormBuilder *b, const Lowered *l, const Contract *c, bool sums) {
    form_close(b);
    if (c->r->via == VIA_BOXES && !sums) lower_close_boxes(b, l->dev);
    if (c->r->via == VIA_SHARED) form_close(b);
}

static void add_partial(FormBuilder *b, const Lowered *l, const Contract *c) {
    if (c->r->tail > 0) form_if(b, WHEN_PARTIAL, 0);
    open_outputs(b, c, true);
    form_add(b, NODE_STORE, STORE_PARTIAL);
    close_outputs(b, l, c, true);
    if (c->r->tail > 0) form_close(b);
}

/* Values of the rows that passes before have made, of parts those that online reductions are made
 * with.  */
static void read_values(FormBuilder *b, const Contract *c, Node *n, int pass, bool online) {
    const StatFacts *f = rprog_stats_facts(c->p, c->r);
    bool partial = c->r->stats == STATS_PARTIAL;
    for (int i = partial ? pass : 0; i <= pass && i < f->group->n_pass; i++) {
        for (int x = 0; x <= stats_any_online(c->p, c->r, i); x++) {
            bool earlier = i < pass || x < (int)online;
            if (earlier) lower_reads(b, n, ROOM_VALUES, (Reductions){f->group, i, x});
        }
    }
}

/* A pass over the rows: a walk, then lanes and warps meet, and the values of the rows are made.  */
static void add_pass(FormBuilder *b, const Contract *c, int pass, int online, bool first) {
    bool partial = c->r->stats == STATS_PARTIAL;
    Reductions of = {rprog_stats_facts(c->p, c->r)->group, pass, online};
    Node *walk = NULL;
    if (online != MEET_ALL) walk = lower_reductions(b, NODE_LOOP, LOOP_WALK, of);
    lower_reductions(b, NODE_REDUCE, REDUCE_LANES, of);
    /* In blocks that stay parts of the tile before are read, if threads have met since.  */
    if (first && !c->stays) sync_results(b, c)->note = "stages become parts of rows";
    else if (first && !stats_followed(c->p, c->r, pass, online)) sync_results(b, c);
    if (first) form_add(b, NODE_VALUES, VALUES_RESTS);
    Node *put = lower_reductions(b, NODE_STORE, STORE_WARPS, of);
    sync_results(b, c);
    Node *finish = lower_reductions(b, NODE_VALUES, VALUES_FINISH, of), *last = finish;
    if (walk) read_values(b, c, walk, pass, online);
    lower_writes(b, put, ROOM_PARTIALS, of);
    lower_reads(b, finish, ROOM_PARTIALS, of);
    if (stats_followed(c->p, c->r, pass, online)) {
        if (!partial || !online) lower_writes(b, finish, ROOM_VALUES, of);
        last = sync_results(b, c);
    }
    last->blank = true;
}

/* What pass `pass` stores, or (whole rows) all do.  */
static void add_emits(FormBuilder *b, const Lowered *l, const Contract *c, int pass) {
    const StatFacts *f = rprog_stats_facts(c->p, c->r);
    bool whole = c->r->stats == STATS_WHOLE, parts = c->r->stats == STATS_PARTIAL;
    Node *loop = open_outputs(b, c, false);
    if (!parts) read_values(b, c, loop, whole ? f->group->n_pass : pass, false);
    lower_statement(b, c->p->group->root);
    for (int i = 0; i < f->group->n; i++) {
        if (f->emits[i] & (whole ? UINT64_MAX : (uint64_t)1 << pass))
            lower_statement(b, f->group->stmt[i]);
    }
    form_add(b, NODE_STORE, STORE_OUTPUTS);
    close_outputs(b, l, c, false);
}

/* What is done with rows of the results: whole rows pass by pass, of parts pass `l->pass`.  */
static void add_stats(FormBuilder *b, const Lowered *l, const Contract *c) {
    const StatFacts *f = rprog_stats_facts(c->p, c->r);
    bool partial = c->r->stats == STATS_PARTIAL;
    bool first = true;
    form_add(b, NODE_VALUES, VALUES_ROWS);
    for (int pass = 0; pass < f->group->n_pass; pass++) {
        if (f->reduces[pass] == 0 || (partial && pass != l->pass)) continue;
        for (int online = 0; online <= stats_any_online(c->p, c->r, pass); online++) {
            add_pass(b, c, pass, online, first);
            first = false;
        }
    }
    if (lower_stores(l, c)) add_emits(b, l, c, l->pass);
}

static void add_outputs(FormBuilder *b, const Lowered *l, const Contract *c) {
    const RProg *r = c->r;
    if (r->split > 1 || r->tail > 0) add_partial(b, l, c);
    if (r->split > 1) return;
    if (r->tail > 0) form_if(b, WHEN_WHOLE, 0);
    open_outputs(b, c, false);
    lower_statements(b, c->p->group);
    close_outputs(b, l, c, false);
    if (r->tail > 0) form_close(b);
}

/* ---- rows in turns ---- */

static bool is_emitted(const StatFacts *f, int pass) { return f->emit_bytes[pass] > 0; }

/* A turn: its products, which threads fold into what they have of their rows, and its stores.  */
static void add_turn(const Make *m, int pass, void (*sums)(const Make *m)) {
    const StatFacts *f = rprog_stats_facts(m->l->p, m->l->r);
    lower_open_columns(m, pass, 1);
    sums(m);
    add_sums(m->b, m->c);
    if (f->reduces[pass] > 0) {
        Node *walk = lower_reductions(m->b, NODE_LOOP, LOOP_WALK,
                                      (Reductions){f->group, pass, MEET_ALL});
        read_values(m->b, m->c, walk, pass, false);
    }
    if (is_emitted(f, pass)) add_emits(m->b, m->l, m->c, pass);
    form_close(m->b);
}

void lower_rows_in_turns(const Make *m, void (*sums)(const Make *m)) {
    const StatFacts *f = rprog_stats_facts(m->l->p, m->l->r);
    bool first = true;
    form_add(m->b, NODE_VALUES, VALUES_ROWS);
    for (int pass = 0; pass < f->group->n_pass; pass++) {
        bool reduces = f->reduces[pass] > 0;
        if (reduces) {
            Node *n = form_add(m->b, NODE_VALUES, VALUES_CLEAR);
            n->from = CLEAR_ROWS;
            n->to = pass;
        }
        add_turn(m, pass, sums);
        if (!reduces) continue;
        add_pass(m->b, m->c, pass, MEET_ALL, first);
        first = !m->c->stays;             /* stages are filled again for the next pass */
    }
}

void lower_results(FormBuilder *b, const Lowered *l, const Contract *c) {
    add_sums(b, c);
    if (c->warps[AX_K] > 1 && c->r->via != VIA_SHARED) add_slices(b, c);
    if (c->r->stats) add_stats(b, l, c);
    else add_outputs(b, l, c);
}
