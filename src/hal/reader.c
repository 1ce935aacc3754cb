/* Faults, kinds, and which members an object has: what reading anything of a profile needs.  */
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

/* Edits between two short names; 99 if one is too long to bother.  */
static int distance(const char *a, const char *b) {
    enum { MAX = 40 };
    size_t n = strlen(a), m = strlen(b);
    if (n >= MAX || m >= MAX)
        return 99;
    int row[MAX];
    for (size_t j = 0; j <= m; j++)
        row[j] = (int)j;
    for (size_t i = 1; i <= n; i++) {
        int diagonal = row[0];
        row[0] = (int)i;
        for (size_t j = 1; j <= m; j++) {
            int best = diagonal + (a[i - 1] != b[j - 1]);
            diagonal = row[j];
            best = row[j] + 1 < best ? row[j] + 1 : best;
            row[j] = row[j - 1] + 1 < best ? row[j - 1] + 1 : best;
        }
    }
    return row[m];
}

static void consider(const char *key, const char *name, const char **best, int *least) {
    int d = distance(key, name);
    if (d < *least) {
        *least = d;
        *best = name;
    }
}

static void unknown(Reader *r, const Node *n, const FieldTable *t, const char *const *also) {
    bool kept = r->diag->count < DIAG_MAX;
    Node at = *n;
    at.pos = n->key_pos;
    reader_fault(r, &at, "unknown", "unknown key");
    if (!kept)
        return;
    const char *best = NULL;
    int least = 4;
    for (int i = 0; t && i < t->n; i++)
        consider(n->key, t->field[i].name, &best, &least);
    for (; also && *also; also++)
        consider(n->key, *also, &best, &least);
    if (best)
        diag_hint(r->diag, "is \"%s\" meant?", best);
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

const Node *reader_need(Reader *r, const Node *object, const char *key) {
    const Node *n = located_member(object, key);
    if (!n)
        reader_fault(r, object, "missing", "\"%s\" is missing", key);
    return n;
}
