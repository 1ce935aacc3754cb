/* The `contract` skeleton: every aligned program for a problem.  */
#include "rprogram/build.h"
#include "rprogram/contract.h"

/* Rows of a profile for one problem; programs, some 0.2 s of ranking; k of a slice worth a block.
 */
enum { UNITS = 8, CANDIDATES = 20000, SLICE = 512 };

/* Where a unit multiplies matrices the others matter for small problems only: the likeliest
 * of their programs are enough.  */
static void build_beside(Builder *b, const RProg *start) {
    enum { FEW = 250 };       /* an 80th of all programs */
    bool strict = b->strict, full = b->full;
    if (b->limit > b->set->n + FEW) b->limit = b->set->n + FEW;
    b->strict = true;
    build_scale_up(b, start);
    b->strict = strict;
    b->full = full;
}

static void build_unit(Builder *b, int16_t unit) {
    LoadWays ways[CONTRACTION_OPERANDS];
    RProg r = {.skeleton = SK_CONTRACT, .unit = unit, .split = 1, .lanes = 1};
    for (int axis = 0; axis < RT_AXES; axis++) {
        r.block.extent[axis] = r.warp.extent[axis] = r.thread.extent[axis] = 1;
    }
    for (int side = 0; side < CONTRACTION_OPERANDS; side++) {
        build_load_ways(b, unit, side, &ways[side]);
        if (ways[side].n == 0) build_reject(b, REJECT_MOVER);
    }
    for (int i = 0; build_take_loads(ways, CONTRACTION_OPERANDS, i, &r); i++) {
        if (!build_loads_agree(r.load)) continue;
        int left = b->max - b->set->n;
        b->limit = b->set->n + (b->strict ? left / b->families-- : left);
        if (b->dev->unit[r.unit].b_smem) build_warpgroups(b, &r);
        else if (rprog_matrix(b->dev, &r)) build_matrix(b, &r);
        else if (b->matrix) build_beside(b, &r);
        else build_scale_up(b, &r);
    }
}

static int count_families(const Builder *b, const int16_t *unit, int n) {
    LoadWays ways[CONTRACTION_OPERANDS];
    RProg r = {0};
    int total = 0;
    for (int u = 0; u < n; u++) {
        for (int side = 0; side < CONTRACTION_OPERANDS; side++)
            build_load_ways(b, unit[u], side, &ways[side]);
        for (int i = 0; build_take_loads(ways, CONTRACTION_OPERANDS, i, &r); i++)
            total += build_loads_agree(r.load);
    }
    return total;
}

/* Those whose programs are few first.  */
static void few_first(const Builder *b, const int16_t *unit, int n, int16_t out[UNITS]) {
    int taken = 0;
    for (int last = 0; last < 2; last++) {
        for (int i = 0; i < n; i++) {
            RProg r = {.unit = unit[i]};
            bool many = rprog_matrix(b->dev, &r) && !b->dev->unit[r.unit].b_smem;
            if (many == last) out[taken++] = unit[i];
        }
    }
}

/* All units.  Where there is more than can be kept, again with less that is unlikely, and
 * each way to load the operands gets its share, and of what those before it left of theirs.  */
static void build_units(Builder *b, const int16_t *given, int n) {
    int16_t sorted[UNITS];
    few_first(b, given, n, sorted);
    for (int pass = 0; pass < 2; pass++) {
        const int16_t *unit = pass == 0 ? given : sorted;
        *b->set = (RProgSet){.prog = b->set->prog, .epsilon = b->epsilon};
        b->strict = pass == 1;
        b->families = count_families(b, unit, n);
        bool full = false;
        for (int i = 0; i < n && !(full && pass == 0); i++) {
            b->full = false;
            build_unit(b, unit[i]);
            full |= b->full;
        }
        if (!full) break;
    }
}

/* Padding allowed: none (matrix units: a little, so that blocks may fill a wave better), then more
 * while there is too little to choose from.  Wasteful tiles are
 * only accepted until there is any choice at all: a small tensor has no tile that fits.  */
static bool enough(int n, double epsilon) {
    /* A tenth of the programs that may be kept; a choice at all; shares of padding.  */
    enum { MANY = CANDIDATES / 10, SOME = 16 };
    const double little = 0.15, much = 0.35;          /* between the steps of build_all */
    return n >= (epsilon < little ? MANY : epsilon < much ? MANY / 4 : SOME);
}

static void build_all(Builder *b) {
    int16_t unit[UNITS];
    int n = rprog_units(b->p, b->dev, unit, UNITS);
    int kept = 0;
    for (int i = 0; i < n; i++) {
        bool matrix = rprog_matrix(b->dev, &(RProg){.unit = unit[i]});
        if (matrix && b->options->no_matrix) continue;
        b->matrix |= matrix;
        unit[kept++] = unit[i];
    }
    n = kept;
    double step;                          /* grows with what is wasted already */
    for (b->epsilon = b->matrix ? 0.1 : 0; b->epsilon <= 64; b->epsilon += step) {
        step = b->epsilon < 0.35 ? 0.1 : b->epsilon;  /* 0, 0.1, .. 0.4, then twice as much each */
        b->thorough = false;
        for (int pass = 0; pass < 2 && (pass == 0 || b->set->n == 0); pass++) {
            build_units(b, unit, n);
            b->thorough = true;
        }
        if (enough(b->set->n, b->epsilon)) break;
    }
    build_tails(b);
}

void contract_candidates(Keeper *k) {
    const Problem *p = k->p;
    Builder b = {.of = k->of, .arena = k->arena, .p = p, .dev = k->dev, .options = k->options,
                 .set = k->set, .sms = k->dev->limits.sm_count.value,
                 .memo = ARENA_ARRAY(k->arena, LayoutMemo, LAYOUT_MEMO),
                 .samples = ARENA_NEW(k->arena, Samples)};
    b.max = b.options->max_candidates > 0 ? b.options->max_candidates : CANDIDATES;
    b.set->prog = ARENA_ROOM(k->arena, RProg, b.max + b.max / BESIDE);
    b.parallel = (double)p->extent[AX_B] * (double)p->extent[AX_M] * (double)p->extent[AX_N] *
                 (p->extent[AX_K] > SLICE ? (double)p->extent[AX_K] / SLICE : 1);
    build_all(&b);
}
