/* ---- the module: one function, named after the op ---- */
static int ffi_fail(int status) {
    const char *kind = status == ROLLER_LAUNCH_NOMEM    ? "MemoryError"
                       : status == ROLLER_LAUNCH_DTYPE  ? "TypeError"
                       : status >= ROLLER_LAUNCH_ARGS   ? "ValueError"
                                                        : "RuntimeError";
    return ffi_raise(kind, "%s: %s", FFI_OP, NAME(status_text)(status));
}

/* Shapes of outputs, as the inputs tell them, in out[k].shape.  */
static int ffi_infer(const RollerTensor *t, RollerTensor *out) {
    Call c;
    int i, d;
    c.in = t;
    c.out = out;
    c.device = ANYWHERE;
    for (i = 0; i < N_OUT; i++) out[i].ndim = 0;
    for (i = 0; i < N_IN; i++)
        if (t[i].ndim != argument[i].rank) return ffi_fail(ROLLER_LAUNCH_RANK);
    for (i = 0; i < N_SIZE; i++) c.size[i] = size[i].varies ? -1 : size[i].most;
    read_sizes(&c);
    for (i = 0; i < N_SIZE; i++)
        if (size[i].varies && c.size[i] < 0)
            return ffi_raise("ValueError", "%s: the outputs must be given: their shapes tell a "
                             "size that no input has", FFI_OP);
    derive(c.size);
    for (i = 0; i < N_OUT; i++) {
        const Argument *a = &argument[N_IN + i];
        out[i].ndim = a->rank;
        out[i].dtype.code = (uint8_t)a->code;
        out[i].dtype.bits = (uint8_t)a->bits;
        out[i].dtype.lanes = 1;
        for (d = 0; d < a->rank; d++) out[i].shape[d] = extent(a->shape[d].expression, c.size);
    }
    return 0;
}

/* The device of the first tensor that lies on one; -1: there is none.  */
static int ffi_device(const RollerTensor *t, int n) {
    int i;
    for (i = 0; i < n; i++)
        if (t[i].device.type == CUDA) return t[i].device.id;
    return -1;
}

/* The program in the context that is current.  */
static const NAME(kernel) *ffi_program(int *status) {
    static FfiLoaded *_Atomic all;
    void *context = NULL;
    NAME(kernel) *k, *used;
    (void)ffi_driver()->current(&context);
    k = (NAME(kernel) *)ffi_find(&all, (uintptr_t)context);
    if (k) return k;
    *status = NAME(load)(&k);
    if (*status) return NULL;
    used = (NAME(kernel) *)ffi_add(&all, (uintptr_t)context, k);
    if (!used) *status = ROLLER_LAUNCH_NOMEM;
    if (used != k) NAME(unload)(k);
    return used;
}

static int ffi_launch(const RollerTensor *t, int device) {
    int s = ROLLER_LAUNCH_OK, raised;
    size_t bytes = 0;
    FfiRoom room;
    void *stream = ffi_stream(device);
    const NAME(kernel) *k = ffi_program(&s);
    if (!s) s = NAME(workspace)(k, t, N_IN, t + N_IN, N_OUT, &bytes);
    if (s) return ffi_fail(s);
    raised = ffi_room(&room, device, bytes, WORKSPACE_ALIGN, stream);
    if (raised) return raised;
    s = NAME(launch)(k, t, N_IN, t + N_IN, N_OUT, room.data, bytes, stream);
    ffi_room_end(&room, stream);
    return s ? ffi_fail(s) : 0;
}

static int ffi_run(RollerTensor *t, int n, FfiAny *result) {
    int64_t shape[N_OUT][8];
    FfiAny made[N_OUT];
    int i, s = 0, pushed, device = ffi_device(t, n);
    if (device < 0) return ffi_raise("ValueError", "%s: no tensor is on a CUDA device", FFI_OP);
    if (n == N_IN) {
        for (i = 0; i < N_OUT; i++) {
            memset(&t[N_IN + i], 0, sizeof t[N_IN + i]);
            t[N_IN + i].device.type = CUDA;
            t[N_IN + i].device.id = device;
            t[N_IN + i].shape = shape[i];
        }
        s = ffi_infer(t, t + N_IN);
        if (!s) s = ffi_outputs(t + N_IN, N_OUT, made, result);
    }
    if (!s) s = ffi_enter(device, &pushed);
    if (!s) {
        s = ffi_launch(t, device);
        ffi_leave(pushed);
    }
    if (s) ffi_drop(result);
    return s;
}

/* Inputs and scalars as declared, then outputs; without these the result is what is made.  */
static int ffi_call(void *self, const FfiAny *args, int32_t n, FfiAny *result) {
    RollerTensor t[N_ARG];
    uint64_t room[N_ARG];
    int i, s = ffi_begin(result);
    (void)self;
    if (!s && n != N_IN && n != N_ARG)
        s = ffi_raise("TypeError", "%s takes %d inputs and %d outputs, not %d arguments", FFI_OP,
                      N_IN, N_OUT, n);
    for (i = 0; i < n && !s; i++)
        s = ffi_take(&args[i], i, argument[i].scalar, argument[i].code, argument[i].bits, &room[i],
                     &t[i]);
    return s ? s : ffi_run(t, n, result);
}
