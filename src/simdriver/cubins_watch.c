/* Our functions in the place of NVRTC's and nvJitLink's: each calls the real one, and then tells
 * the driver what it needs to know.  What fails there fails quietly: a cubin whose PTX is not known
 * is refused when it is loaded, with the reason.  */
#include "simdriver/cubins.h"
#include "simdriver/image.h"
#include "simdriver/ptx_link.h"

#include "base/file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef int GetSize(void *handle, size_t *size);
typedef int GetBytes(void *handle, void *bytes);
typedef int Create(void **handle, uint32_t n, const char **options);
typedef int AddData(void *handle, int type, const void *data, size_t size, const char *name);
typedef int AddFile(void *handle, int type, const char *file);
typedef int Finish(void *handle);
typedef int Destroy(void **handle);

/* The real functions, of the libraries that were asked last.  */
static AnyFunction *real[CUBINS_COUNT];
#define REAL(type, name) ((type *)real[CUBINS_##name])

enum { INPUT_LTO = 3 };

/* ---- links under way ---- */

typedef struct {
    bool lto;
    char *bytes;              /* with 4 NULs behind */
    size_t size;
} Input;
typedef struct Job {
    void *handle;
    Arena *arena;
    const char **option;
    uint32_t n_option;
    Input *input;
    size_t n, cap;
    struct Job *next;
} Job;
static Job *jobs;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static Job *find_job(void *handle) {
    pthread_mutex_lock(&lock);
    Job *j = jobs;
    while (j && j->handle != handle) j = j->next;
    pthread_mutex_unlock(&lock);
    return j;
}

/* Takes what `-lto -ptx` will be added to.  */
static bool passes(const char *option) {
    return strcmp(option, "-lto") && strcmp(option, "-ptx") && strcmp(option, "--lto");
}

typedef struct {
    Job *job;
    const char **option;
    uint32_t n;
} Starting;

static void start_body(void *user) {
    const Starting *s = user;
    Job *j = s->job;
    j->option = ARENA_ARRAY(j->arena, const char *, (size_t)s->n + 2);
    for (uint32_t k = 0; k < s->n; k++) {
        if (passes(s->option[k])) {
            j->option[j->n_option++] = arena_strdup(j->arena, s->option[k]);
        }
    }
    j->option[j->n_option++] = "-lto";
    j->option[j->n_option++] = "-ptx";
}

static int watched_create(void **handle, uint32_t n, const char **options) {
    int r = REAL(Create, nvJitLinkCreate)(handle, n, options);
    Job *j = r ? NULL : calloc(1, sizeof *j);
    if (!j) return r;
    j->handle = *handle;
    j->arena = arena_create(NULL);
    Starting s = {j, options, n};
    if (!j->arena || !arena_try(j->arena, start_body, &s)) {
        arena_destroy(j->arena);
        free(j);
        return r;
    }
    pthread_mutex_lock(&lock);
    j->next = jobs;
    jobs = j;
    pthread_mutex_unlock(&lock);
    return r;
}

static int watched_destroy(void **handle) {
    pthread_mutex_lock(&lock);
    Job **p = &jobs;
    while (*p && (*p)->handle != *handle) p = &(*p)->next;
    Job *j = *p;
    if (j) *p = j->next;
    pthread_mutex_unlock(&lock);
    if (j) arena_destroy(j->arena);
    free(j);
    return REAL(Destroy, nvJitLinkDestroy)(handle);
}

typedef struct {
    Job *job;
    int type;
    const void *data;
    size_t size;
} Adding;

static void add_body(void *user) {
    const Adding *x = user;
    Job *j = x->job;
    j->input = arena_grow(j->arena, j->input, &j->cap, j->n + 1, sizeof *j->input);
    char *bytes = arena_alloc(j->arena, x->size + 4);
    memcpy(bytes, x->data, x->size);
    memset(bytes + x->size, 0, 4);
    j->input[j->n++] = (Input){x->type == INPUT_LTO, bytes, x->size};
}

static void remember(void *handle, int type, const void *data, size_t size) {
    Adding x = {find_job(handle), type, data, size};
    if (x.job) arena_try(x.job->arena, add_body, &x);
}

static int watched_data(void *handle, int type, const void *data, size_t size, const char *name) {
    int r = REAL(AddData, nvJitLinkAddData)(handle, type, data, size, name);
    if (!r) remember(handle, type, data, size);
    return r;
}

typedef struct {
    Arena *arena;
    const char *path;
    char *text;
    size_t len;
    Status status;
} Reading;

static void read_body(void *user) {
    Reading *x = user;
    Diag quiet = diag_new(x->arena);
    x->status = file_read(x->arena, &quiet, x->path, (size_t)256 << 20, &x->text, &x->len);
}

static int watched_file(void *handle, int type, const char *file) {
    int r = REAL(AddFile, nvJitLinkAddFile)(handle, type, file);
    Reading x = {.arena = arena_create(NULL), .path = file, .status = ST_NOMEM};
    if (!r && x.arena && arena_try(x.arena, read_body, &x) && x.status == ST_OK) {
        remember(handle, type, x.text, x.len);
    }
    arena_destroy(x.arena);
    return r;
}

/* ---- the PTX of a link ---- */

/* LTO-IR becomes PTX in the real library: a second link of the same options.  NULL: it did not.  */
static const char *ptx_of_lto(Job *j) {
    void *handle = NULL;
    size_t size = 0;
    char *text = NULL;
    if (REAL(Create, nvJitLinkCreate)(&handle, j->n_option, j->option)) return NULL;
    int r = 0;
    for (size_t k = 0; !r && k < j->n; k++) {
        const Input *in = &j->input[k];
        if (!in->lto) continue;
        r = REAL(AddData, nvJitLinkAddData)(handle, INPUT_LTO, in->bytes, in->size, "lto");
    }
    if (!r) r = REAL(Finish, nvJitLinkComplete)(handle);
    if (!r) r = REAL(GetSize, nvJitLinkGetLinkedPtxSize)(handle, &size);
    if (!r) {
        text = arena_calloc(j->arena, size + 1, 1);
        if (REAL(GetBytes, nvJitLinkGetLinkedPtx)(handle, text)) text = NULL;
    }
    REAL(Destroy, nvJitLinkDestroy)(&handle);
    return text;
}

typedef struct {
    Job *job;
    const char *text;         /* NULL: not known */
} Linking;

static void link_body(void *user) {
    Linking *x = user;
    Job *j = x->job;
    Diag quiet = diag_new(j->arena);
    PtxInput *part = ARENA_ARRAY(j->arena, PtxInput, j->n + 1);
    int n = 0;
    bool lto = false;
    for (size_t k = 0; k < j->n; k++) {
        const Input *in = &j->input[k];
        lto |= in->lto;
        if (in->lto) continue;
        const char *text = image_known(in->bytes);
        if (text) part[n++] = (PtxInput){arena_printf(j->arena, "input %zu", k + 1), text};
    }
    const char *text = lto ? ptx_of_lto(j) : NULL;
    if (lto && !text) return;
    if (text) part[n++] = (PtxInput){"LTO-IR", text};
    if (ptx_link(j->arena, &quiet, part, n, &x->text) != ST_OK) x->text = NULL;
}

static int watched_link(void *handle, void *cubin) {
    int r = REAL(GetBytes, nvJitLinkGetLinkedCubin)(handle, cubin);
    Linking x = {.job = r ? NULL : find_job(handle)};
    size_t size;
    if (!x.job || !arena_try(x.job->arena, link_body, &x) || !x.text) return r;
    if (!REAL(GetSize, nvJitLinkGetLinkedCubinSize)(handle, &size)) {
        roller_sim_driver_ptx(cubin, size, x.text);
    }
    return r;
}

/* ---- NVRTC ---- */

static int watched_compile(void *program, void *cubin) {
    int r = REAL(GetBytes, nvrtcGetCUBIN)(program, cubin);
    size_t size = 0, cubin_size = 0;
    if (r || REAL(GetSize, nvrtcGetCUBINSize)(program, &cubin_size)) return r;
    if (REAL(GetSize, nvrtcGetPTXSize)(program, &size)) return r;
    char *text = calloc(size + 1, 1);
    if (text && !REAL(GetBytes, nvrtcGetPTX)(program, text)) {
        roller_sim_driver_ptx(cubin, cubin_size, text);
    }
    free(text);
    return r;
}

/* ---- which is which ---- */

static const struct {
    const char *name;
    AnyFunction *ours;
} row[CUBINS_COUNT] = {
#define X(plain, own) {#plain, (AnyFunction *)own},
    CUBINS_FUNCTIONS(X)
#undef X
};

/* All of a library, by names of the same version: ours call several of them.  False if one is not
 * there.  */
static bool find_real(bool of_nvrtc, void *handle, const char *prefix, const char *tail) {
    for (int f = 0; f < CUBINS_COUNT; f++) {
        char name[128];
        if (of_nvrtc != !strncmp(row[f].name, "nvrtc", 5)) continue;
        snprintf(name, sizeof name, "%s%s%s", prefix, row[f].name, tail);
        real[f] = cubins_real(handle, name);
        if (!real[f]) return false;
    }
    return true;
}

AnyFunction *cubins_ours(CubinsFunction f, void *handle, const char *prefix, const char *tail) {
    bool of_nvrtc = !strncmp(row[f].name, "nvrtc", 5);
    if (!row[f].ours || !find_real(of_nvrtc, handle, prefix, tail)) return NULL;
    return row[f].ours;
}
