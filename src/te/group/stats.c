/* Rows of a contraction's results: a row group that runs over them can join its kernel, which then
 * reduces and maps what it holds instead of storing it.  So can reductions over columns: which side
 * of a product its rows are, nothing else decides.  */
#include "te/group/groups.h"
#include "te/tree/tree.h"
#include <string.h>

enum { OPEN = 0xff };

typedef RowsJoin Join;

static const TeStmt *frame_of(const Join *j) { return &j->te->stmt[j->row->frame]; }
static const TeStmt *root_of(const Join *j) { return &j->te->stmt[j->g->root[j->to]]; }

/* Statement number i of the row group reads a tensor of the contraction's group: at which of its
 * points?  */
static bool bind(Join *j, int i, const TeExpr *read) {
    const TeStmt *s = &j->te->stmt[j->row->stmt[i]];
    const TeTensor *t = &j->te->tensor[read->v.ref];
    const uint8_t *made = j->g->perm[j->g->maker[read->v.ref]];
    if (!te_always_inside(read) || te_own_rank(t) != root_of(j)->n_left)
        return false;
    for (int d = 0; d < te_own_rank(t); d++) {
        const TeExpr *sub = read->args[d];
        if (sub->kind != TE_INDEX || !te_extent_same(&s->index[sub->v.ref].hi, &t->shape[d]))
            return false;
        uint8_t f = j->row->axis[i][sub->v.ref], r = made[d];
        if ((j->root[f] != OPEN && j->root[f] != r) || (j->frame[r] != OPEN && j->frame[r] != f))
            return false;
        j->root[f] = r;
        j->frame[r] = f;
    }
    return true;
}

/* Each index of the frame runs with one of the contraction's that is as long.  */
static bool bind_all(Join *j) {
    const TeStmt *frame = frame_of(j), *root = root_of(j);
    memset(j->root, OPEN, sizeof j->root);
    memset(j->frame, OPEN, sizeof j->frame);
    if (frame->n_index != root->n_left)
        return false;
    for (int i = 0; i < j->row->n; i++) {
        ReadList reads = access_reads(j->te->stmt[j->row->stmt[i]].rhs);
        for (int r = 0; r < reads.n; r++) {
            int maker = j->g->maker[reads.at[r]->v.ref];
            bool from_there = maker >= 0 && j->g->home[maker] == j->to;
            if (from_there && !bind(j, i, reads.at[r]))
                return false;
        }
    }
    for (int f = 0; f < frame->n_index; f++) {
        const TeExtent *n = &frame->index[f].hi;
        bool column = f >= frame->n_left;  /* rows have some at all sizes */
        if (j->root[f] == OPEN || (column ? n->min : n->value) < 1 ||
            !te_extent_same(n, &root->index[j->root[f]].hi))
            return false;
    }
    return true;
}

/* Values that lanes can pass on and add up, each known behind some reduction.  */
static bool can_meet(const Join *j) {
    for (int i = 0; i < j->row->n; i++) {
        const TeExpr *e = j->te->stmt[j->row->stmt[i]].rhs;
        bool reduces = j->row->role[i] == ROW_REDUCE;
        if (reduces && (e->red == TE_RED_ARGMAX || e->red == TE_RED_ARGMIN))
            return false;
        if (j->row->role[i] != ROW_MAP && te_dtype_class(e->type) == TE_CLASS_BOOL)
            return false;
        if (j->row->role[i] == ROW_SCALAR && j->row->pass[i] == 0)
            return false;
    }
    return true;
}

const RowGroup *stats_joined(Arena *a, const RowsJoin *j) {
    RowGroup *x = ARENA_NEW(a, RowGroup);
    *x = (RowGroup){.frame = j->row->frame};
    for (int i = 0, own = 0; i < j->te->n_stmt; i++) {
        if (j->g->home[i] == j->k) {
            x->role[x->n] = j->row->role[own];
            memcpy(x->axis[x->n], j->row->axis[own++], sizeof x->axis[0]);
        } else if (j->g->home[i] == j->to && i != j->g->root[j->to]) {
            x->role[x->n] = ROW_MAP;
            for (int d = 0; d < j->te->stmt[i].n_left; d++)
                x->axis[x->n][d] = j->frame[j->g->perm[i][d]];
        } else {
            continue;
        }
        x->stmt[x->n++] = i;
    }
    rows_passes(j->te, x);
    x->online = rows_with_online(a, j->te, x, false);
    return x;
}

/* With the groups as one: are the columns the axis N of a contraction of two operands?  */
static bool is_along_n(const Join *j, Groups *joined) {
    const TeStmt *frame = frame_of(j), *root = root_of(j);
    Contraction c;
    const char *why;
    uint32_t columns = 0, n = 0;
    *joined = *j->g;
    for (int i = 0; i < j->row->n; i++) {
        int stmt = j->row->stmt[i];
        joined->home[stmt] = j->to;
        for (int d = 0; d < j->te->stmt[stmt].n_index; d++)
            joined->perm[stmt][d] = j->root[j->row->axis[i][d]];
    }
    if (!groups_contraction(j->te, joined, j->g->root[j->to], &c, &why) || c.n_operand < 2)
        return false;
    for (int f = frame->n_left; f < frame->n_index; f++) columns |= 1u << j->root[f];
    for (int i = 0; i < c.axis[AX_N].n; i++) n |= 1u << c.axis[AX_N].index[i];
    for (int i = 0; i < root->n_left; i++) {
        if (((columns ^ n) >> i & 1) && root->index[i].hi.value != 1)
            return false;
    }
    return true;
}

static int statements(const Te *te, const Groups *g, int k) {
    int n = 0;
    for (int i = 0; i < te->n_stmt; i++) n += g->home[i] == k;
    return n;
}

bool stats_is_one_sum(const Te *te, const Groups *g, int k) {
    const TeStmt *root = &te->stmt[g->root[k]];
    Scan scan;
    int n = 0;
    for (int i = 0; i < te->n_stmt; i++)
        n += g->home[i] == k && te->stmt[i].rhs->kind == TE_REDUCE;
    return n == 1 && root->rhs->kind == TE_REDUCE && !te_positional(root->rhs) &&
           !access_scan(root, &scan);
}

bool stats_is_product(const Te *te, const Groups *g, int k) {
    Contraction c;
    const char *why;
    return stats_is_one_sum(te, g, k) && groups_contraction(te, g, g->root[k], &c, &why) &&
           c.n_operand > 1 && c.product;
}

/* Why the rows cannot join the sum j->to, `own` statements being theirs; NULL: they can.  */
static const char *apart(Join *j, int own, Groups *joined) {
    if (own + statements(j->te, j->g, j->to) > ROW_MAX_STMTS)
        return "its rows have too many statements";
    if (!can_meet(j)) return "its rows have values that lanes cannot pass on";
    if (!bind_all(j)) return "its rows are not those of the first product";
    return is_along_n(j, joined) ? NULL : "its columns are not one side of the first product";
}

int stats_find(RowsJoin *j, const RowGroup *const *row, const RowGroup *const *stats,
               Groups *joined) {
    const Te *te = j->te;
    int own = statements(te, j->g, j->k);
    for (j->to = j->k; (j->to = groups_behind(te, j->g, j->k, j->to)) >= 0;) {
        if (row[j->to] || (stats && stats[j->to]) || !stats_is_one_sum(te, j->g, j->to)) continue;
        const char *why = apart(j, own, joined);
        if (!why) break;
        if (!j->why && stats_is_product(te, j->g, j->to)) j->why = why;
    }
    return j->to;
}

const RowGroup **stats_join(Arena *a, const Te *te, Groups *g, const RowGroup **row) {
    const RowGroup **stats = ARENA_ARRAY(a, const RowGroup *, g->n);
    Groups *joined = ARENA_NEW(a, Groups);
    for (int k = 1; k < g->n; k++) {
        Join j = {.te = te, .g = g, .row = row[k] ? row[k] : columns_group(a, te, g, k), .k = k};
        if (!j.row || j.row->n < statements(te, g, k) || stats_find(&j, row, stats, joined) < 0 ||
            !te_takes(te, frame_of(&j), TE_JOINED))
            continue;
        stats[j.to] = stats_joined(a, &j);
        memcpy(g->perm, joined->perm, sizeof g->perm);
        groups_merge(te, g, row, k--, j.to);
    }
    groups_order(te, g, row, stats);
    return stats;
}
