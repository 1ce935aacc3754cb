#include "codegen/blocks.h"

/* Opens loops over the accumulators of a thread, `width` at a time.  */
static void open_all(Kernel *k, const char *rows, const char *cols, int width) {
    cg_line(k->cg, "#pragma unroll");
    cg_open(k->cg, "for (int i = 0; i < %s; i++)", rows);
    cg_line(k->cg, "#pragma unroll");
    cg_open(k->cg, "for (int j = 0; j < %s; j += %d)", cols, width);
}

static void close_all(Kernel *k) {
    cg_close(k->cg);
    cg_close(k->cg);
}

/* Accumulators that lie side by side and pass through shared memory in one access.  */
static int width_of(const Kernel *k) {
    const Contract *c = &k->c;
    int n = c->matrix.used ? c->matrix.accumulators : c->r->thread.extent[AX_N];
    int width = RTILE_ACCESS / c->p->acc_bytes;
    while (n % width != 0) width /= 2;
    return width;
}

void contract_add(Kernel *k, Ir acc, int n, Ir from) {
    const TeExpr *e = k->cg->te->stmt[k->l->p->con.stmt].rhs;
    reduce_add(k->cg, &(Partial){.e = e, .tensor = -1, .value = acc}, n, from);
}

/* Adds what another slice has left.  */
static void add_slice(Kernel *k, const char *rows, const char *cols, const char *at) {
    Cg *cg = k->cg;
    int width = width_of(k), n = k->c.matrix.accumulators;
    const char *acc = n ? cg_text(cg, "acc[i][j / %d][j %% %d + v]", n, n) : "acc[i][j + v]";
    open_all(k, rows, cols, width);
    IrBase base = ir_compute(k->l->p->con.acc);
    Ir copies = ir_name(cg, ir_pointer(base, IR_SHARED, false), "copies");
    contract_add(k, text_value(cg, k->l->p->con.acc, acc), width,
                 ir_add(cg, copies, text_index(cg, at, false)));
    close_all(k);
}

/* ---- slices of warps ---- */

static const char *tile_rows(const Kernel *k) { return k->c.matrix.accumulators ? "IM" : "TM"; }

static const char *tile_columns(const Kernel *k) {
    int n = k->c.matrix.accumulators;
    return n ? cg_text(k->cg, "(IN * %d)", n) : "TN";
}

static const char *place_of(const Kernel *k) {
    return cg_text(k->cg, "(i * %s + j) * SLICE", tile_columns(k));
}

/* Warps that worked on other k of every step hand their sums to those of slice 0, which adds them
 * in order of the slice and goes on alone.  (Sums of matrices that pass through shared memory on
 * their way out meet there: store_smem.c.)  */
void reduce_slices_place(Kernel *k) {
    Cg *cg = k->cg;
    const char *type = cg_type(k->c.p->con.acc);
    const char *own = width_of(k) > 1 ? cg_text(cg, " * %d", width_of(k)) : "";
    cg_line(cg, "constexpr int SLICE = %d;  // threads", k->c.r->threads / k->c.warps[AX_K]);
    cg_line(cg, "%s *copies = reinterpret_cast<%s *>(smem) + tid %% SLICE%s;", type, type, own);
}

void reduce_slices_put(Kernel *k) {
    Cg *cg = k->cg;
    int n = k->c.matrix.accumulators, width = width_of(k);
    const char *rows = tile_rows(k), *cols = tile_columns(k);
    const char *acc = n ? cg_text(cg, "acc[i][j / %d] + j %% %d", n, n) : "acc[i] + j";
    cg_line(cg, "copies += (k_warp / WK - 1) * (%s * %s * SLICE);", rows, cols);
    open_all(k, rows, cols, width);
    cg_line(cg, "rl_store_shared<%d>(copies, %s, %s);", width, place_of(k), acc);
    close_all(k);
}

void reduce_slices(Kernel *k) {
    Cg *cg = k->cg;
    int slices = k->c.warps[AX_K];
    const char *rows = tile_rows(k), *cols = tile_columns(k);
    if (slices > 2) {
        cg_line(cg, "#pragma unroll 1");
        cg_open(cg, "for (int s = 0; s < %d; s++, copies += %s * %s * SLICE)", slices - 1, rows,
                cols);
    }
    add_slice(k, rows, cols, place_of(k));
    if (slices > 2) cg_close(cg);
}
