#include "base/status.h"

static const struct {
    const char *name, *text;
    int exit;
} table[] = {
#define X(name, code, text) {#name, text, code},
    STATUS_LIST(X)
#undef X
};
_Static_assert(sizeof table / sizeof *table == ST_COUNT, "one row per status");

static int row(Status s) { return s >= 0 && s < ST_COUNT ? (int)s : (int)ST_INTERNAL; }

const char *status_name(Status s) { return table[row(s)].name; }
const char *status_text(Status s) { return table[row(s)].text; }
int status_exit(Status s) { return table[row(s)].exit; }
