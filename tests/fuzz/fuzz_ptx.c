/* links: sim */
/* Any PTX text is refused with an error that has a place, or runs on one block and ends: with a
 * result or with a fault.  */
#include "sim/linker/link.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { MEMORY = 4096, LARGE = 1 << 20 };

typedef struct {
    Arena *arena;
    const char *text;
    size_t len;
} Input;

static void limits(DeviceLimits *l) {
    l->sm_count.value = 2;
    l->subpartitions.value = 4;
    l->threads_per_block.value = 1024;
    l->threads_per_sm.value = 2048;
    l->barriers_per_block.value = 16;
    l->registers_per_sm.value = l->registers_per_block.value = 65536;
    l->registers_per_thread.value = 255;
    l->register_granule.value = 256;
    l->smem_per_sm.value = l->smem_per_block_optin.value = 65536;
    l->smem_reserved.value = 1024;
    l->smem_granule.value = 128;
    l->cluster_max.value = 8;
    l->grid_max.value = 65535;
    l->issue_per_clk.value = 4;
    l->blocks_per_sm.value = 32;
    l->warp_size.value = 32;
    l->clock_sm.value = l->clock_sm_sustained.value = 1000;
}

/* Every 8 bytes of the parameters are the address of some memory.  */
static void run(Arena *a, Diag *d, const SimModule *m, const char *kernel) {
    Device dev = {.name = "fuzz", .gpu = "fuzz", .arch = "sm_90a", .cc_major = 9};
    SimGpu *g;
    uint64_t at, params[64];
    SimReport report;
    limits(&dev.limits);
    if (sim_gpu_create(a, d, &dev, &g) != ST_OK) abort();
    if (sim_malloc(g, d, MEMORY, &at) != ST_OK) abort();
    for (int k = 0; k < 64; k++) params[k] = at;
    SimLaunch launch = {.module = m,
                        .kernel = kernel,
                        .grid = {2, 1, 1},
                        .block = {64, 1, 1},
                        .params = params,
                        .params_bytes = sizeof params};
    SimOptions options = {.seed = 1, .threads = 1, .max_instructions = 2000,
                          .timed = true, .per_block = true};
    sim_launch(g, a, d, &launch, &options, &report);
    Buf b = buf_new(a);
    for (int k = 0; k < report.n_fault; k++) sim_fault_text(&report.fault[k], &b);
}

static void one(void *user) {
    const Input *in = user;
    Diag d = diag_new(in->arena);
    SimModule *m;
    Buf b = buf_new(in->arena);
    Status s = sim_parse(in->arena, &d, "f", in->text, in->len, &m);
    if ((s == ST_OK) != (d.errors == 0)) abort();
    for (int i = 0; i < d.count; i++) {
        if (s != ST_OK && d.messages[i].line == 0) abort();
        diag_render(&d.messages[i], "fuzz", true, &b);
    }
    if (s != ST_OK || m->ptx->global_bytes + m->ptx->const_bytes > LARGE) return;
    for (int k = 0; k < sim_kernel_count(m); k++) {
        if (m->kernel[k]->local_bytes > 4096) continue;
        run(in->arena, &d, m, sim_kernel_name(m, k));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    Arena *a = arena_create(NULL);
    Input in = {a, (const char *)data, size};
    arena_try(a, one, &in);
    arena_destroy(a);
    return 0;
}
