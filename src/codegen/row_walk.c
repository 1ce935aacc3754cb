#include "codegen/reduction.h"
#include "codegen/row.h"

/* One pass over the columns of a row: loads, statements at each element, stores.  */

static const RowFacts *facts(const Kernel *k) { return rprog_row_facts(k->l->p, k->l->r); }

static bool runs(const Kernel *k, int i, int pass) { return facts(k)->eval[i] >> pass & 1; }

/* Opens the loop over a thread's vectors, or columns of a row's ends; `col` is the first column of
 * one.  Of a row in slices the first slice has the ends.  */
static void open_vectors(Kernel *k) {
    Cg *cg = k->cg;
    const char *type = place_type(row_wide(k)), *test = row_ragged(k) ? "m < M" : NULL;
    const char *step = row_loops(k) ? "step * BN + " : "";
    cg_line(cg, "#pragma unroll");
    cg_open(cg, "for (int u = 0; u < %d; u++)", row_vectors(k));
    if (k->at.ends) {
        cg_line(cg, "const int at = u * LN + lane;");
        cg_line(cg, "const %s col = at < head ? at : at + body;", type);
        test = both(cg, test, k->l->r->split > 1 ? "blockIdx.y == 0 && col < N" : "col < N");
    } else if (row_ends(k)) {
        cg_line(cg, "const %s at = %s(u * LN + lane) * VN, col = head + at;", type, step);
        test = both(cg, test, "at < body");
    } else {
        /* In 64 bits it is a thread's place, once, and a number of the instruction; a test would
         * cost more there.  */
        if (row_ends_within(k)) cg_line(cg, "const %s col = %s(u * LN + lane) * VN;", type, step);
        else cg_line(cg, "const long long col = %slane * VN + u * (long long)(LN * VN);", step);
        if (row_ends_within(k)) test = both(cg, test, "col < N");
    }
    k->at.open = test ? 2 : 1;
    if (test) cg_open(cg, "if (%s)", test);
}

/* ---- statements at an element ---- */

static TeDtype stored_compute(const Kernel *k, int source) {
    return te_dtype_compute(k->cg->te->tensor[facts(k)->source[source].tensor].dtype);
}

/* Gives statement i the elements of its sources.  */
static void give_sources(Kernel *k, int i, int pass) {
    const RowFacts *f = facts(k);
    int stmt = f->group->stmt[i];
    ReadList reads = access_reads(k->cg->te->stmt[stmt].rhs);
    for (int j = 0; j < reads.n && k->at.n_vector < MAX_VECTORS; j++) {
        int from = rtile_row_source(k->cg->te, f, i, reads.at[j]);
        if (from >= 0 && row_is_read(&f->source[from], pass) &&
            !elements_given(k, stmt, reads.at[j]))
            elements_give(k, stmt, reads.at[j],
                          text_value(k->cg, stored_compute(k, from), row_element(k, from)));
    }
}

/* The place of value n at the element.  */
static const char *value_at(const Kernel *k, int n) {
    const char *v = k->at.vec > 1 ? "v" : "0";
    return row_vectors(k) > 1 ? cg_text(k->cg, "%s[u * %d + %s]", row_value(k, n), k->at.vec, v)
                              : cg_text(k->cg, "%s[%s]", row_value(k, n), v);
}

/* Makes the values that begin with this pass, and gives what there is of them.  */
static void give_values(Kernel *k, int pass) {
    const RowFacts *f = facts(k);
    for (int n = 0; n < f->n_value && rprog_row_keeps_values(k->l->r); n++) {
        const RowValue *v = &f->value[n];
        const TeExpr *e = v->expr[v->maker];
        int stmt = f->group->stmt[v->maker];
        if (pass != v->pass && !(v->later >> pass & 1)) continue;
        if (k->at.n_vector == MAX_VECTORS) return;
        if (pass == v->pass) {
            CgPoint p = elements_point(k, stmt, false);
            cg_line(k->cg, "%s = %s;", value_at(k, n), text_expr(&p, e, e->type));
        }
        elements_give(k, stmt, e, text_value(k->cg, e->type, value_at(k, n)));
    }
}

/* Tied reductions have a turn of their own, which stores nothing.  */
static uint64_t mask_of(const Kernel *k, int pass, bool online) {
    const RowGroup *g = facts(k)->group;
    uint64_t mask = 0;
    for (int i = 0; i < g->n; i++) {
        if (runs(k, i, pass) && (g->role[i] == ROW_MAP || (g->follow[i] != FOLLOW_NONE) == online))
            mask |= (uint64_t)1 << i;
    }
    return mask;
}

static int width_of_write(const Kernel *k, const Access *x) {
    const RowFacts *f = facts(k);
    const TeStmt *frame = &k->cg->te->stmt[f->group->frame];
    int most = k->l->r->store_vec, align = k->cg->align;
    int vec = row_ends(k) ? rtile_peel_vector(k->cg->te, frame, &f->peel, x, align)
                          : rtile_row_vector(k->cg->te, frame, x, align);
    return vec < most ? vec : most;
}

/* A pass stores its own statements, not those that need it again.  What the kernel reads back is
 * rounded before.  */
static Output output_of(const Kernel *k, int i, int pass) {
    const RowFacts *f = facts(k);
    const RowGroup *g = f->group;
    int t = k->cg->te->stmt[g->stmt[i]].tensor;
    Output o = {0};
    bool read_back = false;
    Access x;
    if (g->role[i] != ROW_MAP) return o;
    row_write(k, i, &x);
    o.width = width_of_write(k, &x);
    o.stored = g->pass[i] == pass && elements_in_memory(k, t);
    for (int j = i + 1; j < g->n; j++) o.needed |= runs(k, j, pass);
    for (int n = 0; n < f->n_source; n++)
        read_back |= f->source[n].made && f->source[n].tensor == t;
    o.pairs = !o.needed && !read_back && cg_pairs(k->cg->te->tensor[t].dtype, o.width);
    return o;
}

/* Opens the loop over the elements v of a vector.  */
static void open_lanes(Kernel *k) {
    const TeStmt *frame = &k->cg->te->stmt[facts(k)->group->frame];
    bool lanes = k->at.vec > 1;
    if (lanes) cg_line(k->cg, "#pragma unroll");
    if (lanes) cg_open(k->cg, "for (int v = 0; v < VN; v++)");
    else cg_scope(k->cg);
    for (int i = 0; i < frame->n_left; i++) k->at.lane_index[i] = k->at.index[i];
    place_axis(k, 1, text_index(k->cg, lanes ? "(col + v)" : "col", row_wide(k)), row_wide(k),
               k->at.lane_index, k->at.wide);
}

static void store(Kernel *k, int i, const Output *o) {
    Cg *cg = k->cg;
    int stmt = facts(k)->group->stmt[i], t = cg->te->stmt[stmt].tensor;
    const char *out = cg_name(cg, "o", t), *to = cg_name(cg, "q", t);
    Access x;
    row_write(k, i, &x);
    int64_t step = rtile_row_step(&cg->te->stmt[facts(k)->group->frame], &x);
    if (step == 0) {
        open_lanes(k);
        CgPoint p = elements_point(k, stmt, false);
        cg_line(cg, "%s[%s] = %s[%s];", text_tensor(cg, t),
                text_of(cg, cg_offset(cg, t, p.index)), out,
                k->at.vec > 1 ? "v" : "0");
        cg_close(cg);
        return;
    }
    TeDtype dtype = cg->te->tensor[t].dtype;
    const char *put = o->width > 1 ? cg_store(cg, dtype, o->pairs) : NULL;
    Ir pointer = ir_name(cg, ir_pointer(ir_storage(dtype), IR_GLOBAL, false), to);
    const char *times = step == 1 ? "" : cg_text(cg, " * %s", text_int(cg, TE_I64, step));
    if (store_vector(k, stmt, o, put, pointer,
                     text_index(cg, cg_text(cg, "col%s", times), row_wide(k)))) return;
    cg_line(cg, "#pragma unroll");
    cg_line(cg, "for (int p = 0; p < %d; p++)", k->at.vec);
    cg_line(cg, "    %s[%s(col + p)%s] = %s[p];", to, row_wide(k) ? "(long long)" : "", times, out);
}

/* A map that stays becomes a source of later passes.  */
static void retain(Kernel *k, int n) {
    Cg *cg = k->cg;
    const RowSource *s = &facts(k)->source[n];
    int width = row_width(k, s), accesses = row_accesses(k, s);
    const char *out = cg_name(cg, "o", s->tensor);
    if (!row_in_registers(k, s) && !row_in_shared(k, s)) return;
    cg_line(cg, "#pragma unroll");
    if (row_in_shared(k, s)) {
        cg_line(cg, "for (int p = 0; p < %d; p++) rl_store<%d>(h%d + col + p * %d, %s + p * %d);",
                accesses, width, n, width, out, width);
        return;
    }
    const char *u = row_vectors(k) > 1 ? cg_text(cg, "u * %d + ", accesses) : "";
    cg_line(cg, "for (int v = 0; v < %s; v++) %s[%sv / %d].v[v %% %d] = %s[v];",
            k->at.ends ? "1" : "VN", row_array(k, n), u, width, width, out);
}

/* What is evaluated at the elements of a vector.  */
typedef struct {
    const Partials *partials;
    const Output *out;
    int pass;
    bool online;
} Lanes;

static void evaluate_lanes(Kernel *k, const Lanes *x) {
    open_lanes(k);
    give_values(k, x->pass);
    elements_statements(k, facts(k)->group, mask_of(k, x->pass, x->online), x->partials, x->out);
    cg_close(k->cg);
}

/* By reciprocals, where that is right for all elements of the vector.  */
static void tested_lanes(Kernel *k, const Lanes *x) {
    Cg *cg = k->cg;
    const Ir *inverse = k->at.inverse;
    int given = k->at.n_vector;
    cg_line(cg, "bool near = divides;");
    open_lanes(k);
    give_values(k, x->pass);
    row_test_dividends(k, x->pass);
    cg_close(cg);
    k->at.n_vector = given;
    cg_open(cg, "if (near)");
    evaluate_lanes(k, x);
    cg_close(cg);
    k->at.n_vector = given;
    cg_open(cg, "else");
    k->at.inverse = NULL;
    evaluate_lanes(k, x);
    k->at.inverse = inverse;
    cg_close(cg);
}

static void compute(Kernel *k, const Partials *p, int pass, bool online) {
    Cg *cg = k->cg;
    const RowFacts *f = facts(k);
    const RowGroup *g = f->group;
    Output out[ROW_MAX_STMTS];
    open_vectors(k);
    k->at.vec = k->l->r->store_vec;
    if (!online && monoid_counts(p)) cg_line(cg, "fresh += %d;", k->at.vec);
    for (int n = 0; n < f->n_source; n++) {
        if (!row_is_read(&f->source[n], pass) || row_is_array(k, &f->source[n])) continue;
        row_declare(k, n);
        row_load(k, n);
    }
    for (int n = 0; n < f->n_source; n++) row_widen(k, n, pass);
    for (int i = 0; i < g->n; i++) {
        out[i] = online ? (Output){0} : output_of(k, i, pass);
        store_declare(k, g->stmt[i], &out[i]);
        if (runs(k, i, pass)) give_sources(k, i, pass);
    }
    Lanes lanes = {p, out, pass, online};
    if (k->at.inverse && row_tests_dividends(k, pass)) tested_lanes(k, &lanes);
    else evaluate_lanes(k, &lanes);
    for (int i = 0; i < g->n; i++) {
        if (!out[i].stored) continue;
        store(k, i, &out[i]);
        for (int n = 0; n < f->n_source; n++) {
            if (f->source[n].made && f->source[n].tensor == cg->te->stmt[g->stmt[i]].tensor)
                retain(k, n);
        }
    }
    k->at.n_vector = 0;
    elements_end(k);
}

/* Registers of what is kept from this pass on.  */
static void declare_kept(Kernel *k, int pass) {
    const RowFacts *f = facts(k);
    for (int n = 0; n < f->n_value && rprog_row_keeps_values(k->l->r); n++) {
        const RowValue *v = &f->value[n];
        if (v->pass == pass)
            cg_line(k->cg, "%s %s[%d];", cg_type(v->expr[v->maker]->type), row_value(k, n),
                    k->l->r->thread.extent[AX_N]);
    }
    for (int n = 0; n < f->n_source; n++) {
        const RowSource *s = &f->source[n];
        if (row_in_registers(k, s) && (s->passes & (((uint64_t)2 << pass) - 1)) != 0 &&
            !(s->passes & (((uint64_t)1 << pass) - 1)) && !s->made)
            row_declare(k, n);
        if (row_in_registers(k, s) && s->made && row_makes(k, s->tensor, pass)) row_declare(k, n);
    }
}

static void fetch(Kernel *k, int pass) {
    const RowFacts *f = facts(k);
    bool any = false;
    for (int n = 0; n < f->n_source; n++) {
        bool fetched = row_is_fetched(k, &f->source[n], pass);
        if (fetched && !row_in_registers(k, &f->source[n])) row_declare(k, n);
        any |= fetched;
    }
    if (!any) return;
    open_vectors(k);
    for (int n = 0; n < f->n_source; n++) {
        if (row_is_fetched(k, &f->source[n], pass)) row_load(k, n);
    }
    elements_end(k);
}

static void evaluate_step(Kernel *k, int pass) {
    Partials p = row_partials(k, pass);
    reduction_step(k, &p, 0, compute, pass);
}

static void evaluate(Kernel *k, int pass) {
    Ir *inverse = ARENA_ARRAY(k->cg->arena, Ir, k->cg->te->n_tensor);
    if (!row_divides(k, pass)) {
        evaluate_step(k, pass);
        return;
    }
    cg_scope(k->cg);
    const char *test = row_invert(k, pass, inverse);
    bool tested = row_tests_dividends(k, pass);
    if (tested) cg_line(k->cg, "const bool divides = %s;", test);
    else cg_open(k->cg, "if (%s)", test);
    k->at.inverse = inverse;
    evaluate_step(k, pass);
    k->at.inverse = NULL;
    cg_close(k->cg);
    if (tested) return;
    cg_open(k->cg, "else");
    evaluate_step(k, pass);
    cg_close(k->cg);
    cg_close(k->cg);
}

/* Opens the loop over steps, or what stands for it; false: nothing.  */
static bool open_steps(Kernel *k, int pass) {
    Cg *cg = k->cg;
    if (row_loops(k)) {
        cg_line(cg, "#pragma unroll 1");
        /* Every second pass goes back: what L2 has last is what it meets first.  */
        const char *type = place_type(row_wide(k));
        if (pass % 2 && rprog_row_rereads(k->l->r))
            cg_open(cg, "for (%s step = steps - 1; step >= first; step--)", type);
        else cg_open(cg, "for (%s step = first; step < steps; step++)", type);
        return true;
    }
    if (k->l->r->keep == KEEP_REGISTERS) return false;
    cg_scope(cg);
    return true;
}

static void walk_steps(Kernel *k, int pass) {
    bool open = open_steps(k, pass);
    fetch(k, pass);
    evaluate(k, pass);
    if (open) cg_close(k->cg);
}

/* The ends of rows are a step of a program of their own: columns one by one, which are never in
 * shared memory.  */
typedef struct {
    const Lowered *whole;
    Lowered l;
    RProg r;
} Ends;

static void begin_ends(Kernel *k, Ends *e) {
    e->whole = k->l;
    e->l = *k->l;
    e->r = *k->l->r;
    e->l.r = &e->r;
    e->r.thread.extent[AX_N] = rprog_row_end_columns(k->l->p, k->l->r);
    e->r.store_vec = 1;
    if (e->r.keep == KEEP_SHARED) e->r.keep = KEEP_MEMORY;
    k->l = &e->l;
    k->at.ends = true;
}

static void finish_ends(Kernel *k, const Ends *e) {
    k->l = e->whole;
    k->at.ends = false;
}

/* The ends are fetched before everything else, and used behind it.  */
static void walk_with_ends(Kernel *k, int pass) {
    Ends e;
    begin_ends(k, &e);
    declare_kept(k, pass);
    cg_scope(k->cg);
    fetch(k, pass);
    finish_ends(k, &e);
    walk_steps(k, pass);
    begin_ends(k, &e);
    cg_line(k->cg, "// ends: before the first aligned column, and behind the last whole vector");
    cg_scope(k->cg);
    evaluate(k, pass);
    cg_close(k->cg);
    finish_ends(k, &e);
    cg_close(k->cg);
}

void row_walk(Kernel *k, int pass) {
    Partials p = row_partials(k, pass);
    cg_line(k->cg, "// pass %d", pass);
    reduce_clear(k->cg, &p, 0);
    if (k->l->p->extent[AX_N] == 0) return;
    declare_kept(k, pass);
    if (row_ends(k)) walk_with_ends(k, pass);
    else walk_steps(k, pass);
    cg_blank(k->cg);
}
