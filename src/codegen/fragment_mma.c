#include "codegen/blocks.h"
#include <string.h>

/* Fragments of matrix units: registers of instruction tile i begin at i * registers of
 * a_frag[buffer] (b_frag[buffer]).  By ldmatrix a lane gives the address of one row of a matrix;
 * else it reads each of its elements by itself, or four of them at once beside an operand of
 * bytes.  Addresses are what the lane adds, known before the loop, and what the tile adds, known
 * when the text is compiled.  */

/* Rows and bytes of each of a matrix that ldmatrix loads; k of a row that are read at once beside
 * an operand of bytes.  */
enum { MATRIX_ROWS = 8, CHUNK = 16, FOUR = 4 };

/* Bytes in which a swizzle flips bits, rows after which it repeats.  */
static int swizzle_bytes(const RLayout *l) { return CHUNK << (l->base + l->bits); }
static int swizzle_rows(const RLayout *l) { return 1 << (l->shift + l->bits); }

static int row_bytes(const Side *s) { return s->row * s->elem; }

static int tiles_of(const Kernel *k, const Side *s) { return k->c.matrix.tiles[s->own]; }

/* Registers of a slice as they are fetched.  */
static int fragment_words(const Kernel *k, const Side *s) {
    return tiles_of(k, s) * s->registers / (s->bytes ? 2 : 1);
}

/* Chunks of k that an instruction takes, rows of matrices that its tile has.  */
static int tile_chunks(const Kernel *k, const Side *s) {
    return k->c.r->thread.extent[AX_K] * s->elem / CHUNK;
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
    int bytes = k->c.r->warp.extent[axis] * s->elem;
    return k->c.warps[axis] == 1 || (bytes & (bytes - 1)) == 0 ||
           bytes % swizzle_bytes(&s->l->layout) == 0;
}

/* Rows of the shared tile from one instruction or slice to the next.  */
static int row_step(const Kernel *k, const Side *s) {
    if (!s->ldmatrix) return fragment_lanes(&s->fragment, s->inner_k ? FRAG_ROW : FRAG_COL);
    return s->inner_k ? MATRIX_ROWS : k->c.r->thread.extent[AX_K];
}

static AddressForm address_form(const Kernel *k, const Side *s) {
    const RLayout *l = &s->l->layout;
    if (l->bits == 0) return LINEAR;
    if (row_step(k, s) % swizzle_rows(l) != 0) return ROWS;
    if (parts_apart(k, s)) return SWIZZLED;
    bool chunks = k->c.r->warp.extent[s->inner_k ? AX_K : s->own] * s->elem % CHUNK == 0;
    return chunks ? KEPT : ROWS;
}

/* What a swizzle flips in the bytes of row `row`.  */
static const char *swizzle_of(const Kernel *k, const Side *s, const char *row) {
    const RLayout *l = &s->l->layout;
    return cg_text(k->cg, "(%s >> %d & %d) << %d", row, l->shift, (1 << l->bits) - 1, l->base + 4);
}

/* What a lane adds along the operand's own axis and along k, elements.  Lanes 8 q .. 8 q + 7 give
 * the rows of matrix q of a group of four.  */
static void lane_values(const Kernel *k, const Side *s, const char **own, const char **kk) {
    const Cg *cg = k->cg;
    *own = s->side ? "col" : "row";
    *kk = k->c.warps[AX_K] > 1 ? "k_warp + " : "";
    if (!s->ldmatrix) {
        const Fragment *f = &s->fragment;
        int times = s->fours ? FOUR / fragment_run(f, FRAG_COL) : 1;
        *own = cg_text(cg, "%s + %s", *own, fragment_lane_place(cg, f, FRAG_ROW, 1));
        *kk = cg_text(cg, "%s%s", *kk, fragment_lane_place(cg, f, FRAG_COL, times));
        return;
    }
    int chunks = tile_chunks(k, s), blocks = tile_blocks(s), per_chunk = CHUNK / s->elem;
    const char *q_chunk = "0", *q_block = "lane / 8u";
    if (chunks > 1 && blocks > 1) {
        q_chunk = cg_text(cg, "lane / %du %% %du", 8 * blocks, chunks);
        q_block = blocks * chunks == 4 ? cg_text(cg, "lane / 8u %% %du", blocks) : q_block;
    } else if (chunks > 1) {
        q_chunk = cg_text(cg, "lane / 8u %% %du", chunks);
        q_block = cg_text(cg, "lane / %du", 8 * chunks);
    }
    if (s->inner_k) {
        *own = cg_text(cg, "%s + %s * 8 + lane %% 8u", *own, q_block);
        *kk = cg_text(cg, "%s%s * %d", *kk, q_chunk, per_chunk);
    } else {
        *own = cg_text(cg, "%s + %s * 8", *own, q_block);
        *kk = cg_text(cg, "%s%s * 8 + lane %% 8u", *kk, q_chunk);
    }
}

static void declare(Kernel *k, const Side *s) {
    Cg *cg = k->cg;
    char c = s->id;
    const char *own, *kk;
    AddressForm form = address_form(k, s);
    int n = fragment_words(k, s);
    cg_line(cg, "%s %c_frag[%d][%d];", s->elem > 4 ? "double" : "unsigned", c, s->ahead ? 2 : 1, n);
    if (k->c.matrix.products > 1) cg_line(cg, "unsigned %c_low[%d];", c, n);
    if (s->l->region) return;
    lane_values(k, s, &own, &kk);
    const char *inner = s->inner_k ? kk : own;
    if (s->elem > 1) inner = cg_text(cg, "(%s) * %d", inner, s->elem);
    cg_line(cg, "const int %c_r = %s, %c_e = %s;  // row of the lane, byte in it", c,
            s->inner_k ? own : kk, c, inner);
    const char *e = cg_text(cg, "%c_e", c), *bits = swizzle_of(k, s, cg_text(cg, "%c_r", c));
    if (form == SWIZZLED) e = cg_text(cg, "(%s ^ %s)", e, bits);
    if (form == KEPT) {
        int chunks = swizzle_bytes(&s->l->layout) / CHUNK;
        cg_line(cg, "int %c_at[%d];", c, chunks);
        cg_line(cg, "#pragma unroll");
        cg_line(cg, "for (int i = 0; i < %d; i++) %c_at[i] = %c_r * %d + ((%s + i * %d) ^ %s);",
                chunks, c, c, row_bytes(s), e, CHUNK, bits);
    } else if (form != ROWS) {
        cg_line(cg, "const int %c_at = %c_r * %d + %s;", c, c, row_bytes(s), e);
    }
}

void fragment_mma_declare(Kernel *k) {
    for (int i = 0; i < 2; i++) declare(k, &k->c.side[i]);
}

/* The byte in the tile for row `row` and byte `inner` that the tile adds (texts).  */
static const char *address_of(const Kernel *k, const Side *s, const char *row, const char *inner) {
    const Cg *cg = k->cg;
    int span = swizzle_bytes(&s->l->layout);
    int bound = k->c.r->warp.extent[s->inner_k ? AX_K : s->own] * s->elem;
    const char *down = cg_text(cg, "%s * %d", row, row_bytes(s));
    switch (address_form(k, s)) {
    case LINEAR: return cg_text(cg, "%c_at + %s + %s", s->id, down, inner);
    case SWIZZLED:
        if (bound <= span) return cg_text(cg, "(%c_at ^ %s) + %s", s->id, inner, down);
        return cg_text(cg, "(%c_at ^ %s %% %d) + %s / %d * %d + %s", s->id, inner, span, inner,
                       span, span, down);
    case KEPT:
        if (strcmp(inner, "0") == 0) return cg_text(cg, "%c_at[0] + %s", s->id, down);
        if (k->c.r->thread.extent[s->inner_k ? AX_K : s->own] * s->elem % CHUNK != 0)
            down = cg_text(cg, "%s %% %d + %s", inner, CHUNK, down);
        return cg_text(cg, "%c_at[%s / %d %% %d] + %s / %d * %d + %s", s->id, inner, CHUNK,
                       span / CHUNK, inner, span, span, down);
    default: break;
    }
    const char *at = cg_text(cg, "(%c_r + %s)", s->id, row);
    return cg_text(cg, "%s * %d + ((%c_e + %s) ^ %s)", at, row_bytes(s), s->id, inner,
                   swizzle_of(k, s, at));
}

/* ---- fetches ---- */

/* One ldmatrix of `n` matrices, the first one's number is `first` (a text).  */
static void load_matrices(Kernel *k, const Side *s, int n, const char *first, const char *kk,
                          const char *buffer) {
    Cg *cg = k->cg;
    int chunks = tile_chunks(k, s);
    const char *own = chunks > 1 ? cg_text(cg, "(%s / %d * 8)", first, chunks)
                                 : cg_text(cg, "(%s * 8)", first);
    const char *row = s->inner_k ? own : kk, *inner = s->inner_k ? kk : own;
    if (s->elem > 1 && strcmp(inner, "0") != 0) inner = cg_text(cg, "(%s * %d)", inner, s->elem);
    cg_line(cg, "rl_ldmatrix_x%d%s(%c_frag[%s] + %s, shared%s + %c_TILE + %s);", n,
            s->inner_k ? "" : "_trans", s->id, buffer, first, load_stage(k, "take"), s->id - 32,
            address_of(k, s, row, inner));
}

static void fetch_matrices(Kernel *k, const Side *s, const char *kk, const char *buffer) {
    Cg *cg = k->cg;
    int n = fragment_words(k, s), whole = n / 4 * 4;
    if (whole > 4) {
        cg_line(cg, "#pragma unroll");
        cg_line(cg, "for (int g = 0; g < %d; g += 4)", whole);
        cg->depth++;
        load_matrices(k, s, 4, "g", kk, buffer);
        cg->depth--;
    } else if (whole == 4) {
        load_matrices(k, s, 4, "0", kk, buffer);
    }
    if (n - whole >= 2) load_matrices(k, s, 2, cg_text(cg, "%d", whole), kk, buffer);
    if (n % 2) load_matrices(k, s, 1, cg_text(cg, "%d", n - 1), kk, buffer);
}

/* Access f of a tile, of neighbours in one or more registers: blocks of rows, then of k.  */
static void fetch_elements(Kernel *k, const Side *s, const char *kk, const char *buffer) {
    Cg *cg = k->cg;
    const Fragment *x = &s->fragment;
    int run = fragment_run(x, s->inner_k ? FRAG_COL : FRAG_ROW), words = run / x->per_register;
    int of_tile = s->registers / words, rows = fragment_lanes(x, FRAG_ROW);
    int blocks = tile_blocks(s) / (s->inner_k ? 1 : run);
    const char *type = s->elem > 4 ? "double" : "unsigned", *at_k = kk;
    cg_line(cg, "#pragma unroll");
    cg_open(cg, "for (int f = 0; f < %d; f++)", fragment_words(k, s) / words);
    const char *own = of_tile == 1 ? cg_text(cg, "(f * %d)", s->thread)
                       : cg_text(cg, "(f / %d * %d + f %% %d * %d)", of_tile, s->thread, blocks,
                                 rows);
    if (of_tile > blocks)
        at_k = cg_text(cg, "(%s + f %% %d / %d * %d)", kk, of_tile, blocks,
                       fragment_lanes(x, FRAG_COL));
    const char *row = s->inner_k ? own : at_k, *inner = s->inner_k ? at_k : own;
    inner = cg_text(cg, "(%s * %d)", inner, s->elem);
    const char *from = cg_text(cg, "smem%s + %c_TILE + %s", load_stage(k, "take"), s->id - 32,
                               address_of(k, s, row, inner));
    if (words == 1) {
        cg_line(cg, "%c_frag[%s][f] = *reinterpret_cast<const %s *>(%s);", s->id, buffer, type,
                from);
    } else {
        cg_line(cg, "const rl_vec<%s, %d> x = rl_load<%d>(reinterpret_cast<const %s *>(%s));", type,
                words, words, type, from);
        for (int w = 0; w < words; w++)
            cg_line(cg, "%c_frag[%s][f * %d + %d] = x.v[%d];", s->id, buffer, words, w, w);
    }
    cg_close(cg);
}

/* Four k of block f of eight rows, two registers: an instruction's operand has one for the first
 * two of them from each of its blocks, then those for the others.  */
static void put_fours(Kernel *k, const Side *s, const char *to, const char *from) {
    Cg *cg = k->cg;
    int blocks = tile_blocks(s);
    const char *at = blocks == 1 ? cg_text(cg, "f * %d", s->registers)
                                 : cg_text(cg, "f / %d * %d + f %% %d", blocks, s->registers,
                                           blocks);
    for (int i = 0; i < 2; i++)
        cg_line(cg, "%s[%s%s] = %s[%d];", to, at, i ? cg_text(cg, " + %d", blocks) : "", from, i);
}

static void fetch_fours(Kernel *k, const Side *s, const char *kk, const char *buffer) {
    Cg *cg = k->cg;
    const char *row = cg_text(cg, "(f * %d)", MATRIX_ROWS);
    const char *inner = strcmp(kk, "0") ? cg_text(cg, "(%s * %d)", kk, s->elem) : kk;
    cg_line(cg, "#pragma unroll");
    cg_open(cg, "for (int f = 0; f < %d; f++)", fragment_words(k, s) / 2);
    cg_line(cg, "const rl_vec<unsigned, 2> x = rl_load<2>(reinterpret_cast<const unsigned *>(smem"
            "%s + %c_TILE + %s));", load_stage(k, "take"), s->id - 32,
            address_of(k, s, row, inner));
    put_fours(k, s, cg_text(cg, "%c_frag[%s]", s->id, buffer), "x.v");
    cg_close(cg);
}

void fragment_mma_widen(Kernel *k, const Side *s, const char *tile, const char *buffer,
                        const char *to) {
    Cg *cg = k->cg;
    int blocks = tile_blocks(s);
    const char *widen = cg_widen(cg, k->c.matrix.unit->a, s->tile);
    cg_line(cg, "#pragma unroll");
    cg_open(cg, "for (int f = 0; f < %d; f++)", blocks);
    cg_line(cg, "unsigned x[2];");
    cg_line(cg, "%s(x, %c_frag[%s][%s * %d + f]);", widen, s->id, buffer, tile, blocks);
    put_fours(k, s, to, "x");
    cg_close(cg);
}

void fragment_mma_fetch(Kernel *k, const char *kk, const char *buffer) {
    for (int i = 0; i < 2; i++) {
        const Side *s = &k->c.side[i];
        if (s->l->region) region_fetch_mma(k, s, kk, buffer);
        else if (s->fours) fetch_fours(k, s, kk, buffer);
        else if (s->ldmatrix) fetch_matrices(k, s, kk, buffer);
        else fetch_elements(k, s, kk, buffer);
    }
}
