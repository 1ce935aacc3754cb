/* What the steps of a search share.  Inside of search*.c.  */
#ifndef ROLLER_DRIVER_PLAN_SEARCH_ASK_H
#define ROLLER_DRIVER_PLAN_SEARCH_ASK_H
#include "driver/plan/search.h"

static inline const TeDecisions *search_decided(const Search *x) {
    return decisions_of(&x->whole.best);
}

/* Makes it the best parting of the whole; what was accepted until then is done with.  */
void search_adopt(Search *x, const Parting *best);
/* Is it known to be no gain?  */
bool search_tried(const Tried *t);
/* The answer in the part, which may be known from an equal one.  Where something that was accepted
 * replaces a kernel of the part, it is one that was accepted, too, or NULL: any other would be
 * about what is no longer there.  */
Answer *search_ask(Search *x, const Question *q, NearPart *p);
/* A gain in a part, to be taken with others.  */
void search_accept(Search *x, const NearPart *p, Answer *found, int site);
/* Was the gain none in the whole?  */
bool search_refused(const Search *x, const Answer *found, int site);
/* All that was accepted: at once if that does what it does in parts, else each as far as it is a
 * gain in the whole.  */
void search_take_accepted(Search *x);

/* Tries pairs of decisions of which none is a gain alone.  *any: is something of it better?  */
Status search_pairs(Search *x, Diag *d, bool *any);
#endif
