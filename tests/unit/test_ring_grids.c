/* links: sim */
/* Blocks that stay for several tiles, on devices that hold any number of them: one cluster does all
 * tiles, and so do many, whatever the plan expected; bit for bit as te_eval.  And what is planned
 * where one GPC is short.  */
#include "microperf/matrix.h"
#include "microperf/microperf.h"
#include "plan_fixture.h"
#include "ring_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

typedef struct {
    Arena *a;
    Nvrtc *nvrtc;
    Device *dev;
} Setting;

static void open_setting(Setting *s) {
    s->a = arena_create(NULL);
    Diag d = diag_new(s->a);
    s->dev = fixture_device(s->a, "h100");
    s->dev->limits.sm_count.value = 8;
    assert_int_equal(nvrtc_open(s->a, &d, NULL, s->dev->arch, &s->nvrtc), ST_OK);
}

static void compiled(const Setting *s, KernelCase *c, const RingFamily *f, const char *text) {
    const char *wrong = kernel_open(c, s->a, s->dev, text, NULL);
    if (!wrong) wrong = ring_plan(c, ring_unit_of(s->dev, "wgmma.bf16.f32"), f, 256);
    if (!wrong) wrong = kernel_emit(c);
    if (!wrong) wrong = kernel_compile(c, s->nvrtc, false);
    if (wrong) fail_msg("%s", kernel_report(c, f->name, wrong));
}

static int64_t launched(const KernelCase *c) {
    return cg_resident(c->te, &c->program, &c->program.kernel[0], (KernelTaken){0, NULL}, c->size,
                       c->resident);
}

/* Whole clusters, no more than there is work for; by the plan where the device tells nothing.  */
static void counts_blocks(KernelCase *c) {
    const KernelLaunch *k = &c->program.kernel[0];
    int64_t together = k->cluster[0], wanted = rprog_wanted(c->plan.problem, c->plan.prog);
    assert_true(k->stays && wanted % together == 0);
    for (c->resident = 0; c->resident < 2 * wanted; c->resident++) {
        int64_t has = launched(c), fits = c->resident - c->resident % together;
        if (fits == 0) assert_int_equal(has, k->grid[0]);
        else assert_int_equal(has, fits < wanted ? fits : wanted);
    }
}

static void runs_on_any_device(void **state) {
    (void)state;
    static const char text[] = "op f(A: bf16[448,128], B: bf16[256,128]) -> C: bf16[448,256] {"
                               " C[m,n] += A[m,k] * B[n,k]; }";
    static const int held[] = {1, 3, 1000};      /* clusters */
    Setting s;
    open_setting(&s);
    for (int i = 0; i < RING_FAMILIES; i++) {
        ArenaMark mark = arena_mark(s.a);
        KernelCase c = {0};
        if (ring_family[i].grid == GRID_TILES) continue;
        compiled(&s, &c, &ring_family[i], text);
        counts_blocks(&c);
        assert_null(kernel_settle(&c, TE_FILL_INTEGERS, 1));
        for (unsigned n = 0; n < sizeof held / sizeof *held; n++) {
            c.resident = held[n] * c.program.kernel[0].cluster[0];
            const char *wrong = kernel_run(&c, TE_FILL_INTEGERS, n + 1, true);
            if (wrong) fail_msg("%d clusters: %s", held[n], kernel_report(&c, "", wrong));
        }
        arena_reset(s.a, mark);
    }
    arena_destroy(s.a);
}

/* The kernel of one plan is the same text whatever the device holds.  */
static void grid_is_no_constant(void **state) {
    (void)state;
    Setting s;
    open_setting(&s);
    const char *source[2];
    int64_t blocks[2];
    for (int i = 0; i < 2; i++) {
        KernelCase c = {0};
        s.dev->limits.sm_count.value = i ? 8 : 4;
        compiled(&s, &c, &ring_family[15], "op f(A: bf16[512,64], B: bf16[256,64]) ->"
                                           " C: bf16[512,256] { C[m,n] += A[m,k] * B[n,k]; }");
        blocks[i] = c.program.kernel[0].grid[0];
        source[i] = strstr(c.program.source, "extern");
    }
    assert_int_equal(blocks[1], 2 * blocks[0]);
    assert_string_equal(source[0], source[1]);
    arena_destroy(s.a);
}

/* Rows of output boxes below 64 bytes are asked of L2 as 64.  */
static void narrow_rows_cost_as_wide_ones(void **state) {
    (void)state;
    static const struct {
        int columns, row, times;
    } of[] = {{128, 128, 1}, {96, 64, 1}, {80, 32, 2}, {112, 32, 2}};
    Setting s;
    open_setting(&s);
    const RingFamily *f = ring_family;
    while (f->via != VIA_BOXES) f++;
    for (unsigned i = 0; i < sizeof of / sizeof *of; i++) {
        KernelCase c = {0};
        const char *wrong = kernel_open(&c, s.a, s.dev, "op f(A: bf16[512,64], B: bf16[1680,64]) ->"
                                        " C: bf16[512,1680] { C[m,n] += A[m,k] * B[n,k]; }", NULL);
        if (!wrong) wrong = ring_plan(&c, ring_unit_of(s.dev, "wgmma.bf16.f32"), f, of[i].columns);
        if (wrong) fail_msg("%s", wrong);
        Model m = mp_model(c.plan.problem, s.dev);
        assert_int_equal(rprog_box_row(c.plan.problem, c.plan.prog), of[i].row);
        assert_true(mp_boxes_asked(&m, c.plan.prog, 4096) == 4096.0 * of[i].times);
        c.plan.prog->via = VIA_DIRECT;
        assert_true(mp_boxes_asked(&m, c.plan.prog, 4096) == 4096);
    }
    arena_destroy(s.a);
}

/* ---- what is planned ---- */

/* M, N and K of common bf16 products.  */
static const int common[][3] = {
    {512, 512, 512},      {1024, 1024, 1024},  {2048, 2048, 2048},   {3072, 3072, 3072},
    {4096, 4096, 4096},   {6144, 6144, 6144},  {8192, 8192, 8192},   {16384, 16384, 16384},
    {4096, 11008, 4096},  {4096, 4096, 11008}, {4096, 14336, 4096},  {4096, 4096, 14336},
    {4096, 6144, 4096},   {2048, 28672, 8192}, {2048, 8192, 28672},  {2048, 10240, 8192},
    {1024, 4096, 4096},   {1024, 14336, 4096}, {512, 4096, 4096},    {512, 14336, 4096},
    {256, 4096, 4096},    {8192, 4096, 4096},  {8192, 14336, 4096},  {16384, 4096, 4096},
    {2048, 2048, 8192},
};
enum { COMMON = sizeof common / sizeof *common };

static Ranked best(Arena *a, const Problem *p, const Device *dev) {
    Diag d = diag_new(a);
    RProgSet set;
    Ranked *r;
    assert_int_equal(rprog_candidates(a, &d, p, dev, NULL, &set), ST_OK);
    assert_int_equal(mp_rank(a, p, dev, &set, 1, &r), 1);
    return r[0];
}

static double us_of(const Problem *p, const RProg *r, const Device *dev) {
    Estimate e;
    mp_estimate(p, r, dev, &e);
    return e.us;
}

/* A profile has the fewest clusters that a board of its name holds.  A board that holds more is no
 * slower than what is predicted, and loses less by the plan taken than a board with a short GPC
 * would by the plan of one whose GPCs are even.  */
static void a_short_gpc_costs_little(void **state) {
    (void)state;
    double even[] = {132, 66, 32, 16};
    for (int i = 0; i < COMMON; i++) {
        Arena *a = arena_create(NULL);
        const Device *dev = fixture_device(a, "h100");
        Device *other = fixture_device(a, "h100");
        other->limits.clusters_resident.py = even;
        Problem p = fixture_matmul(1, common[i][0], common[i][1], common[i][2], false, false,
                                   TE_BF16);
        Ranked taken = best(a, &p, dev), bold = best(a, &p, other);
        double there = us_of(&p, &taken.prog, other), here = us_of(&p, &bold.prog, dev);
        if (there > taken.estimate.us || there - bold.estimate.us > here - taken.estimate.us)
            fail_msg("%dx%dx%d: %.2f us, with even GPCs %.2f; the best there %.2f, here %.2f",
                     common[i][0], common[i][1], common[i][2], taken.estimate.us, there,
                     bold.estimate.us, here);
        arena_destroy(a);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(runs_on_any_device),
        cmocka_unit_test(grid_is_no_constant), cmocka_unit_test(narrow_rows_cost_as_wide_ones),
        cmocka_unit_test(a_short_gpc_costs_little),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
