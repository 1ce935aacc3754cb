#include "te/group/groups.h"
#include "te/tree/tree.h"
#include <string.h>

/* How a body splits.  Its atoms are the reads (with all that is inside them) and the indices used
 * as values.  An atom belongs to the side whose spatial indices it uses; one that uses none beyond
 * the batch goes with its neighbours, and one that uses no index at all with anything.  */
enum { ON_A = 1, ON_B = 2, ON_ANY = 4 };
enum { MAX_FACTORS = 6 };

typedef struct {
    const TeStmt *s;
    uint32_t spatial;                      /* the statement's left indices */
    uint32_t batch;                        /* those that every spatial read uses */
    uint32_t factor[TE_MAX_INDICES];       /* connected sets of the other spatial indices */
    int n_factor;
    uint32_t side_a, side_b;
    bool loose_is_b;                       /* reads with reduction indices only form side B */
    const TeExpr *a, *b;
} Sides;

static bool is_atom(const TeExpr *e) {
    return e->kind == TE_READ || e->kind == TE_INDEX;
}

/* Intersection of the spatial uses of the reads that have any; counts the different ones.  */
static void find_batch(Sides *p, const TeExpr *e, int *n_kinds, uint32_t *common) {
    if (is_atom(e)) {
        uint32_t uses = access_uses(e) & p->spatial;
        if (e->kind == TE_READ && uses != 0) {
            *n_kinds += *n_kinds == 0 || uses != *common;
            *common = *n_kinds == 1 ? uses : *common & uses;
        }
        return;
    }
    for (int i = 0; i < e->n_args; i++)
        find_batch(p, e->args[i], n_kinds, common);
}

static void find_factors(Sides *p, const TeExpr *e) {
    if (!is_atom(e)) {
        for (int i = 0; i < e->n_args; i++)
            find_factors(p, e->args[i]);
        return;
    }
    uint32_t uses = access_uses(e) & p->spatial & ~p->batch;
    if (uses == 0)
        return;
    int kept = 0;
    for (int i = 0; i < p->n_factor; i++) {
        if (p->factor[i] & uses)
            uses |= p->factor[i];
        else
            p->factor[kept++] = p->factor[i];
    }
    p->factor[kept++] = uses;
    p->n_factor = kept;
}

static int sides_of(const Sides *p, const TeExpr *e) {
    if (is_atom(e)) {
        uint32_t uses = access_uses(e);
        int sides = (uses & p->side_a ? ON_A : 0) | (uses & p->side_b ? ON_B : 0);
        if (sides == 0 && uses != 0)
            sides = p->loose_is_b && e->kind == TE_READ && (uses & ~p->spatial) ? ON_B : ON_ANY;
        return sides;
    }
    int sides = 0;
    for (int i = 0; i < e->n_args; i++)
        sides |= sides_of(p, e->args[i]);
    return sides;
}

/* Finds the maximal subexpressions on one side.  False if a side has two that differ, or if one
 * that could be on either stands beside a mixed one.  */
static bool find_operands(Sides *p, const TeExpr *e) {
    int sides = sides_of(p, e);
    if (sides == 0)
        return true;
    if ((sides & ON_A) && (sides & ON_B)) {
        for (int i = 0; i < e->n_args; i++) {
            if (!find_operands(p, e->args[i]))
                return false;
        }
        return !is_atom(e);
    }
    if (sides == ON_ANY)
        return false;
    const TeExpr **operand = sides & ON_A ? &p->a : &p->b;
    if (!*operand)
        *operand = e;
    return te_expr_same(*operand, e);
}

static bool try_sides(Sides *p, const TeExpr *body, uint32_t a, uint32_t b, bool loose_is_b) {
    p->side_a = a;
    p->side_b = b;
    p->loose_is_b = loose_is_b;
    p->a = p->b = NULL;
    return find_operands(p, body) && p->a && p->b;
}

/* Every way to give the parts to two sides, the first part to A.  */
static bool deal_factors(Sides *p, const TeExpr *body) {
    if (p->n_factor == 1)
        return try_sides(p, body, p->factor[0], 0, true);
    if (p->n_factor > MAX_FACTORS)
        return false;
    for (uint32_t pick = 1; pick < 1u << (p->n_factor - 1); pick++) {
        uint32_t a = p->factor[0], b = 0;
        for (int i = 1; i < p->n_factor; i++) {
            if (pick >> (i - 1) & 1)
                b |= p->factor[i];
            else
                a |= p->factor[i];
        }
        if (try_sides(p, body, a, b, false))
            return true;
    }
    return false;
}

/* The two operands of the first node that joins two indexed expressions, if that is a gain: both
 * have axes of their own, or one needs fewer axes and is swept by the reduction.  */
static bool sides_of_root(Sides *p, const TeExpr *body) {
    const TeExpr *e = body, *child[2] = {NULL, NULL};
    for (;;) {
        int n = 0;
        for (int i = 0; i < e->n_args && !is_atom(e); i++) {
            if (access_uses(e->args[i]) != 0) {
                if (n < 2)
                    child[n] = e->args[i];
                n++;
            }
        }
        if (n == 1) {
            e = child[0];
            continue;
        }
        if (n != 2)
            return false;
        break;
    }
    uint32_t x = access_uses(child[0]), y = access_uses(child[1]), s = p->spatial;
    bool own_x = (x & ~y & s) != 0, own_y = (y & ~x & s) != 0;
    bool one = p->n_factor <= 1;
    bool swept_y = one && own_x && !own_y && (y & ~s), swept_x = one && own_y && !own_x && (x & ~s);
    if (!(own_x && own_y) && !swept_x && !swept_y)
        return false;
    p->a = child[swept_x ? 1 : 0];
    p->b = child[swept_x ? 0 : 1];
    return true;
}

/* Are the spatial uses of all atoms ordered by inclusion?  Then one side is all there is.  */
static bool nested(const Sides *p, const TeExpr *e, uint32_t *seen, int *n) {
    if (!is_atom(e)) {
        for (int i = 0; i < e->n_args; i++) {
            if (!nested(p, e->args[i], seen, n))
                return false;
        }
        return true;
    }
    uint32_t uses = access_uses(e) & p->spatial;
    for (int i = 0; i < *n; i++) {
        if ((uses & ~seen[i]) && (seen[i] & ~uses))
            return false;
        if (uses == seen[i])
            return true;
    }
    if (e->kind == TE_READ && *n < TE_MAX_INDICES)
        seen[(*n)++] = uses;
    return true;
}

/* Sets p->a and p->b (NULL: one side).  */
static bool find_sides(Sides *p, const TeExpr *body, const char **why) {
    int kinds = 0;
    uint32_t common = 0;
    find_batch(p, body, &kinds, &common);
    p->batch = kinds > 1 ? common : 0;
    find_factors(p, body);
    if (p->n_factor > 0 && deal_factors(p, body))
        return true;
    if (sides_of_root(p, body))
        return true;
    p->a = body;
    p->b = NULL;
    uint32_t seen[TE_MAX_INDICES];
    int n = 0;
    if (nested(p, body, seen, &n))
        return true;
    *why = p->n_factor > 1 ? "the factors of the two sides are mixed; group them, as in a * (b * c)"
                         : "a part of the body depends on the axes of both sides";
    return false;
}

/* A cast that changes no value and no type of arithmetic.  */
static const TeExpr *through_casts(const TeExpr *e) {
    while (e->kind == TE_CAST && e->type == e->args[0]->type &&
           (e->store == e->type ||
            (e->store == e->args[0]->store && e->store != TE_F8E5M2)))
        e = e->args[0];
    return e;
}

/* Is the expression a read of bytes as a type that holds all of their values?  */
static bool widens_bytes(const TeExpr *e) {
    if (e->kind != TE_CAST || e->args[0]->kind != TE_READ)
        return false;
    TeDtype from = e->args[0]->store;
    bool byte = from == TE_I8 || from == TE_U8 || from == TE_F8E4M3 || from == TE_F8E5M2;
    return byte && (e->store == TE_F16 || e->store == TE_BF16 || e->store == TE_F32);
}

void contraction_describe(const Te *te, const TeStmt *s, const TeExpr *e, Operand *out) {
    *out = (Operand){.expr = e};
    const TeExpr *r = through_casts(e);
    if (widens_bytes(r))
        r = r->args[0];
    out->compute = out->storage = e->type;
    /* Bytes 0 stand for what is not read, in rows and columns of a tile that lie outside, too.  */
    if (r->kind != TE_READ || !te_dtype_zero(te->tensor[r->v.ref].dtype) ||
        !te_zero_outside(te, r))
        return;
    access_read(te, s, r, &out->access);
    if (out->access.affine && !out->access.joined) {
        out->read = r;
        out->storage = te->tensor[r->v.ref].dtype;
    }
}

TeDtype contraction_accumulator(const TeStmt *s, const TeExpr *reduce) {
    TeDtype body = reduce->args[0]->type;
    bool sums = reduce->red == TE_RED_SUM || reduce->red == TE_RED_PROD;
    return sums && s->accum != TE_DTYPE_COUNT ? te_meet(body, te_dtype_compute(s->accum)) : body;
}

static void classify(const TeStmt *s, const Contraction *c, uint8_t class[TE_MAX_INDICES]) {
    uint32_t in_a = access_uses(c->operand[0].expr);
    uint32_t in_b = c->n_operand > 1 ? access_uses(c->operand[1].expr) : 0;
    for (int i = 0; i < s->n_index; i++) {
        bool a = in_a >> i & 1, b = in_b >> i & 1;
        class[i] = s->index[i].reduction ? AX_K : a && b ? AX_B : a ? AX_M : AX_N;
        if (c->within >> i & 1) class[i] = AX_CLASSES;
    }
}

void contraction_axes(const Te *te, const Groups *g, int stmt, Contraction *out) {
    const TeStmt *s = &te->stmt[stmt];
    uint8_t class[TE_MAX_INDICES];
    classify(s, out, class);
    int fast = axes_fastest(te, g, stmt, class);
    if (fast >= 0 && class[fast] == AX_M && out->n_operand > 1) {
        Operand t = out->operand[0];
        out->operand[0] = out->operand[1];
        out->operand[1] = t;
        classify(s, out, class);
    }
    axes_build(te, g, stmt, class, out);
}

bool groups_contraction(const Te *te, const Groups *g, int stmt, Contraction *out,
                        const char **why) {
    const TeStmt *s = &te->stmt[stmt];
    memset(out, 0, sizeof *out);
    if (s->rhs->kind != TE_REDUCE) {
        *why = "the statement is not a reduction";
        return false;
    }
    const TeExpr *body = s->rhs->args[0];
    Sides p = {.s = s, .spatial = (1u << s->n_left) - 1};
    bool separates = find_sides(&p, body, why);
    out->stmt = stmt;
    out->red = (TeRedop)s->rhs->red;
    out->body = body;
    out->acc = contraction_accumulator(s, s->rhs);
    out->n_operand = p.b ? 2 : 1;
    contraction_describe(te, s, p.a, &out->operand[0]);
    if (p.b) contraction_describe(te, s, p.b, &out->operand[1]);
    out->product = out->red == TE_RED_SUM &&
                   (body == p.a || (body->kind == TE_MUL && p.b &&
                                    ((body->args[0] == p.a && body->args[1] == p.b) ||
                                     (body->args[0] == p.b && body->args[1] == p.a))));

    contraction_axes(te, g, stmt, out);
    return separates;
}

bool access_contraction(const Te *te, int stmt, Contraction *out, const char **why) {
    Groups g;
    groups_find(te, &g);
    return groups_contraction(te, &g, stmt, out, why);
}

void groups_of_one(const Te *te, const KernelGroup *group, Groups *g) {
    *g = (Groups){.n = 2, .root = {group->root, -1}};
    for (int t = 0; t < te->n_tensor; t++) {
        g->maker[t] = -1;
        g->last[t] = te->n_stmt - 1;
    }
    for (int i = 0; i < te->n_stmt; i++) {
        g->home[i] = i != group->root;
        g->maker[te->stmt[i].tensor] = i;
    }
    for (int j = 0; j < TE_MAX_RANK; j++) g->perm[group->root][j] = (uint8_t)j;
    for (int i = 0; i < group->n_fused; i++) {
        g->home[group->fused[i]] = 0;
        memcpy(g->perm[group->fused[i]], group->perm[i], sizeof group->perm[i]);
    }
}

bool access_group_contraction(const Te *te, const KernelGroup *group, Contraction *out,
                              const char **why) {
    Groups g;
    groups_of_one(te, group, &g);
    return groups_contraction(te, &g, group->root, out, why);
}
