/* ld and st.
 *
 * Addresses are computed for all lanes, checked and counted per request, then moved element by
 * element.  The usual case, all lanes inside one allocation, is checked without a call per lane. */
#include "sim/lane/lanes.h"
#include "sim/state/memory_state.h"
#include "sim/state/order.h"
#include "sim/state/race.h"
#include <string.h>

/* SimInst.flags of an access; SimInst.arg: the bytes of it that must be there.  */
enum { ACCESS_STORE = 1, ACCESS_SIGNED = 2, ACCESS_STRONG = 4, ACCESS_WIDE = 8 };

typedef struct {
    uint64_t at[LANES];
    unsigned char *host[LANES];
} Lanes;

static void addresses(const SimWarp *w, const SimOpnd *o, uint64_t at[LANES]) {
    uint64_t offset = (uint64_t)o->offset;
    if (o->wide) {
        const uint64_t *base = sim_u64(w, o->slot[0]);
        SIM_LANES(l) at[l] = base[l] + offset;
    } else {
        const uint32_t *base = sim_u32(w, o->slot[0]);
        SIM_LANES(l) at[l] = base[l] + offset;
    }
}

/* ---- global ---- */

/* True if every active lane lies inside x with the bytes it needs, aligned.  */
static bool all_inside(const SimAlloc *x, uint32_t active, const uint64_t at[LANES],
                       uint32_t needed, uint32_t bytes) {
    if (!x || !x->memory.data || needed > x->bytes) return false;
    uint64_t room = x->bytes - needed, bad = 0;
    SIM_EACH(l, active) bad |= (uint64_t)(at[l] - x->base > room) | (at[l] & (bytes - 1));
    return bad == 0;
}

/* The bytes that a plain load needs, run by run.  */
static void order_read(SimLane by, uint64_t at, uint32_t bytes) {
    for (uint32_t k = 0, end; k < bytes; k = end + 1) {
        for (end = k; end < bytes && !(by.i->ptx->unused >> end & 1); end++) continue;
        if (end > k) sim_order_read(by.w->block, by.i, by.w->id * LANES + by.lane, at + k, end - k);
    }
}

/* Blocks that communicate: see order.h.  */
static void order_lanes(SimWarp *w, const SimInst *i, uint32_t active, const Lanes *p,
                        uint32_t bytes) {
    bool store = i->flags & ACCESS_STORE;
    SIM_EACH(l, active) {
        if (l > 0 && (active >> (l - 1) & 1) && p->at[l] == p->at[l - 1]) continue;
        if (i->flags & ACCESS_STRONG) sim_order_sync(w->block, p->at[l], !store, store);
        else if (!store) order_read(sim_lane(w, i, l), p->at[l], bytes);
    }
}

static bool global_lanes(SimWarp *w, const SimInst *i, uint32_t active, Lanes *p) {
    uint32_t bytes = (uint32_t)i->bytes * i->count;
    SimBlock *b = w->block;
    bool ordered = b->cluster->run->order != NULL;
    bool store = i->flags & ACCESS_STORE && !(ordered && i->flags & ACCESS_STRONG);
    bool inside = all_inside(b->hot, active, p->at, i->arg, bytes);
    if (!inside) {
        b->hot = sim_find(b->cluster->run->gpu, p->at[sim_first_lane(active)], i->arg);
        inside = all_inside(b->hot, active, p->at, i->arg, bytes);
    }
    if (inside) {
        SIM_EACH(l, active) {
            p->host[l] = lazy_at(&b->hot->memory, p->at[l] - b->hot->base, i->arg);
            if (store) sim_global_wrote(b, i, w->id * LANES + l, p->at[l], bytes);
        }
    } else {
        SIM_EACH(l, active) {
            p->host[l] = sim_global(sim_lane(w, i, l), p->at[l], i->arg, bytes, store);
            if (!p->host[l]) return false;
        }
    }
    if (i->flags & ACCESS_STORE && !store)
        SIM_EACH(l, active) sim_note_written(b, p->at[l], bytes);
    if (ordered) order_lanes(w, i, active, p, bytes);
    bool strong_load = (i->flags & (ACCESS_STRONG | ACCESS_STORE)) == ACCESS_STRONG;
    if (strong_load && b->cluster->run->kernel->serial) sim_poll(w);
    bool counted = i->space == SPACE_GLOBAL || i->space == SPACE_GENERIC;
    if (counted && !b->cluster->run->options->no_counters) {
        sim_count_global(w, active, p->at, (int)bytes, i->flags & ACCESS_STORE);
    }
    return true;
}

/* ---- shared ---- */

static bool shadow(SimLane by, SimBlock *owner, uint32_t offset, uint32_t bytes,
                   const unsigned char *value) {
    bool strong = by.i->flags & ACCESS_STRONG;
    if (!(by.i->flags & ACCESS_STORE)) {
        return strong ? sim_shadow_read_strong(by, owner, offset, bytes)
                      : sim_shadow_read(by, owner, offset, bytes);
    }
    return strong ? sim_shadow_atomic(by, owner, offset, bytes)
                  : sim_shadow_store(by, owner, offset, bytes, value);
}

static void gather_value(const SimWarp *w, const SimInst *i, const SimOpnd *v, int lane,
                         unsigned char *out);

/* Every active lane inside the own block's memory, aligned, of whole words: the usual load.  */
static bool own_words(const SimWarp *w, uint32_t active, const uint32_t at[LANES],
                      uint32_t needed, uint32_t bytes, uint32_t offset[LANES]) {
    const SimBlock *b = w->block;
    if (bytes < 4 || needed > b->smem_bytes) return false;
    uint32_t room = b->smem_bytes - needed, bad = 0;
    SIM_LANES(l) offset[l] = at[l] - b->smem_base;
    SIM_EACH(l, active) bad |= (uint32_t)(offset[l] > room) | (at[l] & (bytes - 1));
    return bad == 0;
}

static void count_shared(SimWarp *w, const SimInst *i, uint32_t active, const uint32_t at[LANES]) {
    if (w->block->cluster->run->options->no_counters) return;
    sim_count_shared(w, active, at, i->bytes * i->count, i->flags & ACCESS_STORE);
}

static bool load_own(SimWarp *w, const SimInst *i, uint32_t active, Lanes *p,
                     const uint32_t at[LANES], const uint32_t offset[LANES]) {
    SimBlock *b = w->block;
    bool strong = i->flags & ACCESS_STRONG;
    if (!sim_shadow_read_lanes(w, i, active, b, offset, strong)) return false;
    SIM_EACH(l, active) p->host[l] = b->smem + offset[l];
    count_shared(w, i, active, at);
    return true;
}

static bool shared_lanes(SimWarp *w, const SimInst *i, uint32_t active, Lanes *p,
                         const SimOpnd *value) {
    uint32_t bytes = (uint32_t)i->bytes * i->count, at[LANES], offsets[LANES];
    SIM_LANES(l) at[l] = (uint32_t)p->at[l];
    if (i->flags & ACCESS_STRONG) sim_strong_begin(w, active);
    if (!(i->flags & ACCESS_STORE) && own_words(w, active, at, i->arg, bytes, offsets)) {
        return load_own(w, i, active, p, at, offsets);
    }
    SIM_EACH(l, active) {
        SimLane by = sim_lane(w, i, l);
        uint32_t offset;
        SimBlock *owner = sim_shared(by, at[l], i->arg, bytes, &offset);
        if (!owner) return false;
        if (owner != w->block) sim_touch_remote(by, owner);
        p->host[l] = owner->smem + offset;
        unsigned char now[64];
        if (value) gather_value(w, i, value, l, now);
        if (!shadow(by, owner, offset, bytes, value ? now : NULL)) return false;
        if (value) memcpy(p->host[l], now, bytes);
    }
    if (value && i->flags & ACCESS_STRONG) sim_strong_end(w, active);
    count_shared(w, i, active, at);
    return true;
}

/* ---- local and parameters ---- */

static bool private_lanes(SimWarp *w, const SimInst *i, uint32_t active, Lanes *p, PtxSpace space) {
    uint32_t bytes = (uint32_t)i->bytes * i->count;
    SIM_EACH(l, active) {
        SimLane by = sim_lane(w, i, l);
        uint64_t at = p->at[l] & 0xffffffffu;
        p->host[l] = space == SPACE_LOCAL
                         ? sim_local(by, at, i->arg, bytes)
                         : (unsigned char *)(uintptr_t)sim_param(by, at, i->arg, bytes);
        if (!p->host[l]) return false;
    }
    if (space == SPACE_LOCAL) {
        w->block->count.local_bytes += (uint64_t)bytes * (uint64_t)sim_popcount(active);
    }
    return true;
}

/* ---- moving values ---- */

static void load32(const SimInst *i, uint32_t active, unsigned char *const host[LANES], size_t at,
                   uint32_t *d) {
    bool s = i->flags & ACCESS_SIGNED;
    if (i->bytes == 4) {
        SIM_EACH(l, active) memcpy(&d[l], host[l] + at, 4);
    } else if (i->bytes == 2) {
        SIM_EACH(l, active) {
            uint16_t v;
            memcpy(&v, host[l] + at, 2);
            d[l] = s ? (uint32_t)(int16_t)v : v;
        }
    } else {
        SIM_EACH(l, active) d[l] = s ? (uint32_t)(int8_t)host[l][at] : host[l][at];
    }
}

static void load64(const SimInst *i, uint32_t active, unsigned char *const host[LANES], size_t at,
                   uint64_t *d) {
    uint32_t narrow[LANES] = {0};
    if (i->bytes == 8) {
        SIM_EACH(l, active) memcpy(&d[l], host[l] + at, 8);
        return;
    }
    load32(i, active, host, at, narrow);
    bool s = i->flags & ACCESS_SIGNED;
    SIM_EACH(l, active) d[l] = s ? (uint64_t)(int32_t)narrow[l] : narrow[l];
}

static void load_values(SimWarp *w, const SimInst *i, uint32_t active,
                        unsigned char *const host[LANES]) {
    const SimOpnd *d = &i->opnd[0];
    for (int e = 0; e < i->count; e++) {
        size_t at = (size_t)e * i->bytes;
        if (d->slot[e] == SLOT_NONE) continue;
        if (i->bytes == 16) {
            SIM_EACH(l, active) memcpy(sim_u64(w, d->slot[e]) + 2 * l, host[l] + at, 16);
        } else if (i->flags & ACCESS_WIDE) {
            load64(i, active, host, at, sim_u64(w, d->slot[e]));
        } else {
            load32(i, active, host, at, sim_u32(w, d->slot[e]));
        }
    }
}

/* One lane's value to be stored, as bytes.  */
static void gather_value(const SimWarp *w, const SimInst *i, const SimOpnd *v, int lane,
                         unsigned char *out) {
    for (int e = 0; e < i->count; e++, out += i->bytes) {
        if (i->bytes == 16) {
            memcpy(out, sim_u64(w, v->slot[e]) + 2 * lane, 16);
        } else if (i->flags & ACCESS_WIDE) {
            memcpy(out, sim_u64(w, v->slot[e]) + lane, i->bytes);
        } else {
            memcpy(out, sim_u32(w, v->slot[e]) + lane, i->bytes);
        }
    }
}

static void exec_ld_in(SimWarp *w, const SimInst *i, uint32_t active, Lanes *p, PtxSpace space) {
    bool good;
    switch (space) {
    case SPACE_SHARED:
    case SPACE_SHARED_CLUSTER: good = shared_lanes(w, i, active, p, NULL); break;
    case SPACE_LOCAL:
    case SPACE_PARAM: good = private_lanes(w, i, active, p, space); break;
    default: good = global_lanes(w, i, active, p); break;
    }
    if (good) load_values(w, i, active, p->host);
}

static void exec_st_in(SimWarp *w, const SimInst *i, uint32_t active, Lanes *p, PtxSpace space) {
    const SimOpnd *v = &i->opnd[1];
    if (space == SPACE_SHARED || space == SPACE_SHARED_CLUSTER) {
        shared_lanes(w, i, active, p, v);
        return;
    }
    bool good = space == SPACE_LOCAL ? private_lanes(w, i, active, p, space)
                                     : global_lanes(w, i, active, p);
    if (!good) return;
    SIM_EACH(l, active) gather_value(w, i, v, l, p->host[l]);
}

/* The lanes whose generic address is in the space of the first one.  */
static uint32_t same_space(uint32_t active, const uint64_t at[LANES], PtxSpace *space) {
    uint32_t lanes = 0;
    *space = sim_classify(at[sim_first_lane(active)]);
    SIM_EACH(l, active) {
        if (sim_classify(at[l]) == *space) lanes |= 1u << l;
    }
    return lanes;
}

static void exec_access(SimWarp *w, const SimInst *i, uint32_t active, Lanes *p) {
    bool store = i->flags & ACCESS_STORE;
    while (active && !w->block->stop) {
        PtxSpace space = (PtxSpace)i->space;
        uint32_t lanes = active;
        if (space == SPACE_GENERIC) lanes = same_space(active, p->at, &space);
        if (store) exec_st_in(w, i, lanes, p, space);
        else exec_ld_in(w, i, lanes, p, space);
        active &= ~lanes;
    }
}

static void exec_ld(SimWarp *w, const SimInst *i, uint32_t active) {
    Lanes p;
    addresses(w, &i->opnd[1], p.at);
    exec_access(w, i, active, &p);
}

static void exec_st(SimWarp *w, const SimInst *i, uint32_t active) {
    Lanes p;
    addresses(w, &i->opnd[0], p.at);
    exec_access(w, i, active, &p);
}

/* A parameter at a fixed address: the same value for all lanes.  */
static void exec_ld_param(SimWarp *w, const SimInst *i, uint32_t active) {
    uint64_t at = sim_address(w, &i->opnd[1], 0);
    unsigned char *host[LANES];
    host[0] = (unsigned char *)(uintptr_t)sim_param(sim_lane(w, i, sim_first_lane(active)), at,
                                                    i->arg, i->bytes);
    if (!host[0]) return;
    for (int l = 1; l < LANES; l++) host[l] = host[0];
    load_values(w, i, active, host);
}

/* ---- choice ---- */

static int vector_length(SimPick *k) {
    if (sim_take(k, MOD_V2)) return 2;
    if (sim_take(k, MOD_V4)) return 4;
    return sim_take(k, MOD_V8) ? 8 : 1;
}

/* A variable of the frame is in local memory, whatever space is written.  */
static bool frame_variable(const PtxOpnd *address) {
    const PtxSymbol *s = address->elem[0].symbol;
    return s && s->space == SPACE_LOCAL;
}

/* How far a load must be able to read: up to the last byte that something depends on.  What lies
 * behind is in the aligned bytes of the load, so in the same page: a GPU does not fault.  All
 * memory is followed by poison that is as long as the longest load (LAZY_BEHIND).  */
static uint32_t needed(const PtxInst *p, uint32_t bytes) {
    uint32_t n = bytes;
    while (n > 0 && p->unused >> (n - 1) & 1) n--;
    return n ? n : bytes;
}

SimExec *sim_pick_memory(SimPick *k) {
    SimInst *i = k->i;
    bool store = k->p->op == OP_ST;
    int value = store ? 1 : 0, address = store ? 0 : 1;
    sim_take_hints(k);
    SimOrder order = sim_take_order(k);
    i->space = (uint8_t)sim_take_space(k);
    i->count = (uint8_t)vector_length(k);
    PtxType t = sim_take_type(k);
    int bits = sim_type_bits(t);
    const SimOpnd *v = &i->opnd[value];
    if (bits < 8 || bits % 8 != 0) return sim_pick_fail(k, "has no type that memory holds");
    if (v->n != i->count) return sim_pick_fail(k, "needs %d values", i->count);
    if (bits * i->count > 256) return sim_pick_fail(k, "moves more than 32 bytes");
    if (v->bits == 1 || (v->bits && v->bits < bits && v->bits < 32 && bits > 32) ||
        (bits > 32 && v->bits && v->bits != bits) || (bits <= 32 && v->bits > 64)) {
        return sim_pick_fail(k, "has a register of the wrong size");
    }
    const SimOpnd *a = &i->opnd[address];
    if (a->bits != 0 && a->bits != 32 && a->bits != 64) {
        return sim_pick_fail(k, "needs an address of 32 or 64 bits");
    }
    i->bytes = (uint8_t)(bits / 8);
    i->arg = (uint16_t)needed(k->p, (uint32_t)i->bytes * i->count);
    bool wide = bits == 64 || v->bits == 64;
    bool strong = order.order != MOD_COUNT && order.order != MOD_WEAK;
    i->flags = (uint8_t)((store ? ACCESS_STORE : 0) | (ptx_signed(t) ? ACCESS_SIGNED : 0) |
                         (strong ? ACCESS_STRONG : 0) | (wide ? ACCESS_WIDE : 0));
    bool frame = frame_variable(&k->p->opnd[address]);
    if (i->space == SPACE_PARAM && (frame || store)) i->space = SPACE_LOCAL;
    if (store && i->space == SPACE_CONST) return sim_pick_fail(k, "writes constant memory");
    if (store) return exec_st;
    return i->space == SPACE_PARAM && a->bits == 0 ? exec_ld_param : exec_ld;
}
