/* Boxes of the `permute` skeleton: how many points they have, and where these lie in the parts.  */
#include "rprogram/internal.h"

static int axes_of(const Problem *p) { return p->permute.out.n_digit; }

int64_t rprog_permute_points(const Problem *p, const RProg *r) {
    int64_t n = 1;
    for (int a = 0; a < axes_of(p) && n < INT32_MAX; a++) n *= r->block.extent[a];
    return n;
}

int64_t rprog_permute_elements(const Problem *p, const RProg *r, int source) {
    const PermuteSource *x = &p->permute.source[source];
    int64_t n = 1;
    for (int a = 0; a < axes_of(p) && n < INT32_MAX; a++)
        n *= x->stride[a] ? r->block.extent[a] : 1;
    return n;
}

void rprog_permute_steps(const Problem *p, const RProg *r, int source,
                         int32_t step[PERMUTE_AXES]) {
    const PermuteSource *x = &p->permute.source[source];
    int64_t n = 1;
    for (int a = axes_of(p) - 1; a >= 0; a--) {
        step[a] = x->stride[a] ? (int32_t)n : 0;
        if (x->stride[a] && n < INT32_MAX) n *= r->block.extent[a];
    }
}

/* What lies inside of the axis that is contiguous in memory, at least all banks' worth.  */
int64_t rprog_permute_row(const Problem *p, const RProg *r, int source) {
    enum { LINE = 128 };
    const PermuteSource *x = &p->permute.source[source];
    int32_t step[PERMUTE_AXES] = {0};
    rprog_permute_steps(p, r, source, step);
    int64_t row = step[x->order[0]], all = rprog_permute_elements(p, r, source);
    while (row * x->bytes < LINE && all % (2 * row) == 0) row *= 2;
    return row;
}

int rprog_permute_width(const Problem *p, const RProg *r, int source) {
    int most = RTILE_ACCESS / p->permute.source[source].bytes;
    return r->store_vec < most ? r->store_vec : most;
}
