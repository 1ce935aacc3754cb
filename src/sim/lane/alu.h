/* Arithmetic by type: what the families of exec.h divide among themselves.  */
#ifndef ROLLER_SIM_LANE_ALU_H
#define ROLLER_SIM_LANE_ALU_H
#include "base/numeric.h"
#include "sim/lane/pick.h"

SimExec *sim_pick_int(SimPick *k, PtxType t);       /* s16 .. u64, u16x2, s16x2 */
SimExec *sim_pick_f32(SimPick *k);
SimExec *sim_pick_f64(SimPick *k);
SimExec *sim_pick_half(SimPick *k, PtxType t);      /* f16, bf16 and their pairs */
SimExec *sim_pick_f32x2(SimPick *k);
SimExec *sim_pick_carry(SimPick *k, PtxType t);     /* .cc and addc, subc, madc */

SimExec *sim_pick_predicate(SimPick *k);            /* logic and mov on .pred */
SimExec sim_exec_sreg32, sim_exec_sreg64;           /* mov from a special register, SimInst.arg */
uint64_t sim_high64(uint64_t a, uint64_t b, bool is_signed);     /* upper half of the product */

/* Takes .rn .rz .rm .rp; MOD_COUNT if none is written.  */
PtxMod sim_take_rounding(SimPick *k);
Round sim_round(PtxMod rounding);                   /* to nearest even where none is written */

/* The exact results of f32 operations, in f64 with the last bit odd where it is not exact: one more
 * rounding to f32 or less, in any mode, is right.  */
double sim_add_odd(double a, double b);
double sim_fma_odd(double a, double b, double c);   /* a * b exact in f64 */
double sim_div_odd(double a, double b);
double sim_sqrt_odd(double a);
/* f64 operations in a directed mode.  */
double sim_add_f64(double a, double b, Round r);
double sim_mul_f64(double a, double b, Round r);
double sim_fma_f64(double a, double b, double c, Round r);
double sim_div_f64(double a, double b, Round r);
double sim_sqrt_f64(double a, Round r);

static inline uint32_t sim_bits32(float v) {
    union {
        float f;
        uint32_t u;
    } x = {.f = v};
    return x.u;
}
static inline float sim_float(uint32_t bits) {
    union {
        uint32_t u;
        float f;
    } x = {.u = bits};
    return x.f;
}
static inline uint64_t sim_bits64(double v) {
    union {
        double f;
        uint64_t u;
    } x = {.f = v};
    return x.u;
}
static inline double sim_double(uint64_t bits) {
    union {
        uint64_t u;
        double f;
    } x = {.u = bits};
    return x.f;
}
/* Subnormal numbers become zero of the same sign.  */
static inline float sim_ftz(float v) {
    uint32_t b = sim_bits32(v);
    return sim_float((b & 0x7f800000u) ? b : b & 0x80000000u);
}
/* .sat: to 0 .. 1, NaN to 0.  */
static inline float sim_sat(float v) { return v >= 1 ? 1 : v > 0 ? v : 0; }
#endif
