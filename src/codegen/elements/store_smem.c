#include "codegen/elements/elements.h"
#include "codegen/block/product.h"

/* Outputs of a matrix unit's accumulators: as the lanes hold them, or passed through shared memory
 * so that a warp stores rows of whole lines.  */

enum { LONG_BODY = 8 };       /* instructions per element that need no unrolling beside */

static Ir times(const Cg *cg, Ir x, int n) { return ir_mul(cg, x, ir_int(cg, n)); }

static Ir open_loop(Kernel *k, Ir var, int n, int step, bool unroll) {
    k->at.open++;
    return ir_for_of(k->cg, var, ir_int(k->cg, 0), ir_int(k->cg, n), step,
                  unroll ? IR_UNROLL_ALL : 1);
}

/* Opens the loops' tests and names: m, with what is of its row, and n.  */
static void open_position(Kernel *k, AxisClass axis) {
    store_open_inside(k, axis, index_ragged(&k->task->map, (int)axis));
    if (axis == AX_M) stats_rows(k);
}

/* What instruction tile `x` of the warp adds along an axis.  */
static Ir tile_at(const Kernel *k, AxisClass axis, Ir x) {
    Ir place = ir_mul(k->cg, x, product_size(k, 'T', axis));
    return k->c->ring ? fragment_column_at(k->cg, &k->c->side[axis == AX_N].order, place) : place;
}

static int vector_of(const Kernel *k) { return k->at.walk ? k->at.walk : k->task->vec; }

static void place_direct(Kernel *k) {
    const Cg *cg = k->cg;
    const Fragment *f = &k->c->matrix.results;
    int vec = vector_of(k), columns = fragment_slots(f, FRAG_COL) / vec;
    Ir s = k->var.s, g = k->var.g;
    Ir column = fragment_slot_place(cg, f, FRAG_COL, g);
    column = ir_add_parts(cg, tile_at(k, AX_N, k->var.j), column);
    Ir row = fragment_slot_place(cg, f, FRAG_ROW, k->var.f);
    store_position(k, AX_M, ir_add(cg, product_warp_first(k, AX_M), k->var.lane_m),
                   ir_add_parts(cg, tile_at(k, AX_M, k->var.i), row));
    store_position(k, AX_N, ir_add(cg, product_warp_first(k, AX_N), k->var.lane_n), column);
    store_turns(
        k,
        &(Turns){.var = k->var.s,
                 .end = k->c->matrix.tiles[AX_N] * columns,
                 .by = 1,
                 .count = k->c->matrix.tiles[AX_N] * columns,
                 .turn = ir_add(cg, times(cg, k->var.j, columns), ir_div(cg, g, ir_int(cg, vec))),
                 .define = {{k->var.j, ir_div(cg, s, ir_int(cg, columns))},
                            {k->var.g, times(cg, ir_rem(cg, s, ir_int(cg, columns)), vec)}},
                 .part = {NULL, column},
                 .rest = k->at.step[0]});
}

/* Row f and column g of the lane in an instruction's tile.  */
void mma_open_rows_of(Kernel *k) {
    const Fragment *f = &k->c->matrix.results;
    open_loop(k, k->var.i, k->c->matrix.tiles[AX_M], 1, true);
    open_loop(k, k->var.f, fragment_slots(f, FRAG_ROW), 1, true);
    open_position(k, AX_M);
}

void mma_open_columns_of(Kernel *k) {
    const Fragment *f = &k->c->matrix.results;
    open_loop(k, k->var.j, k->c->matrix.tiles[AX_N], 1, true);
    open_loop(k, k->var.g, fragment_slots(f, FRAG_COL), vector_of(k), true);
    open_position(k, AX_N);
}

/* ---- staging buffers ---- */

/* Warps that share the k-steps of the same outputs: each writes a buffer of partial sums, each
 * reads its share of the vectors from all of them.  */
static int sharing(const Kernel *k) { return k->c->warps[AX_K]; }

/* Elements of so many bytes.  */
static int elements(const Kernel *k, int64_t bytes) { return (int)(bytes / k->c->p->acc_bytes); }

/* Elements from the buffer of one of them to the next one's.  */
static int staging_distance(const Kernel *k) {
    return k->c->warps[AX_M] * k->c->warps[AX_N] * elements(k, k->c->out_room->share);
}

static RStaging staging_of(const Kernel *k) { return rprog_staging(k->c->p, k->cg->dev, k->c->r); }

static int half_of(const Kernel *k) { return staging_of(k).half; }

/* Elements from row to row in steps of an even number of them.  */
static int row_of(const Kernel *k) { return rprog_staging_at(staging_of(k), 2) / 2; }

/* sum (or NULL) + what row `row` adds: every second one may lie further.  */
static Ir add_row(const Kernel *k, Ir sum, Ir row) {
    const Cg *cg = k->cg;
    int pair = staging_of(k).pair;
    sum = ir_sum(cg, sum, times(cg, row, staging_of(k).row));
    return pair ? ir_add(cg, sum, times(cg, ir_div(cg, row, ir_int(cg, 2)), pair)) : sum;
}

static bool double_buffered(const Kernel *k) { return k->c->out_room->slots > 1; }

/* Where accumulator f of instruction tile j goes in the warp's buffer, but for the lane's part.  */
static Ir staged_at(const Kernel *k, Ir j, Ir f, int run) {
    const Cg *cg = k->cg;
    const Fragment *x = &k->c->matrix.results;
    Ir sum = double_buffered(k) ? k->var.turn : NULL, two = ir_int(cg, 2);
    Ir down = fragment_place_of(cg, x, FRAG_ROW, f, run, row_of(k));
    Ir along = fragment_place_of(cg, x, FRAG_COL, f, run, 1);
    Ir column = ir_mul(cg, j, product_size(k, 'T', AX_N));
    if (half_of(k)) column = ir_div(cg, column, two);
    if (half_of(k) && along) along = ir_div(cg, along, two);
    if (down) sum = ir_add_parts(cg, sum, down);
    sum = ir_sum(cg, sum, column);
    return along ? ir_add_parts(cg, sum, along) : sum;
}

/* Row `of` of a warp's instruction tiles.  */
static void write_row(Kernel *k, Ir of) {
    Cg *cg = k->cg;
    int run = rprog_staging_run(k->c->p, &k->c->matrix.results);
    Ir j = ir_count_of(cg, k->var.j, k->c->matrix.tiles[AX_N], IR_UNROLL_ALL);
    Ir f = ir_for_of(cg, k->var.f, ir_int(cg, 0), ir_int(cg, k->c->matrix.accumulators), run,
                     IR_UNROLL_ALL);
    Ir slots = product_sum(k, of, j);
    Ir from = run > 1 ? ir_add(cg, slots, f) : ir_unary(cg, IR_ADDRESS, ir_element(cg, slots, f));
    ir_do(cg, ir_call_n(cg, ir_type(IR_VOID), "rl_store_shared", run, 3, k->var.staged,
                        staged_at(k, j, f, run), from));
    ir_close(cg);
    ir_close(cg);
}

/* Row i of the warp's instruction tiles to its buffer.  The loop over i is none of copies, so that
 * what is made of the outputs stands once; accumulators are registers, whose numbers are
 * constants: each row has its own stores, and one branch leads to them.  */
void mma_write_staging(Kernel *k) {
    Cg *cg = k->cg;
    Ir i = k->var.i;
    if (k->c->matrix.tiles[AX_M] == 1) {
        write_row(k, i);
        return;
    }
    Ir r = ir_count(cg, "r", k->c->matrix.tiles[AX_M], IR_UNROLL_ALL);
    ir_if(cg, ir_binary(cg, IR_EQ, r, i));
    write_row(k, r);
    ir_close(cg);
    ir_close(cg);
}

/* Elements of an access to the buffer.  */
static int staging_width(const Kernel *k) {
    int most = RTILE_ACCESS / k->c->p->acc_bytes;
    return k->task->vec < most ? k->task->vec : most;
}

static int staging_rows(const Kernel *k) { return rprog_staging_rows(k->cg->dev, k->c->r); }

/* Vectors of a row of the buffer; the threads that share it read one each at once, row by row.  */
static int line_of(const Kernel *k) {
    return rprog_staging_columns(k->cg->dev, k->c->r) / k->task->vec;
}

static int readers_of(const Kernel *k) { return WARP * sharing(k); }

/* The number of a warp among those that share outputs.  */
static Ir share_of(const Kernel *k) {
    return ir_div(k->cg, k->var.k_warp, product_size(k, 'W', AX_K));
}

/* The thread's number among these.  */
static Ir reader(const Kernel *k) {
    const Cg *cg = k->cg;
    Ir lane = k->var.lane;
    return sharing(k) > 1 ? ir_add(cg, times(cg, share_of(k), WARP), lane) : lane;
}

/* Does each thread stay in its columns?  */
static bool keeps_columns(const Kernel *k) { return readers_of(k) % line_of(k) == 0; }

/* Where a block takes segments of tiles in turn, the compiler must not know the threads' numbers:
 * it would find what each turn of the loop over a buffer adds before the segments, and keep all of
 * it during their products.  */
static bool hides_reader(const Kernel *k) { return k->c->r->tail > 0 && !keeps_columns(k); }

/* The number of a vector that a thread reads in turn s: `u`.  */
static Ir turn_number(const Kernel *k) {
    const Cg *cg = k->cg;
    return ir_add(cg, hides_reader(k) ? k->var.id : reader(k),
                  times(cg, k->var.s, readers_of(k)));
}

/* Row and column, in vectors, of vector `u` of a buffer.  */
static Ir row_number(const Kernel *k, Ir u) {
    return ir_div(k->cg, u, ir_number(k->cg, IR_U32, line_of(k)));
}
static Ir column_number(const Kernel *k, Ir u) {
    return ir_rem(k->cg, u, ir_number(k->cg, IR_U32, line_of(k)));
}

/* The first vector that a thread reads, from its number `u`.  */
static Ir staging_start(const Kernel *k, Ir u) {
    const Cg *cg = k->cg;
    Ir column = times(cg, column_number(k, u), half_of(k) ? k->task->vec / 2 : k->task->vec);
    return ir_add(cg, k->var.piece, ir_add(cg, add_row(k, NULL, row_number(k, u)), column));
}

/* Elements from one access of a vector to its next.  */
static int access_distance(const Kernel *k) {
    return half_of(k) ? half_of(k) : staging_width(k);
}

/* ---- vectors of outputs ---- */

/* The vectors that a turn has read, `value`.  */
static IrType values_type(const Kernel *k) {
    return ir_vector(ir_compute(k->c->p->con.acc), staging_width(k));
}

static Ir value_at(const Kernel *k, Ir p, Ir v) {
    const Cg *cg = k->cg;
    Ir x = ir_element(cg, k->var.value, p);
    return x->type.lanes > 1 && v ? ir_lane(cg, x, v) : x;
}

/* Adds what the other buffers have to value[p].  */
static void add_slices(Kernel *k, Ir from, Ir p) {
    Cg *cg = k->cg;
    Ir w = ir_for(cg, "w", ir_int(cg, 1), ir_int(cg, sharing(k)), 1, IR_UNROLL_ALL);
    Ir at = ir_add(cg, times(cg, w, staging_distance(k)), times(cg, p, access_distance(k)));
    contract_add(k, value_at(k, p, k->at.v), staging_width(k), ir_add(cg, from, at));
    ir_close(cg);
}

/* Where the thread reads in turn s.  */
static Ir read_from(const Kernel *k) {
    const Cg *cg = k->cg;
    const Turns *turns = &k->at.turns;
    Ir from = k->var.taken;
    int step = readers_of(k) / line_of(k) * row_of(k);
    if (turns->var) from = turns->filled;
    else if (keeps_columns(k)) from = ir_add(cg, from, times(cg, k->var.s, step));
    else from = staging_start(k, k->var.u);
    return double_buffered(k) ? ir_add(cg, from, k->var.turn) : from;
}

static void read_staging(Kernel *k) {
    Cg *cg = k->cg;
    int width = staging_width(k), n = k->task->vec / width;
    Ir from = read_from(k);
    k->var.value = ir_array(cg, values_type(k), "value", n, 0, 0);
    Ir p = ir_count(cg, "p", n, IR_UNROLL_ALL);
    Ir at = ir_add(cg, from, times(cg, p, access_distance(k)));
    ir_set(cg, value_at(k, p, NULL),
           width > 1 ? ir_load(cg, at, width) : ir_element(cg, at, ir_int(cg, 0)));
    if (sharing(k) > 1) add_slices(k, from, p);
    ir_close(cg);
}

/* Steps in which a buffer is read.  */
static int turns_of(const Kernel *k) {
    return (staging_rows(k) * line_of(k) + readers_of(k) - 1) / readers_of(k);
}

/* Places of all turns need registers, which the sums of a warpgroup leave few of.  */
static bool unrolls_turns(const Kernel *k) {
    if (k->c->ring && !keeps_columns(k)) return false;
    return k->c->r->split > 1 || k->c->p->epilogue_ops < LONG_BODY;
}

/* sum + what the lane's column adds, in the half that it is in.  */
static Ir add_column(const Kernel *k, Ir sum) {
    const Cg *cg = k->cg;
    Ir lane = k->var.lane_n, chunk = ir_int(cg, RTILE_ACCESS / k->c->p->acc_bytes);
    if (!half_of(k)) return ir_add(cg, sum, lane);
    sum = ir_add(cg, sum, times(cg, ir_div(cg, lane, chunk), half_of(k)));
    return ir_add(cg, sum, ir_rem(cg, lane, chunk));
}

/* The first buffer with sums of the warp's outputs, and the element of its own where the lane
 * begins.  */
static void define_slices(Kernel *k) {
    Cg *cg = k->cg;
    IrBase base = ir_compute(k->c->p->con.acc);
    Ir warp = k->var.warp, own = NULL;
    if (sharing(k) > 1) {
        warp = ir_rem(cg, warp, ir_int(cg, k->c->warps[AX_M] * k->c->warps[AX_N]));
        own = times(cg, share_of(k), staging_distance(k));
    }
    Ir smem = k->var.smem;
    if (k->c->stays) smem = ir_add(cg, smem, ir_int(cg, k->c->out_room->at));
    Ir piece = k->var.piece =
        ir_let(cg, "piece",
               ir_view(cg, ir_pointer(base, IR_SHARED, false),
                       ir_add(cg, smem, times(cg, warp, (int)k->c->out_room->share))));
    Ir lane = add_column(k, add_row(k, own, k->var.lane_m));
    k->var.staged = ir_let(cg, "to", ir_add(cg, piece, lane));
}

/* Each thread reads columns of its own: where it begins.  */
static void place_columns(Kernel *k) {
    Cg *cg = k->cg;
    Ir at = reader(k), down = times(cg, k->var.s, readers_of(k) / line_of(k));
    Ir start = staging_start(k, ir_cast(cg, IR_U32, at));
    k->var.taken = ir_let(cg, "from", ir_const(cg, start));
    store_position(k, AX_M,
                   ir_add(cg, product_warp_first(k, AX_M), ir_cast(cg, IR_I32, row_number(k, at))),
                   ir_add(cg, tile_at(k, AX_M, k->var.i), down));
    Ir column = ir_cast(cg, IR_I32, times(cg, column_number(k, at), k->task->vec));
    store_position(k, AX_N, ir_add(cg, product_warp_first(k, AX_N), column), NULL);
}

/* The warp's buffer, and where the thread's outputs begin in it and in memory.  */
static void place_staging(Kernel *k) {
    Cg *cg = k->cg;
    define_slices(k);
    if (hides_reader(k))
        k->var.id = ir_let_as(cg, IR_I32, "id", ir_hidden(cg, IR_I32, reader(k)));
    if (keeps_columns(k)) {
        place_columns(k);
        return;
    }
    Ir u = k->var.u, down = ir_cast(cg, IR_I32, row_number(k, u));
    Ir along = ir_cast(cg, IR_I32, times(cg, column_number(k, u), k->task->vec));
    store_position(k, AX_M, product_warp_first(k, AX_M),
                   ir_add(cg, tile_at(k, AX_M, k->var.i), down));
    store_position(k, AX_N, product_warp_first(k, AX_N), along);
    if (!unrolls_turns(k)) return;
    store_turns(k, &(Turns){.var = k->var.s,
                            .end = turns_of(k),
                            .by = 1,
                            .count = turns_of(k),
                            .turn = k->var.s,
                            .define = {{k->var.u, turn_number(k)}},
                            .part = {down, along},
                            .rest = tile_at(k, AX_M, k->var.i),
                            .from = ir_const(cg, staging_start(k, u))});
}

int mma_open_rows(Kernel *k, bool sums) {
    enum { BOX_SCOPES = 3 };
    Cg *cg = k->cg;
    int rows = k->c->matrix.tiles[AX_M];
    k->at.open = 0;
    k->at.turns = (Turns){0};
    if (k->c->r->via == VIA_BOXES) {
        ring_open_boxes(k);
        return BOX_SCOPES;
    }
    mma_place_outputs(k);
    if (sums) sums_pointers(k);
    else store_pointers(k);
    Ir i = open_loop(k, k->var.i, rows, 1, rows == 1), two = ir_int(cg, 2);
    if (rows > 1 && double_buffered(k))   /* who writes to a buffer has read the one in between */
        k->var.turn =
            ir_let(cg, "turn", times(cg, ir_rem(cg, i, two), elements(k, k->c->out_room->apart)));
    int open = k->at.open;
    k->at.open = 0;
    return open;
}

void mma_open_vectors(Kernel *k, bool sums) {
    Cg *cg = k->cg;
    if (k->c->r->via == VIA_BOXES) {
        ring_open_box(k);
        return;
    }
    int count = staging_rows(k) * line_of(k);
    open_loop(k, k->var.s, turns_of(k), 1, unrolls_turns(k));
    bool counted = !keeps_columns(k) && !k->at.turns.var, ragged = count % readers_of(k) != 0;
    if (ragged || counted) ir_define(cg, k->var.u, turn_number(k));
    if (ragged) {
        ir_if(cg, ir_lt(cg, k->var.u, ir_number(cg, IR_U32, count)));
        k->at.open++;
    }
    open_position(k, AX_M);
    if (sums) mma_open_vector(k);
    else k->at.in_row = true;
}

void mma_open_vector(Kernel *k) {
    open_position(k, AX_N);
    read_staging(k);
    k->at.root = mma_element(k, elements_lane(k));
}

void mma_place_outputs(Kernel *k) {
    ir_scope(k->cg);
    k->at.open = 1;
    if (k->c->r->via == VIA_SHARED && !k->at.walk) place_staging(k);
    else place_direct(k);
}

Ir mma_element(const Kernel *k, Ir v) {
    const Cg *cg = k->cg;
    if (k->c->r->via == VIA_SHARED && !k->at.walk) {
        Ir width = ir_int(cg, staging_width(k));
        return value_at(k, ir_div(cg, v, width), ir_rem(cg, v, width));
    }
    const Fragment *f = &k->c->matrix.results;
    bool follows = fragment_follows(f, FRAG_COL);
    Ir slot = fragment_slot_number(cg, f, k->var.f, follows ? k->var.g : ir_add(cg, k->var.g, v));
    if (follows && fragment_run(f, FRAG_COL) > 1) slot = ir_add(cg, slot, v);
    return ir_element(cg, product_sum(k, k->var.i, k->var.j), slot);
}
