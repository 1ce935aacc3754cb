/* Chunks of a region: copied as they lie in memory, joined of two accesses where they begin
 * anywhere, or turned where they run along a dimension that lies apart.  */
#include "codegen/operand/address.h"
#include "codegen/block/product.h"

/* JOINED_OF: words of two accesses, and where the chunk begins in the first.  */
enum { AT_ONCE = 8, JOINED_OF = 2 * RTILE_ACCESS / 4 + 1 };

/* Loops over chunks, by the threads that load the operand: the block's or a team's.  */
static Ir first_chunk(const Kernel *k, const Side *s) {
    int before = s->l->team ? contract_turns(k->c)->fill.first * WARP : 0;
    return ir_add_n(k->cg, k->var.tid, -before);
}

static int loading(const Kernel *k, const Side *s) {
    return s->l->team ? s->l->team * WARP : k->c->r->threads;
}

static Ir loading_step(const Kernel *k, const Side *s) {
    return s->l->team ? ir_int(k->cg, loading(k, s)) : k->var.threads;
}

/* ..., `each` of them at a time.  */
static Ir open_chunks(Kernel *k, const Side *s, int each) {
    Cg *cg = k->cg;
    Ir i = k->var.i, all = ir_int(cg, rtile_region_pieces(&s->region));
    ir_loop(cg, i, first_chunk(k, s), ir_lt(cg, i, all),
            (IrNext){IR_ADD, ir_mul_n(cg, loading_step(k, s), each)}, 1);
    return i;
}

/* ..., one by one in a known number of turns, and a scope: of a loop with an open end compilers
 * take the turns that are left over one after another, each behind the load of the one before.  */
static Ir open_turns(Kernel *k, const Side *s) {
    Cg *cg = k->cg;
    int all = rtile_region_pieces(&s->region), each = loading(k, s);
    int turns = (all + each - 1) / each;
    Ir turn = ir_count(cg, "turn", turns, turns <= AT_ONCE ? IR_UNROLL_ALL : AT_ONCE);
    Ir at = ir_add(cg, first_chunk(k, s), ir_mul(cg, turn, loading_step(k, s)));
    Ir i = ir_let_as(cg, IR_I32, "i", at);
    if (all % each) ir_if(cg, ir_lt(cg, i, ir_int(cg, all)));
    else ir_scope(cg);
    return i;
}

/* Where a chunk is: `line`, and element x of it; rows of the image before the first line, where
 * the region goes on in the next image.  */
typedef struct {
    Ir line, x, above;
    Ir number;                /* of those that are joined */
    Ir along;                 /* of those that are turned: the first one's place in the last
                               * dimension; `line` counts what lies before that */
} Chunk;

/* Which image a line's row belongs to, beside the first; makes it the row in that.  */
static Ir image_of(Kernel *k, const Side *s, Ir above, Ir *row) {
    Cg *cg = k->cg;
    const RRegion *g = &s->region;
    Ir period = ir_number(cg, IR_U32, g->period);
    Ir all = ir_let_as(cg, IR_U32, "row", ir_add(cg, *row, above));
    *row = ir_let_as(cg, IR_I32, "in_image", ir_rem(cg, all, period));
    return ir_let_as(cg, IR_I32, "image", ir_div(cg, all, period));
}

/* The chunk's place in the tensor, as an offset from the first element; defines digits of the
 * line.  */
static Ir chunk_offset(Kernel *k, const Side *s, Chunk c, Ir *test) {
    Cg *cg = k->cg;
    const RRegion *g = &s->region;
    const TeTensor *t = &k->c->te->tensor[s->o->access.tensor];
    Ir sum = c.x;
    Ir image = NULL;
    int below = 1, lines = g->turned ? g->read / g->extent[g->along] : g->lines;
    *test = NULL;
    if (g->turned) {
        Ir apart = cg_int(cg, TE_I64, t->stride[g->line].value);
        sum = ir_add(cg, ir_mul(cg, c.x, apart), c.along);
    }
    for (int d = g->along; d >= 0; d--) {
        bool last = d == g->line, along = g->turned && d == g->along;
        Ir at = last ? c.x : along ? c.along : ir_int(cg, 0);
        if (!last && !along && g->extent[d] > 1) {
            at = ir_div(cg, c.line, ir_number(cg, IR_U32, below));
            if (below * g->extent[d] != lines)
                at = ir_rem(cg, at, ir_number(cg, IR_U32, g->extent[d]));
            at = ir_let_as(cg, IR_I32, ir_numbered(cg, "g", d), at);
            if (g->period > 0 && d == g->rows) image = image_of(k, s, c.above, &at);
            sum = ir_add(cg, sum, ir_mul(cg, at, cg_int(cg, TE_I64, t->stride[d].value)));
        }
        if (image && d == g->image) {
            at = image;
            sum = ir_add(cg, sum, ir_mul(cg, at, cg_int(cg, TE_I64, t->stride[d].value)));
        }
        if (!last && !along) below *= g->extent[d];
        if (!(g->tested >> d & 1)) continue;
        TeExtent bound = last ? size_number(g->bound) : t->shape[d];
        Ir inside = size_inside(cg, ir_add(cg, operand_at(k, s)->at[d], at), bound, false);
        *test = ir_both(cg, *test, inside);
    }
    return sum;
}

/* Through registers.  */
static void move_chunk(Kernel *k, const Side *s, Ir from, Ir test, Ir to) {
    Cg *cg = k->cg;
    int vec = s->region.vec;
    IrBase base = ir_storage(s->o->storage);
    Ir v, x = ir_load(cg, from, vec);
    if (test) {
        v = ir_variable_of(cg, "v", ir_zero(cg, ir_vector(base, vec)));
        ir_if(cg, test);
        ir_set(cg, v, x);
        ir_close(cg);
    } else {
        v = ir_let(cg, "v", x);
    }
    Ir first = ir_unary(cg, IR_ADDRESS, ir_lane(cg, v, ir_int(cg, 0)));
    ir_store(cg, NULL, vec, ir_view(cg, ir_pointer(base, IR_SHARED, false), to), first);
}

/* Bytes of a chunk at element x of a line that are the line's.  */
static Ir bytes_inside(const Kernel *k, const Side *s, Ir x) {
    const Cg *cg = k->cg;
    const RRegion *g = &s->region;
    Ir all = ir_int(cg, RTILE_ACCESS);
    if (!(g->tested >> g->line & 1)) return all;
    Ir left = ir_sub(cg, ir_int(cg, g->bound), ir_add(cg, operand_at(k, s)->at[g->line], x));
    return ir_min(cg, all, ir_mul_n(cg, left, s->elem));
}

/* A chunk to the place `to` in the region, by the function of its mover, or through registers.  */
static void copy_chunk(Kernel *k, const Side *s, Ir from, Ir test, Ir to) {
    Cg *cg = k->cg;
    Ir region = operand_at(k, s)->region;
    if (!rprog_copies_chunks(s->l)) {
        move_chunk(k, s, from, test, ir_add(cg, ir_add(cg, k->var.smem, region), to));
        return;
    }
    ir_copy(cg, &(IrCopy){.mover = load_function(k, s), .from = from,
                          .to = ir_add(cg, ir_add(cg, k->var.shared, region), to),
                          .inside = test ? test : ir_bool(cg, true)});
}

/* Element of its line that chunk i begins with.  */
static Ir chunk_element(const Kernel *k, const Side *s, Ir i) {
    Cg *cg = k->cg;
    Ir per = ir_number(cg, IR_U32, s->region.row / s->region.vec);
    return ir_let_as(cg, IR_I32, "x", ir_mul_n(cg, ir_rem(cg, i, per), s->region.vec));
}

static Ir place_in_region(const Kernel *k, const Side *s, Chunk c) {
    const Cg *cg = k->cg;
    Ir to = ir_add(cg, ir_mul(cg, c.line, operand_at(k, s)->line), c.x);
    return ir_mul(cg, to, ir_int(cg, s->elem));
}

/* The address of a chunk in a slot: planes of lines behind each other, in the swizzle that copies
 * by boxes have.  */
static Ir place_in_slot(Kernel *k, const Side *s, Chunk c, Ir slot) {
    Cg *cg = k->cg;
    Ir byte = ir_mul_n(cg, c.x, s->elem), span = ir_int(cg, s->span);
    Ir at = ir_add(cg, ir_mul_n(cg, ir_as(cg, IR_I32, c.line), s->span), ir_rem(cg, byte, span));
    if (s->boxes > 1) at = ir_add(cg, at, ir_mul_n(cg, ir_div(cg, byte, span), s->box_bytes));
    at = ir_let_as(cg, IR_I32, "at", at);
    Ir moved = ir_binary(cg, IR_SHR, at, ir_int(cg, RREGION_SHIFT));
    moved = ir_binary(cg, IR_AND, moved, ir_int(cg, rprog_region_swizzle(&s->region)));
    return ir_add(cg, slot, ir_binary(cg, IR_XOR, at, moved));
}

/* The address of a chunk: in the region of all steps, or (not NULL) a slot.  */
static Ir place_of_chunk(Kernel *k, const Side *s, Chunk c, Ir slot) {
    const Cg *cg = k->cg;
    if (slot) return place_in_slot(k, s, c, slot);
    return ir_add(cg, ir_add(cg, k->var.shared, operand_at(k, s)->region),
                  place_in_region(k, s, c));
}

/* Sets line and element of chunk i; a thread whose chunks are all at the same element of their
 * lines has it before the loop.  */
static void place_chunk(Kernel *k, const Side *s, Ir i, Chunk *c) {
    Cg *cg = k->cg;
    int per = s->region.row / s->region.vec;
    c->line = ir_let_as(cg, IR_U32, "line", ir_div(cg, i, ir_number(cg, IR_U32, per)));
    if (loading(k, s) % per != 0) c->x = chunk_element(k, s, i);
}

static Chunk before_chunks(Kernel *k, const Side *s, Ir above) {
    bool fixed = loading(k, s) % (s->region.row / s->region.vec) == 0;
    return (Chunk){.x = fixed ? chunk_element(k, s, first_chunk(k, s)) : NULL, .above = above};
}

static void copy_chunks(Kernel *k, const Side *s, Ir above) {
    Cg *cg = k->cg;
    Chunk c = before_chunks(k, s, above);
    Ir test, i = open_turns(k, s);
    place_chunk(k, s, i, &c);
    Ir from = ir_add(cg, operand_at(k, s)->src, chunk_offset(k, s, c, &test));
    copy_chunk(k, s, from, test, place_in_region(k, s, c));
    ir_close(cg);
    ir_close(cg);
}

/* A loop over the chunks that a thread has under way.  */
static Ir open_some(Kernel *k, const Side *s, Ir first, Chunk *c) {
    Cg *cg = k->cg;
    Ir u = ir_count_of(cg, k->var.u, AT_ONCE, IR_UNROLL_ALL);
    Ir at = ir_add(cg, first, ir_mul_n(cg, u, loading(k, s)));
    c->number = ir_let(cg, "chunk", at);
    place_chunk(k, s, c->number, c);
    return u;
}

/* Chunks that begin anywhere, of two accesses each.  All that a thread has under way are loaded
 * before the first is joined: compilers that choose the order load one, join it, and so on.  */
static void join_chunks(Kernel *k, const Side *s, Ir above, Ir slot) {
    Cg *cg = k->cg;
    Ir all = ir_int(cg, rtile_region_pieces(&s->region)), test;
    Chunk c = before_chunks(k, s, above);
    Ir i = open_chunks(k, s, AT_ONCE);
    Ir words = ir_array(cg, ir_type(IR_U32), "words", AT_ONCE, JOINED_OF, 0);
    Ir u = open_some(k, s, i, &c);
    Ir from = ir_add(cg, operand_at(k, s)->src, chunk_offset(k, s, c, &test));
    test = ir_both(cg, test, ir_lt(cg, c.number, all));
    ir_do(cg, ir_call(cg, ir_type(IR_VOID), "rl_two_16", 4, ir_element(cg, words, u), from,
                      bytes_inside(k, s, c.x), test));
    ir_close(cg);
    u = open_some(k, s, i, &c);
    Ir to = place_of_chunk(k, s, c, slot);
    ir_if(cg, ir_lt(cg, c.number, all));
    ir_do(cg, ir_call(cg, ir_type(IR_VOID), "rl_join_16", 3, to, ir_element(cg, words, u),
                      bytes_inside(k, s, c.x)));
    ir_close(cg);
    ir_close(cg);
    ir_close(cg);
}

/* ---- chunks that are turned ---- */

/* Where the chunks of number i are; the first one's place may lie before the region.  */
static Chunk turned_at(Kernel *k, const Side *s, Ir i, Ir before, Ir above) {
    Cg *cg = k->cg;
    const RRegion *g = &s->region;
    Chunk c = {.x = chunk_element(k, s, i), .above = above};
    Ir at = ir_div(cg, i, ir_number(cg, IR_U32, g->row / g->vec));
    at = ir_let_as(cg, IR_U32, "along", at);
    Ir along = ir_rem(cg, at, ir_number(cg, IR_U32, g->across));
    along = ir_mul_n(cg, ir_cast(cg, IR_I32, along), g->turned);
    c.along = ir_let_as(cg, IR_I32, "from", ir_sub(cg, along, before));
    c.line = ir_let_as(cg, IR_U32, "line", ir_div(cg, at, ir_number(cg, IR_U32, g->across)));
    return c;
}

/* Loads, for each element of a chunk, `turned` neighbours that as many chunks have of it.  */
static Ir load_turned(Kernel *k, const Side *s, Chunk c) {
    Cg *cg = k->cg;
    const RRegion *g = &s->region;
    int words = g->turned * s->elem / 4;
    Ir test, w = ir_array(cg, ir_type(IR_U32), "words", g->vec * words, 0, 0);
    Ir from = ir_add(cg, operand_at(k, s)->src, chunk_offset(k, s, c, &test));
    from = ir_let(cg, "first", from);
    test = ir_let(cg, "inside", test);
    Ir u = ir_count_of(cg, k->var.u, g->vec, IR_UNROLL_ALL);
    const TeTensor *t = &k->c->te->tensor[s->o->access.tensor];
    Ir apart = cg_int(cg, TE_I64, t->stride[g->line].value);
    if (g->tested >> g->line & 1) {
        Ir bound = ir_sub(cg, ir_int(cg, g->bound), operand_at(k, s)->at[g->line]);
        test = ir_both(cg, test, ir_lt(cg, ir_add(cg, c.x, u), bound));
    }
    ir_do(cg, ir_call(cg, ir_type(IR_VOID), ir_numbered(cg, "rl_words_", words), 4, w,
                      ir_mul_n(cg, u, words), ir_add(cg, from, ir_mul(cg, u, apart)), test));
    ir_close(cg);
    return w;
}

/* Chunks of a dimension that lies apart: a thread loads as many neighbours for each element of one,
 * and stores their chunks.  */
static void turn_chunks(Kernel *k, const Side *s, Ir above, Ir slot) {
    Cg *cg = k->cg;
    const RRegion *g = &s->region;
    Ir wide = ir_int(cg, g->turned - 1), extent = ir_int(cg, g->extent[g->along]);
    Ir before = ir_binary(cg, IR_AND, operand_at(k, s)->at[g->along], wide);
    before = ir_let_as(cg, IR_I32, "before", before);
    Chunk c = turned_at(k, s, open_chunks(k, s, 1), before, above);
    Ir words = load_turned(k, s, c), row = c.line;
    Ir u = ir_count_of(cg, k->var.u, g->turned, IR_UNROLL_ALL);
    Ir at = ir_let_as(cg, IR_I32, "at", ir_add(cg, c.along, u));
    c.line = ir_add(cg, ir_mul(cg, ir_as(cg, IR_I32, row), extent), at);
    ir_if(cg, size_inside(cg, at, size_number(g->extent[g->along]), false));
    ir_do(cg, ir_call(cg, ir_type(IR_VOID), ir_numbered(cg, "rl_turn_", s->elem), 3,
                      place_of_chunk(k, s, c, slot), words, u));
    ir_close(cg);
    ir_close(cg);
    ir_close(cg);
}

void region_chunks(Kernel *k, const Side *s, Ir above, Ir slot) {
    if (s->region.turned) turn_chunks(k, s, above, slot);
    else if (s->region.anywhere) join_chunks(k, s, above, slot);
    else copy_chunks(k, s, above);
}
