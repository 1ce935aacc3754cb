/* Mutants of what a kernel does asynchronously: in its PTX a fence, wait, commit, arrival, barrier,
 * copy or allocation left out, or one bit of an operand flipped: of a descriptor, a lane or column
 * of Tensor Memory, a count, a mask of blocks, a parity.  */
#ifndef TESTS_ASYNC_MUTANTS_H
#define TESTS_ASYNC_MUTANTS_H
#include "base/buf.h"

/*     id          what is spoiled */
#define ASYNC_KINDS(X)                                                                             \
    X(FENCE,       "fence")                                                                        \
    X(WAIT,        "wait")                                                                         \
    X(ARRIVAL,     "commit or arrival")                                                            \
    X(COPY,        "copy")                                                                         \
    X(DESCRIPTOR,  "descriptor or operand of a product")                                           \
    X(LANE,        "lane or column")                                                               \
    X(ALLOCATION,  "allocation")
typedef enum {
#define X(id, text) ASYNC_##id,
    ASYNC_KINDS(X)
#undef X
    ASYNC_KIND_COUNT
} AsyncKind;

typedef struct {
    AsyncKind kind;
    const char *was, *put;    /* a statement, and what stands in its place */
    size_t at;                /* where it begins in the text */
    int operand, bit;         /* the source that is flipped, from 1; 0: the statement is lost */
} AsyncMutant;

/* All of them, in order of the text.  */
int async_mutants(Arena *a, const char *ptx, AsyncMutant **out);
/* The text with the mutant in it.  */
const char *async_mutant_text(Arena *a, const char *ptx, const AsyncMutant *m);
#endif
