#include "codegen/blocks.h"
#include "codegen/sizes.h"
#include "te/arith.h"

static Phase *add(Lowered *l, PhaseKind kind) {
    Phase *p = &l->phase[l->n_phase++];
    *p = (Phase){.kind = kind, .side = -1, .stmt = -1};
    return p;
}

static void add_compute(Lowered *l, int from, int to) {
    Phase *p = add(l, PHASE_COMPUTE);
    p->from = from;
    p->to = to;
}

/* One k-step.  Where fragments are fetched ahead, the fetch for the last k crosses into the next
 * stage, so that it hides behind the last multiply-adds.  */
static void add_step(Lowered *l, const Contract *c) {
    int unroll = c->r->unroll, last = c->matrix.used ? c->r->thread.extent[AX_K] : 1;
    add(l, PHASE_LOAD);
    if (c->bodies > 1) add(l, PHASE_BODIES);
    add_compute(l, 0, c->any_ahead ? unroll - last : unroll);
    if (c->bodies > 1) add(l, c->any_ahead ? PHASE_LAST : PHASE_END);
    if (c->spread) add(l, PHASE_ISSUED);
    if (c->staged) add(l, PHASE_KEEP);
    add(l, PHASE_WAIT);
    add(l, PHASE_ADVANCE);
    if (!c->any_ahead) return;
    if (c->bodies > 1) add(l, PHASE_END);
    add_compute(l, unroll - last, unroll);
    if (c->bodies > 1) add(l, PHASE_END);
}

/* Nothing to compute: the kernel that the grid needs does nothing.  */
static bool is_empty(const Problem *p) {
    return p->extent[AX_M] == 0 ||
           (p->contraction && (p->extent[AX_B] == 0 || p->extent[AX_N] == 0));
}

static void add_statements(Lowered *l, const KernelGroup *g) {
    add(l, PHASE_STATEMENT)->stmt = g->root;
    for (int i = 0; i < g->n_fused; i++) add(l, PHASE_STATEMENT)->stmt = g->fused[i];
    add(l, PHASE_STORE);
    add(l, PHASE_END);
}

/* A grid of that many blocks along x; a static one has at least one.  */
static void lay_out_blocks(Lowered *l, TeExtent blocks) {
    l->launch.blocks = blocks.expr;
    l->launch.grid[0] = blocks.value > 1 ? blocks.value : 1;
}

static const TeStmt *root_of(const Lowered *l) { return &l->p->te->stmt[l->p->group->root]; }

/* What is done with rows of the results: whole rows pass by pass, of parts pass `l->pass`.  */
static void add_stats(Lowered *l) {
    const StatFacts *f = rprog_stats_facts(l->p, l->r);
    bool parts = l->r->stats == STATS_PARTS;
    add(l, PHASE_ROWS);
    for (int pass = 0; pass < f->group->n_pass; pass++) {
        if (f->reduces[pass] == 0 || (parts && pass != l->pass)) continue;
        for (int tied = 0; tied <= stats_any_tied(l->p, l->r, pass); tied++) {
            Phase *walk = add(l, PHASE_WALK), *finish = add(l, PHASE_FINISH);
            walk->from = finish->from = pass;
            walk->to = finish->to = tied;
        }
    }
    if (!f->any_stored || (parts && f->emit_bytes[l->pass] == 0)) return;
    uint64_t mask = parts ? (uint64_t)1 << l->pass : UINT64_MAX;
    add(l, PHASE_ELEMENTS);
    add(l, PHASE_STATEMENT)->stmt = l->p->group->root;
    for (int i = 0; i < f->group->n; i++) {
        if (f->emits[i] & mask) add(l, PHASE_STATEMENT)->stmt = f->group->stmt[i];
    }
    add(l, PHASE_STORE);
    add(l, PHASE_END);
}

static void lower_contract(Arena *a, Lowered *l, const Contract *c) {
    const RProg *r = l->r;
    TeExtent blocks = size_number(1);
    l->kind = KERNEL_CONTRACT;
    l->vec = r->store_vec;
    for (int axis = AX_B; axis <= AX_N; axis++)
        blocks = size_times(a, blocks, contract_tiles(a, l->p, r, axis));
    if (r->tail > 0) blocks = size_number(blocks.value - r->tail + r->units);
    lay_out_blocks(l, blocks);
    l->launch.grid[1] = r->split;
    l->launch.block[0] = r->threads;
    l->launch.dynamic_smem = r->smem;
    if (is_empty(l->p)) return;
    if (r->tail > 0) add(l, PHASE_SEGMENTS);
    add(l, PHASE_PLACE);
    for (int side = 0; side < 2; side++) {
        if (!c->side[side].present) continue;
        add(l, c->side[side].l->region ? PHASE_REGION : PHASE_ADDRESS)->side = side;
    }
    add(l, PHASE_CLEAR);
    add(l, PHASE_FILL);
    if (c->any_ahead) add(l, PHASE_FRAGMENT);
    add(l, PHASE_STEPS);
    add_step(l, c);
    add(l, PHASE_AGAIN);
    if (c->matrix.used && c->matrix.unit->acc != l->p->con.acc) add(l, PHASE_SUMS);
    if (c->warps[AX_K] > 1 && !c->matrix.piece) add(l, PHASE_REDUCE);
    if (r->stats) {
        add_stats(l);
        return;
    }
    if (r->split > 1) {
        add(l, PHASE_PARTIAL);
        return;
    }
    if (r->tail > 0) {
        add(l, PHASE_PARTIAL);
        add(l, PHASE_WHOLE);
    }
    add(l, PHASE_ELEMENTS);
    add_statements(l, l->p->group);
    if (r->tail == 0) return;
    add(l, PHASE_END);
    add(l, PHASE_END);
}

/* Blocks of `span` elements over a domain; where the grid is too small, larger spans.  */
static void lay_out_domain(Arena *a, Lowered *l, TeExtent total, int threads, int64_t items,
                           const Device *dev) {
    int64_t most = (int64_t)dev->limits.grid_max.value, span = threads * items;
    if (most > INT32_MAX) most = INT32_MAX;
    int64_t loops = ceil_div(ceil_div(total.value, span), most);
    l->launch.span = span * (loops > 1 ? loops : 1);
    lay_out_blocks(l, size_parts(a, total, l->launch.span));
    l->launch.block[0] = threads;
}

static void lower_sums(Arena *a, Lowered *l, const Device *dev) {
    enum { THREADS = 128 };
    TeExtent total = size_number(1);
    l->kind = KERNEL_SUMS;
    l->vec = l->p->out_vec;
    while (l->vec * l->p->acc_bytes > 16) l->vec /= 2;
    if (l->r->tail > 0) {
        while (l->r->block.extent[AX_N] % l->vec) l->vec /= 2;
        l->launch.span = THREADS * l->vec;
        l->launch.block[0] = THREADS;
        l->launch.grid[0] = l->r->tail * rprog_tail_pieces(l->r, l->launch.span);
    }
    for (int axis = AX_B; axis <= AX_N && l->r->tail == 0; axis++)
        total = size_times(a, total, size_axis(a, root_of(l), &l->p->con.axis[axis]));
    if (l->r->tail == 0) lay_out_domain(a, l, total, THREADS, l->vec, dev);
    if (is_empty(l->p)) return;
    add(l, PHASE_ELEMENTS);
    add(l, PHASE_GATHER);
    add_statements(l, l->p->group);
}

static void lower_stats(Arena *a, Lowered *l) {
    enum { THREADS = 128 };
    const Contraction *con = &l->p->con;
    TeExtent rows = size_times(a, size_axis(a, root_of(l), &con->axis[AX_B]),
                               size_axis(a, root_of(l), &con->axis[AX_M]));
    l->kind = KERNEL_STATS;
    l->launch.block[0] = THREADS;
    l->launch.span = THREADS / rprog_stats_threads(l->p, l->r);
    lay_out_blocks(l, size_parts(a, rows, l->launch.span));
    add(l, PHASE_COMBINE)->from = l->pass;
}

static void lower_stream(Arena *a, Lowered *l, const Device *dev) {
    const KernelGroup *g = l->p->group;
    l->kind = KERNEL_STREAM;
    l->vec = l->r->store_vec;
    lay_out_domain(a, l, size_indices(a, root_of(l), 0, root_of(l)->n_left), l->r->threads,
                   l->r->thread.extent[AX_M], dev);
    if (is_empty(l->p)) return;
    add(l, PHASE_ELEMENTS);
    if (root_of(l)->rhs->kind == TE_REDUCE) add(l, PHASE_FOLD)->stmt = g->root;
    add_statements(l, g);
    if (!rprog_stream_rest(l->p, l->r)) return;
    add(l, PHASE_ELEMENTS)->rest = true;
    add_statements(l, g);
}

/* Kernel number `which` of a row program: all passes, or one over slices.  */
static void lower_rows(Arena *a, Lowered *l, int which) {
    const RProg *r = l->r;
    TeExtent rows = size_indices(a, root_of(l), 0, root_of(l)->n_left);
    int passes = rprog_row_facts(l->p, r)->group->n_pass;
    bool last = r->split > 1 && which == passes;
    l->kind = KERNEL_ROW;
    l->vec = r->store_vec;
    lay_out_blocks(l, size_parts(a, rows, r->block.extent[AX_M]));
    l->launch.grid[1] = last ? 1 : r->split;
    l->launch.block[0] = r->threads;
    l->launch.dynamic_smem = r->smem;
    if (is_empty(l->p)) return;
    add(l, PHASE_ROWS);
    if (r->keep == KEEP_SHARED || r->keep == KEEP_FLAT) add(l, PHASE_HOLD);
    for (int pass = 0; pass < passes && r->split == 1; pass++) {
        add(l, PHASE_WALK)->from = pass;
        add(l, PHASE_FINISH)->from = pass;
    }
    if (r->split == 1) return;
    for (int pass = 0; pass < which; pass++) {
        Phase *p = add(l, PHASE_COMBINE);
        p->from = pass;
        p->to = pass + 1 == which;
    }
    if (last) return;
    add(l, PHASE_WALK)->from = which;
    add(l, PHASE_LEAVE)->from = which;
}

static void lower_column(Arena *a, Lowered *l) {
    const RProg *r = l->r;
    TeExtent columns = size_axis(a, root_of(l), &l->p->column.out);
    l->kind = KERNEL_COLUMN;
    l->vec = r->store_vec;
    lay_out_blocks(l, size_parts(a, columns, r->block.extent[AX_M]));
    l->launch.grid[1] = r->split;
    l->launch.block[0] = r->threads;
    l->launch.dynamic_smem = r->smem;
    add(l, PHASE_PLACE);
    add(l, PHASE_FOLD)->stmt = l->p->group->root;
    if (rprog_column_threads(r, AX_K) > 1) add(l, PHASE_REDUCE);
    if (r->split > 1) {
        add(l, PHASE_PARTIAL);
        return;
    }
    add(l, PHASE_ELEMENTS);
    add_statements(l, l->p->group);
}

static void lower_column_sums(Arena *a, Lowered *l, const Device *dev) {
    enum { THREADS = 128 };
    l->kind = KERNEL_COLUMN_SUMS;
    l->vec = l->r->store_vec;
    while (l->vec * l->p->column.sum_bytes > 16) l->vec /= 2;
    lay_out_domain(a, l, size_axis(a, root_of(l), &l->p->column.out),
                   THREADS / rprog_column_lanes(l->p, l->r), l->vec, dev);
    l->launch.block[0] = THREADS;
    add(l, PHASE_ELEMENTS);
    add(l, PHASE_GATHER);
    add_statements(l, l->p->group);
}

static void lower_window(Arena *a, Lowered *l) {
    l->kind = KERNEL_WINDOW;
    l->vec = l->r->store_vec;
    lay_out_blocks(l, window_blocks(a, l->p, l->r));
    l->launch.block[0] = l->r->threads;
    l->launch.dynamic_smem = l->r->smem;
    add(l, PHASE_PLACE);
    if (!l->p->window.map) add(l, PHASE_CLEAR);
    add(l, PHASE_FOLD)->stmt = l->p->group->root;
    add(l, PHASE_ELEMENTS);
    add_statements(l, l->p->group);
}

static void lower_permute(Arena *a, Lowered *l) {
    l->kind = KERNEL_PERMUTE;
    l->vec = l->r->store_vec;
    lay_out_blocks(l, permute_blocks(a, l->p, l->r));
    l->launch.block[0] = l->r->threads;
    l->launch.dynamic_smem = l->r->smem;
    add(l, PHASE_PLACE);
    for (int i = 0; i < l->p->permute.n_source; i++) add(l, PHASE_FILL)->side = i;
    add(l, PHASE_WAIT);
    add(l, PHASE_ELEMENTS);
    add_statements(l, l->p->group);
}

/* Program g of the plan, number `first` + g of all.  */
static void begin(Lowered *l, const RPlan *plan, int first, int g) {
    l->group = first + g;
    l->p = &plan->problem[g];
    l->r = &plan->prog[g];
    l->launch = (KernelLaunch){.group = l->group, .grid = {1, 1, 1}, .block = {1, 1, 1},
                               .cluster = {1, 1, 1}};
}

/* Rows in parts: for each pass the product, then the values of the rows.  */
static void lower_parts(Arena *a, const RPlan *plan, const Device *dev, int first, int g,
                        Lowered *l, int *n) {
    const StatFacts *f = rprog_stats_facts(&plan->problem[g], &plan->prog[g]);
    for (int pass = 0; pass < f->group->n_pass; pass++) {
        Contract c;
        begin(&l[*n], plan, first, g);
        l[*n].pass = pass;
        contract_facts(l[*n].p->te, dev, l[*n].p, l[*n].r, &c);
        lower_contract(a, &l[(*n)++], &c);
        if (f->reduces[pass] == 0) continue;
        begin(&l[*n], plan, first, g);
        l[*n].pass = pass;
        lower_stats(a, &l[(*n)++]);
    }
}

/* The kernels of program g, in launch order.  */
static void lower_program(Arena *a, const RPlan *plan, const Device *dev, int first, int g,
                          Lowered *l, int *n) {
    const RProg *r = &plan->prog[g];
    begin(&l[*n], plan, first, g);
    switch (r->skeleton) {
    case SK_STREAM: lower_stream(a, &l[(*n)++], dev); return;
    case SK_WINDOW: lower_window(a, &l[(*n)++]); return;
    case SK_PERMUTE: lower_permute(a, &l[(*n)++]); return;
    case SK_ROW:
        for (int i = 0, all = rprog_row_kernels(l[*n].p, r); i < all; i++) {
            begin(&l[*n], plan, first, g);
            lower_rows(a, &l[(*n)++], i);
        }
        return;
    case SK_COLUMN:
        lower_column(a, &l[(*n)++]);
        if (r->split == 1) return;
        begin(&l[*n], plan, first, g);
        lower_column_sums(a, &l[(*n)++], dev);
        return;
    default: break;
    }
    if (r->stats == STATS_PARTS) {
        lower_parts(a, plan, dev, first, g, l, n);
        return;
    }
    Contract c;
    contract_facts(l[*n].p->te, dev, l[*n].p, r, &c);
    lower_contract(a, &l[(*n)++], &c);
    if (r->split == 1 && r->tail == 0) return;
    begin(&l[*n], plan, first, g);
    lower_sums(a, &l[(*n)++], dev);
}

/* Group by group, of each the programs for some sizes before the one for all.  */
static void lower_groups(Arena *a, const RPlan *plan, const Device *dev, int first, Lowered *l,
                         int *n) {
    int groups = rplan_groups(plan);
    for (int g = 0; g < groups; g++) {
        for (int i = groups; i < plan->n; i++) {
            if (rplan_part(plan, i) == g) lower_program(a, plan, dev, first, i, l, n);
        }
        lower_program(a, plan, dev, first, g, l, n);
    }
}

Lowered *lower_plan(Arena *a, const RPlan *plan, const Device *dev, int *n) {
    int most = 0, first = 0;
    for (const RPlan *x = plan; x; x = x->other) {
        for (int g = 0; g < x->n; g++) {
            bool rows = x->prog[g].skeleton == SK_ROW;
            most += rows ? rprog_row_kernels(&x->problem[g], &x->prog[g]) : 2;
            if (x->prog[g].stats) most += rprog_stats_kernels(&x->problem[g], &x->prog[g]);
        }
    }
    Lowered *l = ARENA_ARRAY(a, Lowered, most);
    *n = 0;
    for (; plan; first += plan->n, plan = plan->other) lower_groups(a, plan, dev, first, l, n);
    return l;
}
