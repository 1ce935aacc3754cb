/* Reductions of asynchronous copies: which there are, and what they do.  */
#include "sim/async/async_target.h"

#include <string.h>

enum { BULK_GLOBAL = 1, BULK_SHARED = 2, RED = 4, EVERYWHERE = 7 };

/* Operator, type, and which of cp.reduce.async.bulk to global memory, to shared memory, and
 * red.async have them.  */
static const struct {
    PtxMod op;
    PtxType type;
    int places;
} reductions[] = {
    {MOD_ADD, PTX_U32, EVERYWHERE},  {MOD_ADD, PTX_S32, EVERYWHERE},
    {MOD_ADD, PTX_U64, EVERYWHERE},  {MOD_ADD, PTX_S64, RED},
    {MOD_ADD, PTX_F16, BULK_GLOBAL}, {MOD_ADD, PTX_BF16, BULK_GLOBAL},
    {MOD_ADD, PTX_F32, BULK_GLOBAL}, {MOD_ADD, PTX_F64, BULK_GLOBAL},
    {MOD_MIN, PTX_U32, EVERYWHERE},  {MOD_MIN, PTX_S32, EVERYWHERE},
    {MOD_MIN, PTX_U64, BULK_GLOBAL}, {MOD_MIN, PTX_S64, BULK_GLOBAL},
    {MOD_MIN, PTX_F16, BULK_GLOBAL}, {MOD_MIN, PTX_BF16, BULK_GLOBAL},
    {MOD_MAX, PTX_U32, EVERYWHERE},  {MOD_MAX, PTX_S32, EVERYWHERE},
    {MOD_MAX, PTX_U64, BULK_GLOBAL}, {MOD_MAX, PTX_S64, BULK_GLOBAL},
    {MOD_MAX, PTX_F16, BULK_GLOBAL}, {MOD_MAX, PTX_BF16, BULK_GLOBAL},
    {MOD_INC, PTX_U32, EVERYWHERE},  {MOD_DEC, PTX_U32, EVERYWHERE},
    {MOD_AND, PTX_B32, EVERYWHERE},  {MOD_OR, PTX_B32, EVERYWHERE},
    {MOD_XOR, PTX_B32, EVERYWHERE},  {MOD_AND, PTX_B64, BULK_GLOBAL},
    {MOD_OR, PTX_B64, BULK_GLOBAL},  {MOD_XOR, PTX_B64, BULK_GLOBAL},
};

static bool exists(const AsyncReduce *r, int place) {
    for (size_t k = 0; k < sizeof reductions / sizeof *reductions; k++) {
        if (reductions[k].op == r->op && reductions[k].type == r->type) {
            return reductions[k].places & place;
        }
    }
    return false;
}

bool async_reduce_exists(const AsyncReduce *r) { return exists(r, BULK_GLOBAL); }

bool async_take_operator(SimPick *k, AsyncReduce *out) {
    out->op = MOD_COUNT;
    for (size_t n = 0; n < sizeof reductions / sizeof *reductions; n++) {
        if (sim_take(k, reductions[n].op)) out->op = reductions[n].op;
    }
    if (out->op == MOD_COUNT) sim_pick_fail(k, "needs an operator");
    return out->op != MOD_COUNT;
}

bool async_take_reduce(SimPick *k, AsyncReduce *out) {
    int place = k->p->op == OP_RED_ASYNC              ? RED
                : ptx_has(&k->p->mods, MOD_BULK_GROUP) ? BULK_GLOBAL
                                                       : BULK_SHARED;
    if (!async_take_operator(k, out)) return false;
    bool noftz = sim_take(k, MOD_NOFTZ);
    out->type = sim_take_type(k);
    bool half_add = out->op == MOD_ADD && (out->type == PTX_F16 || out->type == PTX_BF16);
    if (exists(out, place) && noftz == half_add) return true;
    sim_pick_fail(k, "has no such reduction");
    return false;
}

void async_reduce(const AsyncReduce *r, unsigned char *to, const unsigned char *from,
                  uint32_t bytes) {
    uint32_t size = (uint32_t)sim_type_bits(r->type) / 8;
    for (uint32_t at = 0; at + size <= bytes; at += size) {
        uint64_t a = 0, b = 0;
        memcpy(&a, to + at, size);
        memcpy(&b, from + at, size);
        a = sim_atomic_op(r->op, r->type, a, b);
        memcpy(to + at, &a, size);
    }
}
