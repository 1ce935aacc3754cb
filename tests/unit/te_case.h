/* Files of tests/cases and tests/errors: an expression, then blocks `#$ OPTIONS` with the lines
 * `#| ...` that they should print.  */
#ifndef TESTS_TE_CASE_H
#define TESTS_TE_CASE_H
#include "te/te.h"

enum { CASE_DEFINES = 16, CASE_BLOCKS = 16 };

typedef struct {
    const char *options;
    const char *want;         /* without the marks */
    const char *op;           /* --op, or NULL */
    const char *dump;         /* --dump, or NULL */
    TeDefine define[CASE_DEFINES];
    int n_define;
    bool plain;               /* no other option */
} CaseBlock;

typedef struct {
    const char *path, *name;  /* name: the last part */
    char *text;               /* the whole file */
    size_t len;
    CaseBlock block[CASE_BLOCKS];
    int n_block;
} Case;

/* Reads every *.te of the folder in alphabetical order and calls fn; returns their number.  */
int case_each(const char *folder, void (*fn)(Arena *a, const Case *c));
/* What is kept of a Diag, as roller-gen shows it.  */
void case_messages(const Diag *d, Buf *out);

/* Names the first difference between two ops but for places in the text; NULL if there is none.  */
const char *te_difference(const Te *x, const Te *y);
#endif
