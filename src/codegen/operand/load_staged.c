#include "codegen/operand/address.h"
#include "codegen/block/product.h"

/* Staged loads: global memory to registers before the multiply-adds of a step, registers to shared
 * memory after them.  Elements of one tensor come as vectors and are converted on the way to
 * shared memory; any other operand is evaluated element by element, and if those are many at once
 * to shared memory: before the multiply-adds into the other stage, or after them into the only
 * one.  */

static bool in_words(const Side *s) {
    return s->copies && travel_in_words(s->o->storage, s->l->vec);
}

static int words(const Side *s) { return travel_type(s->o->storage, s->l->vec).lanes; }

static IrType register_type(const Side *s) {
    return s->copies ? travel_type(s->o->storage, s->l->vec)
                     : ir_vector(ir_compute(s->o->compute), s->l->vec);
}

/* The registers of chunk i.  */
static Ir registers(const Kernel *k, const Side *s) {
    return ir_element(k->cg, operand_at(k, s)->reg, k->var.i);
}

/* Element v of chunk i.  */
static Ir register_element(const Kernel *k, const Side *s, Ir v) {
    if (!in_words(s)) return ir_lane(k->cg, registers(k, s), v);
    return travel_element(k->cg, s->o->storage, s->l->vec, registers(k, s), v);
}

void load_staged_declare(Kernel *k, const Side *s) {
    if (s->direct) return;
    if (s->n_read) {
        load_reads_declare(k, s);
        return;
    }
    operand_at(k, s)->reg =
        ir_array(k->cg, register_type(s), product_name(k->cg, s, "reg"), s->per_thread, 0, 0);
}

/* Whether there is a chunk i is asked first: tables have no entry for others.  */
static void load_copies(Kernel *k, const Side *s) {
    Cg *cg = k->cg;
    Ir live = address_live(k, s), to = registers(k, s), zero = ir_zero(cg, register_type(s));
    if (live) ir_set(cg, to, zero);
    if (live) ir_if(cg, live);
    Ir source = address_source(k, s), test = address_test(k, s);
    if (test && !live) ir_set(cg, to, zero);
    if (test) ir_if(cg, test);
    ir_set(cg, to, travel_load(cg, s->o->storage, s->l->vec, source));
    if (test) ir_close(cg);
    if (live) ir_close(cg);
}

/* A point of a tile.  */
typedef struct {
    Ir mn, k;
    TileFrom from;
} TilePoint;

/* Is the point at hand inside?  NULL: always.  */
static Ir inside(const Kernel *k, const Side *s, Ir own, Ir kk) {
    const Cg *cg = k->cg;
    Ir test = NULL;
    if (s->ragged) test = product_inside(k, s, s->own, own);
    return k->c->k_ragged ? ir_both(cg, test, product_inside(k, s, AX_K, kk)) : test;
}

/* The operand's expression there, assigned to `to`.  */
static void evaluate(Kernel *k, const Side *s, TilePoint x, Ir live, Ir to) {
    Cg *cg = k->cg;
    Ir own = address_point_own(k, s, ir_add(cg, x.from.own, x.mn));
    Ir kk = address_point_k(k, ir_add(cg, x.from.k, x.k)), within = inside(k, s, own, kk);
    Ir test = within ? ir_both(cg, live, within) : live;
    if (test) {
        ir_set(cg, to, ir_int(cg, 0));
        ir_if(cg, test);
    }
    CgPoint at = address_indices(k, s, own, kk);
    Ir value = cg_expr(&at, s->o->expr, s->o->compute);
    ir_set(cg, to, s->direct ? cg_encode(cg, s->tile, s->o->compute, value) : value);
    if (test) ir_close(cg);
}

/* Opens a loop over the elements of a chunk, if there are several; gives their number, and their
 * positions.  */
static Ir open_elements(Kernel *k, const Side *s, Ir *mn, Ir *kk) {
    Ir *moves = s->l->along == AX_K ? kk : mn;
    if (s->l->vec == 1) return ir_int(k->cg, 0);
    Ir v = ir_count(k->cg, "v", s->l->vec, IR_UNROLL_ALL);
    *moves = ir_add(k->cg, *moves, v);
    return v;
}

static void load_elements(Kernel *k, const Side *s) {
    Ir mn = address_mn(k, s), kk = address_k(k, s), v = open_elements(k, s, &mn, &kk);
    evaluate(k, s, (TilePoint){mn, kk, product_tile_next(k, s)}, address_live(k, s),
             ir_lane(k->cg, registers(k, s), v));
    if (s->l->vec > 1) ir_close(k->cg);
}

/* The operand's tile in the stage that is written.  */
static Ir tile_put(const Kernel *k, const Side *s) {
    const Cg *cg = k->cg;
    Ir at = ir_add(cg, smem_stage(k, s, operand_ring(k, s)->put), operand_at(k, s)->tile);
    return ir_view(cg, ir_pointer(ir_storage(s->tile), IR_SHARED, false), at);
}

/* Operands with many elements per thread: a short loop from expression to shared memory.  */
static void load_direct(Kernel *k, const Side *s, TileFrom from) {
    enum { COPIES = 4 };
    Cg *cg = k->cg;
    Ir live = address_live(k, s), mn, kk;
    Ir i = ir_count_of(cg, k->var.i, s->per_thread, COPIES);
    if (live) ir_if(cg, live);
    Ir number = ir_add(cg, k->var.tid, ir_mul(cg, i, k->var.threads));
    chunk_split(k, s, number, &mn, &kk);
    mn = ir_let_as(cg, IR_I32, "c_mn", mn);
    kk = ir_let_as(cg, IR_I32, "c_k", kk);
    open_elements(k, s, &mn, &kk);
    Ir value = ir_variable(cg, ir_storage(s->tile), "value", NULL);
    evaluate(k, s, (TilePoint){mn, kk, from}, NULL, value);
    ir_set(cg, ir_element(cg, tile_put(k, s), address_tile(k, s, mn, kk)), value);
    if (s->l->vec > 1) ir_close(cg);
    if (live) ir_close(cg);
    ir_close(cg);
}

void load_staged(Kernel *k, const Side *s) {
    Cg *cg = k->cg;
    if (s->direct) {
        if (k->c->r->stages > 1) load_direct(k, s, product_tile_next(k, s));
        return;
    }
    ir_count_of(cg, k->var.i, s->per_thread, IR_UNROLL_ALL);
    if (s->copies) load_copies(k, s);
    else if (s->n_read) load_reads(k, s);
    else load_elements(k, s);
    ir_close(cg);
}

/* Elements as they go to the tile, in words or in pairs or not.  */
typedef struct {
    Ir array;
    IrBase base;              /* that they are put as */
    const char *store;        /* by this function; NULL: the usual */
    int each;                 /* of `array` in an access */
} Put;

/* A register element in the form it has in the tile, or waits in to be rounded in pairs.  */
static Ir kept(const Kernel *k, const Side *s, bool pairs, Ir x) {
    if (s->copies && s->tile == s->o->storage) return x;
    if (s->copies) {
        x = cg_decode(k->cg, s->o->storage, x);
        x = cg_convert(k->cg, s->o->compute, te_dtype_compute(s->o->storage), x);
    }
    return cg_wait(k->cg, s->tile, pairs, s->o->compute, x);
}

/* Index in the tile of an element of chunk i, `more` elements along the direction of the load.  */
static Ir target(const Kernel *k, const Side *s, Ir more) {
    const Cg *cg = k->cg;
    bool along_k = s->l->along == AX_K, straight = s->l->along == s->l->layout.inner;
    if (s->l->layout.bits == 0 && s->places.n == 0) {
        if (!straight) more = ir_mul(cg, more, ir_int(cg, s->row));
        return ir_add(cg, address_chunk(k, s), more);
    }
    Ir mn = address_mn(k, s), kk = address_k(k, s);
    if (along_k) kk = ir_add(cg, kk, more);
    else mn = ir_add(cg, mn, more);
    return address_tile(k, s, mn, kk);
}

/* Writes the elements of a chunk along the rows of the tile `to`, `width` at a time.  */
static void put_straight(Kernel *k, const Side *s, Ir to, const Put *x, int width) {
    Cg *cg = k->cg;
    int parts = s->l->vec / width;
    Ir part = NULL, at = address_chunk(k, s), from = x->array;
    if (parts > 1) {
        part = ir_count(cg, "part", parts, IR_UNROLL_ALL);
        at = target(k, s, ir_mul(cg, part, ir_int(cg, width)));
        from = ir_add(cg, from, ir_mul(cg, part, ir_int(cg, x->each)));
    }
    to = ir_add(cg, to, at);
    if (x->base != to->type.base) to = ir_view(cg, ir_pointer(x->base, IR_SHARED, false), to);
    ir_store(cg, x->store, x->each, to, from);
    if (part) ir_close(cg);
}

/* Elements of one byte that become those of two.  */
static Put widened(Kernel *k, const Side *s, const char *widen, int width) {
    Cg *cg = k->cg;
    Ir x = ir_array(cg, ir_type(IR_U32), "x", 2 * words(s), 0, 0);
    Ir w = ir_count(cg, "w", words(s), IR_UNROLL_ALL);
    ir_do(cg, ir_call_in_place(cg, widen, 1, 2, ir_add(cg, x, ir_mul(cg, ir_int(cg, 2), w)),
                               ir_lane(cg, registers(k, s), w)));
    ir_close(cg);
    return (Put){x, IR_U32, NULL, width / 2};
}

/* As the tile has them, or waiting to be rounded in pairs.  */
static Put converted(Kernel *k, const Side *s, int width) {
    Cg *cg = k->cg;
    bool pairs = cg_pairs(s->tile, width);
    Put x = {.base = ir_storage(s->tile), .store = cg_store(cg, s->tile, pairs), .each = width};
    if (s->n_read) {
        x.array = load_reads_evaluate(k, s, pairs);
        return x;
    }
    x.array = ir_array(cg, ir_type(cg_waiting(s->tile, pairs)), "x", s->l->vec, 0, 0);
    Ir v = ir_count(cg, "v", s->l->vec, IR_UNROLL_ALL);
    ir_set(cg, ir_element(cg, x.array, v), kept(k, s, pairs, register_element(k, s, v)));
    ir_close(cg);
    return x;
}

/* The registers as they are.  */
static Put unchanged(const Kernel *k, const Side *s, int width) {
    const Cg *cg = k->cg;
    Ir first = ir_unary(cg, IR_ADDRESS, ir_lane(cg, registers(k, s), ir_int(cg, 0)));
    if (in_words(s)) return (Put){first, IR_U32, NULL, words(s)};
    return (Put){first, ir_storage(s->tile), NULL, width};
}

/* Along the rows of the tile: whole vectors, of at most 16 bytes.  */
static void keep_straight(Kernel *k, const Side *s, Ir to) {
    int vec = s->l->vec, width = vec * s->elem > RTILE_ACCESS ? RTILE_ACCESS / s->elem : vec;
    bool same = s->copies && s->tile == s->o->storage;
    const char *widen = in_words(s) ? cg_widen(k->cg, s->tile, s->o->storage) : NULL;
    Put x = widen  ? widened(k, s, widen, width)
            : same ? unchanged(k, s, width)
                   : converted(k, s, width);
    put_straight(k, s, to, &x, same && in_words(s) ? vec : width);
}

static void keep_across(Kernel *k, const Side *s, Ir to) {
    Cg *cg = k->cg;
    Ir x = s->n_read ? load_reads_evaluate(k, s, false) : NULL;
    Ir v = ir_count(cg, "v", s->l->vec, IR_UNROLL_ALL);
    Ir value = x ? ir_element(cg, x, v) : kept(k, s, false, register_element(k, s, v));
    ir_set(cg, ir_element(cg, to, target(k, s, v)), value);
    ir_close(cg);
}

static void keep_element(Kernel *k, const Side *s, Ir to) {
    Cg *cg = k->cg;
    Ir x = ir_let_as(cg, ir_storage(s->tile), "x", kept(k, s, false, registers(k, s)));
    ir_do(cg, ir_call_n(cg, ir_type(IR_VOID), "rl_store_shared", 1, 3, to, address_chunk(k, s),
                        ir_unary(cg, IR_ADDRESS, x)));
}

void load_staged_keep(Kernel *k, const Side *s) {
    Cg *cg = k->cg;
    if (s->direct) {
        if (k->c->r->stages == 1) load_direct(k, s, product_tile_waiting(k, s));
        return;
    }
    Ir live = address_live(k, s);
    ir_count_of(cg, k->var.i, s->per_thread, IR_UNROLL_ALL);
    if (live) ir_if(cg, live);
    Ir to = ir_let(cg, "to", tile_put(k, s));
    if (s->l->vec == 1) keep_element(k, s, to);
    else if (s->l->along == s->l->layout.inner) keep_straight(k, s, to);
    else keep_across(k, s, to);
    if (live) ir_close(cg);
    ir_close(cg);
}
