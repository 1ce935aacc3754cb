/* What an op must move whatever its kernels are.  */
#include "rtile/facts.h"

/* Of reads that share a tensor the one that touches most stands for all.  */
static double read_of(const Te *te, int tensor) {
    int64_t most = 0;
    for (int i = 0; i < te->n_stmt; i++) {
        ReadList read = access_reads(te->stmt[i].rhs);
        for (int j = 0; j < read.n; j++) {
            Access a;
            if (read.at[j]->v.ref != tensor) continue;
            access_read(te, &te->stmt[i], read.at[j], &a);
            int64_t unique = access_unique(te, &te->stmt[i], &a);
            if (unique > most) most = unique;
        }
    }
    return (double)most * te_dtype_bytes(te->tensor[tensor].dtype);
}

void rtile_op_bytes(const Te *te, double *reads, double *writes) {
    *reads = *writes = 0;
    for (int t = 0; t < te->n_in; t++) {
        if (te->tensor[t].role == TE_INPUT) *reads += read_of(te, t);
    }
    for (int i = 0; i < te->n_stmt; i++) {
        const TeStmt *s = &te->stmt[i];
        double elements = 1;
        if (te->tensor[s->tensor].role != TE_OUTPUT) continue;
        for (int j = 0; j < s->n_left; j++) elements *= (double)s->index[j].hi.value;
        *writes += elements * te_dtype_bytes(te->tensor[s->tensor].dtype);
    }
}
