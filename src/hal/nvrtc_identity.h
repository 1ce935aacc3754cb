/* Which NVRTC a search takes, told without loading one.
 *
 * Loading NVRTC takes most of the time of a process that finds its kernel in the cache.  What
 * decides the choice (environment, folders, links) is therefore a text, under which the identity
 * that was found last can be kept.  */
#ifndef ROLLER_HAL_NVRTC_IDENTITY_H
#define ROLLER_HAL_NVRTC_IDENTITY_H
#include "hal/nvrtc.h"

enum { NVRTC_IDENTITY = 192, NVRTC_FILES = 1024 };
typedef struct {
    char version[NVRTC_IDENTITY];   /* version, size and SHA-256 of its builtins: what is compiled
                                     * depends on nothing else of it */
    char files[NVRTC_FILES];        /* paths of library and builtins, with size, inode and time */
} NvrtcIdentity;

/* What decides which file nvrtc_open takes for `arch`; NULL when an NVRTC is loaded already, since
 * names that the loader searches for then mean that one.  Loads nothing.  */
const char *nvrtc_surroundings(Arena *a, const NvrtcOptions *o, const char *arch);
/* Opens the NVRTC that nvrtc_open takes and identifies it.  ST_NVRTC also if its files cannot be
 * told.  */
Status nvrtc_identify(Arena *a, Diag *d, const NvrtcOptions *o, const char *arch,
                      NvrtcIdentity *out);
/* Are the files of an identity that was kept still the same?  */
bool nvrtc_same_files(const NvrtcIdentity *kept);
/* The files alone, of an NVRTC that is open; "" if they cannot be told.  */
void nvrtc_files(const Nvrtc *n, char out[NVRTC_FILES]);
#endif
