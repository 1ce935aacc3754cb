#include "codegen/print/ir_print.h"

/* The printer of statements, each kind in one place, in both languages.  */

static void put_text(Printer *p, const char *text, const char *end) {
    ir_put_indent(p);
    buf_puts(p->out, text);
    buf_puts(p->out, end);
}

static void put_all(Printer *p, const IrStmt *first);

static void put_children(Printer *p, const IrStmt *first) {
    p->depth++;
    put_all(p, first);
    p->depth--;
    ir_put_indent(p);
    buf_puts(p->out, "}");
}

static void put_definition(Printer *p, const IrStmt *s) {
    const IrName *n = s->name;
    bool keeps = s->kind != IR_STMT_VARIABLE;
    int array = 0;            /* its dimensions; what is left of the type's rank is a pointer */
    bool known = s->kind == IR_STMT_CONSTANT && p->language == LANGUAGE_CUDA;
    IrType type = n->type;
    ir_put_indent(p);
    while (array < IR_RANK && s->extent[array]) array++;
    type.rank = (uint8_t)(type.rank - array);
    if (array && type.rank == 0 && type.space == IR_SHARED)
        buf_puts(p->out, p->language == LANGUAGE_CUDA ? "__shared__ " : "__local ");
    if (keeps && type.rank == 0) buf_puts(p->out, known ? "constexpr " : "const ");
    ir_put_type(p, type);
    buf_puts(p->out, type.rank ? keeps ? "const " : "" : " ");
    buf_puts(p->out, n->text);
    for (int i = 0; i < array; i++) buf_printf(p->out, "[%lld]", (long long)s->extent[i]);
    if (s->zero) buf_puts(p->out, p->language == LANGUAGE_CUDA ? " = {}" : " = {0}");
    if (s->value) {
        buf_puts(p->out, " = ");
        ir_put(p, s->value, 0);
    }
    buf_puts(p->out, ";\n");
}

static void put_room(Printer *p, const IrStmt *s) {
    long long bytes = s->extent[0];
    const char *name = s->name->text;
    ir_put_indent(p);
    if (p->language == LANGUAGE_OPENCL)
        buf_printf(p->out, "__local uchar %s[%lld] __attribute__((aligned(%d)));\n", name, bytes,
                   s->unroll);
    else if (bytes < 0)
        buf_printf(p->out, "extern __shared__ __align__(%d) unsigned char %s[];\n", s->unroll,
                   name);
    else
        buf_printf(p->out, "__shared__ __align__(%d) unsigned char %s[%lld];\n", s->unroll, name,
                   bytes);
}

/* Languages without shuffles have none left (legalize.c).  */
static void put_exchange(Printer *p, const IrStmt *s) {
    static const char *const name[] = {[IR_LANE_XOR] = "__shfl_xor_sync",
                                       [IR_LANE_BELOW] = "__shfl_up_sync",
                                       [IR_LANE_NUMBER] = "__shfl_sync"};
    ir_put_indent(p);
    buf_puts(p->out, "const ");
    ir_put_type(p, s->name->type);
    buf_printf(p->out, " %s = %s(0xffffffffu, ", s->name->text, name[s->lane.which]);
    ir_put(p, s->value, 0);
    buf_puts(p->out, ", ");
    ir_put(p, s->lane.by, 0);
    if (s->lane.which != IR_LANE_XOR) buf_printf(p->out, ", %d", s->lane.lanes);
    buf_puts(p->out, ");\n");
}

static void put_unroll(Printer *p, int unroll) {
    if (unroll == IR_UNROLL_FREE) return;
    ir_put_indent(p);
    if (unroll == IR_UNROLL_ALL) buf_puts(p->out, "#pragma unroll\n");
    else buf_printf(p->out, "#pragma unroll %d\n", unroll);
}

static void put_for(Printer *p, const IrStmt *s) {
    const char *name = s->name->text;
    put_unroll(p, s->unroll);
    ir_put_indent(p);
    buf_puts(p->out, "for (");
    if (s->value) {
        ir_put_type(p, s->name->type);
        buf_printf(p->out, " %s = ", name);
        ir_put(p, s->value, 0);
    }
    buf_puts(p->out, "; ");
    ir_put(p, s->test, 0);
    if (s->op == IR_ADD && ir_is(s->by, 1)) buf_printf(p->out, "; %s++", name);
    else {
        buf_printf(p->out, "; %s %s= ", name, ir_sign(s->op));
        ir_put(p, s->by, 0);
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
    ir_put(p, s->test, 0);
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
    ir_put_indent(p);
    buf_puts(p->out, "if (");
    ir_put(p, s->test, 0);
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
        ir_put_indent(p);
        if (s->kind == IR_STMT_DO) ir_put(p, s->value, 0);
        else ir_put_set(p, s->to, s->op, s->value);
        buf_puts(p->out, ";\n");
        return;
    case IR_STMT_FOR: put_for(p, s); return;
    case IR_STMT_UNTIL: put_until(p, s); return;
    case IR_STMT_IF: put_if(p, s); return;
    case IR_STMT_BREAK:
    case IR_STMT_CONTINUE:
    case IR_STMT_RETURN: put_text(p, jump(s), "\n"); return;
    case IR_STMT_NOTE:
        ir_put_indent(p);
        buf_printf(p->out, "// %s\n", s->text);
        return;
    case IR_STMT_BLANK: buf_puts(p->out, "\n"); return;
    case IR_STMT_WAIT:
        put_text(p, "rl_previous_wait();", "\n");
        put_all(p, s->child);
        return;
    case IR_STMT_EXCHANGE: put_exchange(p, s); return;
    default: ir_put_act(p, s);
    }
}

static void put_all(Printer *p, const IrStmt *first) {
    for (const IrStmt *s = first; s; s = s->next) put_statement(p, s);
}

static Printer printer(const Cg *c, int depth, Buf *out) {
    return (Printer){.arena = c->arena,
                     .language = c->language,
                     .out = out,
                     .depth = depth};
}

static void put_parameter(Printer *p, ParamKind kind, const IrName *name) {
    bool pointer = name->type.rank > 0;
    if (!pointer) buf_puts(p->out, "const ");
    if (kind == PARAM_MAP) buf_puts(p->out, "__grid_constant__ rl_map");
    else ir_put_type(p, name->type);
    if (pointer) buf_puts(p->out, p->language == LANGUAGE_CUDA ? "__restrict__" : "restrict");
    buf_printf(p->out, " %s", name->text);
}

void ir_print_parameters(const Cg *c, const KernelParam *p, const Ir *name, int n, Buf *out) {
    Printer to = printer(c, 0, out);
    for (int i = 0; i < n; i++) {
        if (i) buf_puts(out, ",\n    ");
        put_parameter(&to, p[i].kind, name[i]->name);
    }
}

void ir_print(const Cg *c, const IrStmt *first, int depth, Buf *out) {
    Printer p = printer(c, depth, out);
    put_all(&p, first);
}
