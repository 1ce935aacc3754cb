#include "rtile/facts.h"
#include "te/tree/tree.h"

#include <math.h>
#include <string.h>

Span span_of_read(const Te *te, const TeStmt *s, const Access *a) {
    const TeTensor *t = &te->tensor[a->tensor];
    Span out = {.stmt = s, .offset = a->offset, .varies = a->varies, .c_divisor = a->c_divisor,
                .bytes = te_dtype_bytes(t->dtype), .tensor = t};
    memcpy(out.divisor, a->divisor, sizeof out.divisor);
    for (int i = 0; i < t->rank; i++) {
        if (!a->guard[i]) continue;
        out.guard[out.n_guard] = a->sub[i];
        out.bound[out.n_guard++] = te_extent_divisor(&t->shape[i]);
    }
    return out;
}

Span span_of_write(const Te *te, const TeStmt *s) {
    Access w;
    access_write(te, s, &w);
    return span_of_read(te, s, &w);
}

Span span_through(const Span *own, const TeStmt *root, const uint8_t *perm) {
    Span out = {.stmt = root, .offset = {.c = own->offset.c}, .c_divisor = own->c_divisor,
                .bytes = own->bytes, .tensor = own->tensor};
    for (int j = 0; j < own->stmt->n_left; j++) {
        out.offset.coef[perm[j]] = own->offset.coef[j];
        out.divisor[perm[j]] = own->divisor[j];
        out.varies |= (own->varies >> j & 1) << perm[j];
    }
    return out;
}

/* A digit moves with its last index; the indices before it are multiples of it.  */
static int last_index(const FusedAxis *axis, int digit) {
    const AxisDigit *d = &axis->digit[digit];
    return axis->index[d->first + d->n - 1];
}

int64_t span_stride(const Span *s, const FusedAxis *axis) {
    for (int i = axis->n_digit - 1; i >= 0; i--) {
        if (axis->digit[i].extent > 1) return s->offset.coef[last_index(axis, i)];
    }
    return 0;
}

/* The run of elements that lie `step` apart, the indices it covers as a bit set, and what divides
 * it at all sizes.  It ends where more would be one at some sizes only.  */
static int64_t run_of(const Span *s, const FusedAxis *axis, int64_t step, uint32_t *covered,
                      int64_t *divisor) {
    int64_t run = 1;
    bool known = true;
    *covered = 0;
    *divisor = 1;
    for (int i = axis->n_digit - 1; i >= 0 && known; i--) {
        const AxisDigit *d = &axis->digit[i];
        int last = last_index(axis, i);
        bool next = s->offset.coef[last] == run * step && !(s->varies >> last & 1);
        if (d->extent != 1 && !next) break;
        run *= d->extent;
        *divisor *= access_divisor(s->stmt, axis, d->first, d->n);
        known = !access_varies(s->stmt, axis, d->first, d->n);
        for (int j = 0; j < d->n; j++) *covered |= 1u << axis->index[d->first + j];
    }
    return run;
}

int64_t span_run(const Span *s, const FusedAxis *axis) { return span_steps(s, axis, 1); }

int64_t span_steps(const Span *s, const FusedAxis *axis, int64_t step) {
    uint32_t covered;
    int64_t divisor, run = run_of(s, axis, step, &covered, &divisor);
    return run > 0 ? run : 1;
}

/* Is a vector inside the tested dimension as a whole or not at all?  */
static bool tested_as_one(const Span *s, const FusedAxis *axis, int guard, int64_t v) {
    const Affine *f = &s->guard[guard];
    int inner = axis->n_digit - 1;
    while (inner > 0 && axis->digit[inner].extent == 1) inner--;
    int index = last_index(axis, inner);
    const AxisDigit *d = &axis->digit[inner];
    if (access_divisor(s->stmt, axis, d->first, d->n) % v) {
        for (int i = 0; i < axis->n; i++) {
            if (f->coef[axis->index[i]]) return false;
        }
        return true;
    }
    return rtile_tested_as_one(s->stmt, f, index, s->bound[guard], v);
}

int span_vector(const Span *s, const FusedAxis *axis, int align) {
    uint32_t covered;
    int64_t divisor, run = run_of(s, axis, 1, &covered, &divisor);
    int most = rtile_widest(s->tensor, align), v = 1;
    if (axis->n_digit == 0 || run <= 1) return 1;
    for (int wider = 2; wider <= most; wider *= 2) {
        bool ok = divisor % wider == 0 && rtile_aligned(s->stmt, s->divisor, s->c_divisor, covered,
                                                        wider);
        for (int g = 0; g < s->n_guard && ok; g++) ok = tested_as_one(s, axis, g, wider);
        if (!ok) break;
        v = wider;
    }
    return v;
}

/* Distinct values of a subscript inside its dimension.  */
static int64_t distinct(const TeStmt *s, const Affine *f, int64_t bound) {
    int64_t lo, hi, step = 0, points = 1;
    access_range(s, f, &lo, &hi);
    for (int i = 0; i < s->n_index; i++) {
        if (!f->coef[i]) continue;
        step = gcd64(step, f->coef[i]);
        int64_t n = te_index_extent(&s->index[i]);
        points = n && points > bound / n ? bound : points * n;
    }
    if (lo < 0) lo = step ? lo + (-lo + step - 1) / step * step : 0;
    if (hi >= bound) hi = bound - 1;
    int64_t within = hi < lo ? 0 : step ? (hi - lo) / step + 1 : 1;
    return within < points ? within : points;
}

int64_t access_unique(const Te *te, const TeStmt *s, const Access *a) {
    const TeTensor *t = &te->tensor[a->tensor];
    int64_t all = 1, used = 1;
    for (int i = 0; i < t->rank; i++) {
        if (!t->stride[i].expr && t->stride[i].value == 0) continue;      /* always the same ones */
        all *= t->shape[i].value;
        if (a->affine) used *= distinct(s, &a->sub[i], access_extent(te, a, i));
    }
    return a->affine ? used : gathered_unique(te, s, a, all);
}

double access_room(const Te *te, const TeStmt *s, const Access *a) {
    const TeTensor *t = &te->tensor[a->tensor];
    double elements = 1, unique = (double)access_unique(te, s, a);
    for (int d = 0; d < t->rank; d++)
        elements += (double)(t->shape[d].value - 1) * (double)t->stride[d].value;
    return unique > 0 && elements > unique ? elements / unique : 1;
}

/* Is it a division by a power of two: of an integer a shift, of a real a product?  */
static bool is_one_instruction(const TeExpr *e) {
    const TeExpr *by = e->args[1];
    int exponent;             /* of a fraction from a half on */
    if (by->kind == TE_REAL) return e->kind == TE_DIV && fabs(frexp(by->v.r, &exponent)) == 0.5;
    return by->kind == TE_INT && te_dtype_class(e->type) == TE_CLASS_INT && by->v.i > 0 &&
           (by->v.i & (by->v.i - 1)) == 0;
}

/* Does the compiler know its value, or make it once for all?  */
static bool is_constant(const TeExpr *e) {
    if (te_is_literal(e) || e->kind == TE_SIZE) return true;
    for (int i = 0; i < e->n_args; i++) {
        if (!is_constant(e->args[i])) return false;
    }
    return e->n_args > 0 && e->kind != TE_READ && e->kind != TE_REDUCE;
}

typedef struct {
    const TeExpr *stop[2];    /* neither these nor what is below them is counted */
    int index, run;           /* elements are made in runs of the index, from a multiple of it on */
    bool summed;              /* e^x is a term of a sum, or approximate */
} Counted;

/* Is it the same in every run?  */
static bool is_periodic(const Counted *c, const TeExpr *e) {
    if (e->kind == TE_INT) return true;
    if (e->kind == TE_MOD && e->args[0]->kind == TE_INDEX && e->args[1]->kind == TE_INT)
        return e->args[0]->v.ref == c->index && e->args[1]->v.i > 0 &&
               c->run % e->args[1]->v.i == 0;
    for (int i = 0; i < e->n_args; i++) {
        if (!is_periodic(c, e->args[i])) return false;
    }
    return e->kind >= TE_EQ && e->kind <= TE_OR;
}

/* Is it a sign, or a magnitude that is added or compared?  Instructions take these of reals as they
 * read an operand.  `in`: what takes e.  */
static bool is_modifier(const TeExpr *e, const TeExpr *in) {
    if (!in || te_dtype_class(e->type) != TE_CLASS_REAL) return false;
    bool call = in->kind == TE_CALL && (in->v.fn == TE_FN_MAX || in->v.fn == TE_FN_MIN);
    bool adds = in->kind == TE_ADD || in->kind == TE_SUB || in->kind == TE_REDUCE || call;
    if (e->kind == TE_NEG) return adds || in->kind == TE_MUL;
    return e->kind == TE_CALL && e->v.fn == TE_FN_ABS && adds;
}

static double count_ops(const Counted *c, const TeExpr *e, const TeExpr *in) {
    enum { SUMMED_EXP = 5 };  /* in machine code: small results are made of halves */
    enum { PHILOX = 100 };    /* ten rounds: two products, eight others */
    enum { E2M1 = 5 };        /* two fields, joined, converted and multiplied */
    if (e == c->stop[0] || e == c->stop[1] || is_constant(e)) return 0;
    double n = 0, arm[2];
    switch (e->kind) {
    case TE_INT: case TE_REAL: case TE_BOOLEAN: case TE_SIZE: case TE_INDEX: case TE_SCALAR:
        return 0;
    case TE_READ:
        return e->other ? count_ops(c, e->other, e) : 0;
    case TE_SELECT:
        if (c->run == 1 || !is_periodic(c, e->args[0])) {
            n = 1;
            break;
        }
        for (int i = 0; i < 2; i++) arm[i] = count_ops(c, e->args[1 + i], e);
        return arm[0] > arm[1] ? arm[0] : arm[1];
    case TE_DIV: case TE_MOD:
        n = is_one_instruction(e) ? 1 : EXPR_CALL;
        break;
    case TE_CALL:
        n = e->v.fn == TE_FN_MAX || e->v.fn == TE_FN_MIN || e->v.fn == TE_FN_ABS ? 1
            : e->v.fn == TE_FN_PHILOX ? PHILOX
            : e->v.fn == TE_FN_E2M1   ? E2M1
            : e->v.fn == TE_FN_EXP && c->summed ? SUMMED_EXP : EXPR_CALL;
        break;
    default:
        n = 1;
    }
    if (is_modifier(e, in)) n = 0;
    for (int i = 0; i < e->n_args; i++) n += count_ops(c, e->args[i], e);
    return n;
}

double expr_ops(const TeExpr *e) { return count_ops(&(Counted){.run = 1}, e, NULL); }

double expr_ops_without(const TeExpr *e, const TeExpr *in, const TeExpr *a, const TeExpr *b) {
    return count_ops(&(Counted){.stop = {a, b}, .run = 1}, e, in);
}

double stmt_ops(const Te *te, const TeStmt *s) {
    bool summed = s->fast || te_exps_are_summed(te);
    return count_ops(&(Counted){.run = 1, .summed = summed}, s->rhs, NULL);
}

bool expr_is_function(const TeExpr *e) {
    if (e->kind != TE_CALL || e->type != TE_F32) return false;
    return e->v.fn == TE_FN_EXP || e->v.fn == TE_FN_EXP2 || e->v.fn == TE_FN_SQRT ||
           e->v.fn == TE_FN_RSQRT;
}

double expr_functions(const TeExpr *e) {
    bool divides = e->kind == TE_DIV && e->type == TE_F32 && !is_one_instruction(e);
    double n = divides || expr_is_function(e);
    if (is_constant(e)) return 0;
    for (int i = 0; i < e->n_args; i++) n += expr_functions(e->args[i]);
    return n;
}

double quotient_ops(TeQuotient q) {
    enum { BY = 3, LOW = 6 };     /* rl_div_by, rl_div_low: in machine code */
    return q.low ? LOW : BY;
}

double expr_ops_in_run(const TeExpr *e, int index, int run) {
    return count_ops(&(Counted){.index = index, .run = run}, e, NULL);
}
