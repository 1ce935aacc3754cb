/* What the candidates of a problem leave open until they are ranked, drawn.  */
#ifndef ROLLER_TESTS_OPEN_CHOICES_H
#define ROLLER_TESTS_OPEN_CHOICES_H
#include "base/hash.h"
#include "rprogram/derived.h"

static inline void draw_choices(const Problem *p, const Device *dev, uint64_t seed, RProg *r) {
    Rng rng = {seed};
    int64_t rows[RASTERS];
    uint8_t lanes[MEETING_LANES];
    if (r->skeleton == SK_CONTRACT) {
        int n = rprog_rasters(p, dev, r, rows);
        rprog_set_raster(p, rows[rng_below(&rng, (uint32_t)n)], r);
    }
    if (!rprog_meets(r)) return;
    r->lanes = lanes[rng_below(&rng, (uint32_t)rprog_meeting_lanes(p, r, lanes))];
}
#endif
