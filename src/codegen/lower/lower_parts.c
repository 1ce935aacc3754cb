/* What the trees of several skeletons have in common: statements, grids.  */
#include "codegen/lower/lower.h"
#include "codegen/expr/sizes.h"
#include "te/tree/arith.h"

bool lower_empty(const Problem *p) {
    return p->extent[AX_M] == 0 ||
           (p->contraction && (p->extent[AX_B] == 0 || p->extent[AX_N] == 0));
}

void lower_statement(FormBuilder *b, int stmt) {
    form_add(b, NODE_VALUES, VALUES_STATEMENT)->of = stmt;
}

void lower_statements(FormBuilder *b, const KernelGroup *g) {
    lower_statement(b, g->root);
    for (int i = 0; i < g->n_fused; i++) lower_statement(b, g->fused[i]);
    form_add(b, NODE_STORE, STORE_OUTPUTS);
}

bool lower_stores(const Lowered *l, const Contract *c) {
    if (!c->r->stats) return true;
    const StatFacts *f = rprog_stats_facts(c->p, c->r);
    return f->any_stored && (c->r->stats != STATS_PARTIAL || f->emit_bytes[l->pass] > 0);
}

int lower_passes(const Problem *p, const RProg *r) {
    return r->stats == STATS_TURNS ? rprog_stats_facts(p, r)->group->n_pass : 0;
}

void lower_outputs(FormBuilder *b, const Lowered *l) {
    form_open(b, NODE_LOOP, LOOP_OUTPUTS);
    lower_statements(b, l->p->group);
    form_close(b);
}

static void add_uses(FormBuilder *b, Node *n, RoomKind kind, Reductions of,
                     Use *(*use)(FormBuilder *, Node *, RoomKind, int)) {
    const RowGroup *g = of.group;
    for (int i = 0; i < g->n; i++) {
        bool online = g->follow[i] != FOLLOW_NONE;
        bool one = of.which < MEET_ALL && online != (of.which == MEET_ONLINE);
        if (g->role[i] != ROW_REDUCE || g->pass[i] != of.pass || one) continue;
        use(b, n, kind, i);
        if (kind == ROOM_PARTIALS && rprog_room(b->layout, ROOM_BESIDE, i))
            use(b, n, ROOM_BESIDE, i);
    }
}

void lower_reads(FormBuilder *b, Node *n, RoomKind kind, Reductions of) {
    add_uses(b, n, kind, of, form_reads);
}

void lower_writes(FormBuilder *b, Node *n, RoomKind kind, Reductions of) {
    add_uses(b, n, kind, of, form_writes);
}

Node *lower_reductions(FormBuilder *b, NodeKind kind, int what, Reductions of) {
    Node *n = form_add(b, kind, what);
    n->from = of.pass;
    n->to = of.which;
    return n;
}

void lower_meet_warps(FormBuilder *b, Reductions of) {
    Node *put = lower_reductions(b, NODE_STORE, STORE_WARPS, of);
    lower_writes(b, put, ROOM_PARTIALS, of);
    form_block_sync(b);
    Node *take = lower_reductions(b, NODE_REDUCE, REDUCE_WARPS, of);
    lower_reads(b, take, ROOM_PARTIALS, of);
}

void lower_meet(FormBuilder *b, Reductions of, bool warps, const char *note) {
    lower_reductions(b, NODE_REDUCE, REDUCE_LANES, of)->note = note;
    if (warps) lower_meet_warps(b, of);
}

void lower_blocks(Lowered *l, TeExtent blocks) {
    l->launch.blocks = blocks.expr;
    l->launch.grid[0] = blocks.value > 1 ? blocks.value : 1;
}

void lower_grid(FormBuilder *b, Lowered *l, KernelKind kind) {
    const RProg *r = l->r;
    TeExtent blocks = index_grid(b->arena, &l->task->map);
    l->kind = kind;
    l->task->vec = r->store_vec;
    if (r->tail > 0) blocks = size_number(rprog_wanted(l->p, r));
    l->launch.stays = kind == KERNEL_CONTRACT && rprog_persistent(r);
    l->launch.wanted = blocks;
    if (l->launch.stays)
        blocks = size_min(b->arena, blocks, size_number(rprog_slots(l->dev, r)));
    lower_blocks(l, blocks);
    l->launch.grid[1] = r->split;
    l->launch.block[0] = r->threads;
    l->launch.dynamic_smem = l->layout->shared;
}

void lower_domain(Arena *a, Lowered *l, int threads, int64_t items) {
    TeExtent total = index_total(a, &l->task->map);
    int64_t most = (int64_t)l->dev->limits.grid_max.value, span = threads * items;
    if (most > INT32_MAX) most = INT32_MAX;
    int64_t loops = ceil_div(ceil_div(total.value, span), most);
    l->launch.span = span * (loops > 1 ? loops : 1);
    lower_blocks(l, size_ceil_div(a, total, l->launch.span));
    l->launch.block[0] = threads;
}
