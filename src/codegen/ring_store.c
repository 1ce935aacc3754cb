#include "codegen/blocks.h"
#include "te/tree/arith.h"

/* Blocks that stay for several tiles, and outputs that leave them by boxes: each lane puts what it
 * holds where the store's tensor map expects it, and one lane of the warp has the box stored.  */

/* ---- tiles ---- */

void ring_open_tiles(Kernel *k, bool in_turn) {
    Cg *cg = k->cg;
    const char *all = place_tiles(k);
    if (in_turn) {
        cg_line(cg, "const unsigned team = warp / %du;", rprog_team(cg->dev, k->c.r));
        cg_line(cg, "unsigned from = team * steps;");
    } else {
        cg_line(cg, "unsigned from = 0;");
    }
    const char *by = in_turn ? "2 * " : "";
    cg_line(cg, "#pragma unroll 1");
    cg_open(cg, "for (unsigned number = blockIdx.x%s; number < %s; number += %sGRID, "
            "from += %ssteps)", in_turn ? " + team * GRID" : "", all, by, by);
}

/* ---- boxes ---- */

static int elem_of(const Kernel *k) {
    return te_dtype_bytes(k->cg->te->tensor[k->c.out_tensor].dtype);
}

/* Columns of a box, and how many of them a lane holds.  */
static int columns_of(const Kernel *k) { return k->c.box_row / elem_of(k); }

static int slots_of(const Kernel *k) {
    return fragment_slots(&k->c.matrix.results, FRAG_COL) / k->c.boxes;
}

void ring_store_map(Arena *a, const Contract *c, KernelMap *map) {
    enum { SPAN = 16 };
    int swizzle = TM_SWIZZLE_NONE;
    RBox box;
    Access x;
    rprog_out_box(c->p, &box, &x);
    for (int span = SPAN; span < c->box_row; span *= 2) swizzle++;
    *map = ring_map(a, c->p, &x, &box);
    map->fixed.swizzle = swizzle;
    for (int i = 0; i < c->out.rank; i++) {
        bool rows = c->out.dim[i].axis == AX_M;
        map->fixed.box[i] = i == 0 ? (uint32_t)(c->box_row / tensor_map_element(&map->fixed))
                            : rows ? (uint32_t)(c->out_room->bytes / c->box_row) : 1;
    }
}

/* The lane's place in a box of its first row and column, with the chunks of 16 bytes moved as the
 * swizzle does: by the row's number within 1024 bytes, of which rows of 64 bytes share one, ...  */
static const char *lane_place(const Kernel *k) {
    int row = k->c.box_row, down = row == 128 ? 0 : row == 64 ? 1 : 2;
    const Cg *cg = k->cg;
    const char *moved = down ? cg_text(cg, "lane_m >> %d", down) : "lane_m";
    if (row < 128) moved = cg_text(cg, "(%s & %d)", moved, row / 16 - 1);
    return cg_text(cg, "lane_m * %d + ((%s) * 16 ^ lane_n * %d)", row, moved, elem_of(k));
}

void ring_open_boxes(Kernel *k) {
    Cg *cg = k->cg;
    const Contract *c = &k->c;
    const Fragment *f = &c->matrix.results;
    cg_scope(cg);
    cg_line(cg, "constexpr int OUTPUTS = %d, BOX = %d, BOXES = %d;  // bytes: to boxes, of one, of "
            "those of a warp", (int)c->out_room->at, (int)c->out_room->bytes,
            (int)c->out_room->share);
    cg_line(cg, "const int lane_at = %s;", lane_place(k));
    cg_line(cg, "const int box_at = OUTPUTS + (int)warp * BOXES;");
    store_position(k, AX_M, "m0 + row + lane_m",
                   cg_text(cg, "i * TM + %s", fragment_slot_place(cg, f, FRAG_ROW, "f")));
    store_position(k, AX_N, "n0 + col + lane_n",
                   cg_text(cg, "c * %d + %s", columns_of(k),
                           fragment_slot_place(cg, f, FRAG_COL, "h")));
    cg_line(cg, "#pragma unroll");
    cg_open(cg, "for (int i = 0; i < IM; i++)");
    cg_line(cg, "#pragma unroll");
    cg_open(cg, "for (int c = 0; c < %d; c++)", c->boxes);
    cg_line(cg, "const int box = box_at + (i * %d + c) %% %d * BOX;", c->boxes, c->out_room->slots);
}

static void open_loop(Kernel *k, const char *name, int n, int by) {
    cg_line(k->cg, "#pragma unroll");
    cg_open(k->cg, "for (int %s = 0; %s < %d; %s += %d)", name, name, n, name, by);
    k->at.open++;
}

/* What lies outside is not stored; it may not be evaluated either.  */
static void open_inside(Kernel *k, AxisClass axis) {
    if (k->c.p->multiple[axis] % k->c.r->block.extent[axis] == 0) return;
    cg_open(k->cg, "if (%c < %c)", axis == AX_M ? 'm' : 'n', axis == AX_M ? 'M' : 'N');
    k->at.open++;
}

void ring_open_box(Kernel *k) {
    Cg *cg = k->cg;
    const Fragment *f = &k->c.matrix.results;
    open_loop(k, "f", fragment_slots(f, FRAG_ROW), 1);
    cg_line(cg, "const %s m = %s;", place_along(k, AX_M), store_at(k, AX_M));
    open_inside(k, AX_M);
    open_loop(k, "h", slots_of(k), k->l->vec);
    cg_line(cg, "constexpr int j = 0;");
    cg_line(cg, "const int g = c * %d + h;", slots_of(k));
    cg_line(cg, "const %s n = %s;", place_along(k, AX_N), store_at(k, AX_N));
    open_inside(k, AX_N);
    elements_indices(k);
}

const char *ring_box_place(const Kernel *k, const char *type) {
    const Cg *cg = k->cg;
    const Fragment *f = &k->c.matrix.results;
    const char *down = fragment_slot_place(cg, f, FRAG_ROW, "f");
    const char *along = fragment_slot_place(cg, f, FRAG_COL, "h");
    return cg_text(cg, "reinterpret_cast<%s *>(smem + box + (%s) * %d + (lane_at ^ (%s) * %d))",
                   type, down, k->c.box_row, along, elem_of(k));
}

/* One lane has the box stored, whose rows and columns outside the tensor are left out.  */
void ring_put(Kernel *k) {
    Cg *cg = k->cg;
    const char *at = "";
    for (int i = 0; i < k->c.out.rank; i++) {
        const RBoxDim *d = &k->c.out.dim[i];
        const char *x = d->axis == AX_N ? cg_text(cg, "n0 + col + c * %d", columns_of(k))
                        : d->axis == AX_M ? "m0 + row + i * TM" : ring_batch(k, d);
        at = cg_text(cg, "%s, %s", at, x);
    }
    cg_line(cg, "if (lane == 0) rl_box_put_%d(&map2, shared + box%s);", k->c.out.rank, at);
}
