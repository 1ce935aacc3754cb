/* Facts about programs whose unit multiplies matrices, by the mapping in rprog.h.  */
#include "rprogram/matrix.h"

/* Is every value of type `from` one of `to`?  */
static bool is_subset(TeDtype from, TeDtype to) {
    static const uint32_t real = 1u << TE_F32 | 1u << TE_F64;
    static const uint32_t wider[TE_DTYPE_COUNT] = {
        [TE_F64] = 1u << TE_F64,
        [TE_F32] = real,
        [TE_F16] = real | 1u << TE_F16,
        [TE_BF16] = real | 1u << TE_BF16,
        [TE_F8E4M3] = real | 1u << TE_F16 | 1u << TE_BF16 | 1u << TE_F8E4M3,
        [TE_F8E5M2] = real | 1u << TE_F16 | 1u << TE_BF16 | 1u << TE_F8E5M2,
        [TE_F6E3M2] = real | 1u << TE_F16 | 1u << TE_BF16 | 1u << TE_F8E5M2 | 1u << TE_F8E4M3 |
                      1u << TE_F6E3M2,
        [TE_F6E2M3] = real | 1u << TE_F16 | 1u << TE_BF16 | 1u << TE_F8E4M3 | 1u << TE_F6E2M3,
        [TE_F4E2M1] = real | 1u << TE_F16 | 1u << TE_BF16 | 1u << TE_F8E5M2 | 1u << TE_F8E4M3,
        [TE_I8] = real | 1u << TE_F16 | 1u << TE_BF16 | 1u << TE_I8,
        [TE_U8] = real | 1u << TE_F16 | 1u << TE_BF16 | 1u << TE_U8,
        [TE_F4E2M1X2] = 1u << TE_F4E2M1X2,
    };
    return wider[from] >> to & 1;
}

/* Does the unit's first operand (second: b) hold every value of type `t` exactly?  */
static bool holds(const ComputeUnit *u, bool second, TeDtype t) {
    if (u->tf32) return t != TE_F32 && is_subset(t, TE_F32);
    return is_subset(t, second ? u->b : u->a);
}

static bool holds_as(const ComputeUnit *u, const Problem *p, int sides, bool swapped) {
    for (int side = 0; side < p->n_operand; side++)
        if (sides >> side & 1 && !holds(u, side != swapped, p->op[side].value)) return false;
    return true;
}

bool matrix_holds_sides(const ComputeUnit *u, const Problem *p, int sides) {
    return holds_as(u, p, sides, false) || holds_as(u, p, sides, true);
}

int rprog_products(const Problem *p, const Device *dev, const RProg *r) {
    const ComputeUnit *u = &dev->unit[r->unit];
    bool truncates = u->tf32 && !p->tf32;
    bool whole = matrix_holds_sides(u, p, 1 | 2);
    return truncates && !whole ? 3 : 1;
}

/* Has its operand few bits, so that it may add with less than f32?  */
static bool is_narrow(const ComputeUnit *u) {
    TeDtype packed = te_dtype_packed(u->a);
    return te_dtype_narrow(packed == TE_DTYPE_COUNT ? u->a : packed);
}

int matrix_promoted_most(const ComputeUnit *u) {
    return is_narrow(u) ? PROMOTED_MAX / te_dtype_values(u->a) : INT32_MAX;
}

bool rprog_promotes(const Problem *p, const Device *dev, const RProg *r) {
    const ComputeUnit *u = &dev->unit[r->unit];
    bool permitted = p->accum == TE_F16 || p->accum == TE_BF16;
    bool few = rprog_static_axis(p, AX_K) && p->extent[AX_K] <= matrix_promoted_most(u);
    bool narrow = is_narrow(u) && !permitted && !few;
    return rprog_matrix(dev, r) && !u->tmem && (narrow || matrix_scales_sums(p, u));
}

/* Has the device a warp-wide load of matrices from shared memory?  Profiles list it late.  */
static bool loads_matrices(const Device *dev) {
    for (int i = dev->n_mover - 1; i >= 0; i--) {
        const Mover *m = &dev->mover[i];
        if (m->issue == SCOPE_WARP && m->from == PLACE_SMEM && m->to == PLACE_REG) return true;
    }
    return false;
}

bool rprog_ldmatrix(const Problem *p, const Device *dev, const RProg *r, int side) {
    int elem = rprog_elem(p, dev, r, side);
    if (!rprog_matrix(dev, r) || rprog_reads_fours(r, side) || elem > 4) return false;
    const RLoad *l = &r->load[side];
    if (l->region) {
        RRegion x;
        return rprog_region_of_tile(p, r, side, &x) && x.chunk && loads_matrices(dev);
    }
    if (l->layout.inner != AX_K && elem != 2) return false;
    return loads_matrices(dev);
}

bool rprog_widens(TeDtype from, TeDtype to) {
    bool byte = from == TE_F8E4M3 || from == TE_F8E5M2 || from == TE_I8 || from == TE_U8;
    return byte && (to == TE_F16 || to == TE_BF16);
}

bool rprog_reads_fours(const RProg *r, int side) {
    return r->load[!side].bytes && !r->load[side].bytes;
}

bool matrix_keeps_bytes(const Problem *p, const Device *dev, const RProg *r, int side) {
    const Operand *o = &p->con.operand[side];
    return p->op[side].affine && dev->unit[r->unit].k.from == BYTES_K &&
           rprog_widens(o->storage, matrix_unit_type(dev, r, side));
}

int matrix_converted(const RProg *r) {
    int words = 0;
    for (int side = 0; side < CONTRACTION_OPERANDS; side++) {
        if (r->load[side].bytes)
            words += r->warp.extent[own_axis(side)] * r->warp.extent[AX_K] / (WARP * 4);
    }
    return words;
}

/* Threads along an axis, each with elements of its own.  */
static FragThreads threads(const RProg *r, int axis) {
    int vec = axis == AX_M ? r->vec_m : r->vec_n;
    return (FragThreads){count_along(&r->warp, &r->thread, axis), vec > 0 ? vec : 1,
                         r->thread.extent[axis]};
}

Fragment rprog_fragment(const Device *dev, const RProg *r, int side) {
    const RLoad *l = &r->load[side];
    bool k_inner = l->layout.inner == AX_K;
    FragDim inner = l->region || k_inner ? FRAG_COL : FRAG_ROW;
    if (rprog_matrix(dev, r))
        return fragment_of(&dev->unit[r->unit], rprog_unit_side(r, side) ? FRAG_B : FRAG_A, inner);
    return fragment_read_by_threads(threads(r, AX_M), threads(r, AX_N), side ? FRAG_COL : FRAG_ROW,
                                    k_inner ? r->thread.extent[AX_K] : 1);
}

Fragment rprog_results(const Device *dev, const RProg *r) {
    const ComputeUnit *u = &dev->unit[r->unit];
    if (!rprog_matrix(dev, r)) return fragment_of_threads(threads(r, AX_M), threads(r, AX_N));
    Fragment f = rprog_team(dev, r) > 1
                     ? fragment_of_share(u, r->thread.extent[r->swapped ? AX_M : AX_N])
                     : fragment_of(u, FRAG_RESULT, FRAG_COL);
    if (r->swapped) f = fragment_transposed(f);
    for (int side = 0; side < CONTRACTION_OPERANDS; side++) {
        FragOrder order = rprog_row_order(dev, r, side);
        if (order.n > 0) f = fragment_ordered(&f, side ? FRAG_COL : FRAG_ROW, &order);
    }
    return f;
}

FragOrder rprog_row_order(const Device *dev, const RProg *r, int side) {
    int n = r->load[side].modulo, rows = r->block.extent[own_axis(side)];
    if (rprog_apart(dev, r, side)) rows /= rprog_unit_blocks(dev, r);
    if (n == 0 || rows % (n * BOX_LINES)) return (FragOrder){0};      /* no program then */
    return (FragOrder){.extent = {rows / n, n}, .step = {n, 1}, .n = 2, .period = rows};
}

int rprog_unit_registers(const Device *dev, const RProg *r, int side) {
    if (rprog_matrix(dev, r))
        return fragment_registers(&dev->unit[r->unit], rprog_unit_side(r, side) ? FRAG_B : FRAG_A);
    Fragment f = rprog_fragment(dev, r, side);
    return fragment_slots(&f, FRAG_DIMS) / f.per_register;
}

int rprog_unit_accumulators(const Device *dev, const RProg *r) {
    Fragment f = rprog_results(dev, r);
    return fragment_slots(&f, FRAG_DIMS);
}

/* Do lanes lie within eight columns, and slots of a lane in chunks of them?  */
static bool lies_in_eights(const Fragment *f, int chunk) {
    enum { EIGHT = 8 };
    int lanes[WARP][FRAG_DIMS], at[FRAG_DIMS], run = fragment_run(f, FRAG_COL);
    fragment_of_lanes(f, 0, lanes);
    for (int lane = 0; lane < WARP; lane++)
        if (lanes[lane][FRAG_COL] >= EIGHT) return false;
    for (int slot = 0; slot < fragment_slots(f, FRAG_DIMS); slot++) {
        fragment_at(f, 0, slot, at);
        if (at[FRAG_COL] % EIGHT >= run || at[FRAG_COL] % EIGHT >= chunk) return false;
    }
    return true;
}

/* Vectors of eight f32 are read as two chunks of 16 bytes.  */
static bool splits_vectors(const Problem *p, const Device *dev, const RProg *r) {
    if (r->swapped || p->acc_bytes != 4 || r->store_vec * p->acc_bytes != 2 * RTILE_ACCESS)
        return false;
    const Fragment f = rprog_results(dev, r);
    return lies_in_eights(&f, RTILE_ACCESS / p->acc_bytes);
}

/* Chunks: the least number from `from` on that is `rest` beyond a row of all banks.  */
static int next_chunk(int from, int rest) {
    enum { ROW = 8 };
    return from + (rest + ROW - from % ROW) % ROW;
}

/* Has lane l row l / 4 and two columns in eight, in rows of even distances?  */
static bool holds_pairs(const Fragment *f) {
    enum { LANES = 4, COLUMNS = 2 };
    int at[WARP][FRAG_DIMS];
    fragment_of_lanes(f, 0, at);
    for (int lane = 0; lane < WARP; lane++)
        if (at[lane][FRAG_ROW] != lane / LANES || at[lane][FRAG_COL] != lane % LANES * COLUMNS)
            return false;
    for (int i = 0; i < f->n; i++) {
        const FragDigit *d = &f->digit[i];
        bool down = d->from == FRAG_SLOT && d->to == FRAG_ROW && d->extent > 1;
        if (down && d->step % 2) return false;
    }
    return true;
}

/* Do eight lanes read two rows at once, half of eight chunks of each?  */
static bool reads_two_rows(const Problem *p, const Device *dev, const RProg *r, int vectors) {
    if (r->swapped || vectors % 8 != 4 || rprog_staging_rows(dev, r) % 2) return false;
    const Fragment f = rprog_results(dev, r);
    return p->acc_bytes == 4 && holds_pairs(&f);
}

/* Pairs of columns in half-warps, or single elements of swapped tiles, meet no bank twice.
 *
 * Vectors of eight that lie in order would be read from every other chunk of a row, at half the
 * rate; so second chunks lie behind all first ones.  Eight lanes read as many vectors, and go on
 * in the next row where one ends: for V vectors it begins V mod 8 chunks from a row of all banks.
 * Four rows of pairs, and their second chunks, are apart then: those of an odd V lie 4 chunks from
 * 0 3 6 1 or the like, those of V = 2 mod 4 an odd number from 0 2 4 6.  Where V is 4 mod 8 the
 * next row begins 4 chunks further, so that every second one has to lie further by itself: by one
 * chunk, with second chunks 2 from 0 4 1 5; or by two, of vectors of one chunk, which lanes write
 * in two, 0 4 2 6.  */
RStaging rprog_staging(const Problem *p, const Device *dev, const RProg *r) {
    int n = rprog_staging_columns(dev, r), chunk = RTILE_ACCESS / p->acc_bytes;
    int wanted = r->swapped ? 4 : 8;
    RStaging s = {.row = n + (wanted + 16 - n % 16) % 16};
    bool splits = splits_vectors(p, dev, r);
    if (!splits && r->store_vec != chunk) return s;
    int vectors = n / r->store_vec;
    if (!splits && !reads_two_rows(p, dev, r, vectors)) return s;
    if (!splits) return (RStaging){.row = n, .pair = 2 * chunk};
    if (vectors % 2) {
        s.half = next_chunk(vectors, 4) * chunk;
        s.row = next_chunk(s.half / chunk + vectors, vectors) * chunk;
    } else if (reads_two_rows(p, dev, r, vectors)) {
        s = (RStaging){.row = (2 * vectors + 4) * chunk, .half = (vectors + 2) * chunk,
                       .pair = chunk};
    } else {
        s.half = (vectors + 1) * chunk;
        if (vectors % 4 && vectors > 2) s.row = next_chunk(2 * vectors + 1, vectors) * chunk;
    }
    return s;
}

int rprog_staging_rows(const Device *dev, const RProg *r) {
    return r->thread.extent[AX_M] / (r->swapped ? 1 : rprog_team(dev, r));
}

int rprog_staging_columns(const Device *dev, const RProg *r) {
    return r->warp.extent[AX_N] / (r->swapped ? rprog_team(dev, r) : 1);
}

int64_t rprog_staging_bytes(const Problem *p, const Device *dev, const RProg *r) {
    RStaging s = rprog_staging(p, dev, r);
    int rows = rprog_staging_rows(dev, r);
    return ((int64_t)rows * s.row + rows / 2 * s.pair) * p->acc_bytes;
}

/* Sums of an f8 unit are truncated; an explicit f32 accumulator forbids it.  Those of integers are
 * exact, and become f32 where they are scaled as they join others: 2^31 has room for 2^15 products
 * of bytes, and no step has as many.  */
static bool accumulates(const Problem *p, const ComputeUnit *u) {
    if (is_narrow(u) && p->accum == TE_F32) return false;
    if (u->acc == TE_I32 && matrix_scales_sums(p, u) && p->con.acc == TE_F32) return true;
    return u->acc == p->con.acc || (u->acc == p->accum && p->con.acc == TE_F32);
}

/* Does the unit take an operand: its values as they are, or f32 that may be truncated?  */
static bool takes(const Problem *p, const ComputeUnit *u, bool second, const ROperand *op) {
    bool whole = te_dtype_class(p->con.acc) == TE_CLASS_INT, pairs = te_dtype_values(u->a) > 1;
    if (pairs != (p->con.within != 0)) return false;      /* as numbers, a pair is a byte */
    if (whole && te_dtype_class(op->value) != TE_CLASS_INT) return false;
    if (u->tf32 && op->value == TE_F32) return p->tf32 || p->fp32x3;
    return holds(u, second, op->value);
}

bool matrix_usable(const ComputeUnit *u) {
    bool groups = u->b_smem && (u->a == u->b || (hal_mixes(u->a, u->b) && u->scale_k == 0));
    return (u->scope == SCOPE_WARP || groups) && u->b != HAL_NO_DTYPE;
}

bool matrix_takes_as(const Problem *p, const ComputeUnit *u, bool swapped) {
    const Contraction *c = &p->con;
    if (!matrix_usable(u) || c->red != TE_RED_SUM || !c->product || p->n_operand < 2 ||
        !accumulates(p, u) || !matrix_scales(p, u))
        return false;
    for (int side = 0; side < p->n_operand; side++)
        if (!takes(p, u, side != swapped, &p->op[side])) return false;
    return true;
}

bool matrix_takes(const Problem *p, const ComputeUnit *u) {
    return matrix_takes_as(p, u, false) || matrix_takes_as(p, u, true);
}

bool matrix_fits(const Problem *p, const ComputeUnit *u) {
    return matrix_takes(p, u) && (u->scope == SCOPE_WARP || warpgroup_fits(p, u));
}
