/* Values as texts, for the building blocks that still print their own lines (cg_line).  Each such
 * block becomes statements and values; when the last one has, this file goes.  */
#ifndef ROLLER_CODEGEN_EXPR_TEXTS_H
#define ROLLER_CODEGEN_EXPR_TEXTS_H
#include "codegen/expr/expr.h"
#include "codegen/print/ir_print.h"

const char *cg_storage(TeDtype t);        /* type of an element in memory */
/* A text as an int, as a long long.  */
Ir text_index(const Cg *c, const char *text, bool wide);
Ir text_value(const Cg *c, TeDtype compute, const char *text);
const char *text_decode(const Cg *c, TeDtype storage, const char *element);
const char *text_wait(const Cg *c, TeDtype storage, bool pairs, TeDtype from, const char *value);
const char *text_waiting(TeDtype storage, bool pairs);
const char *text_int(const Cg *c, TeDtype type, int64_t v);
const char *text_expr(const CgPoint *p, const TeExpr *e, TeDtype to);
const char *text_extent(const Cg *c, const TeExtent *e);
const char *text_offset(const Cg *c, int tensor, const char *const *sub);
const char *text_tested(const CgPoint *p, const TeExpr *read, int d, int64_t *by);
const char *text_pointer(const Cg *c, int tensor, const char *offset, const int64_t *by);
#endif
