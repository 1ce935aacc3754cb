#include "codegen/blocks.h"

/* The form of `contract` kernels: a ring of stages that loads run ahead in, products, and what
 * becomes of the sums.  */

typedef struct {
    FormBuilder *b;
    Lowered *l;
    const Contract *c;
} Make;

static bool has_tile(const Side *s) { return s->present && !s->l->region; }

/* ---- loads ---- */

static void read_tables(const Make *m, Node *n, const Side *s) {
    if (!s->table) return;
    Use *u = form_reads(m->b, n, ROOM_TABLE, s->side);
    u->at = AT_TURN;
    u->data = OF_NEXT;
    if (s->row_table >= 0) form_reads(m->b, n, ROOM_ROW_TABLE, s->side);
}

static Use *write_stage(const Make *m, Node *n, const Side *s, DataOf data) {
    Use *u = form_writes(m->b, n, ROOM_STAGE, s->side);
    u->at = AT_PUT;
    u->data = data;
    return u;
}

static void write_registers(const Make *m, Node *n, Room room, const Side *s, DataOf data) {
    Use *u = form_writes(m->b, n, room, s->side);
    u->data = data;
    u->share = SHARE_THREAD;
}

/* Chunks of the step that is loaded next, to the stage or to registers.  */
static void add_load(const Make *m, const Side *s, bool first) {
    if (s->direct && m->c->r->stages == 1) return;        /* made where others are kept */
    Node *n = form_add(m->b, NODE_COPY, 0);
    n->of = s->side;
    n->from = first;
    n->mover = s->l->mover;
    read_tables(m, n, s);
    if (rprog_copies_chunks(s->l)) {
        n->done = DONE_COPIES;
        write_stage(m, n, s, OF_NEXT)->late = true;
    } else if (s->direct) {
        write_stage(m, n, s, OF_NEXT);
    } else {
        write_registers(m, n, ROOM_STAGED, s, OF_NEXT);
    }
}

/* What has come to registers, to its stage.  */
static void add_keeps(const Make *m) {
    for (int i = 0; i < 2; i++) {
        const Side *s = &m->c->side[i];
        bool direct = s->direct, at_once = direct && m->c->r->stages > 1;
        if (!s->present || !rprog_waits(s->l) || at_once) continue;
        Node *n = form_add(m->b, NODE_COPY, 0);
        n->of = i;
        n->to = 1;
        n->mover = s->l->mover;
        if (!direct) {
            Use *u = form_reads(m->b, n, ROOM_STAGED, i);
            u->share = SHARE_THREAD;
        }
        write_stage(m, n, s, direct ? OF_LAST : OF_KEPT);
    }
}

/* Does a load pass through registers on its way to the stage?  */
static bool keeps(const Contract *c) {
    for (int i = 0; i < 2; i++) {
        const Side *s = &c->side[i];
        bool at_once = s->direct && c->r->stages > 1;
        if (s->present && rprog_waits(s->l) && !at_once) return true;
    }
    return false;
}

static void add_tables(const Make *m) {
    if (!m->c->tables) return;
    Node *n = form_add(m->b, NODE_VALUES, VALUES_TABLE);
    for (int i = 0; i < 2; i++) {
        if (!m->c->side[i].table) continue;
        Use *u = form_writes(m->b, n, ROOM_TABLE, i);
        u->at = AT_TURN;
        u->data = OF_NEXT;
    }
}

/* To the step that is loaded next; `spread`: pointers of loads between the products, too.  */
static void add_next(const Make *m, bool spread) {
    form_add(m->b, NODE_VALUES, VALUES_NEXT_K)->from = spread;
    add_tables(m);
}

static void add_commit(const Make *m) {
    if (m->c->async) form_sync(m->b, SYNC_COPIES, SYNC_COMMIT, 0);
}

static void add_wait(const Make *m) {
    if (m->c->async) form_sync(m->b, SYNC_COPIES, SYNC_WAIT, m->c->ahead_steps - 1);
    form_block_sync(m->b);
}

/* Are there all the steps that are loaded before the loop?  */
static bool is_certain(const Contract *c) {
    return !c->sliced && !c->varying_k && c->steps >= c->ahead_steps;
}

static Node *counted(const Make *m, const char *var, int64_t count, int64_t by, int unroll) {
    Node *n = form_open(m->b, NODE_LOOP, LOOP_COUNTED);
    n->loop = (Loop){.var = var, .count = count, .by = by, .unroll = unroll};
    return n;
}

static void add_fill(const Make *m) {
    const Contract *c = m->c;
    bool several = c->ahead_steps > 1, certain = is_certain(c);
    Node *part = form_part(m->b, "fill");
    part->note = several ? "fill: the first steps" : "fill: the first step";
    part->blank = true;
    add_tables(m);
    if (c->tables) form_block_sync(m->b);
    if (several) counted(m, "step", c->ahead_steps, 1, 1)->loop.of = TURNS_STEPS;
    bool tested = !certain || !several;
    if (tested) form_if(m->b, certain ? WHEN_ALWAYS : WHEN_LEFT, 0)->name = several ? "step" : NULL;
    for (int i = 0; i < 2; i++) {
        if (has_tile(&c->side[i])) add_load(m, &c->side[i], true);
    }
    add_next(m, false);
    add_keeps(m);
    if (tested) form_close(m->b);
    add_commit(m);
    form_add(m->b, NODE_VALUES, VALUES_PUT);
    if (several && c->tables) form_block_sync(m->b);
    if (several) form_close(m->b);
    add_wait(m);
    form_close(m->b);
}

/* The loads of a later step: all, or those that are not issued between the products.  */
static void add_loads(const Make *m) {
    const Contract *c = m->c;
    Node *part = form_part(m->b, "load");
    bool all = true;
    part->note = arena_printf(m->b->arena, "load: step + %d%s", c->ahead_steps,
                              c->spread ? ", between the products" : "");
    if (c->spread) form_add(m->b, NODE_VALUES, VALUES_MORE);
    for (int i = 0; i < 2; i++) all &= !has_tile(&c->side[i]) || c->side[i].spread;
    if (!c->spread || !all) {
        form_if(m->b, WHEN_LEFT, c->ahead_steps)->name = c->spread ? "more" : "step";
        for (int i = 0; i < 2; i++) {
            if (has_tile(&c->side[i]) && !c->side[i].spread) add_load(m, &c->side[i], false);
        }
        if (!c->spread) add_next(m, false);
        form_close(m->b);
    }
    if (!c->spread) add_commit(m);
    form_close(m->b);
}

/* ---- products ---- */

/* Where an operand's elements of a step are read.  */
static void read_operand(const Make *m, Node *n, const Side *s, DataOf data) {
    if (s->l->region) {
        form_reads(m->b, n, ROOM_REGION, s->side);
        return;
    }
    Use *u = form_reads(m->b, n, ROOM_STAGE, s->side);
    u->at = AT_TAKE;
    u->data = data;
}

/* Fragments that are there before the products of their k.  */
static Node *add_fetch(const Make *m) {
    Node *n = form_add(m->b, NODE_COPY, 0);
    for (int i = 0; i < 2; i++) {
        const Side *s = &m->c->side[i];
        if (!s->present || !s->ahead) continue;
        read_operand(m, n, s, OF_TAKEN);
        write_registers(m, n, ROOM_FRAGMENTS, s, OF_TAKEN);
    }
    return n;
}

static void add_first(const Make *m) {
    const Contract *c = m->c;
    bool certain = !c->may_be_empty && c->steps > 0;
    Node *part = form_part(m->b, "fragment");
    part->note = c->matrix.used ? "fragment: registers of the first slice"
                                : "fragment: registers of the first k";
    part->blank = true;
    if (!certain) form_if(m->b, WHEN_LEFT, 0);
    add_fetch(m);
    if (!certain) form_close(m->b);
    form_close(m->b);
}

/* Products of k from..to of a body; the last ones of those that are fetched ahead fetch the first
 * fragments of the next.  */
static void add_compute(const Make *m, int from, int to) {
    const Contract *c = m->c;
    Node *n = form_open(m->b, NODE_COMPUTE, 0);
    n->from = from;
    n->to = to;
    if (from > 0) {
        Node *fetch = add_fetch(m);
        if (!c->matrix.used) fetch->when = WHEN_FETCH;
    }
    for (int i = 0; i < 2 && from == 0; i++) {
        const Side *s = &c->side[i];
        if (!s->present) continue;
        read_operand(m, n, s, OF_STEP);
        if (s->ahead) {
            Use *u = form_reads(m->b, n, ROOM_FRAGMENTS, i);
            u->data = OF_STEP;
            u->share = SHARE_THREAD;
        }
        if (!s->spread) continue;
        add_load(m, s, false);
    }
    for (Node *x = n->child; x && from == 0; x = x->next) {
        x->when = WHEN_LEFT;
        x->ahead = c->ahead_steps;
    }
    form_close(m->b);
}

/* A stage's end: what was loaded meanwhile is complete, and the next one is read.  */
static void add_turn(const Make *m) {
    const Contract *c = m->c;
    if (c->spread) {
        add_next(m, true);
        add_commit(m);
    }
    if (c->staged && keeps(c)) {
        form_part(m->b, "keep")->note = "keep: what was loaded for the next step";
        if (c->r->stages == 1) form_block_sync(m->b);
        bool always = rprog_stores_always(c->p, m->l->dev, c->r);
        if (!always) form_if(m->b, WHEN_LEFT, c->ahead_steps)->name = "step";
        add_keeps(m);
        if (!always) form_close(m->b);
        form_close(m->b);
    }
    form_part(m->b, "wait")->note = "wait: the next stage is complete";
    add_wait(m);
    form_close(m->b);
    form_add(m->b, NODE_VALUES, VALUES_PUT);
    form_add(m->b, NODE_VALUES, VALUES_TAKE)->when =
        c->matrix.used && c->any_ahead ? WHEN_FETCH : WHEN_ALWAYS;
}

/* One k-step.  Where fragments are fetched ahead, the fetch for the last k crosses into the next
 * stage, so that it hides behind the last multiply-adds.  */
static void add_step(const Make *m) {
    const Contract *c = m->c;
    int unroll = c->r->unroll, last = c->matrix.used ? c->r->thread.extent[AX_K] : 1;
    add_loads(m);
    if (c->bodies > 1) {
        Node *n = counted(m, "kb", c->bodies, unroll, 1);
        n->loop.end = "WK";
        n->loop.of = TURNS_BODIES;
    }
    add_compute(m, 0, c->any_ahead ? unroll - last : unroll);
    if (c->bodies > 1 && c->any_ahead) form_if(m->b, WHEN_LAST, 0);
    if (c->bodies > 1 && !c->any_ahead) form_close(m->b);
    add_turn(m);
    if (!c->any_ahead) return;
    if (c->bodies > 1) form_close(m->b);
    add_compute(m, unroll - last, unroll);
    if (c->bodies > 1) form_close(m->b);
}

static void add_steps(const Make *m) {
    const Contract *c = m->c;
    if (c->may_be_empty) form_if(m->b, WHEN_STEPS, 0);
    Node *n = form_open(m->b, NODE_LOOP, LOOP_STEPS);
    n->loop = (Loop){.var = "step", .count = c->slice, .by = 1, .unroll = 1};
    if (c->matrix.promotes) form_add(m->b, NODE_VALUES, VALUES_PARTIAL);
    if (c->masks_k) form_add(m->b, NODE_VALUES, VALUES_K_NOW);
    add_step(m);
    form_close(m->b);
    if (c->may_be_empty) form_close(m->b);
}

/* ---- what becomes of the sums ---- */

/* Slices of warps meet.  */
static void add_slices(const Make *m) {
    Node *part = form_part(m->b, "reduce"), *n;
    part->note = arena_printf(m->b->arena, "reduce: %d slices of warps", m->c->warps[AX_K]);
    part->blank = true;
    form_add(m->b, NODE_VALUES, VALUES_SLICES);
    form_block_sync(m->b);
    form_if(m->b, WHEN_UPPER, 0);
    n = form_add(m->b, NODE_STORE, STORE_SLICES);
    form_writes(m->b, n, ROOM_COPIES, 0);
    form_close(m->b);
    form_block_sync(m->b);
    form_if(m->b, WHEN_UPPER, 0)->leaves = true;
    form_close(m->b);
    n = form_add(m->b, NODE_REDUCE, REDUCE_SLICES);
    form_reads(m->b, n, ROOM_COPIES, 0);
    form_close(m->b);
}

/* Opens the loops over a thread's outputs, or over those of partial sums.  Matrices may pass
 * through shared memory on their way, row by row of the warp's instructions.  */
static Node *open_outputs(const Make *m, bool sums) {
    const Contract *c = m->c;
    bool shared = c->r->via == VIA_SHARED;
    Node *n;
    if (c->r->via == VIA_BOXES) return lower_open_boxes(m->b, m->l);
    if (!shared) {
        if (sums) form_add(m->b, NODE_VALUES, VALUES_OUTPUTS)->from = true;
        n = form_open(m->b, NODE_LOOP, LOOP_OUTPUTS);
        n->from = sums;
        return n;
    }
    int slots = rprog_piece_turns(c->r) > 1 ? 2 : 1;
    Share share = c->warps[AX_K] > 1 ? SHARE_BLOCK : SHARE_WARP;
    SyncScope scope = c->warps[AX_K] > 1 ? SYNC_BLOCK : SYNC_WARP;
    form_add(m->b, NODE_VALUES, VALUES_OUTPUTS)->from = sums;
    Room room = c->stays ? ROOM_OUTPUTS : ROOM_PIECES;
    if (c->stays) form_sync(m->b, SYNC_WARP, SYNC_BOTH, 0);
    else if (c->ring) lower_computing_sync(m->b, m->l);
    else form_block_sync(m->b);
    Node *rows = form_open(m->b, NODE_LOOP, LOOP_ROWS);
    rows->from = sums;
    rows->loop = (Loop){.count = c->matrix.tiles[AX_M]};
    if (c->matrix.tiles[AX_M] > 1 && slots == 1)
        form_sync(m->b, scope, SYNC_BOTH, 0)->when = WHEN_LATER;
    n = form_add(m->b, NODE_STORE, STORE_PIECE);
    Use *u = form_writes(m->b, n, room, 0);
    u->at = AT_LOOP;
    u->share = share;
    form_sync(m->b, scope, SYNC_BOTH, 0);
    n = form_open(m->b, NODE_LOOP, LOOP_VECTORS);
    n->from = sums;
    u = form_reads(m->b, n, room, 0);
    u->at = AT_LOOP;
    u->share = share;
    m->l->form->turns = slots;
    return n;
}

static void close_outputs(const Make *m) {
    form_close(m->b);
    if (m->c->r->via == VIA_BOXES) lower_close_boxes(m->b, m->l);
    if (m->c->r->via == VIA_SHARED) form_close(m->b);
}

static void add_partial(const Make *m) {
    if (m->c->r->tail > 0) form_if(m->b, WHEN_PARTIAL, 0);
    open_outputs(m, true);
    form_add(m->b, NODE_STORE, STORE_PARTIAL);
    close_outputs(m);
    if (m->c->r->tail > 0) form_close(m->b);
}

/* Values of the rows that passes before have made, of parts those that tied reductions are made
 * with.  */
static void read_values(const Make *m, Node *n, int pass, bool tied) {
    const StatFacts *f = rprog_stats_facts(m->l->p, m->l->r);
    bool parts = m->l->r->stats == STATS_PARTS;
    for (int i = parts ? pass : 0; i <= pass && i < f->group->n_pass; i++) {
        for (int x = 0; x <= stats_any_tied(m->l->p, m->l->r, i); x++) {
            bool earlier = i < pass || x < (int)tied;
            if (earlier && f->reduces[i] > 0) form_reads(m->b, n, ROOM_VALUES, 2 * i + x);
        }
    }
}

/* A pass over the rows: a walk, then lanes and warps meet, and the values of the rows are made.  */
static void add_pass(const Make *m, int pass, bool tied, bool first) {
    const Lowered *l = m->l;
    bool parts = l->r->stats == STATS_PARTS;
    int of = 2 * pass + tied;
    Node *walk = form_add(m->b, NODE_LOOP, LOOP_WALK);
    Node *lanes = form_add(m->b, NODE_REDUCE, REDUCE_LANES);
    if (first) form_block_sync(m->b)->note = "stages become parts of rows";
    Node *put = form_add(m->b, NODE_STORE, STORE_WARPS);
    form_block_sync(m->b);
    Node *finish = form_add(m->b, NODE_VALUES, VALUES_FINISH), *last = finish;
    walk->from = lanes->from = put->from = finish->from = pass;
    walk->to = lanes->to = put->to = finish->to = tied;
    read_values(m, walk, pass, tied);
    form_writes(m->b, put, ROOM_PARTS, of);
    form_reads(m->b, finish, ROOM_PARTS, of);
    if (stats_followed(l->p, l->r, pass, tied)) {
        if (!parts || !tied) form_writes(m->b, finish, ROOM_VALUES, of);
        last = form_block_sync(m->b);
    }
    last->blank = true;
}

/* What is done with rows of the results: whole rows pass by pass, of parts pass `l->pass`.  */
static void add_stats(const Make *m) {
    Lowered *l = m->l;
    const StatFacts *f = rprog_stats_facts(l->p, l->r);
    bool parts = l->r->stats == STATS_PARTS;
    bool first = true;
    form_add(m->b, NODE_VALUES, VALUES_ROWS);
    for (int pass = 0; pass < f->group->n_pass; pass++) {
        if (f->reduces[pass] == 0 || (parts && pass != l->pass)) continue;
        for (int tied = 0; tied <= stats_any_tied(l->p, l->r, pass); tied++) {
            add_pass(m, pass, tied, first);
            first = false;
        }
    }
    if (!f->any_stored || (parts && f->emit_bytes[l->pass] == 0)) return;
    uint64_t mask = parts ? (uint64_t)1 << l->pass : UINT64_MAX;
    Node *loop = open_outputs(m, false);
    if (!parts) read_values(m, loop, f->group->n_pass, false);
    lower_statement(m->b, l->p->group->root);
    for (int i = 0; i < f->group->n; i++) {
        if (f->emits[i] & mask) lower_statement(m->b, f->group->stmt[i]);
    }
    form_add(m->b, NODE_STORE, STORE_OUTPUTS);
    close_outputs(m);
}

static void add_outputs(const Make *m) {
    const RProg *r = m->c->r;
    if (r->split > 1 || r->tail > 0) add_partial(m);
    if (r->split > 1) return;
    if (r->tail > 0) form_if(m->b, WHEN_WHOLE, 0);
    open_outputs(m, false);
    lower_statements(m->b, m->l->p->group);
    close_outputs(m);
    if (r->tail > 0) form_close(m->b);
}

/* ---- the kernel ---- */

static void add_operands(const Make *m) {
    for (int side = 0; side < 2; side++) {
        const Side *s = &m->c->side[side];
        if (!s->present) continue;
        if (!s->l->region) {
            Node *n = form_add(m->b, NODE_VALUES, VALUES_ADDRESS);
            n->of = side;
            if (s->table && s->row_table >= 0) form_writes(m->b, n, ROOM_ROW_TABLE, side);
            continue;
        }
        Node *n = form_add(m->b, NODE_COPY, 0);
        n->of = side;
        n->mover = s->l->mover;
        Use *u = form_writes(m->b, n, ROOM_REGION, side);
        u->late = rprog_copies_chunks(s->l);
        n->done = u->late ? DONE_COPIES : DONE_AT_ONCE;
    }
}

/* The first steps, and all of them.  */
static void add_stages(const Make *m) {
    add_operands(m);
    form_add(m->b, NODE_VALUES, VALUES_CLEAR);
    add_fill(m);
    if (m->c->any_ahead) add_first(m);
    add_steps(m);
}

void lower_contract(FormBuilder *b, Lowered *l) {
    const Contract *c = l->contract;
    Make make = {b, l, c}, *m = &make;
    const RProg *r = l->r;
    l->form->stages = r->stages;
    l->form->steps = c->slice;
    l->form->least = c->may_be_empty ? 0 : c->sliced ? 1 : c->slice;
    l->form->bodies = c->bodies;
    if (r->tail > 0) {
        Node *n = form_open(b, NODE_LOOP, LOOP_SEGMENTS);
        n->loop.count = -1;
        form_block_sync(b);
    }
    form_add(b, NODE_VALUES, VALUES_PLACE);
    if (c->ring) lower_ring(b, l);
    else add_stages(m);
    if (c->matrix.used && c->matrix.unit->acc != l->p->con.acc)
        form_add(b, NODE_VALUES, VALUES_SUMS);
    if (c->warps[AX_K] > 1 && !c->matrix.piece) add_slices(m);
    if (r->stats) add_stats(m);
    else add_outputs(m);
    if (c->stays) lower_close_tiles(b, l);
    if (r->tail > 0 || c->ring) form_close(b);
    /* No block ends while others write to it, or arrive at its barriers.  */
    if (r->cluster > 1) form_sync(b, SYNC_CLUSTER, SYNC_BOTH, 0);
}
