/* The estimate of the column skeleton.
 *
 * A thread reads vec neighbours of deep rows before it adds, so vec * deep * element bytes are
 * under way, for the share of its life that is not start-up or the meeting of row groups.  The row
 * groups of the last block meet behind all loads: EPILOGUE is what that adds to the largest of DRAM
 * .. ISSUE, beyond LATENCY, which has it.  Those of a warp meet by shuffles, 24 clk and 2 more for
 * each column of a thread, 3 instructions and a wavefront of shared memory for each of its values;
 * the warps of a column 4 at once, 2 clk and 2 instructions for each value.  L2 adds half
 * a sector to each run of a block that is no whole number of sectors.  A block that reads less than
 * whole rows jumps through memory: DRAM then runs at the profile's rate for that run length.  SPLIT
 * = launch + both directions of the partial results through L2 + split/8 L2 latencies (8 loads of
 * the adding kernel are under way; few outputs of 32 slices or more are added by a warp each:
 * split/256 latencies and 5 levels of 24 clk).  Reductions over the same indices that read the same
 * elements are made in one pass: its reads count once, partial results and arithmetic for each of
 * them.  So are a mean and the squared deviations from it, a maximum and the exponentials under it,
 * online as in row.c: a thread reads deep rows, takes their mean (the maximum so far), corrects
 * what it has, and adds the terms of the step; row groups and slices meet as parts of known length.
 * That costs 12 instructions for a step and 10 for each column of it.  */
#include "microperf/sectors.h"
#include "microperf/story.h"
#include "microperf/views.h"

/* Instructions of an online reduction behind a step, and for each column of it.  */
enum { FOLLOW_STEP = 12, FOLLOW_COLUMN = 10 };

/* Bytes that sectors add to a run that begins anywhere in one.  */
static double sector_factor(double run_bytes, double bytes) {
    double most = SECTOR / bytes;
    if (run_bytes >= SECTOR && (int64_t)run_bytes % SECTOR == 0) return 1;
    return lesser((run_bytes + SECTOR / 2.0) / run_bytes, greater(most, 1));
}

/* The second kernel: it reads all slices, mostly from L2, and writes the outputs.  */
static double split_us(const Model *m, const RProg *r) {
    const ColumnView *v = &m->p->column;
    if (r->split <= 1) return 0;
    double sums = (double)rprog_workspace(m->p, r), results = (double)v->out.extent;
    double vec = rprog_meeting_vec(m->p, r), bytes = sums / (results * r->split);
    Meeting x = {.results = results / vec, .partials = r->split, .width = vec * bytes, .arrays = 1,
                 .under_way = RPROG_PARTIAL_VECTORS, .rate = m->l2_rate};
    double stored = (sums + m->out_bytes) / m->l2_rate;
    return m->launch_us + stored * MP_US + m->block_start * MP_US / m->clock +
           mp_meeting_us(m, &x, r->lanes);
}

static void estimate(const Model *m, const RProg *r, CountMemo *memo, Estimate *out) {
    (void)memo;
    const Problem *p = m->p;
    const ColumnView *v = &p->column;
    double vec = r->thread.extent[AX_M], deep = r->thread.extent[AX_K];
    double along = rprog_threads_along(r, AX_M), copies = rprog_column_copies(r), levels = 0;
    double outputs = (double)v->out.extent, k = (double)v->red.extent;
    double blocks = (double)rprog_blocks(p, r), steps = (double)rprog_column_slice(p, r) /
                                                        r->block.extent[AX_K];
    double main = outputs * k * v->bytes, reads = greater(p->n_reads, 1);
    double words = 0;
    for (int n = 1; n < rprog_column_lanes(r); n *= 2) levels++;
    for (int i = 0; i < p->group->columns->n; i++) {
        const TeExpr *e = p->te->stmt[p->group->columns->stmt[i]].rhs;
        if (p->group->columns->role[i] == ROW_REDUCE)
            words += greater(te_dtype_bytes(te_reduced_type(e)) / 4, 1);
    }
    double tap = 1 + p->body_ops + (v->positional ? 4 : 0);
    double decode = v->bytes < 4 ? 1 : 0;

    ViewWork w = {.blocks = blocks * r->split, .writes = m->out_bytes};
    w.reads = m->total_unique + (double)p->epilogue_bytes;
    double warps = w.blocks * r->threads / WARP, rows = warps * steps * deep;
    double digits = v->red.n_digit > 1 ? 4.0 * v->red.n_digit : 0;
    double follow = v->followers * (FOLLOW_STEP + FOLLOW_COLUMN * vec) / deep;
    w.compute = rows * vec * tap;
    w.ops = rows * (3 * reads + vec * (tap * m->slots + decode) + digits + 4 / deep + follow) +
            warps * 50;
    double columns = blocks * along / WARP * vec;
    w.ops += warps * levels * 3 * vec * words +
             columns * (copies * 2 * words + p->epilogue_ops + 6);
    double run = lesser(along, (double)v->run / vec);
    w.wavefronts = rows * (mp_view_passes(vec * v->bytes, vec * v->bytes, run, 0) + reads - 1) +
                   warps * levels * vec * words + columns * (2 * copies + 1) * words;
    double run_bytes = lesser((double)v->run, along * vec) * v->bytes;
    /* A block that covers whole rows walks through memory without jumps.  */
    if (along * vec < (double)v->run) w.run = run_bytes;
    double rest = greater(m->total_unique - main, 0);
    w.l2 = main * sector_factor(run_bytes, v->bytes) + greater(rest, lesser(rest * blocks, main));
    if (r->split > 1) w.writes = (double)rprog_workspace(p, r);
    double stored = w.writes / (outputs * r->split);
    w.sent = mp_sent(w.writes, lesser(along, WARP), vec * stored, (double)v->run * stored);
    double waits = steps * m->dram_latency;
    double meet = levels * (SHUFFLE + 2 * vec);
    if (copies > 0) {
        double trips = copies / rprog_column_under_way(r);
        meet += (1 + trips) * m->smem_latency + copies * 2 * vec;
    }
    w.tail = meet;
    w.chain = m->block_start + waits + meet;
    double met = blocks * r->block.extent[AX_M];
    w.flying = deep * vec * v->bytes * (outputs / met) * waits / w.chain;
    mp_view_terms(m, r, &w, out);
    out->padding_waste = met / outputs - 1;
    out->term[MP_SPLIT] = split_us(m, r);
    mp_finish(out);
}

/* ---- in words ---- */

static void summary(const Problem *p, const Device *dev, const RProg *r, Buf *out) {
    (void)p, (void)dev;
    int groups = rprog_threads_along(r, AX_K);
    buf_printf(out, "column, %d threads x %d columns, %d row group%s of %d in flight",
               rprog_threads_along(r, AX_M), (int)r->thread.extent[AX_M], groups, mp_plural(groups),
               (int)r->thread.extent[AX_K]);
    if (r->split > 1) buf_printf(out, ", rows split by %d", (int)r->split);
}

static void explain(const Story *s) {
    const Problem *p = s->p;
    const RProg *r = &s->best->prog;
    Buf *out = s->out;
    const ColumnView *v = &p->column;
    int along = rprog_threads_along(r, AX_M), groups = rprog_threads_along(r, AX_K);
    buf_printf(out, "  columns: %lld outputs in runs of %lld elements; a thread reads %d bytes at "
               "once, %d threads side by side %d bytes\n", (long long)v->out.extent,
               (long long)v->run, (int)r->thread.extent[AX_M] * v->bytes, along,
               (int)r->block.extent[AX_M] * v->bytes);
    buf_printf(out, "  rows: %lld, every %d. by the same group; %d row%s of a thread in flight",
               (long long)v->red.extent, groups, (int)r->thread.extent[AX_K],
               mp_plural(r->thread.extent[AX_K]));
    if (groups > 1) buf_printf(out, "; groups meet in %d bytes of shared memory", (int)r->smem);
    buf_putc(out, '\n');
    if (v->n_sum > 1) {
        buf_puts(out, "  one pass:");
        mp_pass_words(p->te, p->group->columns, 0, out);
        buf_putc(out, '\n');
    }
    if (r->split > 1) {
        long long blocks = (long long)rprog_blocks(p, r);
        buf_printf(out, "  grid: rows in %d slices, because %lld block%s would leave SMs idle; ",
                   (int)r->split, blocks, mp_plural(blocks));
        buf_printf(out, "%lld bytes of partial results\n", (long long)rprog_workspace(p, r));
    }
    mp_view_words(s);
    mp_flight_words(s);
}

const ModelRow mp_column = {.estimate = estimate, .meeting_us = split_us, .summary = summary,
                            .explain = explain};
