/* cuInit: the environment and the simulated devices.
 *
 *   ROLLER_SIM_PROFILE           profiles, by name or file, separated by commas; one device each.
 *                                Default h200; "none": no device
 *   ROLLER_SIM_MEMORY            most bytes of one device's memory that the host holds (4 GiB)
 *   ROLLER_SIM_SEED              of the adversarial timing of asynchronous operations (1)
 *   ROLLER_SIM_THREADS           host threads of a launch (one per core)
 *   ROLLER_SIM_RACES             0: no race detection
 *   ROLLER_SIM_LOG               where failed calls are told: "stderr" or a file (log.c)
 *   ROLLER_SIM_LAUNCHES          where launches of kernels are told, likewise
 *   ROLLER_SIM_MAX_INSTRUCTIONS  warp instructions of a block before a kernel counts as runaway  */
#include "simdriver/state.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t number_of(const char *name, uint64_t otherwise) {
    const char *s = getenv(name);
    if (!s || !*s) return otherwise;
    uint64_t v = 0;
    for (; *s >= '0' && *s <= '9' && v <= UINT64_MAX / 10 - 9; s++) {
        v = v * 10 + (uint64_t)(*s - '0');
    }
    return *s ? otherwise : v;
}

typedef struct {
    Driver *driver;
    Gpu *gpu;
    const char *name;
    CUresult result;
} Opening;

static void open_gpu(void *user) {
    Opening *o = user;
    Gpu *g = o->gpu;
    Diag diag = diag_new(g->arena);
    Status st = hal_profile_find(g->arena, &diag, o->name, driver_profile_path(g->arena), NULL,
                                 &g->dev);
    if (st == ST_OK) {
        g->name = arena_printf(g->arena, "%s" HAL_SIMULATED,
                               hal_gpu_model(g->arena, g->dev->gpu));
    }
    if (st == ST_OK) st = sim_gpu_create(g->arena, &diag, g->dev, &g->sim);
    if (st == ST_OK) return;
    driver_say_error(o->driver, &diag);
    o->result = st == ST_NOMEM ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_ERROR_SYSTEM_NOT_READY;
}

static CUresult add_gpu(Driver *d, const char *name) {
    if (d->n_gpu == MAX_GPUS) {
        driver_say(d, "ROLLER_SIM_PROFILE: more than %d profiles", MAX_GPUS);
        return CUDA_ERROR_SYSTEM_NOT_READY;
    }
    Gpu *g = &d->gpu[d->n_gpu];
    *g = (Gpu){.ordinal = d->n_gpu, .arena = arena_create(&host_source)};
    if (!g->arena) return CUDA_ERROR_OUT_OF_MEMORY;
    Opening o = {d, g, name, CUDA_SUCCESS};
    if (!arena_try(g->arena, open_gpu, &o)) o.result = CUDA_ERROR_OUT_OF_MEMORY;
    if (o.result != CUDA_SUCCESS) {
        arena_destroy(g->arena);
        return o.result;
    }
    sim_gpu_addresses(g->sim, g->ordinal);
    d->n_gpu++;
    return CUDA_SUCCESS;
}

static CUresult add_gpus(Driver *d, const char *names) {
    while (*names) {
        char name[1024];
        size_t len = strcspn(names, ",");
        if (len >= sizeof name) {
            driver_say(d, "ROLLER_SIM_PROFILE: a name of %zu bytes", len);
            return CUDA_ERROR_SYSTEM_NOT_READY;
        }
        memcpy(name, names, len);
        name[len] = 0;
        CUresult r = len ? add_gpu(d, name) : CUDA_SUCCESS;
        if (r != CUDA_SUCCESS) return r;
        names += len + (names[len] != 0);
    }
    return CUDA_SUCCESS;
}

/* What a kernel prints: to standard output, as CUDA does.  */
static void print_text(void *user, const char *text, size_t n) {
    (void)user;
    fwrite(text, 1, n, stdout);
    fflush(stdout);
}

CUresult driver_init(Driver *d) {
    if (d->initialised) return CUDA_SUCCESS;
    if (!driver_watch_forks(d)) return CUDA_ERROR_OUT_OF_MEMORY;
    d->memory_limit = number_of("ROLLER_SIM_MEMORY", (uint64_t)4 << 30);
    d->options = (SimOptions){
        .timed = true,
        .seed = number_of("ROLLER_SIM_SEED", 1),
        .threads = (int)number_of("ROLLER_SIM_THREADS", 0),
        .no_races = number_of("ROLLER_SIM_RACES", 1) == 0,
        .max_instructions = number_of("ROLLER_SIM_MAX_INSTRUCTIONS", 0),
        .print = print_text,
    };
    const char *names = getenv("ROLLER_SIM_PROFILE");
    if (!names || !*names) names = "h200";
    CUresult r = strcmp(names, "none") ? add_gpus(d, names) : CUDA_SUCCESS;
    if (r == CUDA_SUCCESS && d->n_gpu == 0) r = CUDA_ERROR_NO_DEVICE;
    if (r != CUDA_SUCCESS) {
        while (d->n_gpu > 0) arena_destroy(d->gpu[--d->n_gpu].arena);
        return r;
    }
    d->initialised = true;
    return CUDA_SUCCESS;
}

Gpu *gpu_get(Driver *d, CUdevice dev) {
    return dev >= 0 && dev < d->n_gpu ? &d->gpu[dev] : NULL;
}
