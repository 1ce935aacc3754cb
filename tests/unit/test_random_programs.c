/* Random legal programs through the whole pipeline: what the emitted kernels compute on the
 * simulator, with every delay it may have, is what the reference computes; and programs that must
 * compute the same do.
 *
 *   SEED=n COUNT=1 build/tests/test_random_programs      one program again
 *   LONG=1 build/tests/test_random_programs              20,000 of them instead of 120
 */
#include "effort.h"
#include "random_trip.h"
#include "te_random.h"
#include "workers.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { PROGRAMS = 120, PROGRAMS_LONG = 20000, SHOWN = 5 };
enum { PER_PAIR = 5, PER_SIZED = 10, PER_PRODUCTS = 5 };
enum { SHRINK_TRIES = 200, SIZES = 4, SIZES_LONG = 12 };
#define AGAIN "SEED=%llu COUNT=1 build/tests/test_random_programs"

/* What becomes of the program of some choices: NULL, or what is wrong.  The trip that went wrong is
 * left in *t.  */
typedef const char *(*Journey)(Trip *t, Choices *c);

typedef struct {
    Arena *arena;
    Targets targets;
    Journey journey;
    uint64_t seed;
    char *wrong[SHOWN];       /* malloc */
    atomic_int n_wrong, n_compared;
    Reached reached;
} Bench;

/* ---- against the reference ---- */

static const char *to_reference(Trip *t, Choices *c) {
    t->target = (int)(t->seed % TARGETS);
    t->text = random_program(t->arena, c, &(RandomStyle){0}, (RandomLimits){0});
    const char *wrong = trip_plan(t);
    for (int plan = 0; plan < 2 && !wrong; plan++) {
        wrong = plan ? trip_choose_any(t, t->seed) : trip_choose(t, 0);
        if (!wrong) wrong = trip_build(t);
        for (int k = 0; k < 2 && !wrong; k++) {
            t->sampled = k > 0;
            wrong = trip_check(t);
        }
    }
    return wrong;
}

/* ---- products of sizes for matrix units, mostly where these are of warpgroups ---- */

static const char *to_products(Trip *t, Choices *c) {
    enum { OTHERS = 4 };
    t->few = t->seed % OTHERS > 0;
    t->target = t->few ? 0 : (int)(t->seed / OTHERS % TARGETS);
    t->text = random_program(t->arena, c, &(RandomStyle){0}, (RandomLimits){.products = true});
    const char *wrong = trip_plan(t);
    for (int plan = 0; plan < 3 && !wrong; plan++) {
        wrong = plan == 0   ? trip_choose(t, 0)
                : plan == 1 ? trip_choose_warpgroups(t, t->seed)
                            : trip_choose_any(t, t->seed);
        if (!wrong) wrong = trip_build(t);
        if (!wrong) wrong = trip_check(t);
    }
    return wrong;
}

/* ---- run-time sizes: programs and splits for some of them, at their limits and any others ---- */

static const char *to_sizes(Trip *t, Choices *c) {
    t->target = (int)(t->seed % TARGETS);
    t->text = random_program(t->arena, c, &(RandomStyle){0}, (RandomLimits){.sized = true});
    const char *wrong = trip_plan(t);
    if (wrong || !t->te->runtime) return wrong;
    wrong = trip_choose_sized(t, t->seed);
    if (!wrong) wrong = trip_build(t);
    if (!wrong) wrong = trip_check(t);
    return wrong ? wrong : trip_check_sizes(t, t->seed, effort_long() ? SIZES_LONG : SIZES);
}

/* ---- against each other ---- */

typedef struct {
    const char *name;
    RandomStyle style;
    bool other_target, other_rank;
} Variant;
static const Variant variants[] = {
    {"in another order of axes", {.reversed = true}, false, false},
    {"with factors exchanged", {.swapped = true}, false, false},
    {"with axes split by 2", {.split = 2}, false, false},
    {"with axes split by 3", {.split = 3}, false, false},
    {"on another device", {0}, true, false},
    {"by another plan", {0}, false, true},
};
enum { VARIANTS = sizeof variants / sizeof *variants };

static const char *outputs_of(Trip *t, TeData *in, const void **out) {
    const char *wrong = trip_build(t);
    return wrong ? wrong : trip_outputs(t, in, out);
}

static TeData *integers(const Trip *t) {
    TeData *in = ARENA_ARRAY(t->arena, TeData, t->te->n_in + 1);
    for (int i = 0; i < t->te->n_in; i++) {
        size_t bytes = te_tensor_bytes(&t->te->tensor[i]);
        in[i] = (TeData){arena_alloc(t->arena, bytes + 16), bytes};
        te_fill(t->te, i, TE_FILL_INTEGERS, t->seed, in[i]);
    }
    return in;
}

/* Element number n in row-major order, or where the dimensions are reversed.  */
static TeValue element(const TeTensor *t, const void *data, int64_t n, bool reversed) {
    int64_t at[TE_MAX_RANK];
    for (int i = 0; i < t->rank; i++) {
        int d = reversed ? i : t->rank - 1 - i;
        at[d] = n % t->shape[d].value;
        n /= t->shape[d].value;
    }
    size_t offset = (size_t)te_tensor_offset(t, at) * (size_t)te_dtype_bytes(t->dtype);
    return te_load(t->dtype, (const char *)data + offset);
}

static const char *compare(const Trip *x, const void **from, const Trip *y, const void **to,
                           const Variant *v) {
    for (int k = 0; k < x->te->n_out; k++) {
        const TeTensor *a = &x->te->tensor[x->te->n_in + k];
        const TeTensor *b = &y->te->tensor[y->te->n_in + k];
        for (int64_t n = 0; n < te_tensor_count(a); n++) {
            TeValue p = element(a, from[k], n, false), q = element(b, to[k], n, v->style.reversed);
            if (p.i == q.i && (p.v == q.v || (p.v != p.v && q.v != q.v))) continue;
            return arena_printf(y->arena, "pair: element %lld of output %d is %.17g (%lld), %s "
                                "%.17g (%lld)", (long long)n, k, p.v, (long long)p.i, v->name, q.v,
                                (long long)q.i);
        }
    }
    return NULL;
}

static const char *to_variant(Trip *t, Choices *c) {
    const Variant *v = &variants[t->seed % VARIANTS];
    RandomLimits limits = {.exact = true, .fixed = true, .respelled = true};
    Choices *again = ARENA_NEW(t->arena, Choices);
    Trip *base = ARENA_NEW(t->arena, Trip);
    *base = *t;
    base->diag = diag_new(t->arena);
    base->target = t->target = (int)(t->seed / VARIANTS % TARGETS);
    base->text = t->text = random_program(t->arena, c, &(RandomStyle){0}, limits);
    const void *from[TE_MAX_ARGS], *to[TE_MAX_ARGS];
    const char *wrong = trip_plan(base);
    if (!wrong && !te_exact(base->te)) return NULL;
    if (!wrong) wrong = trip_choose(base, 0);
    TeData *in = wrong ? NULL : integers(base);
    if (!wrong) wrong = outputs_of(base, in, from);
    if (wrong) {
        *t = *base;
        return wrong;
    }
    *again = *c;
    choices_replay(again);
    t->text = random_program(t->arena, again, &v->style, limits);
    if (v->other_target) t->target = (t->target + 1) % TARGETS;
    wrong = trip_plan(t);
    int ranks = t->set.n_rank > 1 ? t->set.n_rank - 1 : 1;
    int rank = v->other_rank ? t->set.n_rank - 1 - (int)(t->seed / VARIANTS) % ranks : 0;
    if (!wrong) wrong = trip_choose(t, rank);
    if (!wrong) wrong = outputs_of(t, in, to);
    return wrong ? wrong : compare(base, from, t, to, v);
}

/* ---- what fails is made small ---- */

typedef struct {
    Bench *bench;
    uint64_t seed;
    char stage[16];
} Failure;

static Trip new_trip(const Bench *b, uint64_t seed) {
    Arena *a = arena_create(NULL);
    return (Trip){.arena = a, .diag = diag_new(a), .targets = &b->targets, .seed = seed};
}

static void stage_of(const char *wrong, char stage[16]) {
    size_t n = wrong ? strcspn(wrong, ":") : 0;
    if (n > 15) n = 15;
    if (n) memcpy(stage, wrong, n);
    stage[n] = '\0';
}

static bool fails(void *user, Choices *c) {
    const Failure *f = user;
    Trip t = new_trip(f->bench, f->seed);
    char stage[16];
    stage_of(f->bench->journey(&t, c), stage);
    arena_destroy(t.arena);
    return strcmp(stage, f->stage) == 0;
}

static char *describe(const Failure *f, Choices *c) {
    choices_replay(c);
    Trip t = new_trip(f->bench, f->seed);
    const char *wrong = f->bench->journey(&t, c);
    Buf b = buf_new(t.arena);
    trip_describe(&t, wrong ? wrong : "nothing is wrong", &b);
    buf_printf(&b, "\nagain: " AGAIN "\n", (unsigned long long)f->seed);
    char *copy = malloc(b.len + 1);
    if (copy) memcpy(copy, b.text, b.len + 1);
    arena_destroy(t.arena);
    return copy;
}

static bool one(void *user, int64_t i, int worker) {
    (void)worker;
    Bench *b = user;
    Failure f = {.bench = b, .seed = b->seed + (uint64_t)i};
    Choices *c = malloc(sizeof *c);
    if (!c) return false;
    workers_case(AGAIN, (unsigned long long)f.seed);
    choices_random(c, f.seed);
    Trip t = new_trip(b, f.seed);
    t.reached = &b->reached;
    const char *wrong = b->journey(&t, c);
    if (!wrong && t.build.compiled) b->n_compared++;
    if (wrong) {
        stage_of(wrong, f.stage);
        choices_shrink(c, SHRINK_TRIES, fails, &f);
        int slot = b->n_wrong++;
        if (slot < SHOWN) b->wrong[slot] = describe(&f, c);
    }
    arena_destroy(t.arena);
    free(c);
    return b->n_wrong < SHOWN;
}

/* ---- tests ---- */

static uint64_t programs(void) {
    const char *s = getenv("COUNT");
    if (s && *s) return strtoull(s, NULL, 10);
    return effort_long() ? PROGRAMS_LONG : PROGRAMS;
}

static int open_bench(void **state) {
    Arena *a = arena_create(NULL);
    Bench *b = ARENA_NEW(a, Bench);
    b->arena = a;
    targets_open(a, &b->targets);
    *state = b;
    return 0;
}

static int close_bench(void **state) {
    Bench *b = *state;
    for (int i = 0; i < SHOWN; i++) free(b->wrong[i]);
    arena_destroy(b->arena);
    return 0;
}

static void travel(Bench *b, Journey journey, uint64_t count) {
    b->journey = journey;
    b->seed = effort_seed();
    workers_for(0, (int64_t)count, one, b);
    print_message("# seeds %llu to %llu, %d compared\n", (unsigned long long)b->seed,
                  (unsigned long long)(b->seed + count - 1), b->n_compared);
    Buf reached = buf_new(b->arena);
    trip_print_reached(&b->reached, &reached);
    print_message("# plans by %s\n", buf_str(&reached));
    for (int i = 0; i < b->n_wrong && i < SHOWN; i++) fprintf(stderr, "%s\n", b->wrong[i]);
    assert_int_equal(b->n_wrong, 0);
}

static void test_reference(void **state) {
    uint64_t count = programs();
    Bench *b = *state;
    travel(b, to_reference, count);
    if (count >= PROGRAMS) assert_true((uint64_t)b->n_compared > count / 2);
    const char *missing = count >= PROGRAMS_LONG ? trip_unreached(&b->reached) : NULL;
    if (missing) fail_msg("no program has %s", missing);
}

static void test_products(void **state) {
    uint64_t count = programs() / PER_PRODUCTS;
    Bench *b = *state;
    travel(b, to_products, count ? count : 1);
    if (count >= 100) assert_true((uint64_t)b->n_compared > count / 2);
}

static void test_sizes(void **state) {
    uint64_t count = programs() / PER_SIZED;
    Bench *b = *state;
    travel(b, to_sizes, count ? count : 1);
    if (count >= 50) assert_true((uint64_t)b->n_compared > count / 2);
}

static void test_pairs(void **state) {
    uint64_t count = programs() / PER_PAIR;
    Bench *b = *state;
    travel(b, to_variant, count ? count : 1);
    if (count >= 100) assert_true((uint64_t)b->n_compared > count / 4);
}

int main(int argc, char **argv) {
    families_child(argc, argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_reference, open_bench, close_bench),
        cmocka_unit_test_setup_teardown(test_products, open_bench, close_bench),
        cmocka_unit_test_setup_teardown(test_sizes, open_bench, close_bench),
        cmocka_unit_test_setup_teardown(test_pairs, open_bench, close_bench)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
