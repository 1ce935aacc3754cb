#include "codegen/blocks.h"

/* Loops over the accumulators of a thread; one statement follows, and the end of the outer one.  */
static void open_all(Kernel *k, const char *rows, const char *cols) {
    cg_line(k->cg, "#pragma unroll");
    cg_open(k->cg, "for (int i = 0; i < %s; i++)", rows);
    cg_line(k->cg, "#pragma unroll");
    cg_line(k->cg, "for (int j = 0; j < %s; j++)", cols);
}

/* Warps that worked on other k of every step hand their sums to those of slice 0, which adds them
 * in order of the slice and goes on alone.  (Sums of matrices that pass through shared memory on
 * their way out meet there: store_smem.c.)  */
void reduce_slices(Kernel *k) {
    Cg *cg = k->cg;
    const Contract *c = &k->c;
    const Contraction *con = &c->p->con;
    const char *type = cg_type(con->acc);
    int slices = c->warps[AX_K], n = c->matrix.accumulators;
    const char *rows = n ? "IM" : "TM", *cols = n ? cg_text(cg, "(IN * %d)", n) : "TN";
    const char *acc = n ? cg_text(cg, "acc[i][j / %d][j %% %d]", n, n) : "acc[i][j]";
    const char *at = cg_text(cg, "[(i * %s + j) * SLICE]", cols);
    cg_line(cg, "// reduce: %d slices of warps", slices);
    cg_line(cg, "constexpr int SLICE = %d;  // threads", c->r->threads / slices);
    cg_line(cg, "%s *copies = reinterpret_cast<%s *>(smem) + tid %% SLICE;", type, type);
    cg_line(cg, "__syncthreads();");
    cg_open(cg, "if (k_warp > 0)");
    cg_line(cg, "copies += (k_warp / WK - 1) * (%s * %s * SLICE);", rows, cols);
    open_all(k, rows, cols);
    cg_line(cg, "    copies%s = %s;", at, acc);
    cg_close(cg);
    cg_close(cg);
    cg_line(cg, "__syncthreads();");
    cg_line(cg, "if (k_warp > 0) return;");
    if (slices > 2) {
        cg_line(cg, "#pragma unroll 1");
        cg_open(cg, "for (int s = 0; s < %d; s++, copies += %s * %s * SLICE)", slices - 1, rows,
                cols);
    }
    open_all(k, rows, cols);
    const char *sum = cg_fold(cg, con->red, con->acc, acc, cg_text(cg, "copies%s", at));
    cg_line(cg, "    %s = %s;", acc, sum);
    cg_close(cg);
    if (slices > 2) cg_close(cg);
    cg_blank(cg);
}
