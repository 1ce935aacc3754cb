#include "driver/check/check.h"
#include "rprogram/derived.h"

#include <math.h>


/* The compute unit of the plan: the simulator's pipe, and the device's counter of it.  */
typedef struct {
    SimPipe pipe;
    CuptiCounter device;
    double scale;             /* to warp instructions */
} PipeCount;

static PipeCount pipe_count(const PlanSet *set, const WholePlan *plan) {
    if (set->n_group == 0) return (PipeCount){SIM_PIPE_FFMA, CUPTI_COUNTER_COUNT, 1.0 / WARP};
    const RProg *r = &plan->rplan.prog[set->dominant];
    const ComputeUnit *u = &set->dev->unit[r->unit];
    if (u->scope != SCOPE_THREAD) return (PipeCount){SIM_PIPE_TENSOR, CUPTI_TENSOR, 1};
    if (u->acc == TE_F64) return (PipeCount){SIM_PIPE_DFMA, CUPTI_DFMA, 1.0 / WARP};
    CuptiCounter ffma = u->a == TE_F32 ? CUPTI_FFMA : CUPTI_COUNTER_COUNT;
    return (PipeCount){SIM_PIPE_FFMA, ffma, 1.0 / WARP};
}

/* In order of the lines.  */
static void counted(SimPipe pipe, const SimCounters *t, double to[COUNTER_LINES]) {
    const double all[] = {
        (double)t->global_load_sectors,    (double)t->global_store_sectors,
        (double)t->shared_load_wavefronts, (double)t->shared_store_wavefronts,
        (double)t->bank_conflicts,         (double)t->pipe[pipe],
        (double)t->instructions,           (double)t->barriers,
        (double)t->unique_load_sectors,    (double)t->unique_store_sectors,
        -1,                                (double)t->local_bytes,
    };
    _Static_assert(sizeof all / sizeof *all == COUNTER_LINES, "one for each");
    for (int i = 0; i < COUNTER_LINES; i++) to[i] = all[i];
}

/* Every block that ran, and of each line the least, the mean and the most of them.  */
static void count_blocks(Arena *a, SimPipe pipe, const Run *run, CounterTable *out) {
    BlockCount *block = ARENA_ARRAY(a, BlockCount, run->main_blocks + 1);
    int64_t n = 0;
    for (const RunBlocks *l = run->main_launches; l; l = l->next) {
        for (int64_t i = 0; i < l->n; i++) {
            block[n] = (BlockCount){.program = l->program, .linear = l->block[i].linear};
            counted(pipe, &l->block[i].count, block[n++].counted);
        }
    }
    for (int i = 0; i < out->n; i++) {
        CounterLine *l = &out->line[i];
        for (int64_t k = 0; k < n; k++) {
            double v = block[k].counted[i];
            if (k == 0 || v < l->least) l->least = v;
            if (k == 0 || v > l->most) l->most = v;
            l->mean += v / (double)n;
        }
    }
    out->block = block;
    out->n_block = n;
}

void check_counters(Arena *a, const PlanSet *set, const WholePlan *plan, const Run *run,
                    CounterTable *out) {
    const CuptiCounter none = CUPTI_COUNTER_COUNT;
    double sectors_in = 0, sectors_out = 0, wave_in = 0, wave_out = 0, fma = 0, blocks = 0;
    double dram = 0, total[COUNTER_LINES];
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
    PipeCount pipe = pipe_count(set, plan);
    const struct {
        const char *name;
        double predicted;
        bool whole;
        CuptiCounter device[2];
        double scale;
    } line[] = {
        {"global load sectors", sectors_in, false, {CUPTI_L2_READ, none}, 1},
        {"global store sectors", sectors_out, false, {CUPTI_L2_WRITE, none}, 1},
        {"shared load wavefronts", wave_in, false, {CUPTI_SHARED_LOAD, none}, 1},
        {"shared store wavefronts", wave_out, false, {CUPTI_SHARED_STORE, none}, 1},
        {"bank conflicts", -1, false, {CUPTI_CONFLICTS, none}, 1},
        {"unit instructions (warp)", fma, false, {pipe.device, none}, pipe.scale},
        {"instructions (warp)", -1, false, {CUPTI_INSTRUCTIONS, none}, 1},
        {"barriers (warp)", -1, false, {none, none}, 1},
        {"unique sectors read", -1, true, {CUPTI_DRAM_READ, none}, 1.0 / SECTOR},
        {"unique sectors written", -1, true, {CUPTI_DRAM_WRITE, none}, 1.0 / SECTOR},
        {"DRAM bytes", dram, true, {CUPTI_DRAM_READ, CUPTI_DRAM_WRITE}, 1},
        {"local memory bytes", -1, false, {CUPTI_LOCAL_LOAD, CUPTI_LOCAL_STORE}, 1},
    };
    _Static_assert(sizeof line / sizeof *line == COUNTER_LINES, "a line for each");
    *out = (CounterTable){.blocks = blocks, .blocks_run = (double)run->main_blocks,
                          .n = COUNTER_LINES};
    counted(pipe.pipe, &run->main, total);
    for (int i = 0; i < out->n; i++)
        out->line[i] = (CounterLine){.name = line[i].name, .counted = total[i],
                                     .predicted = line[i].predicted, .whole = line[i].whole,
                                     .device = {line[i].device[0], line[i].device[1]},
                                     .scale = line[i].scale};
    count_blocks(a, pipe.pipe, run, out);
}

/* ---- as text ---- */
static double share_run(const CounterTable *t) {
    return t->blocks > 0 ? t->blocks_run / t->blocks : 0;
}

/* NAN: the device has no such counter.  */
static double of_device(const CounterLine *l, const double *device) {
    double sum = 0;
    if (!device || l->device[0] == CUPTI_COUNTER_COUNT) return NAN;
    for (int k = 0; k < 2; k++)
        if (l->device[k] != CUPTI_COUNTER_COUNT) sum += device[l->device[k]];
    return sum * l->scale;
}

static const char *const of_blocks[] = {"least block", "mean", "most block"};
enum { OF_BLOCKS = (int)(sizeof of_blocks / sizeof *of_blocks) };

static void block_titles(Buf *b, const CounterTable *t) {
    for (int i = 0; i < OF_BLOCKS && t->n_block; i++) buf_printf(b, " %13s", of_blocks[i]);
    buf_putc(b, '\n');
}

static void block_cells(Buf *b, const CounterTable *t, const CounterLine *l) {
    const double value[] = {l->least, l->mean, l->most};
    for (int i = 0; i < OF_BLOCKS && t->n_block && !l->whole; i++) {
        bool integer = value[i] == (double)(int64_t)value[i];
        buf_printf(b, " %13.*f", integer ? 0 : 1, value[i]);
    }
    buf_putc(b, '\n');
}

const char *counters_text(const CounterTable *t, Arena *a) {
    double share = share_run(t);
    Buf b = buf_new(a);
    buf_printf(&b, "counters: %.0f of %.0f blocks\n%-26s %16s %16s", t->blocks_run, t->blocks, "",
               "counted", "model");
    block_titles(&b, t);
    for (int i = 0; i < t->n; i++) {
        const CounterLine *l = &t->line[i];
        if (l->counted < 0) continue;
        buf_printf(&b, "%-26s %16.0f", l->name, l->counted);
        if (l->predicted >= 0) buf_printf(&b, " %16.0f", l->predicted * share);
        else if (t->n_block && !l->whole) buf_printf(&b, " %16s", "");
        block_cells(&b, t, l);
    }
    return buf_str(&b);
}

static void cell(Buf *b, bool there, double value) {
    if (there && !isnan(value)) buf_printf(b, " %16.0f", value);
    else buf_printf(b, " %16s", "-");
}

const char *counters_device_text(const CounterTable *t, const double *device, const char *where,
                                 Arena *a) {
    double share = share_run(t);
    Buf b = buf_new(a);
    buf_printf(&b, "counters: %s; model; simulator, from %.0f of %.0f blocks\n", where,
               t->blocks_run, t->blocks);
    buf_printf(&b, "%-26s %16s %16s %16s", "", "device", "model", "simulator");
    block_titles(&b, t);
    for (int i = 0; i < t->n; i++) {
        const CounterLine *l = &t->line[i];
        buf_printf(&b, "%-26s", l->name);
        cell(&b, true, of_device(l, device));
        cell(&b, l->predicted >= 0, l->predicted);
        cell(&b, l->counted >= 0 && share > 0 && (share >= 1 || !l->whole), l->counted / share);
        block_cells(&b, t, l);
    }
    return buf_str(&b);
}

/* ---- as JSON ---- */
static void member(Buf *b, const char *name, bool there, double value) {
    if (!there || isnan(value)) return;
    buf_printf(b, ", \"%s\": ", name);
    buf_real(b, value);
}

const char *counters_json(const CounterTable *t, const double *device, Arena *a) {
    Buf b = buf_new(a);
    buf_printf(&b, "{\"blocks\": %.0f, \"blocks_run\": %.0f, \"lines\": [", t->blocks,
               t->blocks_run);
    for (int i = 0; i < t->n; i++) {
        const CounterLine *l = &t->line[i];
        bool blocks = t->n_block && !l->whole;
        buf_printf(&b, "%s{\"name\": \"%s\"", i ? ", " : "", l->name);
        member(&b, "counted", l->counted >= 0, l->counted);
        member(&b, "model", l->predicted >= 0, l->predicted);
        member(&b, "device", true, of_device(l, device));
        member(&b, "least_block", blocks, l->least);
        member(&b, "mean_block", blocks, l->mean);
        member(&b, "most_block", blocks, l->most);
        buf_puts(&b, "}");
    }
    buf_puts(&b, "], \"per_block\": [");
    for (int64_t k = 0; k < t->n_block; k++) {
        const BlockCount *one = &t->block[k];
        buf_printf(&b, "%s{\"program\": %d, \"block\": %lld", k ? ", " : "", one->program,
                   (long long)one->linear);
        for (int i = 0; i < t->n; i++)
            member(&b, t->line[i].name, !t->line[i].whole, one->counted[i]);
        buf_puts(&b, "}");
    }
    buf_puts(&b, "]}");
    return buf_str(&b);
}
