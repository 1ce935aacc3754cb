/* Inside te_normalize: rules that give one form to what can be spelled in several ways.  Each says
 * whether it changed anything; they are applied until none does.  */
#ifndef ROLLER_TE_CANON_CANON_H
#define ROLLER_TE_CANON_CANON_H
#include "te/edit/edit.h"

/* Gives one form to what can be spelled in several ways.  */
void normalize_canon(Norm *n);
/* Expressions: casts and signs that change nothing, powers that are products, subscripts that are
 * sums, reads and conditions that ranges decide.  */
bool canon_spelling(Norm *n);
bool canon_spell(Norm *n, int stmt);                       /* of one statement */
/* The d > 1 of a quotient or remainder by d; 0: e is none.  */
int64_t canon_divisor(const Te *te, const TeStmt *s, const TeExpr *e);
/* Temporaries that show others in another order or shape are read through.  */
bool canon_views(Norm *n);
/* Reductions that run to their own place are spelled as access_scan knows them.  */
bool canon_scan(Norm *n);
/* Scans that are read one place behind are exclusive.  */
bool canon_exclusive_scan(Norm *n);
/* What only copies into an output is assigned there.  */
bool canon_copies(Norm *n);
/* Dimensions and indices of extent 1 are left out.  */
bool canon_degenerate_axes(Norm *n);
/* Two indices of a sum that are read as the digits of one become that one.  */
bool canon_join_axes(Norm *n);
/* An index whose quotient and remainder by a number are subscripts becomes two.  */
bool canon_cut_axes(Norm *n);
#endif
