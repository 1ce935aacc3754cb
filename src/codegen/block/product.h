/* Names and places that the blocks of a product (`contract`) share, as values.  */
#ifndef ROLLER_CODEGEN_BLOCK_PRODUCT_H
#define ROLLER_CODEGEN_BLOCK_PRODUCT_H
#include "codegen/block/building.h"

/* Words of an operand's variables, a_NAME or b_NAME, and constants, A_NAME or B_NAME.  */
const char *product_name(const Cg *cg, const Side *s, const char *name);
const char *product_constant_name(const Cg *cg, const Side *s, const char *name);
/* A number of a level and an axis, TM: of a tile of the block in one k-step (B), of a warp (W), of
 * an instruction or a thread (T); instructions (I), or lanes (L), of a warp; neighbours of a thread
 * (V).  */
void product_put_size(Kernel *k, char letter, AxisClass axis, int64_t n);
Ir product_size(const Kernel *k, char letter, AxisClass axis);
/* What row or column i of a thread adds to its first: all lanes have vectors by turns.  */
Ir product_spread(const Kernel *k, AxisClass axis, Ir i);
/* Where the thread is along the operand's own axis in the block's tile: `row` or `col`.  */
Ir product_place(const Kernel *k, const Side *s);
/* The first row or column of the block's tile, of the warp's.  */
Ir product_first(const Kernel *k, AxisClass axis);
Ir product_warp_first(const Kernel *k, AxisClass axis);
Ir product_extent(const Kernel *k, AxisClass axis);         /* points along an axis */
/* Of several products the one of that number is at hand from here on.  What it has for itself: a
 * word of its variables, its ring.  */
void product_select(Kernel *k, int number);
const char *product_word(const Kernel *k, const char *name);
static inline RingAt *product_ring_at(const Kernel *k) { return &k->ring[k->c->turns]; }
/* That of an operand's stages; of one that is filled once, its product's.  */
static inline RingAt *operand_ring(const Kernel *k, const Side *s) {
    return s->stays ? product_ring_at(k) : &k->ring[s->ring];
}
/* Names of a ring but the first end with its number.  */
const char *product_ring_word(const Kernel *k, int ring, const char *name);
/* Has the last one an operand of results of the one before?  The one behind that at hand.  */
static inline bool product_chains(const Kernel *k) {
    const Layout *l = k->l->layout;
    return k->product && l->product[l->n_product - 1].side[0].made;
}
static inline const ProductAt *product_next(const Kernel *k) {
    return &k->product[k->c->number + 1];
}
/* Is it a chain whose first product has a tile of columns a turn, not all at once?  */
bool product_turns(const Kernel *k);
/* The axis along which its turns go.  */
static inline AxisClass product_moves(const Kernel *k) {
    return k->c->end[-1].moves;
}
/* Is it what the next product is made of?  Are its k-steps those of the block's loop?  */
static inline bool product_feeds(const Kernel *k) {
    return product_chains(k) && k->c->number + 1 < k->c->layout->n_product;
}
bool product_counts(const Kernel *k);
/* Of a chain: does a mask decide on the columns that a block visits?  The test that a position of a
 * load of an operand is one of those that the block has along an axis.  */
bool product_bounded(const Kernel *k);
/* Has a block of it, by a mask or as a slice, a part of the turns?  */
bool product_parted(const Kernel *k);
Ir product_inside(const Kernel *k, const Side *s, AxisClass axis, Ir at);
/* The first row or column of an operand's next load.  */
Ir product_loads_from(const Kernel *k, const Side *s);
/* Where a tile of an operand begins: its first row or column, its first k.  That of its next load,
 * and that of the one before, which waits in registers when the next one is at hand.  */
typedef struct {
    Ir own, k;
} TileFrom;
TileFrom product_tile_next(const Kernel *k, const Side *s);
TileFrom product_tile_waiting(const Kernel *k, const Side *s);
/* Row i of a thread's accumulators, or of its instructions; one of them: all blocks ask here where
 * results are.  */
static inline Ir product_row(const Kernel *k, Ir i) { return ir_element(k->cg, k->own->acc, i); }
static inline Ir product_sum(const Kernel *k, Ir i, Ir j) {
    return ir_element(k->cg, product_row(k, i), j);
}
/* Declares so many, as the identity of the reduction.  */
void product_clear(Kernel *k, TeRedop red, TeDtype type, int rows, int columns);

/* smem.c: the kernel's shared memory from a byte on, as elements; its stage that begins at the
 * byte `turn` (where there is but one, the memory itself).  Compilers tell (smem + x) + y from
 * smem + (x + y): what the loops add comes last, apart from the rest.  */
Ir smem_at(const Kernel *k, IrBase base, bool constant, Ir byte);
Ir smem_stage(const Kernel *k, const Side *s, Ir turn);
Ir smem_stage_at(const Kernel *k, const Side *s, Ir turn);        /* its address */
#endif
