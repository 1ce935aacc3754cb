#include "codegen/blocks.h"

/* Outer products of fragments, one k after the other: a multiply-add where the body is a product,
 * else the body as it stands.  */

static const char *buffer_at(const Kernel *k, const Side *s, const char *kk) {
    if (s->ahead) return cg_text(k->cg, "%s & 1", kk);
    return s->fragment_k > 1 ? cg_text(k->cg, "%s %% %d", kk, s->fragment_k) : "0";
}

/* Fragments that are not fetched ahead come group by group.  */
static void fetch_now(Kernel *k, const Side *s, const char *kk) {
    if (s->fragment_k > 1) cg_open(k->cg, "if (%s %% %d == 0)", kk, s->fragment_k);
    fragment_fetch(k, s, k->c.bodies > 1 ? "kb" : NULL, kk, "0");
    if (s->fragment_k > 1) cg_close(k->cg);
}

static void multiply(Kernel *k, const char *a, const char *b) {
    static const char *const mad[TE_DTYPE_COUNT] = {
        [TE_F64] = "fma",
        [TE_F32] = "fmaf",
        [TE_I64] = "rl_mad_i64",
        [TE_I32] = "rl_mad_i32",
    };
    const Contraction *con = &k->c.p->con;
    if (k->c.side[1].present)
        cg_line(k->cg, "acc[i][j] = %s(%s, %s, acc[i][j]);", mad[con->acc], a, b);
    else cg_line(k->cg, "acc[i][j] = %s;", text_fold(k->cg, TE_RED_SUM, con->acc, "acc[i][j]",
                                                     text_value(k->cg, con->acc, a)));
}

static void evaluate(Kernel *k, const char *a, const char *b) {
    const Contraction *con = &k->c.p->con;
    CgGiven given[2] = {{con->a.expr, text_value(k->cg, con->a.expr->type, a)},
                        {con->b.expr, b ? text_value(k->cg, con->b.expr->type, b) : NULL}};
    CgPoint at = {
        .cg = k->cg, .stmt = k->c.root, .given = given, .n_given = k->c.side[1].present ? 2 : 1};
    Ir value = cg_expr(&at, con->body, con->acc);
    cg_line(k->cg, "acc[i][j] = %s;", text_fold(k->cg, con->red, con->acc, "acc[i][j]", value));
}

static void outer_product(Kernel *k, const char *kk) {
    Cg *cg = k->cg;
    const Side *sa = &k->c.side[0], *sb = &k->c.side[1];
    const char *a = cg_text(cg, "a_frag[%s][i]", buffer_at(k, sa, kk)), *b = NULL;
    if (sb->present) b = cg_text(cg, "b_frag[%s][j]", buffer_at(k, sb, kk));
    cg_line(cg, "#pragma unroll");
    cg_open(cg, "for (int i = 0; i < TM; i++)");
    cg_line(cg, "#pragma unroll");
    cg_open(cg, "for (int j = 0; j < TN; j++)");
    if (fragment_multiplies(k)) multiply(k, a, b);
    else evaluate(k, a, b);
    cg_close(cg);
    cg_close(cg);
}

static void one_k(Kernel *k, const char *kk, bool last) {
    Cg *cg = k->cg;
    const char *body = k->c.bodies > 1 ? "kb" : NULL;
    for (int i = 0; i < 2; i++) {
        const Side *s = &k->c.side[i];
        if (!s->present) continue;
        if (s->ahead && last) {
            cg_open(cg, body ? "if (next > 0 || step + 1 < steps)" : "if (step + 1 < steps)");
            fragment_fetch(k, s, body ? "next" : NULL, "0", "0");
            cg_close(cg);
        } else if (s->ahead)
            fragment_fetch(k, s, body, cg_text(cg, "(%s + 1)", kk),
                           cg_text(cg, "(%s + 1) & 1", kk));
        else if (!last) fetch_now(k, s, kk);
    }
    if (k->c.masks_k)
        cg_open(cg, "if (k_now + %s%s%s < K)", k->c.warps[AX_K] > 1 ? "k_warp + " : "",
                body ? "kb + " : "", kk);
    outer_product(k, kk);
    if (k->c.masks_k) cg_close(cg);
}

void compute_simt(Kernel *k, const Node *n) {
    Cg *cg = k->cg;
    bool last = n->from > 0;
    if (last) {
        cg_line(cg, "// compute: the last k, with fragments of the next stage under way");
        one_k(k, cg_text(cg, "%d", n->from), true);
        return;
    }
    if (n->to == 0) return;
    cg_line(cg, "// compute: %d k", n->to);
    cg_line(cg, "#pragma unroll");
    cg_open(cg, "for (int kk = 0; kk < %d; kk++)", n->to);
    one_k(k, "kk", false);
    cg_close(cg);
}
