/* Images of code: PTX text, and cubins that a registry maps to PTX; private to src/simdriver.  */
#ifndef ROLLER_SIMDRIVER_IMAGE_H
#define ROLLER_SIMDRIVER_IMAGE_H
#include "simdriver/state.h"

/* Bytes of an ELF64 image, from its own headers; 0 if `bytes` does not begin one.  */
size_t elf_size(const void *bytes);
/* The PTX that an image compiled for a debugger carries (nvcc -lineinfo or -G), on the arena; NULL
 * if it carries none.  */
const char *elf_ptx(Arena *a, const void *bytes, size_t len);
/* Registers of a kernel; -1 if the image does not say.  */
int elf_registers(const void *bytes, size_t len, const char *kernel);
/* The PTX of an image: `bytes` itself, or on the arena; NULL with the reason in *why.  */
const char *image_text(Driver *d, Arena *a, const void *bytes, CUresult *why);
/* The same outside of a call, of PTX and of cubins that were registered.  */
const char *image_known(const void *bytes);
CUresult image_register(Driver *d, const void *cubin, size_t len, const char *ptx);
#endif
