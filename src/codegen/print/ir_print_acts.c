#include "codegen/print/ir_print.h"

/* The printers of what hardware has an instruction for: products of matrices, what they read,
 * syncs, boxes, registers of a role.  */

/* function(to, arguments);  Only CUDA C++ has them (legalize.c).  */
static void put_act(Printer *p, const char *function, const IrStmt *s) {
    const char *before = "(";
    buf_puts(p->out, function);
    if (s->to) {
        buf_puts(p->out, before);
        ir_put(p, s->to, 0);
        before = ", ";
    }
    for (int i = 0; i < s->n; i++) {
        buf_puts(p->out, before);
        ir_put(p, s->arg[i], 0);
        before = ", ";
    }
    buf_puts(p->out, s->n || s->to ? ");\n" : "();\n");
}

static void put_multiply(Printer *p, const IrStmt *s) {
    Buf name = buf_new(p->arena);
    buf_puts(&name, s->text);
    for (int i = 0; i < s->n_number; i++) {
        unsigned form = (unsigned)s->number[i];
        buf_printf(&name, form > 1 ? "%s0x%x" : "%s%u", i ? ", " : "<", form);
    }
    buf_puts(&name, s->n_number ? ">" : "");
    put_act(p, buf_str(&name), s);
}

/* Barriers of warps and blocks, which every language has, and of clusters.  */
static const char *plain_sync(const IrStmt *s) {
    switch (s->scope) {
    case SYNC_WARP: return "__syncwarp";
    case SYNC_BLOCK: return "__syncthreads";
    case SYNC_PROXY: return "rl_fence_proxy";
    case SYNC_TENSOR: return s->sync == SYNC_ARRIVE ? "rl_tcgen05_before" : "rl_tcgen05_after";
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
                       : s->sync == SYNC_COMMIT
                           ? s->number[2]       ? "rl_cp_async_arrive"
                             : s->number[1]     ? "rl_tcgen05_commit_pair"
                             : s->number[0] > 0 ? "rl_tcgen05_commit_at" : "rl_tcgen05_commit"
                       : s->number[1]           ? "rl_barrier_expect_at"
                       : s->number[0] > 0       ? "rl_barrier_expect"
                       : s->n > 1               ? "rl_barrier_arrive_at"
                                                : "rl_barrier_arrive";
    buf_printf(p->out, "%s(", name);
    ir_put(p, s->arg[0], 0);
    if (s->n > 1) {
        buf_puts(p->out, ", ");
        ir_put(p, s->arg[1], 0);
    }
    if (s->sync == SYNC_INIT || s->number[0] > 0) buf_printf(p->out, ", %d", s->number[0]);
    buf_puts(p->out, ");");
}

static void put_named(Printer *p, const IrStmt *s) {
    const char *verb = s->sync == SYNC_ARRIVE ? "arrive" : "sync";
    int64_t id;
    if (ir_is_number(s->arg[0], &id)) {
        buf_printf(p->out, "rl_bar_%s<%d, %d>();", verb, (int)id, s->number[0]);
    } else {
        buf_printf(p->out, "rl_bar_%s_at<%d>(", verb, s->number[0]);
        ir_put(p, s->arg[0], 0);
        buf_puts(p->out, ");");
    }
}

/* Groups of what is under way.  */
static void put_group(Printer *p, const char *name, const IrStmt *s) {
    buf_puts(p->out, name);
    if (s->sync == SYNC_WAIT) buf_printf(p->out, "_wait<%d>();", s->number[0]);
    else buf_puts(p->out, s->sync == SYNC_COMMIT ? "_commit();" : "_begin();");
}

static void put_sync(Printer *p, const IrStmt *s) {
    static const char *const group[SYNC_SCOPES] = {[SYNC_COPIES] = "rl_cp_async",
                                                   [SYNC_PRODUCTS] = "rl_wgmma",
                                                   [SYNC_BULK] = "rl_bulk"};
    const char *plain = plain_sync(s);
    if (plain) {
        buf_printf(p->out, "%s();", ir_spelled(p, plain));
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

static void put_copy(Printer *p, const IrStmt *s) {
    bool some = s->n == 4;
    Ir arg[4] = {s->arg[3 * some]};
    for (int i = 0; i < 3; i++) arg[some + i] = s->arg[i];
    put_act(p, arena_printf(p->arena, "%s%s", s->text, some ? "_if" : ""),
            &(IrStmt){.arg = arg, .n = s->n});
}

/* The map, its coordinates and offsets, as the prelude's functions take them.  */
static void put_box(Printer *p, const IrStmt *s) {
    int rank = s->number[0], offsets = s->number[1], blocks = s->number[2], loads = s->number[3];
    Buf name = buf_new(p->arena);
    Ir arg[2 * IR_BOX + 4];
    int n = 0;
    arg[n++] = s->arg[loads ? 1 : 0];
    arg[n++] = s->arg[loads ? 0 : 1];
    if (loads) arg[n++] = s->arg[2 + rank + offsets];
    buf_printf(&name, "rl_%s_%d%s", offsets ? "pixels" : loads ? "tile" : "box_put", rank,
               blocks ? "_all" : s->number[4] ? "_pair" : "");
    IrValue mask = {.op = IR_NUMBER, .type = ir_type(IR_I32), .i = blocks};
    if (blocks) arg[n++] = &mask;
    for (int i = 0; i < rank + offsets; i++) arg[n++] = s->arg[2 + i];
    put_act(p, buf_str(&name), &(IrStmt){.arg = arg, .n = n});
}

static void put_registers(Printer *p, const IrStmt *s) {
    buf_printf(p->out, "rl_registers_%s<%d>();\n", s->number[1] ? "leave" : "take", s->number[0]);
}

static void put_matrices(Printer *p, const IrStmt *s) {
    put_act(p, arena_printf(p->arena, "rl_ldmatrix_x%d%s", s->number[0],
                            s->number[1] ? "_trans" : ""), s);
}

void ir_put_act(Printer *p, const IrStmt *s) {
    ir_put_indent(p);
    switch (s->kind) {
    case IR_STMT_MULTIPLY: put_multiply(p, s); return;
    case IR_STMT_MATRICES: put_matrices(p, s); return;
    case IR_STMT_SYNC: put_sync(p, s); return;
    case IR_STMT_COPY: put_copy(p, s); return;
    case IR_STMT_BOX: put_box(p, s); return;
    case IR_STMT_SETTLE: put_act(p, "rl_wgmma_settle", s); return;
    case IR_STMT_REGISTERS: put_registers(p, s); return;
    default: return;
    }
}
