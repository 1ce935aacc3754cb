/* Kernels from sources: compiled together on all cores, loaded when they are first needed.  */
#include "base/pool.h"
#include "profiler/harness.h"

#include <string.h>

/* A source on its way to code, on an arena of its own.  */
typedef struct {
    const Bench *b;
    const char *text;
    Arena *arena;
    Diag diag;
    NvrtcOutput *code;
    Status status;            /* ST_CANCELLED: not begun */
} Job;

static const char *whole_text(Bench *b, const BenchSource *s) {
    Buf t = buf_new(b->work);
    for (int i = 0; s->macros && s->macros[i]; i++) buf_printf(&t, "#define %s\n", s->macros[i]);
    buf_puts(&t, s->source);
    return buf_str(&t);
}

static void compile_inner(void *p) {
    Job *j = p;
    const Bench *b = j->b;
    j->diag = diag_new(j->arena);
    j->code = ARENA_NEW(j->arena, NvrtcOutput);
    j->status = nvrtc_compile(b->n, j->arena, &j->diag, j->text, b->info->arch,
                              &(NvrtcRequest){.ptx = true, .cubin = !b->simulated}, j->code);
}

static bool compile(void *user, int64_t i, int worker) {
    (void)worker;
    Job *j = (Job *)user + i;
    if (watch_ended(j->b->o->watch)) return false;
    if (!arena_try(j->arena, compile_inner, j)) {
        j->status = ST_NOMEM;
        j->diag.count = 0;
    }
    return true;
}

static void destroy(void *p) { arena_destroy(p); }

static void open_job(Bench *b, const char *text, Job *j) {
    *j = (Job){.b = b, .text = text, .arena = arena_create(NULL), .status = ST_CANCELLED};
    if (!j->arena) arena_fail(b->work);
    arena_defer(b->work, destroy, j->arena);
}

static void close_job(Bench *b, const Job *j) {
    b->loaded = arena_grow(b->work, b->loaded, &b->cap_loaded, b->n_loaded + 1,
                           sizeof *b->loaded);
    b->loaded[b->n_loaded++] = (Loaded){
        .text = j->text, .code = j->code, .status = j->status,
        .why = j->status && j->diag.count ? diag_first_error(&j->diag) : NULL};
}

static Status refused(Bench *b, const Loaded *l) {
    if (!l->why) return diag_error(b->d, l->status, NULL, DIAG_NOWHERE, "out of memory");
    return diag_repeat(b->d, l->why);
}

static Loaded *find(const Bench *b, const char *text) {
    for (size_t i = 0; i < b->n_loaded; i++)
        if (!strcmp(b->loaded[i].text, text)) return &b->loaded[i];
    return NULL;
}

Status bench_compile(Bench *b, const BenchSource *source, int n) {
    Job *job = ARENA_ARRAY(b->work, Job, n + 1);
    int jobs = 0;
    Status s = bench_stopped(b);
    for (int i = 0; i < n && !s; i++) {
        const char *text = whole_text(b, &source[i]);
        bool known = find(b, text) != NULL;
        for (int k = 0; k < jobs && !known; k++) known = !strcmp(job[k].text, text);
        if (!known) open_job(b, text, &job[jobs++]);
    }
    if (b->o->compiles) b->o->compiles(b->o->user, true);
    pool_for(0, jobs, compile, job);
    if (b->o->compiles) b->o->compiles(b->o->user, false);
    if (!s) s = bench_stopped(b);
    for (int i = 0; i < jobs && !s; i++)
        if (job[i].status != ST_CANCELLED) close_job(b, &job[i]);
    return s;
}

Status bench_kernel(Bench *b, const char *source, const char *symbol, const char *const *macros,
                    CudaKernel *out) {
    const BenchSource one = {source, macros};
    const char *text = whole_text(b, &one);
    Loaded *l = find(b, text);
    Status s = l ? ST_OK : bench_compile(b, &one, 1);
    if (s) return s;
    l = find(b, text);
    if (l->status) return refused(b, l);
    const NvrtcOutput *code = l->code;
    CudaImage image = {.cubin = code->cubin, .cubin_len = code->cubin_len, .ptx = code->ptx};
    if (!l->module) s = cuda_load(b->x, b->work, b->d, &image, &l->module);
    return s ? s : cuda_kernel(l->module, b->d, symbol, out);
}
