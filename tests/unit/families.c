/* links: hal */
#include "families.h"

#include "base/buf.h"
#include "base/hash.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

extern char **environ;

static bool known(const Families *all, const char *arch) {
    for (int i = 0; i < all->n; i++)
        if (!strcmp(all->family[i].arch, arch)) return true;
    return false;
}

/* What that NVRTC has beyond those before it.  Suffixes a and f add instructions that no source
 * uses.  */
static void add(Families *all, Nvrtc *nvrtc) {
    for (const char *const *arch = nvrtc_archs(nvrtc); *arch; arch++) {
        int cc;
        char suffix;
        if (known(all, *arch) || !hal_arch(*arch, &cc, &suffix) || suffix || cc < 70) continue;
        assert_in_range(all->n, 0, FAMILIES_MAX - 1);
        all->family[all->n++] = (Family){*arch, cc, nvrtc};
    }
}

void families_open(Arena *a, Families *out) {
    Diag d = diag_new(a), quiet = diag_new(a);
    Nvrtc *nvrtc;
    *out = (Families){.n = 0};
    if (nvrtc_open(a, &d, NULL, NULL, &nvrtc)) fail_msg("%s", d.messages[0].message);
    add(out, nvrtc);
    if (nvrtc_open(a, &quiet, NULL, "sm_70", &nvrtc) == ST_OK) add(out, nvrtc);
}

int families_from(const Families *all, int least_cc, const Family *out[FAMILIES_MAX]) {
    int n = 0;
    for (int i = 0; i < all->n; i++)
        if (all->family[i].cc >= least_cc) out[n++] = &all->family[i];
    return n;
}

const Family *families_draw(const Families *all, int least_cc, uint64_t seed) {
    const Family *some[FAMILIES_MAX];
    Rng rng = {seed};
    int n = families_from(all, least_cc, some);
    return some[rng_below(&rng, (uint32_t)n)];
}

Family families_own(const Families *all, const Device *dev) {
    int cc;
    char suffix;
    assert_true(hal_arch(dev->arch, &cc, &suffix));
    for (int i = 0; i < all->n; i++)
        if (all->family[i].cc == cc) return (Family){dev->arch, cc, all->family[i].nvrtc};
    fail_msg("no compiler for %s", dev->arch);
    return (Family){0};
}

/* ---- sources that NVRTC does not survive ---- */

static const char asked[] = "--families-compile";

/* What a file holds from here on.  */
static void rest_of(FILE *f, Buf *out) {
    for (int c = getc(f); c != EOF; c = getc(f)) buf_putc(out, (char)c);
}

void families_child(int argc, char **argv) {
    if (argc != 3 || strcmp(argv[1], asked) != 0) return;
    Arena *a = arena_create(NULL);
    Diag d = diag_new(a);
    Buf source = buf_new(a);
    Nvrtc *nvrtc;
    NvrtcOutput out;
    NvrtcRequest want = {.ptx = true};
    rest_of(stdin, &source);
    bool failed = nvrtc_open(a, &d, NULL, argv[2], &nvrtc) ||
                  nvrtc_compile(nvrtc, a, &d, buf_str(&source), argv[2], &want, &out) ||
                  fputs(out.ptx, stdout) < 0 || fflush(stdout) != 0;
    arena_destroy(a);
    exit(failed);
}

/* From sm_100 on, where it has been seen.  */
static bool may_crash(const Family *f) { return f->cc >= 100; }

/* The exit status of a child that reads `in` and writes `out`, as waitpid gives it.  */
static int child_status(const Family *f, FILE *in, FILE *out) {
    char *const argv[] = {"self", (char *)asked, (char *)f->arch, NULL};
    posix_spawn_file_actions_t files;
    pid_t child;
    int status = 0;
    assert_int_equal(posix_spawn_file_actions_init(&files), 0);
    assert_int_equal(posix_spawn_file_actions_adddup2(&files, fileno(in), STDIN_FILENO), 0);
    assert_int_equal(posix_spawn_file_actions_adddup2(&files, fileno(out), STDOUT_FILENO), 0);
    assert_int_equal(posix_spawn(&child, "/proc/self/exe", &files, NULL, argv, environ), 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    posix_spawn_file_actions_destroy(&files);
    return status;
}

Status families_compile(const Family *f, Arena *a, Diag *d, const char *source, NvrtcOutput *out,
                        bool *crashed) {
    NvrtcRequest want = {.ptx = true};
    int status = 0;
    *crashed = false;
    if (may_crash(f)) {
        FILE *in = tmpfile(), *made = tmpfile();
        Buf ptx = buf_new(a);
        assert_true(in && made);
        assert_true(fputs(source, in) >= 0 && fflush(in) == 0 && fseek(in, 0, SEEK_SET) == 0);
        status = child_status(f, in, made);
        rewind(made);
        rest_of(made, &ptx);
        fclose(in);
        fclose(made);
        *out = (NvrtcOutput){.ptx = buf_str(&ptx), .ptx_len = ptx.len, .log = ""};
        if (status == 0) return ST_OK;
    }
    *crashed = WIFSIGNALED(status);
    if (*crashed) fprintf(stderr, "# NVRTC crashes on a source for %s\n", f->arch);
    /* What it says is the same in this process.  */
    return *crashed ? ST_OK : nvrtc_compile(f->nvrtc, a, d, source, f->arch, &want, out);
}
