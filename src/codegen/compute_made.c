#include "codegen/blocks.h"
#include "codegen/prelude.h"

/* Products of warpgroups that take their first operand from registers, which are made of what lies
 * in the stage as in memory: a lane reads all that it has of a step, and evaluates the operand's
 * expression slice by slice, while products of the slices before are under way.
 *
 * Of side x, by its letter: x_lane, the byte in a tile where the lane begins; x_o<j>[i][h], what
 * the expression reads beside at row h of the lane in instruction tile i; x_raw[slice][i][f], what
 * register f is made of; x_made[slice][i][f], the register.  */

static const Side *side_of(const Kernel *k) { return &k->c.side[k->c.r->swapped]; }

static int tiles_of(const Kernel *k) { return k->c.matrix.tiles[side_of(k)->own]; }

static int registers_of(const Side *s) {
    return fragment_slots(&s->fragment, FRAG_DIMS) / s->fragment.per_register;
}

/* The slot that register f begins with.  */
static const char *first_slot(const Kernel *k, const Side *s) {
    int per = s->fragment.per_register;
    return per > 1 ? cg_text(k->cg, "f * %d", per) : "f";
}

static const char *down_of(const Kernel *k, const Side *s) {
    const Fragment *f = &s->fragment;
    return fragment_place_of(k->cg, f, FRAG_ROW, cg_text(k->cg, "(%s)", first_slot(k, s)),
                             f->per_register, 1);
}

static const char *along_of(const Kernel *k, const Side *s) {
    const Fragment *f = &s->fragment;
    return fragment_place_of(k->cg, f, FRAG_COL, cg_text(k->cg, "(%s)", first_slot(k, s)),
                             f->per_register, 1);
}

/* Rows of the tile where the warp's part of the first instruction, and the lane in it, begin.  */
static const char *lane_row(const Side *s) { return s->side ? "col + lane_n" : "row + lane_m"; }

void made_tile(Kernel *k, const Side *s) {
    Cg *cg = k->cg;
    const RLayout *y = &s->l->layout;
    const char *row = lane_row(s);
    const char *at = fragment_lane_place(cg, &s->fragment, FRAG_COL, s->elem);
    const char *moved = s->side ? "lane_n" : "lane_m";
    if (y->shift) moved = cg_text(cg, "(%s >> %d)", moved, y->shift);
    if (s->raw.pack > 1) at = cg_text(cg, "(%s) / %d", at, s->raw.pack);
    cg_line(cg, "const int %c_lane = (%s) * %d + ((%s) ^ (%s & %d) << 4);", s->id, row, s->span, at,
            moved, (1 << y->bits) - 1);
    cg_line(cg, "unsigned %c_made[WK / TK][%d][%d];", s->id, tiles_of(k), registers_of(s));
}

/* ---- what is read beside ---- */

static bool moves(const Kernel *k, const TeExpr *read) {
    const FusedAxis *x = &k->c.p->con.axis[AX_K];
    uint32_t indices = 0;
    for (int i = 0; i < x->n; i++) indices |= 1u << x->index[i];
    return (access_uses(read) & indices) != 0;
}

/* The first k of the step.  */
static const char *first_k(const Kernel *k) {
    return k->c.sliced ? "(first + taken) * BK" : "taken * BK";
}

static void read_beside(Kernel *k, const Side *s, int j, bool declares) {
    Cg *cg = k->cg;
    const TeExpr *read = s->raw.other[j];
    const Fragment *f = &s->fragment;
    CgPoint at = {.cg = cg, .stmt = k->c.root};
    bool wide = place_wide(s->whole, s->extent), wide_k = place_wide(k->c.p->extent[AX_K], 0);
    const char letter = s->side ? 'n' : 'm', *to = cg_text(cg, "%c_o%d[i][h]", s->id, j);
    int rows = fragment_slots(f, FRAG_ROW);
    if (declares)
        cg_line(cg, "%s %c_o%d[%d][%d];", cg_type(read->type), s->id, j, tiles_of(k), rows);
    cg_line(cg, "#pragma unroll");
    cg_open(cg, "for (int i = 0; i < %d; i++)", tiles_of(k));
    cg_line(cg, "#pragma unroll");
    cg_open(cg, "for (int h = 0; h < %d; h++)", rows);
    cg_line(cg, "const %s at_own = %c0 + %s + i * %d + %s;", place_type(wide), letter, lane_row(s),
            s->thread, fragment_slot_place(cg, f, FRAG_ROW, "h"));
    bool tested = k->c.own_ragged[s->side];
    if (tested) {
        cg_line(cg, "%s = 0;", to);
        cg_open(cg, "if (at_own < %c)", s->side ? 'N' : 'M');
    }
    place_axis(k, AX_B, text_index(cg, "b", false), false, at.index, at.wide);
    place_axis(k, (int)s->own, text_index(cg, "at_own", wide), wide, at.index, at.wide);
    if (moves(k, read)) {
        cg_line(cg, "const %s at_k = %s;", place_type(wide_k), first_k(k));
        place_axis(k, AX_K, text_index(cg, "at_k", wide_k), wide_k, at.index, at.wide);
    }
    cg_line(cg, "%s = %s;", to, text_expr(&at, read, read->type));
    if (tested) cg_close(cg);
    cg_close(cg);
    cg_close(cg);
}

void made_beside(Kernel *k, bool of_step) {
    const Side *s = side_of(k);
    for (int j = 0; j < s->raw.n && s->l->raw; j++)
        if (moves(k, s->raw.other[j]) == of_step) read_beside(k, s, j, true);
}

/* ---- a step ---- */

/* Bytes as they are become two registers at once, k and k of the other half.  */
static bool widens(const Kernel *k, const Side *s) {
    return s->o->read && cg_widen(k->cg, k->c.matrix.unit->a, s->raw.storage) != NULL;
}

void made_read(Kernel *k) {
    Cg *cg = k->cg;
    const Side *s = side_of(k);
    bool words = widens(k, s);
    int pack = s->raw.pack, per = words ? 1 : s->fragment.per_register / pack;
    int around = s->span / s->elem;
    int slices = k->c.r->block.extent[AX_K] / k->c.r->thread.extent[AX_K];
    const char *type = words ? "unsigned short" : cg_storage(s->raw.storage), *down = down_of(k, s);
    const char *along = cg_text(cg, "kk * TK + %s", along_of(k, s));
    if (pack > 1) along = cg_text(cg, "(%s) / %d", along, pack);
    const char *box = s->boxes > 1 ? cg_text(cg, " + (%s) / %d * %d", along, around,
                                             s->span * s->extent) : "";
    cg_line(cg, "// read: what the operand is made of");
    cg_line(cg, "const unsigned char *const %c_from = smem + stage * STAGE + %c_TILE;",
            s->id, s->id - 32);
    cg_line(cg, "rl_vec<%s, %d> %c_raw[%d][%d][%d];", type, per, s->id, slices, tiles_of(k),
            registers_of(s));
    cg_line(cg, "#pragma unroll");
    cg_line(cg, "for (int kk = 0; kk < %d; kk++)", slices);
    cg->depth++;
    cg_line(cg, "#pragma unroll");
    cg_line(cg, "for (int i = 0; i < %d; i++)", tiles_of(k));
    cg->depth++;
    cg_line(cg, "#pragma unroll");
    cg_line(cg, "for (int f = 0; f < %d; f++)", registers_of(s));
    cg_line(cg, "    %c_raw[kk][i][f] = rl_load<%d>(reinterpret_cast<const %s *>(", s->id, per,
            type);
    cg_line(cg, "        %c_from + (%c_lane ^ (%s) %% %d * %d) + (i * %d + %s) * %d%s));", s->id,
            s->id, along, around, s->elem, s->thread, down, s->span, box);
    cg->depth -= 2;
}

static void widen(Kernel *k, const Side *s) {
    Cg *cg = k->cg;
    int half = registers_of(s) / 2;
    cg_open(cg, "for (int f = 0; f < %d; f++)", half);
    cg_line(cg, "unsigned x[2];");
    cg_line(cg, "%s(x, %c_raw[kk / TK][i][f].v[0] | (unsigned)%c_raw[kk / TK][i][f + %d].v[0] << 16"
            ");", cg_widen(cg, k->c.matrix.unit->a, s->raw.storage), s->id, s->id, half);
    cg_line(cg, "%c_made[kk / TK][i][f] = x[0];", s->id);
    cg_line(cg, "%c_made[kk / TK][i][f + %d] = x[1];", s->id, half);
    cg_close(cg);
}

static void evaluate(Kernel *k, const Side *s) {
    Cg *cg = k->cg;
    CgGiven given[RTILE_CHUNK_READS + 1];
    CgPoint at = {.cg = cg, .stmt = k->c.root, .given = given, .n_given = s->raw.n + 1};
    int per = s->fragment.per_register, rows = fragment_slots(&s->fragment, FRAG_ROW);
    TeDtype type = k->c.matrix.unit->a;
    bool pairs = per == 2;
    const TeExpr *e = s->o->expr;
    bool real = te_dtype_class(type) != TE_CLASS_INT;
    if (real && e->kind == TE_CAST && e->store == type) e = e->args[0];       /* rounded below */
    const char *which = s->raw.pack > 1 ? cg_text(cg, "v / %d", s->raw.pack) : "v";
    const char *element = cg_text(cg, "%c_raw[kk / TK][i][f].v[%s]", s->id, which);
    const FusedAxis *along = &k->c.p->con.axis[AX_K];
    at.index[along->index[along->n - 1]] =
        text_index(cg, "v", false); /* among those that share an element */
    given[0] = (CgGiven){s->raw.read, text_value(cg, te_dtype_compute(s->raw.storage),
                                                 text_decode(cg, s->raw.storage, element))};
    for (int j = 0; j < s->raw.n; j++)
        given[j + 1] = (CgGiven){s->raw.other[j],
                                 text_value(cg, s->raw.other[j]->type,
                                            cg_text(cg, "%c_o%d[i][f %% %d]", s->id, j, rows))};
    cg_open(cg, "for (int f = 0; f < %d; f++)", registers_of(s));
    cg_line(cg, "%s x[%d];", text_waiting(type, pairs), per);
    cg_line(cg, "#pragma unroll");
    cg_open(cg, "for (int v = 0; v < %d; v++)", per);
    cg_line(cg, "x[v] = %s;", text_wait(cg, type, pairs, e->type, text_expr(&at, e, e->type)));
    cg_close(cg);
    if (pairs) cg_line(cg, "%c_made[kk / TK][i][f] = rl_f32x2_to_%s(x[0], x[1]);", s->id,
                       te_dtype_name(type));
    else if (per == 4) cg_line(cg, "%c_made[kk / TK][i][f] = rl_bytes(x);", s->id);
    else cg_line(cg, "%c_made[kk / TK][i][f] = __float_as_uint(x[0]);", s->id);
    cg_close(cg);
}

void made_make(Kernel *k) {
    Cg *cg = k->cg;
    const Side *s = side_of(k);
    cg_line(cg, "#pragma unroll");
    cg_open(cg, "for (int i = 0; i < %d; i++)", tiles_of(k));
    cg_line(cg, "#pragma unroll");
    if (widens(k, s)) widen(k, s);
    else evaluate(k, s);
    cg_close(cg);
}

void made_products(Kernel *k) {
    Cg *cg = k->cg;
    const Side *a = side_of(k), *b = &k->c.side[!k->c.r->swapped];
    const ComputeUnit *u = k->c.matrix.unit;
    const char *sums = k->c.matrix.promotes ? "part" : mma_accumulators(k);
    cg_line(cg, "rl_wgmma_begin();");
    cg_line(cg, "#pragma unroll");
    cg_line(cg, "for (int i = 0; i < %d; i++)", tiles_of(k));
    cg_line(cg, "    rl_wgmma_m64n%dk%d_%s_%s" PRELUDE_MADE "%s(%s[%s], %c_made[kk / TK][i], "
            "%s);", b->thread, u->k.from, prelude_operand(u), te_dtype_name(u->acc),
            wgmma_orders(k, NULL, b), sums, a->side ? "0][i" : "i][0", a->id, wgmma_slice(k, b));
}
