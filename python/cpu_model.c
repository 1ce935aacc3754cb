/* Which vectors the processor has, for functions that the compiler cloned for several.
 *
 * Clones are chosen when the library is loaded, by __cpu_indicator_init and __cpu_model of the
 * compiler's runtime, which zig's has not.  Layout and numbers are those of libgcc
 * (common/config/i386/i386-cpuinfo.h); of the features only those are told that clones ask for.  */
#include <cpuid.h>

enum { AVX = 9, AVX2 = 10, OSXSAVE = 1 << 27, HAS_AVX = 1 << 28, HAS_AVX2 = 1 << 5, YMM = 6 };

int __cpu_indicator_init(void);
__attribute__((visibility("hidden"))) struct {
    unsigned vendor, type, subtype, features[1];
} __cpu_model;

__attribute__((visibility("hidden"), constructor(101))) int __cpu_indicator_init(void) {
    unsigned a, b, c, d, low, high;
    if (__cpu_model.vendor) return 0;
    __cpu_model.vendor = 3;               /* some other: none asks */
    if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & OSXSAVE) || !(c & HAS_AVX)) return 0;
    /* The system keeps the upper halves of registers.  */
    __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    if ((low & YMM) != YMM) return 0;
    __cpu_model.features[0] = 1u << AVX;
    if (__get_cpuid_count(7, 0, &a, &b, &c, &d) && (b & HAS_AVX2))
        __cpu_model.features[0] |= 1u << AVX2;
    return 0;
}
