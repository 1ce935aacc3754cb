/* SHA-256 by the instructions that x86 processors have for it (Intel, "Intel SHA Extensions",
 * 2013).  Whether this one has them is asked when the program runs.  */
#include "base/sha.h"

#if defined(__x86_64__) && defined(__GNUC__)
#include <cpuid.h>
#include <immintrin.h>
#include <stdatomic.h>

static bool has_instructions(void) {
    enum { UNKNOWN, YES, NO };
    static atomic_int known = UNKNOWN;
    int k = atomic_load_explicit(&known, memory_order_relaxed);
    if (k != UNKNOWN) return k == YES;
    unsigned a, b, c, d, features;
    bool yes = __get_cpuid(1, &a, &b, &features, &d) && (features & bit_SSSE3) &&
               (features & bit_SSE4_1) && __get_cpuid_count(7, 0, &a, &b, &c, &d) && (b & bit_SHA);
    atomic_store_explicit(&known, yes ? YES : NO, memory_order_relaxed);
    return yes;
}

/* The eight words of the state lie as A B E F and C D G H, highest first.  */
__attribute__((target("sha,ssse3,sse4.1"))) static void blocks(uint32_t h[8], const uint8_t *p,
                                                               size_t n) {
    const __m128i swap = _mm_set_epi64x(0x0c0d0e0f08090a0b, 0x0405060700010203);
    __m128i dcba = _mm_loadu_si128((const __m128i *)(const void *)h);
    __m128i hgfe = _mm_loadu_si128((const __m128i *)(const void *)(h + 4));
    __m128i cdab = _mm_shuffle_epi32(dcba, 0xb1), efgh = _mm_shuffle_epi32(hgfe, 0x1b);
    __m128i abef = _mm_alignr_epi8(cdab, efgh, 8), cdgh = _mm_blend_epi16(efgh, cdab, 0xf0);
    for (; n > 0; n--, p += 64) {
        __m128i w[4], was_abef = abef, was_cdgh = cdgh;
        for (int i = 0; i < 16; i++) {
            __m128i *now = &w[i & 3], last = w[(i + 3) & 3];
            if (i < 4) {
                *now = _mm_loadu_si128((const __m128i *)(const void *)(p + 16 * i));
                *now = _mm_shuffle_epi8(*now, swap);
            } else {
                __m128i part = _mm_sha256msg1_epu32(*now, w[(i + 1) & 3]);
                part = _mm_add_epi32(part, _mm_alignr_epi8(last, w[(i + 2) & 3], 4));
                *now = _mm_sha256msg2_epu32(part, last);
            }
            const void *k = sha256_constants + 4 * i;
            __m128i sum = _mm_add_epi32(*now, _mm_loadu_si128((const __m128i *)k));
            cdgh = _mm_sha256rnds2_epu32(cdgh, abef, sum);
            abef = _mm_sha256rnds2_epu32(abef, cdgh, _mm_shuffle_epi32(sum, 0x0e));
        }
        abef = _mm_add_epi32(abef, was_abef);
        cdgh = _mm_add_epi32(cdgh, was_cdgh);
    }
    __m128i feba = _mm_shuffle_epi32(abef, 0x1b), dchg = _mm_shuffle_epi32(cdgh, 0xb1);
    _mm_storeu_si128((__m128i *)(void *)h, _mm_blend_epi16(feba, dchg, 0xf0));
    _mm_storeu_si128((__m128i *)(void *)(h + 4), _mm_alignr_epi8(dchg, feba, 8));
}

bool sha256_blocks(uint32_t h[8], const uint8_t *p, size_t n) {
    if (!has_instructions()) return false;
    blocks(h, p, n);
    return true;
}
#else
bool sha256_blocks(uint32_t h[8], const uint8_t *p, size_t n) {
    (void)h, (void)p, (void)n;
    return false;
}
#endif
