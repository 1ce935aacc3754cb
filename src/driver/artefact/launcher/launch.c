/* ---- the CUDA driver: found by its name, never linked ---- */
typedef struct {
    int id, zero;
    union {
        unsigned cluster[3];
        int number;
        char room[64];
    } value;
} Attribute;

typedef struct {
    unsigned grid[3], block[3], smem;
    void *stream;
    Attribute *attribute;
    unsigned n_attribute;
} Config;

typedef struct {
    void *library;
    int (*ctx_current)(void **);
    int (*ctx_device)(int *);
    int (*version)(int *);
    int (*attribute)(int *, int, int);
    int (*load)(void **, const void *);
    int (*unload)(void *);
    int (*function)(void **, void *, const char *);
    int (*set)(void *, int, int);
    int (*per_sm)(int *, void *, int, size_t);
    int (*launch)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                  void *, void **, void **);
    /* Of CUDA 12: NULL where the driver is older.  */
    int (*launch_config)(const Config *, void *, void **, void **);
    int (*clusters)(int *, void *, const Config *);
    int (*tiled)(void *, int, uint32_t, void *, const uint64_t *, const uint64_t *,
                 const uint32_t *, const uint32_t *, int, int, int, int);
    int (*im2col)(void *, int, uint32_t, void *, const uint64_t *, const uint64_t *, const int *,
                  const int *, uint32_t, uint32_t, const uint32_t *, int, int, int, int);
} Driver;

struct NAME(kernel) {
    Driver cuda;
    const Target *target;
    void *context;
    int device;
    int overlaps;             /* captured streams take overlapping launches, too */
    void *module[MOST_KERNELS];           /* of each kernel's image; NULL: an earlier one's */
    void *function[MOST_KERNELS];
    int64_t resident[MOST_KERNELS];       /* blocks that the device holds; 0: it does not tell */
};

static int find(void *library, const char *name, void *to) {
    void *symbol = dlsym(library, name);
    memcpy(to, &symbol, sizeof symbol);
    return symbol ? ROLLER_LAUNCH_OK : ROLLER_LAUNCH_DRIVER;
}

static int open_driver(Driver *c) {
    int s = ROLLER_LAUNCH_OK;
    c->library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!c->library) return ROLLER_LAUNCH_DRIVER;
    if (!s) s = find(c->library, "cuCtxGetCurrent", &c->ctx_current);
    if (!s) s = find(c->library, "cuCtxGetDevice", &c->ctx_device);
    if (!s) s = find(c->library, "cuDriverGetVersion", &c->version);
    if (!s) s = find(c->library, "cuDeviceGetAttribute", &c->attribute);
    if (!s) s = find(c->library, "cuModuleLoadData", &c->load);
    if (!s) s = find(c->library, "cuModuleUnload", &c->unload);
    if (!s) s = find(c->library, "cuModuleGetFunction", &c->function);
    if (!s) s = find(c->library, "cuFuncSetAttribute", &c->set);
    if (!s) s = find(c->library, "cuLaunchKernel", &c->launch);
    if (!s) s = find(c->library, "cuOccupancyMaxActiveBlocksPerMultiprocessor", &c->per_sm);
    (void)find(c->library, "cuLaunchKernelEx", &c->launch_config);
    (void)find(c->library, "cuOccupancyMaxActiveClusters", &c->clusters);
    (void)find(c->library, "cuTensorMapEncodeTiled", &c->tiled);
    (void)find(c->library, "cuTensorMapEncodeIm2col", &c->im2col);
    return s;
}

/* ---- loading ---- */
/* How well a target's code fits a device: 2 its cubin, 1 its PTX, 0 not at all.  */
static int fit(const Target *t, int major, int minor) {
    int own = major * 10 + minor;
    if (t->specific ? t->sm == own : t->sm / 10 == major && t->sm <= own) return 2;
    return !t->specific && t->sm <= own;
}

static const Target *choose(int major, int minor) {
    const Target *best = NULL;
    int i, best_fit = 0;
    for (i = 0; i < N_TARGET; i++) {
        int f = fit(&target[i], major, minor);
        if (f > best_fit || (best && f == best_fit && f && target[i].sm > best->sm)) {
            best = &target[i];
            best_fit = f;
        }
    }
    return best;
}

/* Which kernel's module has kernel i: the first of its image; all are in the PTX.  */
static int module_of(const NAME(kernel) *k, int i, int cubin) {
    int first = 0;
    while (cubin && k->target->kernel[first].image != k->target->kernel[i].image) first++;
    return first;
}

static void unload_modules(NAME(kernel) *k) {
    int i;
    for (i = 0; i < MOST_KERNELS; i++) {
        if (k->module[i]) (void)k->cuda.unload(k->module[i]);
        k->module[i] = NULL;
    }
}

static int load_images(NAME(kernel) *k, int cubin) {
    int i, code = 0;
    for (i = 0; i < k->target->n_kernel && !code; i++) {
        const unsigned char *image = cubin ? k->target->cubin + k->target->kernel[i].image
                                           : k->target->ptx;
        if (module_of(k, i, cubin) < i) continue;
        code = k->cuda.load(&k->module[i], image);
        if (code) k->module[i] = NULL;
    }
    return code;
}

/* A cubin that is not for this device, or for no device at all, leaves the PTX to the driver.  */
static int load_modules(NAME(kernel) *k, int *cubin) {
    enum { NO_BINARY_FOR_GPU = 209 };
    int code = NO_BINARY_FOR_GPU;
    if (*cubin) code = load_images(k, 1);
    if (code == NO_BINARY_FOR_GPU) {
        unload_modules(k);
        *cubin = 0;
        code = load_images(k, 0);
    }
    return code == NO_BINARY_FOR_GPU ? ROLLER_LAUNCH_ARCH : code ? ROLLER_LAUNCH_CUDA : 0;
}

static int is_clustered(const Kernel *x) {
    return x->cluster[0] * x->cluster[1] * x->cluster[2] > 1;
}

static Config config_of(const Kernel *x, unsigned blocks, Attribute at[2]) {
    enum { CLUSTER = 4 };
    Config c = {{blocks, x->grid[0], x->grid[1]}, {x->block[0], x->block[1], x->block[2]},
                (unsigned)x->smem, NULL, at, 0};
    memset(at, 0, 2 * sizeof *at);
    if (is_clustered(x)) {
        at[c.n_attribute].id = CLUSTER;
        memcpy(at[c.n_attribute++].value.cluster, x->cluster, sizeof x->cluster);
    }
    return c;
}

/* Blocks of a kernel whose blocks stay that the device holds at a time.  */
static int64_t ask_resident(const NAME(kernel) *k, int i) {
    enum { SM_COUNT = 16 };
    const Kernel *x = &k->target->kernel[i];
    int n = 0, sms = 0;
    int64_t together = (int64_t)x->cluster[0] * x->cluster[1] * x->cluster[2];
    Attribute at[2];
    Config config = config_of(x, x->cluster[0], at);
    if (x->wanted < 0) return 0;
    if (is_clustered(x))
        return k->cuda.clusters && !k->cuda.clusters(&n, k->function[i], &config) ? n * together
                                                                                  : 0;
    if (k->cuda.attribute(&sms, SM_COUNT, k->device) ||
        k->cuda.per_sm(&n, k->function[i], (int)(x->block[0] * x->block[1] * x->block[2]),
                       (size_t)x->smem))
        return 0;
    return (int64_t)n * sms;
}

static int load_functions(NAME(kernel) *k, int cubin) {
    enum { MAX_DYNAMIC_SHARED = 8, ALWAYS = 48 * 1024 };
    int i;
    for (i = 0; i < k->target->n_kernel; i++) {
        const Kernel *x = &k->target->kernel[i];
        if (is_clustered(x) && !k->cuda.launch_config) return ROLLER_LAUNCH_DRIVER;
        if (k->cuda.function(&k->function[i], k->module[module_of(k, i, cubin)], x->symbol))
            return ROLLER_LAUNCH_CUDA;
        if (x->smem + x->static_smem > ALWAYS &&
            k->cuda.set(k->function[i], MAX_DYNAMIC_SHARED, x->smem))
            return ROLLER_LAUNCH_CUDA;
        k->resident[i] = ask_resident(k, i);
    }
    return ROLLER_LAUNCH_OK;
}

static int load_here(NAME(kernel) *k) {
    enum { CC_MAJOR = 75, CC_MINOR = 76, OVERLAPS = 12030 };
    int version = 0, major = 0, minor = 0, cubin, s = open_driver(&k->cuda);
    if (s) return s;
    if (k->cuda.version(&version)) return ROLLER_LAUNCH_CUDA;
    k->overlaps = version >= OVERLAPS && k->cuda.launch_config;
    if (k->cuda.ctx_current(&k->context) || !k->context || k->cuda.ctx_device(&k->device))
        return ROLLER_LAUNCH_DEVICE;
    if (k->cuda.attribute(&major, CC_MAJOR, k->device) ||
        k->cuda.attribute(&minor, CC_MINOR, k->device))
        return ROLLER_LAUNCH_CUDA;
    k->target = choose(major, minor);
    if (!k->target) return ROLLER_LAUNCH_ARCH;
    if (k->target->n_kernel == 0) return ROLLER_LAUNCH_OK;
    if (k->target->n_map && (!k->cuda.tiled || !k->cuda.im2col)) return ROLLER_LAUNCH_DRIVER;
    cubin = fit(k->target, major, minor) == 2;
    s = load_modules(k, &cubin);
    return s ? s : load_functions(k, cubin);
}

int NAME(load)(NAME(kernel) **out) {
    int s;
    NAME(kernel) *k = (NAME(kernel) *)calloc(1, sizeof *k);
    *out = NULL;
    if (!k) return ROLLER_LAUNCH_NOMEM;
    s = load_here(k);
    if (s) NAME(unload)(k);
    else *out = k;
    return s;
}

void NAME(unload)(NAME(kernel) *k) {
    if (!k) return;
    unload_modules(k);
    if (k->cuda.library) dlclose(k->cuda.library);
    free(k);
}

/* ---- arguments ---- */
enum { CPU = 1, CUDA = 2, MANAGED = 13, ANYWHERE = -1 };

typedef struct {
    const RollerTensor *in, *out;
    int device;
    int64_t size[MOST_SIZES];
    int empty;
} Call;

static const RollerTensor *given(const Call *c, int i) {
    return i < N_IN ? &c->in[i] : &c->out[i - N_IN];
}

static char *address(const RollerTensor *t) {
    return (char *)t->data + (t->data ? t->byte_offset : 0);
}

static int has_elements(const RollerTensor *t) {
    int i;
    for (i = 0; i < t->ndim; i++)
        if (t->shape[i] == 0) return 0;
    return 1;
}

static int check_kinds(const Call *c) {
    int i;
    for (i = 0; i < N_ARG; i++) {
        const RollerTensor *t = given(c, i);
        int type = t->device.type;
        int fits = type == MANAGED || (type == CUDA && t->device.id == c->device);
        if (argument[i].scalar) fits = type == CPU;
        if (!fits && c->device != ANYWHERE) return ROLLER_LAUNCH_ARGS;
    }
    for (i = 0; i < N_ARG; i++) {
        const RollerTensor *t = given(c, i);
        if (t->dtype.code != argument[i].code || t->dtype.bits != argument[i].bits ||
            t->dtype.lanes > 1)
            return ROLLER_LAUNCH_DTYPE;
    }
    for (i = 0; i < N_ARG; i++) {
        const RollerTensor *t = given(c, i);
        if (t->ndim != argument[i].rank || (t->ndim && !t->shape)) return ROLLER_LAUNCH_RANK;
    }
    return ROLLER_LAUNCH_OK;
}

/* A run-time size is what stands where the declaration has it alone: in shapes, then in strides. */
static void read_sizes(Call *c) {
    int i, d, strides, known[MOST_SIZES] = {0};
    for (strides = 0; strides < 2; strides++) {
        for (i = 0; i < N_ARG; i++) {
            const RollerTensor *t = given(c, i);
            for (d = 0; d < t->ndim; d++) {
                Extent e = strides ? argument[i].stride[d] : argument[i].shape[d];
                if (e.size < 0 || known[e.size]) continue;
                if (strides && (!t->strides || t->shape[d] <= 1)) continue;
                c->size[e.size] = strides ? t->strides[d] : t->shape[d];
                known[e.size] = 1;
            }
        }
    }
}

static int check_sizes(Call *c) {
    int i, d;
    for (i = 0; i < N_SIZE; i++) c->size[i] = size[i].most;
    read_sizes(c);
    for (i = 0; i < N_SIZE; i++) {
        int64_t v = c->size[i];
        if (size[i].varies && (v < size[i].least || v > size[i].most || v % size[i].multiple))
            return ROLLER_LAUNCH_SIZE;
    }
    derive(c->size);
    for (i = 0; i < N_ARG; i++)
        for (d = 0; d < argument[i].rank; d++)
            if (given(c, i)->shape[d] != extent(argument[i].shape[d].expression, c->size))
                return ROLLER_LAUNCH_SIZE;
    return ROLLER_LAUNCH_OK;
}

static int check_strides(const Call *c) {
    int i, d;
    for (i = 0; i < N_ARG; i++) {
        const RollerTensor *t = given(c, i);
        int64_t dense = 1;
        for (d = t->ndim - 1; d >= 0; d--) {
            int64_t has = t->strides ? t->strides[d] : dense;
            dense *= t->shape[d];
            if (t->shape[d] > 1 && has != extent(argument[i].stride[d].expression, c->size))
                return ROLLER_LAUNCH_STRIDE;
        }
    }
    return ROLLER_LAUNCH_OK;
}

static int check_pointers(const Call *c) {
    int i;
    for (i = 0; i < N_ARG; i++)
        if (has_elements(given(c, i)) && !argument[i].scalar &&
            (uintptr_t)address(given(c, i)) % ALIGN)
            return ROLLER_LAUNCH_ALIGN;
    for (i = 0; i < N_ARG; i++)
        if (has_elements(given(c, i)) && !given(c, i)->data) return ROLLER_LAUNCH_NULLPTR;
    return ROLLER_LAUNCH_OK;
}

static int check(Call *c, int n_in, int n_out) {
    int i, s;
    if (n_in != N_IN || n_out != N_OUT) return ROLLER_LAUNCH_ARGS;
    s = check_kinds(c);
    if (!s) s = check_sizes(c);
    if (!s) s = check_strides(c);
    if (!s && c->device != ANYWHERE) s = check_pointers(c);
    c->empty = 1;
    for (i = 0; i < N_OUT && !s; i++) c->empty = c->empty && !has_elements(&c->out[i]);
    return s;
}

/* ---- what a launch takes at its sizes ---- */
/* The first choice whose bounds the sizes keep: no measure is more; the last one has no bounds.  */
static const Choice *choice_of(const Target *t, const int64_t *s) {
    int64_t is[MOST_MEASURES];
    int i, m;
    for (m = 0; m < t->n_measure; m++) is[m] = extent(t->measure[m], s);
    for (i = 0; i < t->n_choice - 1; i++) {
        const int64_t *most = &t->most[i * t->n_measure];
        for (m = 0; m < t->n_measure && is[m] <= most[m]; m++) continue;
        if (m == t->n_measure) break;
    }
    return &t->choice[i];
}

static int64_t workspace_of(const Target *t, const int64_t *s) {
    int64_t need = 0;
    int i, split = choice_of(t, s)->split;
    for (i = 0; i < t->n_part; i++) {
        int64_t bytes = extent(t->part[i].bytes, s);
        if (t->part[i].split == split && bytes > 0 && t->part[i].offset + bytes > need)
            need = t->part[i].offset + bytes;
    }
    return need;
}

int NAME(workspace)(const NAME(kernel) *k, const RollerTensor *in, int n_in,
                    const RollerTensor *out, int n_out, size_t *bytes) {
    Call c;
    int s;
    c.in = in;
    c.out = out;
    c.device = ANYWHERE;
    *bytes = 0;
    s = check(&c, n_in, n_out);
    if (!s && !c.empty) *bytes = (size_t)workspace_of(k->target, c.size);
    return s;
}

/* ---- launching ---- */
typedef union {
    void *pointer;
    int size;
} Value;

/* What a kernel takes, before its maps.  */
static void fill(const Target *t, const Call *c, const Kernel *x, void *workspace, Value *value,
                 void **param) {
    int i;
    for (i = 0; i < x->n_param; i++) {
        Param p = t->param[x->param + i];
        param[i] = &value[i];
        if (p.kind == P_TENSOR) value[i].pointer = address(given(c, p.ref));
        else if (p.kind == P_SCALAR) param[i] = address(given(c, p.ref));
        else if (p.kind == P_SIZE) value[i].size = (int)c->size[p.ref];
        else value[i].pointer = (char *)workspace + p.offset;
    }
}

typedef struct {
    _Alignas(64) unsigned char bytes[128];
} TensorMap;

/* The driver's code.  Of no elements there is no map, and the kernel uses none.  */
static int encode(const Driver *cuda, const Call *c, const Map *m, char *base, TensorMap *out) {
    uint64_t dim[5] = {0}, stride[5] = {0};
    int i, lower[3] = {0}, upper[3] = {0};
    memset(out, 0, sizeof *out);
    for (i = 0; i < m->rank; i++) {
        int64_t n = extent(m->dim[i], c->size);
        if (n <= 0) return 0;
        dim[i] = (uint64_t)n;
        if (i + 1 < m->rank) stride[i] = (uint64_t)extent(m->stride[i], c->size);
    }
    base += extent(m->offset, c->size);
    if (!m->im2col)
        return cuda->tiled(out->bytes, m->type, (uint32_t)m->rank, base, dim, stride, m->box,
                           m->step, m->interleave, m->swizzle, m->promotion, m->fill);
    for (i = 0; i < m->rank - 2; i++) {
        lower[i] = (int)extent(m->lower[i], c->size);
        upper[i] = (int)extent(m->upper[i], c->size);
    }
    return cuda->im2col(out->bytes, m->type, (uint32_t)m->rank, base, dim, stride, lower, upper,
                        m->channels, m->pixels, m->step, m->interleave, m->swizzle, m->promotion,
                        m->fill);
}

/* The maps of a kernel.  */
static int add_maps(const NAME(kernel) *k, const Call *c, const Kernel *x, void *workspace,
                    TensorMap *map, void **param) {
    int i;
    for (i = 0; i < x->n_map; i++) {
        const Map *m = &k->target->map[x->map + i];
        char *base = m->ref < 0 ? (char *)workspace : address(given(c, m->ref));
        if (encode(&k->cuda, c, m, base, &map[i])) return ROLLER_LAUNCH_CUDA;
        param[x->n_param + i] = map[i].bytes;
    }
    return ROLLER_LAUNCH_OK;
}

/* `before`: a kernel of this launch is queued, before whose end this one may begin.  */
static int launch_kernel(const NAME(kernel) *k, int i, unsigned blocks, int before, void **param,
                         void *stream) {
    enum { PROGRAMMATIC_SERIALIZATION = 6 };
    const Kernel *x = &k->target->kernel[i];
    Attribute at[2];
    Config config = config_of(x, blocks, at);
    config.stream = stream;
    if (x->waits && before && k->overlaps) {
        at[config.n_attribute].id = PROGRAMMATIC_SERIALIZATION;
        at[config.n_attribute++].value.number = 1;
    }
    if (config.n_attribute)
        return k->cuda.launch_config(&config, k->function[i], param, NULL);
    return k->cuda.launch(k->function[i], blocks, x->grid[0], x->grid[1], x->block[0], x->block[1],
                          x->block[2], (unsigned)x->smem, stream, param, NULL);
}

/* Blocks along x.  Those that stay are as many as are resident, in whole clusters, and no more than
 * have work.  */
static int64_t blocks_of(const NAME(kernel) *k, int i, const int64_t *s) {
    const Kernel *x = &k->target->kernel[i];
    int64_t wanted, together = x->cluster[0], resident = k->resident[i];
    if (resident < together) return extent(x->blocks, s);
    wanted = extent(x->wanted, s);
    return resident < wanted ? resident - resident % together : wanted;
}

static int launch_all(const NAME(kernel) *k, const Call *c, void *workspace, void *stream) {
    const Target *t = k->target;
    const Choice *taken = choice_of(t, c->size);
    Value value[MOST_PARAMS];
    TensorMap map[MOST_MAPS];
    void *param[MOST_PARAMS + MOST_MAPS];
    int i, before = 0;
    for (i = 0; i < t->n_kernel; i++) {
        const Kernel *x = &t->kernel[i];
        int64_t blocks;
        if (x->split != taken->split || t->program[taken->first + x->group] != x->program) continue;
        blocks = blocks_of(k, i, c->size);
        if (blocks == 0) continue;
        fill(t, c, x, workspace, value, param);
        if (add_maps(k, c, x, workspace, map, param)) return ROLLER_LAUNCH_CUDA;
        if (launch_kernel(k, i, (unsigned)blocks, before, param, stream))
            return ROLLER_LAUNCH_CUDA;
        before = 1;
    }
    return ROLLER_LAUNCH_OK;
}

int NAME(launch)(const NAME(kernel) *k, const RollerTensor *in, int n_in, const RollerTensor *out,
                 int n_out, void *workspace, size_t workspace_bytes, void *stream) {
    Call c;
    void *context = NULL;
    int64_t need;
    int s;
    if (k->cuda.ctx_current(&context) || context != k->context) return ROLLER_LAUNCH_ARCH;
    c.in = in;
    c.out = out;
    c.device = k->device;
    s = check(&c, n_in, n_out);
    if (s || c.empty) return s;
    need = workspace_of(k->target, c.size);
    if (need > 0 && (!workspace || workspace_bytes < (size_t)need ||
                     (uintptr_t)workspace % WORKSPACE_ALIGN))
        return ROLLER_LAUNCH_WORKSPACE;
    return launch_all(k, &c, workspace, stream);
}

const char *NAME(status_text)(int status) {
    switch (status) {
    case ROLLER_LAUNCH_OK: return "ok";
    case ROLLER_LAUNCH_DEVICE: return "no context is current";
    case ROLLER_LAUNCH_DRIVER: return "no CUDA driver, or one without a function that is needed";
    case ROLLER_LAUNCH_CUDA: return "the CUDA driver refused a call";
    case ROLLER_LAUNCH_NOMEM: return "no memory";
    case ROLLER_LAUNCH_ARCH: return "no code for this device, or another context is current";
    case ROLLER_LAUNCH_ARGS: return "the number of arguments, or where one lies, is wrong";
    case ROLLER_LAUNCH_DTYPE: return "the element type of an argument is wrong";
    case ROLLER_LAUNCH_RANK: return "the rank of an argument is wrong";
    case ROLLER_LAUNCH_SIZE: return "sizes disagree, or are out of what the kernel was made for";
    case ROLLER_LAUNCH_STRIDE: return "the strides of an argument are wrong";
    case ROLLER_LAUNCH_ALIGN: return "an argument is not aligned as promised";
    case ROLLER_LAUNCH_NULLPTR: return "an argument has no data";
    case ROLLER_LAUNCH_WORKSPACE: return "the workspace is too small or not aligned to 256 bytes";
    default: return "an unknown status";
    }
}
