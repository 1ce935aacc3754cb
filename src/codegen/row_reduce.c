#include "codegen/reduction.h"
#include "codegen/row.h"
#include "codegen/sizes.h"

/* The thread map of rows, and values per row.  */

static const RowFacts *facts(const Kernel *k) { return rprog_row_facts(k->l->p, k->l->r); }

static const TeStmt *statement(const Kernel *k, int i) {
    return &k->cg->te->stmt[facts(k)->group->stmt[i]];
}

Partials row_partials(const Kernel *k, int pass) {
    return monoid_pass(k->cg, facts(k)->group, pass, "acc", NULL);
}

bool row_makes(const Kernel *k, int tensor, int pass) {
    const RowGroup *g = facts(k)->group;
    for (int i = 0; i < g->n; i++) {
        if (statement(k, i)->tensor == tensor) return g->pass[i] == pass;
    }
    return false;
}

/* Elements that the threads of a row have seen in this block.  */
static Ir word(const Kernel *k, const char *text) { return text_index(k->cg, text, true); }

static const char *count_of_block(const Kernel *k) {
    if (k->l->r->split == 1) return "N";
    if (row_ends(k))
        return "(min(steps * BN, body) - first * BN + (blockIdx.y == 0 ? N - body : 0))";
    return "(min(steps * BN, N) - first * BN)";
}

/* Columns of slice s.  */
static const char *count_of_slice(const Kernel *k) {
    Cg *cg = k->cg;
    TeExtent slice = index_slice(cg->arena, &k->l->map, 1, k->l->r->split);
    const char *columns = slice.expr ? cg_text(cg, "(long long)%s", text_number(cg, slice))
                                     : cg_text(cg, "%lldll", (long long)slice.value);
    return cg_text(cg, "(max(min((s + 1) * %s, (long long)%s) - s * %s, 0ll)%s)", columns,
                   row_ends(k) ? "body" : "N", columns,
                   row_ends(k) ? " + (s == 0 ? N - body : 0)" : "");
}

ThreadMap row_map(const Kernel *k) {
    const Cg *cg = k->cg;
    bool none = k->l->p->extent[AX_N] == 0 || row_columns(k).expr;
    return (ThreadMap){.group = facts(k)->group,
                       .stem = "acc",
                       .count = place_base(row_wide(k)),
                       .threads = rprog_row_threads(k->l->r),
                       .block = k->l->r->threads,
                       .total = word(k, "N"),
                       .live = none ? word(k, "N > 0") : NULL,
                       .partials = facts(k)->rows * k->l->r->split,
                       .first = word(k, cg_text(cg, "%s * %dll", row_ragged(k) ? "row" : "m",
                                        (int)k->l->r->split)),
                       .own = word(k, "blockIdx.y"),
                       .only = word(k, row_ragged(k) ? "lane == 0 && m < M" : "lane == 0"),
                       .rank = word(k, "lane"),
                       .n_partial = ir_int(cg, k->l->r->split),
                       .at = word(k, "s"),
                       .elements = word(k, count_of_slice(k))};
}

void row_meet(Kernel *k, int pass) {
    ThreadMap m = row_map(k);
    Partials p = reduction_partials(k, &m, pass);
    reduction_meet(k, &m, &p, word(k, count_of_block(k)));
}

void row_finish(Kernel *k, int pass) {
    ThreadMap m = row_map(k);
    Partials p = reduction_partials(k, &m, pass);
    reduction_settle(k, &m, &p);
    row_known(k, pass, true);
    cg_blank(k->cg);
}

void row_leave(Kernel *k, int pass) {
    ThreadMap m = row_map(k);
    Partials p = reduction_partials(k, &m, pass);
    reduction_leave(k, &m, &p);
}

void row_combine(Kernel *k, int pass, bool stores) {
    ThreadMap m = row_map(k);
    Partials p = reduction_partials(k, &m, pass);
    cg_line(k->cg, "// combine: the slices of pass %d", pass);
    reduction_left(k, &m, &p);
    reduction_combine(k, &m, &p);
    row_known(k, pass, stores);
    cg_blank(k->cg);
}
