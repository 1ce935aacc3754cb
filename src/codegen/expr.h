/* Expressions, inside: survey (expr.c) finds equal subexpressions, what each integer can be and
 * what gets a name; printing (expr_print.c) turns a surveyed value into text.  */
#ifndef ROLLER_CODEGEN_EXPR_H
#define ROLLER_CODEGEN_EXPR_H
#include "codegen/cg.h"

/* One distinct value; equal subexpressions share it.  */
typedef struct {
    const TeExpr *e;
    int *child;               /* values: arguments, then the else value */
    int n_child;
    const char *text;         /* given, or the name it was printed under; NULL: print it in place */
    int uses, height;         /* height: levels of unnamed nodes below */
    bool always;              /* evaluated whenever the whole is: no condition decides */
    int64_t lo, hi;           /* integers: every value lies between */
    bool wraps;               /* integer arithmetic that may leave its type */
    bool narrow;              /* i64 whose text has type int */
} Value;

typedef struct {
    const CgPoint *at;
    Cg *cg;
    Value *value;
    int n_value;
    size_t cap_value;
    const TeExpr **key;       /* nodes seen ... */
    int *id;                  /* ... and their values: an open hash table */
    size_t slots, filled;
    int *bucket;              /* values by structure: another, of slots entries */
    bool force;               /* printing what a condition may have kept from being evaluated */
    bool whole;               /* the conditions of the statement are all there */
} Survey;

/* The element of a read in the read's type: with an else value that may be wider than its tensor's.
 */
const char *survey_read(const Survey *s, const TeExpr *read, const char *element);
/* Is the place of a read tested where it is printed?  */
bool survey_tests(const Survey *s, const TeExpr *read);
/* The text of a subscript that is, without the constant that it adds to *by (cg_tested).  */
const char *survey_subscript(Survey *s, int id, int64_t *by);
void survey(Survey *s, const CgPoint *at, const TeExpr *e, int *root);
/* Fills lo, hi, wraps, narrow from the children's.  */
void value_range(const Survey *s, Value *v);
/* The text of a value in its own type (i64: int if narrow).  */
const char *value_text(Survey *s, int id);
/* The same as type `to`.  */
const char *value_as(Survey *s, int id, TeDtype to);
const char *value_type(const Value *v);
#endif
