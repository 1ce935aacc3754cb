/* Words of shared memory whose bytes were touched apart.  */
#include "sim/state/race.h"
#include <string.h>

static uint32_t *read_row(const SimBlock *b, uint32_t number, uint32_t byte) {
    return b->apart->read_row + ((size_t)number * 4 + byte) * (size_t)b->row;
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
    size_t need = (a->n + 1) * 4, row = (size_t)b->row;
    a->touch = arena_grow(arena, a->touch, &a->cap_touch, need, sizeof *a->touch);
    if (b->read_row) {
        a->read_row = arena_grow(arena, a->read_row, &a->cap_row, need * row, sizeof *a->read_row);
    }
    return (uint32_t)a->n++;
}

SimTouch *sim_shadow_apart(SimBlock *owner, uint32_t word) {
    SimShadow *s = &owner->shadow[word];
    if (s->apart) return owner->apart->touch + (size_t)s->apart * 4;
    uint32_t number = number_for(owner);
    SimTouch *touch = owner->apart->touch + (size_t)number * 4;
    size_t row = (size_t)owner->row;
    for (uint32_t k = 0; k < 4; k++) {
        touch[k] = s->whole;
        if (!owner->read_row) continue;
        memcpy(read_row(owner, number, k), owner->read_row + word * row, row * sizeof(uint32_t));
    }
    s->apart = number & 0xffffff;
    return touch;
}

static bool alike(const SimTouch *x, const SimTouch *y) {
    return x->write_time == y->write_time && x->read_time == y->read_time &&
           x->writer == y->writer && x->reader == y->reader && x->line == y->line &&
           x->readers == y->readers && x->many == y->many && x->atomic == y->atomic;
}

void sim_shadow_together(SimBlock *owner, uint32_t word) {
    SimShadow *s = &owner->shadow[word];
    SimTouch *touch = owner->apart->touch + (size_t)s->apart * 4;
    size_t bytes = (size_t)owner->row * sizeof(uint32_t);
    for (uint32_t k = 1; k < 4; k++) {
        if (!alike(touch, touch + k)) return;
        if (!owner->read_row) continue;
        if (memcmp(read_row(owner, s->apart, 0), read_row(owner, s->apart, k), bytes)) return;
    }
    s->whole = touch[0];
    if (owner->read_row) {
        memcpy(owner->read_row + (size_t)word * (size_t)owner->row,
               read_row(owner, s->apart, 0), bytes);
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
