/* links: hal */
/* What is kept of NVRTC for other tests: the same as it makes, for the same question alone.  */
#include "arena_fixture.h"
#include "hal/nvrtc.h"

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static const char one[] = "extern \"C\" __global__ void f(float *p) { p[threadIdx.x] = 1; }";
static const char other[] = "extern \"C\" __global__ void f(float *p) { p[threadIdx.x] = 2; }";
static char folder[] = "/tmp/kept-XXXXXX";
static Nvrtc *nvrtc;

/* Calls `each` for the files that are kept; returns how many.  */
static int files(void (*each)(const char *path)) {
    char path[600];
    int n = 0;
    snprintf(path, sizeof path, "%s/kept", folder);
    DIR *d = opendir(path);
    for (struct dirent *e; d && (e = readdir(d));) {
        if (e->d_name[0] == '.') continue;
        snprintf(path, sizeof path, "%s/kept/%s", folder, e->d_name);
        if (each) each(path);
        n++;
    }
    if (d) closedir(d);
    return n;
}

static void drop(const char *path) { unlink(path); }

static void end_early(const char *path) { assert_int_equal(truncate(path, 300), 0); }

/* The last byte of the key, which is the source's end.  */
static void spoil(const char *path) {
    char text[1 << 14];
    FILE *f = fopen(path, "r+b");
    size_t n = fread(text, 1, sizeof text, f);
    const char *at = NULL;
    for (size_t i = 0; i + 9 < n && !at; i++)
        if (!memcmp(text + i, "__global__", 10)) at = text + i;
    assert_non_null(at);
    fseek(f, at - text, SEEK_SET);
    fputc('-', f);
    fclose(f);
}

static NvrtcOutput ask(const char *source, const char *arch, NvrtcRequest r) {
    NvrtcOutput out;
    must(nvrtc_compile(nvrtc, arena, &diag, source, arch, &r, &out));
    return out;
}

static void same(const NvrtcOutput *x, const NvrtcOutput *y) {
    assert_string_equal(x->ptx, y->ptx);
    assert_string_equal(x->log, y->log);
    assert_true(x->ptx_len == y->ptx_len && x->cubin_len == y->cubin_len);
    if (x->cubin_len) assert_memory_equal(x->cubin, y->cubin, x->cubin_len);
    assert_int_equal(x->n_kernel, y->n_kernel);
    for (int i = 0; i < x->n_kernel; i++) {
        assert_string_equal(x->kernel[i].kernel, y->kernel[i].kernel);
        assert_int_equal(x->kernel[i].registers, y->kernel[i].registers);
        assert_int_equal(x->kernel[i].stack, y->kernel[i].stack);
    }
}

static void for_the_same_question_alone(void **state) {
    (void)state;
    const NvrtcRequest both = {.ptx = true, .cubin = true}, ptx = {.ptx = true};
    NvrtcOutput first = ask(one, "sm_80", both), again = ask(one, "sm_80", both);
    assert_true(first.n_kernel == 1 && first.kernel->registers > 0);
    same(&first, &again);
    assert_int_equal(files(NULL), 1);
    assert_string_not_equal(ask(other, "sm_80", both).ptx, first.ptx);
    assert_null(ask(one, "sm_80", ptx).cubin);
    ask(one, "sm_90", both);
    ask(one, "sm_80", (NvrtcRequest){.ptx = true, .cubin = true, .line_info = true});
    ask(one, "sm_80", (NvrtcRequest){.ptx = true, .cubin = true, .level = 2});
    ask(one, "sm_80", (NvrtcRequest){.ptx = true, .cubin = true, .max_registers = 16});
    assert_int_equal(files(NULL), 7);
}

/* A file that is cut, or that answers another question, answers none.  */
static void files_that_are_not_whole(void **state) {
    (void)state;
    const NvrtcRequest both = {.ptx = true, .cubin = true};
    void (*const how[])(const char *) = {end_early, spoil};
    NvrtcOutput first = ask(one, "sm_80", both);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(files(how[i]), 1);
        NvrtcOutput again = ask(one, "sm_80", both);
        same(&first, &again);
    }
}

static void refusals_are_not_kept(void **state) {
    (void)state;
    NvrtcOutput out;
    NvrtcRequest r = {.ptx = true};
    for (int i = 0; i < 2; i++)
        assert_int_equal(nvrtc_compile(nvrtc, arena, &diag, "}", "sm_80", &r, &out), ST_COMPILE);
    assert_int_equal(files(NULL), 0);
    setenv("KEPT", "", 1);
    ask(one, "sm_80", r);
    unsetenv("KEPT");
    assert_int_equal(files(NULL), 0);
}

static int begin(void **state) {
    if (set_up(state)) return -1;
    setenv("BUILD", folder, 1);
    must(nvrtc_open(arena, &diag, &(NvrtcOptions){0}, "sm_90", &nvrtc));
    return 0;
}

static int end(void **state) {
    char path[600];
    files(drop);
    snprintf(path, sizeof path, "%s/kept", folder);
    rmdir(path);
    return tear_down(state);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(for_the_same_question_alone, begin, end),
        cmocka_unit_test_setup_teardown(files_that_are_not_whole, begin, end),
        cmocka_unit_test_setup_teardown(refusals_are_not_kept, begin, end),
    };
    if (!mkdtemp(folder)) return 1;
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    rmdir(folder);
    return failed;
}
