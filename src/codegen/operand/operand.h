/* Operands of a product: where their chunks come from, how they are loaded, the ring of stages that
 * boxes fill, regions that are loaded before the first step.
 *
 * Names in the text of a `contract` kernel: m0 n0 first row and column of the block's tile, row col
 * those of the thread in it, first steps the slice's k-steps, k_next first k of the next load, put
 * take byte offsets of the stage written and read; a_ and b_ begin what belongs to an operand.  */
#ifndef ROLLER_CODEGEN_OPERAND_OPERAND_H
#define ROLLER_CODEGEN_OPERAND_OPERAND_H
#include "codegen/block/block.h"
#include "codegen/block/product.h"

/* address.c: where the chunks of a load come from and go to; i is the number of the chunk.  */
void address_thread(Kernel *k, const Side *s);
void address_step(Kernel *k, const Side *s);              /* once a step, before the chunks */
Ir address_source(Kernel *k, const Side *s);              /* pointer; defines what it needs */
Ir address_live(const Kernel *k, const Side *s);          /* is there a chunk i? NULL: always */
Ir address_test(Kernel *k, const Side *s);                /* is it inside? NULL: always */
int address_group(const Kernel *k, const Side *s);        /* chunks of a turn of a loop, or 0 */
Ir address_mn(const Kernel *k, const Side *s);            /* position in the tile */
Ir address_k(const Kernel *k, const Side *s);
Ir address_own(const Kernel *k, const Side *s);           /* row or column of the whole */
/* Index of element (mn, kk) in an operand's shared tile, in elements.  */
Ir address_tile(const Kernel *k, const Side *s, Ir mn, Ir kk);
/* The same for the thread's chunk i.  */
Ir address_chunk(const Kernel *k, const Side *s);

/* table.c: entries of the load that begins at k_next.  */
void table_next(Kernel *k);

/* load.c: the pipeline around the loads.  A copy node of an operand; those of a compute node behind
 * row `row` of the products, one of `rows`; whether there is a step to load; on to the
 * next one (and the pointers of loads between products, too), to the next stage to put to, and to
 * take from: `stays` if that is the last one.  */
void load_copy(Kernel *k, const Node *n);
void load_row(Kernel *k, const Node *copies, Ir row, int rows);
void load_more(Kernel *k);
void load_next(Kernel *k, bool spread);
void load_put(Kernel *k, int ring);
void load_take(Kernel *k, int ring, bool stays);
/* load_async.c, load_staged.c */
void load_async(Kernel *k, const Side *s, bool first);
void load_async_row(Kernel *k, const Side *s, Ir row, int rows);
void load_staged_declare(Kernel *k, const Side *s);
void load_staged(Kernel *k, const Side *s);
void load_staged_keep(Kernel *k, const Side *s);
/* load_reads.c: staged chunks of an expression whose reads are made for a whole chunk at once:
 * registers, loads of chunk i, and its elements as an array x: as they are stored, or to be
 * rounded in `pairs` by the store.  */
void load_reads_declare(Kernel *k, const Side *s);
void load_reads(Kernel *k, const Side *s);
Ir load_reads_evaluate(Kernel *k, const Side *s, bool pairs);
/* Sets where chunk i of an operand that is gathered lies, and whether it is there.  */
void load_gathered(Kernel *k, const Side *s, Ir from, Ir inside);

/* ring.c: a ring of stages, which some warps fill by boxes; maps of tensors, of operands; the
 * copies of operand `side` in a step.  */
KernelMap ring_map(Arena *a, const Problem *p, const Access *x, const RBox *box);
KernelMap ring_operand_map(Arena *a, const Contract *c, const Side *s, int number);
/* The number of an operand's tensor map: how many operands before it are loaded; NULL: of all.  */
int ring_map_number(const Layout *l, const Side *s);
void ring_fetch(Kernel *k, const Node *n);                /* of the maps */
/* A ring as values (RingAt): its first slot, and the next one; its barriers.  */
Ir ring_barrier(const Kernel *k, int ring, int id);       /* of the slot, and the team, at hand */
Ir ring_leading(const Kernel *k, Ir barrier);             /* the same of a pair's first block */
Ir ring_barrier_at(const Kernel *k, int ring, int id, Ir slot);
Ir ring_slots(const Kernel *k, int ring);                 /* of all teams: they follow each other */
void ring_begin(Kernel *k, const Node *n);
void ring_next(Kernel *k, int ring);
void ring_copy(Kernel *k, const Node *n);
Ir ring_tile(const Kernel *k, const Side *s, int ring);   /* address of the slot's tile */
Ir ring_batch(const Kernel *k, const RBoxDim *d);         /* its coordinate there, */
Ir ring_digit(const Kernel *k, const RBoxDim *d, Ir row); /* and where rows are several of them */
/* ring_pixels.c: the same of columns of pixels.  Where a box begins: its first row and k, and
 * whether it is the first one of the step.  */
typedef struct {
    Ir row, k;
    bool first;
} PixelsAt;
KernelMap pixels_map(Arena *a, const Contract *c, const Side *s);
void pixels_box(const Kernel *k, const Side *s, const PixelsAt *at, IrBox *x);
/* A plane of the region of the tile at hand, from the line of its first row on, with borders.  */
void pixels_plane(const Kernel *k, const Side *s, int plane, IrBox *x);
/* The same of a region whose parts are boxes of the tensor: of one of a plane.  */
KernelMap region_map(Arena *a, const Contract *c, const Side *s);
void region_plane(const Kernel *k, const Side *s, int number, IrBox *x);

/* region.c: an operand that is loaded before the first step.  */
void region_constants(Kernel *k, const Side *s);
void region_load(Kernel *k, const Side *s);
/* That of the tile at hand to a slot of its ring, by the team that fills it.  */
void region_fill(Kernel *k, const Side *s, int ring);
/* Of one that boxes bring: places of the rows of the tile at hand; all matrices of a step, from
 * the slot at `from` to the registers to[slice][instruction].  */
void region_place(Kernel *k, const Side *s);
void region_read(Kernel *k, const Side *s, Ir from, Ir to);
void region_advance(Kernel *k, const Side *s);            /* to the next step's k */
/* The slice at kk, to the registers `to`.  */
void region_fetch_mma(Kernel *k, const Side *s, Ir kk, Ir to);
/* By ldmatrix: the place of the lane's k in the slice at kk, and the address of its row of a group
 * of matrices, the first of which has row `own` of the warp's tile, there.  */
Ir region_matrix_k(Kernel *k, const Side *s, Ir kk);
Ir region_matrix(const Kernel *k, const Side *s, Ir own, Ir from);
/* Row i of the thread at the place `from`.  */
Ir region_element(const Kernel *k, const Side *s, Ir from, Ir i);
#endif
