/* Pieces of text in which ~1 to ~9 stand for names, whatever they are, and #1 to #9 for numbers:
 * the same digit for the same one.  So tests that change kernels do not ask what a variable is
 * called.  */
#ifndef TESTS_TEXT_PATTERN_H
#define TESTS_TEXT_PATTERN_H
#include "base/buf.h"

#include <stdbool.h>

/* What names and numbers of a pattern have been met as.  */
typedef struct {
    const char *at;           /* NULL: not met yet */
    size_t len;
} PatternName;
enum { PATTERN_NAMES = 10 };
typedef struct {
    PatternName name[PATTERN_NAMES], number[PATTERN_NAMES];
} PatternKnown;

/* The end of the first piece behind `from` (in `text`, or at its beginning) that is as the pattern,
 * with what is known; its beginning in *begin.  NULL: there is none.  */
const char *pattern_find(const char *text, const char *from, const char *pattern,
                         PatternKnown *known, const char **begin);
/* Adds what a pattern says, with what is known.  */
void pattern_put(Buf *out, const char *pattern, const PatternKnown *known);
/* Does `text` begin with the pattern?  */
bool pattern_begins(const char *text, const char *pattern);
/* The text with the first piece that is as `from` replaced by `to`, in which names stand for what
 * they were there.  NULL: there is no such piece.  */
char *pattern_replaced(Arena *a, const char *text, const char *from, const char *to);
#endif
