#include "codegen/block/product.h"
#include "codegen/skeleton/row.h"

/* What is read at neighbouring columns: which of it waits where, and its loads.  */

static const RowFacts *facts(const Kernel *k) { return rprog_row_facts(k->task->p, k->task->r); }

bool row_is_read(const RowSource *s, int pass) { return s->passes >> pass & 1; }

int row_vectors(const Kernel *k) {
    return k->task->r->thread.extent[AX_N] / k->task->r->store_vec;
}

bool row_in_registers(const Kernel *k, const RowSource *s) {
    return s->kept && k->task->r->keep == KEEP_REGISTERS;
}

bool row_in_shared(const Kernel *k, const RowSource *s) {
    return rprog_row_holds(k->task->r, s);
}

bool row_is_fetched(const Kernel *k, const RowSource *s, int pass) {
    return row_is_read(s, pass) && s->by_row && !row_in_shared(k, s) &&
           !(row_in_registers(k, s) && (s->made || (s->passes & (((uint64_t)1 << pass) - 1))));
}

bool row_is_array(const Kernel *k, const RowSource *s) {
    return row_in_registers(k, s) || (s->by_row && !row_in_shared(k, s));
}

int row_width(const Kernel *k, const RowSource *s) {
    return rprog_row_width(k->task->p, k->task->r, s);
}

const char *row_value(const Kernel *k, int n) {
    return ir_numbered(k->cg, k->at.ends ? "end" : "kept", n);
}

int row_accesses(const Kernel *k, const RowSource *s) {
    return k->task->r->store_vec / row_width(k, s);
}

/* What several passes read of a narrow type waits as f32.  */
static bool is_widened(const Kernel *k, const RowSource *s) {
    TeDtype t = k->cg->te->tensor[s->tensor].dtype;
    return row_in_registers(k, s) && !s->made && te_dtype_compute(t) == TE_F32 && t != TE_F32;
}

/* Its vectors, in an array (a vector of one is an element), and as f32.  */
static Ir array_of(const Kernel *k, int n) { return k->row->loaded[k->at.ends][n]; }
static Ir wide_array(const Kernel *k, int n) { return k->row->wide[k->at.ends][n]; }

void row_declare(Kernel *k, int n) {
    Cg *cg = k->cg;
    const RowSource *s = &facts(k)->source[n];
    bool ends = k->at.ends;
    int accesses = row_accesses(k, s) * (row_is_array(k, s) ? row_vectors(k) : 1);
    IrType type = ir_vector(ir_storage(cg->te->tensor[s->tensor].dtype), row_width(k, s));
    k->row->loaded[ends][n] = ir_array(cg, type, ir_numbered(cg, ends ? "y" : "x", n), accesses,
                                       0, 0);
    if (!is_widened(k, s)) return;
    const char *word = ir_numbered(cg, ends ? "narrow" : "wide", n);
    k->row->wide[ends][n] = ir_array(cg, ir_type(IR_F32), word,
                                    k->task->r->thread.extent[AX_N], 0, 0);
}

/* ---- loads ---- */

/* The vector of the step at hand, in elements of `each` vector; 0 where there is one only.  */
static Ir vector_at(const Kernel *k, int64_t each) {
    const Cg *cg = k->cg;
    if (row_vectors(k) == 1) return ir_int(cg, 0);
    return ir_mul_n(cg, k->walk.u, each);
}

static Ir pointer_of(const Kernel *k, int n) {
    bool shared = row_in_shared(k, &facts(k)->source[n]);
    return shared ? k->row->held[n] : k->row->source[n];
}

void row_load(Kernel *k, int n) {
    Cg *cg = k->cg;
    const RowSource *s = &facts(k)->source[n];
    int width = row_width(k, s), accesses = row_accesses(k, s);
    Ir at = row_is_array(k, s) ? vector_at(k, accesses) : ir_int(cg, 0), col = k->walk.piece;
    Ir p = accesses > 1 ? ir_count(cg, "p", accesses, IR_UNROLL_ALL) : NULL;
    if (p) {
        at = ir_add(cg, at, p);
        col = ir_add(cg, col, ir_mul_n(cg, p, width));
    }
    if (!row_in_shared(k, s)) col = row_stepped(k, s, col);
    Ir from = pointer_of(k, n);
    ir_set(cg, ir_element(cg, array_of(k, n), at),
           width > 1 ? ir_load(cg, ir_add(cg, from, col), width) : ir_element(cg, from, col));
    if (p) ir_close(cg);
}

/* ---- elements ---- */

Ir row_vector(const Kernel *k, int n) {
    const Cg *cg = k->cg;
    const RowSource *s = &facts(k)->source[n];
    int accesses = row_accesses(k, s);
    Ir at = row_is_array(k, s) ? vector_at(k, accesses) : ir_int(cg, 0);
    if (accesses > 1)
        at = ir_add(cg, at, ir_div(cg, elements_lane(k), ir_int(cg, row_width(k, s))));
    return ir_element(cg, array_of(k, n), at);
}

Ir row_vector_lane(const Kernel *k, const RowSource *s, Ir vector) {
    const Cg *cg = k->cg;
    int width = row_width(k, s);
    if (width == 1) return vector;
    Ir v = elements_lane(k);
    return ir_lane(cg, vector, row_accesses(k, s) > 1 ? ir_rem(cg, v, ir_int(cg, width)) : v);
}

/* Element v of a source as it was loaded.  */
static Ir stored_element(const Kernel *k, int n) {
    const RowSource *s = &facts(k)->source[n];
    return cg_decode(k->cg, k->cg->te->tensor[s->tensor].dtype,
                     row_vector_lane(k, s, row_vector(k, n)));
}

static Ir widened_at(const Kernel *k, int n) {
    const Cg *cg = k->cg;
    Ir at = ir_add(cg, vector_at(k, k->task->r->store_vec), elements_lane(k));
    return ir_element(cg, wide_array(k, n), at);
}

void row_widen(Kernel *k, int n, int pass) {
    const RowSource *s = &facts(k)->source[n];
    bool first = !(s->passes & (((uint64_t)1 << pass) - 1)), several = k->task->r->store_vec > 1;
    if (!is_widened(k, s) || !first || !row_is_read(s, pass)) return;
    Ir vec = product_size(k, 'V', AX_N);
    if (several) ir_for_of(k->cg, k->at.v, ir_int(k->cg, 0), vec, 1, IR_UNROLL_ALL);
    ir_set(k->cg, widened_at(k, n), stored_element(k, n));
    if (several) ir_close(k->cg);
}

Ir row_element(const Kernel *k, int n) {
    return is_widened(k, &facts(k)->source[n]) ? widened_at(k, n) : stored_element(k, n);
}
