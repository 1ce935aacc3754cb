#include "base/json.h"

static void drop(void *p) { json_decref(p); }

json_t *json_new(Arena *a, json_t *v) {
    if (!v) arena_fail(a);
    return v;
}

json_t *json_tree(Arena *a) {
    json_t *o = json_new(a, json_object());
    arena_defer(a, drop, o);
    return o;
}

json_t *json_set(Arena *a, json_t *object, const char *key, json_t *v) {
    if (json_object_set_new(object, key, json_new(a, v)) != 0) arena_fail(a);
    return v;
}

json_t *json_push(Arena *a, json_t *array, json_t *v) {
    if (json_array_append_new(array, json_new(a, v)) != 0) arena_fail(a);
    return v;
}

json_t *json_text(const char *s) { return s ? json_string(s) : json_null(); }

json_t *json_triple(Arena *a, int64_t x, int64_t y, int64_t z) {
    json_t *list = json_new(a, json_array());
    json_push(a, list, json_integer(x));
    json_push(a, list, json_integer(y));
    json_push(a, list, json_integer(z));
    return list;
}
