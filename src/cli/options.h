/* Options of roller-gen: one table for parsing and for all that sheet.h prints.  */
#ifndef ROLLER_CLI_OPTIONS_H
#define ROLLER_CLI_OPTIONS_H
#include "cli/sheet.h"

/* Columns: id, long name, letter, argument, meaning.  */
#define GEN_OPTIONS(X)                                                                             \
    X(DEFINE, "define", 'D', "NAME=N|NAME=LO..HI[%Q]",                                             \
      "set a static size, or make it a run-time size; repeatable")                                 \
    X(OP, "op", 0, "NAME|all", "the op to take; needed when the file has several")                 \
    X(EINSUM, "einsum", 0, "SPEC",                                                                 \
      "in place of a file: bmk,bkn->bmn, or mk:f16,kn:f16->mn:f32; -D sets the letters")           \
    X(PROFILE, "profile", 0, "NAME|FILE[,...]",                                                    \
      "target GPUs ($ROLLER_PROFILE, else the default set, else h200)")                            \
    X(ARCH, "arch", 0, "sm_90a[,...]", "compile targets (the profile's own)")                      \
    X(OUTPUT, "output", 'o', "FILE",                                                               \
      "main artefact, - for standard output; its stem names all others (STEM.cu)")                 \
    X(EMIT, "emit", 0, "LIST", "artefacts: cu cl ptx cubin json h c py so tvmffi (cu, or cl)")     \
    X(TOP, "top", 0, "K", "rank and print K plans (1; 10 with --measure)")                         \
    X(MEASURE, "measure", 0, NULL,                                                                 \
      "time the top K on a device and take the fastest that is right")                             \
    X(TRIALS, "trials", 0, "N",                                                                    \
      "time only N plans of all ops together, the most promising first (all)")                     \
    X(TIME_LIMIT, "time-limit", 0, "S",                                                            \
      "stop measuring after S seconds, with the best so far (none)")                               \
    X(WATCHDOG, "watchdog", 0, "S", "wait at most S seconds for a kernel on a device (20)")        \
    X(PLAN, "plan", 0, "FILE", "use this plan text instead of planning")                           \
    X(ABI, "abi", 0, "any|plain", "plain: parameters are pointers and scalars only (any)")         \
    X(ALIGN, "align", 0, "N", "promised alignment of every tensor, bytes (16)")                    \
    X(FAST_COMPILE, "fast-compile", 0, NULL,                                                       \
      "level 2 of ptxas, not 3: compiles sooner, loops may be slower")                             \
    X(STATIC_SMEM, "static-smem", 0, NULL,                                                         \
      "declare shared memory in the kernel, at most 48 KB: launches give none")                    \
    X(WORKSPACE, "workspace-limit", 0, "BYTES", "reject plans that need more (none)")              \
    X(PROGRAMS, "programs", 0, "N",                                                                \
      "at most N programs of a kernel group for run-time sizes (12, at most 64)")                  \
    X(CHECK, "check", 0, NULL,                                                                     \
      "prove the kernel: run it and compare with the reference")                                   \
    X(AT, "at", 0, "NAME=N",                                                                       \
      "value of a run-time size for --check, --measure and prediction; repeatable")                \
    X(IN, "in", 0, "NAME=FILE.npy|N", "run on real data; repeatable")                              \
    X(OUT, "out", 0, "NAME=FILE.npy", "write an output of the run; repeatable")                    \
    X(DEVICE, "device", 0, "N|UUID|sim",                                                           \
      "where to run: a device or the PTX simulator (0 if there is one, else sim)")                 \
    X(SEED, "seed", 0, "N", "seed of the check's data (1)")                                        \
    X(BUDGET, "check-budget", 0, "S", "scale of a sampled check, in nominal seconds (60)")         \
    X(COUNTERS, "counters", 0, NULL,                                                               \
      "print counters of device and simulator beside the model's terms")                           \
    X(EXPLAIN, "explain", 0, NULL,                                                                 \
      "why this plan: rules, terms, limiter, runners-up, rejects")                                 \
    X(DUMP, "dump", 0, "LIST",                                                                     \
      "print some of: te access tiles plan lowered source ptx resources roofline picture "         \
      "timeline")                                                                                  \
    X(JSON, "json", 0, NULL, "one JSON object on standard output instead of text")                 \
    X(DRY_RUN, "dry-run", 0, NULL, "plan and report, write nothing")                               \
    X(MAKE_RULE, "M", 0, NULL, "print a make rule and stop")                                       \
    X(MAKE_RULE_TOO, "MD", 0, NULL, "write a make rule to STEM.d as well")                         \
    X(LIST_ARCH, "list-arch", 0, NULL, "list what NVRTC can target")                               \
    X(LIST_PROFILES, "list-profiles", 0, NULL, "list the profiles found, with origin and date")    \
    X(LIST_OPS, "list-ops", 0, NULL, "list the ops of the file, with shapes")                      \
    X(CACHE_DIR, "cache-dir", 0, "DIR", "folder of the kernel cache ($ROLLER_CACHE_DIR)")          \
    X(CACHE_KEY_FILE, "cache-key-file", 0, "FILE",                                                 \
      "a secret shared by the cache's users; entries without its tag are ignored")                 \
    X(NO_CACHE, "no-cache", 0, NULL, "do not use the cache")                                       \
    X(CACHE_LIST, "cache-list", 0, NULL, "list kernels in the cache, most recently used first")    \
    X(CACHE_CLEAR, "cache-clear", 0, NULL, "remove all kernels from the cache")                    \
    X(THREADS, "threads", 0, "N", "host threads, to compile and to simulate (one per core)")       \
    X(LINE_INFO, "line-info", 'g', NULL, "line information in PTX and cubin")                      \
    SHEET_PROGRESS_OPTIONS(X)                                                                      \
    X(WERROR, "Werror", 0, NULL, "warnings are errors")                                            \
    SHEET_OPTIONS(X)
typedef enum {
#define X(id, name, letter, arg, text) GEN_##id,
    GEN_OPTIONS(X)
#undef X
        GEN_OPTION_COUNT
} GenOptionId;

/* What can be dumped, in the order it is printed.  */
#define GEN_DUMPS(X) X(TE, "te") X(ACCESS, "access") X(TILES, "tiles") X(PLAN, "plan")             \
    X(LOWERED, "lowered") X(SOURCE, "source") X(PTX, "ptx") X(RESOURCES, "resources")              \
    X(ROOFLINE, "roofline") X(PICTURE, "picture") X(TIMELINE, "timeline")
typedef enum {
#define X(id, name) DUMP_##id,
    GEN_DUMPS(X)
#undef X
        DUMP_COUNT
} GenDump;

/* Those before JSON are of one target, the others of all: name, ending of the file.  */
#define GEN_EMITS(X)                                                                               \
    X(CU, "cu", "cu") X(CL, "cl", "cl") X(PTX, "ptx", "ptx") X(CUBIN, "cubin", "cubin")            \
    X(JSON, "json", "json") X(H, "h", "h") X(C, "c", "c") X(PY, "py", "py") X(SO, "so", "so")      \
    X(TVMFFI, "tvmffi", "tvmffi.so")
typedef enum {
#define X(id, name, end) EMIT_##id,
    GEN_EMITS(X)
#undef X
        EMIT_COUNT
} GenEmit;
extern const char *const gen_emit_name[], *const gen_emit_end[];

typedef enum { ACT_GENERATE, ACT_SHEET, ACT_VERSION, ACT_LIST_ARCH, ACT_LIST_PROFILES, ACT_LIST_OPS,
               ACT_MAKE_RULE, ACT_CACHE_LIST, ACT_CACHE_CLEAR } GenAct;

typedef struct {
    const char **item;
    int n;
} Words;

typedef struct {
    GenAct act;
    const char *input, *einsum;           /* one of them */
    Words defines, profiles, archs, at;
    const char *op, *output, *plan, *device, *cache_dir, *cache_key_file;
    uint32_t emit, dump;      /* bits of GenEmit, GenDump; emit 0: the source */
    int top, align, trials;   /* trials 0: all */
    int programs;             /* 0: as many as pay */
    int threads;              /* 0: one per core */
    int64_t workspace_limit;  /* 0: none is imposed */
    bool measure, check, counters, explain, json, dry_run, make_rule_too, line_info, werror;
    bool fast_compile, static_smem, plain_abi, no_cache;
    int verbosity;            /* -1 quiet, 1 verbose */
    Binding *in, *out;
    int n_in, n_out;
    uint64_t seed;
    double budget, time_limit, watchdog;
    When color, progress;
    bool emit_given;
    SheetForm form;           /* of ACT_SHEET */
} GenOptions;

/* Reads a command line.  ST_USAGE with a hint for what is unknown or contradictory.  */
Status gen_options(Arena *a, Diag *d, int argc, char **argv, GenOptions *out);
extern const Sheet gen_sheet;
/* The kind of artefact that the ending of a name tells; EMIT_COUNT: none.  */
int gen_kind_named(const char *path);
#endif
