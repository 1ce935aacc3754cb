/* The tensor maps of a program's kernels.  */
#include "codegen/kernel.h"
#include "rprogram/extents.h"

enum { WORKSPACE_ALIGN = 256 };

bool cg_maps(const KernelProgram *p) {
    bool any = false;
    for (int i = 0; i < p->n_kernel; i++) any |= p->kernel[i].n_map > 0;
    return any;
}

void cg_place_maps(Arena *a, const int64_t *temp_offset, KernelLaunch *k) {
    KernelMap *map = ARENA_ARRAY(a, KernelMap, k->n_map);
    for (int i = 0; i < k->n_map; i++) {
        map[i] = k->map[i];
        int64_t at = temp_offset[map[i].tensor];
        if (at < 0) continue;
        map[i].tensor = -1;
        map[i].offset = size_plus(a, map[i].offset, size_number(at));
    }
    k->map = map;
}

/* Every parameter lies at a multiple of its bytes, a map at one of TM_ALIGN.  */
static int param_bytes(const KernelLaunch *k) {
    int at = 0;
    for (int i = 0; i < k->n_param; i++) {
        int bytes = k->param[i].bytes, align = k->param[i].kind == PARAM_MAP ? TM_ALIGN : bytes;
        at = (at + align - 1) / align * align + bytes;
    }
    return at;
}

Status cg_check_params(Diag *d, const KernelProgram *p, int align) {
    for (int i = 0; i < p->n_kernel; i++) {
        const KernelLaunch *k = &p->kernel[i];
        int bytes = param_bytes(k);
        if (bytes > CG_PARAM_BYTES)
            return diag_error(d, ST_INTERNAL, NULL, DIAG_NOWHERE,
                              "%s has %d bytes of parameters, more than the %d that fit", k->symbol,
                              bytes, CG_PARAM_BYTES);
        for (int m = 0; m < k->n_map; m++) {
            int at = k->map[m].tensor < 0 ? WORKSPACE_ALIGN : align;
            const char *why = kernel_map_wrong(&k->map[m], at);
            if (why)
                return diag_error(d, ST_INTERNAL, NULL, DIAG_NOWHERE,
                                  "no driver takes tensor map %d of %s: %s", m, k->symbol, why);
        }
    }
    return ST_OK;
}
