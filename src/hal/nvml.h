/* The management library behind dlopen: clocks, temperature, power of a device.
 *
 * All figures are as of the call; what the library, the device or the user's rights do not give is
 * 0.  Nothing fails: without the library every figure is 0.  */
#ifndef ROLLER_HAL_NVML_H
#define ROLLER_HAL_NVML_H
#include "base/arena.h"

typedef struct Nvml Nvml;
typedef struct {
    int clock_sm_mhz, clock_mem_mhz, temperature_c, power_w;
} NvmlState;

/* The device of that UUID ("GPU-..."); NULL if the library is not there or does not know it.  */
Nvml *nvml_open(Arena *a, const char *uuid);
NvmlState nvml_state(const Nvml *n);                       /* all 0 for NULL */
#endif
