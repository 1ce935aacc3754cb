#include "codegen/reduce/monoid.h"
#include <math.h>

static IrBase base_of(const Partial *p) { return ir_compute(te_reduced_type(p->e)); }

/* Of a value, and of what may stand beside it.  */
enum { VALUE, POSITION, FACTOR, PARTS };
static const char *const words[MONOID_COUNT][PARTS] = {
#define X(id, word, position) {word, position, word "_by"},
    MONOID_VARIABLES(X)
#undef X
};

static Ir variable(const Cg *cg, MonoidVariable what, int part, int tensor, IrType type) {
    return cg_variable(cg, PARTS * (int)what + part, words[what][part], tensor, type);
}

Ir monoid_variable(const Cg *cg, MonoidVariable what, int tensor, IrType type) {
    return variable(cg, what, VALUE, tensor, type);
}

Ir monoid_beside(const Cg *cg, MonoidVariable what, const Partial *p, IrType type) {
    return variable(cg, what, te_positional(p->e) ? POSITION : FACTOR, p->tensor, type);
}

Ir monoid_value(const Cg *cg, MonoidVariable what, const Partial *p) {
    return monoid_variable(cg, what, p->tensor, ir_type(base_of(p)));
}

Ir monoid_counted(const Cg *cg, MonoidVariable what, IrBase count) {
    return monoid_variable(cg, what, -1, ir_type(count));
}

void monoid_at(const Cg *cg, Partial *x, Ir lane) {
    x->value = lane ? ir_element(cg, x->array, lane) : x->array;
    if (te_is_paired(x->e))
        x->beside = lane ? ir_element(cg, x->beside_array, lane) : x->beside_array;
}

static IrType held_type(IrBase base, bool array) {
    return array ? ir_array_of(base) : ir_type(base);
}

static void name_variables(const Cg *cg, Partial *x, MonoidVariable held, bool array) {
    x->array = monoid_variable(cg, held, x->tensor, held_type(base_of(x), array));
    if (!te_is_paired(x->e)) return;
    IrBase base = ir_compute(te_beside_type(x->e));
    x->beside_array = monoid_beside(cg, held, x, held_type(base, array));
}

Partials monoid_pass(const Cg *cg, const RowGroup *g, int pass, MonoidVariable held, Ir lane) {
    Partials p = {.group = g, .count = IR_I32};
    int number[ROW_MAX_STMTS];
    for (int i = 0; i < g->n; i++) {
        const TeStmt *s = &cg->te->stmt[g->stmt[i]];
        if (g->role[i] != ROW_REDUCE || g->pass[i] != pass) continue;
        number[i] = p.n;
        Partial *x = &p.at[p.n++];
        *x = (Partial){.e = s->rhs, .number = i, .tensor = s->tensor};
        name_variables(cg, x, held, lane != NULL);
        monoid_at(cg, x, lane);
        if (g->follow[i] == FOLLOW_NONE) continue;
        x->follow = g->follow[i];
        x->leader = number[g->leader[i]];
        x->center = g->center[i];
    }
    return p;
}

Partials monoid_alone(const TeExpr *e, Ir array) {
    return (Partials){.count = IR_I32, .at = {{.e = e, .tensor = -1, .array = array}}, .n = 1};
}

Partials monoid_select(const Partials *p, bool online) {
    Partials x = {.group = p->group, .count = p->count};
    for (int i = 0; i < p->n; i++) {
        if ((p->at[i].follow != FOLLOW_NONE) == online) x.at[x.n++] = p->at[i];
    }
    for (int i = 0; i < x.n; i++) x.at[i].follow = FOLLOW_NONE;
    return x;
}

const Partial *monoid_of(const Partials *p, const TeExpr *e) {
    int i = 0;
    while (p->at[i].e != e) i++;
    return &p->at[i];
}

static bool follows(const Partials *p, int online, int leader) {
    return p->at[online].follow && p->at[online].leader == leader;
}

bool monoid_is_leader(const Partials *p, int i) {
    for (int t = 0; t < p->n; t++) {
        if (follows(p, t, i)) return true;
    }
    return false;
}

static bool has(const Partials *p, RowFollow follow) {
    for (int t = 0; t < p->n; t++) {
        if (p->at[t].follow == follow) return true;
    }
    return false;
}

bool monoid_scales(const Partials *p) { return has(p, FOLLOW_SCALE); }
bool monoid_counts(const Partials *p) { return has(p, FOLLOW_SHIFT); }

/* ---- plain operators and pairs ---- */

/* Of a pair its value, which every other one beats.  */
Ir monoid_identity(const Cg *c, TeRedop red, TeDtype type) {
    int64_t i;
    double r;
    red = red == TE_RED_ARGMAX ? TE_RED_MAX : red == TE_RED_ARGMIN ? TE_RED_MIN : red;
    te_identity(red, type, &i, &r);
    return te_dtype_class(type) == TE_CLASS_REAL ? cg_real(c, type, r) : cg_int(c, type, i);
}

Ir cg_fold(const Cg *c, TeRedop red, TeDtype type, Ir acc, Ir value) {
    const char *name = te_dtype_name(type);
    IrBase base = ir_compute(type);
    bool real = te_dtype_class(type) == TE_CLASS_REAL, sum = red == TE_RED_SUM;
    if (sum || red == TE_RED_PROD) {
        if (real) return ir_binary(c, sum ? IR_ADD : IR_MUL, acc, value);
        return ir_call(c, ir_type(base), ir_joined(c, sum ? "rl_add_" : "rl_mul_", name), 2, acc,
                       value);
    }
    if (red == TE_RED_ANY || red == TE_RED_ALL)
        return ir_cast(c, IR_BOOL, ir_binary(c, red == TE_RED_ANY ? IR_OR : IR_AND, acc, value));
    bool max = red == TE_RED_MAX;
    if (real)
        return ir_call(c, ir_type(base), ir_joined(c, max ? "rl_max_" : "rl_min_", name), 2, acc,
                       value);
    return ir_call(c, ir_type(base), max ? "max" : "min", 2, acc, ir_as(c, base, value));
}

static void declare(Cg *cg, Ir array, int n, Ir first) {
    if (n == 0) {
        ir_declare(cg, array, first);
        return;
    }
    ir_declare_array(cg, array, n);
    Ir x = ir_count(cg, "x", n, IR_UNROLL_ALL);
    ir_set(cg, ir_element(cg, array, x), first);
    ir_close(cg);
}

static void room(Cg *cg, Ir array, int n) {
    if (n == 0) ir_declare(cg, array, NULL);
    else ir_declare_array(cg, array, n);
}

void monoid_room(Cg *cg, const Partial *p, int n) {
    room(cg, p->array, n);
    if (p->beside) room(cg, p->beside_array, n);
}

void monoid_declare(Cg *cg, const Partial *p, int n) {
    declare(cg, p->array, n, monoid_identity(cg, (TeRedop)p->e->red, te_reduced_type(p->e)));
    if (!p->beside) return;
    declare(cg, p->beside_array, n,
            te_positional(p->e) ? ir_int(cg, INT32_MAX)
                                : monoid_identity(cg, TE_RED_PROD, p->e->type));
}

Ir monoid_result(const Partial *p) { return te_positional(p->e) ? p->beside : p->value; }

/* What the later of two maps makes of the earlier one.  */
static void compose(Cg *cg, const Partial *p, Ir value, Ir factor, bool before) {
    TeDtype type = p->e->type;
    Ir by = before ? p->beside : factor, of = before ? value : p->value;
    Ir add = before ? p->value : value;
    Ir product = cg_fold(cg, TE_RED_PROD, type, by, of);
    ir_set(cg, p->value, cg_fold(cg, TE_RED_SUM, type, product, add));
    ir_set(cg, p->beside, cg_fold(cg, TE_RED_PROD, type, p->beside, factor));
}

void monoid_fold(Cg *cg, const Partial *p, Ir value, Ir beside, FoldSide side) {
    TeDtype type = te_reduced_type(p->e);
    if (te_is_recurrence(p->e)) {
        compose(cg, p, value, beside, side == FOLD_BEFORE);
        return;
    }
    if (!p->beside) {
        ir_set(cg, p->value, cg_fold(cg, (TeRedop)p->e->red, type, p->value, value));
        return;
    }
    const char *pair = p->e->red == TE_RED_ARGMAX ? "rl_argmax" : "rl_argmin";
    if (side == FOLD_BEHIND) pair = ir_joined(cg, pair, "_next");
    ir_do(cg, ir_call_in_place(cg, pair, 2, 4, p->value, p->beside,
                               type == TE_I64 ? ir_as(cg, IR_I64, value) : value, beside));
}

Ir monoid_position(const CgPoint *p) {
    const TeExpr *e = p->stmt->rhs;
    const Cg *cg = p->cg;
    Ir sum = NULL;
    for (int i = 0; i < e->n_index; i++) {
        Ir x = p->index[e->index[i]];
        const TeExtent *n = &p->stmt->index[e->index[i]].hi;
        sum = sum ? ir_add(cg, ir_mul(cg, sum, cg_extent(cg, n)), x) : x;
    }
    return ir_as(cg, IR_I32, sum);
}

/* ---- what follows ---- */

static Ir one(const Cg *cg, const TeExpr *e) { return cg_real(cg, e->type, 1); }

/* x if a == b, else y.  */
static Ir if_equal(const Cg *cg, Ir a, Ir b, Ir x, Ir y) {
    return ir_select(cg, ir_binary(cg, IR_EQ, a, b), x, y);
}

/* The factor from terms made with maximum `from` to those made with `to`.  */
static Ir factor(const Cg *cg, const TeExpr *e, Ir from, Ir to) {
    const TeExpr *power = rows_power(e->args[0]), *scaled = power->args[0];
    bool two = power->v.fn == TE_FN_EXP2, wide = e->type == TE_F64;
    const char *name = wide ? (two ? "exp2" : "exp") : two ? "exp2f" : "expf";
    Ir grown = ir_sub(cg, from, to);
    if (scaled->kind == TE_MUL) {
        const TeExpr *k = scaled->args[scaled->args[0] == rows_difference(power)];
        while (k->kind == TE_CAST) k = k->args[0];
        double by = k->kind == TE_REAL ? k->v.r : (double)k->v.i;
        grown = ir_mul(cg, grown, cg_real(cg, e->type, by));
    }
    Ir ratio = ir_call(cg, ir_type(ir_compute(e->type)), name, 1, grown);
    return if_equal(cg, from, to, one(cg, e), ratio);
}

static Ir mean(const Cg *cg, const TeExpr *e, Ir sum, Ir count) {
    return ir_div(cg, sum, ir_as(cg, ir_compute(e->type), count));
}

/* In steps of columns `count` is the same for neighbours, and one division does for all.  */
static Ir step_mean(const Cg *cg, const Partial *online, Ir sum, Ir count, int deep) {
    if (deep == 0) return mean(cg, online->e, sum, count);
    return ir_mul(cg, sum, mean(cg, online->e, one(cg, online->e), count));
}

/* No maximum yet: every term is nothing.  */
static Ir finite(const Cg *cg, const TeExpr *e, Ir now) {
    Ir none = monoid_identity(cg, TE_RED_MAX, e->type);
    return if_equal(cg, now, none, cg_real(cg, e->type, 0), now);
}

Ir monoid_center(const Cg *cg, const Partial *online, Ir now, Ir count) {
    return online->follow == FOLLOW_SCALE ? finite(cg, online->e, now)
                                          : mean(cg, online->e, now, count);
}

static Ir seen(const Cg *cg) { return monoid_counted(cg, MONOID_SEEN, IR_I32); }
static Ir fresh(const Cg *cg) { return monoid_counted(cg, MONOID_FRESH, IR_I32); }

/* Adds what `own`, the mean of the elements seen, and that of `count` others differ by.  */
static void join(Cg *cg, const Partial *online, Ir own, Ir other, Ir count) {
    IrBase base = ir_compute(online->e->type);
    Ir d = ir_let_as(cg, base, "d", ir_sub(cg, own, other));
    Ir all = ir_cast(cg, base, ir_add(cg, seen(cg), count));
    Ir share = ir_div(cg, ir_cast(cg, base, count), all);
    ir_update(cg, IR_ADD, online->value,
              ir_mul(cg, ir_mul(cg, d, d), ir_mul(cg, ir_cast(cg, base, seen(cg)), share)));
}

bool monoid_restarts(const Partial *leader) { return leader->e->red == TE_RED_SUM; }

static Ir positive(const Cg *cg, Ir count) { return ir_binary(cg, IR_GT, count, ir_int(cg, 0)); }

void monoid_follow(Cg *cg, const Partial *online, Ir past, Ir now, int deep) {
    bool scales = online->follow == FOLLOW_SCALE;
    Ir count = deep ? ir_int(cg, deep)
                    : ir_call(cg, ir_type(IR_I32), "max", 2, fresh(cg), ir_int(cg, 1));
    if (scales) ir_update(cg, IR_MUL, online->value, factor(cg, online->e, past, now));
    Ir base = monoid_value(cg, MONOID_CENTER, online);
    ir_define(cg, base, scales ? finite(cg, online->e, now)
                               : step_mean(cg, online, now, count, deep));
    if (scales) return;
    ir_if(cg, ir_both(cg, deep ? NULL : positive(cg, fresh(cg)), positive(cg, seen(cg))));
    join(cg, online, step_mean(cg, online, past, seen(cg), deep), base, deep ? count : fresh(cg));
    ir_close(cg);
}

Ir monoid_fit(Cg *cg, const Partial *online, Ir value, PartialLeader own, PartialLeader whole) {
    const TeExpr *e = online->e;
    IrBase base = ir_compute(e->type);
    if (online->follow == FOLLOW_SCALE)
        return ir_mul(cg, value, factor(cg, e, own.value, whole.value));
    Ir n = ir_let_as(cg, base, "n", ir_cast(cg, base, own.count));
    Ir off = ir_sub(cg, ir_div(cg, own.value, n), mean(cg, e, whole.value, whole.count));
    Ir d = ir_let_as(cg, base, "d", ir_select(cg, positive(cg, n), off, cg_real(cg, e->type, 0)));
    return ir_add(cg, value, ir_mul(cg, ir_mul(cg, d, d), n));
}

/* Adds `other`, made with the maximum x, to what is made with `own`.  The smaller one moves.  */
static void scale(Cg *cg, const Partial *online, Ir own, Ir x, Ir other, Ir now) {
    IrBase base = ir_compute(online->e->type);
    Ir one_ = one(cg, online->e);
    ir_scope(cg);
    Ir d = ir_let_as(cg, base, "d", if_equal(cg, own, now, x, own));
    Ir f = ir_let_as(cg, base, "f", factor(cg, online->e, d, now));
    ir_set(cg, online->value,
           ir_add(cg, ir_mul(cg, online->value, if_equal(cg, own, now, one_, f)),
                  ir_mul(cg, other, if_equal(cg, x, now, one_, f))));
    ir_close(cg);
}

/* Of what comes in a value, or element `lane` of a vector.  */
static Ir coming(const Cg *cg, Ir in, Ir lane) { return lane ? ir_lane(cg, in, lane) : in; }

static void merge_online(Cg *cg, const Partial *leader, const Partial *online, Ir lane, Ir now) {
    Ir x = coming(cg, leader->in, lane);
    Ir other = coming(cg, online->in, lane);
    if (online->follow == FOLLOW_SCALE) {
        scale(cg, online, leader->value, x, other, now);
        return;
    }
    Ir more = monoid_counted(cg, MONOID_MORE, IR_I32);
    ir_if(cg, ir_both(cg, positive(cg, seen(cg)), positive(cg, more)));
    join(cg, online, mean(cg, online->e, leader->value, seen(cg)), mean(cg, online->e, x, more),
         more);
    ir_close(cg);
    ir_update(cg, IR_ADD, online->value, other);
}

void monoid_merge(Cg *cg, const Partials *p, int i, Ir lane) {
    const Partial *own = &p->at[i];
    Ir x = coming(cg, own->in, lane);
    if (!monoid_is_leader(p, i)) {
        monoid_fold(cg, own, x, own->beside ? coming(cg, own->in_beside, lane) : NULL,
                    te_is_recurrence(own->e) ? FOLD_BEHIND : FOLD_ASIDE);
        return;
    }
    const char *word = own->tensor < 0 ? "now" : cg_name(cg, "now", own->tensor);
    Ir now = ir_let_as(cg, ir_compute(own->e->type), word,
                       cg_fold(cg, (TeRedop)own->e->red, own->e->type, own->value, x));
    for (int t = 0; t < p->n; t++) {
        if (follows(p, t, i)) merge_online(cg, own, &p->at[t], lane, now);
    }
    ir_set(cg, own->value, now);
}

void monoid_take(Cg *cg, const Partials *p, int i, Ir lane) {
    const Partial *own = &p->at[i];
    ir_set(cg, own->value, coming(cg, own->in, lane));
    if (own->beside) ir_set(cg, own->beside, coming(cg, own->in_beside, lane));
}

void monoid_settle(Cg *cg, const Partials *p, Ir live) {
    for (int t = 0; t < p->n; t++) {
        const Partial *online = &p->at[t];
        TeDtype type = online->e->type;
        if (online->follow != FOLLOW_SCALE) continue;
        /* All are -inf: each term is exp(-inf + inf).  */
        Ir none = ir_binary(cg, IR_EQ, p->at[online->leader].value,
                            monoid_identity(cg, TE_RED_MAX, type));
        ir_if(cg, ir_both(cg, live, none));
        ir_set(cg, online->value, cg_real(cg, type, (double)NAN));
        ir_close(cg);
    }
}
