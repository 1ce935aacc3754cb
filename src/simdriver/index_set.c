/* Sets of nodes of a graph.  */
#include "simdriver/work.h"

#include <stdlib.h>

bool index_add(IndexSet *to, const IndexSet *from) {
    for (size_t k = 0; k < from->n; k++) {
        size_t have = 0;
        while (have < to->n && to->v[have] != from->v[k]) have++;
        if (have < to->n) continue;
        if (to->n == to->cap) {
            size_t cap = to->cap ? 2 * to->cap : 4;
            size_t *v = host_grow(to->v, cap * sizeof *v);
            if (!v) return false;
            to->v = v;
            to->cap = cap;
        }
        to->v[to->n++] = from->v[k];
    }
    return true;
}

void index_clear(IndexSet *set) {
    free(set->v);
    *set = (IndexSet){0};
}

void event_forget(Event *e) {
    e->capture = NULL;
    index_clear(&e->front);
}
