/* Operands that can only be read by accesses so narrow that none of them is asynchronous, or that
 * lie along another axis than the fastest units take: a statement of its own copies each into a
 * layout whose last dimension is one that both operands are summed over, a multiple of 16 bytes
 * long, and the product reads the copy.  A window may stay where it is (`filled`): the sum alone
 * gets longer, and goes along the channel last, as warps lay the window out.
 *
 * Holds for all data of every type that a store keeps: f8e5m2 saturates infinities.  Where the sum
 * gets longer both factors are 0, so that no infinity meets one.  */
#include "te/group/groups.h"
#include "te/tree/arith.h"
#include "te/normal/normalize.h"
#include "te/tree/tree.h"
#include <string.h>

enum { WIDE = 16 /* bytes of an access */ };

typedef struct {
    int64_t padded;                        /* extent of the last dimension */
    int from, last;                        /* tensor and its dimension that comes last */
    int tensor;
} Copy;

typedef struct {
    const Te *te;
    const TeStmt *s;
    Contraction c;
    bool filled;                           /* windows stay */
    int channel;                           /* index of s */
    int64_t extent;                        /* of the channel, with what is added */
} Product;

typedef struct {
    Norm *n;
    Copy *copy;
    int n_copy;
    Groups groups;
} Relaid;

static const Operand *side_of(const Product *p, int side) { return &p->c.operand[side]; }

static const TeTensor *tensor_of(const Product *p, int side) {
    return &p->te->tensor[side_of(p, side)->access.tensor];
}

/* Elements of a wide access.  */
static int64_t vector(const TeTensor *t) { return WIDE / te_dtype_bytes(t->dtype); }

static bool moves(const TeStmt *s, int i) { return te_index_extent(&s->index[i]) > 1; }

/* What divides the subscript for all indices but those of `but`.  */
static int64_t divisor_of(const TeStmt *s, const Affine *f, uint32_t but) {
    int64_t divisor = f->c;
    for (int i = 0; i < s->n_index; i++) {
        if (moves(s, i) && !(but >> i & 1)) divisor = gcd64(divisor, f->coef[i]);
    }
    return divisor;
}

/* What lies contiguously along an axis: the indices, those of the innermost digit, and what divides
 * the number of elements of both at all sizes.  */
typedef struct {
    uint32_t indices, inner;
    int64_t length, divisor, inner_divisor;
} Run;

static Run run_along(const Product *p, int side, const FusedAxis *axis) {
    const Access *x = &side_of(p, side)->access;
    Run run = {.length = 1, .divisor = 1, .inner_divisor = 1};
    bool known = true;
    for (int i = axis->n_digit - 1; i >= 0 && known; i--) {
        const AxisDigit *d = &axis->digit[i];
        int last = axis->index[d->first + d->n - 1];
        bool next = x->offset.coef[last] == run.length && !(x->varies >> last & 1);
        if (d->extent != 1 && !next) break;
        run.length *= d->extent;
        run.divisor *= access_divisor(p->s, axis, d->first, d->n);
        known = !access_varies(p->s, axis, d->first, d->n);
        for (int j = 0; j < d->n; j++) run.indices |= 1u << axis->index[d->first + j];
        if (run.length == d->extent) {
            run.inner = run.indices;
            run.inner_divisor = run.divisor;
        }
    }
    return run;
}

/* Are `vec` neighbours of the run inside of dimension d as a whole, or not at all?  */
static bool inside_as_one(const Product *p, int side, int d, const Run *run, int64_t vec) {
    const Access *x = &side_of(p, side)->access;
    bool whole = run->inner_divisor % vec == 0, along = false;
    uint32_t indices = whole ? run->inner : run->indices;
    for (int i = 0; i < p->s->n_index; i++)
        along |= (indices >> i & 1) && moves(p->s, i) && x->sub[d].coef[i] != 0;
    return !x->guard[d] || !along ||
           (whole && divisor_of(p->s, &x->sub[d], indices) % vec == 0 &&
            te_extent_divisor(&tensor_of(p, side)->shape[d]) % vec == 0);
}

/* Is the operand read widely along its own axis?  */
static bool along_own(const Product *p, int side) {
    const Access *x = &side_of(p, side)->access;
    Run run = run_along(p, side, &p->c.axis[side ? AX_N : AX_M]);
    int64_t vec = vector(tensor_of(p, side));
    bool fits = run.length > 1 && run.divisor % vec == 0 && x->c_divisor % vec == 0;
    for (int i = 0; i < p->s->n_index && fits; i++)
        fits = !moves(p->s, i) || (run.indices >> i & 1) || x->divisor[i] % vec == 0;
    for (int d = 0; d < tensor_of(p, side)->rank && fits; d++)
        fits = inside_as_one(p, side, d, &run, vec);
    return fits;
}

/* Does every unit take the operand as it lies, along its own axis?  The fastest ones of 8 bits and
 * of TF32 take it along the channel alone.  */
static bool stays_along_own(const Product *p, int side) {
    int bytes = te_dtype_bytes(tensor_of(p, side)->dtype);
    return along_own(p, side) && bytes != 1 && !p->s->tf32;
}

/* The one dimension that moves with the index, by one and untested; -1: none, or several.  */
static int dimension_of(const Product *p, int side, int index) {
    const Access *x = &side_of(p, side)->access;
    int found = -1;
    for (int d = 0; d < tensor_of(p, side)->rank; d++) {
        if (x->sub[d].coef[index] == 0) continue;
        if (found >= 0 || x->sub[d].coef[index] != 1 || x->guard[d]) return -1;
        found = d;
    }
    return found;
}

/* Does the dimension have the index to itself, from end to end?  */
static bool is_whole(const Product *p, int side, int d, int index) {
    const Affine *f = &side_of(p, side)->access.sub[d];
    const TeExtent *n = &p->s->index[index].hi, *shape = &tensor_of(p, side)->shape[d];
    uint32_t others = 0;
    for (int i = 0; i < p->s->n_index; i++) others |= f->coef[i] ? 1u << i : 0;
    return others == 1u << index && f->c == 0 && !n->expr && te_extent_same(n, shape);
}

/* Would a copy with this dimension last be read by whole accesses as it is?  */
static bool is_aligned(const Product *p, int side, int d, int index) {
    const Access *x = &side_of(p, side)->access;
    int64_t vec = vector(tensor_of(p, side));
    return te_extent_divisor(&p->s->index[index].hi) % vec == 0 &&
           te_extent_divisor(&tensor_of(p, side)->shape[d]) % vec == 0 &&
           divisor_of(p->s, &x->sub[d], 1u << index) % vec == 0;
}

/* Is the operand read widely along the index?  */
static bool along_channel(const Product *p, int side, int index) {
    const Access *x = &side_of(p, side)->access;
    int64_t vec = vector(tensor_of(p, side));
    bool wide = x->offset.coef[index] == 1 && !(x->varies >> index & 1) &&
                x->c_divisor % vec == 0 &&
                te_extent_divisor(&p->s->index[index].hi) % vec == 0;
    for (int i = 0; i < p->s->n_index && wide; i++)
        wide = i == index || !moves(p->s, i) || x->divisor[i] % vec == 0;
    return wide;
}

/* The extent of a summed index when it lies last in both operands; 0: it cannot.  Zeros are added
 * only where both operands have them, for zero times anything else may be no zero.  */
static int64_t extent_as_channel(const Product *p, int index) {
    int64_t n = te_index_extent(&p->s->index[index]), vec = 1;
    bool fits = true, whole = true;
    for (int side = 0; side < 2; side++) {
        int d = dimension_of(p, side, index);
        if (d < 0) return 0;
        bool stays = stays_along_own(p, side) || along_channel(p, side, index);
        fits = fits && (stays || is_aligned(p, side, d, index));
        whole = whole && is_whole(p, side, d, index);
        if (vector(tensor_of(p, side)) > vec) vec = vector(tensor_of(p, side));
    }
    if (fits) return n;
    int64_t padded = (n + vec - 1) / vec * vec;
    return whole && padded <= 2 * n ? padded : 0;
}

/* The longest index that can be the channel.  */
static bool find_channel(Product *p) {
    int64_t longest = 1;
    p->channel = -1;
    for (int i = p->s->n_left; i < p->s->n_index; i++) {
        int64_t n = te_index_extent(&p->s->index[i]);
        int64_t extent = n > longest ? extent_as_channel(p, i) : 0;
        if (extent == 0) continue;
        longest = n;
        p->channel = i;
        p->extent = extent;
    }
    return p->channel >= 0;
}

/* Is the statement a product of elements?  */
static bool open_product(Product *p, const Te *te, const Groups *g, int stmt) {
    const char *why;
    *p = (Product){.te = te, .s = &te->stmt[stmt]};
    return p->s->rhs->kind == TE_REDUCE && groups_contraction(te, g, stmt, &p->c, &why) &&
           p->c.product && p->c.operand[0].read && p->c.n_operand > 1 && p->c.operand[1].read;
}

static bool is_longer(const Product *p) {
    return p->extent > te_index_extent(&p->s->index[p->channel]);
}

/* Does some dimension move with indices of the results and of the sum, as in a convolution?  Warps
 * may lay such an operand out as they fill shared memory.  */
static bool is_window(const Product *p, int side) {
    const Access *x = &side_of(p, side)->access;
    bool any = false;
    for (int d = 0; d < tensor_of(p, side)->rank; d++) {
        bool left = false, summed = false;
        for (int i = 0; i < p->s->n_index; i++)
            *(i < p->s->n_left ? &left : &summed) |= moves(p->s, i) && x->sub[d].coef[i];
        any |= left && summed;
    }
    return any;
}

/* Is the operand one that units want otherwise?  One that is read widely along its own axis by
 * every unit is not, even if the channel gets longer: what is beyond it is tested to be.  */
static bool lies_badly(const Product *p, int side) {
    return !stays_along_own(p, side) && (is_longer(p) || !along_channel(p, side, p->channel));
}

static bool is_copied(const Product *p, int side) {
    return lies_badly(p, side) && !(p->filled && is_window(p, side));
}

/* ---- rewriting ---- */

static TeExpr *node_of(TeExpr *e, const TeExpr *wanted) {
    TeExpr *found = e == wanted ? e : NULL;
    for (int i = 0; i < e->n_args && !found; i++) found = node_of(e->args[i], wanted);
    return found;
}

static bool used_by(const TeStmt *h, int n, const char *name) {
    for (int i = 0; i < n; i++) {
        if (strcmp(h->index[i].name, name) == 0) return true;
    }
    return false;
}

/* A name for the index over dimension d: of one of those that the product reads it with.  */
static const char *index_name(Norm *n, const Product *p, int side, int d, const TeStmt *h, int at) {
    const Affine *f = &side_of(p, side)->access.sub[d];
    for (int i = 0; i < p->s->n_index; i++) {
        if (f->coef[i] != 0 && !used_by(h, at, p->s->index[i].name)) return p->s->index[i].name;
    }
    for (int i = 0;; i++) {
        const char *name = arena_printf(n->a, "i%d", i);
        if (!normalize_taken(n->te, name) && !used_by(h, at, name)) return name;
    }
}

/* Dimension d of the copied tensor as a dimension of the copy.  */
static int place_of(const TeTensor *x, int d, int last) {
    int own = te_own_rank(x);
    return d < last || d >= own ? d : d > last ? d - 1 : own - 1;
}

/* T[..., c] = X[..., c, ...], with zeros behind the end where it is longer.  */
static TeStmt copy_statement(Norm *n, const Product *p, int side, const Copy *c) {
    const TeTensor *x = &n->te->tensor[c->from];
    TeTensor *t = &n->te->tensor[c->tensor];
    int own = te_own_rank(x);
    uint32_t pos = side_of(p, side)->read->pos;
    TeDtype type = te_dtype_compute(x->dtype);
    *t = (TeTensor){.name = normalize_name(n, NULL, x->name, "laid"), .role = TE_TEMP,
                    .dtype = x->dtype, .rank = x->rank, .tested = x->tested,
                    .pos = pos};
    TeStmt h = {.tensor = c->tensor, .n_left = own, .n_index = own,
                .accum = TE_DTYPE_COUNT, .pos = pos, .site = p->s->site,
                .temp_type = x->dtype == type ? TE_DTYPE_COUNT : x->dtype};
    h.rhs = te_expr_node(n->a, TE_READ, type, x->rank, pos);
    h.rhs->store = x->dtype;
    h.rhs->v.ref = c->from;
    for (int d = 0; d < x->rank; d++) {
        int at = place_of(x, d, c->last);
        t->shape[at] = x->shape[d];
        t->stride[at].multiple = 1;
        h.rhs->args[d] = d < own ? te_expr_index(n->a, at, pos) : te_expr_int(n->a, 0, TE_I64, pos);
    }
    if (c->padded > x->shape[c->last].value) {
        t->shape[own - 1] = (TeExtent){.value = c->padded, .min = c->padded, .multiple = 1};
        h.rhs->other = te_expr_zero(n->a, type, pos);
    }
    for (int at = 0; at < own; at++) {
        int d = at == own - 1 ? c->last : at < c->last ? at : at + 1;
        h.index[at] = (TeIndex){.name = index_name(n, p, side, d, &h, at), .hi = t->shape[at],
                                .lo = {.multiple = 1}};
    }
    normalize_dense(n, t);
    return h;
}

/* The copy of an operand, which a new statement of that origin makes if there is none.  */
static const Copy *copy_of(Relaid *r, const Product *p, int side, int origin) {
    const Operand *o = side_of(p, side);
    Copy c = {.from = o->access.tensor, .last = dimension_of(p, side, p->channel)};
    c.padded = is_longer(p) ? p->extent : tensor_of(p, side)->shape[c.last].value;
    for (int i = 0; i < r->n_copy; i++) {
        const Copy *x = &r->copy[i];
        if (x->from == c.from && x->last == c.last && x->padded == c.padded) return x;
    }
    c.tensor = r->n->te->n_tensor;
    TeStmt h = copy_statement(r->n, p, side, &c);
    r->n->te->n_tensor++;
    normalize_insert(r->n, r->n->te->n_stmt, origin, &h);
    r->copy[r->n_copy] = c;
    return &r->copy[r->n_copy++];
}

/* The read becomes one of the copy.  */
static void read_copy(Norm *n, TeExpr *read, const Copy *c) {
    TeExpr **args = ARENA_ARRAY(n->a, TeExpr *, read->n_args);
    const TeTensor *x = &n->te->tensor[read->v.ref];
    for (int d = 0; d < read->n_args; d++) args[place_of(x, d, c->last)] = read->args[d];
    read->args = args;
    read->v.ref = c->tensor;
}

/* The statement of the product, which comes behind what is made for it.  */
static void lay_out(Relaid *r, const Product *p, TeStmt *s, int origin) {
    Norm *n = r->n;
    bool longer = is_longer(p);
    TeExpr *read[2];
    const Copy *copy[2] = {NULL, NULL};
    for (int side = 0; side < 2; side++) {
        read[side] = node_of(s->rhs, side_of(p, side)->read);
        if (is_copied(p, side)) copy[side] = copy_of(r, p, side, origin);
    }
    for (int side = 0; side < 2; side++) {
        if (copy[side]) read_copy(n, read[side], copy[side]);
        else if (longer && !read[side]->other)
            read[side]->other = te_expr_zero(n->a, read[side]->type, read[side]->pos);
    }
    s->index[p->channel].place |= p->filled;
    if (longer)
        s->index[p->channel].hi = (TeExtent){.value = p->extent, .min = p->extent, .multiple = 1};
}

/* Some operand would be copied, and without change: a store of f8e5m2 saturates its infinities.  */
static bool can_help(const Product *p) {
    bool any = false;
    for (int side = 0; side < 2; side++) {
        if (!lies_badly(p, side)) continue;
        if (tensor_of(p, side)->dtype == TE_F8E5M2) return false;
        any = true;
    }
    return any;
}

/* Is a window to be copied, at sizes that are known?  */
static bool can_fill(const Product *p) {
    bool any = false, known = true;
    for (int i = 0; i < p->s->n_index; i++) known = known && !p->s->index[i].hi.expr;
    for (int side = 0; side < 2; side++) any |= lies_badly(p, side) && is_window(p, side);
    return any && known;
}

/* All statements again, with those that are made for some before these.  */
static void lay_out_all(Relaid *r, Product *const *found) {
    Norm *n = r->n;
    TeStmt *stmt = n->te->stmt;
    int last = n->te->n_stmt;
    int *origin = ARENA_ARRAY(n->a, int, last);
    bool *changed = ARENA_ARRAY(n->a, bool, last);
    memcpy(origin, n->origin, (size_t)last * sizeof *origin);
    memcpy(changed, n->changed, (size_t)last * sizeof *changed);
    n->names = normalize_names(n->a, n->te);
    n->te->stmt = ARENA_ROOM(n->a, TeStmt, TE_MAX_STMTS);
    n->te->n_stmt = 0;
    for (int i = 0; i < last; i++) {
        bool fits = found[i] && n->te->n_stmt + last - i + 2 <= TE_MAX_STMTS;
        if (fits) lay_out(r, found[i], &stmt[i], origin[i]);
        normalize_insert(n, n->te->n_stmt, origin[i], &stmt[i]);
        n->changed[n->te->n_stmt - 1] = fits || changed[i];
    }
    n->names = NULL;
}

void normalize_relaid(Norm *n) {
    Relaid *r = ARENA_NEW(n->a, Relaid);
    Product *found[TE_MAX_STMTS] = {NULL}, p;
    bool any = false;
    *r = (Relaid){.n = n, .copy = ARENA_ROOM(n->a, Copy, 2 * TE_MAX_STMTS)};
    normalize_list_reads(n);
    groups_find(n->te, &r->groups);
    for (int k = 0; k < n->te->n_stmt; k++) {
        if (!open_product(&p, n->te, &r->groups, k) || !find_channel(&p) || !can_help(&p)) continue;
        p.filled = can_fill(&p) && te_takes(n->te, p.s, TE_FILLED);
        if (!p.filled && !te_takes(n->te, p.s, TE_PACKED)) continue;
        found[k] = ARENA_NEW(n->a, Product);
        *found[k] = p;
        any = true;
    }
    if (normalize_note(n, TE_MADE_RELAID, any)) lay_out_all(r, found);
    normalize_list_reads(n);
}
