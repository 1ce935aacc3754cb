/* Shared-memory wavefronts of one request, counted byte by byte: the oracle for
 * rtile_wavefronts.  */
#ifndef ROLLER_TESTS_WAVEFRONTS_H
#define ROLLER_TESTS_WAVEFRONTS_H
#include <stdint.h>

int slow_wavefronts(const int32_t addr[32], uint32_t active, int width);
/* Distinct 32-byte sectors that the active lanes touch.  */
int slow_sectors(const int64_t addr[32], uint32_t active, int width);
#endif
