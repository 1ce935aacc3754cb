#include "hal/device.h"

#include <stdio.h>
#include <string.h>

/* The first architecture that has a unit or mover, by the beginning of its name; the longest match
 * counts, and what matches nothing is everywhere.  PTX ISA 9.0, "Target ISA Notes".  Some need the
 * suffix of a target: EXACT, this architecture with its own and no other; FAMILY, one of its family
 * from there on, with its own suffix or that of the family.  */
typedef enum { FROM, EXACT, FAMILY } SinceKind;
typedef struct {
    const char *prefix;
    int sm;
    SinceKind kind;
} Since;
static const Since since[] = {
    {"wgmma.", 90, EXACT},          {"tcgen05.", 100, FAMILY},
    {"tcgen05.i8", 100, EXACT},     {"tcgen05.u8", 100, EXACT},
    {"mma.m8n8k4.f16.", 70, FROM},   {"mma.m8n8k4.f64.", 80, FROM},
    {"mma.", 80, FROM},             {"mma.m16n8k32.f8", 89, FROM},   {"bfma2", 80, FROM},
    {"mma.m16n8k4.f64", 90, FROM},  {"mma.m16n8k8.f64", 90, FROM},
    {"mma.m16n8k16.f64", 90, FROM}, {"mma.m16n8k32.mx", 120, FAMILY},
    {"mma.m16n8k64.mx", 120, FAMILY},
    {"mma.m16n8k8.f16", 75, FROM},  {"mma.m8n8k16.", 75, FROM},
    {"mufu.tanh", 75, FROM},        {"redux", 80, FROM},             {"cp.async.", 80, FROM},
    {"cp.async.bulk", 90, FROM},    {"tma.", 90, FROM},              {"stmatrix", 90, FROM},
    {"dsmem", 90, FROM},            {"ldmatrix", 75, FROM},
};

/* The row of a name, or NULL.  */
static const Since *since_of(const char *name) {
    const Since *best = NULL;
    for (size_t i = 0; i < sizeof since / sizeof *since; i++) {
        size_t len = strlen(since[i].prefix);
        if (!strncmp(name, since[i].prefix, len) && (!best || len >= strlen(best->prefix)))
            best = &since[i];
    }
    return best;
}

static bool exists(const char *name, int sm, char suffix) {
    enum { FAMILY_OF = 10 };              /* 120 and 121 are one */
    const Since *s = since_of(name);
    if (!s) return true;
    switch (s->kind) {
    case EXACT: return sm == s->sm && suffix == 'a';
    case FAMILY: return sm >= s->sm && sm / FAMILY_OF == s->sm / FAMILY_OF && suffix != 0;
    default: return sm >= s->sm;
    }
}

const char *hal_scaled_kind(const ComputeUnit *u) {
    if (u->scale_k == 0) return NULL;
    if (te_dtype_values(u->a) == 1) return "mxf8f6f4";
    return u->scale == TE_F8UE8M0 ? "mxf4" : "mxf4nvf4";
}

int hal_since(const ComputeUnit *u) {
    enum { NAME = 64 };
    char name[NAME];
    const char *kind = hal_scaled_kind(u);
    snprintf(name, sizeof name, "mma.m%dn%dk%d.%s%s%s.%s", u->m.to, u->n.to,
             u->k.to * te_dtype_values(u->a),
             kind ? kind : "", kind ? "." : "", u->tf32 ? "tf32" : te_dtype_name(u->a),
             te_dtype_name(u->acc));
    const Since *s = since_of(name);
    return s ? s->sm : 0;
}

static void keep(Arena *a, Device *dev, const Device *from, int sm, char suffix) {
    dev->unit = ARENA_ARRAY(a, ComputeUnit, from->n_unit);
    dev->mover = ARENA_ARRAY(a, Mover, from->n_mover);
    dev->n_unit = dev->n_mover = 0;
    for (int i = 0; i < from->n_unit; i++)
        if (exists(from->unit[i].name, sm, suffix))
            dev->unit[dev->n_unit++] = from->unit[i];
    for (int i = 0; i < from->n_mover; i++)
        if (exists(from->mover[i].name, sm, suffix))
            dev->mover[dev->n_mover++] = from->mover[i];
}

const char *hal_language_name(HalLanguage language) {
    static const char *const names[] = {
#define X(id, name, arch) name,
        HAL_LANGUAGES(X)
#undef X
    };
    return names[language];
}

Status hal_need_cuda(Diag *d, const Device *dev) {
    if (dev->language == LANGUAGE_CUDA) return ST_OK;
    diag_error(d, ST_USAGE, "language", DIAG_NOWHERE,
               "kernels for %s are %s: neither NVRTC nor the simulator takes them", dev->name,
               hal_language_name(dev->language));
    diag_hint(d, "--emit cl writes the source for an OpenCL runtime; to compile, check or measure "
                 "a kernel here, take the profile of a GPU");
    return ST_USAGE;
}

Status hal_device_for_arch(Arena *a, Diag *d, const Device *dev, const char *arch, Device **out) {
    int sm, own = dev->cc_major * 10 + dev->cc_minor;
    char suffix;
    *out = NULL;
    if (dev->language != LANGUAGE_CUDA && strcmp(arch, dev->arch) == 0) {
        *out = ARENA_NEW(a, Device);
        **out = *dev;
        return ST_OK;
    }
    if (!hal_arch(arch, &sm, &suffix)) {
        diag_error(d, ST_USAGE, "arch", DIAG_NOWHERE, "\"%.32s\" is no architecture", arch);
        diag_hint(d, "an architecture is written like sm_80 or sm_90a");
        return ST_USAGE;
    }
    /* Suffix a: code for this one architecture; f: for its family from there on.  */
    bool runs = suffix == 'a' ? sm == own : sm <= own && (suffix != 'f' || sm / 10 == own / 10);
    if (!runs) {
        diag_error(d, ST_USAGE, "arch", DIAG_NOWHERE, "code for %s does not run on %s, which is %s",
                   arch, dev->name, dev->arch);
        diag_hint(d, "plans count on the limits of %s; take a profile of %s, as --arch does alone",
                  dev->name, arch);
        return ST_USAGE;
    }
    Device *target = ARENA_NEW(a, Device);
    *target = *dev;
    target->arch = arena_strdup(a, arch);
    keep(a, target, dev, sm, suffix);
    if (sm < 90) {
        target->limits.cluster_max.value = 1;
        target->limits.clusters_resident = (Curve){0};
        target->memory[LEVEL_DSMEM] = (MemoryLevel){0};
    }
    *out = target;
    return ST_OK;
}

const Device *hal_device_plain(Arena *a, const Device *dev) {
    Device *plain = ARENA_NEW(a, Device);
    *plain = *dev;
    plain->mover = ARENA_ARRAY(a, Mover, dev->n_mover);
    plain->n_mover = 0;
    for (int i = 0; i < dev->n_mover; i++)
        if (!hal_moves_by_map(&dev->mover[i])) plain->mover[plain->n_mover++] = dev->mover[i];
    return plain;
}

bool hal_overlaps(const Device *dev) {
    bool maps = false;
    for (int i = 0; i < dev->n_mover; i++) maps |= hal_moves_by_map(&dev->mover[i]);
    return maps && dev->cc_major >= 9;
}

bool hal_widens_e4m3(const Device *dev) { return 10 * dev->cc_major + dev->cc_minor >= 89; }
