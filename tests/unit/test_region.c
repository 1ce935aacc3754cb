/* links: sim */
/* Operands whose region lies in shared memory as a whole, on the simulator against te_eval, bit for
 * bit: layouts, channels, strides, paddings, dilations, types and units, with tiles within a row
 * of the image, over several rows, and beyond its end.  LONG=1 takes more plans of each.  */
#include "effort.h"
#include "kernel_fixture.h"
#include "plan_fixture.h"
#include "workers.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Boxes bring the region, of warpgroups, also one whose pixels are the columns of the results; rows
 * are blocks of pixels; threads make chunks of pixels that begin anywhere or whose channels lie
 * apart.  */
enum { BOXES = 1, TURNED = 2, BLOCKS = 4, JOINS = 8 };

/* A convolution: layouts of X and K by their subscripts.  */
typedef struct {
    const char *device, *type, *out, *note;
    bool last;                /* channels innermost */
    bool filters_last;        /* of the weights, filters innermost */
    int n, c, h, w, f, r, s, stride, pad, dil;
    int how;
} Conv;

static const Conv conv[] = {
    {"h200", "f16", "f16", "", true, true, 2, 3, 16, 32, 32, 7, 7, 2, 3, 1, 0},
    {"h200", "f16", "f16", "", true, false, 1, 3, 15, 29, 24, 7, 7, 2, 3, 1, 0},
    {"a100", "bf16", "f32", "", true, true, 1, 1, 20, 40, 16, 5, 5, 1, 2, 1, 0},
    {"h200", "f16", "f16", "", true, true, 2, 2, 16, 16, 16, 3, 5, 1, 1, 1, 0},
    {"rtx4090", "f16", "f16", "", true, true, 1, 4, 17, 31, 16, 7, 7, 2, 0, 1, 0},
    {"h200", "f16", "f32", "", true, true, 1, 5, 20, 48, 16, 9, 9, 3, 1, 1, 0},
    {"h200", "f16", "f16", "", true, true, 1, 6, 14, 24, 16, 3, 3, 1, 2, 2, 0},
    {"a100", "f16", "f16", "", true, false, 1, 7, 13, 27, 8, 3, 3, 1, 1, 2, 0},
    {"h200", "f16", "f16", "", false, true, 1, 3, 16, 32, 32, 7, 7, 2, 3, 1, 0},
    {"a100", "bf16", "bf16", "", false, false, 1, 2, 15, 35, 16, 5, 5, 1, 2, 1, 0},
    {"rtx4090", "f16", "f16", "", false, false, 2, 3, 16, 16, 24, 3, 3, 1, 1, 1, 0},
    {"h200", "f16", "f16", "", false, false, 1, 3, 32, 48, 16, 6, 8, 2, 1, 2, 0},
    {"h200", "f32", "f32", "", false, false, 1, 3, 16, 32, 32, 7, 7, 2, 3, 1, 0},
    {"a100", "f32", "f32", "", true, true, 2, 3, 16, 16, 32, 5, 5, 1, 2, 1, 0},
    {"rtx4090", "f32", "f32", "", false, true, 1, 1, 15, 37, 16, 3, 3, 1, 1, 1, 0},
    {"h200", "f32", "f32", "", true, false, 1, 2, 24, 60, 16, 9, 9, 3, 2, 1, 0},
    {"a100", "f32", "f32", "@tf32", true, true, 1, 3, 16, 32, 32, 7, 7, 2, 3, 1, 0},
    {"h200", "f32", "f32", "@tf32", false, false, 1, 3, 15, 33, 16, 5, 5, 2, 2, 1, 0},
    {"h200", "f32", "f32", "@fp32x3", false, true, 1, 2, 14, 24, 16, 5, 5, 1, 1, 1, 0},
    {"a100", "i8", "i32", "", true, true, 1, 3, 16, 32, 16, 7, 7, 2, 3, 1, 0},
    {"h200", "i8", "i32", "", true, false, 1, 2, 15, 30, 16, 5, 5, 2, 2, 1, 0},
    {"a100", "i8", "i32", "", false, false, 1, 3, 16, 32, 16, 5, 5, 1, 2, 1, 0},
    {"h200", "u8", "i32", "", true, true, 1, 4, 24, 32, 16, 7, 7, 2, 1, 1, 0},
    {"t4", "f16", "f16", "", true, true, 1, 3, 16, 32, 16, 7, 7, 2, 3, 1, 0},
    {"t4", "f32", "f32", "", false, false, 1, 3, 15, 32, 16, 5, 5, 1, 2, 1, 0},
    {"h200", "f64", "f64", "", true, true, 1, 1, 14, 20, 16, 5, 5, 1, 2, 1, 0},
    {"a100", "f16", "f16", "", true, true, 2, 16, 16, 16, 24, 3, 3, 1, 1, 1, 0},
    {"h200", "bf16", "f32", "", true, false, 1, 24, 15, 29, 16, 5, 5, 2, 2, 1, 0},
    {"rtx4090", "f16", "f16", "", true, true, 1, 8, 16, 21, 40, 5, 3, 1, 2, 2, 0},
    {"t4", "f16", "f16", "", true, true, 2, 32, 10, 18, 16, 3, 3, 1, 0, 1, 0},
    {"a100", "f32", "f32", "@tf32", true, true, 1, 12, 16, 16, 16, 3, 3, 1, 1, 1, 0},
    {"a100", "i8", "i32", "", true, false, 1, 32, 16, 16, 16, 3, 3, 1, 1, 1, 0},
    {"a100", "f16", "f16", "", true, true, 3, 16, 14, 14, 16, 3, 3, 1, 1, 1, 0},
    {"h200", "bf16", "bf16", "", true, true, 5, 16, 11, 9, 16, 5, 5, 2, 2, 1, 0},
    {"rtx4090", "f16", "f32", "", true, false, 4, 8, 7, 7, 24, 3, 3, 1, 0, 1, 0},
    {"a100", "f16", "f16", "", true, true, 3, 3, 13, 15, 16, 5, 5, 3, 2, 1, 0},
    {"t4", "f32", "f32", "", false, true, 3, 2, 9, 11, 16, 4, 3, 1, 1, 2, 0},
    {"h200", "f16", "f16", "", true, true, 3, 64, 11, 13, 64, 3, 3, 1, 1, 1, BOXES},
    {"h200", "bf16", "f32", "", true, false, 2, 128, 13, 11, 40, 3, 5, 1, 2, 1, BOXES},
    {"h200", "f16", "f16", "", true, true, 5, 64, 15, 14, 64, 3, 3, 2, 1, 1, BOXES},
    {"h200", "f16", "f32", "", true, true, 3, 48, 12, 15, 64, 3, 3, 1, 2, 2, BOXES},
    {"h200", "f16", "f16", "", true, true, 2, 96, 9, 10, 64, 5, 3, 1, 0, 1, BOXES},
    {"h200", "i8", "i32", "", true, false, 3, 128, 10, 11, 32, 3, 3, 1, 1, 1, BOXES},
    {"h200", "f32", "f32", "@tf32", true, false, 3, 32, 9, 11, 24, 3, 3, 1, 1, 1, BOXES},
    {"h200", "f16", "f16", "", true, false, 3, 64, 11, 10, 48, 3, 3, 1, 1, 1, BOXES | TURNED},
    {"h200", "bf16", "bf16", "", true, true, 4, 192, 7, 7, 64, 3, 3, 1, 1, 1, BOXES},
    {"h200", "f16", "f16", "", true, true, 2, 64, 16, 24, 64, 3, 3, 1, 1, 1, BOXES | BLOCKS},
    {"h200", "bf16", "f32", "", true, false, 1, 128, 24, 18, 40, 3, 5, 1, 1, 1, BOXES | BLOCKS},
    {"h200", "f16", "f16", "", true, true, 1, 48, 24, 32, 72, 3, 3, 1, 2, 2, BOXES | BLOCKS},
    {"a100", "f16", "f16", "", true, true, 1, 3, 64, 48, 16, 5, 5, 2, 2, 1, BLOCKS},
    {"t4", "f16", "f16", "", true, false, 2, 16, 16, 16, 24, 3, 3, 1, 1, 1, BLOCKS},
    {"a100", "f16", "f16", "", true, true, 3, 13, 16, 14, 16, 3, 3, 1, 1, 1, JOINS},
    {"h200", "bf16", "f32", "", true, false, 2, 21, 12, 12, 24, 3, 3, 1, 1, 1, JOINS},
    {"rtx4090", "i8", "i32", "", true, false, 1, 27, 16, 16, 16, 3, 3, 1, 1, 1, JOINS},
    {"t4", "f16", "f16", "", true, true, 2, 9, 16, 11, 16, 5, 3, 1, 0, 1, JOINS},
    {"h200", "f16", "f16", "", true, true, 4, 61, 12, 11, 64, 3, 3, 1, 1, 1, BOXES | JOINS},
    {"h200", "bf16", "f32", "", true, true, 2, 127, 11, 12, 64, 3, 3, 1, 1, 1, BOXES | JOINS},
    {"a100", "f32", "f32", "@tf32", true, false, 1, 7, 16, 16, 8, 3, 3, 1, 1, 1, JOINS},
    {"t4", "f32", "f32", "", false, true, 1, 32, 9, 12, 64, 3, 3, 1, 1, 1, 0},
    {"a100", "f16", "f16", "", false, false, 2, 16, 16, 16, 24, 3, 3, 1, 1, 1, JOINS},
    {"rtx4090", "f16", "f32", "", false, false, 4, 9, 14, 14, 24, 3, 3, 1, 0, 1, JOINS},
    {"t4", "f16", "f16", "", false, true, 1, 16, 18, 24, 16, 5, 5, 2, 2, 1, JOINS},
    {"a100", "i8", "i32", "", false, false, 1, 32, 16, 16, 16, 3, 3, 1, 1, 1, JOINS},
    {"a100", "f32", "f32", "@tf32", false, false, 1, 12, 16, 16, 16, 3, 3, 1, 1, 1, JOINS},
    {"h200", "f16", "f16", "", false, false, 3, 64, 12, 16, 64, 3, 3, 1, 1, 1, BOXES | JOINS},
    {"h200", "bf16", "f32", "", false, true, 2, 61, 11, 20, 64, 3, 3, 1, 1, 1, BOXES | JOINS},
    {"h200", "f32", "f32", "@tf32", false, false, 3, 32, 9, 12, 24, 3, 3, 1, 1, 1, BOXES | JOINS},
};
enum { CONVS = sizeof conv / sizeof *conv, FEW = 1, MANY = 24 };

static const char *text_of(Arena *a, const Conv *x) {
    int p = (x->h + 2 * x->pad - x->dil * (x->r - 1) - 1) / x->stride + 1;
    int q = (x->w + 2 * x->pad - x->dil * (x->s - 1) - 1) / x->stride + 1;
    const char *at = arena_printf(a, "p*%d+r*%d-%d, q*%d+s*%d-%d", x->stride, x->dil, x->pad,
                                  x->stride, x->dil, x->pad);
    const char *k = x->filters_last ? "r,s,c,f" : x->last ? "f,r,s,c" : "f,c,r,s";
    const char *shape = x->filters_last ? arena_printf(a, "%d,%d,%d,%d", x->r, x->s, x->c, x->f)
                        : x->last       ? arena_printf(a, "%d,%d,%d,%d", x->f, x->r, x->s, x->c)
                                        : arena_printf(a, "%d,%d,%d,%d", x->f, x->c, x->r, x->s);
    if (x->how & TURNED)
        return arena_printf(a, "op f(X: %s[%d,%d,%d,%d], K: %s[%s]) -> Y: %s[%d,%d,%d,%d] "
                               "{ Y[n,f,p,q] += K[%s] * (X[n, %s, c] else 0) %s; }",
                            x->type, x->n, x->h, x->w, x->c, x->type, shape, x->out, x->n, x->f,
                            p, q, k, at, x->note);
    if (x->last)
        return arena_printf(a, "op f(X: %s[%d,%d,%d,%d], K: %s[%s]) -> Y: %s[%d,%d,%d,%d] "
                               "{ Y[n,p,q,f] += (X[n, %s, c] else 0) * K[%s] %s; }",
                            x->type, x->n, x->h, x->w, x->c, x->type, shape, x->out, x->n, p, q,
                            x->f, at, k, x->note);
    return arena_printf(a, "op f(X: %s[%d,%d,%d,%d], K: %s[%s]) -> Y: %s[%d,%d,%d,%d] "
                           "{ Y[n,f,p,q] += (X[n, c, %s] else 0) * K[%s] %s; }",
                        x->type, x->n, x->c, x->h, x->w, x->type, shape, x->out, x->n, x->f, p, q,
                        at, k, x->note);
}

static bool has_region(const RProg *r, int how) {
    const RLoad *l = &r->load[r->load[1].region];
    bool joins = rprog_through_registers(l) && l->vec > 1;
    return l->region && rprog_region_boxes(l) == (how & BOXES) && (joins || !(how & JOINS));
}

typedef struct {
    const Conv *conv;
    int plans;                /* to try, spread over all; SEED draws the first */
    int ran, matrix, whole, ragged, pairs, matrices, images, boxes, stays, joined, parts;
    char wrong[2000];
} Job;

/* Of the product, behind which nothing comes.  */
static int last(const KernelCase *c) { return c->plan.n - 1; }

/* The n-th of those with a region.  */
static const RProg *region_of(const KernelCase *c, int how, int n) {
    const RProgSet *set = &c->set[last(c)];
    for (int i = 0; i < set->n; i++) {
        if (has_region(&set->prog[i], how) && n-- == 0) return &set->prog[i];
    }
    return NULL;
}

static void count(Job *j, const KernelCase *c) {
    const RProg *r = &c->plan.prog[last(c)];
    const Problem *p = &c->plan.problem[last(c)];
    RRegion x;
    rprog_region(p, r, r->load[1].region, &x);
    j->ran++;
    j->matrix += rprog_matrix(c->dev, r);
    j->whole += x.whole;
    j->ragged += rprog_region_zeros(p, r, &x) > 0;
    j->pairs += x.pair > 1;
    j->images += x.period > 0;
    j->boxes += x.span > 0;
    j->joined += x.anywhere;
    j->stays += x.span > 0 && rprog_persistent(r);
    j->parts += x.parts > 1;
    j->matrices += rprog_matrix(c->dev, r) && x.chunk > 0;
}

/* A plan of the case, whole: NULL, or what is wrong.  */
static const char *prove(KernelCase *c, Nvrtc *n, const RProg *r, uint64_t seed) {
    for (int g = 0; g < last(c); g++) c->plan.prog[g] = c->set[g].prog[0];
    c->plan.prog[last(c)] = *r;
    const char *wrong = rprog_check(&c->plan.problem[last(c)], c->dev, r);
    if (!wrong) wrong = kernel_emit(c);
    if (!wrong) wrong = kernel_compile(c, n, false);
    return wrong ? wrong : kernel_run(c, TE_FILL_INTEGERS, seed, true);
}

static void work(void *user) {
    Job *j = user;
    Arena *a = arena_create(NULL);
    KernelCase c;
    Nvrtc *n = NULL;
    Device *dev = fixture_device(a, j->conv->device);
    int how = j->conv->how;
    if (how & BOXES) dev->limits.sm_count.value = 2;  /* blocks that stay have several tiles */
    unsigned taken = how & BLOCKS ? BLOCKED : how & JOINS ? FILLED : USUAL;
    const char *text = text_of(a, j->conv);
    const char *wrong = kernel_open_decided(&c, a, dev, text, NULL, taken);
    if (!wrong && nvrtc_open(a, &c.diag, NULL, dev->arch, &n)) wrong = "no NVRTC";
    if (!wrong && decided(c.normal) != taken) wrong = "it is not decided so";
    int all = 0;
    for (int i = 0; !wrong && i < c.set[last(&c)].n; i++)
        all += has_region(&c.set[last(&c)].prog[i], how);
    int64_t first = effort_long() ? 0 : (int64_t)(effort_seed() % 1000);
    for (int i = 0; i < j->plans && i < all && !wrong; i++) {
        const RProg *r = region_of(&c, how, (int)(((int64_t)i * all / j->plans + first) % all));
        wrong = prove(&c, n, r, (uint64_t)i + 1);
        if (!wrong) count(j, &c);
    }
    if (wrong) snprintf(j->wrong, sizeof j->wrong, "%.1900s", kernel_report(&c, text, wrong));
    arena_destroy(a);
}

static bool run_job(void *user, int64_t i, int worker) {
    (void)worker;
    Arena *guard = arena_create(NULL);
    bool done = guard && arena_try(guard, work, (Job *)user + i);
    arena_destroy(guard);
    return done;
}

/* One element of the input is infinite.  What lies behind K, or outside of the image, is multiplied
 * by zeros and must be zero, too: infinity times zero would spoil sums that do not read it.  */
static const char *run_infinite(Arena *a, KernelCase *c, const Device *dev, Nvrtc *n) {
    enum { INFINITE = 0x7c00 };
    RRegion x;
    const RProg *r;
    int i = 0;
    do {
        if (!(r = region_of(c, 0, i++))) return "no plan with zeros behind K";
    } while (!rprog_matrix(dev, r) || !rprog_region(&c->plan.problem[0], r, 0, &x) ||
             rprog_region_zeros(&c->plan.problem[0], r, &x) == 0);
    TeData *in = ARENA_ARRAY(a, TeData, 2);
    for (int t = 0; t < 2; t++) {
        in[t].bytes = te_tensor_bytes(&c->te->tensor[t]);
        in[t].data = arena_alloc(a, in[t].bytes);
        for (size_t e = 0; e < in[t].bytes / 2; e++)
            ((uint16_t *)in[t].data)[e] = (uint16_t)(t ? 0x3c00 : (e * 7 % 5 ? 0x3c00 : 0));
    }
    /* The first element that a place behind K would give to a row of the image.  */
    ((uint16_t *)in[0].data)[(12 * conv[0].w + 13) * conv[0].c] = INFINITE;
    c->in = in;
    c->plan.prog[0] = *r;
    const char *wrong = kernel_emit(c);
    if (!wrong) wrong = kernel_compile(c, n, false);
    return wrong ? wrong : kernel_run(c, TE_FILL_INTEGERS, 1, true);
}

static void test_infinite(void **state) {
    (void)state;
    Arena *a = arena_create(NULL);
    Diag d = diag_new(a);
    KernelCase c;
    Nvrtc *n = NULL;
    Device *dev = fixture_device(a, conv[0].device);
    assert_int_equal(nvrtc_open(a, &d, NULL, dev->arch, &n), ST_OK);
    const char *text = text_of(a, &conv[0]), *wrong = kernel_open(&c, a, dev, text, NULL);
    if (!wrong) wrong = run_infinite(a, &c, dev, n);
    if (wrong) print_error("%s\n", kernel_report(&c, text, wrong));
    assert_null(wrong);
    arena_destroy(a);
}

/* A line of the region may be read by longer vectors than the tile is.  */
static void test_short_tiles(void **state) {
    (void)state;
    static const char *const text =
        "op f(X: f8e4m3[4,12], W: f8e4m3[5,12,5]) -> Y: f32[4,5] {"
        " Y[i,j] = sum[r,k]((X[i+r,k] else 0) * W[j,k,j]) where r in 0:5, k in 0:12; }";
    Arena *a = arena_create(NULL);
    Diag d = diag_new(a);
    KernelCase c;
    Nvrtc *n = NULL;
    Device *dev = fixture_device(a, "rtx4090");
    assert_int_equal(nvrtc_open(a, &d, NULL, dev->arch, &n), ST_OK);
    const char *wrong = kernel_open(&c, a, dev, text, NULL);
    int ran = 0;
    const RProg *r;
    for (int i = 0; !wrong && ran < 3 && (r = region_of(&c, 0, i)); i++) {
        const RLoad *l = &r->load[r->load[1].region];
        if (l->vec <= r->block.extent[l == &r->load[1] ? AX_N : AX_M]) continue;
        wrong = prove(&c, n, r, 1);
        ran++;
    }
    if (wrong) print_error("%s\n", kernel_report(&c, text, wrong));
    assert_null(wrong);
    assert_int_equal(ran, 3);
    arena_destroy(a);
}

/* Two dimensions that lie behind each other count as one index of the columns, of the batch: no box
 * of the tensor is what a tile reads.  */
static void test_joined_dimensions(void **state) {
    (void)state;
    static const char *const text[] = {
        "op f(X: f32[2,5,2], D: f32[2,2]) -> Y: f16[2,2,5] {"
        " Y[r,i,j] += X[i,j,k] * D[k,k] where r in 0:2; }",
        "op f(P: f16[2,17,17], Q: f16[17,2,17]) -> Y: f16[2,17,17] {"
        " Y[b,c,n] += P[b,c,k] * Q[n,b,c]; }",
    };
    for (size_t i = 0; i < sizeof text / sizeof *text; i++) {
        Arena *a = arena_create(NULL);
        KernelCase c;
        assert_null(kernel_open(&c, a, fixture_device(a, "a100"), text[i], NULL));
        const Problem *p = &c.plan.problem[0];
        RRegion x;
        for (int tile = 1; tile <= 32; tile *= 2)
            assert_false(rtile_region(p, p->con.operand[1].access.tensor == 0,
                                      (RRegionTile){.tile = tile}, &x));
        arena_destroy(a);
    }
}

/* A copy goes through pixels as results follow each other: where these go down the columns of the
 * image, it brings no lines.  */
static void test_columns_of_images(void **state) {
    (void)state;
    static const char *const text[] = {
        "op f(X: f16[3,10,12,64], K: f16[8,3,3,64]) -> Y: f16[3,12,10,8] {"
        " Y[n,p,q,f] += (X[n,q+s-1,p+r-1,c] else 0) * K[f,r,s,c]; }",
        "op f(X: f16[3,12,10,64], K: f16[8,3,3,64]) -> Y: f16[3,12,10,8] {"
        " Y[n,p,q,f] += (X[n,p+r-1,q+s-1,c] else 0) * K[f,r,s,c]; }"};
    for (int lines = 0; lines < 2; lines++) {
        Arena *a = arena_create(NULL);
        KernelCase c;
        RRegion x;
        RBox box;
        int64_t rows;
        assert_null(kernel_open(&c, a, fixture_device(a, "t4"), text[lines], NULL));
        const Problem *p = &c.plan.problem[0];
        assert_true(rtile_region(p, 0, (RRegionTile){.tile = 64, .boxes = true}, &x));
        assert_int_equal(rprog_region_pixels(p, 0, &x, &box, &rows), lines);
        arena_destroy(a);
    }
}

/* A tile that begins in one image and ends in the next has elements that lie an image and some
 * lines apart, which an int has to say.  */
static void test_images_far_apart(void **state) {
    (void)state;
    static const char *const text[] = {
        "op f(X: f16[2,100000,320,64], K: f16[64,3,3,64]) -> Y: f16[2,29,29,64] {"
        " Y[n,p,q,f] = sum[r,s,c](X[n,p+r,q+s,c] * K[f,r,s,c]); }",
        "op f(X: f16[2,104857,320,64], K: f16[64,3,3,64]) -> Y: f16[2,29,29,64] {"
        " Y[n,p,q,f] = sum[r,s,c](X[n,p+r,q+s,c] * K[f,r,s,c]); }"};
    for (int far = 0; far < 2; far++) {
        Arena *a = arena_create(NULL);
        KernelCase c;
        RRegion x;
        assert_null(kernel_open(&c, a, fixture_device(a, "t4"), text[far], NULL));
        const Problem *p = &c.plan.problem[0];
        assert_int_equal(rtile_region(p, 0, (RRegionTile){.tile = 64}, &x), !far);
        arena_destroy(a);
    }
}

static void test_convolutions(void **state) {
    (void)state;
    static Job job[CONVS];
    Job sum = {0};
    int wrong = 0;
    for (int i = 0; i < CONVS; i++)
        job[i] = (Job){.conv = &conv[i], .plans = effort_long() ? MANY : FEW};
    assert_true(workers_for(0, CONVS, run_job, job));
    for (int i = 0; i < CONVS; i++) {
        sum.ran += job[i].ran;
        sum.matrix += job[i].matrix;
        sum.whole += job[i].whole;
        sum.ragged += job[i].ragged;
        sum.pairs += job[i].pairs;
        sum.matrices += job[i].matrices;
        sum.images += job[i].images;
        sum.boxes += job[i].boxes;
        sum.joined += job[i].joined;
        sum.stays += job[i].stays;
        sum.parts += job[i].parts;
        if (job[i].ran == 0 && !job[i].wrong[0]) fail_msg("no plan for convolution %d", i);
        if (!job[i].wrong[0]) continue;
        wrong++;
        print_error("%s\n", job[i].wrong);
    }
    print_message("%d kernels: %d of matrix units, %d over rows of images, %d with zeros behind K,"
                  " %d read by pairs, %d as matrices, %d of several images, %d joined, %d by"
                  " boxes, %d of these of blocks that stay\n", sum.ran, sum.matrix, sum.whole,
                  sum.ragged, sum.pairs, sum.matrices, sum.images, sum.joined, sum.boxes,
                  sum.stays);
    assert_int_equal(wrong, 0);
    assert_true(sum.matrix > 0 && sum.matrix < sum.ran);
    assert_true(sum.whole > 0 && sum.whole < sum.ran);
    assert_true(sum.ragged > 0 && sum.ragged < sum.ran && sum.pairs > 0);
    assert_true(sum.matrices > 0 && sum.images > 0 && sum.joined > 0);
    assert_true(sum.boxes > 0 && sum.boxes < sum.matrix && sum.parts > 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_convolutions),
                                       cmocka_unit_test(test_infinite),
                                       cmocka_unit_test(test_short_tiles),
                                       cmocka_unit_test(test_joined_dimensions),
                                       cmocka_unit_test(test_columns_of_images),
                                       cmocka_unit_test(test_images_far_apart)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
