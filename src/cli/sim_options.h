/* Options of roller-sim: one table for parsing and for all that sheet.h prints.  */
#ifndef ROLLER_CLI_SIM_OPTIONS_H
#define ROLLER_CLI_SIM_OPTIONS_H
#include "cli/sheet.h"

/* Columns: id, long name, letter, argument, meaning.  */
#define SIM_TOOL_OPTIONS(X)                                                                        \
    X(ENTRY, "entry", 'e', "NAME", "the kernel; needed when the file has several")                 \
    X(GRID, "grid", 0, "X[,Y[,Z]]", "blocks (1)")                                                  \
    X(BLOCK, "block", 0, "X[,Y[,Z]]", "threads per block (what the kernel requires, else 1)")      \
    X(CLUSTER, "cluster", 0, "X[,Y[,Z]]", "blocks per cluster (none)")                             \
    X(SMEM, "smem", 0, "BYTES", "dynamic shared memory (0)")                                       \
    X(IN, "in", 0, "NAME=FILE.npy|N", "an array or a number for a parameter; repeatable")          \
    X(ALLOC, "alloc", 0, "NAME=TYPE[N,M,..]", "an uninitialized array, as f32[64,64]; repeatable") \
    X(MAP, "tensormap", 0, "NAME=box=NxM,..", "pass a CUtensorMap of the array")              \
    X(OUT, "out", 0, "NAME=FILE.npy", "write an array after the run; repeatable")                  \
    X(PROFILE, "profile", 0, "NAME|FILE", "the simulated GPU (as of roller-gen)")                  \
    X(ARCH, "arch", 0, "sm_90a", "compile a .cu for this target (the profile's own)")              \
    X(SEED, "seed", 0, "N", "seed of adversarial timing and warp order (1)")                       \
    X(ERRORS, "errors", 0, "N", "seed of the errors of approximate instructions (0: none)")       \
    X(BENIGN, "benign", 0, NULL, "asynchronous operations complete at once")                       \
    X(STRICT, "strict", 0, NULL, "what devices are known to forgive is a fault, not a warning")    \
    X(NO_RACES, "no-races", 0, NULL, "skip race detection")                                        \
    X(THREADS, "threads", 0, "N", "host threads (one per core)")                                   \
    X(LIMIT, "limit", 0, "N", "warp instructions of a block before it counts as runaway (2^32)")   \
    X(COUNTERS, "counters", 0, NULL, "print every counter")                                        \
    X(PTX, "ptx", 0, NULL, "print the PTX that is run, and stop")                                  \
    X(JSON, "json", 0, NULL, "one JSON object on standard output instead of text")                 \
    X(QUIET, "quiet", 'q', NULL, "say nothing but faults and errors")                              \
    X(COLOR, "color", 0, "WHEN", "auto, always or never")                                          \
    SHEET_OPTIONS(X)
typedef enum {
#define X(id, name, letter, arg, text) SIM_OPT_##id,
    SIM_TOOL_OPTIONS(X)
#undef X
        SIM_OPT_COUNT
} SimToolOption;

typedef struct {
    const char *input, *entry, *profile, *arch;
    uint32_t grid[3], block[3], cluster[3];
    uint32_t smem;
    Binding *in, *alloc, *map, *out;
    int n_in, n_alloc, n_map, n_out;
    uint64_t seed, errors, limit;
    int threads;
    bool benign, strict, no_races, counters, ptx, json, quiet, version;
    When color;
    SheetForm form;           /* SHEET_NONE: run the kernel */
} SimToolOptions;

/* Reads a command line.  ST_USAGE with a hint for what is unknown or wrong.  */
Status simtool_options(Arena *a, Diag *d, int argc, char **argv, SimToolOptions *out);
extern const Sheet sim_sheet;
#endif
