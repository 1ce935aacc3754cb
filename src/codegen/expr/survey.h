/* Expressions, inside: survey (expr.c) finds equal subexpressions, what each integer can be and
 * what gets a name; expr_value.c makes the typed value of it.  */
#ifndef ROLLER_CODEGEN_EXPR_SURVEY_H
#define ROLLER_CODEGEN_EXPR_SURVEY_H
#include "codegen/expr/expr.h"

/* One distinct value; equal subexpressions share it.  */
typedef struct {
    const TeExpr *e;
    int *child;               /* values: arguments, then the else value */
    int n_child;
    Ir value;                 /* given, or the name it was defined by; NULL: it stands in place */
    int uses, height;         /* height: levels of unnamed nodes below */
    bool always;              /* evaluated whenever the whole is: no condition decides */
    int64_t lo, hi;           /* integers: every value lies between */
    bool wraps;               /* integer arithmetic that may leave its type */
    bool narrow;              /* i64 whose value has type int */
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
    bool force;               /* making what a condition may have kept from being evaluated */
    bool whole;               /* the conditions of the statement are all there */
} Survey;

/* The element of a read in the read's type: with an else value that may be wider than its tensor's.
 */
Ir survey_read(const Survey *s, const TeExpr *read, Ir element);
/* Is the place of a read tested where it is made?  */
bool survey_tests(const Survey *s, const TeExpr *read);
/* A subscript, without the constant that it adds to *by (cg_tested).  */
Ir survey_subscript(Survey *s, int id, int64_t *by);
void survey(Survey *s, const CgPoint *at, const TeExpr *e, int *root);
/* Fills lo, hi, wraps, narrow from the children's.  */
void value_range(const Survey *s, Value *v);
/* A value in its own type (i64: int if narrow).  */
Ir value_of(Survey *s, int id);
/* The same as type `to`.  */
Ir value_as(Survey *s, int id, TeDtype to);
IrBase value_type(const Value *v);
#endif
