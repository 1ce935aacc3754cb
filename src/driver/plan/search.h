/* The search for what is decided in an op.  Inside of fusion.c.
 *
 * What a decision changes is known from the kernels around it, so each is tried in a part of the op
 * that has these alone, and one time for all parts that have the same text: what it takes to decide
 * about an op grows with the statements that are not repetitions.  Gains of parts that replace no
 * kernel of each other are taken at once, if the whole becomes as much faster as they do.  */
#ifndef ROLLER_DRIVER_PLAN_SEARCH_H
#define ROLLER_DRIVER_PLAN_SEARCH_H
#include "driver/plan/decide.h"
#include "driver/plan/near.h"

enum { SEARCH_BUCKETS = 1 << 10 };

/* What is to be decided: all at one site, or two decisions at once.  */
typedef struct {
    int site[2], n;
    int decision[2];          /* of two: which */
} Question;

typedef struct {
    int stmt;                 /* of the part */
    TeDecided bits;
} Flip;

/* What came of it in a part.  */
typedef struct Answer {
    TextKey key;              /* of the part */
    Question question;        /* in numbers of the part */
    TeDecided apart;          /* decisions that the part does not show as the whole does */
    Tried tried[TE_DECISION_COUNT];       /* those of the one site; tried[0] is that of two */
    Flip *flip;
    Tried everywhere[TE_DECISION_COUNT];  /* what is no gain, in all places of the whole at once */
    int n_flip;               /* > 0: it is a gain */
    double gain;              /* us */
    const Kernel **gone;
    int n_gone;
    bool accepted;            /* for some place */
    struct Answer *next;
} Answer;

typedef struct Accepted {
    Answer *answer;
    int site;                 /* that was asked about */
    int *stmt, n;             /* of the part -> of the op */
    struct Accepted *next;
} Accepted;

typedef struct PairTried {
    int other;
    Tried tried;
    struct PairTried *next;
} PairTried;

typedef struct Refused {
    const Answer *answer;
    struct Refused *next;
} Refused;

/* The part that was asked about last, in the arena of its own.  */
typedef struct {
    TextKey key;
    Parting parting;          /* set.normal: NULL if there is none */
    ArenaMark mark;           /* before it */
} OpenPart;

typedef struct {
    Decider whole;
    OpenPart part;
    Near near;
    double total, usual_us;
    Answer *known[SEARCH_BUCKETS];
    Refused **refused;        /* per site: answers that were no gain in the whole */
    Answer **answer;          /* per site: the last one */
    PairTried **pair;         /* per decision of each site: with those before it */
    Accepted *accepted;
    bool *changed;            /* per group: something accepted replaces it */
    int from;                 /* the site to begin with */
    int steps, pairs;         /* decisions and pairs of them tried */
} Search;

/* x->whole.plan is set; what is found is x->whole.best.  */
Status search_decisions(Search *x, Diag *d);
#endif
