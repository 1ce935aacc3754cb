/* Device: WHERE a program runs, as facts only.
 *
 * hal_profile_read fills a Device from a profile JSON; every figure has a unit and an origin.
 * Structs, bounds, units of measure and texts come from the tables of hal/hal_fields.h.  Algorithms
 * ask the Device ("which units accept f16 x f16 -> f32?"); nothing outside src/hal and the building
 * block of an instruction looks at the architecture.  */
#ifndef ROLLER_HAL_DEVICE_H
#define ROLLER_HAL_DEVICE_H
#include "hal/hal_fields.h"
#include "base/diag.h"
#include "base/dtype.h"
#include <stdint.h>

/* Of every GPU of NVIDIA's: lanes of a warp (profiles that say otherwise are refused); bytes of a
 * sector, the least that L1 and L2 move (CUDA C++ Best Practices Guide, coalesced access).  */
enum { WARP = 32, SECTOR = 32 };
/* Registers, of 4 bytes each, that so many bytes take.  */
static inline int hal_words(int64_t bytes) { return (int)((bytes + 3) / 4); }

typedef enum {
#define X(id, name) ORIGIN_##id,
    HAL_ORIGINS(X)
#undef X
        ORIGIN_COUNT
} Origin;

typedef enum {
#define X(id, name, arch) LANGUAGE_##id,
    HAL_LANGUAGES(X)
#undef X
        LANGUAGE_COUNT
} HalLanguage;

typedef struct {
    double value;
    Origin origin;
    const char *unit;         /* one of HAL_UNITS_OF_MEASURE; NULL: the profile does not say */
    const char *ref;          /* datasheet: public document; derived: formula; else NULL */
    const char *date;         /* or NULL */
    double spread;            /* measured or simulated */
    int samples;
    bool noisy;
} Figure;

/* Piecewise linear in log2 x, constant outside.  */
typedef struct {
    const char *of, *x, *x_unit, *unit;
    Origin origin;
    const char *ref;
    double spread;
    int samples;
    int n;                    /* >= 2; x ascending */
    double *px, *py;
} Curve;

typedef struct {
#define X(name, ...) Figure name;
    HAL_LIMITS(X)
#undef X
    Curve clusters_resident;  /* over cluster size; n == 0 if the device has none */
} DeviceLimits;

typedef struct {
#define X(name, ...) Figure name;
    HAL_MEMORY(X)
#undef X
    bool present;
    const char *scope;        /* "device", "cluster", "sm", "thread" */
    int n_curve;
    Curve *curve;
} MemoryLevel;

typedef enum {
#define X(id, name) SCOPE_##id,
    HAL_SCOPES(X)
#undef X
        SCOPE_COUNT
} UnitScope;
extern const char *const hal_scope_names[SCOPE_COUNT];
typedef enum {
#define X(id, name) PLACE_##id,
    HAL_PLACES(X)
#undef X
        PLACE_COUNT
} Place;
typedef struct {
    int from, to, step;       /* a fixed size has from == to, step 1 */
} SizeRange;

typedef struct {
#define X(kind, name, ...) HAL_TYPE_##kind name;
    HAL_FAMILY(X)
#undef X
} UnitFamily;

/* A type that an operand does not have (b of "mufu.ex2").  A unit with a `b` computes
 * acc += a * b; the others do what their name says.  */
#define HAL_NO_DTYPE TE_DTYPE_COUNT

/* Bit i of `swizzles` is the swizzle span of 16 << i bytes; bit 0 is none.  */
typedef struct {
#define X(kind, name, ...) HAL_TYPE_##kind name;
    HAL_UNIT(X)
#undef X
} ComputeUnit;

typedef struct {
#define X(kind, name, ...) HAL_TYPE_##kind name;
    HAL_MOVER(X)
#undef X
} Mover;

typedef struct {
#define X(name, ...) Figure name;
    HAL_OVERHEADS(X)
#undef X
    Curve barrier;            /* clk over threads per block */
} DeviceOverheads;

typedef struct {
    const char *name;         /* what it multiplies, e.g. "ffma" or "dram.read" */
#define X(kind, name, ...) HAL_TYPE_##kind name;
    HAL_FACTOR(X)
#undef X
} Factor;

/* What a measurement could not tell: the figure is the one that the profile started from.  */
typedef struct {
    const char *name;         /* as hal_figures has it, or a row of the profiler */
    const char *why;
} Missed;

typedef struct {
    const char *name;         /* "h200" */
    const char *gpu;          /* "NVIDIA H200" */
    HalLanguage language;     /* what kernels for it are written in */
    const char *arch;         /* "sm_90a"; "cl1.2": OpenCL C 1.2 */
    int cc_major, cc_minor;   /* 0: of no GPU that CUDA knows */
#define X(kind, name, ...) HAL_TYPE_##kind name;
    HAL_MADE(X)               /* absent texts are "", absent numbers 0 */
#undef X
    bool measured;            /* all rates are, on a GPU */
    bool simulated;           /* it is of a simulated GPU, or a figure comes of one */
    bool calibrated;
    char sha256[65];          /* of the profile text */
    DeviceLimits limits;
    MemoryLevel memory[LEVEL_COUNT];
    UnitFamily *family;
    int n_family;
    ComputeUnit *unit;
    int n_unit;
    Mover *mover;
    int n_mover;
    DeviceOverheads overheads;
    Factor *factor;
    int n_factor;
    Missed *missed;
    int n_missed;
    double calls;             /* of a kernel, without a pause, whose mean time is asked for; of no
                               * profile: 0 and 1 are one call, by SMs at rest */
} Device;

/* Reads a profile; all faults are reported at once, with line and column (ST_PROFILE).  */
Status hal_profile_read(Arena *a, Diag *d, DiagText text, Device **out);
/* The canonical JSON; read(write(x)) == x.  */
void hal_profile_write(const Device *dev, Buf *out);
const char *hal_language_name(HalLanguage language);
/* ST_USAGE where the device's kernels are not CUDA C++.  */
Status hal_need_cuda(Diag *d, const Device *dev);
/* Profiles inside the program, which are found after all others; the last has no name.  */
typedef struct {
    const char *name, *text;
} HalBuiltin;
extern const HalBuiltin hal_builtin[];
/* Finds NAME or FILE along `path` (colon-separated folders) and reads it.  A name not found is an
 * error that lists the names that are there.  *file (may be NULL) gets the path used, NULL for a
 * profile inside the program.  */
Status hal_profile_find(Arena *a, Diag *d, const char *name, const char *path, const char **file,
                        Device **out);
/* The folders searched, colon-separated: $ROLLER_PROFILE_PATH, ./profiles, hal_profile_home, the
 * profiles of this installation.  Set-uid callers ignore the environment.  */
const char *hal_profile_path(Arena *a, bool ignore_environment);
/* The user's own profiles: $XDG_DATA_HOME/roller/profiles, else under $HOME/.local/share.  NULL if
 * neither variable is an absolute path, or the folder's name has a colon.  */
const char *hal_profile_home(Arena *a);
/* installed.c: a program that is installed with roller: beside this code, else in the libexec
 * folder of the same installation; NULL: it is not there.  */
const char *hal_installed_program(Arena *a, const char *name);
/* The same: PREFIX/share/roller as it was built, and as seen from where this code lies now, NULL
 * if that is the same or not told.  */
extern const char *const hal_datadir;
const char *hal_moved_datadir(Arena *a);
/* Reference of every field, as Markdown (docs/reference/profile.md).  */
void hal_fields_doc(Buf *out);

/* Value at x, clamped to the ends.  */
double hal_curve(const Curve *c, double x);
/* Seconds for an amount, by a curve of rates over amounts: linear between its points.  */
double hal_curve_seconds(const Curve *c, double amount);
/* The curve `of` over `x` of a level, or NULL.  */
const Curve *hal_level_curve(const MemoryLevel *m, const char *of, const char *x);
/* A figure the profile does not hold has the value 0.  */
bool hal_has(const Figure *f);
/* Does it come of runs that were timed, on a GPU or a simulated one?  Then it has a spread.  */
bool hal_timed(Origin origin);
/* What a profile is: "simulated", "measured", "datasheet".  */
const char *hal_profile_origin(const Device *dev);
/* How the simulated driver names a GPU: the model's name with HAL_SIMULATED at its end.
 * hal_gpu_model gives that name, on the arena, whoever plays it.  */
#define HAL_SIMULATED " (simulated)"
bool hal_gpu_simulated(const char *gpu);
const char *hal_gpu_model(Arena *a, const char *gpu);
const ComputeUnit *hal_unit(const Device *dev, const char *name);           /* NULL if absent */
const Mover *hal_mover(const Device *dev, const char *name);                /* NULL if absent */
double hal_factor(const Device *dev, const char *name);                     /* 1 if absent */
double hal_clock_hz(const Device *dev);                                     /* sustained, of SMs */
/* The unit's row of `families`; NULL: it names none.  */
UnitFamily *hal_family(const Device *dev, const ComputeUnit *u);
/* The same; where it names none it gets one of its own, with its name.  */
UnitFamily *hal_own_family(Arena *a, Device *dev, ComputeUnit *u);
/* Its rate under load, in the unit of measure of its rate.  */
double hal_sustained(const Device *dev, const ComputeUnit *u);
/* Does the clock fall under its load?  */
bool hal_slows(const Device *dev, const ComputeUnit *u);
/* The mean clock where SMs do little but this unit's work for `us` microseconds.  */
double hal_busy_hz(const Device *dev, const ComputeUnit *u, double us);

/* A figure or a curve of a device; exactly one of the two is there.  */
typedef struct {
    const char *name;         /* "dram.read", "ffma.rate over warps" */
    const Figure *figure;
    const Curve *curve;
} HalFigure;
/* All that the device's levels, units and movers hold, in the order of the tables; with `absent`
 * also what they could (0, no points).  Returns how many.  */
int hal_figures(Arena *a, const Device *dev, bool absent, const HalFigure **out);
/* Blocks of a kernel resident on one SM: registers (by granule), shared memory (by granule, plus
 * what the system reserves per block), threads, blocks.  0 if it cannot run.  */
int hal_blocks_per_sm(const Device *dev, int threads, int registers, int64_t smem);
/* Reads "sm_90a" as 90 and 'a' (0: no suffix).  False if it is no architecture.  */
bool hal_arch(const char *arch, int *sm, char *suffix);
/* The device as a target of another arch of the same family: only the units and movers that exist
 * there ("sm_80" on an sm_90a device has no wgmma and no TMA).  ST_USAGE for an arch whose code
 * does not run on the device.  */
Status hal_device_for_arch(Arena *a, Diag *d, const Device *dev, const char *arch, Device **out);
/* The first compute capability (80) that has a matrix unit, by its shape and types.  */
int hal_since(const ComputeUnit *u);
/* What PTX calls products with scales of blocks ("mxf8f6f4"); NULL: the unit has none.  */
const char *hal_scaled_kind(const ComputeUnit *u);
/* May a unit have operands of both types (PTX ISA, mma, wgmma.mma_async, tcgen05.mma: any mix of
 * those of f8)?  */
static inline bool hal_mixes(TeDtype a, TeDtype b) {
    return (a == TE_F8E4M3 || a == TE_F8E5M2) && (b == TE_F8E4M3 || b == TE_F8E5M2);
}
/* Does the mover copy by tensor maps?  */
static inline bool hal_moves_by_map(const Mover *m) { return m->box_max > 0; }
/* The device as kernels see it whose parameters are pointers and scalars only: without the movers
 * that need tensor maps.  */
const Device *hal_device_plain(Arena *a, const Device *dev);
/* May a kernel be launched before the one before it has ended (griddepcontrol)?  By launches that
 * take more than pointers and scalars alone.  */
bool hal_overlaps(const Device *dev);
/* Has it an instruction that makes wider types of e4m3?  */
bool hal_widens_e4m3(const Device *dev);
/* Names of the profiles along `path`, each once, in order of the path and then of the alphabet;
 * returns how many.  */
int hal_profile_list(Arena *a, const char *path, const char *const **names);
/* What the first file `default` along `path` names: the file beside it if there is one, else the
 * name; NULL if there is no such file.  */
const char *hal_profile_default(Arena *a, const char *path);
/* What is planned for when nobody says: $ROLLER_PROFILE, the default, "h200".  */
const char *hal_profile_chosen(Arena *a, const char *path, bool ignore_environment);
#endif
