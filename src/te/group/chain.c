/* Chains: a product whose factor is made of rows of another product's results, as in attention.
 * Both and the statements of the rows can share a kernel, which walks once over the columns of a
 * row and never stores them.
 *
 * Holds where all reductions of the row make one walk, and where the second sum can follow it: its
 * terms depend on values of the row by a factor exp(E - x) alone, x the maximum of E, of no wider
 * type than f32.  */
#include "te/group/groups.h"
#include "te/tree/tree.h"
#include <string.h>

enum { OPEN = 0xff };

typedef struct {
    Arena *a;
    const Te *te;
    const Groups *g;
    int k;                                /* group of the second product */
    RowsJoin rows;                        /* rows.row == NULL: back to back */
    Groups *joined;
    const RowGroup **row;                 /* of joined */
    int to;                               /* group of all, in joined */
    uint32_t columns;                     /* of the root's left indices */
    Chain *chain;
    const char *why;
} Finder;

const char *const chain_alone = "it reads no other product's results";
static const char needs_first[] = "what it needs besides depends on the first product";
static const char wide[] = "its exponentials are of f64, and a turn makes those of f32";

static bool refuse(Finder *f, const char *why) {
    if (!f->why) f->why = why;
    return false;
}

static const TeStmt *second_of(const Finder *f) { return &f->te->stmt[f->g->root[f->k]]; }
static const TeStmt *root_of(const Finder *f) { return &f->te->stmt[f->joined->root[f->to]]; }

/* ---- the groups ---- */

/* The one row group that statements of group k read, or none.  */
static bool find_rows(Finder *f, const RowGroup *const *row) {
    f->rows = (RowsJoin){.te = f->te, .g = f->g, .k = -1};
    for (int i = 0; i < f->te->n_stmt; i++) {
        ReadList reads = access_reads(f->te->stmt[i].rhs);
        for (int j = 0; j < reads.n && f->g->home[i] == f->k; j++) {
            int maker = f->g->maker[reads.at[j]->v.ref];
            int from = maker < 0 ? -1 : f->g->home[maker];
            if (from < 0 || !row[from] || from == f->rows.k) continue;
            if (f->rows.k >= 0) return refuse(f, "it reads rows of several kernels");
            f->rows.k = from;
        }
    }
    if (f->rows.k >= 0) f->rows.row = row[f->rows.k];
    return true;
}

/* The product whose results statement `s` reads; -1: there is none.  */
static int find_first(Finder *f, const RowGroup *const *row) {
    ReadList reads = access_reads(second_of(f)->rhs);
    for (int j = 0; j < reads.n; j++) {
        int maker = f->g->maker[reads.at[j]->v.ref];
        int from = maker < 0 ? -1 : f->g->home[maker];
        if (from < 0 || row[from] || from == f->k || !stats_is_one_sum(f->te, f->g, from))
            continue;
        if (groups_meet(f->te, f->g, f->k, from)) return from;
        if (stats_is_product(f->te, f->g, from)) refuse(f, needs_first);
    }
    return -1;
}

/* Puts the first product's group and that of its rows together.  */
static bool join_rows(Finder *f, const RowGroup *const *row) {
    memcpy(f->row, row, (size_t)f->g->n * sizeof *row);
    *f->joined = *f->g;
    f->to = f->rows.row ? stats_find(&f->rows, row, NULL, f->joined) : find_first(f, row);
    if (f->to < 0) return refuse(f, f->rows.why ? f->rows.why : chain_alone);
    if (f->rows.row) {
        Groups *both = f->joined, *own = ARENA_NEW(f->a, Groups);
        *own = *f->g;
        memcpy(own->perm, both->perm, sizeof own->perm);
        *both = *own;
        groups_merge(f->te, both, f->row, f->rows.k, f->to);
    }
    return true;
}

static int second_group(const Finder *f) {
    return f->joined->home[f->chain->second];
}

static bool join_second(Finder *f) {
    int k = second_group(f), n = 0;
    for (int i = 0; i < f->te->n_stmt; i++) n += f->joined->home[i] == f->to;
    if (n > ROW_MAX_STMTS) return refuse(f, "its rows have too many statements");
    if (!groups_meet(f->te, f->joined, k, f->to))
        return refuse(f, needs_first);
    groups_merge(f->te, f->joined, f->row, k, f->to);
    return true;
}

/* ---- indices ---- */

static bool in_chain(const Finder *f, const TeExpr *read) {
    int maker = f->joined->maker[read->v.ref];
    return maker >= 0 && f->joined->home[maker] == f->to && maker != f->chain->second;
}

/* Where a read takes an element of the chain: which of the root's indices run with those of s.  */
static bool bind(const Finder *f, const TeStmt *s, const TeExpr *read, uint8_t *perm) {
    const TeTensor *t = &f->te->tensor[read->v.ref];
    const uint8_t *made = f->joined->perm[f->joined->maker[read->v.ref]];
    if (!te_always_inside(read)) return false;
    for (int d = 0; d < te_own_rank(t); d++) {
        const TeExpr *sub = read->args[d];
        if (sub->kind != TE_INDEX || !te_extent_same(&s->index[sub->v.ref].hi, &t->shape[d]))
            return false;
        uint8_t *at = &perm[sub->v.ref];
        if (*at != OPEN && *at != made[d]) return false;
        *at = made[d];
    }
    return true;
}

/* What the second product has no index of the root for is its own; all that it sums over are
 * columns.  */
static bool own_indices(Finder *f, const TeStmt *s, uint8_t *perm) {
    Chain *c = f->chain;
    uint32_t seen = 0, columns = 0;
    for (int j = 0; j < s->n_index; j++) {
        if (perm[j] == OPEN) {
            if (j >= s->n_left) return refuse(f, "it sums over more than the columns of a row");
            c->own[c->n_own] = (uint8_t)j;
            perm[j] = (uint8_t)(CHAIN_OWN + c->n_own++);
            continue;
        }
        if (seen >> perm[j] & 1) return refuse(f, "it reads a diagonal of the rows");
        seen |= 1u << perm[j];
        columns |= j >= s->n_left ? 1u << perm[j] : 0;
    }
    const TeStmt *root = root_of(f);
    if ((seen & ((1u << root->n_left) - 1)) != (1u << root->n_left) - 1)
        return refuse(f, "it does not keep all rows apart");
    for (int j = s->n_left; j < s->n_index; j++)
        if (s->index[j].hi.min < 1) return refuse(f, "rows may have no columns");
    f->columns = columns;
    return true;
}

static bool bind_second(Finder *f) {
    const TeStmt *s = &f->te->stmt[f->chain->second], *root = root_of(f);
    uint8_t *perm = f->joined->perm[f->chain->second];
    ReadList reads = access_reads(s->rhs);
    if (root->n_left > TE_MAX_RANK || s->n_index > TE_MAX_RANK ||
        s->n_index + root->n_index > TE_MAX_INDICES)
        return refuse(f, "it has too many indices");
    memset(perm, OPEN, TE_MAX_RANK);
    for (int j = 0; j < reads.n; j++)
        if (in_chain(f, reads.at[j]) && !bind(f, s, reads.at[j], perm))
            return refuse(f, "it reads the rows at other points than its own");
    return own_indices(f, s, perm);
}

/* The maps behind the second product run with it, and read values of the row at their own.  */
static bool bind_results(Finder *f, const int *maps, int n) {
    for (int i = 0; i < n; i++) {
        const TeStmt *s = &f->te->stmt[maps[i]];
        uint8_t *perm = f->joined->perm[maps[i]];
        const uint8_t *second = f->joined->perm[f->chain->second];
        ReadList reads = access_reads(s->rhs);
        for (int j = 0; j < s->n_left; j++) perm[j] = second[f->g->perm[maps[i]][j]];
        for (int j = 0; j < reads.n; j++)
            if (in_chain(f, reads.at[j]) && !bind(f, s, reads.at[j], perm))
                return refuse(f, "what follows it reads the rows at other points than its own");
    }
    return true;
}

/* ---- the row ---- */

static ChainPart part_of(const Finder *f, int stmt) {
    const RowGroup *rows = f->chain->rows;
    if (stmt == f->chain->second) return CHAIN_PRODUCT;
    for (int i = 0; rows && i < rows->n; i++) {
        if (rows->stmt[i] != stmt) continue;
        return rows->role[i] == ROW_REDUCE ? CHAIN_REDUCE
               : rows->role[i] == ROW_MAP  ? CHAIN_SCORE
                                           : CHAIN_ROW;
    }
    return f->g->home[stmt] == f->g->home[f->chain->second] ? CHAIN_RESULT : CHAIN_SCORE;
}

static bool one_walk(Finder *f) {
    if (!f->rows.row) return true;
    const RowGroup *rows = stats_joined(f->a, &f->rows);
    if (rows->n_pass > 1) rows = rows_with_online(f->a, f->te, rows, true);
    f->chain->rows = rows;
    return (rows && rows->n_pass == 1) ||
           refuse(f, "what it reads of its rows takes several walks over them");
}

/* The statements but the root, and what they are.  */
static bool parts(Finder *f) {
    int n = 0, root = f->joined->root[f->to];
    for (int i = 0; i < f->te->n_stmt; i++) n += f->joined->home[i] == f->to;
    f->chain->part = ARENA_ARRAY(f->a, uint8_t, n);
    n = 0;
    for (int i = 0; i < f->te->n_stmt; i++) {
        if (f->joined->home[i] != f->to) continue;
        ChainPart part = i == root ? CHAIN_SCORE : part_of(f, i);
        if (part == CHAIN_SCORE && groups_materialized(f->te, f->joined, f->te->stmt[i].tensor))
            return refuse(f, "the rows are stored");
        if (i != root) f->chain->part[n++] = (uint8_t)part;
    }
    return true;
}

/* ---- the factor that is made ---- */

/* Is a read one of a value of the row?  */
static bool reads_value(const Finder *f, const TeExpr *read) {
    if (!in_chain(f, read)) return false;
    ChainPart part = part_of(f, f->joined->maker[read->v.ref]);
    return part == CHAIN_REDUCE || part == CHAIN_ROW;
}

static int count_values(const Finder *f, const TeExpr *e) {
    ReadList reads = access_reads(e);
    int n = 0;
    for (int i = 0; i < reads.n; i++) n += reads_value(f, reads.at[i]);
    return n;
}

static bool follows(Finder *f, const TeExpr *made) {
    Chain *c = f->chain;
    int values = count_values(f, made);
    if (values == 0) return true;
    if (f->te->stmt[c->second].written) return refuse(f, "it is to be made as it is written");
    c->power = rows_power(made);
    const TeExpr *d = c->power ? rows_difference(c->power) : NULL;
    if (!d || values != 1 || !reads_value(f, d->args[1]))
        return refuse(f, "it depends on values of the row by more than a factor exp(E - x)");
    if (d->type == TE_F64) return refuse(f, wide);
    const TeStmt *s = &f->te->stmt[c->second];
    uint8_t axis[TE_MAX_INDICES];
    for (int j = 0; j < s->n_index; j++) {
        uint8_t at = f->joined->perm[c->second][j];
        axis[j] = at < CHAIN_OWN ? f->rows.frame[at] : OPEN;
    }
    c->center = d->args[1]->v.ref;
    c->leader = rows_leader(f->te, c->rows, c->center, true);
    if (!rows_is_maximum(f->te, c->rows, c->leader, s, axis, d->args[0]))
        return refuse(f, "its exponentials are not relative to the maximum of their exponents");
    c->follow = FOLLOW_SCALE;
    return true;
}

/* Its two factors: what is made of the row, and what is not.  */
static bool factors(Finder *f) {
    const TeStmt *s = &f->te->stmt[f->chain->second];
    const TeExpr *body = s->rhs->args[0], *made = NULL;
    if (body->kind != TE_MUL) return refuse(f, "its terms are no products");
    for (int i = 0; i < 2; i++) {
        ReadList reads = access_reads(body->args[i]);
        for (int j = 0; j < reads.n; j++) {
            if (!in_chain(f, reads.at[j])) continue;
            if (made && made != body->args[i]) return refuse(f, "both factors are of the row");
            made = body->args[i];
        }
    }
    if (!made) return refuse(f, "no factor is of the row");
    return follows(f, made);
}

/* All reductions of the row are the maximum that the second product follows, or follow it, too: a
 * walk folds no others.  */
static bool one_leader(Finder *f) {
    const Chain *c = f->chain;
    for (int i = 0; c->rows && i < c->rows->n; i++) {
        if (c->rows->role[i] != ROW_REDUCE) continue;
        bool follows = c->rows->follow[i] == FOLLOW_SCALE && c->rows->center[i] == c->center;
        if (follows && f->te->stmt[c->rows->stmt[i]].rhs->type == TE_F64) return refuse(f, wide);
        if (c->follow == FOLLOW_NONE || (i != c->leader && !follows))
            return refuse(f, "its rows have reductions that do not follow their maximum");
    }
    return true;
}

/* ---- axes ---- */

static uint32_t indices_of(const FusedAxis *x, const uint8_t *to_root) {
    uint32_t out = 0;
    for (int i = 0; i < x->n; i++) out |= 1u << (to_root ? to_root[x->index[i]] : x->index[i]);
    return out;
}

static bool axes_agree(Finder *f) {
    Contraction c, d;
    const char *why;
    const uint8_t *perm = f->joined->perm[f->chain->second];
    if (!groups_contraction(f->te, f->joined, f->joined->root[f->to], &c, &why) ||
        c.n_operand < 2 || !c.product)
        return refuse(f, "the first product is no sum of products of two operands");
    if (indices_of(&c.axis[AX_N], NULL) != f->columns)
        return refuse(f, "its columns are not one side of the first product");
    if (!groups_contraction(f->te, f->g, f->chain->second, &d, &why) || d.n_operand < 2 ||
        !d.product)
        return refuse(f, "it is no sum of products of two operands");
    if (indices_of(&c.axis[AX_B], NULL) != indices_of(&d.axis[AX_B], perm))
        return refuse(f, "the two products have other batches");
    return true;
}

const Chain *chain_find(Arena *a, const Te *te, const Groups *g, const RowGroup *const *row, int k,
                        ChainFound *out) {
    Chain *c = ARENA_NEW(a, Chain);
    Finder f = {.a = a, .te = te, .g = g, .k = k, .chain = c, .joined = ARENA_NEW(a, Groups),
                .row = ARENA_ARRAY(a, const RowGroup *, g->n)};
    int *maps = ARENA_ARRAY(a, int, te->n_stmt), n = 0;
    *c = (Chain){.second = g->root[k]};
    for (int i = 0; i < te->n_stmt; i++)
        if (g->home[i] == k && i != c->second) maps[n++] = i;
    const TeExpr *rhs = te->stmt[c->second].rhs;
    bool found = !row[k] && rhs->kind == TE_REDUCE && rhs->red == TE_RED_SUM &&
                 stats_is_one_sum(te, g, k) && find_rows(&f, row) && join_rows(&f, row) &&
                 bind_second(&f) && one_walk(&f) && factors(&f) && one_leader(&f) &&
                 join_second(&f) && bind_results(&f, maps, n) && parts(&f) && axes_agree(&f);
    c->columns = f.columns;
    if (found) chain_bounds(a, te, f.joined, c);
    *out = (ChainFound){f.joined, f.row, f.to, found || f.why ? f.why : chain_alone};
    return found ? c : NULL;
}

const Chain **chain_join(Arena *a, const Te *te, Groups *g, const RowGroup **row) {
    const Chain **chain = ARENA_ARRAY(a, const Chain *, te->n_stmt);
    if (!te->decisions || !te->decisions->chains) return chain;
    for (int k = 1; k < g->n; k++) {
        ChainFound x;
        ArenaMark mark = arena_mark(a);
        const Chain *c = chain_find(a, te, g, row, k, &x);
        if (!c || !te_takes(te, &te->stmt[c->second], TE_JOINED)) {
            arena_reset(a, mark);
            continue;
        }
        chain[x.joined->root[x.to]] = c;
        *g = *x.joined;
        memcpy(row, x.row, (size_t)g->n * sizeof *row);
        k = x.to > 0 ? x.to : 0;
    }
    return chain;
}
