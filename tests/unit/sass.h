/* Machine code in a cubin for sm_70 or later by opcode, the low 12 bits of a 16-byte instruction.
 * What is guarded by @!PT never runs and is not counted: the compiler puts such reads of shared
 * memory (LDS RZ, [RZ]) in front of copies to it, three at a place.
 * Every function is false if the kernel is not there or the image is not understood.  */
#ifndef TEST_SASS_H
#define TEST_SASS_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SASS_OPCODES = 4096 };

/* How often each opcode stands in a kernel; count[SASS_OPCODES].  */
bool sass_opcodes(const void *cubin, size_t len, const char *kernel, uint32_t *count);
/* The same of the innermost loop that has an instruction `op`, as its backward branch shows it; cc:
 * compute capability, 75 or later.  False also if there is no such loop.  */
bool sass_loop_opcodes(const void *cubin, size_t len, const char *kernel, int cc, uint32_t op,
                       uint32_t *count);
/* The same between the first and the last time that the SM's clock is read.  */
bool sass_clocked_opcodes(const void *cubin, size_t len, const char *kernel, uint32_t *count);
#endif
