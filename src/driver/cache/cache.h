/* The kernel cache: compiled kernels, one file each, in a folder of the user's (docs/cache.md).
 *
 * An entry is named by the SHA-256 of its key, a text of all that its contents depend on, and
 * holds that key; on a hit the key is compared in full and a hash of all bytes is checked.  An
 * entry names no other file, is written whole under another name and then renamed, and nothing is
 * locked, so any number of processes may read, write and remove entries at once.
 * Any doubt is a miss, and no failure to write is an error: both are told as notes.  What looks
 * like an attack (a link, a pipe, somebody else's file) is a warning, and a miss.
 *
 * cache_folder.c finds and opens the folder, cache_entry.c is the format of a file, cache_bound.c
 * lists, bounds and clears, cache_key.c writes keys, cache_nvrtc.c knows NVRTC without loading it,
 * cache_kernel.c puts a kernel into an entry and takes it out, cache_timing.c does so with what was
 * measured of one.  */
#ifndef ROLLER_DRIVER_CACHE_CACHE_H
#define ROLLER_DRIVER_CACHE_CACHE_H
#include "driver/handle/handle.h"
#include "hal/nvrtc_identity.h"

enum { CACHE_SECTIONS = 8, CACHE_NAME = 68 };

typedef struct {
    const char *path;         /* of the folder */
    int fd;
    const void *secret;       /* of the key file; NULL: none */
    size_t secret_len;
    Arena *arena;             /* what it reads lies there */
    Diag *diag;               /* warnings */
    Buf *notes;               /* a line each */
} Cache;

typedef struct {
    const void *data;
    size_t len;
} CacheSection;

/* ---- cache_folder.c ---- */
/* The folder: `given`, $ROLLER_CACHE_DIR (empty: none), $XDG_CACHE_HOME/roller,
 * $HOME/.cache/roller; NULL: there is none.  Without the environment only what is given.  */
const char *cache_place(Arena *a, const char *given, bool ignore_environment);
/* Opens ctx's folder for one call, on the call's arena; NULL: no cache is used.  `make` creates
 * it.  One that is not the user's alone is refused with a warning, once per context.  */
Cache *cache_open(RollerCtx *ctx, bool make);
void cache_note(Cache *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* ---- cache_entry.c ---- */
void cache_name(const char *key, char out[CACHE_NAME]);
/* The sections of the entry of a key, on c->arena; each ends with a NUL of its own.  False: a
 * miss.  */
bool cache_read(Cache *c, const char *key, CacheSection *section, int n);
/* Writes an entry, or replaces whatever lies at its place, and keeps the folder within bounds.
 * False: it was not written, and a note says why.  */
bool cache_write(Cache *c, const char *key, const CacheSection *section, int n);
/* Reads any entry of the folder by file name: the key, then its sections.  */
bool cache_read_named(Cache *c, const char *name, CacheSection *section, int n);

/* ---- cache_bound.c ---- */
typedef struct {
    char name[CACHE_NAME + 32];
    int64_t bytes, used;      /* seconds since 1970 */
    int64_t used_ns;
    bool temporary;           /* what a writer left that was killed, or is at work */
} CacheFile;
/* Roller's own files in the folder, least recently used first.  Returns how many.  */
size_t cache_files(Cache *c, CacheFile **out);
/* Removes the least recently used entries, but never `keep`, until there are at most `bytes` in at
 * most `entries`.  */
void cache_bound(Cache *c, const char *keep, int64_t bytes, size_t entries);
/* Removes all of them.  Returns how many.  */
size_t cache_clear(Cache *c, int64_t *bytes);

/* ---- cache_key.c, cache_nvrtc.c ---- */
/* Fills in what NVRTC would compile for arch; false: it cannot be told, so nothing is cached.  */
bool cache_nvrtc(RollerCtx *ctx, Cache *c, const char *arch, NvrtcIdentity *out);

/* The SHA-256 of what planning reads of a profile: all but what names it and says how it was
 * made.  */
void cache_profile(Arena *a, const Device *dev, char out[65]);

/* What a kernel is made from.  */
typedef struct {
    const RollerOp *op;
    const RollerProfile *profile;
    const RollerPlanOptions *o;
    const char *arch;         /* compile target; NULL: the profile's */
    const char *plan;         /* text of the plan that is given; NULL: the best is made */
} CacheWanted;
const char *cache_key(RollerCtx *ctx, Cache *c, const CacheWanted *w, NvrtcIdentity *nvrtc);

/* ---- cache_kernel.c ---- */
/* The kernel that would be made, on the arena `a`; NULL: it has to be.  With a plan that was given
 * it belongs to `plans` and rank, else to plans of its own.  */
RollerKernel *cache_take(RollerCtx *ctx, Arena *a, const CacheWanted *w, RollerPlans *plans,
                         int rank);
/* Keeps a kernel that was made.  */
void cache_keep(RollerCtx *ctx, const CacheWanted *w, const RollerKernel *k);

/* ---- cache_timing.c ---- */
/* What was measured of a kernel on a device, at o's sizes and with its data; false: nothing.  */
bool cache_timing(Cache *c, const RollerKernel *k, const MeasureOptions *o,
                  const MeasurePlace *place, Timing *out);
void cache_keep_timing(Cache *c, const RollerKernel *k, const MeasureOptions *o,
                       const MeasurePlace *place, const Timing *t);
#endif
