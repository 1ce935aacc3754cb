#include "codegen/expr/sizes.h"
#include "codegen/elements/elements.h"

/* Where the outputs of a thread of `contract` lie: pointers to the first ones, and what its loops
 * add.  A position along M or N is `own` of the thread plus `step` of the loops, which is a number
 * once they are unrolled: a compiler that is given sums of both spends most of its time on taking
 * them apart again, and finds less.  Where a loop's part is no number either, there are a pointer
 * and a position for each of its turns.  */

/* Index of statement `stmt` that runs with the root's index; -1: none.  */
static int index_with(const Kernel *k, int stmt, int root_index) {
    const TeStmt *s = &k->cg->te->stmt[stmt];
    for (int j = 0; j < s->n_left; j++)
        if (elements_root_index(k, stmt, j) == root_index) return j;
    return -1;
}

static bool is_one(const TeExtent *e) { return !e->expr && e->value == 1; }

/* Does the statement run with all indices of an axis?  */
static bool runs_along(const Kernel *k, int stmt, AxisClass axis) {
    const FusedAxis *f = &k->task->p->con.axis[axis];
    for (int i = 0; i < f->n; i++) {
        bool one = is_one(&k->c->root->index[f->index[i]].hi);
        if (!one && index_with(k, stmt, f->index[i]) < 0) return false;
    }
    return true;
}

/* Where the indices of an axis begin that end before `end` and lie in memory one after the other:
 * the offset of a write is a multiple of their joint position.  `stride`: of which; NULL: they are
 * one element.  */
static int run_before(const Kernel *k, int stmt, const Access *x, const FusedAxis *f, int end,
                      Ir *stride) {
    int64_t below = 1;
    int inner = -1;
    *stride = NULL;
    for (int i = end - 1; i >= 0; i--) {
        const TeExtent *e = &k->c->root->index[f->index[i]].hi;
        if (is_one(e)) continue;
        int j = index_with(k, stmt, f->index[i]);
        bool fixed = !e->expr && !(x->varies >> j & 1);
        if (inner >= 0 && (!fixed || below == 0 ||
                           x->offset.coef[j] != x->offset.coef[inner] * below))
            return i + 1;
        if (inner < 0) {
            inner = j;
            *stride = size_of_stride(k->cg, x, j);
        }
        below = fixed ? below * e->value : 0;
    }
    return 0;
}

/* Is the offset of a write a multiple of the position along an axis, also where that is a number of
 * several digits?  */
static bool is_linear(const Kernel *k, int stmt, const Access *x, AxisClass axis, Ir *stride) {
    const FusedAxis *f = &k->task->p->con.axis[axis];
    return run_before(k, stmt, x, f, f->n, stride) == 0;
}

/* sum + value * stride; any of them may be NULL, the first for 0, the others for no value.  */
static Ir add(const Cg *cg, Ir sum, bool wide, Ir value, Ir stride) {
    if (!value || !stride) return sum;
    return ir_sum(cg, sum, ir_mul(cg, wide ? ir_as(cg, IR_I64, value) : value, stride));
}

/* sum + the part of an axis by its indices.  */
static Ir add_indices(const Kernel *k, int stmt, const Access *x, AxisClass axis, Ir sum) {
    const FusedAxis *f = &k->task->p->con.axis[axis];
    for (int i = 0; i < f->n; i++) {
        if (is_one(&k->c->root->index[f->index[i]].hi)) continue;
        int j = index_with(k, stmt, f->index[i]);
        sum = add(k->cg, sum, cg_tensor_wide(k->cg, x->tensor), k->at.index[f->index[i]],
                  size_of_stride(k->cg, x, j));
    }
    return sum;
}

/* sum + the part of an axis by its position, from which each run of indices is taken as one.  */
static Ir add_axis(const Kernel *k, int stmt, const Access *x, AxisClass axis, Ir position,
                   Ir sum) {
    const Cg *cg = k->cg;
    const FusedAxis *f = &k->task->p->con.axis[axis];
    Ir stride[TE_MAX_INDICES], digit[TE_MAX_INDICES];
    TeExtent count[TE_MAX_INDICES] = {{0}};
    int first = TE_MAX_INDICES;
    for (int end = f->n, from; end > 0; end = from) {
        first--;
        from = run_before(k, stmt, x, f, end, &stride[first]);
        count[first] = size_product(cg->arena, k->c->root, f->index + from, end - from);
    }
    place_digits(cg, position, count + first, TE_MAX_INDICES - first, place_wide(f->extent, 0),
                 digit + first);
    for (int i = TE_MAX_INDICES - 1; i >= first; i--)
        sum = add(cg, sum, cg_tensor_wide(cg, x->tensor), digit[i], stride[i]);
    return sum;
}

/* ---- positions ---- */

void store_position(Kernel *k, AxisClass axis, Ir own, Ir step) {
    const char *name = axis == AX_M ? "m_at" : "n_at";
    k->at.own[axis == AX_N] = ir_let_as(k->cg, place_along_base(k, axis), name, own);
    k->at.step[axis == AX_N] = step;
}

void store_turns(Kernel *k, const Turns *turns) {
    Turns *t = &k->at.turns;
    *t = *turns;
    if (t->from) {
        IrType pointer = t->from->type;
        Ir all = ir_array(k->cg, pointer, "from", t->count, 0, 0);
        t->filled = ir_element(k->cg, all, t->turn);
    }
    for (int i = 0; i < 2 && t->part[0]; i++) {
        IrType type = ir_type(place_along_base(k, i ? AX_N : AX_M));
        Ir all = ir_array(k->cg, type, i ? "n_by" : "m_by", t->count, 0, 0);
        t->at[i] = ir_element(k->cg, all, t->turn);
    }
}

/* A position: of the thread, and what its loops add.  */
static Ir store_at(const Kernel *k, AxisClass axis) {
    Ir step = k->at.step[axis == AX_N], own = k->at.own[axis == AX_N];
    const Turns *t = &k->at.turns;
    if (t->part[0]) return axis == AX_N ? t->at[1] : ir_add(k->cg, t->at[0], t->rest);
    return step ? ir_add(k->cg, own, step) : own;
}

void store_open_inside(Kernel *k, AxisClass axis, bool ragged) {
    Cg *cg = k->cg;
    Ir *at = axis == AX_M ? &k->var.m : &k->var.n;
    *at = ir_let_as(cg, place_along_base(k, axis), axis == AX_M ? "m" : "n", store_at(k, axis));
    if (!ragged) return;
    ir_if(cg, ir_lt(cg, *at, product_extent(k, axis)));
    k->at.open++;
}

/* Where a turn is along an axis.  */
static Ir turn_at(const Kernel *k, AxisClass axis) {
    int i = axis == AX_N;
    if (!k->at.turns.part[i]) return k->at.own[i];
    return i ? k->var.n : k->var.m;
}

/* Opens the loop that fills arrays of pointers.  */
static void open_turns(Kernel *k) {
    Cg *cg = k->cg;
    const Turns *t = &k->at.turns;
    ir_for_of(cg, t->var, ir_int(cg, 0), ir_int(cg, t->end), t->by, IR_UNROLL_ALL);
    for (int i = 0; i < 2 && t->define[i].name; i++)
        ir_define(cg, t->define[i].name, t->define[i].value);
    for (int i = 0; i < 2; i++) {
        if (!t->part[i]) continue;
        *(i ? &k->var.n : &k->var.m) =
            ir_let_as(cg, place_along_base(k, i ? AX_N : AX_M), i ? "n" : "m",
                      ir_add(cg, k->at.own[i], t->part[i]));
    }
    if (t->from) ir_set(cg, t->filled, t->from);
    for (int i = 0; i < 2 && t->part[0]; i++)
        ir_set(cg, t->at[i], turn_at(k, i ? AX_N : AX_M));
}

/* ---- pointers to tensors ---- */

/* Has the tensor pointers of the thread?  `many`: one for each turn.  */
static bool has_pointers(const Kernel *k, int stmt, const Access *x, bool *many) {
    const Turns *turns = &k->at.turns;
    Ir stride;
    if (k->cg->te->tensor[x->tensor].n_clip > 0) return false;
    if (!k->at.own[0] || !x->affine || x->offset.c != 0 || x->c_varies) return false;
    for (int axis = AX_B; axis <= AX_N; axis++)
        if (!runs_along(k, stmt, (AxisClass)axis)) return false;
    bool linear = is_linear(k, stmt, x, AX_N, &stride);
    *many = turns->var && (turns->part[0] || !linear);
    return is_linear(k, stmt, x, AX_M, &stride) && (*many || linear);
}

typedef enum { POINTER_SINGLE, POINTER_ARRAY, POINTER_TURN } PointerKind;

static IrType pointer_to(const Kernel *k, int tensor) {
    return ir_pointer(ir_storage(k->cg->te->tensor[tensor].dtype), IR_GLOBAL, false);
}

/* Where a statement's outputs begin, or those of a turn.  */
static Ir first_of(const Kernel *k, int stmt, const Access *x, bool many) {
    Ir sum = add_indices(k, stmt, x, AX_B, NULL);
    sum = add_axis(k, stmt, x, AX_M, many ? turn_at(k, AX_M) : k->at.own[0], sum);
    sum = add_axis(k, stmt, x, AX_N, many ? turn_at(k, AX_N) : k->at.own[1], sum);
    Ir from = cg_tensor(k->cg, x->tensor);
    return sum ? ir_add(k->cg, from, sum) : from;
}

/* Makes the tensors' pointers: single ones, arrays, or what a turn puts into these.  Returns how
 * many there are of the kind.  */
static int make_pointers(Kernel *k, PointerKind what) {
    Cg *cg = k->cg;
    const KernelGroup *g = k->task->p->group;
    int n = 0;
    for (int i = 0; i <= g->n_fused; i++) {
        int stmt = i ? g->fused[i - 1] : g->root, t = cg->te->stmt[stmt].tensor;
        bool many;
        Access x;
        if (!elements_in_memory(k, t)) continue;
        access_write(cg->te, &cg->te->stmt[stmt], &x);
        if (!has_pointers(k, stmt, &x, &many) || many != (what != POINTER_SINGLE)) continue;
        const char *name = cg_name(cg, "p", t);
        if (what == POINTER_ARRAY) {
            k->at.pointer[t] = ir_array(cg, pointer_to(k, t), name, k->at.turns.count, 0, 0);
        } else {
            Ir first = first_of(k, stmt, &x, many);
            if (what == POINTER_SINGLE) k->at.pointer[t] = ir_let(cg, name, first);
            else ir_set(cg, ir_element(cg, k->at.pointer[t], k->at.turns.turn), first);
        }
        n++;
    }
    return n;
}

void store_pointers(Kernel *k) {
    make_pointers(k, POINTER_SINGLE);
    if (make_pointers(k, POINTER_ARRAY) == 0 && !k->at.turns.from) return;
    open_turns(k);
    make_pointers(k, POINTER_TURN);
    ir_close(k->cg);
}

Ir store_place(const Kernel *k, int stmt, const Access *x, Ir *offset) {
    const Cg *cg = k->cg;
    int t = x->tensor;
    bool many;
    if (!has_pointers(k, stmt, x, &many)) {
        CgPoint first = elements_point(k, stmt, true);
        *offset = stream_offset(k, stmt, x, first.index);
        return cg_tensor(cg, t);
    }
    bool wide = cg_tensor_wide(cg, t);
    Ir stride, sum;
    is_linear(k, stmt, x, AX_M, &stride);
    sum = add(cg, NULL, wide, many ? k->at.turns.rest : k->at.step[0], stride);
    is_linear(k, stmt, x, AX_N, &stride);
    if (!many) sum = add(cg, sum, wide, k->at.step[1], stride);
    *offset = sum ? sum : ir_int(cg, 0);
    if (many) return ir_element(cg, k->at.pointer[t], k->at.turns.turn);
    return k->at.pointer[t];
}

/* ---- pointers to partial sums ---- */

/* Where the sums of the thread, or of a turn (`many`), begin that lie in rows of `stride`: (m, n)
 * at row at[0] + m, column at[1] + n (NULL: n).  */
static Ir sums_from(const Kernel *k, const Ir at[2], Ir stride, bool many) {
    const Cg *cg = k->cg;
    Ir m = many ? turn_at(k, AX_M) : k->at.own[0], n = many ? turn_at(k, AX_N) : k->at.own[1];
    Ir row = ir_mul(cg, ir_add(cg, at[0], m), stride);
    return ir_add(cg, k->var.sums, ir_add(cg, row, ir_sum(cg, at[1], n)));
}

/* Elements.sums is the place of an element in the loops.  */
static void store_sums(Kernel *k, Ir row, Ir column, Ir stride) {
    Cg *cg = k->cg;
    const Turns *turns = &k->at.turns;
    const Ir at[] = {row, column};
    IrType type = ir_pointer(ir_compute(k->task->p->con.acc), IR_GLOBAL, false);
    bool many = turns->var && turns->part[0];
    Ir sum = add(cg, NULL, true, many ? turns->rest : k->at.step[0], stride), part;
    if (many) {
        part = ir_element(cg, ir_array(cg, type, "part", turns->count, 0, 0), turns->turn);
        open_turns(k);
        ir_set(cg, part, sums_from(k, at, stride, true));
        ir_close(cg);
    } else {
        part = ir_let(cg, "part", sums_from(k, at, stride, false));
        sum = add(cg, sum, true, k->at.step[1], ir_int(cg, 1));
    }
    k->at.sums = sum ? ir_add(cg, part, sum) : part;
}

/* Pointers to the thread's sums, split or of a tail's segment.  */
void sums_pointers(Kernel *k) {
    Cg *cg = k->cg;
    Ir slice = ir_cast(cg, IR_I64, ir_block(cg, 1));
    if (k->task->r->tail > 0) {
        store_sums(k, ir_unary(cg, IR_NEG, product_first(k, AX_M)),
                   ir_unary(cg, IR_NEG, product_first(k, AX_N)), product_size(k, 'B', AX_N));
        return;
    }
    TeExtent batch = index_extent(cg->arena, &k->task->map, AX_B);
    if (k->task->p->extent[AX_B] > 1)
        slice = ir_add(cg, ir_mul(cg, slice, size_value(cg, batch)), k->var.b);
    store_sums(k, ir_mul(cg, slice, product_extent(k, AX_M)), NULL, product_extent(k, AX_N));
}
