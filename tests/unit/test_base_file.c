/* links: base */
#include "base/file.h"

#include "oom.h"

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <signal.h>
#include <unistd.h>

#include <cmocka.h>

static Arena *arena;
static Diag diag;
static char *folder;

static int set_up(void **state) {
    (void)state;
    arena = arena_create(NULL);
    diag = diag_new(arena);
    const char *base = getenv("TMPDIR");
    folder = arena_printf(arena, "%s/roller-file-XXXXXX", base ? base : "/tmp");
    return mkdtemp(folder) ? 0 : -1;
}

static const char *path(const char *name) { return arena_printf(arena, "%s/%s", folder, name); }

/* Names in the folder; the temporary ones of file_write count as well.  */
static int entries(void) {
    DIR *d = opendir(folder);
    int n = 0;
    assert_non_null(d);
    for (struct dirent *e; (e = readdir(d));) n += e->d_name[0] != '.';
    closedir(d);
    return n;
}

static int tear_down(void **state) {
    (void)state;
    DIR *d = opendir(folder);
    for (struct dirent *e; (e = readdir(d));)
        if (e->d_name[0] != '.' && remove(path(e->d_name))) return -1;
    closedir(d);
    int rc = rmdir(folder);
    arena_destroy(arena);
    return rc;
}

static void written_is_read(void **state) {
    (void)state;
    size_t len;
    char *text, *big = arena_alloc(arena, 300001);
    for (size_t i = 0; i < 300001; i++) big[i] = (char)(i * 31);
    assert_int_equal(file_write(&diag, path("a"), "", 0), ST_OK);
    assert_int_equal(file_read(arena, &diag, path("a"), 0, &text, &len), ST_OK);
    assert_int_equal(len, 0);
    assert_string_equal(text, "");
    assert_int_equal(file_write(&diag, path("a"), big, 300001), ST_OK);
    assert_int_equal(file_read(arena, &diag, path("a"), 300001, &text, &len), ST_OK);
    assert_int_equal(len, 300001);
    assert_memory_equal(text, big, 300001);
    assert_int_equal(text[len], 0);
    assert_true(file_exists(path("a")));
    assert_false(file_exists(path("b")));
    assert_int_equal(diag.count, 0);
    assert_int_equal(entries(), 1);
}

static void new_files_follow_the_umask(void **state) {
    (void)state;
    struct stat st;
    mode_t old = umask(027);
    assert_int_equal(file_write(&diag, path("a"), "x", 1), ST_OK);
    umask(old);
    assert_int_equal(stat(path("a"), &st), 0);
    assert_int_equal(st.st_mode & 0777, 0640);
}

static void expect_failure(Status s, const char *part) {
    const DiagMessage *m = &diag.messages[diag.count - 1];
    assert_int_equal(s, strstr(m->message, "more than") ? ST_SIZE : ST_IO);
    if (!strstr(m->message, part)) fail_msg("'%s' does not say '%s'", m->message, part);
}

static void failures_say_why(void **state) {
    (void)state;
    char *text;
    size_t len;
    expect_failure(file_read(arena, &diag, path("none"), 10, &text, &len), "No such file");
    assert_non_null(diag.messages[0].hint);
    expect_failure(file_read(arena, &diag, folder, 10, &text, &len), "directory");
    expect_failure(file_read(arena, &diag, "/dev/null", 10, &text, &len), "not a regular file");
    expect_failure(file_write(&diag, path("none/a"), "x", 1), "No such file");
    expect_failure(file_write(&diag, folder, "x", 1), "directory");
    file_write(&diag, path("a"), "12345", 5);
    expect_failure(file_read(arena, &diag, path("a"), 4, &text, &len), "more than 4 bytes");
    assert_int_equal(file_read(arena, &diag, path("a"), 5, &text, &len), ST_OK);
    assert_int_equal(entries(), 1);
}

/* A pipe with nobody at its other end must not be waited for.  */
static void pipes_are_refused(void **state) {
    (void)state;
    char *text;
    size_t len;
    assert_int_equal(mkfifo(path("pipe"), 0600), 0);
    expect_failure(file_read(arena, &diag, path("pipe"), 10, &text, &len), "not a regular file");
}

static void a_failed_write_leaves_the_old_file(void **state) {
    (void)state;
    char *text, *big = arena_alloc(arena, 100000);
    size_t len;
    assert_int_equal(file_write(&diag, path("a"), "old", 3), ST_OK);
    struct rlimit old, small;
    getrlimit(RLIMIT_FSIZE, &old);
    small = old;
    small.rlim_cur = 4096;
    signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &small);
    Status s = file_write(&diag, path("a"), big, 100000);
    setrlimit(RLIMIT_FSIZE, &old);
    signal(SIGXFSZ, SIG_DFL);
    expect_failure(s, "cannot write");
    assert_int_equal(file_read(arena, &diag, path("a"), 10, &text, &len), ST_OK);
    assert_string_equal(text, "old");
    assert_int_equal(entries(), 1);
}

static void devices_are_written_in_place(void **state) {
    (void)state;
    struct stat st;
    assert_int_equal(file_write(&diag, "/dev/null", "x", 1), ST_OK);
    assert_int_equal(stat("/dev/null", &st), 0);
    assert_true(S_ISCHR(st.st_mode));
}

static void standard_input_is_a_dash(void **state) {
    (void)state;
    int saved = dup(0), ends[2];
    char *text;
    size_t len;
    for (size_t max = 4; max < 7; max++) {
        assert_int_equal(pipe(ends), 0);
        assert_int_equal(write(ends[1], "piped", 5), 5);
        close(ends[1]);
        dup2(ends[0], 0);
        close(ends[0]);
        Status s = file_read(arena, &diag, "-", max, &text, &len);
        if (max < 5) {
            expect_failure(s, "standard input");
            continue;
        }
        assert_int_equal(s, ST_OK);
        assert_string_equal(text, "piped");
        assert_int_equal(len, 5);
    }
    dup2(saved, 0);
    close(saved);
}

static int open_files(void) {
    int n = 0;
    for (int fd = 0; fd < 256; fd++) {
        struct stat st;
        n += fstat(fd, &st) == 0;
    }
    return n;
}

static void copy(Arena *a, void *user) {
    (void)user;
    Diag d = diag_new(a);
    char *text;
    size_t len;
    assert_int_equal(file_read(a, &d, path("a"), 100, &text, &len), ST_OK);
    assert_int_equal(file_write(&d, path("b"), text, len), ST_OK);
}

static void every_allocation_may_fail(void **state) {
    (void)state;
    file_write(&diag, path("a"), "text", 4);
    int before = open_files();
    oom_sweep(copy, NULL);
    assert_int_equal(open_files(), before);
    assert_int_equal(entries(), 2);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(written_is_read, set_up, tear_down),
        cmocka_unit_test_setup_teardown(new_files_follow_the_umask, set_up, tear_down),
        cmocka_unit_test_setup_teardown(failures_say_why, set_up, tear_down),
        cmocka_unit_test_setup_teardown(pipes_are_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_failed_write_leaves_the_old_file, set_up, tear_down),
        cmocka_unit_test_setup_teardown(devices_are_written_in_place, set_up, tear_down),
        cmocka_unit_test_setup_teardown(standard_input_is_a_dash, set_up, tear_down),
        cmocka_unit_test_setup_teardown(every_allocation_may_fail, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
