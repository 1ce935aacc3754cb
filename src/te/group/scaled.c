/* Products of elements with scales of blocks, as units take them that know both: sums of (A * SA) *
 * (B * SB), in this order or in any other.
 *
 * Holds where every product is exact in f32, so that their order is free: elements and scales have
 * few bits, 24 at most in all, and a cast in between keeps the bits that have come together.  What
 * leaves the range of f32 (of bf16, where there is such a cast) on the way is inf or 0 in one order
 * and not in another: the language leaves open which (docs/te-reference.md, block scales).  That a
 * scale is one for a whole block is a matter of the unit's block.  */
#include "te/group/groups.h"
#include "te/tree/tree.h"

enum { OPERANDS = 2, BITS_F32 = 24, BITS_BF16 = 8 };

typedef struct {
    const TeExpr *element[OPERANDS], *scale[OPERANDS];
    int n_element, n_scale;
    bool rounds;              /* a cast may not keep all bits */
} Factors;

/* Bits of a value, the leading one too; a power of two adds none to a product.  */
static int bits_of(TeDtype t) {
    switch (t) {
    case TE_F8E4M3:
    case TE_F6E2M3:
    case TE_F8UE4M3: return 4;
    case TE_F8E5M2:
    case TE_F6E3M2: return 3;
    case TE_F8UE8M0: return 0;
    default: return BITS_F32 + 1;
    }
}

/* Adds the factors of e; the bits of their product, more than f32 has if it is none of these.  */
static int add_factors(const TeExpr *e, Factors *f) {
    enum { NONE = BITS_F32 + 1 };
    if (e->kind == TE_MUL && e->type == TE_F32)
        return add_factors(e->args[0], f) + add_factors(e->args[1], f);
    if (e->kind == TE_CAST && e->type == TE_F32) {
        int bits = add_factors(e->args[0], f), most = e->store == TE_F32 ? BITS_F32 : BITS_BF16;
        bool holds = (e->store == TE_F32 || e->store == TE_BF16) && bits <= most;
        f->rounds |= !holds;
        return holds ? bits : NONE;
    }
    if (e->kind != TE_READ) return NONE;
    bool scale = te_dtype_scale(e->store);
    int *n = scale ? &f->n_scale : &f->n_element;
    if (*n == OPERANDS || (scale && e->other)) return NONE;
    (scale ? f->scale : f->element)[(*n)++] = e;
    return bits_of(e->store);
}

/* Gives each scale to the element that has all of its indices of the output.  */
static bool deal_scales(const TeStmt *s, const Factors *f, Contraction *c) {
    uint32_t spatial = (1u << s->n_left) - 1;
    for (int i = 0; i < f->n_scale; i++) {
        uint32_t uses = access_uses(f->scale[i]) & spatial;
        Operand *to = NULL;
        for (int k = 0; k < c->n_operand && !to; k++)
            if (!c->operand[k].scale && !(uses & ~access_uses(c->operand[k].expr)))
                to = &c->operand[k];
        if (!to) return false;
        to->scale = f->scale[i];
    }
    return true;
}

static bool reads_scales(const TeExpr *e) {
    ReadList read = access_reads(e);
    for (int i = 0; i < read.n; i++)
        if (te_dtype_scale(read.at[i]->store)) return true;
    return false;
}

static bool read_scaled(const Te *te, const Groups *g, int stmt, Contraction *out,
                        const char **why) {
    const TeStmt *s = &te->stmt[stmt];
    Factors f = {0};
    *why = NULL;
    if (s->rhs->kind != TE_REDUCE || s->rhs->red != TE_RED_SUM || !reads_scales(s->rhs))
        return false;
    const TeExpr *body = s->rhs->args[0];
    if (add_factors(body, &f) > BITS_F32 || f.n_element != OPERANDS || f.n_scale == 0) {
        *why = f.rounds ? "a cast to this type may round a product of element and scale; bf16(...) "
                          "and f32(...) do not"
                        : "the body is no product of two f8 elements and a scale for each";
        return false;
    }
    *out = (Contraction){.stmt = stmt, .red = TE_RED_SUM, .body = body, .product = true,
                         .acc = contraction_accumulator(s, s->rhs)};
    out->n_operand = OPERANDS;
    for (int i = 0; i < OPERANDS; i++)
        contraction_describe(te, s, f.element[i], &out->operand[i]);
    if (!deal_scales(s, &f, out)) {
        *why = "a scale depends on an index of the output that its element does not have";
        return false;
    }
    contraction_axes(te, g, stmt, out);
    return true;
}

bool access_scaled(const Te *te, const KernelGroup *group, Contraction *out, const char **why) {
    Groups g;
    if (group->stats) groups_of_one(te, group, &g);
    else groups_find(te, &g);
    return read_scaled(te, &g, group->root, out, why);
}
