/* Contexts, streams and the work in them; private to src/simdriver.
 *
 * A call queues work; nothing runs before something waits for it or asks about it.  So a caller
 * that forgets to synchronise sees old data, and streams that forget to wait for each other run in
 * the wrong order.  work_advance runs the next piece that a given piece depends on.  */
#ifndef ROLLER_SIMDRIVER_WORK_H
#define ROLLER_SIMDRIVER_WORK_H
#include "simdriver/state.h"

typedef struct Stream Stream;
typedef struct Event Event;
typedef struct Work Work;
typedef struct Capture Capture;

/* Nodes of a graph, by number; each once.  */
typedef struct {
    size_t *v;
    size_t n, cap;
} IndexSet;
bool index_add(IndexSet *to, const IndexSet *from);    /* false without memory */
void index_clear(IndexSet *set);

/* ---- Code ---- */
/* Parsed PTX, shared by modules, functions, queued launches and graphs.  */
typedef struct {
    int refs;
    Driver *driver;
    Arena *arena;
    SimModule *code;
    const void *cubin;        /* a copy on the arena, if the PTX stands for one */
    size_t cubin_len;
} Image;
/* Reads an image for a driver of this version; *out has one reference.  */
CUresult image_open(Driver *d, const void *bytes, Image **out);
/* Whether a device can run it: CUDA_SUCCESS, or why not.  */
CUresult image_fits(const Image *image, const Device *dev);
void image_release(Image *image);

/* What calls set of a kernel on a device.  */
enum { NO_PREFERENCE = -1 };
typedef struct {
    bool set;                 /* max_dynamic was; otherwise it is the limit without opt-in */
    int max_dynamic, carveout, policy;
    bool non_portable;
} Settings;
typedef struct {
    Object o;
    Image *image;
} Library;
typedef struct {
    Object o;
    Library *library;
    const char *name;
    Settings settings[MAX_GPUS];
} Kernel;
typedef struct {
    Object o;
    Image *image;
    const Library *library;   /* that it is the context's form of; NULL: none */
} Module;
typedef struct {
    Object o;
    Module *module;
    const char *name;         /* in the image */
    SimKernelInfo info;
    int registers;
    Settings own, *settings;  /* its own, or those of a library's kernel */
} Function;
/* The function of a handle: a function of the current context, or what a library's kernel is
 * there.  */
CUresult function_get(Call *c, const void *handle, Function **out);
/* The function of that name in a module: always the same one.  `settings` NULL: its own.  */
CUresult module_function(Driver *d, Module *m, const char *name, Settings *settings,
                         Function **out);
CUresult module_load(Call *c, CUmodule *module, const void *image);
/* Takes over the reference to the image, also when it fails.  */
CUresult module_new(Driver *d, Context *ctx, Image *image, const Library *library, Module **out);
/* Functions of the module go with it, once their launches have run.  */
CUresult module_unload(Driver *d, Module *m);
/* Where a variable of a module lies.  */
CUresult module_variable(const Module *m, CUdeviceptr *at, size_t *bytes, const char *name);
/* Fills the log buffers among the options of a call that ends in r; returns r.  */
CUresult code_logs(const Driver *d, CUresult r, unsigned n, const int *options, void **values);
/* The bytes of a file and a NUL, which the caller frees.  `len` may be NULL.  */
CUresult code_read(Driver *d, const char *file, char **bytes, size_t *len);
/* Place and size of a parameter among the others.  */
CUresult code_param(const Image *image, const char *kernel, size_t index, size_t *offset,
                    size_t *size);
CUresult library_open(Driver *d, CUlibrary *library, const void *code);
CUresult library_kernel(Call *c, CUkernel *kernel, Library *l, const char *name);
/* The library's form in the current context, made when it is first asked for.  */
CUresult library_module(Call *c, const Library *l, Module **out);
/* Describes a kernel of an image on a device; false if there is none of that name.  */
bool function_describe(const Image *image, const char *name, const Device *dev, Function *out);
/* Bytes of dynamic shared memory that a launch may ask for.  */
int64_t function_most_dynamic(const Function *f, const Device *dev);
int function_most_threads(const Function *f, const Device *dev);      /* of a block */
int function_blocks_per_sm(const Function *f, const Device *dev, int threads, int64_t dynamic);

/* ---- Work ---- */
typedef enum {
    WORK_KERNEL, WORK_COPY, WORK_FILL, WORK_HOST, WORK_FREE, WORK_WAIT, WORK_MARK, WORK_GRAPH
} WorkKind;

/* One end of a copy: device memory, or the host's where `at` is 0.  Rows are `pitch` bytes apart,
 * planes `slice`.  */
typedef struct {
    CUdeviceptr at;
    unsigned char *host;
    size_t pitch, slice;
} End;
typedef struct {
    End to, from;
    size_t width, height, depth;          /* bytes of a row, rows of a plane, planes */
} Box;
size_t box_bytes(const Box *b);
/* Bytes from the first to the last that the box touches at an end; 0 if it is none: rows that
 * overlap, sizes beyond all memory.  */
size_t box_span(const Box *b, const End *e);

typedef struct {
    Image *image;
    SimLaunch launch;
} Launch;

typedef struct GraphBody GraphBody;
struct Work {
    WorkKind kind;
    int refs;
    bool done;
    Work *next;
    Stream *stream;           /* that it is queued in */
    Ps issued, end;
    Launch launch;            /* WORK_KERNEL; its params are owned */
    Box box;                  /* WORK_COPY; WORK_FILL and WORK_FREE: where to */
    bool buffered;            /* box.from.host is a copy that belongs to the work */
    uint8_t pattern[4];       /* WORK_FILL: of `element` bytes */
    int element;
    CUhostFn fn;              /* WORK_HOST: this or that */
    CUstreamCallback callback;
    void *user;
    Work *wait;               /* WORK_WAIT */
    GraphBody *graph;         /* WORK_GRAPH */
    size_t node;              /* that runs next: a graph that hung goes on where it was */
};
Work *work_new(WorkKind kind);                        /* one reference; NULL without memory */
/* Pieces of work from what a call says; nothing is queued.  */
CUresult work_of_launch(Call *c, const CUlaunchConfig *config, CUfunction function, void **params,
                        void **extra, Work **out);
CUresult work_of_copy(Call *c, const Box *b, Work **out);
CUresult work_of_box(Call *c, const CUDA_MEMCPY3D *copy, Work **out);
/* An element that is repeated.  */
typedef struct {
    const void *value;
    int bytes;
} Pattern;
CUresult work_of_fill(Call *c, const Box *b, Pattern p, Work **out);
void work_release(Work *w);
/* What is no longer needed once the work is done; so chains of waits do not stay alive.  */
void work_drop_payload(Work *w);
/* Appends to the stream, or to the graph that it captures; takes over the caller's reference, also
 * when it fails.  Orders the work against the legacy stream.  */
CUresult work_submit(Driver *d, Stream *s, Work *w);
/* Runs one piece of work on the way to w; false if that hangs.  */
bool work_advance(Driver *d, Work *w);
/* Runs all the work that w depends on, and w; waits where it hangs.  Then what the context has to
 * report: CUDA_ERROR_CONTEXT_IS_DESTROYED if another thread destroyed it meanwhile.  */
CUresult work_finish(Driver *d, Context *ctx, Work *w);
/* What a piece of work follows: nothing that it could overlap with, other work of its stream that
 * ends as it begins, or the piece before it in a graph.  */
typedef enum { ALONE, BEHIND, IN_GRAPH } Chain;
/* Executes one piece; `begin` is when it could start.  Sets w->end.  False: it hangs.  Every piece
 * on a device takes the profile's kernel_floor beside its own time, or less behind others.  */
bool work_execute(Driver *d, Context *ctx, Work *w, Ps begin, Chain chain);

struct Stream {
    Object o;
    bool blocking;            /* ordered with the legacy stream */
    Work *head, *tail;        /* queued */
    Work *last;               /* newest work, queued or done; NULL: none yet */
    Ps end;                   /* of the work that ran last */
    bool busy;                /* until then, and that was no mark */
    bool running;             /* a thread runs the head, without the lock while on the host */
    bool hung;                /* the head was found to hang under these rules: */
    uint64_t hung_under;
    Capture *capture;
    IndexSet front;           /* nodes that the next captured work depends on */
};
/* NULL without memory.  */
Stream *stream_new(Driver *d, Context *ctx, bool blocking);
/* As work_finish, for everything queued.  */
CUresult stream_finish(Driver *d, Stream *s);
/* Drops what is queued, as if done.  */
void stream_drop(Stream *s);
/* A handle of a stream as a call gives it (0 and the two special ones included).  */
Stream *stream_get(Call *c, CUstream handle);

struct Event {
    Object o;
    unsigned flags;
    Work *mark;               /* recorded last; NULL: never */
    Capture *capture;         /* recorded in it last */
    IndexSet front;
};

/* ---- Contexts ---- */
typedef enum { MEMORY_DEVICE, MEMORY_PINNED, MEMORY_REGISTERED, MEMORY_MANAGED } MemoryKind;
typedef struct Memory {
    MemoryKind kind;
    CUdeviceptr at;           /* memory of the host has the same address everywhere */
    void *host;               /* NULL: in device memory */
    size_t bytes;
    unsigned flags;           /* as it was asked for */
    bool freed;               /* once the stream gets there */
    struct Pool *pool;        /* NULL: of none */
    struct Memory *next;
} Memory;

/* A pool gives what is allocated in the order of a stream, and counts it.  */
typedef struct Pool {
    Object o;
    Gpu *gpu;
    uint64_t attribute[CU_MEMPOOL_ATTR_COUNT];
} Pool;
/* Counts an allocation that came or went.  */
void pool_count(Pool *p, uint64_t bytes, bool came);

struct Context {
    Object o;
    Gpu *gpu;
    CUresult failed;          /* every later call returns it */
    Stream *legacy, *per_thread;
    Memory *memory;
    unsigned flags;
    uint64_t attached;        /* times, beside its creation */
    size_t limit[CU_LIMIT_COUNT];
    int cache_config;
};
/* Frees an object and its handle; a stream's queued work is dropped.  */
void object_free(Driver *d, Object *o);
/* Gives the memory back, not the struct's place in the context's list.  */
void memory_release(Driver *d, Context *ctx, Memory *m);
/* Device memory for the context.  */
CUresult memory_allocate(Driver *d, Context *ctx, size_t bytes, Memory **out);
uint64_t memory_rounded(size_t bytes);    /* as devices allocate */
uint64_t memory_left(const Driver *d, const Gpu *gpu);
void memory_remember(Context *ctx, Memory *m);
/* The allocation, of any context, that an address lies in; NULL if there is none.  */
Memory *memory_find(Driver *d, CUdeviceptr at, Context **ctx);
/* Takes an allocation out of the context's list.  */
void memory_forget(Context *ctx, const Memory *m);
/* The device that has these bytes; NULL if they are not in one allocation of any.  */
Gpu *memory_gpu(Driver *d, CUdeviceptr at, size_t bytes);
/* The calling thread's current context as a handle; 0: none.  */
CUcontext context_current(void);       /* NULL: none */
CUresult context_push(CUcontext ctx);
void context_pop(CUcontext *ctx);         /* there is one; ctx: which it was, may be NULL */
/* As work_finish, for all streams.  */
CUresult context_finish(Driver *d, Context *ctx);
/* The allocation that holds these bytes of page-locked host memory; NULL: pageable memory.  */
Memory *context_pinned(const Context *ctx, const void *at, size_t bytes);

/* ---- Graphs ---- */
typedef struct {
    Work *work;
    IndexSet needs;
} Node;
/* What a graph keeps of its caller's.  */
typedef struct UserObject {
    Object o;
    Driver *driver;
    void *pointer;
    CUhostFn destroy;
    uint64_t refs;
    struct UserObject *next;
} UserObject;
void user_release(UserObject *u, uint64_t n);
typedef struct {
    UserObject *user;
    uint64_t n;
} Retained;
struct GraphBody {
    int refs;
    Retained *retained;
    size_t n_retained;
    Node *node;
    size_t n, cap;
    size_t *order;            /* in which they run; NULL: not sorted yet */
};
void graph_release(GraphBody *g);
/* Adds a node and takes over the work; false without memory, and then it does not.  */
bool graph_add(GraphBody *g, Work *w, const IndexSet *needs);

struct Capture {
    struct GraphObject *graph;            /* has a handle before the capture ends */
    CUgraphNode *front;       /* told by the last question */
    Stream *origin;
    int mode;
    pthread_t thread;
    bool invalid;
};
/* Adds work to the graph a stream captures; takes over the reference, also when it fails.  */
CUresult capture_add(Driver *d, Stream *s, Work *w);
/* A stream waits for an event of a capture, and so joins it.  */
CUresult capture_join(Stream *s, Event *e);
CUresult capture_mark(Stream *s, Event *e);
/* Ends a capture and frees it: no stream or event remembers it.  */
void capture_drop(Driver *d, Capture *k);
/* For calls that a capture forbids: CUDA_SUCCESS if there is none that does.  The captures that do
 * are invalidated.  `unsafe`: calls that a relaxed capture permits.  */
CUresult capture_forbids(Driver *d, const Context *ctx, bool unsafe);
void event_forget(Event *e);

/* Objects of one kind by handle.  */
#define GET(c, T, handle, kind) ((T *)(void *)handle_get((c)->driver, handle, kind))
/* Those of a context, one after the other; see handle_next.  */
#define NEXT(d, T, at, kind, ctx) ((T *)(void *)handle_next((d), (at), (kind), (ctx)))
/* A handle for an object of ours.  */
#define HANDLE(T, object) ((T)(object)->o.handle)
#endif
