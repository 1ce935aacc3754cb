#include "rtile/fragment.h"

/* mma.sync from m8n8 to m16n8: blocks of 8 rows in which four lanes share a row, each with
 * neighbouring columns; a lane's registers take the blocks below each other, then those beside them
 * (PTX ISA, "Matrix Fragments for mma.m16n8k16" and the sections for other shapes).  */
static Fragment blocks_of_eight(int rows, int cols, int neighbours, int per_register) {
    enum { LANE_ROWS = 8, LANE_COLS = 4 };
    int width = LANE_COLS * neighbours;
    Fragment f = {.lane = {{FRAG_COL, LANE_COLS, neighbours}, {FRAG_ROW, LANE_ROWS, 1}},
                  .slot = {{FRAG_COL, neighbours, 1}, {FRAG_ROW, rows / LANE_ROWS, LANE_ROWS}},
                  .per_register = per_register};
    if (cols > width) f.slot[2] = (FragDigit){FRAG_COL, cols / width, width};
    return f;
}

/* m8n8k4 of f16: lanes 4 q .. 4 q + 3 and 16 + those are group q, which takes rows q % 2 of operand
 * a and rows q / 2 of b.  A lane has four neighbours, along k or, in the forms for operands that
 * lie across, along the rows (PTX ISA, "Matrix Fragments for mma.m8n8k4 with .f16 floating point
 * type").  */
static Fragment operand_of_groups(FragRole role, FragDim inner) {
    enum { QUAD = 4, ROWS = 8 };
    FragDim across = inner == FRAG_COL ? FRAG_ROW : FRAG_COL;
    int low = role == FRAG_A ? ROWS : 0, high = role == FRAG_B ? ROWS : 0;
    return (Fragment){.lane = {{across, QUAD, 1},
                               {FRAG_ROW, 2, low},
                               {FRAG_ROW, 2, high},
                               {FRAG_ROW, 2, QUAD}},
                      .slot = {{inner, QUAD, 1}},
                      .per_register = 2};
}

static Fragment results_of_groups(TeDtype type) {
    if (type == TE_F16)
        return (Fragment){
            .lane = {{FRAG_ROW, 4, 1}, {FRAG_ROW, 2, 8}, {FRAG_COL, 2, 8}, {FRAG_ROW, 2, 4}},
            .slot = {{FRAG_COL, 8, 1}},
            .per_register = 2};
    return (Fragment){.lane = {{FRAG_ROW, 2, 1},
                               {FRAG_COL, 2, 2},
                               {FRAG_ROW, 2, 8},
                               {FRAG_COL, 2, 8},
                               {FRAG_ROW, 2, 4}},
                      .slot = {{FRAG_COL, 2, 1}, {FRAG_ROW, 2, 2}, {FRAG_COL, 2, 4}},
                      .per_register = 1};
}

bool fragment_has_orders(const ComputeUnit *u) {
    return u->a == TE_F16 && u->m.from == 8 && u->n.from == 8 && u->k.from == 4;
}

FragShape fragment_shape(const ComputeUnit *u) {
    int groups = fragment_has_orders(u) ? 2 : 1;      /* along a side */
    return (FragShape){groups * u->m.from, groups * u->n.from, u->k.from};
}

Fragment fragment_of(const ComputeUnit *u, FragRole role, FragDim inner) {
    enum { REGISTER = 4, RESULTS = 2 };
    if (fragment_has_orders(u))
        return role == FRAG_RESULT ? results_of_groups(u->acc) : operand_of_groups(role, inner);
    TeDtype type = role == FRAG_A ? u->a : role == FRAG_B ? u->b : u->acc;
    int rows = role == FRAG_B ? u->n.from : u->m.from;
    int cols = role == FRAG_RESULT ? u->n.from : u->k.from, bytes = te_dtype_bytes(type);
    int per = bytes < REGISTER ? REGISTER / bytes : 1;
    return blocks_of_eight(rows, cols, role == FRAG_RESULT ? RESULTS : per, per);
}

/* PTX ISA, "Register Fragments and Shared Memory Matrix Layouts" of wgmma.  */
enum { SHARE_ROWS = 16, SHARE_REGISTER = 4 };

static int in_register(TeDtype type) {
    int bytes = te_dtype_bytes(type);
    return bytes < SHARE_REGISTER ? SHARE_REGISTER / bytes : 1;
}

Fragment fragment_of_share(const ComputeUnit *u, int n) {
    enum { RESULTS = 2 };
    return blocks_of_eight(SHARE_ROWS, n, RESULTS, in_register(u->acc));
}

Fragment fragment_of_operand_share(const ComputeUnit *u) {
    return blocks_of_eight(SHARE_ROWS, u->k.from, in_register(u->a), in_register(u->a));
}

static void transpose(FragDigit digit[FRAG_DIGITS]) {
    for (int i = 0; i < FRAG_DIGITS; i++)
        digit[i].dim = digit[i].dim == FRAG_ROW ? FRAG_COL : FRAG_ROW;
}

Fragment fragment_transposed(Fragment f) {
    transpose(f.lane);
    transpose(f.slot);
    return f;
}

static int count(const FragDigit digit[FRAG_DIGITS], FragDim dim) {
    int n = 1;
    for (int i = 0; i < FRAG_DIGITS && digit[i].extent; i++)
        n *= digit[i].step && (dim == FRAG_DIMS || digit[i].dim == dim) ? digit[i].extent : 1;
    return n;
}

int fragment_slots(const Fragment *f, FragDim dim) { return count(f->slot, dim); }

int fragment_lanes(const Fragment *f, FragDim dim) { return count(f->lane, dim); }

int fragment_run(const Fragment *f, FragDim dim) {
    const FragDigit *first = &f->slot[0];
    return first->dim == dim && first->step == 1 ? first->extent : 1;
}

int fragment_lane_bits(const Fragment *f, FragDim dim) {
    int bits = 0, below = 1;
    for (int i = 0; i < FRAG_DIGITS && f->lane[i].extent; i++) {
        if (f->lane[i].dim == dim && f->lane[i].step) bits |= (f->lane[i].extent - 1) * below;
        below *= f->lane[i].extent;
    }
    return bits;
}

static void add(const FragDigit digit[FRAG_DIGITS], int number, int at[FRAG_DIMS]) {
    for (int i = 0; i < FRAG_DIGITS && digit[i].extent; i++) {
        at[digit[i].dim] += number % digit[i].extent * digit[i].step;
        number /= digit[i].extent;
    }
}

void fragment_at(const Fragment *f, int lane, int slot, int at[FRAG_DIMS]) {
    at[FRAG_ROW] = at[FRAG_COL] = 0;
    add(f->lane, lane, at);
    add(f->slot, slot, at);
}

/* Digit by digit, for lanes that differ in the next one alone differ by its step.  */
void fragment_of_lanes(const Fragment *f, int slot, int at[FRAG_LANES][FRAG_DIMS]) {
    int n = 1;
    fragment_at(f, 0, slot, at[0]);
    for (const FragDigit *d = f->lane; n < FRAG_LANES; d++) {
        for (int i = n; i < n * d->extent; i++) {
            at[i][FRAG_ROW] = at[i - n][FRAG_ROW];
            at[i][FRAG_COL] = at[i - n][FRAG_COL];
            at[i][d->dim] += d->step;
        }
        n *= d->extent;
    }
}
