/* What the printers of values, of statements and of a machine's acts share.  */
#ifndef ROLLER_CODEGEN_IR_PRINT_H
#define ROLLER_CODEGEN_IR_PRINT_H

#include "codegen/ir.h"
#include "codegen/cg.h"

typedef struct {
    Arena *arena;
    HalLanguage language;
    Buf *out;
    int depth;
    int texts;                /* statements and values that blocks print themselves */
    WordSet *defined;           /* names that have been defined */
} Printer;

/* ---- ir_print_values.c ---- */

/* `+`, as in `a + b` and `a += b`.  */
const char *ir_sign(IrOp op);
void ir_put_indent(Printer *p);
/* What the language calls a function or a variable that has this name in CUDA C++.  */
const char *ir_spelled(const Printer *p, const char *name);
/* What a name that is defined here is called from now on.  */
const char *ir_defined(const Printer *p, const IrName *name);
/* Writes `const float *`, with the blank or star that a name follows.  */
void ir_put_type(Printer *p, IrType t);
/* Writes x, in parentheses where it binds less than `binds`; 0: as it is.  */
void ir_put(Printer *p, Ir x, int binds);
/* Writes `to op= value`.  */
void ir_put_set(Printer *p, Ir to, IrOp op, Ir value);

/* ---- ir_print_acts.c ---- */

/* Writes a statement that hardware has an instruction for.  */
void ir_put_act(Printer *p, const IrStmt *s);

#endif
