/* Attributes of a device and where the value comes from: an expression over `d`, its Device, and
 * `g`, its Gpu.  Facts that a profile does not hold and no roller part asks for are what every
 * device of the last ten years says, or 0; so is every other attribute up to the last one, which
 * are sizes and kinds of what there is none of.
 *    name                                     number value */
#ifndef ROLLER_SIMDRIVER_ATTRIBUTES_H
#define ROLLER_SIMDRIVER_ATTRIBUTES_H

enum { SIMDRIVER_LAST_ATTRIBUTE = 147 };
#define SIMDRIVER_ATTRIBUTES(X)                                                                    \
    X(MAX_THREADS_PER_BLOCK,                   1, d->limits.threads_per_block.value)               \
    X(MAX_BLOCK_DIM_X,                         2, d->limits.threads_per_block.value)               \
    X(MAX_BLOCK_DIM_Y,                         3, d->limits.threads_per_block.value)               \
    X(MAX_BLOCK_DIM_Z,                         4, 64)                                              \
    X(MAX_GRID_DIM_X,                          5, d->limits.grid_max.value)                        \
    X(MAX_GRID_DIM_Y,                          6, 65535)                                           \
    X(MAX_GRID_DIM_Z,                          7, 65535)                                           \
    X(MAX_SHARED_MEMORY_PER_BLOCK,             8, d->limits.smem_per_block.value)                  \
    X(TOTAL_CONSTANT_MEMORY,                   9, 65536)                                           \
    X(WARP_SIZE,                              10, d->limits.warp_size.value)                       \
    X(MAX_PITCH,                              11, 2147483647)                                      \
    X(MAX_REGISTERS_PER_BLOCK,                12, d->limits.registers_per_block.value)             \
    X(CLOCK_RATE,                             13, d->limits.clock_sm.value * 1000)                 \
    X(TEXTURE_ALIGNMENT,                      14, 512)                                             \
    X(GPU_OVERLAP,                            15, 1)                                               \
    X(MULTIPROCESSOR_COUNT,                   16, d->limits.sm_count.value)                        \
    X(KERNEL_EXEC_TIMEOUT,                    17, 0)                                               \
    X(INTEGRATED,                             18, 0)                                               \
    X(CAN_MAP_HOST_MEMORY,                    19, 1)                                               \
    X(COMPUTE_MODE,                           20, 0)                                               \
    X(SURFACE_ALIGNMENT,                      30, 512)                                             \
    X(CONCURRENT_KERNELS,                     31, 1)                                               \
    X(ECC_ENABLED,                            32, 0)                                               \
    X(PCI_BUS_ID,                             33, g->ordinal + 1)                                  \
    X(PCI_DEVICE_ID,                          34, 0)                                               \
    X(TCC_DRIVER,                             35, 0)                                               \
    X(MEMORY_CLOCK_RATE,                      36, d->made_clock_mem_mhz * 1000)                    \
    X(GLOBAL_MEMORY_BUS_WIDTH,                37, 0)                                               \
    X(L2_CACHE_SIZE,                          38, d->memory[LEVEL_L2].capacity.value)              \
    X(MAX_THREADS_PER_MULTIPROCESSOR,         39, d->limits.threads_per_sm.value)                  \
    X(ASYNC_ENGINE_COUNT,                     40, 2)                                               \
    X(UNIFIED_ADDRESSING,                     41, 1)                                               \
    X(PCI_DOMAIN_ID,                          50, 0)                                               \
    X(COMPUTE_CAPABILITY_MAJOR,               75, d->cc_major)                                     \
    X(COMPUTE_CAPABILITY_MINOR,               76, d->cc_minor)                                     \
    X(STREAM_PRIORITIES_SUPPORTED,            78, 0)                                               \
    X(GLOBAL_L1_CACHE_SUPPORTED,              79, 1)                                               \
    X(LOCAL_L1_CACHE_SUPPORTED,               80, 1)                                               \
    X(MAX_SHARED_MEMORY_PER_MULTIPROCESSOR,   81, d->limits.smem_per_sm.value)                     \
    X(MAX_REGISTERS_PER_MULTIPROCESSOR,       82, d->limits.registers_per_sm.value)                \
    X(MANAGED_MEMORY,                         83, 1)                                               \
    X(MULTI_GPU_BOARD,                        84, 0)                                               \
    X(MULTI_GPU_BOARD_GROUP_ID,               85, g->ordinal)                                      \
    X(PAGEABLE_MEMORY_ACCESS,                 88, 0)                                               \
    X(CONCURRENT_MANAGED_ACCESS,              89, 0)                                               \
    X(COMPUTE_PREEMPTION_SUPPORTED,           90, 1)                                               \
    X(COOPERATIVE_LAUNCH,                     95, 1)                                               \
    X(COOPERATIVE_MULTI_DEVICE_LAUNCH,        96, 0)                                               \
    X(MAX_SHARED_MEMORY_PER_BLOCK_OPTIN,      97, d->limits.smem_per_block_optin.value)            \
    X(HOST_REGISTER_SUPPORTED,                99, 1)                                               \
    X(VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED,   102, 0)                                               \
    X(MAX_BLOCKS_PER_MULTIPROCESSOR,         106, d->limits.blocks_per_sm.value)                   \
    X(MAX_PERSISTING_L2_CACHE_SIZE,          108, 0)                                               \
    X(MAX_ACCESS_POLICY_WINDOW_SIZE,         109, 0)                                               \
    X(RESERVED_SHARED_MEMORY_PER_BLOCK,      111, d->limits.smem_reserved.value)                   \
    X(MEMORY_POOLS_SUPPORTED,                115, 1)                                               \
    X(CLUSTER_LAUNCH,                        120, d->limits.cluster_max.value > 1)                 \
    X(TENSOR_MAP_ACCESS_SUPPORTED,           127, d->cc_major >= 9)                                \
    X(UNIFIED_FUNCTION_POINTERS,             129, 0)                                               \
    X(MULTICAST_SUPPORTED,                   132, 0)
#endif
