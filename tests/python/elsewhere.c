/* A library for another processor, run by an emulator: elsewhere PROFILES JSON CUBIN PTX TE...
 *
 * Prints the plan of each expression and a hash of its source, to be compared with those of this
 * machine; then reads a kernel from its files and proves it in the simulator.  */
#include <roller.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static RollerCtx *ctx;

static void must(RollerStatus s) {
    if (!s) return;
    const RollerError *e = roller_error(ctx);
    fprintf(stderr, "%s", e ? e->rendered : roller_status_name(s));
    exit(1);
}

static char *file(const char *path, size_t *len) {
    FILE *f = fopen(path, "rb");
    char *text = malloc(1 << 20);
    if (!f || !text) exit(2);
    *len = fread(text, 1, (1 << 20) - 1, f);
    text[*len] = 0;
    fclose(f);
    return text;
}

static void plan(const RollerProfile *gpu, const char *path) {
    size_t len, size;
    char *te = file(path, &len);
    const char *text;
    RollerOp *op;
    RollerPlans *plans;
    must(roller_parse(ctx, te, len, path, NULL, &op));
    must(roller_plan(ctx, op, gpu, NULL, &plans));
    must(roller_plan_text(roller_plans_get(plans, 0), ROLLER_PLAN, &text, &size));
    printf("%s\n%s", path, text);
    must(roller_plan_text(roller_plans_get(plans, 0), ROLLER_PLAN_LOWERED, &text, &size));
    unsigned long hash = 5381;
    for (size_t i = 0; i < size; i++) hash = (hash * 33 + (unsigned char)text[i]) & 0xffffffff;
    printf("lowered: %zu bytes, %08lx\n", size, hash);
    roller_plans_destroy(plans);
    roller_op_destroy(op);
    free(te);
}

int main(int argc, char **argv) {
    RollerCtxOptions o = {.struct_size = sizeof o, .profile_path = argv[1],
                          .ignore_environment = 1};
    RollerKernelFiles k = {.struct_size = sizeof k};
    RollerProfile *gpu;
    RollerKernel *kernel;
    RollerCheckReport report = {.struct_size = sizeof report};
    if (argc < 6) return 2;
    must(roller_ctx_create(&o, &ctx));
    must(roller_profile_load(ctx, "h200", &gpu));
    for (int i = 5; i < argc; i++) plan(gpu, argv[i]);
    k.json = file(argv[2], &k.json_len);
    k.cubin = file(argv[3], &k.cubin_len);
    k.ptx = file(argv[4], &k.ptx_len);
    must(roller_kernel_read(ctx, &k, &kernel));
    must(roller_check(ctx, kernel, NULL, &report));
    printf("%s\n", report.text);
    roller_kernel_destroy(kernel);
    roller_profile_destroy(gpu);
    roller_ctx_destroy(ctx);
    return 0;
}
