/* Wire: values as bytes between two processes of one machine and one build.
 *
 * A number takes 8 bytes.  A text and a run of bytes have their length before them and lie as they
 * are; a text ends with a NUL, and NULL is told from "".  A reader trusts nothing: what is
 * truncated, too long or no text makes it `bad`, and from then on everything reads as zero, empty
 * or NULL.  */
#ifndef ROLLER_BASE_WIRE_H
#define ROLLER_BASE_WIRE_H
#include "base/buf.h"

#include <stdbool.h>
#include <stdint.h>

void wire_int(Buf *b, int64_t v);
void wire_real(Buf *b, double v);
void wire_text(Buf *b, const char *s);
void wire_bytes(Buf *b, const void *data, size_t len);

typedef struct {
    const char *at;
    size_t left;
    bool bad;
} WireReader;

WireReader wire_reader(const void *data, size_t len);
int64_t wire_read_int(WireReader *r);
/* One of least..most, else the reader is bad and it is `least`.  */
int64_t wire_read_within(WireReader *r, int64_t least, int64_t most);
bool wire_read_bool(WireReader *r);
double wire_read_real(WireReader *r);
/* Both point into what is read; bytes are NULL where there are none.  */
const char *wire_read_text(WireReader *r);
const void *wire_read_bytes(WireReader *r, size_t *len);
/* Was all of it read, and good?  */
bool wire_read_all(const WireReader *r);
#endif
