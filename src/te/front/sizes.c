/* Sizes: params, lets, and the expressions that extents, strides and bounds are made of.  */
#include "te/front/front.h"
#include "te/tree/tree.h"
#include <inttypes.h>

static const int64_t largest_runtime = INT32_MAX;

static TeExpr *node(Front *f, TeKind kind, uint32_t pos, int n_args) {
    return te_expr_node(f->arena, kind, TE_I64, n_args, pos);
}

static TeExpr *size_name(Front *f, const Ast *a, const Poly **p) {
    int ref;
    if (!size_find(f, a->sym, &ref)) {
        Nearest near = {.name = a->sym->name};
        if (a->sym->bad == f->op || a->sym->bad == -1) return NULL;
        if (name_kind(f, a->sym) != NAME_FREE) {
            complain(f, "size", a->pos, "'%s' is not a size", a->sym->name);
            return NULL;
        }
        complain(f, "name", a->pos, "'%s' is not declared", a->sym->name);
        for (int i = 0; i < f->n_size; i++) nearest_offer(&near, f->size[i].name);
        if (near.best) hint(f, "did you mean '%s'?", near.best);
        else hint(f, "declare it above the op: param %s = 1024;", a->sym->name);
        return NULL;
    }
    TeExpr *e = node(f, TE_SIZE, a->pos, 0);
    e->v.ref = ref;
    *p = f->value[ref];
    return e;
}

/* floor(x / y), or x % y.  By what is negative: floor(-x / -y), and -(-x % -y).  */
static const Poly *divide(Front *f, const Ast *a, const Poly *x, const Poly *y) {
    Polys *ps = &f->polys;
    int64_t d;
    if (poly_is_const(y, &d) && d == 0) {
        complain(f, "size", a->pos, "division by zero");
        return NULL;
    }
    const Poly *zero = poly_const(ps, 0), *one = poly_const(ps, 1);
    bool negative = poly_ge0(ps, poly_add(ps, poly_add(ps, zero, one, -1), y, -1));
    if (!negative && !poly_le(ps, one, y)) {
        complain(f, "size", a->pos, "cannot prove that the divisor is never 0");
        return NULL;
    }
    if (negative) {
        x = poly_add(ps, zero, x, -1);
        y = poly_add(ps, zero, y, -1);
    }
    if (a->kind == TE_DIV) return poly_quotient(ps, x, y);
    return poly_add(ps, zero, poly_modulo(ps, x, y), negative ? -1 : 1);
}

static const Poly *combine(Front *f, const Ast *a, const Poly *x, const Poly *y) {
    Polys *ps = &f->polys;
    switch (a->kind) {
    case TE_ADD: return poly_add(ps, x, y, 1);
    case TE_SUB: return poly_add(ps, x, y, -1);
    case TE_MUL: return poly_mul(ps, x, y);
    case TE_CALL: return a->fn == TE_FN_MIN ? poly_least(ps, x, y) : poly_greatest(ps, x, y);
    default: return divide(f, a, x, y);
    }
}

/* Every intermediate value must be a 64-bit integer, whatever the run-time sizes are.  */
static bool representable(Front *f, const Ast *a, const Poly *p) {
    Interval r = poly_range(&f->polys, p);
    if (p && r.lo != INT64_MIN && r.hi != INT64_MAX) return true;
    return complain(f, "size", a->pos, "cannot prove that this size stays below 2^63");
}

static TeExpr *size_expr(Front *f, const Ast *a, const Poly **p);

static TeExpr *size_operation(Front *f, const Ast *a, const Poly **p) {
    int n = 0;
    for (const Ast *x = a->args; x; x = x->next) n++;
    TeExpr *e = node(f, a->kind, a->pos, n);
    e->v.fn = a->fn;
    n = 0;
    for (const Ast *x = a->args; x; x = x->next) {
        const Poly *q;
        int64_t v;
        int errors = f->diag->errors;
        if (!(e->args[n++] = size_expr(f, x, &q))) return NULL;
        bool constant = n > 1 && poly_is_const(*p, &v) && poly_is_const(q, &v);
        *p = n == 1 ? q : combine(f, a, *p, q);
        if (!*p && f->diag->errors > errors) return NULL;
        if (!*p && constant) {
            complain(f, "size", a->pos, "this size is beyond 2^63-1");
            return NULL;
        }
        if (!representable(f, a, *p)) return NULL;
    }
    return e;
}

static TeExpr *size_negation(Front *f, const Ast *a, const Poly **p) {
    TeExpr *x = size_expr(f, a->args, p);
    if (!x) return NULL;
    *p = poly_add(&f->polys, poly_const(&f->polys, 0), *p, -1);
    if (!representable(f, a, *p)) return NULL;
    if (x->kind == TE_INT && x->v.i >= 0) {
        x->v.i = -x->v.i;
        return x;
    }
    TeExpr *e = node(f, TE_NEG, a->pos, 1);
    e->args[0] = x;
    return e;
}

static TeExpr *size_expr(Front *f, const Ast *a, const Poly **p) {
    switch (a->kind) {
    case TE_INT:
        *p = poly_const(&f->polys, a->i);
        return te_expr_int(f->arena, a->i, TE_I64, a->pos);
    case TE_INDEX:
        return size_name(f, a, p);
    case TE_NEG:
        return size_negation(f, a, p);
    case TE_ADD:
    case TE_SUB:
    case TE_MUL:
    case TE_DIV:
    case TE_MOD:
        return size_operation(f, a, p);
    case TE_CALL:
        if (a->fn == TE_FN_MIN || a->fn == TE_FN_MAX) return size_operation(f, a, p);
        break;
    default:
        break;
    }
    complain(f, "size", a->pos, "a size is made of integers, sizes, + - * / %%, min and max");
    return NULL;
}

bool extent_of(Front *f, const Poly *p, TeExtent *out) {
    Interval r = poly_range(&f->polys, p);
    int64_t v;
    *out = (TeExtent){.value = r.hi, .min = r.lo, .multiple = poly_multiple(p)};
    if (!p || r.lo == INT64_MIN || r.hi == INT64_MAX) return false;
    if (!poly_is_const(p, &v)) out->expr = poly_expr(&f->polys, p);
    return true;
}

bool size_extent(Front *f, const Ast *a, TeExtent *out, const Poly **poly) {
    const Poly *p = NULL;
    const TeExpr *e = size_expr(f, a, &p);
    if (!e) return false;
    extent_of(f, p, out);
    out->written = e;
    if (out->expr) out->expr = e;
    *poly = p;
    return true;
}

/* Interval arithmetic may give a smallest value below 0 where a proof says otherwise.  */
void extent_clamp(TeExtent *e) {
    if (e->min < 0) e->min = 0;
}

bool size_not_negative(Front *f, uint32_t pos, const char *what, TeExtent *e, const Poly *p) {
    if (poly_ge0(&f->polys, p)) {
        extent_clamp(e);
        return true;
    }
    if (!e->expr) return complain(f, "size", pos, "%s %s is negative", what, extent_text(f, e));
    return complain(f, "size", pos, "cannot prove that %s %s is never negative", what,
                    extent_text(f, e));
}

static bool declare_size(Front *f, Symbol *sym, uint32_t pos, const TeSize *size, const Poly *p) {
    if (f->n_size == TE_MAX_SIZES)
        return complain(f, "limit", pos, "more than %d sizes", TE_MAX_SIZES);
    if (size->stmt >= 0) {
        if (!declare(f, sym, pos, NAME_SIZE, f->n_size)) return false;
    } else {
        if (sym->size >= 0) return complain(f, "name", pos, "'%s' is declared twice", sym->name);
        sym->size = f->n_size;
    }
    f->value[f->n_size] = p;
    f->size[f->n_size++] = *size;
    return true;
}

static bool let(Front *f, Symbol *sym, uint32_t pos, const Ast *expr, int stmt) {
    TeSize s = {.name = sym->name, .kind = TE_SIZE_LET, .stmt = stmt};
    const Poly *p;
    if (!size_extent(f, expr, &s.extent, &p)) return false;
    s.expr = s.extent.written;
    if (s.extent.value < 0)
        return complain(f, "size", pos, "%s = %" PRId64 " is negative", s.name, s.extent.value);
    if (!poly_ge0(&f->polys, p))
        return complain(f, "size", pos, "cannot prove that %s is never negative", s.name);
    extent_clamp(&s.extent);
    return declare_size(f, sym, pos, &s, p);
}

/* A name whose declaration failed is not complained about again.  */
bool size_let(Front *f, Symbol *sym, uint32_t pos, const Ast *expr, int stmt) {
    bool ok = let(f, sym, pos, expr, stmt);
    if (!ok) sym->bad = f->op;
    return ok;
}

static const TeDefine *find_define(const Front *f, const char *name) {
    const TeDefine *found = NULL;
    for (int i = 0; i < f->define.n; i++) {
        const char *a = f->define.item[i].name, *b = name;
        while (*a && *a == *b) a++, b++;
        if (*a == *b) found = &f->define.item[i];
    }
    return found;
}

/* A run-time range must hold at least one multiple and fit in 32 bits.  */
static bool range_check(Front *f, const AstItem *p) {
    const char *name = p->sym->name;
    if (p->hi > largest_runtime)
        return complain(f, "limit", p->pos, "'%s' can be %" PRId64 ", the limit is 2^31-1", name,
                        p->hi);
    if (p->multiple < 1) return complain(f, "size", p->pos, "'%s' is a multiple of 0", name);
    if (p->lo > p->hi || p->lo < 0)
        return complain(f, "size", p->pos, "'%s' has an empty range %" PRId64 "..%" PRId64, name,
                        p->lo, p->hi);
    if (p->hi / p->multiple * p->multiple < p->lo)
        return complain(f, "size", p->pos,
                        "'%s' has no multiple of %" PRId64 " in %" PRId64 "..%" PRId64, name,
                        p->multiple, p->lo, p->hi);
    return true;
}

/* Is -D's value or range within what the file allows?  */
static bool define_check(Front *f, const AstItem *p, const TeDefine *d) {
    const char *name = p->sym->name;
    int64_t q = p->multiple, end = d->lo < p->lo ? d->lo : d->hi;
    if (d->lo < p->lo || d->hi > p->hi) {
        complain(f, "size", p->pos, "%s = %" PRId64 " is not in %" PRId64 "..%" PRId64, name, end,
                 p->lo, p->hi);
        hint(f, "-D stays within what the file declares; a wider range is written there");
        return false;
    }
    if (d->lo != d->hi || d->lo % q == 0) return true;
    int64_t below = d->lo / q * q, above = below + q;
    complain(f, "size", p->pos, "%s = %" PRId64 " is not a multiple of %" PRId64, name, d->lo, q);
    if (below >= p->lo && above <= p->hi)
        hint(f, "the nearest are %" PRId64 " and %" PRId64, below, above);
    else
        hint(f, "the nearest is %" PRId64, below >= p->lo ? below : above);
    return false;
}

static bool define_apply(Front *f, AstItem *p) {
    const TeDefine *d = find_define(f, p->sym->name);
    if (!d) return true;
    if (p->range && !define_check(f, p, d)) return false;
    int64_t q = d->multiple / gcd64(d->multiple, p->multiple);
    if (!mul_fits(q, p->multiple, &q)) q = INT64_MAX;
    p->range = d->lo != d->hi;
    p->multiple = p->range ? q : 1;
    p->lo = d->lo;
    p->hi = d->hi;
    p->has_value = true;
    return true;
}

static bool param(Front *f, const AstItem *item) {
    AstItem p = *item;
    TeSize s = {.name = p.sym->name, .kind = TE_SIZE_STATIC, .stmt = -1};
    if (p.range && !range_check(f, &p)) return false;
    if (!define_apply(f, &p)) return false;
    if (!p.has_value) {
        complain(f, "size", p.pos, "'%s' has no value", s.name);
        hint(f, "give one: -D %s=N", s.name);
        return false;
    }
    if (!p.range) {
        const Poly *v = poly_const(&f->polys, p.lo);
        extent_of(f, v, &s.extent);
        return declare_size(f, p.sym, p.pos, &s, v);
    }
    if (!range_check(f, &p)) return false;
    int64_t q = p.multiple;
    Atom atom = {.kind = ATOM_SIZE, .ref = f->n_size, .divisor = q,
                 .range = {p.lo / q + (p.lo % q != 0), p.hi / q}};
    const Poly *v = poly_atom(&f->polys, polys_atom(&f->polys, &atom), q);
    s.kind = TE_SIZE_RUNTIME;
    s.lo = p.lo;
    s.hi = p.hi;
    TeExpr *self = node(f, TE_SIZE, p.pos, 0);
    self->v.ref = f->n_size;
    extent_of(f, v, &s.extent);
    s.extent.expr = s.extent.written = self;
    return declare_size(f, p.sym, p.pos, &s, v);
}

bool size_param(Front *f, const AstItem *item) {
    bool ok = param(f, item);
    if (!ok) item->sym->bad = f->op;
    return ok;
}
