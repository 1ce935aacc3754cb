/* links: sim */
/* The model and the simulator's timing are two descriptions of one GPU, made apart: chosen plans
 * take as long in one as in the other, on shipped GPUs and on odd ones.  */
#include "base/hash.h"
#include "effort.h"
#include "kernel_fixture.h"
#include "microperf/microperf.h"
#include "plan_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

/* A shipped GPU with another number of SMs, and clocks of shared memory.  */
static const struct {
    const char *profile;
    int sms, smem_latency;    /* 0: as it is */
} gpu[] = {{"t4", 5, 0}, {"a100", 0, 0}, {"h100", 0, 0}, {"rtx4090", 7, 40}, {"a100", 12, 0}};
enum { GPUS = sizeof gpu / sizeof *gpu };

static const struct {
    const char *name, *text;
} op[] = {
    {"product f32", "op f(A: f32[128,128], B: f32[128,96]) -> C: f32[128,96]"
     " { C[m,n] += A[m,k] * B[k,n]; }"},
    {"convolution", "op f(X: f32[1,16,28,28], K: f32[32,16,3,3]) -> Y: f32[1,32,28,28]"
     " { Y[n,f,p,q] += (X[n, c, p + r - 1, q + s - 1] else 0) * K[f,c,r,s]; }"},
    {"convolution of 1x1", "op f(X: f32[1,64,28,28], K: f32[64,64]) -> Y: f32[1,64,28,28]"
     " { Y[n,f,p,q] += X[n,c,p,q] * K[f,c]; }"},
    {"gemv f16", "op f(A: f16[2048], B: f16[1024,2048]) -> C: f16[1024]"
     " { C[n] += A[k] * B[n,k]; }"},
    {"softmax", "op f(X: f16[256,1024]) -> Y: f16[256,1024] { m[n] = max[c](X[n,c]);"
     " z[n] = sum[c](exp(X[n,c] - m[n])); Y[n,c] = exp(X[n,c] - m[n]) / z[n]; }"},
    {"product f16", "op f(A: f16[256,256], B: f16[256,256]) -> C: f16[256,256]"
     " { C[m,n] += A[m,k] * B[k,n]; }"},
    {"columns", "op f(X: f32[512,384]) -> Y: f32[384] { Y[c] += X[n,c]; }"},
    {"map", "op f(X: f32[262144], Z: f32[262144]) -> Y: f32[262144] { Y[i] = X[i] * Z[i]; }"},
};
enum { OPS = sizeof op / sizeof *op };

static const double bound = 1.25;

static void compare(int g, int o) {
    Arena *a = arena_create(NULL);
    Device *dev = fixture_device(a, gpu[g].profile);
    Diag d = diag_new(a);
    Nvrtc *nvrtc;
    KernelCase c;
    if (gpu[g].sms) dev->limits.sm_count.value = gpu[g].sms;
    if (gpu[g].smem_latency) dev->memory[LEVEL_SMEM].latency.value = gpu[g].smem_latency;
    if (nvrtc_open(a, &d, NULL, dev->arch, &nvrtc)) fail_msg("%s", d.messages[0].message);
    const char *wrong = kernel_open(&c, a, dev, op[o].text, NULL);
    if (!wrong) wrong = kernel_pick(&c, 0);
    if (!wrong) wrong = kernel_emit(&c);
    if (!wrong) wrong = kernel_compile(&c, nvrtc, false);
    if (!wrong) wrong = kernel_time(&c, 1);
    if (wrong) fail_msg("%s", kernel_report(&c, op[o].name, wrong));
    double us = 0;
    for (int i = 0; i < c.plan.n; i++) {
        Estimate e;
        mp_estimate(&c.plan.problem[i], &c.plan.prog[i], dev, &e);
        us += e.us;
    }
    double ratio = us > c.us ? us / c.us : c.us / us;

    if (getenv("LIST"))
        print_message("%s of %d SMs, %s: predicted %.2f us, simulated %.2f us\n", gpu[g].profile,
                      (int)dev->limits.sm_count.value, op[o].name, us, c.us);
    if (ratio > bound)
        fail_msg("%s of %d SMs, %s: predicted %.2f us, simulated %.2f us\n%s", gpu[g].profile,
                 (int)dev->limits.sm_count.value, op[o].name, us, c.us,
                 kernel_report(&c, op[o].name, "the model and the simulator differ"));
    arena_destroy(a);
}

static void chosen_plans(void **state) {
    (void)state;
    Rng r = {effort_seed()};
    int share = (int)rng_below(&r, 4);
    for (int i = 0; i < GPUS * OPS; i++) {
        if (effort_long() || i % 4 == share) compare(i % GPUS, i / GPUS);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(chosen_plans)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
