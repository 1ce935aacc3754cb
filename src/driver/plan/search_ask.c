/* Questions in parts of the op, and gains that become the best parting of the whole.  */
#include "driver/plan/search_ask.h"
#include <math.h>
#include <string.h>

/* ---- the best parting of the whole ---- */

void search_adopt(Search *x, const Parting *best) {
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
bool search_tried(const Tried *t) {
    bool all = t->gone != NULL;
    for (int i = 0; i < t->n && all; i++) all = t->gone[i]->present > 0;
    return all;
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
    Arena *a = part->plan.kept;
    Diag quiet = diag_new(part->plan.a);
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
        TeDecided bits = from->taken[i] ^ to->taken[i];
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
    if (gain || !are_present(tried->gone, tried->n)) out->apart |= (TeDecided)(1u << e);
    else out->tried[e] = *tried;
    return false;
}

/* The part as it is decided so far.  It is asked many questions in a row, and opened for the first
 * of them.  */
static bool open_part(Search *x, const NearPart *p, const TeDecisions *taken, const TextKey *key) {
    OpenPart *part = &x->part;
    Arena *a = x->whole.plan.part;
    if (part->parting.set.normal && same_key(&part->key, key)) return part->parting.kernel != NULL;
    if (part->parting.set.normal) arena_reset(a, part->mark);
    *part = (OpenPart){.key = *key, .mark = arena_mark(a)};
    Planner plan = x->whole.plan;
    Diag quiet = diag_new(plan.a);
    plan.a = a;
    plan.op = p->op;
    return parting_open(&plan, &quiet, taken, &part->parting) == ST_OK;
}

static void answer(Search *x, const NearPart *p, const TeDecisions *taken, TeDecided possible,
                   Answer *out) {
    const Question *q = &out->question;
    Decider part = {.plan = x->whole.plan,
                    .tried = ARENA_ARRAY(x->whole.plan.a, Tried, p->n * TE_DECISION_COUNT)};
    bool gain = !open_part(x, p, taken, &out->key);
    part.plan.op = p->op;
    part.best = x->part.parting;
    TeDecided here = gain ? 0 : decisions_of(&part.best)->possible[q->site[0]];
    Parting was = part.best;
    if (q->n == 1) {
        out->apart = (TeDecided)(possible & ~here);
        for (int e = 0; e < TE_DECISION_COUNT && !gain; e++)
            gain = (possible & here) >> e & 1 && answer_one(&part, e, out);
    } else if (!gain) {
        int one = q->site[0] * TE_DECISION_COUNT + q->decision[0];
        int other = q->site[1] * TE_DECISION_COUNT + q->decision[1];
        if (decide_pair(&part, one, other, &out->tried[0])) keep_gain(&part, &was, out);
    }
    x->whole.plan.planned = part.plan.planned;
}

/* Does something that was accepted replace a kernel of the part?  */
static bool is_changed(const Search *x, const NearPart *p) {
    bool any = false;
    for (int i = 0; i < p->n_group; i++) any |= x->changed[p->group[i]];
    return any;
}

/* Could something that was accepted be the answer?  It is about as many statements, at the same
 * places of them.  */
static bool may_be_accepted(const Search *x, const Question *q, const NearPart *p) {
    const Accepted *i = x->accepted;
    for (; i; i = i->next) {
        const Question *had = &i->answer->question;
        bool same = i->n == p->n && had->n == q->n;
        for (int k = 0; k < q->n && same; k++) same = had->site[k] == place_in(p, q->site[k]);
        if (same) return true;
    }
    return false;
}

Answer *search_ask(Search *x, const Question *q, NearPart *p) {
    bool changed = is_changed(x, p);
    if (changed && !may_be_accepted(x, q, p)) return NULL;
    Arena *a = x->whole.plan.a, *kept = x->whole.plan.kept;
    const TeDecisions *from = search_decided(x);
    ArenaMark mark = arena_mark(a);
    TeDecisions taken = {0};
    Answer now = {.question = *q};
    near_cut(&x->near, p);
    for (int i = 0; i < p->n; i++) taken.taken[i] = from->taken[p->stmt[i]];
    for (int i = 0; i < q->n; i++) now.question.site[i] = place_in(p, q->site[i]);
    now.key = text_key(access_part_text(a, p->op.te, taken.taken));
    Answer **bucket = &x->known[key_bucket(&now.key, SEARCH_BUCKETS)], *known = *bucket;
    while (known && !(same_key(&known->key, &now.key) &&
                      same_question(&known->question, &now.question)))
        known = known->next;
    if (!known && !changed) {
        answer(x, p, &taken, from->possible[q->site[0]], &now);
        x->pairs += q->n == 2;
        now.next = *bucket;
        known = *bucket = ARENA_NEW(kept, Answer);
        *known = now;
    }
    arena_reset(a, mark);
    return known && (known->accepted || !changed) ? known : NULL;
}

/* ---- gains ---- */

void search_accept(Search *x, const NearPart *p, Answer *found, int site) {
    Accepted *now = ARENA_NEW(x->whole.plan.kept, Accepted);
    if (!x->accepted) x->from = site;
    *now = (Accepted){found, site, ARENA_ARRAY(x->whole.plan.kept, int, p->n), p->n, x->accepted};
    memcpy(now->stmt, p->stmt, (size_t)p->n * sizeof *p->stmt);
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

bool search_refused(const Search *x, const Answer *found, int site) {
    const Refused *r = x->refused[site];
    while (r && r->answer != found) r = r->next;
    return r != NULL;
}

static void refuse(Search *x, const Accepted *one) {
    Refused *r = ARENA_NEW(x->whole.plan.kept, Refused);
    *r = (Refused){one->answer, x->refused[one->site]};
    x->refused[one->site] = r;
}

/* One gain alone, if it is one in the whole.  */
static void take_one(Search *x, const Accepted *one) {
    ArenaMark mark = arena_mark(x->whole.plan.a);
    TeDecisions taken = *search_decided(x);
    Diag quiet = diag_new(x->whole.plan.a);
    Parting now;
    double had, us;
    flip(&taken, one);
    bool gain = !parting_open(&x->whole.plan, &quiet, &taken, &now) &&
                decide_better(&x->whole, &quiet, &now, &had, &us);
    if (gain) {
        search_adopt(x, &now);
        return;
    }
    refuse(x, one);
    arena_reset(x->whole.plan.a, mark);
}

void search_take_accepted(Search *x) {
    enum { SURE = 2 };                    /* at least that part of what was expected */
    ArenaMark mark = arena_mark(x->whole.plan.a);
    TeDecisions taken = *search_decided(x);
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
        search_adopt(x, &now);
        return;
    }
    arena_reset(x->whole.plan.a, mark);
    for (const Accepted *i = first; i; i = i->next) take_one(x, i);
    search_adopt(x, &x->whole.best);
}
