/* Products of elements with scales of blocks: sums of (A * SA) * (B * SB), in this order or in any
 * other.  Units that know scales take both; others sum the products of elements block by block, and
 * each sum is multiplied by the scales of its block as it joins the others.
 *
 * Holds where the order of factors is free.  The language leaves it open (docs/te-reference.md,
 * "Factors of a sum"), but not under `@written` or with an accumulator of the sum's own: there
 * every product has to be exact in f32, elements and scales having few bits, 24 at most in all.  A
 * cast in between has to keep the bits that have come together.  What leaves the range of f32 (of
 * bf16, where there is such a cast) on the way is inf or 0 in one order and not in another: the
 * language leaves open which (block scales).  That a scale is one for a whole block is a matter of
 * the unit's block, or of the step's.
 *
 * Elements that are packed in pairs are taken as pairs, so that whatever brings them to the unit
 * counts whole bytes: the index that counts the halves is of no axis.  */
#include "te/access/access.h"
#include "te/tree/tree.h"

enum { OPERANDS = 2, BITS_F32 = 24, BITS_BF16 = 8, NONE = BITS_F32 + 1, MANY = 8 * NONE };

static uint32_t summed_by(const TeStmt *s, const TeExpr *sum) {
    uint32_t indices = 0;
    for (int i = 0; i < sum->n_index; i++)
        if (te_index_extent(&s->index[sum->index[i]]) > 1) indices |= 1u << sum->index[i];
    return indices;
}

/* Is it the same for neighbours in the sum?  */
static bool is_scale(const ScaledFactors *f, const TeExpr *e) {
    return te_dtype_scale(e->store) || (f->summed & ~access_moving(e));
}

/* Bits of a value, the leading one too; a power of two adds none to a product.  */
static int bits_of(TeDtype t) {
    switch (t) {
    case TE_F8E4M3:
    case TE_F6E2M3:
    case TE_F8UE4M3: return 4;
    case TE_F8E5M2:
    case TE_F6E3M2: return 3;
    case TE_F4E2M1: return 2;
    case TE_F8UE8M0: return 0;
    case TE_I8:
    case TE_U8: return BITS_BF16;
    default: return NONE;
    }
}

static bool is_int(const TeExpr *e, int64_t v) { return e->kind == TE_INT && e->v.i == v; }

/* The only index of which the subscript has an odd multiple, one of 0 and 1 that is summed over:
 * whether the subscript is odd, it says alone.  -1: there is none.  */
static int parity_of(const Te *te, const TeStmt *s, const TeExpr *at) {
    Affine f;
    int odd = -1;
    if (!access_affine(te, s, at, &f) || f.c % 2) return -1;
    for (int i = 0; i < s->n_index; i++) {
        if (f.coef[i] % 2 == 0) continue;
        const TeIndex *x = &s->index[i];
        if (odd >= 0 || !x->reduction || x->hi.expr || te_index_extent(x) != 2) return -1;
        odd = i;
    }
    return odd;
}

/* The read of a pair whose halves e takes in turn, as packed arguments are read (front/packed.c):
 * e2m1(at % 2 == 0 ? pair % 16 : pair / 16).  NULL: e is none.  */
static const TeExpr *pair_of(const Te *te, const TeStmt *s, const TeExpr *e, int *half) {
    enum { CODES = 16 };
    if (e->kind != TE_CALL || e->v.fn != TE_FN_E2M1 || e->args[0]->kind != TE_SELECT) return NULL;
    const TeExpr *test = e->args[0]->args[0], *low = e->args[0]->args[1];
    const TeExpr *high = e->args[0]->args[2];
    if (test->kind != TE_EQ || test->args[0]->kind != TE_MOD || !is_int(test->args[1], 0) ||
        !is_int(test->args[0]->args[1], 2) || low->kind != TE_MOD || high->kind != TE_DIV ||
        !is_int(low->args[1], CODES) || !is_int(high->args[1], CODES))
        return NULL;
    const TeExpr *pair = low->args[0];
    *half = parity_of(te, s, test->args[0]->args[0]);
    bool is = pair->kind == TE_READ && te_dtype_packed(pair->store) == TE_F4E2M1 &&
              access_same(pair, high->args[0]);
    return is && *half >= 0 && !(access_uses(pair) >> *half & 1) ? pair : NULL;
}

/* Adds an element or a scale; its bits.  */
static int add_read(const Te *te, const TeExpr *e, int half, ScaledFactors *f) {
    bool scale = half < 0 && is_scale(f, e);
    int *n = scale ? &f->n_scale : &f->n_element;
    f->other |= *n == OPERANDS || (scale && (e->other || !te_zero_outside(te, e)));
    if (f->other) return NONE;
    if (!scale) f->half[*n] = half;
    (scale ? f->scale : f->element)[(*n)++] = e;
    return bits_of(half < 0 ? e->store : te_dtype_packed(e->store));
}

/* Adds the factors of e; the bits of their product.  Those of integers have all of them.  */
static int add_factors(const Te *te, const TeStmt *s, const TeExpr *e, ScaledFactors *f) {
    int half = -1;
    if (e->kind == TE_MUL && (e->type == TE_F32 || e->type == TE_I32)) {
        int bits = add_factors(te, s, e->args[0], f) + add_factors(te, s, e->args[1], f);
        f->other |= e->type == TE_I32 && bits > BITS_F32;
        return bits;
    }
    if (e->kind == TE_CAST && e->type == TE_F32) {
        int most = e->store == TE_F32 ? MANY : BITS_BF16;
        int bits = add_factors(te, s, e->args[0], f);
        bool holds = (e->store == TE_F32 || e->store == TE_BF16) && bits <= most;
        f->rounds |= !holds;
        return bits;
    }
    const TeExpr *read = e->kind == TE_READ ? e : pair_of(te, s, e, &half);
    f->other |= !read;
    return read ? add_read(te, read, half, f) : NONE;
}

bool access_scaled_factors(const Te *te, const TeStmt *s, const TeExpr *sum, ScaledFactors *f) {
    bool free = !s->written && s->accum == TE_DTYPE_COUNT;
    *f = (ScaledFactors){.summed = summed_by(s, sum)};
    if (sum->red != TE_RED_SUM || sum->type != TE_F32) return false;
    int bits = add_factors(te, s, sum->args[0], f);
    return !f->other && !f->rounds && (free || bits <= BITS_F32) && f->n_element == OPERANDS &&
           f->n_scale > 0;
}
