/* The table of skeletons, and what is asked of a program of any of them.  */
#include "rprogram/matrix.h"
#include "rprogram/skeleton.h"

const SkeletonRow *rprog_skeleton(Skeleton skeleton) {
    static const SkeletonRow *const rows[SK_COUNT] = {
#define X(id, name) &rprog_##name,
        RPROG_SKELETONS(X)
#undef X
    };
    return rows[skeleton];
}

static const SkeletonRow *row_of(const RProg *r) { return rprog_skeleton(r->skeleton); }

void index_map(const Problem *p, const RProg *r, int64_t span, IndexMap *out) {
    skeleton_map(row_of(r), p, r, span, out);
}

int64_t rprog_blocks(const Problem *p, const RProg *r) { return skeleton_blocks(row_of(r), p, r); }

int rprog_resident(const Problem *p, const Device *dev, const RProg *r) {
    return derive_resident(dev, r, rprog_blocks(p, r));
}

void rprog_derive(const Problem *p, const Device *dev, RProg *r) {
    skeleton_derive(row_of(r), p, dev, r);
}

bool rprog_ring_registers(const Problem *p, const Device *dev, const RProg *r, int *copying,
                          int *computing) {
    int64_t need = row_of(r)->computing(p, dev, r);
    *copying = warpgroup_copying(p, dev, r);
    return warpgroup_moves(dev, r, need, *copying, rprog_resident(p, dev, r), computing);
}

int64_t rprog_workspace(const Problem *p, const RProg *r) {
    return skeleton_workspace(row_of(r), p, r);
}

bool rprog_workspace_fixed(const Problem *p, const RProg *r) {
    const SkeletonRow *s = row_of(r);
    return s->chains || (s->partials && rprog_partial_arrays(p->te, s->partials(p)) > 1);
}

int64_t rprog_evaluations(const Problem *p, const RProg *r) {
    const SkeletonRow *s = row_of(r);
    return s->evaluations ? s->evaluations(p, r) : p->extent[AX_K];
}

const Layout *rprog_layout(Arena *a, const Problem *p, const Device *dev, const RProg *r) {
    const SkeletonRow *s = row_of(r);
    Layout *l = ARENA_NEW(a, Layout);
    RoomWalk w = {.p = p, .dev = dev, .r = r, .arena = a, .out = l};
    if (s->rooms) s->rooms(&w);
    l->shared = w.end;
    if (!(s->products || s->chains) || !p->te) return l;
    struct Contract *c = layout_products(a, p, dev, r, l);
    if (s->join) s->join(p, dev, r, c);
    return l;
}

bool rprog_wide(const Problem *p, const RProg *r, const Access *x, int d) {
    int64_t beyond[TE_MAX_INDICES] = {0};
    IndexMap m;
    if (p->contraction) return rprog_wide_product(p, r, x, d);
    index_map(p, r, 0, &m);
    for (int i = 0; i < m.n_axis; i++) index_beyond(&m, i, beyond);
    return rprog_wide_beyond(p, x, d, beyond);
}

/* ---- candidates ---- */

/* Does some statement store what is clipped?  */
static bool clips_outputs(const Problem *p) {
    const KernelGroup *g = p->group;
    bool any = false;
    for (int i = -1; g && i < g->n_fused; i++) {
        const TeStmt *s = &p->te->stmt[i < 0 ? g->root : g->fused[i]];
        any |= p->te->tensor[s->tensor].n_clip > 0;
    }
    return any;
}

static Status none_fits(Diag *d, const Problem *p, const Device *dev, const RProgSet *set) {
    Status s = diag_error(d, ST_NO_PLAN, "plan", DIAG_NOWHERE,
                          "no program for kernel %d fits device %s", p->group ? p->group->root : 0,
                          dev->name);
    diag_hint(d, "of %lld programs, %lld found no mover, %lld broke the shared-memory limit, "
              "%lld the register limit", (long long)set->enumerated,
              (long long)set->rejected[REJECT_MOVER], (long long)set->rejected[REJECT_SMEM],
              (long long)set->rejected[REJECT_REGISTERS]);
    return s;
}

Status rprog_candidates(Arena *a, Diag *d, const Problem *p, const Device *dev,
                        const RPlanOptions *o, RProgSet *out) {
    static const RPlanOptions defaults = {.workspace_limit = -1};
    bool clips = clips_outputs(p);
    *out = (RProgSet){0};
    for (Skeleton i = 0; i < SK_COUNT; i++) {
        const SkeletonRow *s = rprog_skeleton(i);
        Keeper k = {.of = s, .arena = a, .p = p, .dev = dev, .options = o ? o : &defaults,
                    .set = out, .cap = (size_t)out->n};
        if (skeleton_takes(s, p) && !(clips && (p->stats || !s->clips))) s->candidates(&k);
    }
    return out->n > 0 ? ST_OK : none_fits(d, p, dev, out);
}
