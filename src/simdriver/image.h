/* Images of code: PTX text, and cubins that a registry maps to PTX; private to src/simdriver.  */
#ifndef ROLLER_SIMDRIVER_IMAGE_H
#define ROLLER_SIMDRIVER_IMAGE_H
#include "simdriver/state.h"

/* The PTX that a cubin compiled for a debugger carries (nvcc -lineinfo or -G), on the arena; NULL
 * if it carries none.  */
const char *cubin_ptx(Arena *a, const void *cubin, size_t len);
/* Major version of the toolkit that made it; 13 and newer are told as 13.  */
int cubin_toolkit(const void *cubin);
/* Registers of a kernel; -1 if the cubin does not say.  */
int cubin_registers(const void *cubin, size_t len, const char *kernel);
/* The PTX of an image: `bytes` itself, or on the arena; NULL with the reason in *why.  */
const char *image_text(Driver *d, Arena *a, const void *bytes, CUresult *why);
/* The same outside of a call, of PTX and of cubins that were registered.  */
const char *image_known(const void *bytes);
CUresult image_register(Driver *d, const void *cubin, size_t len, const char *ptx);
#endif
