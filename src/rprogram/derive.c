/* What follows from a program of any skeleton, given its row.  */
#include "rprogram/skeleton.h"
#include <string.h>

void skeleton_map(const SkeletonRow *s, const Problem *p, const RProg *r, int64_t span,
                  IndexMap *out) {
    const Problem *last = p;
    while (s->chains && last->next) last = last->next;
    out->root = p->te ? &p->te->stmt[last->group->root] : NULL;
    out->n_axis = out->n_grid = out->n_thread = 0;
    out->down = 0;
    out->each = out->together = 1;
    out->shared = 0;
    s->map(p, r, span, out);
}

int64_t skeleton_blocks(const SkeletonRow *s, const Problem *p, const RProg *r) {
    IndexMap m;
    if (s->products) return rprog_outer_tiles(p, r);      /* whatever their order is */
    skeleton_map(s, p, r, 0, &m);
    return index_blocks(&m);
}

int64_t skeleton_workspace(const SkeletonRow *s, const Problem *p, const RProg *r) {
    if (s->workspace) return s->workspace(p, r);
    if (!s->left || r->split <= 1) return 0;
    const RowGroup *g = s->partials(p);
    return rprog_partials(p->te, g, g->n, r->split * s->left(p, r));
}

static RoomWalk walked(const SkeletonRow *s, const Problem *p, const Device *dev, const RProg *r) {
    RoomWalk w = {.p = p, .dev = dev, .r = r};
    if (s->rooms) s->rooms(&w);
    return w;
}

int64_t skeleton_shared(const SkeletonRow *s, const Problem *p, const Device *dev,
                        const RProg *r) {
    return walked(s, p, dev, r).end;
}

const char *skeleton_grid_check(const SkeletonRow *s, const Problem *p, const Device *dev,
                                const RProg *r, int64_t steps) {
    if (r->split < 1 || (r->split > 1 && r->split > steps) || r->split > GRID_Y_MAX)
        return "split is not in 1..steps";
    if ((double)skeleton_blocks(s, p, r) > dev->limits.grid_max.value)
        return "the grid is larger than the device allows";
    return NULL;
}

/* Field by field, since the bytes between fields are anything.  */

static bool same_tile(const RTile *a, const RTile *b) {
    return memcmp(a->extent, b->extent, sizeof a->extent) == 0;
}

static bool same_load(const RLoad *a, const RLoad *b) {
    const RLayout *x = &a->layout, *y = &b->layout;
    return a->kind == b->kind && a->mover == b->mover && a->vec == b->vec && a->along == b->along &&
           a->region == b->region && a->bytes == b->bytes && a->raw == b->raw &&
           a->team == b->team && a->modulo == b->modulo && a->table == b->table &&
           x->inner == y->inner && x->pad == y->pad && x->bits == y->bits && x->shift == y->shift &&
           x->base == y->base;
}

bool rprog_same_block(const RProg *a, const RProg *b) {
    bool same = a->skeleton == b->skeleton && a->unit == b->unit && a->unit_v == b->unit_v &&
                same_tile(&a->block, &b->block) && same_tile(&a->warp, &b->warp) &&
                same_tile(&a->thread, &b->thread) && a->vec_m == b->vec_m &&
                a->vec_n == b->vec_n && a->unroll == b->unroll && a->swapped == b->swapped &&
                a->cluster == b->cluster && a->grid == b->grid && a->stats == b->stats &&
                a->lanes == b->lanes && a->keep == b->keep && a->overlap == b->overlap &&
                a->threads == b->threads;
    for (int i = 0; same && i < RPROG_LOADED; i++) same = same_load(&a->load[i], &b->load[i]);
    return same;
}

bool rprog_same(const RProg *a, const RProg *b) {
    return rprog_same_block(a, b) && a->stages == b->stages && a->split == b->split &&
           a->tail == b->tail && a->tail_blocks == b->tail_blocks && a->raster == b->raster &&
           a->group == b->group && a->via == b->via && a->store_vec == b->store_vec &&
           a->late == b->late && a->registers == b->registers && a->smem == b->smem &&
           a->blocks_per_sm == b->blocks_per_sm;
}

int derive_resident(const Device *dev, const RProg *r, int64_t grid) {
    int64_t blocks = grid * r->split - r->tail + r->tail_blocks;
    int64_t sms = (int64_t)dev->limits.sm_count.value;
    if (blocks > r->blocks_per_sm * sms) return r->blocks_per_sm;
    return blocks > sms ? (int)ceil_div(blocks, sms) : 1;
}

/* The compiler gives registers in steps of 8, and an odd rest up to the limit.  */
static int16_t whole_registers(int64_t n, int64_t limit) {
    int64_t rounded = (n + 7) / 8 * 8;
    if (n <= limit && rounded > limit) rounded = limit;
    return (int16_t)(rounded < INT16_MAX ? rounded : INT16_MAX);
}

void derive_smem(const RoomWalk *w, RProg *r) {
    r->smem = (int32_t)(w->end < INT32_MAX ? w->end : INT32_MAX);
    r->box_slots = (uint8_t)w->boxes;
    r->region_slots = (uint8_t)w->regions;
    int blocks = hal_blocks_per_sm(w->dev, r->threads, r->registers, r->smem);
    int most = rprog_tensor(w->dev, r) ? RPROG_TENSOR_MOST / rprog_tensor_columns(w->dev, r)
                                       : blocks;
    r->blocks_per_sm = (int16_t)(blocks < most ? blocks : most);
}

void skeleton_derive(const SkeletonRow *s, const Problem *p, const Device *dev, RProg *r) {
    int64_t threads = s->threads(dev, r);
    r->threads = (int16_t)(threads < INT16_MAX ? threads : INT16_MAX);
    bool any = r->threads > 0;            /* else the rules say what is wrong */
    if (s->derive && any) s->derive(p, dev, r);
    r->registers = whole_registers(any ? s->registers(p, dev, r) : 0,
                                   (int64_t)dev->limits.registers_per_thread.value);
    RoomWalk w = any ? walked(s, p, dev, r) : (RoomWalk){.dev = dev};
    derive_smem(&w, r);
}

/* Do a derived candidate's threads, shared memory, registers and workspace keep to what the device
 * has and the caller allows?  Counts it as rejected if not.  */
static bool fits(const Keeper *k, const RProg *r) {
    const DeviceLimits *limit = &k->dev->limits;
    int64_t *rejected = k->set->rejected, most = k->options->workspace_limit;
    if (r->threads > limit->threads_per_block.value) rejected[REJECT_THREADS]++;
    else if (r->smem > limit->smem_per_block_optin.value) rejected[REJECT_SMEM]++;
    else if (r->blocks_per_sm < 1) rejected[REJECT_REGISTERS]++;
    else if (most >= 0 && skeleton_workspace(k->of, k->p, r) > most) rejected[REJECT_WORKSPACE]++;
    else return true;
    return false;
}

void rprog_keep(Keeper *k, RProg r) {
    RProgSet *set = k->set;
    set->enumerated++;
    skeleton_derive(k->of, k->p, k->dev, &r);
    if (!fits(k, &r)) return;
    if (k->of->check(k->p, k->dev, &r)) {
        bool large = (double)skeleton_blocks(k->of, k->p, &r) > k->dev->limits.grid_max.value;
        set->rejected[large ? REJECT_GRID : REJECT_ALIGNMENT]++;
    } else if (k->most == 0 || set->n < k->most) {
        set->prog = arena_grow(k->arena, set->prog, &k->cap, (size_t)set->n + 1, sizeof r);
        set->prog[set->n++] = r;
    }
}

void rprog_keep_slices(Keeper *k, RProg r, int64_t steps, int filled) {
    int64_t blocks = skeleton_blocks(k->of, k->p, &r);
    int32_t split[RPROG_FILLS];
    if (blocks >= filled * (int64_t)k->dev->limits.sm_count.value) return;
    for (int i = 0, n = rprog_splits(k->dev, blocks, steps, split); i < n; i++) {
        r.split = split[i];
        rprog_keep(k, r);
    }
}
