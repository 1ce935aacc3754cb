/* Blocks in waves.
 *
 * Blocks run in waves of SMs * R. With B blocks there are floor(B / (SMs * R)) full waves of R
 * blocks on every SM, and a last one of r = ceil(rest / SMs) blocks on min(rest, SMs) SMs.  A phase
 * is (times, r, active); every term of contract.c is summed over the phases: times * n * (clocks of
 * one step of r blocks). Waves = B / (SMs * R); the busy share is B / (SMs * slots used).
 *
 *   phases: with a tail, a block of all steps for each other tile, then the blocks of the tail, of
 *       q = ceil(tail * steps / blocks) steps
 *   rows in turns: each block has as many tiles one behind the other as turns
 *   SMs busy: k-steps / (steps of the phases * slots)  */
#include "microperf/phases.h"

double mp_sum_bytes(const Problem *p, const RProg *r) {
    if (r->tail == 0) return (double)rprog_workspace(p, r);
    return (double)rprog_tail_partials(p, r) * (double)rprog_tail_slot(p, r);
}

double mp_filled_sms(const Model *m, const RProg *r) {
    return lesser(m->sms, rprog_cluster_sms(m->dev, r));
}

double mp_tiles_of_block(const Model *m, const RProg *r) {
    double blocks = (double)rprog_launched(m->p, m->dev, r);
    double turns = (double)rprog_stats_turns(m->p, r);
    return rprog_persistent(r) ? turns * greater((double)rprog_blocks(m->p, r) / blocks, 1) : 1;
}

/* Phases of so many blocks, each of which does as `each` says.  */
static int phases_of(const Model *m, const RProg *r, double blocks, Phase each, Phase *out) {
    double sms = mp_filled_sms(m, r), slots = sms * r->blocks_per_sm;
    double full = (double)(int64_t)(blocks / slots), rest = blocks - full * slots;
    int n = 0;
    if (full > 0) {
        out[n] = each;
        out[n].times = full;
        out[n].resident = r->blocks_per_sm;
        out[n++].active = sms;
    }
    if (rest > 0) {
        out[n] = each;
        out[n].times = 1;
        out[n].resident = whole(rest / sms);
        out[n++].active = lesser(rest, sms);
    }
    return n;
}

void mp_grid_phases(const Model *m, const RProg *r, double store_bytes, Phases *phases) {
    Phase *out = phases->at;
    const Problem *p = m->p;
    double tiles = (double)rprog_blocks(p, r), steps = (double)rprog_tiles(p, r, AX_K);
    if (r->tail == 0) {
        double blocks = tiles * r->split, turns = (double)rprog_stats_turns(p, r);
        Phase each = {.steps = whole(steps / r->split), .partials = 1,
                      .bytes = store_bytes / (blocks * turns)};
        phases->n = phases_of(m, r, blocks, each, out);
        for (int i = 0; i < phases->n; i++) out[i].times *= turns;
        return;
    }
    double sums = mp_sum_bytes(p, r), full = tiles - r->tail;
    double of_tile = full > 0 ? greater(store_bytes - sums, 0) / full : 0;
    Phase whole_tiles = {.steps = steps, .partials = 1, .bytes = of_tile};
    int n = phases_of(m, r, full, whole_tiles, out);
    double blocks = r->tail_blocks;
    Phase tail = {.steps = (double)rprog_tail_steps(p, r),
                  .partials = whole((double)rprog_tail_partials(p, r) / blocks),
                  .bytes = sums / blocks};
    phases->n = n + phases_of(m, r, blocks, tail, out + n);
}
