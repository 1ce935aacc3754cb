/* The kernels of a `contract` program: products, what adds their slices, values of rows.  */
#include "codegen/lower/lower.h"
#include "codegen/expr/sizes.h"
#include "te/tree/arith.h"

void lower_sums(FormBuilder *b, Lowered *l) {
    Task *t = l->task;
    l->kind = KERNEL_SUMS;
    t->vec = rprog_meeting_vec(t->p, t->r);
    if (t->r->tail > 0) {
        l->launch.span = RPROG_MEETING * t->vec;
        l->launch.block[0] = RPROG_MEETING;
        l->launch.grid[0] = t->r->tail * rprog_tail_adders(t->r, l->launch.span);
    }
    if (t->r->tail == 0) lower_domain(b->arena, l, RPROG_MEETING, t->vec);
    if (lower_empty(t->p)) return;
    form_open(b, NODE_LOOP, LOOP_OUTPUTS);
    form_add(b, NODE_VALUES, VALUES_GATHER);
    lower_statements(b, t->p->group);
    form_close(b);
}

static void lower_stats(FormBuilder *b, Lowered *l) {
    TeExtent rows = size_times(b->arena, index_extent(b->arena, &l->task->map, AX_B),
                               index_extent(b->arena, &l->task->map, AX_M));
    l->kind = KERNEL_STATS;
    l->launch.block[0] = RPROG_MEETING;
    l->launch.span = RPROG_MEETING / l->r->lanes;
    lower_blocks(l, size_ceil_div(b->arena, rows, l->launch.span));
    form_add(b, NODE_VALUES, VALUES_COMBINE)->from = l->pass;
}

static void lower_product(FormBuilder *b, Lowered *l) {
    lower_grid(b, l, KERNEL_CONTRACT);
    if (!lower_empty(l->p)) lower_steps(b, l);
}

static int kernels(const Problem *p, const RProg *r) {
    if (r->stats == STATS_PARTIAL) return rprog_stats_kernels(p, r);
    return r->split > 1 || r->tail > 0 ? 2 : 1;
}

/* Rows in parts: for each pass the product, then the values of the rows.  */
static bool is_product(const Lowered *l, int number) {
    if (l->r->stats == STATS_PARTIAL) return !rprog_stats_combines(l->p, l->r, number);
    return number == 0;
}

static void kernel(FormBuilder *b, Lowered *l, int number) {
    for (int i = 1; i <= number && l->r->stats == STATS_PARTIAL; i++)
        l->pass += !rprog_stats_combines(l->p, l->r, i);
    if (is_product(l, number)) lower_product(b, l);
    else if (l->r->stats == STATS_PARTIAL) lower_stats(b, l);
    else lower_sums(b, l);
}

const LowerRow lower_contract = {.kernels = kernels, .kernel = kernel};
