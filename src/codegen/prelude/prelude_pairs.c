#include "codegen/prelude/prelude_cuda.h"

/* Rows of the prelude for vectors of narrow reals.  On their way to memory values wait as f32 and
 * are rounded, two by one instruction where there is one; results are those of rounding each.
 * Elements of one byte become those of two, four at once.  */

/* Two values as one word, the first in the low half.  */
#define PAIR(type)                                                                                 \
    {                                                                                              \
        "rl_f32x2_to_" type, 0,                                                                    \
            FN "unsigned rl_f32x2_to_" type "(float x, float y) {\n"                               \
               "    return rl_f32_to_" type "(x) | (unsigned)rl_f32_to_" type "(y) << 16;\n"       \
               "}\n"                                                                               \
    }
#define PAIR_AT_ONCE(type, cc, word, register, op)                                                 \
    {                                                                                              \
        "rl_f32x2_to_" type, cc,                                                                   \
            FN word " rl_f32x2_to_" type "(float x, float y) {\n"                                  \
               "    " word " z;\n"                                                                 \
               "    asm(\"" op " %0, %1, %2;\" : \"=" register "\"(z) : \"f\"(y), \"f\"(x));\n"    \
               "    return z;\n"                                                                   \
               "}\n"                                                                               \
    }

/* Four values as one word, the first in the lowest byte: of integers their low bits.  */
#define FOUR(type)                                                                                 \
    {                                                                                              \
        "rl_f32x4_to_" type, 89,                                                                   \
            FN "unsigned rl_f32x4_to_" type "(float x, float y, float z, float w) {\n"             \
               "    return rl_f32x2_to_" type "(x, y) | (unsigned)rl_f32x2_to_" type               \
               "(z, w) << 16;\n"                                                                   \
               "}\n"                                                                               \
    }
#define BYTES(type)                                                                                \
    {                                                                                              \
        "rl_i32x4_to_" type, 0,                                                                    \
            FN "unsigned rl_i32x4_to_" type "(int x, int y, int z, int w) {\n"                     \
               "    return __byte_perm(__byte_perm(x, y, 0x0040), __byte_perm(z, w, 0x0040), "     \
               "0x5410);\n"                                                                        \
               "}\n"                                                                               \
    }

#define STORE_EACH(type, element)                                                                  \
    {                                                                                              \
        "rl_store_" type, 0,                                                                       \
            "template <int N> " FN "void rl_store_" type "(" element " *p, const float *x) {\n"    \
            "    rl_vec<" element ", N> y;\n"                                                      \
            "    #pragma unroll\n"                                                                 \
            "    for (int i = 0; i < N; i++) y.v[i] = rl_f32_to_" type "(x[i]);\n"                 \
            "    *reinterpret_cast<rl_vec<" element ", N> *>(p) = y;\n"                            \
            "}\n"                                                                                  \
    }
#define STORE(type, cc, element, word)                                                             \
    {                                                                                              \
        "rl_store_" type, cc,                                                                      \
            "template <int N> " FN "void rl_store_" type "(" element " *p, const float *x) {\n"    \
            "    rl_vec<" word ", N / 2> y;\n"                                                     \
            "    #pragma unroll\n"                                                                 \
            "    for (int i = 0; i < N / 2; i++)\n"                                                \
            "        y.v[i] = rl_f32x2_to_" type "(x[2 * i], x[2 * i + 1]);\n"                     \
            "    *reinterpret_cast<rl_vec<" word ", N / 2> *>(p) = y;\n"                           \
            "}\n"                                                                                  \
    }

/* Four elements of one byte as such of two, exactly, two at a time.
 * f8: a byte in the high half of a lane is an f16 with the exponent of e5m2; that of e4m3 is a bit
 * shorter, and 8 less than f16's.  Its NaN, which looks like 480, is the only one that times 140
 * exceeds the largest f16: infinity times 0 makes it one.
 * Integers: the mantissa of 1024 (f16) has room for a byte, that of 128 (bf16) for all of it but
 * the sign, which makes -256 of the -128 that is added.  */
#define WIDEN(from, to, cc, body)                                                                  \
    {                                                                                              \
        "rl_" from "x4_to_" to "x4", cc,                                                           \
            FN "void rl_" from "x4_to_" to "x4(unsigned *y, unsigned x) {\n"                       \
               "    #pragma unroll\n"                                                              \
               "    for (int i = 0; i < 2; i++) {\n" body "    }\n"                                \
               "}\n"                                                                               \
    }
/* The same by way of f16, which holds all of these.  */
#define WIDEN_TWICE(from)                                                                          \
    {                                                                                              \
        "rl_" from "x4_to_bf16x4", 80,                                                             \
            FN "void rl_" from "x4_to_bf16x4(unsigned *y, unsigned x) {\n"                         \
               "    rl_" from "x4_to_f16x4(y, x);\n"                                               \
               "    #pragma unroll\n"                                                              \
               "    for (int i = 0; i < 2; i++) {\n"                                               \
               "        const float low = rl_f16_to_f32((unsigned short)y[i]);\n"                  \
               "        const float high = rl_f16_to_f32((unsigned short)(y[i] >> 16));\n"         \
               "        y[i] = rl_f32x2_to_bf16(low, high);\n"                                     \
               "    }\n"                                                                           \
               "}\n"                                                                               \
    }
#define HIGH "__byte_perm(x, 0, i ? 0x3424 : 0x1404)"
#define LOW(x, high) "__byte_perm(" x ", " high ", i ? 0x4342 : 0x4140)"
#define ASM(op, result, operands)                                                                  \
    "        asm(\"" op ";\" : \"=r\"(" result ") : " operands ");\n"
#define WIDEN_AT_ONCE(type)                                                                        \
    WIDEN(type, "f16", 89, ASM("cvt.rn.f16x2." type "x2 %0, %1", "y[i]",                           \
                               "\"h\"((unsigned short)(x >> 16 * i))"))

const PreludeRow prelude_pairs[] = {
    PAIR("f16"),
    PAIR_AT_ONCE("f16", 80, "unsigned", "r", "cvt.rn.f16x2.f32"),
    PAIR("bf16"),
    PAIR_AT_ONCE("bf16", 80, "unsigned", "r", "cvt.rn.bf16x2.f32"),
    PAIR_AT_ONCE("e4m3", 89, "unsigned short", "h", "cvt.rn.satfinite.e4m3x2.f32"),
    PAIR_AT_ONCE("e5m2", 89, "unsigned short", "h", "cvt.rn.satfinite.e5m2x2.f32"),
    FOUR("e4m3"),
    FOUR("e5m2"),
    BYTES("i8"),
    BYTES("u8"),
    {"rl_f32x1_to_f32", 0,
     FN "unsigned rl_f32x1_to_f32(float x) {\n"
        "    return __float_as_uint(x);\n"
        "}\n"},
    STORE("f16", 0, "unsigned short", "unsigned"),
    STORE("bf16", 0, "unsigned short", "unsigned"),
    WIDEN("e5m2", "f16", 0, "        y[i] = " HIGH ";\n"),
    WIDEN_AT_ONCE("e5m2"),
    WIDEN("e4m3", "f16", 0,
          "        const unsigned by_256 = 0x5c005c00u, by_35840 = 0x78607860u, zero = 0;\n"
          "        const unsigned z = " HIGH ";\n"
          "        const unsigned f = (z & 0x80008000u) | (z >> 1 & 0x3f803f80u);\n"
          "        unsigned value, large;\n"
          ASM("mul.rn.f16x2 %0, %1, %2", "value", "\"r\"(f), \"r\"(by_256)")
          ASM("mul.rn.f16x2 %0, %1, %2", "large", "\"r\"(f), \"r\"(by_35840)")
          ASM("fma.rn.f16x2 %0, %1, %2, %3", "y[i]",
              "\"r\"(large), \"r\"(zero), \"r\"(value)")),
    WIDEN_AT_ONCE("e4m3"),
    WIDEN("i8", "f16", 0,
          "        const unsigned by = 0x64806480u;\n"
          "        const unsigned z = " LOW("x ^ 0x80808080u", "0x64646464u") ";\n"
          ASM("sub.rn.f16x2 %0, %1, %2", "y[i]", "\"r\"(z), \"r\"(by)")),
    WIDEN("u8", "f16", 0,
          "        const unsigned by = 0x64006400u;\n"
          "        const unsigned z = " LOW("x", "0x64646464u") ";\n"
          ASM("sub.rn.f16x2 %0, %1, %2", "y[i]", "\"r\"(z), \"r\"(by)")),
    WIDEN("i8", "bf16", 80,
          "        const unsigned one = 0x3f803f80u;\n"
          "        const unsigned z = " LOW("x", "0") ";\n"
          "        const unsigned f = (z & 0x007f007fu) | 0x43004300u;\n"
          "        const unsigned g = (z & 0x00800080u) | 0xc300c300u;\n"
          ASM("fma.rn.bf16x2 %0, %1, %2, %3", "y[i]", "\"r\"(f), \"r\"(one), \"r\"(g)")),
    WIDEN_TWICE("e4m3"),
    WIDEN_TWICE("e5m2"),
    WIDEN_TWICE("u8"),
    STORE_EACH("e4m3", "unsigned char"),
    STORE("e4m3", 89, "unsigned char", "unsigned short"),
    STORE_EACH("e5m2", "unsigned char"),
    STORE("e5m2", 89, "unsigned char", "unsigned short"),
    STORE_EACH("e3m2", "unsigned char"),
    STORE_EACH("e2m3", "unsigned char"),
    STORE_EACH("e2m1", "unsigned char"),
    STORE_EACH("ue4m3", "unsigned char"),
    STORE_EACH("ue8m0", "unsigned char"),
};
const int prelude_pairs_rows = sizeof prelude_pairs / sizeof *prelude_pairs;
