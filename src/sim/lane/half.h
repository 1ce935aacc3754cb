/* f16 and bf16 values in registers.  */
#ifndef ROLLER_SIM_LANE_HALF_H
#define ROLLER_SIM_LANE_HALF_H
#include "base/numeric.h"
#include "sim/ptx/ptx.h"

static inline bool sim_is_bf16(PtxType t) { return t == PTX_BF16 || t == PTX_BF16X2; }
/* The value of the low 16 bits, exact; subnormals as zero with ftz.  */
double sim_half_value(PtxType t, uint32_t bits, bool ftz);
/* Rounded once; NaN is 0x7fff.  */
uint32_t sim_half_bits(PtxType t, double v, Round r, bool ftz);
/* 1.0 as set writes it, in the low bits.  */
uint32_t sim_half_one(PtxType t);
#endif
