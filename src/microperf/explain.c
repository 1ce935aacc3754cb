/* Why a plan was chosen, in the words of a kernel engineer.  */
#include "microperf/story.h"

static const char *const axis_name[AX_CLASSES] = {"B", "M", "N", "K"};

static void tell_head(const Story *s) {
    const Estimate *e = &s->best->estimate;
    const Problem *p = s->p;
    buf_puts(s->out, "plan: ");
    mp_summary(p, s->dev, &s->best->prog, s->out);
    buf_puts(s->out, "\nproblem:");
    for (int axis = 0; axis < AX_CLASSES; axis++) {
        if (p->extent[axis] == 1 && axis == AX_B) continue;
        buf_printf(s->out, " %s %lld", axis_name[axis], (long long)p->extent[axis]);
        if (axis == AX_K && p->con.within) buf_puts(s->out, " pairs");
    }
    buf_printf(s->out, ", computed in %s\npredicted: ", te_dtype_name(p->type));
    mp_fixed(s->out, e->us, 2);
    buf_puts(s->out, " us");
    if (p->contraction && e->us > 0) {
        buf_puts(s->out, ", ");
        mp_fixed(s->out, p->flops / e->us * 1e-6, 2);
        buf_puts(s->out, " TFLOP/s");
    }
    buf_printf(s->out, "; limited by: %s\n", mp_term_text[e->limiter]);
}

static void tell_terms(const Story *s) {
    const Estimate *e = &s->best->estimate;
    MpTerm largest = MP_DRAM;
    for (MpTerm t = MP_DRAM; t <= MP_LATENCY; t++) {
        if (e->term[t] > e->term[largest]) largest = t;
    }
    buf_puts(s->out, "\nterms, us (the largest of dram .. latency, and all after it, add up)\n");
    for (MpTerm t = 0; t < MP_COUNT; t++) {
        buf_printf(s->out, "  %-9s", mp_term_key[t]);
        Buf number = buf_new(s->out->arena);
        mp_fixed(&number, e->term[t], 2);
        buf_printf(s->out, "%12s  %s", buf_str(&number), mp_term_text[t]);
        if (t == e->limiter) buf_puts(s->out, "  <- limits");
        if (t == largest && t != e->limiter) {
            buf_puts(s->out, "  (");
            mp_percent(s->out, e->term[e->limiter] / e->term[t]);
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
        mp_percent(s->out, more);
        buf_printf(s->out, ", loses by: %s\n", mp_term_text[worst_term(e, best)]);
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

/* Why a product of rows of another one has a kernel of its own.  What it would take in one with
 * that one is told with the decisions.  */
static void tell_apart(const Story *s) {
    if (!s->p->te || !s->p->contraction) return;
    const TeStmt *root = &s->p->te->stmt[s->p->group->root];
    if (root->unchained)
        buf_printf(s->out, "  not in the kernel of the product whose rows it reads: %s\n",
                   root->unchained);
}

/* What becomes of scales of blocks.  */
static void tell_scales(const Story *s) {
    if (!s->p->te) return;
    const char *refusal = rprog_scales_refusal(s->out->arena, s->p, s->dev);
    if (!refusal && !rtile_scaled(s->p)) return;
    buf_puts(s->out, "  scales of blocks: ");
    const ComputeUnit *u = &s->dev->unit[s->best->prog.unit];
    if (refusal) buf_printf(s->out, "converted with their elements: %s\n", refusal);
    else if (u->scale_k == 0)
        buf_printf(s->out, "multiply the sums of %d products each as they are added\n",
                   (int)s->best->prog.warp.extent[AX_K]);
    else buf_printf(s->out, "applied by %s, from %s\n", u->name,
                    rprog_tensor(s->dev, &s->best->prog) ? "Tensor Memory" : "registers");
}

void mp_explain(const Problem *p, const Device *dev, const RProgSet *set, const Ranked *r, int n,
                Buf *out) {
    if (n < 1) return;
    Story s = {.p = p, .dev = dev, .set = set, .best = r, .m = mp_model(p, dev), .out = out};
    tell_head(&s);
    tell_terms(&s);
    tell_clock(&s);
    tell_factors(&s);
    buf_puts(out, "\nwhy this shape\n");
    tell_apart(&s);
    tell_scales(&s);
    mp_skeleton(r->prog.skeleton)->explain(&s);
    tell_others(&s, n);
    tell_rejects(&s);
}
