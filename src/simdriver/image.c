#include "simdriver/image.h"
#include "simdriver/work.h"

#include "base/file.h"
#include "base/hash.h"

#include <stdlib.h>
#include <string.h>

static const size_t most_ptx = (size_t)256 << 20;

CUresult image_register(Driver *d, const void *cubin, size_t len, const char *ptx) {
    PtxEntry *e = host_alloc(sizeof *e);
    size_t size = strlen(ptx) + 1;
    char *copy = host_alloc(size);
    if (!e || !copy) {
        free(e);
        free(copy);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    memcpy(copy, ptx, size);
    sha256_text(cubin, len, e->sha256);
    e->ptx = copy;
    e->next = d->registry;
    d->registry = e;
    return CUDA_SUCCESS;
}

typedef struct {
    Driver *driver;
    const void *bytes;
    Image *image;
    CUresult result;
} Opening;

/* The PTX of a cubin: what was registered, or the file SHA256.ptx in $ROLLER_SIM_PTX_DIR.  */
static const char *ptx_of_cubin(Opening *o, Diag *diag) {
    char sha256[65];
    sha256_text(o->image->cubin, o->image->cubin_len, sha256);
    for (const PtxEntry *e = o->driver->registry; e; e = e->next) {
        if (!strcmp(e->sha256, sha256)) return e->ptx;
    }
    const char *folder = getenv("ROLLER_SIM_PTX_DIR");
    char *text;
    size_t len;
    if (folder && *folder) {
        const char *path = arena_printf(o->image->arena, "%s/%s.ptx", folder, sha256);
        if (file_exists(path) &&
            file_read(o->image->arena, diag, path, most_ptx, &text, &len) == ST_OK) {
            return text;
        }
    }
    driver_say(o->driver, "no PTX for the cubin with SHA-256 %s", sha256);
    return NULL;
}

/* PTX begins with .version, after comments and blanks.  */
static bool is_ptx(const char *s) {
    for (;;) {
        s += strspn(s, " \t\r\n");
        if (!strncmp(s, "//", 2)) {
            s += strcspn(s, "\n");
        } else if (!strncmp(s, "/*", 2)) {
            const char *end = strstr(s, "*/");
            if (!end) return false;
            s = end + 2;
        } else {
            return !strncmp(s, ".version", 8);
        }
    }
}

/* The newest PTX ISA that a driver knows, times 10 (PTX ISA, "Release Notes").  */
static int newest_ptx(int version) {
    int major = version / 1000, minor = version % 1000 / 10;
    if (major < 12) return 70 + minor;
    if (major == 12) return 80 + (minor <= 5 ? minor : minor - 1);
    return 90 + minor;
}

static CUresult parse(Opening *o, Diag *diag, const char *ptx) {
    Image *image = o->image;
    Status st = sim_parse(image->arena, diag, "module.ptx", ptx, strlen(ptx), &image->code);
    if (st != ST_OK) {
        driver_say_error(o->driver, diag);
        return st == ST_NOMEM ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_ERROR_INVALID_PTX;
    }
    /* What is simulated is decided by what a module contains; a driver that is made older refuses
     * by number, as a real one does.  */
    int version = driver_version(o->driver);
    SimTarget target = sim_module_target(image->code);
    if (!o->driver->faults.version || target.version <= newest_ptx(version)) return CUDA_SUCCESS;
    driver_say(o->driver, "PTX ISA %d.%d is newer than driver %d.%d", target.version / 10,
               target.version % 10, version / 1000, version % 1000 / 10);
    return CUDA_ERROR_UNSUPPORTED_PTX_VERSION;
}

static void open_body(void *user) {
    Opening *o = user;
    Image *image = o->image;
    Diag diag = diag_new(image->arena);
    static const uint8_t fatbin[] = {0x50, 0xed, 0x55, 0xba}, wrapper[] = {0xb1, 0x43, 0x62, 0x46};
    const char *ptx = NULL;
    size_t size = elf_size(o->bytes);
    o->result = CUDA_ERROR_NO_BINARY_FOR_GPU;
    if (size) {
        void *copy = arena_alloc(image->arena, size);
        memcpy(copy, o->bytes, size);
        image->cubin = copy;
        image->cubin_len = size;
        ptx = ptx_of_cubin(o, &diag);
    } else if (!memcmp(o->bytes, fatbin, 4) || !memcmp(o->bytes, wrapper, 4)) {
        driver_say(o->driver, "a fat binary; the simulated driver runs PTX");
    } else if (is_ptx(o->bytes)) {
        ptx = o->bytes;
    } else {
        driver_say(o->driver, "the image is neither PTX nor a cubin");
        o->result = CUDA_ERROR_INVALID_IMAGE;
    }
    if (ptx) o->result = parse(o, &diag, ptx);
}

/* Images begin with at least 4 bytes: comparisons stop at the first NUL.  */
static bool too_short(const char *s) { return !s[0] || !s[1] || !s[2] || !s[3]; }

CUresult image_open(Driver *d, const void *bytes, Image **out) {
    if (!bytes) return CUDA_ERROR_INVALID_VALUE;
    if (too_short(bytes)) return CUDA_ERROR_INVALID_IMAGE;
    Image *image = host_alloc(sizeof *image);
    if (image) image->arena = arena_create(&host_source);
    Opening o = {d, bytes, image, CUDA_ERROR_OUT_OF_MEMORY};
    if (image) {
        image->refs = 1;
        image->driver = d;
    }
    if (image && image->arena && !arena_try(image->arena, open_body, &o)) {
        o.result = CUDA_ERROR_OUT_OF_MEMORY;
    }
    *out = image;
    if (o.result != CUDA_SUCCESS) {
        image_release(image);
        *out = NULL;
    }
    return o.result;
}

void image_release(Image *image) {
    if (!image || --image->refs > 0) return;
    Driver *d = image->driver;
    for (int k = 0; image->code && k < d->n_gpu; k++) sim_unload(d->gpu[k].sim, image->code);
    arena_destroy(image->arena);
    free(image);
}

CUresult image_fits(const Image *image, const Device *dev) {
    SimTarget t = sim_module_target(image->code);
    int sm = dev->cc_major * 10 + dev->cc_minor;
    if (t.arch_specific) return t.sm == sm ? CUDA_SUCCESS : CUDA_ERROR_NO_BINARY_FOR_GPU;
    if (t.sm <= sm && (!image->cubin || t.sm / 10 == dev->cc_major)) return CUDA_SUCCESS;
    return image->cubin ? CUDA_ERROR_NO_BINARY_FOR_GPU : CUDA_ERROR_INVALID_PTX;
}
