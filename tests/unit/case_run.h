/* A compiled case in the simulator: its first kernel, run whole on data of a kind.  */
#ifndef TEST_CASE_RUN_H
#define TEST_CASE_RUN_H
#include "driver/check/run.h"
#include "kernel_fixture.h"

/* The run keeps what it needs on the case's arena; faults stay in run->fault.  */
Status case_run(KernelCase *c, TeFill fill, const SimOptions *o, Run *run);
#endif
