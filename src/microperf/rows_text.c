/* Row and stream programs in the words of a kernel engineer; what all memory-bound programs have
 * under way.  */
#include "microperf/views.h"

static const char *plural(int64_t n) { return n == 1 ? "" : "s"; }

static void megabytes(Buf *out, double bytes) {
    mp_fixed(out, bytes / 1e6, bytes < 1e7 ? 2 : 0);
    buf_puts(out, " MB");
}

void mp_flight_explain(const Device *dev, const Estimate *e, Buf *out) {
    const Curve *c = hal_level_curve(&dev->memory[LEVEL_DRAM], "read", "bytes_in_flight_per_sm");
    if (e->in_flight <= 0) return;
    buf_puts(out, "  in flight: ");
    mp_fixed(out, e->in_flight / 1024, 1);
    buf_puts(out, " KB per SM on average");
    if (c) {
        buf_puts(out, "; DRAM reads at ");
        mp_fixed(out, hal_curve(c, e->in_flight) / c->py[c->n - 1] * 100, 0);
        buf_puts(out, " % of its full rate then, and at all of it from ");
        mp_fixed(out, c->px[c->n - 1] / 1024, 0);
        buf_puts(out, " KB");
    }
    buf_putc(out, '\n');
}

static void explain_grid(const Problem *p, const RProg *r, const Estimate *e, Buf *out) {
    buf_printf(out, "  grid: %lld blocks of %d threads, %d per SM, ", (long long)e->blocks,
               r->threads, e->blocks_per_sm);
    mp_fixed(out, e->waves, 2);
    buf_puts(out, " waves, SMs busy ");
    mp_fixed(out, e->wave_efficiency * 100, 0);
    buf_puts(out, " %\n  DRAM: ");
    megabytes(out, e->dram_bytes);
    buf_puts(out, " moved, ");
    megabytes(out, (double)p->read_bytes + (double)p->epilogue_bytes + (double)p->out_bytes);
    buf_puts(out, " at the least\n");
}

void mp_pass_explain(const Te *te, const RowGroup *g, int pass, Buf *out) {
    for (int i = 0, n = 0; i < g->n; i++) {
        if (g->role[i] == ROW_SCALAR || g->pass[i] != pass) continue;
        buf_printf(out, "%s %s%s", n++ ? " and" : "", te->tensor[te->stmt[g->stmt[i]].tensor].name,
                   g->follow[i] ? " (follows)" : "");
    }
}

static void explain_passes(const Problem *p, const RProg *r, Buf *out) {
    const RowFacts *f = rprog_row_facts(p, r);
    const RowGroup *g = f->group;
    buf_printf(out, "  passes: %d over each row", g->n_pass);
    for (int pass = 0; pass < g->n_pass; pass++) {
        buf_puts(out, pass ? ", then" : ":");
        mp_pass_explain(p->te, g, pass, out);
    }
    buf_putc(out, '\n');
}

static void explain_place(const Problem *p, const RProg *r, Buf *out) {
    const RowFacts *f = rprog_row_facts(p, r);
    int64_t bytes = 0;
    for (int k = 0; k < f->n_source; k++) bytes += f->source[k].by_row ? f->source[k].bytes : 0;
    buf_printf(out, "  place: a row is %lld bytes of input; ", (long long)(bytes * f->columns));
    switch (r->keep) {
    case KEEP_REGISTERS:
        buf_printf(out, "all of it is in registers, %d column%s of a thread\n",
                   (int)r->thread.extent[AX_N], plural(r->thread.extent[AX_N]));
        break;
    case KEEP_SHARED:
        buf_printf(out, "what passes share stays in %d bytes of shared memory\n", (int)r->smem);
        break;
    case KEEP_FLAT:
        buf_printf(out, "the rows of a block are copied to %d bytes of shared memory as one range, "
                   "16 bytes at a time\n", (int)r->smem);
        break;
    default:
        buf_printf(out, f->group->n_pass > 1 ? "each pass reads it again, %s\n"
                                             : "one pass reads it%s\n",
                   f->group->n_pass > 1 ? "every second one backwards" : "");
    }
}

void mp_row_explain(const Problem *p, const Device *dev, const RProg *r, const Estimate *e,
                    Buf *out) {
    int threads = rprog_row_threads(r), rows = r->block.extent[AX_M];
    int64_t steps = rprog_row_steps(p, r);
    buf_printf(out, "  rows: %lld of %lld columns; %d thread%s to a row, %d row%s to a block, "
               "%lld step%s of %d columns, %d at once\n", (long long)p->extent[AX_M],
               (long long)p->extent[AX_N], threads, plural(threads), rows, plural(rows),
               (long long)steps, plural(steps), (int)r->block.extent[AX_N], r->store_vec);
    if (rprog_row_ends(p, r))
        buf_printf(out, "  ends: vectors begin at the first aligned column of each row; the columns"
                   " before it and behind the last vector, less than %d on either side, come one by"
                   " one\n", r->store_vec);
    explain_passes(p, r, out);
    explain_place(p, r, out);
    if (r->split > 1)
        buf_printf(out, "  slices: %d of each row, because %lld block%s would leave SMs idle; "
                   "%d kernels, each combines the slices of the one before in a fixed order\n",
                   (int)r->split, (long long)rprog_blocks(p, r), plural(rprog_blocks(p, r)),
                   rprog_row_kernels(p, r));
    mp_flight_explain(dev, e, out);
    explain_grid(p, r, e, out);
}

void mp_stream_explain(const Problem *p, const Device *dev, const RProg *r, const Estimate *e,
                       Buf *out) {
    const ROperand *op = &p->op[0];
    buf_printf(out, "  elements: %lld; a thread makes %d, %d at once", (long long)p->extent[AX_M],
               (int)r->thread.extent[AX_M], r->store_vec);
    if (p->extent[AX_K] > 1)
        buf_printf(out, ", each from a loop of %lld", (long long)p->extent[AX_K]);
    if (rprog_stream_rest(p, r))
        buf_printf(out, "; of the last ones less than %d are left, which come one by one",
                   r->store_vec);
    buf_putc(out, '\n');
    if (op->present) {
        buf_printf(out, "  widest read: %d bytes an element, ", op->bytes);
        if (!op->affine) buf_puts(out, "gathered\n");
        else if (op->stride_mn == 1)
            buf_printf(out, "neighbours %d at once\n",
                       op->vec_mn < r->store_vec ? op->vec_mn : r->store_vec);
        else
            buf_printf(out, "%lld elements from one to the next\n", (long long)op->stride_mn);
    }
    mp_flight_explain(dev, e, out);
    explain_grid(p, r, e, out);
}
