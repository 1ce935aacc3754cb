#include "codegen/print/ir_print.h"
#include <math.h>
#include <string.h>

/* The printers of values and their types, in both languages.  Where the languages differ a row of a
 * table says how.  */

static const struct {
    const char *sign;
    int binds;
} op_row[IR_OP_COUNT] = {
#define X(id, sign, binds) [IR_##id] = {sign, binds},
    IR_OPS(X)
#undef X
};

static const struct {
    const char *name[2];      /* by language */
    const char *middle;
} base_row[IR_BASE_COUNT] = {
#define X(id, cuda, opencl, middle, bytes, sign) [IR_##id] = {{cuda, opencl}, middle},
    IR_BASES(X)
#undef X
};

static const char *const special[][2] = {
    [IR_THREAD] = {"threadIdx.x", "(uint)get_local_id(0)"},
    [IR_BLOCK_X] = {"blockIdx.x", "(uint)get_group_id(0)"},
    [IR_BLOCK_Y] = {"blockIdx.y", "(uint)get_group_id(1)"},
    [IR_BLOCKS_X] = {"gridDim.x", "(uint)get_num_groups(0)"},
};

/* Functions that each language has by a name of its own.  */
static const char *const spelling[][2] = {
    {"__syncwarp", "rl_warp_sync"},
    {"__syncthreads", "rl_block_sync"},
    {"expf", "rl_exp_f32"},
    {"exp2f", "rl_exp2_f32"},
    {"logf", "rl_log_f32"},
    {"log2f", "rl_log2_f32"},
    {"sqrtf", "sqrt"},
    {"rsqrtf", "rsqrt"},
    {"tanhf", "rl_tanh_f32"},
    {"erff", "rl_erf_f32"},
    {"sinf", "rl_sin_f32"},
    {"cosf", "rl_cos_f32"},
    {"powf", "rl_pow_f32"},
    {"floorf", "floor"},
    {"ceilf", "ceil"},
    {"rintf", "rint"},
    {"fabsf", "fabs"},
    {"fmaf", "fma"},
};

const char *ir_sign(IrOp op) { return op_row[op].sign; }

void ir_put_indent(Printer *p) {
    for (int i = 0; i < p->depth; i++) buf_puts(p->out, "    ");
}

const char *ir_spelled(const Printer *p, const char *name) {
    for (size_t i = 0; i < sizeof spelling / sizeof *spelling; i++) {
        if (p->language != LANGUAGE_CUDA && strcmp(spelling[i][0], name) == 0)
            return spelling[i][p->language];
    }
    return name;
}

/* ---- types ---- */

static void put_element(Printer *p, IrType t) {
    const char *base = base_row[t.base].name[p->language];
    if (t.lanes <= 1) buf_puts(p->out, base);
    else if (p->language == LANGUAGE_CUDA) buf_printf(p->out, "rl_vec<%s, %d>", base, t.lanes);
    else buf_printf(p->out, "rl_vec_%s_%d", base_row[t.base].middle, t.lanes);
}

static void put_space(Printer *p, IrType t) {
    if (p->language == LANGUAGE_CUDA || t.rank == 0) return;
    if (t.space == IR_GLOBAL) buf_puts(p->out, "__global ");
    if (t.space == IR_SHARED) buf_puts(p->out, "__local ");
}

void ir_put_type(Printer *p, IrType t) {
    put_space(p, t);
    if (t.rank && t.constant) buf_puts(p->out, "const ");
    put_element(p, t);
    buf_puts(p->out, t.rank ? " *" : "");
}

/* ---- values ---- */

static void put_integer(Printer *p, Ir x) {
    int64_t v = x->i;
    const char *wide = p->language == LANGUAGE_CUDA ? "ll" : "l";
    switch ((IrBase)x->type.base) {
    case IR_BOOL: buf_puts(p->out, v ? "true" : "false"); return;
    case IR_U32: buf_printf(p->out, "%lluu", (unsigned long long)v); return;
    case IR_U64: buf_printf(p->out, "%lluu%s", (unsigned long long)v, wide); return;
    case IR_I64:
        if (v == INT64_MIN) buf_printf(p->out, "(-9223372036854775807%s - 1)", wide);
        else buf_printf(p->out, v < 0 ? "(%lld%s)" : "%lld%s", (long long)v, wide);
        return;
    default:
        if (v == INT32_MIN) buf_puts(p->out, "(-2147483647 - 1)");
        else buf_printf(p->out, v < 0 ? "(%lld)" : "%lld", (long long)v);
    }
}

static void put_real(Printer *p, Ir x) {
    static const char *const bits[2][2][2] = {
        {{"__int_as_float(0x7f800000)", "__longlong_as_double(0x7ff0000000000000ll)"},
         {"INFINITY", "(double)INFINITY"}},
        {{"__int_as_float(0x7fc00000)", "__longlong_as_double(0x7ff8000000000000ll)"},
         {"NAN", "(double)NAN"}},
    };
    bool single = x->type.base == IR_F32;
    if (isnan(x->r) || isinf(x->r)) {
        buf_printf(p->out, "(%s%s)", x->r < 0 ? "-" : "",
                   bits[isnan(x->r) != 0][p->language][!single]);
        return;
    }
    if (signbit(x->r)) buf_putc(p->out, '(');
    buf_real(p->out, x->r);
    if (single) buf_putc(p->out, 'f');
    if (signbit(x->r)) buf_putc(p->out, ')');
}

/* A vector of zeros.  */
static void put_zeros(Printer *p, Ir x) {
    if (p->language == LANGUAGE_CUDA) {
        buf_puts(p->out, "{}");
        return;
    }
    buf_putc(p->out, '(');
    ir_put_type(p, x->type);
    buf_puts(p->out, "){0}");
}

/* min and max of OpenCL C take operands of one type; those of CUDA C++ have no overload for 32 bits
 * beside 64.  */
static bool must_convert(const Printer *p, Ir x, Ir arg) {
    bool meets = strcmp(x->text, "min") == 0 || strcmp(x->text, "max") == 0;
    bool narrow = x->type.base == IR_I32 || x->type.base == IR_U32;
    return meets && (p->language != LANGUAGE_CUDA || !narrow) && arg->type.base != x->type.base;
}

static void put_argument(Printer *p, Ir x, int i) {
    Ir arg = x->arg[i];
    bool refers = i < x->places && p->language != LANGUAGE_CUDA;
    if (refers) buf_putc(p->out, '&');
    if (must_convert(p, x, arg))
        buf_printf(p->out, "(%s)", base_row[x->type.base].name[p->language]);
    ir_put(p, arg, refers || must_convert(p, x, arg) ? op_row[IR_CAST].binds : 0);
}

static void put_arguments(Printer *p, Ir x) {
    buf_putc(p->out, '(');
    for (int i = 0; i < x->n; i++) {
        if (i) buf_puts(p->out, ", ");
        put_argument(p, x, i);
    }
    buf_putc(p->out, ')');
}

/* What is a template in C++, or takes references, has its numbers and the type that it is for in
 * its name in C, and takes pointers.  */
static void put_call(Printer *p, Ir x) {
    buf_puts(p->out, ir_spelled(p, x->text));
    if (x->places > 0 && p->language != LANGUAGE_CUDA)
        buf_printf(p->out, "_%s", base_row[x->arg[0]->type.base].middle);
    for (int i = 0; i < x->n_number; i++) {
        if (p->language == LANGUAGE_CUDA) {
            buf_printf(p->out, "%s%d%s", i ? ", " : "<", x->number[i],
                       i + 1 == x->n_number ? ">" : "");
            continue;
        }
        if (i == 0) {
            IrType of = x->n ? x->arg[0]->type : x->type;
            bool shared = of.rank && of.space == IR_SHARED;
            buf_printf(p->out, "%s_%s", shared ? "_local" : "", base_row[of.base].middle);
        }
        buf_printf(p->out, "_%d", x->number[i]);
    }
    put_arguments(p, x);
}

static void put_cast(Printer *p, Ir x) {
    bool view = x->type.rank > 0 && p->language == LANGUAGE_CUDA;
    buf_puts(p->out, view ? "reinterpret_cast<" : "(");
    ir_put_type(p, x->type);
    buf_puts(p->out, view ? ">(" : ")");
    ir_put(p, x->arg[0], view ? 0 : op_row[IR_CAST].binds);
    if (view) buf_putc(p->out, ')');
}

static void put_plain(Printer *p, Ir x) {
    int binds = op_row[x->op].binds;
    switch (x->op) {
    case IR_NUMBER:
        if (x->type.lanes > 1) put_zeros(p, x);
        else if (x->type.base >= IR_F32) put_real(p, x);
        else put_integer(p, x);
        return;
    case IR_NAME: buf_puts(p->out, x->name->text); return;
    case IR_SPECIAL: buf_puts(p->out, special[x->i][p->language]); return;
    case IR_CALL: put_call(p, x); return;
    case IR_CAST: put_cast(p, x); return;
    case IR_ELEMENT:
        ir_put(p, x->arg[0], binds);
        buf_putc(p->out, '[');
        ir_put(p, x->arg[1], 0);
        buf_putc(p->out, ']');
        return;
    case IR_LANE:
        ir_put(p, x->arg[0], binds);
        buf_puts(p->out, ".v[");
        ir_put(p, x->arg[1], 0);
        buf_putc(p->out, ']');
        return;
    case IR_NEG:
    case IR_NOT:
    case IR_ADDRESS:
        buf_puts(p->out, op_row[x->op].sign);
        /* Two signs of minus are another operator.  */
        ir_put(p, x->arg[0], binds + (x->op == IR_NEG && x->arg[0]->op == IR_NEG));
        return;
    case IR_SELECT:
        ir_put(p, x->arg[0], binds + 1);
        buf_puts(p->out, " ? ");
        ir_put(p, x->arg[1], binds + 1);
        buf_puts(p->out, " : ");
        ir_put(p, x->arg[2], binds);
        return;
    default:
        ir_put(p, x->arg[0], binds);
        buf_printf(p->out, " %s ", op_row[x->op].sign);
        ir_put(p, x->arg[1], binds + 1);
    }
}

void ir_put(Printer *p, Ir x, int binds) {
    bool view = x->op == IR_CAST && x->type.rank > 0 && p->language == LANGUAGE_CUDA;
    int own = op_row[view ? IR_CALL : x->op].binds;
    bool bracket = own < binds;
    if (bracket) buf_putc(p->out, '(');
    put_plain(p, x);
    if (bracket) buf_putc(p->out, ')');
}

void ir_put_set(Printer *p, Ir to, IrOp op, Ir value) {
    ir_put(p, to, 0);
    buf_printf(p->out, " %s= ", op_row[op].sign);
    ir_put(p, value, 0);
}

const char *ir_string(const Cg *c, Ir x) {
    Buf b = buf_new(c->arena);
    Printer p = {.arena = c->arena, .language = c->language, .out = &b};
    ir_put(&p, x, op_row[IR_ELEMENT].binds);
    return buf_str(&b);
}
