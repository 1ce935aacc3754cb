/* Clusters on host threads.
 *
 * Independent clusters are handed out in ascending order.  Kernels whose blocks communicate run on
 * one thread: clusters start in ascending order, and one that does not end within a slice lets the
 * next begin, so that blocks may wait for each other as on a device where all of them are
 * resident.  So do kernels whose blocks take the place of clusters that have not begun.  */
#include "base/pool.h"
#include "sim/launch/launch.h"
#include "sim/lane/warp.h"

enum { SLICE = 256, MOST_RESIDENT = 8192 };

typedef struct {
    Arena *scratch, *results;
    SimCounters total;
    SimSlices *work;          /* sums of timing.h; NULL: not timed */
    SimSm *sm;                /* one for each block of a cluster; NULL: not timed */
} Worker;

/* One step on behalf of a task, under the recovery points of both arenas.  */
typedef struct {
    SimTask *task;
    Worker *worker;
    Arena *scratch;
    SimCluster *cluster;      /* NULL before the first slice and after the last */
    uint64_t budget;
    bool good;
} Step;

static void step(void *user) {
    Step *s = user;
    Worker *w = s->worker;
    if (!s->cluster) s->cluster = sim_cluster_begin(s->task, s->scratch, w->results);
    if (sim_cluster_run(s->cluster, s->budget)) {
        sim_cluster_end(s->task, s->cluster, &w->total, w->work, w->results);
        s->cluster = NULL;
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
    int64_t *first;           /* of those that share SMs, and so run one after another; the end */
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

static bool run_one(const Crew *k, SimTask *task, Worker *w) {
    if (watch_ended(k->watch)) return false;
    ArenaMark mark = arena_mark(w->scratch);
    Step s = {.task = task, .worker = w, .scratch = w->scratch, .budget = UINT64_MAX};
    bool good = run_step(&s);
    arena_reset(w->scratch, mark);
    return good;
}

static bool run_together(void *user, int64_t n, int worker) {
    const Crew *k = user;
    Worker *w = &k->worker[worker];
    if (w->sm) clear_sms(k->run, w->sm);
    for (int64_t t = k->first[n]; t < k->first[n + 1]; t++) {
        k->task[t].sm = w->sm;
        if (!run_one(k, &k->task[t], w)) return false;
    }
    return true;
}

/* Neighbours share SMs, as many as there are on one at once.  */
static int64_t part_tasks(Arena *a, const SimTasks *all, int64_t together, int64_t **first) {
    int64_t n = 0;
    *first = ARENA_ARRAY(a, int64_t, all->n + 1);
    for (int64_t t = 0; t < all->n; t++) {
        const SimTask *x = &all->task[t];
        if (t == 0 || x[-1].cluster / together != x->cluster / together) (*first)[n++] = t;
    }
    (*first)[n] = all->n;
    return n;
}

/* Clusters that have begun.  */
typedef struct {
    Step *step;
    int n;
} Live;

static void drop_live(void *p) {
    Live *x = p;
    while (x->n > 0) arena_destroy(x->step[--x->n].scratch);
}

/* Runs every live cluster for a slice; the finished ones leave.  */
static bool run_live(Live *x) {
    int kept = 0;
    bool good = true;
    for (int k = 0; k < x->n; k++) {
        good = good && run_step(&x->step[k]);
        Step ran = x->step[k];
        x->step[k] = x->step[kept];
        x->step[kept] = ran;
        if (good && ran.cluster) kept++;
    }
    while (x->n > kept) arena_destroy(x->step[--x->n].scratch);
    return good;
}

/* The task that begins next, behind those whose place others have taken; NULL: there is none.  */
static SimTask *next_task(const Crew *k, int64_t n_task, int64_t *next) {
    if (*next == n_task) return NULL;
    SimWaiting *x = &k->task->run->waiting;
    while (x->cluster && (x->n == 0 || k->task[*next].cluster != *x->cluster)) {
        k->task[*next].cancelled = true;
        if (++*next == n_task) return NULL;
    }
    if (x->cluster) x->cluster++, x->n--;
    return &k->task[(*next)++];
}

/* Is a task the first to run of those that share SMs?  *first is where the next such begin.  */
static bool begins(const Crew *k, const SimTask *task, const int64_t **first) {
    const int64_t *was = *first;
    while (task - k->task >= **first) ++*first;
    return *first != was;
}

static bool run_serial(Arena *a, const Crew *k, int64_t n_task) {
    Live *live = ARENA_NEW(a, Live);
    live->step = ARENA_ARRAY(a, Step, n_task < MOST_RESIDENT ? n_task : MOST_RESIDENT);
    arena_defer(a, drop_live, live);
    bool good = true;
    const int64_t *first = k->first;
    for (int64_t next = 0; good && (next < n_task || live->n > 0);) {
        if (watch_ended(k->watch)) break;
        SimTask *task = live->n < MOST_RESIDENT ? next_task(k, n_task, &next) : NULL;
        if (task) {
            if (begins(k, task, &first)) k->worker->sm = new_sms(a, k->worker->results, k->run);
            task->sm = k->worker->sm;
            Step s = {.task = task,
                      .worker = k->worker,
                      .scratch = arena_create(NULL),
                      .budget = n_task == 1 ? UINT64_MAX : SLICE};
            good = s.scratch != NULL;
            if (good) live->step[live->n++] = s;
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
    int64_t groups = part_tasks(a, all, work ? sim_together(run) : 1, &crew.first);
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
