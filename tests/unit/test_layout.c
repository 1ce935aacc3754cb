/* links: sim */
/* Where programs of every skeleton have their data: rooms lie inside of the block's shared memory,
 * whole accesses apart, and only such as follow each other in time have bytes in common.  */
#include "rprogram/layout.h"
#include "golden_plans.h"
#include "kernel_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void read_plan(Arena *a, int i, RPlan *plan, Device **dev) {
    KernelCase c;
    Diag d = diag_new(a);
    RStrategy read;
    rprog_read_strategies(golden[i].plan, strlen(golden[i].plan), &read, 1);
    assert_int_equal(hal_profile_find(a, &d, golden[i].profile, "profiles", NULL, dev), ST_OK);
    const char *wrong = kernel_open_decided(&c, a, *dev, golden[i].text, NULL,
                                            read.decisions.taken[0]);
    if (wrong) fail_msg("%s: %s", golden[i].name, wrong);
    const char *text = arena_printf(a, "roller-plan 1\n%s", golden[i].plan);
    if (rprog_read(a, &d, diag_text(golden[i].name, text), *dev, &c.plan))
        fail_msg("%s: %s", golden[i].name, d.messages[0].message);
    *plan = c.plan;
}

/* What is there while operands are loaded and multiplied, and what comes behind the last step.  */
static bool of_steps(RoomKind kind) {
    return kind == ROOM_STAGE || kind == ROOM_REGION || kind == ROOM_PLACES;
}

static bool of_results(RoomKind kind) {
    return kind == ROOM_COPIES || kind == ROOM_STAGING;
}

static bool of_parts(RoomKind kind) { return kind == ROOM_PARTIALS || kind == ROOM_BESIDE; }

static bool may_meet(RoomKind a, RoomKind b) {
    return (of_steps(a) && (of_results(b) || of_parts(b))) || (of_results(a) && of_parts(b));
}

/* Slots of one room may lie between those of another, as the stages of two operands do.  */
static bool meet(const Room *a, const Room *b) {
    if (!rprog_over(a, b)) return false;
    for (int i = 0; i < a->slots; i++) {
        Room one = *a;
        one.at += i * a->apart;
        one.slots = 1;
        for (int k = 0; k < b->slots; k++) {
            Room other = *b;
            other.at += k * b->apart;
            other.slots = 1;
            if (rprog_over(&one, &other)) return true;
        }
    }
    return false;
}

static void check_rooms(const char *name, const Layout *l, const RProg *r) {
    assert_int_equal(l->shared, r->smem);
    for (int i = 0; i < l->n_room; i++) {
        const Room *x = &l->room[i];
        if (rprog_room_space(x->kind) != SPACE_SHARED) continue;
        assert_true(x->bytes > 0 && x->slots > 0 && x->shares > 0);
        assert_int_equal(x->at % (x->kind == ROOM_ROW_TABLE ? 8 : 16), 0);
        assert_true(rprog_room_end(x) <= l->shared);
        for (int k = 0; k < l->n_ring; k++) {
            int64_t barriers = l->ring[k].at[RING_FULL];
            assert_true(barriers < 0 || rprog_room_end(x) <= barriers);
        }
        assert_true(x->slots == (x->ring < 0 ? 1 : l->ring[x->ring].slots));
        for (int k = 0; k < l->n_room; k++) {
            const Room *y = &l->room[k];
            bool free = may_meet(x->kind, y->kind) || may_meet(y->kind, x->kind);
            if (k != i && !free && meet(x, y))
                fail_msg("%s: %s %d lies over %s %d", name, rprog_room_name(x->kind), x->of,
                         rprog_room_name(y->kind), y->of);
        }
    }
}

static void check_program(Arena *a, const char *name, const Problem *p, const Device *dev,
                          const RProg *r, int met[ROOM_COUNT]) {
    const Layout *l = rprog_layout(a, p, dev, r);
    check_rooms(name, l, r);
    for (int i = 0; i < l->n_room; i++) met[l->room[i].kind]++;
}

/* Some candidates of a program with these decisions taken.  */
static void check_some(Arena *a, const char *gpu, const char *text, unsigned decided,
                       int met[ROOM_COUNT]) {
    enum { EVERY = 17 };
    KernelCase c;
    Device *dev;
    Diag d = diag_new(a);
    assert_int_equal(hal_profile_find(a, &d, gpu, "profiles", NULL, &dev), ST_OK);
    const char *wrong = kernel_open_decided(&c, a, dev, text, NULL, decided);
    if (wrong) fail_msg("%s: %s", text, wrong);
    for (int g = 0; g < c.plan.n; g++) {
        for (int k = 0; k < c.set[g].n; k += EVERY)
            check_program(a, text, &c.plan.problem[g], dev, &c.set[g].prog[k], met);
    }
}

/* Candidates of what the plans do not have.  */
static void check_candidates(Arena *a, int met[ROOM_COUNT]) {
    static const struct {
        const char *gpu, *text;
    } programs[] = {
        {"a100", "param M = 512, N = 384; op f(A: f32[M,N]) -> B: f32[N,M] {"
         " B[n,m] = A[m,n] * 2; }"},
        {"b200", "op f(A: bf16[4096,4096], B: bf16[4096,4096]) -> C: bf16[4096,4096] {"
         " C[m,n] += A[m,k] * B[n,k]; }"},
        {"a100", "param M = 700, N = 96; op f(A: f32[M,N]) -> (I: i32[N], S: f32[N]) {"
         " I[n] = argmax[m](A[m,n]); S[n] = sum[m](A[m,n]); }"},
        {"a100", "param N = 4, C = 32, H = 28, F = 64; op f(X: f16[N,C,H,H], K: f16[F,C,3,3])"
         " -> Y: f16[N,F,H,H] { Y[n,f,p,q] += (X[n,c,p+r-1,q+s-1] else 0) * K[f,c,r,s]; }"},
        {"a100", "param N = 2, C = 8, H = 56, R = 3; op f(X: f32[N,C,H,H]) -> Y: f32[N,C,H,H] {"
         " Y[n,c,p,q] max= X[n,c,p+r-1,q+s-1] else -inf where r in R, s in R; }"}};
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++)
        check_some(a, programs[i].gpu, programs[i].text, 0, met);
    check_some(a, "b200",
               "op f(A: f16[512,64], B: f16[512,64], V: f16[512,64]) -> Y: f16[512,64] {"
               " S[i,j] += A[i,d] * B[j,d]; Y[i,e] += f16(S[i,j]) * V[j,e]; }",
               JOINED | CHAINS, met);
}

static void rooms_lie_apart(void **state) {
    int met[ROOM_COUNT] = {0};
    (void)state;
    for (size_t i = 0; i < sizeof golden / sizeof *golden; i++) {
        Arena *a = arena_create(NULL);
        Device *dev;
        RPlan plan;
        read_plan(a, (int)i, &plan, &dev);
        for (int g = 0; g < plan.n; g++)
            check_program(a, golden[i].name, &plan.problem[g], dev, &plan.prog[g], met);
        arena_destroy(a);
    }
    Arena *a = arena_create(NULL);
    check_candidates(a, met);
    arena_destroy(a);
    for (int kind = ROOM_STAGE; kind < ROOM_COUNT; kind++) {
        bool registers = rprog_room_space((RoomKind)kind) == SPACE_REGISTERS;
        if (!met[kind] && !registers) fail_msg("nothing has %s", rprog_room_name((RoomKind)kind));
    }
}

/* The bytes of a known program, by hand: 4 stages of 128 x 16 (rows padded by 4) and 16 x 128.  */
static void bytes_by_hand(void **state) {
    Arena *a = arena_create(NULL);
    Device *dev;
    RPlan plan;
    (void)state;
    read_plan(a, 0, &plan, &dev);
    const Layout *l = rprog_layout(a, &plan.problem[0], dev, &plan.prog[0]);
    int64_t tile[] = {16 * (128 + 4) * 4, 16 * 128 * 4};
    assert_int_equal(l->shared, 4 * (tile[0] + tile[1]));
    assert_int_equal(l->ring[0].slots, 4);
    assert_int_equal(l->ring[0].ahead, 3);
    assert_int_equal(l->ring[0].at[RING_FULL], -1);
    for (int side = 0; side < 2; side++) {
        const Room *x = rprog_room(l, ROOM_STAGE, side);
        assert_int_equal(x->at, side * tile[0]);
        assert_int_equal(x->bytes, tile[side]);
        assert_int_equal(x->apart, tile[0] + tile[1]);
        assert_int_equal(x->row, (side ? 128 : 128 + 4) * 4);
    }
    assert_null(rprog_room(l, ROOM_STAGING, 0));
    arena_destroy(a);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(rooms_lie_apart),
                                       cmocka_unit_test(bytes_by_hand)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
