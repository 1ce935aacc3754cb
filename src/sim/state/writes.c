#include "sim/state/writes.h"
#include "sim/state/memory_state.h"
#include "sim/state/order.h"
#include <stdlib.h>

enum { MERGE_AT = 1 << 15 };

static int by_address(const void *x, const void *y) {
    const SimWrite *a = x, *b = y;
    if (a->at != b->at) return a->at < b->at ? -1 : 1;
    if (a->end != b->end) return a->end < b->end ? -1 : 1;
    if (a->inst != b->inst) return a->inst < b->inst ? -1 : 1;   /* of one array: program order */
    return (a->thread > b->thread) - (a->thread < b->thread);
}

void sim_merge_writes(SimWrites *w) {
    if (w->merged == w->n) return;
    qsort(w->write, w->n, sizeof *w->write, by_address);
    size_t out = 0;
    for (size_t k = 1; k < w->n; k++) {
        SimWrite *last = &w->write[out], *next = &w->write[k];
        if (next->at <= last->end) {
            if (next->end > last->end) last->end = next->end;
        } else {
            w->write[++out] = *next;
        }
    }
    w->n = w->merged = out + 1;
}

void sim_global_wrote(SimBlock *b, const SimInst *i, int thread, uint64_t at, uint64_t bytes) {
    SimWrites *w = b->writes;
    sim_note_written(b, at, bytes);
    if (b->cluster->run->order) sim_order_wrote(b, i, thread, at, bytes);
    if (!w) return;
    if (w->n > w->merged) {
        SimWrite *last = &w->write[w->n - 1];
        if (last->end == at && last->inst == i) {
            last->end += bytes;
            return;
        }
    }
    if (w->n - w->merged >= MERGE_AT + w->merged) sim_merge_writes(w);
    w->write = arena_grow(w->arena, w->write, &w->cap, w->n + 1, sizeof *w->write);
    w->write[w->n++] = (SimWrite){at, at + bytes, i, thread};
}

typedef struct {
    const SimWrites *block;
    const SimWrite *write;
} Written;

static int by_place(const void *x, const void *y) {
    const Written *a = x, *b = y;
    if (a->write->at != b->write->at) return a->write->at < b->write->at ? -1 : 1;
    return (a->block->block > b->block->block) - (a->block->block < b->block->block);
}

typedef struct {
    Written earlier, later;
} Overlap;

static int by_later(const void *x, const void *y) {
    const Overlap *a = x, *b = y;
    if (a->later.block != b->later.block) {
        return a->later.block->block < b->later.block->block ? -1 : 1;
    }
    return (a->later.write->at > b->later.write->at) - (a->later.write->at < b->later.write->at);
}

void sim_find_overlaps(Arena *a, SimWrites **blocks, int64_t n,
                       void (*found)(void *user, const SimWrites *earlier, const SimWrite *first,
                                     const SimWrites *later, const SimWrite *second),
                       void *user) {
    size_t all = 0, at = 0, n_overlap = 0, cap = 0;
    for (int64_t b = 0; b < n; b++) {
        if (blocks[b]) all += blocks[b]->n;
    }
    Written *written = ARENA_ARRAY(a, Written, all + 1);
    for (int64_t b = 0; b < n; b++) {
        for (size_t k = 0; blocks[b] && k < blocks[b]->n; k++) {
            written[at++] = (Written){blocks[b], &blocks[b]->write[k]};
        }
    }
    qsort(written, all, sizeof *written, by_place);
    Overlap *overlap = NULL;
    const Written *reach = NULL;             /* of those so far, the one that ends last */
    for (size_t k = 0; k < all; k++) {
        const Written *p = &written[k];
        if (reach && p->write->at < reach->write->end && p->block != reach->block) {
            bool swap = p->block->block < reach->block->block;
            overlap = arena_grow(a, overlap, &cap, n_overlap + 1, sizeof *overlap);
            overlap[n_overlap++] = swap ? (Overlap){*p, *reach} : (Overlap){*reach, *p};
        }
        if (!reach || p->write->end > reach->write->end) reach = p;
    }
    if (n_overlap > 1) qsort(overlap, n_overlap, sizeof *overlap, by_later);
    for (size_t k = 0; k < n_overlap; k++) {
        if (k > 0 && overlap[k].later.block == overlap[k - 1].later.block) continue;
        found(user, overlap[k].earlier.block, overlap[k].earlier.write, overlap[k].later.block,
              overlap[k].later.write);
    }
}
