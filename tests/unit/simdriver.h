/* The simulated driver as a caller sees it: loaded by dlopen from $BUILD, called through pointers.
 *
 * Three devices: 0 an H200, 1 an A100, 2 the tiny profile.  A failing call fails the test with the
 * call's text and the driver's message.  */
#ifndef TESTS_SIMDRIVER_H
#define TESTS_SIMDRIVER_H
#include "hal/device.h"
#include "hal/nvrtc.h"
#include "simdriver/driver_api.h"

typedef struct {
#define X(name, symbol, since, needs, parameters) CUresult(*symbol) parameters;
    SIMDRIVER_FUNCTIONS(X)
#undef X
    CUresult (*control)(const char *rules);
    size_t (*message)(char *text, size_t len);
    CUresult (*ptx)(const void *cubin, size_t len, const char *ptx);
} SimDriver;
extern SimDriver cu;

/* Loads the library, without cuInit.  False where it cannot be loaded (never in a whole build).  */
bool simdriver_load(void);
/* Group setup: loads, cuInit, the primary context of device 0 current.  Teardown: releases it.  */
int simdriver_setup(void **state);
int simdriver_teardown(void **state);
/* Test setup: no rules, and a fresh primary context of device 0.  */
int simdriver_fresh(void **state);
CUcontext simdriver_context(void);
/* What the library exports under a name; NULL: nothing.  */
void *simdriver_symbol(const char *name);

/* PTX and cubin of CUDA C++; they live as long as the group.  */
NvrtcOutput simdriver_compile(const char *source, const char *arch);
NvrtcOutput simdriver_compile_as(const char *source, const char *arch,
                                 const NvrtcRequest *request);
CUmodule simdriver_module(const char *source, const char *arch);
CUfunction simdriver_function(CUmodule m, const char *name);
const Device *simdriver_profile(const char *name);
CUdeviceptr simdriver_alloc(size_t bytes);

void simdriver_expect(CUresult got, CUresult want, const char *call, const char *file, int line);
#define OK(call) simdriver_expect((call), CUDA_SUCCESS, #call, __FILE__, __LINE__)
#define FAILS(code, call) simdriver_expect((call), (code), #call, __FILE__, __LINE__)
#endif
