/* Mutants of PTX: one instruction of a kernel spoiled.  */
#ifndef TESTS_PTX_MUTANTS_H
#define TESTS_PTX_MUTANTS_H
#include "base/buf.h"

/*     id          what is spoiled */
#define MUT_KINDS(X)                                                                               \
    X(BARRIER,     "barrier removed")                                                              \
    X(COMMIT,      "commit removed")                                                               \
    X(WAIT,        "wait removed or weakened")                                                     \
    X(GUARD,       "comparison changed")                                                           \
    X(BRANCH,      "predicate dropped or negated")                                                 \
    X(MASK,        "choice or size of a copy fixed")                                               \
    X(MAXIMUM,     "maximum or minimum changed")                                                   \
    X(BITS,        "bits of an index changed")                                                     \
    X(STRIDE,      "stride, stage or step changed")                                                \
    X(OFFSET,      "offset of an access changed")
typedef enum {
#define X(id, text) MUT_##id,
    MUT_KINDS(X)
#undef X
    MUT_KIND_COUNT
} MutKind;

typedef struct {
    MutKind kind;
    int line;                 /* of the text, from 1 */
    const char *was, *put;    /* the instruction without its predicate, and what takes its place */
    const char *guard;        /* the predicate, "@%p1", "" if there is none */
    const char *new_guard;    /* of `put` */
} PtxMutant;

/* All of them, in order of their lines.  */
int ptx_mutants(Arena *a, const char *ptx, PtxMutant **out);

/* What stands in the mutant's place:
 *   SPOILED   the spoiled instruction;
 *   DIFFERS   the original, and a trap where the spoiled one gives another result;
 *   ZEROS, ONES, FLIPPED   the original, but this result where the spoiled one gives another.
 * NULL where that cannot be said: what gives no result in a register.  */
typedef enum { PTX_SPOILED, PTX_DIFFERS, PTX_ZEROS, PTX_ONES, PTX_FLIPPED } PtxForm;
const char *ptx_mutant_text(Arena *a, const char *ptx, const PtxMutant *m, PtxForm form);
#endif
