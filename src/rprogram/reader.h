/* Reads a plan text: one line, one key; words are separated by blanks, `#` begins a comment.  The
 * first error is reported with its place.  Inside rprogram.  */
#ifndef ROLLER_RPROGRAM_READER_H
#define ROLLER_RPROGRAM_READER_H
#include "rprogram/skeleton.h"

typedef struct {
    const char *text;
    size_t len, pos;          /* pos: byte offset in the file */
} Word;

typedef struct {
    Arena *arena;
    Diag *diag;
    DiagPlace at;             /* the whole text; pos is where reading goes on */
    const Device *dev;
    RPlan *first, *plan;      /* of the list of strategies; the one being read */
    int strategy;             /* its number */
    RSelector *select;
    TeSized sized;            /* of its op */
    int kernel;               /* the section being read; -1 before the first */
    size_t kernel_pos;
    uint32_t seen;            /* bit i: key i of the section was read */
} Reader;

/* ST_PLAN_TEXT at byte `pos`; `message` has one %.*s, for the word.  The hint says what a plan is;
 * a later diag_hint takes its place.  */
Status reader_fail(Reader *r, size_t pos, const char *message, Word w);
/* The next word of the line; length 0 at its end.  */
Word reader_word(DiagPlace *at);
bool reader_is(Word w, const char *s);
/* Is it that name, or what earlier texts called it?  */
bool reader_means(Word w, const char *name);
Status reader_int(Reader *r, int64_t lo, int64_t hi, int64_t *out);
/* One of n names; its position goes to *out.  */
Status reader_name(Reader *r, const char *const *names, int n, int *out);
/* The hint that one of n names is wanted.  */
void reader_hint(Reader *r, const char *const *names, int n);
/* What stands behind `split` and `statement`.  The decisions are those the plan's op has.  */
Status reader_decisions(Reader *r, Word head);
Status reader_statement(Reader *r);
Status reader_given(Reader *r, Word head);
/* Behind `upto`, or (last) `else`: a choice.  Behind the last one, and for each kernel before it is
 * read: its problem at the sizes for which it is taken.  At the end of a strategy: are all kernels
 * there that are taken?  */
Status reader_taken_upto(Reader *r, bool last);
Status reader_choices_end(Reader *r, size_t pos);
Status reader_program(Reader *r, int number, size_t pos);
Status reader_taken(Reader *r, size_t pos);
/* What stands behind a key of the section at hand.  */
Status reader_value(Reader *r, PlanKey key, RProg *x);
#endif
