/* Child: a piece of work in a process of its own, under a watchdog.
 *
 * The child is a fork of the caller, so it has all of the caller's data and nothing needs to be
 * written down; what it does to its memory, its driver or itself stays with it.  It may open the
 * CUDA driver only if the caller has not.  What the driver is asked to do is announced, and only
 * that is timed: work of the host takes as long as it takes.  */
#ifndef ROLLER_DRIVER_CHILD_H
#define ROLLER_DRIVER_CHILD_H
#include "base/watch.h"

typedef struct Child Child;               /* the child's side */
/* The child's work; what it adds to *answer is what the parent gets.  d and *answer lie on an arena
 * of their own, so `a` may be reset.  */
typedef Status (*ChildBody)(Child *c, void *user, Arena *a, Diag *d, Buf *answer);
/* Tells the watchdog that calls of the driver begin or have ended.  */
void child_waits(void *child, bool waiting);

typedef enum { CHILD_DONE, CHILD_DIED, CHILD_HUNG, CHILD_STOPPED } ChildEnd;
typedef struct {
    ChildEnd end;
    int signal;               /* CHILD_DIED */
    Status status;            /* CHILD_DONE: what the body returned ... */
    const char *message, *hint;           /* ... and its first error, or NULL */
    DiagCode code;
    const char *answer;
    size_t len;
} ChildResult;

typedef struct {
    double watchdog_s;        /* the longest time between the two, less what others' work took */
    double limit_s;           /* of the whole child; 0: none */
    Watch *watch;             /* NULL: nobody's */
} ChildLimits;

/* Runs body in a child and waits for it.  ST_IO if there can be no child.  */
Status child_run(Arena *a, Diag *d, ChildBody body, void *user, const ChildLimits *limits,
                 ChildResult *out);
#endif
