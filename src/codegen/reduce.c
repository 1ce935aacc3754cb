#include "codegen/reduce.h"
#include "codegen/texts.h"
#include "rprogram/derived.h"

enum { WARP = 32, ACCESS = RTILE_ACCESS };

/* The same with another element of the arrays at hand.  */
static Partials at_lane(const Cg *cg, const Partials *p, Ir lane) {
    Partials x = *p;
    for (int i = 0; i < x.n; i++) monoid_at(cg, &x.at[i], lane);
    return x;
}

void reduce_clear(Cg *cg, const Partials *p, int items) {
    for (int i = 0; i < p->n; i++) monoid_declare(cg, &p->at[i], items);
    if (monoid_counts(p)) ir_variable(cg, p->count, "seen", ir_int(cg, 0));
}

/* ---- threads ---- */

static void shuffle(Cg *cg, const Partial *p) {
    TeDtype type = te_reduced_type(p->e);
    const char *whole = type == TE_BOOL ? "(int)" : "";
    if (p->where)
        cg_line(cg, "const int at = __shfl_xor_sync(0xffffffffu, %s, f);", text_of(cg, p->where));
    const char *value = cg_text(cg, "__shfl_xor_sync(0xffffffffu, %s%s, f)", whole,
                                text_of(cg, p->value));
    monoid_fold(cg, p, text_value(cg, type, value), text_index(cg, "at", false), false);
}

static void meet_lanes(Cg *cg, const Partials *p, int mask) {
    int top = 1;
    while (2 * top <= mask) top *= 2;
    for (int i = 0; i < p->n && mask > 0; i++) {
        cg_line(cg, "#pragma unroll");
        cg_open(cg, "for (int f = %d; f > 0; f /= 2)", top);
        if (mask + 1 != 2 * top) cg_line(cg, "if (!(f & %d)) continue;", mask);
        shuffle(cg, &p->at[i]);
        cg_close(cg);
    }
}

void reduce_lane(Cg *cg, const Partial *to, const Partial *from, OtherLane other,
                 const char *test) {
    TeDtype type = te_reduced_type(from->e);
    const char *how = other.which == LANE_BELOW ? "__shfl_up_sync" : "__shfl_sync";
    cg_scope(cg);
    cg_line(cg, "const %s y = %s(0xffffffffu, %s%s, %s, %d);", cg_type(type), how,
            type == TE_BOOL ? "(int)" : "", text_of(cg, from->value), other.number, other.lanes);
    if (from->where)
        cg_line(cg, "const int at = %s(0xffffffffu, %s, %s, %d);", how, text_of(cg, from->where),
                other.number, other.lanes);
    if (test) cg_open(cg, "if (%s)", test);
    monoid_fold(cg, to, text_value(cg, type, "y"), text_index(cg, "at", false), false);
    if (test) cg_close(cg);
    cg_close(cg);
}

void reduce_scan(Cg *cg, const Partial *p, int lanes, int n, const char *number) {
    if (lanes == 1) return;
    cg_line(cg, "#pragma unroll");
    cg_open(cg, "for (int f = 1; f < %d; f *= 2)", lanes);
    cg_line(cg, "#pragma unroll");
    cg_open(cg, "for (int u = 0; u < %d; u++)", n);
    reduce_lane(cg, p, p, (OtherLane){LANE_BELOW, "f", lanes}, cg_text(cg, "%s >= f", number));
    cg_close(cg);
    cg_close(cg);
}

/* A value of each warp, through shared memory.  */
static void meet_warps(Cg *cg, const Partials *p, int warps, int block) {
    const char *at = cg_text(cg, "tid / %du * %d + tid %% %du", warps * WARP, warps, warps);
    for (int i = 0; i < p->n; i++) {
        const Partial *x = &p->at[i];
        cg_line(cg, "__shared__ %s part%s[%d];", cg_type(te_reduced_type(x->e)), x->name,
                block / WARP);
        if (x->where) cg_line(cg, "__shared__ int part_at%s[%d];", x->name, block / WARP);
    }
    reduce_put(cg, p, 0, "if (tid % 32u == 0) ", "part", "tid / 32u");
    cg_line(cg, "__syncthreads();");
    for (int i = 0; i < p->n; i++) {
        const Partial *x = &p->at[i];
        cg_line(cg, "%s = part%s[%s];", text_of(cg, x->value), x->name, at);
        if (x->where) cg_line(cg, "%s = part_at%s[%s];", text_of(cg, x->where), x->name, at);
    }
    meet_lanes(cg, p, warps - 1);
}

static void meet(Cg *cg, const Partials *all, bool online, int lanes, int warps, int block) {
    Partials p = monoid_select(all, online);
    if (p.n == 0) return;
    meet_lanes(cg, &p, lanes);
    if (warps > 1) meet_warps(cg, &p, warps, block);
}

void reduce_threads(Cg *cg, const Partials *p, int lanes, int warps, int block,
                    const char *total) {
    for (int i = 0; i < p->n; i++) {
        const Partial *leader = &p->at[i];
        if (monoid_is_leader(p, i))
            cg_line(cg, "const %s own%s = %s;", cg_type(leader->e->type), leader->name,
                    text_of(cg, leader->value));
    }
    meet(cg, p, false, lanes, warps, block);
    for (int i = 0; i < p->n; i++) {
        const Partial *online = &p->at[i], *leader = &p->at[online->leader];
        if (!online->follow) continue;
        cg_scope(cg);
        Ir own = monoid_name(cg, ir_compute(leader->e->type), "own", leader);
        Ir seen = ir_name(cg, ir_type(IR_I32), "seen");
        ir_set(
            cg, online->value,
            monoid_fit(cg, online, online->value, (PartialLeader){own, seen},
                       (PartialLeader){leader->value, text_index(cg, total ? total : "0", false)}));
        cg_close(cg);
    }
    meet(cg, p, true, lanes, warps, block);
}

/* ---- memory ---- */

/* A pointer to the array that begins at byte `at` behind `base`.  */
static void array(Cg *cg, const char *type, const char *name, const char *base, int64_t at,
                  const char *first) {
    if (at > 0) base = cg_text(cg, "%s + %lldll", base, (long long)at);
    cg_line(cg, "%s *const %s = reinterpret_cast<%s *>(%s)%s%s;", type, name, type, base,
            first ? " + " : "", first ? first : "");
}

void reduce_arrays(Cg *cg, const Partials *p, const char *stem, const char *base, int64_t n,
                   const char *first) {
    for (int i = 0; i < p->n; i++) {
        const Partial *x = &p->at[i];
        int64_t at = rprog_partials(cg->te, p->group, x->number, n);
        array(cg, cg_type(te_reduced_type(x->e)), cg_text(cg, "%s%s", stem, x->name), base, at,
              first);
        if (x->where)
            array(cg, "int", cg_text(cg, "%s_at%s", stem, x->name), base,
                  at + rprog_partial_values(x->e, n), first);
    }
}

void reduce_rooms(Cg *cg, const Partials *p, const char *stem, const Layout *layout) {
    for (int i = 0; i < p->n; i++) {
        const Partial *x = &p->at[i];
        array(cg, cg_type(te_reduced_type(x->e)), cg_text(cg, "%s%s", stem, x->name), "smem",
              rprog_room_at(layout, ROOM_PARTIALS, x->number), NULL);
        if (x->where)
            array(cg, "int", cg_text(cg, "%s_at%s", stem, x->name), "smem",
                  rprog_room_at(layout, ROOM_POSITIONS, x->number), NULL);
    }
}

/* Elements of one access to results of `bytes` each.  */
static int per_access(int vec, int bytes) {
    while (vec * bytes > ACCESS) vec /= 2;
    return vec;
}

/* Results of one type that a thread holds: an array of neighbours, or a value.  */
typedef struct {
    const char *array, *value;
    TeDtype type;
} Held;

static void put(Cg *cg, const Held *held, int items, const char *only, const char *to,
                const char *at) {
    int n = per_access(items, te_dtype_bytes(held->type));
    if (items == 0) {
        cg_line(cg, "%s%s[%s] = %s;", only, to, at, held->value);
        return;
    }
    cg_line(cg, "#pragma unroll");
    cg_line(cg, "for (int p = 0; p < %d; p++) rl_store<%d>(%s + (%s) + p * %d, %s + p * %d);",
            items / n, n, to, at, n, held->array, n);
}

void reduce_put(Cg *cg, const Partials *p, int items, const char *only, const char *stem,
                const char *at) {
    for (int i = 0; i < p->n; i++) {
        const Partial *x = &p->at[i];
        put(cg, &(Held){text_of(cg, x->array), text_of(cg, x->value), te_reduced_type(x->e)}, items,
            only, cg_text(cg, "%s%s", stem, x->name), at);
        if (x->where)
            put(cg, &(Held){text_of(cg, x->positions), text_of(cg, x->where), TE_I32}, items, only,
                cg_text(cg, "%s_at%s", stem, x->name), at);
    }
}

/* Parts of every reduction at element `at`, as x and y: one of each, or (n > 0) n neighbours.  */
static void read_partial(Cg *cg, const Partials *p, int n, const char *stem, const char *at) {
    for (int i = 0; i < p->n; i++) {
        const Partial *x = &p->at[i];
        const char *type = cg_type(te_reduced_type(x->e)), *name = x->name;
        if (n > 0) {
            cg_line(cg, "const rl_vec<%s, %d> x%s = rl_load<%d>(%s%s + %s);", type, n, name, n,
                    stem, name, at);
            if (x->where)
                cg_line(cg, "const rl_vec<int, %d> y%s = rl_load<%d>(%s_at%s + %s);", n, name, n,
                        stem, name, at);
            continue;
        }
        cg_line(cg, "const %s x%s = %s%s[%s];", type, name, stem, name, at);
        if (x->where) cg_line(cg, "const int y%s = %s_at%s[%s];", name, stem, name, at);
    }
}

static void merge(Cg *cg, const Partials *p, Ir lane) {
    for (int i = 0; i < p->n; i++) {
        if (!p->at[i].follow) monoid_merge(cg, p, i, lane);
    }
}

void reduce_add(Cg *cg, const Partials *p, int n, const char *stem, const char *at) {
    read_partial(cg, p, n, stem, at);
    cg_line(cg, "#pragma unroll");
    cg_open(cg, "for (int v = 0; v < %d; v++)", n);
    merge(cg, p, text_index(cg, "v", false));
    cg_close(cg);
}

void reduce_partial(Cg *cg, const Partials *p, int items, const ReducePartial *partial) {
    int n = items;
    for (int i = 0; i < p->n; i++) n = per_access(n, te_dtype_bytes(te_reduced_type(p->at[i].e)));
    if (monoid_counts(p))
        cg_line(cg, "const %s more = %s;", text_base(p->count), partial->elements);
    if (items == 0) {
        read_partial(cg, p, 0, partial->stem, partial->at);
        merge(cg, p, NULL);
    } else {
        Partials x = at_lane(cg, p, text_index(cg, cg_text(cg, "p * %d + v", n), false));
        cg_line(cg, "#pragma unroll");
        cg_open(cg, "for (int p = 0; p < %d; p++)", items / n);
        reduce_add(cg, &x, n, partial->stem, cg_text(cg, "(%s) + p * %d", partial->at, n));
        cg_close(cg);
    }
    if (monoid_counts(p)) cg_line(cg, "seen += more;");
}

void reduce_gather(Cg *cg, const Partials *p, int items, const ReducePartial *partial,
                   ReduceRange parts) {
    cg_line(cg, "#pragma unroll %d", items > 0 ? RPROG_PARTIAL_VECTORS : RPROG_PARTIALS);
    cg_open(cg, "for (int s = %s; s < %s; s += %d)", parts.first, parts.count, parts.step);
    reduce_partial(cg, p, items, partial);
    cg_close(cg);
}
