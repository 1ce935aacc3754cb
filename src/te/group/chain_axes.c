/* The second product of a chain, seen with its whole group.  */
#include "te/group/groups.h"
#include <string.h>

/* Which index of the second product runs with the root's `index`; what it has none for gets a
 * number behind its own.  */
static uint8_t to_second(const uint8_t *second, int n, int index) {
    for (int j = 0; j < n; j++) {
        if (second[j] == index) return (uint8_t)j;
    }
    return (uint8_t)(n + index);
}

static const uint8_t *second_perm(const KernelGroup *group) {
    int i = 0;
    while (group->fused[i] != group->chain->second) i++;
    return group->perm[i];
}

/* The group with the second product as its root, and everything else.  */
static void turn(const Te *te, const KernelGroup *group, Groups *g) {
    int n = te->stmt[group->chain->second].n_index;
    const uint8_t *second = second_perm(group);
    *g = (Groups){.n = 2, .root = {group->chain->second, -1}};
    for (int t = 0; t < te->n_tensor; t++) {
        g->maker[t] = -1;
        g->last[t] = te->n_stmt - 1;
    }
    for (int i = 0; i < te->n_stmt; i++) {
        g->home[i] = 1;
        g->maker[te->stmt[i].tensor] = i;
    }
    g->home[group->root] = 0;
    for (int j = 0; j < te->stmt[group->root].n_index; j++)
        g->perm[group->root][j] = to_second(second, n, j);
    for (int i = 0; i < group->n_fused; i++) {
        int stmt = group->fused[i];
        g->home[stmt] = 0;
        for (int j = 0; j < te->stmt[stmt].n_index; j++)
            g->perm[stmt][j] = to_second(second, n, group->perm[i][j]);
    }
}

/* Does the expression read what the chain makes?  */
static bool is_made(const Te *te, const KernelGroup *group, const TeExpr *e) {
    for (int i = -1; i < group->n_fused; i++) {
        int stmt = i < 0 ? group->root : group->fused[i];
        if (access_reads_tensor(e, te->stmt[stmt].tensor)) return true;
    }
    return false;
}

/* An axis of the root in the indices of the second product.  */
static void turn_axis(const KernelGroup *group, int n, const FusedAxis *from, FusedAxis *to) {
    *to = *from;
    for (int i = 0; i < from->n; i++)
        to->index[i] = to_second(second_perm(group), n, from->index[i]);
}

bool access_chain_contraction(const Te *te, const KernelGroup *group, Contraction *out,
                              const char **why) {
    Groups g;
    Contraction first;
    int n = te->stmt[group->chain->second].n_index;
    turn(te, group, &g);
    bool separates = groups_contraction(te, &g, group->chain->second, out, why) &&
                     access_group_contraction(te, group, &first, why);
    if (!separates) return false;
    if (!is_made(te, group, out->operand[0].expr)) {
        Operand made = out->operand[1];
        out->operand[1] = out->operand[0];
        out->operand[0] = made;
        out->axis[AX_N] = out->axis[AX_M];
    }
    turn_axis(group, n, &first.axis[AX_B], &out->axis[AX_B]);
    turn_axis(group, n, &first.axis[AX_M], &out->axis[AX_M]);
    turn_axis(group, n, &first.axis[AX_N], &out->axis[AX_K]);
    return true;
}
