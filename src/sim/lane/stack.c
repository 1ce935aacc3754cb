/* The stack of each thread: local memory that a kernel has, and that functions grow which call
 * themselves or take memory at run time.  */
#include "sim/lane/warp.h"
#include <string.h>

enum { STACK_FIRST = 1024 };

static void fill(SimWarp *w, int64_t bytes) {
    size_t all = (size_t)bytes * LANES + 64;             /* a load may overrun what it needs */
    const unsigned char *old = w->local;
    int64_t had = w->local_bytes;
    w->local = arena_alloc(w->block->cluster->arena, all);
    w->local_bytes = bytes;
    memset(w->local, SIM_POISON, all);
    for (int l = 0; l < LANES && old; l++) {
        memcpy(w->local + l * bytes, old + l * had, (size_t)had);
    }
}

void sim_stack_begin(SimWarp *w, const SimKernel *k) {
    if (!k->stack) {
        if (k->local_bytes > 0) fill(w, k->local_bytes);
        return;
    }
    uint32_t first = (uint32_t)(k->local_bytes + 15) / 16 * 16;
    fill(w, first + STACK_FIRST);
    w->stack = ARENA_ARRAY(w->block->cluster->arena, uint32_t, LANES);
    for (int l = 0; l < LANES; l++) w->stack[l] = first;
}

bool sim_stack_room(SimWarp *w, const SimInst *i, uint32_t lanes, uint32_t bytes) {
    int64_t need = 0;
    int deepest = 0;
    SIM_EACH(l, lanes) {
        if (w->stack[l] + (int64_t)bytes <= need) continue;
        need = w->stack[l] + (int64_t)bytes;
        deepest = l;
    }
    if (need <= w->local_bytes) return true;
    int64_t wider = w->local_bytes;
    while (wider < need) wider *= 2;
    if (wider > SIM_STACK_MOST) {
        sim_fault(sim_lane(w, i, deepest), SIM_BAD_JUMP,
                  "the thread's stack becomes longer than %d bytes", SIM_STACK_MOST);
        return false;
    }
    fill(w, wider);
    return true;
}
