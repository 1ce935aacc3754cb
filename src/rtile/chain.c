/* Chains: a problem for each product of a kernel, and what is made between them.
 *
 * The second product is a contraction like any other, of a group of its own: its statement and the
 * maps of its results.  Its operand a alone has no place in memory.  */
#include "rtile/facts.h"

#include <math.h>

uint8_t rtile_chain_index(const KernelGroup *g, uint8_t runs) {
    const Chain *c = g->chain;
    int second = 0;
    uint8_t j = 0;
    if (runs >= CHAIN_OWN) return c->own[runs - CHAIN_OWN];
    while (g->fused[second] != c->second) second++;
    while (j < TE_MAX_RANK - 1 && g->perm[second][j] != runs) j++;
    return j;
}

/* The second product and the maps behind it as a group of their own.  */
static KernelGroup *second_group(Arena *a, const Te *te, const KernelGroup *g) {
    const Chain *c = g->chain;
    KernelGroup *out = ARENA_NEW(a, KernelGroup);
    *out = (KernelGroup){.root = c->second, .fused = ARENA_ARRAY(a, int, g->n_fused)};
    out->perm = arena_calloc(a, (size_t)g->n_fused, sizeof *out->perm);
    for (int i = 0; i < g->n_fused; i++) {
        if (c->part[i] != CHAIN_RESULT) continue;
        const TeStmt *s = &te->stmt[g->fused[i]];
        for (int j = 0; j < s->n_left; j++)
            out->perm[out->n_fused][j] = rtile_chain_index(g, g->perm[i][j]);
        out->fused[out->n_fused++] = g->fused[i];
    }
    return out;
}

/* Has the expression one like `wanted` in it?  Numbers of indices differ between statements.  */
static bool has_power(const TeExpr *e, const TeExpr *wanted) {
    bool any = e->kind == TE_CALL && e->v.fn == wanted->v.fn;
    for (int i = 0; i < e->n_args && !any; i++) any = has_power(e->args[i], wanted);
    return any;
}

static bool is_none(const TeExpr *e) {
    return (e->kind == TE_REAL && e->v.r == -(double)INFINITY) ||
           (e->kind == TE_NEG && e->args[0]->kind == TE_REAL && e->args[0]->v.r == INFINITY);
}

/* A chain's statements.  */
typedef struct {
    const Te *te;
    const KernelGroup *g;
} Scores;

/* The statement of the group that maps scores to a tensor of f32; NULL: there is none.  */
static const TeExpr *map_of(const Scores *x, int tensor) {
    for (int i = 0; i < x->g->n_fused; i++) {
        const TeStmt *s = &x->te->stmt[x->g->fused[i]];
        if (x->g->chain->part[i] == CHAIN_SCORE && s->tensor == tensor &&
            x->te->tensor[tensor].dtype == TE_F32)
            return s->rhs;
    }
    return NULL;
}

/* Is e a positive multiple of the first product's result, wherever it is a score at all, *by of it?
 * Conditions that the bounds of columns say all of are tested where they cut a tile.  */
static bool is_multiple(const Scores *x, const TeExpr *e, double *by) {
    const TeExpr *map;
    switch (e->kind) {
    case TE_READ:
        if (e->v.ref == x->te->stmt[x->g->root].tensor)
            return x->te->tensor[e->v.ref].dtype == TE_F32;
        map = map_of(x, e->v.ref);
        return map && is_multiple(x, map, by);
    case TE_MUL:
        for (int i = 0; i < 2; i++) {
            const TeExpr *factor = e->args[i];
            if (factor->kind != TE_REAL || !(factor->v.r > 0)) continue;
            *by *= factor->v.r;
            return is_multiple(x, e->args[!i], by);
        }
        return false;
    case TE_SELECT:
        if (!x->g->chain->bounds.tested) return false;
        if (is_none(e->args[2])) return is_multiple(x, e->args[1], by);
        return is_none(e->args[1]) && is_multiple(x, e->args[2], by);
    default: return false;
    }
}

/* By what scores are the first product's results, as their leader reduces them; 0: by no positive
 * number.  */
static double multiple_of(const Te *te, const KernelGroup *g) {
    const Chain *c = g->chain;
    double by = 1;
    if (!c->rows) return 0;
    const TeExpr *leader = te->stmt[c->rows->stmt[c->leader]].rhs;
    return is_multiple(&(Scores){te, g}, leader->args[0], &by) ? by : 0;
}

/* Is the statement what results stand for: the leader's fold, or a map in front of it?  */
static bool is_spared(const KernelGroup *g, int i) {
    return g->chain->part[i] == CHAIN_SCORE ||
           g->fused[i] == g->chain->rows->stmt[g->chain->leader];
}

/* Instructions for each score: maps, unless results stand for what they make, folds of reductions,
 * and the operand.  The exponential that the operand and the sum of the row share is counted once,
 * and apart: `stop`.  */
static void count_scores(const Te *te, const KernelGroup *g, const TeExpr *operand,
                         ChainFacts *f) {
    const TeExpr *power = g->chain->power;
    for (int i = 0; i < g->n_fused; i++) {
        const TeExpr *e = te->stmt[g->fused[i]].rhs;
        bool spared = f->multiple > 0 && is_spared(g, i);
        if (g->chain->part[i] == CHAIN_SCORE && !spared) f->ops += expr_ops(e);
        if (g->chain->part[i] != CHAIN_REDUCE) continue;
        f->values++;
        if (power && has_power(e->args[0], power)) f->power_ops += 1;
        else f->ops += 1 + (spared ? 0 : expr_ops(e->args[0]));
    }
    double rest = expr_ops_without(operand, NULL, power, NULL) - (operand->kind == TE_CAST);
    if (!power) f->ops += rest;
    if (!power) return;
    f->powers = 1;
    f->power_ops += rest + expr_ops(power->args[0]);
}

static const Problem *chain_second(Arena *a, const Problem *p, const Contraction *con, int align) {
    Problem *out = ARENA_NEW(a, Problem);
    *out = (Problem){.te = p->te, .group = second_group(a, p->te, p->group), .con = *con,
                     .contraction = true};
    out->op[0].made = true;
    problem_describe(a, align, out);
    out->read_bytes = out->op[1].unique * out->op[1].bytes;
    out->n_reads = 1;
    return out;
}

/* ---- columns ---- */

/* The root's index that runs with left index j of a statement; -1: the rows do not have it.  */
static int row_index(const KernelGroup *g, int stmt, int j) {
    const uint8_t *perm = NULL;
    for (int i = 0; i < g->n_fused; i++)
        if (g->fused[i] == stmt) perm = g->perm[i];
    int index = perm ? perm[j] : j;
    return index < CHAIN_OWN && !(g->chain->columns >> index & 1) ? index : -1;
}

/* Ends of blocks are those of their first and last rows: rows are one digit, and what is added for
 * each is known.  */
static ChainEnd end_of(const Problem *p, const ColumnBound *b) {
    const TeStmt *s = &p->te->stmt[b->stmt];
    const FusedAxis *rows = &p->con.axis[AX_M];
    ChainEnd end = {.known = false};
    Affine f;
    if (rows->n_digit > 1 || !access_affine_figures(p->te, s, b->e, &f)) return end;
    end.c = f.c + b->add;
    for (int j = 0; j < s->n_index; j++) {
        if (f.coef[j] == 0) continue;
        int index = j < s->n_left ? row_index(p->group, b->stmt, j) : -1;
        if (index < 0) return end;
        end.coef[index] = f.coef[j];
    }
    for (int i = 0; i < p->con.axis[AX_B].n; i++)
        if (end.coef[p->con.axis[AX_B].index[i]] != 0) return end;
    end.known = true;
    return end;
}

static int64_t end_at(const Problem *p, const ChainEnd *e, int64_t row) {
    const FusedAxis *rows = &p->con.axis[AX_M];
    int64_t value = e->c;
    for (int i = rows->n - 1; i >= 0; i--) {
        int64_t n = te_index_extent(&p->te->stmt[p->group->root].index[rows->index[i]]);
        value += e->coef[rows->index[i]] * (row % n);
        row /= n;
    }
    return value;
}

void rtile_chain_columns(const Problem *p, int64_t first, int64_t end, int64_t *from,
                         int64_t *to) {
    const ColumnBounds *b = &p->chain->chain->bounds;
    *from = 0;
    *to = p->extent[AX_N];
    for (int i = 0; i < b->n_from; i++) {
        const ChainEnd *e = &p->chain->from[i];
        if (!e->known) continue;
        int64_t one = end_at(p, e, first), other = end_at(p, e, end - 1);
        int64_t least = one < other ? one : other;
        if (least > *from) *from = least;
    }
    for (int i = 0; i < b->n_to; i++) {
        const ChainEnd *e = &p->chain->to[i];
        if (!e->known) continue;
        int64_t one = end_at(p, e, first), other = end_at(p, e, end - 1);
        int64_t most = one > other ? one : other;
        if (most < *to) *to = most;
    }
    if (*to < *from) *to = *from;
}

/* Values of rows that are stored.  */
static int64_t value_bytes(const Te *te, const KernelGroup *g, const bool *stored) {
    int64_t bytes = 0;
    for (int i = 0; i < g->n_fused; i++) {
        const TeStmt *s = &te->stmt[g->fused[i]];
        int64_t points = te_dtype_bytes(te->tensor[s->tensor].dtype);
        bool row = g->chain->part[i] == CHAIN_REDUCE || g->chain->part[i] == CHAIN_ROW;
        for (int j = 0; j < s->n_left; j++) points *= te_index_extent(&s->index[j]);
        if (row && stored[g->fused[i]]) bytes += points;
    }
    return bytes;
}

/* The reductions of the row and the second product.  */
static const RowGroup *slices_of(Arena *a, const Chain *c) {
    RowGroup *g = ARENA_NEW(a, RowGroup);
    *g = c->rows ? *c->rows : (RowGroup){.frame = -1};
    int i = g->n++;
    g->stmt[i] = c->second;
    g->role[i] = ROW_REDUCE;
    g->pass[i] = 0;
    g->follow[i] = c->follow;
    g->leader[i] = c->leader;
    g->center[i] = c->center;
    return g;
}

static bool reads_row(const Te *te, const RowGroup *rows, int stmt) {
    bool any = false;
    for (int i = 0; rows && i < rows->n; i++)
        any |= access_reads_tensor(te->stmt[stmt].rhs, te->stmt[rows->stmt[i]].tensor);
    return any;
}

static int row_maps(const Te *te, const RowGroup *rows, const KernelGroup *second) {
    int n = second->n_fused;
    while (n > 0 && !reads_row(te, rows, second->fused[n - 1])) n--;
    return n;
}

/* Does nothing but the first map need the second product's results themselves?  */
static bool sums_end(const Te *te, const KernelGroup *second, const bool *stored) {
    bool needed = stored[second->root];
    for (int i = 1; i < second->n_fused; i++)
        needed |= access_reads_tensor(te->stmt[second->fused[i]].rhs,
                                      te->stmt[second->root].tensor);
    return !needed;
}

void chain_describe(Arena *a, int align, const bool *stored, Problem *p) {
    ChainFacts *f = ARENA_NEW(a, ChainFacts);
    Contraction second;
    const char *why;
    if (p->next) {
        second = p->next->con;
        access_resize(p->te, &second);
    }
    if (!p->next) access_chain_contraction(p->te, p->group, &second, &why);
    *f = (ChainFacts){.chain = p->group->chain, .slices = slices_of(a, p->group->chain),
                      .multiple = multiple_of(p->te, p->group)};
    count_scores(p->te, p->group, second.operand[0].expr, f);
    for (int i = 0; i < f->chain->bounds.n_from; i++)
        f->from[i] = end_of(p, &f->chain->bounds.from[i]);
    for (int i = 0; i < f->chain->bounds.n_to; i++)
        f->to[i] = end_of(p, &f->chain->bounds.to[i]);
    p->chain = f;
    p->next = chain_second(a, p, &second, align);
    f->row_maps = row_maps(p->te, f->chain->rows, p->next->group);
    f->sums_end = sums_end(p->te, p->next->group, stored);
    p->out_vec = p->next->out_vec;
    p->out_run = p->next->out_run;
    p->out_step = p->next->out_step;
    p->flat_vec = 1;
    p->stored_alone = NOT_ALONE;
    p->out_bytes = p->next->out_bytes + value_bytes(p->te, p->group, stored);
    p->flops += p->next->flops;
}
