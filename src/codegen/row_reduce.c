#include "codegen/blocks.h"
#include "codegen/sizes.h"

/* Values per row: folds, where the threads and slices of a row meet, statements that run over rows
 * alone.  */

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

void row_clear(Kernel *k, int pass) {
    Partials p = row_partials(k, pass);
    reduce_clear(k->cg, &p, 0);
}

/* Elements that the threads of a row have seen in this block.  */
static const char *count_of_block(const Kernel *k) {
    if (k->l->r->split == 1) return "N";
    if (row_ends(k))
        return "(min(steps * BN, body) - first * BN + (blockIdx.y == 0 ? N - body : 0))";
    return "(min(steps * BN, N) - first * BN)";
}

/* Every thread of a row gets the value of the whole row.  */
static void meet_threads(Kernel *k, const Partials *p) {
    reduce_threads(k->cg, p, rprog_row_threads(k->l->r), k->l->r->threads, count_of_block(k));
}

/* ---- statements over rows ---- */

void row_values(Kernel *k, const RowGroup *g, int pass, const char *live, const char *at,
                bool stores) {
    Cg *cg = k->cg;
    Partials held = monoid_pass(cg, g, pass, "acc", NULL);
    const char *only = live ? cg_text(cg, "if (%s) ", live) : "";
    for (int i = 0; i < g->n; i++) {
        const TeStmt *s = &cg->te->stmt[g->stmt[i]];
        int t = s->tensor;
        bool reduced = g->role[i] == ROW_REDUCE && g->pass[i] == pass;
        if (!reduced && !(g->role[i] == ROW_SCALAR && g->pass[i] == pass + 1)) continue;
        CgPoint p = elements_point(k, g->stmt[i], true);
        elements_define(k, t, s->rhs->type,
                        reduced ? monoid_result(monoid_of(&held, s->rhs))
                                : cg_expr(&p, s->rhs, s->rhs->type));
        if (at) cg_line(cg, "%svalue%d[%s] = e%d;", only, t, at, t);
        if (!stores || !elements_in_memory(k, t)) continue;
        TeDtype dtype = cg->te->tensor[t].dtype;
        cg_line(cg, "%st%d[%s] = %s;", only, t, cg_offset(cg, t, p.index),
                cg_encode(cg, dtype, te_dtype_compute(dtype), cg_text(cg, "e%d", t)));
    }
}

/* The same of the rows of a `row` kernel.  */
void row_known(Kernel *k, int pass, bool stores) {
    row_values(k, facts(k)->group, pass,
               cg_text(k->cg, "lane == 0%s%s", row_ragged(k) ? " && m < M" : "",
                       k->l->launch.grid[1] > 1 ? " && blockIdx.y == 0" : ""),
               NULL, stores);
}

/* The test that rows have columns, where some may have none.  */
static void settle(Kernel *k, const Partials *p) {
    if (k->l->p->extent[AX_N] > 0) monoid_settle(k->cg, p, row_columns(k).expr ? "N > 0" : NULL);
}

void row_finish(Kernel *k, int pass) {
    Partials p = row_partials(k, pass);
    if (p.n > 0) cg_line(k->cg, "// values of the rows");
    meet_threads(k, &p);
    settle(k, &p);
    row_known(k, pass, true);
    cg_blank(k->cg);
}

/* ---- slices ---- */

/* Pointers to the slices' values of this row.  */
static void slices(Kernel *k, const Partials *p) {
    const char *base = cg_text(k->cg, "w + %lldll", (long long)k->cg->sums_at);
    reduce_arrays(k->cg, p, "left", base, facts(k)->rows * k->l->r->split,
                  cg_text(k->cg, "%s * %dll", row_ragged(k) ? "row" : "m", (int)k->l->r->split));
}

void row_leave(Kernel *k, int pass) {
    Cg *cg = k->cg;
    Partials p = row_partials(k, pass);
    if (p.n == 0) return;
    cg_line(cg, "// values of the slice");
    meet_threads(k, &p);
    slices(k, &p);
    reduce_put(cg, &p, 0, cg_text(cg, "if (lane == 0%s) ", row_ragged(k) ? " && m < M" : ""),
               "left", "blockIdx.y");
}

/* Columns of slice s.  */
static const char *count_of_slice(const Kernel *k) {
    Cg *cg = k->cg;
    int64_t step = k->l->r->block.extent[AX_N];
    TeExtent all = size_parts(cg->arena, row_columns(k), step);
    TeExtent slice = size_times(cg->arena, size_parts(cg->arena, all, k->l->r->split),
                                size_number(step));
    const char *columns = slice.expr ? cg_text(cg, "(long long)%s", size_text(cg, slice))
                                     : cg_text(cg, "%lldll", (long long)slice.value);
    return cg_text(cg, "(max(min((s + 1) * %s, (long long)%s) - s * %s, 0ll)%s)", columns,
                   row_ends(k) ? "body" : "N", columns,
                   row_ends(k) ? " + (s == 0 ? N - body : 0)" : "");
}

void row_combine(Kernel *k, int pass, bool stores) {
    Cg *cg = k->cg;
    Partials p = row_partials(k, pass);
    cg_line(cg, "// combine: the slices of pass %d", pass);
    p.count = place_type(row_wide(k));
    slices(k, &p);
    reduce_clear(cg, &p, 0);
    reduce_gather(cg, &p, 0, &(ReducePart){"left", count_of_slice(k), "s"},
                  cg_text(cg, "%d", (int)k->l->r->split), "lane", rprog_row_threads(k->l->r));
    reduce_threads(cg, &p, rprog_row_threads(k->l->r), k->l->r->threads, "N");
    settle(k, &p);
    row_known(k, pass, stores);
    cg_blank(cg);
}
