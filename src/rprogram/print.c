/* The text form, written.  */
#include "rprogram/matrix.h"
#include "rprogram/skeleton.h"

const char *const rprog_key_name[KEY_COUNT] = {
#define X(id, key) key,
    RPROG_KEYS(X)
#undef X
};
const char *const rprog_skeleton_name[SK_COUNT] = {
#define X(id, name) #name,
    RPROG_SKELETONS(X)
#undef X
};
const char *const rprog_keep_name[KEEP_COUNT] = {
#define X(id, name) name,
    RPROG_KEEPS(X)
#undef X
};
const char *const rprog_stats_name[STATS_COUNT] = {
#define X(id, name) name,
    RPROG_STATS(X)
#undef X
};
const char *const rprog_overlap_name[OVERLAP_COUNT] = {
#define X(id, name) name,
    RPROG_OVERLAPS(X)
#undef X
};
const char *const rprog_load_name[LOAD_COUNT] = {
#define X(id, text, ...) text,
    RPROG_LOADS(X)
#undef X
};
const char *const rprog_raster_name[3] = {"row", "column", "grouped"};
const char *const rprog_via_name[3] = {"direct", "shared", "boxes"};
const char *const rprog_grid_name[3] = {"tiles", "persistent", "pingpong"};
static const char *const axis_name[AX_CLASSES] = {"b", "m", "n", "k"};

bool rprog_has_key(const Problem *p, Skeleton skeleton, PlanKey key) {
    if (key == KEY_LOAD_A && p->n_operand < 1) return false;
    if (key == KEY_LOAD_B && p->n_operand < 2) return false;
    if (key == KEY_STATS && !p->stats) return false;
    if (key == KEY_READ_B && p->permute.n_source < 2) return false;
    enum { ALL = 1 << KEY_SKELETON | 1 << KEY_UNIT | 1 << KEY_STORE | 1 << KEY_BLOCKS };
    return (ALL | rprog_skeleton(skeleton)->keys) >> key & 1;
}

static void print_tile(Buf *out, const RTile *t, int axes) {
    for (int axis = 0; axis < axes; axis++) {
        buf_printf(out, axis ? " %d" : "%d", (int)t->extent[axis]);
    }
}

static void print_layout(Buf *out, const RLayout *l) {
    if (l->pad) buf_printf(out, " pad %d", l->pad);
    if (l->bits) buf_printf(out, " swizzle %d %d %d", l->bits, l->shift, l->base);
}

static void print_box(Buf *out, const Problem *p, const RTile *t) {
    for (int a = 0; a < p->permute.out.n_digit; a++)
        buf_printf(out, a ? " %d" : "%d", (int)t->extent[a]);
}

static void print_load(Buf *out, const RLoad *l, const Device *dev) {
    buf_printf(out, "%s %s vec %d", rprog_load_name[l->kind],
               dev->mover[l->mover].name, l->vec);
    if (l->region) {
        buf_puts(out, " region");
        if (l->team) buf_printf(out, " team %d", l->team);
        return;
    }
    if (l->bytes) buf_puts(out, " bytes");
    if (l->raw) buf_puts(out, " raw");
    if (l->team) buf_printf(out, " team %d", l->team);
    if (l->modulo) buf_printf(out, " modulo %d", l->modulo);
    buf_printf(out, " along %s inner %s", axis_name[l->along],
               axis_name[l->layout.inner]);
    print_layout(out, &l->layout);
    if (l->table) buf_puts(out, " table");
}

static void print_value(Buf *out, PlanKey key, const Problem *p, const RProg *r,
                        const Device *dev) {
    switch (key) {
    case KEY_SKELETON: buf_puts(out, rprog_skeleton_name[r->skeleton]); break;
    case KEY_UNIT:
        buf_puts(out, dev->unit[r->unit].name);
        if (r->skeleton == SK_CHAIN && r->unit_v != r->unit)
            buf_printf(out, " %s", dev->unit[r->unit_v].name);
        if (r->swapped) buf_puts(out, " swapped");
        if (rprog_matrix(dev, r) && matrix_scales_sums(p, &dev->unit[r->unit]))
            buf_puts(out, " scaled");
        break;
    case KEY_BLOCK: print_tile(out, &r->block, rprog_axes(r)); break;
    case KEY_WARP: print_tile(out, &r->warp, rprog_axes(r)); break;
    case KEY_THREAD: print_tile(out, &r->thread, rprog_axes(r)); break;
    case KEY_VEC: buf_printf(out, "%d %d", r->vec_m, r->vec_n); break;
    case KEY_UNROLL: buf_printf(out, "%d", r->unroll); break;
    case KEY_STAGES:
        buf_printf(out, "%d", r->stages);
        if (r->overlap) buf_printf(out, " overlap %s", rprog_overlap_name[r->overlap]);
        break;
    case KEY_LOAD_A: print_load(out, &r->load[LOAD_A], dev); break;
    case KEY_LOAD_B: print_load(out, &r->load[LOAD_B], dev); break;
    case KEY_LOAD_V: print_load(out, &r->load[LOAD_V], dev); break;
    case KEY_BOX: print_box(out, p, &r->block); break;
    case KEY_THREADS: buf_printf(out, "%d", r->threads); break;
    case KEY_READ_A:
    case KEY_READ_B: {
        const RLoad *l = &r->load[key == KEY_READ_B];
        buf_printf(out, "%d", l->vec);
        print_layout(out, &l->layout);
        break;
    }
    case KEY_STORE:
        buf_printf(out, "%d", r->store_vec);
        if (r->via != VIA_DIRECT) buf_printf(out, " %s", rprog_via_name[r->via]);
        break;
    case KEY_RASTER:
        buf_puts(out, rprog_raster_name[r->raster]);
        if (r->group > 0) buf_printf(out, " %d", r->group);
        if (r->cluster > 1) buf_printf(out, " cluster %d", r->cluster);
        if (r->grid != GRID_TILES) buf_printf(out, " %s", rprog_grid_name[r->grid]);
        break;
    case KEY_SPLIT:
        buf_printf(out, "%d", (int)r->split);
        if (r->tail > 0) buf_printf(out, " tail %d blocks %d", (int)r->tail, (int)r->tail_blocks);
        if (r->stats == STATS_NONE && rprog_meets(r)) buf_printf(out, " lanes %d", r->lanes);
        break;
    case KEY_STATS:
        buf_puts(out, rprog_stats_name[r->stats]);
        if (rprog_meets(r)) buf_printf(out, " lanes %d", r->lanes);
        break;
    case KEY_KEEP: buf_puts(out, rprog_keep_name[r->keep]); break;
    case KEY_BLOCKS: buf_printf(out, "%d", r->blocks_per_sm); break;
    case KEY_COUNT: break;
    }
}

static void print_kernels(const RPlan *plan, const Device *dev, Buf *out) {
    for (int i = 0; i < plan->n; i++) {
        const RProg *r = &plan->prog[i];
        buf_printf(out, "kernel %d", i);
        if (i >= rplan_groups(plan)) buf_printf(out, " of %d", rplan_group_of(plan, i));
        buf_putc(out, '\n');
        for (PlanKey key = 0; key < KEY_COUNT; key++) {
            if (!rprog_has_key(&plan->problem[i], r->skeleton, key)) continue;
            buf_printf(out, "  %s ", rprog_key_name[key]);
            print_value(out, key, &plan->problem[i], r, dev);
            buf_putc(out, '\n');
        }
    }
}

static void print_decisions(const Te *te, Buf *out) {
    const TeDecisions *x = te ? te->decisions : NULL;
    for (int i = 0; x && i < x->n; i++) {
        if (!te_taken(x, i)) continue;
        buf_printf(out, "statement %d", i);
        for (int d = 0; d < TE_DECISION_COUNT; d++) {
            if (te_taken(x, i) >> d & 1) buf_printf(out, " %s", te_decision_name[d]);
        }
        buf_putc(out, '\n');
    }
}

/* What the strategy knows of sizes beyond the plan's op.  */
static void print_given(const Te *op, const Te *te, Buf *out) {
    for (int i = 0; te && i < te->n_size; i++) {
        TeGiven x = rplan_given(op, te, i);
        if (x.multiple) buf_printf(out, "given s%d %lld\n", i, (long long)x.multiple);
        if (x.most) buf_printf(out, "given s%d upto %lld\n", i, (long long)x.most);
    }
}

static void print_choice(const RPlan *plan, const RSelector *s, const RChoice *c, Buf *out) {
    const RPlan *strategy = plan;
    bool last = c == s->choice + s->n - 1;
    buf_puts(out, last ? "else" : "upto");
    for (int m = 0; m < s->n_measure && !last; m++) {
        if (c->most[m] == INT64_MAX) continue;
        buf_putc(out, ' ');
        rplan_print_measure(&s->measure[m], out);
        buf_printf(out, " %lld", (long long)c->most[m]);
    }
    buf_puts(out, " take");
    if (c->strategy) buf_printf(out, " strategy %d", c->strategy);
    for (int k = 0; k < c->strategy; k++) strategy = strategy->other;
    for (int g = 0; g < rplan_groups(strategy); g++) buf_printf(out, " %d", c->program[g]);
    buf_putc(out, '\n');
}

void rprog_print(const RPlan *plan, const Device *dev, Buf *out) {
    buf_puts(out, "roller-plan 1\n");
    for (int k = 0; plan->select && k < plan->select->n; k++)
        print_choice(plan, plan->select, &plan->select->choice[k], out);
    for (const RPlan *x = plan; x; x = x->other) {
        if (x != plan) buf_puts(out, "other\n");
        print_given(plan->te, x->te, out);
        print_decisions(x->te, out);
        print_kernels(x, dev, out);
    }
}
