/* Planted mistakes: every instruction of a name replaced in the PTX of a kernel.  */
#ifndef TESTS_PTX_EDIT_H
#define TESTS_PTX_EDIT_H
#include "base/buf.h"

/* Puts `with` in the place of all instructions called `op`, a part of the name up to a dot or its
 * end ("st.global" is "st.global.v2.f32", too).  In it $i is the instruction, $0 to $9 and $a to $z
 * are its operands, those of a vector each by itself.  *n: how many there were.  */
const char *ptx_edit(Arena *a, const char *ptx, const char *op, const char *with, int *n);
/* All places of a piece of text, likewise.  */
const char *ptx_replace(Arena *a, const char *ptx, const char *piece, const char *with, int *n);
#endif
