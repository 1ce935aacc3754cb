/* Faults, kinds, and which members an object has: what reading anything of a profile needs.  */
#include "base/nearest.h"
#include "hal/reader.h"

#include <string.h>

void reader_fault(Reader *r, const Node *n, const char *tag, const char *fmt, ...) {
    if (r->diag->count >= DIAG_MAX) {
        diag_error(r->diag, ST_PROFILE, tag, DIAG_NOWHERE, "more faults");
        return;
    }
    va_list ap;
    va_start(ap, fmt);
    const char *what = arena_vprintf(r->arena, fmt, ap);
    va_end(ap);
    const char *path = located_path(r->arena, n);
    diag_error(r->diag, ST_PROFILE, tag, (DiagPlace){r->file, r->text, r->len, n->pos}, "%s%s%s",
               path, *path ? ": " : "", what);
}

bool reader_object(Reader *r, const Node *n) {
    if (!json_is_object(n->json))
        reader_fault(r, n, "type", "an object is expected");
    return json_is_object(n->json);
}

bool reader_array(Reader *r, const Node *n, int max) {
    if (!json_is_array(n->json)) {
        reader_fault(r, n, "type", "a list is expected");
        return false;
    }
    if (n->n_child > max) {
        reader_fault(r, n, "bounds", "%d elements, at most %d are allowed", n->n_child, max);
        return false;
    }
    return true;
}

static void unknown(Reader *r, const Node *n, const FieldTable *t, const char *const *also) {
    Node at = *n;
    at.pos = n->key_pos;
    reader_fault(r, &at, "unknown", "unknown key");
    Nearest near = {.name = n->key};
    Buf all = buf_new(r->arena);
    for (int i = 0; t && i < t->n; i++) {
        nearest_offer(&near, t->field[i].name);
        buf_printf(&all, " %s", t->field[i].name);
    }
    for (; also && *also; also++) {
        nearest_offer(&near, *also);
        buf_printf(&all, " %s", *also);
    }
    if (near.best)
        diag_hint(r->diag, "did you mean \"%s\"?", near.best);
    else
        diag_hint(r->diag, "known here are%s", buf_str(&all));
}

static const Field *field_of(const FieldTable *t, const char *key) {
    for (int i = 0; t && i < t->n; i++)
        if (!strcmp(t->field[i].name, key))
            return &t->field[i];
    return NULL;
}

void reader_known(Reader *r, const Node *object, const FieldTable *t, const char *const *also) {
    for (int i = 0; i < object->n_child; i++) {
        const Node *n = &object->child[i];
        bool found = field_of(t, n->key) != NULL;
        for (const char *const *k = also; !found && k && *k; k++)
            found = !strcmp(*k, n->key);
        if (!found)
            unknown(r, n, t, also);
    }
}

const Node *reader_need(Reader *r, const Node *object, const char *key, const char *hint) {
    const Node *n = located_member(object, key);
    if (!n) {
        reader_fault(r, object, "missing", "\"%s\" is missing", key);
        diag_hint(r->diag, "%s", hint);
    }
    return n;
}
