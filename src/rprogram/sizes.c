/* Several programs of a group, and several strategies, for different run-time sizes.  */
#include "rprogram/extents.h"
#include "rprogram/internal.h"
#include "te/tree/tree.h"

#include <string.h>

void rplan_extend(Arena *a, RPlan *p, int more) {
    int n = p->n, all = n + more;
    RPlan x = *p;
    x.group = ARENA_ARRAY(a, KernelGroup, all);
    x.problem = ARENA_ARRAY(a, Problem, all);
    x.prog = ARENA_ARRAY(a, RProg, all);
    x.group_of = ARENA_ARRAY(a, int, all);
    x.outs = ARENA_ARRAY(a, int64_t, all);
    for (int i = 0; i < all; i++) x.outs[i] = -1;
    for (int i = 0; i < n; i++) {
        x.group[i] = p->group[i];
        x.problem[i] = p->problem[i];
        x.prog[i] = p->prog[i];
        x.group_of[i] = rplan_group_of(p, i);
        if (p->outs) x.outs[i] = p->outs[i];
    }
    x.n_group = rplan_groups(p);
    *p = x;
}

/* ---- measures ---- */

/* The product of the extents of indices that vary with the sizes; `bits`: which take part.  */
static TeExtent varying(Arena *a, const TeStmt *s, uint32_t bits) {
    TeExtent all = size_number(1);
    for (int i = 0; i < s->n_index; i++)
        if (bits >> i & 1 && s->index[i].hi.expr) all = size_times(a, all, s->index[i].hi);
    return all;
}

static uint32_t indices(const TeStmt *s, bool reduction) {
    uint32_t bits = 0;
    for (int i = 0; i < s->n_index; i++)
        if (s->index[i].reduction == reduction) bits |= 1u << i;
    return bits;
}

static uint32_t fused(const FusedAxis *x, int first, int n) {
    uint32_t bits = 0;
    for (int i = first; i < first + n; i++) bits |= 1u << x->index[i];
    return bits;
}

TeExtent rplan_domain(Arena *a, const Te *te, const KernelGroup *g) {
    const TeStmt *s = &te->stmt[g->root];
    return varying(a, s, indices(s, false));
}

int rplan_measure(const RSelector *s, const TeExtent *e) {
    for (int i = 0; i < s->n_measure && e->expr; i++) {
        if (te_expr_same(s->measure[i].expr, e->expr)) return i;
    }
    return -1;
}

static void add_measure(RSelector *s, TeExtent e) {
    if (e.expr && rplan_measure(s, &e) < 0) s->measure[s->n_measure++] = e;
}

/* The axes that the group's kernels know: indices that they treat as one, fused.  Windows and
 * columns see each index.  */
static void add_group(Arena *a, const Te *te, const KernelGroup *g, const Problem *p,
                      RSelector *out) {
    const TeStmt *s = &te->stmt[g->root];
    const FusedAxis *digits = &p->permute.out;
    bool each = !p->contraction && !p->row && (p->window.fits || p->column.fits || p->scan.fits);
    for (int axis = 0; axis < AX_CLASSES && p->contraction; axis++)
        add_measure(out, varying(a, s, fused(&p->con.axis[axis], 0, p->con.axis[axis].n)));
    for (int d = 0; d < digits->n_digit && p->permute.fits; d++)
        add_measure(out, varying(a, s, fused(digits, digits->digit[d].first, digits->digit[d].n)));
    for (int i = 0; i < s->n_index && each; i++) add_measure(out, varying(a, s, 1u << i));
    if (!p->contraction) add_measure(out, varying(a, s, indices(s, true)));
    add_measure(out, rplan_domain(a, te, g));
}

static TeExpr *size_node(Arena *a, int size) {
    TeExpr *name = te_expr_node(a, TE_SIZE, TE_I64, 0, 0);
    name->v.ref = size;
    return name;
}

/* What is left of a size beyond multiples of q.  */
static TeExtent rest(Arena *a, int size, int64_t q) {
    TeExpr *e = te_expr_node(a, TE_MOD, TE_I64, 2, 0);
    e->args[0] = size_node(a, size);
    e->args[1] = te_expr_int(a, q, TE_I64, 0);
    return (TeExtent){.value = q - 1, .multiple = 1, .expr = e};
}

TeGiven rplan_given(const Te *op, const Te *strategy, int size) {
    const TeExtent *of = &op->size[size].extent, *is = &strategy->size[size].extent;
    TeGiven given = {0};
    if (!rplan_varies(op, size)) return given;
    if (is->multiple != of->multiple) given.multiple = is->multiple;
    if (is->value < of->value / is->multiple * is->multiple) given.most = is->value;
    return given;
}

void rplan_measures(Arena *a, const RPlan *plan, RSelector *out) {
    int room = plan->te->n_size;
    for (const RPlan *x = plan; x; x = x->other)
        room += (TE_MAX_INDICES + 1) * rplan_groups(x) + x->te->n_size;
    *out = (RSelector){.te = plan->te, .measure = ARENA_ARRAY(a, TeExtent, room + 1)};
    for (const RPlan *x = plan; x; x = x->other) {
        for (int g = 0; g < rplan_groups(x); g++)
            add_group(a, x->te, &x->group[g], &x->problem[g], out);
    }
    out->n_axis = out->n_measure;
    for (int s = 0; s < plan->te->n_size; s++) {
        TeExtent e = plan->te->size[s].extent;
        e.expr = size_node(a, s);
        if (rplan_varies(plan->te, s)) add_measure(out, e);
    }
    for (const RPlan *x = plan; x; x = x->other) {
        for (int s = 0; s < plan->te->n_size; s++) {
            int64_t q = rplan_given(plan->te, x->te, s).multiple;
            if (q) add_measure(out, rest(a, s, q));
        }
    }
}

static bool is_rest_of(const TeExtent *e, int size, int64_t q) {
    return rplan_is_rest(e) && e->expr->args[0]->v.ref == size && e->expr->args[1]->v.i == q;
}

static bool is_size(const TeExtent *e, int size) {
    return e->expr->kind == TE_SIZE && e->expr->v.ref == size;
}

/* The measure that says it of a size: its rest, or itself; -1: there is none.  */
static int measure_of(const RSelector *s, int size, int64_t multiple) {
    int m = s->n_measure - 1;
    for (; m >= 0; m--) {
        const TeExtent *e = &s->measure[m];
        if (multiple ? is_rest_of(e, size, multiple) : is_size(e, size)) break;
    }
    return m;
}

static bool bound_by(RChoice *c, int measure, int64_t most) {
    bool was = measure >= 0 && c->most[measure] <= most;
    if (measure >= 0 && !was) c->most[measure] = most;
    return was;
}

bool rplan_bound_given(const RSelector *s, const Te *strategy, RChoice *c) {
    bool was = true;
    for (int i = 0; i < strategy->n_size; i++) {
        TeGiven given = rplan_given(s->te, strategy, i);
        if (given.multiple) was &= bound_by(c, measure_of(s, i, given.multiple), 0);
        if (given.most) was &= bound_by(c, measure_of(s, i, 0), given.most);
    }
    return was;
}

static void print_expr(const TeExpr *e, Buf *out) {
    static const char mark[] = {[TE_ADD] = '+', [TE_SUB] = '-', [TE_MUL] = '*', [TE_DIV] = '/',
                                [TE_MOD] = '%'};
    bool product = e->kind == TE_MUL, call = e->kind == TE_CALL;
    if (e->kind == TE_SIZE) buf_printf(out, "s%d", e->v.ref);
    else if (e->kind == TE_INT) buf_printf(out, "%lld", (long long)e->v.i);
    else if (e->kind == TE_NEG) buf_putc(out, '-');
    if (call) buf_puts(out, e->v.fn == TE_FN_MAX ? "max" : "min");
    for (int i = 0; i < e->n_args; i++) {
        const TeExpr *x = e->args[i];
        bool plain = x->n_args == 0 || x->kind == TE_CALL || (product && x->kind == TE_MUL);
        if (i > 0) buf_putc(out, call ? ',' : mark[e->kind]);
        if (!plain || (call && i == 0)) buf_putc(out, '(');
        print_expr(x, out);
        if (!plain || (call && i + 1 == e->n_args)) buf_putc(out, ')');
    }
}

void rplan_print_measure(const TeExtent *e, Buf *out) { print_expr(e->expr, out); }

static bool is_bounded(const RSelector *s, int m) {
    bool bounded = false;
    for (int k = 0; k < s->n; k++) bounded |= s->choice[k].most[m] < INT64_MAX;
    return bounded;
}

static void swap_measures(RSelector *s, int x, int y) {
    TeExtent e = s->measure[x];
    s->measure[x] = s->measure[y];
    s->measure[y] = e;
    for (int k = 0; k < s->n; k++) {
        int64_t *most = s->choice[k].most, v = most[x];
        most[x] = most[y];
        most[y] = v;
    }
}

static int order(Arena *a, const TeExtent *x, const TeExtent *y) {
    Buf text[2] = {buf_new(a), buf_new(a)};
    rplan_print_measure(x, &text[0]);
    rplan_print_measure(y, &text[1]);
    return strcmp(buf_str(&text[0]), buf_str(&text[1]));
}

void rplan_keep_bounded(Arena *a, RSelector *s) {
    int n = 0;
    for (int m = 0; m < s->n_measure; m++) {
        if (!is_bounded(s, m)) continue;
        swap_measures(s, n++, m);
        for (int k = n - 1; k > 0 && order(a, &s->measure[k], &s->measure[k - 1]) < 0; k--)
            swap_measures(s, k, k - 1);
    }
    s->n_measure = n;
}

/* ---- the choice ---- */

static bool keeps_bounds(const RSelector *s, const RChoice *c, const int64_t *size) {
    bool keeps = true;
    for (int m = 0; m < s->n_measure && keeps; m++)
        keeps = c->most[m] == INT64_MAX ||
                te_extent_eval(s->te, &s->measure[m], size) <= c->most[m];
    return keeps;
}

const RChoice *rplan_choose(const RSelector *s, const int64_t *size) {
    const RChoice *c = s->choice, *last = c + s->n - 1;
    while (c < last && !keeps_bounds(s, c, size)) c++;
    return c;
}

bool rplan_upto(const RSelector *s, int strategy, int group, int program, int64_t *upto) {
    bool any = false;
    for (int i = 0; i < s->te->n_size; i++) {
        int64_t most = 0, all = s->te->size[i].extent.value;
        for (int k = 0; k < s->n; k++) {
            const RChoice *c = &s->choice[k];
            if (c->strategy != strategy || c->program[group] != program) continue;
            int64_t here = all;
            for (int m = 0; m < s->n_measure; m++) {
                const TeExpr *e = s->measure[m].expr;
                if (e->kind == TE_SIZE && e->v.ref == i && c->most[m] < here) here = c->most[m];
            }
            if (here > most) most = here;
            any = true;
        }
        upto[i] = rplan_varies(s->te, i) ? most : all;
    }
    return any;
}

/* Points of the domain for which the program is taken at most; -1: no choice bounds it.  */
static int64_t most_outs(const RSelector *s, const TeExtent *domain, int strategy, int group,
                         int program) {
    int64_t most = 0;
    int m = rplan_measure(s, domain);
    for (int k = 0; k < s->n; k++) {
        const RChoice *c = &s->choice[k];
        if (c->strategy != strategy || c->program[group] != program) continue;
        if (m < 0 || c->most[m] == INT64_MAX) return -1;
        if (c->most[m] > most) most = c->most[m];
    }
    return most;
}

void rplan_bound(Arena *a, RPlan *plan) {
    const RSelector *s = plan->select;
    int strategy = 0;
    for (RPlan *x = plan; x; x = x->other, strategy++) {
        TeSized ops = {a, x->te, NULL};
        int64_t *upto = ARENA_ARRAY(a, int64_t, x->te->n_size + 1);
        if (!x->group_of) rplan_extend(a, x, 0);
        for (int i = 0; i < x->n; i++) {
            int g = x->group_of[i];
            TeExtent domain = rplan_domain(a, x->te, &x->group[i]);
            Problem all = x->problem[i];
            if (!rplan_upto(s, strategy, g, i, upto)) continue;
            x->outs[i] = most_outs(s, &domain, strategy, g, i);
            rtile_resize(a, &all, te_sized_once(&ops, upto), x->align, &x->problem[i]);
        }
    }
}

int64_t rplan_partial_bytes(const RPlan *p, int i) {
    int64_t bytes = rprog_workspace(&p->problem[i], &p->prog[i]), points = 1;
    if (!p->outs || p->outs[i] < 0 || bytes == 0 || p->prog[i].stats) return bytes;
    if (rprog_workspace_fixed(&p->problem[i], &p->prog[i])) return bytes;
    const TeStmt *s = &p->problem[i].te->stmt[p->group[i].root];
    for (int k = 0; k < s->n_index; k++)
        if (!s->index[k].reduction && s->index[k].hi.expr) points *= s->index[k].hi.value;
    return p->outs[i] < points ? ceil_div(bytes, points) * p->outs[i] : bytes;
}
