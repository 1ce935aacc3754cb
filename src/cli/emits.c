/* Targets, and which artefacts are made for them: what --emit asks for, and what a profile's
 * language has.  */
#include "cli/gen.h"
#include <string.h>

const char *const gen_emit_name[] = {
#define X(id, name, end) name,
    GEN_EMITS(X)
#undef X
};
const char *const gen_emit_end[] = {
#define X(id, name, end) end,
    GEN_EMITS(X)
#undef X
};
_Static_assert(sizeof gen_emit_name / sizeof *gen_emit_name == EMIT_COUNT, "a name for each kind");

GenEmit gen_source(Gen *g, const RollerProfile *p) {
    RollerProfile *own = NULL;
    const char *name = g->o.profiles.n ? g->o.profiles.item[0] : NULL;
    if (!p && (name || g->o.archs.n == 0) && !roller_profile_load(g->ctx, name, &own)) p = own;
    bool cuda = !p || strcmp(roller_profile_language(p), "cuda") == 0;
    roller_profile_destroy(own);
    return cuda ? EMIT_CU : EMIT_CL;
}

const char *gen_source_path(Gen *g) {
    return arena_printf(g->a, "%s.%s", gen_stem(g, NULL), gen_emit_end[gen_source(g, NULL)]);
}

uint32_t gen_emits(Gen *g, const RollerProfile *p) {
    return g->o.emit ? g->o.emit : 1u << gen_source(g, p);
}

int gen_check_emits(Gen *g, const Result *r) {
    const uint32_t opencl = 1u << EMIT_CL | 1u << EMIT_JSON, cuda = ~(1u << EMIT_CL);
    GenEmit source = gen_source(g, r->profile);
    uint32_t none = gen_emits(g, r->profile) & ~(source == EMIT_CL ? opencl : cuda);
    int i = 0;
    if (!none) return 0;
    while (!(none & 1u << i)) i++;
    diag_error(&g->diag, ST_USAGE, "emit", DIAG_NOWHERE, "no %s is made for %s: its kernels are %s",
               gen_emit_name[i], roller_profile_name(r->profile),
               roller_profile_language(r->profile));
    diag_hint(&g->diag, source == EMIT_CL
                            ? "--emit cl,json writes the source and what a launch needs"
                            : "--profile names a device whose kernels are OpenCL C");
    return gen_fail_here(g);
}

int gen_load_target(Gen *g, int i, Result *r) {
    const GenOptions *o = &g->o;
    r->arch = i < o->archs.n ? o->archs.item[i] : NULL;
    const char *profile = o->profiles.n == 0 ? NULL
                          : i < o->profiles.n ? o->profiles.item[i]
                                              : o->profiles.item[o->profiles.n - 1];
    RollerStatus s = !profile && r->arch
                         ? roller_profile_for_arch(g->ctx, r->arch, &r->profile)
                         : roller_profile_load(g->ctx, profile, &r->profile);
    if (s) return gen_fail(g, s);
    if (!r->arch) r->arch = roller_profile_arch(r->profile);
    return gen_check_emits(g, r);
}
