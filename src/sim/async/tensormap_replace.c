/* tensormap.replace and tensormap.cp_fenceproxy: tensor maps that kernels make.
 *
 * A map under construction is 128 bytes of zeros, or a map with a field changed; it is judged when
 * a copy uses it.  */
#include "sim/async/async.h"
#include "sim/async/tensormap.h"
#include <string.h>

/* Generic or shared address of a lane's map: where its bytes are; NULL after a fault.  */
static unsigned char *map_at(SimLane by, const SimOpnd *o, PtxSpace space, bool store) {
    uint64_t at = sim_address(by.w, o, by.lane);
    if (space == SPACE_GENERIC) space = sim_classify(at);
    if (space != SPACE_SHARED) return sim_global(by, at, TM_BYTES, 64, store);
    uint32_t offset;
    SimBlock *b = sim_shared(by, (uint32_t)at, TM_BYTES, 64, &offset);
    if (!b || !sim_shadow_read(by, b, offset, TM_BYTES)) return NULL;
    if (store && !sim_shadow_write(by, b, offset, TM_BYTES)) return NULL;
    return b->smem + offset;
}

/* ---- replace ---- */

/* Element types in the order of the ISA's table (PTX ISA, tensormap.replace).  */
static const TmType element_types[] = {
    TM_U8,  TM_U16,     TM_U32, TM_S32,  TM_U64,  TM_S64,     TM_F16,
    TM_F32, TM_F32_FTZ, TM_F64, TM_BF16, TM_TF32, TM_TF32_FTZ};
enum { N_TYPES = sizeof element_types / sizeof element_types[0] };

typedef struct {
    PtxMod field;
    int bits;                 /* of the value; 0: an immediate */
    bool ordinal;             /* of a dimension, before the value */
    uint64_t most;            /* value */
} Field;

static const Field fields[] = {
    {MOD_GLOBAL_ADDRESS, 64, false, UINT64_MAX},
    {MOD_RANK, 32, false, TM_RANK - 1},
    {MOD_BOX_DIM, 32, true, 256},
    {MOD_GLOBAL_DIM, 32, true, UINT32_MAX},
    {MOD_GLOBAL_STRIDE, 64, true, ((uint64_t)1 << 40) - 1},
    {MOD_ELEMENT_STRIDE, 32, true, 8},
    {MOD_ELEMTYPE, 0, false, N_TYPES - 1},
    {MOD_INTERLEAVE_LAYOUT, 0, false, 2},
    {MOD_SWIZZLE_MODE, 0, false, 3},
    {MOD_FILL_MODE, 0, false, 1},
};
enum { N_FIELDS = sizeof fields / sizeof fields[0] };

static void set(TensorMap *m, PtxMod field, uint32_t ordinal, uint64_t v) {
    switch (field) {
    case MOD_GLOBAL_ADDRESS: m->address = v; break;
    case MOD_RANK: m->rank = (int)v + 1; break;
    case MOD_BOX_DIM: m->box[ordinal] = (uint32_t)v; break;
    case MOD_GLOBAL_DIM: m->dim[ordinal] = v; break;
    case MOD_GLOBAL_STRIDE: m->stride[ordinal] = v; break;
    case MOD_ELEMENT_STRIDE: m->element_stride[ordinal] = (uint32_t)v; break;
    case MOD_ELEMTYPE: m->type = element_types[v]; break;
    case MOD_INTERLEAVE_LAYOUT: m->interleave = (int)v; break;
    case MOD_SWIZZLE_MODE: m->swizzle = (int)v; break;
    default: m->fill = (int)v; break;
    }
}

static bool zeros(const unsigned char *bytes) {
    for (int k = 0; k < TM_BYTES; k++) {
        if (bytes[k]) return false;
    }
    return true;
}

/* SimInst.arg: number of the field; flags: strides are written in units of 16 bytes.  */
static void exec_replace(SimWarp *w, const SimInst *i, uint32_t active) {
    const Field *f = &fields[i->arg];
    SIM_EACH(l, active) {
        SimLane by = sim_lane(w, i, l);
        unsigned char *bytes = map_at(by, &i->opnd[0], (PtxSpace)i->space, true);
        if (!bytes) return;
        TensorMap map = {0};
        if (!sim_tensormap_decode(bytes, &map) && !zeros(bytes)) {
            sim_fault(by, SIM_DESCRIPTOR,
                      "what is changed here is neither a tensor map nor "
                      "%d bytes of zeros",
                      TM_BYTES);
            return;
        }
        const SimOpnd *value = &i->opnd[f->ordinal ? 2 : 1];
        uint32_t ordinal = f->ordinal ? sim_u32(w, i->opnd[1].slot[0])[l] : 0;
        uint64_t v = f->bits == 64 ? sim_u64(w, value->slot[0])[l]
                                   : sim_u32(w, value->slot[0])[l];
        if (i->flags) v <<= 4;
        if (v > f->most) {
            sim_fault(by, SIM_DESCRIPTOR, "the value %llu is out of range", (unsigned long long)v);
            return;
        }
        set(&map, f->field, ordinal, v);
        sim_tensormap_pack(&map, bytes);
        async_map_changed(w->block->cluster, sim_address(w, &i->opnd[0], l));
    }
}

static SimExec *pick_replace(SimPick *k) {
    SimInst *i = k->i;
    while (i->arg < N_FIELDS && !sim_take(k, fields[i->arg].field)) i->arg++;
    if (i->arg == N_FIELDS) return sim_pick_fail(k, "names no known field");
    const Field *f = &fields[i->arg];
    PtxType type = sim_take_type(k);
    if (!sim_take(k, MOD_TILE) || !sim_take(k, MOD_B1024) ||
        type != (f->bits == 64 ? PTX_B64 : PTX_B32)) {
        return sim_pick_fail(k, "needs .tile, .b1024 and the type of the field");
    }
    i->space = (uint8_t)sim_take_space(k);
    if (i->space == SPACE_GLOBAL) i->space = SPACE_GENERIC;
    i->flags = f->field == MOD_GLOBAL_STRIDE && k->old_strides;
    if (i->n_opnd != (f->ordinal ? 3 : 2)) return sim_pick_fail(k, "has wrong operands");
    const PtxOpnd *o = k->p->opnd;
    uint64_t dims = f->field == MOD_GLOBAL_STRIDE ? TM_RANK - 1 : TM_RANK;
    if (f->ordinal && (o[1].kind != OPND_INT || (uint64_t)o[1].offset >= dims)) {
        return sim_pick_fail(k, "needs the number of a dimension");
    }
    if (f->bits) return sim_want_bits(k, f->ordinal ? 2 : 1, f->bits) ? exec_replace : NULL;
    if (o[1].kind == OPND_INT && (uint64_t)o[1].offset <= f->most) return exec_replace;
    return sim_pick_fail(k, "has a value that is not simulated");
}

/* ---- the copy to global memory, with its fence ---- */

/* All lanes have the same addresses; the map is copied once.  */
static void exec_copy(SimWarp *w, const SimInst *i, uint32_t active) {
    int l = sim_first_lane(active);
    const unsigned char *from = map_at(sim_lane(w, i, l), &i->opnd[1], SPACE_SHARED, false);
    unsigned char *to = from ? map_at(sim_lane(w, i, l), &i->opnd[0], SPACE_GENERIC, true) : NULL;
    if (!to) return;
    memcpy(to, from, TM_BYTES);
    async_map_changed(w->block->cluster, sim_address(w, &i->opnd[0], l));
}

static SimExec *pick_copy(SimPick *k) {
    SimOrder order = sim_take_order(k);
    const PtxOpnd *size = &k->p->opnd[2];
    bool known = sim_take(k, MOD_GLOBAL) && sim_take(k, MOD_SHARED_CTA) &&
                 sim_take(k, MOD_TENSORMAP_GENERIC) && sim_take(k, MOD_SYNC) &&
                 sim_take(k, MOD_ALIGNED) && order.order == MOD_RELEASE &&
                 size->kind == OPND_INT && size->offset == TM_BYTES;
    if (known) return exec_copy;
    return sim_pick_fail(k, "needs .global.shared::cta.tensormap::generic.release.SCOPE"
                            ".sync.aligned and %d bytes", TM_BYTES);
}

SimExec *sim_pick_tensormap(SimPick *k) {
    return k->p->op == OP_TM_REPLACE ? pick_replace(k) : pick_copy(k);
}
