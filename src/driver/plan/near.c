#include "driver/plan/near.h"
#include <stdlib.h>
#include <string.h>

enum { STEPS = 2, HUB = 32 };

typedef struct {
    int from, to;
} Edge;

/* Adds an edge if there is room: without room it is counted only.  */
static void add(Edge *edge, int *n, int from, int to) {
    if (edge) edge[*n] = (Edge){from, to};
    ++*n;
}

static NearLists list(Arena *a, const Edge *edge, int n_edge, int n) {
    NearLists x = {ARENA_ARRAY(a, int, n + 2), ARENA_ARRAY(a, int, n_edge)};
    for (int i = 0; i < n_edge; i++) x.first[edge[i].from + 2]++;
    for (int i = 2; i <= n + 1; i++) x.first[i] += x.first[i - 1];
    for (int i = 0; i < n_edge; i++) x.item[x.first[edge[i].from + 1]++] = edge[i].to;
    return x;
}

static int read_edges(const Near *x, Edge *edge) {
    int n = 0;
    for (int k = 0; k < x->op->te->n_stmt; k++) {
        ReadList reads = access_reads(x->op->te->stmt[k].rhs);
        for (int i = 0; i < reads.n; i++) {
            int m = x->maker[reads.at[i]->v.ref];
            if (m >= 0) add(edge, &n, m, k);
        }
    }
    return n;
}

void near_open(Arena *a, const TeCanonical *op, Near *out) {
    const Te *te = op->te;
    *out = (Near){.a = a, .op = op, .maker = ARENA_ARRAY(a, int, te->n_tensor),
                  .seen_group = ARENA_ARRAY(a, int, TE_MAX_STMTS),
                  .seen_stmt = ARENA_ARRAY(a, int, te->n_stmt)};
    for (int t = 0; t < te->n_tensor; t++) out->maker[t] = -1;
    for (int k = 0; k < te->n_stmt; k++) out->maker[te->stmt[k].tensor] = k;
    int n = read_edges(out, NULL);
    Edge *edge = ARENA_ARRAY(a, Edge, n);
    read_edges(out, edge);
    out->reader = list(a, edge, n, te->n_stmt);
}

/* Statement i of a group, its root first.  */
static const TeStmt *stmt_of(const PlanSet *set, int g, int i) {
    const KernelGroup *group = &set->group[g];
    return &set->normal->stmt[i == 0 ? group->root : group->fused[i - 1]];
}

/* Is it the statement of its site, not one that was made beside it, as a copy of an operand?  */
static bool is_own(const Near *x, const PlanSet *set, const TeStmt *s) {
    const Te *op = x->op->te;
    return set->normal->tensor[s->tensor].name == op->tensor[op->stmt[s->site].tensor].name;
}

/* The groups of sites; of those that have no statement of their own, of any (`all`).  */
static int home_edges(const Near *x, const PlanSet *set, const bool *all, Edge *edge) {
    int n = 0;
    for (int g = 0; g < set->n_group; g++) {
        for (int i = 0; i <= set->group[g].n_fused; i++) {
            const TeStmt *s = stmt_of(set, g, i);
            if (all[s->site] || is_own(x, set, s)) add(edge, &n, s->site, g);
        }
    }
    return n;
}

/* Has the statement one of its own in the parting?  */
static bool stands(const Near *x, int stmt) {
    return x->home.first[stmt] < x->home.first[stmt + 1];
}

/* From the groups of a site to those whose results it reads, itself or what is computed in it.  */
static void beside_edges(Near *x, int site, int stmt, Edge *edge, int *n) {
    ReadList reads = access_reads(x->op->te->stmt[stmt].rhs);
    if (x->seen_stmt[stmt] == x->turn) return;
    x->seen_stmt[stmt] = x->turn;
    for (int i = 0; i < reads.n; i++) {
        int m = x->maker[reads.at[i]->v.ref];
        if (m < 0) continue;
        if (!stands(x, m)) {
            beside_edges(x, site, m, edge, n);
            continue;
        }
        for (int j = x->home.first[site]; j < x->home.first[site + 1]; j++) {
            for (int k = x->home.first[m]; k < x->home.first[m + 1]; k++) {
                add(edge, n, x->home.item[j], x->home.item[k]);
                add(edge, n, x->home.item[k], x->home.item[j]);
            }
        }
    }
}

static int all_beside(Near *x, Edge *edge) {
    int n = 0;
    for (int site = 0; site < x->op->te->n_stmt; site++) {
        x->turn++;
        if (stands(x, site)) beside_edges(x, site, site, edge, &n);
    }
    return n;
}

void near_part_ways(Near *x, const Parting *p) {
    const PlanSet *set = &p->set;
    int n_stmt = x->op->te->n_stmt;
    bool all[TE_MAX_STMTS];
    memset(all, true, sizeof all);
    for (int g = 0; g < set->n_group; g++) {
        for (int i = 0; i <= set->group[g].n_fused; i++) {
            const TeStmt *s = stmt_of(set, g, i);
            if (is_own(x, set, s)) all[s->site] = false;
        }
    }
    x->parting = p;
    int n = home_edges(x, set, all, NULL);
    Edge *edge = ARENA_ARRAY(x->a, Edge, n);
    home_edges(x, set, all, edge);
    x->home = list(x->a, edge, n, n_stmt);
    n = all_beside(x, NULL);
    edge = ARENA_ARRAY(x->a, Edge, n);
    all_beside(x, edge);
    x->beside = list(x->a, edge, n, set->n_group);
}

static void see_group(Near *x, int g, NearPart *out) {
    if (x->seen_group[g] == x->turn) return;
    x->seen_group[g] = x->turn;
    out->group[out->n_group++] = g;
}

/* The groups that have the statement, or what it was computed in again.  */
static void see_homes(Near *x, int stmt, NearPart *out) {
    if (x->seen_stmt[stmt] == -x->turn) return;
    x->seen_stmt[stmt] = -x->turn;
    for (int i = x->home.first[stmt]; i < x->home.first[stmt + 1]; i++)
        see_group(x, x->home.item[i], out);
    if (stands(x, stmt)) return;
    for (int i = x->reader.first[stmt]; i < x->reader.first[stmt + 1]; i++)
        see_homes(x, x->reader.item[i], out);
}

/* A statement, and those that are computed in it.  */
static void see_stmt(Near *x, int stmt, NearPart *out) {
    if (x->seen_stmt[stmt] == x->turn) return;
    x->seen_stmt[stmt] = x->turn;
    out->stmt[out->n++] = stmt;
    ReadList reads = access_reads(x->op->te->stmt[stmt].rhs);
    for (int i = 0; i < reads.n; i++) {
        int m = x->maker[reads.at[i]->v.ref];
        if (m >= 0 && !stands(x, m)) see_stmt(x, m, out);
    }
}

static int by_number(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }

/* Does it meet so many others that a part with them would be most of the op, as what concatenates
 * all steps of a recurrence does?  It is beside none of them then: what a decision changes in it is
 * tried in the whole.  An LSTM of 36 steps with all its outputs takes half as long to plan, and
 * what is found is slower by 0.3 %.  */
static bool is_hub(const Near *x, int g) {
    return x->beside.first[g + 1] - x->beside.first[g] > HUB;
}

void near_find(Near *x, const int *stmt, int n, NearPart *out) {
    const PlanSet *set = &x->parting->set;
    *out = (NearPart){.group = ARENA_ARRAY(x->a, int, set->n_group),
                      .stmt = ARENA_ARRAY(x->a, int, x->op->te->n_stmt)};
    x->turn++;
    for (int i = 0; i < n; i++) see_homes(x, stmt[i], out);
    for (int step = 0, from = 0; step < STEPS; step++) {
        for (int end = out->n_group; from < end; from++) {
            int g = out->group[from];
            for (int i = x->beside.first[g]; i < x->beside.first[g + 1]; i++)
                if (!is_hub(x, g) && !is_hub(x, x->beside.item[i]))
                    see_group(x, x->beside.item[i], out);
        }
    }
    for (int i = 0; i < out->n_group; i++) {
        int g = out->group[i];
        for (int k = 0; k <= set->group[g].n_fused; k++) {
            int site = stmt_of(set, g, k)->site;
            for (int j = x->home.first[site]; j < x->home.first[site + 1]; j++)
                if (x->home.item[j] == g) see_stmt(x, site, out);
        }
    }
    qsort(out->group, (size_t)out->n_group, sizeof *out->group, by_number);
    qsort(out->stmt, (size_t)out->n, sizeof *out->stmt, by_number);
}

void near_cut(Near *x, NearPart *p) {
    bool *held = ARENA_ARRAY(x->a, bool, p->n), outside[TE_MAX_STMTS];
    for (int i = p->n - 1; i >= 0; i--) {
        int k = p->stmt[i];
        outside[k] = false;               /* is it read there, or by what is computed there? */
        for (int j = x->reader.first[k]; j < x->reader.first[k + 1]; j++) {
            int r = x->reader.item[j];
            bool in = x->seen_stmt[r] == x->turn;
            outside[k] |= !in || (!stands(x, r) && outside[r]);
        }
        held[i] = stands(x, k) && outside[k];
    }
    te_part(x->a, x->op, p->stmt, held, p->n, &p->op);
}
