/* Outputs that somebody made, against what the op makes of the same inputs.  */
#include "driver/check/check.h"
#include "driver/check/compare.h"

Status check_outputs(Arena *a, Diag *d, const CheckOutputs *x, OutputsResult *out) {
    Reference reference = {.te = x->te, .data = x->in, .threads = x->threads, .watch = x->watch};
    *out = (OutputsResult){0};
    for (int i = 0; i < x->te->n_out; i++) {
        Stored stored = {.tensor = x->te->n_in + i, .data = x->out[i].data};
        CompareResult r = {0};
        Status s = compare_all(a, d, &reference, &stored, &r);
        if (s) return s;
        out->compared += r.compared;
        out->undecided += r.undecided;
        out->wrong += r.wrong;
        if (r.wrong && out->excess < r.excess) out->excess = r.excess;
    }
    return ST_OK;
}
