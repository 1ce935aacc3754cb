/* Helpers over jansson.  A tree read here is released with its arena.  */
#ifndef ROLLER_BASE_JSON_H
#define ROLLER_BASE_JSON_H
#include "base/diag.h"
#include <jansson.h>
#include <stdint.h>

/* Parses strict JSON (no duplicate keys, nesting and size as given).  Errors get `status` and the
 * line and column in `file`.  */
Status json_read(Arena *a, Diag *d, Status status, DiagText text, size_t max_len, json_t **out);
/* Appends v as JSON to `out`; keys in order of insertion; `indent` spaces, 0 for one line.
 * Reals use the shortest text that reads back.  */
void json_write(const json_t *v, int indent, Buf *out);
void json_write_string(const char *s, Buf *out);

/* Building a tree: what finds no memory unwinds as any other allocation.  An object that is
 * released with the arena; a value, itself; an object's member and a list's last, both given back;
 * a string, null for NULL; a list of three numbers.  */
json_t *json_tree(Arena *a);
json_t *json_new(Arena *a, json_t *v);
json_t *json_set(Arena *a, json_t *object, const char *key, json_t *v);
json_t *json_push(Arena *a, json_t *array, json_t *v);
json_t *json_text(const char *s);
json_t *json_triple(Arena *a, int64_t x, int64_t y, int64_t z);
#endif
