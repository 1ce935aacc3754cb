/* links: te */
/* Rewrites against what they rewrite: programs as they are written and in their normal form by any
 * decisions, on data that tells them apart.  Half of the programs are random, half of sentences
 * that some rewrite looks for.
 *
 *   SEED=n COUNT=1 build/tests/test_te_rewrites      one program again
 *   LONG=1 build/tests/test_te_rewrites              40,000 of them instead of 500
 */
#include "effort.h"
#include "normal_fixture.h"
#include "te_adverse.h"
#include "te_idioms.h"
#include "workers.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { PROGRAMS = 500, PROGRAMS_LONG = 40000, ALWAYS = 2400, DATA = 4 };
enum { SHRINK_TRIES = 400, SHOWN = 4 };

typedef struct {
    uint64_t seed;
    atomic_int n_wrong, n_legal, made[TE_REWRITE_COUNT];
    char *wrong[SHOWN];       /* malloc */
} Bench;

/* None, all, or some; sums that are written out are no products for others to take.  */
static unsigned any_decisions(Rng *rng) {
    enum { ALL = (1 << TE_DECISION_COUNT) - 1 };
    uint32_t how = rng_below(rng, 4);
    return how == 0 ? 0 : how == 1 ? ALL : how == 2 ? ALL & ~UNROLLED : rng_below(rng, ALL + 1);
}

static const char *program(Arena *a, Choices *c, uint64_t seed) {
    if (seed % 2) return te_idiom(a, c, (int)(seed / 2 % (uint64_t)te_idioms));
    return random_program(a, c, &(RandomStyle){0}, (RandomLimits){.fixed = true});
}

/* The program of some choices and its normal form; false: it is not legal.  */
static bool open_both(Arena *a, Choices *c, uint64_t seed, Rng *rng, Te **te, Te **normal) {
    Diag d = diag_new(a);
    if (te_parse(a, &d, diag_text("x.te", program(a, c, seed)), NULL, NULL, te)) return false;
    (*te)->decisions = decide(a, any_decisions(rng));
    (*te)->decisions->chains = true;
    return te_normalize(a, &d, *te, normal) == ST_OK;
}

/* NULL, or what is wrong.  */
static const char *compare(Arena *a, const Te *te, const Te *normal, Rng *rng) {
    const char *wrong = te_check(normal);
    for (int i = 0; i < DATA && !wrong; i++)
        wrong = adverse_difference(a, te, normal, adverse_inputs(a, te, rng_next(rng)));
    if (!wrong) return NULL;
    Buf b = buf_new(a);
    buf_printf(&b, "%s\n", wrong);
    te_print(te, &b);
    te_print(normal, &b);
    return buf_str(&b);
}

static const char *travel(Arena *a, Choices *c, uint64_t seed) {
    Rng rng = {seed};
    Te *te, *normal;
    return open_both(a, c, seed, &rng, &te, &normal) ? compare(a, te, normal, &rng) : NULL;
}

static bool fails(void *user, Choices *c) {
    Arena *a = arena_create(NULL);
    bool wrong = travel(a, c, *(uint64_t *)user) != NULL;
    arena_destroy(a);
    return wrong;
}

static void report(Bench *b, Arena *a, Choices *c, uint64_t seed) {
    int slot = b->n_wrong++;
    if (slot >= SHOWN) return;
    choices_shrink(c, SHRINK_TRIES, fails, &seed);
    choices_replay(c);
    const char *text = arena_printf(a, "SEED=%llu COUNT=1 build/tests/test_te_rewrites\n%s",
                                    (unsigned long long)seed, travel(a, c, seed));
    char *copy = malloc(strlen(text) + 1);
    b->wrong[slot] = copy ? strcpy(copy, text) : NULL;
}

static bool one(void *user, int64_t i, int worker) {
    (void)worker;
    Bench *b = user;
    uint64_t seed = b->seed + (uint64_t)i;
    Arena *a = arena_create(NULL);
    Choices *c = ARENA_NEW(a, Choices);
    Rng rng = {seed};
    Te *te, *normal;
    choices_random(c, seed);
    if (open_both(a, c, seed, &rng, &te, &normal)) {
        b->n_legal++;
        for (int r = 0; r < TE_REWRITE_COUNT; r++) b->made[r] += normal->rewritten >> r & 1;
        if (compare(a, te, normal, &rng)) report(b, a, c, seed);
    }
    arena_destroy(a);
    return b->n_wrong < SHOWN;
}

static void check(Bench *b, int64_t n) {
    workers_for(0, n, one, b);
    for (int i = 0; i < SHOWN; i++) {
        if (b->wrong[i]) fprintf(stderr, "%s\n", b->wrong[i]);
        free(b->wrong[i]);
    }
    assert_int_equal(b->n_wrong, 0);
    if (n > 100) assert_true(b->n_legal > n * 3 / 4);
}

static void random_programs_keep_their_values(void **state) {
    (void)state;
    const char *count = getenv("COUNT");
    Bench b = {.seed = effort_seed()};
    check(&b, count ? atoll(count) : effort_long() ? PROGRAMS_LONG : PROGRAMS);
}

static void every_rewrite_is_met(void **state) {
    static const char *const name[] = {
#define X(id) #id,
        TE_REWRITES(X)
#undef X
    };
    Bench b = {.seed = UINT64_C(1) << 20};
    (void)state;
    check(&b, ALWAYS);
    for (int r = 0; r < TE_REWRITE_COUNT; r++)
        if (b.made[r] == 0) fail_msg("%s is never met", name[r]);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_rewrite_is_met),
                                       cmocka_unit_test(random_programs_keep_their_values)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
