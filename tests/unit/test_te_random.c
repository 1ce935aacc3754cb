/* links: te */
/* Random legal programs: accepted, sound, stable under printing, the same under other names.  */
#include "te_case.h"
#include "te_random.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static Te *parse(Arena *a, const char *text) {
    Diag d = diag_new(a);
    Te *te;
    if (te_parse(a, &d, diag_text("x.te", text), NULL, NULL, &te) != ST_OK) {
        Buf b = buf_new(a);
        case_messages(&d, &b);
        fail_msg("refused:\n%s\n%s", text, buf_str(&b));
    }
    const char *broken = te_check(te);
    if (broken) fail_msg("%s:\n%s", broken, text);
    return te;
}

static const char *print(Arena *a, const Te *te, bool positional) {
    Buf b = buf_new(a);
    if (positional)
        te_print_positional(te, &b);
    else
        te_print(te, &b);
    return buf_str(&b);
}

static const char *program(Arena *a, uint64_t seed, const char *prefix, bool noisy) {
    Choices *c = ARENA_NEW(a, Choices);
    choices_random(c, seed);
    return random_program(a, c, &(RandomStyle){.prefix = prefix, .noisy = noisy},
                          (RandomLimits){.products = seed % 4 == 0});
}

static void one(uint64_t seed) {
    Arena *a = arena_create(NULL);
    const char *text = program(a, seed, "x", false);
    Te *te = parse(a, text);
    const char *canonical = print(a, te, false);
    Te *again = parse(a, canonical);
    const char *differs = te_difference(te, again);
    if (differs) fail_msg("%s:\n%s\n%s", differs, text, canonical);
    assert_string_equal(print(a, again, false), canonical);
    Te *noisy = parse(a, program(a, seed, "x", true));
    assert_string_equal(print(a, noisy, false), canonical);
    Te *renamed = parse(a, program(a, seed, "another_", false));
    assert_string_equal(print(a, renamed, true), print(a, te, true));
    arena_destroy(a);
}

static void test_random_programs(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= 3000; seed++) one(seed);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_random_programs)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
