#include "rtile/rtile.h"

enum { MAX_TILE = 256, MAX_SIZES = 64 }; /* to be shown: tiles of blocks are no larger */

static void print_operand(const ROperand *o, char name, const char *axis, Buf *out) {
    buf_printf(out, "operand %c: %s, %d bytes in memory, %d in shared memory", name,
               !o->affine    ? "an expression"
               : o->copyable ? "copied unchanged"
                             : "converted",
               o->bytes, o->elem);
    buf_printf(out, "; along %s runs of %lld in vectors of %d", axis, (long long)o->run_mn,
               o->vec_mn);
    buf_printf(out, ", along k runs of %lld in vectors of %d", (long long)o->run_k, o->vec_k);
    buf_printf(out, "; %lld distinct elements%s\n", (long long)o->unique,
               o->guarded ? "; guarded" : "");
}

/* The sizes that waste nothing or little of the axis.  */
static void print_sizes(const char *axis, int64_t extent, int unit, Buf *out) {
    static const double epsilon[] = {0, 0.1};            /* what construction allows first */
    int32_t size[MAX_SIZES];
    for (int i = 0; i < 2; i++) {
        int n = rtile_sizes(extent, unit, MAX_TILE, epsilon[i], size, MAX_SIZES);
        buf_printf(out, "sizes of %s that waste at most %.0f %%:", axis, 100 * epsilon[i]);
        for (int k = 0; k < n; k++) buf_printf(out, " %d", size[k]);
        buf_putc(out, '\n');
    }
}

void rtile_print(const Problem *p, Buf *out) {
    static const char *const axis[AX_CLASSES] = {"b", "m", "n", "k"};
    buf_printf(out, "%s:", p->contraction ? "contraction" : "domain and reduction");
    for (int c = 0; c < AX_CLASSES; c++)
        buf_printf(out, " %s=%lld", axis[c], (long long)p->extent[c]);
    buf_printf(out, "\nflops %.0f, %lld bytes written, %lld read by the epilogue\n", p->flops,
               (long long)p->out_bytes, (long long)p->epilogue_bytes);
    if (!p->contraction) return;
    for (int side = 0; side < p->n_operand; side++)
        print_operand(&p->op[side], "ab"[side], axis[side ? AX_N : AX_M], out);
    buf_printf(out, "stores of %d elements along n\n", p->out_vec);
    print_sizes("m", p->extent[AX_M], 8, out);
    print_sizes("n", p->extent[AX_N], 8, out);
    print_sizes("k", p->extent[AX_K], 4, out);
}
