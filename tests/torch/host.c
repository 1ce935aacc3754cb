/* Runs an exported model: host WEIGHTS BATCH < inputs > outputs.  The model's names come by -D; its
 * input is f32[BATCH,IN], its output f32[BATCH,OUT].  No Python and no roller.  */
#include <stdio.h>
#include <stdlib.h>
#include "model.h"

int cuInit(unsigned flags);
int cuDevicePrimaryCtxRetain(void **context, int device);
int cuCtxSetCurrent(void *context);
int cuCtxSynchronize(void);
int cuMemAlloc_v2(unsigned long long *at, size_t bytes);
int cuMemcpyHtoD_v2(unsigned long long to, const void *from, size_t bytes);
int cuMemcpyDtoH_v2(void *to, unsigned long long from, size_t bytes);

static RollerTensor on_device(int64_t *shape, size_t *bytes) {
    RollerTensor t = {.device = {2, 0}, .ndim = 2, .dtype = {2, 32, 1}, .shape = shape};
    unsigned long long at = 0;
    *bytes = (size_t)(shape[0] * shape[1]) * 4;
    if (cuMemAlloc_v2(&at, *bytes)) exit(2);
    t.data = (void *)(uintptr_t)at;
    return t;
}

int main(int argc, char **argv) {
    model *m = NULL;
    void *context = NULL;
    if (argc != 3 || cuInit(0) || cuDevicePrimaryCtxRetain(&context, 0) || cuCtxSetCurrent(context))
        return 2;
    int64_t n = atoll(argv[2]), given[] = {n, IN}, made[] = {n, OUT};
    size_t bytes, made_bytes;
    RollerTensor in = on_device(given, &bytes), out = on_device(made, &made_bytes);
    char *data = malloc(bytes > made_bytes ? bytes : made_bytes);
    if (!data || fread(data, 1, bytes, stdin) != bytes) return 2;
    int s = cuMemcpyHtoD_v2((uintptr_t)in.data, data, bytes) ? 2 : model_load(argv[1], &m);
    for (int again = 0; !s && again < 2; again++) s = model_run(m, &in, 1, &out, 1, NULL);
    if (s) fprintf(stderr, "%s\n", model_status_text(s));
    if (s || cuCtxSynchronize() || cuMemcpyDtoH_v2(data, (uintptr_t)out.data, made_bytes)) return 1;
    fwrite(data, 1, made_bytes, stdout);
    model_unload(m);
    free(data);
    return 0;
}
