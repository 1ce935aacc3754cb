/* The fields of a device profile: one table for the struct, the JSON reader and writer, the bounds and
 * docs/profile.md.  Columns: name, unit, smallest, largest, required, text.  */
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
    X(register_granule,    "1",          1,    4096,    1, "registers are given to a warp in multiples of this") \
    X(smem_per_sm,         "B",          1024, 4194304, 1, "shared memory per SM")                 \
    X(smem_per_block,      "B",          1024, 4194304, 1, "shared memory per block without opt-in") \
    X(smem_per_block_optin,"B",          1024, 4194304, 1, "shared memory per block with opt-in")  \
    X(smem_reserved,       "B",          0,    65536,   1, "shared memory the system takes per block") \
    X(smem_granule,        "B",          1,    65536,   1, "shared memory is given in multiples of this") \
    X(cluster_max,         "1",          1,    64,      1, "blocks per cluster, portable; 1: no clusters") \
    X(grid_max,            "1",          65535,4294967295.0, 1, "blocks along x")                  \
    X(issue_per_clk,       "1",          1,    16,      1, "warp instructions issued per SM and clock") \
    X(clock_sm,            "MHz",        100,  10000,   1, "boost clock of the SMs")               \
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
    X(pipeline_step,   "clk",1,    1e6,  1, "cost of one step of a load pipeline that nothing hides")

#define HAL_UNITS_OF_MEASURE(X)                                                                    \
    X("1") X("B") X("B/s") X("B/clk/SM") X("FLOP/s") X("FLOP/clk/SM") X("op/clk/SM") X("clk")      \
    X("ns") X("MHz")
#endif
