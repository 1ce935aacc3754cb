/* A model's file in C, run as a host would: compiled with -DMODEL=mnist, -DSOURCE="mnist.c".
 *
 *   host WEIGHTS INPUT OUTPUT BYTES SIZE   reads the input, runs the model at run-time size SIZE,
 *   writes BYTES of output.  */
#include SOURCE

#include <stdio.h>

#define JOIN(a, b, c) a##b##c
#define OF(a, b, c) JOIN(a, b, c)
#define CALL(name) OF(roller_, MODEL, name)

typedef OF(roller_, MODEL, _kernel) ModelKernel;

static void *driver;

static int call(const char *name, uint64_t a, uint64_t b, uint64_t c) {
    int (*f)(uint64_t, uint64_t, uint64_t);
    void *at = dlsym(driver, name);
    memcpy(&f, &at, sizeof f);
    int code = at ? f(a, b, c) : -1;
    if (code) exit((fprintf(stderr, "%s: %d\n", name, code), 3));
    return code;
}

static uint64_t number(const void *p) { return (uint64_t)(uintptr_t)p; }

static void *allocate(size_t bytes) {
    void *p = NULL;
    call("cuMemAlloc_v2", number(&p), bytes ? bytes : 1, 0);
    return p;
}

/* A file's bytes on the device.  */
static void *loaded(const char *path) {
    FILE *f = fopen(path, "rb");
    if (!f) exit((perror(path), 2));
    fseek(f, 0, SEEK_END);
    size_t bytes = (size_t)ftell(f);
    rewind(f);
    char *data = malloc(bytes + 1);
    if (!data || fread(data, 1, bytes, f) != bytes) exit(2);
    fclose(f);
    void *to = allocate(bytes);
    if (bytes) call("cuMemcpyHtoD_v2", number(to), number(data), bytes);
    free(data);
    return to;
}

int main(int argc, char **argv) {
    void *context;
    ModelKernel *k;
    if (argc != 6) return 2;
    driver = dlopen("libcuda.so.1", RTLD_NOW);
    if (!driver) return 3;
    call("cuInit", 0, 0, 0);
    call("cuDevicePrimaryCtxRetain", number(&context), 0, 0);
    call("cuCtxSetCurrent", number(context), 0, 0);
    if (CALL(_load)(&k)) return 4;
    size_t bytes = (size_t)atoll(argv[4]), need;
    int64_t size[] = {atoll(argv[5])};
    void *weights = loaded(argv[1]), *in[] = {loaded(argv[2])}, *out[] = {allocate(bytes)};
    if (CALL(_run)(k, weights, in, out, size, NULL, 0, NULL, &need)) return 5;
    if (CALL(_run)(k, weights, in, out, size, allocate(need), need, NULL, NULL)) return 6;
    call("cuCtxSynchronize", 0, 0, 0);
    char *result = malloc(bytes);
    FILE *f = fopen(argv[3], "wb");
    if (!result || !f) return 2;
    call("cuMemcpyDtoH_v2", number(result), number(out[0]), bytes);
    if (fwrite(result, 1, bytes, f) != bytes || fclose(f)) return 2;
    free(result);
    CALL(_unload)(k);
    return 0;
}
