/* STEM.json: everything needed to launch a kernel without roller (docs/artefacts.md).  */
#ifndef ROLLER_DRIVER_ARTEFACT_ARTEFACT_H
#define ROLLER_DRIVER_ARTEFACT_ARTEFACT_H
#include "driver/handle/handle.h"

/* The "roller-kernel" object of an op for n targets, as indented JSON.  */
void artefact_json(const RollerKernel *const *k, int n, Buf *out);
/* The promised alignment of its tensors, bytes.  */
int kernel_align(const RollerKernel *k);
/* The resources of a compiled kernel, NULL if it was not compiled.  */
const KernelResources *build_resources(const Build *b, const char *symbol);
#endif
