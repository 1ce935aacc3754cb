/* JSON with places: jansson keeps no position of a value, so the text is walked once more beside
 * the tree.  Internal to src/hal.  */
#ifndef ROLLER_HAL_LOCATED_H
#define ROLLER_HAL_LOCATED_H
#include "base/json.h"

enum { LOCATED_MAX_DEPTH = 64, LOCATED_MAX_BYTES = 4 << 20 };

typedef struct Node Node;
struct Node {
    const json_t *json;
    const Node *parent;       /* NULL: the root */
    const char *key;          /* member of an object; NULL: element of an array or the root */
    int index;                /* among its siblings */
    size_t pos, key_pos;      /* byte offsets */
    Node *child;              /* members or elements, in the order of the text */
    int n_child;
};

/* Parses strict JSON of bounded size and depth; an error has `status`.  The tree lives on the arena
 * and does not point into the text.  */
Status located_read(Arena *a, Diag *d, Status status, DiagText text, Node **out);
const Node *located_member(const Node *object, const char *key);      /* NULL if absent */
/* "limits.sm_count", "units[3].rate"; "" for the root.  */
const char *located_path(Arena *a, const Node *n);
#endif
