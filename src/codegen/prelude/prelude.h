/* The prelude: named device functions, a table for each language; the only text with inline PTX.
 *
 * Emitters just use the names; prelude_print finds those in a body and prints their definitions in
 * the form that fits the device.  */
#ifndef ROLLER_CODEGEN_PRELUDE_PRELUDE_H
#define ROLLER_CODEGEN_PRELUDE_PRELUDE_H
#include "base/buf.h"
#include "hal/device.h"

enum { PRELUDE_TEXT = 6144 };
typedef struct {
    char text[PRELUDE_TEXT];
    size_t len;
    int cc;
} PreludeText;
/* The definition of a name of a family; false: it has no such name.  */
typedef bool PreludeMake(const char *name, size_t len, PreludeText *out);
/* One definition: name, first compute capability of this form, text.  Of several forms of a name
 * the last one that fits is printed.  Definitions come after those they use.  A row without a text
 * is a family: names that begin with its own, whose definitions are made of what they say.  */
typedef struct {
    const char *name;
    int cc;                   /* OpenCL C: 0, or PRELUDE_F64 where it computes in f64 */
    const char *text;
} PreludeRow;
enum { PRELUDE_F64 = 1 };
/* In the order in which they are printed; each is the file of its name.  */
#define PRELUDE_TABLES(X) X(CUDA, convert) X(CUDA, arithmetic) X(CUDA, async) X(CUDA, matrix) \
    X(CUDA, hopper) X(CUDA, pairs) X(CUDA, store) X(CUDA, wgmma) X(CUDA, tensor)              \
    X(OPENCL, opencl_convert) X(OPENCL, opencl) X(OPENCL, opencl_vectors)
#define X(language, name) \
    extern const PreludeRow prelude_##name[]; extern const int prelude_##name##_rows;
PRELUDE_TABLES(X)
#undef X
/* Families: what their names begin with, and who makes their definitions.  */
#define PRELUDE_MMA "rl_mma_m"
#define PRELUDE_MADE "_made"
#define PRELUDE_WGMMA "rl_wgmma_m"
#define PRELUDE_TENSOR "rl_tcgen05_m"
#define PRELUDE_TENSOR_LOAD "rl_tcgen05_load_n"
#define PRELUDE_TENSOR_SCALE "rl_tcgen05_scale_n"
#define PRELUDE_FAMILIES(X)                                                                        \
    X(PRELUDE_MMA, prelude_make_mma) X(PRELUDE_WGMMA, prelude_make_wgmma)                          \
    X(PRELUDE_TENSOR, prelude_make_tensor)                                                         \
    X(PRELUDE_TENSOR_LOAD, prelude_make_tensor_load)                                               \
    X(PRELUDE_TENSOR_SCALE, prelude_make_tensor_scale)                                             \
    X("rl_vec_", prelude_make_vector) X("rl_load_", prelude_make_load)                             \
    X("rl_store_", prelude_make_store)
#define X(stem, make) PreludeMake make;
PRELUDE_FAMILIES(X)
#undef X
/* Do products of warpgroups, or those of Tensor Memory, take operands of such a unit in either
 * order?  */
bool prelude_orders(const ComputeUnit *u, bool tensor);
/* The upper half of descriptors, with rows of so many bytes, of which the swizzle moves `atom`
 * together.  */
unsigned prelude_high(int span, int atom);

/* prelude_product.c: products of matrix units.  How the instruction names the types, and what
 * registers of operands and sums are in C++.  */
const char *prelude_op_operand(const ComputeUnit *u);
const char *prelude_op_second(const ComputeUnit *u);      /* of its operand b */
const char *prelude_op_scale(const ComputeUnit *u);
const char *prelude_op_sums(const ComputeUnit *u);
const char *prelude_register(TeDtype type);       /* an operand of 32 bits or less: TE_U8 */
const char *prelude_constraint(TeDtype type);
/* The name of a product of mma.sync; `orders`: of its operands (prelude_matrix.c), "" where there
 * is one.  */
/* Its types, as names of products have them: of a (where there are scales of both operands), of
 * sums, of scales.  */
const char *prelude_types(Arena *a, const ComputeUnit *u);
const char *prelude_mma_name(Arena *a, const ComputeUnit *u, const char *orders);
/* Reads STEM (which ends in m) MnNkK_TYPE_ACC: shape and types of the unit, and what stands behind;
 * NULL: no such name.  */
const char *prelude_read_product(const char *name, size_t len, const char *stem, ComputeUnit *u);
void prelude_put(PreludeText *t, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Definitions of every rl_ name in `body` and what they need themselves, in order of the table, in
 * the device's language.  Returns the first name that is not in the table, NULL if all are.
 * *least: the first compute capability that has all that is printed.  */
const char *prelude_print(Arena *a, const char *body, const Device *dev, int *least, Buf *out);
/* Length of the prelude definition that `text` begins with, 0 if none.  */
size_t prelude_match(HalLanguage language, const char *text, size_t len);
bool prelude_has(HalLanguage language, const char *name, size_t len);
#endif
