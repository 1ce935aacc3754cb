/* links: hal */
#include "families.h"

#include "base/hash.h"
#include "hal/device.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

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
