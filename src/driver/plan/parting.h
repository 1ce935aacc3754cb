/* An op's kernels by some decisions, each planned once, by whatever decisions it comes about.
 * Inside of fusion.c.  */
#ifndef ROLLER_DRIVER_PLAN_PARTING_H
#define ROLLER_DRIVER_PLAN_PARTING_H
#include "driver/plan/fusion.h"
#include <string.h>

/* Of a text that would be long to keep: equal where the texts are.  */
typedef struct {
    uint8_t digest[32];       /* SHA-256 */
} TextKey;

typedef struct Kernel {
    TextKey key;              /* of all that decides about it */
    int matched;              /* how often, inside of parting.c; 0 outside */
    int present;              /* how often in the best parting of the whole op */
    double least_us, us;      /* us: predicted, or < 0: not planned */
    enum { VIEW_GIVEN, VIEW_STREAM, VIEW_SCALED } view;   /* as what its problem is planned */
    RProgSet set;             /* counts only, once it is planned; likewise: */
    Ranked *ranked;
    int n;
    struct Kernel *next;      /* in its bucket */
} Kernel;

enum { KNOWN_BUCKETS = 1 << 10 };
typedef struct {
    Kernel *bucket[KNOWN_BUCKETS];
} KnownKernels;

/* The op with some decisions: kernel[g] computes group g.  */
typedef struct {
    PlanSet set;
    Kernel **kernel;
    const Te *sized;          /* its op at the sizes to plan at; NULL: the largest */
} Parting;

/* What kernels are planned with, and those that are known.  */
typedef struct {
    Arena *a;                 /* of what is tried, which is reset where it is no gain */
    Arena *kept;              /* beside it: kernels, answers */
    Arena *part;              /* beside it: the part that is asked about */
    PlanRequest asked;
    TeCanonical op;           /* asked.te, or a part of it */
    const int64_t *size;      /* to plan at; NULL: the largest */
    KnownKernels *known;
    int planned;              /* kernels */
} Planner;

TextKey text_key(const char *text);
static inline bool same_key(const TextKey *x, const TextKey *y) {
    return memcmp(x->digest, y->digest, sizeof x->digest) == 0;
}
/* Where it goes in a table of so many buckets.  */
static inline size_t key_bucket(const TextKey *x, size_t n) {
    return (x->digest[0] | (size_t)x->digest[1] << 8) % n;
}
/* The op's kernel groups by these decisions; out->kernel is NULL if it fails.  */
Status parting_open(Planner *x, Diag *d, const TeDecisions *decisions, Parting *out);
/* Which of p's kernels `other` does not have (NULL: all): where groups are equal, as many as there
 * are more of.  */
void parting_own(const Parting *p, const Parting *other, bool *own);
/* What the kernels take that `other` does not have (NULL: all), planned as long as that is not sure
 * to be more than `limit`; beyond it *us is what they take at least.  */
Status parting_price(Planner *x, Diag *d, const Parting *p, const Parting *other, double limit,
                     double *us);
/* The plans of the kernels, for the groups of the set.  */
Status parting_fill(Planner *x, Diag *d, Parting *p);
/* Why a chain among the kernels has no program, as a clause; NULL: it has, or there is none.  */
const char *parting_chain_refusal(const Planner *x, const Parting *p);
/* What they take, once they are priced.  */
double parting_total(const Parting *p);
#endif
