/* Maps beside each other: what is computed over the same domain shares a kernel, so that elements
 * that several read are read once and the kernel is launched once.  How wide its accesses are, so
 * that a thread has registers for them, is planned; which stand apart, decided (TE_APART).  */
#include "te/group/groups.h"
#include "te/tree/tree.h"
#include <string.h>

typedef struct {
    const Te *te;
    Groups *g;
    const RowGroup **row;
} Siblings;

static const TeStmt *root_of(const Siblings *s, int k) { return &s->te->stmt[s->g->root[k]]; }

static bool is_plain_map(const Siblings *s, int k) {
    return !s->row[k] && root_of(s, k)->rhs->kind != TE_REDUCE;
}

static bool same_domain(const TeStmt *x, const TeStmt *y) {
    if (x->n_left != y->n_left)
        return false;
    for (int i = 0; i < x->n_left; i++) {
        if (!te_extent_same(&x->index[i].hi, &y->index[i].hi))
            return false;
    }
    return true;
}

/* Do the maps of group k read what group `to` makes at their own points, if at all?  */
static bool reads_own_points(const Siblings *s, int k, int to) {
    for (int i = 0; i < s->te->n_stmt; i++) {
        ReadList reads = access_reads(s->te->stmt[i].rhs);
        for (int j = 0; j < reads.n && s->g->home[i] == k; j++) {
            int maker = s->g->maker[reads.at[j]->v.ref];
            uint8_t perm[TE_MAX_RANK];
            memcpy(perm, s->g->perm[i], sizeof perm);
            if (maker >= 0 && s->g->home[maker] == to &&
                !groups_own_point(s->te, s->g, &s->te->stmt[i], reads.at[j], perm))
                return false;
        }
    }
    return true;
}

void siblings_join(const Te *te, Groups *g, const RowGroup **row) {
    Siblings s = {te, g, row};
    for (int k = 1; k < g->n; k++) {
        int to = 0;
        while (to < k && !(is_plain_map(&s, k) && is_plain_map(&s, to) &&
                           same_domain(root_of(&s, to), root_of(&s, k)) &&
                           reads_own_points(&s, k, to) && groups_meet(te, g, k, to)))
            to++;
        if (to == k || te_takes(te, root_of(&s, k), TE_APART))
            continue;
        groups_merge(te, g, row, k--, to);
    }
}
