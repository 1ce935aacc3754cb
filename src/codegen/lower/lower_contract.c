#include "codegen/lower/lower.h"

/* The form of `contract` kernels: a ring of stages that loads run ahead in, and products.  */

static bool has_tile(const Side *s) { return !s->l->region; }

/* ---- loads ---- */

/* Does a load pass through registers, or wait, on its way to the stage?  */
static bool is_kept(const Contract *c, const Side *s) {
    bool at_once = s->direct && c->r->stages > 1;
    return rprog_waits(s->l) && !at_once;
}

/* With scales that wait in registers, of a step as lower_scales has it.  */
static void add_keeps(const Make *m, int ahead, const char *step) {
    for (const Side *s = m->c->side; s < m->c->end; s++)
        if (is_kept(m->c, s)) lower_keep(m->b, s);
    if (m->c->matrix.stages_scales) lower_stage_scales(m->b, ahead, step, OF_LAST);
}

static bool keeps(const Contract *c) {
    for (const Side *s = c->side; s < c->end; s++)
        if (is_kept(c, s)) return true;
    return c->matrix.stages_scales;
}

static void add_tables(const Make *m) {
    if (!m->c->tables) return;
    Node *n = form_add(m->b, NODE_VALUES, VALUES_TABLE);
    for (const Side *s = m->c->side; s < m->c->end; s++) {
        if (!s->table) continue;
        form_writes(m->b, n, ROOM_TABLE, s->number)->data = OF_NEXT;
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
    if (m->c->async) form_sync(m->b, SYNC_COPIES, SYNC_WAIT, contract_turns(m->c)->ahead - 1);
    form_block_sync(m->b);
}

/* Are there all the steps that are loaded before the loop?  */
static bool is_certain(const Contract *c) {
    return !c->sliced && !c->varying_k && c->steps >= contract_turns(c)->ahead;
}

static Node *counted(const Make *m, const char *var, int64_t count, int64_t by, int unroll) {
    Node *n = form_open(m->b, NODE_LOOP, LOOP_COUNTED);
    n->loop = (Loop){.var = var, .count = count, .by = by, .unroll = unroll};
    return n;
}

static void add_fill(const Make *m) {
    const Contract *c = m->c;
    bool several = contract_turns(c)->ahead > 1, certain = is_certain(c);
    Node *node = form_sequence(m->b, "fill");
    node->note = several ? "fill: the first steps" : "fill: the first step";
    node->blank = true;
    if (c->matrix.stages_scales) lower_scales(m->b, SCALES_FIRST, 0, NULL);
    add_tables(m);
    if (c->tables) form_block_sync(m->b);
    if (several) counted(m, "step", contract_turns(c)->ahead, 1, 1)->loop.of = TURNS_STEPS;
    bool tested = !certain || !several;
    if (tested) form_if(m->b, certain ? WHEN_ALWAYS : WHEN_LEFT, 0)->name = several ? "step" : NULL;
    for (const Side *s = c->side; s < c->end; s++) {
        if (has_tile(s)) lower_load(m->b, s, true);
    }
    const char *step = several ? "step" : NULL;
    if (several && c->matrix.stages_scales) lower_scales(m->b, SCALES_NEXT, 0, step);
    add_next(m, false);
    add_keeps(m, 0, step);
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
    Node *node = form_sequence(m->b, "load");
    bool all = true;
    node->note = arena_printf(m->b->arena, "load: step + %d%s", contract_turns(c)->ahead,
                              c->spread ? ", between the products" : "");
    if (c->spread) form_add(m->b, NODE_VALUES, VALUES_MORE);
    for (const Side *s = c->side; s < c->end; s++) all &= !has_tile(s) || s->spread;
    if (!c->spread || !all || c->matrix.stages_scales) {
        form_if(m->b, c->spread ? WHEN_MORE : WHEN_LEFT, contract_turns(c)->ahead)->name = "step";
        for (const Side *s = c->side; s < c->end; s++) {
            if (has_tile(s) && !s->spread) lower_load(m->b, s, false);
        }
        if (c->matrix.stages_scales)
            lower_scales(m->b, SCALES_NEXT, contract_turns(c)->ahead, "step");
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
        form_reads(m->b, n, ROOM_REGION, s->number);
        return;
    }
    form_reads(m->b, n, ROOM_STAGE, s->number)->data = data;
}

/* Fragments that are there before the products of their k.  */
static Node *add_fetch(const Make *m) {
    Node *n = form_add(m->b, NODE_COPY, 0);
    for (const Side *s = m->c->side; s < m->c->end; s++) {
        if (!s->ahead) continue;
        read_operand(m, n, s, OF_TAKEN);
        Use *u = form_writes(m->b, n, ROOM_FRAGMENTS, s->number);
        u->data = OF_TAKEN;
        u->share = SHARE_THREAD;
    }
    return n;
}

static void add_first(const Make *m) {
    const Contract *c = m->c;
    bool certain = !c->may_be_empty && c->steps > 0;
    Node *node = form_sequence(m->b, "fragment");
    node->note = c->matrix.used ? "fragment: registers of the first slice"
                                : "fragment: registers of the first k";
    node->blank = true;
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
    for (const Side *s = c->side; s < c->end && from == 0; s++) {
        read_operand(m, n, s, OF_STEP);
        if (s->ahead) {
            Use *u = form_reads(m->b, n, ROOM_FRAGMENTS, s->number);
            u->data = OF_STEP;
            u->share = SHARE_THREAD;
        }
        if (!s->spread) continue;
        lower_load(m->b, s, false);
    }
    for (Node *x = n->child; x && from == 0; x = x->next) {
        x->when = WHEN_LEFT;
        x->ahead = contract_turns(c)->ahead;
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
    if (keeps(c)) {
        form_sequence(m->b, "keep")->note = "keep: what was loaded for the next step";
        if (c->r->stages == 1) form_block_sync(m->b);
        int ahead = contract_turns(c)->ahead;
        bool always = rprog_stores_always(c->p, m->l->dev, c->r);
        if (!always) form_if(m->b, WHEN_LEFT, ahead)->name = "step";
        add_keeps(m, ahead, "step");
        if (!always) form_close(m->b);
        form_close(m->b);
    }
    form_sequence(m->b, "wait")->note = "wait: the next stage is complete";
    add_wait(m);
    form_close(m->b);
    form_add(m->b, NODE_VALUES, VALUES_PUT);
    form_add(m->b, NODE_VALUES, VALUES_TAKE)->when =
        c->matrix.used && c->any_ahead ? WHEN_FETCH : WHEN_ALWAYS;
}

/* Scales that a unit takes beside the elements.  */
static void add_scales(const Make *m, int which) {
    if (m->c->scaled) form_add(m->b, NODE_VALUES, VALUES_SCALES)->from = which;
}

/* One k-step.  Where fragments are fetched ahead, the fetch for the last k crosses into the next
 * stage, so that it hides behind the last multiply-adds.  */
static void add_step(const Make *m) {
    const Contract *c = m->c;
    int unroll = c->r->unroll, last = c->matrix.used ? c->r->thread.extent[AX_K] : 1;
    add_loads(m);
    if (c->bodies > 1) {
        Node *n = counted(m, "kb", c->bodies, unroll, 1);
        n->loop.warp_k = true;
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
    lower_open_turns(m->b, c, "step");
    if (c->matrix.promotes) form_add(m->b, NODE_VALUES, VALUES_PARTIAL);
    if (c->matrix.stages_scales) lower_take_scales(m->b, OF_STEP);
    if (c->masks_k) form_add(m->b, NODE_VALUES, VALUES_K_NOW);
    add_scales(m, SCALES_NEXT);
    add_step(m);
    add_scales(m, SCALES_TURN);
    form_close(m->b);
    if (c->may_be_empty) form_close(m->b);
}

/* ---- the kernel ---- */

static void add_operands(const Make *m) {
    for (const Side *s = m->c->side; s < m->c->end; s++) {
        if (!s->l->region) {
            Node *n = form_add(m->b, NODE_VALUES, VALUES_ADDRESS);
            n->of = s->side;
            if (s->table && s->row_entries > 0) form_writes(m->b, n, ROOM_ROW_TABLE, s->number);
            continue;
        }
        Node *n = form_add(m->b, NODE_COPY, 0);
        n->of = s->side;
        n->mover = s->l->mover;
        Use *u = form_writes(m->b, n, ROOM_REGION, s->number);
        n->done = s->room->filled;
        u->late = n->done != DONE_AT_ONCE;
    }
}

/* The first steps, and all of them.  */
void lower_stages(const Make *m) {
    add_operands(m);
    form_add(m->b, NODE_VALUES, VALUES_CLEAR);
    add_scales(m, SCALES_FIRST);
    add_fill(m);
    if (m->c->any_ahead) add_first(m);
    add_steps(m);
}

void lower_count_steps(Form *f, const Contract *c) {
    f->steps = c->slice;
    f->least = c->may_be_empty ? 0 : c->sliced ? 1 : c->slice;
    f->bodies = c->bodies;
}

void lower_steps(FormBuilder *b, Lowered *l) {
    const Contract *c = l->layout->product;
    const RProg *r = l->r;
    lower_count_steps(l->form, c);
    l->form->passes = lower_passes(l->p, r);
    if (r->tail > 0 && !c->ring) {
        Node *n = form_open(b, NODE_LOOP, LOOP_SEGMENTS);
        n->loop.count = -1;
        form_block_sync(b);
    }
    if (c->ring) ring_maps(b->arena, l, &l->launch);
    form_add(b, NODE_VALUES, VALUES_PLACE);
    if (c->ring) lower_ring(&(Make){b, l, c});
    else if (!l->form->passes) lower_stages(&(Make){b, l, c});
    if (l->form->passes)
        lower_rows_in_turns(&(Make){b, l, c}, c->ring ? lower_ring_tile : lower_stages);
    else lower_results(b, l, c);
    lower_close_tiles(b, l, c);
    if (r->tail > 0 || c->ring) form_close(b);
    lower_free_tensor(b, c);
    lower_part_blocks(b, c);
}
