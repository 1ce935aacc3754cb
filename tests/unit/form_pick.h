/* Programs of an op by their form.  */
#ifndef TESTS_FORM_PICK_H
#define TESTS_FORM_PICK_H
#include "kernel_fixture.h"
#include "operators.h"

Form form_of(const Device *dev, const RProg *r);
/* Bit Form: what the kernels of an op can be; contractions also element by element.  */
unsigned form_all(const KernelCase *c);
/* Takes the best program of the form in the groups that have one, the best of all in the others.
 * NULL, or what is wrong.  */
const char *form_pick(KernelCase *c, Form form);
#endif
