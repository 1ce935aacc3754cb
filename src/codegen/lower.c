#include "codegen/blocks.h"
#include "codegen/sizes.h"
#include "te/tree/arith.h"

static const TeStmt *root_of(const Lowered *l) { return &l->p->te->stmt[l->p->group->root]; }

static void lower_sums(FormBuilder *b, Lowered *l) {
    l->kind = KERNEL_SUMS;
    l->vec = rprog_meeting_vec(l->p, l->r);
    if (l->r->tail > 0) {
        l->launch.span = RPROG_MEETING * l->vec;
        l->launch.block[0] = RPROG_MEETING;
        l->launch.grid[0] = l->r->tail * rprog_tail_adders(l->r, l->launch.span);
    }
    if (l->r->tail == 0) lower_domain(b->arena, l, RPROG_MEETING, l->vec);
    if (lower_empty(l->p)) return;
    form_open(b, NODE_LOOP, LOOP_OUTPUTS);
    form_add(b, NODE_VALUES, VALUES_GATHER);
    lower_statements(b, l->p->group);
    form_close(b);
}

static void lower_stats(FormBuilder *b, Lowered *l) {
    TeExtent rows = size_times(b->arena, index_extent(b->arena, &l->map, AX_B),
                               index_extent(b->arena, &l->map, AX_M));
    l->kind = KERNEL_STATS;
    l->launch.block[0] = RPROG_MEETING;
    l->launch.span = RPROG_MEETING / l->r->lanes;
    lower_blocks(l, size_ceil_div(b->arena, rows, l->launch.span));
    form_add(b, NODE_VALUES, VALUES_COMBINE)->from = l->pass;
}

static void lower_stream(FormBuilder *b, Lowered *l) {
    l->kind = KERNEL_STREAM;
    l->vec = l->r->store_vec;
    lower_domain(b->arena, l, l->r->threads, l->r->thread.extent[AX_M]);
    index_map(l->p, l->r, l->launch.span, &l->map);
    if (lower_empty(l->p)) return;
    form_open(b, NODE_LOOP, LOOP_OUTPUTS);
    if (root_of(l)->rhs->kind == TE_REDUCE)
        form_add(b, NODE_LOOP, LOOP_FOLD)->of = l->p->group->root;
    lower_statements(b, l->p->group);
    form_close(b);
    if (!rprog_stream_rest(l->p, l->r)) return;
    form_open(b, NODE_LOOP, LOOP_OUTPUTS)->rest = true;
    lower_statements(b, l->p->group);
    form_close(b);
}

/* ---- rows ---- */

/* Rows that stay in shared memory: copies of the sources, and the wait for them.  */
static void add_hold(FormBuilder *b, const Lowered *l) {
    const RowFacts *f = rprog_row_facts(l->p, l->r);
    bool flat = l->r->keep == KEEP_FLAT, waits = false;
    Node *node = form_sequence(b, "hold");
    node->note = flat ? "hold: the rows of the block as they lie in memory"
                      : "hold: rows in shared memory, each thread its own columns";
    node->blank = true;
    for (int n = 0; n < f->n_source; n++) {
        if (!rprog_room(l->layout, ROOM_ROWS, n)) continue;
        Node *x = form_add(b, NODE_COPY, 0);
        x->of = n;
        if (f->source[n].made) continue;
        x->mover = rprog_row_mover(l->dev, l->p, l->r, n);
        Use *u = form_writes(b, x, ROOM_ROWS, n);
        u->share = flat ? SHARE_BLOCK : SHARE_THREAD;
        x->done = u->room->filled;
        u->late = x->done != DONE_AT_ONCE;
        waits |= u->late;
    }
    if (waits) {
        form_sync(b, SYNC_COPIES, SYNC_COMMIT, 0);
        form_sync(b, SYNC_COPIES, SYNC_WAIT, 0);
    }
    if (flat) form_block_sync(b);
    form_close(b);
}

/* A pass over the columns.  What is kept in shared memory it reads from there, or puts there.  */
static void add_walk(FormBuilder *b, const Lowered *l, int pass) {
    const RowFacts *f = rprog_row_facts(l->p, l->r);
    const RowGroup *g = f->group;
    Node *n = form_add(b, NODE_LOOP, LOOP_WALK);
    n->from = pass;
    for (int i = 0; i < f->n_source; i++) {
        const RowSource *s = &f->source[i];
        bool flat = l->r->keep == KEEP_FLAT && !s->made, makes = false;
        if (!rprog_row_holds(l->r, s)) continue;
        if (s->passes >> pass & 1)
            form_reads(b, n, ROOM_ROWS, i)->share = flat ? SHARE_BLOCK : SHARE_THREAD;
        for (int x = 0; x < g->n && s->made; x++)
            makes |= l->p->te->stmt[g->stmt[x]].tensor == s->tensor && g->pass[x] == pass;
        if (makes) form_writes(b, n, ROOM_ROWS, i)->share = SHARE_THREAD;
    }
}

/* The threads of a row meet; NULL: the pass reduces nothing.  Several warps do through shared
 * memory, leaders before those that follow them; the block prints these nodes.  */
static Node *add_threads(FormBuilder *b, const Lowered *l, int pass, NodeKind kind, int what,
                         const char *note) {
    const RowGroup *g = rprog_row_facts(l->p, l->r)->group;
    bool any[2] = {false, false};
    for (int i = 0; i < g->n; i++) {
        if (g->role[i] == ROW_REDUCE && g->pass[i] == pass) any[g->follow[i] != FOLLOW_NONE] = true;
    }
    if (kind == NODE_REDUCE && !any[0] && !any[1]) return NULL;
    Node *n = form_open(b, kind, what);
    n->from = pass;
    n->note = note;
    for (int online = 0; online < 2 && rprog_row_threads(l->r) > 32; online++) {
        if (any[online]) lower_meet_warps(b, ROOM_WARPS, (Reductions){g, pass, online});
    }
    form_close(b);
    return n;
}

/* Kernel number `which` of a row program: all passes, or one over slices.  */
static void lower_rows(FormBuilder *b, Lowered *l, int which) {
    const RProg *r = l->r;
    int passes = rprog_row_facts(l->p, r)->group->n_pass;
    bool last = r->split > 1 && which == passes;
    lower_grid(b, l, KERNEL_ROW);
    if (last) l->launch.grid[1] = 1;
    if (lower_empty(l->p)) return;
    form_add(b, NODE_VALUES, VALUES_ROWS)->to = r->split == 1 || which == 0;
    if (r->keep == KEEP_SHARED || r->keep == KEEP_FLAT) add_hold(b, l);
    for (int pass = 0; pass < passes && r->split == 1; pass++) {
        add_walk(b, l, pass);
        add_threads(b, l, pass, NODE_REDUCE, REDUCE_THREADS, "values of the rows");
        form_add(b, NODE_VALUES, VALUES_FINISH)->from = pass;
    }
    if (r->split == 1) return;
    for (int pass = 0; pass < which; pass++) {
        Node *n = add_threads(b, l, pass, NODE_VALUES, VALUES_COMBINE, NULL);
        n->to = pass + 1 == which;
    }
    if (last) return;
    add_walk(b, l, which);
    if (!add_threads(b, l, which, NODE_REDUCE, REDUCE_THREADS, "values of the slice")) return;
    form_add(b, NODE_STORE, STORE_LEAVE)->from = which;
}

/* ---- plans ---- */

typedef struct {
    const RPlan *plan;
    const Device *dev;
    int first;                /* number of the plan's first group among all */
    Lowered *l;
    int n;
    int program;              /* the first kernel of the program at hand */
    bool overlaps;            /* kernels begin before those before them have ended */
    FormBuilder b;
} Lowering;

/* Begins the next kernel, of program g of the plan.  The first one of a launch waits for nothing;
 * every other does for the one before, which has done so too: its end is that of all.  */
static Lowered *begin_product(Lowering *x, int g) {
    Lowered *l = &x->l[x->n++];
    bool first = x->n - 1 == x->program;
    if (!first && x->overlaps) form_next(x->b.arena, l[-1].form);
    *l = (Lowered){.group = x->first + g,
                   .p = &x->plan->problem[g],
                   .r = &x->plan->prog[g],
                   .dev = x->dev,
                   .waits = x->overlaps && (!first || rplan_group_of(x->plan, g) > 0)};
    l->layout = rprog_layout(x->b.arena, l->p, l->dev, l->r);
    l->form = form_begin(&x->b, x->b.arena, l->layout);
    index_map(l->p, l->r, 0, &l->map);
    l->launch = (KernelLaunch){.group = l->group, .grid = {1, 1, 1}, .block = {1, 1, 1},
                               .cluster = {1, 1, 1}};
    return l;
}

static Lowered *begin(Lowering *x, int g) {
    Lowered *l = begin_product(x, g);
    if (l->waits) form_wait(&x->b, l->form);
    return l;
}

/* Rings prepare their barriers before they wait.  */
static void lower_product(Lowering *x, int g, int pass) {
    const Problem *p = &x->plan->problem[g];
    bool ring = rprog_warpgroups(x->dev, &x->plan->prog[g]) && !lower_empty(p);
    Lowered *l = ring ? begin_product(x, g) : begin(x, g);
    l->pass = pass;
    Contract *c = ARENA_NEW(x->b.arena, Contract);
    contract_facts(l, c);
    l->contract = c;
    lower_grid(&x->b, l, KERNEL_CONTRACT);
    if (!lower_empty(l->p)) lower_contract(&x->b, l);
}

/* Rows in parts: for each pass the product, then the values of the rows.  */
static void lower_partial(Lowering *x, int g) {
    const StatFacts *f = rprog_stats_facts(&x->plan->problem[g], &x->plan->prog[g]);
    for (int pass = 0; pass < f->group->n_pass; pass++) {
        lower_product(x, g, pass);
        if (f->reduces[pass] == 0) continue;
        Lowered *l = begin(x, g);
        l->pass = pass;
        lower_stats(&x->b, l);
    }
}

/* The kernels of program g, in launch order.  */
static void lower_program(Lowering *x, int g) {
    const RProg *r = &x->plan->prog[g];
    FormBuilder *b = &x->b;
    switch (r->skeleton) {
    case SK_STREAM: lower_stream(b, begin(x, g)); return;
    case SK_SCAN:
        if (r->split > 1) lower_scan_sums(b, begin(x, g));
        lower_scan(b, begin(x, g));
        return;
    case SK_WINDOW: lower_window(b, begin(x, g)); return;
    case SK_PERMUTE: lower_permute(b, begin(x, g)); return;
    case SK_ROW:
        for (int i = 0, all = rprog_row_kernels(&x->plan->problem[g], r); i < all; i++)
            lower_rows(b, begin(x, g), i);
        return;
    case SK_COLUMN:
        lower_column(b, begin(x, g));
        if (r->split > 1) lower_column_sums(b, begin(x, g));
        return;
    default: break;
    }
    if (r->stats == STATS_PARTIAL) {
        lower_partial(x, g);
        return;
    }
    lower_product(x, g, 0);
    if (r->split > 1 || r->tail > 0) lower_sums(b, begin(x, g));
}

/* A program of a group, and whether kernels of other groups follow.  */
static void lower_one(Lowering *x, int g, bool followed) {
    x->program = x->n;
    lower_program(x, g);
    if (followed && x->overlaps) form_next(x->b.arena, x->l[x->n - 1].form);
}

/* Group by group, of each the programs for some sizes before the one for all.  */
static void lower_groups(Lowering *x) {
    int groups = rplan_groups(x->plan);
    for (int g = 0; g < groups; g++) {
        for (int i = groups; i < x->plan->n; i++) {
            if (rplan_group_of(x->plan, i) == g) lower_one(x, i, g + 1 < groups);
        }
        lower_one(x, g, g + 1 < groups);
    }
}

Lowered *lower_plan(Arena *a, const RPlan *plan, const Device *dev, int *n) {
    int most = 0;
    for (const RPlan *x = plan; x; x = x->other) {
        for (int g = 0; g < x->n; g++) {
            bool rows = x->prog[g].skeleton == SK_ROW;
            most += rows ? rprog_row_kernels(&x->problem[g], &x->prog[g]) : 2;
            if (x->prog[g].stats) most += rprog_stats_kernels(&x->problem[g], &x->prog[g]);
        }
    }
    Lowering x = {.dev = dev, .l = ARENA_ARRAY(a, Lowered, most), .overlaps = hal_overlaps(dev),
                  .b = {.arena = a}};
    for (; plan; x.first += plan->n, plan = plan->other) {
        x.plan = plan;
        lower_groups(&x);
    }
    for (int i = 0; i < x.n; i++) {
        x.l[i].form->warps = (int)ceil_div(x.l[i].launch.block[0], 32);
        x.l[i].launch.waits = x.l[i].waits;
    }
    *n = x.n;
    return x.l;
}
