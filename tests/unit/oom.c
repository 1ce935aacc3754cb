/* links: base */
#include "oom.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

static void *take(size_t size, void *user) {
    Oom *o = user;
    if (++o->asked == o->fail) return NULL;
    void *p = malloc(size);
    o->live += p != NULL;
    return p;
}

static void give_back(void *p, void *user) {
    Oom *o = user;
    o->live--;
    free(p);
}

ArenaSource oom_source(Oom *o) {
    return (ArenaSource){.alloc = take, .free = give_back, .user = o, .exact = true};
}

typedef struct {
    Arena *arena;
    void (*body)(Arena *a, void *user);
    void *user;
} Call;

static void run(void *p) {
    Call *c = p;
    c->body(c->arena, c->user);
}

int64_t oom_sweep(void (*body)(Arena *a, void *user), void *user) {
    for (int64_t fail = 1;; fail += fail < 100 ? 1 : fail / 16) {
        Oom o = {.fail = fail};
        ArenaSource source = oom_source(&o);
        Call c = {arena_create(&source), body, user};
        bool done = c.arena && arena_try(c.arena, run, &c);
        arena_destroy(c.arena);
        if (o.live != 0) fail_msg("allocation %d failed: %d not freed", (int)fail, (int)o.live);
        if (done && o.asked >= fail) fail_msg("the failure of allocation %d was lost", (int)fail);
        if (!done && o.asked < fail) fail_msg("gave up after %d allocations", (int)o.asked);
        if (done) return o.asked;
    }
}
