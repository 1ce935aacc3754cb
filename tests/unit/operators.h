/* The operators of the workload sets and of docs/te.md at small, odd sizes: which element types
 * each takes and which skeletons it must have a program of.  */
#ifndef TESTS_OPERATORS_H
#define TESTS_OPERATORS_H
#include "base/buf.h"
#include "te/te.h"

/* Skeletons; of `contract` the units of a thread, packed products and matrices each stand for
 * themselves.  */
#define OPERATOR_FORMS(X)                                                                          \
    X(CONTRACT, "contract") X(PACKED, "packed") X(MATRIX, "matrix") X(STREAM, "stream")            \
    X(ROW, "row") X(COLUMN, "column") X(WINDOW, "window") X(PERMUTE, "permute") X(SCAN, "scan")
typedef enum {
#define X(id, name) FORM_##id,
    OPERATOR_FORMS(X)
#undef X
        FORM_COUNT
} Form;
extern const char *const form_name[FORM_COUNT];

typedef struct {
    const char *name;         /* of a workload operator, up to a space */
    const char *text;         /* its parameters, "KEY=VALUE;..."; or "op ...", in which $T is the
                               * element type and $S the type that its sums are stored in */
    unsigned types;           /* bit TeDtype: those that are legal */
    unsigned forms;           /* bit Form: expected for each of them, PACKED and MATRIX only where a
                               * unit takes the type */
} Operator;
extern const Operator operators[];
extern const int n_operators;

/* A text with $T and $S filled in.  */
const char *operator_fill(Arena *a, const char *text, TeDtype t);
/* The expression with elements of type t.  */
const char *operator_te(Arena *a, const Operator *o, TeDtype t);
/* Bit Form: those that the operator must have for elements of type t on some device.  */
unsigned operator_forms(const Operator *o, TeDtype t);
#endif
