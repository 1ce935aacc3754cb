/* Handles name a slot and its generation: (generation << 28) | (slot << 4) | kind.  What was
 * destroyed stays invalid when its slot is used again, and no handle is ever followed as an
 * address.  */
#include "simdriver/state.h"

enum { SLOT_BITS = 24, KIND_BITS = 4, MOST_SLOTS = 1 << SLOT_BITS };

static bool grow(HandleTable *t) {
    size_t cap = t->cap ? 2 * t->cap : 64;
    if (cap > MOST_SLOTS) return false;
    HandleSlot *slot = host_grow(t->slot, cap * sizeof *slot);
    if (!slot) return false;
    for (size_t k = t->cap; k < cap; k++) slot[k] = (HandleSlot){.generation = 1};
    t->slot = slot;
    t->cap = cap;
    return true;
}

bool handle_new(Driver *d, Object *o, Kind kind, Context *ctx) {
    HandleTable *t = &d->handles;
    size_t k = t->first_free;
    while (k < t->n && t->slot[k].object) k++;
    if (k >= t->cap && !grow(t)) return false;
    if (k >= t->n) t->n = k + 1;
    t->first_free = k + 1;
    t->slot[k].object = o;
    o->kind = kind;
    o->ctx = ctx;
    o->handle = ((uintptr_t)t->slot[k].generation << (SLOT_BITS + KIND_BITS)) |
                (uintptr_t)k << KIND_BITS | (uintptr_t)kind;
    return true;
}

Object *handle_get(Driver *d, const void *handle, Kind kind) {
    uintptr_t h = (uintptr_t)handle;
    size_t k = (h >> KIND_BITS) & (MOST_SLOTS - 1);
    if (k >= d->handles.n) return NULL;
    Object *o = d->handles.slot[k].object;
    return o && o->handle == h && o->kind == kind ? o : NULL;
}

void handle_free(Driver *d, Object *o) {
    size_t k = (o->handle >> KIND_BITS) & (MOST_SLOTS - 1);
    d->handles.slot[k].object = NULL;
    d->handles.slot[k].generation++;
    if (k < d->handles.first_free) d->handles.first_free = k;
}

Object *handle_next(Driver *d, size_t *at, Kind kind, const Context *ctx) {
    while (*at < d->handles.n) {
        Object *o = d->handles.slot[(*at)++].object;
        if (o && o->kind == kind && o->ctx == ctx) return o;
    }
    return NULL;
}
