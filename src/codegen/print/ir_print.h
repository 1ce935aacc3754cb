/* The printer of statements and values, and inside of it: what the printers of values, of
 * statements and of a machine's acts share.  */
#ifndef ROLLER_CODEGEN_PRINT_IR_PRINT_H
#define ROLLER_CODEGEN_PRINT_IR_PRINT_H

#include "codegen/ir/cg.h"

/* ---- names.c ---- */

/* Makes the texts of a kernel's names: of its parameters, and of what its body defines.  NULL, or
 * the word of one that is used where it is not defined.  */
const char *ir_make_names(const Cg *c, const Ir *parameter, int n, const IrStmt *first);

/* ---- ir_print.c, ir_print_values.c ---- */

/* The statements at `first` and behind it, so many levels deep.  */
void ir_print(const Cg *c, const IrStmt *first, int depth, Buf *out);
/* The declarations of a kernel's parameters.  */
void ir_print_parameters(const Cg *c, const KernelParam *p, const Ir *name, int n, Buf *out);
/* A value as a text that may stand anywhere: in parentheses if it is not a single thing.  */
const char *ir_string(const Cg *c, Ir x);

/* ---- inside ---- */

typedef struct {
    Arena *arena;
    HalLanguage language;
    Buf *out;
    int depth;
} Printer;

/* ---- ir_print_values.c ---- */

/* `+`, as in `a + b` and `a += b`.  */
const char *ir_sign(IrOp op);
void ir_put_indent(Printer *p);
/* What the language calls a function or a variable that has this name in CUDA C++.  */
const char *ir_spelled(const Printer *p, const char *name);
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
