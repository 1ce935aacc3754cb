/* links: sim */
/* Streams and events of the simulated driver: order and time.  */
#include "simdriver_steps.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* ---- order ---- */

/* What is not waited for has not happened.  */
static void nothing_runs_before_it_is_waited_for(void **state) {
    (void)state;
    CUstream s = stream(CU_STREAM_NON_BLOCKING);
    pinned[1] = 77;
    step(s, 2, 3);
    OK(cu.cuMemcpyDtoHAsync_v2(pinned, data, BYTES, s));
    assert_int_equal(pinned[1], 77);
    FAILS(CUDA_ERROR_NOT_READY, cu.cuStreamQuery(s));
    OK(cu.cuStreamSynchronize(s));
    assert_int_equal(pinned[1], 5);
    OK(cu.cuStreamQuery(s));
    /* Page-locked memory is read when the copy runs, pageable memory at the call.  */
    int pageable = 50;
    pinned[1] = 60;
    OK(cu.cuMemcpyHtoDAsync_v2(data + 4, &pageable, 4, s));
    OK(cu.cuMemcpyHtoDAsync_v2(data + 8, &pinned[1], 4, s));
    pageable = 51;
    pinned[1] = 61;
    OK(cu.cuStreamSynchronize(s));
    int got[2];
    OK(cu.cuMemcpyDtoH_v2(got, data + 4, 8));
    assert_int_equal(got[0], 50);
    assert_int_equal(got[1], 61);
    /* A copy to pageable memory has arrived at the return.  */
    step(s, 0, 9);
    OK(cu.cuMemcpyDtoHAsync_v2(&pageable, data + 4, 4, s));
    assert_int_equal(pageable, 9);
}

/* Queries alone end: each lets one piece of work run.  */
static void queries_make_progress(void **state) {
    (void)state;
    CUstream s = stream(0);
    CUevent e = event();
    OK(cu.cuEventQuery(e));
    for (int k = 0; k < 5; k++) step(s, 2, 0);
    OK(cu.cuEventRecord(e, s));
    int asked = 0;
    CUresult r;
    while ((r = cu.cuEventQuery(e)) == CUDA_ERROR_NOT_READY) asked++;
    assert_int_equal(r, CUDA_SUCCESS);
    assert_true(asked >= 4 && asked <= 12);
    assert_int_equal(value(), 32);
}

static void streams_run_on_their_own(void **state) {
    (void)state;
    CUstream a = stream(CU_STREAM_NON_BLOCKING), b = stream(CU_STREAM_NON_BLOCKING);
    CUevent e = event();
    /* Without a wait the later stream may go first, and does.  */
    step(a, 10, 0);
    step(b, 1, 1);
    OK(cu.cuStreamSynchronize(b));
    OK(cu.cuStreamSynchronize(a));
    assert_int_equal(value(), 20);
    /* With a wait it does not.  */
    OK(cu.cuMemsetD32_v2(data, 1, N));
    OK(cu.cuCtxSynchronize());
    step(a, 10, 0);
    OK(cu.cuEventRecord(e, a));
    step(a, 0, 7);
    OK(cu.cuStreamWaitEvent(b, e, 0));
    step(b, 1, 1);
    OK(cu.cuStreamSynchronize(b));
    assert_int_equal(value(), 11);
}

static void legacy_stream_orders_blocking_streams(void **state) {
    (void)state;
    CUstream a = stream(0), b = stream(0);
    step(a, 10, 0);
    step(NULL, 1, 1);
    step(b, 100, 0);
    OK(cu.cuStreamSynchronize(b));
    assert_int_equal(value(), 1100);
    step(CU_STREAM_PER_THREAD, 0, 3);
    step(CU_STREAM_LEGACY, 2, 0);
    OK(cu.cuStreamSynchronize(CU_STREAM_LEGACY));
    assert_int_equal(value(), 6);
    /* Work of a destroyed stream still runs.  */
    step(a, 1, 1);
    OK(cu.cuStreamDestroy_v2(a));
    assert_int_equal(value(), 7);
}

/* A long chain of waits between two streams.  */
static void waits_chain(void **state) {
    (void)state;
    CUstream s[2] = {stream(CU_STREAM_NON_BLOCKING), stream(CU_STREAM_NON_BLOCKING)};
    CUevent e[2] = {event(), event()};
    for (int k = 0; k < 200; k++) {
        step(s[k & 1], k % 3 == 0 ? -1 : 1, k);
        OK(cu.cuEventRecord(e[k & 1], s[k & 1]));
        OK(cu.cuStreamWaitEvent(s[~k & 1], e[k & 1], 0));
    }
    OK(cu.cuEventSynchronize(e[1]));
    int want = 1;
    for (int k = 0; k < 200; k++) want = want * (k % 3 == 0 ? -1 : 1) + k;
    assert_int_equal(value(), want);
}

static void copies_and_fills(void **state) {
    (void)state;
    CUdeviceptr other = simdriver_alloc(BYTES);
    unsigned char bytes[16];
    OK(cu.cuMemsetD8Async(data, 0x11, 16, NULL));
    OK(cu.cuMemsetD16Async(data + 4, 0x2233, 2, NULL));
    OK(cu.cuMemsetD32Async(data + 8, 0x44556677, 1, NULL));
    OK(cu.cuMemcpyDtoDAsync_v2(other, data, 16, NULL));
    OK(cu.cuMemcpyDtoD_v2(other + 16, other, 16));
    OK(cu.cuMemcpyDtoH_v2(bytes, other + 16, 16));
    static const unsigned char want[] = {0x11, 0x11, 0x11, 0x11, 0x33, 0x22, 0x33, 0x22,
                                         0x77, 0x66, 0x55, 0x44, 0x11, 0x11, 0x11, 0x11};
    assert_memory_equal(bytes, want, sizeof want);
    FAILS(CUDA_ERROR_INVALID_VALUE, cu.cuMemsetD16_v2(data + 1, 0, 1));
    FAILS(CUDA_ERROR_INVALID_VALUE, cu.cuMemsetD8_v2(data, 0, BYTES + 1));
    FAILS(CUDA_ERROR_INVALID_VALUE, cu.cuMemcpyDtoH_v2(bytes, data + BYTES - 8, 16));
    OK(cu.cuMemcpyDtoH_v2(bytes, 0, 0));
}

/* ---- time ---- */

static float timed(int launches, CUstream s) {
    CUevent a = event(), b = event();
    float ms;
    OK(cu.cuEventRecord(a, s));
    for (int k = 0; k < launches; k++) step(s, 1, 0);
    OK(cu.cuEventRecord(b, s));
    FAILS(CUDA_ERROR_NOT_READY, cu.cuEventElapsedTime(&ms, a, b));
    OK(cu.cuEventSynchronize(b));
    OK(cu.cuEventElapsedTime_v2(&ms, a, b));
    OK(cu.cuEventDestroy_v2(a));
    OK(cu.cuEventDestroy_v2(b));
    return ms;
}

static void time_is_simulated(void **state) {
    (void)state;
    CUstream s = stream(CU_STREAM_NON_BLOCKING);
    float one = timed(1, s), again = timed(1, s), ten = timed(10, s), none = timed(0, s);
    assert_true(none == 0);
    assert_true(one > 0 && one == again);
    /* Ten launches end no sooner than the host can issue them, nor than ten kernels take.  */
    const Device *d = simdriver_profile("h200");
    double issue = d->overheads.launch_stream.value * 1e-6;
    double kernel = one - issue, period = issue > kernel ? issue : kernel;
    assert_true(ten > one + 8.99 * period && ten < one + 9.01 * period);
    /* A copy takes its bytes at the profile's rate.  */
    enum { BIG = 8 << 20 };
    CUdeviceptr p = simdriver_alloc(2 * BIG);
    CUevent a = event(), b = event();
    float small, big;
    for (int k = 0; k < 2; k++) {
        OK(cu.cuEventRecord(a, s));
        OK(cu.cuMemcpyDtoDAsync_v2(p + BIG, p, k ? BIG : 64, s));
        OK(cu.cuEventRecord(b, s));
        OK(cu.cuStreamSynchronize(s));
        OK(cu.cuEventElapsedTime(k ? &big : &small, a, b));
    }
    double want = 2.0 * (BIG - 64) / d->memory[LEVEL_DRAM].copy.value * 1e3;
    assert_true(big - small > want * 0.999 && big - small < want * 1.001);
}

static float between(CUevent a, CUevent b) {
    float ms;
    OK(cu.cuEventElapsedTime(&ms, a, b));
    return ms;
}

/* A wait passes the time on; an engine does one thing after the other, copies to the host
 * overlap.  */
static void streams_share_the_device(void **state) {
    (void)state;
    enum { BIG = 4 << 20 };
    CUstream a = stream(CU_STREAM_NON_BLOCKING), b = stream(CU_STREAM_NON_BLOCKING);
    CUevent start = event(), end_a = event(), end_b = event();
    CUdeviceptr p = simdriver_alloc(3 * BIG);
    void *host;
    OK(cu.cuMemAllocHost_v2(&host, BIG));
    OK(cu.cuEventRecord(start, a));
    OK(cu.cuMemcpyDtoDAsync_v2(p + BIG, p, BIG, a));
    OK(cu.cuEventRecord(end_a, a));
    OK(cu.cuStreamWaitEvent(b, end_a, 0));
    OK(cu.cuEventRecord(end_b, b));
    OK(cu.cuStreamSynchronize(b));
    float one = between(start, end_a);
    assert_true(one > 0 && between(end_a, end_b) == 0);
    float ends[2];
    for (int out = 0; out < 2; out++) {
        OK(cu.cuEventRecord(start, a));
        OK(cu.cuMemcpyDtoDAsync_v2(p + BIG, p, BIG, a));
        if (out) OK(cu.cuMemcpyDtoHAsync_v2(host, p, BIG, b));
        else OK(cu.cuMemcpyDtoDAsync_v2(p + 2 * BIG, p, BIG, b));
        OK(cu.cuEventRecord(end_b, b));
        OK(cu.cuCtxSynchronize());
        ends[out] = between(start, end_b);
    }
    assert_true(ends[0] > 1.5F * one && ends[1] < 1.5F * one);
}

static void freeing_waits(void **state) {
    (void)state;
    CUstream s = stream(CU_STREAM_NON_BLOCKING);
    CUdeviceptr p = simdriver_alloc(16);
    step(s, 4, 0);
    step(s, 2, 1);
    OK(cu.cuMemFree_v2(p));
    OK(cu.cuStreamQuery(s));
    assert_int_equal(value(), 9);
}

static void events_need_timing(void **state) {
    (void)state;
    CUevent a, b = event();
    float ms;
    FAILS(CUDA_ERROR_INVALID_VALUE, cu.cuEventCreate(&a, 8));
    OK(cu.cuEventCreate(&a, CU_EVENT_DISABLE_TIMING));
    FAILS(CUDA_ERROR_INVALID_HANDLE, cu.cuEventElapsedTime(&ms, a, b));
    OK(cu.cuEventRecord(a, NULL));
    OK(cu.cuEventRecord(b, NULL));
    OK(cu.cuCtxSynchronize());
    FAILS(CUDA_ERROR_INVALID_HANDLE, cu.cuEventElapsedTime(&ms, a, b));
}

int main(void) {
#define T(name) cmocka_unit_test_setup(name, steps_fresh)
    const struct CMUnitTest tests[] = {
        T(nothing_runs_before_it_is_waited_for), T(queries_make_progress),
        T(streams_run_on_their_own), T(legacy_stream_orders_blocking_streams), T(waits_chain),
        T(copies_and_fills), T(time_is_simulated), T(streams_share_the_device),
        T(freeing_waits), T(events_need_timing),
    };
    return cmocka_run_group_tests(tests, simdriver_setup, simdriver_teardown);
}
