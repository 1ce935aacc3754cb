/* Helpers over jansson.  A tree read here is released with its arena.  */
#ifndef ROLLER_BASE_JSON_H
#define ROLLER_BASE_JSON_H
#include "base/diag.h"
#include <jansson.h>

/* Parses strict JSON (no duplicate keys, nesting and size as given).  Errors get `status` and the
 * line and column in `file`.  */
Status json_read(Arena *a, Diag *d, Status status, const char *file, const char *text, size_t len,
                 size_t max_len, json_t **out);
/* Appends v as JSON to `out`; keys in order of insertion; `indent` spaces, 0 for one line.
 * Reals use the shortest text that reads back.  */
void json_write(const json_t *v, int indent, Buf *out);
void json_write_string(const char *s, Buf *out);
#endif
