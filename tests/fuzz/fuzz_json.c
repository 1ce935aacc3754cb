/* links: base */
/* Any text is refused or read; what is read is written and read back as the same tree.  */
#include "base/json.h"

#include <stdint.h>

#include <stdlib.h>

typedef struct {
    Arena *arena;
    const char *text;
    size_t len;
} Input;

static void one(void *user) {
    Input *in = user;
    Diag d = diag_new(in->arena);
    json_t *first, *second;
    if (json_read(in->arena, &d, ST_PROFILE, (DiagText){"f", in->text, in->len}, 1 << 20, &first)) {
        Buf b = buf_new(in->arena);
        if (d.errors != 1 || diag_first_error(&d)->status != ST_PROFILE) abort();
        diag_render(&d.messages[0], "fuzz", true, &b);
        return;
    }
    for (int indent = 0; indent < 3; indent += 2) {
        Buf b = buf_new(in->arena);
        json_write(first, indent, &b);
        if (json_read(in->arena, &d, ST_PROFILE, (DiagText){"f", b.text, b.len}, SIZE_MAX,
                      &second)) abort();
        if (!json_equal(first, second)) abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    Input in = {arena_create(NULL), (const char *)data, size};
    if (!arena_try(in.arena, one, &in)) abort();
    arena_destroy(in.arena);
    return 0;
}
