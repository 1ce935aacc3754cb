/* links: sim */
/* Races are told by the byte: random programs of accesses of 1 to 8 bytes to the same 8 bytes,
 * against a search through all pairs of accesses.  Between barriers of all threads any two accesses
 * of different threads to one byte race if one of them writes, whatever order was executed.  */
#include "effort.h"
#include "ptxrun.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

enum { ACTORS = 4, MOST = 9, PLACE = 8 };

typedef struct {
    int actor, phase;
    uint32_t at, bytes;
    bool store;
} Access;

typedef struct {
    Access access[MOST];
    int n, phases;
} Program;

static Program draw(Rng *rng, int phases) {
    Program p = {.n = 2 + (int)rng_below(rng, MOST - 1), .phases = phases};
    for (int k = 0; k < p.n; k++) {
        uint32_t bytes = 1u << rng_below(rng, rng_below(rng, 4) ? 2 : 4);
        p.access[k] = (Access){.actor = (int)rng_below(rng, ACTORS),
                               .phase = (int)rng_below(rng, (uint32_t)phases),
                               .bytes = bytes,
                               .at = rng_below(rng, PLACE / bytes) * bytes,
                               .store = rng_below(rng, 2)};
    }
    return p;
}

static bool overlap(const Access *a, const Access *b) {
    return a->at < b->at + b->bytes && b->at < a->at + a->bytes;
}

/* Which pairs count: a write and any access; two writes; a write, and an access by an actor with a
 * higher number, who comes later.  */
typedef enum { ANY, WRITES, LATER } Pairs;

static bool conflict(const Access *a, const Access *b, Pairs pairs) {
    if (pairs == WRITES) return a->store && b->store;
    if (pairs == LATER) return a->actor < b->actor ? a->store : b->store;
    return a->store || b->store;
}

static bool races(const Program *p, Pairs pairs) {
    for (int k = 0; k < p->n; k++) {
        for (int m = 0; m < k; m++) {
            const Access *a = &p->access[k], *b = &p->access[m];
            bool apart = a->actor == b->actor || a->phase != b->phase || !overlap(a, b);
            if (!apart && conflict(a, b, pairs)) return true;
        }
    }
    return false;
}

/* The accesses of a phase, each by its actor alone; every store writes another value.  Nothing uses
 * what is loaded, so all of it counts.  */
static void add_phase(Buf *b, const Program *p, int phase, const char *space, const char *base) {
    for (int k = 0; k < p->n; k++) {
        const Access *x = &p->access[k];
        if (x->phase != phase) continue;
        const char *reg = x->bytes == 8 ? "%l9" : "%r9";
        buf_printf(b, "setp.eq.u32 %%p0, %%r20, %d;\n", x->actor);
        if (x->store) {
            buf_printf(b, "mov.b%d %s, %u; @%%p0 st.%s.b%u [%s+%u], %s;\n",
                       x->bytes == 8 ? 64 : 32, reg, (unsigned)(k + 1) * 0x01010101u, space,
                       x->bytes * 8, base, x->at, reg);
        } else {
            buf_printf(b, "@%%p0 ld.%s.b%u %s, [%s+%u];\n", space, x->bytes * 8,
                       x->bytes == 8 ? "%l8" : "%r10", base, x->at);
        }
    }
}

static void expect(PtxRun *r, const char *text, bool race, SimFaultKind kind) {
    if (race) run_faulty(r, text, (int)kind);
    else run_clean(r, text);
}

/* Actors are two lanes of two warps.  barrier: "bar.sync 0;", or one that a part of a block could
 * pass, for which the times of all readers are kept.  */
static void shared(const char *barrier, uint64_t seed) {
    Rng rng = {seed};
    int n = effort_long() ? 20000 : 500, found = 0;
    for (int k = 0; k < n; k++) {
        PtxRun r;
        run_open(&r);
        r.launch.block[0] = 64;
        r.launch.dynamic_smem = PLACE;
        r.options.seed = (uint64_t)k;
        Program p = draw(&rng, 3);
        Buf b = buf_new(r.arena);
        buf_printf(&b, "and.b32 %%r20, %%t, 31; min.u32 %%r20, %%r20, 2; shr.u32 %%r21, %%t, 5;\n"
                       "mad.lo.u32 %%r20, %%r21, 2, %%r20; and.b32 %%r21, %%t, 31;\n"
                       "setp.gt.u32 %%p1, %%r21, 1; selp.u32 %%r20, 99, %%r20, %%p1;\n"
                       "mov.u32 %%r8, smem; setp.eq.u32 %%p0, %%t, 0;\n"
                       "mov.b64 %%l9, 0; @%%p0 st.shared.b64 [%%r8], %%l9; %s\n", barrier);
        for (int phase = 0; phase < p.phases; phase++) {
            add_phase(&b, &p, phase, "shared", "%r8");
            buf_printf(&b, "%s\n", barrier);
        }
        bool race = races(&p, ANY);
        found += race;
        expect(&r, run_kernel(r.arena, 0, buf_str(&b)), race, SIM_RACE_SHARED);
        run_close(&r);
    }
    assert_true(found > n / 10 && found < n - n / 10);
}

static void of_a_block(void **state) {
    (void)state;
    shared("bar.sync 0;", 1);
}

static void of_a_block_with_partial_barriers(void **state) {
    (void)state;
    shared("bar.sync 1, 64;", 2);
}

/* Actors are blocks.  With an atomic the blocks may communicate, and run one after another: reads
 * of what an earlier one wrote count, too.  */
static void global(bool communicate, uint64_t seed) {
    Rng rng = {seed};
    int n = effort_long() ? 20000 : 500, found = 0;
    static const unsigned char zero[PLACE + 8];
    for (int k = 0; k < n; k++) {
        PtxRun r;
        run_open(&r);
        run_memory(&r, zero, sizeof zero);
        r.launch.grid[0] = ACTORS;
        r.launch.block[0] = 1;
        Program p = draw(&rng, 1);
        Buf b = buf_new(r.arena);
        buf_puts(&b, "mov.u32 %r20, %ctaid.x;\n");
        add_phase(&b, &p, 0, "global", "%a0");
        if (communicate) buf_puts(&b, "red.global.add.u32 [%a0+8], 1;\n");
        bool race = races(&p, communicate ? LATER : WRITES);
        found += race;
        expect(&r, run_kernel(r.arena, 1, buf_str(&b)), race, SIM_RACE_GLOBAL);
        run_close(&r);
    }
    assert_true(found > n / 10 && found < n - n / 10);
}

static void of_blocks(void **state) {
    (void)state;
    global(false, 3);
}

static void of_blocks_that_communicate(void **state) {
    (void)state;
    global(true, 4);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(of_a_block),
        cmocka_unit_test(of_a_block_with_partial_barriers),
        cmocka_unit_test(of_blocks),
        cmocka_unit_test(of_blocks_that_communicate),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
