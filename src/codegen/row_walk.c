#include "codegen/blocks.h"

/* One pass over the columns of a row: loads, statements at each element, stores.  */

static const RowFacts *facts(const Kernel *k) { return rprog_row_facts(k->l->p, k->l->r); }

static bool runs(const Kernel *k, int i, int pass) { return facts(k)->eval[i] >> pass & 1; }

static bool is_read(const RowSource *s, int pass) { return s->passes >> pass & 1; }

/* Vectors of a thread in a step.  */
static int vectors(const Kernel *k) {
    return k->l->r->thread.extent[AX_N] / k->l->r->store_vec;
}

static bool in_registers(const Kernel *k, const RowSource *s) {
    return s->kept && k->l->r->keep == KEEP_REGISTERS;
}

static bool in_shared(const Kernel *k, const RowSource *s) {
    return rprog_row_holds(k->l->r, s);
}

/* Are the source's vectors of a step fetched together, before they are used?  */
static bool is_fetched(const Kernel *k, const RowSource *s, int pass) {
    return is_read(s, pass) && s->by_row && !in_shared(k, s) &&
           !(in_registers(k, s) && (s->made || (s->passes & (((uint64_t)1 << pass) - 1))));
}

static bool is_array(const Kernel *k, const RowSource *s) {
    return in_registers(k, s) || (s->by_row && !in_shared(k, s));
}

static int parts_of(const Kernel *k, const RowSource *s) {
    return k->l->r->store_vec / row_width(k, s->vec);
}

static void declare(Kernel *k, int n) {
    const RowSource *s = &facts(k)->source[n];
    int parts = parts_of(k, s) * (is_array(k, s) ? vectors(k) : 1);
    cg_line(k->cg, "rl_vec<%s, %d> x%d[%d];", cg_storage(k->cg->te->tensor[s->tensor].dtype),
            row_width(k, s->vec), n, parts);
}

/* The column that part p of a source's vector begins with, times the source's step.  */
static const char *column_at(const Kernel *k, const RowSource *s) {
    int width = row_width(k, s->vec);
    const char *at = parts_of(k, s) == 1 ? "col"
                     : width == 1        ? "col + p"
                                         : cg_text(k->cg, "col + p * %d", width);
    if (s->step == 1) return at;
    const char *step = cg_int(k->cg, TE_I64, s->step);
    bool wide = row_wide(k) || k->l->p->extent[AX_N] * (s->step < 0 ? -s->step : s->step) >
                                   INT32_MAX / 2;
    return cg_text(k->cg, "%s(%s) * %s", wide ? "(long long)" : "", at, step);
}

/* Fills the registers of source n for vector u.  */
static void load(Kernel *k, int n) {
    Cg *cg = k->cg;
    const RowSource *s = &facts(k)->source[n];
    int width = row_width(k, s->vec), parts = parts_of(k, s);
    bool array = is_array(k, s) && vectors(k) > 1;
    const char *u = !array ? "" : parts > 1 ? cg_text(cg, "u * %d + ", parts) : "u";
    const char *to = parts > 1 ? cg_text(cg, "x%d[%sp]", n, u)
                               : cg_text(cg, "x%d[%s]", n, array ? u : "0");
    const char *from = in_shared(k, s) ? cg_text(cg, "h%d + (%s)", n,
                                                 parts == 1   ? "col"
                                                 : width == 1 ? "col + p"
                                                              : cg_text(cg, "col + p * %d", width))
                                       : cg_text(cg, "p%d + (%s)", n, column_at(k, s));
    if (parts > 1) {
        cg_line(cg, "#pragma unroll");
        cg_line(cg, "for (int p = 0; p < %d; p++) %s = rl_load<%d>(%s);", parts, to, width, from);
    } else {
        cg_line(cg, "%s = rl_load<%d>(%s);", to, width, from);
    }
}

/* Element v of vector u of a source, decoded.  */
static const char *element(const Kernel *k, int n) {
    const Cg *cg = k->cg;
    const RowSource *s = &facts(k)->source[n];
    int width = row_width(k, s->vec), parts = parts_of(k, s);
    const char *u = is_array(k, s) && vectors(k) > 1
                        ? parts > 1 ? cg_text(cg, "u * %d", parts) : "u"
                        : NULL;
    const char *part = parts > 1 ? width > 1 ? cg_text(cg, "v / %d", width) : "v" : NULL;
    const char *at = u && part ? cg_text(cg, "%s + %s", u, part) : u ? u : part ? part : "0";
    const char *v = width == 1 ? "0"
                    : parts > 1 ? cg_text(cg, "v %% %d", width)
                                : "v";
    return cg_decode(cg, cg->te->tensor[s->tensor].dtype, cg_text(cg, "x%d[%s].v[%s]", n, at, v));
}

/* Opens the loop over a thread's vectors; `col` is the first column of one.  */
static void open_vectors(Kernel *k) {
    Cg *cg = k->cg;
    const char *type = place_type(row_wide(k));
    const char *step = row_loops(k) ? "step * BN + " : "";
    bool ragged = row_cut(k);
    cg_line(cg, "#pragma unroll");
    cg_open(cg, "for (int u = 0; u < %d; u++)", vectors(k));
    cg_line(cg, "const %s col = %s(u * LN + lane) * VN;", type, step);
    k->at.open = 1;
    if (ragged || row_ragged(k)) {
        cg_open(cg, "if (%s%s%s)", row_ragged(k) ? "m < M" : "",
                ragged && row_ragged(k) ? " && " : "", ragged ? "col < N" : "");
        k->at.open = 2;
    }
}

/* ---- statements at an element ---- */

static void given_reads(const Kernel *k, int i, int pass, CgPoint *p) {
    enum { MOST = 256 };
    const TeExpr *reads[MOST];
    const RowFacts *f = facts(k);
    int n = access_reads(p->stmt->rhs, reads, MOST), given = 0;
    CgGiven *list = ARENA_ARRAY(k->cg->arena, CgGiven, n);
    for (int j = 0; j < n && j < MOST; j++) {
        int from = rtile_row_source(k->cg->te, f, i, reads[j]);
        if (from < 0 || !is_read(&f->source[from], pass)) continue;
        if (k->at.made[reads[j]->v.ref]) continue;
        list[given++] = (CgGiven){reads[j], element(k, from)};
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
    const TeStmt *frame = &k->cg->te->stmt[facts(k)->group->frame];
    return row_width(k, rtile_row_vector(k->cg->te, frame, x, k->cg->align));
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
        cg_line(cg, "const %s %s = %s;", cg_type(compute), name,
                cg_cast(cg, dtype, p.stmt->rhs->type, value));
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
    int width = row_width(k, s->vec), parts = parts_of(k, s);
    if (!in_registers(k, s) && !in_shared(k, s)) return;
    cg_line(cg, "#pragma unroll");
    if (in_shared(k, s)) {
        cg_line(cg, "for (int p = 0; p < %d; p++) rl_store<%d>(h%d + col + p * %d, o%d + p * %d);",
                parts, width, n, width, s->tensor, width);
        return;
    }
    const char *u = vectors(k) > 1 ? cg_text(cg, "u * %d + ", parts) : "";
    cg_line(cg, "for (int v = 0; v < VN; v++) x%d[%sv / %d].v[v %% %d] = o%d[v];", n, u, width,
            width, s->tensor);
}

static void compute(Kernel *k, int pass, bool tied) {
    Cg *cg = k->cg;
    const RowFacts *f = facts(k);
    const RowGroup *g = f->group;
    open_vectors(k);
    if (!tied) row_tie_count(k, pass);
    for (int n = 0; n < f->n_source; n++) {
        if (!is_read(&f->source[n], pass) || is_array(k, &f->source[n])) continue;
        declare(k, n);
        load(k, n);
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

void row_walk(Kernel *k, int pass) {
    Cg *cg = k->cg;
    const RowFacts *f = facts(k);
    bool loops = row_loops(k), any = false;
    cg_line(cg, "// pass %d", pass);
    row_clear(k, pass);
    if (k->l->p->extent[AX_N] == 0) return;
    for (int n = 0; n < f->n_source; n++) {
        const RowSource *s = &f->source[n];
        if (in_registers(k, s) && (s->passes & (((uint64_t)2 << pass) - 1)) != 0 &&
            !(s->passes & (((uint64_t)1 << pass) - 1)) && !s->made)
            declare(k, n);
        if (in_registers(k, s) && s->made && row_makes(k, s->tensor, pass)) declare(k, n);
    }
    if (loops) {
        cg_line(cg, "#pragma unroll 1");
        /* Every second pass goes back: what L2 has last is what it meets first.  */
        const char *type = place_type(row_wide(k));
        if (pass % 2 && rprog_row_rereads(k->l->r))
            cg_open(cg, "for (%s step = steps - 1; step >= first; step--)", type);
        else cg_open(cg, "for (%s step = first; step < steps; step++)", type);
    } else if (k->l->r->keep != KEEP_REGISTERS) {
        cg_scope(cg);
        loops = true;
    }
    for (int n = 0; n < f->n_source; n++) {
        bool fetched = is_fetched(k, &f->source[n], pass);
        if (fetched && !in_registers(k, &f->source[n])) declare(k, n);
        any |= fetched;
    }
    if (any) {
        open_vectors(k);
        for (int n = 0; n < f->n_source; n++) {
            if (is_fetched(k, &f->source[n], pass)) load(k, n);
        }
        elements_end(k);
    }
    row_tie_begin(k, pass);
    compute(k, pass, false);
    if (row_tie_follow(k, pass)) compute(k, pass, true);
    row_tie_end(k, pass);
    if (loops) cg_close(cg);
    cg_blank(cg);
}
