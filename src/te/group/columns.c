/* Reductions beside each other whose neighbouring results read neighbouring elements: those over
 * the same indices that read the same elements share a kernel, so that these are read once.  So do
 * a mean and a sum of squared deviations from it, a maximum and a sum of exponentials under it.  */
#include "te/group/groups.h"
#include "te/tree/tree.h"
#include <string.h>

typedef struct {
    Arena *arena;
    const Te *te;
    Groups *g;
    const RowGroup **row;
} Columns;

static const TeStmt *root_of(const Columns *c, int k) { return &c->te->stmt[c->g->root[k]]; }

static bool reduces(const Columns *c, int k) {
    const TeExpr *e = root_of(c, k)->rhs;
    Scan scan;
    return !c->row[k] && e->kind == TE_REDUCE && !access_scan(root_of(c, k), &scan) &&
           e->red != TE_RED_ARGMAX && e->red != TE_RED_ARGMIN;
}

static int sums_of(const Columns *c, int k) {
    int n = 0;
    for (int i = 0; i < c->te->n_stmt; i++)
        n += c->g->home[i] == k && c->te->stmt[i].rhs->kind == TE_REDUCE;
    return n;
}

/* The same indices in the same order, as many rows as can be counted.  */
static bool same_domain(const TeStmt *x, const TeStmt *y) {
    int64_t rows = 1;
    if (x->n_left != y->n_left || x->n_index != y->n_index)
        return false;
    for (int i = 0; i < x->n_index; i++) {
        int64_t n = x->index[i].hi.value;
        if (!te_extent_same(&x->index[i].hi, &y->index[i].hi) || n < 1)
            return false;
        if (i >= x->n_left && (rows *= n) > INT32_MAX / 2)
            return false;
    }
    return true;
}

/* Does the read take one element for each point of the domain, neighbours for neighbouring results?
 * Windows, which meet elements again, and products, whose tiles do, are better off alone.  */
static bool lies_in_columns(const Columns *c, const TeStmt *s, const TeExpr *read) {
    const TeTensor *t = &c->te->tensor[read->v.ref];
    Access x;
    bool contiguous = false;
    access_read(c->te, s, read, &x);
    if (!x.affine)
        return false;
    for (int d = 0; d < t->rank; d++) {
        int moving = 0;
        for (int i = 0; i < s->n_index; i++) moving += x.sub[d].coef[i] != 0;
        if (moving > 1 || (x.guard[d] && read->inside != TE_INSIDE_GIVEN))
            return false;
    }
    for (int i = 0; i < s->n_index; i++) {
        if (s->index[i].hi.value == 1)
            continue;
        if (!(x.uses >> i & 1))
            return false;
        contiguous |= i < s->n_left && x.offset.coef[i] == 1 && !(x.varies >> i & 1);
    }
    return contiguous;
}

static bool share_columns(const Columns *c, int a, int b) {
    ReadList x = access_reads(root_of(c, a)->rhs);
    ReadList y = access_reads(root_of(c, b)->rhs);
    for (int i = 0; i < x.n; i++) {
        for (int j = 0; j < y.n; j++) {
            if (access_same(x.at[i], y.at[j]))
                return lies_in_columns(c, root_of(c, a), x.at[i]);
        }
    }
    return false;
}

/* The statements of groups a and b as rows: the values of one column are one.  */
static RowGroup *as_rows(Arena *arena, const Te *te, const Groups *g, int a, int b) {
    RowGroup *x = ARENA_NEW(arena, RowGroup);
    int others = ROW_MAX_STMTS - TE_MAX_SUMS;
    *x = (RowGroup){.frame = g->root[a], .n_pass = 1};
    for (int i = 0; i < te->n_stmt; i++) {
        const TeStmt *s = &te->stmt[i];
        bool reduces = s->rhs->kind == TE_REDUCE;
        if ((g->home[i] != a && g->home[i] != b) || (!reduces && others-- <= 0))
            continue;
        x->stmt[x->n] = i;
        x->role[x->n] = reduces ? ROW_REDUCE : ROW_SCALAR;
        x->pass[x->n] = !reduces;
        for (int j = 0; j < s->n_index; j++)
            x->axis[x->n][j] = reduces || j >= s->n_left ? (uint8_t)j : g->perm[i][j];
        x->n++;
    }
    return x;
}

const RowGroup *columns_group(Arena *a, const Te *te, const Groups *g, int k) {
    if (te->stmt[g->root[k]].rhs->kind != TE_REDUCE)
        return NULL;
    RowGroup *x = as_rows(a, te, g, k, k);
    rows_online(te, x, false);
    return x;
}

/* What the root of group b may read of group a, which is made in the same pass; -1: nothing.  */
static int center_of(const Columns *c, int a, int b) {
    RowGroup *x = as_rows(c->arena, c->te, c->g, a, b);
    rows_online(c->te, x, false);
    for (int i = 0; i < x->n; i++) {
        if (x->stmt[i] == c->g->root[b] && x->follow[i])
            return x->center[i];
    }
    return -1;
}

/* Can what group b computes come right behind group a, in its kernel?  Its maps may read what that
 * makes at their own point, its reduction what it follows.  */
static bool can_follow(const Columns *c, int a, int b) {
    const Groups *g = c->g;
    int center = center_of(c, a, b);
    for (int i = 0; i < c->te->n_stmt; i++) {
        const TeStmt *s = &c->te->stmt[i];
        ReadList reads = access_reads(s->rhs);
        for (int j = 0; j < reads.n && g->home[i] == b; j++) {
            int maker = g->maker[reads.at[j]->v.ref], home = maker < 0 ? -1 : g->home[maker];
            uint8_t perm[TE_MAX_RANK];
            if (home != a)
                continue;
            memcpy(perm, g->perm[i], sizeof perm);
            if ((i == g->root[b] && reads.at[j]->v.ref != center) ||
                !groups_own_point(c->te, g, s, reads.at[j], perm))
                return false;
        }
    }
    return groups_meet(c->te, g, b, a);
}

void columns_join(Arena *arena, const Te *te, Groups *g, const RowGroup **row) {
    Columns c = {arena, te, g, row};
    for (int b = 1; b < g->n; b++) {
        for (int a = 0; a < b && reduces(&c, b); a++) {
            if (!reduces(&c, a) || !same_domain(root_of(&c, a), root_of(&c, b)) ||
                !share_columns(&c, a, b) || sums_of(&c, a) + sums_of(&c, b) > TE_MAX_SUMS ||
                !can_follow(&c, a, b) || te_takes(te, root_of(&c, b), TE_APART))
                continue;
            groups_merge(te, g, row, b--, a);
            break;
        }
    }
}
