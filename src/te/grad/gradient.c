/* From an op to its gradient: forwards once, to the statements that derivatives are taken of, then
 * backwards.  */
#include "te/grad/gradient.h"
#include "te/edit/edit.h"
#include "te/grad/grad.h"

#include <string.h>

/* ---- the derivative by one tensor ---- */
static bool is_real(TeDtype t) { return te_dtype_class(t) == TE_CLASS_REAL; }

static void add_part(Grad *g, int tensor, int part) {
    GradTensor *t = &g->tensor[tensor];
    t->part = arena_grow(g->a, t->part, &t->room, t->n_part + 1, sizeof *t->part);
    t->part[t->n_part++] = part;
}

static TeExpr *sum_of_parts(Grad *g, const GradTensor *t) {
    TeExpr *sum = NULL;
    for (size_t i = 0; i < t->n_part; i++) {
        TeExpr *part = grad_read(g, t->part[i], t->t.rank);
        sum = sum ? grad_node(g, TE_ADD, sum, part) : part;
    }
    return sum;
}

/* The tensor that has it; -1: it is 0.  */
static int derivative(Grad *g, int tensor) {
    const GradTensor *t = &g->tensor[tensor];
    if (t->n_part <= 1) return t->n_part ? t->part[0] : -1;
    TeExpr *sum = sum_of_parts(g, t);
    int made = grad_tensor(g, tensor, sum->type, t->t.rank, t->t.shape);
    TeStmt *s = grad_assign(g, made, NULL);
    s->rhs = sum;
    grad_push(g, s);
    return made;
}

/* ---- reductions ---- */
/* The first of equal elements has all.  It is told by its position: a value that is computed again
 * need not be the same.  */
static void of_extremum(Grad *g, const TeStmt *s, TeExpr *seed, GradTerms *out) {
    TeExpr *flat = NULL;
    TeStmt *where = ARENA_NEW(g->a, TeStmt);
    for (int i = 0; i < s->rhs->n_index && !g->failed; i++)
        if (s->index[s->rhs->index[i]].hi.min < 1)
            g->failed = diag_error(g->d, ST_TE, "gradient", DIAG_NOWHERE,
                                   "the range of '%s' may be empty: a max or min over it has no "
                                   "derivative", s->index[s->rhs->index[i]].name);
    if (g->failed) return;
    *where = *s;
    where->rhs = te_expr_copy(g->a, s->rhs);
    where->rhs->red = s->rhs->red == TE_RED_MAX ? TE_RED_ARGMAX : TE_RED_ARGMIN;
    where->rhs->type = TE_I32;
    where->tensor = grad_tensor(g, s->tensor, TE_I32, s->n_left, g->tensor[s->tensor].t.shape);
    grad_push(g, where);
    for (int i = 0; i < s->rhs->n_index; i++) {
        int k = s->rhs->index[i];
        TeExpr *own = te_expr_index(g->a, k, 0);
        if (flat) flat = grad_node(g, TE_MUL, flat, grad_size(g, &s->index[k].hi));
        flat = flat ? grad_node(g, TE_ADD, flat, own) : own;
    }
    TeExpr *at = grad_read(g, where->tensor, s->n_left);
    at->type = TE_I32;
    size_t before = out->n;
    grad_partial(g, s, s->rhs->args[0], seed, out);
    TeExpr *is_it = grad_node(g, TE_EQ, at, flat);
    for (size_t i = before; i < out->n; i++)
        out->term[i].when = grad_both(g, is_it, out->term[i].when);
}

/* The product of all others, by a product in which one factor is 1: zeros are factors like any.  */
static void of_product(Grad *g, const TeStmt *s, TeExpr *seed, GradTerms *out) {
    const TeExpr *e = s->rhs;
    TeExpr *by[TE_MAX_INDICES] = {NULL}, *own = NULL;
    TeExtent shape[TE_MAX_RANK];
    int rank = s->n_left + e->n_index;
    if (rank > TE_MAX_RANK || rank + e->n_index > TE_MAX_INDICES) {
        grad_refuse(g, "a product", rank, TE_MAX_RANK);
        return;
    }
    TeStmt *made = ARENA_NEW(g->a, TeStmt);
    *made = *s;
    for (int i = 0; i < rank; i++) shape[i] = s->index[i].hi;
    made->n_left = rank;
    for (int i = 0; i < e->n_index; i++) {
        int k = e->index[i], other = rank + i;
        made->index[other] = s->index[k];
        made->index[other].name = arena_printf(g->a, "%s%d", g->letter, i);
        made->index[k].reduction = false;
        by[k] = te_expr_index(g->a, other, 0);
        own = grad_both(g, own, grad_node(g, TE_EQ, by[k], te_expr_index(g->a, k, 0)));
    }
    made->n_index = rank + e->n_index;
    made->rhs = te_expr_copy(g->a, e);
    made->rhs->args[0] = grad_select(g, own, grad_real(g, 1, e->type),
                                     grad_put(g, e->args[0], by));
    for (int i = 0; i < e->n_index; i++) made->rhs->index[i] = (uint8_t)(rank + i);
    made->tensor = grad_tensor(g, s->tensor, e->type, rank, shape);
    grad_push(g, made);
    grad_partial(g, s, e->args[0],
                 grad_node(g, TE_MUL, seed, grad_read(g, made->tensor, rank)), out);
}

/* Is place `at` + step inside, of a walk along index i?  */
static TeExpr *is_there(Grad *g, const TeStmt *s, int i, TeExpr *at, bool up) {
    if (up) return grad_node(g, TE_LT, at, grad_size(g, &s->index[i].hi));
    return grad_node(g, TE_GE, at, te_expr_zero(g->a, TE_I64, 0));
}

static TeExpr *place_beside(Grad *g, int index, bool up) {
    return grad_node(g, up ? TE_ADD : TE_SUB, te_expr_index(g->a, index, 0),
                     te_expr_int(g->a, 1, TE_I64, 0));
}

/* What all of h changes with one h, of h[t] = a[t] h[t-1] + b[t]: l[t] = a[t+1] l[t+1] + d_h[t], a
 * recurrence from the other end.  */
static TeExpr *through_recurrence(Grad *g, const TeStmt *s, const TeExpr *seed) {
    const TeExpr *e = s->rhs, *order = te_recurrence_order(e);
    int over = e->index[0], at = order->args[1]->v.ref;
    bool up = order->kind == TE_LE;
    TeExpr *next[TE_MAX_INDICES] = {NULL}, *own[TE_MAX_INDICES] = {NULL};
    TeStmt *made = ARENA_NEW(g->a, TeStmt);
    TeExtent shape[TE_MAX_RANK];
    *made = *s;
    made->rhs = te_expr_copy(g->a, e);
    for (int i = 0; i < s->n_left; i++) shape[i] = s->index[i].hi;
    for (int i = 0; i < s->n_left; i++) made->index[i].where = true;
    next[over] = place_beside(g, over, up);
    own[at] = te_expr_index(g->a, over, 0);
    TeExpr **term = made->rhs->args[0]->args, **factor = made->rhs->args[1]->args;
    term[0]->kind = factor[0]->kind = up ? TE_GE : TE_LE;
    term[1] = grad_put(g, seed, own);
    factor[1] = grad_select(g, is_there(g, s, at, next[over], up),
                            grad_put(g, e->args[1]->args[1], next),
                            te_expr_zero(g->a, e->type, 0));
    made->tensor = grad_tensor(g, s->tensor, e->type, s->n_left, shape);
    grad_push(g, made);
    return grad_read(g, made->tensor, s->n_left);
}

static void of_recurrence(Grad *g, const TeStmt *s, const TeExpr *seed, GradTerms *out) {
    const TeExpr *e = s->rhs, *order = te_recurrence_order(e);
    int at = order->args[1]->v.ref;
    TeExpr *own[TE_MAX_INDICES] = {NULL}, *all = through_recurrence(g, s, seed);
    TeExpr *before = grad_read(g, s->tensor, s->n_left);
    TeStmt *map = ARENA_NEW(g->a, TeStmt);
    *map = *s;
    map->n_index = s->n_left;
    own[e->index[0]] = te_expr_index(g->a, at, 0);
    before->args[at] = place_beside(g, at, order->kind == TE_GE);
    before->other = te_expr_zero(g->a, before->type, 0);
    grad_partial(g, map, grad_put(g, e->args[0]->args[1], own), all, out);
    grad_partial(g, map, grad_put(g, e->args[1]->args[1], own),
                 grad_node(g, TE_MUL, all, before), out);
}

/* ---- backwards ---- */
static void of_statement(Grad *g, const TeStmt *s, int by) {
    TeExpr *seed = grad_read(g, by, s->n_left);
    GradTerms terms = {0};
    if (s->rhs->kind != TE_REDUCE) grad_partial(g, s, s->rhs, seed, &terms);
    else if (s->rhs->red == TE_RED_SUM) grad_partial(g, s, s->rhs->args[0], seed, &terms);
    else if (s->rhs->red == TE_RED_PROD) of_product(g, s, seed, &terms);
    else if (te_is_recurrence(s->rhs)) of_recurrence(g, s, seed, &terms);
    else if (s->rhs->red == TE_RED_MAX || s->rhs->red == TE_RED_MIN)
        of_extremum(g, s, seed, &terms);
    for (size_t i = 0; i < terms.n && !g->failed; i++) {
        int made = grad_collect(g, &terms.term[i]);
        if (made >= 0) add_part(g, terms.term[i].read->v.ref, made);
    }
}

static void backwards(Grad *g) {
    for (size_t i = g->n_stmt; i > 0 && !g->failed; i--) {
        const TeStmt *stmt = g->stmt[i - 1];
        if (!g->tensor[stmt->tensor].active) continue;
        int by = derivative(g, stmt->tensor);
        if (by >= 0) of_statement(g, stmt, by);
    }
}

/* ---- arguments ---- */
static Status refuse(Grad *g, const char *name, const char *why) {
    return diag_error(g->d, ST_TE, "gradient", DIAG_NOWHERE, "'%s' %s", name, why);
}

static Status ask(Grad *g, const char *name) {
    for (int i = 0; i < g->in->n_in; i++) {
        TeTensor *t = &g->tensor[i].t;
        if (strcmp(t->name, name) != 0) continue;
        if (t->role == TE_VALUE) return refuse(g, name, "is a scalar: it has no derivative");
        if (!is_real(t->dtype)) return refuse(g, name, "is not real: it has no derivative");
        g->tensor[i].active = true;
        return ST_OK;
    }
    return refuse(g, name, "is no input");
}

static Status ask_all(Grad *g, const char *const *wrt, int n) {
    Status s = ST_OK;
    for (int i = 0; i < n && !s; i++) s = ask(g, wrt[i]);
    int asked = n;
    for (int i = 0; i < g->in->n_in && !n; i++) {
        TeTensor *t = &g->tensor[i].t;
        g->tensor[i].active = t->role == TE_INPUT && is_real(t->dtype);
        asked += g->tensor[i].active;
    }
    if (!s && !asked) return refuse(g, g->in->name, "has no real input to derive by");
    return s;
}

/* An argument of the gradient: the derivative by tensor i, "d_NAME".  By a scale it has a sign.  */
static Status derived(Grad *g, int i, TeRole role, int *made) {
    const TeTensor *of = &g->in->tensor[i];
    TeTensor *t = &grad_add(g)->t;
    TeDtype own = of->dtype, type = te_dtype_scale(own) ? te_dtype_compute(own) : own;
    *t = (TeTensor){.name = arena_printf(g->a, "d_%s", of->name), .role = role,
                    .dtype = type, .rank = of->rank};
    memcpy(t->shape, of->shape, sizeof t->shape);
    *made = (int)g->n_tensor - 1;
    if (strlen(t->name) >= TE_MAX_NAME) return refuse(g, t->name, "is too long a name");
    return normalize_taken(g->in, t->name)
               ? refuse(g, t->name, "is the name of a derivative: call what has it otherwise")
               : ST_OK;
}

/* ---- what is printed ---- */
typedef struct {
    Grad *g;
    Te *te;
    int *place;               /* of each tensor in te; -1: none */
    bool *needed;
} Made;

static void need(Made *m, const TeExpr *e) {
    if (e->kind == TE_READ || e->kind == TE_SCALAR) m->needed[e->v.ref] = true;
    if (e->other) need(m, e->other);
    for (int i = 0; i < e->n_args; i++) need(m, e->args[i]);
}

static void place(Made *m, int tensor, TeRole role) {
    TeTensor *t = &m->te->tensor[m->te->n_tensor];
    *t = m->g->tensor[tensor].t;
    if (t->role != TE_VALUE) t->role = role;
    if (role == TE_TEMP) t->strided = false;
    m->place[tensor] = m->te->n_tensor++;
}

static void retarget(const Made *m, TeExpr *e) {
    if (e->kind == TE_READ || e->kind == TE_SCALAR) e->v.ref = m->place[e->v.ref];
    if (e->other) retarget(m, e->other);
    for (int i = 0; i < e->n_args; i++) retarget(m, e->args[i]);
}

/* Does an extent of the tensor tell the size?  */
static bool tells(const TeTensor *t, int size) {
    for (int d = 0; d < t->rank; d++) {
        const TeExpr *e = t->shape[d].expr;
        if (e && e->kind == TE_SIZE && e->v.ref == size) return true;
    }
    return false;
}

/* Inputs, of the op or d_, that only a size needs, which is read from them.  What the given op
 * makes is no argument here.  */
static void need_sizes(Made *m) {
    const Te *in = m->g->in;
    for (int k = 0; k < in->n_size; k++) {
        bool told = in->size[k].kind != TE_SIZE_RUNTIME || !in->size[k].used;
        for (size_t i = 0; i < m->g->n_tensor && !told; i++) {
            const TeTensor *t = &m->g->tensor[i].t;
            bool own = i >= (size_t)in->n_in && i < (size_t)in->n_tensor;
            told = m->needed[i] && !own && t->role != TE_TEMP && tells(t, k);
        }
        for (int i = 0; i < in->n_in && !told; i++)
            if (tells(&in->tensor[i], k)) told = m->needed[i] = true;
        for (size_t i = (size_t)in->n_tensor; i < m->g->n_tensor && !told; i++)
            if (m->g->tensor[i].t.role == TE_INPUT && tells(&m->g->tensor[i].t, k))
                told = m->needed[i] = true;
    }
}

static void keep(Made *m, const TeStmt *s) {
    Te *te = m->te;
    TeStmt *to = &te->stmt[te->n_stmt++];
    const TeTensor *t = &m->g->tensor[s->tensor].t;
    TeDtype own = s->rhs->type;
    if (m->place[s->tensor] < 0) place(m, s->tensor, TE_TEMP);
    *to = *s;
    to->rhs = te_expr_copy(m->g->a, s->rhs);
    to->tensor = m->place[s->tensor];
    if (te->tensor[to->tensor].role == TE_TEMP && t->dtype != own) to->temp_type = t->dtype;
    else if (te->tensor[to->tensor].role != TE_TEMP) to->temp_type = TE_DTYPE_COUNT;
}

static void arguments(Made *m, const int *given, const int *made) {
    const Te *in = m->g->in;
    for (int i = 0; i < in->n_in; i++)
        if (m->needed[i]) place(m, i, TE_INPUT);
    for (int i = 0; i < in->n_out; i++)
        if (given[i] >= 0 && m->needed[given[i]]) place(m, given[i], TE_INPUT);
    m->te->n_in = m->te->n_tensor;
    for (int i = 0; i < in->n_in; i++)
        if (made[i] >= 0) place(m, made[i], TE_OUTPUT);
    m->te->n_out = m->te->n_tensor - m->te->n_in;
}

/* What the derivatives need, in the order in which it was made.  */
static void print(Grad *g, const int *given, const int *made, Buf *out) {
    Te te = *g->in;
    Made m = {g, &te, ARENA_ARRAY(g->a, int, g->n_tensor), ARENA_ARRAY(g->a, bool, g->n_tensor)};
    te.name = arena_printf(g->a, "%.50s_gradient", g->in->name);
    te.tensor = ARENA_ARRAY(g->a, TeTensor, g->n_tensor);
    te.stmt = ARENA_ARRAY(g->a, TeStmt, g->n_stmt);
    te.size = ARENA_ARRAY(g->a, TeSize, te.n_size + 1);
    if (te.n_size) memcpy(te.size, g->in->size, sizeof *te.size * (size_t)te.n_size);
    for (int i = 0; i < te.n_size; i++) te.size[i].stmt = -1;
    te.n_stmt = te.n_tensor = te.n_in = te.n_out = 0;
    for (size_t i = 0; i < g->n_tensor; i++) m.place[i] = -1;
    for (int i = 0; i < g->in->n_in; i++)
        if (made[i] >= 0) m.needed[made[i]] = true;
    for (size_t i = g->n_stmt; i > 0; i--)
        if (m.needed[g->stmt[i - 1]->tensor]) need(&m, g->stmt[i - 1]->rhs);
    need_sizes(&m);
    arguments(&m, given, made);
    for (size_t i = 0; i < g->n_stmt; i++)
        if (m.needed[g->stmt[i]->tensor]) keep(&m, g->stmt[i]);
    for (int i = 0; i < te.n_stmt; i++) retarget(&m, te.stmt[i].rhs);
    te_print(&te, out);
}

/* ---- all of it ---- */
/* The first letters that make names of indices which nobody has.  */
static const char *letter_of(Grad *g) {
    const char *letter = "x";
    for (int i = 0; i < TE_MAX_INDICES; i++) {
        if (!normalize_taken(g->in, arena_printf(g->a, "%s%d", letter, i))) continue;
        letter = arena_printf(g->a, "%s_", letter);
        i = -1;
    }
    return letter;
}

static void begin(Grad *g) {
    for (int i = 0; i < g->in->n_tensor; i++) {
        grad_add(g);
        g->tensor[i].t = g->in->tensor[i];
    }
    g->letter = letter_of(g);
}

/* The derivative by input i is stored.  */
static void finish(Grad *g, int i, int made) {
    TeExpr *sum = sum_of_parts(g, &g->tensor[i]);
    TeStmt *s = grad_assign(g, made, NULL);
    s->rhs = sum ? sum : te_expr_zero(g->a, TE_F32, 0);
    grad_push(g, s);
}

Status te_gradient(Arena *a, Diag *d, const Te *te, const char *const *wrt, int n, Buf *out) {
    Grad g = {.a = a, .d = d, .in = te};
    int *given = ARENA_ARRAY(a, int, te->n_out + 1), *made = ARENA_ARRAY(a, int, te->n_in + 1);
    begin(&g);
    Status s = ask_all(&g, wrt, n);
    for (int i = 0; i < te->n_in && !s; i++) {
        made[i] = -1;
        if (g.tensor[i].active) s = derived(&g, i, TE_OUTPUT, &made[i]);
    }
    for (int i = 0; i < te->n_out && !s; i++) {
        given[i] = -1;
        if (!is_real(te->tensor[te->n_in + i].dtype)) continue;
        s = derived(&g, te->n_in + i, TE_INPUT, &given[i]);
        if (!s) add_part(&g, te->n_in + i, given[i]);
    }
    for (int i = 0; i < te->n_stmt && !s && !g.failed; i++) grad_forward(&g, &te->stmt[i]);
    if (!s) backwards(&g);
    if (s || g.failed) return s ? s : g.failed;
    for (int i = 0; i < te->n_in; i++)
        if (made[i] >= 0) finish(&g, i, made[i]);
    print(&g, given, made, out);
    return ST_OK;
}
