/* Why a contraction is not for matrix units, in words for whoever wrote it.  */
#include "rprogram/chain.h"
#include "rprogram/matrix.h"

/* Does some unit with these sums hold the operands of these sides (bit 0: a, bit 1: b)?  */
static bool some_unit_holds(const Problem *p, const Device *dev, int sides) {
    for (int i = 0; i < dev->n_unit; i++) {
        const ComputeUnit *u = &dev->unit[i];
        bool sums = matrix_usable(u) && !u->tf32 && u->acc == p->con.acc;
        if (sums && matrix_holds_sides(u, p, sides)) return true;
    }
    return false;
}

static bool has_unit(const Device *dev, bool tf32) {
    for (int i = 0; i < dev->n_unit; i++) {
        if (matrix_usable(&dev->unit[i]) && (!tf32 || dev->unit[i].tf32)) return true;
    }
    return false;
}

/* Is something in e a product (access_is_product)?  */
static bool multiplies(const TeExpr *e, uint32_t left) {
    if (access_is_product(e, left)) return true;
    for (int i = 0; i < e->n_args && e->kind != TE_READ; i++)
        if (multiplies(e->args[i], left)) return true;
    return false;
}

const char *rprog_no_product(const Problem *p) {
    const TeStmt *s = &p->te->stmt[p->group->root];
    const TeExpr *body = s->rhs->kind == TE_REDUCE ? s->rhs->args[0] : NULL;
    uint32_t left = (1u << s->n_left) - 1;
    bool sums = body && s->rhs->red == TE_RED_SUM && multiplies(body, left);
    if (!sums || access_is_product(body, left)) return NULL;
    if (body->kind == TE_SELECT)
        return "its terms are a choice: `(condition ? A : 0) * B` would be a product, of an "
               "operand that is 0 elsewhere";
    return "its terms are no product of two operands";
}

const char *rprog_refusal(Arena *a, const Problem *p, const Device *dev) {
    const Contraction *c = &p->con;
    bool products = p->contraction && c->red == TE_RED_SUM && c->product;
    if (!has_unit(dev, false)) return NULL;
    if (!products || p->n_operand < 2) return rprog_no_product(p);
    for (int i = 0; i < dev->n_unit; i++) {
        if (matrix_fits(p, &dev->unit[i])) return NULL;
    }
    for (int side = 0; side < p->n_operand; side++) {
        const ROperand *op = &p->op[side];
        const char *type = te_dtype_name(op->value);
        if (some_unit_holds(p, dev, 1 << side)) continue;
        if (!op->affine)
            return arena_printf(a, "operand %c is computed in %s, which none takes: f16(...) or "
                                   "bf16(...) around it would round it to what they take",
                                "ab"[side], type);
        if (op->value == TE_F32 && has_unit(dev, true))
            return arena_printf(a, "operand %c is f32: `@tf32` or `@fp32x3` after the sum would "
                                   "permit those that truncate or decompose it", "ab"[side]);
        return arena_printf(a, "none takes %s, which operand %c is", type, "ab"[side]);
    }
    const char *x = te_dtype_name(p->op[0].value), *y = te_dtype_name(p->op[1].value);
    if (!some_unit_holds(p, dev, 3)) return arena_printf(a, "none holds both %s and %s", x, y);
    return arena_printf(a, "none sums products of %s and %s in %s", x, y, te_dtype_name(c->acc));
}

/* Do some two units compute the chain, so that tiles are what is missing?  */
static bool some_units_chain(const Problem *p, const Device *dev) {
    for (int i = 0; i < dev->n_unit * dev->n_unit; i++) {
        if (chain_fits(p, &dev->unit[i / dev->n_unit], &dev->unit[i % dev->n_unit])) return true;
    }
    return false;
}

const char *rprog_chain_refusal(Arena *a, const Problem *p, const Device *dev) {
    if (!chain_static(p)) return chain_sizes_vary;
    if (some_units_chain(p, dev))
        return "tiles with whole rows of it do not fit registers and shared memory";
    for (int i = 0; i < CHAIN_PRODUCTS; i++) {
        const char *why = rprog_refusal(a, chain_problem(p, i), dev);
        const char *boxes = why ? rprog_ring_refusal(a, chain_problem(p, i), dev) : NULL;
        const char *which = i ? "second" : "first";
        if (boxes)
            return arena_printf(a, "units for its %s product take boxes, and %s", which, boxes);
        if (why) return arena_printf(a, "of units for its %s product %s", which, why);
    }
    if (p->fp32x3 || p->next->fp32x3)
        return "`@fp32x3` decomposes operands that lie in memory, and scores do not";
    return "no unit leaves results in registers as a unit for the second product takes them";
}

/* Why an operand cannot be copied by boxes, nor be made in registers of what can.  */
static const char *box_refusal(Arena *a, const Problem *p, const ComputeUnit *u, int side) {
    const ROperand *op = &p->op[side];
    char name = "ab"[side], own = "MN"[side];
    if (!op->affine)
        return arena_printf(a, "operand %c is made of more than one tensor that moves along K, or "
                               "of what is no box of memory", name);
    if (op->vec_k * op->bytes < RTILE_ACCESS && op->vec_mn * op->bytes < RTILE_ACCESS)
        return arena_printf(a, "the neighbours of operand %c do not begin at multiples of %d "
                               "bytes, as tensor maps want", name, RTILE_ACCESS);
    if (op->vec_k * op->bytes < RTILE_ACCESS && !u->mn_major)
        return arena_printf(a, "operand %c lies along %c, and %s takes what lies along K", name,
                            own, u->name);
    return arena_printf(a, "operand %c is neither boxes of memory nor columns of pixels", name);
}

const char *rprog_ring_refusal(Arena *a, const Problem *p, const Device *dev) {
    const char *why = NULL;
    for (int i = 0; i < dev->n_unit; i++) {
        const ComputeUnit *u = &dev->unit[i];
        int bytes = te_dtype_bytes(u->a), made = 0, maps = 0;
        RRaw x;
        RBox box;
        if (!u->b_smem || !matrix_takes(p, u) || (u->tf32 && !p->tf32)) continue;
        if (warpgroup_fits(p, u)) return NULL;
        for (int side = 0; side < p->n_operand && !why; side++) {
            if (p->op[side].made || warpgroup_copies(p, u, side)) continue;
            if (warpgroup_gathers(p, u, side) || warpgroup_joins(p, u, side)) continue;
            int modulo = warpgroup_modulo(p, u, side, &box);
            maps += modulo;
            if (modulo) continue;
            if (rprog_raw(p, side, BOX_SPAN / bytes, &x)) made++;
            else why = box_refusal(a, p, u, side);
        }
        if (!why && made > 1) why = "both operands would have to be made in registers";
        if (!why && maps > WARPGROUP_MAPS)
            why = "rows of both operands begin anywhere, which takes too many tensor maps";
    }
    return why;
}

/* Why a unit that applies scales, or whose sums are scaled, does not take them, from what is met
 * last; NULL: it does.  */
static const char *scaled_refusal(Arena *a, const Problem *p, const ComputeUnit *u) {
    const TeStmt *s = &p->te->stmt[p->con.stmt];
    const char *x = te_dtype_name(p->op[0].value), *y = te_dtype_name(p->op[1].value);
    int block = u->scale_k > 0 ? u->scale_k : u->k.from;
    if (matrix_takes(p, u)) return NULL;
    if (!matrix_holds_sides(u, p, 1 | 2))
        return arena_printf(a, "no unit that applies them holds both %s and %s", x, y);
    for (int side = 0; side < p->n_operand; side++) {
        const TeExpr *read = p->con.operand[side].scale;
        if (read && u->scale_k > 0 && read->store != u->scale)
            return arena_printf(a, "%s applies %s, and those of operand %c are %s", u->name,
                                te_dtype_name(u->scale), "ab"[side], te_dtype_name(read->store));
        if (read && !rtile_same_along(s, read, &p->con.axis[AX_K], block))
            return arena_printf(a, "those of operand %c are not known to be the same for each %d "
                                   "neighbours along K", "ab"[side], block);
    }
    if (p->accum == TE_F32) return "`@accum(f32)` rules out units that truncate sums of f8";
    return arena_printf(a, "%s does not sum in %s", u->name, te_dtype_name(p->con.acc));
}

/* The same of all units that apply them, or of all whose sums are scaled; NULL: there are none.  */
static const char *units_refusal(Arena *a, const Problem *p, const Device *dev, bool sums) {
    const char *why = NULL;
    for (int i = 0; i < dev->n_unit; i++) {
        const ComputeUnit *u = &dev->unit[i];
        if (!matrix_usable(u) || (u->scale_k == 0) != sums || (sums && u->tmem)) continue;
        const char *of_unit = scaled_refusal(a, p, u);
        if (!of_unit) return "no program of a unit that applies them is predicted to be faster";
        if (!why || matrix_holds_sides(u, p, 1 | 2)) why = of_unit;
    }
    return why;
}

const char *rprog_scales_refusal(Arena *a, const Problem *p, const Device *dev) {
    Problem scaled;
    const char *why = NULL;
    if (rtile_scaled(p) || !rtile_as_scaled(a, p, p->align, &scaled, &why)) return why;
    why = units_refusal(a, &scaled, dev, false);
    if (!why) why = units_refusal(a, &scaled, dev, true);
    return why ? why : arena_printf(a, "%s has no unit that applies them", dev->name);
}
