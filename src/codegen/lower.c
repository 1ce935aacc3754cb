#include "codegen/lower.h"

static int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

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

static void lower_contract(Lowered *l, const Contract *c) {
    const RProg *r = l->r;
    l->kind = KERNEL_CONTRACT;
    l->vec = r->store_vec;
    l->launch.grid[0] = rprog_blocks(l->p, r);
    l->launch.grid[1] = r->split;
    l->launch.block[0] = r->threads;
    l->launch.dynamic_smem = c->smem;
    if (is_empty(l->p)) return;
    add(l, PHASE_PLACE);
    for (int side = 0; side < 2; side++) {
        if (c->side[side].present) add(l, PHASE_ADDRESS)->side = side;
    }
    add(l, PHASE_CLEAR);
    add(l, PHASE_FILL);
    if (c->any_ahead) add(l, PHASE_FRAGMENT);
    add(l, PHASE_STEPS);
    add_step(l, c);
    add(l, PHASE_END);
    if (c->matrix.used && c->matrix.unit->acc != l->p->con.acc) add(l, PHASE_SUMS);
    if (c->warps[AX_K] > 1) add(l, PHASE_REDUCE);
    if (r->split > 1) {
        add(l, PHASE_PARTIAL);
        return;
    }
    add(l, PHASE_ELEMENTS);
    add_statements(l, l->p->group);
}

/* Blocks of `span` elements over a domain; where the grid is too small, larger spans.  */
static void lay_out_domain(Lowered *l, int64_t total, int threads, int64_t items,
                           const Device *dev) {
    int64_t most = (int64_t)dev->limits.grid_max.value, span = threads * items;
    if (most > INT32_MAX) most = INT32_MAX;
    int64_t loops = ceil_div(ceil_div(total, span), most);
    l->launch.span = span * (loops > 1 ? loops : 1);
    l->launch.grid[0] = ceil_div(total, l->launch.span);
    if (l->launch.grid[0] < 1) l->launch.grid[0] = 1;
    l->launch.block[0] = threads;
}

static void lower_sums(Lowered *l, const Device *dev) {
    enum { THREADS = 128 };
    l->kind = KERNEL_SUMS;
    l->vec = l->p->out_vec;
    while (l->vec * l->p->acc_bytes > 16) l->vec /= 2;
    const int64_t *n = l->p->extent;
    lay_out_domain(l, n[AX_B] * n[AX_M] * n[AX_N], THREADS, l->vec, dev);
    if (is_empty(l->p)) return;
    add(l, PHASE_ELEMENTS);
    add(l, PHASE_GATHER);
    add_statements(l, l->p->group);
}

static void lower_stream(Lowered *l, const Te *te, const Device *dev) {
    const KernelGroup *g = l->p->group;
    l->kind = KERNEL_STREAM;
    l->vec = l->r->store_vec;
    lay_out_domain(l, l->p->extent[AX_M], l->r->threads, l->r->thread.extent[AX_M], dev);
    if (is_empty(l->p)) return;
    add(l, PHASE_ELEMENTS);
    if (te->stmt[g->root].rhs->kind == TE_REDUCE) add(l, PHASE_FOLD)->stmt = g->root;
    add_statements(l, g);
}

/* Kernel number `which` of a row program: all passes, or one over slices.  */
static void lower_rows(Lowered *l, int which) {
    const RProg *r = l->r;
    int passes = l->p->row->group->n_pass;
    bool last = r->split > 1 && which == passes;
    l->kind = KERNEL_ROW;
    l->vec = r->store_vec;
    l->launch.grid[0] = rprog_blocks(l->p, r);
    l->launch.grid[1] = last ? 1 : r->split;
    l->launch.block[0] = r->threads;
    l->launch.dynamic_smem = r->smem;
    if (is_empty(l->p)) return;
    add(l, PHASE_ROWS);
    if (r->keep == KEEP_SHARED) add(l, PHASE_HOLD);
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

static void lower_column(Lowered *l) {
    const RProg *r = l->r;
    l->kind = KERNEL_COLUMN;
    l->vec = r->store_vec;
    l->launch.grid[0] = rprog_blocks(l->p, r);
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

static void lower_column_sums(Lowered *l, const Device *dev) {
    enum { THREADS = 128 };
    l->kind = KERNEL_COLUMN_SUMS;
    l->vec = l->r->store_vec;
    while (l->vec * l->p->column.sum_bytes > 16) l->vec /= 2;
    lay_out_domain(l, l->p->column.out.extent, THREADS, l->vec, dev);
    add(l, PHASE_ELEMENTS);
    add(l, PHASE_GATHER);
    add_statements(l, l->p->group);
}

static void lower_window(Lowered *l) {
    l->kind = KERNEL_WINDOW;
    l->vec = l->r->store_vec;
    l->launch.grid[0] = rprog_blocks(l->p, l->r);
    l->launch.block[0] = l->r->threads;
    l->launch.dynamic_smem = l->r->smem;
    add(l, PHASE_PLACE);
    add(l, PHASE_CLEAR);
    add(l, PHASE_FOLD)->stmt = l->p->group->root;
    add(l, PHASE_ELEMENTS);
    add_statements(l, l->p->group);
}

static void lower_permute(Lowered *l) {
    l->kind = KERNEL_PERMUTE;
    l->vec = l->r->store_vec;
    l->launch.grid[0] = rprog_blocks(l->p, l->r);
    l->launch.block[0] = l->r->threads;
    l->launch.dynamic_smem = l->r->smem;
    add(l, PHASE_PLACE);
    for (int i = 0; i < l->p->permute.n_source; i++) add(l, PHASE_FILL)->side = i;
    add(l, PHASE_WAIT);
    add(l, PHASE_ELEMENTS);
    add_statements(l, l->p->group);
}

static void begin(Lowered *l, const RPlan *plan, int group) {
    l->group = group;
    l->p = &plan->problem[group];
    l->r = &plan->prog[group];
    l->launch =
        (KernelLaunch){.group = group, .grid = {1, 1, 1}, .block = {1, 1, 1}, .cluster = {1, 1, 1}};
}

Lowered *lower_plan(Arena *a, const RPlan *plan, const Device *dev, int *n) {
    int most = 0;
    for (int g = 0; g < plan->n; g++) {
        bool rows = plan->prog[g].skeleton == SK_ROW;
        most += rows ? rprog_row_kernels(&plan->problem[g], &plan->prog[g]) : 2;
    }
    Lowered *l = ARENA_ARRAY(a, Lowered, most);
    *n = 0;
    for (int g = 0; g < plan->n; g++) {
        begin(&l[*n], plan, g);
        if (plan->prog[g].skeleton == SK_STREAM) {
            lower_stream(&l[(*n)++], plan->te, dev);
            continue;
        }
        if (plan->prog[g].skeleton == SK_ROW) {
            int kernels = rprog_row_kernels(l[*n].p, l[*n].r);
            for (int i = 0; i < kernels; i++) {
                begin(&l[*n], plan, g);
                lower_rows(&l[(*n)++], i);
            }
            continue;
        }
        if (plan->prog[g].skeleton == SK_WINDOW) {
            lower_window(&l[(*n)++]);
            continue;
        }
        if (plan->prog[g].skeleton == SK_PERMUTE) {
            lower_permute(&l[(*n)++]);
            continue;
        }
        if (plan->prog[g].skeleton == SK_COLUMN) {
            lower_column(&l[(*n)++]);
            if (plan->prog[g].split == 1) continue;
            begin(&l[*n], plan, g);
            lower_column_sums(&l[(*n)++], dev);
            continue;
        }
        Contract c;
        contract_facts(plan->te, dev, l[*n].p, l[*n].r, &c);
        lower_contract(&l[(*n)++], &c);
        if (plan->prog[g].split > 1) {
            begin(&l[*n], plan, g);
            lower_sums(&l[(*n)++], dev);
        }
    }
    return l;
}
