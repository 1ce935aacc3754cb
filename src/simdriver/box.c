/* How far boxes of memory reach.  */
#include "simdriver/work.h"

size_t box_bytes(const Box *b) { return b->width * b->height * b->depth; }

/* a * b + c, or 0 where that is beyond all memory.  */
static size_t reach(size_t a, size_t b, size_t c) {
    size_t most = SIZE_MAX / 4;
    if (c > most || (b && a > (most - c) / b)) return 0;
    return a * b + c;
}

size_t box_span(const Box *b, const End *e) {
    if (!b->width || !b->height || !b->depth) return 0;
    if (b->height > 1 && e->pitch < b->width) return 0;
    size_t plane = reach(b->height - 1, e->pitch, b->width);
    if (!plane || (b->depth > 1 && e->slice < plane)) return 0;
    return reach(b->depth - 1, e->slice, plane);
}
