/* Chain programs in words.  */
#include "microperf/chain.h"

void mp_chain_summary(const Problem *p, const Device *dev, const RProg *r, Buf *out) {
    buf_printf(out, "chain, %d rows x %d columns a turn, %d to %d, %d rows per warp, %d threads,"
               " %d slot%s", (int)r->block.extent[AX_M], (int)r->block.extent[AX_N],
               (int)p->extent[AX_K], (int)p->next->extent[AX_N], (int)r->warp.extent[AX_M],
               r->threads, r->stages, mp_plural(r->stages));
    buf_printf(out, ", %s, %s", dev->mover[r->load[LOAD_B].mover].name, dev->unit[r->unit].name);
    buf_puts(out, r->keep == KEEP_REGISTERS ? ", a in registers" : "");
    if (r->split > 1) buf_printf(out, ", turns in %d slices", (int)r->split);
}

static void tell_clocks(Buf *out, const char *what, double clocks, const char *end) {
    buf_puts(out, what);
    mp_fixed(out, clocks, 0);
    buf_puts(out, end);
}

void mp_chain_explain(const Story *s) {
    const RProg *r = &s->best->prog;
    const Model *m = &s->m;
    ChainTurn t = mp_chain_turn(m, r);
    ChainClocks c = mp_chain_clocks(m, r, &t, 1);
    int64_t turns = rprog_chain_turns(s->p, r);
    buf_printf(s->out, "  chain: scores stay in registers, where they become an operand of the "
               "second product; %lld turn%s of %d columns", (long long)turns, mp_plural(turns),
               (int)r->block.extent[AX_N]);
    double visited = mp_chain_turns(m, r);
    if (visited < (double)turns) {
        buf_puts(s->out, ", of which blocks visit ");
        mp_fixed(s->out, visited, 1);
        buf_puts(s->out, " in the mean");
    }
    tell_clocks(s->out, "\n  a turn of one block: ", c.unit[0] + c.unit[1], " clk for the unit, ");
    tell_clocks(s->out, "", c.folds, " to fold rows and correct results, ");
    tell_clocks(s->out, "", c.powers, " for powers, one after the other\n");
    buf_printf(s->out, "  %d of %d registers; %d bytes of shared memory, %d block%s per SM\n",
               r->registers, (int)m->dev->limits.registers_per_thread.value, (int)r->smem,
               r->blocks_per_sm, mp_plural(r->blocks_per_sm));
}
