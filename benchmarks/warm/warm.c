/* What a hit in the kernel cache costs in the library: warm PROFILE N FILE.te...  For each file, in
 * microseconds of CPU time: the first hit of a context, and the best of N later ones.  */
#define _POSIX_C_SOURCE 200809L
#include "roller.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double now_us(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

static char *read_file(const char *path, size_t *len) {
    FILE *f = fopen(path, "rb");
    char *text = malloc(1 << 20);
    *len = f && text ? fread(text, 1, 1 << 20, f) : 0;
    if (f) fclose(f);
    return text;
}

/* Microseconds of one roller_compile; negative: it failed, or was no hit though it had to be.  */
static double compile(RollerCtx *ctx, RollerOp *op, RollerProfile *gpu, int must_hit,
                      size_t *bytes) {
    RollerKernel *k = NULL;
    double begin = now_us();
    RollerStatus s = roller_compile(ctx, op, gpu, NULL, &k);
    double us = now_us() - begin;
    RollerCacheReport report = {.struct_size = sizeof report};
    roller_cache_report(ctx, &report);
    const void *data;
    if (k) roller_kernel_get(k, ROLLER_CUBIN, &data, bytes);
    roller_kernel_destroy(k);
    return s || (must_hit && !report.hit) ? -1 : us;
}

int main(int argc, char **argv) {
    int n = argc > 2 ? atoi(argv[2]) : 20;
    for (int i = 3; i < argc; i++) {
        RollerCtxOptions o = {.struct_size = sizeof o, .cache = 1};
        RollerCtx *ctx;
        RollerProfile *gpu;
        RollerOp *op;
        size_t len, bytes = 0;
        char *text = read_file(argv[i], &len);
        if (roller_ctx_create(&o, &ctx) || roller_profile_load(ctx, argv[1], &gpu) ||
            roller_parse(ctx, text, len, argv[i], NULL, &op))
            return 1;
        compile(ctx, op, gpu, 0, &bytes);
        roller_ctx_destroy(ctx);
        if (roller_ctx_create(&o, &ctx)) return 1;
        double first = compile(ctx, op, gpu, 1, &bytes), best = 1e9;
        for (int k = 0; k < n; k++) {
            double us = compile(ctx, op, gpu, 1, &bytes);
            if (us < best) best = us;
        }
        if (first < 0 || best < 0) return 1;
        printf("%s\t%zu\t%.0f\t%.0f\n", argv[i], bytes, first, best);
        roller_op_destroy(op);
        roller_profile_destroy(gpu);
        roller_ctx_destroy(ctx);
        free(text);
    }
    return 0;
}
