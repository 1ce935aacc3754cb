/* Kernels that reduce: one skeleton, whose parameter is the thread map.
 *
 * A pass (RowGroup.pass) is a walk, in which each thread folds the elements that it has of some
 * results into what it holds (elements_statements, elements_fold).  Then those meet that have
 * elements of the same results: threads of the block by shuffles and shared memory, blocks through
 * the workspace, where each leaves a part, and a later kernel combines them.  Results are settled,
 * and what follows from them is evaluated and stored.
 *
 *                       row                 column                rows of a product
 * results of a thread   one                 neighbours, v         rows of its tile, x
 * elements of a thread  vectors of steps    rows of steps         columns of its tile
 * threads of a result   LN neighbours       lanes, then warps     lanes along N, then warps
 * parts                 slices of columns   slices of rows        column tiles
 * combined by           LN threads          one, or a warp's      one, or some of a warp
 * online reductions       follow in a step    follow in a step      have a walk of their own
 *
 * What a form of reduction is, monoid.c alone knows; how partial results meet, reduce.c; where
 * elements lie, the files of each column of this table, which make its ThreadMap.  */
#ifndef ROLLER_CODEGEN_ELEMENTS_REDUCTION_H
#define ROLLER_CODEGEN_ELEMENTS_REDUCTION_H
#include "codegen/elements/elements.h"

typedef struct {
    const RowGroup *group;    /* NULL: the one reduction is the kernel's root */
    MonoidVariable held;      /* what a thread holds, */
    int items;                /* of so many results, as arrays; 0: of one; */
    Ir lane;                  /* the one at hand */
    IrBase count;             /* the type that counts elements of a result */
    int threads, block;       /* neighbours that meet, in a block of so many; */
    int lanes;                /* 1 thread: lanes that do, as bits of their numbers */
    Ir total;                 /* elements of a result, */
    Ir live;                  /* the test that there are some; NULL: there are */
    /* Parts: so many in the workspace, those of the thread's results from element `first` (NULL: 0)
     * on; the block's own, left where `only` (NULL: always) holds; part s < n_partial
     * and its elements, of which thread `rank` combines every so many.  */
    int64_t partials;
    Ir first, own, only;
    Ir n_partial, at, elements, rank;
    int under_way;            /* parts that are read before the first one is needed */
    Ir begin, second;         /* what is held begins with the part there, and `second` is the next
                               * one; NULL: with none */
    Ir moves;                 /* ReduceRange.moves */
} ThreadMap;
Ir sums_left(const Kernel *k);           /* where these lie */
ThreadMap sums_map(const Kernel *k);     /* of a product whose sums lie in the workspace */
ThreadMap stats_map(const Kernel *k);    /* of a product, or of what makes values of its parts */

/* The type of numbers of results, up to a block's behind them: 64 bits wide?  */
bool reduction_wide(const Kernel *k);
IrBase reduction_base(const Kernel *k);
/* Walk.at: the result that lies `own` behind the block's first one.  */
void reduction_place(Kernel *k, Ir own);

/* What a thread holds of pass `pass`.  */
Partials reduction_partials(const Kernel *k, const ThreadMap *m, int pass);
/* A step of elements that a thread has at hand, `deep` of them, or (0) as many as it counts as
 * `fresh`: the leaders first, which move, then what follows.  */
typedef void ReductionFold(Kernel *k, const Partials *p, int of, bool online);
void reduction_step(Kernel *k, const Partials *p, int deep, ReductionFold *fold, int of);
/* Threads meet that have seen `elements` of a result together.  */
void reduction_meet(Kernel *k, const ThreadMap *m, const Partials *p, Ir elements);
void reduction_settle(Kernel *k, const ThreadMap *m, const Partials *p);
/* Names the parts of the thread's results, as left; leaves the block's own.  */
void reduction_left(Kernel *k, const ThreadMap *m, const Partials *p);
void reduction_leave(Kernel *k, const ThreadMap *m, const Partials *p);
/* The vectors of the block's results: a loop, in which Walk.at is the first result of one, inside
 * Walk.results.  */
void reduction_open_results(Kernel *k, const ThreadMap *m, IrBase base);
/* All parts, as results.  */
void reduction_combine(Kernel *k, const ThreadMap *m, const Partials *p);
/* The sums of a product from its parts, as results.  */
void sums_combine(Kernel *k, const ThreadMap *m);
/* Where the values of results are kept, as value[at] in a space of memory.  */
typedef struct {
    IrSpace space;
    Ir at;
} ReductionKept;
/* Defines what results are known by behind pass `pass` (-1: before all): its reductions, held as
 * acc, and what follows from them.  Threads where `live` (NULL: all) keep it (NULL: not), and store
 * what is in memory.  */
void reduction_values(Kernel *k, const RowGroup *g, int pass, Ir live, const ReductionKept *kept,
                      bool stores);
/* The reduction of statement `stmt` of the group of columns, at element v.  */
Ir reduction_column(const Kernel *k, int stmt);
#endif
