/* Memory whose pages are made when they are first asked for.
 *
 * What nobody reads costs neither time nor memory.  Several threads may ask at once.  */
#ifndef ROLLER_BASE_LAZY_H
#define ROLLER_BASE_LAZY_H
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

enum { LAZY_PAGE = 512,
       LAZY_BEHIND = 64 };                    /* bytes of 0xff behind the end, which may be read */

/* Gives bytes from .. from + bytes - 1: one page, the last one shorter.  */
typedef void LazyMake(void *user, size_t from, size_t bytes, unsigned char *to);

typedef struct {
    unsigned char *data;      /* pages that were not asked for are not there yet */
    size_t bytes;
    atomic_uchar *state;      /* per page */
    LazyMake *make;           /* NULL: data is the caller's */
    void *user;
} Lazy;

/* False if there is no memory.  */
bool lazy_open(Lazy *m, size_t bytes, LazyMake *make, void *user);
/* The same over memory of the caller's, which is there and stays the caller's.  */
bool lazy_over(Lazy *m, void *data, size_t bytes);
void lazy_close(Lazy *m);
/* All of it is made anew, by this; nobody may ask meanwhile.  False: it is the caller's memory.  */
bool lazy_renew(Lazy *m, LazyMake *make, void *user);
/* Makes what is missing of a range; see lazy_at.  */
void lazy_need(const Lazy *m, size_t from, size_t bytes);
/* Pages made so far.  */
size_t lazy_made(const Lazy *m);

enum { LAZY_THERE = 2 };

/* bytes > 0 bytes at `from`, which are there now.  */
static inline unsigned char *lazy_at(const Lazy *m, size_t from, size_t bytes) {
    size_t first = from / LAZY_PAGE, last = (from + bytes - 1) / LAZY_PAGE;
    if (atomic_load_explicit(&m->state[first], memory_order_acquire) != LAZY_THERE ||
        first != last)
        lazy_need(m, from, bytes);
    return m->data + from;
}
#endif
