#include "codegen/reduce.h"

enum { WARP = 32, ACCESS = 16 };

static bool is_turn(const Partial *p, bool tied) { return (p->tie != TIE_NONE) == tied; }

/* ---- threads ---- */

static void shuffle(Cg *cg, const Partial *p) {
    const char *whole = te_reduced_type(p->e) == TE_BOOL ? "(int)" : "";
    if (p->where) cg_line(cg, "const int at = __shfl_xor_sync(0xffffffffu, %s, f);", p->where);
    monoid_fold(cg, p, cg_text(cg, "__shfl_xor_sync(0xffffffffu, %s%s, f)", whole, p->value), "at",
                false);
}

void reduce_lanes(Cg *cg, const Partials *p, bool tied, int mask) {
    int top = 1;
    while (2 * top <= mask) top *= 2;
    for (int i = 0; i < p->n && mask > 0; i++) {
        if (!is_turn(&p->at[i], tied)) continue;
        cg_line(cg, "#pragma unroll");
        cg_open(cg, "for (int f = %d; f > 0; f /= 2)", top);
        if (mask + 1 != 2 * top) cg_line(cg, "if (!(f & %d)) continue;", mask);
        shuffle(cg, &p->at[i]);
        cg_close(cg);
    }
}

/* A value of each warp, through shared memory.  */
static void meet_warps(Cg *cg, const Partials *p, bool tied, int warps, int block) {
    const char *at = cg_text(cg, "tid / %d * %d + tid %% %d", warps * WARP, warps, warps);
    for (int i = 0; i < p->n; i++) {
        const Partial *x = &p->at[i];
        if (!is_turn(x, tied)) continue;
        cg_line(cg, "__shared__ %s part%s[%d];", cg_type(te_reduced_type(x->e)), x->name,
                block / WARP);
        if (x->where) cg_line(cg, "__shared__ int part_at%s[%d];", x->name, block / WARP);
    }
    reduce_put(cg, p, tied, "if (tid % 32 == 0) ", "part", "tid / 32");
    cg_line(cg, "__syncthreads();");
    for (int i = 0; i < p->n; i++) {
        const Partial *x = &p->at[i];
        if (!is_turn(x, tied)) continue;
        cg_line(cg, "%s = part%s[%s];", x->value, x->name, at);
        if (x->where) cg_line(cg, "%s = part_at%s[%s];", x->where, x->name, at);
    }
    reduce_lanes(cg, p, tied, warps - 1);
}

static void meet(Cg *cg, const Partials *p, bool tied, int threads, int block) {
    int n = 0;
    for (int i = 0; i < p->n; i++) n += is_turn(&p->at[i], tied);
    if (n == 0) return;
    reduce_lanes(cg, p, tied, (threads < WARP ? threads : WARP) - 1);
    if (threads > WARP) meet_warps(cg, p, tied, threads / WARP, block);
}

void reduce_threads(Cg *cg, const Partials *p, int threads, int block, const char *total) {
    if (threads == 1) return;
    for (int i = 0; i < p->n; i++) {
        const Partial *lead = &p->at[i];
        if (monoid_leads(p, i))
            cg_line(cg, "const %s own%s = %s;", cg_type(lead->e->type), lead->name, lead->value);
    }
    meet(cg, p, false, threads, block);
    for (int i = 0; i < p->n; i++) {
        const Partial *tied = &p->at[i], *lead = &p->at[tied->leader];
        if (!tied->tie) continue;
        cg_scope(cg);
        cg_line(cg, "%s = %s;", tied->value,
                monoid_fit(cg, tied, tied->value, cg_text(cg, "own%s", lead->name), "seen",
                           lead->value, total));
        cg_close(cg);
    }
    meet(cg, p, true, threads, block);
}

/* ---- memory ---- */

static void array(Cg *cg, const char *type, const char *name, const char *base,
                  const char *first) {
    cg_line(cg, "%s *const %s = reinterpret_cast<%s *>(%s)%s%s;", type, name, type, base,
            first ? " + " : "", first ? first : "");
}

void reduce_arrays(Cg *cg, const Partial *p, const char *stem, const char *base, const char *first,
                   int64_t apart) {
    array(cg, cg_type(te_reduced_type(p->e)), cg_text(cg, "%s%s", stem, p->name), base, first);
    if (p->where)
        array(cg, "int", cg_text(cg, "%s_at%s", stem, p->name),
              cg_text(cg, "%s + %lldll", base, (long long)apart), first);
}

void reduce_put(Cg *cg, const Partials *p, bool tied, const char *only, const char *stem,
                const char *at) {
    for (int i = 0; i < p->n; i++) {
        const Partial *x = &p->at[i];
        if (!is_turn(x, tied)) continue;
        cg_line(cg, "%s%s%s[%s] = %s;", only, stem, x->name, at, x->value);
        if (x->where) cg_line(cg, "%s%s_at%s[%s] = %s;", only, stem, x->name, at, x->where);
    }
}

/* Elements of one access to results of `bytes` each.  */
static int pieces(int vec, int bytes) {
    while (vec * bytes > ACCESS) vec /= 2;
    return vec;
}

static void put_array(Cg *cg, const char *array, int bytes, int vec, const char *to,
                      const char *at) {
    int n = pieces(vec, bytes);
    cg_line(cg, "#pragma unroll");
    cg_line(cg, "for (int p = 0; p < %d; p++) rl_store<%d>(%s + (%s) + p * %d, %s + p * %d);",
            vec / n, n, to, at, n, array, n);
}

void reduce_put_vector(Cg *cg, const Partials *p, int vec, const char *stem, const char *at) {
    for (int i = 0; i < p->n; i++) {
        const Partial *x = &p->at[i];
        put_array(cg, x->array, te_dtype_bytes(te_reduced_type(x->e)), vec,
                  cg_text(cg, "%s%s", stem, x->name), at);
        if (x->where)
            put_array(cg, cg_text(cg, "where%s", x->name), te_dtype_bytes(TE_I32), vec,
                      cg_text(cg, "%s_at%s", stem, x->name), at);
    }
}

int reduce_width(const Partials *p, int vec) {
    for (int i = 0; i < p->n; i++) vec = pieces(vec, te_dtype_bytes(te_reduced_type(p->at[i].e)));
    return vec;
}

void reduce_add(Cg *cg, const Partials *p, int n, const char *stem, const char *at) {
    for (int i = 0; i < p->n; i++) {
        const Partial *x = &p->at[i];
        cg_line(cg, "const rl_vec<%s, %d> x%s = rl_load<%d>(%s%s + %s);",
                cg_type(te_reduced_type(x->e)), n, x->name, n, stem, x->name, at);
        if (x->where)
            cg_line(cg, "const rl_vec<int, %d> y%s = rl_load<%d>(%s_at%s + %s);", n, x->name, n,
                    stem, x->name, at);
    }
    cg_line(cg, "#pragma unroll");
    cg_open(cg, "for (int v = 0; v < %d; v++)", n);
    for (int i = 0; i < p->n; i++) {
        if (!p->at[i].tie) monoid_merge(cg, p, i, ".v[v]");
    }
    cg_close(cg);
}

void reduce_parts(Cg *cg, const Partials *p, bool tied, const ReduceParts *parts) {
    for (int i = 0; i < p->n; i++) {
        const Partial *x = &p->at[i], *lead = &p->at[x->leader];
        if (!is_turn(x, tied)) continue;
        monoid_declare(cg, x, 0);
        cg_line(cg, "#pragma unroll 4");
        cg_open(cg, "for (int s = lane; s < %s; s += %d)", parts->count, parts->threads);
        const char *value = cg_text(cg, "left%s[%s]", x->name, parts->at);
        const char *from = cg_text(cg, "left%s[%s]", lead->name, parts->at);
        if (tied)
            value = monoid_fit(cg, x, value, from, parts->elements, lead->value, parts->total);
        monoid_fold(cg, x, value, cg_text(cg, "left_at%s[%s]", x->name, parts->at), false);
        cg_close(cg);
    }
    if (parts->threads > 1) meet(cg, p, tied, parts->threads, parts->block);
}
