/* Maps join the group that they depend on; what joining groups by kinds asks of that.  */
#include "te/access/access.h"
#include "te/group/groups.h"
#include "te/tree/tree.h"
#include <string.h>

bool groups_own_point(const Te *te, const Groups *g, const TeStmt *s, const TeExpr *read,
                      uint8_t *perm) {
    const uint8_t *made = g->perm[g->maker[read->v.ref]];
    const TeTensor *t = &te->tensor[read->v.ref];
    if (read->other || te_own_rank(t) != s->n_left)
        return false;
    for (int d = 0; d < te_own_rank(t); d++) {
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

/* The group that makes a tensor; -1 for inputs.  */
static int source(const Groups *g, int tensor) {
    int maker = g->maker[tensor];
    return maker < 0 ? -1 : g->home[maker];
}

/* Does group k need group `on`: directly, unless `others`, or through others?  */
static bool needs(const Te *te, const Groups *g, int k, int on, bool others) {
    bool needed[TE_MAX_STMTS] = {false};
    if (g->ordered && k < on)
        return false;
    needed[k] = true;
    for (bool more = true; more;) {
        more = false;
        for (int i = g->placed - 1; i >= 0; i--) {
            if (!needed[g->home[i]])
                continue;
            ReadList reads = access_reads(te->stmt[i].rhs);
            for (int j = 0; j < reads.n; j++) {
                int from = source(g, reads.at[j]->v.ref);
                if (from == on && !(others && g->home[i] == k))
                    return true;
                if (from < 0 || from == on || needed[from] || (g->ordered && from < on))
                    continue;
                needed[from] = more = true;
            }
        }
    }
    return false;
}

bool groups_meet(const Te *te, const Groups *g, int k, int to) {
    return !needs(te, g, k, to, true) && !needs(te, g, to, k, false);
}

/* The last group before `end`, but for `own`, that is read; -1: none.  */
static int read_before(const Groups *g, const ReadList *reads, int end, int own) {
    int last = -1;
    for (int i = 0; i < reads->n; i++) {
        int from = source(g, reads->at[i]->v.ref);
        if (from > last && from < end && from != own)
            last = from;
    }
    return last;
}

int groups_behind(const Te *te, const Groups *g, int k, int end) {
    for (;;) {
        int last = -1;
        for (int i = 0; i < te->n_stmt; i++) {
            if (g->home[i] != k) continue;
            ReadList reads = access_reads(te->stmt[i].rhs);
            int from = read_before(g, &reads, end, k);
            last = from > last ? from : last;
        }
        if (last < 0 || groups_meet(te, g, k, last))
            return last;
        end = last;
    }
}

/* Is none of the groups that are read complete only when group `to` is?  */
static bool is_read_last(const Te *te, const Groups *g, const ReadList *reads, int to) {
    for (int i = 0; i < reads->n; i++) {
        int from = source(g, reads->at[i]->v.ref);
        if (from >= 0 && from != to && needs(te, g, from, to, false))
            return false;
    }
    return true;
}

/* A map follows a group that it depends on, if the others can be complete by then.  */
static void place(const Te *te, Groups *g, int stmt) {
    const TeStmt *s = &te->stmt[stmt];
    ReadList reads = access_reads(s->rhs);
    uint8_t perm[TE_MAX_RANK];
    int last = s->rhs->kind == TE_REDUCE ? -1 : read_before(g, &reads, g->n, -1), to = last;
    while (to >= 0 && !(is_read_last(te, g, &reads, to) && joins(te, g, s, to, &reads, perm)))
        to = read_before(g, &reads, to, -1);
    if (to < 0) {
        new_group(g, stmt);
    } else {
        memcpy(g->perm[stmt], perm, sizeof perm);
        g->home[stmt] = to;
        g->ordered &= to == last;
    }
    g->maker[s->tensor] = stmt;
}

void groups_open(const Te *te, Groups *g) {
    g->n = g->placed = 0;
    g->ordered = true;
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

void groups_disorder(const Te *te, Groups *g, int k, int to) {
    for (int i = 0; i < te->n_stmt && g->ordered; i++) {
        if (to < k && g->home[i] != k) continue;       /* who reads group k still comes later */
        ReadList reads = access_reads(te->stmt[i].rhs);
        for (int j = 0; j < reads.n; j++) {
            int from = source(g, reads.at[j]->v.ref), own = g->home[i];
            g->ordered &= (from == k ? to : from) <= (own == k ? to : own);
        }
    }
}

/* Groups that group k needs get numbers before it, those of lower numbers first.  */
static void number(const Te *te, const Groups *g, int k, int *to, int *n) {
    if (to[k] >= 0)
        return;
    to[k] = g->n;                          /* on its way */
    for (int i = 0; i < te->n_stmt; i++) {
        ReadList reads = access_reads(te->stmt[i].rhs);
        for (int j = 0; j < reads.n && g->home[i] == k; j++) {
            int from = source(g, reads.at[j]->v.ref);
            if (from >= 0)
                number(te, g, from, to, n);
        }
    }
    to[k] = (*n)++;
}

static void permute(const RowGroup **row, const int *to, int n) {
    const RowGroup *was[TE_MAX_STMTS];
    memcpy(was, row, (size_t)n * sizeof *was);
    for (int k = 0; k < n; k++) row[to[k]] = was[k];
}

void groups_order(const Te *te, Groups *g, const RowGroup **row, const RowGroup **stats) {
    int root[TE_MAX_STMTS], to[TE_MAX_STMTS], n = 0;
    if (g->ordered)
        return;
    memset(to, -1, sizeof to);
    memcpy(root, g->root, sizeof root);
    for (int k = 0; k < g->n; k++) number(te, g, k, to, &n);
    for (int i = 0; i < te->n_stmt; i++) g->home[i] = to[g->home[i]];
    for (int k = 0; k < g->n; k++) g->root[to[k]] = root[k];
    permute(row, to, g->n);
    permute(stats, to, g->n);
    g->ordered = true;
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
    groups_disorder(te, g, k, to);
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
