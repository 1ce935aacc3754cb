/* Elementwise instructions from a formula.
 *
 * There are hundreds of them, alike but for types and one expression; a macro per arity turns the
 * expression, over a, b and c, into the executing function with its two loops (all lanes, some
 * lanes).  A kind (u16 s16 u32 s32 u64 s64 f32 f64) names how a register is read and written; the
 * formula must be harmless for any input, as it is evaluated for inactive lanes too.  */
#ifndef ROLLER_SIM_LANE_LANES_H
#define ROLLER_SIM_LANE_LANES_H
#include "sim/lane/pick.h"

/* Per kind: T type of the value, S type in the register, P place, R read, W write.  */
#define T_u16 uint16_t
#define T_s16 int16_t
#define T_u32 uint32_t
#define T_s32 int32_t
#define T_u64 uint64_t
#define T_s64 int64_t
#define T_f32 float
#define T_f64 double
#define S_u16 uint32_t
#define S_s16 uint32_t
#define S_u32 uint32_t
#define S_s32 uint32_t
#define S_u64 uint64_t
#define S_s64 uint64_t
#define S_f32 float
#define S_f64 double
#define P_u16 sim_u32
#define P_s16 sim_u32
#define P_u32 sim_u32
#define P_s32 sim_u32
#define P_u64 sim_u64
#define P_s64 sim_u64
#define P_f32 sim_f32
#define P_f64 sim_f64
#define W_u16(v) ((uint16_t)(v))
#define W_s16(v) ((uint16_t)(v))
#define W_u32(v) ((uint32_t)(v))
#define W_s32(v) ((uint32_t)(v))
#define W_u64(v) ((uint64_t)(v))
#define W_s64(v) ((uint64_t)(v))
#define W_f32(v) (v)
#define W_f64(v) (v)

#define LANES_LOOP(KD, load, formula)                                                              \
    if (active == FULL_WARP) {                                                                     \
        SIM_LANES(l) {                                                                             \
            load;                                                                                  \
            d[l] = W_##KD(formula);                                                                \
        }                                                                                          \
    } else {                                                                                       \
        SIM_LANES(l) {                                                                             \
            load;                                                                                  \
            S_##KD r = W_##KD(formula), old = d[l];                                                \
            d[l] = active >> l & 1 ? r : old;                                                      \
        }                                                                                          \
    }

#define SIM_UNARY(name, KD, KA, formula)                                                           \
    HOT static void name(SimWarp *w, const SimInst *i, uint32_t active) {                          \
        S_##KD *d = P_##KD(w, i->d);                                                               \
        const S_##KA *x = P_##KA(w, i->a);                                                         \
        LANES_LOOP(KD, T_##KA a = (T_##KA)x[l], formula)                                           \
    }
#define SIM_BINARY(name, KD, KA, KB, formula)                                                      \
    HOT static void name(SimWarp *w, const SimInst *i, uint32_t active) {                          \
        S_##KD *d = P_##KD(w, i->d);                                                               \
        const S_##KA *x = P_##KA(w, i->a);                                                         \
        const S_##KB *y = P_##KB(w, i->b);                                                         \
        LANES_LOOP(KD, T_##KA a = (T_##KA)x[l]; T_##KB b = (T_##KB)y[l], formula)                  \
    }
#define SIM_TERNARY(name, KD, KA, KB, KC, formula)                                                 \
    HOT static void name(SimWarp *w, const SimInst *i, uint32_t active) {                          \
        S_##KD *d = P_##KD(w, i->d);                                                               \
        const S_##KA *x = P_##KA(w, i->a);                                                         \
        const S_##KB *y = P_##KB(w, i->b);                                                         \
        const S_##KC *z = P_##KC(w, i->c);                                                         \
        LANES_LOOP(KD, T_##KA a = (T_##KA)x[l]; T_##KB b = (T_##KB)y[l];                           \
                   T_##KC c = (T_##KC)z[l], formula)                                               \
    }

static inline bool sim_want3(SimPick *k, int d, int a, int b) {
    return sim_want_bits(k, 0, d) && sim_want_bits(k, 1, a) && sim_want_bits(k, 2, b);
}
#endif
