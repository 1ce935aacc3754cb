#include "codegen/blocks.h"
#include "te/arith.h"

enum { WARP = 32 };
enum { MAX_STAGED = 16 }; /* elements of an expression that are kept in registers */

int64_t contract_stride(const Affine *f, const FusedAxis *axis, int digit) {
    const AxisDigit *d = &axis->digit[digit];
    return f->coef[axis->index[d->first + d->n - 1]];
}

/* Can an offset, also one of a padded row that is never accessed, leave 32 bits?  */
static bool needs_wide(const Contract *c, const Side *s) {
    const Access *x = &s->o->access;
    const TeTensor *t = &c->te->tensor[x->tensor];
    double reach = 1;
    for (int d = 0; d < t->rank; d++)
        reach += (double)(t->shape[d].value - 1) * (double)t->stride[d].value;
    for (int k = AX_M; k <= AX_K; k++) {
        const FusedAxis *axis = &c->p->con.axis[k];
        double most = 0;
        for (int i = 0; i < axis->n_digit; i++) {
            double stride = (double)contract_stride(&x->offset, axis, i);
            stride = stride < 0 ? -stride : stride;
            most = stride > most ? stride : most;
        }
        reach += most * c->r->block.extent[k];
    }
    return reach > INT32_MAX;
}

static void chunk_facts(const Contract *c, Side *s) {
    int bk = c->r->block.extent[AX_K], threads = c->r->threads;
    bool along_k = s->l->along == AX_K;
    s->line = (along_k ? bk : s->extent) / s->l->vec;
    s->chunks = s->extent * bk / s->l->vec;
    s->per_thread = (int)ceil_div(s->chunks, threads);
    s->period = s->line / (int)gcd64(s->line, threads);
    if (s->period > s->per_thread) s->period = s->per_thread;
    int rows = s->period < s->per_thread ? s->period * threads / s->line : 0;
    s->step_mn = along_k ? rows : 0;
    s->step_k = along_k ? 0 : rows;
}

/* Do the digit's extent or the strides of it and of the one before depend on run-time sizes?  */
static bool digit_varies(const Contract *c, const Access *x, const FusedAxis *axis, int digit,
                         const AxisDigit *before) {
    const AxisDigit *d = &axis->digit[digit];
    int inner = axis->index[d->first + d->n - 1];
    int outer = axis->index[before->first + before->n - 1];
    return access_varies(c->root, axis, d->first, d->n) ||
           ((x->varies >> inner | x->varies >> outer) & 1);
}

/* The axis with digits merged that this access need not tell apart: neighbours in memory, in no
 * guarded subscript.  */
static FusedAxis merged(const Contract *c, const Side *s, const FusedAxis *axis) {
    const Access *x = &s->o->access;
    FusedAxis out = *axis;
    out.n_digit = 0;
    for (int i = 0; i < axis->n_digit; i++) {
        AxisDigit *last = out.n_digit > 0 ? &out.digit[out.n_digit - 1] : NULL;
        int64_t stride = contract_stride(&x->offset, axis, i);
        bool one = last && contract_stride(&x->offset, &out, out.n_digit - 1) ==
                               stride * axis->digit[i].extent;
        if (one && stride && digit_varies(c, x, axis, i, last)) one = false;
        for (int d = 0; d < c->te->tensor[x->tensor].rank && one; d++) {
            one = !x->guard[d] || (contract_stride(&x->sub[d], axis, i) == 0 &&
                                   contract_stride(&x->sub[d], &out, out.n_digit - 1) == 0);
        }
        if (!one) {
            out.digit[out.n_digit++] = axis->digit[i];
            continue;
        }
        last->n += axis->digit[i].n;
        last->extent *= axis->digit[i].extent;
    }
    return out;
}

static void address_facts(const Contract *c, Side *s) {
    s->own_axis = merged(c, s, &c->p->con.axis[s->own]);
    s->k_axis = merged(c, s, &c->p->con.axis[AX_K]);
    const FusedAxis *k = &s->k_axis, *own = &s->own_axis;
    const AxisDigit *d = k->n_digit > 0 ? &k->digit[k->n_digit - 1] : NULL;
    int64_t inner = d ? access_unit(c->root, k, d->first, d->n) : 1;
    s->k_mode = k->n_digit <= 1                         ? K_PLAIN
                : inner % c->r->block.extent[AX_K] == 0 ? K_UNIFORM
                                                        : K_DECODED;
    s->wide = needs_wide(c, s);
    s->pointer = s->k_mode == K_PLAIN && s->period == 1 && own->n_digit <= 1 &&
                 !access_guarded(c->te, &s->o->access);
}

/* ---- tables ---- */

/* How many values the k digits of a guarded subscript take together.  */
static int guard_values(const TeStmt *root, const Side *s, int d) {
    int64_t n = 1;
    for (int i = 0; i < s->k_axis.n_digit && n <= TABLE_BITS; i++) {
        const AxisDigit *g = &s->k_axis.digit[i];
        if (contract_stride(&s->o->access.sub[d], &s->k_axis, i) == 0) continue;
        if (access_varies(root, &s->k_axis, g->first, g->n)) return TABLE_BITS + 1;
        n *= g->extent;
    }
    return n <= TABLE_BITS ? (int)n : TABLE_BITS + 1;
}

/* Decoding pays where it would be done for several chunks in every step.  */
static bool wants_table(const Contract *c, const Side *s) {
    enum { FEW = 3 };
    if (!s->present || !s->copies || s->pointer || s->wide || s->l->region) return false;
    bool rows = s->step_mn != 0 && s->own_axis.n_digit > 1;
    return s->per_thread >= FEW &&
           (s->k_mode == K_DECODED || (rows && access_guarded(c->te, &s->o->access)));
}

static bool assign_bits(const Contract *c, Side *s) {
    int bits = 0;
    for (int d = 0; d < c->te->tensor[s->o->access.tensor].rank; d++) {
        s->guard_bit[d] = bits;
        if (s->o->access.guard[d]) bits += guard_values(c->root, s, d);
        if (bits > TABLE_BITS) return false;
    }
    return true;
}

/* Tables behind the stages, where they cost no block of an SM.  */
static void table_facts(Contract *c, const Device *dev, Side *s) {
    enum { ENTRY = 8, IN_REGISTERS = 2 };
    if (!wants_table(c, s) || !assign_bits(c, s)) return;
    bool along_k = s->l->along == AX_K;
    s->k_entries = c->r->block.extent[AX_K] / (along_k ? s->l->vec : 1);
    s->row_entries = s->extent / (along_k ? 1 : s->l->vec);
    s->k_table = c->smem;
    int end = s->k_table + 2 * s->k_entries * ENTRY;
    bool few = s->period <= IN_REGISTERS && (s->step_mn == 0 || s->per_thread == s->period);
    s->row_table = few ? -1 : end;
    if (!few) end += s->row_entries * ENTRY;
    if (end > dev->limits.smem_per_block_optin.value ||
        hal_blocks_per_sm(dev, c->r->threads, c->r->registers, end) < c->r->blocks_per_sm)
        return;
    s->table = true;
    c->smem = (end + 15) / 16 * 16;
}

static void matrix_facts(Contract *c, const Device *dev) {
    Matrix *x = &c->matrix;
    x->used = rprog_matrix(dev, c->r);
    if (!x->used) return;
    x->unit = &dev->unit[c->r->unit];
    x->accumulators = rprog_unit_accumulators(dev, c->r);
    x->products = rprog_products(c->p, dev, c->r);
    x->promotes = rprog_promotes(c->p, dev, c->r);
    for (int k = AX_M; k <= AX_K; k++)
        x->tiles[k] = c->r->warp.extent[k] / c->r->thread.extent[k];
    if (c->r->via == VIA_SHARED) x->piece = rprog_piece_bytes(c->p, c->r);
}

static void fragment_facts(const Contract *c, const Device *dev, Side *s) {
    if (c->matrix.used) {
        s->rows = rprog_unit_side(c->r, s->side) == 0;
        s->ldmatrix = rprog_ldmatrix(c->p, dev, c->r, s->side);
        s->registers = rprog_unit_registers(dev, c->r, s->side);
        s->ahead = rprog_fetched_ahead(dev, c->r, s->side);
        s->bytes = s->l->bytes;
        s->fours = rprog_reads_fours(c->r, s->side);
        return;
    }
    s->fragment_k = s->inner_k ? c->r->thread.extent[AX_K] : 1;
    if (c->packed) s->fragment_k /= 4;
    s->ahead = s->fragment_k == 1 && !c->packed && c->r->unroll % 2 == 0;
}

/* What the chunks of an expression read.  Their length respects the promised alignment.  */
static void read_facts(const Contract *c, Side *s) {
    enum { WIDEST = 16 };
    const TeExpr *read[RTILE_CHUNK_READS];
    int width[RTILE_CHUNK_READS];
    const FusedAxis *along = &c->p->con.axis[s->l->along];
    if (s->copies || s->l->vec == 1) return;
    s->n_read =
        rtile_chunk_reads(c->te, c->root, s->o->expr, along, s->l->vec, WIDEST, read, width);
    for (int i = 0; i < s->n_read; i++) {
        TeDtype storage = c->te->tensor[read[i]->v.ref].dtype;
        s->read[i] = (ChunkRead){read[i], storage, width[i]};
    }
}

static void side_facts(Contract *c, const Device *dev, int side, int at) {
    Side *s = &c->side[side];
    const Operand *o = side ? &c->p->con.b : &c->p->con.a;
    *s = (Side){.present = c->p->op[side].present,
                .side = side,
                .id = side ? 'b' : 'a',
                .o = o,
                .f = &c->p->op[side],
                .l = &c->r->load[side],
                .own = side ? AX_N : AX_M};
    if (!s->present) return;
    rprog_region(c->p, c->r, side, &s->region);
    s->extent = c->r->block.extent[s->own];
    s->thread = c->r->thread.extent[s->own];
    s->vec = side ? c->r->vec_n : c->r->vec_m;
    s->lanes = c->lanes[s->own];
    s->whole = c->p->extent[s->own];
    s->copies = o->read && s->f->affine;
    bool unchanged = s->copies && rprog_copyable(c->p, dev, c->r, side);
    s->tile = c->matrix.used ? rprog_tile_type(c->p, dev, c->r, side)
              : unchanged    ? o->storage
                             : o->compute;
    s->elem = te_dtype_bytes(s->tile);
    s->inner_k = s->l->layout.inner == AX_K;
    s->row = (s->inner_k ? c->r->block.extent[AX_K] : s->extent) + s->l->layout.pad;
    s->at = at;
    if (!s->l->region) chunk_facts(c, s);
    read_facts(c, s);
    s->direct = !s->copies && !s->n_read && s->per_thread * s->l->vec > MAX_STAGED;
    if (s->copies) address_facts(c, s);
    fragment_facts(c, dev, s);
}

/* Copies between the products of matrix units.  */
static void spread_facts(Contract *c) {
    for (int side = 0; side < 2 && c->matrix.used; side++) {
        Side *s = &c->side[side];
        s->spread = s->present && s->l->kind == LOAD_ASYNC && !s->l->region;
        c->spread |= s->spread;
    }
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
    c->k_ragged = p->multiple[AX_K] % r->block.extent[AX_K] != 0;
    bool zero_is_neutral = p->con.product && p->con.red == TE_RED_SUM;
    c->masks_k = c->k_ragged && !zero_is_neutral;
    c->bodies = r->warp.extent[AX_K] / r->unroll;
}

void contract_facts(const Te *te, const Device *dev, const Problem *p, const RProg *r,
                    Contract *c) {
    *c = (Contract){.te = te, .p = p, .r = r, .root = &te->stmt[p->con.stmt]};
    c->packed = rprog_packed(dev, r);
    matrix_facts(c, dev);
    for (int k = AX_M; k <= AX_K; k++) {
        c->lanes[k] = r->warp.extent[k] / r->thread.extent[k];
        c->warps[k] = r->block.extent[k] / r->warp.extent[k];
    }
    int bytes_a = rprog_tile_bytes(p, dev, r, 0);
    c->stage = bytes_a + rprog_tile_bytes(p, dev, r, 1);
    step_facts(c);
    for (int side = 0; side < 2; side++) {
        side_facts(c, dev, side, side ? bytes_a : 0);
        const Side *s = &c->side[side];
        c->own_ragged[side] = s->present && p->multiple[s->own] % s->extent != 0;
        if (!s->present) continue;
        c->async |= s->l->kind == LOAD_ASYNC;
        c->staged |= s->l->kind == LOAD_STAGED && !s->l->region;
        c->any_ahead |= s->ahead;
    }
    spread_facts(c);
    c->ahead_steps = c->staged ? 1 : r->stages - 1;
    int sums = (c->warps[AX_K] - 1) * r->block.extent[AX_M] * r->block.extent[AX_N] * p->acc_bytes;
    if (c->matrix.piece > 0) sums = r->threads / WARP * rprog_piece_turns(r) * c->matrix.piece;
    c->smem = c->stage * r->stages;
    for (int side = 0; side < 2; side++) {
        if (c->side[side].l && c->side[side].l->region) region_facts(c, dev, &c->side[side]);
    }
    if (c->smem < sums) c->smem = sums;
    if (r->stats) c->smem = r->smem;
    for (int side = 0; side < 2; side++) table_facts(c, dev, &c->side[side]);
    c->tables = c->side[0].table || c->side[1].table;
}
