/* Products of warpgroups, which read shared memory by descriptors: d = a * b, + d where it adds;
 * where it does not, d is not read.  */
#include "codegen/prelude/prelude_cuda.h"
#include <string.h>

/* rl_wgmma_m64nNkK_TYPE_ACC, _made where operand a is in registers.  */
static bool read(const char *name, size_t len, ComputeUnit *u, bool *made) {
    enum { ROWS = 64, N_STEP = 8, K_BYTES = 32 };
    const char *rest = prelude_read_product(name, len, PRELUDE_WGMMA, u);
    *made = rest && (size_t)(name + len - rest) == strlen(PRELUDE_MADE) &&
            memcmp(rest, PRELUDE_MADE, strlen(PRELUDE_MADE)) == 0;
    return (*made || rest == name + len) && u->m.to == ROWS && u->n.to % N_STEP == 0 &&
           u->k.to * te_dtype_bytes(u->a) == K_BYTES;
}

bool prelude_orders(const ComputeUnit *u, bool tensor) {
    return tensor ? te_dtype_values(u->a) == 1 : te_dtype_bytes(u->a) == 2;
}

/* Rows of `span` bytes in their swizzle, blocks of as many as it tells apart: 8, or 4 of 32-byte
 * atoms, whose number only tcgen05 knows.  */
unsigned prelude_high(int span, int atom) {
    enum { ATOM_32 = 1 };
    unsigned swizzle = span == 128 ? 1 : span == 64 ? 2 : span == 32 ? 3 : 0;
    if (atom == 32) return (unsigned)(4 * span) >> 4 | ATOM_32 << 29;
    return (unsigned)(8 * span) >> 4 | swizzle << 30;
}

enum { MADE = 4 };            /* registers of operand a */

enum { USUAL = 128, ATOM = 16 };        /* bytes of a row, and moved together */

bool prelude_make_wgmma(const char *name, size_t len, PreludeText *t) {
    ComputeUnit u;
    bool made;
    if (!read(name, len, &u, &made)) return false;
    bool whole = u.acc == TE_I32, half = u.acc == TE_F16, orders = prelude_orders(&u, false);
    const char *kind = prelude_constraint(u.acc), *type = prelude_op_operand(&u);
    int n = u.n.to, sums = n / (half ? 4 : 2), more = made ? MADE : 1;
    prelude_put(t, "template <");
    if (orders) prelude_put(t, "%sint B_TURNED, ", made ? "" : "int A_TURNED, ");
    if (!made) prelude_put(t, "unsigned A_HIGH = 0x%x, ", prelude_high(USUAL, ATOM));
    prelude_put(t, "unsigned B_HIGH = 0x%x>\n", prelude_high(USUAL, ATOM));
    prelude_put(t, FN "void %.*s(%s *d, %s, unsigned b, bool adds) {\n", (int)len, name,
                prelude_register(u.acc), made ? "const unsigned *a" : "unsigned a");
    prelude_put(t, "    asm volatile(\"{ .reg .b64 a, b; .reg .pred p;\"\n                 \"");
    prelude_put(t, " setp.ne.b32 p, %%%d, 0;", sums + more + 1);
    int high = sums + more + 2;
    if (!made) prelude_put(t, " mov.b64 a, {%%%d, %%%d};", sums, high++);
    prelude_put(t, " mov.b64 b, {%%%d, %%%d};\"\n", sums + more, high++);
    prelude_put(t, "                 \" wgmma.mma_async.sync.aligned.m64n%dk%d.%s.%s.%s {\"\n", n,
                u.k.to, prelude_op_sums(&u), type, prelude_op_second(&u));
    for (int i = 0; i < sums; i++) {
        bool first = i % 16 == 0, last = i + 1 == sums;
        prelude_put(t, "%s%%%d%s", first ? "                 \"" : "", i, last ? "}, \"\n" : ", ");
        if (i % 16 == 15 && !last) prelude_put(t, "\"\n");
    }
    prelude_put(t, "                 \"");
    for (int i = 0; i < more && made; i++)
        prelude_put(t, "%s%%%d%s", i ? ", " : "{", sums + i, i + 1 == more ? "}" : "");
    prelude_put(t, "%s, b, p%s", made ? "" : "a", whole ? "" : ", 1, 1");
    if (orders && !made) prelude_put(t, ", %%%d", high++);
    if (orders) prelude_put(t, ", %%%d", high);
    for (int i = 0; i < sums; i++)
        prelude_put(t, "%s\"+%s\"(d[%d])", i == 0 ? "; }\"\n                 : "
                                           : i % 8 ? ", " : ",\n                   ", kind, i);
    prelude_put(t, "\n                 : ");
    for (int i = 0; i < more && made; i++) prelude_put(t, "\"r\"(a[%d]), ", i);
    if (!made) prelude_put(t, "\"r\"(a), ");
    prelude_put(t, "\"r\"(b), \"r\"((int)adds)%s, \"n\"(B_HIGH)%s%s);\n}\n",
                made ? "" : ", \"n\"(A_HIGH)", orders && !made ? ", \"n\"(A_TURNED)" : "",
                orders ? ", \"n\"(B_TURNED)" : "");
    return true;
}

const PreludeRow prelude_wgmma[] = {{PRELUDE_WGMMA, 0, NULL}};
const int prelude_wgmma_rows = 1;
