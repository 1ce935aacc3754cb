/* links: hal */
/* What NVRTC makes in unit tests is kept in $BUILD/kept, so that a run of all of them compiles
 * nothing twice, nor what the run before has compiled.
 *
 * The linker puts __wrap_nvrtc_compile in the place of nvrtc_compile.  An answer is a file that
 * begins with all that it follows from, and is good for nothing else: source, architecture, what is
 * asked for, the sources of ours that ask NVRTC, and the path, size, inode and time of its files.
 * Refusals are not kept.  Tests of NVRTC, and of what happens while it works, are linked without;
 * KEPT= in the environment keeps nothing.  */
#include "base/clock.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/wire.h"
#include "hal/nvrtc_identity.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MOST_BYTES = 1 << 28 };

Status __real_nvrtc_compile(Nvrtc *n, Arena *a, Diag *d, const char *source, const char *arch,
                            const NvrtcRequest *request, NvrtcOutput *out);
Status __wrap_nvrtc_compile(Nvrtc *n, Arena *a, Diag *d, const char *source, const char *arch,
                            const NvrtcRequest *request, NvrtcOutput *out);

static bool key_of(const Nvrtc *n, const char *source, const char *arch, const NvrtcRequest *r,
                   Buf *out) {
    char files[NVRTC_FILES];
    const char *rule = getenv("KEPT");
    nvrtc_files(n, files);
    wire_text(out, files);
    wire_text(out, NVRTC_SOURCES);
    wire_text(out, arch);
    wire_int(out, r->ptx);
    wire_int(out, r->cubin);
    wire_int(out, r->line_info);
    wire_int(out, r->max_registers);
    wire_int(out, r->level);
    wire_text(out, source);
    return files[0] && !(rule && !*rule);
}

static const char *folder_of(Arena *a) {
    const char *build = getenv("BUILD");
    return arena_printf(a, "%s/kept", build ? build : "build");
}

static const char *path_of(Arena *a, const Buf *key) {
    char name[65];
    sha256_text(key->text, key->len, name);
    return arena_printf(a, "%s/%s", folder_of(a), name);
}

static void read_kernels(Arena *a, WireReader *r, NvrtcOutput *out) {
    out->n_kernel = (int)wire_read_within(r, 0, 1 << 20);
    out->kernel = ARENA_ARRAY(a, KernelResources, out->n_kernel + 1);
    for (int i = 0; i < out->n_kernel; i++) {
        KernelResources *k = &out->kernel[i];
        k->kernel = wire_read_text(r);
        k->registers = (int)wire_read_int(r);
        k->barriers = (int)wire_read_int(r);
        k->static_smem = wire_read_int(r);
        k->spill_stores = wire_read_int(r);
        k->spill_loads = wire_read_int(r);
        k->stack = wire_read_int(r);
    }
}

static bool find(Arena *a, const char *path, const Buf *key, NvrtcOutput *out) {
    Diag quiet = diag_new(a);
    char *text;
    size_t len, own;
    if (!file_exists(path) || file_read(a, &quiet, path, MOST_BYTES, &text, &len)) return false;
    WireReader r = wire_reader(text, len);
    const void *of = wire_read_bytes(&r, &own);
    if (!of || own != key->len || memcmp(of, key->text, own) != 0) return false;
    NvrtcOutput got = {.ptx = wire_read_text(&r)};
    got.cubin = wire_read_bytes(&r, &got.cubin_len);
    got.log = wire_read_text(&r);
    read_kernels(a, &r, &got);
    if (!wire_read_all(&r) || !got.ptx || !got.log) return false;
    got.ptx_len = strlen(got.ptx);
    utimensat(AT_FDCWD, path, NULL, 0);   /* tests/run drops what was not asked for of late */
    *out = got;
    return true;
}

/* Another process may be about to keep the same.  */
static void keep(Arena *a, const char *path, const Buf *key, const NvrtcOutput *x) {
    Buf all = buf_new(a);
    wire_bytes(&all, key->text, key->len);
    wire_text(&all, x->ptx);
    wire_bytes(&all, x->cubin, x->cubin_len);
    wire_text(&all, x->log);
    wire_int(&all, x->n_kernel);
    for (int i = 0; i < x->n_kernel; i++) {
        const KernelResources *k = &x->kernel[i];
        wire_text(&all, k->kernel);
        wire_int(&all, k->registers);
        wire_int(&all, k->barriers);
        wire_int(&all, k->static_smem);
        wire_int(&all, k->spill_stores);
        wire_int(&all, k->spill_loads);
        wire_int(&all, k->stack);
    }
    const char *own = arena_printf(a, "%s.%ld.%lx.tmp", path, (long)getpid(),
                                   (unsigned long)pthread_self());
    mkdir(folder_of(a), 0777);
    FILE *f = fopen(own, "wb");
    bool good = f && fwrite(all.text, 1, all.len, f) == all.len;
    if (f) good = !fclose(f) && good;
    if (!good || rename(own, path)) unlink(own);
}

Status __wrap_nvrtc_compile(Nvrtc *n, Arena *a, Diag *d, const char *source, const char *arch,
                            const NvrtcRequest *request, NvrtcOutput *out) {
    Buf key = buf_new(a);
    double begun = clock_now_s();
    bool kept = key_of(n, source, arch, request, &key);
    const char *path = path_of(a, &key);
    if (kept && find(a, path, &key, out)) {
        out->ms = (clock_now_s() - begun) * 1e3;
        return ST_OK;
    }
    Status s = __real_nvrtc_compile(n, a, d, source, arch, request, out);
    if (!s && kept) keep(a, path, &key, out);
    return s;
}
