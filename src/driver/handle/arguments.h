/* Arguments: do a caller's tensors fit the op?
 *
 * The checks of a launch, in the order of its statuses: number and place, dtype, rank, sizes
 * (agreement, bounds, multiple), strides, alignment, null pointers.  They take no memory.  */
#ifndef ROLLER_DRIVER_HANDLE_ARGUMENTS_H
#define ROLLER_DRIVER_HANDLE_ARGUMENTS_H
#include "roller.h"
#include "te/te.h"

enum { ARGUMENTS_ON_HOST = -1, ARGUMENTS_ANYWHERE = -2 };

typedef struct {
    const Te *te;             /* as parsed */
    const RollerTensor *in, *out;         /* one per declared input, scalars included; outputs */
    int n_in, n_out;
    int device;               /* that holds the tensors, or one of the above */
    int align;                /* promised alignment, bytes; 0: none */
    bool shapes_only;         /* there is no data yet */
    bool any_strides;
} Arguments;

typedef struct {
    int64_t size[TE_MAX_SIZES];           /* of every size, when they agree */
    bool empty;               /* no output has an element */
    char why[256], hint[160]; /* what does not fit; what to do about it, "" if that is plain */
} ArgumentReport;

Status arguments_check(const Arguments *x, ArgumentReport *out);
/* Rank, dtype and shape of each output, as the inputs tell them; out[i].shape has room for
 * TE_MAX_RANK.  ST_SIZE if they do not.  Where the inputs are is not looked at.  */
Status arguments_infer(const Arguments *x, RollerTensor *out, ArgumentReport *report);
/* DLPack's code for a dtype.  */
uint8_t arguments_code(TeDtype t);
/* Address of element 0.  */
void *arguments_data(const RollerTensor *t);
/* The same tensor by its position in the op.  */
const RollerTensor *arguments_at(const Arguments *x, int tensor);
#endif
