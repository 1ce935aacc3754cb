#include "codegen/multiply/multiply.h"
#include "codegen/block/product.h"

/* Fragments of matrix units: registers of instruction tile i begin at i * registers of
 * a_frag[buffer] (b_frag[buffer]).  By ldmatrix a lane gives the address of one row of a matrix;
 * else it reads each of its elements by itself, or four of them at once beside an operand of
 * bytes.  Addresses are what the lane adds, known before the loop, and what the tile adds, known
 * when the text is compiled.  */

/* Bytes of a row of a matrix that ldmatrix loads; k of a row that are read at once beside an
 * operand of bytes.  */
enum { CHUNK = 16, FOUR = 4 };

/* Bytes in which a swizzle flips bits, rows after which it repeats.  */
static int swizzle_bytes(const RLayout *l) { return CHUNK << (l->base + l->bits); }
static int swizzle_rows(const RLayout *l) { return 1 << (l->shift + l->bits); }

static int row_bytes(const Side *s) { return s->row * s->elem; }

static int tiles_of(const Kernel *k, const Side *s) { return k->c->matrix.tiles[s->own]; }

/* Registers of a slice as they are fetched.  */
static int fragment_words(const Kernel *k, const Side *s) {
    return tiles_of(k, s) * s->registers / (s->bytes ? 2 : 1);
}

static int tile_blocks(const Side *s) { return fragment_slots(&s->fragment, FRAG_ROW); }

/* ---- addresses ---- */

/* How the address of row r, byte e of the tile is made from what the lane and what the tile add:
 * LINEAR: x_at + constants; SWIZZLED: (x_at ^ low part of e) + the rest; KEPT: x_at[low part of e]
 * + the rest, one for each chunk in which a swizzle flips bits; ROWS: the swizzle depends on the
 * row that the tile adds, or parts of chunks carry into each other.  */
typedef enum { LINEAR, SWIZZLED, KEPT, ROWS } AddressForm;

/* Do low parts of what the warp's place and the tile add along the rows of the shared tile share no
 * bit, so that a swizzle of their sum is one of each?  */
static bool parts_apart(const Kernel *k, const Side *s) {
    AxisClass axis = s->inner_k ? AX_K : s->own;
    int bytes = k->c->r->warp.extent[axis] * s->elem;
    return k->c->warps[axis] == 1 || (bytes & (bytes - 1)) == 0 ||
           bytes % swizzle_bytes(&s->l->layout) == 0;
}

/* Rows of the shared tile from one instruction or slice to the next.  */
static int row_step(const Kernel *k, const Side *s) {
    if (!s->ldmatrix) return fragment_lanes(&s->fragment, s->inner_k ? FRAG_ROW : FRAG_COL);
    return s->inner_k ? MATRIX_ROWS : k->c->r->thread.extent[AX_K];
}

static AddressForm address_form(const Kernel *k, const Side *s) {
    const RLayout *l = &s->l->layout;
    if (l->bits == 0) return LINEAR;
    if (row_step(k, s) % swizzle_rows(l) != 0) return ROWS;
    if (parts_apart(k, s)) return SWIZZLED;
    bool chunks = k->c->r->warp.extent[s->inner_k ? AX_K : s->own] * s->elem % CHUNK == 0;
    return chunks ? KEPT : ROWS;
}

/* ---- what the lane adds ---- */

static Ir times(const Cg *cg, Ir x, int n) { return ir_mul(cg, x, ir_int(cg, n)); }
static Ir over(const Cg *cg, Ir x, int n) { return ir_div(cg, x, ir_int(cg, n)); }
static Ir modulo(const Cg *cg, Ir x, int n) { return ir_rem(cg, x, ir_int(cg, n)); }

/* What a swizzle flips in the bytes of row `row`.  */
static Ir swizzle_of(const Kernel *k, const Side *s, Ir row) {
    const Cg *cg = k->cg;
    const RLayout *l = &s->l->layout;
    Ir bits = ir_binary(cg, IR_AND, ir_binary(cg, IR_SHR, row, ir_int(cg, l->shift)),
                        ir_int(cg, (1 << l->bits) - 1));
    return ir_binary(cg, IR_SHL, bits, ir_int(cg, l->base + 4));
}

/* What a lane adds along the operand's own axis and along k, elements.  */
static void lane_values(const Kernel *k, const Side *s, Ir *own, Ir *kk) {
    const Cg *cg = k->cg;
    const Fragment *f = &s->fragment;
    int per_chunk = CHUNK / s->elem;
    *own = product_place(k, s);
    *kk = k->c->warps[AX_K] > 1 ? k->var.k_warp : NULL;
    if (!s->ldmatrix) {
        int by = s->fours ? FOUR / fragment_run(f, FRAG_COL) : 1;
        *own = ir_add_parts(cg, *own, fragment_lane_place(k, f, FRAG_ROW, 1));
        *kk = ir_add_parts(cg, *kk, fragment_lane_place(k, f, FRAG_COL, by));
        return;
    }
    Ir block, chunk, row = fragment_matrix_of(k, s, &block, &chunk);
    *own = ir_add(cg, *own, times(cg, block, MATRIX_ROWS));
    *kk = ir_sum(cg, *kk, times(cg, chunk, s->inner_k ? per_chunk : MATRIX_ROWS));
    if (s->inner_k) *own = ir_add(cg, *own, row);
    else *kk = ir_add(cg, *kk, row);
}

/* ---- addresses ---- */

/* What addresses begin with, by their form.  */
static void declare_at(Kernel *k, const Side *s) {
    Cg *cg = k->cg;
    AddressForm form = address_form(k, s);
    OperandAt *x = operand_at(k, s);
    Ir r = x->lane_row, e = x->lane_byte, bits = swizzle_of(k, s, r);
    Ir down = times(cg, r, row_bytes(s));
    const char *name = product_name(cg, s, "at");
    if (form == SWIZZLED) e = ir_binary(cg, IR_XOR, e, bits);
    if (form == KEPT) {
        int chunks = swizzle_bytes(&s->l->layout) / CHUNK;
        Ir all = x->slot = ir_array(cg, ir_type(IR_I32), name, chunks, 0, 0);
        Ir i = ir_count_of(cg, k->var.i, chunks, IR_UNROLL_ALL);
        Ir chunk = ir_binary(cg, IR_XOR, ir_add(cg, e, times(cg, i, CHUNK)), bits);
        ir_set(cg, ir_element(cg, all, i), ir_add(cg, down, chunk));
        ir_close(cg);
    } else if (form != ROWS) {
        x->slot = ir_let_as(cg, IR_I32, name, ir_add(cg, down, e));
    }
}

static void declare(Kernel *k, const Side *s) {
    Cg *cg = k->cg;
    bool stays = fragment_mma_stays(k, s);
    int n = fragment_words(k, s), buffers = stays ? k->c->matrix.tiles[AX_K] : s->ahead ? 2 : 1;
    Ir own, kk;
    operand_at(k, s)->frag = ir_array(cg, ir_type(s->elem > 4 ? IR_F64 : IR_U32),
                                      product_name(cg, s, "frag"), buffers, n, 0);
    if (k->c->matrix.products > 1)
        operand_at(k, s)->rest = ir_array(cg, ir_type(IR_U32), product_name(cg, s, "low"), n, 0, 0);
    if (s->made || s->l->region) return;
    lane_values(k, s, &own, &kk);
    ir_note(cg, "operand %c: row of the lane, byte in it", s->id);
    OperandAt *x = operand_at(k, s);
    x->lane_row = ir_let_as(cg, IR_I32, product_name(cg, s, "r"), s->inner_k ? own : kk);
    x->lane_byte = ir_let_as(cg, IR_I32, product_name(cg, s, "e"),
                             times(cg, s->inner_k ? kk : own, s->elem));
    declare_at(k, s);
}

void fragment_mma_declare(Kernel *k) {
    for (const Side *s = k->c->side; s < k->c->end; s++) declare(k, s);
}

/* Where a fetch reads: behind `to`, row `row` and byte `inner` that the tile adds.  */
typedef struct {
    Ir to, row, inner;
} Address;

static Ir swizzled(const Kernel *k, const Side *s, Address x, Ir down) {
    const Cg *cg = k->cg;
    int span = swizzle_bytes(&s->l->layout);
    Ir at = operand_at(k, s)->slot;
    if (k->c->r->warp.extent[s->inner_k ? AX_K : s->own] * s->elem <= span)
        return ir_add(cg, ir_add(cg, x.to, ir_binary(cg, IR_XOR, at, x.inner)), down);
    at = ir_binary(cg, IR_XOR, at, modulo(cg, x.inner, span));
    at = ir_add(cg, ir_add(cg, x.to, at), times(cg, over(cg, x.inner, span), span));
    return ir_add(cg, at, down);
}

static Ir kept(const Kernel *k, const Side *s, Address x, Ir down) {
    const Cg *cg = k->cg;
    int span = swizzle_bytes(&s->l->layout);
    Ir all = operand_at(k, s)->slot;
    if (ir_is(x.inner, 0))
        return ir_add(cg, ir_add(cg, x.to, ir_element(cg, all, x.inner)), down);
    Ir at = ir_element(cg, all, modulo(cg, over(cg, x.inner, CHUNK), span / CHUNK));
    at = ir_add(cg, ir_add(cg, x.to, at), times(cg, over(cg, x.inner, span), span));
    if (k->c->r->thread.extent[s->inner_k ? AX_K : s->own] * s->elem % CHUNK != 0)
        at = ir_add(cg, at, modulo(cg, x.inner, CHUNK));
    return ir_add(cg, at, down);
}

static Ir address_of(const Kernel *k, const Side *s, Address x) {
    const Cg *cg = k->cg;
    Ir down = times(cg, x.row, row_bytes(s)), r;
    switch (address_form(k, s)) {
    case LINEAR:
        x.to = ir_add(cg, x.to, operand_at(k, s)->slot);
        return ir_add(cg, ir_add(cg, x.to, down), x.inner);
    case SWIZZLED: return swizzled(k, s, x, down);
    case KEPT: return kept(k, s, x, down);
    default: break;
    }
    r = ir_add(cg, operand_at(k, s)->lane_row, x.row);
    Ir byte = ir_add(cg, operand_at(k, s)->lane_byte, x.inner);
    return ir_add(cg, ir_add(cg, x.to, times(cg, r, row_bytes(s))),
                  ir_binary(cg, IR_XOR, byte, swizzle_of(k, s, r)));
}

/* The operand's tile in the stage at hand, by address or as a pointer.  */
static Ir tile_address(const Kernel *k, const Side *s) {
    return ir_add(k->cg, smem_stage_at(k, s, operand_ring(k, s)->take), operand_at(k, s)->tile);
}

static Ir tile_pointer(const Kernel *k, const Side *s) {
    return ir_add(k->cg, smem_stage(k, s, operand_ring(k, s)->take), operand_at(k, s)->tile);
}

/* ---- fetches ---- */

/* What is fetched: the slice at kk, into registers; of a region the place of that in it.  */
typedef struct {
    const Side *s;
    Ir kk, to, from;
} Fetch;

/* One ldmatrix of `n` matrices, the first one's number is `first`.  */
static void load_matrices(Kernel *k, const Fetch *x, int n, Ir first) {
    Cg *cg = k->cg;
    const Side *s = x->s;
    Ir own = times(cg, over(cg, first, fragment_matrix_chunks(k, s)), MATRIX_ROWS);
    if (s->l->region) {
        ir_matrices(cg, n, false, ir_add(cg, x->to, first), region_matrix(k, s, own, x->from));
        return;
    }
    Address at = {tile_address(k, s), s->inner_k ? own : x->kk,
                times(cg, s->inner_k ? x->kk : own, s->elem)};
    ir_matrices(cg, n, !s->inner_k, ir_add(cg, x->to, first), address_of(k, s, at));
}

/* Matrices that an ldmatrix loads, but for the last ones.  */
static int at_once(const Kernel *k, const Side *s) {
    return s->l->region ? s->region_rows * fragment_matrix_chunks(k, s) / MATRIX_ROWS : 4;
}

static void fetch_matrices(Kernel *k, const Fetch *x) {
    Cg *cg = k->cg;
    int n = fragment_words(k, x->s), most = at_once(k, x->s), whole = n / most * most;
    if (whole > most) {
        load_matrices(k, x, most, ir_for_of(cg, k->var.g, ir_int(cg, 0), ir_int(cg, whole), most,
                                            IR_UNROLL_ALL));
        ir_close(cg);
    } else if (whole == most) {
        load_matrices(k, x, most, ir_int(cg, 0));
    }
    if (n - whole >= 2) load_matrices(k, x, 2, ir_int(cg, whole));
    if (n % 2) load_matrices(k, x, 1, ir_int(cg, n - 1));
}

/* Access f of a tile, of neighbours in one or more registers: blocks of rows, then of k.  */
static Address element_place(const Kernel *k, const Fetch *x, Ir f, int words) {
    const Cg *cg = k->cg;
    const Side *s = x->s;
    const Fragment *y = &s->fragment;
    int run = fragment_run(y, s->inner_k ? FRAG_COL : FRAG_ROW), of_tile = s->registers / words;
    int blocks = tile_blocks(s) / (s->inner_k ? 1 : run);
    Ir own = times(cg, over(cg, f, of_tile), s->thread), kk = x->kk;
    if (of_tile > 1)
        own = ir_add(cg, own, times(cg, modulo(cg, f, blocks), fragment_lanes(y, FRAG_ROW)));
    if (of_tile > blocks)
        kk = ir_add(cg, kk, times(cg, over(cg, modulo(cg, f, of_tile), blocks),
                                  fragment_lanes(y, FRAG_COL)));
    return (Address){tile_pointer(k, s), s->inner_k ? own : kk,
                   times(cg, s->inner_k ? kk : own, s->elem)};
}

static void fetch_elements(Kernel *k, const Fetch *x) {
    Cg *cg = k->cg;
    const Side *s = x->s;
    int run = fragment_run(&s->fragment, s->inner_k ? FRAG_COL : FRAG_ROW);
    int words = run / s->fragment.per_register;
    IrType type = ir_pointer(s->elem > 4 ? IR_F64 : IR_U32, IR_SHARED, true);
    Ir f = ir_count_of(cg, k->var.f, fragment_words(k, s) / words, IR_UNROLL_ALL);
    Ir from = ir_view(cg, type, address_of(k, s, element_place(k, x, f, words)));
    if (words == 1) {
        ir_set(cg, ir_element(cg, x->to, f), ir_element(cg, from, ir_int(cg, 0)));
    } else {
        Ir v = ir_let(cg, "x", ir_load(cg, from, words)), first = times(cg, f, words);
        for (int w = 0; w < words; w++)
            ir_set(cg, ir_element(cg, x->to, ir_add_n(cg, first, w)),
                   ir_lane(cg, v, ir_int(cg, w)));
    }
    ir_close(cg);
}

/* Four k of block f of eight rows, two registers: an instruction's operand has one for the first
 * two of them from each of its blocks, then those for the others.  */
static Ir four_at(const Cg *cg, const Side *s, Ir f, int i) {
    int blocks = tile_blocks(s);
    Ir at = times(cg, over(cg, f, blocks), s->registers);
    if (blocks > 1) at = ir_add(cg, at, modulo(cg, f, blocks));
    return ir_add_n(cg, at, i * blocks);
}

static void fetch_fours(Kernel *k, const Fetch *x) {
    Cg *cg = k->cg;
    const Side *s = x->s;
    IrType type = ir_pointer(IR_U32, IR_SHARED, true);
    Ir f = ir_count_of(cg, k->var.f, fragment_words(k, s) / 2, IR_UNROLL_ALL);
    Address at = {tile_pointer(k, s), times(cg, f, MATRIX_ROWS), times(cg, x->kk, s->elem)};
    Ir v = ir_let(cg, "x", ir_load(cg, ir_view(cg, type, address_of(k, s, at)), 2));
    for (int i = 0; i < 2; i++)
        ir_set(cg, ir_element(cg, x->to, four_at(cg, s, f, i)), ir_lane(cg, v, ir_int(cg, i)));
    ir_close(cg);
}

void fragment_mma_widen(Kernel *k, const Side *s, Ir tile, Ir buffer, Ir to) {
    Cg *cg = k->cg;
    int blocks = tile_blocks(s);
    Ir from = ir_element(cg, operand_at(k, s)->frag, buffer);
    Ir f = ir_count_of(cg, k->var.f, blocks, IR_UNROLL_ALL);
    Ir x = ir_array(cg, ir_type(IR_U32), "x", 2, 0, 0);
    ir_do(cg, ir_call_in_place(cg, cg_widen(cg, k->c->matrix.unit->a, s->tile), 1, 2, x,
                               ir_element(cg, from, ir_add(cg, times(cg, tile, blocks), f))));
    for (int i = 0; i < 2; i++)
        ir_set(cg, ir_element(cg, to, four_at(cg, s, f, i)), ir_element(cg, x, ir_int(cg, i)));
    ir_close(cg);
}

bool fragment_mma_stays(const Kernel *k, const Side *s) {
    return s->made || (product_chains(k) && s->stays && k->c->r->keep == KEEP_REGISTERS);
}

static void fetch(Kernel *k, const Side *s, Ir kk, Ir buffer) {
    Fetch x = {s, kk, ir_element(k->cg, operand_at(k, s)->frag, buffer), NULL};
    if (s->l->region && s->ldmatrix) x.from = region_matrix_k(k, s, kk);
    if (s->l->region && !s->ldmatrix) region_fetch_mma(k, s, kk, x.to);
    else if (s->fours) fetch_fours(k, &x);
    else if (s->ldmatrix) fetch_matrices(k, &x);
    else fetch_elements(k, &x);
}

void fragment_mma_fetch(Kernel *k, Ir kk, Ir buffer) {
    for (const Side *s = k->c->side; s < k->c->end; s++)
        if (!fragment_mma_stays(k, s)) fetch(k, s, kk, buffer);
}

void fragment_mma_keep(Kernel *k) {
    Cg *cg = k->cg;
    Ir q = ir_count(cg, "q", k->c->matrix.tiles[AX_K], IR_UNROLL_ALL);
    for (const Side *s = k->c->side; s < k->c->end; s++) {
        if (!s->made && fragment_mma_stays(k, s))
            fetch(k, s, ir_mul(cg, q, product_size(k, 'T', AX_K)), q);
    }
    ir_close(cg);
}
