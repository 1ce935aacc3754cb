#include "simdriver/image.h"
#include "simdriver/work.h"

#include "base/elf.h"
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

static const char *registered(const Driver *d, const void *cubin, size_t len, char sha256[65]) {
    sha256_text(cubin, len, sha256);
    for (const PtxEntry *e = d->registry; e; e = e->next) {
        if (!strcmp(e->sha256, sha256)) return e->ptx;
    }
    return NULL;
}

/* The PTX of a cubin: what was registered, or the file SHA256.ptx in $ROLLER_SIM_PTX_DIR, or what
 * it carries itself.  */
static const char *ptx_of_cubin(Driver *d, Arena *a, const void *cubin, size_t len) {
    char sha256[65];
    const char *known = registered(d, cubin, len, sha256);
    if (known) return known;
    const char *folder = getenv("ROLLER_SIM_PTX_DIR");
    if (folder && *folder) {
        const char *path = arena_printf(a, "%s/%s.ptx", folder, sha256);
        Diag quiet = diag_new(a);
        char *text;
        size_t size;
        if (file_exists(path) && file_read(a, &quiet, path, most_ptx, &text, &size) == ST_OK) {
            return text;
        }
    }
    const char *carried = cubin_ptx(a, cubin, len);
    if (!carried) driver_say(d, "no PTX for the cubin with SHA-256 %s", sha256);
    return carried;
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

/* Code of a newer toolkit than the driver's is refused where the rules say how old the driver is;
 * else what matters is what the simulator understands.  PTX has to be no newer than the driver, a
 * cubin of no newer major version.  */
static CUresult check_version(Driver *d, const Image *image, SimTarget target) {
    int version = d->faults.version;
    int major = version && image->cubin ? cubin_toolkit(image->cubin) : 0;
    if (major > version / 1000) {
        driver_say(d, "a cubin of CUDA %d is newer than driver %d.%d", major, version / 1000,
                   version % 1000 / 10);
        return CUDA_ERROR_INVALID_IMAGE;
    }
    if (!version || image->cubin || target.version <= newest_ptx(version)) return CUDA_SUCCESS;
    driver_say(d, "PTX ISA %d.%d is newer than driver %d.%d", target.version / 10,
               target.version % 10, version / 1000, version % 1000 / 10);
    return CUDA_ERROR_UNSUPPORTED_PTX_VERSION;
}

const char *image_text(Driver *d, Arena *a, const void *bytes, CUresult *why) {
    static const uint8_t fatbin[] = {0x50, 0xed, 0x55, 0xba}, wrapper[] = {0xb1, 0x43, 0x62, 0x46};
    size_t size = elf_size(bytes);
    *why = CUDA_ERROR_NO_BINARY_FOR_GPU;
    if (size) return ptx_of_cubin(d, a, bytes, size);
    if (is_ptx(bytes)) return bytes;
    if (!memcmp(bytes, fatbin, 4) || !memcmp(bytes, wrapper, 4)) {
        driver_say(d, "a fat binary; the simulated driver runs PTX");
    } else {
        driver_say(d, "the image is neither PTX nor a cubin");
        *why = CUDA_ERROR_INVALID_IMAGE;
    }
    return NULL;
}

const char *image_known(const void *bytes) {
    char sha256[65];
    size_t size = elf_size(bytes);
    if (!size) return is_ptx(bytes) ? bytes : NULL;
    Driver *d = driver_take();
    const char *text = registered(d, bytes, size, sha256);
    driver_give(d);
    return text;
}

typedef struct {
    Driver *driver;
    const void *bytes;
    Image *image;
    CUresult result;
} Opening;

static void open_body(void *user) {
    Opening *o = user;
    Image *image = o->image;
    Diag diag = diag_new(image->arena);
    size_t size = elf_size(o->bytes);
    if (size) {
        void *copy = arena_alloc(image->arena, size);
        memcpy(copy, o->bytes, size);
        image->cubin = copy;
        image->cubin_len = size;
    }
    const char *ptx = image_text(o->driver, image->arena, o->bytes, &o->result);
    if (!ptx) return;
    Status st = sim_parse(image->arena, &diag, "module.ptx", ptx, strlen(ptx), &image->code);
    if (st == ST_OK) {
        o->result = check_version(o->driver, image, sim_module_target(image->code));
        return;
    }
    driver_say_error(o->driver, &diag);
    o->result = st == ST_NOMEM ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_ERROR_INVALID_PTX;
}

typedef struct {
    const char *path;
    Arena *arena;
    char *text;
    size_t len;
    Status status;
} Reading;

static void read_body(void *user) {
    Reading *r = user;
    Diag quiet = diag_new(r->arena);
    r->status = file_read(r->arena, &quiet, r->path, most_ptx, &r->text, &r->len);
}

CUresult code_read(Driver *d, const char *file, char **bytes, size_t *len) {
    if (!file) return CUDA_ERROR_INVALID_VALUE;
    Reading r = {.path = file, .arena = arena_create(&host_source), .status = ST_NOMEM};
    if (!r.arena) return CUDA_ERROR_OUT_OF_MEMORY;
    if (!arena_try(r.arena, read_body, &r)) r.status = ST_NOMEM;
    *bytes = r.status == ST_OK ? host_alloc(r.len + 4) : NULL;
    if (*bytes) memcpy(*bytes, r.text, r.len);
    if (*bytes && len) *len = r.len;
    arena_destroy(r.arena);
    if (*bytes) return CUDA_SUCCESS;
    if (r.status == ST_OK || r.status == ST_NOMEM) return CUDA_ERROR_OUT_OF_MEMORY;
    driver_say(d, "%s cannot be read", file);
    return CUDA_ERROR_FILE_NOT_FOUND;
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
