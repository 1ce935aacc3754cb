#include "driver/search.h"
#include "base/hash.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- the best parting of the whole ---- */

static const TeDecisions *decided(const Search *x) { return decisions_of(&x->whole.best); }

static void adopt(Search *x, const Parting *best) {
    const Parting *was = x->near.parting;
    if (was)
        for (int g = 0; g < was->set.n_group; g++) was->kernel[g]->present = 0;
    Parting *p = ARENA_NEW(x->whole.plan.a, Parting);
    *p = x->whole.best = *best;
    for (int g = 0; g < p->set.n_group; g++) p->kernel[g]->present++;
    x->changed = ARENA_ARRAY(x->whole.plan.a, bool, p->set.n_group);
    for (; x->accepted; x->accepted = x->accepted->next) x->accepted->answer->accepted = false;
    x->total = parting_total(p);
    near_part_ways(&x->near, p);
}

/* As long as the kernels are there that it would replace, what was no gain will be none.  */
static bool was_tried(const Tried *t) {
    bool all = t->gone != NULL;
    for (int i = 0; i < t->n && all; i++) all = t->gone[i]->present > 0;
    return all;
}

/* Tells what is tried now, of what there was to try when it began.  */
static void tell_step(Search *x, int site, int d) {
    const TeDecisions *from = decided(x);
    int all = 1, done = ++x->steps;
    if (!x->whole.plan.asked.o->watch) return;
    for (int i = 0; i < from->n; i++)
        for (int e = 0; e < TE_DECISION_COUNT; e++) all += from->possible[i] >> e & 1;
    watch_step(x->whole.plan.asked.o->watch, "plan", done < all ? done : all - 1, all,
               arena_printf(x->whole.plan.a, "%s %s", from->name[site], te_decision_name[d]));
}

/* ---- a question in a part ---- */

static int place_in(const NearPart *p, int stmt) {
    int i = 0;
    while (i < p->n && p->stmt[i] != stmt) i++;
    return i;
}

static bool same_question(const Question *a, const Question *b) {
    bool same = a->n == b->n;
    for (int i = 0; i < a->n && same; i++)
        same = a->site[i] == b->site[i] && (a->n == 1 || a->decision[i] == b->decision[i]);
    return same;
}

/* Are they kernels of the whole?  What a cut makes of others, no decision changes.  */
static bool are_present(const Kernel *const *k, int n) {
    bool all = true;
    for (int i = 0; i < n; i++) all &= k[i]->present > 0;
    return all;
}

/* What the gain replaces, and how; false: that is not what there is in the whole.  */
static bool keep_gain(Decider *part, const Parting *was, Answer *out) {
    const TeDecisions *from = decisions_of(was), *to = decisions_of(&part->best);
    Arena *a = part->plan.a;
    Diag quiet = diag_new(a);
    double had, us;
    bool own[TE_MAX_STMTS];
    parting_own(was, &part->best, own);
    out->gone = ARENA_ARRAY(a, const Kernel *, was->set.n_group);
    out->n_gone = 0;
    for (int g = 0; g < was->set.n_group; g++)
        if (own[g]) out->gone[out->n_gone++] = was->kernel[g];
    if (!are_present(out->gone, out->n_gone)) return false;
    out->flip = ARENA_ARRAY(a, Flip, from->n);
    for (int i = 0; i < from->n; i++) {
        uint8_t bits = from->taken[i] ^ to->taken[i];
        if (bits) out->flip[out->n_flip++] = (Flip){i, bits};
    }
    parting_price(&part->plan, &quiet, was, &part->best, INFINITY, &had);
    parting_price(&part->plan, &quiet, &part->best, was, INFINITY, &us);
    out->gain = had - us;
    return true;
}

/* Decision e of the site that is asked about.  True: it is a gain.  */
static bool answer_one(Decider *part, int e, Answer *out) {
    Parting was = part->best;
    int site = out->question.site[0];
    Tried *tried = &part->tried[site * TE_DECISION_COUNT + e];
    bool gain = decide_one(part, site, e);
    if (gain && keep_gain(part, &was, out)) return true;
    part->best = was;
    if (gain || !are_present(tried->gone, tried->n)) out->apart |= (uint8_t)(1u << e);
    else out->tried[e] = *tried;
    return false;
}

static void answer(Search *x, const NearPart *p, const TeDecisions *taken, uint8_t possible,
                   Answer *out) {
    const Question *q = &out->question;
    Decider part = {.plan = x->whole.plan,
                    .tried = ARENA_ARRAY(x->whole.plan.a, Tried, p->n * TE_DECISION_COUNT)};
    Diag quiet = diag_new(part.plan.a);
    part.plan.op = p->op;
    bool gain = parting_open(&part.plan, &quiet, taken, &part.best) != ST_OK;
    uint8_t here = gain ? 0 : decisions_of(&part.best)->possible[q->site[0]];
    Parting was = part.best;
    if (q->n == 1) {
        out->apart = (uint8_t)(possible & ~here);
        for (int e = 0; e < TE_DECISION_COUNT && !gain; e++)
            gain = (possible & here) >> e & 1 && answer_one(&part, e, out);
    } else if (!gain) {
        int one = q->site[0] * TE_DECISION_COUNT + q->decision[0];
        int other = q->site[1] * TE_DECISION_COUNT + q->decision[1];
        if (decide_pair(&part, one, other, &out->tried[0])) keep_gain(&part, &was, out);
    }
    x->whole.plan.planned = part.plan.planned;
}

/* The answer in the part, which may be known from an equal one.  */
static Answer *ask(Search *x, const Question *q, NearPart *p) {
    Arena *a = x->whole.plan.a;
    const TeDecisions *from = decided(x);
    ArenaMark mark = arena_mark(a);
    TeDecisions taken = {0};
    Answer now = {.question = *q};
    near_cut(&x->near, p);
    for (int i = 0; i < p->n; i++) taken.taken[i] = from->taken[p->stmt[i]];
    for (int i = 0; i < q->n; i++) now.question.site[i] = place_in(p, q->site[i]);
    now.text = access_part_text(a, p->op.te, taken.taken);
    now.hash = hash64(now.text, strlen(now.text), 0);
    Answer **bucket = &x->known[now.hash % SEARCH_BUCKETS], *known = *bucket;
    while (known && !(known->hash == now.hash && strcmp(known->text, now.text) == 0 &&
                      same_question(&known->question, &now.question)))
        known = known->next;
    if (known) {
        arena_reset(a, mark);
        return known;
    }
    answer(x, p, &taken, from->possible[q->site[0]], &now);
    x->pairs += q->n == 2;
    now.next = *bucket;
    *bucket = ARENA_NEW(a, Answer);
    **bucket = now;
    return *bucket;
}

/* ---- gains ---- */

static bool is_changed(const Search *x, const NearPart *p) {
    bool any = false;
    for (int i = 0; i < p->n_group; i++) any |= x->changed[p->group[i]];
    return any;
}

static void accept(Search *x, const NearPart *p, Answer *found, int site) {
    Accepted *now = ARENA_NEW(x->whole.plan.a, Accepted);
    if (!x->accepted) x->from = site;
    *now = (Accepted){found, site, p->stmt, x->accepted};
    x->accepted = now;
    found->accepted = true;
    for (int i = 0; i < p->n_group; i++) {
        const Kernel *k = x->whole.best.kernel[p->group[i]];
        for (int j = 0; j < found->n_gone; j++)
            x->changed[p->group[i]] |= found->gone[j] == k;
    }
}

static void flip(TeDecisions *taken, const Accepted *x) {
    for (int i = 0; i < x->answer->n_flip; i++)
        taken->taken[x->stmt[x->answer->flip[i].stmt]] ^= x->answer->flip[i].bits;
}

static bool was_refused(const Search *x, const Answer *found, int site) {
    const Refused *r = x->refused[site];
    while (r && r->answer != found) r = r->next;
    return r != NULL;
}

static void refuse(Search *x, const Accepted *one) {
    Refused *r = ARENA_NEW(x->whole.plan.a, Refused);
    *r = (Refused){one->answer, x->refused[one->site]};
    x->refused[one->site] = r;
}

/* One gain alone, if it is one in the whole.  */
static void take_one(Search *x, const Accepted *one) {
    TeDecisions taken = *decided(x);
    Diag quiet = diag_new(x->whole.plan.a);
    Parting now;
    double had, us;
    flip(&taken, one);
    bool gain = !parting_open(&x->whole.plan, &quiet, &taken, &now) &&
                decide_better(&x->whole, &quiet, &now, &had, &us);
    if (gain) adopt(x, &now);
    else refuse(x, one);
}

/* All that was accepted: at once if that does what it does in parts, else each as far as it is a
 * gain in the whole.  */
static void take_accepted(Search *x) {
    enum { SURE = 2 };                    /* at least that part of what was expected */
    TeDecisions taken = *decided(x);
    Diag quiet = diag_new(x->whole.plan.a);
    Parting now;
    double expected = 0, us;
    const Accepted *first = x->accepted;
    for (const Accepted *i = first; i; i = i->next) {
        flip(&taken, i);
        expected += i->answer->gain;
    }
    bool opens = !parting_open(&x->whole.plan, &quiet, &taken, &now) &&
                 !parting_price(&x->whole.plan, &quiet, &now, NULL, INFINITY, &us);
    if (opens && x->total - us > expected / SURE) {
        adopt(x, &now);
        return;
    }
    for (const Accepted *i = first; i; i = i->next) take_one(x, i);
    adopt(x, &x->whole.best);
}

/* ---- one site after the other ---- */

static bool is_settled(const Search *x, int site) {
    bool all = true;
    for (int e = 0; e < TE_DECISION_COUNT && all; e++)
        all = !(decided(x)->possible[site] >> e & 1) ||
              was_tried(&x->whole.tried[site * TE_DECISION_COUNT + e]);
    return all;
}

static void try_near(Search *x, int site) {
    NearPart p;
    Question q = {.site = {site}, .n = 1};
    uint8_t possible = decided(x)->possible[site];
    near_find(&x->near, &site, 1, &p);
    for (int e = 0; e < TE_DECISION_COUNT; e++)
        if (possible >> e & 1) tell_step(x, site, e);
    Answer *found = ask(x, &q, &p);
    if (is_changed(x, &p) && !found->accepted) return;
    x->answer[site] = found;
    for (int e = 0; e < TE_DECISION_COUNT; e++)
        if (found->tried[e].gone)
            x->whole.tried[site * TE_DECISION_COUNT + e] = found->tried[e];
    if (found->n_flip > 0 && !was_refused(x, found, site)) accept(x, &p, found, site);
}

/* One decision wherever the answer is the same.  */
static bool try_everywhere(Search *x, Answer *same, int e) {
    TeDecisions taken = *decided(x), seen;
    int places = 0, last = 0;
    for (int site = 0; site < taken.n; site++) {
        if (x->answer[site] != same || !(taken.possible[site] >> e & 1)) continue;
        taken.taken[site] ^= (uint8_t)(1u << e);
        last = site;
        places++;
    }
    Tried *tried = &same->everywhere[e];
    bool gain = places == 1 ? decide_one(&x->whole, last, e)
                            : decide_as(&x->whole, &taken, &seen, tried);
    if (places == 1) *tried = x->whole.tried[last * TE_DECISION_COUNT + e];
    if (!gain) return false;
    Parting best = x->whole.best;
    adopt(x, &best);
    return true;
}

/* What parts do not show: what a cut changes, and what would be a gain if kernels that it makes
 * shared a launch with others, as copies of weights do, wherever they are.  */
static Status try_in_whole(Search *x, Diag *d, bool *any) {
    Status s = ST_OK;
    for (int site = 0; site < decided(x)->n && !s; site++) {
        Answer *a = x->answer[site];
        for (int e = 0; e < TE_DECISION_COUNT && a && !s; e++) {
            const Tried *t = &a->tried[e];
            bool may = a->apart >> e & 1 || (t->gone && t->lost < t->spare);
            if (!may || !(decided(x)->possible[site] >> e & 1) || was_tried(&a->everywhere[e]))
                continue;
            *any |= try_everywhere(x, a, e);
            s = watch_check(x->whole.plan.asked.o->watch, d);
        }
    }
    return s;
}

/* Tries all that is possible once.  *any: is something of it better?  */
static Status try_all(Search *x, Diag *d, bool *any) {
    int n = decided(x)->n, from = x->from;
    Status s = ST_OK;
    for (int i = 0; i < n && !s; i++) {
        int site = (from + i) % n;
        if (!decided(x)->possible[site] || is_settled(x, site)) continue;
        try_near(x, site);
        s = watch_check(x->whole.plan.asked.o->watch, d);
    }
    *any = x->accepted != NULL;
    if (s) return s;
    if (*any) take_accepted(x);
    else s = try_in_whole(x, d, any);
    return s;
}

/* ---- pairs ---- */

static bool share_kernel(const Tried *a, const Tried *b) {
    bool same = false;
    for (int i = 0; i < a->n; i++)
        for (int k = 0; k < b->n; k++) same |= a->gone[i] == b->gone[k];
    return same;
}

static bool pair_was_tried(const Search *x, int one, int other) {
    const PairTried *p = x->pair[one];
    while (p && !(p->other == other && was_tried(&p->tried))) p = p->next;
    return p != NULL;
}

typedef struct {
    int decision;
    double lost;
} Open;

static int by_loss(const void *a, const void *b) {
    const Open *p = a, *q = b;
    return p->lost != q->lost ? (p->lost < q->lost ? -1 : 1) : p->decision - q->decision;
}

static int by_number(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }

/* What can be decided, that which loses the least first, and which place each has there (-1:
 * none).  */
static int open_decisions(const Search *x, Open *open, int *rank) {
    const TeDecisions *now = decided(x);
    int n = 0;
    for (int i = 0; i < now->n * TE_DECISION_COUNT; i++) {
        const Tried *t = &x->whole.tried[i];
        bool possible = now->possible[i / TE_DECISION_COUNT] >> i % TE_DECISION_COUNT & 1;
        rank[i] = -1;
        if (possible && t->gone && isfinite(t->lost)) open[n++] = (Open){i, t->lost};
    }
    qsort(open, (size_t)n, sizeof *open, by_loss);
    for (int i = 0; i < n; i++) rank[open[i].decision] = i;
    return n;
}

/* Those before `one` that replace a kernel that it would replace.  Equal kernels of other places,
 * as repeated layers have them, are not the same.  */
static int meeting(Search *x, const int *rank, int one, int *before) {
    int n = 0, site = one / TE_DECISION_COUNT;
    NearPart p;
    near_find(&x->near, &site, 1, &p);
    for (int i = 0; i < p.n * TE_DECISION_COUNT; i++) {
        int other = p.stmt[i / TE_DECISION_COUNT] * TE_DECISION_COUNT + i % TE_DECISION_COUNT;
        if (rank[other] >= 0 && rank[other] < rank[one] &&
            share_kernel(&x->whole.tried[one], &x->whole.tried[other]))
            before[n++] = rank[other];
    }
    qsort(before, (size_t)n, sizeof *before, by_number);
    return n;
}

static void try_pair(Search *x, int one, int other) {
    Question q = {.site = {one / TE_DECISION_COUNT, other / TE_DECISION_COUNT}, .n = 2,
                  .decision = {one % TE_DECISION_COUNT, other % TE_DECISION_COUNT}};
    NearPart p;
    near_find(&x->near, q.site, q.n, &p);
    Answer *found = ask(x, &q, &p);
    if (is_changed(x, &p) && !found->accepted) return;
    if (found->n_flip > 0 && !was_refused(x, found, q.site[0])) {
        accept(x, &p, found, q.site[0]);
        return;
    }
    PairTried *t = ARENA_NEW(x->whole.plan.a, PairTried);
    *t = (PairTried){other, found->tried[0], x->pair[one]};
    x->pair[one] = t;
}

/* Two decisions of which none is a gain alone, as when each of two operands keeps a product from
 * its fastest unit.  As many pairs as there were single ones, at most.  */
static Status try_pairs(Search *x, Diag *d, bool *any) {
    Arena *a = x->whole.plan.a;
    int all = decided(x)->n * TE_DECISION_COUNT;
    Open *open = ARENA_ARRAY(a, Open, all);
    int *rank = ARENA_ARRAY(a, int, all), *before = ARENA_ARRAY(a, int, all);
    int n = open_decisions(x, open, rank);
    Status s = ST_OK;
    for (int k = 1; k < n && x->pairs < x->steps && !s; k++) {
        int one = open[k].decision, n_before = meeting(x, rank, one, before);
        for (int i = 0; i < n_before && x->pairs < x->steps && !s; i++) {
            int other = open[before[i]].decision;
            if (pair_was_tried(x, one, other)) continue;
            try_pair(x, one, other);
            s = watch_check(x->whole.plan.asked.o->watch, d);
        }
    }
    *any = x->accepted != NULL;
    if (*any && !s) take_accepted(x);
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
    adopt(x, &usual);
    for (bool any = true; any && !s;) {
        s = try_all(x, d, &any);
        if (!any && !s) s = try_pairs(x, d, &any);
    }
    return s;
}
