#include "codegen/elements/reduction.h"

/* Threads of a block that hold parts of the same results meet: lanes by shuffles, then warps, or
 * groups of threads, through shared memory.  The tree has a node for each of these, and for the
 * barrier between what is left and what is taken.  */

/* The reductions of a node, held as `held`.  */
static Partials of_node(const Kernel *k, const ThreadMap *m, MonoidVariable held, const Node *n) {
    ThreadMap own = *m;
    own.held = held;
    if (held != m->held) own.behind = 0;
    Partials p = reduction_partials(k, &own, n->from);
    return n->to < MEET_ALL ? monoid_select(&p, n->to == MEET_ONLINE) : p;
}

Meeting meeting_of_neighbours(const Kernel *k, int threads) {
    const Cg *cg = k->cg;
    int warps = threads / WARP;
    Ir tid = k->walk.tid, warp = ir_number(cg, IR_U32, WARP), zero = ir_number(cg, IR_U32, 0);
    if (warps <= 1) return (Meeting){0};
    Ir first = ir_mul_n(cg, ir_div(cg, tid, ir_number(cg, IR_U32, threads)), warps);
    Ir part = ir_rem(cg, tid, ir_number(cg, IR_U32, warps));
    return (Meeting){.parts = warps,
                     .leaves = ir_binary(cg, IR_EQ, ir_rem(cg, tid, warp), zero),
                     .at = ir_div(cg, tid, warp),
                     .spread = true,
                     .lanes = warps - 1,
                     .part = part,
                     .from = ir_add(cg, first, part)};
}

void meeting_lanes(Kernel *k, const ThreadMap *m, const Node *n) {
    Partials p = m->apart ? of_node(k, m, m->held, n) : reduction_partials(k, m, n->from);
    reduction_meet(k, m, &p, m->apart ? MEET_LEADERS : n->to);
    bool in_order = m->meeting.parts > 0 && !m->meeting.spread;
    if (m->lanes > 0 && in_order && monoid_counts(&p))
        ir_set(k->cg, monoid_counted(k->cg, MONOID_SEEN, p.count), m->seen);
}

/* Who holds a part leaves it.  */
static void leave(Kernel *k, const Partials *p, int items, Ir only, ReduceArrays to, Ir at) {
    if (only) ir_if(k->cg, only);
    reduce_put(k->cg, p, items, to, at);
    if (only) ir_close(k->cg);
}

void meeting_put(Kernel *k, const ThreadMap *m, const Node *n) {
    const Meeting *x = &m->meeting;
    Partials p = of_node(k, m, m->held, n);
    if (x->scattered) reduction_open_items(k, m);
    leave(k, &p, x->scattered ? 0 : m->items, x->leaves, reduce_block, x->at);
    if (x->scattered) reduction_close_items(k, m);
}

/* A lane has a part.  EACH: what those before `end` come to, the last of them has.  */
static void take_spread(Kernel *k, const ThreadMap *m, const Node *n) {
    Cg *cg = k->cg;
    const Meeting *x = &m->meeting;
    bool each = n->to == MEET_EACH;
    Partials all = of_node(k, m, each ? MONOID_ALL : m->held, n);
    if (each) monoid_room(cg, &all.at[0], 0);
    reduce_get(cg, &all, reduce_block, x->from);
    if (x->rounds > 1)
        reduce_gather(cg, &all, 0, &(ReducePartial){reduce_block, NULL, x->more},
                      (ReduceRange){k->walk.u, ir_int(cg, 1), ir_int(cg, x->rounds), 1,
                                    IR_UNROLL_ALL, NULL});
    if (each) reduce_scan(cg, &all.at[0], x->parts, k->walk.u, 1, x->part);
    else if (x->lanes > 0) reduce_threads(cg, &all, MEET_LEADERS, x->lanes, NULL);
    for (int i = 0; i < x->n_take; i++) {
        Partials to = of_node(k, m, x->take[i].into, n);
        Ir last = ir_max(cg, ir_add_n(cg, x->take[i].end, -1), ir_int(cg, 0));
        reduce_lane(cg, &to.at[0], &all.at[0],
                    (ReduceOther){{IR_LANE_NUMBER, last, WARP}, FOLD_BEHIND}, x->take[i].test);
    }
}

static void take_in_order(Kernel *k, const ThreadMap *m, const Node *n) {
    Cg *cg = k->cg;
    const Meeting *x = &m->meeting;
    if (x->needs) ir_if(cg, x->needs);
    for (int i = 0; i < x->n_take; i++) {
        Partials p = of_node(k, m, x->take[i].into, n);
        reduce_gather(cg, &p, m->items, &(ReducePartial){reduce_block, x->elements, x->from},
                      (ReduceRange){x->part, ir_int(cg, 0), x->take[i].end, 1, x->under_way, NULL});
    }
    if (x->needs) ir_close(cg);
}

void meeting_take(Kernel *k, const ThreadMap *m, const Node *n) {
    (m->meeting.spread ? take_spread : take_in_order)(k, m, n);
}

void meeting_leave(Kernel *k, const ThreadMap *m, const Node *n) {
    Partials p = reduction_partials(k, m, n->from);
    reduction_left(k, m, &p);
    leave(k, &p, m->items, m->only, reduction_slices, m->own);
}

void meeting_combine(Kernel *k, const ThreadMap *m, const Node *n) {
    Partials p = reduction_partials(k, m, n->from);
    reduction_left(k, m, &p);
    reduction_gather(k, m, &p);
}
