/* Variables of modules in the memory of a device: their place, their first values, their end.  */
#include "sim/launch/launch.h"
#include "base/hash.h"
#include "sim/linker/link.h"
#include "sim/state/memory_state.h"
#include <string.h>

static void initialise(SimGpu *g, const PtxModule *m, const SimLoaded *x) {
    for (const PtxSymbol *s = m->variable; s; s = s->chain) {
        uint64_t base = s->space == SPACE_CONST ? x->const_base : x->global_base;
        unsigned char *at = sim_host(g, base + (uint64_t)s->offset, (size_t)s->bytes);
        if (!at) continue;
        memset(at, 0, (size_t)s->bytes);
        if (s->init) memcpy(at, s->init, (size_t)s->init_bytes);
        for (int k = 0; k < s->n_reloc; k++) {
            const PtxReloc *r = &s->reloc[k];
            uint64_t to = r->func                            ? sim_code_address(r->func)
                          : r->symbol->space == SPACE_CONST ? x->const_base
                                                            : x->global_base;
            to += (uint64_t)((r->symbol ? r->symbol->offset : 0) + r->add);
            to >>= 8 * r->first;
            memcpy(at + r->at, &to, (size_t)r->bytes);
        }
    }
}

/* The variables of a module live as long as the device; a second launch finds them as they are.  */
const SimLoaded *sim_load_variables(SimGpu *g, const PtxModule *m) {
    uint64_t hash = hash64(m->text, m->len, 0);
    for (const SimLoaded *x = g->loaded; x; x = x->next) {
        if (x->ptx == m && x->hash == hash) return x;
    }
    SimLoaded *x = ARENA_NEW(g->arena, SimLoaded);
    *x = (SimLoaded){.ptx = m, .hash = hash, .next = g->loaded};
    if (m->global_bytes) x->global_base = sim_reserve(g, (size_t)m->global_bytes);
    if (m->const_bytes) x->const_base = sim_reserve(g, (size_t)m->const_bytes);
    initialise(g, m, x);
    g->loaded = x;
    return x;
}

bool sim_variable(SimGpu *g, const SimModule *m, const char *name, uint64_t *at, uint64_t *bytes) {
    for (const PtxSymbol *s = m->ptx->variable; s; s = s->chain) {
        if (strcmp(s->name, name)) continue;
        const SimLoaded *x = sim_load_variables(g, m->ptx);
        *at = (s->space == SPACE_CONST ? x->const_base : x->global_base) + (uint64_t)s->offset;
        *bytes = (uint64_t)s->bytes;
        return true;
    }
    return false;
}

void sim_unload(SimGpu *g, const SimModule *m) {
    for (SimLoaded **p = &g->loaded; *p; p = &(*p)->next) {
        const SimLoaded *x = *p;
        if (x->ptx != m->ptx) continue;
        if (x->global_base) sim_free(g, x->global_base);
        if (x->const_base) sim_free(g, x->const_base);
        *p = x->next;
        return;
    }
}
