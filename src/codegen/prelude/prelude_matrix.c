#include "codegen/prelude/prelude_cuda.h"
#include "rtile/fragment.h"
#include <string.h>

/* Rows of the prelude for matrix units.  All are volatile: the whole warp takes part, so that no
 * compiler may move them into a branch.  */

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

/* ---- products: d += a * b ---- */

/* Names have the shape of what a warp multiplies, and behind it how operands lie where the
 * instruction has a form for each order: k side by side (along), or rows of a and columns of b
 * (across).  The instruction's order; NULL: no such name.  */
static const char *read(const char *name, size_t len, ComputeUnit *u) {
    static const struct {
        const char *name, *op;
    } order[] = {{"_along_along", "row.col"}, {"_along_across", "row.row"},
                 {"_across_along", "col.col"}, {"_across_across", "col.row"}};
    const char *rest = prelude_read_product(name, len, PRELUDE_MMA, u);
    size_t left = rest ? (size_t)(name + len - rest) : 0;
    if (!rest || left == 0) return rest ? order[0].op : NULL;
    u->m.from = u->m.to = u->m.to / 2;
    u->n.from = u->n.to = u->n.to / 2;
    if (!fragment_has_orders(u)) return NULL;
    for (size_t i = 0; i < sizeof order / sizeof *order; i++)
        if (left == strlen(order[i].name) && memcmp(rest, order[i].name, left) == 0)
            return order[i].op;
    return NULL;
}

static int registers(const ComputeUnit *u, FragRole role) {
    Fragment f = fragment_of(u, role, FRAG_COL);
    return fragment_slots(&f, FRAG_DIMS) / f.per_register;
}

static void numbers(PreludeText *t, int first, int n, const char *end) {
    for (int i = 0; i < n; i++) prelude_put(t, "%s%%%d", i ? ", " : "{", first + i);
    prelude_put(t, "}%s", end);
}

static void operand(PreludeText *t, const char *kind, char name, int n, const char *end) {
    for (int i = 0; i < n; i++)
        prelude_put(t, "%s\"%s\"(%c[%d])", i ? ", " : "", kind, name, i);
    prelude_put(t, "%s", end);
}

static void registers_of(PreludeText *t, const ComputeUnit *u, int d, int a, int b) {
    const char *kind = prelude_constraint(u->a == TE_F64 ? TE_F64 : TE_U8);
    operand(t, u->acc == TE_F32 ? "+f" : u->acc == TE_F64 ? "+d" : "+r", 'd', d,
            "\n                 : ");
    operand(t, kind, 'a', a, ", ");
    operand(t, kind, 'b', b, u->scale_k ? ", " : ");\n}\n");
}

/* Kind, and which of the four bytes of a register are scales of an instruction.  */
static void put_scaled(PreludeText *t, const ComputeUnit *u) {
    prelude_put(t, ".kind::%s.block_scale.scale_vec::%dX", hal_scaled_kind(u),
                u->k.to / u->scale_k);
}

/* Scales of a and b, the first byte of the k at hand, in which lanes those of the tiles are.  */
static void put_selectors(PreludeText *t, int first) {
    prelude_put(t, ", {%%%d}, {%%%d, %%%d}, {%%%d}, {%%%d, %%%d};\"\n                 : ", first,
                first + 2, first + 3, first + 1, first + 2, first + 4);
}

bool prelude_make_mma(const char *name, size_t len, PreludeText *t) {
    ComputeUnit u;
    const char *order = read(name, len, &u);
    if (!order) return false;
    int d = registers(&u, FRAG_RESULT), a = registers(&u, FRAG_A), b = registers(&u, FRAG_B);
    const char *type = prelude_register(u.a == TE_F64 ? TE_F64 : TE_U8);
    t->cc = hal_since(&u);
    prelude_put(t, FN "void %.*s(%s *d, const %s *a, const %s *b%s) {\n", (int)len, name,
                prelude_register(u.acc), type, type,
                u.scale_k ? ", unsigned of_a, unsigned of_b,\n        unsigned short byte, "
                            "unsigned short lane_a, unsigned short lane_b" : "");
    prelude_put(t, "    asm volatile(\"mma.sync.aligned.m%dn%dk%d.%s", u.m.to, u.n.to,
                u.k.to * te_dtype_values(u.a), order);
    if (u.scale_k) put_scaled(t, &u);
    prelude_put(t, ".%s.%s.%s.%s%s%s\"\n                 \" ", prelude_op_sums(&u),
                prelude_op_operand(&u), prelude_op_second(&u), prelude_op_sums(&u),
                u.scale_k ? "." : "", u.scale_k ? prelude_op_scale(&u) : "");
    numbers(t, 0, d, ", ");
    numbers(t, d, a, ", ");
    numbers(t, d + a, b, ", ");
    numbers(t, 0, d, u.scale_k ? "" : ";\"\n                 : ");
    if (u.scale_k) put_selectors(t, d + a + b);
    registers_of(t, &u, d, a, b);
    if (u.scale_k)
        prelude_put(t, "\"r\"(of_a), \"r\"(of_b), \"h\"(byte), \"h\"(lane_a), "
                       "\"h\"(lane_b));\n}\n");
    return true;
}

const PreludeRow prelude_matrix[] = {
    LDMATRIX("rl_ldmatrix_x1", "x1", "%0", "%1", X1),
    LDMATRIX("rl_ldmatrix_x2", "x2", "%0, %1", "%2", X2),
    LDMATRIX("rl_ldmatrix_x4", "x4", "%0, %1, %2, %3", "%4", X4),
    LDMATRIX("rl_ldmatrix_x1_trans", "x1.trans", "%0", "%1", X1),
    LDMATRIX("rl_ldmatrix_x2_trans", "x2.trans", "%0, %1", "%2", X2),
    LDMATRIX("rl_ldmatrix_x4_trans", "x4.trans", "%0, %1, %2, %3", "%4", X4),

    {PRELUDE_MMA, 0, NULL},

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
