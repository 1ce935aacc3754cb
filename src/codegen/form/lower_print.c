#include "codegen/form/lowered.h"

/* The tree of a kernel as text: --dump lowered.  */

static const char *const kernel_name[] = {
#define X(id, name, text) text,
    KERNEL_KINDS(X)
#undef X
};

/* ---- details ---- */

static void print_address(const Side *s, Buf *out) {
    static const char *const mode[] = {"plain", "uniform digits", "digits per chunk"};
    buf_printf(out, " %c: %d x %d elements along %s, %s", s->id, s->per_thread, s->l->vec,
               s->l->along == AX_K ? "k"
               : s->side           ? "n"
                                   : "m",
               !s->copies   ? "expression"
               : s->pointer ? "one pointer"
                            : "offsets");
    if (s->copies && !s->pointer)
        buf_printf(out, ", k by %s", s->table ? "tables" : mode[s->k_mode]);
    if (s->ragged) buf_puts(out, ", ragged");
    if (s->copies && s->f->guarded) buf_puts(out, ", guarded");
}

static void print_place(const Lowered *l, Buf *out) {
    const RProg *r = l->r;
    const Contract *c = l->layout->product;
    switch (l->kind) {
    case KERNEL_CONTRACT:
        buf_printf(out, " tile %dx%d, warps %dx%dx%d, %s %dx%d", (int)r->block.extent[AX_M],
                   (int)r->block.extent[AX_N], c->warps[AX_M], c->warps[AX_N], c->warps[AX_K],
                   c->matrix.used ? "instructions" : "lanes", c->lanes[AX_M], c->lanes[AX_N]);
        break;
    case KERNEL_COLUMN:
        buf_printf(out, " %d x %d columns, %d row groups", rprog_threads_along(r, AX_M),
                   (int)r->thread.extent[AX_M], rprog_threads_along(r, AX_K));
        break;
    case KERNEL_SCAN:
    case KERNEL_SCAN_SUMS:
        buf_printf(out, " %d results of %d threads, steps of %d elements",
                   (int)r->block.extent[AX_M], rprog_threads_along(r, AX_N),
                   (int)r->block.extent[AX_N]);
        break;
    case KERNEL_WINDOW:
        buf_printf(out, " patches of %d x %d x %d", (int)r->thread.extent[AX_M],
                   (int)r->thread.extent[AX_N], rprog_window_lanes(l->p, r));
        if (r->thread.extent[AX_K] > 1) buf_printf(out, " for %d", (int)r->thread.extent[AX_K]);
        break;
    case KERNEL_PERMUTE:
        buf_puts(out, " boxes of");
        for (int a = 0; a < l->p->permute.out.n_digit; a++)
            buf_printf(out, " %d", (int)r->block.extent[a]);
        break;
    default: break;
    }
}

static void print_clear(const Lowered *l, Buf *out) {
    const Contract *c = l->layout->product;
    if (!c) return;
    if (c->matrix.used)
        buf_printf(out, " %dx%dx%d %s", c->matrix.tiles[AX_M], c->matrix.tiles[AX_N],
                   c->matrix.accumulators, te_dtype_name(c->matrix.unit->acc));
    else
        buf_printf(out, " %dx%d %s", (int)l->r->thread.extent[AX_M],
                   (int)l->r->thread.extent[AX_N], te_dtype_name(l->p->con.acc));
}

static void print_rows(const Lowered *l, Buf *out) {
    if (l->r->stats)
        buf_puts(out, l->r->stats == STATS_PARTIAL ? " parts of their columns" : " all columns");
    else
        buf_printf(out, " %d of %d threads, steps of %d columns", (int)l->r->block.extent[AX_M],
                   rprog_row_threads(l->r), (int)l->r->block.extent[AX_N]);
}

static void print_value(const Lowered *l, const Node *n, Buf *out) {
    switch ((ValuesWhat)n->what) {
    case VALUES_PLACE: print_place(l, out); break;
    case VALUES_ADDRESS: print_address(&l->layout->product->side[n->of], out); break;
    case VALUES_CLEAR: print_clear(l, out); break;
    case VALUES_SUMS: buf_printf(out, " %s", te_dtype_name(l->p->con.acc)); break;
    case VALUES_OUTPUTS:
        if (n->from) buf_puts(out, l->r->tail > 0 ? " of a segment" : " of a slice");
        break;
    case VALUES_ROWS: print_rows(l, out); break;
    case VALUES_GATHER:
        if (l->r->tail > 0) buf_puts(out, " units of the tail");
        else buf_printf(out, " %d slices", (int)l->r->split);
        break;
    case VALUES_FINISH:
    case VALUES_COMBINE:
        buf_printf(out, " pass %d%s", n->from, l->r->stats && n->to ? ", online" : "");
        break;
    case VALUES_TENSOR: {
        static const char *const part[] = {"take", "find", "load", "store", "move", "free"};
        buf_printf(out, " %s", part[n->from]);
        break;
    }
    case VALUES_STATEMENT: buf_printf(out, " %d", n->of); break;
    default: break;
    }
}

static void print_fold(const Lowered *l, const Node *n, Buf *out) {
    buf_printf(out, " %d", n->of);
    if (l->kind == KERNEL_COLUMN)
        buf_printf(out, ", %d rows in flight", (int)l->r->thread.extent[AX_K]);
    for (int i = 0; l->kind == KERNEL_WINDOW && i < l->p->window.n_source; i++)
        buf_printf(out, ", %lld rows of %lld x %d elements",
                   (long long)rprog_window_rows(l->p, l->r, i),
                   (long long)rprog_window_loads(l->p, l->r, i),
                   rprog_window_width(l->p, l->r, i));
}

static void print_loop(const Lowered *l, const Node *n, Buf *out) {
    const RProg *r = l->r;
    switch ((LoopWhat)n->what) {
    case LOOP_COUNTED:
        buf_printf(out, ": %s, %lld turns", n->loop.var, (long long)n->loop.count);
        break;
    case LOOP_STEPS:
        buf_printf(out, ": %lld of k %d", (long long)n->loop.count, (int)r->block.extent[AX_K]);
        break;
    case LOOP_SEGMENTS:
        buf_printf(out, ": the last %d tiles by %d blocks of %lld steps", (int)r->tail,
                   (int)r->tail_blocks, (long long)rprog_tail_steps(l->p, r));
        break;
    case LOOP_COLUMNS:
        buf_printf(out, ": pass %d, %lld turns", n->from, (long long)(n->loop.count * n->to));
        break;
    case LOOP_TEAMS:
    case LOOP_ROWS: buf_printf(out, ": %lld", (long long)n->loop.count); break;
    case LOOP_OUTPUTS:
    case LOOP_VECTORS: buf_printf(out, ": %d at a time", n->rest ? 1 : l->task->vec); break;
    case LOOP_WALK:
        buf_printf(out, ": pass %d%s", n->from, l->r->stats && n->to ? ", online" : "");
        break;
    case LOOP_FOLD: print_fold(l, n, out); break;
    default: break;
    }
}

static void print_copy(const Lowered *l, const Node *n, Buf *out) {
    bool product = l->layout->product != NULL;
    if (n->of >= 0) buf_printf(out, product ? " %c" : " %d", product ? "ab"[n->of] : n->of);
    if (n->mover >= 0) buf_printf(out, " by %s", l->dev->mover[n->mover].name);
}

static void print_sync(const Node *n, Buf *out) {
    static const char *const scope[] = {"warp", "block", "named barrier", "barrier", "cluster",
                                        "copies", "products", "bulk stores", "proxies",
                                        "tensor memory", "grids"};
    static const char *const op[] = {"", " arrive", " wait", " init", " commit"};
    const Sync *s = &n->sync;
    buf_printf(out, " %s", scope[s->scope]);
    if (s->scope == SYNC_NAMED || s->scope == SYNC_BARRIER) buf_printf(out, " %d", s->id);
    buf_puts(out, op[s->op]);
    if (s->scope == SYNC_NAMED) buf_printf(out, ", %d threads", s->count);
    if (s->scope == SYNC_BARRIER && s->op == SYNC_INIT) buf_printf(out, ", %d arrivals", s->count);
    if (s->scope >= SYNC_COPIES && s->scope <= SYNC_BULK && s->op == SYNC_WAIT)
        buf_printf(out, ", at most %d groups under way", s->count);
    if (s->pair) buf_puts(out, ", of a pair");
    if (s->bytes) buf_printf(out, ", %lld bytes", (long long)s->bytes);
}

static void print_meeting(const char *what, const Node *n, Buf *out) {
    static const char *const which[] = {[MEET_LEADERS] = "", [MEET_ONLINE] = ", online",
                                        [MEET_ALL] = "", [MEET_EACH] = ", each with those before"};
    buf_printf(out, "%s, pass %d%s", what, n->from, which[n->to]);
}

static void print_store(const Lowered *l, const Node *n, Buf *out) {
    static const char *const what[] = {[STORE_OUTPUTS] = "outputs",
                                       [STORE_SLICES] = "sums of a slice",
                                       [STORE_STAGING] = "staging",
                                       [STORE_WARPS] = "results of warps",
                                       [STORE_PARTIAL] = "partial sums",
                                       [STORE_LEAVE] = "values of the slice"};
    buf_printf(out, " %s", what[n->what]);
    if (n->what == STORE_WARPS) print_meeting("", n, out);
    if (n->what == STORE_LEAVE) buf_printf(out, ", pass %d", n->from);
    if (n->what == STORE_PARTIAL && l->r->split > 1)
        buf_printf(out, ", one of %d slices", (int)l->r->split);
}

static void print_reduce(const Lowered *l, const Node *n, Buf *out) {
    switch ((ReduceWhat)n->what) {
    case REDUCE_SLICES: buf_printf(out, " %d slices", l->layout->product->warps[AX_K]); break;
    case REDUCE_SCAN: buf_printf(out, " scan"); break;
    case REDUCE_SCORES: buf_puts(out, " scores of the turn"); break;
    case REDUCE_LANES: print_meeting(" lanes", n, out); break;
    case REDUCE_WARPS: print_meeting(" warps", n, out); break;
    }
}

/* ---- the tree ---- */

/* Which slot of its room a use touches.  */
static const char *slot_text(const Lowered *l, const Use *u) {
    if (u->room->ring < 0) return "";
    switch (l->layout->ring[u->room->ring].turn) {
    case TURN_STEPS:
    case TURN_KEPT: return u->writes ? " put" : " take";
    case TURN_ONCE: return "";
    case TURN_BODIES: return " of the slice";
    default: return " of the turn";
    }
}

static void print_uses(const Lowered *l, const Node *n, Buf *out) {
    bool reads = false, writes = false;
    for (int i = 0; i < n->n_use; i++) {
        const Use *u = &n->use[i];
        bool *any = u->writes ? &writes : &reads;
        buf_printf(out, "%s%s", *any ? ", " : u->writes ? " -> " : " <- ",
                   rprog_room_name(u->room->kind));
        RoomOf of = rprog_room_of(u->room->kind);
        if (of == OF_OPERAND) buf_printf(out, " %c", 'a' + u->room->of);
        else if (of != OF_NOTHING) buf_printf(out, " %d", u->room->of);
        buf_puts(out, slot_text(l, u));
        if (u->late) buf_puts(out, " later");
        *any = true;
    }
}

static const char *value_name(const Node *n) {
    static const char *const name[] = {
#define X(id, text) text,
        FORM_VALUES(X)
#undef X
    };
    return name[n->what];
}

static const char *loop_name(const Node *n) {
    static const char *const name[] = {
#define X(id, text) text,
        FORM_LOOPS(X)
#undef X
    };
    return name[n->what];
}

static void print_node(const Lowered *l, const Node *n, Buf *out) {
    buf_puts(out, n->kind == NODE_SEQUENCE ? n->name : form_kind_name(n->kind));
    switch (n->kind) {
    case NODE_LOOP:
        if (n->what != LOOP_COUNTED) buf_printf(out, " %s", loop_name(n));
        print_loop(l, n, out);
        break;
    case NODE_IF: break;
    case NODE_ROLE:
        buf_printf(out, " %s: warps %d..%d", n->role.name, n->role.first,
                   n->role.first + n->role.warps - 1);
        break;
    case NODE_COPY: print_copy(l, n, out); break;
    case NODE_COMPUTE:
        buf_printf(out, " %s k %d..%d", l->dev->unit[l->r->unit].name, n->from, n->to - 1);
        break;
    case NODE_REDUCE: print_reduce(l, n, out); break;
    case NODE_SYNC: print_sync(n, out); break;
    case NODE_STORE: print_store(l, n, out); break;
    case NODE_VALUES:
        buf_printf(out, " %s", value_name(n));
        print_value(l, n, out);
        break;
    default: break;
    }
    print_uses(l, n, out);
    if (n->when != WHEN_ALWAYS)
        buf_printf(out, n->kind == NODE_IF ? " %s" : " if %s", form_when_text(n->when));
    if (n->leaves) buf_puts(out, ": ends");
    buf_putc(out, '\n');
}

static void print_nodes(const Lowered *l, const Node *first, int depth, Buf *out) {
    for (const Node *n = first; n; n = n->next) {
        buf_printf(out, "%*s", 2 * depth, "");
        print_node(l, n, out);
        print_nodes(l, n->child, depth + 1, out);
    }
}

void lower_print(const Lowered *l, Buf *out) {
    const KernelLaunch *n = &l->launch;
    buf_printf(out, "kernel %s: group %d, grid %lld %lld, block %d, shared memory %lld\n",
               kernel_name[l->kind], l->group, (long long)n->grid[0], (long long)n->grid[1],
               n->block[0], (long long)n->dynamic_smem);
    print_nodes(l, l->form->root->child, 1, out);
}
