/* The prelude: named device functions, the only text with inline PTX.
 *
 * Emitters just use the names; prelude_print finds those in a body and prints their definitions in
 * the form that fits the compute capability.  */
#ifndef ROLLER_CODEGEN_PRELUDE_H
#define ROLLER_CODEGEN_PRELUDE_H
#include "base/buf.h"

/* One definition: name, first compute capability of this form, text.  Of several forms of a name
 * the last one that fits is printed.  Definitions come after those they use.  */
typedef struct {
    const char *name;
    int cc;
    const char *text;
} PreludeRow;
/* In the order in which they are printed; each is the file of its name.  */
#define PRELUDE_TABLES(X) X(convert) X(arithmetic) X(async) X(matrix) X(hopper) X(pairs) \
    X(store)
#define X(name) extern const PreludeRow prelude_##name[]; extern const int prelude_##name##_rows;
PRELUDE_TABLES(X)
#undef X
/* Definitions that are made of what their names say, those of products of warpgroups: the text, at
 * most PRELUDE_TEXT bytes, and its length; 0: no such name.  */
#define PRELUDE_PRODUCT "rl_wgmma_m64n"
enum { PRELUDE_NAME = 40, PRELUDE_TEXT = 6144 };
size_t prelude_product(const char *name, size_t len, char text[PRELUDE_TEXT]);

/* Definitions of every rl_ name in `body` and what they need themselves, in order of the table.
 * Returns the first name that is not in the table, NULL if all are.  *least: the first compute
 * capability that has all that is printed.  */
const char *prelude_print(Arena *a, const char *body, int cc, int *least, Buf *out);
/* Length of the prelude definition that `text` begins with, 0 if none.  */
size_t prelude_match(const char *text, size_t len);
bool prelude_has(const char *name, size_t len);
#endif
