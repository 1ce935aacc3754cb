/* links: codegen */
/* Meetings of lanes and warps where a language has none: as exchanges through local memory and
 * barriers that all threads of the block come to.  */
#include "codegen/print/ir_print.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { THREADS = 64 };

typedef struct {
    Cg cg;
    Ir tid, n, y;             /* of the thread; the same for all; a variable */
} Body;

static int setup(void **state) {
    Arena *a = arena_create(NULL);
    if (!a) return -1;
    Body *b = ARENA_NEW(a, Body);
    b->cg = (Cg){.arena = a, .language = LANGUAGE_OPENCL};
    ir_begin(&b->cg);
    b->tid = ir_let_as(&b->cg, IR_I32, "tid", ir_thread(&b->cg));
    b->n = ir_name(&b->cg, ir_type(IR_I32), "n");
    b->y = ir_variable(&b->cg, IR_F32, "y", ir_real(&b->cg, IR_F32, 1));
    *state = b;
    return 0;
}

static int teardown(void **state) {
    arena_destroy(((Body *)*state)->cg.arena);
    return 0;
}

/* y += what another lane has of it.  */
static void add_other(Body *b) {
    Cg *c = &b->cg;
    Ir x = ir_exchange(c, "x", b->y, (IrOther){IR_LANE_XOR, ir_int(c, 1), 32});
    ir_update(c, IR_ADD, b->y, x);
}

static const IrStmt *legal(Body *b) {
    return ir_legalize(&b->cg, b->cg.open, THREADS);
}

/* The statements behind those of setup, and the rooms before them.  */
static const char *printed(Body *b) {
    Buf out = buf_new(b->cg.arena);
    const IrStmt *body = legal(b);
    assert_non_null(body);
    assert_null(ir_make_names(&b->cg, &b->n, 1, body->child));
    ir_print(&b->cg, body->child, 0, &out);
    return buf_str(&out);
}

#define HEAD                                                                                       \
    "const int tid = (uint)get_local_id(0);\n"                                                     \
    "float y = 1.0f;\n"
#define LANES "__local float lanes10[64];\n"
#define TID "(uint)get_local_id(0)"

static void all_threads_exchange(void **state) {
    Body *b = *state;
    add_other(b);
    assert_string_equal(printed(b), LANES HEAD
                        "float x;\n"
                        "lanes10[" TID "] = y;\n"
                        "rl_block_sync();\n"
                        "x = lanes10[" TID " ^ 1u];\n"
                        "rl_block_sync();\n"
                        "y += x;\n");
}

static void a_warp_barrier_is_one_of_the_block(void **state) {
    Body *b = *state;
    ir_sync(&b->cg, IR_SYNC_WARP, NULL);
    assert_string_equal(printed(b), HEAD "rl_block_sync();\n");
}

static void a_test_that_threads_share_stays(void **state) {
    Body *b = *state;
    ir_if(&b->cg, ir_lt(&b->cg, b->n, ir_int(&b->cg, 7)));
    ir_sync(&b->cg, IR_SYNC_BLOCK, NULL);
    ir_close(&b->cg);
    assert_string_equal(printed(b), HEAD "if (n < 7) {\n"
                                         "    rl_block_sync();\n"
                                         "}\n");
}

static void meetings_leave_other_tests(void **state) {
    Body *b = *state;
    Cg *c = &b->cg;
    ir_if(c, ir_lt(c, b->tid, ir_int(c, 32)));
    ir_let(c, "z", ir_add(c, b->y, b->y));
    add_other(b);
    ir_close(c);
    assert_string_equal(printed(b), LANES HEAD
                        "{\n"
                        "    const bool on0 = tid < 32;\n"
                        "    {\n"
                        "        float z;\n"
                        "        if (on0) {\n"
                        "            z = y + y;\n"
                        "        }\n"
                        "        float x;\n"
                        "        if (on0) {\n"
                        "            lanes10[" TID "] = y;\n"
                        "        }\n"
                        "        rl_block_sync();\n"
                        "        if (on0) {\n"
                        "            x = lanes10[" TID " ^ 1u];\n"
                        "        }\n"
                        "        rl_block_sync();\n"
                        "        if (on0) {\n"
                        "            y += x;\n"
                        "        }\n"
                        "    }\n"
                        "}\n");
}

/* A loop that threads leave at other turns goes on until the last one has.  */
static void threads_wait_in_loops(void **state) {
    Body *b = *state;
    Cg *c = &b->cg;
    Ir u = ir_for(c, "u", b->tid, b->n, 64, 1);
    ir_if(c, ir_binary(c, IR_GE, u, ir_int(c, 9)));
    ir_simple(c, IR_STMT_BREAK);
    ir_close(c);
    ir_sync(c, IR_SYNC_WARP, NULL);
    ir_close(c);
    assert_string_equal(printed(b), "__local int any[1];\n" HEAD
                        "{\n"
                        "    int u;\n"
                        "    u = tid;\n"
                        "    bool go0 = u < n;\n"
                        "    bool more0;\n"
                        "    #pragma unroll 1\n"
                        "    do {\n"
                        "        if (go0) {\n"
                        "            if (u >= 9) {\n"
                        "                go0 = false;\n"
                        "            }\n"
                        "        }\n"
                        "        rl_block_sync();\n"
                        "        if (go0) {\n"
                        "            u += 64;\n"
                        "            go0 = u < n;\n"
                        "        }\n"
                        "        rl_block_sync();\n"
                        "        if (" TID " == 0u) {\n"
                        "            any[0] = 0;\n"
                        "        }\n"
                        "        rl_block_sync();\n"
                        "        if (go0) {\n"
                        "            any[0] = 1;\n"
                        "        }\n"
                        "        rl_block_sync();\n"
                        "        more0 = any[0] != 0;\n"
                        "    } while (more0);\n"
                        "}\n");
}

/* The last thing that threads meet for may be before they return.  */
static void refuses_a_return_before_a_meeting(void **state) {
    Body *b = *state;
    Cg *c = &b->cg;
    ir_sync(c, IR_SYNC_BLOCK, NULL);
    ir_if(c, ir_lt(c, b->tid, ir_int(c, 3)));
    ir_simple(c, IR_STMT_RETURN);
    ir_close(c);
    IrStmt *body = c->open;
    assert_non_null(legal(b));
    c->open = body;
    ir_sync(c, IR_SYNC_BLOCK, NULL);
    assert_null(legal(b));
}

/* Rooms lie at the head of the kernel, each with a name of its own there.  */
static void two_rooms_of_one_word_are_two(void **state) {
    Body *b = *state;
    for (int i = 0; i < 2; i++) {
        ir_scope(&b->cg);
        Ir room = ir_shared_array(&b->cg, IR_F32, "part", 4);
        ir_set(&b->cg, ir_element(&b->cg, room, b->tid), b->y);
        ir_sync(&b->cg, IR_SYNC_BLOCK, NULL);
        ir_close(&b->cg);
    }
    assert_string_equal(printed(b), "__local float part[4];\n"
                                    "__local float part_2[4];\n" HEAD "{\n"
                                    "    part[tid] = y;\n"
                                    "    rl_block_sync();\n"
                                    "}\n"
                                    "{\n"
                                    "    part_2[tid] = y;\n"
                                    "    rl_block_sync();\n"
                                    "}\n");
}

/* A name is seen to the end of its scope, and no other takes its text there.  */
static void names_are_those_of_their_definitions(void **state) {
    Body *b = *state;
    Cg *c = &b->cg;
    ir_scope(c);
    Ir inner = ir_let(c, "y", ir_add(c, b->y, b->y));
    ir_update(c, IR_ADD, b->y, inner);
    ir_close(c);
    assert_string_equal(printed(b), HEAD "{\n"
                                         "    const float y_2 = y + y;\n"
                                         "    y += y_2;\n"
                                         "}\n");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(all_threads_exchange, setup, teardown),
        cmocka_unit_test_setup_teardown(a_warp_barrier_is_one_of_the_block, setup, teardown),
        cmocka_unit_test_setup_teardown(a_test_that_threads_share_stays, setup, teardown),
        cmocka_unit_test_setup_teardown(meetings_leave_other_tests, setup, teardown),
        cmocka_unit_test_setup_teardown(threads_wait_in_loops, setup, teardown),
        cmocka_unit_test_setup_teardown(refuses_a_return_before_a_meeting, setup, teardown),
        cmocka_unit_test_setup_teardown(two_rooms_of_one_word_are_two, setup, teardown),
        cmocka_unit_test_setup_teardown(names_are_those_of_their_definitions, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
