/* Words that the stories of several skeletons share.  */
#include "microperf/story.h"

void mp_megabytes(Buf *out, double bytes) {
    mp_fixed(out, bytes / 1e6, bytes < 1e7 ? 2 : 0);
    buf_puts(out, " MB");
}

void mp_percent(Buf *out, double share) {
    mp_fixed(out, share * 100, share < 0.1 ? 1 : 0);
    buf_puts(out, " %");
}

void mp_flight_words(const Story *s) {
    const Estimate *e = &s->best->estimate;
    Buf *out = s->out;
    const Curve *c = hal_level_curve(&s->dev->memory[LEVEL_DRAM], "read", "bytes_in_flight_per_sm");
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

void mp_wave_words(const Story *s) {
    const Problem *p = s->p;
    const Estimate *e = &s->best->estimate;
    Buf *out = s->out;
    buf_printf(out, "  grid: %lld blocks of %d threads, %d per SM, ", (long long)e->blocks,
               s->best->prog.threads, e->blocks_per_sm);
    mp_fixed(out, e->waves, 2);
    buf_puts(out, " waves, SMs busy ");
    mp_fixed(out, e->wave_efficiency * 100, 0);
    buf_puts(out, " %\n  DRAM: ");
    mp_megabytes(out, e->dram_bytes);
    buf_puts(out, " moved, ");
    mp_megabytes(out, (double)p->read_bytes + (double)p->epilogue_bytes + (double)p->out_bytes);
    buf_puts(out, " at the least\n");
}

void mp_view_words(const Story *s) {
    const Estimate *e = &s->best->estimate;
    Buf *out = s->out;
    buf_printf(out, "  grid: %lld blocks of %d threads, %d per SM, ", (long long)e->blocks,
               s->best->prog.threads, e->blocks_per_sm);
    mp_fixed(out, e->waves, 2);
    buf_puts(out, " waves; ");
    mp_fixed(out, e->dram_bytes / 1e6, 2);
    buf_puts(out, " MB of DRAM, ");
    mp_fixed(out, (double)e->load_sectors * SECTOR / 1e6, 2);
    buf_puts(out, " MB read through L2\n");
}

void mp_pass_words(const Te *te, const RowGroup *g, int pass, Buf *out) {
    for (int i = 0, n = 0; i < g->n; i++) {
        if (g->role[i] == ROW_SCALAR || g->pass[i] != pass) continue;
        buf_printf(out, "%s %s%s", n++ ? " and" : "", te->tensor[te->stmt[g->stmt[i]].tensor].name,
                   g->follow[i] ? " (follows)" : "");
    }
}
