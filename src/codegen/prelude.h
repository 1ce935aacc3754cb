/* The prelude: named device functions, the only text with inline PTX.
 *
 * Emitters just use the names; prelude_print finds those in a body and prints their definitions in
 * the form that fits the compute capability.  */
#ifndef ROLLER_CODEGEN_PRELUDE_H
#define ROLLER_CODEGEN_PRELUDE_H
#include "base/buf.h"
#include "hal/device.h"

/* One definition: name, first compute capability of this form, text.  Of several forms of a name
 * the last one that fits is printed.  Definitions come after those they use.  A row without a text
 * is a family: names that begin with its own, whose definitions are made of what they say.  */
typedef struct {
    const char *name;
    int cc;
    const char *text;
} PreludeRow;
/* In the order in which they are printed; each is the file of its name.  */
#define PRELUDE_TABLES(X) X(convert) X(arithmetic) X(async) X(matrix) X(hopper) X(pairs) \
    X(store) X(wgmma)
#define X(name) extern const PreludeRow prelude_##name[]; extern const int prelude_##name##_rows;
PRELUDE_TABLES(X)
#undef X
enum { PRELUDE_TEXT = 6144 };
typedef struct {
    char text[PRELUDE_TEXT];
    size_t len;
    int cc;
} PreludeText;
#define PRELUDE_MMA "rl_mma_m"
#define PRELUDE_MADE "_made"
#define PRELUDE_WGMMA "rl_wgmma_m"
unsigned prelude_high(int span);          /* of descriptors, with rows of so many bytes */
/* The definition of a name of the family; false: it has no such name.  */
typedef bool PreludeMake(const char *name, size_t len, PreludeText *out);
PreludeMake prelude_make_mma, prelude_make_wgmma;

/* prelude_product.c: products of matrix units.  How the function (prelude_operand) and the
 * instruction name the types, and what registers of operands and sums are in C++.  */
const char *prelude_operand(const ComputeUnit *u);
const char *prelude_op_operand(const ComputeUnit *u);
const char *prelude_op_sums(const ComputeUnit *u);
const char *prelude_register(TeDtype type);       /* an operand of 32 bits or less: TE_U8 */
const char *prelude_constraint(TeDtype type);
/* The name of a product of mma.sync; `orders`: of its operands (prelude_matrix.c), "" where there
 * is one.  */
const char *prelude_mma_name(Arena *a, const ComputeUnit *u, const char *orders);
/* Reads STEM (which ends in m) MnNkK_TYPE_ACC: shape and types of the unit, and what stands behind;
 * NULL: no such name.  */
const char *prelude_read_product(const char *name, size_t len, const char *stem, ComputeUnit *u);
void prelude_put(PreludeText *t, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Definitions of every rl_ name in `body` and what they need themselves, in order of the table.
 * Returns the first name that is not in the table, NULL if all are.  *least: the first compute
 * capability that has all that is printed.  */
const char *prelude_print(Arena *a, const char *body, int cc, int *least, Buf *out);
/* Length of the prelude definition that `text` begins with, 0 if none.  */
size_t prelude_match(const char *text, size_t len);
bool prelude_has(const char *name, size_t len);
#endif
