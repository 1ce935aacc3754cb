/* NVRTC behind dlopen: CUDA C++ text to PTX and cubin, with the resources the code needs.
 *
 * Own prototypes, no CUDA header.  The library is the absolute path in `path` or $ROLLER_NVRTC;
 * without these the newest that targets the arch, and whose code the driver loads where one is
 * given, among: versioned sonames, `folders`, the toolkit of $CUDA_PATH or in its default folder,
 * NVIDIA's wheels in the folders of Python, and nvrtc* folders beside the executable or its parent
 * folder.  Needs no GPU and no driver (docs/nvrtc.md).  */
#ifndef ROLLER_HAL_NVRTC_H
#define ROLLER_HAL_NVRTC_H
#include "base/watch.h"
#include <stdint.h>

typedef struct Nvrtc Nvrtc;

typedef struct {
    const char *path;         /* absolute path of the library; NULL: search */
    const char *folders;      /* colon-separated, that the search looks into, too; may be NULL */
    bool ignore_environment;  /* set-uid callers */
    int driver;               /* the CUDA version of the driver that has to load the code (12040:
                               * 12.4); 0: any */
    bool jit;                 /* it loads PTX: the code is for an older architecture than its own */
    int below;                /* only versions below this one (1209: 12.9); 0: all */
} NvrtcOptions;

/* Opens the newest NVRTC that can target `arch` ("sm_90a"); NULL arch: the newest of all.  ST_NVRTC
 * with the versions found and the one that would do ("sm_70 needs NVRTC 12.9 or older").  The
 * handle closes with the arena.  */
Status nvrtc_open(Arena *a, Diag *d, const NvrtcOptions *o, const char *arch, Nvrtc **out);
void nvrtc_version(const Nvrtc *n, int *major, int *minor);
const char *nvrtc_file(const Nvrtc *n);
/* Every arch it targets, ascending: "sm_75", "sm_90", "sm_90a", ...  NULL-terminated.  */
const char *const *nvrtc_archs(const Nvrtc *n);

typedef struct {
    const char *kernel;       /* symbol */
    int registers, barriers;
    int64_t static_smem, spill_stores, spill_loads, stack;   /* bytes */
    size_t image;             /* where the image that has it begins in the cubin */
} KernelResources;

typedef struct {
    const char *ptx;          /* NUL-terminated */
    size_t ptx_len;
    const void *cubin;        /* NULL if not asked for; images one behind the other (base/elf.h) */
    size_t cubin_len;
    const char *log;
    KernelResources *kernel;
    int n_kernel;
    double ms;                /* time inside NVRTC */
} NvrtcOutput;

typedef struct {
    bool ptx, cubin;          /* what is wanted (resources come with cubin) */
    bool line_info;
    int max_registers;        /* 0: none; kernels with launch bounds ignore it */
    int level;                /* of ptxas' optimizer, 1..3; 0: 3 */
    Watch *watch;             /* NULL: nobody's */
} NvrtcRequest;

/* Compiles one source.  Thread-safe for one Nvrtc and different arenas.  A refusal is ST_COMPILE
 * with the first lines of the log; warnings that make code unsound (serialised wgmma, ignored
 * setmaxnreg) are errors as well; ST_CANCELLED if the watch ended it.  NVRTC runs on threads that
 * take no signals, and the process keeps its handlers.  */
Status nvrtc_compile(Nvrtc *n, Arena *a, Diag *d, const char *source, const char *arch,
                     const NvrtcRequest *request, NvrtcOutput *out);
/* Outputs for one architecture, without line information, as one: their cubins' images one behind
 * the other, their PTX as one module.  Functions and variables of two outputs that share a name are
 * one where they are the same, else they get names of their own; kernels must not share any.  */
void nvrtc_join(Arena *a, const NvrtcOutput *const *from, int n, NvrtcOutput *out);
#endif
