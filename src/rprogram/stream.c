/* The `stream` skeleton: threads, elements per thread and vector width by rule.
 *
 * Accesses of 16 bytes where the output allows, and enough of them per thread that the loads of the
 * resident threads cover the memory latency.  */
#include "rprogram/internal.h"

void rprog_stream_candidates(const Problem *p, const Device *dev, RProgSet *set, RProg *room,
                             int cap) {
    static const int threads[] = {32, 64, 128, 256, 512, 1024};
    RProg r = rprog_base(SK_STREAM);
    if (p->column.n_sum > 1) return;
    if (rprog_units(p, dev, &r.unit, 1) < 1) return;
    bool many = (double)p->extent[AX_M] >= dev->limits.sm_count.value *
                                           dev->limits.threads_per_sm.value;
    for (int t = many ? 2 : 0; t < 6; t++) {
        for (int vec = p->flat_vec; vec >= 1; vec /= 2) {
            for (int items = vec; items <= vec * 4 && items <= 32; items *= 2) {
                r.thread.extent[AX_M] = items;
                r.block.extent[AX_M] = items * threads[t];
                r.store_vec = (uint8_t)vec;
                rprog_derive(p, dev, &r);
                set->enumerated++;
                if (threads[t] > dev->limits.threads_per_block.value) {
                    set->rejected[REJECT_THREADS]++;
                } else if (r.blocks_per_sm < 1) {
                    set->rejected[REJECT_REGISTERS]++;
                } else if (set->n < cap) {
                    room[set->n++] = r;
                }
            }
        }
    }
}
