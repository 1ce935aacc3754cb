/* References to user objects, of callers and of graphs.  */
#include "simdriver/graph.h"

void user_release(UserObject *u, uint64_t n) {
    u->refs -= n < u->refs ? n : u->refs;
    if (u->refs) return;
    handle_free(u->driver, &u->o);
    u->next = u->driver->doomed;
    u->driver->doomed = u;
}

bool graph_retain(GraphBody *g, UserObject *u, uint64_t n) {
    Retained *r = host_grow(g->retained, (g->n_retained + 1) * sizeof *r);
    if (!r) return false;
    g->retained = r;
    r[g->n_retained++] = (Retained){u, n};
    return true;
}
