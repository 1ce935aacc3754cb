#include "base/pool.h"

#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

enum { MAX_THREADS = 16, LIMIT = 256 };

typedef struct {
    bool (*fn)(void *user, int64_t i, int worker);
    void *user;
    int64_t n;
    atomic_int_fast64_t next;
    atomic_bool failed;
} Job;

typedef struct {
    Job *job;
    int number;
} Worker;

static void *work(void *arg) {
    const Worker *w = arg;
    Job *job = w->job;
    while (!atomic_load(&job->failed)) {
        int64_t i = atomic_fetch_add(&job->next, 1);
        if (i >= job->n) break;
        if (!job->fn(job->user, i, w->number)) atomic_store(&job->failed, true);
    }
    return NULL;
}

int pool_threads(int threads) {
    if (threads > 0) return threads < LIMIT ? threads : LIMIT;
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    return cores < 1 ? 1 : cores > MAX_THREADS ? MAX_THREADS : (int)cores;
}

int pool_share(int threads, int n) {
    int all = pool_threads(threads);
    return n < 1 ? all : (all + n - 1) / n;
}

bool pool_for(int threads, int64_t n, bool (*fn)(void *user, int64_t i, int worker), void *user) {
    Job job = {.fn = fn, .user = user, .n = n};
    pthread_t thread[LIMIT];
    Worker worker[LIMIT];
    int count = pool_threads(threads), started = 1;
    if (count > n) count = n < 1 ? 1 : (int)n;
    worker[0] = (Worker){&job, 0};
    for (; started < count; started++) {
        worker[started] = (Worker){&job, started};
        if (pthread_create(&thread[started], NULL, work, &worker[started])) break;
    }
    work(&worker[0]);
    for (int i = 1; i < started; i++) pthread_join(thread[i], NULL);
    return !atomic_load(&job.failed);
}
