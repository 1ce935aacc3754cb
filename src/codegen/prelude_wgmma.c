/* Products of warpgroups, which read shared memory by descriptors: d += a * b.  */
#include "codegen/prelude.h"
#include <string.h>

#define FN "__device__ __forceinline__ "

/* rl_wgmma_m64nNkK_TYPE_ACC.  */
static bool read(const char *name, size_t len, ComputeUnit *u) {
    enum { ROWS = 64, N_STEP = 8, K_BYTES = 32 };
    const char *rest = prelude_read_product(name, len, PRELUDE_WGMMA, u);
    return rest == name + len && u->m.to == ROWS && u->n.to % N_STEP == 0 &&
           u->k.to * te_dtype_bytes(u->a) == K_BYTES;
}

/* The upper half of descriptors: rows of 128 bytes in their swizzle, blocks of 8 of them.  */
enum { UPPER = 8 * 128 >> 4 | 1 << 30 };

/* Operands of 16 bits lie in either order.  */
bool prelude_make_wgmma(const char *name, size_t len, PreludeText *t) {
    ComputeUnit u;
    if (!read(name, len, &u)) return false;
    bool whole = u.acc == TE_I32, half = u.acc == TE_F16, orders = te_dtype_bytes(u.a) == 2;
    const char *kind = prelude_constraint(u.acc), *type = prelude_op_operand(&u);
    int n = u.n.to, sums = n / (half ? 4 : 2);
    if (orders) prelude_put(t, "template <int A_TURNED, int B_TURNED>\n");
    prelude_put(t, FN "void %.*s(%s *d, unsigned a, unsigned b) {\n", (int)len, name,
                prelude_register(u.acc));
    prelude_put(t, "    asm volatile(\"{ .reg .b64 a, b;\"\n"
                   "                 \" mov.b64 a, {%%%d, 0x%x}; mov.b64 b, {%%%d, 0x%x};\"\n",
                sums, UPPER, sums + 1, UPPER);
    prelude_put(t, "                 \" wgmma.mma_async.sync.aligned.m64n%dk%d.%s.%s.%s {\"\n", n,
                u.k.to, prelude_op_sums(&u), type, type);
    for (int i = 0; i < sums; i++) {
        bool first = i % 16 == 0, last = i + 1 == sums;
        prelude_put(t, "%s%%%d%s", first ? "                 \"" : "", i, last ? "}, \"\n" : ", ");
        if (i % 16 == 15 && !last) prelude_put(t, "\"\n");
    }
    prelude_put(t, "                 \"a, b, 1%s", whole ? "" : ", 1, 1");
    if (orders) prelude_put(t, ", %%%d, %%%d", sums + 2, sums + 3);
    for (int i = 0; i < sums; i++)
        prelude_put(t, "%s\"+%s\"(d[%d])", i == 0 ? "; }\"\n                 : "
                                           : i % 8 ? ", " : ",\n                   ", kind, i);
    prelude_put(t, "\n                 : \"r\"(a), \"r\"(b)%s);\n}\n",
                orders ? ", \"n\"(A_TURNED), \"n\"(B_TURNED)" : "");
    return true;
}

const PreludeRow prelude_wgmma[] = {{PRELUDE_WGMMA, 0, NULL}};
const int prelude_wgmma_rows = 1;
