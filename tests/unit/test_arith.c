/* links: codegen */
/* Index values mean the same however they are simplified: random ones are evaluated as C says, once
 * as they were asked for and once as they were built.  */
#include "base/hash.h"
#include "codegen/ir/ir.h"
#include "codegen/ir/cg.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { POINTS = 8, NAMES = 4 };

typedef struct {
    Cg cg;
    Ir name[NAMES];           /* counters of both widths and of no sign, and what may be negative */
    int64_t at[NAMES][POINTS];
    Rng rng;
} Values;

/* What was asked for: as built, and its values, where C gives it one.  */
typedef struct {
    Ir ir;
    int64_t value[POINTS];
    bool defined[POINTS];
} Asked;

static int setup(void **state) {
    Arena *a = arena_create(NULL);
    if (!a) return -1;
    Values *x = ARENA_NEW(a, Values);
    x->cg = (Cg){.arena = a};
    ir_begin(&x->cg);
    x->name[0] = ir_counter(&x->cg, IR_I32, "i");
    x->name[1] = ir_counter(&x->cg, IR_I64, "at");
    x->name[2] = ir_name(&x->cg, ir_type(IR_U32), "u");
    x->name[3] = ir_name(&x->cg, ir_type(IR_I32), "n");
    x->rng = (Rng){1};
    *state = x;
    return 0;
}

static int teardown(void **state) {
    arena_destroy(((Values *)*state)->cg.arena);
    return 0;
}

/* ---- C ---- */

static int64_t converted(IrType t, int64_t v) { return t.base == IR_U32 ? (uint32_t)v : v; }

static bool computed(IrOp op, int64_t x, int64_t y, int64_t *v) {
    switch (op) {
    case IR_ADD: return !__builtin_add_overflow(x, y, v);
    case IR_SUB: return !__builtin_sub_overflow(x, y, v);
    case IR_MUL: return !__builtin_mul_overflow(x, y, v);
    case IR_DIV: return y != 0 && (*v = x / y, true);
    case IR_REM: return y != 0 && (*v = x % y, true);
    case IR_XOR: *v = x ^ y; return true;
    default: return false;
    }
}

/* false: the program has no meaning there.  */
static bool c_says(IrOp op, IrType type, int64_t x, int64_t y, int64_t *v) {
    if (!computed(op, converted(type, x), converted(type, y), v)) return false;
    *v = converted(type, *v);
    return type.base != IR_I32 || (*v >= INT32_MIN && *v <= INT32_MAX);
}

static bool evaluate(const Values *x, Ir ir, int point, int64_t *v) {
    int64_t a, b;
    *v = ir->i;
    for (int i = 0; i < NAMES && ir->op == IR_NAME; i++)
        if (ir->name == x->name[i]->name) *v = x->at[i][point];
    if (ir->n == 0) return true;
    return evaluate(x, ir->arg[0], point, &a) && evaluate(x, ir->arg[1], point, &b) &&
           c_says(ir->op, ir->type, a, b, v);
}

/* ---- random values ---- */

static void draw_points(Values *x) {
    static const uint32_t most[NAMES] = {1000, 1 << 20, 1, 1000};
    for (int i = 0; i < NAMES; i++) {
        for (int p = 0; p < POINTS; p++) {
            uint32_t any = (uint32_t)rng_next(&x->rng);
            int64_t v = i == 2 ? any : any % most[i];
            x->at[i][p] = i == 3 && rng_below(&x->rng, 2) ? -v : v;
        }
    }
}

static Asked leaf(Values *x) {
    int which = (int)rng_below(&x->rng, 2 * NAMES);
    Asked out = {.ir = which < NAMES ? x->name[which] : NULL};
    int64_t n = 1 + rng_below(&x->rng, 12);
    if (!out.ir) out.ir = ir_number(&x->cg, which % 3 ? IR_I32 : IR_U32, n);
    for (int p = 0; p < POINTS; p++) {
        out.value[p] = which < NAMES ? x->at[which][p] : n;
        out.defined[p] = true;
    }
    return out;
}

static Asked tree(Values *x, int depth) {
    static const IrOp ops[] = {IR_MUL, IR_MUL, IR_ADD, IR_ADD, IR_SUB,
                               IR_DIV, IR_REM, IR_REM, IR_XOR};
    if (depth == 0 || rng_below(&x->rng, 4) == 0) return leaf(x);
    Asked a = tree(x, depth - 1), b = tree(x, depth - 1), out;
    IrOp op = ops[rng_below(&x->rng, sizeof ops / sizeof *ops)];
    bool wide = a.ir->type.base == IR_I64 || b.ir->type.base == IR_I64;
    bool without = a.ir->type.base == IR_U32 || b.ir->type.base == IR_U32;
    IrType type = ir_type(wide ? IR_I64 : without ? IR_U32 : IR_I32);
    out.ir = ir_binary(&x->cg, op, a.ir, b.ir);
    assert_true(out.ir->type.base == type.base);
    for (int p = 0; p < POINTS; p++)
        out.defined[p] = a.defined[p] && b.defined[p] &&
                         c_says(op, type, a.value[p], b.value[p], &out.value[p]);
    return out;
}

static void test_random_values(void **state) {
    Values *x = *state;
    int compared = 0;
    for (int i = 0; i < 20000; i++) {
        draw_points(x);
        Asked of = tree(x, 4);
        for (int p = 0; p < POINTS; p++) {
            int64_t v;
            if (!of.defined[p]) continue;
            assert_true(evaluate(x, of.ir, p, &v));
            assert_int_equal(v, of.value[p]);
            compared++;
        }
    }
    assert_true(compared > 20000);
}

/* ---- what becomes simpler, and what may not ---- */

static Ir times(const Values *x, int n, Ir y) {
    return ir_mul(&x->cg, ir_number(&x->cg, y->type.base == IR_U32 ? IR_U32 : IR_I32, n), y);
}

static void test_multiples(void **state) {
    const Values *x = *state;
    const Cg *c = &x->cg;
    Ir i = x->name[0], u = x->name[2], n = x->name[3], eight = ir_int(c, 8);
    Ir rest = ir_rem(c, ir_add(c, times(x, 16, i), i), eight);
    assert_true(ir_is(ir_rem(c, times(x, 8, i), eight), 0));
    assert_true(ir_is(ir_rem(c, ir_div(c, times(x, 8, n), ir_int(c, 2)), ir_int(c, 4)), 0));
    assert_true(ir_is(ir_rem(c, times(x, 24, u), ir_number(c, IR_U32, 8)), 0));
    assert_true(rest->op == IR_REM && rest->arg[0] == i);
    assert_ptr_equal(ir_binary(c, IR_XOR, i, ir_int(c, 0)), i);
}

static void test_what_wraps_or_is_negative(void **state) {
    const Values *x = *state;
    const Cg *c = &x->cg;
    Ir i = x->name[0], u = x->name[2], n = x->name[3];
    Ir three = ir_number(c, IR_U32, 3);
    assert_int_equal(ir_rem(c, times(x, 6, u), three)->op, IR_REM);
    assert_int_equal(ir_div(c, times(x, 6, u), three)->op, IR_DIV);
    Ir sum = ir_add(c, times(x, 8, n), i);
    assert_ptr_equal(ir_rem(c, sum, ir_int(c, 8))->arg[0], sum);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_random_values, setup, teardown),
        cmocka_unit_test_setup_teardown(test_multiples, setup, teardown),
        cmocka_unit_test_setup_teardown(test_what_wraps_or_is_negative, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
