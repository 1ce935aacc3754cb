#include "sim/async/async.h"

#include <string.h>

/* An 8 x 8 matrix of 16-bit elements.  Lane l holds elements 2*(l mod 4) and the next of row l / 4,
 * or of column l / 4 when transposed.  */
typedef struct {
    uint16_t at[8][8];
} Matrix;

typedef struct {
    int count;                /* matrices */
    bool trans;
} MatrixInst;

static bool whole_warp(SimWarp *w, const SimInst *i, uint32_t active) {
    if (active == FULL_WARP) return true;
    sim_fault(sim_lane(w, i, sim_first_lane(active)), SIM_DIVERGENT,
              "%s needs all 32 lanes of the warp", sim_op_name(i->ptx->op));
    return false;
}

static void to_register(const Matrix *m, bool trans, uint32_t *reg) {
    for (int l = 0; l < LANES; l++) {
        int r = l / 4, c = l % 4 * 2;
        uint32_t low = trans ? m->at[c][r] : m->at[r][c];
        uint32_t high = trans ? m->at[c + 1][r] : m->at[r][c + 1];
        reg[l] = low | high << 16;
    }
}

static void from_register(const uint32_t *reg, bool trans, Matrix *m) {
    for (int l = 0; l < LANES; l++) {
        int r = l / 4, c = l % 4 * 2;
        uint16_t low = (uint16_t)reg[l], high = (uint16_t)(reg[l] >> 16);
        *(trans ? &m->at[c][r] : &m->at[r][c]) = low;
        *(trans ? &m->at[c + 1][r] : &m->at[r][c + 1]) = high;
    }
}

/* The rows of matrix j lie at the addresses of lanes 8j .. 8j+7.  False after a fault.  */
static bool move_rows(SimWarp *w, const SimInst *i, const SimOpnd *address, int j, bool store,
                      Matrix *m) {
    uint32_t at[LANES] = {0};
    for (int r = 0; r < 8; r++) {
        int lane = 8 * j + r;
        uint32_t offset;
        at[lane] = async_shared_at(w, address, lane);
        SimLane by = sim_lane(w, i, lane);
        SimBlock *b = sim_shared(by, at[lane], 16, 16, &offset);
        if (!b) return false;
        if (store) {
            if (!sim_shadow_write(by, b, offset, 16)) return false;
            memcpy(b->smem + offset, m->at[r], 16);
        } else {
            if (!sim_shadow_read(by, b, offset, 16)) return false;
            memcpy(m->at[r], b->smem + offset, 16);
        }
    }
    if (async_counts(w)) sim_count_shared(w, 0xffu << (8 * j), at, 16, store);
    return true;
}

static void exec_ldmatrix(SimWarp *w, const SimInst *i, uint32_t active) {
    const MatrixInst *x = i->extra;
    uint32_t out[4][LANES];
    if (!whole_warp(w, i, active)) return;
    for (int j = 0; j < x->count; j++) {
        Matrix m;
        if (!move_rows(w, i, &i->opnd[1], j, false, &m)) return;
        to_register(&m, x->trans, out[j]);
    }
    for (int j = 0; j < x->count; j++) {
        memcpy(sim_u32(w, i->opnd[0].slot[j]), out[j], sizeof out[j]);
    }
}

static void exec_stmatrix(SimWarp *w, const SimInst *i, uint32_t active) {
    const MatrixInst *x = i->extra;
    if (!whole_warp(w, i, active)) return;
    for (int j = 0; j < x->count; j++) {
        Matrix m;
        from_register(sim_u32(w, i->opnd[1].slot[j]), x->trans, &m);
        if (!move_rows(w, i, &i->opnd[0], j, true, &m)) return;
    }
    sim_event(w->block->cluster);
}

static void exec_movmatrix(SimWarp *w, const SimInst *i, uint32_t active) {
    if (!whole_warp(w, i, active)) return;
    Matrix m;
    from_register(sim_u32(w, i->a), false, &m);
    to_register(&m, true, sim_u32(w, i->d));
}

SimExec *sim_pick_matrix(SimPick *k) {
    const PtxInst *p = k->p;
    MatrixInst *x = ARENA_NEW(k->arena, MatrixInst);
    if (!sim_take(k, MOD_SYNC) || !sim_take(k, MOD_ALIGNED)) {
        return sim_pick_fail(k, "needs .sync.aligned");
    }
    x->trans = sim_take(k, MOD_TRANS);
    x->count = sim_take(k, MOD_X4) ? 4 : sim_take(k, MOD_X2) ? 2 : sim_take(k, MOD_X1) ? 1 : 0;
    if (p->m != 8 || p->n != 8 || p->k || sim_take_type(k) != PTX_B16) {
        return sim_pick_fail(k, "is simulated for .m8n8 and .b16 only");
    }
    k->i->extra = x;
    if (p->op == OP_MOVMATRIX) {
        if (!x->trans || x->count) return sim_pick_fail(k, "needs .trans and no count");
        return async_want(k, "Ii") ? exec_movmatrix : NULL;
    }
    PtxSpace space = sim_take_space(k);
    if (space != SPACE_SHARED && space != SPACE_GENERIC) {
        return sim_pick_fail(k, "addresses shared memory only");
    }
    bool load = p->op == OP_LDMATRIX;
    if (!async_want(k, load ? "Va" : "av")) return NULL;
    if (x->count == 0 || k->i->opnd[load ? 0 : 1].n != x->count) {
        return sim_pick_fail(k, "needs .x1, .x2 or .x4 and as many registers");
    }
    return load ? exec_ldmatrix : exec_stmatrix;
}
