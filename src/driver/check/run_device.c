/* Run on a device.  */
#include "driver/check/run_device.h"

#include <string.h>

/* Before and after every tensor; a multiple of any alignment that can be promised.  */
enum { GUARD_BYTES = 4096, GUARD_BYTE = 0xb5, POISON = 0xff, OTHER_POISON = 0x35 };

Status device_image(Diag *d, const Build *b, const CudaDeviceInfo *info, CudaImage *out) {
    int sm = 0, own = info->cc_major * 10 + info->cc_minor;
    char suffix = 0;
    hal_arch(b->arch, &sm, &suffix);
    bool family = sm / 10 == info->cc_major && sm <= own;
    bool cubin = suffix == 'a' ? sm == own : family;
    bool ptx = !suffix && sm <= own;
    *out = (CudaImage){.cubin = cubin ? b->nvrtc.cubin : NULL, .cubin_len = b->nvrtc.cubin_len,
                       .ptx = b->nvrtc.ptx};
    if (out->cubin || ptx) return ST_OK;
    diag_error(d, ST_ARCH, NULL, DIAG_NOWHERE, "a kernel for %s does not run on %s, which is %s",
               b->arch, info->name, info->arch);
    diag_hint(d, "compile for %s: --arch, or a profile of that device", info->arch);
    return ST_ARCH;
}

CudaLaunch device_shape(const KernelLaunch *k) {
    CudaLaunch l = {.dynamic_smem = k->dynamic_smem};
    memcpy(l.grid, k->grid, sizeof l.grid);
    memcpy(l.block, k->block, sizeof l.block);
    memcpy(l.cluster, k->cluster, sizeof l.cluster);
    return l;
}

Status device_kernel(CudaModule *m, Diag *d, const KernelLaunch *k, DeviceKernel *out) {
    Status s = cuda_kernel(m, d, k->symbol, &out->cuda);
    if (!s) s = cuda_kernel_smem(&out->cuda, d, k->dynamic_smem);
    CudaLaunch l = device_shape(k);
    out->resident = !s && k->stays ? cuda_resident(&out->cuda, &l) : 0;
    return s;
}

/* Memory between guard zones, all poison.  */
static Status guarded(Run *r, Arena *a, Diag *d, size_t bytes, uint64_t *out) {
    CudaContext *x = r->place.context;
    CudaAddress base;
    Status s = cuda_alloc(x, a, d, bytes + 2 * GUARD_BYTES, &base);
    if (!s) s = cuda_fill(x, d, NULL, base, GUARD_BYTE, bytes + 2 * GUARD_BYTES);
    if (!s) s = cuda_fill(x, d, NULL, base + GUARD_BYTES, POISON, bytes);
    *out = base + GUARD_BYTES;
    return s;
}

static Status put_tensors(Run *r, Arena *a, Diag *d) {
    for (int i = 0; i < r->te->n_in + r->te->n_out; i++) {
        const TeTensor *t = &r->te->tensor[i];
        if (t->role == TE_VALUE) continue;
        size_t bytes = te_tensor_bytes(t);
        Status s = guarded(r, a, d, bytes, &r->at[i]);
        const Lazy *lazy = t->role == TE_INPUT && r->place.inputs ? r->place.inputs[i] : NULL;
        if (lazy && bytes) lazy_at(lazy, 0, bytes);
        if (!s && t->role == TE_INPUT)
            s = cuda_write(r->place.context, d, r->at[i], r->data[i].data, bytes);
        if (s) return s;
    }
    size_t workspace = (size_t)r->build->program.workspace_bytes;
    return workspace ? guarded(r, a, d, workspace, &r->workspace) : ST_OK;
}

static Status fits(const Run *r, Diag *d) {
    size_t available;
    double need = run_bytes(r->te, &r->build->program);
    Status s = cuda_memory_free(r->place.context, d, &available);
    if (s || need <= (double)available) return s;
    diag_error(d, ST_CUDA, NULL, DIAG_NOWHERE,
               "the tensors take %.2f GiB; %s has %.2f GiB available", need / (1 << 30),
               cuda_context_device(r->place.context)->name, (double)available / (1 << 30));
    diag_hint(d, "set smaller sizes with -D");
    return ST_CUDA;
}

static Status load(Run *r, Arena *a, Diag *d) {
    const KernelProgram *p = &r->build->program;
    CudaImage image;
    CudaModule *module;
    r->kernel = ARENA_ARRAY(a, DeviceKernel, p->n_kernel);
    if (p->n_kernel == 0) return ST_OK;
    Status s = device_image(d, r->build, cuda_context_device(r->place.context), &image);
    if (!s) s = cuda_load(r->place.context, a, d, &image, &module);
    for (int i = 0; i < p->n_kernel && !s; i++)
        s = device_kernel(module, d, &p->kernel[i], &r->kernel[i]);
    return s;
}

static void begin_waiting(void *p) {
    const RunPlace *x = p;
    if (x->waits) x->waits(x->user, true);
}

static void end_waiting(void *p) {
    const RunPlace *x = p;
    if (x->waits) x->waits(x->user, false);
}

/* What is made here goes back to the driver between the two deferred calls, the newest first.  */
Status device_create(Run *r, Arena *a, Diag *d) {
    RunPlace *place = ARENA_NEW(a, RunPlace);
    *place = r->place;
    arena_defer(a, end_waiting, place);
    run_waits(r, true);
    Status s = fits(r, d);
    if (!s) s = load(r, a, d);
    if (!s) s = put_tensors(r, a, d);
    if (!s) s = cuda_synchronize(r->place.context, d);
    run_waits(r, false);
    arena_defer(a, begin_waiting, place);
    return s;
}

Status run_submit(Run *r, Diag *d, int i, CudaStream stream) {
    const KernelProgram *p = &r->build->program;
    const KernelLaunch *k = &p->kernel[i];
    uint64_t value[CG_MOST_PARAMS];
    CudaTensorMap map[CG_MOST_MAPS];
    void *param[CG_MOST_PARAMS];
    Status s = ST_OK;
    CudaLaunch l = device_shape(k);
    l.grid[0] = cg_resident(r->normal, p, k, r->taken, r->size, r->kernel[i].resident);
    if (l.grid[0] == 0) return ST_OK;
    for (int n = 0; n < k->n_param && !s; n++) {
        const KernelParam *x = &k->param[n];
        param[n] = x->kind == PARAM_MAP ? (void *)&map[x->ref] : (void *)&value[n];
        s = run_param(r, d, k, n, param[n]);
    }
    if (s) return s;
    l.overlap = cg_overlaps(r->normal, p, i, r->taken, r->size);
    return cuda_launch(&r->kernel[i].cuda, d, &l, param, stream);
}

const void *device_read(Run *r, Arena *a, Diag *d, uint64_t from, size_t bytes) {
    void *copy = arena_alloc(a, bytes + 1);
    run_waits(r, true);
    Status s = cuda_read(r->place.context, d, copy, from, bytes);
    run_waits(r, false);
    return s ? NULL : copy;
}

/* ---- what no kernel has written ---- */

/* A tensor that was filled with other poison, and what it held before and behind the launches that
 * came then.  */
struct RunKept {
    uint64_t at;
    size_t bytes;
    const unsigned char *before, *behind;
    struct RunKept *next;
};

static bool all_are(const unsigned char *p, size_t bytes, unsigned char what) {
    for (size_t i = 0; i < bytes; i++)
        if (p[i] != what) return false;
    return true;
}

Status run_poison(Run *r, Diag *d, int tensor) {
    size_t bytes = te_tensor_bytes(&r->normal->tensor[tensor]);
    if (!r->place.context || !bytes) return ST_OK;
    return cuda_fill(r->place.context, d, NULL, run_address(r, tensor), POISON, bytes);
}

Status run_spoil(Run *r, Arena *a, Diag *d, int tensor, bool *again) {
    const TeTensor *t = &r->normal->tensor[tensor];
    size_t bytes = te_tensor_bytes(t), size = (size_t)te_dtype_bytes(t->dtype), at = 0;
    if (!r->place.context || !bytes) return ST_OK;
    struct RunKept *k = ARENA_NEW(a, struct RunKept);
    *k = (struct RunKept){run_address(r, tensor), bytes, NULL, NULL, r->kept};
    k->before = device_read(r, a, d, k->at, bytes);
    if (!k->before) return ST_CUDA;
    while (at < bytes && !all_are(k->before + at, size, POISON)) at += size;
    if (at == bytes) return ST_OK;
    r->kept = k;
    *again = true;
    return cuda_fill(r->place.context, d, NULL, k->at, OTHER_POISON, bytes);
}

Status run_spoiled(Run *r, Arena *a, Diag *d) {
    for (struct RunKept *k = r->kept; k; k = k->next) {
        if (k->behind) continue;
        k->behind = device_read(r, a, d, k->at, k->bytes);
        if (!k->behind) return ST_CUDA;
    }
    return ST_OK;
}

bool device_was_written(const Run *r, uint64_t at, size_t bytes) {
    for (const struct RunKept *k = r->kept; k; k = k->next) {
        if (at - k->at >= k->bytes) continue;
        return !all_are(k->before + (at - k->at), bytes, POISON) ||
               !all_are(k->behind + (at - k->at), bytes, OTHER_POISON);
    }
    return true;
}

/* ---- faults ---- */
static Status guard_intact(Run *r, Arena *a, Diag *d, const char *name, uint64_t at,
                           size_t bytes) {
    const uint64_t zone[] = {at - GUARD_BYTES, at + bytes};
    for (int side = 0; side < 2 && !r->fault; side++) {
        const unsigned char *b = device_read(r, a, d, zone[side], GUARD_BYTES);
        if (!b) return ST_CUDA;
        for (int i = 0; i < GUARD_BYTES && !r->fault; i++) {
            if (b[i] == GUARD_BYTE) continue;
            int far = side ? i : GUARD_BYTES - i;
            r->fault = arena_printf(a, "a kernel wrote %d bytes %s '%s'", far,
                                    side ? "behind the end of" : "before", name);
        }
    }
    return ST_OK;
}

static Status guards_intact(Run *r, Arena *a, Diag *d) {
    Status s = ST_OK;
    for (int i = 0; i < r->te->n_in + r->te->n_out && !s; i++) {
        const TeTensor *t = &r->te->tensor[i];
        if (t->role != TE_VALUE)
            s = guard_intact(r, a, d, t->name, r->at[i], te_tensor_bytes(t));
    }
    size_t workspace = (size_t)r->build->program.workspace_bytes;
    if (!s && workspace) s = guard_intact(r, a, d, "workspace", r->workspace, workspace);
    return s;
}

Status device_launch(Run *r, Arena *a, Diag *d, int i) {
    Diag own = diag_new(a);
    run_waits(r, true);
    Status s = run_submit(r, &own, i, NULL);
    if (!s) s = cuda_synchronize(r->place.context, &own);
    run_waits(r, false);
    if (!s) return guards_intact(r, a, d);
    r->fault = arena_printf(a, "kernel %s: %s", r->build->program.kernel[i].symbol,
                            diag_first_error(&own)->message);
    return ST_OK;
}
