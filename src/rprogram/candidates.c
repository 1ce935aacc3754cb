/* Every aligned program for a problem.  */
#include "rprogram/build.h"

enum { UNITS = 8, STREAM_MAX = 256, CANDIDATES = 20000 };

/* Where a unit multiplies matrices the others matter for small problems only: the likeliest
 * of their programs are enough.  */
static void build_beside(Builder *b, const RProg *start) {
    enum { FEW = 250 };
    bool strict = b->strict, full = b->full;
    if (b->limit > build_usual(b) + FEW) b->limit = build_usual(b) + FEW;
    b->strict = true;
    build_scale_up(b, start);
    b->strict = strict;
    b->full = full;
}

static void build_unit(Builder *b, int16_t unit) {
    RLoad load[2][OPTIONS];
    int n[2];
    RProg r = {.skeleton = SK_CONTRACT, .unit = unit, .split = 1, .lanes = 1};
    for (int axis = 0; axis < RT_AXES; axis++) {
        r.block.extent[axis] = r.warp.extent[axis] = r.thread.extent[axis] = 1;
    }
    for (int side = 0; side < 2; side++) {
        n[side] = build_load_options(b, unit, side, load[side]);
        if (n[side] == 0) {
            b->set->enumerated++;
            b->set->rejected[REJECT_MOVER]++;
        }
    }
    for (int i = 0; i < n[0]; i++) {
        for (int j = 0; j < n[1]; j++) {
            if (!build_loads_agree(&load[0][i], &load[1][j])) continue;
            int left = b->max - build_usual(b);
            b->limit = build_usual(b) + (b->strict ? left / b->families-- : left);
            r.load[0] = load[0][i];
            r.load[1] = load[1][j];
            if (rprog_warpgroups(b->dev, &r)) build_warpgroups(b, &r);
            else if (rprog_matrix(b->dev, &r)) build_matrix(b, &r);
            else if (b->matrix) build_beside(b, &r);
            else build_scale_up(b, &r);
        }
    }
}

static int count_families(const Builder *b, const int16_t *unit, int n) {
    RLoad load[2][OPTIONS];
    int total = 0;
    for (int u = 0; u < n; u++) {
        int of_a = build_load_options(b, unit[u], 0, load[0]);
        int of_b = build_load_options(b, unit[u], 1, load[1]);
        for (int i = 0; i < of_a * of_b; i++)
            total += build_loads_agree(&load[0][i / of_b], &load[1][i % of_b]);
    }
    return total;
}

/* Those whose programs are few first.  */
static void few_first(const Builder *b, const int16_t *unit, int n, int16_t out[UNITS]) {
    int taken = 0;
    for (int last = 0; last < 2; last++) {
        for (int i = 0; i < n; i++) {
            RProg r = {.unit = unit[i]};
            bool many = rprog_matrix(b->dev, &r) && !rprog_warpgroups(b->dev, &r);
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
        b->late = 0;
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
    enum { MANY = 2000, SOME = 16 };
    return n >= (epsilon < 0.15 ? MANY : epsilon < 0.35 ? MANY / 4 : SOME);
}

static void build_contract(Builder *b) {
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
        step = b->epsilon < 0.35 ? 0.1 : b->epsilon;
        b->thorough = false;
        for (int pass = 0; pass < 2 && (pass == 0 || b->set->n == 0); pass++) {
            build_units(b, unit, n);
            b->thorough = true;
        }
        if (enough(build_usual(b), b->epsilon)) break;
    }
    build_late(b);
    build_tails(b);
}

/* Does some statement store what is clipped?  Only stores of outputs one by one can leave some out:
 * those of `contract` and of maps.  */
static bool clips_outputs(const Problem *p) {
    const KernelGroup *g = p->group;
    bool any = false;
    for (int i = -1; g && i < g->n_fused; i++) {
        const TeStmt *s = &p->te->stmt[i < 0 ? g->root : g->fused[i]];
        any |= p->te->tensor[s->tensor].n_clip > 0;
    }
    return any;
}

static void build_others(Arena *a, const Problem *p, const Device *dev, const RPlanOptions *o,
                         RProgSet *out) {
    rprog_scan_candidates(a, p, dev, o, out);
    rprog_column_candidates(a, p, dev, o, out);
    rprog_window_candidates(a, p, dev, out);
    rprog_permute_candidates(a, p, dev, out);
}

Status rprog_candidates(Arena *a, Diag *d, const Problem *p, const Device *dev,
                        const RPlanOptions *o, RProgSet *out) {
    static const RPlanOptions defaults = {.workspace_limit = -1};
    *out = (RProgSet){0};
    bool clips = clips_outputs(p);
    if (clips && (p->row || p->stats)) {
        out->n = 0;
    } else if (p->row) {
        rprog_row_candidates(a, p, dev, o ? o : &defaults, out);
    } else if (!p->contraction) {
        RProg *room = ARENA_ARRAY(a, RProg, STREAM_MAX);
        out->prog = room;
        rprog_stream_candidates(p, dev, out, room, STREAM_MAX);
    } else {
        Builder b = {.arena = a, .p = p, .dev = dev, .options = o ? o : &defaults, .set = out,
                     .sms = dev->limits.sm_count.value,
                     .memo = ARENA_ARRAY(a, LayoutMemo, LAYOUT_MEMO),
                     .samples = ARENA_NEW(a, Samples)};
        b.max = b.options->max_candidates > 0 ? b.options->max_candidates : CANDIDATES;
        out->prog = ARENA_ROOM(a, RProg, b.max + 2 * (b.max / BESIDE));
        enum { SLICE = 512 };
        b.parallel = (double)p->extent[AX_B] * (double)p->extent[AX_M] * (double)p->extent[AX_N] *
                     (p->extent[AX_K] > SLICE ? (double)p->extent[AX_K] / SLICE : 1);
        build_contract(&b);
    }
    if (!clips) build_others(a, p, dev, o ? o : &defaults, out);
    if (out->n > 0) return ST_OK;
    Status s = diag_error(d, ST_NO_PLAN, "plan", DIAG_NOWHERE,
                          "no program for kernel %d fits device %s", p->group ? p->group->root : 0,
                          dev->name);
    diag_hint(d, "of %lld programs, %lld found no mover, %lld broke the shared-memory limit, "
              "%lld the register limit", (long long)out->enumerated,
              (long long)out->rejected[REJECT_MOVER], (long long)out->rejected[REJECT_SMEM],
              (long long)out->rejected[REJECT_REGISTERS]);
    return s;
}
