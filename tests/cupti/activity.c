/* Records of kernels through hal/cupti.h, over the library in tests/cupti/fake.c: says what
 * happened.  Built and run by tests/counters.sh, which sets $CUDA_PATH.  */
#include "hal/cupti.h"
#include <stdio.h>

static int say(const Diag *d) {
    printf("error: %s\n", diag_first_error(d)->message);
    return 1;
}

static int watch(Arena *a, Diag *d) {
    Cupti *c, *second;
    const CuptiKernel *k;
    int n;
    if (cupti_open(a, d, false, &c)) return say(d);
    Diag other = diag_new(a);
    if (!cupti_open(a, &other, false, &second)) printf("two at once\n");
    if (cupti_reset(c, d) || cupti_kernels(c, d, &k, &n)) return say(d);
    printf("%d kernels", n);
    for (int i = 0; i < n && i < 3; i++)
        printf(", %d to %d", (int)k[i].begin_ns, (int)k[i].end_ns);
    printf("\n");
    return 0;
}

int main(void) {
    int code = 0;
    for (int i = 0; i < 2; i++) {           /* what one leaves, another can take */
        Arena *a = arena_create(NULL);
        if (!a) return 3;
        Diag d = diag_new(a);
        code |= watch(a, &d);
        arena_destroy(a);
    }
    return code;
}
