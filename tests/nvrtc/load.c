/* Compiles a kernel for any driver, or for that of the machine (argument "here"), and loads it:
 * what failed is told, and the exit code is the status.  */
#include "roller.h"
#include <stdio.h>
#include <string.h>

static const char text[] = "op f(X: f32[64]) -> Y: f32[64] { Y[i] = X[i] + 1; }";

int main(int argc, char **argv) {
    int driver = argc > 1 && !strcmp(argv[1], "here") ? ROLLER_DRIVER_HERE : 0;
    RollerCtxOptions o = {.struct_size = sizeof o, .driver = driver};
    RollerCtx *ctx;
    RollerProfile *gpu = NULL;
    RollerOp *op = NULL;
    RollerKernel *k = NULL;
    RollerExec *e = NULL;
    if (roller_ctx_create(&o, &ctx)) return 99;
    RollerStatus s = roller_profile_load(ctx, "a100", &gpu);
    if (!s) s = roller_parse(ctx, text, strlen(text), "f.te", NULL, &op);
    if (!s) s = roller_compile(ctx, op, gpu, NULL, &k);
    const void *json = "";
    size_t size;
    if (!s) roller_kernel_get(k, ROLLER_JSON, &json, &size);
    const char *nvrtc = strstr(json, "\"nvrtc\": ");
    if (nvrtc) printf("compiled by %.13s\n", nvrtc);
    const RollerError *why = roller_error(ctx);
    if (!s && (s = roller_load(k, 0, &e))) why = roller_error(NULL);
    if (s) printf("%s\n%s\n", why->message, why->hint ? why->hint : "");
    roller_exec_destroy(e);
    roller_kernel_destroy(k);
    roller_op_destroy(op);
    roller_profile_destroy(gpu);
    roller_ctx_destroy(ctx);
    return (int)s;
}
