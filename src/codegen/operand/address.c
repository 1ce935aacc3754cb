#include "codegen/operand/address.h"
#include "codegen/block/product.h"

/* Where the chunks of an operand come from in global memory.  */

/* The axis as operand s sees it.  */
const FusedAxis *address_axis(const Kernel *k, const Side *s, AxisClass axis) {
    return axis == AX_K ? &s->k_axis : axis == AX_B ? &k->c->p->con.axis[AX_B] : &s->own_axis;
}

/* Subscript d of an access, or its offset.  */
static const Affine *value_of(const Access *x, int d) {
    return d == OFFSET ? &x->offset : &x->sub[d];
}

Ir address_stride(const Kernel *k, const Access *x, int d, const FusedAxis *axis, int digit) {
    const AxisDigit *g = &axis->digit[digit];
    int index = axis->index[g->first + g->n - 1];
    int64_t stride = rprog_stride(value_of(x, d), axis, digit);
    if (stride == 0) return NULL;
    return d == OFFSET ? size_of_stride(k->cg, x, index) : ir_int(k->cg, stride);
}

Ir address_plus_number(const Cg *cg, Ir sum, int64_t x) {
    if (x < 0 && sum) return ir_sub(cg, sum, ir_int(cg, -x));
    return ir_sum(cg, sum, ir_int(cg, x));
}

/* Digits of a position; defines them where there are several.  */
void address_digits(Kernel *k, const FusedAxis *axis, const char *prefix, Ir at, bool wide,
                    Ir *digit) {
    Cg *cg = k->cg;
    TeExtent count[TE_MAX_INDICES] = {{0}};
    if (axis->n_digit == 1) {
        digit[0] = at;
        return;
    }
    for (int i = 0; i < axis->n_digit; i++)
        count[i] = size_product(cg->arena, k->c->root, axis->index + axis->digit[i].first,
                                axis->digit[i].n);
    place_digits(cg, at, count, axis->n_digit, wide, digit);
    for (int i = axis->n_digit - 1; i >= 0; i--)
        digit[i] = ir_let_as(cg, place_base(axis->digit[i].extent > INT32_MAX),
                             ir_numbered(cg, prefix, i), digit[i]);
}

/* Sum of digits times strides of an affine value, joined to `sum` (may be NULL).  */
Ir address_combine(const Kernel *k, const Access *x, int d, AxisPlace at, Ir sum) {
    for (int i = 0; i < at.axis->n_digit; i++) {
        Ir stride = address_stride(k, x, d, at.axis, i), digit = at.digit[i];
        if (!stride || ir_is(digit, 0)) continue;
        if (at.wide) digit = ir_as(k->cg, IR_I64, digit);
        sum = ir_sum(k->cg, sum, ir_mul(k->cg, digit, stride));
    }
    return sum;
}

bool address_axis_wide(const Kernel *k, AxisClass axis) {
    return place_wide(k->c->p->extent[axis], 2 * (int64_t)k->c->r->block.extent[axis]);
}

/* Is the position of a point along the operand's own axis a long long?  */
static bool own_wide(const Side *s) { return place_wide(s->whole, s->extent); }

Ir address_point_own(Kernel *k, const Side *s, Ir at) {
    return ir_let_as(k->cg, place_base(own_wide(s)), "at_own", at);
}

Ir address_point_k(Kernel *k, Ir at) {
    return ir_let_as(k->cg, place_base(address_axis_wide(k, AX_K)), "at_k", at);
}

CgPoint address_indices(Kernel *k, const Side *s, Ir own, Ir kk) {
    CgPoint at = {.cg = k->cg, .stmt = k->c->root};
    place_axis(k, AX_B, k->var.b, false, at.index, at.wide);
    place_axis(k, (int)s->own, own, own_wide(s), at.index, at.wide);
    place_axis(k, AX_K, kk, address_axis_wide(k, AX_K), at.index, at.wide);
    return at;
}

int address_rank(const Kernel *k, const Side *s) {
    return k->c->te->tensor[s->o->access.tensor].rank;
}

bool address_wide(const Kernel *k, const Side *s, int d) {
    return d == OFFSET ? s->wide : rprog_wide(k->c->p, k->c->r, &s->o->access, d);
}

/* What position kk within the tile adds, when the rest of k is added once a step.  */
static Ir local_k(const Kernel *k, const Side *s, int d, Ir kk, bool wide, Ir sum) {
    const FusedAxis *axis = address_axis(k, s, AX_K);
    if (s->k_mode == K_DECODED || axis->n_digit == 0) return sum;
    Ir stride = address_stride(k, &s->o->access, d, axis, axis->n_digit - 1);
    if (!stride) return sum;
    return ir_sum(k->cg, sum, ir_mul(k->cg, wide ? ir_as(k->cg, IR_I64, kk) : kk, stride));
}

void address_batch(Kernel *k, const Side *s, Ir rest) {
    Cg *cg = k->cg;
    const Access *x = &s->o->access;
    const FusedAxis *axis = address_axis(k, s, AX_B);
    Ir *digit = ARENA_ARRAY(cg->arena, Ir, TE_MAX_INDICES), at = cg_tensor(cg, x->tensor);
    Ir sum = NULL;
    if (axis->extent > 1) {
        address_digits(k, axis, product_name(cg, s, "b"), k->var.b, false, digit);
        operand_at(k, s)->batch = digit;
        sum = address_combine(k, x, OFFSET, (AxisPlace){axis, digit, true}, NULL);
    }
    if (sum) at = ir_add_parts(cg, at, sum);
    if (rest) at = ir_add_parts(cg, at, rest);
    operand_at(k, s)->src = ir_variable_of(cg, product_name(cg, s, "src"), ir_const(cg, at));
}

/* One pointer per operand, chunks at constant distances.  */
static void pointer_source(Kernel *k, const Side *s) {
    const Cg *cg = k->cg;
    const Access *x = &s->o->access;
    const OperandAt *own = operand_at(k, s);
    Ir mn = ir_add(cg, product_loads_from(k, s), own->mn);
    Ir kk = ir_add(cg, k->own->k_next, own->k);
    Ir sum =
        address_combine(k, x, OFFSET, (AxisPlace){address_axis(k, s, s->own), &mn, true}, NULL);
    sum = address_combine(k, x, OFFSET, (AxisPlace){address_axis(k, s, AX_K), &kk, true}, sum);
    address_batch(k, s, size_add_offset(cg, x, 0, sum));
}

/* For how many chunks offsets are kept: those of a period, or all where rows advance through
 * several digits.  */
static int gather_count(const Kernel *k, const Side *s) {
    bool moves = s->step_mn != 0 && s->per_thread > s->period;
    return moves && address_axis(k, s, s->own)->n_digit > 1 ? s->per_thread : s->period;
}

/* What `steps` steps of a digit add to an affine value; NULL: nothing.  */
static Ir steps_of(const Kernel *k, const Side *s, int d, const FusedAxis *axis, int digit,
                   int steps) {
    const Cg *cg = k->cg;
    const Access *x = &s->o->access;
    const AxisDigit *g = &axis->digit[digit];
    int64_t stride = rprog_stride(value_of(x, d), axis, digit);
    if (stride == 0 || steps == 0) return NULL;
    if (d == OFFSET && (x->varies >> axis->index[g->first + g->n - 1] & 1))
        return ir_mul(cg, address_stride(k, x, d, axis, digit), ir_int(cg, steps));
    bool wide = stride * s->per_thread > INT32_MAX / steps;
    bool wider = stride * s->per_thread < -INT32_MAX / steps;
    Ir all = ir_int(cg, stride * steps);
    return wide || wider ? ir_as(cg, IR_I64, all) : all;
}

/* What an affine value grows by from period to period; NULL: it does not.  A step goes along one
 * axis.  */
static Ir gather_step(const Kernel *k, const Side *s, int d) {
    const FusedAxis *own = address_axis(k, s, s->own), *kx = address_axis(k, s, AX_K);
    Ir step = own->n_digit == 1 ? steps_of(k, s, d, own, 0, s->step_mn) : NULL;
    if (step || s->k_mode == K_DECODED || kx->n_digit == 0) return step;
    return steps_of(k, s, d, kx, kx->n_digit - 1, s->step_k);
}

static Ir gathered(const Kernel *k, const Side *s, Ir known, int d) {
    if (gather_count(k, s) > s->period) return ir_element(k->cg, known, k->var.i);
    return chunk_periodic(k, s, known, gather_step(k, s, d));
}

/* Where a chunk is: digits of its row and of the batch (NULL: it adds nothing), and its k.  */
typedef struct {
    const Ir *own, *batch;
    Ir k;
} ChunkPlace;

/* Chunk i's part of an affine value: all but what changes from step to step.  */
static Ir chunk_value(const Kernel *k, const Side *s, int d, const ChunkPlace *at) {
    const Access *x = &s->o->access;
    bool wide = address_wide(k, s, d);
    Ir sum =
        address_combine(k, x, d, (AxisPlace){address_axis(k, s, s->own), at->own, wide}, NULL);
    sum = local_k(k, s, d, at->k, wide, sum);
    if (at->batch)
        sum = address_combine(k, x, d, (AxisPlace){address_axis(k, s, AX_B), at->batch, wide}, sum);
    if (d == OFFSET && x->c_varies) return size_add_offset(k->cg, x, 0, sum);
    return address_plus_number(k->cg, sum, value_of(x, d)->c);
}

static const char *address_name(const Cg *cg, int d) {
    return d == OFFSET ? "off" : ir_numbered(cg, "at", d);
}

/* One value of each chunk: a constant, or an array that is to be filled.  */
static Ir declare_value(Kernel *k, const Side *s, int d) {
    IrBase base = place_base(address_wide(k, s, d));
    return chunk_declare(k, s, base, address_name(k->cg, d), gather_count(k, s));
}

static Ir put_value(Kernel *k, const Side *s, int d, Ir all, const ChunkPlace *at) {
    IrBase base = place_base(address_wide(k, s, d));
    return chunk_put(k, s, base, all, address_name(k->cg, d), chunk_value(k, s, d, at));
}

/* Position i of those that are known of the chunks; of all, where they are gathered one by one.  */
static Ir known_at(const Kernel *k, const Side *s, Ir known) {
    return s->period == 1 ? known : ir_element(k->cg, known, k->var.i);
}

/* Offsets and guarded subscripts of the chunks, without what changes from step to step.  */
static void gather_source(Kernel *k, const Side *s) {
    Cg *cg = k->cg;
    const Access *x = &s->o->access;
    OperandAt *to = operand_at(k, s);
    Ir digit[TE_MAX_INDICES];
    int n = gather_count(k, s);
    bool all = n > s->period;
    address_batch(k, s, NULL);
    to->off = declare_value(k, s, OFFSET);
    for (int d = 0; d < address_rank(k, s); d++)
        if (x->guard[d]) to->at[d] = declare_value(k, s, d);
    chunk_open_period(k, n);
    Ir mn = all ? address_mn(k, s) : known_at(k, s, to->mn);
    ChunkPlace at = {.own = digit, .k = all ? address_k(k, s) : known_at(k, s, to->k)};
    address_digits(k, address_axis(k, s, s->own), product_name(cg, s, "mn"),
                   ir_add(cg, product_loads_from(k, s), mn), address_axis_wide(k, s->own), digit);
    to->off = put_value(k, s, OFFSET, to->off, &at);
    at.batch = to->batch;
    for (int d = 0; d < address_rank(k, s); d++)
        if (x->guard[d]) to->at[d] = put_value(k, s, d, to->at[d], &at);
    chunk_close_period(k, n);
}

/* Copies whose test of the own axis' end is another for each chunk, known before the loop.  */
static int end_tests(const Kernel *k, int side) {
    const Side *s = &k->c->side[side];
    if (!s->copies || s->table || !rprog_copies_chunks(s->l)) return 0;
    if (s->moves == s->own) return 0;
    bool differ = s->period > 1 || s->step_mn != 0;
    return s->ragged && differ ? s->per_thread : 0;
}

/* Are they kept as bits, one for each chunk?  A few are kept in predicates, of which a thread has
 * seven (CUDA Binary Utilities: P0 to P6): one says that there is a next step, and one carries to
 * the upper half of an address.  Of more the compiler would make a test again in every step, from a
 * position that it keeps; and addresses, which have no predicate then, all before it, so that they
 * live at the same time.  */
static bool ends_kept(const Kernel *k, const Side *s) {
    enum { PREDICATES = 7 - 2, BITS = 31 };
    int own = end_tests(k, s->side);
    return own > 1 && own <= BITS && own + end_tests(k, !s->side) > PREDICATES;
}

static Ir inside_ends(const Kernel *k, const Side *s) {
    return product_inside(k, s, s->own, address_own(k, s));
}

static void keep_ends(Kernel *k, const Side *s) {
    Cg *cg = k->cg;
    Ir in = ir_variable(cg, IR_I32, product_name(cg, s, "in"), ir_int(cg, 0));
    operand_at(k, s)->in = in;
    ir_note(cg, "bits: chunks that begin inside");
    Ir i = ir_count_of(cg, k->var.i, s->per_thread, IR_UNROLL_ALL);
    ir_if(cg, inside_ends(k, s));
    ir_update(cg, IR_OR, in, ir_binary(cg, IR_SHL, ir_int(cg, 1), i));
    ir_close(cg);
    ir_close(cg);
}

int address_group(const Kernel *k, const Side *s) {
    bool gathers = s->copies && !s->table && !s->pointer;
    return chunk_group(s, gathers ? gather_count(k, s) : s->period);
}

void address_thread(Kernel *k, const Side *s) {
    Cg *cg = k->cg;
    ir_note(cg, "address: operand %c, %d x %d elements per thread along %s", s->id, s->per_thread,
            s->l->vec, s->l->along == AX_K ? "k" : s->side ? "n" : "m");
    if (!s->direct) chunk_places(k, s);
    if (s->copies) {
        if (s->table) table_rows(k, s);
        else if (s->pointer) pointer_source(k, s);
        else gather_source(k, s);
    }
    if (ends_kept(k, s)) keep_ends(k, s);
    ir_simple(cg, IR_STMT_BLANK);
}

/* The parts of k from its digits: of the offset and of guarded subscripts.  */
static void k_values(Kernel *k, const Side *s, Ir at) {
    Cg *cg = k->cg;
    const Access *x = &s->o->access;
    const FusedAxis *axis = address_axis(k, s, AX_K);
    OperandAt *to = operand_at(k, s);
    Ir digit[TE_MAX_INDICES];
    address_digits(k, axis, product_name(cg, s, "k"), at, address_axis_wide(k, AX_K), digit);
    for (int d = OFFSET; d < address_rank(k, s); d++) {
        if (d != OFFSET && !x->guard[d]) continue;
        bool wide = address_wide(k, s, d);
        Ir sum = address_combine(k, x, d, (AxisPlace){axis, digit, wide}, NULL);
        const char *name = product_name(cg, s, d == OFFSET ? "koff" : ir_numbered(cg, "kat", d));
        sum = ir_let_as(cg, place_base(wide), name, sum ? sum : ir_int(cg, 0));
        *(d == OFFSET ? &to->k_off : &to->k_at[d]) = sum;
    }
}

/* Do all chunks of a thread lie at the same k?  */
static bool one_k(const Side *s) { return s->period == 1 && s->step_k == 0; }

void address_step(Kernel *k, const Side *s) {
    const OperandAt *x = operand_at(k, s);
    if (!s->copies || s->pointer) return;
    if (s->table) table_step(k, s);
    else if (s->k_mode != K_DECODED) k_values(k, s, k->own->k_next);
    else if (one_k(s)) k_values(k, s, ir_add(k->cg, k->own->k_next, x->k));
}

Ir address_source(Kernel *k, const Side *s) {
    const Cg *cg = k->cg;
    const OperandAt *x = operand_at(k, s);
    if (s->table) return table_source(k, s);
    if (s->pointer) return chunk_periodic(k, s, x->src, gather_step(k, s, OFFSET));
    if (s->k_mode == K_DECODED && !one_k(s))
        k_values(k, s, ir_add(cg, k->own->k_next, address_k(k, s)));
    return ir_add(cg, x->src, ir_add(cg, gathered(k, s, x->off, OFFSET), x->k_off));
}

/* Is the chunk's k one of the reduction?  */
static Ir inside_k(const Kernel *k, const Side *s) {
    return product_inside(k, s, AX_K, ir_add(k->cg, k->own->k_next, address_k(k, s)));
}

Ir address_test(Kernel *k, const Side *s) {
    const Cg *cg = k->cg;
    const OperandAt *x = operand_at(k, s);
    Ir test = NULL;
    if (s->table) return table_test(k, s);
    if (ends_kept(k, s)) {            /* hidden: else they come apart before the loop */
        Ir bit = ir_binary(cg, IR_SHR, ir_hidden(cg, IR_I32, x->in), k->var.i);
        test = ir_binary(cg, IR_NE, ir_binary(cg, IR_AND, bit, ir_int(cg, 1)), ir_int(cg, 0));
    } else if (s->ragged) {
        test = inside_ends(k, s);
    }
    if (k->c->k_ragged) test = ir_both(cg, test, inside_k(k, s));
    for (int d = 0; s->copies && d < address_rank(k, s); d++) {
        if (!s->o->access.guard[d]) continue;
        const TeTensor *t = &k->c->te->tensor[s->o->access.tensor];
        Ir at = ir_add(cg, gathered(k, s, x->at[d], d), x->k_at[d]);
        test = ir_both(cg, test, size_inside(cg, at, t->shape[d], address_wide(k, s, d)));
    }
    return test;
}
