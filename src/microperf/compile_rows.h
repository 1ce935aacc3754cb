/* What compiling a product with statements over rows of its results takes.  */
#ifndef ROLLER_MICROPERF_COMPILE_ROWS_H
#define ROLLER_MICROPERF_COMPILE_ROWS_H
#include "microperf/microperf.h"

/* Of the kernels of `rows parts`: what each takes on average, for the process may take as long for
 * each; or the one that takes longest, for which level 2 is worth its while.  */
typedef enum { ROW_KERNELS_EACH, ROW_KERNELS_LONGEST } RowKernels;

/* ms of NVRTC on one core for the program's kernel, or `of` its kernels.  product: what the product
 * alone takes.  r->stats is not STATS_NONE.  */
double mp_compile_rows_ms(const Problem *p, const RProg *r, double product, RowKernels of);
#endif
