/* Chain programs in words.  */
#include "microperf/chain.h"

/* What goes on beside a warpgroup's exponentials.  */
static const char *const beside[OVERLAP_COUNT] = {
    [OVERLAP_NONE] = "one after the other",
    [OVERLAP_WITHIN] = "powers beside results of the same warpgroup",
    [OVERLAP_BETWEEN] = "powers beside products of another warpgroup",
    [OVERLAP_BOTH] = "powers beside products of both",
};

void mp_chain_summary(const Problem *p, const Device *dev, const RProg *r, Buf *out) {
    const char *by = hal_scope_names[dev->unit[r->unit].scope];
    buf_printf(out, "chain, %d rows x %d columns a turn, %d to %d, %d rows per %s, %d threads,"
               " %d slot%s%s", (int)r->block.extent[AX_M], (int)r->block.extent[AX_N],
               (int)p->extent[AX_K], (int)p->next->extent[AX_N], (int)r->warp.extent[AX_M],
               by, r->threads, r->stages, mp_plural(r->stages),
               rprog_keeps_steps(p, r) ? " filled once" : "");
    buf_printf(out, ", %s, %s", dev->mover[r->load[LOAD_B].mover].name, dev->unit[r->unit].name);
    if (r->unit_v != r->unit) buf_printf(out, " and %s", dev->unit[r->unit_v].name);
    buf_puts(out, r->keep == KEEP_REGISTERS ? ", a in registers" : "");
    if (rprog_chain_streams(p, r))
        buf_printf(out, ", k in steps of %d", (int)r->block.extent[AX_K]);
    if (r->split > 1) buf_printf(out, ", turns in %d slices", (int)r->split);
    if (rprog_persistent(r)) buf_printf(out, ", %s", rprog_grid_name[r->grid]);
    if (r->cluster > 1) buf_printf(out, ", clusters of %d", r->cluster);
    if (dev->unit[r->unit].b_smem) buf_printf(out, ", %s", beside[r->overlap]);
}

static void tell_clocks(Buf *out, const char *what, double clocks, const char *end) {
    buf_puts(out, what);
    mp_fixed(out, clocks, 0);
    buf_puts(out, end);
}

static void tell_turns(const Story *s, const RProg *r) {
    int64_t turns = rprog_chain_turns(s->p, r);
    double visited = mp_chain_turns(&s->m, r);
    buf_printf(s->out, "  chain: scores stay in registers, where they become an operand of the "
               "second product; %lld turn%s of %d columns", (long long)turns, mp_plural(turns),
               (int)r->block.extent[AX_N]);
    if (visited < (double)turns) {
        buf_puts(s->out, ", of which blocks visit ");
        mp_fixed(s->out, visited, 1);
        buf_puts(s->out, " in the mean");
    }
}

static void tell_turn(const Story *s, const RProg *r) {
    ChainTurn t;
    mp_chain_turn(&s->m, r, NULL, &t);
    ChainClocks c = mp_chain_clocks(&s->m, r, &t, 1);
    int64_t steps = rprog_tiles(s->p, r, AX_K);
    tell_clocks(s->out, "\n  a turn of one block: ", (double)steps * c.unit[0] + c.unit[1],
                " clk for the unit, ");
    if (rprog_chain_streams(s->p, r))
        buf_printf(s->out, "in %lld steps along k, whose operands are streamed, and behind them, ",
                   (long long)steps);
    tell_clocks(s->out, "", c.folds, " to fold rows and correct results, ");
    tell_clocks(s->out, "", c.powers, " for powers, ");
    buf_puts(s->out, beside[r->overlap]);
    if (r->overlap) tell_clocks(s->out, ": ", c.all, "");
    buf_putc(s->out, '\n');
}

static void tell_room(const Story *s, const RProg *r) {
    int copying, computing;
    if (s->dev->unit[r->unit].b_smem &&
        rprog_ring_registers(s->p, s->dev, r, &copying, &computing))
        buf_printf(s->out, "  registers: %d of a thread that computes, %d of one that copies",
                   computing, copying);
    else
        buf_printf(s->out, "  %d of %d registers", r->registers,
                   (int)s->dev->limits.registers_per_thread.value);
    buf_printf(s->out, "; %d bytes of shared memory, %d block%s per SM\n", (int)r->smem,
               r->blocks_per_sm, mp_plural(r->blocks_per_sm));
}

/* The same with something else beside its powers.  */
static void tell_choices(const Story *s, const double us[OVERLAP_COUNT]) {
    bool any = false;
    for (int i = 0; i < OVERLAP_COUNT; i++) {
        if (us[i] == 0) continue;
        buf_puts(s->out, any ? "; " : "  the same, us: ");
        buf_printf(s->out, "%s ", beside[i]);
        mp_fixed(s->out, us[i], 2);
        any = true;
    }
    if (any) buf_putc(s->out, '\n');
}

void mp_chain_explain(const Story *s, const double us[OVERLAP_COUNT]) {
    const RProg *r = &s->best->prog;
    tell_turns(s, r);
    tell_turn(s, r);
    tell_choices(s, us);
    tell_room(s, r);
}
