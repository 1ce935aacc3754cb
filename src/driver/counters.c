#include "driver/check.h"

enum { SECTOR = 32, LANES = 32 };

/* Instructions of the plan's compute unit, and the device's counter of them.  */
typedef struct {
    uint64_t counted;
    CuptiCounter device;
    double scale;             /* to warp instructions */
} UnitCount;

static UnitCount unit_count(const PlanSet *set, const WholePlan *plan, const SimCounters *t) {
    const RProg *r = &plan->rplan.prog[set->dominant];
    const ComputeUnit *u = &set->dev->unit[r->unit];
    if (u->scope != SCOPE_THREAD) return (UnitCount){t->pipe[SIM_PIPE_TENSOR], CUPTI_TENSOR, 1};
    if (u->acc == TE_F64) return (UnitCount){t->pipe[SIM_PIPE_DFMA], CUPTI_DFMA, 1.0 / LANES};
    CuptiCounter ffma = u->a == TE_F32 ? CUPTI_FFMA : CUPTI_COUNTER_COUNT;
    return (UnitCount){t->pipe[SIM_PIPE_FFMA], ffma, 1.0 / LANES};
}

void check_counters(const PlanSet *set, const WholePlan *plan, const Run *run, CounterTable *out) {
    const CuptiCounter none = CUPTI_COUNTER_COUNT;
    double sectors_in = 0, sectors_out = 0, wave_in = 0, wave_out = 0, fma = 0, blocks = 0;
    double dram = 0;
    for (int g = 0; g < set->n_group; g++) {
        const Estimate *e = &plan->estimate[g];
        sectors_in += (double)e->load_sectors;
        sectors_out += (double)e->store_sectors;
        wave_in += (double)e->smem_load_wavefronts;
        wave_out += (double)e->smem_store_wavefronts;
        fma += (double)e->fma;
        dram += e->dram_bytes;
        blocks += (double)e->blocks;
    }
    const SimCounters *t = &run->main;
    UnitCount unit = unit_count(set, plan, t);
    const CounterLine line[] = {
        {"global load sectors", (double)t->global_load_sectors, sectors_in, false,
         {CUPTI_L2_READ, none}, 1},
        {"global store sectors", (double)t->global_store_sectors, sectors_out, false,
         {CUPTI_L2_WRITE, none}, 1},
        {"shared load wavefronts", (double)t->shared_load_wavefronts, wave_in, false,
         {CUPTI_SHARED_LOAD, none}, 1},
        {"shared store wavefronts", (double)t->shared_store_wavefronts, wave_out, false,
         {CUPTI_SHARED_STORE, none}, 1},
        {"bank conflicts", (double)t->bank_conflicts, -1, false, {CUPTI_CONFLICTS, none}, 1},
        {"unit instructions (warp)", (double)unit.counted, fma, false, {unit.device, none},
         unit.scale},
        {"instructions (warp)", (double)t->instructions, -1, false, {CUPTI_INSTRUCTIONS, none}, 1},
        {"barriers (warp)", (double)t->barriers, -1, false, {none, none}, 1},
        {"unique sectors read", (double)t->unique_load_sectors, -1, true,
         {CUPTI_DRAM_READ, none}, 1.0 / SECTOR},
        {"unique sectors written", (double)t->unique_store_sectors, -1, true,
         {CUPTI_DRAM_WRITE, none}, 1.0 / SECTOR},
        {"DRAM bytes", -1, dram, true, {CUPTI_DRAM_READ, CUPTI_DRAM_WRITE}, 1},
        {"local memory bytes", (double)t->local_bytes, -1, false,
         {CUPTI_LOCAL_LOAD, CUPTI_LOCAL_STORE}, 1},
    };
    _Static_assert(sizeof line / sizeof *line == COUNTER_LINES, "a line for each");
    *out = (CounterTable){.blocks = blocks, .blocks_run = (double)run->main_blocks,
                          .n = COUNTER_LINES};
    for (int i = 0; i < out->n; i++) out->line[i] = line[i];
}

static double share_run(const CounterTable *t) {
    return t->blocks > 0 ? t->blocks_run / t->blocks : 0;
}

const char *counters_text(const CounterTable *t, Arena *a) {
    double share = share_run(t);
    Buf b = buf_new(a);
    buf_printf(&b, "counters: %.0f of %.0f blocks\n%-26s %16s %16s\n", t->blocks_run, t->blocks, "",
               "counted", "model");
    for (int i = 0; i < t->n; i++) {
        const CounterLine *l = &t->line[i];
        if (l->counted < 0) continue;
        buf_printf(&b, "%-26s %16.0f", l->name, l->counted);
        if (l->predicted >= 0) buf_printf(&b, " %16.0f", l->predicted * share);
        buf_putc(&b, '\n');
    }
    return buf_str(&b);
}

static void cell(Buf *b, bool there, double value) {
    if (there) buf_printf(b, " %16.0f", value);
    else buf_printf(b, " %16s", "-");
}

const char *counters_device_text(const CounterTable *t, const double *device, const char *where,
                                 Arena *a) {
    double share = share_run(t);
    Buf b = buf_new(a);
    buf_printf(&b, "counters: %s; model; simulator, from %.0f of %.0f blocks\n", where,
               t->blocks_run, t->blocks);
    buf_printf(&b, "%-26s %16s %16s %16s\n", "", "device", "model", "simulator");
    for (int i = 0; i < t->n; i++) {
        const CounterLine *l = &t->line[i];
        double sum = 0;
        for (int k = 0; k < 2; k++)
            if (l->device[k] != CUPTI_COUNTER_COUNT) sum += device[l->device[k]];
        buf_printf(&b, "%-26s", l->name);
        cell(&b, l->device[0] != CUPTI_COUNTER_COUNT, sum * l->scale);
        cell(&b, l->predicted >= 0, l->predicted);
        cell(&b, l->counted >= 0 && share > 0 && (share >= 1 || !l->whole), l->counted / share);
        buf_putc(&b, '\n');
    }
    return buf_str(&b);
}
