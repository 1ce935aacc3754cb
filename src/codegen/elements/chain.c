#include "codegen/elements/chain.h"
#include <math.h>

/* A chain (access.h): what becomes of the scores of a turn, rows of the first product's results by
 * the columns that the turn has.  A thread has them as the unit deals results, the lanes of a row
 * are neighbours of a warp, and warps have whole rows.
 *
 * Names in the text: score the scores, then what they are raised to; x a row of the thread, f what
 * it holds of a reduction for each, r a row's value, past the leader before the turn; base what
 * powers of two are made relative to, scale what moves sums from one base to the next.  */

static Ir row_number(const Kernel *k) { return k->var.x; }

/* An f32 of each row; that of the row at hand.  */
static Ir declare_rows(Kernel *k, const char *word) {
    return ir_array(k->cg, ir_type(IR_F32), word, chain_thread_rows(k), 0, 0);
}

static Ir of_row(const Kernel *k, Ir rows) { return ir_element(k->cg, rows, row_number(k)); }

/* Does an expression read memory?  */
static bool reads_memory(const Kernel *k, const TeExpr *e) {
    ReadList reads = access_reads(e);
    for (int i = 0; i < reads.n; i++)
        if (!elements_makes(k, reads.at[i]->v.ref)) return true;
    return false;
}

/* Does the kernel at scores, for these and for the operand that is made of them?  */
static bool reads_at_scores(const Kernel *k) {
    const KernelGroup *g = k->task->p->group;
    bool any = reads_memory(k, k->c->p->next->con.operand[0].expr);
    for (int i = 0; i < g->n_fused; i++) {
        bool scores = g->chain->part[i] == CHAIN_SCORE || g->chain->part[i] == CHAIN_REDUCE;
        any |= scores && reads_memory(k, k->cg->te->stmt[g->fused[i]].rhs);
    }
    return any;
}

/* ---- what a thread holds ---- */

Partials chain_held(const Kernel *k) {
    return monoid_pass(k->cg, chain_of(k)->rows, 0, MONOID_ROWS, row_number(k));
}

/* The reduction that the second product follows.  */
static const Partial *leader_of(const Kernel *k, const Partials *p) {
    return monoid_of(p, chain_statement(k, chain_of(k)->leader)->rhs);
}

void chain_clear(Kernel *k) {
    Partials p = chain_held(k);
    ir_note(k->cg, "rows: what is held of each");
    reduce_clear(k->cg, &p, chain_thread_rows(k));
    k->rows.top = declare_rows(k, "top");
    k->rows.base = declare_rows(k, "base");
    ir_count_of(k->cg, k->var.x, chain_thread_rows(k), IR_UNROLL_ALL);
    ir_set(k->cg, of_row(k, k->rows.base), cg_real(k->cg, TE_F32, -(double)INFINITY));
    ir_close(k->cg);
}

/* ---- scores ---- */

/* The maps of a score at the element at hand.  */
static void define_maps(Kernel *k) {
    const KernelGroup *g = k->task->p->group;
    elements_define(k, k->c->root->tensor, k->c->p->con.acc, chain_result(k, k->own->acc));
    for (int i = 0; i < g->n_fused; i++) {
        const TeStmt *s = &k->cg->te->stmt[g->fused[i]];
        if (g->chain->part[i] != CHAIN_SCORE) continue;
        CgPoint p = elements_point(k, g->fused[i], false);
        elements_define(k, s->tensor, s->rhs->type, cg_expr(&p, s->rhs, s->rhs->type));
    }
}

static void forget_maps(Kernel *k) {
    const KernelGroup *g = k->task->p->group;
    k->at.made[k->c->root->tensor] = NULL;
    for (int i = 0; i < g->n_fused; i++)
        if (g->chain->part[i] == CHAIN_SCORE)
            k->at.made[k->cg->te->stmt[g->fused[i]].tensor] = NULL;
}

/* Opens the loops over all elements, with their places and maps.  */
static void open_elements(Kernel *k) {
    bool reads = reads_at_scores(k);
    chain_open_rows(k);
    chain_place(k, AX_M, reads);
    chain_open_columns(k);
    chain_place(k, AX_N, reads);
    elements_open_lanes(k);
    define_maps(k);
}

static void close_elements(Kernel *k) {
    forget_maps(k);
    elements_close_lanes(k);
    chain_close(k, ROW_LOOPS + COLUMN_LOOPS);
}

/* What scores are made to, before they are rounded to the second product's operand.  */
static TeDtype term_type(const Kernel *k) {
    return te_dtype_compute((k->l->layout->product + 1)->matrix.unit->a);
}

static Ir declare_results(Kernel *k, const char *name) {
    const Matrix *x = &k->c->matrix;
    return ir_array(k->cg, ir_type(ir_compute(term_type(k))), name, x->tiles[AX_M], x->tiles[AX_N],
                    x->accumulators);
}

static Ir declare_scores(Kernel *k) { return declare_results(k, "score"); }
static Ir declare_terms(Kernel *k) { return declare_results(k, "term"); }
static Ir terms_of(Kernel *k) { return k->term ? k->term : declare_terms(k); }

/* The scores as their leader reduces them; of multiples of results, these.  */
static void make_scores(Kernel *k) {
    Cg *cg = k->cg;
    if (k->task->p->chain->multiple > 0) {
        k->score = k->own->acc;
        return;
    }
    k->score = declare_scores(k);
    int stmt = chain_of(k)->rows->stmt[chain_of(k)->leader];
    open_elements(k);
    CgPoint p = elements_point(k, stmt, false);
    ir_set(cg, chain_result(k, k->score), cg_expr(&p, cg->te->stmt[stmt].rhs->args[0], TE_F32));
    close_elements(k);
}

/* Columns that are none of a row are given `none`: no score, or no term.  */
static void cut_scores(Kernel *k, Ir none) {
    Cg *cg = k->cg;
    Ir cut = chain_cut(k);
    if (!cut) return;
    ir_note(cg, "columns that are none of their row");
    ir_if(cg, cut);
    chain_open_rows(k);
    chain_place(k, AX_M, true);
    chain_row_ends(k);
    chain_open_columns(k);
    chain_place(k, AX_N, false);
    ir_if(cg, chain_outside(k));
    ir_set(cg, chain_result(k, k->score), none);
    ir_close(cg);
    chain_close(k, ROW_LOOPS + COLUMN_LOOPS);
    ir_close(cg);
}

/* ---- the leader ---- */

static void fold_leader(Kernel *k, const Partial *leader) {
    chain_open_rows(k);
    chain_open_columns(k);
    monoid_fold(k->cg, leader, chain_result(k, k->score), NULL, FOLD_ASIDE);
    chain_close(k, ROW_LOOPS + COLUMN_LOOPS);
}

/* Lanes of a row meet.  */
static void meet_lanes(Kernel *k, const Partials *p) {
    int lanes = fragment_lane_bits(&k->c->matrix.results, FRAG_COL);
    ir_count_of(k->cg, k->var.x, chain_thread_rows(k), IR_UNROLL_ALL);
    reduce_threads(k->cg, p, MEET_ALL, lanes, NULL);
    ir_close(k->cg);
}

/* ---- powers ---- */

/* Powers are of two: what a score `by` times as large is multiplied by to be an exponent.  */
static Ir multiplier_of(const Kernel *k, double by) {
    const double log2_e = 1.4426950408889634;
    const TeExpr *power = chain_of(k)->power, *e = power->args[0];
    if (power->v.fn == TE_FN_EXP) by *= log2_e;
    if (e->kind == TE_MUL) by *= e->args[e->args[0]->kind == TE_REAL ? 0 : 1]->v.r;
    return cg_real(k->cg, TE_F32, by);
}

/* The same of scores as they are held.  */
static Ir multiplier(const Kernel *k) {
    double by = k->task->p->chain->multiple;
    return multiplier_of(k, by > 0 ? by : 1);
}

static Ir power_of_two(const Kernel *k, Ir x) {
    return ir_call(k->cg, ir_type(IR_F32), "rl_exp2_term", 1, x);
}

Ir chain_top(const Kernel *k, const Partial *leader) {
    return ir_mul(k->cg, leader->value, multiplier(k));
}

static void declare_scales(Kernel *k) {
    k->rows.scale = declare_rows(k, "scale");
}

/* Sums so far become relative to the tops of their rows.  */
static void rescale_rows(Kernel *k, const Partials *p) {
    Cg *cg = k->cg;
    Ir none = cg_real(cg, TE_F32, -(double)INFINITY);
    ir_count_of(cg, k->var.x, chain_thread_rows(k), IR_UNROLL_ALL);
    Ir top = of_row(k, k->rows.top), base = of_row(k, k->rows.base);
    Ir power = power_of_two(k, ir_sub(cg, base, top));
    ir_set(cg, of_row(k, k->rows.scale), ir_select(cg, ir_binary(cg, IR_EQ, top, none),
                                             cg_real(cg, TE_F32, 1), power));
    ir_set(cg, base, top);
    for (int i = 0; i < p->n; i++)
        if (p->at[i].follow) ir_update(cg, IR_MUL, p->at[i].value, of_row(k, k->rows.scale));
    ir_close(cg);
}

/* Results of the second product do.  */
static void rescale_results(Kernel *k) {
    product_select(k, 1);
    chain_open_rows(k);
    chain_open_columns(k);
    ir_update(k->cg, IR_MUL, chain_result(k, k->own->acc), of_row(k, k->rows.scale));
    chain_close(k, ROW_LOOPS + COLUMN_LOOPS);
    product_select(k, 0);
}

void chain_rescale(Kernel *k, const Partials *p) {
    declare_scales(k);
    rescale_rows(k, p);
    rescale_results(k);
}

void chain_declare(Kernel *k) {
    k->term = declare_terms(k);
    if (!chain_of(k)->rows) return;
    declare_scales(k);
    k->moved = ir_variable(k->cg, IR_BOOL, "moved", ir_bool(k->cg, false));
}

void chain_move(Kernel *k) {
    ir_if(k->cg, k->moved);
    rescale_results(k);
    ir_close(k->cg);
}

Ir chain_exponent(const Kernel *k, Ir score) {
    return ir_mul(k->cg, score, multiplier_of(k, 1));
}

/* The leader as exponents have it is the top of its row; powers are relative to a base, which moves
 * to the top where it is behind by a factor of more than 2^8, in some row of the warp.  A row
 * without a score has the base -inf, and powers relative to 0, so that they are 0.  Results move
 * with their bases, or (`later`) when their products are done.  */
static void move_bases(Kernel *k, const Partials *p, const Partial *leader, bool later) {
    enum { BEHIND = 8 };
    Cg *cg = k->cg;
    Ir far = ir_variable(cg, IR_BOOL, "far", ir_bool(cg, false));
    ir_count_of(cg, k->var.x, chain_thread_rows(k), IR_UNROLL_ALL);
    ir_set(cg, of_row(k, k->rows.top), chain_top(k, leader));
    Ir left = ir_sub(cg, of_row(k, k->rows.top), of_row(k, k->rows.base));
    ir_update(cg, IR_OR, far, ir_unary(cg, IR_NOT, ir_binary(cg, IR_LE, left,
                                                             cg_real(cg, TE_F32, BEHIND))));
    ir_close(cg);
    Ir any = ir_call(cg, ir_type(IR_BOOL), "rl_any", 1, far);
    if (later) ir_set(cg, k->moved, any);
    ir_if(cg, later ? k->moved : any);
    if (later) rescale_rows(k, p);
    else chain_rescale(k, p);
    ir_close(cg);
}

/* What powers of a row are relative to.  */
static void declare_zeros(Kernel *k) {
    Cg *cg = k->cg;
    Ir none = cg_real(cg, TE_F32, -(double)INFINITY);
    k->rows.zero = declare_rows(k, "zero");
    ir_count_of(cg, k->var.x, chain_thread_rows(k), IR_UNROLL_ALL);
    Ir base = of_row(k, k->rows.base);
    ir_set(cg, of_row(k, k->rows.zero), ir_select(cg, ir_binary(cg, IR_EQ, base, none),
                                            cg_real(cg, TE_F32, 0), base));
    ir_close(cg);
}

/* A point of a statement at which this power is known.  */
static CgPoint point_with(const Kernel *k, int stmt, const TeExpr *power, Ir value) {
    CgPoint p = elements_point(k, stmt, false);
    CgGiven *given = ARENA_ARRAY(k->cg->arena, CgGiven, p.n_given + 1);
    for (int i = 0; i < p.n_given; i++) given[i] = p.given[i];
    given[p.n_given++] = (CgGiven){power, value};
    p.given = given;
    return p;
}

/* What the second product's operand is rounded from: of integers, whose low bits are what a cast
 * keeps, where that is one, too.  */
static const TeExpr *operand_of(const Kernel *k) {
    const Contract *to = k->c + 1;
    TeDtype type = to->matrix.unit->a;
    const TeExpr *e = to->p->con.operand[0].expr;
    bool rounded = e->kind == TE_CAST && e->store == type &&
                   te_dtype_class(e->args[0]->type) == te_dtype_class(type);
    return rounded ? e->args[0] : e;
}

/* The terms of sums, and the second product's operand in place of the score.  */
static void make_terms(Kernel *k, const Partials *p) {
    Cg *cg = k->cg;
    const Chain *c = chain_of(k);
    Ir scores = k->score;
    k->score = terms_of(k);
    open_elements(k);
    Ir at = ir_call(cg, ir_type(IR_F32), "fmaf", 3, chain_result(k, scores), multiplier(k),
                    ir_unary(cg, IR_NEG, of_row(k, k->rows.zero)));
    Ir power = ir_let_as(cg, IR_F32, "power", power_of_two(k, at));
    for (int i = 0; i < p->n; i++) {
        const Partial *x = &p->at[i];
        const TeExpr *term = x->e->args[0];
        if (!x->follow) continue;
        CgPoint own = point_with(k, c->rows->stmt[x->number], rows_power(term), power);
        monoid_fold(cg, x, cg_expr(&own, term, te_reduced_type(x->e)), NULL, FOLD_ASIDE);
    }
    CgPoint own = point_with(k, c->second, c->power, power);
    ir_set(cg, chain_result(k, k->score), cg_expr(&own, operand_of(k), TE_F32));
    close_elements(k);
}

/* ---- a turn ---- */

/* Two products back to back: the operand is made of each result by itself.  */
static void map_scores(Kernel *k) {
    k->score = terms_of(k);
    open_elements(k);
    CgPoint p = elements_point(k, chain_of(k)->second, false);
    ir_set(k->cg, chain_result(k, k->score), cg_expr(&p, operand_of(k), term_type(k)));
    close_elements(k);
    cut_scores(k, ir_int(k->cg, 0));
}

static void fold_scores(Kernel *k, bool later) {
    Cg *cg = k->cg;
    Partials p = chain_held(k), leaders = monoid_select(&p, false);
    const Partial *leader = leader_of(k, &p);
    make_scores(k);
    cut_scores(k, cg_real(cg, TE_F32, -(double)INFINITY));
    ir_note(cg, "fold: the leader of each row");
    fold_leader(k, leader);
    meet_lanes(k, &leaders);
    ir_note(cg, "bases: what powers are relative to");
    move_bases(k, &p, leader, later);
    declare_zeros(k);
    ir_note(cg, "terms: powers relative to it");
    make_terms(k, &p);
}

void chain_fold(Kernel *k, const Node *n) {
    Cg *cg = k->cg;
    k->at.vec = 1;
    k->at.n_vector = 0;
    Ir turn = ir_add_n(cg, n->name ? k->var.step : ir_int(cg, 0), n->ahead);
    if (product_parted(k)) turn = ir_add(cg, k->var.turn_first, turn);
    k->own->n0 = ir_let_as(cg, place_along_base(k, AX_N), "n0",
                           ir_mul(cg, turn, product_size(k, 'B', AX_N)));
    place_axis(k, AX_B, k->var.b, false, k->at.index, k->at.wide);
    ir_note(cg, "scores of the turn");
    if (chain_of(k)->rows) fold_scores(k, k->term != NULL);
    else map_scores(k);
}
