/* HOT: of functions whose loops are worth wider vectors than every processor has.  They are
 * compiled for each and chosen when the program starts; all round alike (-ffp-contract=off).  */
#ifndef ROLLER_BASE_HOT_H
#define ROLLER_BASE_HOT_H

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define HOT_ONCE
#endif
#endif
#if defined(__x86_64__) && defined(__gnu_linux__) && !defined(__SANITIZE_ADDRESS__) &&             \
    !defined(__SANITIZE_THREAD__) && !defined(HOT_ONCE)
#if !defined(__clang__) && __GNUC__ >= 12
/* AVX-512; AVX2 and FMA.  */
#define HOT __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define HOT __attribute__((target_clones("avx2", "default")))
#endif
#else
#define HOT
#endif
#endif
