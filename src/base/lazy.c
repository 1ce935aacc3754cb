#include "base/lazy.h"
#include "base/sparse.h"
#include <sched.h>
#include <stdint.h>
#include <string.h>

enum { MISSING, MAKING };                  /* and LAZY_THERE */

static size_t pages_of(size_t bytes) { return bytes / LAZY_PAGE + 1; }

bool lazy_open(Lazy *m, size_t bytes, LazyMake *make, void *user) {
    *m = (Lazy){.bytes = bytes, .make = make, .user = user};
    if (bytes > SIZE_MAX / 2) return false;
    m->data = sparse_new(bytes + LAZY_BEHIND);
    m->state = sparse_new(pages_of(bytes) * sizeof *m->state);
    if (m->data) memset(m->data + bytes, 0xff, LAZY_BEHIND);
    if (m->data && m->state) return true;
    lazy_close(m);
    return false;
}

bool lazy_over(Lazy *m, void *data, size_t bytes) {
    *m = (Lazy){.data = data, .bytes = bytes};
    m->state = sparse_new(pages_of(bytes) * sizeof *m->state);
    for (size_t i = 0; m->state && i < pages_of(bytes); i++) atomic_init(&m->state[i], LAZY_THERE);
    return m->state != NULL;
}

void lazy_close(Lazy *m) {
    if (m->make) sparse_free(m->data, m->bytes + LAZY_BEHIND);
    sparse_free(m->state, pages_of(m->bytes) * sizeof *m->state);
    m->data = NULL;
    m->state = NULL;
}

bool lazy_renew(Lazy *m, LazyMake *make, void *user) {
    if (!m->make) return false;
    m->make = make;
    m->user = user;
    for (size_t i = 0; i < pages_of(m->bytes); i++)
        atomic_store_explicit(&m->state[i], MISSING, memory_order_relaxed);
    return true;
}

static void need_page(const Lazy *m, size_t page) {
    unsigned char seen = MISSING;
    if (atomic_load_explicit(&m->state[page], memory_order_acquire) == LAZY_THERE) return;
    if (!atomic_compare_exchange_strong(&m->state[page], &seen, MAKING)) {
        while (atomic_load_explicit(&m->state[page], memory_order_acquire) != LAZY_THERE)
            sched_yield();
        return;
    }
    size_t from = page * LAZY_PAGE, left = m->bytes - from;
    m->make(m->user, from, left < LAZY_PAGE ? left : LAZY_PAGE, m->data + from);
    atomic_store_explicit(&m->state[page], LAZY_THERE, memory_order_release);
}

void lazy_need(const Lazy *m, size_t from, size_t bytes) {
    for (size_t page = from / LAZY_PAGE; page <= (from + bytes - 1) / LAZY_PAGE; page++)
        need_page(m, page);
}

size_t lazy_made(const Lazy *m) {
    size_t n = 0;
    for (size_t i = 0; m->state && i < pages_of(m->bytes); i++)
        n += atomic_load_explicit(&m->state[i], memory_order_relaxed) == LAZY_THERE;
    return n;
}
