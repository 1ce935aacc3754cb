/* Row programs in the words of a kernel engineer; their row.  */
#include "microperf/story.h"

/* Wide accesses, then blocks of about 128 threads, then registers before shared memory.  */
static int compare(const RProg *a, const RProg *b) {
    enum { USUAL = 128 };
    int off_a = a->threads > USUAL ? a->threads / USUAL : USUAL / a->threads;
    int off_b = b->threads > USUAL ? b->threads / USUAL : USUAL / b->threads;
    int c = mp_compare(b->store_vec, a->store_vec);
    if (!c) c = mp_compare(off_a, off_b);
    return c ? c : mp_compare(a->keep, b->keep);
}

static void summary(const Problem *p, const Device *dev, const RProg *r, Buf *out) {
    (void)p, (void)dev;
    static const char *const place[KEEP_COUNT] = {"in registers", "in shared memory",
                                                  "read by each pass",
                                                  "read by each pass, statistics in one",
                                                  "in shared memory as they lie"};
    int rows = r->block.extent[AX_M];
    int threads = rprog_row_threads(r);
    buf_printf(out, "row, %d thread%s per row, %d row%s per block, %d columns per thread, "
               "%d at once, rows %s", threads, threads == 1 ? "" : "s", rows, rows == 1 ? "" : "s",
               (int)r->thread.extent[AX_N], r->store_vec, place[r->keep]);
    if (r->split > 1) buf_printf(out, ", split by %d", (int)r->split);
}

static void explain_passes(const Problem *p, const RProg *r, Buf *out) {
    const RowFacts *f = rprog_row_facts(p, r);
    const RowGroup *g = f->group;
    buf_printf(out, "  passes: %d over each row", g->n_pass);
    for (int pass = 0; pass < g->n_pass; pass++) {
        buf_puts(out, pass ? ", then" : ":");
        mp_pass_words(p->te, g, pass, out);
    }
    buf_putc(out, '\n');
}

static void explain_place(const Problem *p, const RProg *r, Buf *out) {
    const RowFacts *f = rprog_row_facts(p, r);
    int64_t bytes = 0;
    for (int k = 0; k < f->n_source; k++) bytes += f->source[k].by_row ? f->source[k].bytes : 0;
    buf_printf(out, "  place: a row is %lld bytes of input%s; ", (long long)(bytes * f->columns),
               f->group->strips ? ", apart, neighbouring rows side by side" : "");
    switch (r->keep) {
    case KEEP_REGISTERS:
        buf_printf(out, "all of it is in registers, %d column%s of a thread\n",
                   (int)r->thread.extent[AX_N], mp_plural(r->thread.extent[AX_N]));
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

static void explain(const Story *s) {
    const Problem *p = s->p;
    const RProg *r = &s->best->prog;
    Buf *out = s->out;
    int threads = rprog_row_threads(r), rows = r->block.extent[AX_M];
    int64_t steps = rprog_row_steps(p, r);
    buf_printf(out, "  rows: %lld of %lld columns; %d thread%s to a row, %d row%s to a block, "
               "%lld step%s of %d columns, %d at once\n", (long long)p->extent[AX_M],
               (long long)p->extent[AX_N], threads, mp_plural(threads), rows, mp_plural(rows),
               (long long)steps, mp_plural(steps), (int)r->block.extent[AX_N], r->store_vec);
    if (rprog_row_ends(p, r))
        buf_printf(out, "  ends: vectors begin at the first aligned column of each row; the columns"
                   " before it and behind the last vector, less than %d on either side, come one by"
                   " one\n", r->store_vec);
    explain_passes(p, r, out);
    explain_place(p, r, out);
    if (r->split > 1)
        buf_printf(out, "  slices: %d of each row, because %lld block%s would leave SMs idle; "
                   "%d kernels, each combines the slices of the one before in a fixed order\n",
                   (int)r->split, (long long)rprog_blocks(p, r), mp_plural(rprog_blocks(p, r)),
                   rprog_row_kernels(p, r));
    mp_flight_words(s);
    mp_wave_words(s);
}

static void estimate(const Model *m, const RProg *r, CountMemo *memo, Estimate *out) {
    (void)memo;
    mp_estimate_row(m, r, out);
}

const ModelRow mp_row = {.estimate = estimate, .compare = compare, .alike = mp_same_stores,
                         .summary = summary, .explain = explain};
