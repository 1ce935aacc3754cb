/* links: base */
/* Decimal texts: what is read is what strtod reads, and comes back when printed.  */
#include "base/buf.h"
#include "base/numeric.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static void one(void *user) {
    Buf *text = user;
    double v, again;
    if (!num_real(text->text, text->len, &v)) return;
    if (v != strtod(text->text, NULL)) abort();
    Buf b = buf_new(text->arena);
    buf_real(&b, v);
    if (isinf(v) ? strcmp(b.text, "inf") != 0 : !num_real(b.text, b.len, &again) || again != v)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    Buf text = buf_new(arena_create(NULL));
    buf_add(&text, (const char *)data, size);
    if (!arena_try(text.arena, one, &text)) abort();
    arena_destroy(text.arena);
    return 0;
}
