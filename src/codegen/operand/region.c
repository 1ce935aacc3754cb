#include "codegen/operand/address.h"
#include "codegen/block/product.h"

/* The region of an operand: copied to shared memory before the first step, gathered from there.
 * Places are in bytes.  <a or b>_row[]: of rows of the warp's tile, for the lane; the table: of
 * k.  */

enum { ENTRY = 4, AT_ONCE = 8 };

static char upper(const Side *s) { return (char)(s->id - 32); }

void region_constants(Kernel *k, const Side *s) {
    int places = (int)rprog_room_at(k->l->layout, ROOM_PLACES, s->side);
    cg_line(k->cg, "constexpr int %c_REGION = %d, %c_PLACES = %d, %c_LINE = %d;", upper(s),
            (int)s->room->at, upper(s), places, upper(s), s->region.row);
}

/* ---- before the first step ---- */

/* Subscript d of the region's first element.  */
static const char *first_of(Kernel *k, const Side *s, int d, const Ir *own) {
    const Access *x = &s->o->access;
    const Ir *batch = k->chunks[s->side].batch;
    Ir sum = address_combine(k, x, d, (AxisPlace){&k->c.p->con.axis[s->own], own, false}, NULL);
    if (batch)
        sum = address_combine(k, x, d, (AxisPlace){&k->c.p->con.axis[AX_B], batch, false}, sum);
    return ir_string_sum(k->cg, address_plus_number(k->cg, sum, x->sub[d].c));
}

/* Defines where the region begins: the pointer, and subscripts that may be outside.  */
static void begin(Kernel *k, const Side *s, const Ir *own) {
    Cg *cg = k->cg;
    const Access *x = &s->o->access;
    const RRegion *g = &s->region;
    Ir sum =
        address_combine(k, x, OFFSET, (AxisPlace){&k->c.p->con.axis[s->own], own, true}, NULL);
    address_batch(k, s, address_plus_number(cg, sum, x->offset.c - g->shift));
    for (int d = 0; d <= g->line; d++) {
        if (!(g->tested >> d & 1)) continue;
        const char *at = first_of(k, s, d, own);
        if (d == g->line && g->stride > 1) at = cg_text(cg, "(%s) * %d", at, (int)g->stride);
        Ir whole = text_index(cg, at, false);
        if (d == g->line) whole = address_plus_number(cg, whole, -(int64_t)g->shift);
        at = ir_string_sum(cg, whole);
        cg_line(cg, "const int p%d = %s;", d, at);
    }
}

/* The chunk's place in the tensor, as an offset from the first element; prints digits of the
 * line.  */
static const char *chunk_offset(Kernel *k, const Side *s, const char **test) {
    Cg *cg = k->cg;
    const RRegion *g = &s->region;
    const TeTensor *t = &k->c.te->tensor[s->o->access.tensor];
    const char *sum = "x";
    int below = 1;
    *test = NULL;
    for (int d = g->line; d >= 0; d--) {
        bool last = d == g->line;
        const char *at = "x";
        if (!last) {
            at = g->extent[d] > 1 ? cg_text(cg, "g%d", d) : "0";
            if (g->extent[d] > 1) {
                const char *x = below > 1 ? cg_text(cg, "line / %du", below) : "line";
                bool top = below * g->extent[d] == g->lines;
                cg_line(cg, "const int g%d = %s%s;", d, x,
                        top ? "" : cg_text(cg, " %% %du", (int)g->extent[d]));
                sum =
                    cg_text(cg, "%s + g%d * %s", sum, d, text_int(cg, TE_I64, t->stride[d].value));
            }
            below *= g->extent[d];
        }
        if (!(g->tested >> d & 1)) continue;
        TeExtent bound = last ? size_number(g->bound) : t->shape[d];
        *test = both(cg, *test, text_inside(cg, cg_text(cg, "p%d + %s", d, at), bound, false));
    }
    return sum;
}

static void copy_chunks(Kernel *k, const Side *s) {
    Cg *cg = k->cg;
    const RRegion *g = &s->region;
    const char *test, *type = cg_storage(s->o->storage);
    int per = g->row / g->vec, vec = g->vec;
    cg_line(cg, "#pragma unroll %d", AT_ONCE);
    cg_open(cg, "for (int i = tid; i < %d; i += THREADS)", per * g->lines);
    cg_line(cg, "const unsigned line = i / %du;", per);
    cg_line(cg, "const int x = i %% %du%s;", per, vec > 1 ? cg_text(cg, " * %d", vec) : "");
    const char *from = cg_text(cg, "%c_src + (%s)", s->id, chunk_offset(k, s, &test));
    const char *to = cg_text(cg, "(line * %c_LINE + x) * %d", upper(s), s->elem);
    if (rprog_copies_chunks(s->l)) {
        cg_line(cg, "%s(shared + %c_REGION + %s, %s, %s);", load_function(k, s), upper(s),
                to, from, test ? test : "true");
    } else {
        cg_line(cg, "rl_vec<%s, %d> v%s;", type, vec, test ? " = {}" : "");
        cg_line(cg, "%s%s%sv = rl_load<%d>(%s);", test ? "if (" : "", test ? test : "",
                test ? ") " : "", vec, from);
        cg_line(cg, "rl_store<%d>(reinterpret_cast<%s *>(smem + %c_REGION + %s), v.v);", vec, type,
                upper(s), to);
    }
    cg_close(cg);
}

static void fill_zeros(Kernel *k, const Side *s) {
    Cg *cg = k->cg;
    const char *type = cg_storage(s->o->storage);
    if (s->region_zeros == 0) return;
    cg_open(cg, "for (int i = tid; i < %d; i += THREADS)", s->region_zeros);
    cg_line(cg, "reinterpret_cast<%s *>(smem + %c_REGION)[%d + i] = 0;", type, upper(s),
            s->region.lines * s->region.row);
    cg_close(cg);
}

static void fill_table(Kernel *k, const Side *s) {
    Cg *cg = k->cg;
    const RRegion *g = &s->region;
    const FusedAxis *axis = &k->c.p->con.axis[AX_K];
    Ir digit[TE_MAX_INDICES], sum = NULL;
    int entries = rprog_region_entries(k->c.p, k->c.r);
    cg_open(cg, "for (int i = tid; i < %d; i += THREADS)", entries);
    address_digits(k, axis, product_name(cg, s, "k"), ir_cast(cg, IR_U32, product_int(cg, "i")),
                   false, digit);
    for (int i = 0; i < axis->n_digit; i++) {
        Ir at = axis->n_digit == 1 ? product_int(cg, "i") : digit[i];
        if (g->step_k[i]) sum = ir_sum(cg, sum, ir_mul(cg, at, ir_int(cg, g->step_k[i])));
    }
    const char *place = ir_string_sum(cg, address_plus_number(cg, sum, g->shift));
    if (s->region_zeros)
        place = cg_text(cg, "i < K ? %s : %d", place, g->lines * g->row);
    cg_line(cg, "reinterpret_cast<int *>(smem + %c_PLACES)[i] = (%s) * %d;", upper(s), place,
            s->elem);
    cg_close(cg);
}

/* Rows of a block: those along which lanes lie.  */
static int block_rows(const Side *s) { return fragment_lanes(&s->fragment, FRAG_ROW); }

/* Rows of which a lane keeps the place: the first of each group of blocks, or of all that a thread
 * has.  */
static int row_count(const Kernel *k, const Side *s) {
    if (k->c.matrix.used) return k->c.r->warp.extent[s->own] / block_rows(s) / s->region_group;
    return s->region_straight ? 1 : s->thread;
}

/* Row i of those in the block's tile.  */
static const char *row_at(const Kernel *k, const Side *s) {
    const Cg *cg = k->cg;
    const char *pos = s->side ? "col" : "row", axis = s->side ? 'N' : 'M';
    if (k->c.matrix.used)
        return cg_text(cg, "%s + (int)(%s) + i * %d", pos,
                       ir_string(cg, fragment_lane_place(cg, &s->fragment, FRAG_ROW, 1)),
                       s->region_group * block_rows(s));
    if (s->vec == 1) return cg_text(cg, "%s + i * L%c", pos, axis);
    return cg_text(cg, "%s + i / V%c * (L%c * V%c) + i %% V%c", pos, axis, axis, axis, axis);
}

static void row_places(Kernel *k, const Side *s, const char *first) {
    Cg *cg = k->cg;
    const RRegion *g = &s->region;
    cg_line(cg, "#pragma unroll");
    cg_open(cg, "for (int i = 0; i < %d; i++)", row_count(k, s));
    cg_line(cg, "const unsigned at = %s%s%s;", g->whole ? first : "", g->whole ? " + " : "",
            row_at(k, s));
    if (!g->whole) {
        cg_line(cg, "%c_row[i] = %c_REGION + (int)at * %d;", s->id, upper(s), g->step_in * s->elem);
    } else {
        cg_line(cg, "%c_row[i] = %c_REGION + (int)(at %% %du) * %d + (int)(at / %du) * %d;", s->id,
                upper(s), g->count_in, g->step_in * s->elem, g->count_in, g->step_out * s->elem);
    }
    cg_close(cg);
}

void region_load(Kernel *k, const Side *s) {
    Cg *cg = k->cg;
    const RRegion *g = &s->region;
    const FusedAxis *own = &k->c.p->con.axis[s->own];
    Ir digit[TE_MAX_INDICES] = {ir_int(cg, 0)};
    const char *first = "0";
    cg_line(cg, "// region: operand %c, %d lines of %d elements, each once", s->id, (int)g->lines,
            (int)g->row);
    cg_line(cg, "int %c_row[%d], %c_places = %c_PLACES;", s->id, row_count(k, s), s->id, upper(s));
    cg_scope(cg);
    address_digits(k, own, product_name(cg, s, "mn"), product_first(k, s->own),
                   address_axis_wide(k, s->own), digit);
    if (g->whole) {
        first = cg_text(cg, "(unsigned)%s", ir_string(cg, digit[own->n_digit - 1]));
        digit[own->n_digit - 1] = ir_int(cg, 0);
    }
    begin(k, s, digit);
    copy_chunks(k, s);
    fill_zeros(k, s);
    fill_table(k, s);
    row_places(k, s, first);
    cg_close(cg);
    cg_blank(cg);
}

void region_advance(Kernel *k, const Side *s) {
    Cg *cg = k->cg;
    ir_update(cg, IR_ADD, product_own(cg, s, "places"),
              ir_mul(cg, product_size(k, 'B', AX_K), ir_int(cg, ENTRY)));
}

/* ---- fragments ---- */

/* A register of `per` elements: they are read `pair` at a time from row + the places at `from`.  */
static const char *joined(const Kernel *k, const Side *s, const char *row, int per) {
    const Cg *cg = k->cg;
    int pair = s->region.pair, bytes = pair * s->elem;
    const char *type = bytes == 8 ? "double" : bytes == 4 ? "unsigned"
                     : bytes == 2 ? "unsigned short" : "unsigned char";
    const char *sum = NULL;
    for (int i = 0; i < per / pair; i++) {
        const char *x = cg_text(cg, "*reinterpret_cast<const %s *>(smem + %s + from.v[%d])", type,
                                row, i * pair);
        if (per > pair) x = cg_text(cg, "(unsigned)%s", x);
        if (i > 0) x = cg_text(cg, "%s << %d", x, i * bytes * 8);
        sum = sum ? cg_text(cg, "%s | %s", sum, x) : x;
    }
    return sum;
}

void region_fetch_mma(Kernel *k, const Side *s, const char *kk, const char *buffer) {
    Cg *cg = k->cg;
    const Fragment *x = &s->fragment;
    int rows = fragment_slots(x, FRAG_ROW), per = x->per_register;
    int registers = fragment_slots(x, FRAG_COL) / per, entries = per > s->region.pair ? per : 1;
    int blocks = k->c.r->warp.extent[s->own] / block_rows(s);
    const char *own = k->c.warps[AX_K] > 1 ? "k_warp + " : "";
    cg_line(cg, "#pragma unroll");
    cg_open(cg, "for (int g = 0; g < %d; g++)", registers);
    cg_line(cg, "const rl_vec<int, %d> from = rl_load<%d>(reinterpret_cast<const int *>(smem + "
            "%c_places) + %s%s + g * %d + %s);", entries, entries, s->id, own, kk,
            fragment_lanes(x, FRAG_COL) * per,
            ir_string_sum(cg, fragment_lane_place(cg, x, FRAG_COL, 1)));
    cg_line(cg, "#pragma unroll");
    cg_open(cg, "for (int f = 0; f < %d; f++)", blocks);
    const char *row = cg_text(cg, "%c_row[f / %d]", s->id, s->region_group);
    if (s->region_group > 1)
        row = cg_text(cg, "%s + f %% %d * %d", row, s->region_group,
                      block_rows(s) * s->region.step_in * s->elem);
    cg_line(cg, "%c_frag[%s][f / %d * %d + g * %d + f %% %d] = %s;", s->id, buffer, rows,
            s->registers, rows, rows, joined(k, s, row, per));
    cg_close(cg);
    cg_close(cg);
}

const char *region_element(const Kernel *k, const Side *s) {
    const Cg *cg = k->cg;
    const char *row = cg_text(cg, "%c_row[i]", s->id);
    if (s->region_straight) {
        char axis = s->side ? 'N' : 'M';
        const char *i = s->vec == 1
                            ? cg_text(cg, "i * L%c", axis)
                            : cg_text(cg, "(i / V%c * (L%c * V%c) + i %% V%c)", axis, axis, axis,
                                      axis);
        row = cg_text(cg, "%c_row[0] + %s * %d", s->id, i, s->region.step_in * s->elem);
    }
    return cg_text(cg, "*reinterpret_cast<const %s *>(smem + %s + from)", cg_storage(s->tile), row);
}
