/* links: codegen */
#include "opencl_cases.h"
#include "base/numeric.h"
#include "codegen/prelude/prelude.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

/* Operands: values of a type beside each other, and random bits behind.  */
enum { VALUES = 1 << 14, THREADS = 64 };

static const int64_t integers[] = {
    0, 1, -1, 2, -2, 3, -3, 7, -7, 10, 255, 256, 65535, 1 << 21, -(1 << 21), INT32_MAX,
    INT32_MIN, INT32_MIN + 1, (int64_t)INT32_MAX + 1, (int64_t)1 << 40, (int64_t)1 << 53,
    ((int64_t)1 << 62) + 1, INT64_MAX, INT64_MIN, INT64_MIN + 1, -(((int64_t)1 << 40) + 1),
};
/* Zeros, subnormals, ends of types, places where narrow types round, no numbers.  */
static const double reals[] = {
    0.0, -0.0, 1, -1, 0.5, 1.5, 2.5, -2.5, 3, 1.0 / 3, 0x1p-149, -0x1p-149, 0x1.fffffcp-127,
    0x1p-126, 0x1p-24, 0x1p-25, 0x1.8p-25, 0x1p-14, 0x1.ffcp-15, 1 + 0x1p-11, 1 + 0x3p-11,
    1 + 0x1p-8, 1 + 0x1p-23, 65504, 65519.996, 65520, -65520, 448, 464, 480, 57344, 61440, 61441,
    0x1p-9, 0x1p-10, 0x1.8p-10, 0x1p-16, 0x1p-17, 0x1.8p-17, 16777216, 2147483520.0, 2147483648.0,
    -2147483648.0, -2147483904.0, 9223371487098961920.0, 9223372036854775808.0, 1e10, -1e10, 88.5,
    -87.5, -103.9, -150, 1e-20, 1e20, 0x1.fffffep127, -0x1.fffffep127, INFINITY, -INFINITY, NAN,
};
enum { INTEGERS = sizeof integers / sizeof *integers, REALS = sizeof reals / sizeof *reals };

static u64 next_random(u64 *state) {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

/* ---- types ---- */

/* How bits become a value of the type, and a value bits.  */
typedef struct {
    const char *name, *from[2], *to[2];   /* before it and behind it */
    u64 (*value)(int i, u64 random);
} Type;

static u64 an_integer(int i, u64 random) {
    return i < INTEGERS ? (u64)integers[i] : random >> (random >> 3) % 64;
}

/* All of them, however many values are asked for.  */
static u64 any_short(int i, u64 random) { return (u64)i * 4 + random % 4; }

static double a_number(int i, u64 random) {
    return i < REALS ? reals[i] : ldexp((double)(int32_t)random, (int)(random >> 40) % 40 - 48);
}

static u64 a_float(int i, u64 random) {
    return i >= REALS && i % 3 == 0 ? random & UINT32_MAX : b32((float)a_number(i, random));
}

static u64 a_double(int i, u64 random) {
    return i >= REALS && i % 3 == 0 ? random : b64(a_number(i, random));
}

static const Type types[] = {
    {"int", {"(int)", ""}, {"(ulong)(long)", ""}, an_integer},
    {"uint", {"(uint)", ""}, {"(ulong)", ""}, an_integer},
    {"long", {"(long)", ""}, {"(ulong)", ""}, an_integer},
    {"ushort", {"(ushort)", ""}, {"(ulong)", ""}, any_short},
    {"float", {"as_float((uint)", ")"}, {"(ulong)as_uint(", ")"}, a_float},
    {"double", {"as_double(", ")"}, {"as_ulong(", ")"}, a_double},
};
enum { TYPES = sizeof types / sizeof *types };

static const Type *type_of(const char *name) {
    int i = 0;
    while (strcmp(types[i].name, name) != 0) i++;
    return &types[i];
}

/* Pairs of listed values come first.  */
static void fill(const Type *t, OpenclGiven *g) {
    u64 state = 1;
    int side = t->value == an_integer ? INTEGERS : REALS;
    for (int i = 0; i < VALUES; i++) {
        bool pair = i < side * side;
        g[i].x = t->value(pair ? i % side : i, next_random(&state));
        g[i].y = t->value(pair ? i / side : VALUES - i, next_random(&state));
        g[i].z = t->value(i % 7, next_random(&state)) + (u64)i;
        if (t->value == any_short) g[i].x = t->value(i, g[i].x);
    }
}

/* ---- sources ---- */

/* A kernel of the cases with these operands.  */
static void print_kernel(Buf *b, const Type *t, const OpenclCase *c, int n) {
    buf_printf(b, "__kernel void of_%s(__global const ulong *in, __global ulong *out, int n) {\n"
                  "    const int i = get_global_id(0);\n", t->name);
    for (int k = 0; k < 3; k++)
        buf_printf(b, "    const %s %c = %sin[3 * i + %d]%s;\n", t->name, "xyz"[k],
                   t->from[0], k, t->from[1]);
    buf_puts(b, "    const int p = (int)in[3 * i + 2];\n");
    for (int k = 0; k < n; k++) {
        const Type *result = type_of(c[k].result);
        if (type_of(c[k].operand) != t) continue;
        buf_printf(b, "    {\n        %s r;\n        %s\n        out[%d * n + i] = %sr%s;\n    }\n",
                   c[k].result, c[k].body, k, result->to[0], result->to[1]);
    }
    buf_puts(b, "}\n");
}

static const char *source_of(Arena *a, const Device *dev, const OpenclCase *c, int n) {
    Buf body = buf_new(a), whole = buf_new(a);
    int least;
    for (int t = 0; t < TYPES; t++) print_kernel(&body, &types[t], c, n);
    const char *missing = prelude_print(a, buf_str(&body), dev, &least, &whole);
    if (missing) fail_msg("the prelude has no %s", missing);
    buf_puts(&whole, buf_str(&body));
    return buf_str(&whole);
}

/* ---- runs ---- */

static void judge(const OpenclCase *c, const OpenclGiven *g, const u64 *r) {
    for (int i = 0; i < VALUES; i++) {
        if (!c->right(c, &g[i], r[i]))
            fail_msg("%s of %016llx %016llx %016llx: %llx", c->body, (unsigned long long)g[i].x,
                     (unsigned long long)g[i].y, (unsigned long long)g[i].z,
                     (unsigned long long)r[i]);
    }
}

const char *opencl_cases_run(Arena *a, const Device *dev, const OpenclCase *c, int n) {
    OpenclGiven *given = arena_calloc(a, TYPES * VALUES, sizeof *given);
    u64 *result = arena_calloc(a, (size_t)n * VALUES, sizeof *result);
    OpenclBuffer buffer[TYPES + 1] = {[TYPES] = {result, (size_t)n * VALUES * sizeof *result}};
    OpenclArg arg[TYPES][3];
    OpenclLaunch launch[TYPES];
    int values = VALUES;
    for (int t = 0; t < TYPES; t++) {
        OpenclGiven *own = given + (size_t)t * VALUES;
        fill(&types[t], own);
        buffer[t] = (OpenclBuffer){own, VALUES * sizeof *own};
        arg[t][0] = (OpenclArg){.buffer = t};
        arg[t][1] = (OpenclArg){.buffer = TYPES};
        arg[t][2] = (OpenclArg){.scalar = &values, .bytes = sizeof values};
        launch[t] = (OpenclLaunch){arena_printf(a, "of_%s", types[t].name), {VALUES / THREADS},
                                   {THREADS}, arg[t], 3};
    }
    const char *source = source_of(a, dev, c, n);
    OpenclJob job = {source, buffer, TYPES + 1, launch, TYPES, 0};
    const char *wrong = opencl_run(a, &job);
    if (wrong) fail_msg("%s", wrong);
    for (int k = 0; k < n; k++)
        judge(&c[k], given + (size_t)(type_of(c[k].operand) - types) * VALUES,
              result + (size_t)k * VALUES);
    return source;
}

void opencl_need(Arena *a) {
    const char *absent = opencl_absent(a);
    if (!absent) return;
    print_message("skipped: %s\n", absent);
    skip();
}

bool opencl_is_f32(u64 r, double want) { return b32(f32(r)) == b32((float)want); }

bool opencl_within(u64 r, double want, double ulp) {
    double got = (double)f32(r);
    if (isnan(want)) return isnan(got);
    if (isinf((float)want)) return got == (double)(float)want;
    return got == want || fabs(got - want) <= (ulp + 0.5) * num_ulp(want, 23, -126);
}
