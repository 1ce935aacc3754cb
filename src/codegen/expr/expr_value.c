#include "codegen/expr/survey.h"
#include "te/tree/tree.h"

IrBase value_type(const Value *v) { return v->narrow ? IR_I32 : ir_compute(v->e->type); }

/* Is it an int, not just a number, that an f32 holds with a bit to spare?  */
static bool is_small(const Value *v) {
    const int64_t limit = 1 << 22;
    bool is_int = v->e->type == TE_I32 || v->narrow;
    return is_int && v->lo >= -limit && v->hi <= limit && v->lo < v->hi;
}

Ir value_as(Survey *s, int id, TeDtype to) {
    const Value *v = &s->value[id];
    Ir x = value_of(s, id);
    if (to == TE_F32 && is_small(v))
        return ir_call(s->cg, ir_type(IR_F32), "rl_small_to_f32", 1, x);
    return cg_convert(s->cg, to, v->e->type, x);
}

/* Child k as type `to`.  */
static Ir child_as(Survey *s, const Value *v, int k, TeDtype to) {
    return value_as(s, v->child[k], to);
}

static Ir child_of(Survey *s, const Value *v, int k) { return child_as(s, v, k, v->e->type); }

/* ---- arithmetic ---- */

static const char *integer_name(const Value *v) {
    return v->e->type == TE_I64 && !v->narrow ? "i64" : "i32";
}

/* Does a plain operator compute in 64 bits, although both operands are int?  One is widened.  */
static Ir widened(const Survey *s, const Value *v, Ir first) {
    const Value *x = &s->value[v->child[0]], *y = &s->value[v->child[1]];
    bool ints = (x->narrow || x->e->type == TE_I32) && (y->narrow || y->e->type == TE_I32);
    return v->e->type == TE_I64 && !v->narrow && ints ? ir_as(s->cg, IR_I64, first) : first;
}

/* The quotient by the reciprocal of the divisor, if that is given; or NULL.  */
static Ir by_inverse(const Survey *s, const Value *v, Ir x, Ir y) {
    const CgPoint *at = s->at;
    if (v->e->kind != TE_DIV || !at->inverse || v->e->args[1]->kind != TE_READ) return NULL;
    TeQuotient q = te_quotient(s->cg->te, at->stmt);
    Ir inverse = at->inverse[v->e->args[1]->v.ref];
    if (!q.e || !te_expr_same(v->e, q.e) || !inverse || (q.tested && !at->near)) return NULL;
    return ir_call(s->cg, ir_type(IR_F32), q.low ? "rl_div_low" : "rl_div_by", 3, x, y, inverse);
}

/* The product with the divisor's reciprocal, where that may stand for the quotient; or NULL.  */
static Ir by_factor(const Survey *s, const Value *v, Ir x) {
    const TeExpr *by = v->e->kind == TE_DIV ? v->e->args[1] : NULL;
    if (!by || by->kind != TE_READ || v->e->type != TE_F32 || !s->at->factor) return NULL;
    Ir factor = s->at->factor[by->v.ref];
    return factor ? ir_mul(s->cg, x, factor) : NULL;
}

/* A quotient or remainder of what may be negative by a power of two, which the bits are: they
 * floor.  NULL: it is none.  */
static Ir by_power(const Survey *s, const Value *v, Ir x) {
    const Value *y = &s->value[v->child[1]];
    int64_t by = y->e->kind == TE_INT ? y->e->v.i : 0;
    int n = 0;
    if (by < 1 || (by & (by - 1))) return NULL;
    while (INT64_C(1) << n < by) n++;
    bool down = v->e->kind == TE_DIV;
    return ir_binary(s->cg, down ? IR_SHR : IR_AND, widened(s, v, x),
                     ir_int(s->cg, down ? n : by - 1));
}

static Ir binary(Survey *s, const Value *v) {
    static const struct {
        IrOp op;
        const char *name;
    } row[] = {
        [TE_ADD] = {IR_ADD, "rl_add_"}, [TE_SUB] = {IR_SUB, "rl_sub_"},
        [TE_MUL] = {IR_MUL, "rl_mul_"}, [TE_DIV] = {IR_DIV, "rl_div_"},
        [TE_MOD] = {IR_REM, "rl_mod_"},
    };
    TeKind kind = v->e->kind;
    Ir x = child_of(s, v, 0), y = child_of(s, v, 1);
    bool integer = te_dtype_class(v->e->type) == TE_CLASS_INT;
    if (kind == TE_DIV && v->e->type == TE_F32 && s->at->stmt && s->at->stmt->fast)
        return ir_call(s->cg, ir_type(IR_F32), "rl_fast_div", 2, x, y);
    Ir quotient = by_factor(s, v, x);
    if (!quotient) quotient = by_inverse(s, v, x, y);
    if (quotient) return quotient;
    bool divides = kind == TE_DIV || kind == TE_MOD;
    bool floors = divides && (s->value[v->child[0]].lo < 0 || s->value[v->child[1]].lo < 1);
    Ir bits = integer && floors && !v->wraps ? by_power(s, v, x) : NULL;
    if (bits) return bits;
    if (integer && (v->wraps || floors))
        return ir_call(s->cg, ir_type(value_type(v)),
                       ir_joined(s->cg, row[kind].name, integer_name(v)), 2, x, y);
    return ir_binary(s->cg, row[kind].op, widened(s, v, x), y);
}

static Ir negated(Survey *s, const Value *v) {
    Ir x = child_of(s, v, 0);
    bool wide = v->e->type == TE_I64 && !v->narrow;
    if (v->wraps)
        return ir_call(s->cg, ir_type(value_type(v)), ir_joined(s->cg, "rl_sub_", integer_name(v)),
                       2, ir_int(s->cg, 0), x);
    return ir_unary(s->cg, IR_NEG, wide ? ir_as(s->cg, IR_I64, x) : x);
}

static Ir comparison(Survey *s, const Value *v) {
    static const IrOp op[] = {
        [TE_EQ] = IR_EQ, [TE_NE] = IR_NE, [TE_LT] = IR_LT,
        [TE_LE] = IR_LE, [TE_GT] = IR_GT, [TE_GE] = IR_GE,
    };
    TeDtype a = s->value[v->child[0]].e->type, b = s->value[v->child[1]].e->type;
    TeDtype to = a == TE_BOOL || b == TE_BOOL ? TE_BOOL : te_meet(a, b);
    return ir_binary(s->cg, op[v->e->kind], child_as(s, v, 0, to), child_as(s, v, 1, to));
}

/* ---- bits ---- */

static Ir bitwise(Survey *s, const Value *v) {
    static const IrOp op[] = {
        [TE_BITAND] = IR_AND, [TE_BITXOR] = IR_XOR, [TE_BITOR] = IR_OR,
    };
    TeKind kind = v->e->kind;
    Ir x = child_of(s, v, 0), y = child_of(s, v, 1);
    if (kind == TE_SHL || kind == TE_SHR)
        return ir_call(s->cg, ir_type(value_type(v)),
                       ir_joined(s->cg, kind == TE_SHL ? "rl_shl_" : "rl_shr_", integer_name(v)),
                       2, x, y);
    return ir_binary(s->cg, op[kind], widened(s, v, x), y);
}

/* ---- intrinsics ---- */

/* f64, f32 and @fast f32 forms.  Errors of the accurate ones: CUDA Programming Guide, appendix
 * "Mathematical Functions": none above the ulps of TE_INTRINSICS.  */
static const struct {
    const char *f64, *f32, *fast;
} intrinsic[TE_FN_COUNT] = {
    [TE_FN_EXP] = {"exp", "expf", "rl_fast_exp"},
    [TE_FN_EXP2] = {"exp2", "exp2f", "rl_fast_exp2"},
    [TE_FN_LOG] = {"log", "logf", "logf"},
    [TE_FN_LOG2] = {"log2", "log2f", "log2f"},
    [TE_FN_SQRT] = {"sqrt", "sqrtf", "rl_fast_sqrt"},
    [TE_FN_RSQRT] = {"rsqrt", "rsqrtf", "rsqrtf"},
    [TE_FN_TANH] = {"tanh", "tanhf", "rl_fast_tanh"},
    [TE_FN_ERF] = {"erf", "erff", "erff"},
    [TE_FN_SIN] = {"sin", "sinf", "rl_fast_sin"},
    [TE_FN_COS] = {"cos", "cosf", "rl_fast_cos"},
    [TE_FN_POW] = {"pow", "powf", "powf"},
    [TE_FN_FLOOR] = {"floor", "floorf", "floorf"},
    [TE_FN_CEIL] = {"ceil", "ceilf", "ceilf"},
    [TE_FN_ROUND] = {"rint", "rintf", "rintf"},
    [TE_FN_ABS] = {"fabs", "fabsf", "fabsf"},
    [TE_FN_MAX] = {"rl_max_f64", "rl_max_f32", "rl_max_f32"},
    [TE_FN_MIN] = {"rl_min_f64", "rl_min_f32", "rl_min_f32"},
};

/* Is it e^x of an f32 that is never positive?  Zeros of either sign, -inf and NaN do.  */
static bool is_exp_low(const Survey *s, const TeExpr *e) {
    if (e->v.fn != TE_FN_EXP || e->type != TE_F32 || !s->at->stmt || s->at->stmt->fast)
        return false;
    return te_real_range(s->cg->te, s->at->stmt, e->args[0]).hi <= 0;
}

/* f(f(x0, x1), x2) and so on, each as `base`.  */
static Ir folded_call(Survey *s, const Value *v, const char *name, IrBase base, Ir x) {
    for (int i = 1; i < v->n_child; i++)
        x = ir_call(s->cg, ir_type(base), name, 2, ir_as(s->cg, base, x),
                    ir_as(s->cg, base, child_of(s, v, i)));
    return x;
}

static Ir real_call(Survey *s, const Value *v) {
    TeFn fn = v->e->v.fn;
    bool fast = s->at->stmt && s->at->stmt->fast;
    const char *name = v->e->type == TE_F64 ? intrinsic[fn].f64
                       : fast               ? intrinsic[fn].fast
                                            : intrinsic[fn].f32;
    IrBase base = ir_compute(v->e->type);
    if (fn == TE_FN_E2M1)
        return cg_decode(s->cg, TE_F4E2M1, ir_as(s->cg, IR_U8, value_of(s, v->child[0])));
    Ir x = child_of(s, v, 0);
    if (is_exp_low(s, v->e))
        name = te_exps_are_summed(s->cg->te) ? "rl_exp_term" : "rl_exp_low";
    if (v->n_child == 1) return ir_call(s->cg, ir_type(base), name, 1, x);
    return folded_call(s, v, name, base, x);
}

static Ir code_of(Survey *s, const Value *v) {
    TeDtype from = v->e->args[0]->type;
    return ir_as(s->cg, IR_I32, cg_encode(s->cg, TE_F4E2M1, from, child_as(s, v, 0, from)));
}

static Ir integer_call(Survey *s, const Value *v) {
    if (v->e->v.fn == TE_FN_E2M1_CODE) return code_of(s, v);
    Ir x = child_of(s, v, 0);
    IrType type = ir_type(value_type(v));
    if (v->e->v.fn == TE_FN_PHILOX)
        return ir_call(s->cg, type, "rl_philox", 2, x, child_of(s, v, 1));
    if (v->e->v.fn == TE_FN_ABS)
        return ir_call(s->cg, type, ir_joined(s->cg, "rl_abs_", integer_name(v)), 1, x);
    return folded_call(s, v, v->e->v.fn == TE_FN_MAX ? "max" : "min", value_type(v), x);
}

/* ---- reads ---- */

/* The tests that subscript k is inside, joined to `tests`.  */
static Ir test_subscript(Survey *s, const Value *v, int k, Ir tests) {
    const Value *sub = &s->value[v->child[k]];
    const TeExtent *extent = &s->cg->te->tensor[v->e->v.ref].shape[k];
    bool low = sub->lo < 0, high = sub->hi >= extent->min;
    if (!low && !high) return tests;
    const Cg *cg = s->cg;
    Ir x = value_of(s, v->child[k]), test;
    IrBase type = sub->narrow || sub->e->type == TE_I32 ? IR_U32 : IR_U64;
    if (!high) test = ir_binary(cg, IR_GE, x, ir_int(cg, 0));
    else if (!low) test = ir_lt(cg, x, cg_extent(cg, extent));
    else test = ir_lt(cg, ir_cast(cg, type, x), ir_cast(cg, type, cg_extent(cg, extent)));
    return ir_both(cg, tests, test);
}

static bool is_int(const Value *v) { return v->narrow || v->e->type == TE_I32; }

/* The value without the constants that it adds to *by.  */
static int without_constants(const Survey *s, int id, int64_t *by) {
    const Value *v = &s->value[id];
    while (v->n_child == 2 && (v->e->kind == TE_ADD || v->e->kind == TE_SUB) && !v->wraps) {
        const Value *last = &s->value[v->child[1]];
        if (last->e->kind != TE_INT) break;
        *by += v->e->kind == TE_ADD ? last->e->v.i : -last->e->v.i;
        id = v->child[0];
        v = &s->value[id];
    }
    return id;
}

Ir survey_subscript(Survey *s, int id, int64_t *by) {
    if (s->value[id].lo >= 0) return value_of(s, id);
    id = without_constants(s, id, by);
    const Value *v = &s->value[id];
    Ir x = value_of(s, id);
    return v->lo < 0 && is_int(v) ? ir_hidden(s->cg, IR_I32, x) : x;
}

/* A subscript that fits an int where it is read.  One that does not elsewhere is hidden: NVRTC
 * steps the narrow one from turn to turn, over those where its test, or the condition around the
 * read, does not hold.  */
static Ir narrowed(const Survey *s, const Value *v, Ir x) {
    Ir narrow = ir_as(s->cg, IR_I32, x);
    bool fits = v->lo >= INT32_MIN && v->hi <= INT32_MAX;
    return fits ? narrow : ir_hidden(s->cg, IR_I32, narrow);
}

static Ir element(Survey *s, const Value *v) {
    int t = v->e->v.ref;
    Ir sub[TE_MAX_RANK];
    int64_t by[TE_MAX_RANK] = {0};
    for (int k = 0; k < v->e->n_args; k++)
        sub[k] = survey_subscript(s, v->child[k], &by[k]);
    bool narrows = !cg_apart_wide(s->cg, t, by);
    for (int k = 0; k < v->e->n_args && narrows; k++) {
        const Value *x = &s->value[v->child[k]];
        if (!is_int(x)) sub[k] = narrowed(s, x, sub[k]);
    }
    Ir at = cg_element(s->cg, t, cg_offset_apart(s->cg, t, sub, by), by);
    return cg_decode(s->cg, s->cg->te->tensor[t].dtype, at);
}

static Ir read(Survey *s, const Value *v) {
    const TeExpr *e = v->e;
    Ir tests = NULL;
    bool tested = survey_tests(s, e);
    for (int k = 0; k < e->n_args && tested; k++) tests = test_subscript(s, v, k, tests);
    Ir x = survey_read(s, e, element(s, v));
    if (!tests) return x;
    Ir other = e->other ? child_of(s, v, e->n_args) : cg_int(s->cg, e->type, 0);
    return ir_select(s->cg, tests, x, other);
}

static Ir size_of(const Survey *s, int size) {
    const TeSize *own = &s->cg->te->size[size];
    return own->kind == TE_SIZE_RUNTIME && own->extent.expr
               ? cg_size(s->cg, size)
               : cg_int(s->cg, TE_I64, own->extent.value);
}

static Ir cast_of(Survey *s, const Value *v) {
    const TeExpr *e = v->e;
    const Value *x = &s->value[v->child[0]];
    bool exact = is_small(x) && te_dtype_class(e->store) == TE_CLASS_REAL;
    TeDtype from = exact && e->store != TE_F64 ? TE_F32 : x->e->type;
    return cg_cast(s->cg, e->store, from, child_as(s, v, 0, from));
}

Ir value_of(Survey *s, int id) {
    const Value *v = &s->value[id];
    const TeExpr *e = v->e;
    const Cg *cg = s->cg;
    if (v->value) return v->value;
    switch (e->kind) {
    case TE_INT:
    case TE_BOOLEAN: return cg_int(cg, e->type, e->v.i);
    case TE_REAL: return cg_real(cg, e->type, e->v.r);
    case TE_SIZE: return size_of(s, e->v.ref);
    case TE_INDEX: return s->at->index[e->v.ref];
    case TE_SCALAR: return cg_tensor(cg, e->v.ref);
    case TE_READ: return read(s, v);
    case TE_NEG: return negated(s, v);
    case TE_NOT: return ir_unary(cg, IR_NOT, value_of(s, v->child[0]));
    case TE_ADD:
    case TE_SUB:
    case TE_MUL:
    case TE_DIV:
    case TE_MOD: return binary(s, v);
    case TE_SHL:
    case TE_SHR:
    case TE_BITAND:
    case TE_BITXOR:
    case TE_BITOR: return bitwise(s, v);
    case TE_AND:
    case TE_OR:
        return ir_binary(cg, e->kind == TE_AND ? IR_BOTH : IR_EITHER, value_of(s, v->child[0]),
                         value_of(s, v->child[1]));
    case TE_SELECT:
        return ir_select(cg, value_of(s, v->child[0]), child_of(s, v, 1), child_of(s, v, 2));
    case TE_CALL:
        return te_dtype_class(e->type) == TE_CLASS_REAL ? real_call(s, v) : integer_call(s, v);
    case TE_CAST: return cast_of(s, v);
    default: return comparison(s, v);
    }
}
