#include "codegen/row.h"

/* What is read at neighbouring columns: which of it waits where, and its loads.  */

static const RowFacts *facts(const Kernel *k) { return rprog_row_facts(k->l->p, k->l->r); }

bool row_is_read(const RowSource *s, int pass) { return s->passes >> pass & 1; }

int row_vectors(const Kernel *k) {
    return k->l->r->thread.extent[AX_N] / k->l->r->store_vec;
}

bool row_in_registers(const Kernel *k, const RowSource *s) {
    return s->kept && k->l->r->keep == KEEP_REGISTERS;
}

bool row_in_shared(const Kernel *k, const RowSource *s) {
    return rprog_row_holds(k->l->r, s);
}

bool row_is_fetched(const Kernel *k, const RowSource *s, int pass) {
    return row_is_read(s, pass) && s->by_row && !row_in_shared(k, s) &&
           !(row_in_registers(k, s) && (s->made || (s->passes & (((uint64_t)1 << pass) - 1))));
}

bool row_is_array(const Kernel *k, const RowSource *s) {
    return row_in_registers(k, s) || (s->by_row && !row_in_shared(k, s));
}

int row_width(const Kernel *k, const RowSource *s) {
    return rprog_row_width(k->l->p, k->l->r, s);
}

const char *row_array(const Kernel *k, int n) {
    return cg_text(k->cg, "%c%d", k->at.ends ? 'y' : 'x', n);
}

const char *row_value(const Kernel *k, int n) {
    return cg_text(k->cg, "%s%d", k->at.ends ? "end" : "kept", n);
}

int row_accesses(const Kernel *k, const RowSource *s) {
    return k->l->r->store_vec / row_width(k, s);
}

/* What several passes read of a narrow type waits as f32.  */
static bool is_widened(const Kernel *k, const RowSource *s) {
    TeDtype t = k->cg->te->tensor[s->tensor].dtype;
    return row_in_registers(k, s) && !s->made && te_dtype_compute(t) == TE_F32 && t != TE_F32;
}

static const char *wide_array(const Kernel *k, int n) {
    return cg_text(k->cg, "%s%d", k->at.ends ? "narrow" : "wide", n);
}

void row_declare(Kernel *k, int n) {
    const RowSource *s = &facts(k)->source[n];
    int accesses = row_accesses(k, s) * (row_is_array(k, s) ? row_vectors(k) : 1);
    cg_line(k->cg, "rl_vec<%s, %d> %s[%d];", cg_storage(k->cg->te->tensor[s->tensor].dtype),
            row_width(k, s), row_array(k, n), accesses);
    if (is_widened(k, s))
        cg_line(k->cg, "float %s[%d];", wide_array(k, n), k->l->r->thread.extent[AX_N]);
}

/* The column that part p of a source's vector begins with, times the source's step.  */
static const char *column_at(const Kernel *k, const RowSource *s) {
    int width = row_width(k, s);
    const char *at = row_accesses(k, s) == 1 ? "col"
                     : width == 1          ? "col + p"
                                           : cg_text(k->cg, "col + p * %d", width);
    if (s->step == 1) return at;
    const char *step = text_int(k->cg, TE_I64, s->step);
    bool wide = row_wide(k) || k->l->p->extent[AX_N] * (s->step < 0 ? -s->step : s->step) >
                                   INT32_MAX / 2;
    return cg_text(k->cg, "%s(%s) * %s", wide ? "(long long)" : "", at, step);
}

void row_load(Kernel *k, int n) {
    Cg *cg = k->cg;
    const RowSource *s = &facts(k)->source[n];
    int width = row_width(k, s), accesses = row_accesses(k, s);
    bool array = row_is_array(k, s) && row_vectors(k) > 1;
    const char *u = !array ? "" : accesses > 1 ? cg_text(cg, "u * %d + ", accesses) : "u";
    const char *x = row_array(k, n);
    const char *to = accesses > 1 ? cg_text(cg, "%s[%sp]", x, u)
                               : cg_text(cg, "%s[%s]", x, array ? u : "0");
    const char *col = accesses == 1   ? "col"
                      : width == 1 ? "col + p" : cg_text(cg, "col + p * %d", width);
    const char *from = row_in_shared(k, s) ? cg_text(cg, "h%d + (%s)", n, col)
                                           : cg_text(cg, "p%d + (%s)", n, column_at(k, s));
    if (accesses > 1) {
        cg_line(cg, "#pragma unroll");
        cg_line(cg, "for (int p = 0; p < %d; p++) %s = rl_load<%d>(%s);", accesses, to, width,
                from);
    } else {
        cg_line(cg, "%s = rl_load<%d>(%s);", to, width, from);
    }
}

/* Element v of a source as it was loaded.  */
static const char *stored_element(const Kernel *k, int n) {
    const Cg *cg = k->cg;
    const RowSource *s = &facts(k)->source[n];
    int width = row_width(k, s), accesses = row_accesses(k, s);
    const char *u = row_is_array(k, s) && row_vectors(k) > 1
                        ? accesses > 1 ? cg_text(cg, "u * %d", accesses) : "u"
                        : NULL;
    const char *part = accesses > 1 ? width > 1 ? cg_text(cg, "v / %d", width) : "v" : NULL;
    const char *at = u && part ? cg_text(cg, "%s + %s", u, part) : u ? u : part ? part : "0";
    const char *v = width == 1 ? "0"
                    : accesses > 1 ? cg_text(cg, "v %% %d", width)
                                : "v";
    return text_decode(cg, cg->te->tensor[s->tensor].dtype,
                     cg_text(cg, "%s[%s].v[%s]", row_array(k, n), at, v));
}

static const char *widened_at(const Kernel *k, int n) {
    const char *u = row_vectors(k) > 1 ? cg_text(k->cg, "u * %d + ", k->l->r->store_vec) : "";
    return cg_text(k->cg, "%s[%s%s]", wide_array(k, n), u, k->l->r->store_vec > 1 ? "v" : "0");
}

void row_widen(Kernel *k, int n, int pass) {
    const RowSource *s = &facts(k)->source[n];
    bool first = !(s->passes & (((uint64_t)1 << pass) - 1));
    if (!is_widened(k, s) || !first || !row_is_read(s, pass)) return;
    if (k->l->r->store_vec > 1) {
        cg_line(k->cg, "#pragma unroll");
        cg_line(k->cg, "for (int v = 0; v < VN; v++)");
    }
    cg_line(k->cg, "%s = %s;", widened_at(k, n), stored_element(k, n));
}

const char *row_element(const Kernel *k, int n) {
    return is_widened(k, &facts(k)->source[n]) ? widened_at(k, n) : stored_element(k, n);
}
