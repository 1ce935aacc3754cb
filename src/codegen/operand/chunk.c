#include "codegen/operand/address.h"
#include "codegen/block/product.h"
#include "te/tree/arith.h"

/* Which chunks of a tile a thread loads, and where in shared memory they go.  */

/* What chunk i has of a quantity that is known for `n` chunks, as a value or an array, and grows by
 * `step` (NULL: not) from one n to the next.  */
static Ir known_for(const Kernel *k, const Side *s, Ir known, int n, Ir step) {
    const Cg *cg = k->cg;
    Ir i = k->var.i, j = k->var.j, each = ir_int(cg, n), turn = i;
    if (n > 1 && k->group % n == 0 && k->group > 0) {
        known = ir_element(cg, known, k->group > n ? ir_rem(cg, j, each) : j);
        turn = ir_add(cg, ir_div(cg, k->var.g, each), ir_div(cg, j, each));
    } else if (n > 1) {
        known = ir_element(cg, known, s->per_thread > n ? ir_rem(cg, i, each) : i);
        turn = ir_div(cg, i, each);
    }
    return step && s->per_thread > n ? ir_add(cg, known, ir_mul(cg, turn, step)) : known;
}

Ir chunk_periodic(const Kernel *k, const Side *s, Ir known, Ir step) {
    return known_for(k, s, known, s->period, step);
}

static Ir number_of(const Kernel *k, int64_t step) { return step ? ir_int(k->cg, step) : NULL; }

Ir address_mn(const Kernel *k, const Side *s) {
    return chunk_periodic(k, s, operand_at(k, s)->mn, number_of(k, s->step_mn));
}

Ir address_k(const Kernel *k, const Side *s) {
    return chunk_periodic(k, s, operand_at(k, s)->k, number_of(k, s->step_k));
}

Ir address_own(const Kernel *k, const Side *s) {
    return ir_add(k->cg, product_loads_from(k, s), address_mn(k, s));
}

/* ---- shared memory ---- */

/* Rows along the operand's own axis that are wider than a box go on in the next one.  */
static Ir in_boxes(const Kernel *k, const Side *s, Ir e, Ir *down) {
    const Cg *cg = k->cg;
    Ir around = ir_int(cg, s->span / s->elem);
    if (!s->l->team || s->boxes == 1) return e;
    Ir box = ir_mul(cg, ir_div(cg, e, around), ir_int(cg, s->box_bytes / s->elem));
    *down = ir_add(cg, *down, box);
    return ir_rem(cg, e, around);
}

/* The lowest bit that a swizzle may flip, of a position in a row.  */
static int lowest_flipped(const Side *s) {
    int log_elem = s->elem == 1 ? 0 : s->elem == 2 ? 1 : s->elem == 4 ? 2 : 3;
    return s->l->layout.base + 4 - log_elem;
}

Ir address_tile(const Kernel *k, const Side *s, Ir mn, Ir kk) {
    const Cg *cg = k->cg;
    const RLayout *l = &s->l->layout;
    mn = fragment_column_at(cg, &s->places, mn);
    Ir r = s->inner_k ? mn : kk, e = s->inner_k ? kk : mn;
    Ir down = ir_mul(cg, r, operand_at(k, s)->row);
    e = in_boxes(k, s, e, &down);
    if (l->bits == 0) return ir_add(cg, down, e);
    Ir bits = ir_binary(cg, IR_AND, ir_binary(cg, IR_SHR, r, ir_int(cg, l->shift)),
                        ir_int(cg, (1 << l->bits) - 1));
    bits = ir_binary(cg, IR_SHL, bits, ir_int(cg, lowest_flipped(s)));
    return ir_add(cg, down, ir_binary(cg, IR_XOR, e, bits));
}

/* What a period of chunks advances by, across the rows of the tile or along them.  */
static int step_across(const Side *s) { return s->inner_k ? s->step_mn : s->step_k; }
static int step_inside(const Side *s) { return s->inner_k ? s->step_k : s->step_mn; }

/* Steps after which a swizzle flips the same bits in the same way again, and rows lie in the same
 * order; both are powers of two.  */
static int64_t period_of_places(const Side *s, bool across) {
    const RLayout *l = &s->l->layout;
    int64_t flips = l->bits == 0 ? 1 : (int64_t)1 << l->bits << (across ? l->shift
                                                                       : lowest_flipped(s));
    return across && s->places.period > flips ? s->places.period : flips;
}

/* For how many chunks targets are known: those of the periods after which places are the same.  */
static int target_count(const Side *s) {
    bool across = step_across(s) != 0;
    int64_t again = period_of_places(s, across);
    if (again == 1 || s->per_thread == s->period) return s->period;
    int64_t n = s->period * (again / gcd64(across ? step_across(s) : step_inside(s), again));
    return n < s->per_thread ? (int)n : s->per_thread;
}

int chunk_group(const Side *s, int known) {
    enum { LEAST = 8, TURNS = 3 };
    int n = target_count(s), size;
    n = n / (int)gcd64(n, known) * known;
    for (size = n; size < LEAST;) size += n;
    return s->per_thread >= TURNS * size && s->per_thread % size == 0 ? size : 0;
}

Ir address_chunk(const Kernel *k, const Side *s) {
    int n = target_count(s), step = step_across(s) * s->row + step_inside(s);
    return known_for(k, s, operand_at(k, s)->to, n, number_of(k, (int64_t)step * (n / s->period)));
}

/* ---- chunks of a thread ---- */

Ir chunk_declare(Kernel *k, const Side *s, IrBase base, const char *name, int n) {
    const char *own = product_name(k->cg, s, name);
    return n == 1 ? NULL : ir_array(k->cg, ir_type(base), own, n, 0, 0);
}

Ir chunk_put(Kernel *k, const Side *s, IrBase base, Ir all, const char *name, Ir value) {
    if (!all) return ir_let_as(k->cg, base, product_name(k->cg, s, name), value);
    ir_set(k->cg, ir_element(k->cg, all, k->var.i), value);
    return all;
}

/* Opens a loop over the chunks of one period, if there are several.  */
void chunk_open_period(Kernel *k, int n) {
    if (n > 1) ir_count_of(k->cg, k->var.i, n, IR_UNROLL_ALL);
}

void chunk_close_period(Kernel *k, int n) {
    if (n > 1) ir_close(k->cg);
}

/* The thread's chunk i: of a ring's team by its number there.  */
static Ir chunk_at(const Kernel *k, const Side *s, bool first) {
    const Cg *cg = k->cg;
    Ir tid = k->var.tid, threads = k->var.threads;
    if (s->l->team > 0) {
        tid = ir_sub(cg, tid, ir_int(cg, contract_turns(k->c)->fill.first * WARP));
        threads = ir_int(cg, s->loaders);
    }
    return first ? tid : ir_add(cg, tid, ir_mul(cg, k->var.i, threads));
}

static Ir chunk_number(const Kernel *k, const Side *s) { return chunk_at(k, s, s->period == 1); }

void chunk_split(const Kernel *k, const Side *s, Ir number, Ir *mn, Ir *kk) {
    const Cg *cg = k->cg;
    bool along_k = s->l->along == AX_K;
    Ir line = ir_number(cg, IR_U32, s->line);
    *(along_k ? mn : kk) = ir_div(cg, number, line);
    *(along_k ? kk : mn) = ir_mul_n(cg, ir_rem(cg, number, line), s->l->vec);
}

/* The slower one is put first: a compiler (NVRTC 12.9 for sm_70) tells the orders apart.  */
static void positions(Kernel *k, const Side *s) {
    OperandAt *x = operand_at(k, s);
    bool along_k = s->l->along == AX_K;
    Ir at[2];
    x->mn = chunk_declare(k, s, IR_I32, "mn", s->period);
    x->k = chunk_declare(k, s, IR_I32, "k", s->period);
    chunk_open_period(k, s->period);
    chunk_split(k, s, chunk_number(k, s), &at[0], &at[1]);
    for (int i = 0; i < 2; i++) {
        bool of_k = along_k == (i == 1);
        Ir *to = of_k ? &x->k : &x->mn;
        *to = chunk_put(k, s, IR_I32, *to, of_k ? "k" : "mn", at[of_k]);
    }
    chunk_close_period(k, s->period);
}

static void targets(Kernel *k, const Side *s) {
    OperandAt *x = operand_at(k, s);
    int n = target_count(s);
    x->to = chunk_declare(k, s, IR_I32, "to", n);
    chunk_open_period(k, n);
    Ir to = n == 1 ? address_tile(k, s, x->mn, x->k)
                   : address_tile(k, s, address_mn(k, s), address_k(k, s));
    x->to = chunk_put(k, s, IR_I32, x->to, "to", to);
    chunk_close_period(k, n);
}

void chunk_places(Kernel *k, const Side *s) {
    positions(k, s);
    targets(k, s);
}

Ir address_live(const Kernel *k, const Side *s) {
    const Cg *cg = k->cg;
    if (s->chunks % s->loaders == 0) return NULL;
    return ir_lt(cg, chunk_at(k, s, false), ir_int(cg, s->chunks));
}
