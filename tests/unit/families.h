/* Every architecture that a source can be compiled for here: those of the newest NVRTC and, where
 * `make nvrtc12` has fetched it, of 12.9.  A mistake may show on one of them only.  */
#ifndef TESTS_FAMILIES_H
#define TESTS_FAMILIES_H
#include "hal/device.h"
#include "hal/nvrtc.h"

enum { FAMILIES_MAX = 64 };
typedef struct {
    const char *arch;         /* "sm_103" */
    int cc;                   /* 103 */
    Nvrtc *nvrtc;
} Family;
typedef struct {
    Family family[FAMILIES_MAX];
    int n;
} Families;

void families_open(Arena *a, Families *out);   /* fails the test if there is no compiler */
/* Those that run code which needs `least_cc`; returns how many.  */
int families_from(const Families *all, int least_cc, const Family *out[FAMILIES_MAX]);
/* One of these, by seed.  */
const Family *families_draw(const Families *all, int least_cc, uint64_t seed);
/* A device's own, which may have a suffix.  */
Family families_own(const Families *all, const Device *dev);

/* PTX of a source for this family.  NVRTC 13.0 crashes on some sources, for architectures from
 * sm_100 on (one in thousands of random programs; nvcc does, too), so it compiles for these in a
 * process of its own, this program again: main must begin with families_child, which ends such a
 * process.  *crashed: it did, and there is no PTX.  */
Status families_compile(const Family *f, Arena *a, Diag *d, const char *source, NvrtcOutput *out,
                        bool *crashed);
void families_child(int argc, char **argv);
#endif
