/* Clusters on host threads.
 *
 * Independent clusters are handed out in ascending order.  Kernels whose blocks communicate run on
 * one thread: clusters start in ascending order, and one that does not end within a slice lets the
 * next begin, so that blocks may wait for each other as on a device where all of them are
 * resident.  So do kernels whose blocks take the place of clusters that have not begun.  */
#include "base/pool.h"
#include "sim/launch/launch.h"
#include "sim/lane/warp.h"

enum {
    SLICE = 256,
    POLL_ROUNDS = 16,         /* what a round in which a block polled takes of the budget */
    MOST_RESIDENT = 8192
};

typedef struct {
    Arena *scratch, *results;
    SimCounters total;
    SimSlices *work;          /* sums of timing.h; NULL: not timed */
    SimSm *sm;                /* one for each block of a cluster; NULL: not timed */
} Worker;

/* One step on behalf of clusters that share SMs, under the recovery points of both arenas.  */
typedef struct {
    SimTask *task;            /* n in a row; whose place others have taken have none */
    int n, live;              /* clusters: of all tasks, those that have not ended */
    Worker *worker;
    Arena *scratch;
    SimCluster **cluster;     /* of each task; NULL before the first slice, and of those that have
                               * ended */
    uint64_t budget;          /* rounds */
    bool good;
} Step;

static void begin_all(Step *s) {
    SimCluster **all = ARENA_ARRAY(s->scratch, SimCluster *, s->n);
    for (int k = 0; k < s->n; k++) {
        if (s->task[k].cancelled) continue;
        all[k] = sim_cluster_begin(&s->task[k], s->scratch, s->worker->results);
        s->live++;
    }
    s->cluster = all;
}

/* Each runs as far in time as the others, and the first one comes first to what they share.  Has
 * any of them polled?  */
static bool run_round(Step *s) {
    Worker *w = s->worker;
    uint32_t until = UINT32_MAX;
    bool polled = false;
    for (int k = 0; k < s->n; k++)
        if (s->cluster[k]) until = sim_cluster_until(s->cluster[k], until);
    for (int k = 0; k < s->n; k++) {
        SimCluster *c = s->cluster[k];
        uint64_t polls = c ? c->polls : 0;
        if (!c) continue;
        bool ended = sim_cluster_run(c, until);
        polled |= c->polls != polls;
        if (!ended) continue;
        sim_cluster_end(&s->task[k], c, &w->total, w->work, w->results);
        s->cluster[k] = NULL;
        s->live--;
    }
    return polled;
}

static void step(void *user) {
    Step *s = user;
    uint64_t left = s->budget;
    if (!s->cluster) begin_all(s);
    while (left > 0 && s->live > 0) {
        bool polled = run_round(s) && left < UINT64_MAX / 2;
        uint64_t cost = polled ? POLL_ROUNDS : 1;
        left -= cost < left ? cost : left;
    }
    s->good = true;
}

static void step_inside(void *user) {
    Step *s = user;
    arena_try(s->worker->results, step, s);
}

static bool run_step(Step *s) {
    s->good = false;
    return arena_try(s->scratch, step_inside, s) && s->good;
}

typedef struct {
    const SimRun *run;
    SimTask *task;
    int64_t *first;           /* of those that share SMs; the end */
    Worker *worker;
    Watch *watch;
} Crew;

static SimSm *new_sms(Arena *a, Arena *results, const SimRun *r) {
    int n = r->timing ? (int)(r->cluster[0] * r->cluster[1] * r->cluster[2]) : 0;
    SimSm *all = n ? ARENA_ARRAY(a, SimSm, n) : NULL;
    for (int k = 0; k < n; k++) sim_sm_init(a, results, r->timing, &all[k]);
    return all;
}

static void clear_sms(const SimRun *r, SimSm *all) {
    for (uint32_t n = 0; n < r->cluster[0] * r->cluster[1] * r->cluster[2]; n++)
        sim_sm_clear(&all[n]);
}

/* The tasks from k->task[from] to `end`, on SMs of their own.  */
static Step step_of(const Crew *k, Worker *w, int64_t from, int64_t end) {
    for (int64_t t = from; t < end; t++) k->task[t].sm = w->sm;
    return (Step){.task = &k->task[from], .n = (int)(end - from), .worker = w};
}

static bool run_together(void *user, int64_t n, int worker) {
    const Crew *k = user;
    Worker *w = &k->worker[worker];
    if (watch_ended(k->watch)) return false;
    if (w->sm) clear_sms(k->run, w->sm);
    Step s = step_of(k, w, k->first[n], k->first[n + 1]);
    s.scratch = w->scratch;
    s.budget = UINT64_MAX;
    ArenaMark mark = arena_mark(w->scratch);
    bool good = run_step(&s);
    arena_reset(w->scratch, mark);
    return good;
}

/* Neighbours share SMs.  */
static int64_t part_tasks(Arena *a, const SimTasks *all, const SimRun *r, bool timed,
                          int64_t **first) {
    int64_t n = 0;
    *first = ARENA_ARRAY(a, int64_t, all->n + 1);
    for (int64_t t = 0; t < all->n; t++) {
        const SimTask *x = &all->task[t];
        bool same = timed && t > 0 && sim_place(r, x[-1].cluster) == sim_place(r, x->cluster);
        if (!same) (*first)[n++] = t;
    }
    (*first)[n] = all->n;
    return n;
}

/* Those that have begun.  */
typedef struct {
    Step *step;
    int n;
} Live;

static void drop_live(void *p) {
    Live *x = p;
    while (x->n > 0) arena_destroy(x->step[--x->n].scratch);
}

/* Runs all for a slice; the finished ones leave.  */
static bool run_live(Live *x) {
    int kept = 0;
    bool good = true;
    for (int k = 0; k < x->n; k++) {
        good = good && run_step(&x->step[k]);
        Step ran = x->step[k];
        x->step[k] = x->step[kept];
        x->step[kept] = ran;
        if (good && ran.live) kept++;
    }
    while (x->n > kept) arena_destroy(x->step[--x->n].scratch);
    return good;
}

/* From *next on, behind tasks whose place others have taken: does one begin?  */
static bool next_begins(const Crew *k, int64_t n_task, int64_t *next) {
    if (*next == n_task) return false;
    SimWaiting *x = &k->task->run->waiting;
    while (x->cluster && (x->n == 0 || k->task[*next].cluster != *x->cluster)) {
        k->task[*next].cancelled = true;
        if (++*next == n_task) return false;
    }
    if (x->cluster) x->cluster++, x->n--;
    ++*next;
    return true;
}

/* The next tasks that share SMs; false: there are none.  *first is where such begin.  */
static bool begin_next(Arena *a, const Crew *k, int64_t n_task, const int64_t **first,
                       int64_t *next, Step *out) {
    int64_t from = *next;
    if (!next_begins(k, n_task, next)) return false;
    while (*next > **first) ++*first;
    while (*next < **first && next_begins(k, n_task, next)) continue;
    k->worker->sm = new_sms(a, k->worker->results, k->run);
    *out = step_of(k, k->worker, from, *next);
    out->budget = n_task == 1 ? UINT64_MAX : SLICE;
    out->scratch = arena_create(NULL);
    return true;
}

static bool run_serial(Arena *a, const Crew *k, int64_t n_task) {
    Live *live = ARENA_NEW(a, Live);
    live->step = ARENA_ARRAY(a, Step, n_task < MOST_RESIDENT ? n_task : MOST_RESIDENT);
    arena_defer(a, drop_live, live);
    bool good = true;
    const int64_t *first = k->first;
    for (int64_t next = 0; good && (next < n_task || live->n > 0);) {
        Step *s = &live->step[live->n];
        if (watch_ended(k->watch)) break;
        if (live->n < MOST_RESIDENT && begin_next(a, k, n_task, &first, &next, s)) {
            good = s->scratch != NULL;
            live->n += good;
        }
        good = good && run_live(live);
    }
    drop_live(live);
    return good;
}

static void destroy(void *p) { arena_destroy(p); }

static Arena *worker_arena(Arena *a) {
    Arena *w = arena_create(NULL);
    if (!w) arena_fail(a);
    arena_defer(a, destroy, w);
    return w;
}

Status sim_run_tasks(Arena *a, Diag *d, const SimTasks *all, const SimRun *run, SimCounters *total,
                     SimSlices *work) {
    const SimOptions *o = run->options;
    bool serial = run->kernel->serial || run->kernel->cancels;
    int threads = serial ? 1 : pool_threads(o->threads);
    if (threads > all->n) threads = all->n > 0 ? (int)all->n : 1;
    Crew crew = {run, all->task, NULL, ARENA_ARRAY(a, Worker, threads), o->watch};
    int64_t groups = part_tasks(a, all, run, work != NULL, &crew.first);
    for (int t = 0; t < threads; t++) {
        crew.worker[t].scratch = worker_arena(a);
        crew.worker[t].results = worker_arena(a);
        if (!work) continue;
        crew.worker[t].work = ARENA_NEW(a, SimSlices);
        sim_slices_new(a, work->n_work, crew.worker[t].work);
        if (!serial) crew.worker[t].sm = new_sms(a, crew.worker[t].results, run);
    }
    bool good = serial ? run_serial(a, &crew, all->n)
                       : pool_for(threads, groups, run_together, &crew);
    for (int t = 0; t < threads; t++) {
        sim_count_add(total, &crew.worker[t].total);
        if (work) sim_slices_merge(work, crew.worker[t].work);
    }
    if (watch_ended(o->watch)) {
        return diag_error(d, ST_CANCELLED, "sim", DIAG_NOWHERE, "the simulation was stopped");
    }
    if (good) return ST_OK;
    return diag_error(d, ST_NOMEM, "sim", DIAG_NOWHERE, "no memory to simulate a block");
}
