#include "codegen/address.h"

Ir place_taken(Kernel *k, IrBase base, Ir at) {
    Cg *cg = k->cg;
    Ir none = ir_call(cg, ir_type(IR_I32), "rl_hidden", 1, ir_int(cg, 0));
    return ir_let_as(cg, base, "take", ir_add(cg, at, none));
}

const char *place_along(const Kernel *k, AxisClass axis) {
    return place_type(place_wide(k->l->p->extent[axis], k->l->r->block.extent[axis]));
}

/* Short bodies of matrix units are unrolled as often as the compiler knows they run at most, told
 * not to or not.  */
static bool hides_steps(const Contract *c, int64_t most) { return c->matrix.used && most > 1; }

static int tile_extent(const RTile *t, int axis) { return t->extent[axis]; }

static void tiles_constants(Kernel *k) {
    TeExtent all = index_grid(k->cg->arena, &k->l->map);
    cg_line(k->cg, "const unsigned GRID = gridDim.x;  // blocks, each of which goes on by so many "
                   "tiles");
    if (all.expr) cg_line(k->cg, "const unsigned all_tiles = %s;", text_number(k->cg, all));
}

void place_constants(Kernel *k) {
    const Contract *c = &k->c;
    const Problem *p = c->p;
    const RProg *r = c->r;
    Cg *cg = k->cg;
    for (int axis = AX_M; axis <= AX_K; axis++) {
        TeExtent e = index_extent(cg->arena, &k->l->map, axis);
        cg_line(cg, "%s %s %c = %s;", e.expr ? "const" : "constexpr",
                place_type(p->extent[axis] > INT32_MAX), "BMNK"[axis], text_number(cg, e));
    }
    cg_line(cg, "constexpr int BM = %d, BN = %d, BK = %d;  // tile of a block in one k-step",
            tile_extent(&r->block, AX_M), tile_extent(&r->block, AX_N),
            tile_extent(&r->block, AX_K));
    cg_line(cg, "constexpr int WM = %d, WN = %d, WK = %d;  // of a warp",
            tile_extent(&r->warp, AX_M), tile_extent(&r->warp, AX_N), tile_extent(&r->warp, AX_K));
    cg_line(cg, "constexpr int TM = %d, TN = %d, TK = %d;  // of %s",
            tile_extent(&r->thread, AX_M), tile_extent(&r->thread, AX_N),
            tile_extent(&r->thread, AX_K), c->matrix.used ? "an instruction" : "a thread");
    if (c->matrix.used) {
        cg_line(cg, "constexpr int IM = %d, IN = %d;  // instructions of a warp",
                c->matrix.tiles[AX_M], c->matrix.tiles[AX_N]);
    } else {
        cg_line(cg, "constexpr int LM = %d, LN = %d;  // lanes of a warp", c->lanes[AX_M],
                c->lanes[AX_N]);
        cg_line(cg, "constexpr int VM = %d, VN = %d;  // neighbouring rows and columns of a thread",
                r->vec_m, r->vec_n);
    }
    cg_line(cg, "constexpr int THREADS = %d, STAGES = %d, STAGE = %d;  // STAGE in bytes",
            r->threads, r->stages, (int)c->layout->ring[0].bytes);
    for (int i = 0; i < 2; i++) {
        const Side *s = &c->side[i];
        if (!s->present) continue;
        if (s->l->region) {
            region_constants(k, s);
            continue;
        }
        cg_line(cg,
                "constexpr int %c_TILE = %d, %c_ROW = %d;  // place in a stage, row of its tile",
                s->id - 32, (int)s->room->at, s->id - 32, s->row);
        if (s->table) table_constants(k, s);
    }
    if (!c->sliced && c->varying_k)
        cg_line(cg, "const int steps = (K + BK - 1) / BK;");
    else if (!c->sliced && hides_steps(c, c->steps))
        cg_line(cg, "const int steps = rl_hidden(%lld);", (long long)c->steps);
    else if (!c->sliced)
        cg_line(cg, "constexpr int steps = %lld;", (long long)c->steps);
    if (c->ring)
        cg_line(cg, "constexpr int BARRIERS = %d;  // bytes to those of stages",
                (int)c->layout->ring[0].at[RING_FULL]);
    if (c->stays) tiles_constants(k);
    kernel_smem(k, c->ring ? 1024 : 128);
    cg_blank(cg);
}

/* A count of tiles: a number, or a name for what is known at run time.  */
static const char *count_name(Kernel *k, const char *name, TeExtent n) {
    if (!n.expr) return cg_text(k->cg, "%lldu", (long long)n.value);
    cg_line(k->cg, "const unsigned %s = %s;", name, text_number(k->cg, n));
    return name;
}

void place_tile(Kernel *k, const char *number) {
    const IndexMap *map = &k->l->map;
    Cg *cg = k->cg;
    TeExtent m = index_tiles(cg->arena, map, AX_M), n = index_tiles(cg->arena, map, AX_N);
    TeExtent batch = index_tiles(cg->arena, map, AX_B);
    const char *tiles_m = count_name(k, "tiles_m", m), *tiles_n = count_name(k, "tiles_n", n);
    bool batched = batch.expr || batch.value > 1;
    if (batched) {
        TeExtent plane = size_times(cg->arena, m, n);
        const char *in_plane = plane.expr ? cg_text(cg, "(%s * %s)", tiles_m, tiles_n)
                                          : cg_text(cg, "%lldu", (long long)plane.value);
        cg_line(cg, "const unsigned tile = %s %% %s;", number, in_plane);
        cg_line(cg, "const int b = %s / %s;", number, in_plane);
    } else {
        cg_line(cg, "const unsigned tile = %s;", number);
    }
    if (map->n_grid > AX_K) {                 /* the last group may have fewer rows */
        long long group = map->grid[map->n_grid - 1].count;
        const char *in_group = n.expr ? cg_text(cg, "(%lldu * %s)", group, tiles_n)
                                      : cg_text(cg, "%lldu", group * (long long)n.value);
        cg_line(cg, "const unsigned top = tile / %s * %lldu, in_group = tile %% %s;", in_group,
                group, in_group);
        if (!m.expr && m.value % group == 0) cg_line(cg, "constexpr unsigned rows = %lldu;", group);
        else cg_line(cg, "const unsigned rows = min(%s - top, %lldu);", tiles_m, group);
        cg_line(cg, "const unsigned tile_m = top + in_group %% rows, tile_n = in_group / rows;");
    } else if (map->grid[map->n_grid - 1].axis == AX_N) {
        cg_line(cg, "const unsigned tile_m = tile / %s, tile_n = tile %% %s;", tiles_n, tiles_n);
    } else {
        cg_line(cg, "const unsigned tile_m = tile %% %s, tile_n = tile / %s;", tiles_m, tiles_m);
    }
    const char *type_m = place_along(k, AX_M), *type_n = place_along(k, AX_N);
    cg_line(cg, "const %s m0 = (%s)tile_m * BM;", type_m, type_m);
    cg_line(cg, "const %s n0 = (%s)tile_n * BN;", type_n, type_n);
}

/* The bits of a lane id that make its position along one side.  */
enum { LANE_BITS = 5 };
static const char *lane_bits(Kernel *k, FragDim side) {
    const char *sum = NULL;
    Fragment f = rprog_results(k->cg->dev, k->c.r);
    for (int bit = 0, out = 0; bit < LANE_BITS; bit++) {
        if (!(fragment_lane_bits(&f, side) >> bit & 1)) continue;
        int down = bit - out;
        const char *term = down ? cg_text(k->cg, "(lane >> %d & %d)", down, 1 << out)
                                : cg_text(k->cg, "(lane & %d)", 1 << out);
        sum = sum ? cg_text(k->cg, "%s | %s", sum, term) : term;
        out++;
    }
    return sum ? sum : "0";
}

static const char *warp_at(Kernel *k, int axis) {
    const int *w = k->c.warps;
    int below = axis == AX_N ? 1 : axis == AX_M ? w[AX_N] : w[AX_N] * w[AX_M];
    below *= rprog_team(k->cg->dev, k->c.r);
    const char *x = below > 1 ? cg_text(k->cg, "warp / %du", below) : "warp";
    if (w[axis] == 1) return "0";
    return axis == AX_K ? x : cg_text(k->cg, "%s %% %du", x, w[axis]);
}

static void thread_place(Kernel *k) {
    Cg *cg = k->cg;
    cg_line(cg, "const int tid = threadIdx.x, lane = tid %% 32u;");
    cg_line(cg, "const unsigned warp = tid / 32u;");
    if (k->c.matrix.used) {
        const Fragment *f = &k->c.matrix.results;
        ir_let_as(cg, IR_I32, "lane_m", fragment_lane_place(cg, f, FRAG_ROW, 1));
        ir_let_as(cg, IR_I32, "lane_n", fragment_lane_place(cg, f, FRAG_COL, 1));
        const char *share[] = {"", ""};
        bool swapped = k->c.r->swapped;
        int part = swapped ? rprog_staging_columns(cg->dev, k->c.r)
                           : rprog_staging_rows(cg->dev, k->c.r);
        if (k->c.ring) share[swapped] = cg_text(cg, " + (int)(warp %% 4u) * %d", part);
        cg_line(cg, "const int row = (int)(%s) * WM%s;", warp_at(k, AX_M), share[0]);
        cg_line(cg, "const int col = (int)(%s) * WN%s;", warp_at(k, AX_N), share[1]);
    } else {
        cg_line(cg, "const int lane_m = %s, lane_n = %s;", lane_bits(k, FRAG_ROW),
                lane_bits(k, FRAG_COL));
        cg_line(cg, "const int row = (int)(%s) * WM + lane_m * VM;", warp_at(k, AX_M));
        cg_line(cg, "const int col = (int)(%s) * WN + lane_n * VN;", warp_at(k, AX_N));
    }
    if (k->c.warps[AX_K] > 1) cg_line(cg, "const int k_warp = (int)(%s) * WK;", warp_at(k, AX_K));
}

static void slice_place(Kernel *k) {
    const Contract *c = &k->c;
    Cg *cg = k->cg;
    bool wide = place_wide(c->p->extent[AX_K], 2 * (int64_t)c->r->block.extent[AX_K]);
    if (!c->sliced) {
        cg_line(cg, "%s k_next = 0;", place_type(wide));
        return;
    }
    if (c->r->tail > 0) {                 /* its k-steps are those of the segment */
        cg_line(cg, "%s k_next = (%s)first * BK;", place_type(wide), place_type(wide));
        return;
    }
    const char *steps = cg_text(cg, "%lld", (long long)c->steps);
    const char *slice = cg_text(cg, "%lld", (long long)c->slice);
    if (c->varying_k) {
        cg_line(cg, "const int all_steps = (K + BK - 1) / BK;");
        cg_line(cg, "const int slice = (all_steps + %d) / %d;", (int)c->r->split - 1,
                (int)c->r->split);
        steps = "all_steps";
        slice = "slice";
    }
    cg_line(cg, "const int first = blockIdx.y * %s;", slice);
    if (hides_steps(c, c->slice)) slice = cg_text(cg, "rl_hidden(%s)", slice);
    cg_line(cg, "const int steps = %smin(%s - first, %s)%s;", c->may_be_empty ? "max(" : "",
            steps, slice, c->may_be_empty ? ", 0)" : "");
    cg_line(cg, "%s k_next = (%s)first * BK;", place_type(wide), place_type(wide));
}

void place_thread(Kernel *k) {
    Cg *cg = k->cg;
    static const char *const raster[] = {"n fastest", "m fastest",
                                         "groups of tile rows, m fastest"};
    cg_line(cg, "// place: tiles of the grid with %s", raster[k->c.r->raster]);
    if (!k->c.stays) place_tile(k, k->c.r->tail > 0 ? "number" : "blockIdx.x");
    thread_place(k);
    if (!k->c.stays) slice_place(k);
    if (k->c.r->stages > 1 && !k->c.ring)
        cg_line(cg, "int put = 0, take = 0;");
    if (k->c.tables) cg_line(cg, "int turn = 0;");
    cg_blank(cg);
}

void place_next(Kernel *k) {
    place_tile(k, "number");
    slice_place(k);
    cg_blank(k->cg);
}

Ir place_tiles(const Kernel *k) {
    const Cg *cg = k->cg;
    TeExtent all = index_grid(cg->arena, &k->l->map);
    if (all.expr) return ir_name(cg, ir_type(IR_U32), "all_tiles");
    return ir_number(cg, IR_U32, all.value);
}

void place_k_now(Kernel *k) {
    Cg *cg = k->cg;
    const char *first = k->c.sliced ? "(first + step)" : "step";
    bool wide = place_wide(k->c.p->extent[AX_K], k->c.r->block.extent[AX_K]);
    cg_line(cg, "const %s k_now = %s%s * BK;", place_type(wide), wide ? "(long long)" : "", first);
}

/* Bytes between the end of a tile and the next one, which no load writes.  The compiler joins reads
 * of narrow neighbours, and then reads these too.  */
static void clear_padding(Kernel *k, const Side *s) {
    Cg *cg = k->cg;
    const RTile *t = &k->c.r->block;
    int64_t rows = s->inner_k ? s->extent : t->extent[AX_K], bytes = rows * s->room->row;
    int rest = (int)(-bytes & 15);
    if (rest == 0 || s->elem >= 4) return;
    cg_line(cg, "#pragma unroll");
    cg_open(cg, "for (int s = 0; s < STAGES; s++)");
    cg_line(cg, "if (tid < %d) smem[s * STAGE + %c_TILE + %lld + tid] = 0;", rest, s->id - 32,
            (long long)bytes);
    cg_close(cg);
}

void clear_accumulators(Kernel *k) {
    Cg *cg = k->cg;
    const Contraction *con = &k->c.p->con;
    if (k->c.ring) {
        wgmma_tiles(k);
        mma_clear(k);
        return;
    }
    if (k->c.matrix.used) {
        mma_clear(k);
    } else {
        k->acc = monoid_declare_tile(cg, con->red, con->acc, k->c.r->thread.extent[AX_M],
                                     k->c.r->thread.extent[AX_N]);
    }
    for (int i = 0; i < 2; i++) {
        const Side *s = &k->c.side[i];
        if (s->present && rprog_waits(s->l)) load_staged_declare(k, s);
    }
    for (int i = 0; i < 2; i++) {
        const Side *s = &k->c.side[i];
        if (s->present && !s->l->region) clear_padding(k, s);
    }
    if (k->c.matrix.used) fragment_mma_declare(k);
    else fragment_declare(k);
    cg_blank(cg);
}
