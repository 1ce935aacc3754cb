/* Names that an op has, and new ones.  */
#include "base/hash.h"
#include "te/edit/edit.h"
#include <string.h>

bool normalize_taken(const Te *te, const char *name) {
    for (int i = 0; i < te->n_size; i++)
        if (strcmp(te->size[i].name, name) == 0) return true;
    for (int i = 0; i < te->n_tensor; i++)
        if (strcmp(te->tensor[i].name, name) == 0) return true;
    for (int i = 0; i < te->n_stmt; i++)
        for (int j = 0; j < te->stmt[i].n_index; j++)
            if (strcmp(te->stmt[i].index[j].name, name) == 0) return true;
    return false;
}

/* Open addressing; never more than half full.  */
struct NameSet {
    Arena *a;
    const char **name;
    size_t n, room;           /* room: a power of two */
};

/* Where the name is, or would be.  */
static const char **slot_of(const NameSet *x, const char *name) {
    size_t i = hash64(name, strlen(name), 0);
    while (x->name[i & (x->room - 1)] && strcmp(x->name[i & (x->room - 1)], name) != 0) i++;
    return &x->name[i & (x->room - 1)];
}

static void add(NameSet *x, const char *name) {
    if (2 * x->n >= x->room) {
        NameSet old = *x;
        x->room *= 2;
        x->name = ARENA_ARRAY(x->a, const char *, x->room);
        for (size_t i = 0; i < old.room; i++)
            if (old.name[i]) *slot_of(x, old.name[i]) = old.name[i];
    }
    const char **slot = slot_of(x, name);
    x->n += !*slot;
    *slot = name;
}

NameSet *normalize_names(Arena *a, const Te *te) {
    enum { FIRST = 1 << 8 };
    NameSet *x = ARENA_NEW(a, NameSet);
    *x = (NameSet){a, ARENA_ARRAY(a, const char *, FIRST), 0, FIRST};
    for (int i = 0; i < te->n_size; i++) add(x, te->size[i].name);
    for (int i = 0; i < te->n_tensor; i++) add(x, te->tensor[i].name);
    for (int i = 0; i < te->n_stmt; i++)
        for (int j = 0; j < te->stmt[i].n_index; j++) add(x, te->stmt[i].index[j].name);
    return x;
}

static bool is_taken(const Norm *n, const Te *in, const char *name) {
    bool taken = n->names ? *slot_of(n->names, name) != NULL : normalize_taken(n->te, name);
    return taken || (in && normalize_taken(in, name));
}

const char *normalize_name(Norm *n, const Te *in, const char *base, const char *what) {
    for (int i = 1;; i++) {
        const char *name = i == 1 ? arena_printf(n->a, "%.40s_%s", base, what)
                                  : arena_printf(n->a, "%.40s_%s%d", base, what, i);
        if (is_taken(n, in, name)) continue;
        if (n->names) add(n->names, name);
        return name;
    }
}
