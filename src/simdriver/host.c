/* The driver itself: its lock, its message, memory of the host.  */
#include "simdriver/state.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

Driver the_driver = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

int driver_version(const Driver *d) {
    return d->faults.version ? d->faults.version : DRIVER_VERSION;
}

void driver_say(Driver *d, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(d->message, sizeof d->message, fmt, ap);
    va_end(ap);
    d->said = true;
}

void driver_say_error(Driver *d, const Diag *diag) {
    const DiagMessage *m = diag_first_error(diag);
    if (!m) return;
    if (m->file) {
        driver_say(d, "%s:%d:%d: %s", m->file, m->line, m->column, m->message);
    } else {
        driver_say(d, "%s", m->message);
    }
}

/* Called by whoever holds the lock.  */
static bool no_memory(void) {
    return faults_of(&the_driver.faults, RULE_ALLOC).result != CUDA_SUCCESS;
}

void *host_alloc(size_t bytes) { return no_memory() ? NULL : calloc(1, bytes); }

void *host_grow(void *p, size_t bytes) { return no_memory() ? NULL : realloc(p, bytes); }

void *host_pages(size_t bytes) { return no_memory() ? NULL : aligned_alloc(HOST_PAGE, bytes); }

static void *source_alloc(size_t bytes, void *user) {
    (void)user;
    return no_memory() ? NULL : malloc(bytes);
}

static void source_free(void *p, void *user) {
    (void)user;
    free(p);
}

const ArenaSource host_source = {.alloc = source_alloc, .free = source_free};

/* No other thread is inside a call while the process forks, so the child finds all in order.  */
static void before_fork(void) { pthread_mutex_lock(&the_driver.lock); }

static void after_fork(void) { pthread_mutex_unlock(&the_driver.lock); }

static void in_child(void) {
    the_driver.forked = the_driver.initialised;
    pthread_mutex_unlock(&the_driver.lock);
}

bool driver_watch_forks(Driver *d) {
    if (!d->watched) d->watched = pthread_atfork(before_fork, after_fork, in_child) == 0;
    return d->watched;
}

void driver_hang(Driver *d) {
    uint64_t before = d->woken;
    while (d->woken == before) pthread_cond_wait(&d->changed, &d->lock);
}

void driver_wake(Driver *d) {
    d->woken++;
    pthread_cond_broadcast(&d->changed);
}

void driver_delay(uint32_t ms) {
    struct timespec left = {.tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000) * 1000000};
    while (nanosleep(&left, &left) && errno == EINTR) continue;
}

Driver *driver_take(void) {
    pthread_mutex_lock(&the_driver.lock);
    return &the_driver;
}

void driver_give(Driver *d) { pthread_mutex_unlock(&d->lock); }
