#include "codegen/blocks.h"
#include "codegen/prelude.h"

/* Products of matrix units: slices of TK k, each a product of every pair of fragments.  */

static const char *accumulator_type(const Kernel *k) {
    return k->c.matrix.unit->acc == TE_F16 ? "unsigned" : cg_type(k->c.matrix.unit->acc);
}

/* Registers of an instruction's accumulators.  */
static int accumulator_registers(const Matrix *x) {
    return x->accumulators / x->results.per_register;
}

/* Accumulators that are no values yet have a name of their own.  */
const char *mma_accumulators(const Kernel *k) {
    return k->c.matrix.unit->acc == k->c.p->con.acc ? "acc" : "sum";
}

/* Opens loops over the registers of all accumulators; gives the name of one.  */
static const char *open_registers(Kernel *k, const char *name, int n) {
    Cg *cg = k->cg;
    cg_line(cg, "#pragma unroll");
    cg_open(cg, "for (int i = 0; i < IM; i++)");
    cg_line(cg, "#pragma unroll");
    cg_line(cg, "for (int j = 0; j < IN * %d; j++)", n);
    return cg_text(cg, "%s[i][j / %d][j %% %d]", name, n, n);
}

static void declare(Kernel *k, const char *name) {
    Cg *cg = k->cg;
    int n = accumulator_registers(&k->c.matrix);
    cg_line(cg, "%s %s[IM][IN][%d];", accumulator_type(k), name, n);
    cg_line(cg, "    %s = 0;", open_registers(k, name, n));
    cg_close(cg);
}

void mma_clear(Kernel *k) { declare(k, mma_accumulators(k)); }

void mma_partial(Kernel *k) { declare(k, "part"); }

/* How the unit's operand that side i is lies in memory, where the instruction has a form for each
 * order.  */
static const char *order_of(const Kernel *k, int i) {
    return fragment_run(&k->c.side[i].fragment, FRAG_ROW) > 1 ? "across" : "along";
}

/* The product of a pair of instruction tiles.  */
static void multiply_pair(Kernel *k, const char *a, const char *b) {
    const ComputeUnit *u = k->c.matrix.unit;
    const char *to = k->c.matrix.promotes ? "part" : mma_accumulators(k);
    bool swapped = k->c.r->swapped;
    const char *orders = "";
    if (fragment_has_orders(u))
        orders = cg_text(k->cg, "_%s_%s", order_of(k, swapped), order_of(k, !swapped));
    cg_line(k->cg, "%s(%s[r][j], %s, %s);", prelude_mma_name(k->cg->arena, u, orders), to,
            swapped ? b : a, swapped ? a : b);
}

/* What is issued between the products of a loop: behind row r of them the share of row `first` + r
 * among `rows`, of each of the copies.  */
typedef struct {
    const Node *copies;       /* or NULL */
    const char *first;
    int rows;
} Between;

static void issue_row(Kernel *k, const Between *x) {
    if (x->copies) load_row(k, x->copies, cg_text(k->cg, "%sr", x->first), x->rows);
}

/* Products of two sets of fragments, a and b are texts of their arrays.  */
static void multiply(Kernel *k, const char *a, const char *b, const Between *x) {
    Cg *cg = k->cg;
    cg_line(cg, "#pragma unroll");
    cg_open(cg, "for (int r = 0; r < IM; r++)");
    cg_line(cg, "#pragma unroll");
    cg_line(cg, "for (int j = 0; j < IN; j++)");
    cg->depth++;
    multiply_pair(k, cg_text(cg, "%s + r * %d", a, k->c.side[0].registers),
                  cg_text(cg, "%s + j * %d", b, k->c.side[1].registers));
    cg->depth--;
    issue_row(k, x);
    cg_close(cg);
}

/* The same where bytes are converted, each tile right before its first product, so that the unit
 * has something to do beside it.  */
static void multiply_widened(Kernel *k, const char *buffer, const Between *x) {
    Cg *cg = k->cg;
    const Side *a = &k->c.side[0], *b = &k->c.side[1];
    const char *of_a = cg_text(cg, "a_frag[%s] + r * %d", buffer, a->registers);
    const char *of_b = cg_text(cg, "b_frag[%s] + j * %d", buffer, b->registers);
    if (b->bytes) cg_line(cg, "unsigned b_wide[IN][%d];", b->registers);
    cg_line(cg, "#pragma unroll");
    cg_open(cg, "for (int r = 0; r < IM; r++)");
    if (a->bytes) {
        of_a = "a_wide";
        cg_line(cg, "unsigned a_wide[%d];", a->registers);
        fragment_mma_widen(k, a, "r", buffer, of_a);
    }
    cg_line(cg, "#pragma unroll");
    cg_open(cg, "for (int j = 0; j < IN; j++)");
    if (b->bytes) {
        of_b = "b_wide[j]";
        cg_open(cg, "if (r == 0)");
        fragment_mma_widen(k, b, "j", buffer, of_b);
        cg_close(cg);
    }
    multiply_pair(k, of_a, of_b);
    cg_close(cg);
    issue_row(k, x);
    cg_close(cg);
}

/* Splits the fragments of a buffer into what tf32 holds and the rest.  */
static void split(Kernel *k, const char *buffer) {
    Cg *cg = k->cg;
    for (int i = 0; i < 2; i++) {
        const Side *s = &k->c.side[i];
        int n = k->c.matrix.tiles[s->own] * s->registers;
        cg_line(cg, "#pragma unroll");
        cg_line(cg, "for (int f = 0; f < %d; f++) rl_tf32_split(%c_frag[%s][f], %c_low[f]);", n,
                s->id, buffer, s->id);
    }
}

static void products(Kernel *k, const char *buffer, const Between *x) {
    static const Between nothing = {0};
    const Cg *cg = k->cg;
    const char *a = cg_text(cg, "a_frag[%s]", buffer), *b = cg_text(cg, "b_frag[%s]", buffer);
    if (k->c.side[0].bytes || k->c.side[1].bytes) {
        multiply_widened(k, buffer, x);
        return;
    }
    if (k->c.matrix.products > 1) {
        bool swapped = k->c.r->swapped;
        split(k, buffer);
        multiply(k, swapped ? a : "a_low", swapped ? "b_low" : b, &nothing);
        multiply(k, swapped ? "a_low" : a, swapped ? b : "b_low", &nothing);
    }
    multiply(k, a, b, x);
}

/* Sums of one step join the others.  */
void mma_promote(Kernel *k) {
    int n = accumulator_registers(&k->c.matrix);
    cg_line(k->cg, "    %s += part[i][j / %d][j %% %d];", open_registers(k, "acc", n), n, n);
    cg_close(k->cg);
}

void compute_mma(Kernel *k, const Node *n) {
    Cg *cg = k->cg;
    const Contract *c = &k->c;
    int unroll = c->r->unroll;
    if (n->from > 0) {
        cg_line(cg, "// compute: the last slice, with fragments of the next stage under way");
        fragment_mma_fetch(k, "0", "0");
        products(k, "1", &(Between){0});
    } else if (n->to > 0) {
        int slices = (int)(n->to / c->r->thread.extent[AX_K]);
        cg_line(cg, "// compute: slices of %d k", (int)c->r->thread.extent[AX_K]);
        cg_line(cg, "#pragma unroll");
        cg_open(cg, "for (int kk = 0; kk < %d; kk += TK)", n->to);
        if (c->any_ahead) fragment_mma_fetch(k, "(kk + TK)", "(kk / TK + 1) % 2");
        else fragment_mma_fetch(k, "kk", "0");
        products(k, c->any_ahead ? "kk / TK % 2" : "0",
                 &(Between){.copies = n->child,
                            .first = slices > 1 ? "kk / TK * IM + " : "",
                            .rows = slices * c->matrix.tiles[AX_M]});
        cg_close(cg);
    }
    if (n->to == unroll && c->matrix.promotes) mma_promote(k);
}

void mma_finish(Kernel *k) {
    Cg *cg = k->cg;
    const Matrix *x = &k->c.matrix;
    TeDtype from = x->unit->acc, to = k->c.p->con.acc;
    int n = x->accumulators;
    const char *element = cg_text(cg, "sum[i][j / %d][j %% %d]", n, n);
    if (from == TE_F16)
        element = cg_text(cg, "rl_f16_to_f32((unsigned short)(sum[i][j / %d][j %% %d / 2] >> "
                              "j %% 2 * 16))", n, n);
    cg_line(cg, "// sums: accumulators as %s", te_dtype_name(to));
    cg_line(cg, "%s acc[IM][IN][%d];", cg_type(to), n);
    cg_line(cg, "    %s = %s;", open_registers(k, "acc", n),
            text_convert(cg, to, te_dtype_compute(from), element));
    cg_close(cg);
    cg_blank(cg);
}
