/* Runs small PTX kernels for the simulator's tests.
 *
 * Every parameter of a kernel is a .u64 (a device address or a number). A run has its own device
 * with generous limits. Failing calls fail the test.  */
#ifndef TEST_PTXRUN_H
#define TEST_PTXRUN_H
#include "base/hash.h"
#include "sim/sim.h"

#define PTX_HEAD ".version 9.0\n.target sm_90a\n.address_size 64\n"

enum { RUN_MAX_ARGS = 8 };
typedef struct {
    Arena *arena;
    Diag diag;
    Device dev;
    SimGpu *gpu;
    SimOptions options;
    SimLaunch launch;         /* grid and block default to 1 and 32 */
    uint64_t arg[RUN_MAX_ARGS];
    int n_arg;
    SimReport report;
} PtxRun;

void run_open(PtxRun *r);
void run_close(PtxRun *r);
/* Adds device memory as the next argument: a copy of `init`, or poison.  */
uint64_t run_memory(PtxRun *r, const void *init, size_t bytes);
void run_number(PtxRun *r, uint64_t value);
/* Host view of argument k.  */
void *run_host(PtxRun *r, int k);
/* Launches a kernel of a module; the report is in r->report.  */
Status run_parsed(PtxRun *r, const SimModule *m, const char *kernel);
/* Parses the text and launches its first kernel; the report is in r->report.  False if the text, or
 * an instruction that was reached, is refused (the message is in r->diag).  */
bool run_text(PtxRun *r, const char *ptx);
/* The same; any fault fails the test with its text.  */
void run_clean(PtxRun *r, const char *ptx);
/* Runs and fails unless the first fault is of this kind; RUN_UNORDERED: of one of those by which
 * missing order shows, depending on who comes first.  */
enum { RUN_UNORDERED = SIM_FAULT_COUNT + 1 };
void run_faulty(PtxRun *r, const char *ptx, int kind);
/* The wrapped body of a kernel k(p0, p1, ..): declarations of registers, addresses in %a0..,
 * tid.x in %t, then the body.  */
const char *run_kernel(Arena *a, int n_param, const char *body);
#endif
