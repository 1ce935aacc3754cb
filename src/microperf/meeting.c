/* Kernels that make results of the partial ones which blocks leave in the workspace.
 *
 * Neighbouring threads have neighbouring results, or, if several share one, neighbouring parts of
 * it, which lie far from each other: more threads wait less often, but touch more lines, and where
 * few results stand side by side in a block, parts of sectors.
 *
 * Slices of columns and parts of rows (stats.c) are added by lanes threads for each result, as many
 * as take the least time: max(accesses * bytes * max(1, 32 / bytes side by side in a block) / rate,
 * lines touched / SMs / clk) + waves of threads * (trips * l2.latency + 24 * log2 lanes). A program
 * is ranked with the best; no other term depends on it.  */
#include "microperf/model.h"

double mp_barrier(const Model *m, const RProg *r) {
    enum { UNKNOWN = 40 };
    const Curve *c = &m->dev->overheads.barrier;
    return c->n ? hal_curve(c, r->threads) : UNKNOWN;
}

double mp_meeting_us(const Model *m, const Meeting *x, double lanes) {
    enum { LINE = 128 };                  /* bytes */
    double threads = m->dev->limits.threads_per_sm.value * m->sms;
    double run = RPROG_MEETING / lanes * x->width, accesses = x->partials * x->results * x->arrays;
    double bytes = accesses * x->width * greater(1, SECTOR / run);
    double lines = accesses / WARP * lanes * greater(1, WARP / lanes * x->width / LINE);
    double waves = whole(x->results * lanes / threads), shuffles = 0;
    double trips = whole(whole(x->partials / lanes) / x->under_way);
    for (double n = 1; n < lanes; n *= 2) shuffles += SHUFFLE;
    double chain = waves * x->arrays * (trips * m->l2_latency + shuffles);
    return (greater(bytes / x->rate, lines / (m->sms * m->clock)) + chain / m->clock) * MP_US;
}
