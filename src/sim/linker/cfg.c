/* Basic blocks and immediate post-dominators.
 *
 * Post-dominators by the iteration of Cooper, Harvey and Kennedy ("A simple, fast dominance
 * algorithm") over the reversed graph, whose root is the exit.  */
#include "sim/linker/link.h"

static bool ends_block(PtxOp op) {
    return op == OP_BRA || op == OP_BRX || op == OP_RET || op == OP_EXIT || op == OP_TRAP;
}

/* An instruction's targets; returns how many, `out` may be NULL.  */
static int targets(const PtxFunc *f, const PtxInst *i, int *out) {
    if (i->op == OP_BRA) {
        if (out) out[0] = i->opnd[0].target;
        return 1;
    }
    if (i->op != OP_BRX) return 0;
    const PtxTable *t = &f->table[i->opnd[1].target];
    for (int k = 0; out && k < t->n; k++) out[k] = t->target[k];
    return t->n;
}

static void cut_blocks(SimCfg *g, Arena *a, const PtxFunc *f) {
    int n = (int)f->n_inst;
    bool *leader = ARENA_ARRAY(a, bool, n + 1);
    leader[0] = true;
    for (int k = 0; k < n; k++) {
        const PtxInst *i = &f->inst[k];
        if (!ends_block(i->op)) continue;
        leader[k + 1] = true;
        int *out = ARENA_ARRAY(a, int, targets(f, i, NULL));
        int count = targets(f, i, out);
        for (int t = 0; t < count; t++) leader[out[t]] = true;
    }
    g->of = ARENA_ARRAY(a, int, n + 1);
    for (int k = 0; k < n; k++) {
        g->n += leader[k];
        g->of[k] = g->n - 1;
    }
    g->of[n] = SIM_CFG_EXIT;              /* a label at the very end returns */
    g->block = ARENA_ARRAY(a, SimBasic, g->n);
    for (int k = 0; k < n; k++) {
        SimBasic *b = &g->block[g->of[k]];
        if (leader[k]) b->first = k;
        b->end = k + 1;
    }
}

static void connect(SimCfg *g, Arena *a, const PtxFunc *f) {
    for (int k = 0; k < g->n; k++) {
        SimBasic *b = &g->block[k];
        const PtxInst *last = &f->inst[b->end - 1];
        int n = targets(f, last, NULL);
        int *succ = ARENA_ARRAY(a, int, n + 2);
        targets(f, last, succ);
        for (int t = 0; t < n; t++) succ[t] = g->of[succ[t]];
        bool leaves = last->op == OP_RET || last->op == OP_EXIT || last->op == OP_TRAP;
        if (leaves) succ[n++] = SIM_CFG_EXIT;
        if (!ends_block(last->op) || last->guard >= 0) succ[n++] = g->of[b->end];
        b->succ = succ;
        b->n_succ = n;
    }
}

/* Depth-first order over the reversed graph from the exit, children before parents.  */
typedef struct {
    int *pred, *start;        /* predecessors of node k: pred[start[k]] .. pred[start[k + 1] - 1] */
    int *order, *number;      /* postorder; number[k] -1: not reached */
    int n_order;
} Reverse;

static void reverse_edges(Reverse *r, const SimCfg *g, Arena *a) {
    int nodes = g->n + 1;
    r->start = ARENA_ARRAY(a, int, nodes + 2);
    for (int k = 0; k < g->n; k++) {
        for (int t = 0; t < g->block[k].n_succ; t++) {
            int to = g->block[k].succ[t];
            r->start[(to == SIM_CFG_EXIT ? g->n : to) + 2]++;
        }
    }
    for (int k = 1; k <= nodes; k++) r->start[k + 1] += r->start[k];
    r->pred = ARENA_ARRAY(a, int, r->start[nodes + 1] + 1);
    for (int k = 0; k < g->n; k++) {
        for (int t = 0; t < g->block[k].n_succ; t++) {
            int to = g->block[k].succ[t];
            r->pred[r->start[(to == SIM_CFG_EXIT ? g->n : to) + 1]++] = k;
        }
    }
}

static void depth_first(Reverse *r, const SimCfg *g, Arena *a) {
    int nodes = g->n + 1, depth = 0;
    int *stack = ARENA_ARRAY(a, int, nodes + 1), *at = ARENA_ARRAY(a, int, nodes + 1);
    bool *seen = ARENA_ARRAY(a, bool, nodes + 1);
    r->order = ARENA_ARRAY(a, int, nodes);
    r->number = ARENA_ARRAY(a, int, nodes);
    for (int k = 0; k < nodes; k++) r->number[k] = -1;
    stack[depth++] = g->n;
    at[g->n] = r->start[g->n];
    seen[g->n] = true;
    while (depth > 0) {
        int node = stack[depth - 1];
        if (at[node] < r->start[node + 1]) {
            int next = r->pred[at[node]++];
            if (seen[next]) continue;
            seen[next] = true;
            at[next] = r->start[next];
            stack[depth++] = next;
        } else {
            r->number[node] = r->n_order;
            r->order[r->n_order++] = node;
            depth--;
        }
    }
}

static int intersect(const int *number, const int *dom, int x, int y) {
    while (x != y) {
        while (number[x] < number[y]) x = dom[x];
        while (number[y] < number[x]) y = dom[y];
    }
    return x;
}

static void post_dominators(SimCfg *g, Arena *a) {
    Reverse r = {0};
    reverse_edges(&r, g, a);
    depth_first(&r, g, a);
    int *dom = ARENA_ARRAY(a, int, g->n + 1);
    for (int k = 0; k < g->n; k++) dom[k] = -1;
    dom[g->n] = g->n;
    for (bool changed = true; changed;) {
        changed = false;
        for (int o = r.n_order - 2; o >= 0; o--) {       /* the root is the last of the postorder */
            int node = r.order[o], best = -1;
            for (int t = 0; t < g->block[node].n_succ; t++) {
                int s = g->block[node].succ[t];
                if (s == SIM_CFG_EXIT) s = g->n;
                if (r.number[s] < 0 || dom[s] < 0) continue;
                best = best < 0 ? s : intersect(r.number, dom, best, s);
            }
            if (best != dom[node]) changed = true;
            dom[node] = best;
        }
    }
    for (int k = 0; k < g->n; k++) {
        g->block[k].ipdom = dom[k] == g->n ? SIM_CFG_EXIT : dom[k];
    }
}

SimCfg *sim_cfg(Arena *a, const PtxFunc *f) {
    SimCfg *g = ARENA_NEW(a, SimCfg);
    if (f->n_inst == 0) return g;
    cut_blocks(g, a, f);
    connect(g, a, f);
    post_dominators(g, a);
    return g;
}
