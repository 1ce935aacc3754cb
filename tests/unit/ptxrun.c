/* links: sim */
#include "ptxrun.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static void set(Figure *f, double value) { f->value = value; }

static void limits(DeviceLimits *l) {
    set(&l->sm_count, 4);
    set(&l->subpartitions, 4);
    set(&l->warp_size, 32);
    set(&l->threads_per_block, 1024);
    set(&l->threads_per_sm, 2048);
    set(&l->blocks_per_sm, 32);
    set(&l->barriers_per_block, 16);
    set(&l->registers_per_sm, 65536);
    set(&l->registers_per_block, 65536);
    set(&l->registers_per_thread, 255);
    set(&l->register_granule, 256);
    set(&l->smem_per_sm, 233472);
    set(&l->smem_per_block, 49152);
    set(&l->smem_per_block_optin, 232448);
    set(&l->smem_reserved, 1024);
    set(&l->smem_granule, 128);
    set(&l->cluster_max, 8);
    set(&l->grid_max, 2147483647);
    set(&l->issue_per_clk, 4);
    set(&l->clock_sm, 1000);
    set(&l->clock_sm_sustained, 1000);
}

void run_open(PtxRun *r) {
    *r = (PtxRun){.arena = arena_create(NULL)};
    assert_non_null(r->arena);
    r->diag = diag_new(r->arena);
    r->dev.name = r->dev.gpu = "test";
    r->dev.arch = "sm_90a";
    r->dev.cc_major = 9;
    limits(&r->dev.limits);
    assert_int_equal(sim_gpu_create(r->arena, &r->diag, &r->dev, &r->gpu), ST_OK);
    for (int k = 0; k < 3; k++) r->launch.grid[k] = r->launch.block[k] = 1;
    r->launch.block[0] = 32;
    r->options.threads = 1;
}

void run_close(PtxRun *r) { arena_destroy(r->arena); }

uint64_t run_memory(PtxRun *r, const void *init, size_t bytes) {
    uint64_t at;
    assert_true(r->n_arg < RUN_MAX_ARGS);
    assert_int_equal(sim_malloc(r->gpu, &r->diag, bytes, &at), ST_OK);
    assert_non_null(sim_host(r->gpu, at, bytes));          /* all of it, for run_host */
    if (init) assert_int_equal(sim_write(r->gpu, &r->diag, at, init, bytes), ST_OK);
    return r->arg[r->n_arg++] = at;
}

void run_number(PtxRun *r, uint64_t value) {
    assert_true(r->n_arg < RUN_MAX_ARGS);
    r->arg[r->n_arg++] = value;
}

void *run_host(PtxRun *r, int k) {
    void *p = sim_host(r->gpu, r->arg[k], 1);
    assert_non_null(p);
    return p;
}

static void print_diag(const PtxRun *r) {
    for (int k = 0; k < r->diag.count; k++) {
        print_message("%s:%d: %s\n", r->diag.messages[k].file ? r->diag.messages[k].file : "",
                      r->diag.messages[k].line, r->diag.messages[k].message);
    }
}

Status run_parsed(PtxRun *r, const SimModule *m, const char *kernel) {
    r->launch.module = m;
    r->launch.kernel = kernel;
    return sim_launch(r->gpu, r->arena, &r->diag, &r->launch, &r->options, &r->report);
}

bool run_text(PtxRun *r, const char *ptx) {
    SimModule *m;
    if (sim_parse(r->arena, &r->diag, "test.ptx", ptx, strlen(ptx), &m) != ST_OK) return false;
    r->launch.params = r->arg;
    r->launch.params_bytes = (size_t)r->n_arg * sizeof *r->arg;
    Status s = run_parsed(r, m, sim_kernel_name(m, 0));
    if (s != ST_OK && s != ST_SIMULATOR) print_diag(r);
    assert_true(s == ST_OK || s == ST_SIMULATOR);
    return s == ST_OK;
}

static void parse_or_fail(PtxRun *r, const char *ptx) {
    if (run_text(r, ptx)) return;
    print_diag(r);
    fail_msg("the text is refused:\n%s", ptx);
}

void run_clean(PtxRun *r, const char *ptx) {
    parse_or_fail(r, ptx);
    if (r->report.faults == 0) return;
    Buf text = buf_new(r->arena);
    sim_fault_text(&r->report.fault[0], &text);
    fail_msg("%llu faults, the first: %s\n%s", (unsigned long long)r->report.faults, buf_str(&text),
             ptx);
}

static bool expected(SimFaultKind got, int kind) {
    if (kind != RUN_UNORDERED) return (int)got == kind;
    return got == SIM_RACE_SHARED || got == SIM_UNINIT_SHARED || got == SIM_NOT_ARRIVED ||
           got == SIM_MBARRIER || got == SIM_PROXY_FENCE || got == SIM_WGMMA_OPERAND;
}

void run_faulty(PtxRun *r, const char *ptx, int kind) {
    parse_or_fail(r, ptx);
    if (r->report.faults && expected(r->report.fault[0].kind, kind)) return;
    Buf text = buf_new(r->arena);
    if (r->report.faults) sim_fault_text(&r->report.fault[0], &text);
    fail_msg("expected a fault of kind %d, got %s\n%s", kind,
             r->report.faults ? buf_str(&text) : "none", ptx);
}

const char *run_kernel(Arena *a, int n_param, const char *body) {
    Buf b = buf_new(a);
    buf_puts(&b, PTX_HEAD ".extern .shared .align 1024 .b8 smem[];\n.visible .entry k(");
    for (int p = 0; p < n_param; p++) buf_printf(&b, "%s.param .u64 p%d", p ? ", " : "", p);
    buf_puts(&b, ")\n{\n.reg .pred %p<16>;\n.reg .b16 %h<16>;\n.reg .b32 %r<400>;\n"
                 ".reg .b32 %t;\n.reg .b64 %l<64>;\n.reg .b64 %a<8>;\n.reg .f64 %d<32>;\n"

                 "mov.u32 %t, %tid.x;\n");
    for (int p = 0; p < n_param; p++) buf_printf(&b, "ld.param.u64 %%a%d, [p%d];\n", p, p);
    buf_puts(&b, body);
    buf_puts(&b, "\nret;\n}\n");
    return buf_str(&b);
}
