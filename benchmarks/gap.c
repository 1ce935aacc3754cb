#include "gap.h"
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

void gap_text(const RollerEstimate *e, char out[GAP_TEXT]) {
    enum { PARTS = 3 };
    double part[ROLLER_MAX_TERMS] = {0}, steady = e->us, gap = e->us - e->floor_us;
    int limiter = 0, behind = 0;
    size_t at = 0;
    out[0] = 0;
    if (e->us <= GAP_IS_FAR * e->floor_us) return;
    while (strcmp(e->term[behind], "overlap") != 0) behind++;
    while (strcmp(e->term[limiter], e->limiter) != 0) limiter++;
    for (int t = behind; t < e->n_terms; t++) steady -= part[t] = e->term_us[t];
    bool tiny = e->floor_us <= e->floor_launch_us;
    part[tiny ? e->n_terms - 1 : limiter] -= e->floor_us;
    part[limiter] += steady;
    for (int n = 0; n < PARTS; n++) {
        int most = 0;
        for (int t = 1; t < e->n_terms; t++) {
            if (part[t] > part[most]) most = t;
        }
        if (part[most] < 0.1 * gap) break;
        at += (size_t)snprintf(out + at, GAP_TEXT - at, "%s%s +%.1f us", n ? ", " : "",
                               e->term[most], part[most]);
        part[most] = 0;
    }
}
