/* MODEL as C: made by roller of a program of PyTorch.  C11; needs libdl, and CUDA's driver when it
 * runs.  MODEL.h says how it is called.  */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "MODEL.h"
/*HEADERS*/
enum { N_INPUTS = /*INPUTS*/, N_OUTPUTS = /*OUTPUTS*/, N_PROGRAMS = /*PROGRAMS*/, ALIGN = 256 };
static const size_t WEIGHT_BYTES = /*BYTES*/;
enum { ALIGN_UP = ALIGN - 1 };

typedef unsigned long long Address;
typedef struct {
    void *library;
    int (*alloc)(Address *, size_t), (*release)(Address), (*wait)(void);
    int (*to_device)(Address, const void *, size_t);
} Driver;

struct MODEL {
    Driver cuda;
    Address weights, room;
    size_t room_bytes;
    void *program[N_PROGRAMS];
};

/* What a call works on; with launch 0 it only finds how much memory is needed.  */
typedef struct {
    MODEL *model;
    const RollerTensor *in, *out;
    void *stream;
    int launch, status;
    int64_t buffers, workspace;               /* bytes; the workspace lies behind the buffers */
} Call;

typedef int Launch(const void *, const RollerTensor *, int, const RollerTensor *, int, void *,
                   size_t, void *);
typedef int Workspace(const void *, const RollerTensor *, int, const RollerTensor *, int, size_t *);

static inline int64_t min(int64_t a, int64_t b) { return a < b ? a : b; }
static inline int64_t max(int64_t a, int64_t b) { return a > b ? a : b; }

static RollerTensor tensor(Address base, int64_t offset, int code, int bits, int rank,
                           int64_t *shape, int64_t *strides) {
    RollerTensor t;
    memset(&t, 0, sizeof t);
    t.data = (void *)(uintptr_t)(base + (Address)offset);
    t.device.type = 2;
    t.ndim = rank;
    t.dtype.code = (uint8_t)code;
    t.dtype.bits = (uint8_t)bits;
    t.dtype.lanes = 1;
    t.shape = shape;
    t.strides = strides;
    return t;
}

static inline int64_t buffer(Call *c, int64_t bytes) {
    int64_t at = c->buffers;
    c->buffers += (bytes + ALIGN_UP) & ~(int64_t)ALIGN_UP;
    return at;
}

/* One program: its need, or its launch.  */
static void step(Call *c, const void *program, Launch *launch, Workspace *workspace,
                 const RollerTensor *in, int n_in, const RollerTensor *out, int n_out) {
    size_t bytes = 0;
    if (c->status) return;
    c->status = workspace(program, in, n_in, out, n_out, &bytes);
    if (c->status) return;
    if ((int64_t)bytes > c->workspace) c->workspace = (int64_t)bytes;
    if (!c->launch) return;
    c->status = launch(program, in, n_in, out, n_out,
                       bytes ? (void *)(uintptr_t)(c->model->room + (Address)c->buffers) : NULL,
                       bytes, c->stream);
}

static void run(Call *c) {
    const RollerTensor *in = c->in, *out = c->out;
    (void)in, (void)out;
/*STEPS*/}

/* Enough memory for a call; nothing runs any more while it is exchanged.  */
static int make_room(MODEL *m, const Call *c) {
    size_t bytes = (size_t)(c->buffers + c->workspace);
    if (bytes <= m->room_bytes) return 0;
    if (m->cuda.wait()) return ROLLER_LAUNCH_CUDA;
    if (m->room) m->cuda.release(m->room);
    m->room = 0;
    m->room_bytes = 0;
    if (m->cuda.alloc(&m->room, bytes)) return ROLLER_LAUNCH_NOMEM;
    m->room_bytes = bytes;
    return 0;
}

int MODEL_run(MODEL *m, const RollerTensor *in, int n_in, const RollerTensor *out, int n_out,
              void *stream) {
    Call need = {m, in, out, stream, 0, 0, 0, 0}, call = {m, in, out, stream, 1, 0, 0, 0};
    if (n_in != N_INPUTS || n_out != N_OUTPUTS) return ROLLER_LAUNCH_ARGS;
    for (int i = 0; i < N_INPUTS; i++) {
        static const int rank[] = {/*RANKS*/};
        if (in[i].ndim != rank[i]) return ROLLER_LAUNCH_RANK;
    }
    run(&need);
    if (need.status) return need.status;
    need.status = make_room(m, &need);
    if (need.status) return need.status;
    run(&call);
    return call.status;
}

static int open_driver(Driver *d) {
    static const char *const name[] = {"cuMemAlloc_v2", "cuMemFree_v2", "cuCtxSynchronize",
                                       "cuMemcpyHtoD_v2"};
    void *found[4];
    d->library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!d->library) return ROLLER_LAUNCH_DRIVER;
    for (int i = 0; i < 4; i++) {
        found[i] = dlsym(d->library, name[i]);
        if (!found[i]) return ROLLER_LAUNCH_DRIVER;
    }
    memcpy(&d->alloc, &found[0], sizeof found[0]);
    memcpy(&d->release, &found[1], sizeof found[1]);
    memcpy(&d->wait, &found[2], sizeof found[2]);
    memcpy(&d->to_device, &found[3], sizeof found[3]);
    return 0;
}

static int load_weights(MODEL *m, const char *path) {
    char *data = malloc(WEIGHT_BYTES);
    FILE *f = data ? fopen(path, "rb") : NULL;
    int s = f && fread(data, 1, WEIGHT_BYTES, f) == WEIGHT_BYTES ? 0 : ROLLER_LAUNCH_ARGS;
    if (f) fclose(f);
    if (!s && m->cuda.alloc(&m->weights, WEIGHT_BYTES)) s = ROLLER_LAUNCH_NOMEM;
    if (!s && m->cuda.to_device(m->weights, data, WEIGHT_BYTES)) s = ROLLER_LAUNCH_CUDA;
    free(data);
    return s;
}

static int load_programs(MODEL *m) {
    int s = 0;
/*LOADS*/    return s;
}

int MODEL_load(const char *weights, MODEL **out) {
    MODEL *m = *out = calloc(1, sizeof *m);
    int s = m ? open_driver(&m->cuda) : ROLLER_LAUNCH_NOMEM;
    if (!s) s = load_weights(m, weights);
    if (!s) s = load_programs(m);
    if (s) {
        MODEL_unload(m);
        *out = NULL;
    }
    return s;
}

void MODEL_unload(MODEL *m) {
    if (!m) return;
/*UNLOADS*/    if (m->weights) m->cuda.release(m->weights);
    if (m->room) m->cuda.release(m->room);
    if (m->cuda.library) dlclose(m->cuda.library);
    free(m);
}

const char *MODEL_status_text(int status) { return roller_MODEL_0_status_text(status); }
