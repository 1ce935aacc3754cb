/* Comma-separated values (RFC 4180): a field in quotes may hold commas, line ends, and quotes that
 * are doubled.  Lines that are empty or begin with # are no records.  */
#ifndef ROLLER_BASE_CSV_H
#define ROLLER_BASE_CSV_H
#include "base/diag.h"

typedef struct {
    const char *text;         /* without its quotes and the blanks around it */
    size_t at;                /* where it begins in the file */
} CsvField;

typedef struct {
    DiagText text;
    size_t pos;               /* 0 at first */
} CsvReader;

/* The next record: *n fields on `a`, 0 at the end of the text.  ST_ARGS with the place of a quote
 * that nothing closes, or of what stands behind one.  */
Status csv_next(Arena *a, Diag *d, CsvReader *r, CsvField **field, int *n);
#endif
