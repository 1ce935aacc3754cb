/* ---- TVM-FFI ----
 * Declared from the documentation of its C ABI (https://tvm.apache.org/ffi): none of its headers is
 * needed.  Before version 1 a change of the second number is a change of the ABI.  */
#ifndef ROLLER_DRIVER_ARTEFACT_LAUNCHER_TVM_FFI_H
#define ROLLER_DRIVER_ARTEFACT_LAUNCHER_TVM_FFI_H
enum { FFI_MAJOR = 0, FFI_MINOR = 1 };
typedef struct { uint32_t major, minor, patch; } FfiVersion;
/* Types of values; those from FFI_STR on are objects.  */
enum {
    FFI_NONE = 0, FFI_INT = 1, FFI_BOOL = 2, FFI_FLOAT = 3, FFI_DL_TENSOR = 7, FFI_RAW_STR = 8,
    FFI_SMALL_STR = 11, FFI_SMALL_BYTES = 12, FFI_STR = 65, FFI_BYTES = 66, FFI_FUNCTION = 68,
    FFI_TENSOR = 70
};
typedef struct {
    int32_t type;
    uint32_t length;          /* of a small string */
    union {
        int64_t integer;
        double real;
        void *pointer;
        char small[8];
    } v;
} FfiAny;
/* Each object begins so; string and tensor lie behind it.  */
typedef struct {
    uint64_t references;
    int32_t type;
    uint32_t pad;
    void (*deleter)(void *, int);
} FfiObject;
typedef struct { const char *data; size_t size; } FfiBytes;
typedef int (*FfiCall)(void *self, const FfiAny *args, int32_t n, FfiAny *result);
_Static_assert(sizeof(FfiAny) == 16 && sizeof(FfiObject) == 24, "the layout of TVM-FFI");

#define FFI_WEAK __attribute__((weak))
extern void TVMFFIGetVersion(FfiVersion *) FFI_WEAK;
extern void TVMFFIErrorSetRaisedFromCStr(const char *kind, const char *message) FFI_WEAK;
extern int TVMFFIObjectDecRef(void *) FFI_WEAK;
extern int TVMFFIFunctionCreate(void *self, FfiCall, void (*deleter)(void *), void **) FFI_WEAK;
extern int TVMFFIFunctionGetGlobal(const FfiBytes *name, void **) FFI_WEAK;
extern int TVMFFIFunctionCall(void *function, FfiAny *args, int32_t n, FfiAny *) FFI_WEAK;
extern void *TVMFFIEnvGetStream(int32_t type, int32_t id) FFI_WEAK;
extern void *TVMFFIEnvGetDLPackManagedTensorAllocator(void) FFI_WEAK;
extern int TVMFFIEnvTensorAlloc(RollerTensor *like, void **) FFI_WEAK;

/* An exception of the host; gives -1.  */
static int ffi_raise(const char *kind, const char *format, ...) {
    char text[4096];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    if (TVMFFIErrorSetRaisedFromCStr) TVMFFIErrorSetRaisedFromCStr(kind, text);
    return -1;
}

/* Set when the module is loaded, where the TVM-FFI that is here is another one.  */
static char ffi_refused[128];

__attribute__((constructor)) static void ffi_loaded(void) {
    FfiVersion v = {0, 0, 0};
    if (!TVMFFIGetVersion) {
        snprintf(ffi_refused, sizeof ffi_refused, "there is no TVM-FFI in this process");
        return;
    }
    TVMFFIGetVersion(&v);
    if (v.major == FFI_MAJOR && v.minor == FFI_MINOR) return;
    snprintf(ffi_refused, sizeof ffi_refused,
             "this module was made for TVM-FFI %d.%d, and this one is %u.%u.%u", FFI_MAJOR,
             FFI_MINOR, v.major, v.minor, v.patch);
}

/* The result of a call that gives nothing.  0: the call may go on.  */
static int ffi_begin(FfiAny *result) {
    memset(result, 0, sizeof *result);
    return *ffi_refused ? ffi_raise("ImportError", "%s", ffi_refused) : 0;
}

static void *ffi_behind(const FfiAny *a) { return (char *)a->v.pointer + sizeof(FfiObject); }

static const RollerTensor *ffi_tensor(const FfiAny *a) {
    if (a->type == FFI_DL_TENSOR) return (const RollerTensor *)a->v.pointer;
    return a->type == FFI_TENSOR ? (const RollerTensor *)ffi_behind(a) : NULL;
}

/* ---- arguments ---- */
/* A number as the value of a scalar of DLPack's type in `room`; 0: there is no such type.  */
static int ffi_number(const FfiAny *a, int code, int bits, uint64_t *room) {
    int real = a->type == FFI_FLOAT;
    double r = real ? a->v.real : (double)a->v.integer;
    int64_t i = real ? (int64_t)a->v.real : a->v.integer;
    float f = (float)r;
    int32_t word = (int32_t)i;
    if (code == 2 && bits == 64) memcpy(room, &r, sizeof r);
    else if (code == 2 && bits == 32) memcpy(room, &f, sizeof f);
    else if (!real && code == 0 && bits == 64) memcpy(room, &i, sizeof i);
    else if (!real && code == 0 && bits == 32 && word == i) memcpy(room, &word, sizeof word);
    else return 0;
    return 1;
}

/* Argument k, a tensor, or where a scalar of this type is wanted a number, kept in `room`.  */
static int ffi_take(const FfiAny *a, int k, int scalar, int code, int bits, uint64_t *room,
                    RollerTensor *out) {
    const RollerTensor *t = ffi_tensor(a);
    if (t) {
        *out = *t;
        return 0;
    }
    if (!scalar || a->type < FFI_INT || a->type > FFI_FLOAT)
        return ffi_raise("TypeError", "argument %d is no %s", k, scalar ? "number" : "tensor");
    if (!ffi_number(a, code, bits, room))
        return ffi_raise("TypeError", "argument %d is no number of its type", k);
    memset(out, 0, sizeof *out);
    out->data = room;
    out->device.type = 1;
    out->dtype.code = (uint8_t)code;
    out->dtype.bits = (uint8_t)bits;
    out->dtype.lanes = 1;
    return 0;
}

/* Has the environment an allocator?  */
static int ffi_allocates(void) {
    return TVMFFIEnvGetDLPackManagedTensorAllocator && TVMFFIEnvGetDLPackManagedTensorAllocator();
}

/* Tensors that the environment makes, as t[k] says, for outputs that were not given; the result is
 * the only one, else an array of all.  */
static int ffi_outputs(RollerTensor *t, int n, FfiAny *made, FfiAny *result) {
    static const FfiBytes array = {"ffi.Array", 9};
    int k, s = 0;
    void *make = NULL;
    if (!ffi_allocates())
        return ffi_raise("ValueError", "the outputs must be given: nobody has set an allocator of "
                         "tensors");
    for (k = 0; k < n && !s; k++) {
        s = TVMFFIEnvTensorAlloc(&t[k], &made[k].v.pointer);
        made[k].type = s ? FFI_NONE : FFI_TENSOR;
        if (!s) t[k] = *ffi_tensor(&made[k]);
    }
    if (s) {
        while (--k > 0) TVMFFIObjectDecRef(made[k - 1].v.pointer);
        return s;
    }
    if (n == 1) {
        *result = made[0];
        return 0;
    }
    s = TVMFFIFunctionGetGlobal(&array, &make);
    if (!s) s = TVMFFIFunctionCall(make, made, n, result);
    if (make) TVMFFIObjectDecRef(make);
    for (k = 0; k < n; k++) TVMFFIObjectDecRef(made[k].v.pointer);
    return s;
}

static void ffi_drop(FfiAny *a) {
    if (a->type >= FFI_STR) TVMFFIObjectDecRef(a->v.pointer);
    memset(a, 0, sizeof *a);
}

/* ---- devices ---- */
typedef struct {
    int (*current)(void **), (*device)(int *), (*retain)(void **, int);
    int (*push)(void *), (*pop)(void **);
    int (*allocate)(uint64_t *, size_t, void *), (*release)(uint64_t, void *);
} FfiDriver;

/* Found once, by whoever comes first; NULL: there is none.  */
static const FfiDriver *ffi_driver(void) {
    static FfiDriver *_Atomic known;
    static const char *const name[] = {
        "cuCtxGetCurrent", "cuCtxGetDevice", "cuDevicePrimaryCtxRetain", "cuCtxPushCurrent_v2",
        "cuCtxPopCurrent_v2", "cuMemAllocAsync", "cuMemFreeAsync"};
    FfiDriver *here = atomic_load(&known), *before = NULL;
    void *library, *symbol[sizeof name / sizeof *name];
    size_t i, missing = 0;
    if (here) return here;
    library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    for (i = 0; library && i < sizeof name / sizeof *name; i++)
        missing += !(symbol[i] = dlsym(library, name[i]));
    here = library && !missing ? (FfiDriver *)malloc(sizeof *here) : NULL;
    if (!here) return NULL;
    memcpy(here, symbol, sizeof *here);
    if (!atomic_compare_exchange_strong(&known, &before, here)) {
        free(here);
        here = before;
    }
    return here;
}

/* A context of the device is current from here on; *pushed: ffi_leave takes it back.  */
static int ffi_enter(int device, int *pushed) {
    const FfiDriver *cu = ffi_driver();
    void *context = NULL;
    int here = -1;
    *pushed = 0;
    if (!cu) return ffi_raise("RuntimeError", "there is no CUDA driver that allocates in streams");
    if (!cu->current(&context) && context && !cu->device(&here) && here == device) return 0;
    if (cu->retain(&context, device) || cu->push(context))
        return ffi_raise("RuntimeError", "device %d has no context", device);
    *pushed = 1;
    return 0;
}

static void ffi_leave(int pushed) {
    void *context;
    if (pushed) (void)ffi_driver()->pop(&context);
}

static void *ffi_stream(int device) {
    return TVMFFIEnvGetStream ? TVMFFIEnvGetStream(2, device) : NULL;
}

/* Memory that a launch needs: the environment's, else the driver's in the order of the stream.  */
typedef struct {
    void *data, *object;
    uint64_t at;
} FfiRoom;

static int ffi_room(FfiRoom *r, int device, size_t bytes, size_t align, void *stream) {
    int64_t shape[1] = {(int64_t)(bytes + align)};      /* aligned here, whatever theirs is */
    RollerTensor like;
    memset(r, 0, sizeof *r);
    if (!bytes) return 0;
    if (ffi_allocates()) {
        FfiAny a = {FFI_TENSOR, 0, {0}};
        memset(&like, 0, sizeof like);
        like.device.type = 2;
        like.device.id = device;
        like.ndim = 1;
        like.dtype.code = 1;
        like.dtype.bits = 8;
        like.dtype.lanes = 1;
        like.shape = shape;
        if (TVMFFIEnvTensorAlloc(&like, &r->object)) return -1;
        a.v.pointer = r->object;
        r->data = (char *)ffi_tensor(&a)->data + ffi_tensor(&a)->byte_offset;
    } else {
        if (ffi_driver()->allocate(&r->at, bytes + align, stream))
            return ffi_raise("MemoryError", "no %zu bytes of workspace on device %d", bytes,
                             device);
        r->data = (void *)(uintptr_t)r->at;
    }
    r->data = (void *)(((uintptr_t)r->data + align - 1) / align * align);
    return 0;
}

static void ffi_room_end(FfiRoom *r, void *stream) {
    if (r->object) TVMFFIObjectDecRef(r->object);
    if (r->at) (void)ffi_driver()->release(r->at, stream);
}

/* ---- what is loaded, by device or context: a list that only grows ---- */
typedef struct FfiLoaded {
    uintptr_t of;
    void *what;
    struct FfiLoaded *next;
} FfiLoaded;

static void *ffi_find(FfiLoaded *_Atomic *list, uintptr_t of) {
    FfiLoaded *x = atomic_load(list);
    while (x && x->of != of) x = x->next;
    return x ? x->what : NULL;
}

/* Gives what is to be used: that of another thread which came first, so that `what` can go.  */
static void *ffi_add(FfiLoaded *_Atomic *list, uintptr_t of, void *what) {
    FfiLoaded *own = (FfiLoaded *)malloc(sizeof *own), *head = atomic_load(list);
    if (!own) return NULL;
    own->of = of;
    own->what = what;
    do {
        void *before = ffi_find(list, of);
        if (before) {
            free(own);
            return before;
        }
        own->next = head;
    } while (!atomic_compare_exchange_strong(list, &head, own));
    return what;
}
#endif
