/* links: hal */
/* Signals while NVRTC compiles: they are the process's own, and none comes to NVRTC's threads.  */
#include "hal/nvrtc_library.h"

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

static const char source[] =
    "extern \"C\" __global__ void one(float *p, int n) {\n"
    "    float x[64];\n"
    "#pragma unroll\n"
    "    for (int i = 0; i < 64; i++) x[i] = p[i * 128 + threadIdx.x];\n"
    "    for (int k = 0; k < n; k++)\n"
    "#pragma unroll\n"
    "        for (int i = 0; i < 64; i++) x[i] = x[i] * x[(i + 7) & 63] + p[k];\n"
    "#pragma unroll\n"
    "    for (int i = 0; i < 64; i++) p[i * 128 + threadIdx.x] = x[i];\n"
    "}\n"
    "extern \"C\" __global__ void two(float *p) { p[threadIdx.x] = 1; }\n";

static const char little[] = "extern \"C\" __global__ void one(float *p) { *p = 1; }\n";

static const int number[] = {SIGINT, SIGTERM, SIGHUP, SIGXFSZ};
enum { N_NUMBER = sizeof number / sizeof *number };
static const NvrtcRequest both = {.ptx = true, .cubin = true};
static Arena *arena;
static Diag diag;
static Nvrtc *nvrtc;

static int set_up(void **state) {
    (void)state;
    arena = arena_create(NULL);
    diag = diag_new(arena);
    return nvrtc_open(arena, &diag, NULL, "sm_90a", &nvrtc) != ST_OK;
}

static int tear_down(void **state) {
    (void)state;
    arena_destroy(arena);
    return 0;
}

/* ---- a host with handlers ---- */
static _Thread_local bool host_thread;
static atomic_int sent, handled, elsewhere;

static void on_signal(int which, siginfo_t *info, void *context) {
    (void)which;
    (void)info;
    (void)context;
    atomic_fetch_add(host_thread ? &handled : &elsewhere, 1);
}

static bool is_ours(int which) {
    struct sigaction now;
    return !sigaction(which, NULL, &now) && now.sa_sigaction == on_signal &&
           now.sa_flags & SA_SIGINFO && sigismember(&now.sa_mask, SIGUSR1);
}

typedef struct {
    pthread_t to;             /* that signals are sent to */
    atomic_bool end;
    bool changed;
} Host;

/* Signals for the process and for one thread of it, from now to the end.  */
static void *disturb(void *p) {
    Host *h = p;
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, NULL);
    for (int i = 0; !atomic_load(&h->end); i++) {
        const struct timespec pause = {.tv_nsec = 200000};
        for (int k = 0; k < N_NUMBER; k++) h->changed |= !is_ours(number[k]);
        if (i % 2) kill(getpid(), number[i / 2 % N_NUMBER]);
        else pthread_kill(h->to, number[i / 2 % N_NUMBER]);
        atomic_fetch_add(&sent, 1);
        nanosleep(&pause, NULL);
    }
    return NULL;
}

static void the_host_keeps_its_handlers(void **state) {
    (void)state;
    struct sigaction ours = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_RESTART};
    struct sigaction was[N_NUMBER];
    sigset_t before, after;
    sigemptyset(&ours.sa_mask);
    sigaddset(&ours.sa_mask, SIGUSR1);
    for (int k = 0; k < N_NUMBER; k++) sigaction(number[k], &ours, &was[k]);
    host_thread = true;
    Host h = {.to = pthread_self()};
    pthread_t thread;
    pthread_sigmask(SIG_BLOCK, NULL, &before);
    assert_int_equal(pthread_create(&thread, NULL, disturb, &h), 0);
    Status s = ST_OK;
    for (int i = 0; i < 3 && !s; i++) {
        NvrtcOutput o;
        s = nvrtc_compile(nvrtc, arena, &diag, source, "sm_90a", &both, &o);
        if (!s) assert_int_equal(o.n_kernel, 2);
    }
    atomic_store(&h.end, true);
    pthread_join(thread, NULL);
    pthread_sigmask(SIG_BLOCK, NULL, &after);
    for (int k = 0; k < N_NUMBER; k++) sigaction(number[k], &was[k], NULL);
    assert_int_equal(s, ST_OK);
    assert_false(h.changed);
    assert_true(atomic_load(&sent) > 3);
    assert_true(atomic_load(&handled) > 0);
    assert_int_equal(atomic_load(&elsewhere), 0);
    for (int k = 0; k < N_NUMBER; k++)
        assert_int_equal(sigismember(&before, number[k]), sigismember(&after, number[k]));
}

/* ---- compilations that are given up ---- */
static void a_compilation_can_be_given_up(void **state) {
    (void)state;
    NvrtcOutput o;
    atomic_bool stop = true;
    Watch watch;
    NvrtcRequest request = both;
    watch_init(&watch, &(WatchCalls){.stop = &stop});
    request.watch = &watch;
    assert_int_equal(nvrtc_compile(nvrtc, arena, &diag, little, "sm_90a", &request, &o),
                     ST_CANCELLED);
    assert_non_null(strstr(diag_first_error(&diag)->message, "stopped"));
    /* What goes on alone is in nobody's way, and has ended before what takes longer.  */
    atomic_store(&stop, false);
    assert_int_equal(nvrtc_compile(nvrtc, arena, &diag, source, "sm_90a", &request, &o), ST_OK);
    assert_int_equal(o.n_kernel, 2);
}

/* ---- processes that end ---- */

static bool at_zero(void *user) { return (*(int *)user)-- <= 0; }

/* A process that gives up a compilation when it is asked for the n-th time, and ends.  */
static int give_up_and_end(const Nvrtc *n, const char *text, int nth) {
    enum { OWN = 7 };
    int status = 0;
    pid_t child = fork();
    if (child == 0) {
        Nvrtc own = *n;
        NvrtcOutput o;
        Watch watch;
        NvrtcRequest request = both;
        watch_init(&watch, &(WatchCalls){.cancel = at_zero, .user = &nth});
        request.watch = &watch;
        Status s = nvrtc_compile(&own, arena, &diag, text, "sm_90a", &request, &o);
        exit(s == ST_CANCELLED || s == ST_OK ? OWN : 1);
    }
    assert_true(child > 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status) - OWN;
}

/* nvrtcSetFlowCallback=5: the compilation goes on to its end, as without it.  */
static int refuse_flow(NvrtcProgram *p, int (*asked)(void *, void *), void *user) {
    (void)p, (void)asked, (void)user;
    return 5;
}

static void who_gives_up_may_end(void **state) {
    (void)state;
    Nvrtc old = *nvrtc, refusing = *nvrtc;
    old.SetFlowCallback = NULL;
    refusing.SetFlowCallback = refuse_flow;
    char *one = arena_strdup(arena, source);
    *strstr(one, "extern \"C\" __global__ void two") = '\0';
    for (int nth = 0; nth < 8; nth++) {
        assert_int_equal(give_up_and_end(nvrtc, source, nth), 0);
        assert_int_equal(give_up_and_end(nvrtc, one, nth), 0);
        assert_int_equal(give_up_and_end(&old, one, nth), 0);
        assert_int_equal(give_up_and_end(&refusing, one, nth), 0);
    }
}

/* A process may end while another of its threads compiles, too.  */
static void *compile_on(void *user) {
    Arena *own = arena_create(NULL);
    Diag quiet = diag_new(own);
    NvrtcOutput o;
    (void)user;
    while (nvrtc_compile(nvrtc, own, &quiet, source, "sm_90a", &both, &o) != ST_CANCELLED) {}
    return NULL;
}

static void who_compiles_may_be_ended(void **state) {
    (void)state;
    for (int i = 0; i < 8; i++) {
        int status = 0;
        pid_t child = fork();
        if (child == 0) {
            pthread_t thread;
            const struct timespec pause = {.tv_nsec = 20000000 * i};
            pthread_create(&thread, NULL, compile_on, NULL);
            nanosleep(&pause, NULL);
            exit(9);
        }
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), 9);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_host_keeps_its_handlers, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_compilation_can_be_given_up, set_up, tear_down),
        cmocka_unit_test_setup_teardown(who_gives_up_may_end, set_up, tear_down),
        cmocka_unit_test_setup_teardown(who_compiles_may_be_ended, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
