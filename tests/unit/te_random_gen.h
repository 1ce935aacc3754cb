/* What the parts of the generator of random programs share: te_random_expr.c writes indices, reads
 * and expressions, te_random_product.c products with what follows them, te_random_image.c
 * convolutions, te_random_chain.c softmax between products, te_random_rows.c statistics and rows
 * that are read again, te_random.c statements and the file.  */
#ifndef TESTS_TE_RANDOM_GEN_H
#define TESTS_TE_RANDOM_GEN_H
#include "te_random.h"

enum {
    BASE_SIZES = 4,           /* then two made of these */
    SIZES = 6,
    NUMBERS = 16,             /* behind the sizes: numbers as they stand (gen_number) */
    MAX_TENSORS = 64,
    MAX_INPUTS = 7,
    MAX_STATEMENTS = 6, MAX_PRODUCTS = 3,
    MAX_AXES = 7,
    MAX_RANK = 4,
    ELEMENTS = 4096,          /* of a tensor that is assigned */
    WORK = 20000,             /* of the body of a statement */
    ELEMENTS_PRODUCTS = 20000, WORK_PRODUCTS = 2000000
};

typedef enum { REAL, INT, BOOLEAN, CLASSES } Class;
enum { DTYPES = 11 };
typedef enum { INPUT, SCALAR, TEMPORARY, OUTPUT } Role;

typedef struct {
    Role role;
    Class cls;
    uint32_t dtype;
    int rank;
    int dim[MAX_RANK];        /* sizes */
    int block[MAX_RANK];      /* > 1: as many neighbours along the dimension share an element */
    uint32_t strides;         /* 0: dense */
} Tensor;

typedef struct {
    int size, from;           /* runs over from:size */
    bool where;               /* needs its range told */
} Axis;

typedef struct {
    Choices *c;
    Buf out;
    RandomStyle style;
    RandomLimits limits;
    int64_t low[SIZES + NUMBERS], high[SIZES + NUMBERS];      /* values of sizes */
    Tensor tensor[MAX_TENSORS];
    int n_tensor, n_input;
    Axis axis[MAX_AXES];      /* of the statement */
    int n_axis;
    size_t begun;             /* its text is behind this */
    int scope[MAX_AXES], n_scope;         /* axes that may be named here */
    int64_t work;
    bool wide;                /* an f64 or i64 was read, or something else reduced */
} Gen;

static inline uint32_t below(Gen *g, uint32_t n) { return choices_below(g->c, n); }
static inline bool chance(Gen *g, uint32_t n) { return below(g, n) == n - 1; }
static inline int64_t gen_elements(const Gen *g) {
    return g->limits.products ? ELEMENTS_PRODUCTS : ELEMENTS;
}
static inline int64_t gen_work(const Gen *g) { return g->limits.products ? WORK_PRODUCTS : WORK; }
static inline void put(Gen *g, const char *s) { buf_puts(&g->out, s); }

bool gen_noise(const Gen *g, uint64_t kind, uint64_t n);
void gen_space(Gen *g);
void gen_name(Gen *g, char kind, int i, const char *part);
const char *gen_dtype(const Gen *g, Class cls, uint32_t pick);
/* Takes back what was written since `from`.  */
const char *gen_cut(Gen *g, size_t from);
bool gen_fixed(const Gen *g, int size);
bool gen_split(const Gen *g, int size);
bool gen_split_axis(const Gen *g, const Axis *x);
int gen_add_axis(Gen *g, int size, bool where);
/* An index as a value, and in a list of indices.  */
void gen_index_value(Gen *g, int k);
void gen_index_item(Gen *g, int k);
/* Where the d-th dimension as chosen is written.  */
int gen_order(const Gen *g, const Tensor *t, int d);
/* Of a dimension or an axis; in products one that no axis has, so that each is read along its own.
 */
int gen_size(Gen *g);
/* The size that is this number, or -1.  */
int gen_number(const Gen *g, int64_t n);
/* An axis to reduce over, or -1.  */
int gen_reduction_axis(Gen *g, bool whole);
int gen_axis_over(Gen *g, int size);
void gen_leave_axis(Gen *g, int k);
/* A new input over some of the axes in scope: those of `must` (a mask over the scope), others by
 * chance.  */
int gen_new_input(Gen *g, Class cls, uint32_t type, unsigned must);
void gen_read(Gen *g, int tensor, bool guarded, int depth);
/* Two new inputs over axes in scope, one behind the other along one of them.  False if there is no
 * room.  */
bool gen_joined(Gen *g, Class cls, uint32_t type);
void gen_expr(Gen *g, Class cls, int depth);
/* Tensor number `tensor`, which is assigned, at the point of its left indices.  */
void gen_own_point(Gen *g, const Tensor *t, int tensor);
/* The ranges of the statement's axes that need telling.  */
void gen_where(Gen *g);
/* A read of a new input over all axes in scope but those of `without`, a mask over the axes.  */
const char *gen_factor(Gen *g, Class cls, uint32_t type, unsigned without);
/* The same, now and then by a name of its own: a temporary that is the input times a factor of its
 * rows, or of blocks of them.  What assigns it is written here.  */
const char *gen_operand(Gen *g, Class cls, uint32_t type, unsigned without);
/* A temporary over the first `rank` axes; what assigns it is written up to here, from here on its
 * right side is due, and then its end.  Returns a read of it.  */
const char *gen_begin(Gen *g, const Tensor *like, int rank, bool f64);
void gen_end(Gen *g);
/* A temporary that is a product over rows and columns, the last axis of t.  Axes before the rows
 * are of both factors or of the first alone.  Elements of `type`, mostly.  NULL: no room.  */
const char *gen_product(Gen *g, const Tensor *t, uint32_t type);
/* The right side of a statement for t; statements before it end at *body.  False if there is no
 * room.  */
bool gen_chain(Gen *g, const Tensor *t, size_t *body);
bool gen_product_rows(Gen *g, const Tensor *t, size_t *body);
bool gen_follower(Gen *g, const Tensor *t, size_t *body);
bool gen_kept_rows(Gen *g, const Tensor *t, size_t *body);
bool gen_matmul(Gen *g, const Tensor *t, size_t *body);
bool gen_convolution(Gen *g, const Tensor *t);
/* A shape for images, of at most as many elements as there is room for; a convolution that makes
 * them.  */
void gen_image_shape(Gen *g, Tensor *t);
bool gen_image(Gen *g, const Tensor *t, size_t *body);
#endif
