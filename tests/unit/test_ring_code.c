/* links: sim */
/* The machine code of rings: the main loop has the products of a k-step, the warp that copies its
 * boxes, and what else stands in the loop is little and does not grow unseen.  Where NVDISASM names
 * a disassembler of NVIDIA's (of PyPI's nvidia-cuda-nvdisasm; LONG=1 looks for one in
 * build/nvdisasm, too), it has to find the same products.  */
#include "effort.h"
#include "plan_fixture.h"
#include "ring_fixture.h"
#include "sass.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Low 12 bits of instructions, as nvdisasm 13.0 names them: products by type, copies of boxes to
 * one block and (also of pixels) to several.  */
enum { HGMMA = 0x9f0, IGMMA = 0x9f1, QGMMA = 0x9f3, UTMALDG = 0x5b4, UTMALDG_MORE = 0x3b4 };
/* Zeros of a pair of registers; additions.  */
enum { CS2R = 0x805, FADD = 0x221 };

/* Others for each product of 256 columns.  With one of fewer columns, or several below each other,
 * a step is shared by others.  */
enum { OTHERS = 12 };

static const struct {
    const char *type, *out, *note, *unit, *name;
    uint32_t op;
} unit[] = {
    {"bf16", "bf16", "", "wgmma.bf16.f32", "HGMMA", HGMMA},
    {"f16", "f16", "", "wgmma.f16.f32", "HGMMA", HGMMA},
    {"f32", "f32", "@tf32", "wgmma.tf32.f32", "HGMMA", HGMMA},
    {"i8", "i32", "", "wgmma.i8.i32", "IGMMA", IGMMA},
    {"f8e4m3", "f32", "", "wgmma.f8e4m3.f32", "QGMMA", QGMMA},
};
enum { UNITS = sizeof unit / sizeof *unit };

/* Those of 256 columns are the classes of the best published kernels.  */
static const RingFamily family[] = {
    {"2 of 64x256, persistent pairs", 1, 256, {2, 1}, 4, 1, VIA_BOXES, RASTER_GROUPED, 2,
     GRID_PERSISTENT, false, false},
    {"2 of 64x256, three stages", 1, 256, {2, 1}, 3, 1, VIA_DIRECT, RASTER_GROUPED, 0, GRID_TILES,
     false, false},
    {"64x256, pingpong", 1, 256, {1, 1}, 4, 1, VIA_BOXES, RASTER_ROW, 0, GRID_PINGPONG, false,
     false},
    {"128x128, pingpong pairs", 2, 128, {1, 1}, 4, 1, VIA_BOXES, RASTER_ROW, 2, GRID_PINGPONG,
     false, false},
};
enum { FAMILIES = sizeof family / sizeof *family };

static const char *disassembler(void) {
    static const char own[] = "build/nvdisasm/nvdisasm";
    const char *named = getenv("NVDISASM");
    if (named && *named) return named;
    return effort_long() && access(own, X_OK) == 0 ? own : NULL;
}

/* How often the disassembler says `name` of the kernel's code; -1: it does not run.  */
static int said(const KernelCase *c, const char *name) {
    char path[] = "/tmp/ring.XXXXXX", line[512];
    int fd = mkstemp(path), n = 0;
    if (fd < 0) return -1;
    bool written = write(fd, c->code.cubin, c->code.cubin_len) == (ssize_t)c->code.cubin_len;
    close(fd);
    const char *command = arena_printf(c->arena, "'%s' -c %s", disassembler(), path);
    FILE *f = written ? popen(command, "r") : NULL;
    while (f && fgets(line, sizeof line, f)) n += strstr(line, name) && strstr(line, "gdesc[");
    bool ran = f && pclose(f) == 0;
    unlink(path);
    return ran ? n : -1;
}

/* Sums of a step that join others are one addition each, and not cleared before.  */
static const char *wrong_joins(KernelCase *c, const uint32_t *loop) {
    const RProg *r = &c->plan.prog[0];
    int lanes = 128, sums = r->warp.extent[AX_M] * r->warp.extent[AX_N] / lanes;
    if (!rprog_promotes(&c->plan.problem[0], c->dev, r)) return NULL;
    if (loop[FADD] != (uint32_t)sums)
        return arena_printf(c->arena, "%u additions for %d sums", loop[FADD], sums);
    return loop[CS2R] == 0 ? NULL : arena_printf(c->arena, "%u moves of zeros", loop[CS2R]);
}

/* Registers that move are there: a kernel that began with fewer would wait for them for ever.  */
static const char *wrong_registers(KernelCase *c) {
    const RProg *r = &c->plan.prog[0];
    int few, many, computing = rprog_computing(c->dev, r);
    if (!rprog_ring_registers(&c->plan.problem[0], c->dev, r, &few, &many)) return NULL;
    int held = c->code.kernel[0].registers * r->threads;
    int wanted = few * (r->threads - computing) + many * computing;
    return held >= wanted ? NULL : arena_printf(c->arena, "%d registers, %d move", held, wanted);
}

static const char *wrong_code(KernelCase *c, int u) {
    static uint32_t loop[SASS_OPCODES], all[SASS_OPCODES];
    const RProg *r = &c->plan.prog[0];
    const char *symbol = c->program.kernel[0].symbol;
    uint32_t op = unit[u].op, others = 0;
    if (!sass_loop_opcodes(c->code.cubin, c->code.cubin_len, symbol, 90, op, loop) ||
        !sass_opcodes(c->code.cubin, c->code.cubin_len, symbol, all))
        return "no loop with products";
    uint32_t want = (uint32_t)(r->warp.extent[AX_M] / r->thread.extent[AX_M] *
                               (r->warp.extent[AX_K] / r->thread.extent[AX_K]));
    for (int i = 0; i < SASS_OPCODES; i++) others += (uint32_t)i == op ? 0 : loop[i];
    print_message("# %s: %u products, %u others\n", unit[u].unit, loop[op], others);
    if (loop[op] != want)
        return arena_printf(c->arena, "%u products in a step, expected %u", loop[op], want);
    if (all[UTMALDG] + all[UTMALDG_MORE] != 2) return "not one copy for each operand";
    bool promotes = rprog_promotes(&c->plan.problem[0], c->dev, r);       /* and adds up sums */
    if (r->thread.extent[AX_N] == 256 && !promotes && others > OTHERS * want)
        return arena_printf(c->arena, "%u other instructions for %u products", others, want);
    const char *wrong = wrong_joins(c, loop);
    if (!wrong) wrong = wrong_registers(c);
    if (wrong || !disassembler()) return wrong;
    int n = said(c, unit[u].name);
    return n < 0                 ? "the disassembler does not run"
           : (uint32_t)n != all[op] ? "the disassembler finds another number of products"
                                 : NULL;
}

static void test_code(void **state) {
    (void)state;
    Arena *a = arena_create(NULL);
    Diag d = diag_new(a);
    Nvrtc *nvrtc;
    int failed = 0;
    const Device *dev = fixture_device(a, "h100");
    assert_int_equal(nvrtc_open(a, &d, NULL, dev->arch, &nvrtc), ST_OK);
    for (int i = 0; i < UNITS * FAMILIES; i++) {
        const RingFamily *f = &family[i % FAMILIES];
        int u = i / FAMILIES;
        if (!effort_drawn(i, 11)) continue;
        KernelCase c = {0};
        const char *text = arena_printf(a, "op f(A: %s[4096,4096], B: %s[4096,4096]) ->"
                                        " C: %s[4096,4096] { C[m,n] += A[m,k] * B[n,k] %s; }",
                                        unit[u].type, unit[u].type, unit[u].out, unit[u].note);
        const char *wrong = kernel_open(&c, a, dev, text, NULL);
        if (!wrong) wrong = ring_plan(&c, ring_unit_of(dev, unit[u].unit), f, 256);
        if (!wrong) wrong = kernel_emit(&c);
        if (!wrong) wrong = kernel_compile(&c, nvrtc, true);
        if (!wrong) wrong = wrong_code(&c, u);
        if (wrong) print_error("%s, %s: %s\n", unit[u].unit, f->name, wrong);
        failed += wrong != NULL;
    }
    if (!disassembler())
        print_message("# not compared with nvdisasm: NVDISASM names none, tools/setup --nvdisasm "
                      "gets one\n");
    assert_int_equal(failed, 0);
    arena_destroy(a);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_code)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
