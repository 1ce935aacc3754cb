/* Device: WHERE a program runs, as facts only.
 *
 * hal_profile_read fills a Device from a profile JSON; every figure has a unit and an origin.  Fields,
 * bounds, units and texts come from hal/hal_fields.h, one table for struct, reader, writer,
 * validation and docs/profile.md.  Algorithms ask the Device ("which units accept f16 x f16 -> f32?");
 * nothing outside src/hal and the building block of an instruction looks at the architecture.  */
#ifndef ROLLER_HAL_DEVICE_H
#define ROLLER_HAL_DEVICE_H
#include "hal/hal_fields.h"
#include "te/te.h"

typedef enum { ORIGIN_MEASURED, ORIGIN_DRIVER, ORIGIN_DATASHEET, ORIGIN_DERIVED } Origin;

typedef struct {
    double value;
    Origin origin;
    const char *unit;         /* one of HAL_UNITS_OF_MEASURE */
    const char *ref;          /* datasheet: public document; derived: formula; else NULL */
    const char *date;         /* or NULL */
    double spread;            /* measured */
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

typedef enum { SCOPE_THREAD, SCOPE_WARP, SCOPE_WARPGROUP } UnitScope;
typedef struct {
    int from, to, step;       /* a fixed size has from == to, step 1 */
} SizeRange;

/* A compute unit: one row per instruction shape and type.  */
typedef struct {
    const char *name;         /* "ffma", "mma.m16n8k16.f16.f32", "mufu.ex2" */
    UnitScope scope;
    SizeRange m, n, k;
    TeDtype a, b, acc;        /* operand and accumulation types */
    bool a_reg, a_smem, b_reg, b_smem;    /* where operands may lie */
    bool k_major, mn_major;   /* operand layouts it takes in shared memory */
    uint32_t swizzles;        /* bit i: swizzle span of 16 << i bytes; bit 0 is none */
    int alignment;            /* bytes, of an operand's address */
    Figure rate;              /* FLOP/clk/SM (multiply-add counts 2) or op/clk/SM */
    Figure sustained;         /* the same under load */
    Figure latency;           /* clk */
    Curve warps;              /* rate over resident warps per SM; n == 0 if not known */
} ComputeUnit;

typedef enum { PLACE_GLOBAL, PLACE_SMEM, PLACE_REG, PLACE_DSMEM } Place;
/* A mover: one row per way to move data between two places.  */
typedef struct {
    const char *name;         /* "cp.async.16", "ldg.128", "tma.tile" */
    Place from, to;
    int granule;              /* bytes per thread and instruction (bulk movers: the smallest unit) */
    int alignment;            /* bytes, both ends */
    int stride_multiple;      /* bytes; 1 if any */
    int box_max;              /* elements per dimension of a tensor box; 0 if it has none */
    uint32_t swizzles;        /* as in ComputeUnit */
    bool fill_zero, fill_nan; /* out-of-bounds fill */
    bool async;               /* completes by a later wait */
    UnitScope issue;          /* who issues it */
    Figure rate;              /* B/clk/SM */
    Figure cost;              /* clk per issue */
} Mover;

typedef struct {
#define X(name, ...) Figure name;
    HAL_OVERHEADS(X)
#undef X
    Curve barrier;            /* clk over threads per block */
} DeviceOverheads;

typedef struct {
    const char *name;         /* what it multiplies, e.g. "ffma" or "dram.read" */
    double value, residual;
    int samples;
    const char *kernels;
} Factor;

typedef struct {
    const char *name;         /* "h200" */
    const char *gpu;          /* "NVIDIA H200" */
    const char *arch;         /* "sm_90a" */
    int cc_major, cc_minor;
    const char *tool, *date, *mode, *driver, *nvrtc;       /* made; "" where absent */
    double made_clock_sm_mhz, made_clock_mem_mhz, made_temperature_c;    /* 0 where absent */
    bool measured;            /* all rates are */
    bool calibrated;
    char sha256[65];          /* of the profile text */
    DeviceLimits limits;
    MemoryLevel memory[LEVEL_COUNT];
    ComputeUnit *unit;
    int n_unit;
    Mover *mover;
    int n_mover;
    DeviceOverheads overheads;
    Factor *factor;
    int n_factor;
} Device;

/* Reads a profile; all faults are reported at once, with line and column (ST_PROFILE).  */
Status hal_profile_read(Arena *a, Diag *d, const char *file, const char *text, size_t len,
                        Device **out);
/* The canonical JSON; read(write(x)) == x.  */
void hal_profile_write(const Device *dev, Buf *out);
/* Finds NAME or FILE along `path` (colon-separated folders) and reads it.  A name not found is an
 * error that lists the names that are there.  *file (may be NULL) gets the path used.  */
Status hal_profile_find(Arena *a, Diag *d, const char *name, const char *path, const char **file,
                        Device **out);
/* The folders searched: $ROLLER_PROFILE_PATH, ./profiles, $XDG_DATA_HOME/roller/profiles, PREFIX/share/roller/profiles. Unless `trusted` (set-uid) the variables are used. */
const char *hal_profile_path(Arena *a, bool trusted);
/* Reference of every field, as Markdown (docs/profile.md).  */
void hal_fields_doc(Buf *out);

/* Value at x, clamped to the ends.  */
double hal_curve(const Curve *c, double x);
/* The curve `of` over `x` of a level, or NULL.  */
const Curve *hal_level_curve(const MemoryLevel *m, const char *of, const char *x);
const ComputeUnit *hal_unit(const Device *dev, const char *name);           /* NULL if absent */
const Mover *hal_mover(const Device *dev, const char *name);                /* NULL if absent */
double hal_factor(const Device *dev, const char *name);                     /* 1 if absent */
double hal_clock_hz(const Device *dev);                                     /* sustained SM clock */
/* Blocks of a kernel resident on one SM: registers (by granule), shared memory (by granule, plus
 * what the system reserves per block), threads, blocks.  0 if it cannot run.  */
int hal_blocks_per_sm(const Device *dev, int threads, int registers, int64_t smem);
#endif
