/* Watch: a call as its caller follows it, and ends it.
 *
 * Work that takes long asks watch_ended often and unwinds with ST_CANCELLED soon after it says so;
 * it tells where it is, and notes what a person might want to know.  Any thread of a call may do
 * so: callbacks come one at a time.  A NULL Watch is nobody's: never ended, and told nothing.  */
#ifndef ROLLER_BASE_WATCH_H
#define ROLLER_BASE_WATCH_H
#include "base/diag.h"

#include <pthread.h>
#include <stdbool.h>
#ifdef __cplusplus                        /* no C++ code of ours asks; only layouts are compared */
typedef bool atomic_bool;
#else
#include <stdatomic.h>
#endif

typedef enum { WATCH_ERROR, WATCH_WARNING, WATCH_NOTE } WatchKind;
typedef struct {
    const char *stage, *what; /* "plan"; the step that begins */
    int done, total;          /* steps of the stage */
    double left_s;            /* < 0: unknown */
} WatchStep;

/* Each may be NULL.  */
typedef struct {
    const atomic_bool *stop;  /* true: end */
    bool (*cancel)(void *user);           /* asked now and then; true: end */
    bool (*progress)(void *user, const WatchStep *step);   /* true: end */
    void (*log)(void *user, WatchKind kind, const char *text);
    void *user;
} WatchCalls;

typedef struct {
    WatchCalls calls;
    pthread_mutex_t one;      /* callback at a time */
    double asked;             /* when `cancel` was, last */
    atomic_bool ended;
} Watch;

void watch_init(Watch *w, const WatchCalls *calls);
void watch_destroy(Watch *w);
/* Forgets that an earlier call was ended.  */
void watch_again(Watch *w);
bool watch_ended(Watch *w);
/* ST_CANCELLED with a message if the work must end.  */
Status watch_check(Watch *w, Diag *d);
/* Step `done` of `total` begins.  */
void watch_step(Watch *w, const char *stage, int done, int total, const char *what);
void watch_tell(Watch *w, const WatchStep *step);
void watch_log(Watch *w, WatchKind kind, const char *text);
void watch_note(Watch *w, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
#endif
