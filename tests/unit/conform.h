/* Conformance of elementwise instructions: each row is one instruction and the value it must give,
 * computed by a function that knows nothing of the simulator.  */
#ifndef TEST_CONFORM_H
#define TEST_CONFORM_H
#include <stdint.h>

/* `inst` uses registers d (result), a, b, c and the predicates p (result) and q (from c).  `types`
 * has a letter for d and one for every source:
 *   h r l  16, 32, 64 bits, any value      s  32 bits, mostly below 70
 *   f g    f32, f64 patterns               e  f16, two of them    u  bf16, two of them
 *   p q    predicate result, predicate source (bit 0 of c)
 * `want` gets the raw bits of the sources and returns those of d (0 or 1 for a predicate).  */
typedef uint64_t ConformWant(uint64_t a, uint64_t b, uint64_t c);
typedef struct {
    const char *inst, *types;
    ConformWant *want;
} Conform;

/* Runs every row on some thousand operands and fails on the first difference.  */
void conform_run(const Conform *rows, int n);
#define CONFORM(rows) conform_run((rows), (int)(sizeof(rows) / sizeof((rows)[0])))
/* static ConformWant name: the value of an expression over a, b, c.  */
#define WANT(name, expr)                                                                           \
    static uint64_t name(uint64_t a, uint64_t b, uint64_t c) {                                     \
        (void)a, (void)b, (void)c;                                                                 \
        return (uint64_t)(expr);                                                                   \
    }
#endif
