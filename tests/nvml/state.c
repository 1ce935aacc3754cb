/* What hal/nvml.h tells of the device GPU-1, twice.  Built and run by tests/loaded.sh.  */
#include "hal/nvml.h"
#include <stdio.h>

int main(void) {
    for (int i = 0; i < 2; i++) {           /* what one leaves, another can take */
        Arena *a = arena_create(NULL);
        if (!a) return 3;
        Nvml *n = nvml_open(a, "GPU-1");
        NvmlState s = nvml_state(n);
        printf("%s: %d MHz, %d MHz, %d C, %d W\n", n ? "there" : "none", s.clock_sm_mhz,
               s.clock_mem_mhz, s.temperature_c, s.power_w);
        arena_destroy(a);
    }
    return 0;
}
