/* Pieces of work, and who refers to them.  */
#include "simdriver/graph.h"

#include <stdlib.h>

Work *work_new(WorkKind kind) {
    Work *w = host_alloc(sizeof *w);
    if (w) {
        w->kind = kind;
        w->refs = 1;
    }
    return w;
}

/* What is no longer needed once the work is done; so chains of waits do not stay alive.  */
void work_drop_payload(Work *w) {
    if (w->buffered) free(w->box.from.host);
    w->buffered = false;
    free((void *)(uintptr_t)w->launch.launch.params);
    w->launch.launch.params = NULL;
    image_release(w->launch.image);
    w->launch.image = NULL;
    graph_release(w->graph);
    w->graph = NULL;
    Work *wait = w->wait;
    w->wait = NULL;
    work_release(wait);
}

void work_release(Work *w) {
    if (!w || --w->refs > 0) return;
    work_drop_payload(w);
    free(w);
}
