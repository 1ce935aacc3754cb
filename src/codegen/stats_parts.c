#include "codegen/blocks.h"

#include <math.h>

/* Rows whose columns lie in several blocks: what a block leaves of them, and the kernel that makes
 * their values of it.  Tied reductions meet as those of slices of a row do (row_tie.c).  */

static const StatFacts *facts(const Kernel *k) { return rprog_stats_facts(k->l->p, k->l->r); }

static const TeStmt *statement(const Kernel *k, int i) {
    return &k->cg->te->stmt[facts(k)->group->stmt[i]];
}

static int tensor_of(const Kernel *k, int i) { return statement(k, i)->tensor; }

static long long rows_of(const Kernel *k) {
    return (long long)(k->l->p->extent[AX_B] * k->l->p->extent[AX_M]);
}

static int tiles_of(const Kernel *k) { return (int)rprog_tiles(k->l->p, k->l->r, AX_N); }

/* What the terms of tied reduction i are made with in this block.  */
static void leave_base(Kernel *k, int i) {
    Cg *cg = k->cg;
    const RowGroup *g = facts(k)->group;
    TeDtype type = statement(k, i)->rhs->type;
    const char *acc = cg_text(cg, "acc%d", tensor_of(k, g->leader[i]));
    if (g->tie[i] == TIE_SCALE) {
        /* No maximum yet: every term is nothing.  */
        cg_line(cg, "base%d[at] = %s == %s ? 0 : %s;", g->center[i], acc,
                cg_identity(cg, TE_RED_MAX, type), acc);
    } else {
        cg_line(cg, "base%d[at] = %s / (%s)min((long long)BN, (long long)N - n0);", g->center[i],
                acc, cg_type(type));
    }
}

void stats_leave(Kernel *k, int pass, bool tied, const char *row) {
    Cg *cg = k->cg;
    const RowGroup *g = facts(k)->group;
    for (int i = 0; i < g->n; i++) {
        if (stats_meets(k, i, pass, tied))
            cg_line(cg, "left%d[tile_n * %lldll + %s] = acc%d;", tensor_of(k, i), rows_of(k), row,
                    tensor_of(k, i));
    }
    for (int i = 0; i < g->n && !tied; i++) {
        bool second = false;
        for (int j = 0; j < i; j++)
            second |= g->tie[j] && g->pass[j] == pass && g->center[j] == g->center[i];
        if (g->tie[i] && g->pass[i] == pass && !second) leave_base(k, i);
    }
}

/* The factor from terms made with maximum `from` to those made with `to`.  */
static const char *scale(const Kernel *k, int i, const char *from, const char *to) {
    const TeExpr *e = statement(k, i)->rhs;
    bool two = e->args[0]->v.fn == TE_FN_EXP2, wide = e->type == TE_F64;
    const char *call = wide ? (two ? "exp2" : "exp") : two ? "exp2f" : "expf";
    return cg_text(k->cg, "(%s == %s ? %s : %s(%s - %s))", from, to, cg_real(k->cg, e->type, 1),
                   call, from, to);
}

/* Part s of reduction i.  */
static const char *part_at(const Kernel *k, int i) {
    return cg_text(k->cg, "p%d[s * %lldll]", tensor_of(k, i), rows_of(k));
}

/* The same as a part of the whole row's.  */
static const char *part_of_row(Kernel *k, int i) {
    Cg *cg = k->cg;
    const RowGroup *g = facts(k)->group;
    const char *value = part_at(k, i);
    if (g->tie[i] == TIE_NONE) return value;
    const char *part = part_at(k, g->leader[i]);
    const char *now = cg_text(cg, "acc%d", tensor_of(k, g->leader[i]));
    if (g->tie[i] == TIE_SCALE) return cg_text(cg, "%s * %s", value, scale(k, i, part, now));
    const char *type = cg_type(statement(k, i)->rhs->type);
    int block = k->l->r->block.extent[AX_N];
    cg_line(cg, "const %s n = (%s)min(%dll, (long long)N - s * %dll);", type, type, block, block);
    cg_line(cg, "const %s d = %s / n - %s / (%s)N;", type, part, now, type);
    return cg_text(cg, "(%s + d * d * n)", value);
}

static void combine(Kernel *k, int i, int lanes) {
    Cg *cg = k->cg;
    const TeExpr *e = statement(k, i)->rhs;
    int t = tensor_of(k, i);
    const char *acc = cg_text(cg, "acc%d", t), *type = cg_type(e->type);
    cg_line(cg, "const %s *const p%d = left%d + row;", type, t, t);
    cg_line(cg, "%s %s = %s;", type, acc, cg_identity(cg, (TeRedop)e->red, e->type));
    cg_line(cg, "#pragma unroll 4");
    cg_open(cg, "for (int s = lane; s < %d; s += %d)", tiles_of(k), lanes);
    const char *value = part_of_row(k, i);
    cg_line(cg, "%s = %s;", acc, cg_fold(cg, (TeRedop)e->red, e->type, acc, value));
    cg_close(cg);
    if (lanes == 1) return;
    cg_line(cg, "#pragma unroll");
    cg_open(cg, "for (int f = %d; f > 0; f /= 2)", lanes / 2);
    cg_line(cg, "%s = %s;", acc,
            cg_fold(cg, (TeRedop)e->red, e->type, acc,
                    cg_text(cg, "__shfl_xor_sync(0xffffffffu, %s, f)", acc)));
    cg_close(cg);
}

static void settle(Kernel *k, int pass) {
    Cg *cg = k->cg;
    const RowGroup *g = facts(k)->group;
    for (int i = 0; i < g->n; i++) {
        if (g->tie[i] != TIE_SCALE || g->pass[i] != pass) continue;
        TeDtype type = statement(k, i)->rhs->type;
        /* All are -inf: each term is exp(-inf + inf).  */
        cg_line(cg, "if (acc%d == %s) acc%d = %s;", tensor_of(k, g->leader[i]),
                cg_identity(cg, TE_RED_MAX, type), tensor_of(k, i),
                cg_real(cg, type, (double)NAN));
    }
}

/* The row of the thread and its neighbours; those beyond the last one take that as theirs.  */
static void place_row(Kernel *k, int lanes, bool shifts) {
    Cg *cg = k->cg;
    const Problem *p = k->l->p;
    const TeStmt *root = &cg->te->stmt[p->con.stmt];
    int64_t rows = p->extent[AX_B] * p->extent[AX_M];
    const char *type = place_type(place_wide(rows, k->l->launch.block[0]));
    if (shifts) cg_line(cg, "constexpr long long N = %lld;", (long long)p->extent[AX_N]);
    cg_line(cg, "const int lane = threadIdx.x %% %du;", (unsigned)lanes);
    cg_line(cg, "const %s id = (%s)blockIdx.x * %d + threadIdx.x / %du;", type, type,
            k->l->launch.block[0] / lanes, (unsigned)lanes);
    cg_line(cg, "const %s row = min(id, (%s)%lld);", type, type, (long long)rows - 1);
    cg_line(cg, "const %s b = row / %lld, m = row %% %lld;", type, (long long)p->extent[AX_M],
            (long long)p->extent[AX_M]);
    bool wide = place_wide(rows, 0);
    place_decode(cg, root, &p->con.axis[AX_B], "b", wide, k->at.index, k->at.wide);
    place_decode(cg, root, &p->con.axis[AX_M], "m", wide, k->at.index, k->at.wide);
}

void stats_combine(Kernel *k, int pass) {
    Cg *cg = k->cg;
    const RowGroup *g = facts(k)->group;
    int lanes = rprog_stats_threads(k->l->p, k->l->r);
    cg_line(cg, "// combine: the parts of pass %d, %d threads to a row", pass, lanes);
    bool shifts = false;
    for (int i = 0; i < g->n; i++) shifts |= g->tie[i] == TIE_SHIFT && g->pass[i] == pass;
    place_row(k, lanes, shifts);
    for (int i = 0; i < g->n; i++) {
        if (g->role[i] == ROW_REDUCE && g->pass[i] == pass) stats_place_left(k, "left", i, true);
        if (g->role[i] == ROW_MAP || g->pass[i] > pass + (g->role[i] == ROW_SCALAR)) continue;
        stats_place_left(k, "value", i, false);
        if (stats_known(k, i)) k->at.made[tensor_of(k, i)] = cg_text(cg, "value%d[row]",
                                                                     tensor_of(k, i));
    }
    for (int tied = 0; tied < 2; tied++) {
        for (int i = 0; i < g->n; i++) {
            if (stats_meets(k, i, pass, tied)) combine(k, i, lanes);
        }
    }
    settle(k, pass);
    /* Hidden: a pointer that the loops have moved would stand for the places of the values, and one
     * compiler (NVRTC 13.0) takes it for moved less than it is.  */
    cg_line(cg, "const int at = rl_hidden((int)row);");
    const char *live = cg_text(cg, "lane == 0 && id < %lld", rows_of(k));
    stats_values(k, pass, "at", live);
}
