/* What comes before what in Tensor Memory (PTX ISA, "Memory Consistency Model for 5th generation of
 * TensorCore operations").  */
#include "sim/async/tmem.h"

#include <string.h>

/* ORDERED_BARE: but for a fence, which devices are known not to need.  */
typedef enum { UNORDERED, ORDERED_BARE, ORDERED } Order;

/* Whether a lane knows what entry `entry` did up to `time`: in all; at its last
 * fence::after_thread_sync.  */
static bool knows(SimLane by, int entry, uint32_t lanes, uint32_t time) {
    return sim_clock_covers(by.w->block->cluster, by.w->view[by.lane], entry, lanes, time);
}
static bool knew(SimLane by, int entry, uint32_t lanes, uint32_t time) {
    const uint32_t *after = async_warp(by.w)->tensor_view[by.lane];
    return after && sim_clock_covers(by.w->block->cluster, after, entry, lanes, time);
}

/* Between fences: what was told at `told` (0: not so far) and done at `done`.  */
static Order between(SimLane by, int entry, uint32_t lanes, uint32_t told, uint32_t done) {
    if (told && knew(by, entry, lanes, told)) return ORDERED;
    return knows(by, entry, lanes, done) ? ORDERED_BARE : UNORDERED;
}

static bool of_unit(const TmemAccess *x) { return x->kind == TMEM_CP || x->kind == TMEM_MMA; }

/* Pairs that the unit works out in order of issue.  That products read before later copies and
 * products write is of newer revisions of the ISA than 9.1.  */
static bool pipelined(const TmemAccess *x, bool reads, const TmemAccess *y) {
    if (!of_unit(y)) return false;
    if (reads) return x->kind == TMEM_MMA;
    return y->kind == TMEM_MMA && (x->kind == TMEM_CP || x->shape == y->shape);
}

static bool same_thread(const TmemAccess *x, const TmemAccess *y) {
    return x->by.w == y->by.w && x->by.lane == y->by.lane;
}

/* Products and copies: `y` waited for a commit's arrival, which is a fence, too; or need not, if it
 * is known to have been issued later.  */
static Order unit_before(const TmemAccess *x, bool reads, const TmemAccess *y) {
    uint32_t lane = 1u << x->by.lane;
    bool in_order = pipelined(x, reads, y);
    if (in_order && same_thread(x, y)) return ORDERED;
    Order ended = between(y->by, sim_reads_entry(x->by.w, true), lane, x->issued, x->issued);
    Order issued = in_order ? between(y->by, x->by.w->clock_id, lane, x->told, x->issued)
                            : UNORDERED;
    return ended > issued ? ended : issued;
}

/* Loads and stores are the work of a whole warp: one of its lanes tells of them.  */
static Order warp_before(const TmemAccess *x, const TmemAccess *y) {
    if (!x->waited) return UNORDERED;
    if (x->by.w == y->by.w) return ORDERED;
    return between(y->by, x->by.w->clock_id, 0, x->told, x->waited);
}

static const char *name(const TmemAccess *x) {
    static const char *const names[] = {[TMEM_LD] = "tcgen05.ld", [TMEM_ST] = "tcgen05.st",
                                        [TMEM_CP] = "tcgen05.cp", [TMEM_MMA] = "tcgen05.mma"};
    return names[x->kind];
}

/* What is missing between x and what comes now.  */
static const char *missing(const TmemAccess *x, const TmemAccess *y) {
    if (!of_unit(x) && !x->waited)
        return x->kind == TMEM_LD ? "has not been waited for (tcgen05.wait::ld)"
                                  : "has not been waited for (tcgen05.wait::st)";
    if (of_unit(x) && (same_thread(x, y) || !of_unit(y)))
        return "is not known to have ended: it takes a tcgen05.commit, a wait for its mbarrier, "
               "and tcgen05.fence::after_thread_sync";
    return "is not ordered with it: it takes tcgen05.fence::before_thread_sync, what synchronises "
           "the threads, and tcgen05.fence::after_thread_sync";
}

/* Whether access `number` comes before y; false after a fault, which names the place.  */
static bool before(const TmemLog *log, uint32_t number, bool reads, const TmemAccess *y,
                   uint32_t lane, uint32_t column) {
    const TmemAccess *x = &log->access[number];
    Order order = number == 0 ? ORDERED : of_unit(x) ? unit_before(x, reads, y) : warp_before(x, y);
    if (order == ORDERED) return true;
    if (order == ORDERED_BARE)
        return sim_warn(y->by, SIM_TENSOR_MEMORY,
                        "touches lane %u, column %u of Tensor Memory behind %s of warp %d (line "
                        "%d) without tcgen05.fence before and after what synchronises the two",
                        lane, column, name(x), x->by.w->id, x->by.i->ptx->line);
    sim_fault(y->by, SIM_TENSOR_MEMORY,
              "touches lane %u, column %u of Tensor Memory, where %s of warp %d (line %d) %s", lane,
              column, name(x), x->by.w->id, x->by.i->ptx->line, missing(x, y));
    return false;
}

static bool allocated(const TensorMemory *t, SimLane by, TmemPart p) {
    uint32_t end = p.column + p.columns;
    bool inside = p.lane + p.lanes <= TMEM_LANES && end <= TMEM_COLUMNS;
    for (uint32_t c = p.column; inside && c < end; c++) inside = t->owner[c / TMEM_UNIT] != 0;
    if (inside) return true;
    sim_fault(by, SIM_TENSOR_MEMORY,
              "lanes %u to %u, columns %u to %u of Tensor Memory are not allocated", p.lane,
              p.lane + p.lanes - 1, p.column, end - 1);
    return false;
}

static bool checked(SimLane by) { return !by.w->block->cluster->run->options->no_races; }

bool tmem_read(uint32_t access, SimBlock *b, TmemPart p) {
    TensorMemory *t = tmem_of(b);
    const TmemLog *log = async_of(b->cluster)->tensor;
    const TmemAccess y = log->access[access];
    if (!allocated(t, y.by, p)) return false;
    for (uint32_t c = p.column; c < p.column + p.columns; c++) {
        for (uint32_t lane = p.lane; lane < p.lane + p.lanes; lane += TMEM_ROWS) {
            TmemTouch *at = &t->touch[c][lane / TMEM_ROWS];
            if (!at->write) {
                sim_fault(y.by, SIM_TENSOR_MEMORY,
                          "reads lane %u, column %u of Tensor Memory, which were never written",
                          lane, c);
                return false;
            }
            if (checked(y.by) && at->torn) {
                sim_fault(y.by, SIM_TENSOR_MEMORY,
                          "reads lane %u, column %u of Tensor Memory, which several tcgen05.cp "
                          "have written without an order", lane, c);
                return false;
            }
            if (checked(y.by) && !before(log, at->write, false, &y, lane, c)) return false;
            *(of_unit(&y) ? &at->unit_read : &at->warp_read) = access;
        }
    }
    return true;
}

static bool was_read(const TmemTouch *at) {
    return at->warp_read > at->write || at->unit_read > at->write;
}

/* Copies always write whole columns.  Those that nobody reads may be written by several copies of a
 * thread, which are not worked out in order.  */
static bool tears(const TmemLog *log, const TmemTouch *at, const TmemAccess *y) {
    const TmemAccess *x = &log->access[at->write];
    bool copies = at->write > 0 && x->kind == TMEM_CP && y->kind == TMEM_CP;
    if (!copies || !same_thread(x, y) || was_read(at)) return false;
    return unit_before(x, false, y) != ORDERED;
}

/* Whether all that touched a place comes before y.  What was read since the last write comes behind
 * it, and alone counts.  */
static bool all_before(const TmemLog *log, const TmemTouch *at, const TmemAccess *y,
                       uint32_t lane, uint32_t column) {
    bool read = was_read(at);
    return before(log, at->warp_read, true, y, lane, column) &&
           before(log, at->unit_read, true, y, lane, column) &&
           (read || before(log, at->write, false, y, lane, column));
}

bool tmem_write(uint32_t access, SimBlock *b, TmemPart p) {
    TensorMemory *t = tmem_of(b);
    const TmemLog *log = async_of(b->cluster)->tensor;
    const TmemAccess y = log->access[access];
    if (!allocated(t, y.by, p)) return false;
    for (uint32_t c = p.column; c < p.column + p.columns; c++) {
        for (uint32_t lane = p.lane; lane < p.lane + p.lanes; lane += TMEM_ROWS) {
            TmemTouch *at = &t->touch[c][lane / TMEM_ROWS];
            at->torn = tears(log, at, &y);
            if (checked(y.by) && !at->torn && !all_before(log, at, &y, lane, c)) return false;
            at->write = access;
        }
    }
    return true;
}

bool tmem_ended(SimLane by, SimBlock *b, TmemPart p) {
    TensorMemory *t = tmem_of(b);
    const TmemLog *log = async_of(b->cluster)->tensor;
    const TmemAccess y = {.kind = TMEM_ST, .by = by};
    for (uint32_t c = p.column; checked(by) && c < p.column + p.columns; c++) {
        for (uint32_t lane = 0; lane < TMEM_LANES; lane += TMEM_ROWS) {
            if (!all_before(log, &t->touch[c][lane / TMEM_ROWS], &y, lane, c)) return false;
        }
    }
    return true;
}

/* Also of a warp that has touched nothing yet.  */
static TmemLog *log_of(SimWarp *w) {
    tmem_of(w->block);
    return async_of(w->block->cluster)->tensor;
}

uint32_t tmem_access(TmemKind kind, SimLane by, uint64_t shape) {
    SimCluster *c = by.w->block->cluster;
    TmemLog *log = log_of(by.w);
    log->access = arena_grow(c->arena, log->access, &log->room, log->n + 1, sizeof *log->access);
    log->access[log->n] = (TmemAccess){.kind = kind, .by = by, .issued = c->time, .shape = shape};
    AsyncWarp *a = async_warp(by.w);
    if (!a->untold) a->untold = (uint32_t)log->n;
    return (uint32_t)log->n++;
}

void tmem_wait(SimWarp *w, TmemKind kind) {
    TmemLog *log = log_of(w);
    uint32_t now = w->block->cluster->time;
    for (size_t n = async_warp(w)->untold; n && n < log->n; n++) {
        TmemAccess *x = &log->access[n];
        if (x->by.w == w && x->kind == kind && !x->waited) x->waited = now;
    }
}

void tmem_fence_before(SimWarp *w) {
    TmemLog *log = log_of(w);
    AsyncWarp *a = async_warp(w);
    uint32_t now = ++w->block->cluster->time, left = 0;
    for (size_t n = a->untold; n && n < log->n; n++) {
        TmemAccess *x = &log->access[n];
        if (x->by.w != w || x->told) continue;
        if (of_unit(x) || x->waited) x->told = now;
        else if (!left) left = (uint32_t)n;
    }
    a->untold = left;
}

void tmem_fence_after(SimWarp *w, uint32_t lanes) {
    SimCluster *c = w->block->cluster;
    AsyncWarp *a = async_warp(w);
    SIM_EACH(l, lanes) {
        if (!a->tensor_view[l]) a->tensor_view[l] = sim_clock_new(c);
        memcpy(a->tensor_view[l], w->view[l], sim_clock_bytes(c));
    }
}
