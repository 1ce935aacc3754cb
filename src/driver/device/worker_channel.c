/* The worker's end of the socket to the host.  */
#include "driver/device/worker_channel.h"

#include <errno.h>
#include <sys/socket.h>

bool worker_put(int fd, const void *data, size_t len) {
    for (const char *at = data; len;) {
        ssize_t n = send(fd, at, len, MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return false;
        at += n;
        len -= (size_t)n;
    }
    return true;
}

static bool put_frame(int fd, char kind, const void *data, size_t len) {
    const uint64_t length = len;
    return worker_put(fd, &kind, 1) && worker_put(fd, &length, sizeof length) &&
           worker_put(fd, data, len);
}

void worker_waits(void *worker, bool waiting) {
    const Worker *w = worker;
    char kind = waiting ? w->wait : 'H';
    worker_put(w->out, &kind, 1);
}

void worker_opened(Worker *w, bool simulated) { w->wait = simulated ? 'S' : 'W'; }

void worker_news(Worker *w, const char *data, size_t len) { put_frame(w->out, 'N', data, len); }

bool worker_get(int fd, void *data, size_t len) {
    for (char *at = data; len;) {
        ssize_t n = recv(fd, at, len, 0);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return false;
        at += n;
        len -= (size_t)n;
    }
    return true;
}

Status worker_misread(Diag *d) {
    return diag_error(d, ST_INTERNAL, "worker", DIAG_NOWHERE, "the request does not read");
}
