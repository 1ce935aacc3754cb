/* Tensor Memory: products whose results lie there, which one thread issues, and what loads them
 * (PTX ISA, "TensorCore 5th Generation Family Instructions").  */
#include "codegen/prelude/prelude_cuda.h"
#include <string.h>

enum { ROWS = 128, MOST_BLOCKS = 2, K_BYTES = 32 };
enum { TURNED_A = 15, TURNED_B = 16, BYTE_A = 29, BYTE_B = 4 };

/* Kinds of products, and the numbers that operands and sums have in instruction descriptors (PTX
 * ISA, "Instruction descriptor").  */
typedef struct {
    TeDtype type, acc;
    const char *kind;
    unsigned operand, sums;
} Kind;

static const Kind *kind_of(TeDtype operand, TeDtype acc) {
    enum { F32 = 1, S32 = 2 };
    static const Kind kinds[] = {
        {TE_F16, TE_F32, "f16", 0, F32},       {TE_BF16, TE_F32, "f16", 1, F32},
        {TE_F32, TE_F32, "tf32", 2, F32},      {TE_F8E4M3, TE_F32, "f8f6f4", 0, F32},
        {TE_F8E5M2, TE_F32, "f8f6f4", 1, F32}, {TE_U8, TE_I32, "i8", 0, S32},
        {TE_I8, TE_I32, "i8", 1, S32},         {TE_F4E2M1X2, TE_F32, NULL, 1, F32},
    };
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (kinds[i].type == operand && kinds[i].acc == acc) return &kinds[i];
    return NULL;
}

/* The instruction descriptor, but for which operands are turned, and which bytes are scales: with
 * these, their type stands there, and not that of the sums, which is always f32.  */
static unsigned descriptor(const ComputeUnit *u) {
    enum { SUMS = 4, TYPE_A = 7, TYPE_B = 10, N = 17, SCALE = 23, M = 24 };
    const Kind *kind = kind_of(u->a, u->acc), *second = kind_of(u->b, u->acc);
    unsigned sums = u->scale_k > 0 ? (unsigned)(u->scale == TE_F8UE8M0) << SCALE
                                   : kind->sums << SUMS;
    return sums | kind->operand << TYPE_A | second->operand << TYPE_B |
           (unsigned)u->n.to / 8 << N | (unsigned)u->m.to / 16 << M;
}

static bool is_rest(const char *s, size_t len, const char *text) {
    return len == strlen(text) && memcmp(s, text, len) == 0;
}

/* Parameters of the template: orders of operands, and the upper halves of their descriptors.  */
static void put_template(PreludeText *t, bool orders, bool made) {
    enum { USUAL = 128, ATOM = 16 };
    unsigned high = prelude_high(USUAL, ATOM);
    prelude_put(t, "template <");
    if (orders && !made) prelude_put(t, "int A_TURNED, ");
    if (orders) prelude_put(t, "int B_TURNED, ");
    if (!made) prelude_put(t, "unsigned A_HIGH = 0x%x, ", high);
    prelude_put(t, "unsigned B_HIGH = 0x%x>\n", high);
}

/* rl_tcgen05_mMnNkK_TYPE_ACC: results from column d on; a and b are the lower halves of
 * descriptors, as wgmma's but for their version; M 256 is a product of a pair of blocks.  _made: a
 * is in Tensor Memory, from this column on.  With types of both operands and of scales behind:
 * these begin at columns scales_a and scales_b, in this byte of their cells.  */
bool prelude_make_tensor(const char *name, size_t len, PreludeText *t) {
    enum { VERSION = 1 << 14 };
    ComputeUnit u;
    const char *rest = prelude_read_product(name, len, PRELUDE_TENSOR, &u);
    bool made = rest && is_rest(rest, (size_t)(name + len - rest), PRELUDE_MADE);
    const Kind *kind = made || rest == name + len ? kind_of(u.a, u.acc) : NULL;
    int blocks = u.m.to / ROWS;
    if (!kind || u.m.to != ROWS * blocks || blocks > MOST_BLOCKS ||
        u.k.to * te_dtype_bytes(u.a) != K_BYTES)
        return false;
    bool orders = prelude_orders(&u, true);
    put_template(t, orders, made);
    bool scaled = u.scale_k > 0;
    prelude_put(t, FN "void %.*s(unsigned d, unsigned a, unsigned b, bool adds%s) {\n", (int)len,
                name,
                scaled ? ",\n        unsigned scales_a, unsigned scales_b, unsigned byte" : "");
    prelude_put(t, "    const unsigned what = 0x%x", descriptor(&u));
    if (orders && !made) prelude_put(t, " | (unsigned)A_TURNED << %d", TURNED_A);
    if (orders) prelude_put(t, " | (unsigned)B_TURNED << %d", TURNED_B);
    if (scaled) prelude_put(t, " | byte << %d | byte << %d", BYTE_A, BYTE_B);
    prelude_put(t, ";\n");
    prelude_put(t, "    asm volatile(\"{ .reg .b64 a, b; .reg .pred p; setp.ne.b32 p, %%3, 0;\"\n"
                   "                 \" %smov.b64 b, {%%2, %%5};\"\n"
                   "                 \" tcgen05.mma.cta_group::%d.kind::",
                made ? "" : "mov.b64 a, {%1, %6}; ", blocks);
    if (scaled) prelude_put(t, "%s.block_scale.block%d", hal_scaled_kind(&u),
                            u.scale_k * te_dtype_values(u.a));
    else prelude_put(t, "%s", kind->kind);
    prelude_put(t, " [%%0], %s, b, %%4,\"\n"
                   "                 \"%s p; }\"\n"
                   "                 :: \"r\"(d), \"r\"(a), \"r\"(b), \"r\"((int)adds), "
                   "\"r\"(what), \"n\"(B_HIGH | 0x%x)",
                made ? "[%1]" : "a", scaled ? " [%7], [%8]," : "", VERSION);
    if (!made) prelude_put(t, ",\n                    \"n\"(A_HIGH | 0x%x)", VERSION);
    prelude_put(t, "%s : \"memory\");\n}\n",
                scaled ? ", \"r\"(scales_a), \"r\"(scales_b)" : "");
    return true;
}

/* Columns at once, by a power of two of eights: results as mma has them, of rows 0 to 15 or 16 to
 * 31 of the warp's.  */
static void put_load(PreludeText *t, const char *constraint, int first, int eights,
                     int half) {
    enum { EACH = 4, PAIR = 8, SHIFT = 20 };
    int n = EACH * eights;
    prelude_put(t, "    asm volatile(\"tcgen05.ld.sync.aligned.16x256b.x%d.b32 {", eights);
    for (int r = 0; r < n; r++) prelude_put(t, "%s%%%d", r ? "," : "", r);
    prelude_put(t, "}, [%%%d];\"\n                 :", n);
    for (int r = 0; r < n; r++)
        prelude_put(t, "%s \"=%s\"(d[%d])", r ? "," : "", constraint,
                    PAIR * (first + r / EACH) + EACH * half + r % EACH);
    prelude_put(t, " : \"r\"(at + 0x%x) : \"memory\");\n",
                (unsigned)half << SHIFT | (unsigned)first * 8);
}

/* The number of columns, a multiple of 8, behind a stem; the rest of the name, or NULL.  */
static const char *read_columns(const char *name, size_t len, const char *stem, int *n) {
    enum { LIMIT = 256 };
    size_t at = strlen(stem);
    *n = 0;
    if (len <= at || memcmp(name, stem, at) != 0) return NULL;
    for (; at < len && name[at] >= '0' && name[at] <= '9' && *n <= LIMIT; at++)
        *n = 10 * *n + (name[at] - '0');
    return *n >= 8 && *n <= LIMIT && *n % 8 == 0 ? name + at : NULL;
}

/* rl_tcgen05_load_nN_ACC: a thread's results of a tile of N columns at address `at`, with its
 * warp's rows.  */
bool prelude_make_tensor_load(const char *name, size_t len, PreludeText *t) {
    enum { MOST = 16 };
    int n;
    const char *rest = read_columns(name, len, PRELUDE_TENSOR_LOAD, &n);
    size_t left = rest ? (size_t)(name + len - rest) : 0;
    TeDtype type = rest && is_rest(rest, left, "_i32") ? TE_I32 : TE_F32;
    if (!rest || (type == TE_F32 && !is_rest(rest, left, "_f32"))) return false;
    prelude_put(t, FN "void %.*s(%s *d, unsigned at) {\n", (int)len, name,
                prelude_register(type));
    for (int done = 0, eights; done < n / 8; done += eights) {
        eights = MOST;
        while (eights > n / 8 - done) eights /= 2;
        for (int half = 0; half < 2; half++)
            put_load(t, prelude_constraint(type), done, eights, half);
    }
    prelude_put(t, "    asm volatile(\"tcgen05.wait::ld.sync.aligned;\" ::: \"memory\");\n}\n");
    return true;
}

static void put_registers(PreludeText *t, int n, int first) {
    for (int r = 0; r < n; r++) prelude_put(t, "%s%%%d", r ? "," : "", first + r);
}

/* Results of 16 rows in eights of columns, each by what its row is.  */
static void put_scale(PreludeText *t, int eights, int half) {
    enum { UPPER = 16 << 16 };
    int n = 4 * eights, at = half * UPPER;
    prelude_put(t, "        asm volatile(\"tcgen05.ld.sync.aligned.16x256b.x%d.b32 {", eights);
    put_registers(t, n, 0);
    prelude_put(t, "}, [%%%d];\"\n                     \" tcgen05.wait::ld.sync.aligned;\"\n"
                   "                     :", n);
    for (int r = 0; r < n; r++) prelude_put(t, "%s \"=f\"(d[%d])", r ? "," : "", r);
    prelude_put(t, " : \"r\"(at + 0x%x) : \"memory\");\n"
                   "        for (int i = 0; i < %d; i++) d[i] *= by[%d + i / 2 %% 2];\n",
                (unsigned)at, n, 2 * half);
    prelude_put(t, "        asm volatile(\"tcgen05.st.sync.aligned.16x256b.x%d.b32 [%%0], {",
                eights);
    put_registers(t, n, 1);
    prelude_put(t, "};\"\n                     :: \"r\"(at + 0x%x)", (unsigned)at);
    for (int r = 0; r < n; r++) prelude_put(t, ", \"f\"(d[%d])", r);
    prelude_put(t, " : \"memory\");\n");
}

/* rl_tcgen05_scale_nN: a thread's results of a tile of N columns are multiplied by what is `by` for
 * each of its four rows, a few columns at a time, so that few registers hold them.  */
bool prelude_make_tensor_scale(const char *name, size_t len, PreludeText *t) {
    int n, eights = 4;
    if (read_columns(name, len, PRELUDE_TENSOR_SCALE, &n) != name + len) return false;
    while (n / 8 % eights) eights /= 2;
    prelude_put(t, FN "void %.*s(unsigned at, const float *by) {\n    float d[%d];\n"
                   "    for (unsigned end = at + %d; at < end; at += %d) {\n",
                (int)len, name, 4 * eights, n, 8 * eights);
    for (int half = 0; half < 2; half++) put_scale(t, eights, half);
    prelude_put(t, "    }\n    asm volatile(\"tcgen05.wait::st.sync.aligned;\" ::: \"memory\");\n"
                   "}\n");
    return true;
}

/* Columns of Tensor Memory for a block: a warp takes them, their address goes to shared memory at
 * `to`, and no more are taken; it gives them back.  Of a pair both blocks do.  */
#define COLUMNS_OF(name, group)                                                                    \
    {"rl_tcgen05_take" name, 100,                                                                  \
     "template <int COLUMNS> " FN "void rl_tcgen05_take" name "(unsigned to) {\n"                  \
     "    asm volatile(\"tcgen05.alloc.cta_group::" group ".sync.aligned.shared::cta.b32\"\n"      \
     "                 \" [%0], %1;\"\n"                                                           \
     "                 \" tcgen05.relinquish_alloc_permit.cta_group::" group ".sync.aligned;\"\n"  \
     "                 :: \"r\"(to), \"n\"(COLUMNS) : \"memory\");\n"                              \
     "}\n"},                                                                                       \
    {"rl_tcgen05_free" name, 100,                                                                  \
     "template <int COLUMNS> " FN "void rl_tcgen05_free" name "(unsigned at) {\n"                  \
     "    asm volatile(\"tcgen05.dealloc.cta_group::" group ".sync.aligned.b32 %0, %1;\"\n"        \
     "                 :: \"r\"(at), \"n\"(COLUMNS) : \"memory\");\n"                              \
     "}\n"}

/* The barriers of blocks of the cluster, a bit of a mask each, are told when all products that the
 * thread has issued have ended.  */
#define COMMIT_TO(name, group)                                                                     \
    {"rl_tcgen05_commit_" name, 100,                                                               \
     FN "void rl_tcgen05_commit_" name "(unsigned bar, int blocks) {\n"                            \
     "    asm volatile(\"tcgen05.commit.cta_group::" group ".mbarrier::arrive::one\"\n"            \
     "                 \".shared::cluster.multicast::cluster.b64 [%0], %1;\"\n"                    \
     "                 :: \"r\"(bar), \"h\"((short)blocks) : \"memory\");\n"                       \
     "}\n"}

/* Scales of 128 rows from there, in rows of 16 bytes without a swizzle, to all four parts of 32
 * lanes; in both blocks of a pair, each from its own shared memory.  */
#define COPY_SCALES(name, group)                                                                   \
    {"rl_tcgen05_copy_scales" name, 100,                                                           \
     FN "void rl_tcgen05_copy_scales" name "(unsigned to, unsigned from) {\n"                      \
     "    asm volatile(\"{ .reg .b64 s; mov.b64 s, {%1, 0x4008};\"\n"                              \
     "                 \" tcgen05.cp.cta_group::" group ".32x128b.warpx4 [%0], s; }\"\n"          \
     "                 :: \"r\"(to), \"r\"(from >> 4 & 0x3fff) : \"memory\");\n"                  \
     "}\n"}

const PreludeRow prelude_tensor[] = {
    COLUMNS_OF("", "1"),
    COLUMNS_OF("_pair", "2"),
    {"rl_tcgen05_find", 100,
     FN "unsigned rl_tcgen05_find(unsigned from) {\n"
        "    unsigned at;\n"
        "    asm volatile(\"ld.shared.b32 %0, [%1];\" : \"=r\"(at) : \"r\"(from) : \"memory\");\n"
        "    return at;\n"
        "}\n"},
    /* The barrier is told when all products that the thread has issued have ended.  */
    {"rl_tcgen05_commit", 100,
     FN "void rl_tcgen05_commit(unsigned bar) {\n"
        "    asm volatile(\"tcgen05.commit.cta_group::1.mbarrier::arrive::one\"\n"
        "                 \".shared::cluster.b64 [%0];\" :: \"r\"(bar) : \"memory\");\n"
        "}\n"},
    COMMIT_TO("at", "1"),
    COMMIT_TO("pair", "2"),
    /* Around what synchronises threads that use Tensor Memory.  */
    DO("rl_tcgen05_before", 100, "tcgen05.fence::before_thread_sync"),
    DO("rl_tcgen05_after", 100, "tcgen05.fence::after_thread_sync"),
    /* Scales of four rows, 32 apart, of a lane to its 16 bytes of shared memory.  */
    {"rl_tcgen05_put_scales", 100,
     FN "void rl_tcgen05_put_scales(unsigned to, unsigned a, unsigned b, unsigned c,\n"
        "        unsigned d) {\n"
        "    asm volatile(\"st.shared.v4.b32 [%0], {%1, %2, %3, %4};\"\n"
        "                 :: \"r\"(to), \"r\"(a), \"r\"(b), \"r\"(c), \"r\"(d) : \"memory\");\n"
        "}\n"},
    COPY_SCALES("", "1"),
    COPY_SCALES("_pair", "2"),
    /* A slice of an operand: of a warp's 32 rows 16, whose registers are as mma has them, then the
     * others.  */
    {"rl_tcgen05_store", 100,
     FN "void rl_tcgen05_store(unsigned at, const unsigned *a) {\n"
        "    asm volatile(\"tcgen05.st.sync.aligned.16x128b.x2.b32 [%0], {%1, %2, %3, %4};\"\n"
        "                 :: \"r\"(at), \"r\"(a[0]), \"r\"(a[1]), \"r\"(a[4]), \"r\"(a[5])\n"
        "                 : \"memory\");\n"
        "    asm volatile(\"tcgen05.st.sync.aligned.16x128b.x2.b32 [%0], {%1, %2, %3, %4};\"\n"
        "                 :: \"r\"(at + 0x100000), \"r\"(a[2]), \"r\"(a[3]), \"r\"(a[6]),\n"
        "                    \"r\"(a[7]) : \"memory\");\n"
        "}\n"},
    DO("rl_tcgen05_stored", 100, "tcgen05.wait::st.sync.aligned"),
    {PRELUDE_TENSOR, 0, NULL},
    {PRELUDE_TENSOR_LOAD, 0, NULL},
    {PRELUDE_TENSOR_SCALE, 0, NULL},
};
const int prelude_tensor_rows = sizeof prelude_tensor / sizeof *prelude_tensor;
