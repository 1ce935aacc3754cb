/* The forms of functions in which stream 0 is the calling thread's own: what cuGetProcAddress gives
 * with CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM.  A row is the name, the exported symbol, the
 * driver version that brought it, what a call needs, the parameters, and the function of
 * driver_functions.h that does the work, with its arguments.  */
#ifndef ROLLER_SIMDRIVER_DRIVER_PER_THREAD_H
#define ROLLER_SIMDRIVER_DRIVER_PER_THREAD_H

#define SIMDRIVER_PER_THREAD(X)                                                                    \
    X(cuEventRecordWithFlags, cuEventRecordWithFlags_ptsz, 11010, CONTEXT, (CUevent event,         \
      CUstream stream, unsigned flags), cuEventRecordWithFlags, (event, stream, flags))            \
    X(cuEventRecord, cuEventRecord_ptsz, 7000, CONTEXT, (CUevent event, CUstream stream),          \
      cuEventRecord, (event, stream))                                                              \
    X(cuGraphInstantiateWithParams, cuGraphInstantiateWithParams_ptsz, 12000, CONTEXT,             \
      (CUgraphExec *exec, CUgraph graph, CUDA_GRAPH_INSTANTIATE_PARAMS *params),                   \
      cuGraphInstantiateWithParams, (exec, graph, params))                                         \
    X(cuGraphLaunch, cuGraphLaunch_ptsz, 10000, CONTEXT, (CUgraphExec exec, CUstream stream),      \
      cuGraphLaunch, (exec, stream))                                                               \
    X(cuGraphUpload, cuGraphUpload_ptsz, 11010, CONTEXT, (CUgraphExec exec, CUstream stream),      \
      cuGraphUpload, (exec, stream))                                                               \
    X(cuLaunchCooperativeKernel, cuLaunchCooperativeKernel_ptsz, 9000, CONTEXT, (CUfunction        \
      function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,      \
      unsigned smem, CUstream stream, void **params), cuLaunchCooperativeKernel, (function, gx,    \
      gy, gz, bx, by, bz, smem, stream, params))                                                   \
    X(cuLaunchHostFunc, cuLaunchHostFunc_ptsz, 10000, CONTEXT, (CUstream stream, CUhostFn fn,      \
      void *user), cuLaunchHostFunc, (stream, fn, user))                                           \
    X(cuLaunchKernelEx, cuLaunchKernelEx_ptsz, 11060, CONTEXT, (const CUlaunchConfig *config,      \
      CUfunction function, void **params, void **extra), cuLaunchKernelEx, (config, function,      \
      params, extra))                                                                              \
    X(cuLaunchKernel, cuLaunchKernel_ptsz, 7000, CONTEXT, (CUfunction function, unsigned gx,       \
      unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned smem, CUstream     \
      stream, void **params, void **extra), cuLaunchKernel, (function, gx, gy, gz, bx, by, bz,     \
      smem, stream, params, extra))                                                                \
    X(cuMemAllocAsync, cuMemAllocAsync_ptsz, 11020, CONTEXT, (CUdeviceptr *at, size_t bytes,       \
      CUstream stream), cuMemAllocAsync, (at, bytes, stream))                                      \
    X(cuMemAllocFromPoolAsync, cuMemAllocFromPoolAsync_ptsz, 11020, CONTEXT, (CUdeviceptr *at,     \
      size_t bytes, CUmemoryPool pool, CUstream stream), cuMemAllocFromPoolAsync, (at, bytes,      \
      pool, stream))                                                                               \
    X(cuMemFreeAsync, cuMemFreeAsync_ptsz, 11020, CONTEXT, (CUdeviceptr at, CUstream stream),      \
      cuMemFreeAsync, (at, stream))                                                                \
    X(cuMemcpy2DAsync, cuMemcpy2DAsync_v2_ptsz, 7000, CONTEXT, (const CUDA_MEMCPY2D *copy,         \
      CUstream stream), cuMemcpy2DAsync_v2, (copy, stream))                                        \
    X(cuMemcpy2DUnaligned, cuMemcpy2DUnaligned_v2_ptds, 7000, CONTEXT, (const CUDA_MEMCPY2D        \
      *copy), cuMemcpy2DUnaligned_v2, (copy))                                                      \
    X(cuMemcpy2D, cuMemcpy2D_v2_ptds, 7000, CONTEXT, (const CUDA_MEMCPY2D *copy), cuMemcpy2D_v2,   \
      (copy))                                                                                      \
    X(cuMemcpy3DAsync, cuMemcpy3DAsync_v2_ptsz, 7000, CONTEXT, (const CUDA_MEMCPY3D *copy,         \
      CUstream stream), cuMemcpy3DAsync_v2, (copy, stream))                                        \
    X(cuMemcpy3D, cuMemcpy3D_v2_ptds, 7000, CONTEXT, (const CUDA_MEMCPY3D *copy), cuMemcpy3D_v2,   \
      (copy))                                                                                      \
    X(cuMemcpyAsync, cuMemcpyAsync_ptsz, 7000, CONTEXT, (CUdeviceptr to, CUdeviceptr from, size_t  \
      bytes, CUstream stream), cuMemcpyAsync, (to, from, bytes, stream))                           \
    X(cuMemcpyDtoDAsync, cuMemcpyDtoDAsync_v2_ptsz, 7000, CONTEXT, (CUdeviceptr to, CUdeviceptr    \
      from, size_t bytes, CUstream stream), cuMemcpyDtoDAsync_v2, (to, from, bytes, stream))       \
    X(cuMemcpyDtoD, cuMemcpyDtoD_v2_ptds, 7000, CONTEXT, (CUdeviceptr to, CUdeviceptr from,        \
      size_t bytes), cuMemcpyDtoD_v2, (to, from, bytes))                                           \
    X(cuMemcpyDtoHAsync, cuMemcpyDtoHAsync_v2_ptsz, 7000, CONTEXT, (void *to, CUdeviceptr from,    \
      size_t bytes, CUstream stream), cuMemcpyDtoHAsync_v2, (to, from, bytes, stream))             \
    X(cuMemcpyDtoH, cuMemcpyDtoH_v2_ptds, 7000, CONTEXT, (void *to, CUdeviceptr from, size_t       \
      bytes), cuMemcpyDtoH_v2, (to, from, bytes))                                                  \
    X(cuMemcpyHtoDAsync, cuMemcpyHtoDAsync_v2_ptsz, 7000, CONTEXT, (CUdeviceptr to, const void     \
      *from, size_t bytes, CUstream stream), cuMemcpyHtoDAsync_v2, (to, from, bytes, stream))      \
    X(cuMemcpyHtoD, cuMemcpyHtoD_v2_ptds, 7000, CONTEXT, (CUdeviceptr to, const void *from,        \
      size_t bytes), cuMemcpyHtoD_v2, (to, from, bytes))                                           \
    X(cuMemcpyPeerAsync, cuMemcpyPeerAsync_ptsz, 7000, CONTEXT, (CUdeviceptr to, CUcontext         \
      to_ctx, CUdeviceptr from, CUcontext from_ctx, size_t bytes, CUstream stream),                \
      cuMemcpyPeerAsync, (to, to_ctx, from, from_ctx, bytes, stream))                              \
    X(cuMemcpyPeer, cuMemcpyPeer_ptds, 7000, CONTEXT, (CUdeviceptr to, CUcontext to_ctx,           \
      CUdeviceptr from, CUcontext from_ctx, size_t bytes), cuMemcpyPeer, (to, to_ctx, from,        \
      from_ctx, bytes))                                                                            \
    X(cuMemcpy, cuMemcpy_ptds, 7000, CONTEXT, (CUdeviceptr to, CUdeviceptr from, size_t bytes),    \
      cuMemcpy, (to, from, bytes))                                                                 \
    X(cuMemsetD16Async, cuMemsetD16Async_ptsz, 7000, CONTEXT, (CUdeviceptr to, unsigned short      \
      value, size_t n, CUstream stream), cuMemsetD16Async, (to, value, n, stream))                 \
    X(cuMemsetD16, cuMemsetD16_v2_ptds, 7000, CONTEXT, (CUdeviceptr to, unsigned short value,      \
      size_t n), cuMemsetD16_v2, (to, value, n))                                                   \
    X(cuMemsetD2D16Async, cuMemsetD2D16Async_ptsz, 7000, CONTEXT, (CUdeviceptr to, size_t pitch,   \
      unsigned short value, size_t width, size_t height, CUstream stream), cuMemsetD2D16Async,     \
      (to, pitch, value, width, height, stream))                                                   \
    X(cuMemsetD2D16, cuMemsetD2D16_v2_ptds, 7000, CONTEXT, (CUdeviceptr to, size_t pitch,          \
      unsigned short value, size_t width, size_t height), cuMemsetD2D16_v2, (to, pitch, value,     \
      width, height))                                                                              \
    X(cuMemsetD2D32Async, cuMemsetD2D32Async_ptsz, 7000, CONTEXT, (CUdeviceptr to, size_t pitch,   \
      unsigned value, size_t width, size_t height, CUstream stream), cuMemsetD2D32Async, (to,      \
      pitch, value, width, height, stream))                                                        \
    X(cuMemsetD2D32, cuMemsetD2D32_v2_ptds, 7000, CONTEXT, (CUdeviceptr to, size_t pitch,          \
      unsigned value, size_t width, size_t height), cuMemsetD2D32_v2, (to, pitch, value, width,    \
      height))                                                                                     \
    X(cuMemsetD2D8Async, cuMemsetD2D8Async_ptsz, 7000, CONTEXT, (CUdeviceptr to, size_t pitch,     \
      unsigned char value, size_t width, size_t height, CUstream stream), cuMemsetD2D8Async, (to,  \
      pitch, value, width, height, stream))                                                        \
    X(cuMemsetD2D8, cuMemsetD2D8_v2_ptds, 7000, CONTEXT, (CUdeviceptr to, size_t pitch, unsigned   \
      char value, size_t width, size_t height), cuMemsetD2D8_v2, (to, pitch, value, width,         \
      height))                                                                                     \
    X(cuMemsetD32Async, cuMemsetD32Async_ptsz, 7000, CONTEXT, (CUdeviceptr to, unsigned value,     \
      size_t n, CUstream stream), cuMemsetD32Async, (to, value, n, stream))                        \
    X(cuMemsetD32, cuMemsetD32_v2_ptds, 7000, CONTEXT, (CUdeviceptr to, unsigned value, size_t     \
      n), cuMemsetD32_v2, (to, value, n))                                                          \
    X(cuMemsetD8Async, cuMemsetD8Async_ptsz, 7000, CONTEXT, (CUdeviceptr to, unsigned char value,  \
      size_t n, CUstream stream), cuMemsetD8Async, (to, value, n, stream))                         \
    X(cuMemsetD8, cuMemsetD8_v2_ptds, 7000, CONTEXT, (CUdeviceptr to, unsigned char value, size_t  \
      n), cuMemsetD8_v2, (to, value, n))                                                           \
    X(cuStreamAddCallback, cuStreamAddCallback_ptsz, 7000, CONTEXT, (CUstream stream,              \
      CUstreamCallback callback, void *user, unsigned flags), cuStreamAddCallback, (stream,        \
      callback, user, flags))                                                                      \
    X(cuStreamBeginCapture, cuStreamBeginCapture_v2_ptsz, 10010, CONTEXT, (CUstream stream, int    \
      mode), cuStreamBeginCapture_v2, (stream, mode))                                              \
    X(cuStreamEndCapture, cuStreamEndCapture_ptsz, 10000, CONTEXT, (CUstream stream, CUgraph       \
      *graph), cuStreamEndCapture, (stream, graph))                                                \
    X(cuStreamGetCaptureInfo, cuStreamGetCaptureInfo_v2_ptsz, 11030, CONTEXT, (CUstream stream,    \
      int *status, uint64_t *id, CUgraph *graph, const CUgraphNode **needs, size_t *n),            \
      cuStreamGetCaptureInfo_v2, (stream, status, id, graph, needs, n))                            \
    X(cuStreamGetCaptureInfo, cuStreamGetCaptureInfo_v3_ptsz, 12030, CONTEXT, (CUstream stream,    \
      int *status, uint64_t *id, CUgraph *graph, const CUgraphNode **needs, const void **edges,    \
      size_t *n), cuStreamGetCaptureInfo_v3, (stream, status, id, graph, needs, edges, n))         \
    X(cuStreamGetCtx, cuStreamGetCtx_ptsz, 9020, CONTEXT, (CUstream stream, CUcontext *ctx),       \
      cuStreamGetCtx, (stream, ctx))                                                               \
    X(cuStreamGetDevice, cuStreamGetDevice_ptsz, 12080, CONTEXT, (CUstream stream, CUdevice        \
      *dev), cuStreamGetDevice, (stream, dev))                                                     \
    X(cuStreamGetFlags, cuStreamGetFlags_ptsz, 7000, CONTEXT, (CUstream stream, unsigned *flags),  \
      cuStreamGetFlags, (stream, flags))                                                           \
    X(cuStreamGetId, cuStreamGetId_ptsz, 12000, CONTEXT, (CUstream stream, unsigned long long      \
      *id), cuStreamGetId, (stream, id))                                                           \
    X(cuStreamGetPriority, cuStreamGetPriority_ptsz, 7000, CONTEXT, (CUstream stream, int          \
      *priority), cuStreamGetPriority, (stream, priority))                                         \
    X(cuStreamIsCapturing, cuStreamIsCapturing_ptsz, 10000, CONTEXT, (CUstream stream, int         \
      *status), cuStreamIsCapturing, (stream, status))                                             \
    X(cuStreamQuery, cuStreamQuery_ptsz, 7000, CONTEXT, (CUstream stream), cuStreamQuery,          \
      (stream))                                                                                    \
    X(cuStreamSynchronize, cuStreamSynchronize_ptsz, 7000, CONTEXT, (CUstream stream),             \
      cuStreamSynchronize, (stream))                                                               \
    X(cuStreamWaitEvent, cuStreamWaitEvent_ptsz, 7000, CONTEXT, (CUstream stream, CUevent event,   \
      unsigned flags), cuStreamWaitEvent, (stream, event, flags))
#endif
