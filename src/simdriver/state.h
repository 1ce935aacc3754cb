/* The state of the simulated driver and the services its calls share; private to src/simdriver.
 *
 * One lock guards everything: a call takes it in driver_enter and gives it back in driver_leave.
 * The API names no driver, so its state is the one object of the process that is not passed around
 * outside of a Call.  Objects live in a table of handles; a stale or foreign handle is an error,
 * never a crash.  */
#ifndef ROLLER_SIMDRIVER_STATE_H
#define ROLLER_SIMDRIVER_STATE_H
#include "sim/sim.h"
#include "simdriver/driver_api.h"
#include <pthread.h>

typedef enum {
#define X(name, symbol, since, needs, parameters) FN_##symbol,
    SIMDRIVER_FUNCTIONS(X)
#undef X
#define X(name, symbol, since, needs, parameters, base, arguments) FN_##symbol,
    SIMDRIVER_PER_THREAD(X)
#undef X
#define X(name, symbol, since) FN_##symbol,
    SIMDRIVER_UNSUPPORTED(X)
#undef X
        FN_COUNT
} FunctionId;
typedef enum { NEEDS_NOTHING, NEEDS_INIT, NEEDS_CONTEXT } Needs;

typedef struct {
    const char *name, *symbol;
    int since;
    Needs needs;
} FunctionRow;
extern const FunctionRow simdriver_functions[FN_COUNT];

enum { MAX_GPUS = 16, MAX_RULES = 64, DRIVER_VERSION = 13000, HOST_PAGE = 4096 };

/* Simulated time, in picoseconds since cuInit: whole numbers, so that equal work takes equal time
 * wherever it lies.  */
typedef int64_t Ps;

/* ---- Handles ---- */
typedef enum {
    KIND_NONE, KIND_CONTEXT = 3, KIND_STREAM, KIND_EVENT, KIND_GRAPH, KIND_GRAPH_EXEC, KIND_MODULE,
    KIND_FUNCTION, KIND_LIBRARY, KIND_KERNEL, KIND_NODE, KIND_POOL, KIND_LINK,
    KIND_USER
} Kind;
typedef struct Context Context;
/* Begins every object that has a handle.  */
typedef struct {
    Kind kind;
    Context *ctx;             /* that owns it; NULL: none */
    uintptr_t handle;
} Object;
typedef struct {
    Object *object;           /* NULL: free */
    uint32_t generation;
} HandleSlot;
typedef struct {
    HandleSlot *slot;
    size_t n, cap, first_free;
} HandleTable;

/* ---- Injected faults ---- */
typedef enum { RULE_CALL, RULE_KERNEL, RULE_ALLOC, RULE_NOISE } RuleKind;
typedef struct {
    RuleKind kind;
    char name[64];            /* of the function, with or without a version; "*": any */
    uint64_t from, to;        /* the calls that fail, from 1 */
    bool hang;
    uint32_t delay_ms;
    CUresult result;
    uint64_t seen;            /* calls so far */
} Rule;
typedef struct {
    Rule rule[MAX_RULES];
    int n;
    int version;              /* 0: DRIVER_VERSION */
    uint64_t memory;          /* bytes of every device, 0: no rule */
    char missing[MAX_RULES][64];
    int n_missing;
} Faults;

/* ---- Devices ---- */
typedef enum { ENGINE_COMPUTE, ENGINE_IN, ENGINE_OUT, ENGINE_COUNT } Engine;
typedef struct {
    int ordinal;
    const char *name;         /* that says what it is */
    Device *dev;
    SimGpu *sim;
    Arena *arena;
    uint64_t used;            /* bytes allocated */
    bool kernel_before;       /* what ran last was a kernel, of the same graph if there is one */
    Ps issue;                 /* the host's clock: when the next launch can be issued */
    Ps busy[ENGINE_COUNT];    /* until when */
    Context *primary;
    unsigned primary_flags;
    int retained;
    struct Pool *own_pool, *pool;         /* the default one and the current one; NULL: not yet */
} Gpu;

typedef struct PtxEntry {
    char sha256[65];
    char *ptx;
    struct PtxEntry *next;
} PtxEntry;

typedef struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    uint64_t rules;           /* times that they were set; 0: not even from the environment */
    uint64_t woken;           /* calls of driver_wake */
    bool initialised;
    bool watched;             /* forks are, once */
    bool forked;              /* this process is a child of the one that was initialised */
    Arena *arena;             /* profiles */
    Gpu gpu[MAX_GPUS];
    int n_gpu;
    HandleTable handles;
    Faults faults;
    PtxEntry *registry;
    struct UserObject *doomed;            /* that nothing refers to since this call */
    char message[1024];
    bool said;                /* the message is of this call */
    uint64_t memory_limit;    /* of each device, on the host */
    SimOptions options;
} Driver;

/* ---- Calls ---- */
typedef struct {
    Driver *driver;
    Context *ctx;             /* current; NULL where the call does not need one */
    const FunctionRow *row;
    bool per_thread;          /* stream 0 is the thread's own */
    CUresult result;
} Call;
/* Takes the lock, counts the call, applies injected faults, checks what the call needs.  False: the
 * lock is not held and c->result is what to return.  */
bool driver_enter(Call *c, FunctionId f);
/* The next call of this thread is the work of another function: one of SIMDRIVER_PER_THREAD.  */
void driver_via(FunctionId f);
extern Driver the_driver;                 /* for what goes in and out of calls alone */
/* Takes the lock for what is no call of the API; driver_give gives it back.  */
Driver *driver_take(void);
void driver_give(Driver *d);
/* Gives the lock back; returns r.  Then ends what the call has left without a reference.  */
CUresult driver_leave(Call *c, CUresult r);
/* Waits, without the lock, until driver_wake: the rules were replaced, or a context has gone.  */
void driver_hang(Driver *d);
void driver_wake(Driver *d);
/* What takes longer than it should: sleeps, with the lock.  */
void driver_delay(uint32_t ms);
void driver_say(Driver *d, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Keeps the first error as the driver's message.  */
void driver_say_error(Driver *d, const Diag *diag);
/* The end of a call: ROLLER_SIM_LOG hears of what failed.  */
void driver_log(Driver *d, const FunctionRow *row, CUresult r);
/* ROLLER_SIM_LAUNCHES hears of a launch.  */
void driver_log_launch(const SimLaunch *l);
const char *result_name(CUresult r);
/* Where profiles are searched: as everywhere, and last beside the library itself.  */
const char *driver_profile_path(Arena *a);
int driver_version(const Driver *d);
/* Reads the environment and the profiles.  From then on a fork leaves a child in which every call
 * that needs cuInit says CUDA_ERROR_NOT_INITIALIZED, cuInit as well, as with a real driver.  */
CUresult driver_init(Driver *d);
bool driver_watch_forks(Driver *d);   /* false without memory */

/* Memory of the host, zeroed; grown; in whole pages; behind an arena.  NULL where there is none or
 * a rule says so.  Freed with free.  */
void *host_alloc(size_t bytes);
void *host_grow(void *p, size_t bytes);
void *host_pages(size_t bytes);
extern const ArenaSource host_source;

/* False without memory.  */
bool handle_new(Driver *d, Object *o, Kind kind, Context *ctx);
Object *handle_get(Driver *d, const void *handle, Kind kind);      /* NULL: no such object */
void handle_free(Driver *d, Object *o);
/* The next object of a kind that belongs to ctx, from slot *at on; NULL at the end.  */
Object *handle_next(Driver *d, size_t *at, Kind kind, const Context *ctx);

/* Reads rules; false if they do not parse (*out is then undefined).  */
bool faults_parse(const char *text, Faults *out);
typedef struct {
    bool hang;
    uint32_t delay_ms;        /* of the host's time, before anything else */
    CUresult result;          /* CUDA_SUCCESS: none */
} Injected;
/* Counts one call of a function, one kernel, one allocation; says what befalls it.  */
Injected faults_call(Faults *f, const FunctionRow *row);
Injected faults_of(Faults *f, RuleKind kind);
bool faults_missing(const Faults *f, const FunctionRow *row);

Gpu *gpu_get(Driver *d, CUdevice dev);                              /* NULL: no such device */
#endif
