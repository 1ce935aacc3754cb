#include "te/group/groups.h"

/* Which walk over the columns of a row computes what.  */

static int later(int a, int b) { return a > b ? a : b; }

/* The first pass that knows all that a statement reads but for tensor `except`.  */
static int first_pass(const TeStmt *s, const int *known, int except) {
    ReadList reads = access_reads(s->rhs);
    int pass = 0;
    for (int j = 0; j < reads.n; j++) {
        if (reads.at[j]->v.ref != except)
            pass = later(pass, known[reads.at[j]->v.ref]);
    }
    return pass;
}

void rows_passes(const Te *te, RowGroup *x) {
    int known[TE_MAX_TENSORS] = {0};    /* the first pass that can use a tensor */
    x->n_pass = 0;
    for (int i = 0; i < x->n; i++) {
        const TeStmt *s = &te->stmt[x->stmt[i]];
        int pass = first_pass(s, known, -1);
        if (x->follow[i]) {
            int leader = x->pass[x->leader[i]], own = first_pass(s, known, x->center[i]);
            if (own <= leader && leader < pass)
                pass = leader;
            else
                x->follow[i] = FOLLOW_NONE;
        }
        x->pass[i] = pass;
        known[s->tensor] = pass + (x->role[i] == ROW_REDUCE);
        if (x->role[i] != ROW_SCALAR)
            x->n_pass = later(x->n_pass, pass + 1);
    }
}
