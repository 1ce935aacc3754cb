/* links: base */
#include "arena_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

Arena *arena;
Diag diag;

int set_up(void **state) {
    *state = arena = arena_create(NULL);
    diag = diag_new(arena);
    return 0;
}

int tear_down(void **state) {
    (void)state;
    arena_destroy(arena);
    return 0;
}

const char *said(void) {
    const DiagMessage *m = diag_first_error(&diag);
    return m ? m->message : "";
}

void must(Status s) {
    if (s) fail_msg("%d: %s", s, said());
}

typedef struct {
    Arena *arena;
    void (*body)(Arena *a);
} Guarded;

static void run_body(void *user) {
    Guarded *g = user;
    g->body(g->arena);
}

void run(void **state, void (*body)(Arena *a)) {
    Guarded g = {*state, body};
    assert_true(arena_try(*state, run_body, &g));
}
