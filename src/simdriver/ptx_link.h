/* Linking PTX: several texts become one; private to src/simdriver.
 *
 * What one text declares .extern and another one defines is one thing afterwards, a .weak
 * definition gives way to another, and names that are a text's own stay apart.  Whatever is
 * declared and defined nowhere stays so, for whoever loads the result to judge.  */
#ifndef ROLLER_SIMDRIVER_PTX_LINK_H
#define ROLLER_SIMDRIVER_PTX_LINK_H
#include "base/arena.h"
#include "base/diag.h"

typedef struct {
    const char *name;         /* for messages */
    const char *text;
} PtxInput;
/* On the arena; ST_SIMULATOR with the first fault: a name that is defined twice, a text that is no
 * PTX.  */
Status ptx_link(Arena *a, Diag *d, const PtxInput *in, int n, const char **out);
#endif
