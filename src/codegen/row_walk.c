#include "codegen/blocks.h"

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
        cg_line(cg, "const %s col = %s(u * LN + lane) * VN;", type, step);
        if (row_cut(k)) test = both(cg, test, "col < N");
    }
    k->at.open = test ? 2 : 1;
    if (test) cg_open(cg, "if (%s)", test);
}

/* ---- statements at an element ---- */

static void given_reads(const Kernel *k, int i, int pass, CgPoint *p) {
    const RowFacts *f = facts(k);
    ReadList reads = access_reads(p->stmt->rhs);
    int given = 0;
    CgGiven *list = ARENA_ARRAY(k->cg->arena, CgGiven, reads.n);
    for (int j = 0; j < reads.n; j++) {
        int from = rtile_row_source(k->cg->te, f, i, reads.at[j]);
        if (from < 0 || !row_is_read(&f->source[from], pass)) continue;
        if (k->at.made[reads.at[j]->v.ref]) continue;
        list[given++] = (CgGiven){reads.at[j], row_element(k, from)};
    }
    p->given = list;
    p->n_given = given;
}

/* Is the statement stored by this pass: its own, not one that needs it again?  */
static bool is_stored(const Kernel *k, int i, int pass) {
    const RowGroup *g = facts(k)->group;
    return g->role[i] == ROW_MAP && g->pass[i] == pass &&
           elements_in_memory(k, k->cg->te->stmt[g->stmt[i]].tensor);
}

static int width_of_write(const Kernel *k, const Access *x) {
    const RowFacts *f = facts(k);
    const TeStmt *frame = &k->cg->te->stmt[f->group->frame];
    int most = k->l->r->store_vec, align = k->cg->align;
    int vec = row_ends(k) ? rtile_lead_vector(k->cg->te, frame, &f->lead, x, align)
                          : rtile_row_vector(k->cg->te, frame, x, align);
    return vec < most ? vec : most;
}

/* Does a later statement of the pass need the value?  */
static bool is_needed(const Kernel *k, int i, int pass) {
    bool needed = false;
    for (int j = i + 1; j < facts(k)->group->n; j++) needed |= runs(k, j, pass);
    return needed;
}

/* Does the store round its elements?  What the kernel reads again is rounded before.  */
static bool in_pairs(const Kernel *k, int i, int pass) {
    const RowFacts *f = facts(k);
    int t = k->cg->te->stmt[f->group->stmt[i]].tensor;
    Access x;
    row_write(k, i, &x);
    for (int n = 0; n < f->n_source; n++)
        if (f->source[n].made && f->source[n].tensor == t) return false;
    return !is_needed(k, i, pass) &&
           cg_pairs(k->cg->te->tensor[t].dtype, width_of_write(k, &x));
}

static void map(Kernel *k, int i, int pass, bool stored) {
    Cg *cg = k->cg;
    CgPoint p = row_point(k, i);
    given_reads(k, i, pass, &p);
    int t = p.stmt->tensor;
    TeDtype dtype = cg->te->tensor[t].dtype, compute = te_dtype_compute(dtype);
    const char *value = cg_expr(&p, p.stmt->rhs, p.stmt->rhs->type);
    const char *name = cg_text(cg, "e%d", t);
    if (!stored) {
        elements_define(k, t, p.stmt->rhs->type, value);
    } else {
        const char *out = cg_text(cg, "o%d[%s]", t, k->l->r->store_vec > 1 ? "v" : "0");
        cg_line(cg, "%s = %s;", out,
                cg_wait(cg, dtype, in_pairs(k, i, pass), p.stmt->rhs->type, value));
        if (is_needed(k, i, pass))
            cg_line(cg, "const %s %s = %s;", cg_type(compute), name, cg_decode(cg, dtype, out));
    }
    k->at.made[t] = name;
}

/* Tied reductions have a turn of their own, which stores nothing.  */
static void element_statements(Kernel *k, int pass, bool tied) {
    const RowGroup *g = facts(k)->group;
    for (int i = 0; i < g->n; i++) {
        if (!runs(k, i, pass)) continue;
        if (g->role[i] == ROW_MAP) {
            map(k, i, pass, !tied && is_stored(k, i, pass));
            continue;
        }
        if ((g->tie[i] != TIE_NONE) != tied) continue;
        CgPoint p = row_point(k, i);
        given_reads(k, i, pass, &p);
        row_fold(k, i, &p);
    }
    for (int i = 0; i < g->n; i++) {
        if (g->role[i] == ROW_MAP) k->at.made[k->cg->te->stmt[g->stmt[i]].tensor] = NULL;
    }
}

/* Indices of the column at element v.  */
static void decode_columns(Kernel *k) {
    const TeStmt *frame = &k->cg->te->stmt[facts(k)->group->frame];
    FusedAxis columns = {.extent = k->l->p->extent[AX_N]};
    for (int i = frame->n_left; i < frame->n_index; i++) columns.index[columns.n++] = (uint8_t)i;
    place_decode(k->cg, frame, &columns, k->l->r->store_vec > 1 ? "(col + v)" : "col", row_wide(k),
                 k->at.index, k->at.wide);
}

static void store(Kernel *k, int i, int pass) {
    Cg *cg = k->cg;
    int t = cg->te->stmt[facts(k)->group->stmt[i]].tensor;
    Access x;
    row_write(k, i, &x);
    int width = width_of_write(k, &x), parts = k->l->r->store_vec / width;
    int64_t step = rtile_row_step(&cg->te->stmt[facts(k)->group->frame], &x);
    if (step == 0) {
        cg_line(cg, "#pragma unroll");
        cg_open(cg, "for (int v = 0; v < %d; v++)", k->l->r->store_vec);
        decode_columns(k);
        CgPoint p = row_point(k, i);
        cg_line(cg, "t%d[%s] = o%d[v];", t, cg_offset(cg, t, p.index), t);
        cg_close(cg);
        return;
    }
    const char *put = cg_store(cg, cg->te->tensor[t].dtype, in_pairs(k, i, pass), width);
    const char *times = step == 1 ? "" : cg_text(cg, " * %s", cg_int(cg, TE_I64, step));
    if (parts == 1 && width == 1) {
        cg_line(cg, "q%d[col%s] = o%d[0];", t, times, t);
    } else if (parts == 1) {
        cg_line(cg, "%s(q%d + col, o%d);", put, t, t);
    } else {
        cg_line(cg, "#pragma unroll");
        cg_line(cg, "for (int p = 0; p < %d; p++)", parts);
        if (width == 1)
            cg_line(cg, "    q%d[%s(col + p)%s] = o%d[p];", t, row_wide(k) ? "(long long)" : "",
                    times, t);
        else
            cg_line(cg, "    %s(q%d + col + p * %d, o%d + p * %d);", put, t, width, t, width);
    }
}

/* A map that stays becomes a source of later passes.  */
static void retain(Kernel *k, int n) {
    Cg *cg = k->cg;
    const RowSource *s = &facts(k)->source[n];
    int width = row_width(k, s), parts = row_parts(k, s);
    if (!row_in_registers(k, s) && !row_in_shared(k, s)) return;
    cg_line(cg, "#pragma unroll");
    if (row_in_shared(k, s)) {
        cg_line(cg, "for (int p = 0; p < %d; p++) rl_store<%d>(h%d + col + p * %d, o%d + p * %d);",
                parts, width, n, width, s->tensor, width);
        return;
    }
    const char *u = row_vectors(k) > 1 ? cg_text(cg, "u * %d + ", parts) : "";
    cg_line(cg, "for (int v = 0; v < %s; v++) %s[%sv / %d].v[v %% %d] = o%d[v];",
            k->at.ends ? "1" : "VN", row_array(k, n), u, width, width, s->tensor);
}

static void compute(Kernel *k, int pass, bool tied) {
    Cg *cg = k->cg;
    const RowFacts *f = facts(k);
    const RowGroup *g = f->group;
    open_vectors(k);
    Partials p = row_partials(k, pass);
    if (!tied && monoid_counts(&p)) cg_line(cg, "fresh += %d;", k->l->r->store_vec);
    for (int n = 0; n < f->n_source; n++) {
        if (!row_is_read(&f->source[n], pass) || row_is_array(k, &f->source[n])) continue;
        row_declare(k, n);
        row_load(k, n);
    }
    for (int i = 0; i < g->n; i++) {
        int t = cg->te->stmt[g->stmt[i]].tensor;
        if (!tied && is_stored(k, i, pass))
            cg_line(cg, "%s o%d[%d];", cg_waiting(cg->te->tensor[t].dtype, in_pairs(k, i, pass)),
                    t, k->l->r->store_vec);
    }
    bool lanes = k->l->r->store_vec > 1;
    if (lanes) {
        cg_line(cg, "#pragma unroll");
        cg_open(cg, "for (int v = 0; v < VN; v++)");
    } else {
        cg_scope(cg);
    }
    decode_columns(k);
    element_statements(k, pass, tied);
    cg_close(cg);
    for (int i = 0; i < g->n && !tied; i++) {
        if (!is_stored(k, i, pass)) continue;
        store(k, i, pass);
        for (int n = 0; n < f->n_source; n++) {
            if (f->source[n].made && f->source[n].tensor == cg->te->stmt[g->stmt[i]].tensor)
                retain(k, n);
        }
    }
    elements_end(k);
}

/* Registers of what is kept from this pass on.  */
static void declare_kept(Kernel *k, int pass) {
    const RowFacts *f = facts(k);
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

static void evaluate(Kernel *k, int pass) {
    Partials p = row_partials(k, pass);
    reduce_step_begin(k->cg, &p, 0);
    compute(k, pass, false);
    if (reduce_step_follow(k->cg, &p, 0, k->at.made)) compute(k, pass, true);
    reduce_step_end(k->cg, &p, k->at.made);
    if (monoid_counts(&p)) cg_line(k->cg, "seen += fresh;");
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
    cg_line(k->cg, "// pass %d", pass);
    row_clear(k, pass);
    if (k->l->p->extent[AX_N] == 0) return;
    declare_kept(k, pass);
    if (row_ends(k)) walk_with_ends(k, pass);
    else walk_steps(k, pass);
    cg_blank(k->cg);
}
