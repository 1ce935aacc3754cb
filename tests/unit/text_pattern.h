/* Pieces of text in which ~1 to ~9 stand for names, whatever they are: the same number for the same
 * name.  So tests that change kernels do not ask what a variable is called.  */
#ifndef TESTS_TEXT_PATTERN_H
#define TESTS_TEXT_PATTERN_H
#include "base/buf.h"

#include <stdbool.h>

/* Does `text` begin with the pattern?  */
bool pattern_begins(const char *text, const char *pattern);
/* The text with the first piece that is as `from` replaced by `to`, in which names stand for what
 * they were there.  NULL: there is no such piece.  */
char *pattern_replaced(Arena *a, const char *text, const char *from, const char *to);
#endif
