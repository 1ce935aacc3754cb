#include "driver/check.h"

typedef struct {
    const char *name;
    uint64_t counted;
    double predicted;         /* < 0: the model has no such term */
} Line;

/* Instructions of the plan's compute unit.  */
static uint64_t unit_count(const PlanSet *set, const WholePlan *plan, const SimCounters *t) {
    const RProg *r = &plan->rplan.prog[set->dominant];
    const ComputeUnit *u = &set->dev->unit[r->unit];
    if (u->scope != SCOPE_THREAD) return t->pipe[SIM_PIPE_TENSOR];
    return u->acc == TE_F64 ? t->pipe[SIM_PIPE_DFMA] : t->pipe[SIM_PIPE_FFMA];
}

const char *check_counters(const PlanSet *set, const WholePlan *plan, const Run *run, Arena *a) {
    double sectors_in = 0, sectors_out = 0, wave_in = 0, wave_out = 0, fma = 0, blocks = 0;
    for (int g = 0; g < set->n_group; g++) {
        const Estimate *e = &plan->estimate[g];
        sectors_in += (double)e->load_sectors;
        sectors_out += (double)e->store_sectors;
        wave_in += (double)e->smem_load_wavefronts;
        wave_out += (double)e->smem_store_wavefronts;
        fma += (double)e->fma;
        blocks += (double)e->blocks;
    }
    const SimCounters *t = &run->main;
    double share = blocks > 0 ? (double)run->main_blocks / blocks : 0;
    const Line line[] = {
        {"global load sectors", t->global_load_sectors, sectors_in},
        {"global store sectors", t->global_store_sectors, sectors_out},
        {"shared load wavefronts", t->shared_load_wavefronts, wave_in},
        {"shared store wavefronts", t->shared_store_wavefronts, wave_out},
        {"bank conflicts", t->bank_conflicts, -1},
        {"unit instructions (warp)", unit_count(set, plan, t), fma},
        {"instructions (warp)", t->instructions, -1},
        {"barriers (warp)", t->barriers, -1},
        {"unique sectors read", t->unique_load_sectors, -1},
        {"unique sectors written", t->unique_store_sectors, -1},
        {"local memory bytes", t->local_bytes, -1},
    };
    Buf b = buf_new(a);
    buf_printf(&b, "counters: %lld of %.0f blocks\n%-26s %16s %16s\n",
               (long long)run->main_blocks, blocks, "", "counted", "model");
    for (size_t i = 0; i < sizeof line / sizeof *line; i++) {
        buf_printf(&b, "%-26s %16llu", line[i].name, (unsigned long long)line[i].counted);
        if (line[i].predicted >= 0) buf_printf(&b, " %16.0f", line[i].predicted * share);
        buf_putc(&b, '\n');
    }
    return buf_str(&b);
}
