/* A PTX simulator: runs, checks and counts the code NVRTC really produced, on the CPU.
 *
 * A SimGpu is a device with memory, described by a Device profile; a SimModule is parsed PTX.
 * sim_launch executes blocks by warps, on host threads, and reports faults and counters.
 * Asynchronous operations are adversarial by default: data lands at a seeded random moment, no
 * later than the wait that orders it; what has not been waited for reads as poison.
 * Deterministic: same PTX, data, options give the same report, whatever the number of threads.  */
#ifndef ROLLER_SIM_SIM_H
#define ROLLER_SIM_SIM_H
#include "base/lazy.h"
#include "base/watch.h"
#include "hal/device.h"

typedef struct SimModule SimModule;
typedef struct SimGpu SimGpu;

/* Parses PTX text (ISA up to 9, sm_70 to sm_121).  What is no PTX, and unknown directives, are
 * ST_SIMULATOR, naming the line; unknown instructions are, from sim_launch, when a thread reaches
 * them.  `file` appears in messages.  */
Status sim_parse(Arena *a, Diag *d, const char *file, const char *ptx, size_t len,
                 SimModule **out);
int sim_kernel_count(const SimModule *m);
const char *sim_kernel_name(const SimModule *m, int i);

typedef struct {
    int bytes, align, offset;             /* in the parameter space */
    const char *name, *type;              /* as in the PTX: "k_param_0"; "u64", "b8" (aggregate) */
} SimParam;
/* The parameters of a kernel; returns how many, -1 if there is no such kernel.  */
int sim_kernel_params(const SimModule *m, const char *kernel, const SimParam **out);

/* What the module was compiled for, and what a kernel says of itself.  */
typedef struct {
    int version, sm;                      /* PTX ISA times 10; 90 for sm_90a */
    bool arch_specific;                   /* runs on no other: the `a` (or `f`) of sm_90a */
} SimTarget;
SimTarget sim_module_target(const SimModule *m);
typedef struct {
    const char *name;
    SimTarget target;
    int registers;                        /* an estimate: most live 32-bit values */
    uint32_t static_smem;
    int64_t local_bytes, const_bytes;     /* local: per thread; const: of the module */
    int max_threads;                      /* of a block, as declared; 0: not */
    int block[3], cluster[3];             /* as required; 0: not */
    bool explicit_cluster;                /* must be launched with clusters */
} SimKernelInfo;
bool sim_kernel_info(const SimModule *m, const char *kernel, SimKernelInfo *out);

/* Memory.  Addresses are 64-bit device addresses; allocations are 512-byte aligned, each with red
 * zones, filled with poison.  A use of freed or foreign memory by a kernel is a fault.  */
Status sim_gpu_create(Arena *a, Diag *d, const Device *dev, SimGpu **out);
/* Has the device give addresses that no device with another number gives (0 to 15); before the
 * first allocation.  */
void sim_gpu_addresses(SimGpu *g, int number);
Status sim_malloc(SimGpu *g, Diag *d, size_t bytes, uint64_t *out);
/* The same, but each page holds what `make` gives when it is touched first: by a kernel, a copy or
 * sim_host, on any thread.  */
Status sim_malloc_made(SimGpu *g, Diag *d, size_t bytes, LazyMake *make, void *user,
                       uint64_t *out);
/* The caller's memory becomes device memory, at its own address, until it is freed.  */
Status sim_map(SimGpu *g, Diag *d, void *host, size_t bytes);
void sim_free(SimGpu *g, uint64_t at);
/* Notes from now on which bytes of the allocation kernels write.  */
Status sim_watch(SimGpu *g, Diag *d, uint64_t at);
/* Has a kernel written all of these bytes?  True where nobody watches.  */
bool sim_was_written(const SimGpu *g, uint64_t at, size_t bytes);
Status sim_write(SimGpu *g, Diag *d, uint64_t at, const void *from, size_t bytes);
Status sim_read(SimGpu *g, Diag *d, uint64_t at, void *to, size_t bytes);
/* Place and size of a variable of a module (.global or .const); false if there is none.  Variables
 * are in memory from the first launch or question on, until sim_unload or the end of the
 * device.  */
bool sim_variable(SimGpu *g, const SimModule *m, const char *name, uint64_t *at, uint64_t *bytes);
/* Forgets a module before its arena goes: its variables are freed.  */
void sim_unload(SimGpu *g, const SimModule *m);
/* Something else than a kernel reads or writes these bytes: they go through L2.  */
void sim_l2_pass(SimGpu *g, uint64_t at, size_t bytes);
/* Are these bytes inside one allocation?  */
bool sim_has(const SimGpu *g, uint64_t at, size_t bytes);
/* Sets them; a whole allocation is filled where somebody asks for it.  False: they are not inside
 * one.  */
bool sim_fill(SimGpu *g, uint64_t at, size_t bytes, unsigned char value);
/* Host view of bytes of an allocation, for checks without copies; NULL if they are not inside one.
 * What lies around them may not have been made yet.  */
void *sim_host(SimGpu *g, uint64_t at, size_t bytes);

/*     id             text */
#define SIM_FAULTS(X)                                                                              \
    X(OUT_OF_BOUNDS,  "access outside every allocation")                                           \
    X(MISALIGNED,     "misaligned access")                                                         \
    X(UNINIT_SHARED,  "read of uninitialized shared memory")                                       \
    X(NOT_ARRIVED,    "read of data whose asynchronous copy was not waited for")                   \
    X(RACE_SHARED,    "race on shared memory between barriers")                                    \
    X(RACE_GLOBAL,    "blocks write the same global memory without atomics")                       \
    X(DIVERGENT,      "barrier reached by a part of the threads")                                  \
    X(DEADLOCK,       "no thread can make progress")                                               \
    X(DESCRIPTOR,     "bad matrix or tensor-map descriptor")                                       \
    X(PROXY_FENCE,    "missing proxy fence between generic and asynchronous access")               \
    X(BEFORE_WAIT,    "memory touched before the wait for the kernel launched before")             \
    X(WGMMA_OPERAND,  "wgmma operand or accumulator touched before its wait")                      \
    X(TENSOR_MEMORY,  "Tensor Memory used against its rules")                                      \
    X(LAUNCH_CONTROL, "cluster launch control used against its rules")                             \
    X(LIMIT,          "the launch exceeds a limit of the device")                                  \
    X(MBARRIER,       "mbarrier used against its rules")                                           \
    X(BAD_JUMP,       "jump, call or return that the code cannot make")                            \
    X(NOT_SIMULATED,  "what the simulator does not know")                                          \
    X(ASSERT,         "assertion failed")                                                          \
    X(TRAP,           "trap")                                                                      \
    X(RUNAWAY,        "more instructions than the limit")
typedef enum {
#define X(id, text) SIM_##id,
    SIM_FAULTS(X)
#undef X
        SIM_FAULT_COUNT
} SimFaultKind;

typedef struct {
    SimFaultKind kind;
    const char *kernel;
    int block[3], thread[3];
    int ptx_line;
    const char *cu_file;                  /* from .loc, NULL without line info */
    int cu_line;
    const char *text;                     /* one sentence: addresses, sizes, the other party */
    bool warning;                         /* devices are known to forgive it: the block went on */
} SimFault;

/* Instructions are counted per warp (one warp instruction counts 1).  */
#define SIM_PIPES(X) X(FFMA, "ffma") X(DFMA, "dfma") X(HFMA, "hfma") X(IMAD, "imad") X(ALU, "alu") \
    X(CVT, "cvt") X(MUFU, "mufu") X(LSU, "lsu") X(TENSOR, "tensor") X(CONTROL, "control")          \
    X(SHFL, "shfl") X(UNIFORM, "uniform")
typedef enum {
#define X(id, name) SIM_PIPE_##id,
    SIM_PIPES(X)
#undef X
        SIM_PIPE_COUNT
} SimPipe;

/* Traffic counters.  A request is one warp instruction to a space; a sector 32 bytes.  A wavefront
 * is one pass of shared memory over its 32 banks of 4 bytes; the rule for wide accesses is in
 * docs/simulator.md ("Bank conflicts").  */
#define SIM_COUNTERS(X)                                                                            \
    X(instructions,        "warp instructions")                                                    \
    X(global_load_requests,"global load requests")                                                 \
    X(global_load_sectors, "sectors read from L2 by global loads and asynchronous copies")         \
    X(global_store_requests,"global store requests")                                               \
    X(global_store_sectors,"sectors written to L2")                                                \
    X(global_load_bytes,   "bytes asked for by loads, per lane")                                   \
    X(global_store_bytes,  "bytes written by stores, per lane")                                    \
    X(unique_load_sectors, "distinct sectors read by the launch")                                  \
    X(unique_store_sectors,"distinct sectors written by the launch")                               \
    X(shared_load_requests,"shared load requests")                                                 \
    X(shared_load_wavefronts,"wavefronts of shared loads")                                         \
    X(shared_store_requests,"shared store requests")                                               \
    X(shared_store_wavefronts,"wavefronts of shared stores, asynchronous copies included")         \
    X(bank_conflicts,      "wavefronts beyond the fewest possible")                                \
    X(barriers,            "barriers, per warp")                                                   \
    X(async_copies,        "asynchronous copy instructions, per warp")                             \
    X(local_bytes,         "bytes of local memory traffic")                                        \
    X(atomics,             "atomic and reduction requests")
typedef struct {
    uint64_t pipe[SIM_PIPE_COUNT];
#define X(name, text) uint64_t name;
    SIM_COUNTERS(X)
#undef X
    uint64_t flops;                       /* multiply-adds count 2; tensor instructions included */
    uint64_t max_bytes_in_flight;         /* of one block, by asynchronous copies */
} SimCounters;

/* What one block did.  Distinct sectors are those of a launch, so a block has none; everything else
 * adds up to the launch's counters (max_bytes_in_flight: its largest is).  */
typedef struct {
    int64_t linear;                       /* number in the grid */
    SimCounters count;
} SimBlockCounters;

enum { SIM_MAX_FAULTS = 16 };
typedef struct {
    SimFault fault[SIM_MAX_FAULTS];       /* in order of block, then time */
    int n_fault;
    uint64_t faults;                      /* all of them */
    SimFault warning[SIM_MAX_FAULTS];     /* one for an instruction; none if strict */
    int n_warning;
    SimCounters total;
    int64_t blocks_run;
    int64_t blocks_cancelled; /* whose place others took by clusterlaunchcontrol */
    const SimBlockCounters *block;        /* blocks_run of them, ascending; NULL: not asked for */
    double time_us;                       /* of a timed launch: docs/simulator.md, "Timing" */
    const char *untimed;                  /* an instruction that it leaves out; NULL: none */
} SimReport;

typedef struct {
    const SimModule *module;
    const char *kernel;                                   /* of the module */
    uint32_t grid[3], block[3], cluster[3];               /* cluster 0 means 1 */
    uint32_t dynamic_smem;
    int registers;                        /* of a thread, as the cubin says; 0: it is not known */
    /* The launch before may still run (programmatic stream serialization), and those that it has
     * not waited for: what they wrote may not be read, what they touched may not be written, before
     * griddepcontrol.wait (overlap.c).  Launches before without counters are taken for ended.  */
    bool overlaps;
    const void *params;                   /* laid out as sim_kernel_params says */
    size_t params_bytes;
} SimLaunch;

typedef struct {
    uint64_t seed;                        /* of adversarial timing and warp order */
    uint64_t errors;                      /* of errors of approximations (approx.h); 0: none */
    bool benign;                          /* asynchronous operations complete at once */
    bool no_races;                        /* skip race detection (faster) */
    bool no_counters;
    bool strict;                          /* what would be a warning is a fault */
    bool per_block;                       /* counters of every block, too */
    bool timed;                           /* works out time_us; counts, too */
    int threads;                          /* host threads, 0: one per core */
    const int64_t *blocks;                /* linear ids of the blocks to run; NULL: all */
    int64_t n_blocks;                     /* with clusters, whole clusters are run */
    uint64_t max_instructions;            /* warp instructions per block; 0: 2^32 */
    Watch *watch;                         /* NULL: nobody's */
    /* What the kernel prints, after its launch, in order of the blocks; may be NULL.  */
    void (*print)(void *user, const char *text, size_t n);
    void *print_user;
} SimOptions;

/* Runs one kernel.  Faults of the kernel are in the report and do not make the call fail; after a
 * fault the faulting block stops.  ST_SIMULATOR for what the simulator cannot do.  */
Status sim_launch(SimGpu *g, Arena *a, Diag *d, const SimLaunch *launch, const SimOptions *o,
                  SimReport *out);
/* "kernel k, block (1,0,0), thread (31,0,0): race on ... (x.ptx line 120, x.cu line 41)".  */
void sim_fault_text(const SimFault *f, Buf *out);
#endif
