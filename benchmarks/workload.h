/* Workload rows (workloads/README.md) and their expressions.  */
#ifndef ROLLER_BENCHMARKS_WORKLOAD_H
#define ROLLER_BENCHMARKS_WORKLOAD_H
#include "base/buf.h"
#include "base/diag.h"
#include <stdint.h>

enum { WORKLOAD_KEYS = 24 };

typedef struct {
    const char *id, *set, *op, *dtype;
    const char *peers;        /* "NAME=MILLISECONDS;...", published times of other systems */
    int n_key;
    const char *key[WORKLOAD_KEYS];
    const char *word[WORKLOAD_KEYS];      /* the value as text */
    int64_t value[WORKLOAD_KEYS];
} Workload;

typedef struct {
    Workload *row;
    int n;
} WorkloadSet;

/* Fills the keys from "KEY=VALUE;...", which is cut to pieces.  */
void workload_params(char *text, Workload *w);
/* Reads SET.csv.  */
Status workload_read(Arena *a, Diag *d, const char *path, WorkloadSet *out);
/* A peer's time; INFINITY: it has none.  */
double workload_peer_ms(const Workload *w, const char *name);
int64_t workload_get(const Workload *w, const char *key, int64_t otherwise);
/* Is it a matmul, batched matmul or convolution, possibly with an epilogue?  */
bool workload_is_contraction(const Workload *w);
/* The expression of a row with inputs of `dtype` (NULL: the row's own).  False for an operator that
 * has no rule here.  */
bool workload_te(const Workload *w, const char *dtype, Buf *out);
#endif
