/* links: te */
/* Any text is refused with an error or gives ops that pass te_check, print, and read back the
 * same.  */
#include "te/te.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    Arena *arena;
    const char *text;
    size_t len;
} Input;

static void laws(Arena *a, const Te *te) {
    Diag d = diag_new(a);
    Te *again;
    Buf first = buf_new(a), second = buf_new(a);
    if (te_check(te)) abort();
    te_print(te, &first);
    if (te_parse(a, &d, (DiagText){"printed", first.text, first.len}, NULL, NULL,
                 &again) != ST_OK) abort();
    te_print(again, &second);
    if (first.len != second.len || memcmp(first.text, second.text, first.len) != 0) abort();
    te_print_positional(te, &first);
}

static void one(void *user) {
    const Input *in = user;
    Diag d = diag_new(in->arena);
    Te **te;
    int n;
    Buf b = buf_new(in->arena);
    Status s = te_parse_all(in->arena, &d, (DiagText){"f", in->text, in->len}, NULL, &te, &n);
    if ((s == ST_OK) != (d.errors == 0)) abort();
    for (int i = 0; i < d.count; i++) diag_render(&d.messages[i], "fuzz", true, &b);
    for (int i = 0; s == ST_OK && i < n; i++) laws(in->arena, te[i]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    Input in = {arena_create(NULL), (const char *)data, size};
    if (!arena_try(in.arena, one, &in)) abort();
    arena_destroy(in.arena);
    return 0;
}
