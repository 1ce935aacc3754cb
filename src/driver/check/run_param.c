/* What a run hands a kernel, wherever it runs.  */
#include "driver/check/run_device.h"
#include "sim/async/tensormap.h"
#include <string.h>

void run_waits(const Run *r, bool waiting) {
    if (r->place.waits) r->place.waits(r->place.user, waiting);
}

double run_bytes(const Te *te, const KernelProgram *p) {
    double bytes = (double)p->workspace_bytes;
    for (int i = 0; i < te->n_in + te->n_out; i++)
        bytes += (double)te_tensor_bytes(&te->tensor[i]);
    return bytes;
}

/* A tensor map, by the driver of a device or by the simulator's own encoder.  */
static Status encode_map(const Run *r, Diag *d, const KernelMap *m, unsigned char *to) {
    TensorMap map;
    memset(to, 0, TM_BYTES);
    uint64_t base = m->tensor < 0 ? r->workspace : r->at[m->tensor];
    if (!kernel_map_at(r->normal, m, base, r->size, &map)) return ST_OK;
    if (r->place.context) {
        CudaTensorMap made;
        Status s = cuda_tensor_map(cuda_context_driver(r->place.context), d, &map, &made);
        if (!s) memcpy(to, made.bytes, TM_BYTES);
        return s;
    }
    const char *why = sim_tensormap_encode(&map, to);
    return why ? diag_error(d, ST_CHECK, NULL, DIAG_NOWHERE,
                            "no driver takes the tensor map of %s: %s",
                            m->tensor < 0 ? "the workspace" : r->te->tensor[m->tensor].name, why)
               : ST_OK;
}

Status run_param(const Run *r, Diag *d, const KernelLaunch *k, int i, unsigned char *to) {
    const KernelParam p = k->param[i];
    uint64_t at = r->workspace + (uint64_t)p.offset;
    switch (p.kind) {
    case PARAM_INPUT:
    case PARAM_OUTPUT: memcpy(to, &r->at[p.ref], 8); break;
    case PARAM_WORKSPACE: memcpy(to, &at, 8); break;
    case PARAM_SCALAR: memcpy(to, r->data[p.ref].data, (size_t)p.bytes); break;
    case PARAM_SIZE: {
        int32_t value = (int32_t)r->size[p.ref];
        memcpy(to, &value, 4);
        break;
    }
    case PARAM_MAP: return encode_map(r, d, &k->map[p.ref], to);
    }
    return ST_OK;
}

uint64_t run_address(const Run *r, int tensor) {
    if (tensor < r->te->n_in + r->te->n_out) return r->at[tensor];
    return r->workspace + (uint64_t)r->strategy->temp_offset[tensor];
}
