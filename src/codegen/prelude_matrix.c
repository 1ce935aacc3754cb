#include "codegen/prelude.h"

/* Rows of the prelude for matrix units.  All are volatile: the whole warp takes part, so that no
 * compiler may move them into a branch.  */

#define FN "__device__ __forceinline__ "

#define LDMATRIX(name, kind, registers, at, outputs)                                               \
    {                                                                                              \
        name, 75,                                                                                  \
            FN "void " name "(unsigned *x, unsigned from) {\n"                                     \
               "    asm volatile(\"ldmatrix.sync.aligned.m8n8." kind ".shared.b16 {" registers     \
               "}, [" at "];\"\n"                                                                  \
               "                 : " outputs " : \"r\"(from) : \"memory\");\n"                     \
               "}\n"                                                                               \
    }
#define X1 "\"=r\"(x[0])"
#define X2 X1 ", \"=r\"(x[1])"
#define X4 X2 ", \"=r\"(x[2]), \"=r\"(x[3])"

/* d += a * b; `numbers`: the operands in the text of the instruction.  */
#define MMA(name, cc, op, type_d, type, numbers, d, a, b)                                          \
    {                                                                                              \
        name, cc,                                                                                  \
            FN "void " name "(" type_d " *d, const " type " *a, const " type " *b) {\n"            \
               "    asm volatile(\"mma.sync.aligned." op "\"\n"                                    \
               "                 \" " numbers ";\"\n"                                              \
               "                 : " d "\n"                                                        \
               "                 : " a ", " b ");\n"                                               \
               "}\n"                                                                               \
    }
#define D2(c) "\"+" c "\"(d[0]), \"+" c "\"(d[1])"
#define D4(c) D2(c) ", \"+" c "\"(d[2]), \"+" c "\"(d[3])"
#define D8(c) D4(c) ", \"+" c "\"(d[4]), \"+" c "\"(d[5]), \"+" c "\"(d[6]), \"+" c "\"(d[7])"
#define A1(c) "\"" c "\"(a[0])"
#define A2 A1("r") ", \"r\"(a[1])"
#define A4 A2 ", \"r\"(a[2]), \"r\"(a[3])"
#define B1(c) "\"" c "\"(b[0])"
#define B2 B1("r") ", \"r\"(b[1])"
#define N442 "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3}"
#define N421 "{%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3}"
#define N242 "{%0, %1}, {%2, %3, %4, %5}, {%6, %7}, {%0, %1}"
#define N221 "{%0, %1}, {%2, %3}, {%4}, {%0, %1}"
#define N211 "{%0, %1}, {%2}, {%3}, {%0, %1}"
#define N422 "{%0, %1, %2, %3}, {%4, %5}, {%6, %7}, {%0, %1, %2, %3}"
#define N822                                                                                       \
    "{%0, %1, %2, %3, %4, %5, %6, %7}, {%8, %9}, {%10, %11}, {%0, %1, %2, %3, %4, %5, %6, %7}"

/* m8n8k4 of f16, four products at once, for operands whose k lie side by side (along), or rows of
 * a or columns of b (across).  */
#define GROUPS(orders, a, b)                                                                       \
    MMA("rl_mma_m16n16k4_f16_f32_" orders, 70, "m8n8k4." a "." b ".f32.f16.f16.f32", "float",      \
        "unsigned", N822, D8("f"), A2, B2),                                                        \
        MMA("rl_mma_m16n16k4_f16_f16_" orders, 70, "m8n8k4." a "." b ".f16.f16.f16.f16",           \
            "unsigned", "unsigned", N422, D4("r"), A2, B2)

/* Operands of 32 bytes of k, of 16 bytes of k, for one type of the accumulators.  */
#define WIDE(name, cc, op, type_d, c)                                                              \
    MMA(name, cc, op, type_d, "unsigned", N442, D4(c), A4, B2)
#define NARROW(name, cc, op, type_d, c)                                                            \
    MMA(name, cc, op, type_d, "unsigned", N421, D4(c), A2, B1("r"))

const PreludeRow prelude_matrix[] = {
    LDMATRIX("rl_ldmatrix_x1", "x1", "%0", "%1", X1),
    LDMATRIX("rl_ldmatrix_x2", "x2", "%0, %1", "%2", X2),
    LDMATRIX("rl_ldmatrix_x4", "x4", "%0, %1, %2, %3", "%4", X4),
    LDMATRIX("rl_ldmatrix_x1_trans", "x1.trans", "%0", "%1", X1),
    LDMATRIX("rl_ldmatrix_x2_trans", "x2.trans", "%0, %1", "%2", X2),
    LDMATRIX("rl_ldmatrix_x4_trans", "x4.trans", "%0, %1, %2, %3", "%4", X4),

    WIDE("rl_mma_m16n8k16_f16_f32", 80, "m16n8k16.row.col.f32.f16.f16.f32", "float", "f"),
    WIDE("rl_mma_m16n8k16_bf16_f32", 80, "m16n8k16.row.col.f32.bf16.bf16.f32", "float", "f"),
    WIDE("rl_mma_m16n8k8_tf32_f32", 80, "m16n8k8.row.col.f32.tf32.tf32.f32", "float", "f"),
    WIDE("rl_mma_m16n8k32_e4m3_f32", 89, "m16n8k32.row.col.f32.e4m3.e4m3.f32", "float", "f"),
    WIDE("rl_mma_m16n8k32_e5m2_f32", 89, "m16n8k32.row.col.f32.e5m2.e5m2.f32", "float", "f"),
    WIDE("rl_mma_m16n8k32_i8_i32", 80, "m16n8k32.row.col.s32.s8.s8.s32", "int", "r"),
    WIDE("rl_mma_m16n8k32_u8_i32", 80, "m16n8k32.row.col.s32.u8.u8.s32", "int", "r"),
    NARROW("rl_mma_m16n8k8_f16_f32", 75, "m16n8k8.row.col.f32.f16.f16.f32", "float", "f"),
    NARROW("rl_mma_m16n8k8_bf16_f32", 80, "m16n8k8.row.col.f32.bf16.bf16.f32", "float", "f"),
    NARROW("rl_mma_m16n8k16_i8_i32", 80, "m16n8k16.row.col.s32.s8.s8.s32", "int", "r"),
    NARROW("rl_mma_m16n8k16_u8_i32", 80, "m16n8k16.row.col.s32.u8.u8.s32", "int", "r"),
    MMA("rl_mma_m16n8k16_f16_f16", 80, "m16n8k16.row.col.f16.f16.f16.f16", "unsigned", "unsigned",
        N242, D2("r"), A4, B2),
    MMA("rl_mma_m16n8k8_f16_f16", 75, "m16n8k8.row.col.f16.f16.f16.f16", "unsigned", "unsigned",
        N221, D2("r"), A2, B1("r")),
    MMA("rl_mma_m8n8k16_i8_i32", 75, "m8n8k16.row.col.s32.s8.s8.s32", "int", "unsigned", N211,
        D2("r"), A1("r"), B1("r")),
    MMA("rl_mma_m8n8k16_u8_i32", 75, "m8n8k16.row.col.s32.u8.u8.s32", "int", "unsigned", N211,
        D2("r"), A1("r"), B1("r")),
    MMA("rl_mma_m8n8k4_f64_f64", 80, "m8n8k4.row.col.f64.f64.f64.f64", "double", "double", N211,
        D2("d"), A1("d"), B1("d")),

    GROUPS("along_along", "row", "col"),
    GROUPS("along_across", "row", "row"),
    GROUPS("across_along", "col", "col"),
    GROUPS("across_across", "col", "row"),

    /* A number that the front end does not know.  */
    {"rl_hidden", 0,
     FN "int rl_hidden(int x) {\n"
        "    int y;\n"
        "    asm volatile(\"mov.s32 %0, %1;\" : \"=r\"(y) : \"r\"(x));\n"
        "    return y;\n"
        "}\n"},

    /* x keeps what tf32 holds, `low` gets the rest.  */
    {"rl_tf32_split", 80,
     FN "void rl_tf32_split(unsigned &x, unsigned &low) {\n"
        "    const float whole = __uint_as_float(x), high = __uint_as_float(x & 0xffffe000u);\n"
        "    low = (x & 0x7fffffffu) == 0x7f800000u ? 0u : __float_as_uint(whole - high);\n"
        "    x &= 0xffffe000u;\n"
        "}\n"},
};
const int prelude_matrix_rows = sizeof prelude_matrix / sizeof *prelude_matrix;
