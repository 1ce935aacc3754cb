#include "codegen/block/block.h"
#include "codegen/expr/sizes.h"
#include "te/tree/arith.h"

/* Boxes of positions (index_map.h): where they begin, and the elements of one as vectors that are
 * dealt to the block's threads.  */

bool box_wide(const Kernel *k, int axis) {
    const IndexAxis *x = &k->task->map.axis[axis];
    return place_wide(x->extent, x->tile);
}

/* What the digits of a number add along their axes.  */
static void add_digits(const Kernel *k, const IndexDigit *of, int n, Ir number, bool wide, Ir *at) {
    Cg *cg = k->cg;
    TeExtent count[INDEX_DIGITS] = {{0}};
    Ir digit[INDEX_DIGITS];
    for (int i = 0; i < n; i++) count[i] = index_count(cg->arena, &k->task->map, &of[i]);
    place_digits(cg, number, count, n, wide, digit);
    for (int i = 0; i < n; i++) {
        int a = of[i].axis;
        Ir own = ir_as(cg, place_base(box_wide(k, a)), digit[i]);
        at[a] = ir_sum(cg, at[a], ir_mul_n(cg, own, of[i].stride));
    }
}

/* The box is the thread's; those that have none leave.  */
static Ir number_of_thread(Kernel *k, bool wide) {
    Cg *cg = k->cg;
    const IndexMap *m = &k->task->map;
    IrBase base = place_base(wide);
    Ir first = ir_mul_n(cg, ir_cast(cg, base, ir_block(cg, 0)), m->each);
    Ir at = ir_let_as(cg, base, "at", ir_add(cg, first, ir_cast(cg, IR_I32, k->var.tid)));
    if (!index_rest(cg->arena, m)) return at;
    ir_if(cg, ir_binary(cg, IR_GE, at, size_value(cg, index_numbers(cg->arena, m))));
    ir_simple(cg, IR_STMT_RETURN);
    ir_close(cg);
    return at;
}

void box_place(Kernel *k) {
    Cg *cg = k->cg;
    const IndexMap *m = &k->task->map;
    bool wide = m->each > 1 && place_wide(index_numbers(cg->arena, m).value, m->each);
    Ir at[INDEX_AXES] = {0};
    k->var.tid = ir_let(cg, "tid", ir_thread(cg));
    Ir number = m->each > 1 ? number_of_thread(k, wide) : ir_block(cg, 0);
    add_digits(k, m->grid, m->n_grid, number, wide, at);
    for (int a = m->n_axis - 1; a >= 0; a--)
        k->box[a] = ir_constant(cg, ir_numbered(cg, "g", a), at[a]);
}

void box_place_thread(const Kernel *k, Ir *own) {
    const IndexMap *m = &k->task->map;
    add_digits(k, m->thread, m->n_thread, k->var.tid, false, own);
}

/* ---- vectors ---- */

static int64_t elements_of(const Walked *w) {
    int64_t n = 1;
    for (int i = 0; i < w->n; i++) n *= w->size[i];
    return n;
}

int64_t box_rounds(const Kernel *k, const Walked *w) {
    return ceil_div(elements_of(w), (int64_t)k->l->launch.block[0] * w->vec);
}

void box_decode(Kernel *k, const Walked *w, Ir number, Ir *d) {
    TeExtent count[INDEX_AXES] = {{0}};
    Ir digit[INDEX_AXES];
    for (int i = 0; i < w->n; i++) count[w->n - 1 - i] = size_number(w->size[i]);
    place_digits(k->cg, number, count, w->n, false, digit);
    for (int i = 0; i < w->n; i++) {
        int a = w->axis[i];
        d[a] = ir_as(k->cg, IR_U32, digit[w->n - 1 - i]);
        if (w->n > 1 && w->size[i] > 1) d[a] = ir_let(k->cg, ir_numbered(k->cg, "d", a), d[a]);
    }
}

Ir box_point(const Kernel *k, const BoxVector *at, int axis) {
    return ir_add(k->cg, k->box[axis], ir_cast(k->cg, IR_I32, at->d[axis]));
}

void box_open_if(Kernel *k, BoxVector *at, Ir test) {
    if (!test) return;
    ir_if(k->cg, test);
    at->open++;
}

/* Is the vector inside of the domain?  NULL: always.  */
static Ir domain_test(const Kernel *k, const Walked *w, const BoxVector *at) {
    const Cg *cg = k->cg;
    const IndexMap *m = &k->task->map;
    Ir test = NULL;
    for (int i = 0; i < w->n && w->domain; i++) {
        int a = w->axis[i];
        if (!index_ragged(m, a)) continue;
        Ir end = size_value(cg, index_extent(cg->arena, m, a));
        test = ir_both(cg, test, ir_lt(cg, box_point(k, at, a), end));
    }
    return test;
}

BoxVector box_open(Kernel *k, const Walked *w) {
    Cg *cg = k->cg;
    int64_t threads = k->l->launch.block[0], rounds = box_rounds(k, w), all = elements_of(w);
    BoxVector at = {.open = 1};
    at.u = ir_count(cg, "u", rounds, rounds <= w->unroll ? IR_UNROLL_ALL : w->unroll);
    Ir vector = ir_add(cg, ir_mul(cg, at.u, ir_number(cg, IR_U32, threads)), k->var.tid);
    at.n = ir_let_as(cg, IR_U32, "n", ir_mul(cg, vector, ir_number(cg, IR_U32, w->vec)));
    if (rounds * threads * w->vec != all)
        box_open_if(k, &at, ir_lt(cg, at.n, ir_number(cg, IR_U32, all)));
    box_decode(k, w, at.n, at.d);
    box_open_if(k, &at, domain_test(k, w, &at));
    return at;
}

void box_close(Kernel *k, const BoxVector *at) {
    for (int i = 0; i < at->open; i++) ir_close(k->cg);
}
