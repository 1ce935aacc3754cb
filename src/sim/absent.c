/* In the place of the simulator in a build without it (make SIM=0): nothing is simulated, and where
 * it is asked for there is an error that says so.  The rest is never reached, since there is no
 * simulated GPU.  */
#include "sim/sim.h"
#include "sim/async/tensormap.h"

static Status absent(Diag *d) {
    diag_error(d, ST_SIMULATOR, "sim", DIAG_NOWHERE, "this build of roller has no simulator");
    diag_hint(d, "name a device (--device 0), or build with SIM=1");
    return ST_SIMULATOR;
}

Status sim_gpu_create(Arena *a, Diag *d, const Device *dev, SimGpu **out) {
    (void)a, (void)dev;
    *out = NULL;
    return absent(d);
}

Status sim_parse(Arena *a, Diag *d, const char *file, const char *ptx, size_t len,
                 SimModule **out) {
    (void)a, (void)file, (void)ptx, (void)len;
    *out = NULL;
    return absent(d);
}

int sim_kernel_params(const SimModule *m, const char *kernel, const SimParam **out) {
    (void)m, (void)kernel;
    *out = NULL;
    return -1;
}

Status sim_malloc(SimGpu *g, Diag *d, size_t bytes, uint64_t *out) {
    (void)g, (void)bytes, (void)out;
    return absent(d);
}

Status sim_malloc_made(SimGpu *g, Diag *d, size_t bytes, LazyMake *make, void *user,
                       uint64_t *out) {
    (void)g, (void)bytes, (void)make, (void)user, (void)out;
    return absent(d);
}

Status sim_watch(SimGpu *g, Diag *d, uint64_t at) {
    (void)g, (void)at;
    return absent(d);
}

bool sim_was_written(const SimGpu *g, uint64_t at, size_t bytes) {
    (void)g, (void)at, (void)bytes;
    return true;
}

void sim_free(SimGpu *g, uint64_t at) { (void)g, (void)at; }

Status sim_write(SimGpu *g, Diag *d, uint64_t at, const void *from, size_t bytes) {
    (void)g, (void)at, (void)from, (void)bytes;
    return absent(d);
}

Status sim_read(SimGpu *g, Diag *d, uint64_t at, void *to, size_t bytes) {
    (void)g, (void)at, (void)to, (void)bytes;
    return absent(d);
}

void *sim_host(SimGpu *g, uint64_t at, size_t bytes) {
    (void)g, (void)at, (void)bytes;
    return NULL;
}

Status sim_launch(SimGpu *g, Arena *a, Diag *d, const SimLaunch *launch, const SimOptions *o,
                  SimReport *out) {
    (void)g, (void)a, (void)launch, (void)o, (void)out;
    return absent(d);
}

void sim_fault_text(const SimFault *f, Buf *out) { (void)f, (void)out; }

const char *sim_tensormap_encode(const TensorMap *m, unsigned char out[TM_BYTES]) {
    (void)m, (void)out;
    return "there is no simulator to encode it";
}
