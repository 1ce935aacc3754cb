/* Products of warpgroups, which read shared memory by descriptors: d += a * b.  */
#include "codegen/prelude.h"
#include <string.h>

#define FN "__device__ __forceinline__ "

/* rl_wgmma_m64nNkK_TYPE_ACC, _made where operand a is in registers.  */
static bool read(const char *name, size_t len, ComputeUnit *u, bool *made) {
    enum { ROWS = 64, N_STEP = 8, K_BYTES = 32 };
    const char *rest = prelude_read_product(name, len, PRELUDE_WGMMA, u);
    *made = rest && (size_t)(name + len - rest) == strlen(PRELUDE_MADE) &&
            memcmp(rest, PRELUDE_MADE, strlen(PRELUDE_MADE)) == 0;
    return (*made || rest == name + len) && u->m.to == ROWS && u->n.to % N_STEP == 0 &&
           u->k.to * te_dtype_bytes(u->a) == K_BYTES;
}

/* The upper half of descriptors: rows of 128 bytes in their swizzle, blocks of 8 of them.  */
enum { UPPER = 8 * 128 >> 4 | 1 << 30 };

enum { MADE = 4 };            /* registers of operand a */

/* Operands of 16 bits lie in either order.  */
bool prelude_make_wgmma(const char *name, size_t len, PreludeText *t) {
    ComputeUnit u;
    bool made;
    if (!read(name, len, &u, &made)) return false;
    bool whole = u.acc == TE_I32, half = u.acc == TE_F16, orders = te_dtype_bytes(u.a) == 2;
    const char *kind = prelude_constraint(u.acc), *type = prelude_op_operand(&u);
    int n = u.n.to, sums = n / (half ? 4 : 2), more = made ? MADE : 1;
    if (orders) prelude_put(t, "template <int %sB_TURNED>\n", made ? "" : "A_TURNED, int ");
    prelude_put(t, FN "void %.*s(%s *d, %s, unsigned b) {\n", (int)len, name,
                prelude_register(u.acc), made ? "const unsigned *a" : "unsigned a");
    prelude_put(t, "    asm volatile(\"{ .reg .b64 a, b;\"\n                 \"");
    if (!made) prelude_put(t, " mov.b64 a, {%%%d, 0x%x};", sums, UPPER);
    prelude_put(t, " mov.b64 b, {%%%d, 0x%x};\"\n", sums + more, UPPER);
    prelude_put(t, "                 \" wgmma.mma_async.sync.aligned.m64n%dk%d.%s.%s.%s {\"\n", n,
                u.k.to, prelude_op_sums(&u), type, type);
    for (int i = 0; i < sums; i++) {
        bool first = i % 16 == 0, last = i + 1 == sums;
        prelude_put(t, "%s%%%d%s", first ? "                 \"" : "", i, last ? "}, \"\n" : ", ");
        if (i % 16 == 15 && !last) prelude_put(t, "\"\n");
    }
    prelude_put(t, "                 \"");
    for (int i = 0; i < more && made; i++)
        prelude_put(t, "%s%%%d%s", i ? ", " : "{", sums + i, i + 1 == more ? "}" : "");
    prelude_put(t, "%s, b, 1%s", made ? "" : "a", whole ? "" : ", 1, 1");
    if (orders && !made) prelude_put(t, ", %%%d", sums + 2);
    if (orders) prelude_put(t, ", %%%d", sums + more + (made ? 1 : 2));
    for (int i = 0; i < sums; i++)
        prelude_put(t, "%s\"+%s\"(d[%d])", i == 0 ? "; }\"\n                 : "
                                           : i % 8 ? ", " : ",\n                   ", kind, i);
    prelude_put(t, "\n                 : ");
    for (int i = 0; i < more && made; i++) prelude_put(t, "\"r\"(a[%d]), ", i);
    if (!made) prelude_put(t, "\"r\"(a), ");
    prelude_put(t, "\"r\"(b)%s%s);\n}\n", orders && !made ? ", \"n\"(A_TURNED)" : "",
                orders ? ", \"n\"(B_TURNED)" : "");
    return true;
}

const PreludeRow prelude_wgmma[] = {{PRELUDE_WGMMA, 0, NULL}};
const int prelude_wgmma_rows = 1;
