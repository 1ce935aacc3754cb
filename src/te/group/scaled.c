/* Contractions of elements with scales (te/access/scales.c): operands are the elements, each with
 * the scale that has all of its indices of the output.  */
#include "te/group/groups.h"
#include "te/tree/tree.h"

enum { OPERANDS = 2 };

/* Are elements of both operands pairs, and an element of k one of each, whose scales are the same
 * for both of its numbers?  Or are none pairs?  */
static bool pairs_agree(const ScaledFactors *f) {
    if (f->half[0] != f->half[1]) return false;
    for (int i = 0; i < f->n_scale && f->half[0] >= 0; i++)
        if (access_uses(f->scale[i]) >> f->half[0] & 1) return false;
    return true;
}

/* Gives each scale to an element that has all of its indices of the output, beginning with scale
 * `first`.  */
static bool deal_from(const TeStmt *s, const ScaledFactors *f, int first, Contraction *c) {
    uint32_t spatial = (1u << s->n_left) - 1;
    for (int i = 0; i < OPERANDS; i++) c->operand[i].scale = NULL;
    for (int i = 0; i < f->n_scale; i++) {
        const TeExpr *scale = f->scale[(first + i) % f->n_scale];
        uint32_t uses = access_uses(scale) & spatial;
        Operand *to = NULL;
        for (int k = 0; k < c->n_operand && !to; k++)
            if (!c->operand[k].scale && !(uses & ~access_uses(c->operand[k].expr)))
                to = &c->operand[k];
        if (!to) return false;
        to->scale = scale;
    }
    return true;
}

/* One that both elements may have must not take the only place of another.  */
static bool deal_scales(const TeStmt *s, const ScaledFactors *f, Contraction *c) {
    return deal_from(s, f, 0, c) || deal_from(s, f, f->n_scale - 1, c);
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
    ScaledFactors f;
    *why = NULL;
    if (s->rhs->kind != TE_REDUCE) return false;
    const TeExpr *body = s->rhs->args[0];
    if (!access_scaled_factors(te, s, s->rhs, &f)) {
        if (s->rhs->red == TE_RED_SUM && reads_scales(s->rhs))
            *why = f.rounds ? "a cast to this type may round a product of element and scale; "
                              "bf16(...) and f32(...) do not"
                            : "the body is no product of two elements and a scale for each";
        return false;
    }
    if (!pairs_agree(&f)) {
        *why = "its elements of four bits are no pairs along k that share their scales";
        return false;
    }
    *out = (Contraction){.stmt = stmt, .red = TE_RED_SUM, .body = body, .product = true,
                         .acc = contraction_accumulator(s, s->rhs),
                         .within = f.half[0] < 0 ? 0 : 1u << f.half[0]};
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
