#include "codegen/blocks.h"

/* Outputs of a matrix unit's accumulators: as the lanes hold them, or passed through shared memory
 * so that a warp stores rows of whole lines.  */

enum { WARP = 32 };
enum { LONG_BODY = 8 };       /* instructions per element that need no unrolling beside */

/* Opens a test that the element lies inside along an axis, where some may not.  */
static void open_inside(Kernel *k, AxisClass axis) {
    if (!index_ragged(&k->l->map, (int)axis)) return;
    cg_open(k->cg, "if (%c < %c)", axis == AX_M ? 'm' : 'n', axis == AX_M ? 'M' : 'N');
    k->at.open++;
}

static void open_loop(Kernel *k, const char *name, int n, int step, bool unroll) {
    cg_line(k->cg, "#pragma unroll%s", unroll ? "" : " 1");
    if (step == 1) cg_open(k->cg, "for (int %s = 0; %s < %d; %s++)", name, name, n, name);
    else cg_open(k->cg, "for (int %s = 0; %s < %d; %s += %d)", name, name, n, name, step);
    k->at.open++;
}

static void place_direct(Kernel *k) {
    const Cg *cg = k->cg;
    const Fragment *f = &k->c.matrix.results;
    int vec = k->at.walk ? k->at.walk : k->l->vec, columns = fragment_slots(f, FRAG_COL) / vec;
    const char *times = vec > 1 ? cg_text(cg, " * %d", vec) : "";
    const char *by = vec > 1 ? cg_text(cg, " / %d", vec) : "";
    const char *column = cg_text(cg, "j * TN + %s", fragment_slot_place(cg, f, FRAG_COL, "g"));
    store_position(k, AX_M, "m0 + row + lane_m",
                   cg_text(cg, "i * TM + %s", fragment_slot_place(cg, f, FRAG_ROW, "f")));
    store_position(k, AX_N, "n0 + col + lane_n", column);
    store_turns(k, &(Turns){.loop = cg_text(cg, "int s = 0; s < IN * %d; s++", columns),
                            .count = cg_text(cg, "IN * %d", columns),
                            .turn = cg_text(cg, "j * %d + g%s", columns, by),
                            .head = cg_text(cg, "const int j = s / %d, g = s %% %d%s;", columns,
                                            columns, times),
                            .part = {NULL, column},
                            .rest = k->at.step[0]});
}

/* Row f and column g of the lane in an instruction's tile.  */
void mma_open_outputs(Kernel *k) {
    Cg *cg = k->cg;
    const Fragment *f = &k->c.matrix.results;
    int vec = k->at.walk ? k->at.walk : k->l->vec;
    open_loop(k, "i", k->c.matrix.tiles[AX_M], 1, true);
    open_loop(k, "f", fragment_slots(f, FRAG_ROW), 1, true);
    cg_line(cg, "const %s m = %s;", place_along(k, AX_M), store_at(k, AX_M));
    open_inside(k, AX_M);
    stats_rows(k);
    open_loop(k, "j", k->c.matrix.tiles[AX_N], 1, true);
    open_loop(k, "g", fragment_slots(f, FRAG_COL), vec, true);
    cg_line(cg, "const %s n = %s;", place_along(k, AX_N), store_at(k, AX_N));
    open_inside(k, AX_N);
}

/* Warps that share the k-steps of the same outputs: each writes a buffer of partial sums, each
 * reads its share of the vectors from all of them.  */
static int sharing(const Kernel *k) { return k->c.warps[AX_K]; }

/* Elements of so many bytes.  */
static int elements(const Kernel *k, int64_t bytes) { return (int)(bytes / k->c.p->acc_bytes); }

/* Elements from the buffer of one of them to the next one's.  */
static int staging_distance(const Kernel *k) {
    return k->c.warps[AX_M] * k->c.warps[AX_N] * elements(k, k->c.out_room->share);
}

static RStaging staging_of(const Kernel *k) { return rprog_staging(k->c.p, k->cg->dev, k->c.r); }

static int half_of(const Kernel *k) { return staging_of(k).half; }

/* Elements from row to row in steps of an even number of them.  */
static int row_of(const Kernel *k) { return rprog_staging_at(staging_of(k), 2) / 2; }

/* What row `row` adds where every second one lies further.  */
static const char *pair_of(const Kernel *k, const char *row) {
    int pair = staging_of(k).pair;
    return pair ? cg_text(k->cg, " + %s / 2 * %d", row, pair) : "";
}

static bool double_buffered(const Kernel *k) { return k->c.out_room->slots > 1; }

/* Row `of` of a warp's instruction tiles.  */
static void write_row(Kernel *k, const char *of) {
    Cg *cg = k->cg;
    const Fragment *f = &k->c.matrix.results;
    int row = row_of(k), n = k->c.matrix.accumulators;
    int run = rprog_staging_run(k->c.p, f);
    const char *turn = double_buffered(k) ? "turn + " : "";
    const char *step = half_of(k) ? "TN / 2" : "TN";
    const char *down = fragment_place_of(cg, f, FRAG_ROW, "f", run, row);
    if (down) turn = cg_text(cg, "%s%s + ", turn, down);
    const char *along = fragment_place_of(cg, f, FRAG_COL, "f", run, 1);
    if (along && half_of(k)) along = cg_text(cg, "(%s) / 2", along);
    cg_line(cg, "#pragma unroll");
    cg_open(cg, "for (int j = 0; j < IN; j++)");
    cg_line(cg, "#pragma unroll");
    cg_line(cg, "for (int f = 0; f < %d; %s)", n, run > 1 ? cg_text(cg, "f += %d", run) : "f++");
    cg_line(cg, "    rl_store_shared<%d>(to, %sj * %s%s%s, %s);", run, turn, step,
            along ? " + " : "", along ? along : "",
            cg_text(cg, run > 1 ? "acc[%s][j] + f" : "&acc[%s][j][f]", of));
    cg_close(cg);
}

/* Row i of the warp's instruction tiles to its buffer.  The loop over i is none of copies, so that
 * what is made of the outputs is printed once; accumulators are registers, whose numbers are
 * constants: each row has its own stores, and one branch leads to them.  */
void mma_write_staging(Kernel *k) {
    Cg *cg = k->cg;
    if (k->c.matrix.tiles[AX_M] == 1) {
        write_row(k, "i");
        return;
    }
    cg_line(cg, "#pragma unroll");
    cg_open(cg, "for (int r = 0; r < IM; r++)");
    cg_open(cg, "if (r == i)");
    write_row(k, "r");
    cg_close(cg);
    cg_close(cg);
}

/* Elements of an access to the buffer.  */
static int staging_width(const Kernel *k) {
    int most = RTILE_ACCESS / k->c.p->acc_bytes;
    return k->l->vec < most ? k->l->vec : most;
}

static int staging_rows(const Kernel *k) { return rprog_staging_rows(k->cg->dev, k->c.r); }

/* Vectors of a row of the buffer; the threads that share it read one each at once, row by row.  */
static int line_of(const Kernel *k) {
    return rprog_staging_columns(k->cg->dev, k->c.r) / k->l->vec;
}

static int readers_of(const Kernel *k) { return WARP * sharing(k); }

/* The thread's number among these.  */
static const char *reader(const Kernel *k) {
    return sharing(k) > 1 ? "(k_warp / WK * 32 + lane)" : "lane";
}

/* Does each thread stay in its columns?  */
static bool keeps_columns(const Kernel *k) { return readers_of(k) % line_of(k) == 0; }

/* Where a block takes segments of tiles in turn, the compiler must not know the threads' numbers:
 * it would find what each turn of the loop over a buffer adds before the segments, and keep all of
 * it during their products.  */
static bool hides_reader(const Kernel *k) { return k->c.r->tail > 0 && !keeps_columns(k); }

static const char *turn_number(const Kernel *k) {
    return cg_text(k->cg, "const unsigned u = %s + s * %d;",
                   hides_reader(k) ? "id" : reader(k), readers_of(k));
}

/* The first vector that a thread reads, from its number `u`.  */
static const char *staging_start(Kernel *k, const char *u) {
    int line = line_of(k);
    const char *pair = pair_of(k, cg_text(k->cg, "%s / %du", u, line));
    return cg_text(k->cg, "piece + (%s / %du * %d%s + %s %% %du * %d)", u, line,
                   staging_of(k).row, pair, u, line, half_of(k) ? k->l->vec / 2 : k->l->vec);
}

/* Elements from one access of a vector to its next.  */
static int access_distance(const Kernel *k) {
    return half_of(k) ? half_of(k) : staging_width(k);
}

/* Adds what the other buffers have to value[p].  */
static void add_slices(Kernel *k, const char *from, int width) {
    Cg *cg = k->cg;
    cg_line(cg, "#pragma unroll");
    cg_open(cg, "for (int w = 1; w < %d; w++)", sharing(k));
    contract_add(k, "value[p].v[v]", width, from,
                 cg_text(cg, "w * %d + p * %d", staging_distance(k), access_distance(k)));
    cg_close(cg);
}

static void read_staging(Kernel *k) {
    Cg *cg = k->cg;
    int vec = k->l->vec, width = staging_width(k);
    const char *from = k->at.turns.loop ? "from[s]"
        : keeps_columns(k) ? cg_text(cg, "from + s * %d",
                                     readers_of(k) / line_of(k) * row_of(k))
                           : staging_start(k, "u");
    if (double_buffered(k)) from = cg_text(cg, "%s + turn", from);
    cg_line(cg, "rl_vec<%s, %d> value[%d];", cg_type(k->c.p->con.acc), width, vec / width);
    cg_line(cg, "#pragma unroll");
    if (sharing(k) == 1) {
        cg_line(cg, "for (int p = 0; p < %d; p++) value[p] = rl_load<%d>(%s + p * %d);",
                vec / width, width, from, access_distance(k));
        return;
    }
    cg_open(cg, "for (int p = 0; p < %d; p++)", vec / width);
    cg_line(cg, "value[p] = rl_load<%d>(%s + p * %d);", width, from, access_distance(k));
    add_slices(k, from, width);
    cg_close(cg);
}

/* Steps in which a buffer is read.  */
static int turns_of(const Kernel *k) {
    return (staging_rows(k) * line_of(k) + readers_of(k) - 1) / readers_of(k);
}

/* Places of all turns need registers, which the sums of a warpgroup leave few of.  */
static bool unrolls_turns(const Kernel *k) {
    if (k->c.ring && !keeps_columns(k)) return false;
    return k->c.r->split > 1 || k->c.p->epilogue_ops < LONG_BODY;
}

/* The first buffer with sums of the warp's outputs, and the element of its own where the lane
 * begins.  */
static void define_slices(Kernel *k, const char *type) {
    Cg *cg = k->cg;
    int row = staging_of(k).row, half = half_of(k);
    int chunk = RTILE_ACCESS / k->c.p->acc_bytes;
    const char *warp = "warp", *own = "", *column = "lane_n";
    if (sharing(k) > 1) {
        warp = cg_text(cg, "warp %% %d", k->c.warps[AX_M] * k->c.warps[AX_N]);
        own = cg_text(cg, "k_warp / WK * %d + ", staging_distance(k));
    }
    if (half) column = cg_text(cg, "lane_n / %d * %d + lane_n %% %d", chunk, half, chunk);
    const char *behind = k->c.stays ? cg_text(cg, "%d + ", (int)k->c.out_room->at) : "";
    cg_line(cg, "%s *const piece = reinterpret_cast<%s *>(smem + %s%s * %d);", type, type, behind,
            warp, (int)k->c.out_room->share);
    cg_line(cg, "%s *const to = piece + (%slane_m * %d%s + %s);", type, own, row,
            pair_of(k, "lane_m"), column);
}

/* The warp's buffer, and where the thread's outputs begin in it and in memory.  */
static void place_staging(Kernel *k) {
    Cg *cg = k->cg;
    int vec = k->l->vec, line = line_of(k);
    const char *type = cg_type(k->c.p->con.acc), *at = reader(k);
    define_slices(k, type);
    if (hides_reader(k)) cg_line(cg, "const int id = rl_hidden(%s);", at);
    if (keeps_columns(k)) {
        cg_line(cg, "const %s *const from = %s;", type,
                staging_start(k, cg_text(cg, "(unsigned)%s", at)));
        store_position(k, AX_M, cg_text(cg, "m0 + row + (int)(%s / %du)", at, line),
                       cg_text(cg, "i * TM + s * %d", readers_of(k) / line));
        store_position(k, AX_N, cg_text(cg, "n0 + col + (int)(%s %% %du * %d)", at, line, vec),
                       NULL);
    } else {
        const char *down = cg_text(cg, "(int)(u / %du)", line);
        const char *along = cg_text(cg, "(int)(u %% %du * %d)", line, vec);
        store_position(k, AX_M, "m0 + row", cg_text(cg, "i * TM + %s", down));
        store_position(k, AX_N, "n0 + col", along);
        if (!unrolls_turns(k)) return;
        store_turns(k, &(Turns){.loop = cg_text(cg, "int s = 0; s < %d; s++", turns_of(k)),
                                .count = cg_text(cg, "%d", turns_of(k)),
                                .turn = "s",
                                .head = turn_number(k),
                                .part = {down, along},
                                .rest = "i * TM",
                                .array = cg_text(cg, "const %s *from", type),
                                .fill = cg_text(cg, "from[s] = %s;", staging_start(k, "u"))});
    }
}

int mma_open_rows(Kernel *k, bool sums) {
    enum { BOX_SCOPES = 3 };
    int rows = k->c.matrix.tiles[AX_M];
    k->at.open = 0;
    k->at.turns = (Turns){0};
    if (k->c.r->via == VIA_BOXES) {
        ring_open_boxes(k);
        return BOX_SCOPES;
    }
    mma_place_outputs(k);
    if (sums) sums_pointers(k);
    else store_pointers(k);
    open_loop(k, "i", rows, 1, rows == 1);
    if (rows > 1 && double_buffered(k))   /* who writes to a buffer has read the one in between */
        cg_line(k->cg, "const int turn = i %% 2 * %d;",
                elements(k, k->c.out_room->apart));
    int open = k->at.open;
    k->at.open = 0;
    return open;
}

void mma_open_vectors(Kernel *k, bool sums) {
    Cg *cg = k->cg;
    if (k->c.r->via == VIA_BOXES) {
        ring_open_box(k);
        return;
    }
    int count = staging_rows(k) * line_of(k);
    open_loop(k, "s", turns_of(k), 1, unrolls_turns(k));
    bool counted = !keeps_columns(k) && !k->at.turns.loop, ragged = count % readers_of(k) != 0;
    if (ragged || counted) cg_line(cg, "%s", turn_number(k));
    if (ragged) {
        cg_open(cg, "if (u < %du)", (unsigned)count);
        k->at.open++;
    }
    cg_line(cg, "const %s m = %s;", place_along(k, AX_M), store_at(k, AX_M));
    open_inside(k, AX_M);
    stats_rows(k);
    cg_line(cg, "const %s n = %s;", place_along(k, AX_N), store_at(k, AX_N));
    open_inside(k, AX_N);
    read_staging(k);
    if (!sums) elements_indices(k);
}

void mma_place_outputs(Kernel *k) {
    cg_scope(k->cg);
    k->at.open = 1;
    if (k->c.r->via == VIA_SHARED && !k->at.walk) place_staging(k);
    else place_direct(k);
}

const char *mma_element(const Kernel *k, const char *v) {
    if (k->c.r->via == VIA_SHARED && !k->at.walk) {
        int width = staging_width(k);
        return cg_text(k->cg, "value[%s / %d].v[%s %% %d]", v, width, v, width);
    }
    const Fragment *f = &k->c.matrix.results;
    const char *slot = fragment_slot_number(k->cg, f, "f", "g");
    if (fragment_run(f, FRAG_COL) == 1) return cg_text(k->cg, "acc[i][j][%s]", slot);
    return cg_text(k->cg, "acc[i][j][%s + %s]", slot, v);
}
