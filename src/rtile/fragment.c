#include "rtile/fragment.h"

/* The next digit of its number.  */
static void add_digit(Fragment *f, FragOf from, FragDim to, int extent, int step) {
    f->digit[f->n++] = (FragDigit){from, to, extent, step};
}

/* mma.sync from m8n8 to m16n8: blocks of 8 rows in which four lanes share a row, each with
 * neighbouring columns; a lane's registers take the blocks below each other, then those beside them
 * (PTX ISA, "Matrix Fragments for mma.m16n8k16" and the sections for other shapes).  */
static Fragment blocks_of_eight(int rows, int cols, int neighbours, int per_register) {
    enum { LANE_ROWS = 8, LANE_COLS = 4 };
    int width = LANE_COLS * neighbours;
    Fragment f = {.digit = {{FRAG_LANE, FRAG_COL, LANE_COLS, neighbours},
                            {FRAG_LANE, FRAG_ROW, LANE_ROWS, 1},
                            {FRAG_SLOT, FRAG_COL, neighbours, 1},
                            {FRAG_SLOT, FRAG_ROW, rows / LANE_ROWS, LANE_ROWS}},
                  .n = 4,
                  .per_register = per_register};
    if (cols > width) add_digit(&f, FRAG_SLOT, FRAG_COL, cols / width, width);
    return f;
}

/* m8n8k4 of f16: lanes 4 q .. 4 q + 3 and 16 + those are group q, which takes rows q % 2 of operand
 * a and rows q / 2 of b.  A lane has four neighbours, along k or, in the forms for operands that
 * lie across, along the rows (PTX ISA, "Matrix Fragments for mma.m8n8k4 with .f16 floating point
 * type").  */
static Fragment operand_of_groups(FragRole role, FragDim inner) {
    enum { QUAD = 4, ROWS = 8 };
    FragDim across = inner == FRAG_COL ? FRAG_ROW : FRAG_COL;
    return (Fragment){.digit = {{FRAG_LANE, across, QUAD, 1},
                                {FRAG_LANE, FRAG_ROW, 2, role == FRAG_A ? ROWS : 0},
                                {FRAG_LANE, FRAG_ROW, 2, role == FRAG_B ? ROWS : 0},
                                {FRAG_LANE, FRAG_ROW, 2, QUAD},
                                {FRAG_SLOT, inner, QUAD, 1}},
                      .n = 5,
                      .per_register = 2};
}

static Fragment results_of_groups(TeDtype type) {
    if (type == TE_F16)
        return (Fragment){.digit = {{FRAG_LANE, FRAG_ROW, 4, 1},
                                    {FRAG_LANE, FRAG_ROW, 2, 8},
                                    {FRAG_LANE, FRAG_COL, 2, 8},
                                    {FRAG_LANE, FRAG_ROW, 2, 4},
                                    {FRAG_SLOT, FRAG_COL, 8, 1}},
                          .n = 5,
                          .per_register = 2};
    return (Fragment){.digit = {{FRAG_LANE, FRAG_ROW, 2, 1},
                                {FRAG_LANE, FRAG_COL, 2, 2},
                                {FRAG_LANE, FRAG_ROW, 2, 8},
                                {FRAG_LANE, FRAG_COL, 2, 8},
                                {FRAG_LANE, FRAG_ROW, 2, 4},
                                {FRAG_SLOT, FRAG_COL, 2, 1},
                                {FRAG_SLOT, FRAG_ROW, 2, 2},
                                {FRAG_SLOT, FRAG_COL, 2, 4}},
                      .n = 8,
                      .per_register = 1};
}

bool fragment_has_orders(const ComputeUnit *u) {
    return u->a == TE_F16 && u->m.from == 8 && u->n.from == 8 && u->k.from == 4;
}

FragShape fragment_shape(const ComputeUnit *u) {
    int groups = fragment_has_orders(u) ? 2 : 1;      /* along a side */
    return (FragShape){groups * u->m.from, groups * u->n.from, u->k.from};
}

typedef struct {
    int rows, cols, per;      /* per: elements of a register */
} TileOf;

static TileOf tile_of(const ComputeUnit *u, FragRole role) {
    enum { REGISTER = 4 };
    TeDtype type = role == FRAG_A ? u->a : role == FRAG_B ? u->b : u->acc;
    int bytes = te_dtype_bytes(type);
    return (TileOf){role == FRAG_B ? u->n.from : u->m.from,
                    role == FRAG_RESULT ? u->n.from : u->k.from,
                    bytes < REGISTER ? REGISTER / bytes : 1};
}

Fragment fragment_of(const ComputeUnit *u, FragRole role, FragDim inner) {
    enum { RESULTS = 2 };
    if (fragment_has_orders(u))
        return role == FRAG_RESULT ? results_of_groups(u->acc) : operand_of_groups(role, inner);
    TileOf t = tile_of(u, role);
    return blocks_of_eight(t.rows, t.cols, role == FRAG_RESULT ? RESULTS : t.per, t.per);
}

int fragment_registers(const ComputeUnit *u, FragRole role) {
    TileOf t = tile_of(u, role);
    if (!fragment_has_orders(u)) return t.rows * t.cols / (WARP * t.per);
    Fragment f = fragment_of(u, role, FRAG_COL);
    return fragment_slots(&f, FRAG_DIMS) / f.per_register;
}

/* PTX ISA, "Scaling factor A fragment" and "B": rows r and r + 8 of a tile of a are in the first or
 * the last two lanes of group r, as thread-id-a says, column c of a tile of b in the lane that
 * thread-id-b says.  So one register has two tiles of 16 rows, or four of 8 columns.  Of tcgen05
 * "Scale factor layout": row r is in lane r modulo 32.  */
Fragment fragment_of_scales(const ComputeUnit *u) {
    enum { GROUPS = 8, IN_GROUP = 4 };
    if (u->tmem)
        return (Fragment){.digit = {{FRAG_LANE, FRAG_ROW, FRAG_SCALE_ROWS, 1}},
                          .n = 1,
                          .per_register = FRAG_SCALES};
    return (Fragment){.digit = {{FRAG_LANE, FRAG_ROW, IN_GROUP, GROUPS},
                                {FRAG_LANE, FRAG_ROW, GROUPS, 1}},
                      .n = 2,
                      .per_register = FRAG_SCALES};
}

/* PTX ISA, "Register Fragments and Shared Memory Matrix Layouts" of wgmma; of tcgen05 "Data Path
 * Layout D", whose rows a warp loads 16 at a time ("Matrix fragments for shape .16x256b").  */
enum { SHARE_WARPS = 4, SHARE_REGISTER = 4 };

static int in_register(TeDtype type) {
    int bytes = te_dtype_bytes(type);
    return bytes < SHARE_REGISTER ? SHARE_REGISTER / bytes : 1;
}

Fragment fragment_of_share(const ComputeUnit *u, int n) {
    enum { RESULTS = 2 };
    return blocks_of_eight(u->m.from / SHARE_WARPS, n, RESULTS, in_register(u->acc));
}

Fragment fragment_of_operand_share(const ComputeUnit *u) {
    return blocks_of_eight(u->m.from / SHARE_WARPS, u->k.from, in_register(u->a),
                           in_register(u->a));
}

Fragment fragment_transposed(Fragment f) {
    for (int i = 0; i < f.n; i++) f.digit[i].to = f.digit[i].to == FRAG_ROW ? FRAG_COL : FRAG_ROW;
    return f;
}

/* ---- threads ---- */

/* Lanes, a bit to either side, which moves that by the step of its own.  */
static void add_lanes(Fragment *f, const int lanes[FRAG_DIMS], const int step[FRAG_DIMS]) {
    int n[FRAG_DIMS] = {1, 1};
    while (n[FRAG_ROW] * n[FRAG_COL] < WARP) {
        bool full = n[FRAG_ROW] >= lanes[FRAG_ROW];
        bool to = n[FRAG_COL] < lanes[FRAG_COL] && (n[FRAG_COL] <= n[FRAG_ROW] || full);
        add_digit(f, FRAG_LANE, to ? FRAG_COL : FRAG_ROW, 2, n[to] * step[to]);
        n[to] *= 2;
    }
}

static void add_elements(Fragment *f, FragDim dim, FragThreads x) {
    add_digit(f, FRAG_SLOT, dim, x.vec, 1);
    add_digit(f, FRAG_SLOT, dim, x.elements / x.vec, x.lanes * x.vec);
}

Fragment fragment_of_threads(FragThreads rows, FragThreads cols) {
    Fragment f = {.per_register = 1};
    add_lanes(&f, (int[]){rows.lanes, cols.lanes}, (int[]){rows.vec, cols.vec});
    add_elements(&f, FRAG_COL, cols);
    add_elements(&f, FRAG_ROW, rows);
    return f;
}

Fragment fragment_read_by_threads(FragThreads rows, FragThreads cols, FragDim side, int k) {
    Fragment f = {.per_register = 1};
    bool along_cols = side == FRAG_COL;
    add_lanes(&f, (int[]){rows.lanes, cols.lanes},
              (int[]){along_cols ? 0 : rows.vec, along_cols ? cols.vec : 0});
    for (int i = 0; i < f.n && along_cols; i++) f.digit[i].to = FRAG_ROW;
    if (k > 1) add_digit(&f, FRAG_SLOT, FRAG_COL, k, 1);
    add_elements(&f, FRAG_ROW, along_cols ? cols : rows);
    return f;
}

/* ---- what follows ---- */

/* Different places along a side, or in all, of the numbers of lanes or slots.  */
static int extent(const Fragment *f, FragOf from, FragDim to) {
    int n = 1;
    for (const FragDigit *x = f->digit; x < f->digit + f->n; x++) {
        if (x->step && x->from == from && (to == FRAG_DIMS || x->to == to)) n *= x->extent;
    }
    return n;
}

int fragment_slots(const Fragment *f, FragDim dim) { return extent(f, FRAG_SLOT, dim); }
int fragment_lanes(const Fragment *f, FragDim dim) { return extent(f, FRAG_LANE, dim); }

int fragment_run(const Fragment *f, FragDim dim) {
    int run = 1, before;
    do {
        before = run;
        for (const FragDigit *d = f->digit; d < f->digit + f->n; d++)
            if (d->from == FRAG_SLOT && d->to == dim && d->step == run) run *= d->extent;
    } while (run > before);
    return run;
}

bool fragment_below(const Fragment *f, int i, int j) {
    const FragDigit *x = &f->digit[i], *y = &f->digit[j];
    if (x->from != y->from || x->to != y->to) return false;
    return x->step != y->step ? x->step < y->step : i < j;
}

bool fragment_follows(const Fragment *f, FragDim dim) {
    const FragDigit *first = f->digit;
    while (first->from == FRAG_LANE) first++;
    int run = fragment_run(f, dim);
    return run == 1 || (first->to == dim && first->step == 1 && first->extent == run);
}

int fragment_lane_bits(const Fragment *f, FragDim dim) {
    int bits = 0, below = 1;
    for (const FragDigit *x = f->digit; below < WARP; x++) {
        if (x->to == dim && x->step) bits |= (x->extent - 1) * below;
        below *= x->extent;
    }
    return bits;
}

void fragment_at(const Fragment *f, int lane, int slot, int at[FRAG_DIMS]) {
    int left[] = {lane, slot};
    at[FRAG_ROW] = at[FRAG_COL] = 0;
    for (const FragDigit *x = f->digit; x < f->digit + f->n; x++) {
        int n = left[x->from], above = n < x->extent ? 0 : n / x->extent;
        at[x->to] += (n - above * x->extent) * x->step;
        left[x->from] = above;
    }
}

/* Digit by digit, for lanes that differ in the next one alone differ by its step.  */
void fragment_of_lanes(const Fragment *f, int slot, int at[WARP][FRAG_DIMS]) {
    int n = 1;
    fragment_at(f, 0, slot, at[0]);
    for (const FragDigit *d = f->digit; n < WARP; d++) {
        for (int i = n; i < n * d->extent; i++) {
            at[i][FRAG_ROW] = at[i - n][FRAG_ROW];
            at[i][FRAG_COL] = at[i - n][FRAG_COL];
            at[i][d->to] += d->step;
        }
        n *= d->extent;
    }
}

/* ---- from product to product ---- */

enum { MOST_HELD = 4 * FRAG_MOST_K };

/* What lane 0 holds in k columns of a fragment's tiles side by side: numbers row by row of those
 * columns, ascending.  Returns how many.  Any other lane holds as many, all of them as far from
 * these as its first one is.  */
static int held(const Fragment *f, int k, int out[MOST_HELD]) {
    int slots = fragment_slots(f, FRAG_DIMS), n = 0, at[FRAG_DIMS];
    int width = fragment_slots(f, FRAG_COL) * fragment_lanes(f, FRAG_COL);
    for (int slot = 0; slot < slots; slot++) {
        fragment_at(f, 0, slot, at);
        for (int column = at[FRAG_COL]; column < k; column += width) {
            int number = at[FRAG_ROW] * k + column, x = n++;
            for (; x > 0 && out[x - 1] > number; x--) out[x] = out[x - 1];
            out[x] = number;
        }
    }
    return n;
}

typedef struct {
    int n, number[MOST_HELD], lane[WARP][FRAG_DIMS];
} Held;

static void held_by_lanes(const Fragment *f, int k, Held *out) {
    out->n = held(f, k, out->number);
    fragment_of_lanes(f, 0, out->lane);
}

static int held_at(const Held *x, int lane, int i, int k) {
    return x->number[i] + x->lane[lane][FRAG_ROW] * k + x->lane[lane][FRAG_COL];
}

/* Pairs k of the operand with columns of the results, row by row of what a lane has.  */
static bool pair(const Held *results, const Held *operand, int lane, int k,
                 int order[FRAG_MOST_K]) {
    for (int i = 0; i < results->n; i++) {
        int has = held_at(results, lane, i, k), wants = held_at(operand, lane, i, k);
        int *at = &order[wants % k], column = has % k;
        if (has / k != wants / k || (*at >= 0 && *at != column)) return false;
        *at = column;
    }
    return true;
}

int fragment_passes(const Fragment *results, const Fragment *operand, int order[FRAG_MOST_K]) {
    const Fragment *const f[2] = {results, operand};
    int k[2], rows[2];
    for (int i = 0; i < 2; i++) {
        k[i] = fragment_slots(f[i], FRAG_COL) * fragment_lanes(f[i], FRAG_COL);
        rows[i] = fragment_slots(f[i], FRAG_ROW) * fragment_lanes(f[i], FRAG_ROW);
    }
    int both = k[0] > k[1] ? k[0] : k[1];
    if (both % k[0] || both % k[1] || both > FRAG_MOST_K || rows[0] != rows[1]) return 0;
    for (int i = 0; i < 2; i++)
        if (fragment_slots(f[i], FRAG_DIMS) * (both / k[i]) > MOST_HELD) return 0;
    Held x[2];
    for (int i = 0; i < 2; i++) held_by_lanes(f[i], both, &x[i]);
    if (x[0].n != x[1].n) return 0;
    for (int i = 0; i < both; i++) order[i] = -1;
    for (int lane = 0; lane < WARP; lane++)
        if (!pair(&x[0], &x[1], lane, both, order)) return 0;
    return both;
}

/* ---- orders ---- */

int fragment_column(const FragOrder *o, int place) {
    int column = 0;
    for (int i = 0; i < o->n; i++, place /= o->extent[i - 1])
        column += place % o->extent[i] * o->step[i];
    return column + place * o->period;
}

/* Halves a period where its upper half follows the lower one in the same order.  */
static int shortest_period(const int *column, int n) {
    while (n > 1) {
        for (int i = 0; i < n / 2; i++)
            if (column[n / 2 + i] != column[i] + n / 2) return n;
        n /= 2;
    }
    return n;
}

/* Digits of two, those joined that go on by the same step.  */
static FragOrder order_of(const int *column, int period) {
    FragOrder o = {.period = period};
    for (int below = 1; below < period; below *= 2) {
        int last = o.n - 1;
        if (last >= 0 && column[below] == o.step[last] * o.extent[last]) {
            o.extent[last] *= 2;
            continue;
        }
        o.extent[o.n] = 2;
        o.step[o.n++] = column[below];
    }
    return o;
}

bool fragment_order(const Fragment *results, const Fragment *operand, FragOrder *out) {
    int order[FRAG_MOST_K], column[FRAG_MOST_K];
    int n = fragment_passes(results, operand, order);
    if (n == 0 || (n & (n - 1))) return false;
    for (int k = 0; k < n; k++) column[order[k]] = k;
    *out = order_of(column, shortest_period(column, n));
    for (int i = 0; i < n; i++)
        if (fragment_column(out, i) != column[i]) return false;
    return true;
}

/* As much of a digit of places as one digit of the order has; none has what is whole periods.  */
static FragDigit part_of(const FragOrder *o, FragDigit d) {
    int below = 1, i = 0;
    while (i < o->n && d.step >= below * o->extent[i]) below *= o->extent[i++];
    if (i == o->n) return d;
    int most = below * o->extent[i] / d.step;
    if (d.extent > most) d.extent = most;
    d.step = d.step / below * o->step[i];
    return d;
}

Fragment fragment_ordered(const Fragment *f, FragDim dim, const FragOrder *o) {
    Fragment out = {.per_register = f->per_register};
    for (const FragDigit *x = f->digit; x < f->digit + f->n; x++) {
        FragDigit left = *x;
        do {
            FragDigit part = x->to == dim ? part_of(o, left) : left;
            out.digit[out.n++] = part;
            left.extent /= part.extent;
            left.step *= part.extent;
        } while (left.extent > 1);
    }
    return out;
}

FragOrder fragment_places(const FragOrder *o) {
    FragOrder out = {.period = o->period};
    for (int at = 1; out.n < o->n; at *= out.extent[out.n++]) {
        int i = 0, below = 1;
        while (o->step[i] != at) below *= o->extent[i++];
        out.extent[out.n] = o->extent[i];
        out.step[out.n] = below;
    }
    return out;
}

bool fragment_parts(const FragOrder *o, int *beside, int *every) {
    enum { WITHIN, ACROSS, PARTS, DIGITS };
    if (o->n != DIGITS) return false;
    *beside = o->extent[WITHIN];
    *every = *beside * o->extent[PARTS];
    return o->step[WITHIN] == 1 && o->step[PARTS] == *beside && o->step[ACROSS] == *every;
}

FragOrder fragment_spread(const FragOrder *o, int n) {
    FragOrder out = *o;
    out.extent[1] *= n / o->period;
    out.period = n;
    return out;
}

FragOrder fragment_spread_lane(const FragOrder *o, int n) {
    int times = n / o->period, beside = o->extent[0], parts = o->extent[2];
    return (FragOrder){.extent = {beside, parts, times},
                       .step = {1, beside * times, beside},
                       .n = 3,
                       .period = beside * parts * times};
}
