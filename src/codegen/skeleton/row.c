#include "codegen/block/product.h"
#include "codegen/elements/reduction.h"
#include "codegen/skeleton/row.h"
#include "codegen/expr/sizes.h"
#include <string.h>

/* Kernels of row groups: which rows a block has, where they lie, and what is kept of them.  */

static const RowFacts *facts(const Kernel *k) { return rprog_row_facts(k->task->p, k->task->r); }

static const TeStmt *frame_of(const Kernel *k) {
    return &k->cg->te->stmt[facts(k)->group->frame];
}

bool row_ragged(const Kernel *k) {
    return index_ragged(&k->task->map, 0);
}

/* A row that may have no columns at run time ends within a step unless a loop counts its steps.  */
bool row_ends_within(const Kernel *k) {
    if (index_ragged(&k->task->map, 1)) return true;
    return !row_loops(k) && row_columns(k).min == 0;
}

TeExtent row_columns(const Kernel *k) {
    return index_extent(k->cg->arena, &k->task->map, 1);
}

/* The columns of a row or a slice are more than one step.  */
bool row_loops(const Kernel *k) {
    return k->task->r->split > 1 || k->task->p->extent[AX_N] > k->task->r->block.extent[AX_N];
}

bool row_wide(const Kernel *k) {
    return place_wide(k->task->p->extent[AX_N], 2 * (int64_t)k->task->r->block.extent[AX_N]);
}

Ir row_stepped(const Kernel *k, const RowSource *s, Ir col) {
    const Cg *cg = k->cg;
    if (s->varies >= 0)
        return ir_mul(cg, ir_cast(cg, IR_I64, col), size_of_stride(cg, &s->access, s->varies));
    int64_t size = s->at.step < 0 ? -s->at.step : s->at.step;
    bool wide = row_wide(k) || k->task->p->extent[AX_N] * size > INT32_MAX / 2;
    if (s->at.step == 1) return col;
    return ir_mul(cg, wide ? ir_cast(cg, IR_I64, col) : col, cg_int(cg, TE_I64, s->at.step));
}

IrBase row_base(const Kernel *k) { return place_base(row_wide(k)); }

bool row_ends(const Kernel *k) { return rprog_row_ends(k->task->p, k->task->r); }

/* A pointer to an access's elements of the row.  */
static Ir row_offset(const Kernel *k, const Access *x, Ir sum) {
    const Cg *cg = k->cg;
    const TeStmt *frame = frame_of(k);
    const Affine *f = &x->offset;
    sum = size_add_offset(cg, x, 0, sum);
    for (int i = 0; i < frame->n_left; i++) {
        if (f->coef[i] == 0 || frame->index[i].hi.value <= 1) continue;
        Ir at = k->at.index[i];
        bool varies = x->varies >> i & 1;
        Ir term = varies ? ir_mul(cg, ir_cast(cg, IR_I64, at), size_of_stride(cg, x, i))
                         : ir_mul(cg, at, ir_number(cg, IR_I64, f->coef[i]));
        sum = ir_sum(cg, sum, term);
    }
    return sum;
}

void row_write(const Kernel *k, int i, Access *x) {
    const RowGroup *g = facts(k)->group;
    const TeStmt *s = &k->cg->te->stmt[g->stmt[i]];
    access_write(k->cg->te, s, x);
    rtile_row_access(g->axis[i], s->n_index, x);
}

static void pointers(Kernel *k) {
    Cg *cg = k->cg;
    const RowFacts *f = facts(k);
    const RowGroup *g = f->group;
    for (int n = 0; n < f->n_source; n++) {
        const RowSource *s = &f->source[n];
        Ir at = row_offset(k, &s->access, cg_tensor(cg, s->tensor));
        k->row->source[n] = ir_let(cg, ir_numbered(cg, "p", n), ir_const(cg, at));
    }
    for (int i = 0; i < g->n; i++) {
        int t = cg->te->stmt[g->stmt[i]].tensor;
        if (g->role[i] != ROW_MAP || !elements_in_memory(k, t)) continue;
        Access x;
        row_write(k, i, &x);
        k->at.pointer[t] = ir_let(cg, cg_name(cg, "q", t), row_offset(k, &x, cg_tensor(cg, t)));
    }
}

/* Where the vectors of a row begin, and how many columns they have.  */
static void body(Kernel *k) {
    Cg *cg = k->cg;
    Walk *w = &k->walk;
    if (!row_ends(k)) return;
    Ir at = row_offset(k, &facts(k)->peel, NULL), vec = product_size(k, 'V', AX_N);
    Ir last = ir_sub(cg, vec, ir_int(cg, 1));
    w->skip = ir_let_as(cg, IR_I32, "skip",
                        ir_binary(cg, IR_AND, ir_cast(cg, IR_I32, at ? at : ir_int(cg, 0)), last));
    Ir head = ir_binary(cg, IR_AND, ir_unary(cg, IR_NEG, w->skip), last);
    if (row_wide(k)) head = ir_cast(cg, IR_I64, head);
    w->head = ir_let_as(cg, IR_I32, "head",
                        ir_as(cg, IR_I32, ir_min(cg, head, ir_as(cg, row_base(k), w->length))));
    w->body = ir_let_as(cg, row_base(k), "body",
                        ir_binary(cg, IR_AND, ir_sub(cg, w->length, w->head),
                                  ir_unary(cg, IR_NEG, vec)));
}

void row_constants(Kernel *k) {
    Cg *cg = k->cg;
    const Problem *p = k->task->p;
    const RProg *r = k->task->r;
    Walk *w = &k->walk;
    w->results = size_named(cg, "M", place_base(p->extent[AX_M] > INT32_MAX),
                       index_extent(cg->arena, &k->task->map, 0));
    w->length = size_named(cg, "N", place_base(p->extent[AX_N] > INT32_MAX), row_columns(k));
    product_put_size(k, 'B', AX_M, r->block.extent[AX_M]);
    product_put_size(k, 'L', AX_N, rprog_row_threads(r));
    product_put_size(k, 'B', AX_N, r->block.extent[AX_N]);
    product_put_size(k, 'T', AX_N, r->thread.extent[AX_N]);
    product_put_size(k, 'V', AX_N, r->store_vec);
    if (k->l->layout->shared > 0) kernel_smem(k, 128);
}

/* ---- places ---- */

/* A row of the matrix, not one beyond its end.  */
static Ir is_row(const Kernel *k) {
    return row_ragged(k) ? ir_lt(k->cg, k->walk.at, k->walk.results) : NULL;
}

Ir row_leads(const Kernel *k) {
    const Cg *cg = k->cg;
    return ir_both(cg, ir_binary(cg, IR_EQ, k->walk.lane, ir_int(cg, 0)), is_row(k));
}

void row_known(Kernel *k, int pass, bool stores) {
    const Cg *cg = k->cg;
    bool slices = k->l->launch.grid[1] > 1;
    Ir first = slices ? ir_binary(cg, IR_EQ, ir_block(cg, 1), ir_int(cg, 0)) : NULL;
    reduction_values(k, facts(k)->group, pass, ir_both(cg, row_leads(k), first), NULL, stores);
}

/* The row of the thread.  */
static void place_own(Kernel *k) {
    Cg *cg = k->cg;
    Walk *w = &k->walk;
    const RProg *r = k->task->r;
    IrBase base = reduction_base(k);
    Ir lanes = ir_number(cg, IR_U32, rprog_row_threads(r));
    w->tid = ir_let_as(cg, IR_I32, "tid", ir_thread(cg));
    Ir rows = ir_number(cg, IR_U32, r->block.extent[AX_M]);
    bool strips = rprog_row_strips(k->task->p);
    w->lane = ir_let_as(cg, IR_I32, "lane", strips ? ir_div(cg, w->tid, rows)
                                                   : ir_rem(cg, w->tid, lanes));
    Ir first = ir_mul(cg, ir_as(cg, base, ir_block(cg, 0)), product_size(k, 'B', AX_M));
    Ir own = strips ? ir_rem(cg, w->tid, rows) : ir_div(cg, w->tid, lanes);
    w->at = w->read = ir_let_as(cg, base, "m", ir_add(cg, first, own));
    if (row_ragged(k))
        w->read = ir_let_as(cg, base, "row", ir_min(cg, w->at, ir_add_n(cg, w->results, -1)));
}

/* The steps of the block.  */
static void place_steps(Kernel *k) {
    Cg *cg = k->cg;
    Walk *w = &k->walk;
    Arena *a = cg->arena;
    IrBase base = row_base(k);
    TeExtent all = index_tiles(a, &k->task->map, 1);
    w->first = ir_number(cg, base, 0);
    if (k->task->r->split > 1) {
        Ir slice = size_value(cg, index_slice_steps(a, &k->task->map, 1, k->task->r->split));
        Ir end = ir_as(cg, base, size_value(cg, all));
        w->first = ir_let_as(cg, base, "first",
                             ir_mul(cg, ir_as(cg, base, ir_block(cg, 1)), slice));
        w->end = ir_let_as(cg, base, "steps", ir_min(cg, ir_add(cg, w->first, slice), end));
    } else if (row_loops(k)) {
        w->end = size_named(cg, "steps", row_base(k), all);
    }
}

/* Where warps of a row meet in the passes of the kernel.  */
static void place_meetings(Kernel *k) {
    int last = k->task->r->split > 1 ? k->l->pass : facts(k)->group->n_pass - 1;
    if (rprog_row_parts(k->task->p, k->task->r) <= 1) return;
    for (int pass = 0; pass <= last; pass++) reduction_rooms(k, facts(k)->group, pass);
}

void row_place(Kernel *k, const Node *n) {
    bool stores = n->to;
    k->row = ARENA_NEW(k->cg->arena, RowAt);
    const TeStmt *frame = frame_of(k);
    ir_note(k->cg, "rows");
    place_own(k);
    place_axis(k, 0, k->walk.read, reduction_wide(k), k->at.index, k->at.wide);
    pointers(k);
    body(k);
    for (int i = frame->n_left; i < frame->n_index; i++) k->at.index[i] = ir_int(k->cg, 0);
    place_steps(k);
    place_meetings(k);
    row_known(k, -1, stores);
    ir_simple(k->cg, IR_STMT_BLANK);
}

/* ---- kept in shared memory ---- */

/* Copies `width` elements at once.  */
static void copy(Kernel *k, Ir to, Ir from, int width, bool async) {
    Cg *cg = k->cg;
    int bytes = width * ir_bytes((IrBase)to->type.base);
    if (async) {
        ir_do(cg, ir_call(cg, ir_type(IR_VOID), ir_numbered(cg, "rl_cp_async_", bytes), 3,
                          ir_call(cg, ir_type(IR_U32), "rl_shared", 1, to), from,
                          ir_bool(cg, true)));
    } else if (width == 1) {
        ir_set(cg, ir_element(cg, to, ir_int(cg, 0)), ir_element(cg, from, ir_int(cg, 0)));
    } else {
        Ir x = ir_let(cg, "x", ir_load(cg, from, width));
        ir_store(cg, NULL, width, to, ir_unary(cg, IR_ADDRESS, ir_lane(cg, x, ir_int(cg, 0))));
    }
}

/* Opens the loop over the vectors of a row; the first column of one.  */
static Ir open_row(Kernel *k) {
    Cg *cg = k->cg;
    const Walk *w = &k->walk;
    bool ends = row_ends(k);
    Ir at = ir_name(cg, ir_type(IR_I32), ends ? "at" : "col");
    Ir vec = product_size(k, 'V', AX_N);
    ir_loop(cg, at, ir_mul(cg, w->lane, vec),
            ir_both(cg, is_row(k), ir_lt(cg, at, ends ? w->body : w->length)),
            (IrNext){IR_ADD, ir_mul(cg, product_size(k, 'L', AX_N), vec)}, 4);
    return ends ? ir_let_as(cg, IR_I32, "col", ir_add(cg, w->head, at)) : at;
}

static void copy_row(Kernel *k, int n, int width, bool async) {
    Cg *cg = k->cg;
    const RowSource *s = &facts(k)->source[n];
    int accesses = k->task->r->store_vec / width;
    Ir col = open_row(k);
    if (accesses > 1)
        col = ir_add(cg, col, ir_mul_n(cg, ir_count(cg, "f", accesses, IR_UNROLL_ALL), width));
    Ir from = ir_add_parts(cg, k->row->source[n], row_stepped(k, s, col));
    copy(k, ir_add_parts(cg, k->row->held[n], col), from, width, async);
    if (accesses > 1) ir_close(cg);
    ir_close(cg);
}

/* How many elements of the rows of a block there are.  */
static Ir range_end(Kernel *k) {
    Cg *cg = k->cg;
    const Walk *w = &k->walk;
    Ir rows = product_size(k, 'B', AX_M), all = ir_mul(cg, rows, w->length);
    if (!row_ragged(k)) return all;
    Ir first = ir_mul(cg, ir_cast(cg, IR_I64, ir_block(cg, 0)), rows);
    Ir left = ir_mul(cg, ir_sub(cg, w->results, first), w->length);
    return ir_let(cg, "live", ir_cast(cg, IR_I32, ir_min(cg, left, ir_cast(cg, IR_I64, all))));
}

/* The elements behind the last whole vector of `live`.  */
static void copy_rest(Kernel *k, Ir to, Ir from, Ir live, int vec) {
    Cg *cg = k->cg;
    Ir at = ir_name(cg, ir_type(IR_I32), "at"), rest = ir_rem(cg, live, ir_int(cg, vec));
    ir_loop(cg, at, ir_add(cg, ir_sub(cg, live, rest), k->walk.tid), ir_lt(cg, at, live),
            (IrNext){IR_ADD, ir_int(cg, k->l->launch.block[0])}, IR_UNROLL_FREE);
    ir_set(cg, ir_element(cg, to, at), ir_element(cg, from, at));
    ir_close(cg);
}

/* The rows of the block as one range: whole vectors, and what is left of the last block.  */
static void copy_range(Kernel *k, int n, bool async) {
    enum { BYTES = RTILE_ACCESS };
    Cg *cg = k->cg;
    const Walk *w = &k->walk;
    const RowSource *s = &facts(k)->source[n];
    int vec = BYTES / s->bytes, threads = k->l->launch.block[0];
    Ir rows = ir_mul(cg, product_size(k, 'B', AX_M), w->length);
    ir_scope(cg);
    Ir from = ir_add(cg, cg_tensor(cg, s->tensor),
                     ir_mul(cg, ir_cast(cg, IR_I64, ir_block(cg, 0)), rows));
    from = ir_add(cg, from, ir_int(cg, s->access.offset.c));
    from = ir_let(cg, "from", ir_const(cg, from));
    Ir row = ir_div(cg, w->tid, product_size(k, 'L', AX_N));
    Ir to = ir_let(cg, "to", ir_sub(cg, k->row->held[n], ir_mul(cg, row, w->length)));
    Ir live = range_end(k), at = ir_name(cg, ir_type(IR_I32), "at");
    ir_loop(cg, at, ir_mul_n(cg, w->tid, vec), ir_binary(cg, IR_LE, at, ir_add_n(cg, live, -vec)),
            (IrNext){IR_ADD, ir_int(cg, threads * vec)}, 4);
    copy(k, ir_add(cg, to, at), ir_add(cg, from, at), vec, async);
    ir_close(cg);
    if (row_ragged(k) && vec > 1) copy_rest(k, to, from, live, vec);
    ir_close(cg);
}

void row_hold(Kernel *k, const Node *x) {
    Cg *cg = k->cg;
    const RowSource *s = &facts(k)->source[x->of];
    const Room *room = rprog_room(k->l->layout, ROOM_ROWS, x->of);
    bool flat = k->task->r->keep == KEEP_FLAT;
    Ir row = ir_div(cg, k->walk.tid, product_size(k, 'L', AX_N));
    IrBase base = ir_storage(cg->te->tensor[s->tensor].dtype);
    Ir at = smem_at(k, base, false, ir_int(cg, room->at));
    at = ir_add(cg, at, ir_mul_n(cg, row, room->row / s->bytes));
    k->row->held[x->of] = ir_let(cg, ir_numbered(cg, "h", x->of),
                                 row_ends(k) ? ir_add(cg, at, k->walk.skip) : at);
    if (s->made) return;
    if (flat) copy_range(k, x->of, x->mover >= 0);
    else copy_row(k, x->of, rprog_row_copy_width(k->task->p, k->task->r, x->of), x->mover >= 0);
}
