/* tcgen05.cp: rows of shared memory to Tensor Memory; of a pair in each block, from its own.  */
#include "sim/async/tmem.h"
#include "sim/timing/timing.h"

#include <string.h>

typedef struct {
    PtxMod shape, images;
    int rows, columns;
    /* Lane of row r in image n: r + step * n, and behind `split` rows `skip` lanes more.  */
    int n_image, step, split, skip;
    bool pair;
} CopyInst;

static uint32_t image_lane(const CopyInst *x, int row, int image) {
    return (uint32_t)(row + x->step * image + (row >= x->split ? x->skip : 0));
}

static void copy_in(const TmemWork *k, SimBlock *b) {
    const CopyInst *x = k->by.i->extra;
    TensorMemory *t = tmem_of(b);
    for (int c = 0; c < k->n_a; c++) {
        int chunks = x->columns / 4, row = c / chunks;
        uint32_t word[4], column = tmem_column(k->d) + (uint32_t)(c % chunks * 4);
        memcpy(word, b->smem + k->a_at[c], 16);
        for (int n = 0; n < x->n_image; n++)
            for (uint32_t e = 0; e < 4; e++) t->cell[column + e][image_lane(x, row, n)] = word[e];
    }
}

static void copy(TmemWork *k, SimBlock *b) {
    const CopyInst *x = k->by.i->extra;
    copy_in(k, b);
    if (x->pair) copy_in(k, tmem_peer(b));
}

/* A row is one chunk or two.  */
static int copy_chunks(SimLane by, const CopyInst *x, uint32_t *at) {
    uint64_t bits = tmem_descriptor_of(by, 1);
    SimDescriptor d;
    const char *why = tmem_descriptor(bits, false, 1, &d);
    int n = why ? 0 : sim_operand_chunks(&d, false, 1, 0, x->rows, at);
    if (x->columns == 4) {
        n /= 2;
        for (int c = 0; c < n; c++) at[c] = at[2 * c];
    }
    if (!tmem_claim(by, bits, why, n, at)) return 0;
    return !x->pair || tmem_claim_peer(by, tmem_peer(by.w->block), n, at) ? n : 0;
}

static bool writes(const TmemWork *k, const CopyInst *x) {
    SimBlock *b = k->by.w->block;
    TmemPart part = {0, TMEM_LANES, tmem_column(k->d), (uint32_t)x->columns};
    uint32_t access = tmem_access(TMEM_CP, k->by, 0);
    return tmem_write(access, b, part) && (!x->pair || tmem_write(access, tmem_peer(b), part));
}

static void exec_copy(SimWarp *w, const SimInst *i, uint32_t active) {
    const CopyInst *x = i->extra;
    SIM_EACH(l, active) {
        SimLane by = sim_lane(w, i, l);
        TmemWork *k = tmem_work(by);
        if (!tmem_group(by, x->pair) || (x->pair && !tmem_leads(by))) return;
        k->d = tmem_address_of(by, 0);
        if (tmem_lane(k->d)) {
            sim_fault(by, SIM_TENSOR_MEMORY, "tcgen05.cp begins at lane 0");
            return;
        }
        k->n_a = copy_chunks(by, x, k->a_at);
        if (!k->n_a || !writes(k, x)) return;
        k->run = copy;
        sim_timer_tensor_copy(w, i, 16.0 * k->n_a);
        tmem_issue(k);
    }
}

SimExec *sim_pick_tensor_copy(SimPick *k) {
    CopyInst *own = ARENA_NEW(k->arena, CopyInst);
    bool pair;
    if (!tmem_take_group(k, &pair)) return NULL;
    enum { ALL = TMEM_LANES };
    static const CopyInst copies[] = {
        {MOD_128X256B, MOD_COUNT, 128, 8, 1, 0, ALL, 0, false},
        {MOD_128X128B, MOD_COUNT, 128, 4, 1, 0, ALL, 0, false},
        {MOD_64X128B, MOD_WARPX2_02_13, 64, 4, 2, 64, ALL, 0, false},
        {MOD_64X128B, MOD_WARPX2_01_23, 64, 4, 2, 32, 32, 32, false},
        {MOD_32X128B, MOD_WARPX4, 32, 4, 4, 32, ALL, 0, false},
    };
    for (size_t n = 0; n < sizeof copies / sizeof *copies; n++) {
        const CopyInst *x = &copies[n];
        if (!ptx_has(&k->p->mods, x->shape)) continue;
        if (x->images != MOD_COUNT && !ptx_has(&k->p->mods, x->images)) continue;
        sim_take(k, x->shape);
        if (x->images != MOD_COUNT) sim_take(k, x->images);
        *own = *x;
        own->pair = pair;
        k->i->extra = own;
        return async_want(k, "al") ? exec_copy : NULL;
    }
    return sim_pick_fail(k, "has no shape that the simulator knows");
}
