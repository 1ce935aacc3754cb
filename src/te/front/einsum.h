/* Einsum notation as the text of an op (docs/te.md, "Einsum").  */
#ifndef ROLLER_TE_FRONT_EINSUM_H
#define ROLLER_TE_FRONT_EINSUM_H
#include "te/te.h"

/* Appends the text for `spec` to out.  type: the types of its n_type operands where it does not say
 * them; n_type 0: they are f32.  Errors point into the spec, whose file is "<einsum>".  */
Status te_einsum(Arena *a, Diag *d, const char *spec, const char *const *type, int n_type,
                 Buf *out);
#endif
