/* Diagnostics: what is wrong, where, and what to do about it.
 *
 * Stages report into a Diag and return a status; they never print.  The first error decides the
 * status.  Up to DIAG_MAX messages are kept, the first error always.  Rendering (caret form) is
 * separate, for the tools.  */
#ifndef ROLLER_BASE_DIAG_H
#define ROLLER_BASE_DIAG_H
#include "base/buf.h"
#include "base/status.h"
#include <string.h>

enum { DIAG_MAX = 20 };
typedef enum { DIAG_ERROR, DIAG_WARNING } DiagKind;

/* The code of a call that failed in a library that is not ours; number 0: none.  */
typedef enum { DIAG_CUDA, DIAG_NVRTC } DiagLibrary;
typedef struct {
    DiagLibrary of;
    int number;
    const char *name;         /* "CUDA_ERROR_INVALID_VALUE" */
} DiagCode;

typedef struct {
    DiagKind kind;
    Status status;
    const char *tag;          /* "syntax", "bounds", ...; NULL if none */
    const char *file;         /* NULL: no place */
    int line, column;         /* from 1; columns count bytes; 0: no place */
    const char *source_line;  /* the line of text at the place, or NULL */
    const char *message;
    const char *hint;         /* NULL if none */
    DiagCode code;            /* what a foreign library returned */
} DiagMessage;

typedef struct {
    Arena *arena;
    DiagMessage messages[DIAG_MAX];
    int count, errors, dropped;
    int newest;               /* index of the message added last; -1: it was dropped */
} Diag;

/* A place in a text; `pos` is a byte offset.  Line and column are computed when something is
 * reported.  A NULL text means "no place".  */
typedef struct {
    const char *file, *text;
    size_t len, pos;
} DiagPlace;

/* A text to read, and the file's name in messages.  */
typedef struct {
    const char *file, *text;
    size_t len;
} DiagText;
static inline DiagText diag_text(const char *file, const char *text) {
    return (DiagText){file, text, strlen(text)};
}
static inline DiagPlace diag_place(DiagText t, size_t pos) {
    return (DiagPlace){t.file, t.text, t.len, pos};
}

Diag diag_new(Arena *a);
/* Adds an error and returns `status`, so that `return diag_error(...)` reads well.  */
Status diag_error(Diag *d, Status status, const char *tag, DiagPlace at, const char *fmt, ...)
    __attribute__((format(printf, 5, 6)));
void diag_warning(Diag *d, const char *tag, DiagPlace at, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
/* Attaches a hint to the message added last, if that was kept.  */
void diag_hint(Diag *d, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* The same with a code.  */
void diag_code(Diag *d, DiagLibrary of, int number, const char *name);
/* Adds what another has, on the same arena.  */
void diag_append(Diag *d, const Diag *from);
/* Adds an error of another arena, without its place; returns its status.  */
Status diag_repeat(Diag *d, const DiagMessage *m);
const DiagMessage *diag_first_error(const Diag *d);        /* NULL if none */
/* FILE:LINE:COL: error: TEXT [tag], source line, caret, hint.  `program` names the tool where a
 * message has no place.  Long source lines are shortened around the caret; what a terminal would
 * act on (control characters, those of direction, bytes that are no UTF-8) is shown by number.  */
void diag_render(const DiagMessage *m, const char *program, bool color, Buf *out);
#define DIAG_NOWHERE ((DiagPlace){0})
#endif
