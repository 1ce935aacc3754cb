/* The kernel of a `chain` program.  */
#include "codegen/lower/lower.h"

static void kernel(FormBuilder *b, Lowered *l, int number) {
    (void)number;
    l->contract = l->layout->product;
    lower_grid(b, l, KERNEL_CONTRACT);
}

const LowerRow lower_chain = {.kernel = kernel};
