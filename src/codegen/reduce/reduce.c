#include "codegen/reduce/reduce.h"
#include "rprogram/derived.h"

enum { ACCESS = RTILE_ACCESS };

/* The same with another element of the arrays at hand.  */
static Partials at_lane(const Cg *cg, const Partials *p, Ir lane) {
    Partials x = *p;
    for (int i = 0; i < x.n; i++) monoid_at(cg, &x.at[i], lane);
    return x;
}

void reduce_clear(Cg *cg, const Partials *p, int items) {
    for (int i = 0; i < p->n; i++) monoid_declare(cg, &p->at[i], items);
    if (monoid_counts(p)) ir_declare(cg, monoid_counted(cg, MONOID_SEEN, p->count), ir_int(cg, 0));
}

/* ---- threads ---- */

/* What another lane has, as y and what is beside it.  */
static void fold_other(Cg *cg, const Partial *to, const Partial *from, ReduceOther other, Ir test) {
    const char *word = te_positional(from->e) ? "at" : "by";
    Ir beside = from->beside ? ir_exchange(cg, word, from->beside, other.lane) : NULL;
    Ir value = ir_exchange(cg, "y", from->value, other.lane);
    if (test) ir_if(cg, test);
    monoid_fold(cg, to, value, beside, other.side);
    if (test) ir_close(cg);
}

/* Lanes whose numbers differ in bits of `mask`, the highest first: a loop for each run of bits,
 * since no meeting stands under a test.  */
static void meet_lanes_of(Cg *cg, const Partial *x, int mask) {
    while (mask > 0) {
        int top = 1, last;
        while (2 * top <= mask) top *= 2;
        for (last = top; mask & last / 2; last /= 2) {}
        Ir f = ir_name(cg, ir_type(IR_I32), "f");
        ir_loop(cg, f, ir_int(cg, top), ir_binary(cg, IR_GT, f, ir_int(cg, last / 2)),
                (IrNext){IR_DIV, ir_int(cg, 2)}, IR_UNROLL_ALL);
        fold_other(cg, x, x, (ReduceOther){{IR_LANE_XOR, f, WARP}, FOLD_ASIDE}, NULL);
        ir_close(cg);
        mask &= last - 1;
    }
}

void reduce_lane(Cg *cg, const Partial *to, const Partial *from, ReduceOther other, Ir test) {
    ir_scope(cg);
    fold_other(cg, to, from, other, test);
    ir_close(cg);
}

void reduce_scan(Cg *cg, const Partial *p, int lanes, Ir u, int n, Ir number) {
    if (lanes == 1) return;
    Ir f = ir_name(cg, ir_type(IR_I32), "f");
    ir_loop(cg, f, ir_int(cg, 1), ir_lt(cg, f, ir_int(cg, lanes)),
            (IrNext){IR_MUL, ir_int(cg, 2)}, IR_UNROLL_ALL);
    ir_count_of(cg, u, n, IR_UNROLL_ALL);
    reduce_lane(cg, p, p, (ReduceOther){{IR_LANE_BELOW, f, lanes}, FOLD_BEFORE},
                ir_binary(cg, IR_GE, number, f));
    ir_close(cg);
    ir_close(cg);
}

static void meet(Cg *cg, const Partials *all, bool online, int lanes) {
    Partials p = monoid_select(all, online);
    for (int i = 0; i < p.n; i++) meet_lanes_of(cg, &p.at[i], lanes);
}

static Ir seen(const Cg *cg, const Partials *p) {
    return monoid_counted(cg, MONOID_SEEN, p->count);
}

static void keep_own(Cg *cg, const Partials *p) {
    for (int i = 0; i < p->n; i++) {
        const Partial *leader = &p->at[i];
        if (monoid_is_leader(p, i))
            ir_define(cg, monoid_value(cg, MONOID_ALONE, leader), leader->value);
    }
}

/* What followed the thread's own leaders follows what these have come to.  */
static void fit(Cg *cg, const Partials *p, Ir total) {
    for (int i = 0; i < p->n; i++) {
        const Partial *online = &p->at[i], *leader = &p->at[online->leader];
        if (!online->follow) continue;
        ir_scope(cg);
        Ir own = monoid_value(cg, MONOID_ALONE, leader);
        ir_set(cg, online->value,
               monoid_fit(cg, online, online->value, (PartialLeader){own, seen(cg, p)},
                          (PartialLeader){leader->value, total ? total : ir_int(cg, 0)}));
        ir_close(cg);
    }
}

void reduce_threads(Cg *cg, const Partials *p, int which, int lanes, Ir total) {
    if (which != MEET_ONLINE) {
        keep_own(cg, p);
        meet(cg, p, false, lanes);
    }
    if (which == MEET_LEADERS) return;
    fit(cg, p, total);
    meet(cg, p, true, lanes);
}

/* ---- memory ---- */

static IrType pointer_of(const Partial *p, IrSpace space, bool beside) {
    TeDtype type = beside ? te_beside_type(p->e) : te_reduced_type(p->e);
    return ir_pointer(ir_compute(type), space, false);
}

Ir reduce_array(const Cg *cg, const Partial *p, ReduceArrays of, bool beside) {
    IrType type = pointer_of(p, of.space, beside);
    return beside ? monoid_beside(cg, of.what, p, type)
                  : monoid_variable(cg, of.what, p->tensor, type);
}

/* Defines the pointer to an array of `base`, and then element `first` (NULL: 0) of it.  */
static void place(Cg *cg, const Partial *p, ReduceArrays to, bool beside, Ir base, Ir first) {
    Ir from = ir_view(cg, pointer_of(p, to.space, beside), base);
    ir_define(cg, reduce_array(cg, p, to, beside), first ? ir_add(cg, from, first) : from);
}

static Ir bytes_behind(const Cg *cg, Ir base, int64_t at) {
    return ir_add(cg, base, ir_number(cg, IR_I64, at));
}

void reduce_arrays(Cg *cg, const Partials *p, ReduceArrays to, Ir base, int64_t n, Ir first) {
    for (int i = 0; i < p->n; i++) {
        const Partial *x = &p->at[i];
        int64_t at = rprog_partials(cg->te, p->group, x->number, n);
        place(cg, x, to, false, bytes_behind(cg, base, at), first);
        at += rprog_partial_values(x->e, n);
        if (x->beside) place(cg, x, to, true, bytes_behind(cg, base, at), first);
    }
}

const ReduceArrays reduce_block = {.what = MONOID_PART, .space = IR_SHARED};

void reduce_rooms(Cg *cg, const Partials *p, const Layout *layout, Ir smem) {
    static const RoomKind kind[] = {ROOM_PARTIALS, ROOM_BESIDE};
    for (int i = 0; i < p->n; i++) {
        const Partial *x = &p->at[i];
        for (int beside = 0; beside <= (x->beside != NULL); beside++) {
            int64_t at = rprog_room_at(layout, kind[beside], x->number);
            place(cg, x, reduce_block, beside, bytes_behind(cg, smem, at), NULL);
        }
    }
}

/* Elements of one access to `items` neighbours of `bytes` each.  */
static int per_access(int items, int bytes) {
    int n = ACCESS / bytes;
    while (items % n) n /= 2;
    return n;
}

static Ir array_at(const Cg *cg, const Partial *p, ReduceArrays of, bool beside, Ir at) {
    return ir_element(cg, reduce_array(cg, p, of, beside), at);
}

/* Where neighbour `by` of those at a place is.  */
static Ir behind(const Cg *cg, ReduceArrays of, Ir at, Ir by) {
    return ir_add(cg, at, of.apart > 0 ? ir_mul_n(cg, by, of.apart) : by);
}

/* Neighbours, an access at a time.  */
static void put_items(Cg *cg, const Partial *x, int items, ReduceArrays to, bool beside, Ir at) {
    Ir array = beside ? x->beside_array : x->array, all = reduce_array(cg, x, to, beside);
    int n = per_access(items, ir_bytes((IrBase)array->type.base));
    Ir part = ir_count(cg, "p", items / n, IR_UNROLL_ALL), by = ir_mul_n(cg, part, n);
    Ir from = ir_add(cg, array, by);
    if (to.apart > 0)
        ir_do(cg, ir_call_n(cg, ir_type(IR_VOID), "rl_store_shared", n, 3, all,
                            behind(cg, to, at, by), from));
    else ir_store(cg, NULL, n, behind(cg, to, ir_add(cg, all, at), by), from);
    ir_close(cg);
}

static void put(Cg *cg, const Partial *x, int items, ReduceArrays to, Ir at) {
    for (int beside = 0; beside <= (x->beside != NULL); beside++) {
        if (items > 0) put_items(cg, x, items, to, beside, at);
        else ir_set(cg, array_at(cg, x, to, beside, at), beside ? x->beside : x->value);
    }
}

void reduce_put(Cg *cg, const Partials *p, int items, ReduceArrays to, Ir at) {
    for (int i = 0; i < p->n; i++) put(cg, &p->at[i], items, to, at);
}

void reduce_get(Cg *cg, const Partials *p, ReduceArrays from, Ir at) {
    for (int i = 0; i < p->n; i++) {
        const Partial *x = &p->at[i];
        ir_set(cg, x->value, array_at(cg, x, from, false, at));
        if (x->beside) ir_set(cg, x->beside, array_at(cg, x, from, true, at));
    }
}

/* What is at a pointer: a value, or (n > 1) n neighbours.  */
static Ir read(Cg *cg, const char *word, const Partial *p, Ir from, int n) {
    if (p->tensor >= 0) word = cg_name(cg, word, p->tensor);
    return ir_let(cg, word, n > 1 ? ir_load(cg, from, n) : ir_element(cg, from, ir_int(cg, 0)));
}

/* Parts of every reduction at element `at` come in.  */
static void read_partial(Cg *cg, Partials *p, int n, ReduceArrays of, Ir at) {
    for (int i = 0; i < p->n; i++) {
        Partial *x = &p->at[i];
        for (int beside = 0; beside <= (x->beside != NULL); beside++) {
            const char *word = beside ? "y" : "x";
            Ir all = reduce_array(cg, x, of, beside);
            Ir *in = beside ? &x->in_beside : &x->in;
            if (n > 1) *in = read(cg, word, x, ir_add(cg, all, at), n);
            else *in = ir_let(cg, x->tensor < 0 ? word : cg_name(cg, word, x->tensor),
                              ir_element(cg, all, at));
        }
    }
}

/* What is read is what is held, or (`begins` false) joins it.  */
static void join(Cg *cg, const Partials *p, Ir lane, bool begins) {
    for (int i = 0; i < p->n; i++) {
        if (begins) monoid_take(cg, p, i, lane);
        else if (!p->at[i].follow) monoid_merge(cg, p, i, lane);
    }
}

/* The same with the n neighbours that have been read.  */
static void join_items(Cg *cg, const Partials *p, Ir v, int n, bool begins) {
    ir_count_of(cg, v, n, IR_UNROLL_ALL);
    join(cg, p, n > 1 ? v : NULL, begins);
    ir_close(cg);
}

void reduce_add(Cg *cg, const Partial *p, Ir v, int n, Ir from) {
    Partials one = {.at = {*p}, .n = 1};
    one.at[0].in = read(cg, "x", p, from, n);
    join_items(cg, &one, v, n, false);
}

static void take_part(Cg *cg, const Partials *p, int items, const ReducePartial *partial,
                      bool begins) {
    int n = items;
    Partials x = *p;
    if (items == 0) {
        read_partial(cg, &x, 0, partial->of, partial->at);
        join(cg, &x, NULL, begins);
        return;
    }
    for (int i = 0; i < p->n; i++) n = per_access(n, te_dtype_bytes(te_reduced_type(p->at[i].e)));
    Ir part = ir_count(cg, "p", items / n, IR_UNROLL_ALL), by = ir_mul_n(cg, part, n);
    Ir v = ir_name(cg, ir_type(IR_I32), "v");
    x = at_lane(cg, p, ir_add(cg, by, v));
    read_partial(cg, &x, n, partial->of, behind(cg, partial->of, partial->at, by));
    join_items(cg, &x, v, n, begins);
    ir_close(cg);
}

void reduce_partial(Cg *cg, const Partials *p, int items, const ReducePartial *partial) {
    Ir more = monoid_counts(p) ? monoid_counted(cg, MONOID_MORE, p->count) : NULL;
    if (more) ir_define(cg, more, partial->elements);
    take_part(cg, p, items, partial, false);
    if (more) ir_update(cg, IR_ADD, seen(cg, p), more);
}

void reduce_begin(Cg *cg, const Partials *p, int items, const ReducePartial *partial) {
    for (int i = 0; i < p->n; i++) monoid_room(cg, &p->at[i], items);
    take_part(cg, p, items, partial, true);
    if (monoid_counts(p)) ir_declare(cg, seen(cg, p), partial->elements);
}

void reduce_gather(Cg *cg, const Partials *p, int items, const ReducePartial *partial,
                   ReduceRange parts) {
    Ir s = parts.part;
    ir_loop(cg, s, parts.first, ir_lt(cg, s, parts.count),
            (IrNext){IR_ADD, ir_int(cg, parts.step)}, parts.under_way);
    for (int i = 0; i < p->n && parts.moves; i++)
        ir_update(cg, IR_ADD, reduce_array(cg, &p->at[i], partial->of, false), parts.moves);
    reduce_partial(cg, p, items, partial);
    ir_close(cg);
}
