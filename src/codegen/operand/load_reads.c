#include "codegen/operand/address.h"
#include "codegen/operand/operand.h"

/* Staged loads of an expression, such as weights with their scales: what it reads travels to
 * registers as it lies in memory, in accesses for a whole chunk, and is evaluated on the way to
 * shared memory.  */

/* ---- elements on their way ---- */

bool travel_in_words(TeDtype storage, int n) {
    int bytes = te_dtype_bytes(storage);
    return bytes < 4 && bytes * n >= 4;
}

IrType travel_type(TeDtype storage, int n) {
    if (!travel_in_words(storage, n)) return ir_vector(ir_storage(storage), n);
    return ir_vector(IR_U32, n * te_dtype_bytes(storage) / 4);
}

Ir travel_load(const Cg *cg, TeDtype storage, int n, Ir from) {
    IrType type = travel_type(storage, n);
    if (travel_in_words(storage, n))
        from = ir_view(cg, ir_pointer(IR_U32, (IrSpace)from->type.space, true), from);
    return ir_load(cg, from, type.lanes);
}

Ir travel_element(const Cg *cg, TeDtype storage, int n, Ir registers, Ir v) {
    int per = 4 / te_dtype_bytes(storage);
    if (!travel_in_words(storage, n)) return ir_lane(cg, registers, v);
    Ir word = ir_lane(cg, registers, ir_div(cg, v, ir_int(cg, per)));
    Ir bits = ir_mul(cg, ir_rem(cg, v, ir_int(cg, per)), ir_int(cg, 32 / per));
    return ir_cast(cg, ir_storage(storage), ir_binary(cg, IR_SHR, word, bits));
}

/* ---- reads of a chunk ---- */

static IrType type_of(const ChunkRead *r) { return travel_type(r->storage, r->width); }

void load_reads_declare(Kernel *k, const Side *s) {
    for (int j = 0; j < s->n_read; j++)
        operand_at(k, s)->read[j] =
            ir_array(k->cg, type_of(&s->read[j]),
                     product_name(k->cg, s, ir_numbered(k->cg, "r", j)), s->per_thread, 0, 0);
}

/* Registers of read j of chunk i.  */
static Ir registers(const Kernel *k, const Side *s, int j) {
    return ir_element(k->cg, operand_at(k, s)->read[j], k->var.i);
}

/* Chunk i of a tile: its row or column, its k.  */
static Ir own_of(const Kernel *k, const Side *s, TileFrom from) {
    return ir_add(k->cg, from.own, address_mn(k, s));
}

static Ir k_of(const Kernel *k, const Side *s, TileFrom from) {
    return ir_add(k->cg, from.k, address_k(k, s));
}

/* Is chunk i of the tile there and inside?  NULL: always.  */
static Ir test_chunk(const Kernel *k, const Side *s, TileFrom from) {
    const Cg *cg = k->cg;
    Ir test = address_live(k, s);
    if (s->ragged) test = ir_both(cg, test, product_inside(k, s, s->own, own_of(k, s, from)));
    if (!k->c->k_ragged) return test;
    return ir_both(cg, test, product_inside(k, s, AX_K, k_of(k, s, from)));
}

/* Where a chunk begins along its direction: at a multiple of its length, which the compiler cannot
 * see, and by which it knows what is chosen by an index modulo 2.  */
static Ir begin(const Kernel *k, const Side *s, AxisClass axis, Ir at) {
    bool along = (s->l->along == AX_K) == (axis == AX_K);
    if (!along || s->l->vec == 1) return at;
    return ir_binary(k->cg, IR_AND, at, ir_int(k->cg, -s->l->vec));
}

/* Indices of the chunk's first element; defines them.  */
static CgPoint point(Kernel *k, const Side *s, TileFrom from) {
    Ir own = address_point_own(k, s, begin(k, s, s->own, own_of(k, s, from)));
    return address_indices(k, s, own, address_point_k(k, begin(k, s, AX_K, k_of(k, s, from))));
}

Ir travel_place(const CgPoint *at, const TeExpr *read, Ir *inside) {
    const Cg *cg = at->cg;
    int tensor = read->v.ref;
    const TeTensor *t = &cg->te->tensor[tensor];
    Ir sub[TE_MAX_RANK] = {0};
    int64_t by[TE_MAX_RANK] = {0};
    Access x;
    *inside = NULL;
    access_read(cg->te, at->stmt, read, &x);
    for (int d = 0; d < t->rank; d++) {
        sub[d] = cg_expr(at, read->args[d], TE_I64);
        if (!x.guard[d]) continue;
        *inside = ir_both(cg, *inside, ir_binary(cg, IR_GE, sub[d], ir_int(cg, 0)));
        *inside = ir_both(cg, *inside, ir_lt(cg, sub[d], cg_extent(cg, &t->shape[d])));
        sub[d] = cg_tested(at, read, d, &by[d]);
    }
    return cg_pointer(cg, tensor, cg_offset(cg, tensor, sub), by);
}

/* Read j of the chunk whose first point is `at`, if it is inside there.  */
static void load_read(Kernel *k, const Side *s, const CgPoint *at, int j) {
    Cg *cg = k->cg;
    const ChunkRead *r = &s->read[j];
    Ir inside, from = travel_place(at, r->read, &inside);
    if (inside) ir_if(cg, inside);
    ir_set(cg, registers(k, s, j), travel_load(cg, r->storage, r->width, from));
    if (inside) ir_close(cg);
}

void load_reads(Kernel *k, const Side *s) {
    Cg *cg = k->cg;
    TileFrom from = product_tile_next(k, s);
    Ir test = test_chunk(k, s, from);
    for (int j = 0; j < s->n_read; j++) {
        if (test || !te_always_inside(s->read[j].read))
            ir_set(cg, registers(k, s, j), ir_zero(cg, type_of(&s->read[j])));
    }
    if (test) ir_if(cg, test);
    CgPoint at = point(k, s, from);
    for (int j = 0; j < s->n_read; j++) load_read(k, s, &at, j);
    if (test) ir_close(cg);
}

/* ---- chunks that are gathered ---- */

/* A position, or the last one that the block needs if it is behind that: no table is read at
 * others, and none in a branch, so that reads of several chunks are under way at once.  */
static Ir needed(const Kernel *k, const Side *s, AxisClass axis, bool ragged, Ir at) {
    const Cg *cg = k->cg;
    bool columns = product_bounded(k) && s->moves == axis && !s->stays;
    Ir end = columns ? k->var.n_end : product_extent(k, axis);
    if (!ragged && !columns) return at;
    at = ir_min(cg, at, ir_as(cg, (IrBase)at->type.base, ir_sub(cg, end, ir_int(cg, 1))));
    return columns ? ir_max(cg, at, k->var.n_begin) : at;
}

/* Where a read is at a point, or some other element of its tensor where it is outside; whether it
 * is not, joined to *inside.  Subscripts have names, so that a test reads nothing again.  */
static Ir place_inside(Cg *cg, const CgPoint *at, const TeExpr *read, Ir *inside) {
    const TeTensor *t = &cg->te->tensor[read->v.ref];
    Ir sub[TE_MAX_RANK] = {0}, zero = ir_int(cg, 0);
    Access x;
    access_read(cg->te, at->stmt, read, &x);
    for (int d = 0; d < t->rank; d++) {
        sub[d] = cg_expr(at, read->args[d], TE_I64);
        if (!x.guard[d]) continue;
        sub[d] = ir_let(cg, "page", sub[d]);
        Ir there = ir_let_as(cg, IR_BOOL, "there",
                             ir_both(cg, ir_binary(cg, IR_GE, sub[d], zero),
                                     ir_lt(cg, sub[d], cg_extent(cg, &t->shape[d]))));
        sub[d] = ir_select(cg, there, sub[d], ir_as(cg, (IrBase)sub[d]->type.base, zero));
        *inside = ir_both(cg, *inside, there);
    }
    return ir_add(cg, cg_tensor(cg, read->v.ref), cg_offset(cg, read->v.ref, sub));
}

/* Are there tables that are read at other places for other k?  */
static bool has_tables_along_k(const Kernel *k, const Side *s) {
    const FusedAxis *axis = &k->c->p->con.axis[AX_K];
    const TeExpr *e = s->o->expr;
    uint32_t moving = 0;
    for (int i = 0; i < axis->n; i++) moving |= 1u << axis->index[i];
    for (int d = 0; d < e->n_args; d++) {
        ReadList table = access_reads(e->args[d]);
        for (int i = 0; i < table.n; i++)
            if (access_uses(table.at[i]) & moving) return true;
    }
    return false;
}

/* A step behind the last one is not copied, but its places are computed.  */
void load_gathered(Kernel *k, const Side *s, Ir from, Ir inside) {
    Cg *cg = k->cg;
    Ir test = address_test(k, s);
    Ir kk = ir_add(cg, k->own->k_next, address_k(k, s));
    Ir own = needed(k, s, s->own, s->ragged, address_own(k, s));
    kk = needed(k, s, AX_K, k->c->k_ragged || has_tables_along_k(k, s), kk);
    own = address_point_own(k, s, begin(k, s, s->own, own));
    CgPoint at = address_indices(k, s, own, address_point_k(k, begin(k, s, AX_K, kk)));
    ir_set(cg, from, place_inside(cg, &at, s->o->expr, &test));
    ir_set(cg, inside, test ? test : ir_bool(cg, true));
}

/* Element v of the chunk of read j, as a value.  */
static Ir element(const Kernel *k, const Side *s, int j, Ir v) {
    const Cg *cg = k->cg;
    const ChunkRead *r = &s->read[j];
    Ir at = r->width == 1 ? ir_int(cg, 0) : ir_div(cg, v, ir_int(cg, s->l->vec / r->width));
    return cg_decode(cg, r->storage,
                     travel_element(cg, r->storage, r->width, registers(k, s, j), at));
}

/* The expression's value at `at` in the form it has in the tile; a last rounding to the tile's type
 * is made once.  */
static Ir tile_value(const CgPoint *at, const Side *s, bool pairs) {
    const TeExpr *e = s->o->expr;
    TeDtype type = s->o->compute;
    if (e->kind == TE_CAST && e->store == s->tile) {
        e = e->args[0];
        type = e->type;
    }
    return cg_wait(at->cg, s->tile, pairs, type, cg_expr(at, e, type));
}

Ir load_reads_evaluate(Kernel *k, const Side *s, bool pairs) {
    Cg *cg = k->cg;
    CgGiven given[RTILE_CHUNK_READS];
    TileFrom from = product_tile_waiting(k, s);
    Ir test = test_chunk(k, s, from), v = k->at.v;
    IrType type = ir_type(cg_waiting(s->tile, pairs));
    Ir x = test ? ir_zeros(cg, type, "x", s->l->vec) : ir_array(cg, type, "x", s->l->vec, 0, 0);
    if (test) ir_if(cg, test);
    else ir_scope(cg);
    CgPoint at = point(k, s, from);
    int moves = rtile_chunk_index(at.stmt, &k->c->p->con.axis[s->l->along]);
    at.index[moves] = ir_add(cg, at.index[moves], v);
    for (int j = 0; j < s->n_read; j++)
        given[j] = (CgGiven){s->read[j].read, element(k, s, j, v)};
    at.given = given;
    at.n_given = s->n_read;
    ir_count_of(cg, v, s->l->vec, IR_UNROLL_ALL);
    ir_set(cg, ir_element(cg, x, v), tile_value(&at, s, pairs));
    ir_close(cg);
    ir_close(cg);
    return x;
}
