#include "codegen/multiply/multiply.h"
#include "codegen/block/product.h"

bool fragment_multiplies(const Kernel *k) {
    const Contraction *con = &k->c->p->con;
    bool real = te_dtype_class(con->acc) == TE_CLASS_REAL;
    return con->product && con->red == TE_RED_SUM && (real || con->body->type == con->acc);
}

static TeDtype type_of(const Kernel *k, const Side *s) {
    return fragment_multiplies(k) ? k->c->p->con.acc : s->o->compute;
}

static int depth_of(const Side *s) { return s->ahead ? 2 : s->fragment_k; }

void fragment_declare(Kernel *k) {
    for (const Side *s = k->c->side; s < k->c->end; s++) {
        IrBase base = k->c->packed ? IR_I32 : ir_compute(type_of(k, s));
        operand_at(k, s)->frag = ir_array(k->cg, ir_type(base), product_name(k->cg, s, "frag"),
                                          depth_of(s), s->thread, 0);
    }
}

static Ir converted(const Kernel *k, const Side *s, Ir element) {
    if (k->c->packed) return element;
    Ir x = cg_decode(k->cg, s->tile, element);
    return cg_convert(k->cg, type_of(k, s), s->o->compute, x);
}

static void put(Kernel *k, const Side *s, Ir buffer, Ir i, Ir element) {
    Cg *cg = k->cg;
    ir_set(cg, ir_element(cg, ir_element(cg, operand_at(k, s)->frag, buffer), i),
           converted(k, s, element));
}

/* Distance of register i from the thread's first row or column.  */
static Ir register_at(const Kernel *k, const Side *s, Ir i) {
    if (s->vec > 1 && s->inner_k) return product_spread(k, s->own, i);
    return ir_mul(k->cg, i, product_size(k, 'L', s->own));
}

/* Elements after which a swizzle repeats along a row, rows after which it repeats.  */
static int swizzle_elements(const Side *s) {
    return (16 / s->elem) << (s->l->layout.base + s->l->layout.bits);
}

static int swizzle_of(const RLayout *l, int row) { return row >> l->shift & ((1 << l->bits) - 1); }

/* Does a swizzle flip the same bits in all rows that a thread reads?  The first one is a multiple
 * of its vector.  */
static bool same_swizzle(const Side *s) {
    const RLayout *l = &s->l->layout;
    for (int first = 0; first < 1 << (l->shift + l->bits); first += s->vec) {
        for (int i = 0; i < s->thread; i++) {
            int at = first + i / s->vec * (s->lanes * s->vec) + i % s->vec;
            if (swizzle_of(l, at) != swizzle_of(l, first)) return false;
        }
    }
    return true;
}

/* What a swizzle flips in the positions of row r.  */
static Ir swizzled(const Kernel *k, const Side *s, Ir r) {
    const Cg *cg = k->cg;
    const RLayout *l = &s->l->layout;
    int log_elem = s->elem == 1 ? 0 : s->elem == 2 ? 1 : s->elem == 4 ? 2 : 3;
    Ir bits = ir_binary(cg, IR_AND, ir_binary(cg, IR_SHR, r, ir_int(cg, l->shift)),
                        ir_int(cg, (1 << l->bits) - 1));
    return ir_binary(cg, IR_SHL, bits, ir_int(cg, l->base + 4 - log_elem));
}

/* Where a fetch begins: all that is not known when the text is compiled, so that the accesses
 * differ by constants only.  `at` is k in the warp's part of the stage, `dynamic` + `fixed`.  What
 * a swizzle makes of a constant is added to the pointer first, the access's own constant to that:
 * of a sum of both the compiler makes an OR, and then each access has an address of its own.
 */
typedef struct {
    const Side *s;
    Ir dynamic, fixed;        /* dynamic: or NULL */
    Ir buffer;                /* of the registers */
} Fetch;

static Ir fetched_k(const Cg *cg, const Fetch *f) { return ir_sum(cg, f->dynamic, f->fixed); }

static Ir begin_along_k(const Kernel *k, const Fetch *f) {
    const Cg *cg = k->cg;
    const Side *s = f->s;
    Ir begin = ir_mul(cg, product_place(k, s), operand_at(k, s)->row);
    bool apart = s->l->layout.bits == 0 || k->c->r->unroll % swizzle_elements(s) == 0;
    return f->dynamic && apart ? ir_add(cg, begin, f->dynamic) : begin;
}

/* Register i's place behind `from`.  */
static Ir each_along_k(const Kernel *k, const Fetch *f, Ir from, Ir i) {
    const Cg *cg = k->cg;
    const Side *s = f->s;
    Ir at = register_at(k, s, i), pos = product_place(k, s);
    Ir down = ir_mul(cg, at, operand_at(k, s)->row);
    if (s->l->layout.bits == 0) return ir_add(cg, from, ir_add(cg, down, f->fixed));
    Ir mask = swizzled(k, s, same_swizzle(s) ? pos : ir_add(cg, pos, at));
    bool apart = k->c->r->unroll % swizzle_elements(s) == 0;
    Ir kk = ir_binary(cg, IR_XOR, apart ? f->fixed : fetched_k(cg, f), mask);
    return ir_add(cg, ir_add(cg, from, kk), down);
}

static Ir begin_across(const Kernel *k, const Fetch *f) {
    const Cg *cg = k->cg;
    Ir row = k->own->operand[f->s->side].row;
    Ir begin = f->dynamic ? ir_mul(cg, f->dynamic, row) : NULL;
    if (f->s->l->layout.bits == 0) return ir_sum(cg, begin, product_place(k, f->s));
    return begin;
}

static Ir each_across(const Kernel *k, const Fetch *f, Ir i) {
    const Cg *cg = k->cg;
    const Side *s = f->s;
    Ir at = register_at(k, s, i), pos = product_place(k, s);
    Ir down = ir_is(f->fixed, 0) ? NULL : ir_mul(cg, f->fixed, operand_at(k, s)->row);
    if (s->l->layout.bits == 0) return ir_sum(cg, down, at);
    Ir mask = swizzled(k, s, fetched_k(cg, f));
    if (s->lanes * s->vec % swizzle_elements(s) == 0)
        return ir_add(cg, ir_sum(cg, down, at), ir_binary(cg, IR_XOR, pos, mask));
    return ir_sum(cg, down, ir_binary(cg, IR_XOR, ir_add(cg, pos, at), mask));
}

/* n neighbours at a pointer, and one of them.  */
static Ir read(Cg *cg, Ir from, int n) {
    return ir_let(cg, "x", n > 1 ? ir_load(cg, from, n) : ir_element(cg, from, ir_int(cg, 0)));
}

static Ir lane_of(const Cg *cg, Ir x, Ir lane) {
    return x->type.lanes > 1 ? ir_lane(cg, x, lane) : x;
}

/* k inner: for each row or column of the thread, fragment_k neighbours along k in one access.  */
static void fetch_along_k(Kernel *k, const Fetch *f, Ir from) {
    Cg *cg = k->cg;
    const Side *s = f->s;
    int n = s->ahead ? 1 : s->fragment_k;
    Ir i = ir_count_of(cg, k->var.i, s->thread, IR_UNROLL_ALL);
    from = each_along_k(k, f, from, i);
    if (k->c->packed) from = ir_view(cg, ir_pointer(IR_I32, IR_SHARED, true), from);
    Ir x = read(cg, from, n);
    if (s->ahead) {
        put(k, s, f->buffer, i, x);
    } else {
        Ir each = ir_count_of(cg, k->var.f, n, IR_UNROLL_ALL);
        put(k, s, each, i, lane_of(cg, x, each));
        ir_close(cg);
    }
    ir_close(cg);
}

/* Its own axis inner: vectors of neighbouring rows or columns.  */
static void fetch_across(Kernel *k, const Fetch *f, Ir from) {
    Cg *cg = k->cg;
    const Side *s = f->s;
    Ir i = ir_for_of(cg, k->var.i, ir_int(cg, 0), ir_int(cg, s->thread), s->vec, IR_UNROLL_ALL);
    Ir x = read(cg, ir_add(cg, from, each_across(k, f, i)), s->vec);
    Ir v = ir_count(cg, "v", s->vec, IR_UNROLL_ALL);
    put(k, s, f->buffer, ir_add(cg, i, v), lane_of(cg, x, v));
    ir_close(cg);
    ir_close(cg);
}

/* From the region: each row or column by itself.  */
static void fetch_region(Kernel *k, const Fetch *f) {
    Cg *cg = k->cg;
    const Side *s = f->s;
    Ir places = smem_at(k, IR_I32, true, operand_at(k, s)->places);
    Ir from = ir_let(cg, "from", ir_element(cg, places, fetched_k(cg, f)));
    Ir i = ir_count_of(cg, k->var.i, s->thread, IR_UNROLL_ALL);
    put(k, s, f->buffer, i, region_element(k, s, from, i));
    ir_close(cg);
}

void fragment_fetch(Kernel *k, const Side *s, Ir dynamic, Ir fixed, Ir buffer) {
    Cg *cg = k->cg;
    Fetch f = {s, dynamic, fixed, buffer};
    if (k->c->warps[AX_K] > 1) {
        Ir warp = k->var.k_warp;
        f.dynamic = dynamic ? ir_add(cg, warp, dynamic) : warp;
    }
    ir_scope(cg);
    if (s->l->region) {
        fetch_region(k, &f);
    } else {
        Ir tile = smem_stage(k, s, operand_ring(k, s)->take);
        tile = ir_view(cg, ir_pointer(ir_storage(s->tile), IR_SHARED, true),
                       ir_add(cg, tile, operand_at(k, s)->tile));
        Ir begin = s->inner_k ? begin_along_k(k, &f) : begin_across(k, &f);
        Ir from = ir_let(cg, "from", begin ? ir_add(cg, tile, begin) : tile);
        (s->inner_k ? fetch_along_k : fetch_across)(k, &f, from);
    }
    ir_close(cg);
}

void fragment_first(Kernel *k) {
    Ir zero = ir_int(k->cg, 0);
    for (const Side *s = k->c->side; s < k->c->end; s++) {
        if (s->ahead) fragment_fetch(k, s, NULL, zero, zero);
    }
}
