/* The estimate of a program, by its skeleton.  */
#include "microperf/ending.h"

void mp_estimate_program(const Model *m, const RProg *r, CountMemo *memo, Estimate *out) {
    switch (r->skeleton) {
    case SK_STREAM: mp_estimate_stream(m, r, out); break;
    case SK_ROW: mp_estimate_row(m, r, out); break;
    case SK_COLUMN: mp_estimate_column(m, r, out); break;
    case SK_SCAN: mp_estimate_scan(m, r, out); break;
    case SK_WINDOW: mp_estimate_window(m, r, out); break;
    case SK_PERMUTE: mp_estimate_permute(m, r, memo, out); break;
    default:
        if (m->p->stats) mp_estimate_stats(m, r, memo, out);
        else mp_estimate_contract(m, r, memo, out);
    }
}

void mp_estimate_again(const Problem *p, const RProg *r, const Device *dev, CountMemo *memo,
                       Estimate *out) {
    Model m = mp_model(p, dev);
    mp_estimate_program(&m, r, memo, out);
}

void mp_estimate(const Problem *p, const RProg *r, const Device *dev, Estimate *out) {
    mp_estimate_again(p, r, dev, NULL, out);
}
