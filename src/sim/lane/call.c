/* Calls: arguments, frames, registers of functions that call themselves, and the way back; memory
 * that a function takes from its stack.  */
#include "sim/lane/code.h"
#include "sim/lane/pick.h"
#include "sim/lane/warp.h"
#include <string.h>

static const uint32_t *base_of(const SimWarp *w, Slot base) {
    static const uint32_t fixed[LANES];
    return base == SLOT_NONE ? fixed : sim_u32(w, base);
}

static void copy(SimWarp *w, const SimCopy *c, int n, uint32_t lanes, const uint32_t *from,
                 const uint32_t *to) {
    for (int k = 0; k < n; k++) {
        SIM_EACH(l, lanes) {
            unsigned char *local = w->local + l * w->local_bytes;
            memcpy(local + to[l] + c[k].to, local + from[l] + c[k].from, (size_t)c[k].bytes);
        }
    }
}

/* Moves a lane's registers to `at`, or back.  */
static void move_registers(SimWarp *w, const SimFrame *f, int lane, unsigned char *at, bool back) {
    for (int k = 0; k < f->n_saved; k++) {
        Slot slot = f->saved[k].slot;
        int bits = f->saved[k].bits;
        size_t bytes = bits <= 32 ? 4 : (size_t)bits / 8;
        if (bits == 1) {
            uint32_t value = *sim_u32(w, slot);
            if (back) {
                memcpy(&value, at, 4);
                sim_set_pred(w, slot, 1u << lane, value);
            } else {
                memcpy(at, &value, 4);
            }
        } else {
            void *place = bits <= 32   ? (void *)(sim_u32(w, slot) + lane)
                          : bits == 64 ? (void *)(sim_u64(w, slot) + lane)
                                       : (void *)(sim_u64(w, slot) + 2 * lane);
            if (back) memcpy(place, at, bytes);
            else memcpy(at, place, bytes);
        }
        at += bytes;
    }
}

/* All of the running subwarp go into the function; they come back to `back`, which copies the
 * results and after which is the join.  */
static void enter(SimWarp *w, const SimInst *i, const SimCallee *to, uint32_t lanes,
                  uint32_t back) {
    const SimCall *c = i->extra;
    const SimFrame *f = to->frame;
    bool stack = f->base != SLOT_NONE;
    if (stack && !sim_stack_room(w, i, lanes, f->bytes)) return;
    sim_enter(w, back + 1);
    copy(w, to->in, c->n_in, lanes, base_of(w, c->base), stack ? w->stack : base_of(w, SLOT_NONE));
    SIM_EACH(l, lanes) {
        if (stack) {
            unsigned char *local = w->local + l * w->local_bytes;
            move_registers(w, f, l, local + w->stack[l] + f->variables, false);
            sim_u32(w, f->base)[l] = w->stack[l];
            w->stack[l] += f->bytes;
        }
        sim_u32(w, to->link)[l] = back;
    }
    w->pc = to->start;
}

/* Some of the lanes make the call, the others go on from `rest`; they meet behind it.  */
static void part(SimWarp *w, uint32_t lanes, uint32_t back, uint32_t rest) {
    sim_diverge(w, lanes, back - 1, back + 1);
    w->pc = rest;
}

void sim_exec_call(SimWarp *w, const SimInst *i, uint32_t active) {
    const SimCall *c = i->extra;
    uint32_t back = w->pc;
    if (active != w->mask) part(w, active, back, back + 1);
    else enter(w, i, &c->callee[0], active, back);
}

static int find(const SimCall *c, uint64_t address) {
    for (int k = 0; k < c->n_callee; k++) {
        if (c->callee[k].address == address) return k;
    }
    return -1;
}

/* Lanes with different functions take turns.  */
void sim_exec_call_indirect(SimWarp *w, const SimInst *i, uint32_t active) {
    const SimCall *c = i->extra;
    uint32_t back = w->pc, same = 0;
    const uint64_t *address = sim_u64(w, i->a);
    if (active != w->mask) {
        part(w, active, back, back + 1);
        return;
    }
    int first = sim_first_lane(active), callee = find(c, address[first]);
    if (callee < 0) {
        sim_fault(sim_lane(w, i, first), SIM_BAD_JUMP,
                  "0x%llx is not the address of a function that this "
                  "call may mean",
                  (unsigned long long)address[first]);
        return;
    }
    SIM_EACH(l, active) {
        if (address[l] == address[first]) same |= 1u << l;
    }
    if (same != active) {
        part(w, same, back, back - 1);
        return;
    }
    enter(w, i, &c->callee[callee], active, back);
}

static void leave(SimWarp *w, const SimCall *c, const SimCallee *from, uint32_t lanes) {
    const SimFrame *f = from->frame;
    uint32_t base[LANES] = {0};
    SIM_EACH(l, f->base == SLOT_NONE ? 0 : lanes) {
        base[l] = sim_u32(w, f->base)[l];
        unsigned char *local = w->local + l * w->local_bytes;
        move_registers(w, f, l, local + base[l] + f->variables, true);
        w->stack[l] = base[l];
    }
    copy(w, from->out, c->n_out, lanes, base, base_of(w, c->base));
}

void sim_exec_return_values(SimWarp *w, const SimInst *i, uint32_t active) {
    const SimCall *c = i->extra;
    for (int k = 0; k < c->n_callee; k++) {
        uint32_t lanes = 0;
        SIM_EACH(l, active) {
            if (w->returned[l] == c->callee[k].link) lanes |= 1u << l;
        }
        if (lanes) leave(w, c, &c->callee[k], lanes);
    }
}

void sim_exec_ret(SimWarp *w, const SimInst *i, uint32_t active) {
    if (i->arg) {                            /* of the kernel itself */
        sim_lanes_exit(w, active);
        return;
    }
    SIM_EACH(l, active) w->returned[l] = i->d;
    sim_scatter(w, active, sim_u32(w, i->d), SLOT_NONE);
}

void sim_exec_frame_address(SimWarp *w, const SimInst *i, uint32_t active) {
    const uint32_t *base = sim_u32(w, i->a);
    SIM_EACH(l, active) {
        if (i->flags) sim_u64(w, i->d)[l] = base[l] + (uint64_t)i->offset;
        else sim_u32(w, i->d)[l] = base[l] + (uint32_t)i->offset;
    }
}

/* ---- alloca ---- */

static void exec_alloca(SimWarp *w, const SimInst *i, uint32_t active) {
    bool wide = i->opnd[0].bits == 64;
    uint32_t align = i->arg;
    SIM_EACH(l, active) {
        uint64_t bytes = wide ? sim_u64(w, i->a)[l] : sim_u32(w, i->a)[l];
        uint32_t at = (w->stack[l] + align - 1) / align * align;
        if (bytes > SIM_STACK_MOST) bytes = SIM_STACK_MOST + 1;
        uint32_t end = (at + (uint32_t)bytes + 15) / 16 * 16;
        if (!sim_stack_room(w, i, 1u << l, end - w->stack[l])) return;
        w->stack[l] = end;
        if (wide) sim_u64(w, i->d)[l] = at;
        else sim_u32(w, i->d)[l] = at;
    }
}

static void exec_stacksave(SimWarp *w, const SimInst *i, uint32_t active) {
    SIM_EACH(l, active) {
        if (i->opnd[0].bits == 64) sim_u64(w, i->d)[l] = w->stack[l];
        else sim_u32(w, i->d)[l] = w->stack[l];
    }
}

static void exec_stackrestore(SimWarp *w, const SimInst *i, uint32_t active) {
    SIM_EACH(l, active) {
        uint64_t to = i->opnd[0].bits == 64 ? sim_u64(w, i->d)[l] : sim_u32(w, i->d)[l];
        if (to > w->stack[l] || to % 16) {
            sim_fault(sim_lane(w, i, l), SIM_BAD_JUMP,
                      "restores the stack to 0x%llx, where it never was", (unsigned long long)to);
            return;
        }
        w->stack[l] = (uint32_t)to;
    }
}

SimExec *sim_pick_stack(SimPick *k) {
    PtxType t = sim_take_type(k);
    if (t != PTX_U32 && t != PTX_U64) return sim_pick_fail(k, "needs .u32 or .u64");
    int bits = sim_type_bits(t);
    if (!sim_want_bits(k, 0, bits)) return NULL;
    if (k->p->op != OP_ALLOCA) return k->p->op == OP_STACKSAVE ? exec_stacksave : exec_stackrestore;
    const PtxOpnd *align = k->p->n_opnd > 2 ? &k->p->opnd[2] : NULL;
    int64_t a = align ? align->offset : 8;
    if ((align && align->kind != OPND_INT) || a < 1 || a > 1024 || (a & (a - 1))) {
        return sim_pick_fail(k, "needs an alignment of a power of two up to 1024");
    }
    k->i->arg = (uint16_t)a;
    return sim_want_bits(k, 1, bits) ? exec_alloca : NULL;
}
