#include "driver/plan/search_ask.h"
#include <math.h>

/* Tells what is tried now, of what there was to try when it began.  */
static void tell_step(Search *x, int site, int d) {
    const TeDecisions *from = search_decided(x);
    int all = 1, done = ++x->steps;
    if (!x->whole.plan.asked.o->watch) return;
    for (int i = 0; i < from->n; i++)
        for (int e = 0; e < TE_DECISION_COUNT; e++) all += from->possible[i] >> e & 1;
    watch_step(x->whole.plan.asked.o->watch, "plan", done < all ? done : all - 1, all,
               arena_printf(x->whole.plan.a, "%s %s", from->name[site], te_decision_name[d]));
}

static bool is_settled(const Search *x, int site) {
    bool all = true;
    for (int e = 0; e < TE_DECISION_COUNT && all; e++)
        all = !(search_decided(x)->possible[site] >> e & 1) ||
              search_tried(&x->whole.tried[site * TE_DECISION_COUNT + e]);
    return all;
}

static void try_near(Search *x, int site) {
    ArenaMark mark = arena_mark(x->whole.plan.a);
    NearPart p;
    Question q = {.site = {site}, .n = 1};
    TeDecided possible = search_decided(x)->possible[site];
    near_find(&x->near, &site, 1, &p);
    for (int e = 0; e < TE_DECISION_COUNT; e++)
        if (possible >> e & 1) tell_step(x, site, e);
    Answer *found = search_ask(x, &q, &p);
    if (found) x->answer[site] = found;
    for (int e = 0; e < TE_DECISION_COUNT && found; e++)
        if (found->tried[e].gone)
            x->whole.tried[site * TE_DECISION_COUNT + e] = found->tried[e];
    if (found && found->n_flip > 0 && !search_refused(x, found, site))
        search_accept(x, &p, found, site);
    arena_reset(x->whole.plan.a, mark);
}

static void adopt_best(Search *x) {
    Parting best = x->whole.best;
    search_adopt(x, &best);
}

/* One decision wherever the answer is the same.  */
static bool try_everywhere(Search *x, Answer *same, int e) {
    TeDecisions taken = *search_decided(x), seen;
    int places = 0, last = 0;
    for (int site = 0; site < taken.n; site++) {
        if (x->answer[site] != same || !(taken.possible[site] >> e & 1)) continue;
        taken.taken[site] ^= (TeDecided)(1u << e);
        last = site;
        places++;
    }
    Tried *tried = &same->everywhere[e];
    bool gain = places == 1 ? decide_one(&x->whole, last, e)
                            : decide_as(&x->whole, &taken, &seen, tried);
    if (places == 1) *tried = x->whole.tried[last * TE_DECISION_COUNT + e];
    if (gain) adopt_best(x);
    return gain;
}

/* What parts do not show: what a cut changes, and what would be a gain if kernels that it makes
 * shared a launch with others, as copies of weights do, wherever they are.  */
static Status try_in_whole(Search *x, Diag *d, bool *any) {
    Status s = ST_OK;
    for (int site = 0; site < search_decided(x)->n && !s; site++) {
        Answer *a = x->answer[site];
        for (int e = 0; e < TE_DECISION_COUNT && a && !s; e++) {
            const Tried *t = &a->tried[e];
            bool may = a->apart >> e & 1 || (t->gone && t->lost < t->spare);
            bool possible = search_decided(x)->possible[site] >> e & 1;
            if (!may || !possible || search_tried(&a->everywhere[e])) continue;
            *any |= try_everywhere(x, a, e);
            s = watch_check(x->whole.plan.asked.o->watch, d);
        }
    }
    return s;
}

/* Tries all that is possible once.  *any: is something of it better?  */
static Status try_all(Search *x, Diag *d, bool *any) {
    int n = search_decided(x)->n, from = x->from;
    Status s = ST_OK;
    for (int i = 0; i < n && !s; i++) {
        int site = (from + i) % n;
        if (!search_decided(x)->possible[site] || is_settled(x, site)) continue;
        try_near(x, site);
        s = watch_check(x->whole.plan.asked.o->watch, d);
    }
    *any = x->accepted != NULL;
    if (s) return s;
    if (*any) search_take_accepted(x);
    else s = try_in_whole(x, d, any);
    return s;
}

Status search_decisions(Search *x, Diag *d) {
    TeDecisions none = {0};
    Planner *plan = &x->whole.plan;
    Parting usual;
    watch_step(plan->asked.o->watch, "plan", 0, 1, "usual");
    near_open(plan->a, &plan->op, &x->near);
    Status s = parting_open(plan, d, &none, &usual);
    if (!s) s = parting_price(plan, d, &usual, NULL, INFINITY, &x->usual_us);
    if (s) return s;
    int n = decisions_of(&usual)->n;
    x->whole.tried = ARENA_ARRAY(plan->a, Tried, n * TE_DECISION_COUNT);
    x->pair = ARENA_ARRAY(plan->a, PairTried *, n * TE_DECISION_COUNT);
    x->refused = ARENA_ARRAY(plan->a, Refused *, n);
    x->answer = ARENA_ARRAY(plan->a, Answer *, n);
    search_adopt(x, &usual);
    for (bool any = true; any && !s;) {
        s = try_all(x, d, &any);
        if (!any && !s) s = search_pairs(x, d, &any);
        if (!any && !s && (any = decide_written(&x->whole))) adopt_best(x);
    }
    return s;
}
