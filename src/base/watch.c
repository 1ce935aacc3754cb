#include "base/watch.h"
#include "base/clock.h"

#include <stdarg.h>
#include <stdio.h>

/* Between two questions to the caller.  */
static const double pause_s = 0.01;

void watch_init(Watch *w, const WatchCalls *calls) {
    *w = (Watch){.calls = *calls};
    pthread_mutex_init(&w->one, NULL);
    atomic_init(&w->ended, false);
}

void watch_destroy(Watch *w) { pthread_mutex_destroy(&w->one); }

void watch_again(Watch *w) {
    atomic_store(&w->ended, false);
    w->asked = 0;
}

/* Another thread that is in a callback just now will say it.  */
static void ask(Watch *w) {
    if (pthread_mutex_trylock(&w->one)) return;
    double now = clock_now_s();
    if (now - w->asked >= pause_s) {
        if (w->calls.cancel(w->calls.user)) atomic_store(&w->ended, true);
        w->asked = clock_now_s();
    }
    pthread_mutex_unlock(&w->one);
}

bool watch_ended(Watch *w) {
    if (!w) return false;
    if (atomic_load_explicit(&w->ended, memory_order_relaxed)) return true;
    if (w->calls.stop && atomic_load(w->calls.stop)) return true;
    if (!w->calls.cancel) return false;
    ask(w);
    return atomic_load(&w->ended);
}

Status watch_check(Watch *w, Diag *d) {
    if (!watch_ended(w)) return ST_OK;
    return diag_error(d, ST_CANCELLED, NULL, DIAG_NOWHERE, "cancelled by the caller");
}

void watch_tell(Watch *w, const WatchStep *step) {
    if (!w || !w->calls.progress) return;
    pthread_mutex_lock(&w->one);
    if (w->calls.progress(w->calls.user, step)) atomic_store(&w->ended, true);
    pthread_mutex_unlock(&w->one);
}

void watch_step(Watch *w, const char *stage, int done, int total, const char *what) {
    watch_tell(w, &(WatchStep){stage, what, done, total, -1});
}

void watch_log(Watch *w, WatchKind kind, const char *text) {
    if (!w || !w->calls.log) return;
    pthread_mutex_lock(&w->one);
    w->calls.log(w->calls.user, kind, text);
    pthread_mutex_unlock(&w->one);
}

void watch_note(Watch *w, const char *fmt, ...) {
    char text[512];
    if (!w || !w->calls.log) return;
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    watch_log(w, WATCH_NOTE, text);
}
