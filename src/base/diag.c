#include "base/diag.h"

#include <string.h>

Diag diag_new(Arena *a) { return (Diag){.arena = a}; }

const DiagMessage *diag_first_error(const Diag *d) {
    for (int i = 0; i < d->count; i++)
        if (d->messages[i].kind == DIAG_ERROR) return &d->messages[i];
    return NULL;
}

/* The index of a new message, -1 when it is to be dropped.  The first error is always kept: it
 * takes the place of the last warning.  */
static int slot(Diag *d, DiagKind kind) {
    if (d->count < DIAG_MAX) return d->count++;
    d->dropped++;
    return kind == DIAG_WARNING || d->errors ? -1 : DIAG_MAX - 1;
}

static void locate(Arena *a, DiagMessage *m, DiagPlace at) {
    m->file = at.file ? arena_strdup(a, at.file) : NULL;
    if (!at.text) return;
    size_t pos = at.pos < at.len ? at.pos : at.len, begin = 0, end = pos;
    m->line = 1;
    for (size_t i = 0; i < pos; i++) {
        if (at.text[i] != '\n') continue;
        m->line++;
        begin = i + 1;
    }
    while (end < at.len && at.text[end] != '\n') end++;
    m->column = (int)(pos - begin) + 1;
    m->source_line = arena_strndup(a, at.text + begin, end - begin);
}

static void add(Diag *d, DiagMessage m, DiagPlace at, const char *fmt, va_list ap) {
    d->newest = slot(d, m.kind);
    d->errors += m.kind == DIAG_ERROR;
    if (d->newest < 0) return;
    /* Complete before an allocation can unwind.  */
    DiagMessage *to = &d->messages[d->newest];
    *to = m;
    to->message = status_text(m.status);
    locate(d->arena, to, at);
    to->message = arena_vprintf(d->arena, fmt, ap);
}

Status diag_error(Diag *d, Status status, const char *tag, DiagPlace at, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    add(d, (DiagMessage){.kind = DIAG_ERROR, .status = status, .tag = tag}, at, fmt, ap);
    va_end(ap);
    return status;
}

void diag_warning(Diag *d, const char *tag, DiagPlace at, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    add(d, (DiagMessage){.kind = DIAG_WARNING, .status = ST_OK, .tag = tag}, at, fmt, ap);
    va_end(ap);
}

void diag_append(Diag *d, const Diag *from) {
    for (int i = 0; i < from->count; i++) {
        d->newest = slot(d, from->messages[i].kind);
        d->errors += from->messages[i].kind == DIAG_ERROR;
        if (d->newest >= 0) d->messages[d->newest] = from->messages[i];
    }
}

void diag_hint(Diag *d, const char *fmt, ...) {
    if (d->count == 0 || d->newest < 0) return;
    va_list ap;
    va_start(ap, fmt);
    d->messages[d->newest].hint = arena_vprintf(d->arena, fmt, ap);
    va_end(ap);
}

void diag_code(Diag *d, DiagLibrary of, int number, const char *name) {
    if (d->count == 0 || d->newest < 0) return;
    d->messages[d->newest].code = (DiagCode){of, number, arena_strdup(d->arena, name)};
}

Status diag_repeat(Diag *d, const DiagMessage *m) {
    const char *tag = m->tag ? arena_strdup(d->arena, m->tag) : NULL;
    diag_error(d, m->status, tag, DIAG_NOWHERE, "%s", m->message);
    if (m->hint) diag_hint(d, "%s", m->hint);
    if (m->code.name) diag_code(d, m->code.of, m->code.number, m->code.name);
    return m->status;
}
