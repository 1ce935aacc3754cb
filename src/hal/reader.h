/* Reading and checking a profile, shared by the files that do it.  Internal to src/hal.  */
#ifndef ROLLER_HAL_READER_H
#define ROLLER_HAL_READER_H
#include "hal/fields.h"
#include "hal/located.h"

typedef struct {
    Arena *arena;
    Diag *diag;
    const char *file, *text;
    size_t len;
} Reader;

/* The hint where a whole part is missing.  */
#define READER_COPY "copy it from the profile of the nearest GPU, and change its figures"

/* Reports a fault of `n` by its path; reading goes on, so that all are reported at once.  */
void reader_fault(Reader *r, const Node *n, const char *tag, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
/* Whether `n` is of the kind; else a fault.  */
bool reader_object(Reader *r, const Node *n);
bool reader_array(Reader *r, const Node *n, int max);
/* Reports the members of `object` that are neither fields of `t` (may be NULL) nor in `also`, which
 * ends with NULL.  */
void reader_known(Reader *r, const Node *object, const FieldTable *t, const char *const *also);
/* A member that must be there; NULL, a fault and the hint if it is not.  */
const Node *reader_need(Reader *r, const Node *object, const char *key, const char *hint);

/* Texts are copied to the arena; NULL after a fault.  */
const char *reader_text(Reader *r, const Node *n, size_t min, size_t max);
const char *reader_date(Reader *r, const Node *n);         /* YYYY-MM-DD */
bool reader_number(Reader *r, const Node *n, double min, double max, double *out);
bool reader_whole(Reader *r, const Node *n, double min, double max, int *out);
/* The index of a text in a list of names; -1 after a fault.  */
int reader_choice(Reader *r, const Node *n, const char *const *names, int count);
/* The same of a member that must be there.  */
int reader_need_choice(Reader *r, const Node *object, const char *key, const char *const *names,
                       int count);
/* Fills the fields of a struct from the members of an object.  A faulty figure stays absent.  */
void reader_fields(Reader *r, const Node *object, const FieldTable *t, const char *const *also,
                   void *base);
void reader_figure(Reader *r, const Node *n, const Field *f, Figure *out);
/* What a field holds and how it is written, for hints.  */
const char *reader_about(Reader *r, const Field *f);
/* A curve; its kind is looked up among the level's, or is the member's.  */
void reader_curve(Reader *r, const Node *n, LevelId level, const CurveKind *kind, Curve *out);

/* The rules that tie several fields together.  */
void reader_check(Reader *r, const Node *root, const Device *dev);
#endif
