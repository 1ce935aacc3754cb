#include "codegen/multiply/multiply.h"
#include "codegen/block/product.h"

/* Outer products of fragments, one k after the other: a multiply-add where the body is a product,
 * else the body as it stands.  */

static Ir buffer_at(const Kernel *k, const Side *s, Ir kk) {
    if (s->ahead) return ir_binary(k->cg, IR_AND, kk, ir_int(k->cg, 1));
    return s->fragment_k > 1 ? ir_rem(k->cg, kk, ir_int(k->cg, s->fragment_k)) : ir_int(k->cg, 0);
}

/* The k of a body, beside those before it.  */
static Ir body_k(const Kernel *k) { return k->c->bodies > 1 ? k->var.body : NULL; }

/* Fragments that are not fetched ahead come group by group.  */
static void fetch_now(Kernel *k, const Side *s, Ir kk) {
    Cg *cg = k->cg;
    Ir zero = ir_int(cg, 0);
    if (s->fragment_k > 1)
        ir_if(cg, ir_binary(cg, IR_EQ, ir_rem(cg, kk, ir_int(cg, s->fragment_k)), zero));
    fragment_fetch(k, s, body_k(k), kk, zero);
    if (s->fragment_k > 1) ir_close(cg);
}

static Ir multiplied(Kernel *k, Ir sum, Ir a, Ir b) {
    static const char *const mad[TE_DTYPE_COUNT] = {
        [TE_F64] = "fma",
        [TE_F32] = "fmaf",
        [TE_I64] = "rl_mad_i64",
        [TE_I32] = "rl_mad_i32",
    };
    TeDtype type = k->c->p->con.acc;
    if (!b) return cg_fold(k->cg, TE_RED_SUM, type, sum, a);
    return ir_call(k->cg, ir_type(ir_compute(type)), mad[type], 3, a, b, sum);
}

static Ir evaluated(Kernel *k, Ir sum, Ir a, Ir b) {
    const Contraction *con = &k->c->p->con;
    CgGiven given[2] = {{con->operand[0].expr, a}, {con->operand[1].expr, b}};
    CgPoint at = {.cg = k->cg, .stmt = k->c->root, .given = given, .n_given = b ? 2 : 1};
    return cg_fold(k->cg, con->red, con->acc, sum, cg_expr(&at, con->body, con->acc));
}

/* Register i of an operand at kk.  */
static Ir register_of(const Kernel *k, int side, Ir kk, Ir i) {
    const Side *s = &k->c->side[side];
    if (s >= k->c->end) return NULL;
    return ir_element(k->cg, ir_element(k->cg, operand_at(k, s)->frag, buffer_at(k, s, kk)), i);
}

static void outer_product(Kernel *k, Ir kk) {
    Cg *cg = k->cg;
    const int32_t *own = k->c->r->thread.extent;
    Ir i = ir_count_of(cg, k->var.i, own[AX_M], IR_UNROLL_ALL);
    Ir j = ir_count_of(cg, k->var.j, own[AX_N], IR_UNROLL_ALL);
    Ir a = register_of(k, 0, kk, i), b = register_of(k, 1, kk, j), sum = product_sum(k, i, j);
    ir_set(cg, sum, (fragment_multiplies(k) ? multiplied : evaluated)(k, sum, a, b));
    ir_close(cg);
    ir_close(cg);
}

/* The first fragments of the step that follows, where one does.  */
static void fetch_next(Kernel *k, const Side *s) {
    Cg *cg = k->cg;
    Ir next = body_k(k) ? k->var.next : NULL, zero = ir_int(cg, 0);
    Ir step = ir_add_n(cg, k->var.step, 1);
    Ir test = ir_lt(cg, step, k->var.steps);
    if (next) test = ir_binary(cg, IR_EITHER, ir_binary(cg, IR_GT, next, zero), test);
    ir_if(cg, test);
    fragment_fetch(k, s, next, zero, zero);
    ir_close(cg);
}

static void fetch(Kernel *k, const Side *s, Ir kk, bool last) {
    Cg *cg = k->cg;
    Ir then = ir_add_n(cg, kk, 1);
    if (s->ahead && last) fetch_next(k, s);
    else if (s->ahead)
        fragment_fetch(k, s, body_k(k), then, ir_binary(cg, IR_AND, then, ir_int(cg, 1)));
    else if (!last) fetch_now(k, s, kk);
}

/* The test that element kk of the body is one of the reduction.  */
static Ir inside(const Kernel *k, Ir kk) {
    const Cg *cg = k->cg;
    Ir at = k->var.k_now;
    if (k->c->warps[AX_K] > 1) at = ir_add(cg, at, k->var.k_warp);
    if (body_k(k)) at = ir_add(cg, at, body_k(k));
    return ir_lt(cg, ir_add(cg, at, kk), product_extent(k, AX_K));
}

static void one_k(Kernel *k, Ir kk, bool last) {
    for (const Side *s = k->c->side; s < k->c->end; s++) fetch(k, s, kk, last);
    if (k->c->masks_k) ir_if(k->cg, inside(k, kk));
    outer_product(k, kk);
    if (k->c->masks_k) ir_close(k->cg);
}

void compute_simt(Kernel *k, const Node *n) {
    Cg *cg = k->cg;
    if (n->from > 0) {
        ir_note(cg, "compute: the last k, with fragments of the next stage under way");
        one_k(k, ir_int(cg, n->from), true);
        return;
    }
    if (n->to == 0) return;
    ir_note(cg, "compute: %d k", n->to);
    one_k(k, ir_count(cg, "kk", n->to, IR_UNROLL_ALL), false);
    ir_close(cg);
}
