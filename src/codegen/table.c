#include "codegen/address.h"

/* Tables of positions, for operands whose indices would have to be decoded for many chunks in every
 * step: one entry for each row of the block's tile, made once, and one for each k of a step, made
 * while the step before is loaded.  An entry is an offset and a word of bits.  Each value that the
 * digits of k can give a guarded subscript has a bit: a row marks those that would lie outside,
 * a k marks its own, and the element is inside where no bit meets.  Two more bits are for the ends
 * of the axes.  */

static const unsigned BEYOND_ROWS = 0x80000000u, BEYOND_K = 0x40000000u;

static const char *entry_at(const Kernel *k, const char *table, const char *index) {
    return cg_text(k->cg, "reinterpret_cast<int *>(smem + %s) + (%s) * 2", table, index);
}

void table_constants(Kernel *k, const Side *s) {
    char id = (char)(s->id - 32);
    const Room *table = rprog_room(k->l->layout, ROOM_TABLE, s->side);
    const Room *rows = rprog_room(k->l->layout, ROOM_ROW_TABLE, s->side);
    cg_line(k->cg, "constexpr int %c_KTABLE = %d, %c_KENTRIES = %d;", id, (int)table->at, id,
            s->k_entries);
    if (rows)
        cg_line(k->cg, "constexpr int %c_RTABLE = %d, %c_RENTRIES = %d;", id, (int)rows->at, id,
                s->row_entries);
}

/* ---- rows ---- */

/* Marks, for every value of the digits of k in guarded subscript d, whether it lies outside.  */
static void mark_outside(Kernel *k, const Side *s, int d, const char *const *digit) {
    Cg *cg = k->cg;
    const Access *x = &s->o->access;
    const Affine *f = &x->sub[d];
    const char *const *batch = address_batch_digits(k, s);
    bool wide = address_wide(k, s, d);
    const char *at =
        address_combine(k, x, d, (AxisPlace){address_axis(k, s, s->own), digit, wide}, NULL);
    if (batch)
        at = address_combine(k, x, d, (AxisPlace){address_axis(k, s, AX_B), batch, wide}, at);
    at = address_plus_number(cg, at, f->c);
    const char *index = NULL;
    int loops = 0;
    for (int i = 0; i < s->k_axis.n_digit; i++) {
        int64_t stride = rprog_stride(f, &s->k_axis, i), n = s->k_axis.digit[i].extent;
        if (stride == 0) continue;
        const char *q = cg_text(cg, "q%d", loops++);
        cg_line(cg, "#pragma unroll");
        cg_open(cg, "for (int %s = 0; %s < %d; %s++)", q, q, (int)n, q);
        const char *by = cg_text(cg, "%s%s", wide ? "(long long)" : "", q);
        if (stride != 1) by = cg_text(cg, "%s * %s", by, text_int(cg, TE_I64, stride));
        at = address_plus(cg, at, by);
        index = index ? cg_text(cg, "(%s * %d + %s)", index, (int)n, q) : q;
    }
    cg_line(cg, "if (!(%s)) bits |= 1u << (%d + %s);",
            text_inside(cg, at, k->c.te->tensor[x->tensor].shape[d], wide), s->guard_bit[d],
            index ? index : "0");
    for (; loops > 0; loops--) cg_close(cg);
}

/* The entry of the row or column at global position `at`, into the vector `to`.  */
static void row_entry(Kernel *k, const Side *s, const char *at, const char *to) {
    Cg *cg = k->cg;
    const Access *x = &s->o->access;
    const char *digit[TE_MAX_INDICES];
    const FusedAxis *own = address_axis(k, s, s->own);
    cg_line(cg, "const %s at = %s;", place_type(address_axis_wide(k, s->own)), at);
    address_digits(k, own, cg_text(cg, "%c_mn", s->id), "at", address_axis_wide(k, s->own), digit);
    const char *off = address_combine(k, x, OFFSET, (AxisPlace){own, digit, false}, NULL);
    off = x->c_varies ? text_offset_of(cg, x, 0, off) : address_plus_number(cg, off, x->offset.c);
    cg_line(cg, "unsigned bits = %s0x%xu;",
            k->c.own_ragged[s->side]
                ? cg_text(cg, "(at < %c ? 0u : 0x%xu) | ", s->side ? 'N' : 'M', BEYOND_ROWS)
                : "",
            BEYOND_K);
    for (int d = 0; d < address_rank(k, s); d++) {
        if (x->guard[d]) mark_outside(k, s, d, digit);
    }
    cg_line(cg, "%s.v[0] = %s;", to, off);
    cg_line(cg, "%s.v[1] = (int)bits;", to);
}

static void rows_to_memory(Kernel *k, const Side *s) {
    Cg *cg = k->cg;
    char id = (char)(s->id - 32);
    int vec = s->extent / s->row_entries;
    cg_open(cg, "for (int r = tid; r < %c_RENTRIES; r += THREADS)", id);
    cg_line(cg, "rl_vec<int, 2> entry;");
    row_entry(k, s, cg_text(cg, "%c0 + r * %d", s->side ? 'n' : 'm', vec), "entry");
    cg_line(cg, "rl_store<2>(%s, entry.v);", entry_at(k, cg_text(cg, "%c_RTABLE", id), "r"));
    cg_close(cg);
}

void table_rows(Kernel *k, const Side *s) {
    Cg *cg = k->cg;
    address_batch(k, s, NULL);
    if (s->row_entries > 0) {
        rows_to_memory(k, s);
        return;
    }
    cg_line(cg, "rl_vec<int, 2> %c_row[%d];", s->id, s->period);
    if (s->period == 1) cg_scope(cg);
    chunk_open_period(k, s->period);
    const char *mn = cg_text(cg, s->period == 1 ? "%c_mn" : "%c_mn[i]", s->id);
    row_entry(k, s, cg_text(cg, "%c0 + %s", s->side ? 'n' : 'm', mn),
              cg_text(cg, "%c_row[%s]", s->id, s->period == 1 ? "0" : "i"));
    chunk_close_period(k, s->period);
    if (s->period == 1) cg_close(cg);
}

/* ---- k ---- */

/* Bits of the values that the digits of k give to guarded subscripts.  */
static const char *k_bits(Kernel *k, const Side *s, const char *const *digit) {
    Cg *cg = k->cg;
    const Access *x = &s->o->access;
    const char *bits = cg_text(cg, "0x%xu", BEYOND_ROWS);
    for (int d = 0; d < address_rank(k, s); d++) {
        if (!x->guard[d]) continue;
        const char *index = NULL;
        for (int i = 0; i < s->k_axis.n_digit; i++) {
            if (rprog_stride(&x->sub[d], &s->k_axis, i) == 0) continue;
            int64_t n = s->k_axis.digit[i].extent;
            index = index ? cg_text(cg, "(%s * %d + %s)", index, (int)n, digit[i]) : digit[i];
        }
        bits = cg_text(cg, "%s | 1u << (%d + %s)", bits, s->guard_bit[d], index ? index : "0");
    }
    if (k->c.k_ragged) bits = cg_text(cg, "at < K ? %s : 0x%xu", bits, BEYOND_K);
    return bits;
}

static void next_entries(Kernel *k, const Side *s) {
    Cg *cg = k->cg;
    const char *digit[TE_MAX_INDICES];
    const FusedAxis *axis = address_axis(k, s, AX_K);
    bool wide = address_axis_wide(k, AX_K);
    char id = (char)(s->id - 32);
    int vec = k->c.r->block.extent[AX_K] / s->k_entries;
    if (s->k_entries > k->c.r->threads)
        cg_open(cg, "for (int r = tid; r < %c_KENTRIES; r += THREADS)", id);
    else cg_open(cg, "if (tid < %c_KENTRIES)", id);
    const char *r = s->k_entries > k->c.r->threads ? "r" : "tid";
    cg_line(cg, "const %s at = k_next + %s * %d;", place_type(wide), r, vec);
    address_digits(k, axis, cg_text(cg, "%c_k", s->id), "at", wide, digit);
    const char *off =
        address_combine(k, &s->o->access, OFFSET, (AxisPlace){axis, digit, false}, NULL);
    cg_line(cg, "const int entry[2] = {%s, (int)(%s)};", off ? off : "0", k_bits(k, s, digit));
    cg_line(
        cg, "rl_store<2>(%s, entry);",
        entry_at(k, cg_text(cg, "%c_KTABLE", id), cg_text(cg, "turn * %c_KENTRIES + %s", id, r)));
    cg_close(cg);
}

void table_next(Kernel *k) {
    for (int i = 0; i < 2; i++) {
        if (k->c.side[i].table) next_entries(k, &k->c.side[i]);
    }
}

/* ---- chunks ---- */

static bool one_k(const Side *s) { return s->period == 1 && s->step_k == 0; }

static void read_entry(Kernel *k, const Side *s) {
    Cg *cg = k->cg;
    char id = (char)(s->id - 32);
    int vec = k->c.r->block.extent[AX_K] / s->k_entries;
    const char *index = address_k(k, s);
    if (vec > 1) index = cg_text(cg, "%s / %d", index, vec);
    cg_line(cg, "const rl_vec<int, 2> %c_e = rl_load<2>(%s);", s->id,
            entry_at(k, cg_text(cg, "%c_KTABLE", id),
                     cg_text(cg, "turn * %c_KENTRIES + %s", id, index)));
}

void table_step(Kernel *k, const Side *s) {
    if (one_k(s)) read_entry(k, s);
}

const char *table_source(Kernel *k, const Side *s) {
    Cg *cg = k->cg;
    if (!one_k(s)) read_entry(k, s);
    const char *row = s->period > 1 ? cg_text(cg, "%c_row[i %% %d]", s->id, s->period)
                                    : cg_text(cg, "%c_row[0]", s->id);
    if (s->row_entries > 0) {
        int vec = s->extent / s->row_entries;
        const char *index = address_mn(k, s);
        if (vec > 1) index = cg_text(cg, "%s / %d", index, vec);
        row = entry_at(k, cg_text(cg, "%c_RTABLE", s->id - 32), index);
        row = cg_text(cg, "rl_load<2>(%s)", row);
    }
    cg_line(cg, "const rl_vec<int, 2> %c_r = %s;", s->id, row);
    return cg_text(cg, "%c_src + (%c_r.v[0] + %c_e.v[0])", s->id, s->id, s->id);
}

const char *table_test(const Kernel *k, const Side *s) {
    return cg_text(k->cg, "(%c_r.v[1] & %c_e.v[1]) == 0", s->id, s->id);
}
