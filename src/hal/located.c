#include "hal/located.h"

#include <string.h>

typedef struct {
    Arena *arena;
    const char *text;
    size_t pos, len;
} Walk;

/* jansson accepted the text, so this walk only has to find where things begin.  Brackets inside
 * strings do not count.  Returns the offset of the first value nested too deep, or `len`.  */
static size_t too_deep(const char *text, size_t len) {
    int depth = 0;
    bool string = false;
    for (size_t i = 0; i < len; i++) {
        char c = text[i];
        if (string) {
            if (c == '\\')
                i++;
            else if (c == '"')
                string = false;
        } else if (c == '"') {
            string = true;
        } else if (c == '{' || c == '[') {
            if (++depth > LOCATED_MAX_DEPTH)
                return i;
        } else if (c == '}' || c == ']') {
            depth--;
        }
    }
    return len;
}

static void skip_blank(Walk *w) {
    while (w->pos < w->len && memchr(" \t\r\n,:", w->text[w->pos], 6))
        w->pos++;
}

static void skip_string(Walk *w) {
    for (w->pos++; w->pos < w->len && w->text[w->pos] != '"'; w->pos++)
        if (w->text[w->pos] == '\\')
            w->pos++;
    w->pos++;
}

static void skip_scalar(Walk *w) {
    if (w->text[w->pos] == '"') {
        skip_string(w);
        return;
    }
    while (w->pos < w->len && !memchr(" \t\r\n,:]}", w->text[w->pos], 8))
        w->pos++;
}

static void place(Walk *w, Node *n);

static void place_child(Walk *w, Node *n, int i, const char *key, const json_t *json) {
    Node *c = &n->child[i];
    c->json = json;
    c->parent = n;
    c->index = i;
    skip_blank(w);
    c->key_pos = w->pos;
    if (key) {
        c->key = arena_strdup(w->arena, key);
        skip_string(w);
    }
    place(w, c);
}

/* The children of an object come in the order of the text: jansson keeps the order of insertion. */
static void place(Walk *w, Node *n) {
    skip_blank(w);
    n->pos = w->pos;
    if (!json_is_object(n->json) && !json_is_array(n->json)) {
        skip_scalar(w);
        return;
    }
    bool object = json_is_object(n->json);
    size_t count = object ? json_object_size(n->json) : json_array_size(n->json);
    n->n_child = (int)count;
    n->child = ARENA_ARRAY(w->arena, Node, count);
    w->pos++;
    int i = 0;
    if (object) {
        json_t *members = (json_t *)n->json;
        for (void *m = json_object_iter(members); m; m = json_object_iter_next(members, m), i++)
            place_child(w, n, i, json_object_iter_key(m), json_object_iter_value(m));
    } else {
        for (; i < n->n_child; i++)
            place_child(w, n, i, NULL, json_array_get(n->json, (size_t)i));
    }
    skip_blank(w);
    w->pos++;
}

Status located_read(Arena *a, Diag *d, Status status, DiagText text, Node **out) {
    if (text.len <= LOCATED_MAX_BYTES) {
        size_t deep = too_deep(text.text, text.len);
        if (deep < text.len)
            return diag_error(d, status, "json", diag_place(text, deep),
                              "nested deeper than %d levels", LOCATED_MAX_DEPTH);
    }
    json_t *root = NULL;
    Status s = json_read(a, d, status, text, LOCATED_MAX_BYTES, &root);
    if (s != ST_OK)
        return s;
    Walk w = {a, text.text, 0, text.len};
    Node *n = ARENA_NEW(a, Node);
    n->json = root;
    place(&w, n);
    *out = n;
    return ST_OK;
}

const Node *located_member(const Node *object, const char *key) {
    for (int i = 0; i < object->n_child; i++)
        if (object->child[i].key && !strcmp(object->child[i].key, key))
            return &object->child[i];
    return NULL;
}

static void add_path(const Node *n, Buf *b) {
    if (!n->parent)
        return;
    add_path(n->parent, b);
    if (!n->key)
        buf_printf(b, "[%d]", n->index);
    else
        buf_printf(b, "%s%s", b->len ? "." : "", n->key);
}

const char *located_path(Arena *a, const Node *n) {
    Buf b = buf_new(a);
    add_path(n, &b);
    return buf_str(&b);
}
