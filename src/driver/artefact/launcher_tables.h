/* Inside of launchers in C.  */
#ifndef ROLLER_DRIVER_ARTEFACT_LAUNCHER_TABLES_H
#define ROLLER_DRIVER_ARTEFACT_LAUNCHER_TABLES_H
#include "driver/handle/handle.h"

/* Counts, size expressions and tables: all of the kernels' description that launch.c reads.  */
void launcher_tables(const RollerKernel *const *k, int n, Buf *out);
#endif
