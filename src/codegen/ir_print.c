#include "codegen/ir.h"
#include "codegen/cg.h"
#include <ctype.h>
#include <math.h>
#include <string.h>

/* The printers of both languages: every kind of value and of statement in one place.  Where the
 * languages differ a row of a table or a function of the printer's says how.  */

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

/* Functions and names that each language has by a name of its own.  */
static const char *const spelling[][2] = {
    {"threadIdx.x", "(uint)get_local_id(0)"},
    {"blockIdx.x", "(uint)get_group_id(0)"},
    {"blockIdx.y", "(uint)get_group_id(1)"},
    {"gridDim.x", "(uint)get_num_groups(0)"},
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


typedef struct {
    Arena *arena;
    HalLanguage language;
    Buf *out;
    int depth;
    int texts;                /* statements and values that blocks print themselves */
} Printer;

static const char *spelled(const Printer *p, const char *name) {
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

/* `const float *`, with the blank or star that a name follows.  */
static void put_type(Printer *p, IrType t) {
    put_space(p, t);
    if (t.rank && t.constant) buf_puts(p->out, "const ");
    put_element(p, t);
    buf_puts(p->out, t.rank ? " *" : "");
}

/* ---- values ---- */

static void put(Printer *p, Ir x, int binds);

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

/* min and max of OpenCL C take operands of one type.  */
static bool must_convert(const Printer *p, Ir x, Ir arg) {
    bool meets = strcmp(x->text, "min") == 0 || strcmp(x->text, "max") == 0;
    return meets && p->language != LANGUAGE_CUDA && arg->type.base != x->type.base;
}

static void put_argument(Printer *p, Ir x, int i) {
    Ir arg = x->arg[i];
    bool refers = i < x->places && p->language != LANGUAGE_CUDA;
    if (refers) buf_putc(p->out, '&');
    if (must_convert(p, x, arg))
        buf_printf(p->out, "(%s)", base_row[x->type.base].name[p->language]);
    put(p, arg, refers || must_convert(p, x, arg) ? op_row[IR_CAST].binds : 0);
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
    buf_puts(p->out, spelled(p, x->text));
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
    put_type(p, x->type);
    buf_puts(p->out, view ? ">(" : ")");
    put(p, x->arg[0], view ? 0 : op_row[IR_CAST].binds);
    if (view) buf_putc(p->out, ')');
}

static void put_plain(Printer *p, Ir x) {
    int binds = op_row[x->op].binds;
    switch (x->op) {
    case IR_NUMBER:
        if (x->type.base >= IR_F32) put_real(p, x);
        else put_integer(p, x);
        return;
    case IR_NAME: buf_puts(p->out, spelled(p, x->name->text)); return;
    case IR_TEXT:
        buf_puts(p->out, x->text);
        p->texts++;
        return;
    case IR_CALL: put_call(p, x); return;
    case IR_CAST: put_cast(p, x); return;
    case IR_ELEMENT:
        put(p, x->arg[0], binds);
        buf_putc(p->out, '[');
        put(p, x->arg[1], 0);
        buf_putc(p->out, ']');
        return;
    case IR_LANE:
        put(p, x->arg[0], binds);
        buf_puts(p->out, ".v[");
        put(p, x->arg[1], 0);
        buf_putc(p->out, ']');
        return;
    case IR_NEG:
    case IR_NOT:
    case IR_ADDRESS:
        buf_puts(p->out, op_row[x->op].sign);
        /* Two signs of minus are another operator.  */
        put(p, x->arg[0], binds + (x->op == IR_NEG && x->arg[0]->op == IR_NEG));
        return;
    case IR_SELECT:
        put(p, x->arg[0], binds + 1);
        buf_puts(p->out, " ? ");
        put(p, x->arg[1], binds + 1);
        buf_puts(p->out, " : ");
        put(p, x->arg[2], binds);
        return;
    default:
        put(p, x->arg[0], binds);
        buf_printf(p->out, " %s ", op_row[x->op].sign);
        put(p, x->arg[1], binds + 1);
    }
}

/* A text may be anything: only what is one thing for sure stands without parentheses.  */
static bool is_one(const char *s) {
    int depth = 0;
    for (; *s; s++) {
        bool word = isalnum((unsigned char)*s) || *s == '_' || *s == '.';
        depth += (*s == '(' || *s == '[') - (*s == ')' || *s == ']');
        if (depth == 0 && !word && *s != ')' && *s != ']') return false;
    }
    return true;
}

static void put(Printer *p, Ir x, int binds) {
    bool view = x->op == IR_CAST && x->type.rank > 0 && p->language == LANGUAGE_CUDA;
    int own = x->op == IR_TEXT && !is_one(x->text) ? 0 : op_row[view ? IR_CALL : x->op].binds;
    bool bracket = own < binds;
    if (bracket) buf_putc(p->out, '(');
    put_plain(p, x);
    if (bracket) buf_putc(p->out, ')');
}

static const char *string(const Cg *c, Ir x, int binds) {
    Buf b = buf_new(c->arena);
    Printer p = {.arena = c->arena, .language = LANGUAGE_CUDA, .out = &b};
    put(&p, x, binds);
    return buf_str(&b);
}

const char *ir_string(const Cg *c, Ir x) { return string(c, x, op_row[IR_ELEMENT].binds); }
const char *ir_string_sum(const Cg *c, Ir x) { return string(c, x, op_row[IR_ADD].binds); }

/* ---- statements ---- */

static void indent(Printer *p) {
    for (int i = 0; i < p->depth; i++) buf_puts(p->out, "    ");
}

static void put_text(Printer *p, const char *text, const char *end) {
    indent(p);
    buf_puts(p->out, text);
    buf_puts(p->out, end);
}

static void put_all(Printer *p, const IrStmt *first);

static void put_children(Printer *p, const IrStmt *first) {
    p->depth++;
    put_all(p, first);
    p->depth--;
    indent(p);
    buf_puts(p->out, "}");
}

static void put_definition(Printer *p, const IrStmt *s) {
    const IrName *n = s->name;
    bool keeps = s->kind != IR_STMT_VARIABLE;
    int array = 0;            /* its dimensions; what is left of the type's rank is a pointer */
    bool known = s->kind == IR_STMT_CONSTANT && p->language == LANGUAGE_CUDA;
    IrType type = n->type;
    indent(p);
    while (array < IR_RANK && n->extent[array]) array++;
    type.rank = (uint8_t)(type.rank - array);
    if (array && type.rank == 0 && type.space == IR_SHARED)
        buf_puts(p->out, p->language == LANGUAGE_CUDA ? "__shared__ " : "__local ");
    if (keeps && type.rank == 0) buf_puts(p->out, known ? "constexpr " : "const ");
    put_type(p, type);
    buf_puts(p->out, type.rank ? keeps ? "const " : "" : " ");
    buf_puts(p->out, n->text);
    for (int i = 0; i < array; i++) buf_printf(p->out, "[%lld]", (long long)n->extent[i]);
    if (s->zero) buf_puts(p->out, p->language == LANGUAGE_CUDA ? " = {}" : " = {0}");
    if (s->value) {
        buf_puts(p->out, " = ");
        put(p, s->value, 0);
    }
    buf_puts(p->out, ";\n");
}

static void put_room(Printer *p, const IrStmt *s) {
    long long bytes = s->name->extent[0];
    indent(p);
    if (p->language == LANGUAGE_OPENCL)
        buf_printf(p->out, "__local uchar %s[%lld] __attribute__((aligned(%d)));\n", s->name->text,
                   bytes, s->unroll);
    else if (bytes < 0)
        buf_printf(p->out, "extern __shared__ __align__(%d) unsigned char %s[];\n", s->unroll,
                   s->name->text);
    else
        buf_printf(p->out, "__shared__ __align__(%d) unsigned char %s[%lld];\n", s->unroll,
                   s->name->text, bytes);
}

static void put_set(Printer *p, Ir to, IrOp op, Ir value) {
    put(p, to, 0);
    buf_printf(p->out, " %s= ", op_row[op].sign);
    put(p, value, 0);
}

/* Languages without shuffles have none left (legalize.c).  */
static void put_exchange(Printer *p, const IrStmt *s) {
    static const char *const name[] = {[IR_LANE_XOR] = "__shfl_xor_sync",
                                       [IR_LANE_BELOW] = "__shfl_up_sync",
                                       [IR_LANE_NUMBER] = "__shfl_sync"};
    indent(p);
    buf_puts(p->out, "const ");
    put_type(p, s->name->type);
    buf_printf(p->out, " %s = %s(0xffffffffu, ", s->name->text, name[s->lane.which]);
    put(p, s->value, 0);
    buf_puts(p->out, ", ");
    put(p, s->lane.by, 0);
    if (s->lane.which != IR_LANE_XOR) buf_printf(p->out, ", %d", s->lane.lanes);
    buf_puts(p->out, ");\n");
}

static void put_unroll(Printer *p, int unroll) {
    if (unroll == IR_UNROLL_FREE) return;
    indent(p);
    if (unroll == IR_UNROLL_ALL) buf_puts(p->out, "#pragma unroll\n");
    else buf_printf(p->out, "#pragma unroll %d\n", unroll);
}

static void put_for(Printer *p, const IrStmt *s) {
    const char *name = s->name->text;
    put_unroll(p, s->unroll);
    indent(p);
    buf_puts(p->out, "for (");
    if (s->value) {
        put_type(p, s->name->type);
        buf_printf(p->out, " %s = ", name);
        put(p, s->value, 0);
    }
    buf_puts(p->out, "; ");
    put(p, s->test, 0);
    if (s->op == IR_ADD && ir_is(s->by, 1)) buf_printf(p->out, "; %s++", name);
    else {
        buf_printf(p->out, "; %s %s= ", name, op_row[s->op].sign);
        put(p, s->by, 0);
    }
    buf_puts(p->out, ") {\n");
    put_children(p, s->child);
    buf_puts(p->out, "\n");
}

static void put_until(Printer *p, const IrStmt *s) {
    put_unroll(p, s->unroll);
    put_text(p, "do {", "\n");
    put_children(p, s->child);
    buf_puts(p->out, s->name ? " while (++" : " while (");
    put(p, s->test, 0);
    buf_puts(p->out, ");\n");
}

static const char *jump(const IrStmt *s) {
    switch (s->kind) {
    case IR_STMT_BREAK: return "break;";
    case IR_STMT_CONTINUE: return "continue;";
    case IR_STMT_RETURN: return "return;";
    default: return NULL;
    }
}

/* Compilers tell a jump under a test from one in a block of its own: `if (x) return;` is one.  */
static void put_if(Printer *p, const IrStmt *s) {
    const char *leaves = s->child && !s->child->next && !s->other ? jump(s->child) : NULL;
    indent(p);
    buf_puts(p->out, "if (");
    put(p, s->test, 0);
    if (leaves) {
        buf_printf(p->out, ") %s\n", leaves);
        return;
    }
    buf_puts(p->out, ") {\n");
    put_children(p, s->child);
    if (s->other) {
        buf_puts(p->out, " else {\n");
        put_children(p, s->other);
    }
    buf_puts(p->out, "\n");
}

/* function(to, arguments);  What only CUDA C++ has is no statement of another language.  */
static void put_act(Printer *p, const char *function, const IrStmt *s) {
    const char *before = "(";
    buf_puts(p->out, function);
    if (s->to) {
        buf_puts(p->out, before);
        put(p, s->to, 0);
        before = ", ";
    }
    for (int i = 0; i < s->n; i++) {
        buf_puts(p->out, before);
        put(p, s->arg[i], 0);
        before = ", ";
    }
    buf_puts(p->out, s->n || s->to ? ");\n" : "();\n");
    p->texts += p->language != LANGUAGE_CUDA;
}

static void put_multiply(Printer *p, const IrStmt *s) {
    Buf name = buf_new(p->arena);
    buf_puts(&name, s->text);
    for (int i = 0; i < s->n_number; i++) {
        unsigned form = (unsigned)s->number[i];
        buf_printf(&name, form > 1 ? "%s0x%x" : "%s%u", i ? ", " : "<", form);
    }
    buf_puts(&name, s->n_number ? ">" : "");
    indent(p);
    put_act(p, buf_str(&name), s);
}

/* Barriers of warps and blocks, which every language has, and of clusters.  */
static const char *plain_sync(const IrStmt *s) {
    switch (s->scope) {
    case SYNC_WARP: return "__syncwarp";
    case SYNC_BLOCK: return "__syncthreads";
    case SYNC_PROXY: return "rl_fence_proxy";
    case SYNC_GRID: return "rl_next_may_begin";
    case SYNC_CLUSTER:
        return s->sync == SYNC_ARRIVE ? "rl_cluster_arrive"
               : s->sync == SYNC_WAIT ? "rl_cluster_wait" : "rl_cluster_sync";
    default: return NULL;
    }
}

/* Barriers in shared memory.  */
static void put_barrier(Printer *p, const IrStmt *s) {
    const char *name = s->sync == SYNC_INIT     ? "rl_barrier_init"
                       : s->sync == SYNC_WAIT   ? "rl_barrier_wait"
                       : s->number[0] > 0       ? "rl_barrier_expect"
                       : s->n > 1               ? "rl_barrier_arrive_at"
                                                : "rl_barrier_arrive";
    buf_printf(p->out, "%s(", name);
    put(p, s->arg[0], 0);
    if (s->n > 1) {
        buf_puts(p->out, ", ");
        put(p, s->arg[1], 0);
    }
    if (s->sync == SYNC_INIT || s->number[0] > 0) buf_printf(p->out, ", %d", s->number[0]);
    buf_puts(p->out, ");");
    p->texts += p->language != LANGUAGE_CUDA;
}

static void put_named(Printer *p, const IrStmt *s) {
    const char *verb = s->sync == SYNC_ARRIVE ? "arrive" : "sync";
    int64_t id;
    if (ir_is_number(s->arg[0], &id)) {
        buf_printf(p->out, "rl_bar_%s<%d, %d>();", verb, (int)id, s->number[0]);
    } else {
        buf_printf(p->out, "rl_bar_%s_at<%d>(", verb, s->number[0]);
        put(p, s->arg[0], 0);
        buf_puts(p->out, ");");
    }
    p->texts += p->language != LANGUAGE_CUDA;
}

/* Groups of what is under way.  */
static void put_group(Printer *p, const char *name, const IrStmt *s) {
    buf_puts(p->out, name);
    if (s->sync == SYNC_WAIT) buf_printf(p->out, "_wait<%d>();", s->number[0]);
    else buf_puts(p->out, s->sync == SYNC_COMMIT ? "_commit();" : "_begin();");
    p->texts += p->language != LANGUAGE_CUDA;
}

static void put_sync(Printer *p, const IrStmt *s) {
    static const char *const group[SYNC_SCOPES] = {[SYNC_COPIES] = "rl_cp_async",
                                                   [SYNC_PRODUCTS] = "rl_wgmma",
                                                   [SYNC_BULK] = "rl_bulk"};
    const char *plain = plain_sync(s);
    indent(p);
    if (plain) {
        bool known = s->scope <= SYNC_BLOCK || p->language == LANGUAGE_CUDA;
        buf_printf(p->out, "%s();", spelled(p, plain));
        p->texts += !known;
    } else if (s->scope == SYNC_BARRIER) {
        put_barrier(p, s);
    } else if (s->scope == SYNC_NAMED) {
        put_named(p, s);
    } else {
        put_group(p, group[s->scope], s);
    }
    if (s->text) buf_printf(p->out, "  // %s", s->text);
    buf_puts(p->out, "\n");
}

/* The map and its coordinates, as the prelude's functions take them.  */
static void put_box(Printer *p, const IrStmt *s) {
    int rank = s->number[0], blocks = s->number[1], loads = s->number[2];
    Buf name = buf_new(p->arena);
    Ir arg[IR_BOX + 4];
    int n = 0;
    arg[n++] = s->arg[loads ? 1 : 0];
    arg[n++] = s->arg[loads ? 0 : 1];
    if (loads) arg[n++] = s->arg[2 + rank];
    buf_printf(&name, "rl_%s_%d%s", loads ? "tile" : "box_put", rank, blocks ? "_all" : "");
    IrValue mask = {.op = IR_NUMBER, .type = ir_type(IR_I32), .i = blocks};
    if (blocks) arg[n++] = &mask;
    for (int i = 0; i < rank; i++) arg[n++] = s->arg[2 + i];
    indent(p);
    put_act(p, buf_str(&name), &(IrStmt){.arg = arg, .n = n});
}

static void put_registers(Printer *p, const IrStmt *s) {
    indent(p);
    buf_printf(p->out, "rl_registers_%s<%d>();\n", s->number[1] ? "leave" : "take", s->number[0]);
    p->texts += p->language != LANGUAGE_CUDA;
}

static void put_matrices(Printer *p, const IrStmt *s) {
    indent(p);
    put_act(p, arena_printf(p->arena, "rl_ldmatrix_x%d%s", s->number[0],
                            s->number[1] ? "_trans" : ""), s);
}

static void put_statement(Printer *p, const IrStmt *s) {
    switch (s->kind) {
    case IR_STMT_BLOCK:
        put_text(p, "{", "\n");
        put_children(p, s->child);
        buf_puts(p->out, "\n");
        return;
    case IR_STMT_LET:
    case IR_STMT_CONSTANT:
    case IR_STMT_VARIABLE: put_definition(p, s); return;
    case IR_STMT_ROOM: put_room(p, s); return;
    case IR_STMT_SET:
    case IR_STMT_DO:
        indent(p);
        if (s->kind == IR_STMT_DO) put(p, s->value, 0);
        else put_set(p, s->to, s->op, s->value);
        buf_puts(p->out, ";\n");
        return;
    case IR_STMT_MULTIPLY: put_multiply(p, s); return;
    case IR_STMT_MATRICES: put_matrices(p, s); return;
    case IR_STMT_SYNC: put_sync(p, s); return;
    case IR_STMT_BOX: put_box(p, s); return;
    case IR_STMT_SETTLE:
        indent(p);
        put_act(p, "rl_wgmma_settle", s);
        return;
    case IR_STMT_REGISTERS: put_registers(p, s); return;
    case IR_STMT_FOR: put_for(p, s); return;
    case IR_STMT_UNTIL: put_until(p, s); return;
    case IR_STMT_IF: put_if(p, s); return;
    case IR_STMT_BREAK:
    case IR_STMT_CONTINUE:
    case IR_STMT_RETURN: put_text(p, jump(s), "\n"); return;
    case IR_STMT_NOTE:
        indent(p);
        buf_printf(p->out, "// %s\n", s->text);
        return;
    case IR_STMT_BLANK: buf_puts(p->out, "\n"); return;
    case IR_STMT_WAIT:
        put_text(p, "rl_previous_wait();", "\n");
        put_all(p, s->child);
        return;
    case IR_STMT_EXCHANGE: put_exchange(p, s); return;
    case IR_STMT_LINE:
        put_text(p, s->text, "\n");
        p->texts++;
        return;
    case IR_STMT_OPEN:
        p->texts++;
        put_text(p, s->text, *s->text ? " {\n" : "{\n");
        put_children(p, s->child);
        buf_puts(p->out, "\n");
        return;
    case IR_STMT_COUNT: return;
    }
}

static void put_all(Printer *p, const IrStmt *first) {
    for (const IrStmt *s = first; s; s = s->next) put_statement(p, s);
}

void ir_print_parameter(Arena *a, HalLanguage language, Ir name, Buf *out) {
    Printer p = {.arena = a, .language = language, .out = out};
    if (name->type.rank == 0) buf_puts(out, "const ");
    put_type(&p, name->type);
    if (name->type.rank)
        buf_puts(out, language == LANGUAGE_CUDA ? "__restrict__ " : "restrict ");
    else buf_puts(out, " ");
    buf_puts(out, name->name->text);
}

int ir_print(Arena *a, HalLanguage language, const IrStmt *first, int depth, Buf *out) {
    Printer p = {.arena = a, .language = language, .out = out, .depth = depth};
    put_all(&p, first);
    return p.texts;
}
