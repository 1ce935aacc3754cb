#include "codegen/elements/stats.h"

/* Which statements over rows a kernel evaluates and stores; their values at the row at hand.  */

int stats_online(const Kernel *k, int t, int pass) {
    const RowGroup *g = facts(k)->group;
    for (int i = 0; i < g->n; i++) {
        if (g->follow[i] && g->pass[i] == pass && g->center[i] == t) return i;
    }
    return -1;
}

bool stats_emits(const Kernel *k, int stmt) {
    if (product_chains(k)) return !k->at.kept || stmt != k->task->p->group->root;
    if (!k->task->p->stats || stmt == k->task->p->group->root) return !k->at.kept;
    int i = rtile_stat(facts(k), stmt);
    if (k->at.kept && (facts(k)->under >> i & 1)) return false;
    bool all = k->task->r->stats == STATS_WHOLE;
    return facts(k)->emits[i] & (all ? UINT64_MAX : (uint64_t)1 << own_pass(k));
}

bool stats_stores(const Kernel *k, int stmt) {
    int t = k->cg->te->stmt[stmt].tensor;
    if (!elements_in_memory(k, t)) return false;
    if (!k->task->p->stats) return true;
    int i = stmt == k->task->p->group->root ? -1 : rtile_stat(facts(k), stmt);
    if (i >= 0 && facts(k)->group->role[i] != ROW_MAP) return false;
    if (k->task->r->stats == STATS_WHOLE) return true;
    return own_pass(k) == (i < 0 ? 0 : facts(k)->group->pass[i]);
}

bool stats_is_kept(const Kernel *k, int stmt) {
    if (!k->at.kept) return false;
    return product_chains(k) ? stmt == k->task->p->group->fused[0]
                             : rtile_stat(facts(k), stmt) == facts(k)->kept;
}

bool stats_known(const Kernel *k, int i) {
    const RowGroup *g = facts(k)->group;
    int known = is_partial(k) ? k->l->pass : k->at.known;
    return g->role[i] == ROW_REDUCE ? g->pass[i] < known
                                    : g->role[i] == ROW_SCALAR && g->pass[i] <= known;
}

/* ---- values ---- */

Ir stats_row(const Kernel *k) {
    const Cg *cg = k->cg;
    if (k->task->p->extent[AX_B] <= 1) return k->var.m;
    Ir before = ir_mul(cg, ir_cast(cg, IR_I64, k->var.b), product_extent(k, AX_M));
    return ir_add(cg, before, k->var.m);
}

static bool is_read(const Kernel *k, int t) {
    const RowGroup *g = facts(k)->group;
    for (int i = 0; i < g->n; i++) {
        if (g->role[i] != ROW_SCALAR && access_reads_tensor(statement(k, i)->rhs, t)) return true;
    }
    return false;
}

/* Reciprocals for what is stored.  Where dividends have to be tested, divisions stay: a test and a
 * quotient by a reciprocal are as many instructions.  */
static void invert_values(Kernel *k) {
    const RowGroup *g = facts(k)->group;
    uint64_t mask = 0;
    for (int i = 0; i < g->n; i++) {
        bool inverts = stats_emits(k, g->stmt[i]) && !rtile_quotient(k->cg->te, g, i).tested;
        mask |= (uint64_t)inverts << i;
    }
    k->at.inverses = ARENA_ARRAY(k->cg->arena, Ir, k->cg->te->n_tensor);
    k->at.divides = divide_invert(k, g, mask, k->at.inverses);
}

void stats_rows(Kernel *k) {
    Cg *cg = k->cg;
    k->at.divides = NULL;
    if (product_chains(k)) chain_rows(k);
    if (!k->task->p->stats) return;
    const RowGroup *g = facts(k)->group;
    for (int i = 0; i < g->n; i++) {
        int t = tensor_of(k, i);
        bool base = k->at.online && stats_online(k, t, k->l->pass) >= 0;
        if (g->role[i] == ROW_MAP || !(base || stats_known(k, i)) || !is_read(k, t)) continue;
        bool here = base || !is_partial(k);
        Ir values = values_of(k, base ? MONOID_CENTERS : MONOID_VALUES,
                              here ? IR_SHARED : IR_GLOBAL, t);
        Ir own = ir_cast(cg, IR_I32, ir_sub(cg, k->var.m, product_first(k, AX_M)));
        k->at.made[t] = ir_let(cg, cg_name(cg, "r", t),
                               ir_element(cg, values, here ? own : stats_row(k)));
    }
    if (!k->at.walk && rprog_stats_inverts(k->task->p, cg->dev, k->task->r)) invert_values(k);
}
