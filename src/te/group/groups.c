#include "te/group/groups.h"
#include "te/access/access.h"
#include "te/tree/tree.h"
#include <string.h>

/* One reduction with maps of its results, which it does not need: could it be a contraction?  */
static bool could_be_tiled(const Te *te, const RowGroup *r) {
    const TeExpr *reduced = te->stmt[r->frame].rhs;
    for (int i = 0; i < r->n; i++) {
        if (r->stmt[i] == r->frame)
            continue;
        if (r->role[i] != ROW_SCALAR || access_reads_tensor(reduced, te->stmt[r->stmt[i]].tensor))
            return false;
    }
    return true;
}

/* Is there a size at which some element is written?  */
static bool has_iterations(const TeStmt *s) {
    for (int i = 0; i < s->n_left; i++) {
        if (te_index_extent(&s->index[i]) == 0)
            return false;
    }
    return true;
}

const RowGroup **groups_by_kinds(Arena *a, const Te *te, Groups *g) {
    groups_find(te, g);
    const RowGroup **row = rows_find(a, te, g);
    for (int k = 0; k < g->n; k++) {
        if (row[k] && could_be_tiled(te, row[k]) &&
            te_takes(te, &te->stmt[row[k]->frame], TE_TILED))
            row[k] = NULL;
    }
    columns_join(a, te, g, row);
    siblings_join(te, g, row);
    return row;
}

int access_groups(Arena *a, const Te *te, KernelGroup **out) {
    Groups g;
    const RowGroup **row = groups_by_kinds(a, te, &g);
    const Chain **chain = chain_join(a, te, &g, row);
    const RowGroup **stats = stats_join(a, te, &g, row);
    KernelGroup *group = ARENA_ARRAY(a, KernelGroup, g.n);
    for (int k = 0; k < g.n; k++) {
        group[k].row = row[k];
        group[k].stats = stats[k];
        group[k].chain = chain[g.root[k]];
        group[k].columns = row[k] || stats[k] || group[k].chain ? NULL
                                                                : columns_group(a, te, &g, k);
    }
    for (int i = 0; i < te->n_stmt; i++)
        group[g.home[i]].n_fused += g.root[g.home[i]] != i;
    for (int k = 0; k < g.n; k++) {
        group[k].fused = ARENA_ARRAY(a, int, group[k].n_fused);
        group[k].perm = arena_calloc(a, (size_t)group[k].n_fused, sizeof *group[k].perm);
        group[k].n_fused = 0;
    }
    for (int i = 0; i < te->n_stmt; i++) {
        KernelGroup *k = &group[g.home[i]];
        if (g.root[g.home[i]] == i) {
            k->root = i;
        } else {
            memcpy(k->perm[k->n_fused], g.perm[i], sizeof g.perm[i]);
            k->fused[k->n_fused++] = i;
        }
    }
    int kept = 0;
    for (int k = 0; k < g.n; k++) {
        if (has_iterations(&te->stmt[group[k].root]))
            group[kept++] = group[k];
    }
    *out = group;
    return kept;
}

const char *chain_refusal(Arena *a, const Te *te, const Groups *g, const RowGroup *const *row,
                          int stmt) {
    ChainFound x;
    if (g->root[g->home[stmt]] != stmt) return chain_alone;
    return chain_find(a, te, g, row, g->home[stmt], &x) ? NULL : x.why;
}

bool access_materialized(const Te *te, const KernelGroup *groups, int n, int t) {
    Groups g = {.n = n};
    g.last[t] = te->n_stmt - 1;
    for (int k = 0; k < n; k++) {
        g.home[groups[k].root] = k;
        g.maker[te->stmt[groups[k].root].tensor] = groups[k].root;
        for (int i = 0; i < groups[k].n_fused; i++) {
            g.home[groups[k].fused[i]] = k;
            g.maker[te->stmt[groups[k].fused[i]].tensor] = groups[k].fused[i];
        }
    }
    return groups_materialized(te, &g, t);
}
