/* What the tools share as processes: their streams, signals and last words.  */
#ifndef ROLLER_CLI_PROCESS_H
#define ROLLER_CLI_PROCESS_H
#include "base/buf.h"
#include <stdatomic.h>
#include <stdio.h>

/* A tool from begin to end.  The name is for messages.  A standard stream that the caller has
 * closed does not become a file that is opened later, and a crash says so.  `run` returns the exit
 * code and may end anywhere for lack of memory; `done`, which may be NULL, follows in any case and
 * before the arena goes.  At last a signal that has asked to end ends the process, as if it had not
 * been caught; what else may still run, such as a compilation that was given up, ends with it.  */
typedef struct {
    const char *name;
    int (*run)(Arena *a, int argc, char **argv, void *tool);
    void (*done)(void *tool);
} ProcessTool;
int process_main(const ProcessTool *p, int argc, char **argv, void *tool);
/* The path of this program, which is its own worker, as arena memory; NULL: that cannot be told, or
 * $ROLLER_WORKER names another one.  */
const char *process_worker(Arena *a);
/* Writes a text to standard output or error.  0, or the exit code for it when it cannot be
 * written, with a message on standard error.  */
int process_put(FILE *f, const Buf *text);
/* Says that there is no memory; the exit code for it.  */
int process_nomem(void);

/* Becomes true when a signal asks to end; from the first call on SIGINT, SIGTERM and SIGHUP no
 * longer end the process, unless they were ignored before.  */
const atomic_bool *process_stop(void);
/* Which signal it was; 0: none.  */
int process_signal(void);
/* `code`, or that of the signal.  */
int process_code(int code);
#endif
