/* NVRTC on threads of its own.  */
#include "hal/nvrtc_library.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Its recursion goes as deep as on a process's first thread.  */
enum { STACK_BYTES = 8 << 20, POLL_NS = 20 * 1000 * 1000 };

/* The caller frees it, or who comes by later if the caller has left.  */
typedef struct Apart {
    Nvrtc nvrtc;
    NvrtcProgram *program;
    int n_option, result;
    char *option[NVRTC_MAX_OPTIONS];
    pthread_t thread;
    atomic_bool stop;         /* the compilation is to end */
    bool done, left, awaited; /* awaited: somebody joins the thread */
    struct Apart *next;
} Apart;

/* All that have a thread.  NVRTC's own data is destroyed when the process ends, so no thread may be
 * in it then.  A child has none of its parent's threads.  */
static struct {
    pthread_mutex_t lock;
    pthread_cond_t change;
    pthread_once_t opened;
    Apart *first;
    bool ending;              /* the process is */
} running = {.lock = PTHREAD_MUTEX_INITIALIZER, .change = PTHREAD_COND_INITIALIZER,
             .opened = PTHREAD_ONCE_INIT};

static void lock(void) { pthread_mutex_lock(&running.lock); }
static void unlock(void) { pthread_mutex_unlock(&running.lock); }

static void in_child(void) {
    running.first = NULL;
    pthread_cond_init(&running.change, NULL);
    unlock();
}

static void open_running(void) { pthread_atfork(lock, unlock, in_child); }

/* ---- one of them ---- */

static void drop(Apart *x) {
    for (int i = 0; i < x->n_option; i++) free(x->option[i]);
    free(x);
}

static char *copy(const char *s) {
    size_t len = strlen(s) + 1;
    char *p = malloc(len);
    return p ? memcpy(p, s, len) : NULL;
}

/* NULL: no memory.  */
static Apart *apart_new(const Nvrtc *n, NvrtcProgram *p, int n_option, const char *const *option) {
    Apart *x = malloc(sizeof *x);
    if (!x) return NULL;
    *x = (Apart){.nvrtc = *n, .program = p};
    for (; x->n_option < n_option; x->n_option++) {
        x->option[x->n_option] = copy(option[x->n_option]);
        if (x->option[x->n_option]) continue;
        drop(x);
        return NULL;
    }
    return x;
}

static int asked(void *user, void *unused) {
    Apart *x = user;
    (void)unused;
    return atomic_load(&x->stop);
}

static void compile(Apart *x) {
    if (x->nvrtc.SetFlowCallback) x->nvrtc.SetFlowCallback(x->program, asked, x);
    x->result = x->nvrtc.CompileProgram(x->program, x->n_option, (const char *const *)x->option);
}

static void *work(void *arg) {
    Apart *x = arg;
    compile(x);
    lock();
    bool left = x->left;
    x->done = !left;
    pthread_cond_broadcast(&running.change);
    unlock();
    if (!left) return NULL;
    x->nvrtc.DestroyProgram(&x->program);
    lock();
    x->done = true;
    unlock();
    return NULL;
}

/* Under the lock.  Joins a thread, which may take a while, and takes it off the list.  */
static void await(Apart *x) {
    Apart **at = &running.first;
    x->awaited = true;
    unlock();
    pthread_join(x->thread, NULL);
    lock();
    while (*at != x) at = &(*at)->next;
    *at = x->next;
    pthread_cond_broadcast(&running.change);
}

/* ---- the end of the process ---- */

/* Nobody waits for a thread that ends the process itself, from inside NVRTC.  */
static Apart *first_to_await(void) {
    Apart *x = running.first;
    while (x && (x->awaited || pthread_equal(x->thread, pthread_self()))) x = x->next;
    return x;
}

static bool others_await(void) {
    const Apart *x = running.first;
    while (x && !x->awaited) x = x->next;
    return x != NULL;
}

static void await_all(void) {
    Apart *x;
    lock();
    running.ending = true;
    for (x = running.first; x; x = x->next) atomic_store(&x->stop, true);
    pthread_cond_broadcast(&running.change);
    while ((x = first_to_await())) await(x);
    while (others_await()) pthread_cond_wait(&running.change, &running.lock);
    unlock();
}

void nvrtc_await_at_exit(void) { (void)atexit(await_all); }

/* ---- a caller ---- */

/* Under the lock: joins and frees those that were left and have ended since.  */
static void sweep(void) {
    for (Apart *x = running.first; x; ) {
        Apart *next = x->next;
        if (x->left && x->done && !x->awaited) {
            await(x);
            drop(x);
            next = running.first;
        }
        x = next;
    }
}

/* Under the lock.  */
static bool create(Apart *x) {
    pthread_attr_t attr;
    if (pthread_attr_init(&attr)) return false;
    pthread_attr_setstacksize(&attr, STACK_BYTES);
    bool begun = pthread_create(&x->thread, &attr, work, x) == 0;
    pthread_attr_destroy(&attr);
    if (!begun) return false;
    x->next = running.first;
    running.first = x;
    return true;
}

/* Begins the thread with all signals blocked, which its own threads inherit; but not those that a
 * thread raises itself.  Where there can be no thread the caller compiles, and takes signals when
 * it is done.  */
static bool begin(Apart *x) {
    sigset_t all, was;
    static const int own[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP};
    sigfillset(&all);
    for (size_t i = 0; i < sizeof own / sizeof *own; i++) sigdelset(&all, own[i]);
    pthread_sigmask(SIG_BLOCK, &all, &was);
    pthread_once(&running.opened, open_running);
    lock();
    sweep();
    bool begun = running.ending || create(x);
    unlock();
    if (!begun) compile(x);
    pthread_sigmask(SIG_SETMASK, &was, NULL);
    return begun;
}

static void wait_a_little(void) {
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += POLL_NS;
    if (until.tv_nsec >= 1000000000) {
        until.tv_sec++;
        until.tv_nsec -= 1000000000;
    }
    pthread_cond_timedwait(&running.change, &running.lock, &until);
}

/* Is the watch over?  It may ask the caller, who is free to begin another compilation.  */
static bool is_over(Watch *watch) {
    unlock();
    bool over = watch_ended(watch);
    lock();
    return over;
}

/* False: the compilation was left to itself.  */
static bool wait_for(Apart *x, Watch *watch) {
    lock();
    while (!x->done && !running.ending && !is_over(watch)) {
        if (x->done) break;
        if (watch) wait_a_little();
        else pthread_cond_wait(&running.change, &running.lock);
    }
    bool done = x->done && !x->awaited;
    x->left = !done;
    if (done) await(x);
    else atomic_store(&x->stop, true);
    unlock();
    return done;
}

int nvrtc_compile_apart(const Nvrtc *n, Arena *a, NvrtcProgram *p, int n_option,
                        const char *const *option, Watch *watch) {
    Apart *x = apart_new(n, p, n_option, option);
    if (!x) arena_fail(a);
    if (begin(x) && !wait_for(x, watch)) return NVRTC_STOPPED;
    int result = x->result;
    drop(x);
    return result;
}
