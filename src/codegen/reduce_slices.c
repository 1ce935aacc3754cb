#include "codegen/blocks.h"

/* Warps that worked on other k of every step hand their sums to those of slice 0, which adds them
 * in order of the slice and goes on alone.  */
void reduce_slices(Kernel *k) {
    Cg *cg = k->cg;
    const Contract *c = &k->c;
    const Contraction *con = &c->p->con;
    const char *type = cg_type(con->acc);
    int slices = c->warps[AX_K], n = c->matrix.accumulators;
    const char *rows = n ? "IM" : "TM", *cols = n ? cg_text(cg, "(IN * %d)", n) : "TN";
    const char *acc = n ? cg_text(cg, "acc[i][j / %d][j %% %d]", n, n) : "acc[i][j]";
    bool goes_on = c->matrix.piece > 0; /* shared memory is needed again: a barrier of all */
    cg_line(cg, "// reduce: %d slices of warps", slices);
    cg_line(cg, "constexpr int SLICE = %d;  // threads", c->r->threads / slices);
    cg_line(cg, "%s *const copies = reinterpret_cast<%s *>(smem) + tid %% SLICE;", type, type);
    cg_line(cg, "__syncthreads();");
    cg_open(cg, "if (k_warp > 0)");
    cg_line(cg, "#pragma unroll");
    cg_open(cg, "for (int i = 0; i < %s; i++)", rows);
    cg_line(cg, "#pragma unroll");
    cg_line(cg, "for (int j = 0; j < %s; j++)", cols);
    cg_line(cg, "    copies[(((k_warp / WK - 1) * %s + i) * %s + j) * SLICE] = %s;", rows, cols,
            acc);
    cg_close(cg);
    cg_close(cg);
    cg_line(cg, "__syncthreads();");
    if (goes_on) cg_open(cg, "if (k_warp == 0)");
    else cg_line(cg, "if (k_warp > 0) return;");
    cg_line(cg, "#pragma unroll 1");
    cg_open(cg, "for (int s = 0; s < %d; s++)", slices - 1);
    cg_line(cg, "#pragma unroll");
    cg_open(cg, "for (int i = 0; i < %s; i++)", rows);
    cg_line(cg, "#pragma unroll");
    cg_line(cg, "for (int j = 0; j < %s; j++)", cols);
    const char *copy = cg_text(cg, "copies[((s * %s + i) * %s + j) * SLICE]", rows, cols);
    cg_line(cg, "    %s = %s;", acc, cg_fold(cg, con->red, con->acc, acc, copy));
    cg_close(cg);
    cg_close(cg);
    if (goes_on) {
        cg_close(cg);
        cg_line(cg, "__syncthreads();");
        cg_line(cg, "if (k_warp > 0) return;");
    }
    cg_blank(cg);
}
