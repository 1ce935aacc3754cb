/* links: base */
#define _GNU_SOURCE           /* syscall */
#include "still_clock.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define REPLACES __attribute__((visibility("default")))
enum { MS = 1000000 };

typedef struct {
    _Atomic int64_t now, wake;            /* ns; wake: of the process that sleeps, 0: none does */
    atomic_int sleeper;
} Still;

static Still own, *still;
static bool shared;

void still_clock_start(void) { still = &own; }

static __attribute__((constructor)) void open_shared(void) {
    const char *name = getenv("STILL_CLOCK");
    int fd = name ? open(name, O_RDWR | O_CLOEXEC) : -1;
    if (fd < 0) return;
    void *p = mmap(NULL, sizeof *still, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (p == MAP_FAILED) abort();
    still = p;
    shared = true;
}

REPLACES int clock_gettime(clockid_t id, struct timespec *t) {
    if (!still || id != CLOCK_MONOTONIC) return (int)syscall(SYS_clock_gettime, id, t);
    int64_t now = still->now + (int64_t)1000000 * MS;
    *t = (struct timespec){now / 1000 / MS, now % ((int64_t)1000 * MS)};
    return 0;
}

static void pause_ms(int ms) {
    struct timespec t = {0, (long)ms * MS};
    syscall(SYS_nanosleep, &t, NULL);
}

REPLACES int nanosleep(const struct timespec *span, struct timespec *left) {
    if (!still) return (int)syscall(SYS_nanosleep, span, left);
    int64_t wake = still->now + (int64_t)span->tv_sec * 1000 * MS + span->tv_nsec;
    if (!shared) {
        still->now = wake;
        return 0;
    }
    still->sleeper = getpid();
    still->wake = wake;
    while (still->now < wake) pause_ms(1);
    still->wake = 0;
    return 0;
}

static int poll_really(struct pollfd *p, nfds_t n, int ms) {
    struct timespec t = {ms / 1000, (long)(ms % 1000) * MS};
    return (int)syscall(SYS_ppoll, p, n, ms < 0 ? NULL : &t, NULL, 8);
}

/* When the process that sleeps wakes; 0: none sleeps.  One that was killed does not.  */
static int64_t next_wake(void) {
    int64_t wake = still->wake;
    return wake && !kill(still->sleeper, 0) ? wake : 0;
}

/* Also comes back after as long by the machine's clock, in which ours stands still.  */
REPLACES int poll(struct pollfd *p, nfds_t n, int ms) {
    if (!still || !shared || n == 0 || ms <= 0) return poll_really(p, n, ms);
    int64_t until = still->now + (int64_t)ms * MS;
    for (int i = 0; i < ms; i++) {
        int ready = poll_really(p, n, 1);
        int64_t wake = ready ? 0 : next_wake();
        if (ready) return ready;
        if (wake > still->now) still->now = wake < until ? wake : until;
        if (still->now >= until) return 0;
    }
    return 0;
}
