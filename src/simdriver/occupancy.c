/* Occupancy: how many blocks fit on an SM, and of which size most threads do.  */
#include "simdriver/work.h"

/* Flags: 1 asks for figures without caching in L1, which is the same here.  */
enum { KNOWN_FLAGS = 1 };

static CUresult count_blocks(Call *c, int *blocks, CUfunction function, int threads, size_t smem,
                             unsigned flags) {
    Function *f;
    if (!blocks || threads <= 0 || flags > KNOWN_FLAGS) return CUDA_ERROR_INVALID_VALUE;
    CUresult r = function_get(c, function, &f);
    if (r != CUDA_SUCCESS) return r;
    int64_t dynamic = smem < ((size_t)1 << 40) ? (int64_t)smem : (int64_t)1 << 40;
    *blocks = function_blocks_per_sm(f, c->ctx->gpu->dev, threads, dynamic);
    return CUDA_SUCCESS;
}

CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, CUfunction function, int threads,
                                                     size_t smem) {
    Call c;
    if (!driver_enter(&c, FN_cuOccupancyMaxActiveBlocksPerMultiprocessor)) return c.result;
    return driver_leave(&c, count_blocks(&c, blocks, function, threads, smem, 0));
}

CUresult cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks, CUfunction function,
                                                              int threads, size_t smem,
                                                              unsigned flags) {
    Call c;
    if (!driver_enter(&c, FN_cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags)) return c.result;
    return driver_leave(&c, count_blocks(&c, blocks, function, threads, smem, flags));
}

/* The size with most threads on an SM; of equal ones the largest.  */
static CUresult best_block(Call *c, int *grid, int *block, CUfunction function,
                           CUoccupancyB2DSize smem_of, size_t smem, int limit, unsigned flags) {
    Function *f;
    if (!grid || !block || flags > KNOWN_FLAGS) return CUDA_ERROR_INVALID_VALUE;
    CUresult r = function_get(c, function, &f);
    if (r != CUDA_SUCCESS) return r;
    const Device *dev = c->ctx->gpu->dev;
    int warp = (int)dev->limits.warp_size.value, most = function_most_threads(f, dev), best = 0;
    Function own = *f;
    pthread_mutex_unlock(&c->driver->lock);       /* smem_of is the caller's */
    if (limit > 0 && limit < most) most = limit;
    for (int threads = most; threads > 0; threads -= threads % warp ? threads % warp : warp) {
        int64_t dynamic = (int64_t)(smem_of ? smem_of(threads) : smem);
        int blocks = function_blocks_per_sm(&own, dev, threads, dynamic);
        if (blocks * threads <= best) continue;
        best = blocks * threads;
        *block = threads;
        *grid = blocks * (int)dev->limits.sm_count.value;
    }
    pthread_mutex_lock(&c->driver->lock);
    return best ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuOccupancyMaxPotentialBlockSize(int *grid, int *block, CUfunction function,
                                          CUoccupancyB2DSize smem_of, size_t smem, int limit) {
    Call c;
    if (!driver_enter(&c, FN_cuOccupancyMaxPotentialBlockSize)) return c.result;
    return driver_leave(&c, best_block(&c, grid, block, function, smem_of, smem, limit, 0));
}

CUresult cuOccupancyMaxPotentialBlockSizeWithFlags(int *grid, int *block, CUfunction function,
                                                   CUoccupancyB2DSize smem_of, size_t smem,
                                                   int limit, unsigned flags) {
    Call c;
    if (!driver_enter(&c, FN_cuOccupancyMaxPotentialBlockSizeWithFlags)) return c.result;
    return driver_leave(&c, best_block(&c, grid, block, function, smem_of, smem, limit, flags));
}

/* The most dynamic shared memory with which so many blocks still fit.  */
static CUresult most_dynamic(Call *c, size_t *bytes, CUfunction function, int blocks,
                             int threads) {
    Function *f;
    if (!bytes || blocks <= 0 || threads <= 0) return CUDA_ERROR_INVALID_VALUE;
    CUresult r = function_get(c, function, &f);
    if (r != CUDA_SUCCESS) return r;
    const Device *dev = c->ctx->gpu->dev;
    int64_t low = 0, high = (int64_t)dev->limits.smem_per_block_optin.value;
    if (function_blocks_per_sm(f, dev, threads, 0) < blocks) return CUDA_ERROR_INVALID_VALUE;
    while (low < high) {
        int64_t mid = (low + high + 1) / 2;
        if (function_blocks_per_sm(f, dev, threads, mid) >= blocks) low = mid;
        else high = mid - 1;
    }
    *bytes = (size_t)low;
    return CUDA_SUCCESS;
}

CUresult cuOccupancyAvailableDynamicSMemPerBlock(size_t *bytes, CUfunction function, int blocks,
                                                 int threads) {
    Call c;
    if (!driver_enter(&c, FN_cuOccupancyAvailableDynamicSMemPerBlock)) return c.result;
    return driver_leave(&c, most_dynamic(&c, bytes, function, blocks, threads));
}
