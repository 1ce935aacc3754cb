/* What only copies a temporary into an output is dropped: the output is assigned instead.
 *
 * Holds where the output rounds as the temporary does, or where that does not round and nobody else
 * reads it; so no value is rounded more, less, or by another type.  */
#include "te/access/access.h"
#include "te/canon/canon.h"
#include "te/tree/tree.h"
#include <string.h>

/* Statement k copies a whole temporary into an output: at[d] is the output's dimension that runs
 * with dimension d of the temporary.  */
static bool is_copy(const Te *te, int k, uint8_t *at) {
    const TeStmt *s = &te->stmt[k];
    return te->tensor[s->tensor].role == TE_OUTPUT && access_permutes(te, s, at) &&
           te_is_passing(&te->tensor[s->rhs->v.ref]);
}

static int reads_of(const Te *te, int tensor) {
    int n = 0;
    for (int k = 0; k < te->n_stmt; k++) n += access_reads_tensor(te->stmt[k].rhs, tensor);
    return n;
}

static int maker_of(const Te *te, int tensor) {
    int k = 0;
    while (te->stmt[k].tensor != tensor) k++;
    return k;
}

/* Does the output hold the temporary's values, which statement m makes: is it rounded no more than
 * that, or does nobody else see it, and the temporary not round at all?  */
static bool holds(const Te *te, const TeStmt *m, int to) {
    TeDtype stored = te->tensor[m->tensor].dtype, type = te->tensor[to].dtype;
    return stored == type || (stored == m->rhs->type && reads_of(te, m->tensor) == 1 &&
                              te_dtype_class(stored) == te_dtype_class(type) &&
                              te_dtype_compute(type) == stored);
}

static void redirect(Arena *a, TeExpr *e, int from, int to, const uint8_t *at) {
    for (int i = 0; i < e->n_args; i++) redirect(a, e->args[i], from, to, at);
    if (e->other) redirect(a, e->other, from, to, at);
    if (e->kind != TE_READ || e->v.ref != from) return;
    TeExpr **args = ARENA_ARRAY(a, TeExpr *, e->n_args);
    for (int d = 0; d < e->n_args; d++) args[at[d]] = e->args[d];
    e->args = args;
    e->v.ref = to;
}

/* Statement m assigns output `to`, whose dimension at[d] runs with its left index d.  */
static void assign(TeStmt *m, int to, const uint8_t *at) {
    TeIndex index[TE_MAX_INDICES];
    uint8_t number[TE_MAX_INDICES];
    for (int i = 0; i < m->n_index; i++) {
        number[i] = i < m->n_left ? at[i] : (uint8_t)i;
        index[number[i]] = m->index[i];
    }
    memcpy(m->index, index, (size_t)m->n_index * sizeof *index);
    te_expr_renumber(m->rhs, number);
    m->tensor = to;
    m->temp_type = TE_DTYPE_COUNT;
}

static void remove_statement(Norm *n, int k) {
    Te *te = n->te;
    size_t behind = (size_t)(--te->n_stmt - k);
    memmove(&te->stmt[k], &te->stmt[k + 1], behind * sizeof *te->stmt);
    memmove(&n->origin[k], &n->origin[k + 1], behind * sizeof *n->origin);
    memmove(&n->changed[k], &n->changed[k + 1], behind * sizeof *n->changed);
}

bool canon_copies(Norm *n) {
    Te *te = n->te;
    bool any = false;
    normalize_list_reads(n);
    for (int k = 0; k < te->n_stmt; k++) {
        uint8_t at[TE_MAX_INDICES];
        int to = te->stmt[k].tensor;
        if (!is_copy(te, k, at)) continue;
        int from = te->stmt[k].rhs->v.ref, m = maker_of(te, from);
        if (!holds(te, &te->stmt[m], to)) continue;
        assign(&te->stmt[m], to, at);
        n->changed[m] = true;
        remove_statement(n, k--);
        for (int i = 0; i < te->n_stmt; i++) {
            if (!access_reads_tensor(te->stmt[i].rhs, from)) continue;
            redirect(n->a, te->stmt[i].rhs, from, to, at);
            n->changed[i] = true;
        }
        normalize_list_reads(n);
        any = true;
    }
    return normalize_note(n, TE_MADE_COPIES, any);
}
