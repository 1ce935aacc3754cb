/* UTF-8, byte by byte.  */
#ifndef ROLLER_BASE_UTF8_H
#define ROLLER_BASE_UTF8_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes of the sequence at `text`, of which `room` are there; 0 if it is none.  */
size_t utf8_length(const char *text, size_t room);
/* The code point of a sequence of n bytes.  */
uint32_t utf8_point(const char *text, size_t n);
/* Does a code point change how a terminal shows what is around it, or is it not to be seen: control
 * characters (of ASCII and C1), those of direction, separators of lines, marks of no width?  */
bool utf8_is_control(uint32_t point);
#endif
