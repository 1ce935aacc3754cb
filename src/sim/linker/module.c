#include "sim/linker/link.h"
#include <string.h>

Status sim_parse(Arena *a, Diag *d, const char *file, const char *ptx, size_t len,
                 SimModule **out) {
    SimModule *m = ARENA_NEW(a, SimModule);
    const char *text = arena_strndup(a, ptx, len);
    Status st = sim_ptx_parse(a, d, arena_strdup(a, file), text, len, &m->ptx);
    if (st != ST_OK) return st;
    for (const PtxFunc *f = m->ptx->func; f; f = f->next) m->n_kernel += f->kernel && f->defined;
    m->kernel = ARENA_ARRAY(a, SimKernel *, m->n_kernel + 1);
    m->param = ARENA_ARRAY(a, SimParam *, m->n_kernel + 1);
    int at = 0;
    for (const PtxFunc *f = m->ptx->func; f; f = f->next) {
        if (!f->kernel || !f->defined) continue;
        st = sim_link(a, d, m->ptx, f, &m->kernel[at]);
        if (st != ST_OK) return st;
        m->param[at] = ARENA_ARRAY(a, SimParam, f->n_param + 1);
        for (int k = 0; k < f->n_param; k++) {
            const PtxSymbol *v = f->param[k];
            m->param[at][k] = (SimParam){(int)v->bytes, (int)v->align, (int)v->offset, v->name,
                                         sim_type_name(v->type)};
        }
        at++;
    }
    *out = m;
    return ST_OK;
}

int sim_kernel_count(const SimModule *m) { return m->n_kernel; }

const char *sim_kernel_name(const SimModule *m, int i) {
    return i >= 0 && i < m->n_kernel ? m->kernel[i]->func->name : NULL;
}

int sim_find_kernel(const SimModule *m, const char *kernel) {
    for (int k = 0; k < m->n_kernel; k++) {
        if (strcmp(m->kernel[k]->func->name, kernel) == 0) return k;
    }
    return -1;
}

int sim_kernel_params(const SimModule *m, const char *kernel, const SimParam **out) {
    int k = sim_find_kernel(m, kernel);
    if (k < 0) return -1;
    if (out) *out = m->param[k];
    return m->kernel[k]->func->n_param;
}

SimTarget sim_module_target(const SimModule *m) {
    const PtxModule *p = m->ptx;
    return (SimTarget){p->version_major * 10 + p->version_minor, p->sm, p->arch_specific};
}

bool sim_kernel_info(const SimModule *m, const char *kernel, SimKernelInfo *out) {
    int k = sim_find_kernel(m, kernel);
    if (k < 0) return false;
    const SimKernel *own = m->kernel[k];
    const PtxFunc *f = own->func;
    *out = (SimKernelInfo){.name = f->name, .target = sim_module_target(m),
                           .registers = own->registers, .static_smem = own->static_smem,
                           .local_bytes = own->local_bytes, .const_bytes = m->ptx->const_bytes,
                           .max_threads = f->maxntid[0] * f->maxntid[1] * f->maxntid[2],
                           .explicit_cluster = f->explicit_cluster};
    for (int d = 0; d < 3; d++) {
        out->block[d] = f->reqntid[d];
        out->cluster[d] = f->cluster[d];
    }
    return true;
}
