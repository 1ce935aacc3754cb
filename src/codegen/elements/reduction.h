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
 * What a form of reduction is, monoid.c alone knows; how lanes meet, reduce.c, and warps,
 * meeting.c; where elements lie, the files of each column of this table, which make its
 * ThreadMap.  */
#ifndef ROLLER_CODEGEN_ELEMENTS_REDUCTION_H
#define ROLLER_CODEGEN_ELEMENTS_REDUCTION_H
#include "codegen/elements/elements.h"

/* How parts of results meet through shared memory: who holds one leaves it there, and behind a
 * barrier those join what is held of who needs them.  A lane takes one and lanes meet (`spread`),
 * or parts are taken in order.  */
typedef struct {
    int parts;                /* of a result; 0: they do not */
    Ir leaves, at;            /* who leaves its part (NULL: all), as which element; */
    bool scattered;           /* its results lie apart */
    bool spread;
    Ir needs;                 /* in order: who takes parts (NULL: all) */
    Ir part, from, elements;  /* the number of one, where it lies, what it has seen */
    int lanes, rounds;        /* spread: bits of the numbers of lanes that take parts; how many */
    Ir more;                  /* a lane takes, where the Walk.u-th lies */
    int under_way;
    struct {
        MonoidVariable into;  /* what parts before `end` join, ... */
        Ir end, test;         /* ... (spread) if there are some; NULL: there are */
    } take[2];
    int n_take;
} Meeting;

typedef struct {
    const RowGroup *group;    /* NULL: the one reduction is the kernel's root */
    MonoidVariable held;      /* what a thread holds, */
    int items;                /* of so many results, as arrays; 0: of one; */
    Ir lane;                  /* the one at hand */
    int behind;               /* they are held behind so many others */
    IrBase count;             /* the type that counts elements of a result */
    int threads, block;       /* neighbours that meet, in a block of so many; */
    int lanes;                /* 1 thread: lanes that do, as bits of their numbers */
    Ir seen;                  /* elements of a result that all that meet have seen */
    bool apart;               /* online reductions have a walk and meetings of their own */
    Meeting meeting;
    Ir live;                  /* the test that a result has elements; NULL: it has */
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

/* Of statements over rows in a block of a product (stats.c).  */
ThreadMap stats_map(const Kernel *k, const Node *n);

/* The type of numbers of results, up to a block's behind them: 64 bits wide?  */
bool reduction_wide(const Kernel *k);
IrBase reduction_base(const Kernel *k);
/* Walk.at: the result that lies `own` behind the block's first one.  */
void reduction_place(Kernel *k, Ir own);
/* The thread among so many with `vec` neighbouring results each, and among groups of these; the
 * block's slice of a walk; statements' elements at the thread's results of an axis.  */
void reduction_place_across(Kernel *k, int across, int vec);
void reduction_place_slice(Kernel *k);
void reduction_place_elements(Kernel *k, const FusedAxis *out, int vec);

/* What a thread holds of pass `pass`.  */
Partials reduction_partials(const Kernel *k, const ThreadMap *m, int pass);
/* A step of elements that a thread has at hand, `deep` of them, or (0) as many as it counts as
 * `fresh`: the leaders first, which move, then what follows.  */
typedef void ReductionFold(Kernel *k, const Partials *p, int of, bool online);
void reduction_step(Kernel *k, const Partials *p, int deep, ReductionFold *fold, int of);
/* meeting.c: where LN neighbours of several warps meet.  What nodes become: lanes of a result meet;
 * parts of results are left in shared memory, and taken.  */
Meeting meeting_of_neighbours(const Kernel *k, int threads);
void meeting_lanes(Kernel *k, const ThreadMap *m, const Node *n);
void meeting_put(Kernel *k, const ThreadMap *m, const Node *n);
void meeting_take(Kernel *k, const ThreadMap *m, const Node *n);
void meeting_leave(Kernel *k, const ThreadMap *m, const Node *n);         /* to the workspace, */
void meeting_combine(Kernel *k, const ThreadMap *m, const Node *n);       /* from there */
/* Lanes meet; opens the loop over the results that a thread holds.  */
void reduction_meet(Kernel *k, const ThreadMap *m, const Partials *p, int which);
void reduction_open_items(Kernel *k, const ThreadMap *m);
void reduction_close_items(Kernel *k, const ThreadMap *m);
/* Where parts of a pass lie in the block.  */
void reduction_rooms(Kernel *k, const RowGroup *g, int pass);
void reduction_settle(Kernel *k, const ThreadMap *m, const Partials *p);
/* Parts in the workspace; names those of the thread's results.  */
extern const ReduceArrays reduction_slices;
void reduction_left(Kernel *k, const ThreadMap *m, const Partials *p);
/* The vectors of the block's results: a loop, in which Walk.at is the first result of one, inside
 * Walk.results.  */
void reduction_open_results(Kernel *k, const ThreadMap *m, IrBase base);
/* All parts that are this thread's join what it holds; those of all threads, as results.  */
void reduction_gather(Kernel *k, const ThreadMap *m, const Partials *p);
void reduction_combine(Kernel *k, const ThreadMap *m, const Partials *p);
/* The sums of a product from its parts, as results.  */
void sums_combine(Kernel *k, const ThreadMap *m);
/* Where the values of results are kept, as value[at] in a space of memory.  */
typedef struct {
    IrSpace space;
    Ir at;
    Ir stores;                /* where what is in memory is stored; NULL: wherever it is kept */
} ReductionKept;
/* Defines what results are known by behind pass `pass` (-1: before all): its reductions, held as
 * acc, and what follows from them.  Threads where `live` (NULL: all) keep it (NULL: not), and store
 * what is in memory.  */
void reduction_values(Kernel *k, const RowGroup *g, int pass, Ir live, const ReductionKept *kept,
                      bool stores);
/* The reduction of statement `stmt` of the group of columns, at element v.  */
Ir reduction_column(const Kernel *k, int stmt);
#endif
