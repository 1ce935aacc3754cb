/* The end of an object: its handle and what it holds.  */
#include "simdriver/work.h"

#include <stdlib.h>

void object_free(Driver *d, Object *o) {
    handle_free(d, o);
    switch (o->kind) {
    case KIND_STREAM:
        stream_drop((Stream *)(void *)o);
        index_clear(&((Stream *)(void *)o)->front);
        break;
    case KIND_EVENT:
        event_forget((Event *)(void *)o);
        work_release(((Event *)(void *)o)->mark);
        break;
    case KIND_MODULE: image_release(((Module *)(void *)o)->image); break;
    case KIND_LIBRARY: image_release(((Library *)(void *)o)->image); break;
    default: break;
    }
    free(o);
}
