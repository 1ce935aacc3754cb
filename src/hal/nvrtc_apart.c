/* NVRTC on threads of its own.  */
#include "hal/nvrtc_library.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Its recursion goes as deep as on a process's first thread.  */
enum { STACK_BYTES = 8 << 20, POLL_NS = 20 * 1000 * 1000 };

/* Belongs to the thread and the caller; who leaves last frees it.  */
typedef struct {
    Nvrtc nvrtc;
    NvrtcProgram *program;
    int n_option, result;
    char *option[NVRTC_MAX_OPTIONS];
    pthread_mutex_t lock;
    pthread_cond_t ended;
    bool done, left;
} Apart;

static void drop(Apart *x) {
    for (int i = 0; i < x->n_option; i++) free(x->option[i]);
    pthread_cond_destroy(&x->ended);
    pthread_mutex_destroy(&x->lock);
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
    pthread_mutex_init(&x->lock, NULL);
    pthread_cond_init(&x->ended, NULL);
    for (; x->n_option < n_option; x->n_option++) {
        x->option[x->n_option] = copy(option[x->n_option]);
        if (x->option[x->n_option]) continue;
        drop(x);
        return NULL;
    }
    return x;
}

static void compile(Apart *x) {
    x->result = x->nvrtc.CompileProgram(x->program, x->n_option, (const char *const *)x->option);
}

static void *work(void *arg) {
    Apart *x = arg;
    compile(x);
    pthread_mutex_lock(&x->lock);
    x->done = true;
    bool alone = x->left;
    pthread_cond_signal(&x->ended);
    pthread_mutex_unlock(&x->lock);
    if (!alone) return NULL;
    x->nvrtc.DestroyProgram(&x->program);
    drop(x);
    return NULL;
}

/* Begins the thread with all signals blocked, which its own threads inherit; but not those that a
 * thread raises itself.  Where there can be no thread the caller compiles, and takes signals when
 * it is done.  */
static bool begin(Apart *x) {
    pthread_attr_t attr;
    pthread_t thread;
    sigset_t all, was;
    static const int own[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP};
    sigfillset(&all);
    for (size_t i = 0; i < sizeof own / sizeof *own; i++) sigdelset(&all, own[i]);
    pthread_sigmask(SIG_BLOCK, &all, &was);
    bool begun = false;
    if (!pthread_attr_init(&attr)) {
        pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
        pthread_attr_setstacksize(&attr, STACK_BYTES);
        begun = pthread_create(&thread, &attr, work, x) == 0;
        pthread_attr_destroy(&attr);
    }
    if (!begun) compile(x);
    pthread_sigmask(SIG_SETMASK, &was, NULL);
    return begun;
}

static void wait_a_little(Apart *x) {
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += POLL_NS;
    if (until.tv_nsec >= 1000000000) {
        until.tv_sec++;
        until.tv_nsec -= 1000000000;
    }
    pthread_cond_timedwait(&x->ended, &x->lock, &until);
}

int nvrtc_compile_apart(const Nvrtc *n, Arena *a, NvrtcProgram *p, int n_option,
                        const char *const *option, Watch *watch) {
    Apart *x = apart_new(n, p, n_option, option);
    if (!x) arena_fail(a);
    if (begin(x)) {
        pthread_mutex_lock(&x->lock);
        while (!x->done && !watch_ended(watch)) {
            if (watch) wait_a_little(x);
            else pthread_cond_wait(&x->ended, &x->lock);
        }
        x->left = !x->done;
        bool left = x->left;
        pthread_mutex_unlock(&x->lock);
        if (left) return NVRTC_STOPPED;
    }
    int result = x->result;
    drop(x);
    return result;
}
