/* The products of a program, each as one value.  */
#include "rprogram/product.h"
#include "rprogram/contract.h"
#include "rprogram/matrix.h"

#include <string.h>

static void chunk_facts(const Contract *c, Side *s) {
    RChunks x = rprog_chunks(c->r, s->side);
    s->line = (int)x.line;
    s->chunks = (int)x.all;
    s->per_thread = (int)x.thread;
    s->loaders = rprog_loaders(c->r, s->side);
    s->period = (int)x.period;
    s->step_mn = (int)x.step_mn;
    s->step_k = (int)x.step_k;
}

static void address_facts(const Contract *c, Side *s) {
    RAddress x;
    rprog_address(c->p, c->r, s->side, &x);
    s->own_axis = x.own_axis;
    s->k_axis = x.k_axis;
    s->k_mode = x.k_mode;
    s->wide = x.wide;
    s->pointer = x.pointer;
    s->table = s->l->table;
    memcpy(s->guard_bit, x.guard_bit, sizeof s->guard_bit);
}

static void table_facts(const Contract *c, Side *s) {
    RTable t = rprog_table(c->r, s->side);
    s->k_entries = t.k_entries;
    s->row_entries = t.row_entries;
}

static void matrix_facts(Contract *c, const Device *dev) {
    Matrix *x = &c->matrix;
    x->used = rprog_matrix(dev, c->r);
    if (!x->used) return;
    x->unit = &dev->unit[c->r->unit];
    x->accumulators = rprog_unit_accumulators(dev, c->r);
    x->results = rprog_results(dev, c->r);
    x->products = rprog_products(c->p, dev, c->r);
    x->promotes = rprog_promotes(c->p, dev, c->r);
    x->tensor = rprog_tensor(dev, c->r);
    x->columns = rprog_issued_columns(dev, c->r);
    x->blocks = rprog_unit_blocks(dev, c->r);
    for (int k = AX_M; k <= AX_K; k++)
        x->tiles[k] = c->r->warp.extent[k] / c->r->thread.extent[k];
}

static void fragment_facts(Contract *c, const Device *dev, Side *s) {
    s->ahead = rprog_fetched_ahead(dev, c->r, s->side);
    if (c->matrix.used) {
        s->ldmatrix = rprog_ldmatrix(c->p, dev, c->r, s->side);
        s->registers = rprog_unit_registers(dev, c->r, s->side);
        s->fragment = rprog_fragment(dev, c->r, s->side);
        s->bytes = s->l->bytes;
        s->fours = rprog_reads_fours(c->r, s->side);
        return;
    }
    s->fragment_k = s->inner_k ? c->r->thread.extent[AX_K] : 1;
    if (c->packed) s->fragment_k /= RPROG_PACKED;
}

/* What the chunks of an expression read.  Their length respects the promised alignment.  */
static void read_facts(const Contract *c, Side *s) {
    const FusedAxis *along = &c->p->con.axis[s->l->along];
    if (s->copies || s->l->vec == 1) return;
    ChunkReads x =
        rtile_chunk_reads(c->te, c->root, s->o->expr, along, s->l->vec, RTILE_ACCESS);
    s->n_read = x.n;
    for (int i = 0; i < x.n; i++) {
        TeDtype storage = c->te->tensor[x.read[i]->v.ref].dtype;
        s->read[i] = (ChunkRead){x.read[i], storage, x.width[i]};
    }
}

/* Boxes of an operand that registers are made of lie side by side along k.  */
static void raw_facts(const Contract *c, const Device *dev, Side *s) {
    int k = c->r->block.extent[AX_K];
    rprog_raw(c->p, s->side, k, &s->raw);
    s->box = s->raw.box;
    s->span = rprog_raw_span(c->r, s->side);
    s->boxes = k / s->raw.pack * s->elem / s->span;
    s->box_bytes = s->span * s->extent;
    s->fragment = rprog_raw_fragment(dev, c->r);
}

/* A box for each plane of a region, of which a read of four matrices has 16 rows by 32 bytes.  */
static void boxes_facts(const Contract *c, const Device *dev, Side *s) {
    int most = dev->mover[s->l->mover].box_max;
    if (!s->l->team &&
        !rprog_region_pixels(c->p, s->side, &s->region, &s->box, &s->region_traversed))
        rprog_region_box(c->p, s->side, &s->region, most, &s->box);
    s->span = s->region.span;
    s->boxes = s->region.planes;
    s->box_bytes = s->region.lines * s->span;
    s->fragment = rprog_raw_fragment(dev, c->r);
    s->region_rows = s->thread;
    s->region_group = 1;
    s->region_places = (int)count_along(&c->r->warp, &c->r->thread, (int)s->own);
}

static void ring_facts(const Contract *c, const Device *dev, Side *s) {
    int own = s->extent, k = c->r->block.extent[AX_K], tile = c->r->thread.extent[s->own];
    int each = BOX_SPAN / s->elem, slice = c->r->thread.extent[AX_K];
    s->parts = s->side == rprog_cluster_side(c->r) ? rprog_cluster(c->r) : 1;
    s->lines = warpgroup_shares_lines(c->r, s->side);
    s->apart = rprog_apart(dev, c->r, s->side);
    if (s->l->raw || s->l->region) {
        (s->l->raw ? raw_facts : boxes_facts)(c, dev, s);
        return;
    }
    s->span = BOX_SPAN;
    if (!s->l->team) {
        if (s->l->modulo) rprog_box_modulo(c->p, s->side, &s->box);
        else rprog_box(c->p, s->side, &s->box);
        s->span = s->box.span;
    }
    s->order = rprog_row_order(dev, c->r, s->side);
    s->atom = RTILE_ACCESS << s->l->layout.base;
    s->boxes = (int)(s->inner_k ? ceil_div(k, s->span / s->elem) : ceil_div(own, each));
    if (!s->lines) s->boxes /= s->parts;
    s->box_bytes = s->inner_k ? s->span * (s->apart ? own / s->parts : own) : BOX_SPAN * k;
    if (!s->inner_k) s->leading = s->box_bytes;
    else s->leading = s->span == RTILE_ACCESS ? s->box_bytes : dev->unit[c->r->unit].alignment;
    s->on = s->inner_k ? slice * s->elem : slice * BOX_SPAN;
    s->down = s->inner_k ? tile * s->span : tile / each * s->box_bytes;
}

static void region_facts(const Contract *c, const Device *dev, Side *s) {
    const RRegion *x = &s->region;
    s->region_zeros = rprog_region_zeros(c->p, c->r, x);
    s->region_straight = rprog_region_straight(c->r, s->side, x);
    s->region_rows = c->matrix.used ? rprog_region_rows(c->p, dev, c->r, s->side) : 1;
    s->region_group = c->matrix.used ? rprog_region_group(c->r, s->side, x, s->region_rows) : 1;
    s->region_places = c->matrix.used       ? rprog_region_places(c->r, s->side, x, s->region_rows)
                       : s->region_straight ? 1
                                            : s->thread;
}

/* An operand that registers have.  */
static void made_facts(Contract *c, const Device *dev, Side *s) {
    if (!c->ring) {
        fragment_facts(c, dev, s);
        return;
    }
    s->fragment = rprog_raw_fragment(dev, c->r);
    s->registers = fragment_slots(&s->fragment, FRAG_DIMS) / s->fragment.per_register;
}

/* B of a chain whose k is whole goes on from turn to turn.  */
static AxisClass moves_of(const Contract *c, int side) {
    bool last = c->number + 1 == c->layout->n_product;
    return side == 1 && !last && c->steps <= 1 ? AX_N : AX_K;
}

static void side_facts(Contract *c, const Device *dev, Side *s) {
    int side = (int)(s - c->side);
    int number = c->number * CONTRACTION_OPERANDS + side;
    *s = (Side){.side = side,
                .number = number,
                .made = c->p->op[side].made,
                .ring = -1,
                .moves = moves_of(c, side),
                .id = (char)('a' + number),
                .o = &c->p->con.operand[side],
                .f = &c->p->op[side],
                .l = &c->r->load[side],
                .own = side ? AX_N : AX_M};
    rprog_region(c->p, c->r, side, &s->region);
    s->extent = c->r->block.extent[s->own];
    s->thread = c->r->thread.extent[s->own];
    s->vec = side ? c->r->vec_n : c->r->vec_m;
    s->lanes = c->lanes[s->own];
    s->whole = c->p->extent[s->own];
    s->ragged = rprog_ragged(c->p, c->r, (int)s->own);
    s->copies = s->o->read && s->f->affine;
    s->gathers = s->f->gathered && rprog_copies_chunks(s->l);
    bool unchanged = s->copies && rprog_copyable(c->p, dev, c->r, side);
    s->tile = c->matrix.used ? rprog_tile_type(c->p, dev, c->r, side)
              : unchanged    ? s->o->storage
                             : s->o->compute;
    s->elem = te_dtype_bytes(s->tile);
    s->inner_k = s->l->layout.inner == AX_K;
    if (s->made) {
        made_facts(c, dev, s);
        return;
    }
    bool apart = s->l->region && !rprog_region_boxes(s->l);
    s->room = rprog_room(c->layout, apart ? ROOM_REGION : ROOM_STAGE, number);
    s->ring = s->room->ring;
    s->stays = s->ring < 0 || ring_stays(&c->layout->ring[s->ring]);
    c->scaled |= rprog_scales(c->p, dev, c->r, side, &s->scales);
    c->matrix.scales |= rprog_sum_scales(c->p, dev, c->r, side, &s->sum_scales);
    c->matrix.stages_scales |= s->sum_scales.staged;
    s->row = (int)(s->room->row / s->elem);
    if (c->ring) ring_facts(c, dev, s);
    if (!rprog_load_facts(s->l->kind).chunks) return;
    if (rprog_region_boxes(s->l)) return;
    if (s->l->region) region_facts(c, dev, s);
    else chunk_facts(c, s);
    s->spread = rprog_spread(dev, c->r, side);
    read_facts(c, s);
    s->direct = !s->l->region && rprog_evaluates_direct(c->p, c->r, side);
    if (s->copies) address_facts(c, s);
    if (s->table) table_facts(c, s);
    if (!c->ring) fragment_facts(c, dev, s);
}

static void step_facts(Contract *c) {
    const Problem *p = c->p;
    const RProg *r = c->r;
    c->steps = rprog_tiles(p, r, AX_K);
    c->slice = ceil_div(c->steps, r->split);
    const FusedAxis *k = &p->con.axis[AX_K];
    c->varying_k = access_varies(c->root, k, 0, k->n);
    c->sliced = r->split > 1 || r->tail > 0;
    c->may_be_empty = c->varying_k || c->steps - (r->split - 1) * c->slice < 1;
    c->k_ragged = rprog_ragged(p, r, AX_K);
    bool zero_is_neutral = p->con.product && p->con.red == TE_RED_SUM;
    c->masks_k = c->k_ragged && !zero_is_neutral;
    c->bodies = r->warp.extent[AX_K] / r->unroll;
}

/* Outputs that leave by boxes.  */
static void box_facts(Contract *c) {
    Access x;
    rprog_out_box(c->p, &c->out, &x);
    c->out_tensor = x.tensor;
    c->box_row = rprog_box_row(c->p, c->r);
    c->boxes = rprog_box_count(c->p, c->r);
}

static void sides_facts(Contract *c, const Device *dev) {
    bool turns = false;       /* known; a ring that stays gives way to that of the steps */
    for (Side *s = c->side; s < c->end; s++) {
        side_facts(c, dev, s);
        if (s->made) continue;
        if (s->ring >= 0 && (!s->stays || !turns)) c->turns = s->ring;
        turns |= s->ring >= 0;
        c->async |= rprog_copies_chunks(s->l) || s->l->team > 0;
        c->staged |= rprog_waits(s->l);
        c->any_ahead |= s->ahead;
        c->spread |= s->spread;
        c->tables |= s->table;
    }
}

static void product_facts(const Problem *p, const Device *dev, const RProg *r, const Layout *l,
                          Contract *c) {
    *c = (Contract){.number = (int)(c - l->product),
                    .te = p->te,
                    .p = p,
                    .r = r,
                    .root = &p->te->stmt[p->con.stmt],
                    .side = c->side,
                    .end = c->side + p->n_operand,
                    .layout = l};
    c->packed = rprog_packed(dev, r);
    c->ring = dev->unit[r->unit].b_smem;
    matrix_facts(c, dev);
    for (int k = AX_M; k <= AX_K; k++) {
        c->lanes[k] = r->warp.extent[k] / r->thread.extent[k];
        c->warps[k] = r->block.extent[k] / r->warp.extent[k];
    }
    step_facts(c);
    sides_facts(c, dev);
    c->kept = contract_turns(c)->turn == TURN_KEPT;
    const Room *sums = rprog_room(l, ROOM_ACCUMULATORS, c->number);
    c->sums = sums ? sums->ring : c->turns;
    c->stays = rprog_persistent(r);
    bool apart = c->stays || r->via == VIA_BOXES;
    c->out_room = rprog_room(l, apart ? ROOM_OUTPUTS : ROOM_STAGING, 0);
    if (r->via == VIA_BOXES) box_facts(c);
}

Contract *layout_products(Arena *a, const Problem *p, const Device *dev, const RProg *r,
                          Layout *l) {
    for (const Problem *of = p; of; of = of->next) l->n_product++;
    Contract *c = ARENA_ARRAY(a, Contract, l->n_product);
    l->product = c;
    for (int i = 0; i < l->n_product; i++, p = p->next) {
        RProg *own = ARENA_NEW(a, RProg);
        *own = rprog_product(dev, r, i);
        c[i].side = ARENA_ARRAY(a, Side, p->n_operand);
        product_facts(p, dev, own, l, &c[i]);
    }
    return c;
}
