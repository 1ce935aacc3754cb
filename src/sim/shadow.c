/* Words of shared memory whose bytes were touched apart.  */
#include "sim/race.h"
#include <string.h>

static uint32_t *clock_row(const SimBlock *b, uint32_t number, uint32_t byte) {
    return b->apart->read_clock + ((size_t)number * 4 + byte) * (size_t)b->n_warp;
}

static uint32_t number_for(SimBlock *b) {
    SimApart *a = b->apart;
    Arena *arena = b->cluster->arena;
    if (!a) {
        a = b->apart = ARENA_NEW(arena, SimApart);
        a->n = 1;
    }
    uint32_t number = a->free;
    if (number) {
        a->free = a->touch[(size_t)number * 4].write_time;
        return number;
    }
    size_t need = (a->n + 1) * 4, row = (size_t)b->n_warp;
    a->touch = arena_grow(arena, a->touch, &a->cap_touch, need, sizeof *a->touch);
    if (b->read_clock) {
        a->read_clock = arena_grow(arena, a->read_clock, &a->cap_clock, need * row,
                                   sizeof *a->read_clock);
    }
    return (uint32_t)a->n++;
}

SimTouch *sim_shadow_apart(SimBlock *owner, uint32_t word) {
    SimShadow *s = &owner->shadow[word];
    if (s->apart) return owner->apart->touch + (size_t)s->apart * 4;
    uint32_t number = number_for(owner);
    SimTouch *touch = owner->apart->touch + (size_t)number * 4;
    size_t row = (size_t)owner->n_warp;
    for (uint32_t k = 0; k < 4; k++) {
        touch[k] = s->whole;
        if (!owner->read_clock) continue;
        memcpy(clock_row(owner, number, k), owner->read_clock + word * row, row * sizeof(uint32_t));
    }
    s->apart = number & 0xffffff;
    return touch;
}

static bool alike(const SimTouch *x, const SimTouch *y) {
    return x->write_time == y->write_time && x->read_time == y->read_time &&
           x->writer == y->writer && x->reader == y->reader && x->line == y->line &&
           x->read_kind == y->read_kind && x->atomic == y->atomic;
}

void sim_shadow_together(SimBlock *owner, uint32_t word) {
    SimShadow *s = &owner->shadow[word];
    SimTouch *touch = owner->apart->touch + (size_t)s->apart * 4;
    size_t bytes = (size_t)owner->n_warp * sizeof(uint32_t);
    for (uint32_t k = 1; k < 4; k++) {
        if (!alike(touch, touch + k)) return;
        if (!owner->read_clock) continue;
        if (memcmp(clock_row(owner, s->apart, 0), clock_row(owner, s->apart, k), bytes)) return;
    }
    s->whole = touch[0];
    if (owner->read_clock) {
        memcpy(owner->read_clock + (size_t)word * (size_t)owner->n_warp,
               clock_row(owner, s->apart, 0), bytes);
    }
    touch[0].write_time = owner->apart->free;
    owner->apart->free = s->apart;
    s->apart = 0;
}

bool sim_shadow_written(const SimBlock *owner, uint32_t offset, uint32_t bytes, uint32_t since,
                        uint32_t *at) {
    for (uint32_t word = offset / 4; word * 4 < offset + bytes; word++) {
        const SimShadow *s = &owner->shadow[word];
        unsigned hit = s->whole.write_time > since ? 15 : 0;
        for (uint32_t b = 0; s->apart && b < 4; b++) {
            const SimTouch *t = owner->apart->touch + (size_t)s->apart * 4 + b;
            hit = t->write_time > since ? hit | 1u << b : hit & ~(1u << b);
        }
        hit = (hit | s->flying) & sim_byte_mask(word, offset, bytes);
        if (!hit) continue;
        *at = word * 4 + sim_first_byte(hit);
        return true;
    }
    return false;
}
