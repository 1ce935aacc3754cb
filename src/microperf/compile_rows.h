/* What compiling a product with statements over rows of its results takes.  */
#ifndef ROLLER_MICROPERF_COMPILE_ROWS_H
#define ROLLER_MICROPERF_COMPILE_ROWS_H
#include "microperf/microperf.h"

/* ms of NVRTC on one core for the program's kernel, of several for each of them, on average: the
 * process may take as long for each.  product: what the product alone takes.  r->stats is not
 * STATS_NONE.  */
double mp_compile_rows_ms(const Problem *p, const RProg *r, double product);
#endif
