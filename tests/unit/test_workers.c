/* links: base */
/* What breaks in a worker of a test ends the program at once, and says in which case.  */
#include "workers.h"

#include <limits.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { CASES = 40, THREADS = 4, BROKEN = 17, OUTPUT = 8192 };

/* ---- ways to break ---- */

static void assertion(void) { assert_int_equal(1, 2); }
static void stop(void) { abort(); }

static void write_nowhere(void) {
    volatile int *volatile nowhere = NULL;
    *nowhere = 1;
}

static int deep(int depth) {
    volatile char frame[4096];
    frame[depth % 4096] = (char)depth;
    return depth < INT_MAX ? deep(depth + 1) + frame[depth % 4096] : 0;
}

static void overflow(void) { deep(0); }

/* ---- a program of its own that breaks ---- */

static void (*broken)(void);

static bool one(void *user, int64_t i, int worker) {
    (void)user;
    (void)worker;
    workers_case("seed %d", 100 + (int)i);
    if (i == BROKEN) broken();
    return true;
}

static void inside(void **state) {
    (void)state;
    workers_for(THREADS, CASES, one, NULL);
}

static void be_program(int fd) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(inside)};
    dup2(fd, STDOUT_FILENO);
    dup2(fd, STDERR_FILENO);
    setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
    _exit(cmocka_run_group_tests(tests, NULL, NULL));
}

/* Ends by this signal, having said these texts.  */
static void ends(void (*how)(void), int number, const char *place, const char *reason) {
    static char text[OUTPUT];
    size_t len = 0;
    int end[2], status = 0;
    broken = how;
    assert_int_equal(pipe(end), 0);
    pid_t pid = fork();
    if (pid == 0) be_program(end[1]);
    assert_true(pid > 0);
    close(end[1]);
    for (ssize_t n; (n = read(end[0], text + len, sizeof text - 1 - len)) > 0;) len += (size_t)n;
    text[len] = '\0';
    close(end[0]);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    if (!WIFSIGNALED(status) || WTERMSIG(status) != number || !strstr(text, place) ||
        !strstr(text, reason))
        fail_msg("status %d, said: %s", status, text);
}

static void a_failed_assertion(void **state) {
    (void)state;
    ends(assertion, SIGABRT, "# SIGABRT: seed 117\n", "0x1 != 0x2");
}

static void a_signal(void **state) {
    (void)state;
    ends(write_nowhere, SIGSEGV, "# SIGSEGV: seed 117\n", "");
    ends(stop, SIGABRT, "# SIGABRT: seed 117\n", "");
}

static void no_stack(void **state) {
    (void)state;
    ends(overflow, SIGSEGV, "# SIGSEGV: seed 117\n", "");
}

/* ---- nothing breaks ---- */

static void nothing(void) {}

static bool few(void *user, int64_t i, int worker) {
    (void)user;
    (void)worker;
    return i < 5;
}

/* The test around the workers goes on as before.  */
static void state_is_put_back(void **state) {
    (void)state;
    struct sigaction before, after;
    broken = nothing;
    sigaction(SIGSEGV, NULL, &before);
    assert_true(workers_for(THREADS, CASES, one, NULL));
    assert_false(workers_for(THREADS, CASES, few, NULL));
    sigaction(SIGSEGV, NULL, &after);
    assert_ptr_equal(before.sa_handler, after.sa_handler);
    assert_null(getenv("CMOCKA_TEST_ABORT"));
}

int main(void) {
    unsetenv("CMOCKA_TEST_ABORT");
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_failed_assertion),
                                       cmocka_unit_test(a_signal), cmocka_unit_test(no_stack),
                                       cmocka_unit_test(state_is_put_back)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
