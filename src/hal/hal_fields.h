/* The fields of a device profile: tables from which the structs of hal/device.h, the JSON reader
 * and writer, the bounds and docs/reference/profile.md are made.  A new fact is a new row here.  */
#ifndef ROLLER_HAL_HAL_FIELDS_H
#define ROLLER_HAL_HAL_FIELDS_H

/*    name                 unit          min   max      req  text */
#define HAL_LIMITS(X)                                                                              \
    X(sm_count,            "1",          1,    4096,    1, "streaming multiprocessors")            \
    X(subpartitions,       "1",          1,    16,      1, "warp schedulers per SM")               \
    X(warp_size,           "1",          32,   32,      1, "threads per warp")                     \
    X(threads_per_block,   "1",          32,   4096,    1, "largest block")                        \
    X(threads_per_sm,      "1",          32,   8192,    1, "resident threads per SM")              \
    X(blocks_per_sm,       "1",          1,    256,     1, "resident blocks per SM")               \
    X(barriers_per_block,  "1",          1,    64,      1, "named barriers per block")             \
    X(registers_per_sm,    "1",          1024, 1048576, 1, "32-bit registers per SM")              \
    X(registers_per_block, "1",          1024, 1048576, 1, "32-bit registers per block")           \
    X(registers_per_thread,"1",          16,   1024,    1, "most registers of one thread")         \
    X(register_granule,    "1",          1,    4096,    1,                                         \
      "registers are given to a warp in multiples of this")                                        \
    X(smem_per_sm,         "B",          1024, 4194304, 1, "shared memory per SM")                 \
    X(smem_per_block,      "B",          1024, 4194304, 1,                                         \
      "shared memory per block without opt-in")                                                    \
    X(smem_per_block_optin,"B",          1024, 4194304, 1, "shared memory per block with opt-in")  \
    X(smem_reserved,       "B",          0,    65536,   1,                                         \
      "shared memory the system takes per block")                                                  \
    X(smem_granule,        "B",          1,    65536,   1,                                         \
      "shared memory is given in multiples of this")                                               \
    X(cluster_max,         "1",          1,    64,      1,                                         \
      "blocks per cluster, portable; 1: no clusters")                                              \
    X(grid_max,            "1",          65535,4294967295.0, 1, "blocks along x")                  \
    X(issue_per_clk,       "1",          1,    16,      1,                                         \
      "warp instructions issued per SM and clock")                                                 \
    X(clock_sm,            "MHz",        100,  10000,   1, "boost clock of the SMs")               \
    X(clock_sm_max,        "MHz",        100,  10000,   0, "clock that boards reach, if above")    \
    X(clock_sm_sustained,  "MHz",        100,  10000,   1, "clock of the SMs under load")

/* Memory levels, outermost first.  */
#define HAL_LEVELS(X) X(DRAM, "dram") X(L2, "l2") X(DSMEM, "dsmem") X(SMEM, "smem") X(REG, "reg")
typedef enum {
#define X(id, name) LEVEL_##id,
    HAL_LEVELS(X)
#undef X
        LEVEL_COUNT
} LevelId;

/*    name                unit       min   max    req  text */
#define HAL_MEMORY(X)                                                                              \
    X(capacity,           "B",       1024, 1e15,  1, "size")                                       \
    X(effective_capacity, "B",       1024, 1e15,  0, "size up to which the full rate holds")       \
    X(line,               "B",       4,    4096,  0, "line")                                       \
    X(transaction,        "B",       4,    4096,  0, "smallest transfer (sector)")                 \
    X(peak,               "B/s",     1e6,  1e16,  0, "rate of the bus, of reads and writes")       \
    X(read,               "B/s",     1e6,  1e16,  0, "read rate of the whole device")              \
    X(write,              "B/s",     1e6,  1e16,  0, "write rate of the whole device")             \
    X(copy,               "B/s",     1e6,  1e16,  0, "read + write rate of a copy")                \
    X(per_sm_max,         "B/clk/SM",0.01, 1e5,   0, "most one SM can take")                       \
    X(latency,            "clk",     1,    1e5,   0, "load-to-use latency")                        \
    X(banks,              "1",       1,    1024,  0, "banks")                                      \
    X(bank_width,         "B",       1,    64,    0, "width of a bank")

/*    name             unit  min   max   req  text */
#define HAL_OVERHEADS(X)                                                                           \
    X(launch_stream,   "ns", 10,   1e6,  1, "back-to-back launches in a stream, per kernel")       \
    X(launch_graph,    "ns", 10,   1e6,  1, "the same inside a graph")                             \
    X(kernel_floor,    "ns", 10,   1e6,  1, "device time of an empty kernel of one wave")          \
    X(block_start,     "clk",1,    1e6,  1, "from a block's launch to its first instruction")      \
    X(mbarrier,        "clk",1,    1e6,  0, "arrive and wait on an mbarrier")                      \
    X(cluster_barrier, "clk",1,    1e6,  0, "barrier over a cluster")                              \
    X(atomic_same,     "clk",0.01, 1e6,  0, "atomic add, all lanes on one address, per warp")      \
    X(atomic_distinct, "clk",0.01, 1e6,  0, "atomic add, distinct addresses, per warp")            \
    X(pipeline_step,   "clk",1,    1e6,  1,                                                        \
      "cost of one step of a load pipeline that nothing hides")

#define HAL_UNITS_OF_MEASURE(X)                                                                    \
    X("1") X("%") X("B") X("B/s") X("B/clk/SM") X("FLOP/s") X("FLOP/clk/SM") X("op/clk/SM")        \
    X("clk") X("ns") X("us") X("MHz")

#define HAL_ORIGINS(X)                                                                             \
    X(MEASURED, "measured") X(SIMULATED, "simulated") X(DRIVER, "driver")                          \
    X(DATASHEET, "datasheet") X(DERIVED, "derived")
/* Languages of kernels: name in a profile, and what stands for an architecture where the language
 * has none; NULL: the profile says its own.  */
#define HAL_LANGUAGES(X) X(CUDA, "cuda", NULL) X(OPENCL, "opencl c 1.2", "cl1.2")
#define HAL_SCOPES(X) X(THREAD, "thread") X(WARP, "warp") X(WARPGROUP, "warpgroup")
#define HAL_PLACES(X)                                                                              \
    X(GLOBAL, "global") X(SMEM, "smem") X(REG, "reg") X(DSMEM, "dsmem") X(TMEM, "tmem")
#define HAL_MEMORY_SCOPES(X) X("device") X("cluster") X("sm") X("thread")

/* Figures of a level that are required although HAL_MEMORY leaves them open.  */
#define HAL_MEMORY_NEEDS(X)                                                                        \
    X(DRAM, transaction) X(DRAM, read) X(DRAM, write) X(DRAM, copy) X(DRAM, latency)               \
    X(L2, effective_capacity) X(L2, line) X(L2, transaction) X(L2, read) X(L2, per_sm_max)         \
    X(L2, latency) X(DSMEM, per_sm_max) X(DSMEM, latency)                                          \
    X(SMEM, per_sm_max) X(SMEM, latency) X(SMEM, banks) X(SMEM, bank_width)

/* Curves of the levels.
 *    level  of       x                        x unit  unit        req  text */
#define HAL_CURVES(X)                                                                              \
    X(DRAM,  "read",  "bytes_in_flight_per_sm","B",    "B/s",      1,                              \
      "read rate against the bytes every SM keeps in flight")                                      \
    X(DRAM,  "read",  "total_bytes",           "B",    "B/s",      1,                              \
      "read rate of a kernel that reads this much, its ramp included, its launch not")             \
    X(DRAM,  "read",  "run_length",            "B",    "B/s",      1,                              \
      "useful read rate when aligned runs of this length are read at random places")               \
    X(DRAM,  "write", "run_length",            "B",    "B/s",      1,                              \
      "useful write rate when aligned runs of this length are written at random places")           \
    X(DRAM,  "read",  "active_sms",            "1",    "B/s",      0,                              \
      "read rate against the number of SMs that read")                                             \
    X(L2,    "read",  "footprint",             "B",    "B/s",      1,                              \
      "rate at which all SMs read the same data of this size again and again")                     \
    X(L2,    "read",  "active_sms",            "1",    "B/s",      0,                              \
      "rate against the number of SMs that read what L2 holds")                                    \
    X(SMEM,  "read",  "conflict_ways",         "1",    "B/clk/SM", 0,                              \
      "rate of one SM when lanes of a warp hit a bank in this many different rows")

/* Curves that are one member of a struct.
 *    name               of          x               x unit  unit */
#define HAL_MEMBER_CURVES(X)                                                                       \
    X(clusters_resident, "clusters", "cluster_size", "1",    "1")                                  \
    X(barrier,           "barrier",  "threads",      "1",    "clk")                                \
    X(warps,             "rate",     "warps",        "1",    "FLOP/clk/SM|op/clk/SM")              \
    X(columns,           "rate",     "n",            "1",    "FLOP/clk/SM|op/clk/SM")              \
    X(clock,             "clock",    "busy",         "us",   "MHz")

/* Kinds of the members below and their types in C.  FLAG is a JSON bool, RANGE a number or
 * {"from", "to", "step"}, SPANS a list of byte counts, DTYPE a type of te or "none".  */
#define HAL_TYPE_TEXT  const char *
#define HAL_TYPE_SCOPE UnitScope
#define HAL_TYPE_PLACE Place
#define HAL_TYPE_RANGE SizeRange
#define HAL_TYPE_DTYPE TeDtype
#define HAL_TYPE_FLAG  bool
#define HAL_TYPE_SPANS uint32_t
#define HAL_TYPE_COUNT int
#define HAL_TYPE_NUMBER double
#define HAL_TYPE_FIGURE Figure
#define HAL_TYPE_CURVE Curve

/* A family: units that power slows alike, as they move as many bytes of operands in a clock.
 *    kind    name       unit  min   max   req  text */
#define HAL_FAMILY(X)                                                                              \
    X(TEXT,   name,      "",   1,    48,   1,   "\"wgmma\"; what its units call `family`")         \
    X(FIGURE, sustained, "%",  1,    100,  0,   "of its units' rate, what remains under load")     \
    X(CURVE,  clock,     "",   0,    0,    0,                                                      \
      "mean clock of the SMs over the time for which they do little but this, without a pause")

/* A compute unit: one row per instruction shape and type.
 *    kind    name       unit                     min   max   req  text */
#define HAL_UNIT(X)                                                                                \
    X(TEXT,   name,      "",                      1,    48,   1,                                   \
      "\"ffma\", \"mma.m16n8k16.f16.f32\", \"mufu.ex2\"")                                          \
    X(TEXT,   family,    "",                      1,    48,   0,                                   \
      "row of `families` that says what load leaves of its rate; absent: all")                     \
    X(SCOPE,  scope,     "",                      0,    0,    1, "who executes one instruction")   \
    X(RANGE,  m,         "1",                     1,    4096, 1,                                   \
      "rows of the result of one instruction")                                                     \
    X(RANGE,  n,         "1",                     1,    4096, 1, "columns of the result")          \
    X(RANGE,  k,         "1",                     1,    4096, 1,                                   \
      "elements along k: a product for each, or for both numbers of one of f4e2m1x2")              \
    X(DTYPE,  a,         "",                      0,    0,    1, "type of the first operand")      \
    X(DTYPE,  b,         "",                      0,    1,    1,                                   \
      "type of the second; \"none\": the unit does not multiply and add")                          \
    X(DTYPE,  acc,       "",                      0,    0,    1,                                   \
      "type of the result and of the sum")                                                         \
    X(DTYPE,  scale,     "",                      0,    1,    0,                                   \
      "type of the scales of both operands, one for scale_k neighbours along k")                   \
    X(COUNT,  scale_k,   "1",                     1,    4096, 0,                                   \
      "elements along k that share a scale; absent: it has no scales")                             \
    X(FLAG,   tf32,      "",                      0,    0,    1,                                   \
      "f32 operands are rounded to 10 bits of fraction")                                           \
    X(FLAG,   a_reg,     "",                      0,    0,    1,                                   \
      "the first operand may lie in registers")                                                    \
    X(FLAG,   a_smem,    "",                      0,    0,    1,                                   \
      "the first operand may lie in shared memory")                                                \
    X(FLAG,   b_reg,     "",                      0,    0,    1,                                   \
      "the second operand may lie in registers")                                                   \
    X(FLAG,   b_smem,    "",                      0,    0,    1,                                   \
      "the second operand may lie in shared memory")                                               \
    X(FLAG,   k_major,   "",                      0,    0,    1,                                   \
      "takes operands from shared memory with k contiguous")                                       \
    X(FLAG,   mn_major,  "",                      0,    0,    1,                                   \
      "takes operands from shared memory with m or n contiguous")                                  \
    X(COUNT,  mn_atom,   "B",                     32,   32,   0,                                   \
      "bytes that the swizzle of these moves together; absent: 16")                                \
    X(FLAG,   tmem,      "",                      0,    0,    0,                                   \
      "its results lie in Tensor Memory; absent: in registers")                                    \
    X(COUNT,  blocks,    "1",                     2,    2,    0,                                   \
      "neighbours of a cluster that multiply together, each its m rows, and its part of n")        \
    X(SPANS,  swizzles,  "B",                     16,   128,  1,                                   \
      "swizzle spans it reads; 16 is none")                                                        \
    X(COUNT,  alignment, "B",                     1,    4096, 1, "of an operand's address")        \
    X(FIGURE, rate,      "FLOP/clk/SM|op/clk/SM", 0.01, 1e6,  1,                                   \
      "peak; a multiply-add counts 2, of integers too; op: result of one thread")                  \
    X(FIGURE, latency,   "clk",                   1,    1e5,  0,                                   \
      "until a dependent instruction can start")                                                   \
    X(CURVE,  warps,     "",                      0,    0,    0,                                   \
      "rate over resident warps per SM")                                                           \
    X(CURVE,  columns,   "",                      0,    0,    0,                                   \
      "rate over n of one instruction, where operands limit narrow ones")

/* A mover: one row per way to move data between two places.
 *    kind    name             unit        min   max    req  text */
#define HAL_MOVER(X)                                                                               \
    X(TEXT,   name,            "",         1,    48,    1,                                         \
      "\"cp.async.16\", \"ldg.128\", \"tma.tile\"")                                                \
    X(PLACE,  from,            "",         0,    0,     1, "source")                               \
    X(PLACE,  to,              "",         0,    0,     1, "destination")                          \
    X(COUNT,  granule,         "B",        1,    4096,  1,                                         \
      "moved by one thread and instruction; bulk movers: the smallest amount")                     \
    X(COUNT,  alignment,       "B",        1,    4096,  1, "of both ends")                         \
    X(COUNT,  stride_multiple, "B",        1,    4096,  1, "strides must be a multiple; 1: any")   \
    X(COUNT,  box_max,         "1",        0,    65536, 1,                                         \
      "elements per dimension of a tensor box, pixels of a column; 0: none")                       \
    X(SPANS,  swizzles,        "B",        16,   128,   1,                                         \
      "swizzle spans it can write; 16 is none")                                                    \
    X(COUNT,  atom,            "B",        32,   32,    0,                                         \
      "bytes that the widest may move together instead of 16; absent: none")                       \
    X(FLAG,   fill_zero,       "",         0,    0,     1, "can fill with zero what lies outside") \
    X(FLAG,   fill_nan,        "",         0,    0,     1, "can fill with NaN what lies outside")  \
    X(FLAG,   async,           "",         0,    0,     1, "completes by a later wait")            \
    X(SCOPE,  issue,           "",         0,    0,     1, "who issues it")                        \
    X(FIGURE, rate,            "B/clk/SM", 0.01, 1e5,   1, "most that one SM moves this way")      \
    X(FIGURE, cost,            "clk",      0.01, 1e5,   1,                                         \
      "issue time per instruction of a warp; bulk movers: per instruction")

/* How and when the profile was made; `key` is the one of the JSON.
 *    kind    member              key              unit   min   max  req  text */
#define HAL_MADE(X)                                                                                \
    X(TEXT,   tool,               "tool",          "",    1,    64,  1,                            \
      "version of roller that wrote it")                                                           \
    X(TEXT,   date,               "date",          "",    10,   10,  1,                            \
      "YYYY-MM-DD")                                                                                \
    X(TEXT,   mode,               "mode",          "",    1,    32,  1,                            \
      "\"datasheet\", \"quick\" or \"full\"")                                                      \
    X(TEXT,   driver,             "driver",        "",    1,    64,  0,                            \
      "version of the driver")                                                                     \
    X(TEXT,   nvrtc,              "nvrtc",         "",    1,    64,  0,                            \
      "version of NVRTC")                                                                          \
    X(NUMBER, made_clock_sm_mhz,  "clock_sm_mhz",  "MHz", 1,    1e5, 0,                            \
      "SM clock while it was made")                                                                \
    X(NUMBER, made_clock_mem_mhz, "clock_mem_mhz", "MHz", 1,    1e5, 0,                            \
      "memory clock while it was made")                                                            \
    X(NUMBER, made_temperature_c, "temperature_c", "C",   -100, 200, 0,                            \
      "temperature while it was made")

/* A fitted factor; its key says what it multiplies: a unit, a mover, a level, a rate of a level as
 * in "dram.read", or "issue", the rate of instructions.
 *    kind    name      unit  min   max    req  text */
#define HAL_FACTOR(X)                                                                              \
    X(NUMBER, value,    "1",  0.01, 100,   1, "multiplies the rate")                               \
    X(NUMBER, residual, "1",  0,    100,   1, "relative error left after the fit")                 \
    X(COUNT,  samples,  "1",  1,    1e6,   1, "timings used")                                      \
    X(TEXT,   kernels,  "",   1,    512,   1, "kernels used")
#endif
