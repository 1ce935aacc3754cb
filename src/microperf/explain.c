/* Why a plan was chosen, in the words of a kernel engineer.  */
#include "microperf/matrix.h"
#include "microperf/views.h"

static const char *const axis_name[AX_CLASSES] = {"B", "M", "N", "K"};

typedef struct {
    const Problem *p;
    const Device *dev;
    const RProgSet *set;
    const Ranked *best;
    Model m;
    Buf *out;
} Story;

static int count_along(const RTile *outer, const RTile *inner, int axis) {
    return outer->extent[axis] / inner->extent[axis];
}

static void megabytes(Buf *out, double bytes) {
    mp_fixed(out, bytes / 1e6, bytes < 1e7 ? 2 : 0);
    buf_puts(out, " MB");
}

static void percent(Buf *out, double share) {
    mp_fixed(out, share * 100, share < 0.1 ? 1 : 0);
    buf_puts(out, " %");
}

static void tell_head(const Story *s) {
    const Estimate *e = &s->best->estimate;
    const Problem *p = s->p;
    buf_puts(s->out, "plan: ");
    mp_summary(p, s->dev, &s->best->prog, s->out);
    buf_puts(s->out, "\nproblem:");
    for (int axis = 0; axis < AX_CLASSES; axis++) {
        if (p->extent[axis] == 1 && axis == AX_B) continue;
        buf_printf(s->out, " %s %lld", axis_name[axis], (long long)p->extent[axis]);
    }
    buf_printf(s->out, ", computed in %s\npredicted: ", te_dtype_name(p->type));
    mp_fixed(s->out, e->us, 2);
    buf_puts(s->out, " us");
    if (p->contraction && e->us > 0) {
        buf_puts(s->out, ", ");
        mp_fixed(s->out, p->flops / e->us * 1e-6, 2);
        buf_puts(s->out, " TFLOP/s");
    }
    static const char *const text[] = {
#define X(id, key, words) words,
        MP_TERMS(X)
#undef X
    };
    buf_printf(s->out, "; limited by: %s\n", text[e->limiter]);
}

static void tell_terms(const Story *s) {
    static const struct {
        const char *key, *text;
    } term[] = {
#define X(id, name, words) {name, words},
        MP_TERMS(X)
#undef X
    };
    const Estimate *e = &s->best->estimate;
    MpTerm largest = MP_DRAM;
    for (MpTerm t = MP_DRAM; t <= MP_LATENCY; t++) {
        if (e->term[t] > e->term[largest]) largest = t;
    }
    buf_puts(s->out, "\nterms, us (the largest of dram .. latency, and all after it, add up)\n");
    for (MpTerm t = 0; t < MP_COUNT; t++) {
        buf_printf(s->out, "  %-9s", term[t].key);
        Buf number = buf_new(s->out->arena);
        mp_fixed(&number, e->term[t], 2);
        buf_printf(s->out, "%12s  %s", buf_str(&number), term[t].text);
        if (t == e->limiter) buf_puts(s->out, "  <- limits");
        if (t == largest && t != e->limiter) {
            buf_puts(s->out, "  (");
            percent(s->out, e->term[e->limiter] / e->term[t]);
            buf_puts(s->out, " of it is the unit's inner loop)");
        }
        buf_putc(s->out, '\n');
    }
}

/* A clock below the usual one: what the board's power allows.  */
static void tell_clock(const Story *s) {
    const Estimate *e = &s->best->estimate;
    if (e->clock <= 0 || e->clock >= s->m.clock) return;
    buf_puts(s->out, "  the SMs run at ");
    mp_fixed(s->out, e->clock * 1e-6, 0);
    buf_puts(s->out, " of ");
    mp_fixed(s->out, s->m.clock * 1e-6, 0);
    buf_printf(s->out, " MHz: more power than the board may draw goes into %s otherwise\n",
               s->dev->unit[s->best->prog.unit].name);
}

/* What calibration did to the rates behind the terms.  */
static void tell_factors(const Story *s) {
    if (s->dev->n_factor == 0) return;
    buf_puts(s->out, "  rates of the calibrated profile are multiplied:");
    for (int i = 0; i < s->dev->n_factor; i++) {
        const Factor *f = &s->dev->factor[i];
        buf_printf(s->out, "%s %s by ", i ? "," : "", f->name);
        mp_fixed(s->out, f->value, 2);
    }
    buf_putc(s->out, '\n');
}

static void tell_registers(const Story *s) {
    const RProg *r = &s->best->prog;
    const char *refusal = rprog_refusal(s->out->arena, s->p, s->dev);
    if (refusal) buf_printf(s->out, "  no matrix unit: %s\n", refusal);
    StepCounts c;
    mp_step_counts(&s->m, r, NULL, &c);
    int tm = r->thread.extent[AX_M], tn = r->thread.extent[AX_N], tk = r->thread.extent[AX_K];
    int packed = rprog_packed(s->dev, r) ? 4 : 1;
    double groups = (double)r->warp.extent[AX_K] / tk;
    double fma = (double)tm * tn * tk / packed;
    double reads = (double)(c.reads[0] + c.reads[1]) / groups;
    buf_printf(s->out, "  thread tile %dx%d: %d accumulators; ", tm, tn, tm * tn);
    mp_fixed(s->out, reads, 0);
    buf_puts(s->out, " shared loads feed ");
    mp_fixed(s->out, fma, 0);
    buf_printf(s->out, " %s, so ", s->dev->unit[r->unit].name);
    percent(s->out, fma / (fma + reads));
    buf_printf(s->out, " of the inner loop's issue slots compute; about %d of %d registers\n",
               r->registers, (int)s->dev->limits.registers_per_thread.value);
    buf_printf(s->out, "  warp tile %dx%d: %dx%d lanes, dealt so that neighbours broadcast\n",
               (int)r->warp.extent[AX_M], (int)r->warp.extent[AX_N],
               count_along(&r->warp, &r->thread, AX_M), count_along(&r->warp, &r->thread, AX_N));
}

/* What a block tile of half the size along N (or M) would cost: the reuse that this one buys.  */
static void tell_smaller(const Story *s) {
    RTile half = s->best->prog.block;
    int axis = half.extent[AX_N] >= half.extent[AX_M] ? AX_N : AX_M;
    if (half.extent[axis] < 2) return;
    double now = rtile_traffic(s->p, &half);
    half.extent[axis] /= 2;
    buf_printf(s->out, "; half of it along %s would move ", axis_name[axis]);
    mp_fixed(s->out, rtile_traffic(s->p, &half) / now, 2);
    buf_puts(s->out, " times as much");
}

/* Are enough bytes under way to cover the memory latency?  */
static void tell_stages(const Story *s) {
    const RProg *r = &s->best->prog;
    const Estimate *e = &s->best->estimate;
    buf_printf(s->out, "  k-step %d in %d stages: %d bytes of shared memory a block",
               (int)r->block.extent[AX_K], r->stages, (int)r->smem);
    int slices = count_along(&r->block, &r->warp, AX_K);
    if (slices > 1) buf_printf(s->out, ", each step shared by %d warps", slices);
    bool async = !rprog_through_registers(&r->load[0]) || !rprog_through_registers(&r->load[1]);
    double steps = (double)rprog_tiles(s->p, r, AX_K) * (double)rprog_blocks(s->p, r);
    double ahead = async ? r->stages - 1 : 1;
    if (steps > 0) {
        double stage = (double)e->load_sectors * SECTOR / steps;
        double resident = (double)e->blocks / s->m.sms;
        if (resident > r->blocks_per_sm) resident = r->blocks_per_sm;
        buf_puts(s->out, "; ");
        mp_fixed(s->out, stage * ahead * (resident > 1 ? resident : 1) / 1024, 0);
        buf_puts(s->out, " KB under way per SM");
        const Curve *c = s->m.in_flight;
        if (c) {
            buf_puts(s->out, ", DRAM is at its full rate from ");
            mp_fixed(s->out, c->px[c->n - 1] / 1024, 0);
            buf_puts(s->out, " KB");
        }
    }
    buf_putc(s->out, '\n');
}

static void tell_block(const Story *s) {
    const RProg *r = &s->best->prog;
    const Estimate *e = &s->best->estimate;
    double bytes = (double)e->load_sectors * SECTOR;
    buf_printf(s->out, "  block tile %dx%d: ", (int)r->block.extent[AX_M],
               (int)r->block.extent[AX_N]);
    megabytes(s->out, bytes);
    buf_puts(s->out, " through L2");
    if (bytes > 0) {
        buf_puts(s->out, ", ");
        mp_fixed(s->out, s->p->flops / bytes, 1);
        buf_puts(s->out, " FLOP per byte");
    }
    tell_smaller(s);
    buf_puts(s->out, "; padding of the tensor ");
    percent(s->out, e->padding_waste);
    buf_puts(s->out, " (allowed per axis ");
    percent(s->out, s->set->epsilon);
    buf_puts(s->out, rprog_warpgroups(s->dev, r) ? ", of a warpgroup's rows a third)\n" : ")\n");
    tell_stages(s);
}

/* An operand of which a block loads all that it reads before the first step.  */
static void tell_region(const Story *s, int side) {
    const RProg *r = &s->best->prog;
    const RLoad *l = &r->load[side];
    RRegion x;
    if (!rprog_region(s->p, r, side, &x)) return;
    double tile = (double)r->block.extent[side ? AX_N : AX_M] * (double)s->p->extent[AX_K];
    buf_printf(s->out,
               "  operand %s: %s, %d element%s at once; all that a block reads, %d lines of "
               "%d elements, once: 1 for ", side ? "b" : "a", s->dev->mover[l->mover].name, l->vec,
               l->vec == 1 ? "" : "s", (int)x.lines, (int)x.row);
    mp_fixed(s->out, tile / ((double)x.lines * x.row), 1);
    buf_printf(s->out, " of the tile, gathered %d at a time\n", x.pair);
}

static void tell_load(const Story *s, int side) {
    const RProg *r = &s->best->prog;
    const RLoad *l = &r->load[side];
    if (!s->p->op[side].present) return;
    if (l->region) {
        tell_region(s, side);
        return;
    }
    bool matrix = rprog_matrix(s->dev, r) && !rprog_warpgroups(s->dev, r) &&
                  rprog_ldmatrix(s->p, s->dev, r, side);
    StepCounts c;
    mp_step_counts(&s->m, r, NULL, &c);
    buf_printf(s->out, "  operand %s: %s, %d element%s along %s", side ? "b" : "a",
               s->dev->mover[l->mover].name, l->vec, l->vec == 1 ? "" : "s",
               l->along == AX_K ? "K" : side ? "N" : "M");
    if (rprog_through_registers(l)) {
        buf_puts(s->out, rprog_copyable(s->p, s->dev, r, side) ? ", through registers"
                                                               : ", converted on the way");
    }
    if (l->bytes) buf_puts(s->out, ", bytes until fragments are read and converted");
    if (l->raw) buf_puts(s->out, ", as it lies in memory until registers are made of it");
    buf_printf(s->out, "; tile rows along %s, ", l->layout.inner == AX_K ? "K" : side ? "N" : "M");
    if (l->layout.bits) {
        buf_printf(s->out, "16-byte chunks XORed with row bits %d..%d", l->layout.shift,
                   l->layout.shift + l->layout.bits - 1);
    } else if (l->layout.pad) {
        buf_printf(s->out, "padded by %d element%s", l->layout.pad, l->layout.pad == 1 ? "" : "s");
    } else {
        buf_puts(s->out, "plain");
    }
    buf_printf(s->out, ": %d wavefront%s per %s, %lld to store a stage\n",
               (int)c.read_wavefronts[side], c.read_wavefronts[side] == 1 ? "" : "s",
               matrix ? "8x8 matrix" : "read", (long long)c.store_wavefronts[side]);
}

static void tell_grid(const Story *s) {
    const RProg *r = &s->best->prog;
    const Estimate *e = &s->best->estimate;
    buf_printf(s->out, "  grid: %lld blocks, %d per SM, ", (long long)e->blocks, e->blocks_per_sm);
    mp_fixed(s->out, e->waves, 2);
    buf_puts(s->out, " waves, SMs busy ");
    percent(s->out, e->wave_efficiency);
    if (r->split > 1) {
        long long tiles = (long long)rprog_blocks(s->p, r);
        buf_printf(s->out, "; K in %d slices, because %lld tile%s would leave SMs idle",
                   (int)r->split, tiles, tiles == 1 ? "" : "s");
    }
    if (r->tail > 0) {
        long long tiles = (long long)rprog_blocks(s->p, r);
        buf_printf(s->out, "; of %lld tiles the last %d would fill a part of a wave, so their "
                   "k-steps are dealt out to %d blocks, %lld to each", tiles, (int)r->tail,
                   (int)r->tail_blocks, (long long)rprog_tail_steps(s->p, r));
    }
    if (r->group > 0) {
        buf_printf(s->out, "; tiles in groups of %d rows, so that a wave shares panels in L2",
                   r->group);
    }
    buf_puts(s->out, "\n  DRAM: ");
    megabytes(s->out, e->dram_bytes);
    buf_puts(s->out, " moved, ");
    megabytes(s->out, s->m.total_unique + s->m.out_bytes);
    buf_puts(s->out, " at the least\n");
}

/* Where statements over rows of the results are computed.  */
static void tell_rows(const Story *s) {
    const RProg *r = &s->best->prog;
    if (!r->stats) return;
    const StatFacts *f = rprog_stats_facts(s->p, r);
    int reductions = 0;
    for (int pass = 0; pass < f->group->n_pass; pass++) reductions += f->reduces[pass];
    buf_printf(s->out, "  rows: %d reduction%s over N behind the k-steps; ", reductions,
               reductions == 1 ? "" : "s");
    if (r->stats == STATS_WHOLE) {
        buf_puts(s->out, "blocks have whole rows, which meet in shared memory\n");
        return;
    }
    buf_printf(s->out, "a row lies in %lld blocks, which leave parts; %d kernels",
               (long long)rprog_tiles(s->p, r, AX_N), rprog_stats_kernels(s->p, r));
    if (f->group->n_pass > 1) buf_puts(s->out, ", the product is computed again, not stored");
    buf_putc(s->out, '\n');
}

static void tell_rules(const Story *s) {
    buf_puts(s->out, "\nrules every candidate kept\n");
    for (RTileRule rule = 0; rule < RTILE_RULE_COUNT; rule++) {
        buf_printf(s->out, "  %s\n", rtile_rule_text(rule));
    }
}

/* The term in which a runner-up loses most.  */
static MpTerm worst_term(const Estimate *x, const Estimate *best) {
    MpTerm worst = x->limiter;
    double most = x->term[x->limiter] - best->term[best->limiter];
    for (MpTerm t = MP_OVERLAP; t < MP_COUNT; t++) {
        double lost = x->term[t] - best->term[t];
        if (lost > 0 && lost > most) {
            most = lost;
            worst = t;
        }
    }
    return worst;
}

static void tell_others(const Story *s, int n) {
    static const char *const text[] = {
#define X(id, key, words) words,
        MP_TERMS(X)
#undef X
    };
    if (n > 1) buf_puts(s->out, "\nrunners-up\n");
    for (int i = 1; i < n; i++) {
        const Estimate *e = &s->best[i].estimate, *best = &s->best->estimate;
        buf_printf(s->out, "  %d. ", i + 1);
        mp_summary(s->p, s->dev, &s->best[i].prog, s->out);
        buf_puts(s->out, ": ");
        mp_fixed(s->out, e->us, 2);
        double more = best->us > 0 ? e->us / best->us - 1 : 0;
        if (more < 5e-4) {
            buf_puts(s->out, " us, as good\n");
            continue;
        }
        buf_puts(s->out, " us, +");
        percent(s->out, more);
        buf_printf(s->out, ", loses by: %s\n", text[worst_term(e, best)]);
    }
}

static void tell_rejects(const Story *s) {
    static const struct {
        const char *name, *text;
    } reject[] = {
#define X(id, key, words) {key, words},
        RPROG_REJECTS(X)
#undef X
    };
    buf_printf(s->out, "\n%lld programs met, %d legal ones ranked; dropped\n",
               (long long)s->set->enumerated, s->set->n);
    for (Reject i = 0; i < REJECT_COUNT; i++) {
        if (!s->set->rejected[i]) continue;
        buf_printf(s->out, "  %-10s%8lld  %s\n", reject[i].name, (long long)s->set->rejected[i],
                   reject[i].text);
    }
}

void mp_explain(const Problem *p, const Device *dev, const RProgSet *set, const Ranked *r, int n,
                Buf *out) {
    if (n < 1) return;
    Story s = {.p = p, .dev = dev, .set = set, .best = r, .m = mp_model(p, dev), .out = out};
    tell_head(&s);
    tell_terms(&s);
    tell_clock(&s);
    tell_factors(&s);
    if (r->prog.skeleton == SK_CONTRACT) {
        buf_puts(out, "\nwhy this shape\n");
        if (rprog_matrix(dev, &r->prog)) mp_matrix_explain(&s.m, &r->prog, out);
        else tell_registers(&s);
        tell_block(&s);
        for (int side = 0; side < 2; side++) tell_load(&s, side);
        tell_grid(&s);
        tell_rows(&s);
        tell_rules(&s);
    }
    if (r->prog.skeleton == SK_COLUMN || r->prog.skeleton == SK_WINDOW) {
        buf_puts(out, "\nwhy this shape\n");
        mp_view_explain(p, &r->prog, &r->estimate, out);
        mp_flight_explain(dev, &r->estimate, out);
    }
    if (r->prog.skeleton == SK_SCAN) {
        buf_puts(out, "\nwhy this shape\n");
        mp_scan_explain(p, &r->prog, &r->estimate, out);
        mp_flight_explain(dev, &r->estimate, out);
    }
    if (r->prog.skeleton == SK_ROW) {
        buf_puts(out, "\nwhy this shape\n");
        mp_row_explain(p, dev, &r->prog, &r->estimate, out);
    }
    if (r->prog.skeleton == SK_STREAM) {
        buf_puts(out, "\nwhy this shape\n");
        mp_stream_explain(p, dev, &r->prog, &r->estimate, out);
    }
    if (r->prog.skeleton == SK_PERMUTE) {
        buf_puts(out, "\nwhy this shape\n");
        mp_permute_explain(p, &r->prog, &r->estimate, out);
    }
    tell_others(&s, n);
    tell_rejects(&s);
}
