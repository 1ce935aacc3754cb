/* How long kernels take on a device, in the cache: an entry for each code, device and driver, so
 * that candidates of another run keep what was measured of them.  Only kernels that were proved
 * right there have one.  */
#include "base/hash.h"
#include "driver/cache/cache.h"

#include <stdlib.h>
#include <string.h>

/* Numbers as their bits: the same back, in every locale.  */
static void print(const Timing *t, Buf *out) {
    const double real[] = {t->cold_us, t->warm_us, t->spread, t->clock_mhz};
    buf_printf(out, "%d %d", t->samples, t->by_events);
    for (size_t i = 0; i < sizeof real / sizeof *real; i++) {
        uint64_t bits;
        memcpy(&bits, &real[i], sizeof bits);
        buf_printf(out, " %016llx", (unsigned long long)bits);
    }
}

static bool read(const CacheSection *s, Timing *out) {
    double *const real[] = {&out->cold_us, &out->warm_us, &out->spread, &out->clock_mhz};
    const char *at = s->data;
    char *end;
    *out = (Timing){.samples = (int)strtol(at, &end, 10)};
    out->by_events = strtol(end, &end, 10) != 0;
    for (size_t i = 0; i < sizeof real / sizeof *real; i++) {
        uint64_t bits = strtoull(at = end, &end, 16);
        if (end == at) return false;
        memcpy(real[i], &bits, sizeof bits);
    }
    return end == (const char *)s->data + s->len && out->samples > 0 && out->cold_us > 0 &&
           out->warm_us > 0;
}

/* A timing of a kernel of other sizes, data or code is another entry.  */
static const char *key_of(Cache *c, const RollerKernel *k, const MeasureOptions *o,
                          const MeasurePlace *place) {
    const Build *b = &k->build;
    const Te *te = k->plans->op->te;
    char code[65];
    sha256_text(b->nvrtc.cubin, b->nvrtc.cubin_len, code);
    Buf key = buf_new(c->arena);
    buf_printf(&key, "roller timing 1\ncode %s\ndevice %s %s\ndriver %d%s\n", code,
               place->info.name, place->info.uuid, place->driver_version,
               place->simulated ? " simulated" : "");
    buf_printf(&key, "seed %llu\nat", (unsigned long long)(o->seed ? o->seed : 1));
    for (int i = 0; i < te->n_size && o->at; i++) buf_printf(&key, " %lld", (long long)o->at[i]);
    buf_printf(&key, "\nalign %d\nplan\n%s", k->plans->set.options.align, k->plan.text);
    te_print_positional(te, &key);
    return buf_str(&key);
}

bool cache_timing(Cache *c, const RollerKernel *k, const MeasureOptions *o,
                  const MeasurePlace *place, Timing *out) {
    CacheSection s;
    return cache_read(c, key_of(c, k, o, place), &s, 1) && read(&s, out);
}

void cache_keep_timing(Cache *c, const RollerKernel *k, const MeasureOptions *o,
                       const MeasurePlace *place, const Timing *t) {
    Buf text = buf_new(c->arena);
    print(t, &text);
    CacheSection s = {buf_str(&text), text.len};
    cache_write(c, key_of(c, k, o, place), &s, 1);
}
