/* links: base */
#define _XOPEN_SOURCE 700     /* sigaltstack */
#include "workers.h"

#include "base/pool.h"

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Makes cmocka's assertions abort, in whatever thread they fail.  */
static const char aborts[] = "CMOCKA_TEST_ABORT";
enum { NAME = 256, STACK = 1 << 16 };

static const struct {
    int number;
    const char *name;
} signals[] = {{SIGSEGV, "SIGSEGV"}, {SIGBUS, "SIGBUS"}, {SIGFPE, "SIGFPE"},
               {SIGILL, "SIGILL"},   {SIGSYS, "SIGSYS"}, {SIGABRT, "SIGABRT"}};
enum { SIGNALS = sizeof signals / sizeof *signals };

static _Thread_local char doing[NAME];        /* "": no case */

void workers_case(const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(doing, sizeof doing, fmt, ap);
    va_end(ap);
}

/* One line of a fixed size, so that two threads that break do not mix theirs; then the signal does
 * what it does by default.  */
static void on_signal(int number) {
    char line[NAME + 64] = "";
    const char *part[] = {"\n# ", "a signal", ": ", doing[0] ? doing : "between cases", "\n"};
    for (int i = 0; i < SIGNALS; i++)
        if (signals[i].number == number) part[1] = signals[i].name;
    for (int i = 0; i < 5; i++) strcat(line, part[i]);
    ssize_t written = write(STDERR_FILENO, line, strlen(line));
    (void)written;
    raise(number);
}

static void listen(struct sigaction was[SIGNALS]) {
    struct sigaction action = {.sa_handler = on_signal,
                               .sa_flags = (int)(SA_RESETHAND | SA_NODEFER | SA_ONSTACK)};
    for (int i = 0; i < SIGNALS; i++) sigaction(signals[i].number, &action, &was[i]);
}

typedef struct {
    bool (*fn)(void *user, int64_t i, int worker);
    void *user;
    char *stack;              /* per worker, of the handler: its own may have overflowed */
} Job;

static bool run_case(void *user, int64_t i, int worker) {
    const Job *job = user;
    stack_t was, mine = {.ss_sp = job->stack + (size_t)worker * STACK, .ss_size = STACK};
    bool told = sigaltstack(&mine, &was) == 0;
    workers_case("case %lld", (long long)i);
    bool good = job->fn(job->user, i, worker);
    doing[0] = '\0';
    if (told) sigaltstack(&was, NULL);
    return good;
}

bool workers_for(int threads, int64_t n, bool (*fn)(void *user, int64_t i, int worker),
                 void *user) {
    struct sigaction was[SIGNALS];
    Job job = {fn, user, malloc((size_t)pool_threads(threads) * STACK)};
    bool asked = getenv(aborts) != NULL;
    if (!job.stack) return false;
    if (!asked) setenv(aborts, "1", 1);
    listen(was);
    bool good = pool_for(threads, n, run_case, &job);
    for (int i = 0; i < SIGNALS; i++) sigaction(signals[i].number, &was[i], NULL);
    if (!asked) unsetenv(aborts);
    free(job.stack);
    return good;
}

typedef struct {
    const char *(*check)(void *user, Arena *a, int i);
    void *user;
    char **wrong;             /* malloc: it outlives the case's arena */
    Arena *arena;
    int i;
} Checking;

static void check_inner(void *user) {
    Checking *c = user;
    const char *wrong = c->check(c->user, c->arena, c->i);
    c->wrong[c->i] = wrong ? strdup(wrong) : NULL;
}

static bool check_case(void *user, int64_t i, int worker) {
    Checking c = *(const Checking *)user;
    (void)worker;
    c.arena = arena_create(NULL);
    c.i = (int)i;
    if (!c.arena || !arena_try(c.arena, check_inner, &c)) c.wrong[i] = strdup("out of memory");
    arena_destroy(c.arena);
    return true;
}

int workers_check(int n, const char *(*check)(void *user, Arena *a, int i), void *user) {
    Checking c = {.check = check, .user = user, .wrong = calloc((size_t)n, sizeof *c.wrong)};
    if (!c.wrong || !workers_for(0, n, check_case, &c)) abort();
    int failed = 0;
    for (int i = 0; i < n; i++) {
        if (c.wrong[i]) fprintf(stderr, "%s\n", c.wrong[i]);
        failed += c.wrong[i] != NULL;
        free(c.wrong[i]);
    }
    free(c.wrong);
    return failed;
}
