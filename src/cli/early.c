/* NVRTC, loaded while the op is parsed and planned.  */
#include "cli/gen.h"
#include "hal/nvrtc.h"

static void open_nvrtc(void *user) {
    GenEarly *e = user;
    Diag nobody = diag_new(e->arena);     /* what is wrong is told when NVRTC is needed */
    Nvrtc *n;
    nvrtc_open(e->arena, &nobody, &(NvrtcOptions){.driver = e->driver}, NULL, &n);
}

/* The library stays in the process when its handle is closed.  */
static void *load(void *user) {
    GenEarly *e = user;
    e->arena = arena_create(NULL);
    if (e->arena) arena_try(e->arena, open_nvrtc, e);
    arena_destroy(e->arena);
    return NULL;
}

void gen_load_early(Gen *g) {
    GenEarly *e = &g->early;
    e->driver = g->driver;
    e->running = pthread_create(&e->thread, NULL, load, e) == 0;
}

void gen_end_early(Gen *g) {
    if (g->early.running) pthread_join(g->early.thread, NULL);
    g->early.running = false;
}
