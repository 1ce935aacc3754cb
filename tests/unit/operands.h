/* Operands of wgmma and tcgen05 in shared memory, by the canonical layouts of the ISA as nested
 * strides and a swizzle of address bits: for tests of the simulator, which has its own.  */
#ifndef TEST_OPERANDS_H
#define TEST_OPERANDS_H
#include "base/hash.h"

#include <stdbool.h>
#include <stddef.h>

typedef enum { T_F16, T_BF16, T_TF32, T_E4M3, T_E5M2, T_S8, T_U8, T_F32, T_S32 } T;
typedef struct {
    const char *name;
    int bytes, most;          /* largest magnitude drawn */
} OperandType;
extern const OperandType operand_types[];
uint32_t operand_encode(T t, double v);
double operand_decode(T t, uint32_t bits);            /* of f16, f32 and s32 */
double operand_draw(Rng *r, T t);                     /* a whole number */

/* How an operand lies: strides in bytes; a swizzle's span, 16: none.  */
typedef struct {
    int span;
    bool mn;                  /* MN-major */
    uint32_t lines;           /* after which the pattern repeats: 8, of 32-byte atoms 4 */
    uint32_t leading, stride;
} Lay;
/* Of `extent` rows; wide: the looser of two choices of the strides.  */
Lay operand_lay(int span, bool mn, int extent, int bytes, bool wide);
/* Element (mn, k) into an image of shared memory, in which the operand begins at `base`.  */
void operand_put(unsigned char *smem, size_t size, uint32_t base, const Lay *l, T t, int mn, int k,
                 double v);
/* wgmma's descriptor.  */
uint64_t operand_descriptor(const Lay *l, uint32_t at);
#endif
