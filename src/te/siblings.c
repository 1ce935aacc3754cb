/* Maps beside each other: what is computed over the same domain shares a kernel, so that elements
 * that several read are read once and the kernel is launched once.  */
#include "te/groups.h"
#include "te/tree.h"

enum { OUTPUTS_MAX = 4, READS_TOGETHER = 24 };

typedef struct {
    const Te *te;
    Groups *g;
    const RowGroup **row;
} Siblings;

static const TeStmt *root_of(const Siblings *s, int k) { return &s->te->stmt[s->g->root[k]]; }

static bool is_plain_map(const Siblings *s, int k) {
    return !s->row[k] && root_of(s, k)->rhs->kind != TE_REDUCE;
}

/* The last group that group k reads from; -1 if there is none.  */
static int last_needed(const Siblings *s, int k) {
    int last = -1;
    for (int i = 0; i < s->te->n_stmt; i++) {
        ReadList reads = access_reads(s->te->stmt[i].rhs);
        for (int j = 0; j < reads.n && s->g->home[i] == k; j++) {
            int maker = s->g->maker[reads.at[j]->v.ref];
            int home = maker < 0 ? -1 : s->g->home[maker];
            if (home != k && home > last)
                last = home;
        }
    }
    return last;
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

/* Statements of one of the groups, and how many of their tensors others read.  */
static void count(const Siblings *s, int a, int b, int *reads, int *outputs) {
    *reads = *outputs = 0;
    for (int i = 0; i < s->te->n_stmt; i++) {
        if (s->g->home[i] != a && s->g->home[i] != b)
            continue;
        *reads += access_reads(s->te->stmt[i].rhs).n;
        *outputs += groups_materialized(s->te, s->g, s->te->stmt[i].tensor);
    }
}

/* Does a thread have registers for both?  */
static bool fit_together(const Siblings *s, int a, int b) {
    int reads, outputs;
    count(s, a, b, &reads, &outputs);
    return reads <= READS_TOGETHER && outputs <= OUTPUTS_MAX;
}

void siblings_join(const Te *te, Groups *g, const RowGroup **row) {
    Siblings s = {te, g, row};
    for (int k = 1; k < g->n; k++) {
        if (!is_plain_map(&s, k))
            continue;
        int to = last_needed(&s, k) + 1;
        while (to < k && !(is_plain_map(&s, to) && same_domain(root_of(&s, to), root_of(&s, k)) &&
                           fit_together(&s, to, k)))
            to++;
        if (to >= k || te_takes(te, root_of(&s, k), TE_APART))
            continue;
        groups_merge(te, g, row, k--, to);
    }
}
