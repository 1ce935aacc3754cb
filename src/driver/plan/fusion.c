#include "driver/plan/fusion.h"
#include "driver/plan/search.h"
#include <math.h>
#include <string.h>

/* Is the statement a product of what rows of another one come to, which could share its kernel, but
 * does not?  */
static bool is_left_apart(const Te *te, const TeStmt *s) {
    const TeExpr *e = s->rhs;
    bool product = e->kind == TE_REDUCE && e->red == TE_RED_SUM && e->args[0]->kind == TE_MUL;
    const TeDecisions *x = te->decisions;
    return product && (x->possible[s->site] & ~x->taken[s->site]) >> TE_JOINED & 1;
}

/* Why there is no program for the product and the one before it.  */
static const char *joined_refusal(Search *x, int site) {
    Planner *plan = &x->whole.plan;
    TeDecisions joined = *decisions_of(&x->whole.best);
    Diag quiet = diag_new(plan->a);
    Parting p;
    joined.taken[site] |= 1 << TE_JOINED;
    return parting_open(plan, &quiet, &joined, &p) ? NULL : parting_chain_refusal(plan, &p);
}

/* What such products would take in one kernel.  */
static void tell_apart(Search *x, Buf *out) {
    const Te *te = x->whole.best.set.normal;
    for (int i = 0; i < te->n_stmt; i++) {
        const TeStmt *s = &te->stmt[i];
        if (!is_left_apart(te, s)) continue;
        double lost = x->whole.tried[s->site * TE_DECISION_COUNT + TE_JOINED].lost;
        buf_printf(out, "product %s apart: in one kernel with the product before it ",
                   te->decisions->name[s->site]);
        if (isfinite(lost) && lost > 0) buf_printf(out, "%.2f us more", lost);
        else buf_puts(out, isfinite(lost) ? "hardly less" : "there is no program");
        const char *why = isfinite(lost) ? NULL : joined_refusal(x, s->site);
        buf_printf(out, "%s%s\n\n", why ? ": " : "", why ? why : "");
    }
}

static const char *tell(Search *x) {
    Arena *a = x->whole.plan.a;
    const PlanSet *set = &x->whole.best.set;
    const char *text = te_decisions_text(a, set->normal);
    Buf out = buf_new(a);
    if (strcmp(text, "usual") != 0)
        buf_printf(&out, "decisions: %s\n  %d kernel%s in %.2f us; the usual ones take"
                   " %.2f us\n\n", text, set->n_group, set->n_group == 1 ? "" : "s",
                   parting_total(&x->whole.best), x->usual_us);
    tell_apart(x, &out);
    return out.len ? buf_str(&out) : NULL;
}

static Status open_search(Arena *a, Diag *d, const PlanRequest *r, Search **out) {
    Search *x = *out = ARENA_NEW(a, Search);
    *x = (Search){.whole = {.plan = {.a = a, .kept = arena_beside(a),
                                     .part = arena_beside(a), .asked = *r,
                                     .known = ARENA_NEW(a, KnownKernels)}}};
    return te_canonical(a, d, r->te, &x->whole.plan.op);
}

Status fusion_plan(Arena *a, Diag *d, const PlanRequest *r, PlanSet *out) {
    Search *x;
    Status s = open_search(a, d, r, &x);
    if (!s) s = search_decisions(x, d);
    if (!s) s = parting_fill(&x->whole.plan, d, &x->whole.best);
    if (s) return s;
    *out = x->whole.best.set;
    out->decisions = tell(x);
    return ST_OK;
}

/* ---- run-time sizes ---- */

static bool same_kernels(const Parting *p, const Parting *q) {
    bool same = p->set.n_group == q->set.n_group;
    for (int g = 0; g < p->set.n_group && same; g++) same = p->kernel[g] == q->kernel[g];
    return same;
}

/* Where what is decided may differ: at the largest sizes (size -1, part 1), the smallest, between
 * them in orders of magnitude, and with one size alone the smallest.  */
static int64_t *sizes_at(Arena *a, const Te *te, int size, double part) {
    int64_t *value = ARENA_ARRAY(a, int64_t, te->n_size + 1);
    for (int i = 0; i < te->n_size; i++) {
        const TeExtent *e = &te->size[i].extent;
        double lo = e->min > 1 ? (double)e->min : 1, hi = (double)e->value;
        value[i] = e->value;
        if (!rplan_varies(te, i) || (size >= 0 && i != size) || part == 1) continue;
        int64_t steps = (int64_t)(lo * pow(hi / lo, part) / (double)e->multiple);
        value[i] = steps * e->multiple > e->min ? steps * e->multiple : e->min;
    }
    return value;
}

/* The decisions that are the fastest at these sizes, and nothing else of the search; false: there
 * is no plan.  */
static bool decide_at(const Search *like, const int64_t *size, TeDecisions *out) {
    Arena *a = like->whole.plan.a, *kept = like->whole.plan.kept, *part = like->whole.plan.part;
    ArenaMark was = arena_mark(a), kept_was = arena_mark(kept), part_was = arena_mark(part);
    Search *x = ARENA_NEW(a, Search);
    *x = (Search){.whole = {.plan = like->whole.plan}};
    x->whole.plan.size = size;
    x->whole.plan.known = ARENA_NEW(a, KnownKernels);
    Diag quiet = diag_new(a);
    bool any = search_decisions(x, &quiet) == ST_OK;
    if (any) *out = *decisions_of(&x->whole.best);
    arena_reset(part, part_was);
    arena_reset(kept, kept_was);
    arena_reset(a, was);
    return any;
}

/* Opens and prices what is decided; *known: has one of the n before the same kernels?  */
static Status plan_strategy(Search *x, Diag *d, const TeDecisions *decisions, Parting *p, int n,
                            bool *known) {
    double us;
    ArenaMark mark = arena_mark(x->whole.plan.a);
    Status s = parting_open(&x->whole.plan, d, decisions, &p[n]);
    *known = false;
    for (int k = 0; k < n && !*known && !s; k++) *known = same_kernels(&p[k], &p[n]);
    if (*known) arena_reset(x->whole.plan.a, mark);
    return s || *known ? s : parting_price(&x->whole.plan, d, &p[n], NULL, INFINITY, &us);
}

/* Decisions that are the fastest at some sizes, the usual ones first; returns how many.  */
static int decide_all(Search *x, Arena *a, const Te *te, TeDecisions *all, int most) {
    int found = 2;
    all[1] = *decisions_of(&x->whole.best);
    if (x->steps == 0) return found;
    found += decide_at(x, sizes_at(a, te, -1, 0), &all[found]);
    found += decide_at(x, sizes_at(a, te, -1, 0.5), &all[found]);
    for (int i = 0; i < te->n_size && most > 5; i++)
        if (rplan_varies(te, i)) found += decide_at(x, sizes_at(a, te, i, 0), &all[found]);
    return found;
}

static int varying(const Te *te) {
    int n = 0;
    for (int i = 0; i < te->n_size; i++) n += rplan_varies(te, i);
    return n;
}

/* Plans what is decided in each of n ways.  */
static Status plan_strategies(Arena *a, Diag *d, Search *x, const TeDecisions *all, int n,
                              Strategies *out) {
    Parting *p = ARENA_ARRAY(a, Parting, n);
    *out = (Strategies){.set = ARENA_ARRAY(a, PlanSet, n)};
    for (int i = 0; i < n; i++) {
        Diag quiet = diag_new(a);
        Parting *now = &p[out->n];
        bool known;
        Status s = watch_check(x->whole.plan.asked.o->watch, d);
        if (s) return s;
        if (plan_strategy(x, &quiet, &all[i], p, out->n, &known) || known) continue;
        if (parting_total(now) < parting_total(&p[out->best]) * (1 - 1.0 / DECIDE_NEAR))
            out->best = out->n;
        if ((s = parting_fill(&x->whole.plan, d, now))) return s;
        out->set[out->n++] = now->set;
    }
    return watch_check(x->whole.plan.asked.o->watch, d);
}

static Status search(Arena *a, Diag *d, const PlanRequest *r, Search **x) {
    Status s = open_search(a, d, r, x);
    return s ? s : search_decisions(*x, d);
}

Status fusion_strategies(Arena *a, Diag *d, const PlanRequest *r, Strategies *out) {
    enum { ALWAYS = 4 };
    Search *x;
    int most = ALWAYS + varying(r->te);
    TeDecisions *all = ARENA_ARRAY(a, TeDecisions, most);
    Status s = search(a, d, r, &x);
    if (s) return s;
    int n = decide_all(x, a, r->te, all, most);
    return plan_strategies(a, d, x, all, n, out);
}

/* Is a size known to be small, but not which it is?  Then sums over it may be written out.  */
static bool knows_few(const Te *op, const Te *te) {
    bool few = false;
    for (int i = 0; i < te->n_size; i++) few |= rplan_given(op, te, i).most > 1;
    return few;
}

/* The same, and sums written out where that is possible, by those that read them.  */
static TeDecisions with_written_sums(const TeDecisions *of) {
    TeDecisions out = *of;
    for (int i = 0; i < out.n; i++) out.taken[i] |= 1u << TE_UNROLLED | 1u << TE_REPEATED;
    return out;
}

Status fusion_given(Arena *a, Diag *d, const PlanRequest *r, const Strategies *like,
                    Strategies *out) {
    Search *x;
    TeDecisions *all = ARENA_ARRAY(a, TeDecisions, 2 * like->n + 1);
    Status s = search(a, d, r, &x);
    if (s) return s;
    int n = 0;
    for (; n < like->n; n++) all[n] = *like->set[n].normal->decisions;
    all[n++] = *decisions_of(&x->whole.best);
    if (knows_few(like->set->te, r->te))
        for (int i = 0; i < like->n; i++) all[n++] = with_written_sums(&all[i]);
    return plan_strategies(a, d, x, all, n, out);
}
