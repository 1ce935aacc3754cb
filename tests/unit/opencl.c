#define _DEFAULT_SOURCE       /* MAP_ANONYMOUS */
#include "opencl.h"
#include "opencl_api.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SAID = 16384, SECONDS = 120, SMALLEST = 16 };

/* ---- with the runtime ---- */

/* What is open; `said`, which the parent of a child reads, is what went wrong.  */
typedef struct {
    ClApi cl;
    char *said;
    void *device, *context, *queue, *program;
    void **buffer;
} Run;

/* Says what is wrong, once; true if there is nothing.  */
static bool is(Run *r, bool good, const char *format, ...) {
    va_list args;
    va_start(args, format);
    if (!good && !*r->said) vsnprintf(r->said, SAID, format, args);
    va_end(args);
    return good;
}

static bool did(Run *r, int32_t error, const char *what) {
    return is(r, error == 0, "%s: OpenCL error %d", what, error);
}

static bool load(Run *r) {
    void *lib = dlopen("libOpenCL.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!is(r, lib != NULL, "no libOpenCL.so.1")) return false;
    bool all = true;
#define X(result, name, parameters)                                                                \
    *(void **)&r->cl.name = dlsym(lib, #name);                                                     \
    all = all && is(r, r->cl.name != NULL, "libOpenCL.so.1 has no " #name);
    CL_API(X)
#undef X
    return all;
}

static bool open_device(Run *r) {
    void *platform = NULL;
    uint32_t n = 0;
    if (!load(r)) return false;
    r->cl.clGetPlatformIDs(1, &platform, &n);
    if (!is(r, n > 0, "no OpenCL platform")) return false;
    n = 0;
    r->cl.clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &r->device, &n);
    return is(r, n > 0, "the OpenCL platform has no device");
}

static bool open_queue(Run *r) {
    int32_t error = 0;
    r->context = r->cl.clCreateContext(NULL, 1, &r->device, NULL, NULL, &error);
    if (!did(r, error, "clCreateContext")) return false;
    r->queue = r->cl.clCreateCommandQueue(r->context, r->device, 0, &error);
    return did(r, error, "clCreateCommandQueue");
}

/* IEEE arithmetic: nothing is relaxed, and division is exact where that is offered.  */
static const char *build_options(const Run *r) {
    uint64_t config = 0;
    r->cl.clGetDeviceInfo(r->device, CL_DEVICE_SINGLE_FP_CONFIG, sizeof config, &config, NULL);
    return config & CL_CORRECTLY_ROUNDED_DIVIDE_SQRT
               ? "-cl-std=CL1.2 -cl-fp32-correctly-rounded-divide-sqrt"
               : "-cl-std=CL1.2";
}

static bool build(Run *r, const char *source) {
    int32_t error = 0;
    r->program = r->cl.clCreateProgramWithSource(r->context, 1, &source, NULL, &error);
    if (!did(r, error, "clCreateProgramWithSource")) return false;
    error = r->cl.clBuildProgram(r->program, 1, &r->device, build_options(r), NULL, NULL);
    if (error == 0) return true;
    r->cl.clGetProgramBuildInfo(r->program, r->device, CL_PROGRAM_BUILD_LOG, SAID - 1, r->said,
                                NULL);
    return is(r, false, "clBuildProgram: OpenCL error %d", error);
}

static bool take_buffers(Run *r, const OpenclJob *job) {
    int32_t error = 0;
    for (int i = 0; i < job->n_buffer; i++) {
        const OpenclBuffer *b = &job->buffer[i];
        size_t bytes = b->bytes < SMALLEST ? SMALLEST : b->bytes;
        r->buffer[i] = r->cl.clCreateBuffer(r->context, CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR,
                                            bytes, b->data, &error);
        if (!did(r, error, "clCreateBuffer")) return false;
    }
    return true;
}

/* A part of a buffer is a buffer, too.  */
static void *memory_of(Run *r, const OpenclArg *x) {
    ClRegion region = {x->at, x->bytes};
    int32_t error = 0;
    if (x->at == 0) return r->buffer[x->buffer];
    void *part = r->cl.clCreateSubBuffer(r->buffer[x->buffer], CL_MEM_READ_WRITE,
                                         CL_BUFFER_CREATE_TYPE_REGION, &region, &error);
    did(r, error, "clCreateSubBuffer");
    return part;
}

static bool launch(Run *r, const OpenclLaunch *l) {
    size_t global[3], local[3];
    int32_t error = 0;
    void *kernel = r->cl.clCreateKernel(r->program, l->kernel, &error);
    if (!did(r, error, "clCreateKernel")) return false;
    for (int i = 0; i < l->n_arg && error == 0; i++) {
        const OpenclArg *x = &l->arg[i];
        void *memory = x->scalar ? NULL : memory_of(r, x);
        error = r->cl.clSetKernelArg(kernel, (uint32_t)i, x->scalar ? x->bytes : sizeof memory,
                                     x->scalar ? x->scalar : &memory);
    }
    if (!did(r, error, "clSetKernelArg")) return false;
    for (int d = 0; d < 3; d++) {
        local[d] = l->block[d] ? l->block[d] : 1;
        global[d] = local[d] * (l->grid[d] ? l->grid[d] : 1);
    }
    error = r->cl.clEnqueueNDRangeKernel(r->queue, kernel, 3, NULL, global, local, 0, NULL, NULL);
    return did(r, error, "clEnqueueNDRangeKernel");
}

/* Makes the results seen in the buffers' own memory.  */
static bool give_buffers(Run *r, const OpenclJob *job) {
    int32_t error = r->cl.clFinish(r->queue);
    for (int i = 0; i < job->n_buffer && error == 0; i++) {
        if (job->buffer[i].bytes == 0) continue;
        r->cl.clEnqueueMapBuffer(r->queue, r->buffer[i], 1, CL_MAP_READ, 0, job->buffer[i].bytes, 0,
                                 NULL, NULL, &error);
    }
    return did(r, error, "clFinish");
}

static void do_job(Run *r, const OpenclJob *job) {
    bool good = build(r, job->source) && take_buffers(r, job);
    for (int i = 0; i < job->n_launch && good; i++) good = launch(r, &job->launch[i]);
    if (good) give_buffers(r, job);
}

/* ---- around it ---- */

/* What the child does is seen by the parent, too.  Pages before and behind are nobody's, and what
 * else lies in the pages between is POISON.  */
typedef struct {
    char *page, *data;
    size_t bytes, room, pages;
} Shared;

enum { ALIGN = 256, POISON = 0xA5 };

/* The bytes end where the pages do, as far as they stay aligned to what any access wants.  */
static bool share(Shared *s, size_t bytes) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE), aligned = (bytes + ALIGN - 1) / ALIGN * ALIGN;
    s->bytes = bytes;
    s->room = (aligned + page - 1) / page * page;
    s->pages = s->room + 2 * page;
    s->page = mmap(NULL, s->pages, PROT_NONE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (s->page == MAP_FAILED) return false;
    mprotect(s->page + page, s->room, PROT_READ | PROT_WRITE);
    memset(s->page + page, POISON, s->room);
    s->data = s->page + page + s->room - aligned;
    return true;
}

static bool is_whole(const Shared *s) {
    const char *first = s->page + (s->pages - s->room) / 2;
    for (size_t i = 0; i < s->room; i++) {
        bool own = first + i >= s->data && first + i < s->data + s->bytes;
        if (!own && (unsigned char)first[i] != POISON) return false;
    }
    return true;
}

static void unshare(void *p) {
    const Shared *s = p;
    if (s->page != MAP_FAILED) munmap(s->page, s->pages);
}

static Shared *shared(Arena *a, size_t bytes) {
    Shared *s = arena_alloc(a, sizeof *s);
    bool good = share(s, bytes ? bytes : 1);
    arena_defer(a, unshare, s);
    if (!good) arena_fail(a);
    return s;
}

static void limit(int seconds) {
    rlim_t most = (rlim_t)(seconds ? seconds : SECONDS);
    setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
    setrlimit(RLIMIT_CPU, &(struct rlimit){most, most + 1});
}

/* ---- once for the process ---- */

/* The folder of what the runtime keeps of compiled kernels, and the process that made it.  */
static struct {
    char name[FILENAME_MAX];
    pid_t owner;
} folder;

static void remove_folder(void) {
    if (getpid() != folder.owner) return;
    pid_t pid = fork();
    if (pid == 0) execlp("rm", "rm", "-rf", "--", folder.name, (char *)NULL);
    if (pid == 0) _exit(1);
    if (pid > 0) waitpid(pid, NULL, 0);
}

static bool make_folder(void) {
    const char *tmp = getenv("TMPDIR");
    snprintf(folder.name, sizeof folder.name, "%s/openclXXXXXX", tmp && *tmp ? tmp : "/tmp");
    if (!mkdtemp(folder.name)) return false;
    folder.owner = getpid();
    atexit(remove_folder);
    setenv("POCL_CACHE_DIR", folder.name, 1);
    return true;
}

/* A kernel that makes the runtime load its library of functions.  */
static const char first_kernel[] = "kernel void first(global float *x) { x[0] = exp(x[0]); }";

/* The device, ready to build: it takes the runtime 0.4 s of the processor to come so far, and a
 * kernel 0.2 s from there, so that children begin here.  A fork takes no threads along: PoCL's
 * device is the one without any.  */
static const Run *ready(void) {
    static Run run;
    static char said[SAID];
    if (run.said) return &run;
    run.said = said;
    setenv("POCL_DEVICES", "basic", 0);
    if (!is(&run, make_folder(), "no folder for what is compiled")) return &run;
    if (open_device(&run) && open_queue(&run)) build(&run, first_kernel);
    return &run;
}

static const char *ending(Arena *a, int status, const char *said) {
    if (*said) return arena_strdup(a, said);
    if (WIFSIGNALED(status) && (WTERMSIG(status) == SIGXCPU || WTERMSIG(status) == SIGKILL))
        return "it does not end";
    if (WIFSIGNALED(status))
        return arena_printf(a, "signal %d (outside of a buffer?)", WTERMSIG(status));
    return status ? arena_printf(a, "status %d", status) : NULL;
}

/* Handlers that the process has for signals are not the child's, and what the runtime prints is
 * nobody's.  */
static void be_alone(void) {
    static const int number[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT};
    for (size_t i = 0; i < sizeof number / sizeof *number; i++) signal(number[i], SIG_DFL);
    int nowhere = open("/dev/null", O_WRONLY);
    dup2(nowhere, STDOUT_FILENO);
    dup2(nowhere, STDERR_FILENO);
}

/* The job in a child; NULL or what went wrong.  */
static const char *apart(Arena *a, const OpenclJob *job) {
    int status = 0;
    Run r = *ready();
    if (*r.said) return arena_strdup(a, r.said);
    r.said = shared(a, SAID)->data;
    r.buffer = arena_calloc(a, 1 + (size_t)job->n_buffer, sizeof(void *));
    *r.said = '\0';
    pid_t pid = fork();
    if (pid == 0) {
        be_alone();
        limit(job->seconds);
        do_job(&r, job);
        _exit(0);
    }
    bool waited = pid > 0 && waitpid(pid, &status, 0) == pid;
    return waited ? ending(a, status, r.said) : "no process for it";
}

const char *opencl_absent(Arena *a) {
    const char *said = ready()->said;
    return *said ? arena_strdup(a, said) : NULL;
}

const char *opencl_run(Arena *a, const OpenclJob *job) {
    OpenclJob own = *job;
    Shared **room = arena_calloc(a, 1 + (size_t)job->n_buffer, sizeof *room);
    own.buffer = arena_calloc(a, 1 + (size_t)job->n_buffer, sizeof *own.buffer);
    for (int i = 0; i < job->n_buffer; i++) {
        room[i] = shared(a, job->buffer[i].bytes);
        own.buffer[i] = (OpenclBuffer){room[i]->data, job->buffer[i].bytes};
        memcpy(room[i]->data, job->buffer[i].data, job->buffer[i].bytes);
    }
    const char *wrong = apart(a, &own);
    for (int i = 0; i < job->n_buffer && !wrong; i++) {
        if (!is_whole(room[i])) wrong = arena_printf(a, "writes outside of buffer %d", i);
    }
    for (int i = 0; i < job->n_buffer && !wrong; i++)
        memcpy(job->buffer[i].data, room[i]->data, job->buffer[i].bytes);
    return wrong;
}
