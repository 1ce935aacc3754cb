/* links: codegen */
/* Tensor maps of kernels: the rules at all sizes, and the numbers at some.  */
#include "codegen/kernel_map.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static const char text[] =
    "param M = 0..96; param K = 16..512 % 8;\n"
    "op f(X: f16[M,K]) -> Y: f16[M,K] { Y[m,k] = X[m,k]; }\n";

typedef struct {
    Arena *arena;
    Te *te;
    KernelMap map;            /* boxes of 64 x 32 of X */
} Fixture;

static int setup(void **state) {
    static Fixture f;
    f.arena = arena_create(NULL);
    Diag d = diag_new(f.arena);
    if (te_parse(f.arena, &d, diag_text("f.te", text), NULL, NULL, &f.te)) return -1;
    const TeTensor *x = &f.te->tensor[0];
    static TeExpr two = {.kind = TE_INT, .v = {.i = 2}}, bytes = {.kind = TE_MUL, .n_args = 2};
    static TeExpr *factor[2];
    factor[0] = (TeExpr *)(uintptr_t)x->shape[1].expr;
    factor[1] = &two;
    bytes.args = factor;
    f.map = (KernelMap){.dim = {x->shape[1], x->shape[0]},
                        .stride = {{.value = 1024, .min = 32, .multiple = 16, .expr = &bytes}},
                        .fixed = {.type = TM_F16, .rank = 2, .box = {64, 32},
                                  .element_stride = {1, 1}, .swizzle = TM_SWIZZLE_128}};
    *state = &f;
    return 0;
}

static int teardown(void **state) {
    arena_destroy(((Fixture *)*state)->arena);
    return 0;
}

static void wrong(const KernelMap *m, int align, const char *words) {
    const char *why = kernel_map_wrong(m, align);
    if (!why || !strstr(why, words)) fail_msg("not '%s' but '%s'", words, why ? why : "(right)");
}

static void rules_hold_at_all_sizes(void **state) {
    const Fixture *f = *state;
    assert_null(kernel_map_wrong(&f->map, 16));
    wrong(&f->map, 8, "address");
    KernelMap m = f->map;
    m.offset = (TeExtent){.value = 24, .min = 24, .multiple = 24};
    wrong(&m, 16, "address");
    m = f->map;
    m.stride[0].multiple = 8;
    wrong(&m, 16, "stride");
    m = f->map;
    m.stride[0].value = (int64_t)1 << 40;
    wrong(&m, 16, "stride");
    m = f->map;
    m.dim[0].value = ((int64_t)1 << 32) + 8;
    wrong(&m, 16, "extent");
    m = f->map;
    m.dim[0].value = 4096;
    m.dim[1] = (TeExtent){.value = 0};
    assert_null(kernel_map_wrong(&m, 16));
    m = f->map;
    m.fixed.box[0] = 72;
    wrong(&m, 16, "swizzle");
    m.fixed.swizzle = TM_SWIZZLE_NONE;
    assert_null(kernel_map_wrong(&m, 16));
    m.fixed.box[0] = 68;
    wrong(&m, 16, "16 bytes");
    m.fixed.box[0] = 264;
    wrong(&m, 16, "box");
}

/* A corner of a box of pixels that depends on a size is judged at both ends.  */
static void corners_at_all_sizes(void **state) {
    const Fixture *f = *state;
    KernelMap m = {.dim = {{.value = 64}, {.value = 30}, {.value = 20}, {.value = 2}},
                   .stride = {{.value = 128}, {.value = 3840}, {.value = 76800}},
                   .lower = {{.value = -1}, {.value = -1}}, .upper = {{.value = -1}, {.value = -1}},
                   .fixed = {.im2col = true, .type = TM_F16, .rank = 4, .channels = 64,
                             .pixels = 128, .element_stride = {1, 1, 1, 1},
                             .swizzle = TM_SWIZZLE_128}};
    assert_null(kernel_map_wrong(&m, 16));
    const TeExpr *size = f->te->tensor[0].shape[0].expr;
    m.upper[0] = (TeExtent){.value = 127, .min = -128, .multiple = 1, .expr = size};
    assert_null(kernel_map_wrong(&m, 16));
    m.upper[0].min = -129;
    wrong(&m, 16, "corner");
    m.upper[0].min = 0;
    m.upper[0].value = 128;
    wrong(&m, 16, "corner");
}

static void numbers_at_sizes(void **state) {
    const Fixture *f = *state;
    TensorMap t;
    assert_true(kernel_map_at(f->te, &f->map, 4096, (int64_t[]){33, 48}, &t));
    assert_int_equal(t.address, 4096);
    assert_int_equal(t.dim[0], 48);
    assert_int_equal(t.dim[1], 33);
    assert_int_equal(t.stride[0], 96);
    assert_int_equal(t.box[0], 64);
    assert_int_equal(t.box[1], 32);
    assert_null(tensor_map_wrong(&t));
    assert_false(kernel_map_at(f->te, &f->map, 4096, (int64_t[]){0, 48}, &t));
}

static void types_move_bits(void **state) {
    (void)state;
    for (int d = 0; d < TE_DTYPE_COUNT; d++) {
        TensorMap m = {.type = tensor_map_type((TeDtype)d, false)};
        assert_int_equal(tensor_map_element(&m), te_dtype_bytes((TeDtype)d));
    }
    assert_int_equal(tensor_map_type(TE_F32, true), TM_TF32);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(rules_hold_at_all_sizes, setup, teardown),
        cmocka_unit_test_setup_teardown(corners_at_all_sizes, setup, teardown),
        cmocka_unit_test_setup_teardown(numbers_at_sizes, setup, teardown),
        cmocka_unit_test_setup_teardown(types_move_bits, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
