/* Inside te: what recognising scans and spelling them share.  */
#ifndef ROLLER_TE_EDIT_SCAN_H
#define ROLLER_TE_EDIT_SCAN_H
#include "te/te.h"

/* Is it the literal that a reduction gives over nothing (of positions, that beats no value)?  */
bool scan_is_identity(TeRedop red, const TeExpr *e);
#endif
