/* What a tool is at, on standard error: on a terminal one line that changes, else a line for
 * each.  */
#ifndef ROLLER_CLI_PROGRESS_H
#define ROLLER_CLI_PROGRESS_H
#include "cli/option_table.h"

typedef struct {
    bool shown, terminal;
} Progress;

/* verbosity < 0: nothing is shown.  */
Progress progress_new(When when, int verbosity);
void progress_say(const Progress *p, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Takes the line away before something else is written.  */
void progress_end(const Progress *p);
#endif
