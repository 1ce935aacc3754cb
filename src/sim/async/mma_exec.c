#include "sim/async/async.h"
#include "sim/async/matrix.h"

#include <string.h>

/* The registers of an operand as 32-bit images; an f64 fills two.  */
static void gather(const SimWarp *w, const SimOpnd *o, bool wide, SimReg *out) {
    for (int r = 0; r < o->n; r++) {
        if (!wide) {
            memcpy(out[r].lane, sim_u32(w, o->slot[r]), sizeof *out);
            continue;
        }
        const uint64_t *from = sim_u64(w, o->slot[r]);
        SIM_LANES(l) {
            out[2 * r].lane[l] = (uint32_t)from[l];
            out[2 * r + 1].lane[l] = (uint32_t)(from[l] >> 32);
        }
    }
}

static void scatter(SimWarp *w, const SimOpnd *o, bool wide, const SimReg *in) {
    for (int r = 0; r < o->n; r++) {
        if (!wide) {
            memcpy(sim_u32(w, o->slot[r]), in[r].lane, sizeof *in);
            continue;
        }
        uint64_t *to = sim_u64(w, o->slot[r]);
        SIM_LANES(l) to[l] = in[2 * r].lane[l] | (uint64_t)in[2 * r + 1].lane[l] << 32;
    }
}

/* Scales of an operand and their selectors, from operand `at` on: the same in all lanes.  */
static bool take_scales(const SimWarp *w, const SimInst *i, int at, SimScales *out) {
    const uint32_t *byte = sim_u32(w, i->opnd[at + 1].slot[0]);
    const uint32_t *thread = sim_u32(w, i->opnd[at + 1].slot[1]);
    *out = (SimScales){sim_u32(w, i->opnd[at].slot[0]), (int)byte[0], (int)thread[0]};
    bool same = true;
    SIM_LANES(l) same &= byte[l] == byte[0] && thread[l] == thread[0];
    return same;
}

static bool all_scales(SimWarp *w, const SimInst *i, const SimMma *s, SimScales out[2]) {
    enum { OF_A = 4, OF_B = 6 };          /* operands */
    bool good = take_scales(w, i, OF_A, &out[0]) && take_scales(w, i, OF_B, &out[1]) &&
                sim_mma_selects(s, &out[0], &out[1]);
    if (!good)
        sim_fault(sim_lane(w, i, 0), SIM_DESCRIPTOR,
                  "selectors of scales are out of range, or not the same in all lanes");
    return good;
}

static void exec_mma(SimWarp *w, const SimInst *i, uint32_t active) {
    const SimMma *s = i->extra;
    if (active != FULL_WARP) {
        sim_fault(sim_lane(w, i, sim_first_lane(active)), SIM_DIVERGENT,
                  "mma needs all 32 lanes of the warp");
        return;
    }
    SimReg a[16], b[8], c[8], d[8] = {0};
    SimScales scales[2];
    if (s->scales > 0 && !all_scales(w, i, s, scales)) return;
    bool wide = s->a == PTX_F64;
    gather(w, &i->opnd[1], wide, a);
    gather(w, &i->opnd[2], wide, b);
    gather(w, &i->opnd[3], wide, c);
    sim_mma(s, a, b, c, s->scales > 0 ? scales : NULL, d);
    scatter(w, &i->opnd[0], wide, d);
}

/* .row or .col, the n-th written.  */
static bool is_col(const PtxInst *p, int n) {
    for (int i = 0; i < p->n_order; i++) {
        if (p->order[i] != MOD_ROW && p->order[i] != MOD_COL) continue;
        if (n-- == 0) return p->order[i] == MOD_COL;
    }
    return false;
}

/* Kinds, their k, scales of a row along it, and types of scales, as ptxas 13.0 takes them.  The
 * number need not be written where it is implied.  */
static const struct {
    PtxMod kind;
    bool implied;
    int k, scales;
    PtxType type;
} scaled[] = {
    {MOD_KIND_MXF8F6F4, true, 32, 1, PTX_UE8M0},
    {MOD_KIND_MXF4, true, 64, 2, PTX_UE8M0},
    {MOD_KIND_MXF4NVF4, false, 64, 2, PTX_UE8M0},
    {MOD_KIND_MXF4NVF4, false, 64, 4, PTX_UE4M3},
};
enum { SCALED = sizeof scaled / sizeof *scaled };

/* .kind, .block_scale, .scale_vec and the type of scales.  */
static bool pick_scales(SimPick *k, SimMma *s) {
    bool is[SCALED], any = false;
    for (int i = 0; i < SCALED; i++) {
        bool again = i > 0 && scaled[i].kind == scaled[i - 1].kind;
        is[i] = again ? is[i - 1] : sim_take(k, scaled[i].kind);
        any |= is[i];
    }
    if (!sim_take(k, MOD_BLOCK_SCALE)) return !any;
    bool two = sim_take(k, MOD_SCALE_2X), four = sim_take(k, MOD_SCALE_4X);
    bool one = sim_take(k, MOD_SCALE_1X), none = !one && !two && !four;
    s->scale = sim_take_type(k);
    for (int i = 0; i < SCALED; i++) {
        bool given = scaled[i].scales == 1 ? one : scaled[i].scales == 2 ? two : four;
        if (!is[i] || !(given || (none && scaled[i].implied))) continue;
        if (scaled[i].type != s->scale || scaled[i].k != s->k) continue;
        s->scales = scaled[i].scales;
        return true;
    }
    return false;
}

SimExec *sim_pick_mma(SimPick *k) {
    SimMma *s = ARENA_NEW(k->arena, SimMma);
    s->m = k->p->m;
    s->n = k->p->n;
    s->k = k->p->k;
    s->d = sim_take_type(k);
    s->a = sim_take_type(k);
    s->b = sim_take_type(k);
    s->c = sim_take_type(k);
    if (!sim_take(k, MOD_SYNC) || !sim_take(k, MOD_ALIGNED)) {
        return sim_pick_fail(k, "needs .sync.aligned");
    }
    sim_take(k, MOD_ROW);
    sim_take(k, MOD_COL);
    s->a_col = is_col(k->p, 0);
    s->b_row = !is_col(k->p, 1);
    s->sat = sim_take(k, MOD_SATFINITE);
    if (s->a == PTX_F64) sim_take(k, MOD_RN);
    s->kind = sim_take(k, MOD_KIND_F8F6F4);
    if (!pick_scales(k, s)) return sim_pick_fail(k, "no such scales of blocks");
    if (!async_want(k, s->a == PTX_F64 ? "Dddd" : s->scales > 0 ? "Vvvvshsh" : "Vvvv")) return NULL;
    SimMmaRegs regs;
    if (!sim_mma_valid(s, &regs)) return sim_pick_fail(k, "no such shape with these types");
    const SimOpnd *o = k->i->opnd;
    int scale = s->a == PTX_F64 ? 2 : 1;
    if (o[0].n * scale != regs.d || o[1].n * scale != regs.a ||
        o[2].n * scale != regs.b || o[3].n * scale != regs.c) {
        return sim_pick_fail(k, "needs operands of %d, %d, %d and %d registers", regs.d / scale,
                             regs.a / scale, regs.b / scale, regs.c / scale);
    }
    k->i->flops = (uint16_t)(2 * s->m * s->n * s->k / 32);
    k->i->extra = s;
    return exec_mma;
}
