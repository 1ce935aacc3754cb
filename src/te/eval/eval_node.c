#include "te/eval/eval_impl.h"
#include "te/tree/tree.h"
#include <math.h>
#include <string.h>

/* All lanes take the value of lane 0.  */
static void spread(Lanes *x, int n) {
    for (int j = 1; j < n; j++) {
        x->v[j] = x->v[0];
        x->i[j] = x->i[0];
    }
    for (int j = 1; j < n && !x->exact; j++)
        x->b[j] = x->b[0];
    for (int j = 1; j < n && !x->plain; j++)
        x->f[j] = x->f[0];
}

static void eval_literal(const Node *x, Lanes *out, int n) {
    for (int j = 0; j < n; j++) {
        out->v[j] = x->v;
        out->i[j] = x->i;
    }
    out->exact = out->plain = true;
}

static void eval_index(const Prog *p, const Node *x, Lanes *out, int n) {
    int64_t first = p->at[x->e->v.ref], step = x->e->v.ref == p->strip;
    for (int j = 0; j < n; j++)
        out->i[j] = first + j * step;
    out->exact = out->plain = true;
}

/* An affine subscript along the strip.  */
typedef struct {
    int64_t first, step;
} Line;

static Line line_of(const Prog *p, const Affine *sub) {
    Line l = {sub->c, p->strip >= 0 ? sub->coef[p->strip] : 0};
    for (int i = 0; i < p->s->n_index; i++) l.first += sub->coef[i] * p->at[i];
    return l;
}

/* Do all subscripts of a read run along lines that stay inside?  */
static bool even_places(const Prog *p, const Node *x, int n, Elements *to) {
    const TeTensor *t = &p->owner->te->tensor[x->e->v.ref];
    bool stored = p->owner->data[x->e->v.ref];
    to->first = to->step = 0;
    for (int d = 0; d < t->rank; d++) {
        if (!x->affine[d]) return false;
        Line l = line_of(p, &x->sub[d]);
        int64_t last = l.first + (n - 1) * l.step, extent = t->shape[d].value;
        int64_t stride = stored ? t->stride[d].value : x->stride[d];
        bool in = l.first >= 0 && l.first < extent && last >= 0 && last < extent;
        if (x->leaves[d] && !in) return false;
        to->first += l.first * stride;
        to->step += l.step * stride;
    }
    return true;
}

/* Adds dimension d's part; the subscript's value lies above slot k, what is open in it.  */
static void add_dimension(Prog *p, const Node *x, int d, int k, int n, Elements *to) {
    const TeTensor *t = &p->owner->te->tensor[x->e->v.ref];
    int64_t extent = t->shape[d].value;
    int64_t stride = p->owner->data[x->e->v.ref] ? t->stride[d].value : x->stride[d];
    if (x->affine[d]) {
        Line l = line_of(p, &x->sub[d]);
        for (int j = 0; j < n; j++) to->offset[j] += (l.first + j * l.step) * stride;
        for (int j = 0; j < n && x->leaves[d]; j++) {
            int64_t at = l.first + j * l.step;
            to->inside[j] = to->inside[j] && at >= 0 && at < extent;
        }
        return;
    }
    Lanes *sub = &p->slot[k + 1];
    eval_node(p, x->args[d], k + 1, n);
    for (int j = 0; j < n; j++) {
        bool in = sub->i[j] >= 0 && sub->i[j] < extent;
        to->inside[j] = to->inside[j] && in;
        to->offset[j] += in ? sub->i[j] * stride : 0;
        if (!sub->plain && (sub->f[j] & LANE_UNDECIDED))
            lanes_flag(&p->slot[k], n, j, LANE_UNDECIDED);
    }
}

/* Outside: the else value, or 0 (which is what gathering left there).  */
static void fill_outside(Prog *p, const Node *x, int k, int n, const bool *inside, Lanes *out) {
    Lanes *other = &p->slot[k + 1];
    eval_node(p, x->other, k + 1, n);
    lanes_convert(other, x->other->type, x->type, n);
    if (!other->exact)
        lanes_show_bounds(out, n);
    for (int j = 0; j < n; j++) {
        if (inside[j])
            continue;
        bool open = !out->plain && (out->f[j] & LANE_UNDECIDED);
        lanes_copy(out, j, other, j, 1);
        if (!other->plain)
            lanes_flag(out, n, j, other->f[j]);
        if (open)
            lanes_flag(out, n, j, LANE_UNDECIDED);
        if (x->pads)
            lanes_flag(out, n, j, LANE_PADDING);
    }
}

static void read_places(Prog *p, const Node *x, int k, int n, const Elements *at) {
    TeEval *ev = p->owner;
    int tensor = x->e->v.ref;
    Lanes *out = &p->slot[k];
    if (ev->data[tensor])
        eval_gather(ev, tensor, at, n, out);
    else
        eval_fetch(ev, x, at, n, out);
    lanes_convert(out, te_dtype_compute(ev->te->tensor[tensor].dtype), x->type, n);
}

/* A read of any places.  */
static void read_scattered(Prog *p, const Node *x, int k, int n, Elements *at) {
    Lanes *out = &p->slot[k];
    bool open[STRIP], any_outside = false, any_open = false;
    memset(at->offset, 0, (size_t)n * sizeof at->offset[0]);
    memset(at->inside, true, (size_t)n);
    for (int d = 0; d < p->owner->te->tensor[x->e->v.ref].rank; d++)
        add_dimension(p, x, d, k, n, at);
    for (int j = 0; j < n; j++) {
        open[j] = !out->plain && (out->f[j] & LANE_UNDECIDED);
        any_open |= open[j];
        any_outside |= !at->inside[j];
    }
    read_places(p, x, k, n, at);
    for (int j = 0; j < n && any_open; j++) {
        if (open[j])
            lanes_flag(out, n, j, LANE_UNDECIDED);
    }
    if (any_outside && x->other)
        fill_outside(p, x, k, n, at->inside, out);
}

static void eval_read(Prog *p, const Node *x, int k, int n) {
    Elements at;
    p->slot[k].plain = true;
    at.even = even_places(p, x, n, &at);
    if (at.even)
        read_places(p, x, k, n, &at);
    else
        read_scattered(p, x, k, n, &at);
}

static void eval_binary(Prog *p, const Node *x, int k, int n) {
    Lanes *out = &p->slot[k], *right = &p->slot[k + 1];
    for (int i = 0; i < 2; i++) {
        eval_node(p, x->args[i], k + i, n);
        lanes_convert(&p->slot[k + i], x->args[i]->type, x->meet, n);
    }
    if (te_is_arithmetic(x->kind)) lanes_arith(x, out, right, n);
    else if (x->kind == TE_AND || x->kind == TE_OR) lanes_logic(x->kind, out, right, n);
    else lanes_compare(x->kind, x->meet, out, right, n);
}

static void eval_select(Prog *p, const Node *x, int k, int n) {
    bool taken[STRIP];
    eval_node(p, x->args[0], k, n);
    for (int j = 0; j < n; j++) taken[j] = p->slot[k].i[j];
    for (int i = 1; i < 3; i++) {
        eval_node(p, x->args[i], k + i, n);
        lanes_convert(&p->slot[k + i], x->args[i]->type, x->type, n);
    }
    lanes_select(x->type, &p->slot[k], &p->slot[k + 1], &p->slot[k + 2], n);
    for (int j = 0; j < n; j++) {
        const TeExpr *e = x->e->args[taken[j] ? 1 : 2];
        if (x->pads && te_is_zero(e)) lanes_flag(&p->slot[k], n, j, LANE_PADDING);
        if (e->kind == TE_REAL && e->v.r == -INFINITY) lanes_flag(&p->slot[k], n, j, LANE_MASKED);
    }
}

static void eval_call(Prog *p, const Node *x, int k, int n) {
    Lanes *out = &p->slot[k];
    eval_node(p, x->args[0], k, n);
    lanes_convert(out, x->args[0]->type, te_operand_type(x->e, 0), n);
    if (x->n_args == 1)
        lanes_call(x, out, NULL, n);
    for (int i = 1; i < x->n_args; i++) {
        eval_node(p, x->args[i], k + 1, n);
        lanes_convert(&p->slot[k + 1], x->args[i]->type, x->type, n);
        lanes_call(x, out, &p->slot[k + 1], n);
    }
}

static void eval_kind(Prog *p, const Node *x, int k, int n) {
    Lanes *out = &p->slot[k];
    switch (x->kind) {
    case TE_INT:
    case TE_REAL:
    case TE_BOOLEAN:
    case TE_SIZE:
        eval_literal(x, out, n);
        return;
    case TE_INDEX:
        eval_index(p, x, out, n);
        return;
    case TE_SCALAR:
    case TE_READ:
        eval_read(p, x, k, n);
        return;
    case TE_NEG:
        eval_node(p, x->args[0], k, n);
        lanes_negate(x->type, out, n);
        return;
    case TE_NOT:
        eval_node(p, x->args[0], k, n);
        for (int j = 0; j < n; j++)
            out->i[j] = !out->i[j];
        return;
    case TE_SELECT:
        eval_select(p, x, k, n);
        return;
    case TE_CALL:
        eval_call(p, x, k, n);
        return;
    case TE_CAST:
        eval_node(p, x->args[0], k, n);
        (x->moved ? lanes_cast_moved : lanes_cast)(out, x->args[0]->type, x->e->store, n);
        return;
    case TE_REDUCE:
        (te_is_recurrence(x->e) ? eval_recurrence : eval_reduce)(p, x, k, n);
        return;
    default:
        eval_binary(p, x, k, n);
    }
}

void eval_node(Prog *p, const Node *x, int k, int n) {
    bool varies = p->strip >= 0 && (x->uses >> p->strip & 1);
    if (varies || n == 1) {
        eval_kind(p, x, k, n);
    } else {
        eval_kind(p, x, k, 1);
        spread(&p->slot[k], n);
    }
}
