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
    int width = 16 / c->p->acc_bytes;
    while (n % width != 0) width /= 2;
    return width;
}

void contract_add(Kernel *k, const char *acc, int n, const char *array, const char *at) {
    Partials p = {.n = 0};
    const TeStmt *root = &k->cg->te->stmt[k->l->p->con.stmt];
    monoid_add(k->cg, &p, root->rhs, "", "", NULL)->value = acc;
    reduce_add(k->cg, &p, n, array, at);
}

/* Adds what another slice has left.  */
static void add_slice(Kernel *k, const char *rows, const char *cols, const char *at) {
    Cg *cg = k->cg;
    int width = width_of(k), n = k->c.matrix.accumulators;
    const char *acc = n ? cg_text(cg, "acc[i][j / %d][j %% %d + v]", n, n) : "acc[i][j + v]";
    open_all(k, rows, cols, width);
    contract_add(k, acc, width, "copies", at);
    close_all(k);
}

/* Warps that worked on other k of every step hand their sums to those of slice 0, which adds them
 * in order of the slice and goes on alone.  (Sums of matrices that pass through shared memory on
 * their way out meet there: store_smem.c.)  */
void reduce_slices(Kernel *k) {
    Cg *cg = k->cg;
    const Contract *c = &k->c;
    const char *type = cg_type(c->p->con.acc);
    int slices = c->warps[AX_K], n = c->matrix.accumulators, width = width_of(k);
    const char *rows = n ? "IM" : "TM", *cols = n ? cg_text(cg, "(IN * %d)", n) : "TN";
    const char *acc = n ? cg_text(cg, "acc[i][j / %d] + j %% %d", n, n) : "acc[i] + j";
    const char *at = cg_text(cg, "(i * %s + j) * SLICE", cols);
    const char *own = width > 1 ? cg_text(cg, " * %d", width) : "";
    cg_line(cg, "// reduce: %d slices of warps", slices);
    cg_line(cg, "constexpr int SLICE = %d;  // threads", c->r->threads / slices);
    cg_line(cg, "%s *copies = reinterpret_cast<%s *>(smem) + tid %% SLICE%s;", type, type, own);
    cg_line(cg, "__syncthreads();");
    cg_open(cg, "if (k_warp > 0)");
    cg_line(cg, "copies += (k_warp / WK - 1) * (%s * %s * SLICE);", rows, cols);
    open_all(k, rows, cols, width);
    cg_line(cg, "rl_store_shared<%d>(copies, %s, %s);", width, at, acc);
    close_all(k);
    cg_close(cg);
    cg_line(cg, "__syncthreads();");
    cg_line(cg, "if (k_warp > 0) return;");
    if (slices > 2) {
        cg_line(cg, "#pragma unroll 1");
        cg_open(cg, "for (int s = 0; s < %d; s++, copies += %s * %s * SLICE)", slices - 1, rows,
                cols);
    }
    add_slice(k, rows, cols, at);
    if (slices > 2) cg_close(cg);
    cg_blank(cg);
}
