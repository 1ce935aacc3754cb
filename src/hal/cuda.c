#include "hal/cuda_api.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The driver cannot be unloaded once it is initialised.  */
#ifdef RTLD_NODELETE
enum { STAY = RTLD_NODELETE };
#else
enum { STAY = 0 };
#endif

/* Codes (cuda.h, CUresult) that say more than that a call failed, and what helps.  */
static const struct {
    int code;
    Status status;
    const char *hint;
} advice[] = {
    {2, ST_CUDA, "free memory of the device, or set smaller sizes"},
    {3, ST_DRIVER, "a process that opened the driver and then forked cannot use it in the child"},
    {34, ST_DRIVER, "the library is the toolkit's stub: install the NVIDIA driver, or set "
                    "ROLLER_LIBCUDA to the full path of the real libcuda.so.1"},
    {36, ST_DRIVER, "update the NVIDIA driver"},
    {46, ST_DEVICE, "another process has the device for itself, or it is in a bad state: see "
                    "nvidia-smi"},
    {100, ST_DEVICE, "nvidia-smi lists the devices; CUDA_VISIBLE_DEVICES may hide them"},
    {101, ST_DEVICE, "nvidia-smi lists the devices"},
    {200, ST_DRIVER, "an NVRTC newer than the driver made the image, or it is damaged"},
    {209, ST_ARCH, "the image was compiled for another architecture: see --arch"},
    {214, ST_CUDA, "the memory of the device is damaged: see nvidia-smi -q -d ECC"},
    {222, ST_DRIVER, "update the driver, or compile with an NVRTC that is no newer"},
    {700, ST_CUDA, "the kernel reads or writes outside of what was allocated"},
    {701, ST_CUDA, "the kernel needs more registers or shared memory than the device has"},
    {702, ST_CUDA, "the kernel ran longer than the system permits"},
    {800, ST_CUDA, "the system does not permit this to the user"},
    {802, ST_DRIVER, "the system is not ready: on NVSwitch machines start nvidia-fabricmanager"},
    {803, ST_DRIVER, "the library and the kernel module are of different versions: reload the "
                     "module or reboot"},
    {804, ST_DRIVER, "the compatibility package does not serve this device: remove it"},
};

const char *cuda_code_name(const Cuda *c, int code) {
    const char *name = NULL;
    return !c->cuGetErrorName(code, &name) && name ? name : "unknown code";
}

Status cuda_check(const Cuda *c, Diag *d, int code, const char *call) {
    if (!code) return ST_OK;
    Status status = ST_CUDA;
    const char *hint = NULL, *text = NULL;
    for (size_t i = 0; i < sizeof advice / sizeof *advice; i++) {
        if (advice[i].code != code) continue;
        status = advice[i].status;
        hint = advice[i].hint;
    }
    if (c->cuGetErrorString(code, &text) || !text) text = "the driver has no text for it";
    char said[512] = "";
    if (c->sim_message) c->sim_message(said, sizeof said);
    diag_error(d, status, "cuda", DIAG_NOWHERE, "%s failed: %s (%d, %s)%s%s", call,
               cuda_code_name(c, code), code, text, *said ? ": " : "", said);
    if (hint) diag_hint(d, "%s", hint);
    diag_code(d, DIAG_CUDA, code, cuda_code_name(c, code));
    return status;
}

Status cuda_need(const Cuda *c, Diag *d, bool there, const char *name, const char *what) {
    static const struct {
        const char *name;
        int since;
    } row[] = {
#define X(name, since, need, parameters) {#name, since},
        CUDA_API(X)
#undef X
    };
    if (there) return ST_OK;
    int since = 0;
    for (size_t i = 0; i < sizeof row / sizeof *row; i++)
        if (strcmp(row[i].name, name) == 0) since = row[i].since;
    if (c->version >= since)
        return diag_error(d, ST_DRIVER, "cuda", DIAG_NOWHERE, "%s has no function %s, which %s",
                          c->file, name, what);
    diag_error(d, ST_DRIVER, "cuda", DIAG_NOWHERE,
               "the CUDA driver is %d.%d; %s, which %s, came with %d.%d", c->version / 1000,
               c->version % 1000 / 10, name, what, since / 1000, since % 1000 / 10);
    diag_hint(d, "update the NVIDIA driver");
    return ST_DRIVER;
}

/* ---- opening ---- */
static const char own_name[] = "libcuda.so.1";

typedef int GetAddress(const char *name, void **at, int version, uint64_t flags);
typedef int GetAddress2(const char *name, void **at, int version, uint64_t flags, int *status);

typedef struct {
    GetAddress *get;          /* one of the two */
    GetAddress2 *get2;
} Lookup;

static void *address(const Lookup *l, const char *name, int since) {
    void *at = NULL;
    int status = 0;
    int code = l->get2 ? l->get2(name, &at, since, 0, &status) : l->get(name, &at, since, 0);
    return code || status ? NULL : at;
}

/* The name of the first needed function that is missing; NULL if all are there.  */
static const char *resolve(Cuda *c, const Lookup *l) {
    enum { NEEDED, OPTIONAL };
    static const struct {
        const char *name;
        int since, need;
    } row[] = {
#define X(name, since, need, parameters) {#name, since, need},
        CUDA_API(X)
#undef X
    };
    void **const at[] = {
#define X(name, since, need, parameters) (void **)&c->name,
        CUDA_API(X)
#undef X
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        *at[i] = row[i].since <= c->version ? address(l, row[i].name, row[i].since) : NULL;
        if (!*at[i] && row[i].need == NEEDED) return row[i].name;
    }
    return NULL;
}

static Status lacks(Diag *d, const char *file, const char *symbol) {
    diag_error(d, ST_DRIVER, "cuda", DIAG_NOWHERE, "%s has no function %s", file, symbol);
    diag_hint(d, "it is damaged or no CUDA driver: install the NVIDIA driver again");
    return ST_DRIVER;
}

static Status ask_version(Cuda *c, Diag *d) {
    int (*version)(int *);
    *(void **)&version = dlsym(c->library, "cuDriverGetVersion");
    if (!version) return lacks(d, c->file, "cuDriverGetVersion");
    int code = version(&c->version);
    if (code)
        return diag_error(d, ST_DRIVER, "cuda", DIAG_NOWHERE,
                          "cuDriverGetVersion of %s failed with code %d", c->file, code);
    if (c->version >= CUDA_OLDEST_DRIVER) return ST_OK;
    diag_error(d, ST_DRIVER, "cuda", DIAG_NOWHERE,
               "the CUDA driver is %d.%d; roller needs %d.%d or newer", c->version / 1000,
               c->version % 1000 / 10, CUDA_OLDEST_DRIVER / 1000, CUDA_OLDEST_DRIVER % 1000 / 10);
    diag_hint(d, "install NVIDIA driver 470 or newer");
    return ST_DRIVER;
}

static Status start(Cuda *c, Diag *d) {
    Status s = ask_version(c, d);
    if (s) return s;
    Lookup l = {0};
    if (c->version >= 12000) *(void **)&l.get2 = dlsym(c->library, "cuGetProcAddress_v2");
    *(void **)&l.get = dlsym(c->library, "cuGetProcAddress");
    if (!l.get && !l.get2) return lacks(d, c->file, "cuGetProcAddress");
    const char *missing = resolve(c, &l);
    if (missing) return lacks(d, c->file, missing);
    *(void **)&c->sim_ptx = dlsym(c->library, "roller_sim_driver_ptx");
    *(void **)&c->sim_message = dlsym(c->library, "roller_sim_driver_message");
    s = CUDA_CALL(c, d, cuInit, 0);
    return s ? s : CUDA_CALL(c, d, cuDeviceGetCount, &c->n_device);
}

static const char *library_of(const CudaOptions *o) {
    bool alone = (o && o->ignore_environment) || getuid() != geteuid() || getgid() != getegid();
    const char *given = o && o->path ? o->path : alone ? NULL : getenv("ROLLER_LIBCUDA");
    return given && *given ? given : own_name;
}

int cuda_version_here(const CudaOptions *o) {
    const char *file = library_of(o);
    if (file != own_name && *file != '/') return 0;
    void *library = dlopen(file, RTLD_NOW | RTLD_LOCAL | STAY);
    int (*ask)(int *) = NULL, version = 0;
    if (library) *(void **)&ask = dlsym(library, "cuDriverGetVersion");
    if (!ask || ask(&version)) version = 0;
    if (library) dlclose(library);
    return version;
}

Status cuda_open(Arena *a, Diag *d, const CudaOptions *o, Cuda **out) {
    *out = NULL;
    const char *file = library_of(o);
    if (file != own_name && *file != '/')
        return diag_error(d, ST_DRIVER, "cuda", DIAG_NOWHERE,
                          "the path of the CUDA driver must be absolute, not \"%.200s\"", file);
    Cuda *c = ARENA_NEW(a, Cuda);
    c->file = arena_strdup(a, file);
    c->library = dlopen(file, RTLD_NOW | RTLD_LOCAL | STAY);
    if (!c->library) {
        const char *why = dlerror();
        diag_error(d, ST_DRIVER, "cuda", DIAG_NOWHERE, "there is no CUDA driver: %s",
                   why ? why : "libcuda.so.1 cannot be loaded");
        diag_hint(d, "install the NVIDIA driver, which brings libcuda.so.1, or set ROLLER_LIBCUDA "
                     "to its full path; roller-gen --device sim needs none");
        return ST_DRIVER;
    }
    Status s = start(c, d);
    if (!s) *out = c;
    return s;
}

int cuda_driver_version(const Cuda *c) { return c->version; }

bool cuda_simulated(const Cuda *c) { return c->sim_ptx != NULL; }
