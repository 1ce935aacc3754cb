/* links: sim */
/* Groups that do the same to other tensors are one kernel: another layer of a network adds launches
 * and no kernel, whatever skeleton computes it, and what all of them compute is right on the
 * simulator.  Groups that only look the same are two.
 *
 *   LONG=1 build/tests/test_equal_groups      more plans of each network
 */
#include "effort.h"
#include "kernel_fixture.h"
#include "open_choices.h"
#include "plan_fixture.h"
#include "workers.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

/* A chain of layers: $x is the tensor before, $y the one that the layer makes, $t its type where it
 * is a temporary, # the layer's number.  */
typedef struct {
    const char *name, *device;
    unsigned taken;           /* decisions, everywhere */
    const char *type, *shape, *arguments, *layer;
    const char *outputs;      /* that a layer has besides; NULL: none */
} Network;

static const Network network[] = {
    {"products", "h200", USUAL, "f32", "24,32", "W#: f32[32,32], B#: f32[32]",
     "p#[m,n] = sum[k]($x[m,k] * W#[k,n]); $y[m,n] = max(p#[m,n] + B#[n], 0)$t;", NULL},
    {"products of halves", "a100", USUAL, "f16", "48,64", "W#: f16[64,64], B#: f16[64]",
     "p#[m,n] = sum[k]($x[m,k] * W#[k,n]); $y[m,n] = p#[m,n] * B#[n]$t;", NULL},
    {"boxes", "h200", USUAL, "f16", "64,64", "W#: f16[64,64]",
     "p#[m,n] = sum[k]($x[m,k] * W#[n,k]); $y[m,n] = max(p#[m,n], 0)$t;", NULL},
    {"long sums", "h200", USUAL, "f32", "4,1024", "W#: f32[8,1024], V#: f32[1024,8]",
     "p#[m,n] = sum[k]($x[m,k] * W#[n,k]); $y[m,k] = sum[n](p#[m,n] * V#[k,n])$t;", NULL},
    {"convolutions", "a100", USUAL, "f32", "6,6,8", "W#: f32[8,3,3,8]",
     "p#[p,q,f] = sum[r,s,c](($x[p+r-1,q+s-1,c] else 0) * W#[f,r,s,c]) where p in 6, q in 6;"
     " $y[p,q,f] = max(p#[p,q,f], 0)$t;", NULL},
    {"rows", "h200", USUAL, "f32", "9,64", "G#: f32[64], W#: f32[64,64]",
     "h#[i] = max[j]($x[i,j]); e#[i,j] = exp($x[i,j] - h#[i]); z#[i] = sum[j](e#[i,j]);"
     " y#[i,j] = e#[i,j] / z#[i] * G#[j]; $y[i,j] = sum[k](y#[i,k] * W#[k,j])$t;", NULL},
    {"rows of products", "h200", JOINED, "f32", "24,48", "W#: f32[48,48]",
     "p#[m,n] = sum[k]($x[m,k] * W#[k,n]); s#[m] = max[n](p#[m,n]);"
     " $y[m,n] = p#[m,n] - s#[m]$t;", NULL},
    {"columns", "h200", STORED, "f32", "96,40", "G#: f32[40]",
     "s#[n] = sum[m]($x[m,n]); $y[m,n] = $x[m,n] - s#[n] * G#[n]$t;", NULL},
    {"windows", "h200", USUAL, "f32", "6,40", "G#: f32[6]",
     "w#[c,i] = max[r]($x[c,i+r-1] else 0) where i in 40, r in 3; $y[c,i] = w#[c,i] + G#[c]$t;",
     NULL},
    {"turns", "h200", STORED, "f32", "40,40", "G#: f32[40,40]",
     "s#[i] = sum[j]($x[i,j]); $y[i,j] = $x[j,i] + G#[i,j] * s#[i]$t;", NULL},
    {"scans", "h200", USUAL, "f32", "6,300", "G#: f32[6,300]",
     "c#[i,j] = sum[r](r <= j ? $x[i,r] : 0) where r in 300, j in 300;"
     " $y[i,j] = c#[i,j] * G#[i,j]$t;", NULL},
    {"scalars", "h200", USUAL, "f32", "24,32", "W#: f32[32,32], s#: f32",
     "p#[m,n] = sum[k]($x[m,k] * W#[k,n]); $y[m,n] = max(p#[m,n] * s#, 0)$t;", NULL},
    {"positions", "h200", STORED, "f32", "6,40", "G#: f32[40]",
     "a#[j] = argmax[i]($x[i,j]); $y[i,j] = $x[i,j] * a#[j] + G#[j]$t;", NULL},
    {"rows that are read again", "h200", USUAL, "f16", "66,128",
     "R#: f16[66,128], W#: f16[128,128]",
     "H#[m,k] = $x[m,k] + R#[m,k]; P#[m,k] = $x[m,k] * 3; G#[m,k] = $x[m,k] - R#[m,k];"
     " s#[m] = max[k](H#[m,k] + P#[m,k] + G#[m,k]); n#[m,k] = H#[m,k] - s#[m] @type(f16);"
     " $y[m,o] = sum[k](n#[m,k] * W#[k,o])$t;",
     "H#: f16[66,128], P#: f16[66,128], G#: f16[66,128]"},
};

static const char *expand(Arena *a, const Network *n, const char *text, const char *x,
                          const char *y, int layer) {
    Buf b = buf_new(a);
    for (; *text; text++) {
        if (*text == '#') buf_printf(&b, "%d", layer);
        else if (*text != '$') buf_putc(&b, *text);
        else if (*++text == 'x') buf_puts(&b, x);
        else if (*text == 'y') buf_puts(&b, y);
        else if (strcmp(y, "Y") != 0) buf_printf(&b, " @type(%s)", n->type);
    }
    return buf_str(&b);
}

/* Layer `odd` is that of another network.  */
static const char *text_of(Arena *a, const Network *n, int layers, int odd, const Network *other) {
    Buf b = buf_new(a), body = buf_new(a), outputs = buf_new(a);
    const char *x = "X";
    buf_printf(&b, "op f(X: %s[%s]", n->type, n->shape);
    for (int i = 0; i < layers; i++) {
        const char *y = i + 1 < layers ? arena_printf(a, "x%d", i) : "Y";
        const Network *layer = i == odd ? other : n;
        buf_printf(&b, ", %s", expand(a, n, layer->arguments, x, y, i));
        buf_printf(&body, "  %s\n", expand(a, n, layer->layer, x, y, i));
        if (n->outputs) buf_printf(&outputs, ", %s", expand(a, n, n->outputs, x, y, i));
        x = y;
    }
    buf_printf(&b, ") -> (Y: %s[%s]%s) {\n%s}\n", n->type, n->shape, buf_str(&outputs),
               buf_str(&body));
    return buf_str(&b);
}

/* Kernels of the source.  */
static int kernels(const KernelCase *c) {
    int n = 0;
    for (int i = 0; i < c->program.n_kernel; i++) {
        bool again = false;
        for (int k = 0; k < i; k++)
            again |= strcmp(c->program.kernel[i].symbol, c->program.kernel[k].symbol) == 0;
        n += !again;
    }
    return n;
}

/* A random program for each group (seed 0: that which is ranked first), by its text alone.  */
static const char *pick(KernelCase *c, uint64_t seed) {
    const char **text = ARENA_ARRAY(c->arena, const char *, c->plan.n);
    const char *wrong = kernel_pick(c, 0);
    access_group_texts(c->arena, c->normal, c->plan.group, c->plan.n, text);
    for (int g = 0; g < c->plan.n && seed; g++) {
        Rng rng = {hash64(text[g], strlen(text[g]), seed)};
        c->plan.prog[g] = c->set[g].prog[rng_below(&rng, (uint32_t)c->set[g].n)];
        draw_choices(&c->plan.problem[g], c->dev, rng_next(&rng), &c->plan.prog[g]);
    }
    return wrong;
}

static const char *emit(KernelCase *c, Arena *a, const Network *n, const char *text,
                        uint64_t seed) {
    const Device *dev = fixture_device(a, n->device);
    const char *wrong = kernel_open_decided(c, a, dev, text, NULL, n->taken);
    if (!wrong) wrong = pick(c, seed);
    return wrong ? wrong : kernel_emit(c);
}

static const char *prove(KernelCase *c, Arena *a) {
    Nvrtc *nvrtc;
    if (nvrtc_open(a, &c->diag, NULL, c->dev->arch, &nvrtc)) return "there is no NVRTC";
    const char *wrong = kernel_compile(c, nvrtc, false);
    return wrong ? wrong : kernel_prove(c, 7);
}

/* ---- what is equal ---- */

enum { NETWORKS = sizeof network / sizeof *network, LAYERS = 4, FEW = 1, MANY = 12 };

static const char *another_layer(void *user, Arena *a, int i) {
    const Network *n = &network[i % NETWORKS];
    uint64_t seed = (uint64_t)(i / NETWORKS);
    KernelCase few, many;
    (void)user;
    const char *wrong = emit(&few, a, n, text_of(a, n, LAYERS - 1, -1, NULL), seed);
    if (!wrong) wrong = emit(&many, a, n, text_of(a, n, LAYERS, -1, NULL), seed);
    if (wrong) return arena_printf(a, "%s, seed %d: %s", n->name, (int)seed, wrong);
    if (few.program.n_kernel >= many.program.n_kernel) wrong = "a layer has no launch";
    else if (kernels(&few) != kernels(&many))
        wrong = arena_printf(a, "%d kernels of %d layers, %d of %d", kernels(&few), LAYERS - 1,
                             kernels(&many), LAYERS);
    else wrong = prove(&many, a);
    return wrong ? kernel_report(&many, arena_printf(a, "%s, seed %d", n->name, (int)seed), wrong)
                 : NULL;
}

static void layers_share_kernels(void **state) {
    (void)state;
    assert_int_equal(workers_check(NETWORKS * (effort_long() ? MANY : FEW), another_layer, NULL),
                     0);
}

/* More arguments than fit the parameters of one kernel, and as many kernels as of a few layers.  */
static void programs_have_many_arguments(void **state) {
    enum { DEEP = CG_PARAM_BYTES / 8 / 2 + 4 };
    (void)state;
    Arena *a = arena_create(NULL);
    KernelCase few, deep;
    assert_null(emit(&few, a, network, text_of(a, network, LAYERS, -1, NULL), 0));
    assert_null(emit(&deep, a, network, text_of(a, network, DEEP, -1, NULL), 0));
    assert_true(deep.te->n_in * 8 > CG_PARAM_BYTES);
    assert_int_equal(deep.program.n_kernel, DEEP);
    assert_int_equal(kernels(&deep), kernels(&few));
    const char *wrong = prove(&deep, a);
    if (wrong) fail_msg("%s", wrong);
    arena_destroy(a);
}

/* ---- what is not ---- */

/* The first is what all layers do, the others are what one of them does.  */
static const Network alike[] = {
    {"every layer", "h200", USUAL, "f32", "32,32", "W#: f32[32,32], B#: f32[32], C#: f32[32]",
     "p#[m,n] = sum[k]($x[m,k] * W#[k,n]); $y[m,n] = max(p#[m,n] + B#[n] * C#[n], 0);", NULL},
    {"a constant", .arguments = "W#: f32[32,32], B#: f32[32], C#: f32[32]",
     .layer = "p#[m,n] = sum[k]($x[m,k] * W#[k,n]); $y[m,n] = max(p#[m,n] + B#[n] * C#[n], 1);"},
    {"an operator", .arguments = "W#: f32[32,32], B#: f32[32], C#: f32[32]",
     .layer = "p#[m,n] = sum[k]($x[m,k] * W#[k,n]); $y[m,n] = max(p#[m,n] - B#[n] * C#[n], 0);"},
    {"one tensor for two", .arguments = "W#: f32[32,32], B#: f32[32]",
     .layer = "p#[m,n] = sum[k]($x[m,k] * W#[k,n]); $y[m,n] = max(p#[m,n] + B#[n] * B#[n], 0);"},
    {"both operands are one", .arguments = "B#: f32[32], C#: f32[32]",
     .layer = "p#[m,n] = sum[k]($x[m,k] * $x[k,n]); $y[m,n] = max(p#[m,n] + B#[n] * C#[n], 0);"},
    {"another index", .arguments = "W#: f32[32,32], B#: f32[32], C#: f32[32]",
     .layer = "p#[m,n] = sum[k]($x[m,k] * W#[k,n]); $y[m,n] = max(p#[m,n] + B#[n] * C#[m], 0);"},
    {"a layout", .arguments = "W#: f32[32,32], B#: f32[32], C#: f32[32]",
     .layer = "p#[m,n] = sum[k]($x[m,k] * W#[n,k]); $y[m,n] = max(p#[m,n] + B#[n] * C#[n], 0);"},
    {"strides", .arguments = "W#: f32[32,32] strides(40,1), B#: f32[32], C#: f32[32]",
     .layer = "p#[m,n] = sum[k]($x[m,k] * W#[k,n]); $y[m,n] = max(p#[m,n] + B#[n] * C#[n], 0);"},
    {"a type", .arguments = "W#: f32[32,32], B#: f16[32], C#: f32[32]",
     .layer = "p#[m,n] = sum[k]($x[m,k] * W#[k,n]); $y[m,n] = max(p#[m,n] + B#[n] * C#[n], 0);"},
    {"a shorter sum", .arguments = "W#: f32[24,32], B#: f32[32], C#: f32[32]",
     .layer = "p#[m,n] = sum[k]($x[m,k] * W#[k,n]) where k in 24;"
              " $y[m,n] = max(p#[m,n] + B#[n] * C#[n], 0);"},
    {"a test", .arguments = "W#: f32[32,32], B#: f32[32], C#: f32[32]",
     .layer = "p#[m,n] = sum[k](($x[m-1,k] else 0) * W#[k,n]) where m in 32;"
              " $y[m,n] = max(p#[m,n] + B#[n] * C#[n], 0);"},
    {"a scalar", .arguments = "W#: f32[32,32], B#: f32[32], C#: f32",
     .layer = "p#[m,n] = sum[k]($x[m,k] * W#[k,n]); $y[m,n] = max(p#[m,n] + B#[n] * C#, 0);"},
    {"a layer before", .arguments = "W#: f32[32,32], B#: f32[32], C#: f32[32]",
     .layer = "p#[m,n] = sum[k]($x[m,k] * W#[k,n]); $y[m,n] = max(p#[m,n] + X[m,n] * C#[n], 0);"},
};
enum { ALIKE = sizeof alike / sizeof *alike };

static const char *odd_layer(void *user, Arena *a, int i) {
    const Network *n = &alike[0], *other = &alike[i + 1];
    KernelCase all, odd;
    (void)user;
    const char *wrong = emit(&all, a, n, text_of(a, n, LAYERS, -1, NULL), 0);
    if (!wrong) wrong = emit(&odd, a, n, text_of(a, n, LAYERS, 2, other), 0);
    if (wrong) return arena_printf(a, "%s: %s", other->name, wrong);
    wrong = kernels(&odd) != kernels(&all) + 1
                ? arena_printf(a, "%d kernels, and %d without", kernels(&odd), kernels(&all))
                : prove(&odd, a);
    return wrong ? kernel_report(&odd, other->name, wrong) : NULL;
}

static void layers_that_differ_do_not(void **state) {
    (void)state;
    assert_int_equal(workers_check(ALIKE - 1, odd_layer, NULL), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(layers_share_kernels),
                                       cmocka_unit_test(programs_have_many_arguments),
                                       cmocka_unit_test(layers_that_differ_do_not)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
