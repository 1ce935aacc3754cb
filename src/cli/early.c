/* NVRTC, loaded while the op is parsed and planned.  */
#include "cli/gen.h"

/* The library stays in the process when the context goes.  What is wrong is told when NVRTC is
 * needed.  */
static void *load(void *user) {
    const GenEarly *e = user;
    RollerCtxOptions o = {.struct_size = sizeof o, .driver = e->driver};
    RollerCtx *ctx;
    const char *const *archs, *version;
    if (!roller_ctx_create(&o, &ctx)) roller_archs(ctx, &archs, &version);
    roller_ctx_destroy(ctx);
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
