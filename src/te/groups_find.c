/* Maps join the group that they depend on; what joining groups by kinds asks of that.  */
#include "te/access.h"
#include "te/groups.h"
#include "te/tree.h"
#include <string.h>

bool groups_own_point(const Te *te, const Groups *g, const TeStmt *s, const TeExpr *read,
                      uint8_t *perm) {
    const uint8_t *made = g->perm[g->maker[read->v.ref]];
    const TeTensor *t = &te->tensor[read->v.ref];
    if (read->other || t->rank != s->n_left)
        return false;
    for (int d = 0; d < t->rank; d++) {
        const TeExpr *sub = read->args[d];
        if (sub->kind != TE_INDEX || sub->v.ref >= s->n_left)
            return false;
        int j = sub->v.ref;
        if (!te_extent_same(&s->index[j].hi, &t->shape[d]))
            return false;
        if (perm[j] != 0xff && perm[j] != made[d])
            return false;
        perm[j] = made[d];
    }
    return true;
}

/* perm is complete and names every index of the root once.  */
static bool is_permutation(const uint8_t *perm, int n) {
    uint32_t seen = 0;
    for (int j = 0; j < n; j++) {
        if (perm[j] >= n)
            return false;
        seen |= 1u << perm[j];
    }
    return seen == (1u << n) - 1;
}

/* Can map s join group k: does it read everything that k makes at its own point?  */
static bool joins(const Te *te, const Groups *g, const TeStmt *s, int k, const ReadList *reads,
                  uint8_t *perm) {
    if (s->n_left != te->stmt[g->root[k]].n_left)
        return false;
    memset(perm, 0xff, TE_MAX_RANK);
    for (int i = 0; i < reads->n; i++) {
        int maker = g->maker[reads->at[i]->v.ref];
        if (maker >= 0 && g->home[maker] == k && !groups_own_point(te, g, s, reads->at[i], perm))
            return false;
    }
    bool turned = false;
    for (int j = 0; j < s->n_left; j++) {
        turned |= perm[j] != j && te->stmt[g->root[k]].rhs->kind != TE_REDUCE;
    }
    return is_permutation(perm, s->n_left) && !(turned && te_takes(te, s, TE_APART));
}

static void new_group(Groups *g, int stmt) {
    for (int j = 0; j < TE_MAX_RANK; j++)
        g->perm[stmt][j] = (uint8_t)j;
    g->root[g->n] = stmt;
    g->home[stmt] = g->n++;
}

/* A map follows the last group it depends on: the others are complete by then.  */
static void place(const Te *te, Groups *g, int stmt) {
    const TeStmt *s = &te->stmt[stmt];
    uint8_t perm[TE_MAX_RANK];
    ReadList reads = access_reads(s->rhs);
    int last = -1;
    bool alone = s->rhs->kind == TE_REDUCE;
    for (int i = 0; i < reads.n; i++) {
        int maker = g->maker[reads.at[i]->v.ref];
        if (maker >= 0 && g->home[maker] > last)
            last = g->home[maker];
    }
    if (!alone && last >= 0 && joins(te, g, s, last, &reads, perm)) {
        memcpy(g->perm[stmt], perm, sizeof perm);
        g->home[stmt] = last;
    } else {
        new_group(g, stmt);
    }
    g->maker[s->tensor] = stmt;
}

void groups_open(const Te *te, Groups *g) {
    g->n = g->placed = 0;
    for (int t = 0; t < te->n_tensor; t++)
        g->maker[t] = g->last[t] = -1;
    for (int i = 0; i < te->n_stmt; i++) {
        ReadList reads = access_reads(te->stmt[i].rhs);
        for (int j = 0; j < reads.n; j++)
            g->last[reads.at[j]->v.ref] = i;
    }
}

void groups_place(const Te *te, Groups *g, int end) {
    for (; g->placed < end; g->placed++) {
        g->before[g->placed] = g->n;
        place(te, g, g->placed);
    }
}

void groups_withdraw(Groups *g, int first) {
    if (first >= g->placed)
        return;
    g->n = g->before[first];
    g->placed = first;
}

void groups_find(const Te *te, Groups *g) {
    groups_open(te, g);
    groups_place(te, g, te->n_stmt);
}

bool groups_materialized(const Te *te, const Groups *g, int t) {
    if (!te_is_passing(&te->tensor[t]))
        return true;
    for (int i = g->maker[t] + 1; i <= g->last[t]; i++) {
        if (g->home[i] != g->home[g->maker[t]] && access_reads_tensor(te->stmt[i].rhs, t))
            return true;
    }
    return false;
}

void groups_merge(const Te *te, Groups *g, const RowGroup **row, int k, int to) {
    for (int i = 0; i < te->n_stmt; i++) {
        if (g->home[i] == k)
            g->home[i] = to;
        else if (g->home[i] > k)
            g->home[i]--;
    }
    for (int j = k; j + 1 < g->n; j++) {
        g->root[j] = g->root[j + 1];
        row[j] = row[j + 1];
    }
    g->n--;
}
