#include "codegen/monoid.h"
#include <math.h>
#include <string.h>

void monoid_at(const Cg *cg, Partial *x, const char *lane) {
    const char *element = lane ? cg_text(cg, "[%s]", lane) : "";
    x->value = cg_text(cg, "%s%s", x->array, element);
    if (te_positional(x->e)) x->where = cg_text(cg, "%s%s", x->positions, element);
}

Partials monoid_pass(const Cg *cg, const RowGroup *g, int pass, const char *stem,
                     const char *lane) {
    Partials p = {.group = g, .count = "int"};
    int number[ROW_MAX_STMTS];
    for (int i = 0; i < g->n; i++) {
        const TeStmt *s = &cg->te->stmt[g->stmt[i]];
        if (g->role[i] != ROW_REDUCE || g->pass[i] != pass) continue;
        number[i] = p.n;
        Partial *x = &p.at[p.n++];
        *x = (Partial){.e = s->rhs, .number = i};
        x->name = cg_name(cg, "", s->tensor);
        x->array = cg_text(cg, "%s%s", stem, x->name);
        x->positions = cg_text(cg, strcmp(stem, "acc") == 0 ? "where%.0s%s" : "%s_at%s", stem,
                               x->name);
        monoid_at(cg, x, lane);
        if (g->follow[i] == FOLLOW_NONE) continue;
        x->follow = g->follow[i];
        x->leader = number[g->leader[i]];
        x->center = g->center[i];
    }
    return p;
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
static const char *identity(const Cg *c, TeRedop red, TeDtype type) {
    int64_t i;
    double r;
    red = red == TE_RED_ARGMAX ? TE_RED_MAX : red == TE_RED_ARGMIN ? TE_RED_MIN : red;
    te_identity(red, type, &i, &r);
    return te_dtype_class(type) == TE_CLASS_REAL ? cg_real(c, type, r) : cg_int(c, type, i);
}

const char *cg_fold(const Cg *c, TeRedop red, TeDtype type, const char *acc, const char *value) {
    const char *name = te_dtype_name(type);
    bool real = te_dtype_class(type) == TE_CLASS_REAL;
    switch (red) {
    case TE_RED_SUM:
        return real ? cg_text(c, "%s + %s", acc, value)
                    : cg_text(c, "rl_add_%s(%s, %s)", name, acc, value);
    case TE_RED_PROD:
        return real ? cg_text(c, "%s * %s", acc, value)
                    : cg_text(c, "rl_mul_%s(%s, %s)", name, acc, value);
    case TE_RED_ANY: return cg_text(c, "(bool)(%s | %s)", acc, value);
    case TE_RED_ALL: return cg_text(c, "(bool)(%s & %s)", acc, value);
    default: {
        const char *fn = red == TE_RED_MAX ? "max" : "min";
        if (real) return cg_text(c, "rl_%s_%s(%s, %s)", fn, name, acc, value);
        /* Indices and sizes that fit are printed as int.  */
        const char *form = type == TE_I64 ? "%s(%s, (long long)(%s))" : "%s(%s, %s)";
        return cg_text(c, form, fn, acc, value);
    }
    }
}

static void declare(Cg *cg, const char *type, const char *array, int n, const char *first) {
    if (n == 0) {
        cg_line(cg, "%s %s = %s;", type, array, first);
        return;
    }
    cg_line(cg, "%s %s[%d];", type, array, n);
    cg_line(cg, "#pragma unroll");
    cg_line(cg, "for (int x = 0; x < %d; x++) %s[x] = %s;", n, array, first);
}

void monoid_declare(Cg *cg, const Partial *p, int n) {
    TeDtype type = te_reduced_type(p->e);
    declare(cg, cg_type(type), p->array, n, identity(cg, (TeRedop)p->e->red, type));
    if (p->where) declare(cg, "int", p->positions, n, "2147483647");
}

void monoid_declare_tile(Cg *cg, TeRedop red, TeDtype type, const char *rows,
                         const char *columns) {
    cg_line(cg, "%s acc[%s][%s];", cg_type(type), rows, columns);
    cg_line(cg, "#pragma unroll");
    cg_open(cg, "for (int i = 0; i < %s; i++)", rows);
    cg_line(cg, "#pragma unroll");
    cg_line(cg, "for (int j = 0; j < %s; j++) acc[i][j] = %s;", columns,
            identity(cg, red, type));
    cg_close(cg);
}

const char *monoid_result(const Partial *p) { return p->where ? p->where : p->value; }

void monoid_fold(Cg *cg, const Partial *p, const char *value, const char *where, bool next) {
    TeDtype type = te_reduced_type(p->e);
    if (!p->where) {
        cg_line(cg, "%s = %s;", p->value,
                cg_fold(cg, (TeRedop)p->e->red, type, p->value, value));
        return;
    }
    /* The text of a wide integer may be an int.  */
    if (type == TE_I64) value = cg_text(cg, "(long long)%s", value);
    cg_line(cg, "rl_%s%s(%s, %s, %s, %s);", p->e->red == TE_RED_ARGMAX ? "argmax" : "argmin",
            next ? "_next" : "", p->value, p->where, value, where);
}

const char *monoid_position(const CgPoint *p) {
    const TeExpr *e = p->stmt->rhs;
    const char *sum = NULL;
    for (int i = 0; i < e->n_index; i++) {
        const char *x = p->index[e->index[i]];
        const TeExtent *n = &p->stmt->index[e->index[i]].hi;
        sum = sum ? cg_text(p->cg, "(%s * %s + %s)", sum, cg_extent(p->cg, n), x) : x;
    }
    return cg_text(p->cg, "(int)%s", sum);
}

/* ---- what follows ---- */

/* The factor from terms made with maximum `from` to those made with `to`.  */
static const char *factor(const Cg *cg, const TeExpr *e, const char *from, const char *to) {
    bool two = e->args[0]->v.fn == TE_FN_EXP2, wide = e->type == TE_F64;
    const char *call = wide ? (two ? "exp2" : "exp") : two ? "exp2f" : "expf";
    return cg_text(cg, "(%s == %s ? %s : %s(%s - %s))", from, to, cg_real(cg, e->type, 1), call,
                   from, to);
}

static const char *mean(const Cg *cg, const TeExpr *e, const char *sum, const char *count) {
    return cg_text(cg, "%s / (%s)%s", sum, cg_type(e->type), count);
}

/* In steps of columns `count` is the same for neighbours, and one division does for all.  */
static const char *step_mean(const Cg *cg, const Partial *online, const char *sum,
                             const char *count, int deep) {
    TeDtype type = online->e->type;
    if (deep == 0) return mean(cg, online->e, sum, count);
    return cg_text(cg, "%s * (%s / (%s)%s)", sum, cg_real(cg, type, 1), cg_type(type), count);
}

/* No maximum yet: every term is nothing.  */
static const char *finite(const Cg *cg, const TeExpr *e, const char *now) {
    return cg_text(cg, "%s == %s ? 0 : %s", now, identity(cg, TE_RED_MAX, e->type), now);
}

const char *monoid_center(const Cg *cg, const Partial *online, const char *now, const char *count) {
    return online->follow == FOLLOW_SCALE ? finite(cg, online->e, now)
                                          : mean(cg, online->e, now, count);
}

/* Adds what `own`, the mean of the elements seen, and that of `count` others differ by.  */
static void join(Cg *cg, const Partial *online, const char *own, const char *other,
                 const char *count) {
    const char *type = cg_type(online->e->type);
    cg_line(cg, "const %s d = %s - %s;", type, own, other);
    cg_line(cg, "%s += d * d * ((%s)seen * ((%s)%s / (%s)(seen + %s)));", online->value, type, type,
            count, type, count);
}

bool monoid_restarts(const Partial *leader) { return leader->e->red == TE_RED_SUM; }

void monoid_follow(Cg *cg, const Partial *online, const char *past, const char *now, int deep) {
    const char *count = deep ? cg_text(cg, "%d", deep) : "max(fresh, 1)";
    const char *base = cg_text(cg, "base%s", online->name);
    if (online->follow == FOLLOW_SCALE)
        cg_line(cg, "%s *= %s;", online->value, factor(cg, online->e, past, now));
    cg_line(cg, "const %s %s = %s;", cg_type(online->e->type), base,
            online->follow == FOLLOW_SCALE ? finite(cg, online->e, now)
                                           : step_mean(cg, online, now, count, deep));
    if (online->follow == FOLLOW_SCALE) return;
    cg_open(cg, deep ? "if (seen > 0)" : "if (fresh > 0 && seen > 0)");
    join(cg, online, step_mean(cg, online, past, "seen", deep), base, deep ? count : "fresh");
    cg_close(cg);
}

const char *monoid_fit(Cg *cg, const Partial *online, const char *value, PartialLeader own,
                       PartialLeader whole) {
    const TeExpr *e = online->e;
    if (online->follow == FOLLOW_SCALE)
        return cg_text(cg, "%s * %s", value, factor(cg, e, own.value, whole.value));
    cg_line(cg, "const %s n = (%s)%s;", cg_type(e->type), cg_type(e->type), own.count);
    cg_line(cg, "const %s d = n > 0 ? %s / n - %s : 0;", cg_type(e->type), own.value,
            mean(cg, e, whole.value, whole.count));
    return cg_text(cg, "(%s + d * d * n)", value);
}

/* Adds `other`, made with the maximum x, to what is made with `own`.  The smaller one moves.  */
static void scale(Cg *cg, const Partial *online, const char *own, const char *x, const char *other,
                  const char *now) {
    const char *type = cg_type(online->e->type), *one = cg_real(cg, online->e->type, 1);
    cg_scope(cg);
    cg_line(cg, "const %s d = %s == %s ? %s : %s;", type, own, now, x, own);
    cg_line(cg, "const %s f = %s;", type, factor(cg, online->e, "d", now));
    cg_line(cg, "%s = %s * (%s == %s ? %s : f) + %s * (%s == %s ? %s : f);", online->value,
            online->value, own, now, one, other, x, now, one);
    cg_close(cg);
}

void monoid_merge(Cg *cg, const Partials *p, int i, const char *element) {
    const Partial *own = &p->at[i];
    const char *x = cg_text(cg, "x%s%s", own->name, element);
    const char *now = cg_text(cg, "now%s", own->name);
    if (!monoid_is_leader(p, i)) {
        monoid_fold(cg, own, x, cg_text(cg, "y%s%s", own->name, element), false);
        return;
    }
    cg_line(cg, "const %s %s = %s;", cg_type(own->e->type), now,
            cg_fold(cg, (TeRedop)own->e->red, own->e->type, own->value, x));
    for (int t = 0; t < p->n; t++) {
        const Partial *online = &p->at[t];
        const char *other = cg_text(cg, "x%s%s", online->name, element);
        if (!follows(p, t, i)) continue;
        if (online->follow == FOLLOW_SCALE) {
            scale(cg, online, own->value, x, other, now);
            continue;
        }
        cg_open(cg, "if (seen > 0 && more > 0)");
        join(cg, online, mean(cg, online->e, own->value, "seen"), mean(cg, online->e, x, "more"),
             "more");
        cg_close(cg);
        cg_line(cg, "%s += %s;", online->value, other);
    }
    cg_line(cg, "%s = %s;", own->value, now);
}

void monoid_settle(Cg *cg, const Partials *p, const char *live) {
    for (int t = 0; t < p->n; t++) {
        const Partial *online = &p->at[t];
        if (online->follow != FOLLOW_SCALE) continue;
        /* All are -inf: each term is exp(-inf + inf).  */
        cg_line(cg, "if (%s%s%s == %s) %s = %s;", live ? live : "", live ? " && " : "",
                p->at[online->leader].value, identity(cg, TE_RED_MAX, online->e->type),
                online->value,
                cg_real(cg, online->e->type, (double)NAN));
    }
}
