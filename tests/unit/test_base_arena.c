/* links: base */
#include "base/arena.h"

#include "oom.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

typedef struct {
    Arena *arena;
    char log[64];
    size_t n;
} Trace;

static void note_a(void *p) { ((Trace *)p)->log[((Trace *)p)->n++] = 'a'; }
static void note_b(void *p) { ((Trace *)p)->log[((Trace *)p)->n++] = 'b'; }
static void note_c(void *p) { ((Trace *)p)->log[((Trace *)p)->n++] = 'c'; }

static void memory_is_zeroed_aligned_and_apart(void **state) {
    (void)state;
    Arena *a = arena_create(NULL);
    unsigned char *p[300];
    for (size_t i = 0; i < 300; i++) {
        size_t size = i * i % 977;
        p[i] = arena_alloc(a, size);
        assert_int_equal((uintptr_t)p[i] % 16, 0);
        for (size_t j = 0; j < size; j++) assert_int_equal(p[i][j], 0);
        memset(p[i], (int)i, size);
    }
    for (size_t i = 0; i < 300; i++)
        for (size_t j = 0; j < i * i % 977; j++) assert_int_equal(p[i][j], (unsigned char)i);
    arena_destroy(a);
    arena_destroy(NULL);
}

static void room_is_apart_and_leaves_what_follows_zeroed(void **state) {
    (void)state;
    Arena *a = arena_create(NULL);
    for (int round = 0; round < 3; round++) {
        ArenaMark m = arena_mark(a);
        for (size_t n = 1; n < 4000; n += 333) {
            int64_t *room = ARENA_ROOM(a, int64_t, n), *next = ARENA_ARRAY(a, int64_t, n);
            assert_int_equal((uintptr_t)room % 16, 0);
            memset(room, 0xee, n * sizeof *room);
            for (size_t i = 0; i < n; i++) assert_int_equal(next[i], 0);
        }
        arena_reset(a, m);
    }
    arena_destroy(a);
}

/* What an arena beside another keeps stays where that is reset, and goes with it; where it finds no
 * memory, the other unwinds.  */
static void beside_body(Arena *a, void *user) {
    Arena *b = arena_beside(a);
    char *kept = arena_strdup(b, "kept");
    for (int i = 0; i < 3; i++) {
        ArenaMark m = arena_mark(a);
        memset(arena_alloc(a, 5000), 'x', 5000);
        kept = arena_printf(b, "%s %d", kept, i);
        arena_reset(a, m);
    }
    assert_string_equal(kept, "kept 0 1 2");
    assert_int_equal(arena_bytes(a) < 5000, true);
    *(int *)user += 1;
}

static void beside_lives_as_long(void **state) {
    (void)state;
    int ended = 0;
    assert_true(oom_sweep(beside_body, &ended) > 8);
    assert_true(ended > 0);
}

static void reset_gives_back_exactly(void **state) {
    (void)state;
    Arena *a = arena_create(NULL);
    assert_int_equal(arena_bytes(a), 0);
    char *kept = arena_strdup(a, "kept");
    size_t before = arena_bytes(a);
    assert_true(before >= 5);
    for (int round = 0; round < 50; round++) {
        ArenaMark m = arena_mark(a);
        for (int i = 0; i < 100; i++) {
            unsigned char *p = arena_alloc(a, 333);
            for (int j = 0; j < 333; j++) assert_int_equal(p[j], 0);
            memset(p, 0xee, 333);
        }
        arena_alloc(a, (size_t)3 << 20);
        assert_true(arena_bytes(a) >= before + 100 * 333 + ((size_t)3 << 20));
        arena_reset(a, m);
        assert_int_equal(arena_bytes(a), before);
    }
    assert_string_equal(kept, "kept");
    arena_destroy(a);
}

static void mark_and_reset_in_a_loop_ask_for_no_memory(void **state) {
    (void)state;
    Oom o = {0};
    ArenaSource source = oom_source(&o);
    source.exact = false;
    Arena *a = arena_create(&source);
    arena_alloc(a, 4000);
    int64_t asked = 0;
    for (int i = 0; i < 1000; i++) {
        ArenaMark m = arena_mark(a);
        for (int j = 0; j < 20; j++) arena_alloc(a, 200);
        arena_reset(a, m);
        if (i == 0) asked = o.asked;
    }
    assert_int_equal(o.asked, asked);
    arena_destroy(a);
    assert_int_equal(o.live, 0);
}

static void grow_keeps_elements_and_zeroes_new_ones(void **state) {
    (void)state;
    Arena *a = arena_create(NULL);
    int *v = NULL;
    size_t cap = 0;
    for (size_t n = 0; n < 5000; n++) {
        v = arena_grow(a, v, &cap, n + 1, sizeof *v);
        assert_true(cap > n);
        assert_int_equal(v[n], 0);
        v[n] = (int)n;
        if (n % 700 == 0) arena_alloc(a, 1);   /* now it cannot grow in place */
    }
    for (size_t n = 0; n < 5000; n++) assert_int_equal(v[n], n);
    int *same = arena_grow(a, v, &cap, 10, sizeof *v);
    assert_ptr_equal(same, v);
    arena_destroy(a);
}

static void texts(void **state) {
    (void)state;
    Arena *a = arena_create(NULL);
    assert_string_equal(arena_strndup(a, "tensor", 3), "ten");
    assert_string_equal(arena_strndup(a, NULL, 0), "");
    assert_string_equal(arena_printf(a, "%d-%s", 42, "x"), "42-x");
    char *longer = arena_printf(a, "%05000d", 7);
    assert_int_equal(strlen(longer), 5000);
    assert_int_equal(longer[4999], '7');
    arena_destroy(a);
}

static void defers_run_newest_first(void **state) {
    (void)state;
    Trace t = {.arena = arena_create(NULL)};
    arena_defer(t.arena, note_a, &t);
    ArenaMark m = arena_mark(t.arena);
    arena_defer(t.arena, note_b, &t);
    arena_defer(t.arena, note_c, &t);
    arena_reset(t.arena, m);
    assert_string_equal(t.log, "cb");
    arena_reset(t.arena, m);
    assert_string_equal(t.log, "cb");
    arena_destroy(t.arena);
    assert_string_equal(t.log, "cba");
}

static void fail_inner(void *p) {
    Trace *t = p;
    arena_defer(t->arena, note_b, t);
    arena_alloc(t->arena, 100000);
    arena_fail(t->arena);
}

static void fail_outer(void *p) {
    Trace *t = p;
    arena_defer(t->arena, note_a, t);
    assert_false(arena_try(t->arena, fail_inner, t));
    assert_string_equal(t->log, "b");
    arena_defer(t->arena, note_c, t);
    arena_calloc(t->arena, SIZE_MAX / 4, 8);
}

static void failure_unwinds_to_the_nearest_try(void **state) {
    (void)state;
    Trace t = {.arena = arena_create(NULL)};
    arena_strdup(t.arena, "before");
    size_t bytes = arena_bytes(t.arena);
    assert_false(arena_try(t.arena, fail_outer, &t));
    assert_string_equal(t.log, "bca");
    assert_int_equal(arena_bytes(t.arena), bytes);
    arena_destroy(t.arena);
    assert_string_equal(t.log, "bca");
}

static void huge(void *p) { arena_alloc(((Trace *)p)->arena, SIZE_MAX - 3); }
static void huge_text(void *p) { arena_strndup(((Trace *)p)->arena, "x", SIZE_MAX); }
static void huge_room(void *p) { arena_room(((Trace *)p)->arena, SIZE_MAX / 4, 8); }
static void huge_growth(void *p) {
    size_t cap = 0;
    arena_grow(((Trace *)p)->arena, NULL, &cap, SIZE_MAX / 2, 16);
}

static void overflow_is_no_memory(void **state) {
    (void)state;
    Trace t = {.arena = arena_create(NULL)};
    assert_false(arena_try(t.arena, huge, &t));
    assert_false(arena_try(t.arena, huge_text, &t));
    assert_false(arena_try(t.arena, huge_room, &t));
    assert_false(arena_try(t.arena, huge_growth, &t));
    arena_destroy(t.arena);
}

static int open_count;
static void opened(void *p) {
    (void)p;
    open_count--;
}

/* Uses every entry point; a foreign resource is open for as long as its note is known.  */
static void exercise(Arena *a, void *user) {
    (void)user;
    int *v = NULL;
    size_t cap = 0;
    for (int i = 0; i < 40; i++) {
        v = arena_grow(a, v, &cap, (size_t)i + 1, sizeof *v);
        v[i] = i;
        if (i % 10 == 0) {
            open_count++;
            arena_defer(a, opened, NULL);
        }
    }
    arena_printf(a, "%d", v[39]);
    ArenaMark m = arena_mark(a);
    ARENA_ROOM(a, int, 100)[99] = 0;
    arena_strdup(a, "gone");
    arena_reset(a, m);
    assert_int_equal(v[39], 39);
}

static void every_allocation_may_fail(void **state) {
    (void)state;
    assert_true(oom_sweep(exercise, NULL) > 8);
    assert_int_equal(open_count, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_is_zeroed_aligned_and_apart),
        cmocka_unit_test(room_is_apart_and_leaves_what_follows_zeroed),
        cmocka_unit_test(beside_lives_as_long),
        cmocka_unit_test(reset_gives_back_exactly),
        cmocka_unit_test(mark_and_reset_in_a_loop_ask_for_no_memory),
        cmocka_unit_test(grow_keeps_elements_and_zeroes_new_ones),
        cmocka_unit_test(texts),
        cmocka_unit_test(defers_run_newest_first),
        cmocka_unit_test(failure_unwinds_to_the_nearest_try),
        cmocka_unit_test(overflow_is_no_memory),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
