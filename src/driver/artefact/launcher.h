/* Launchers: what loads and launches a kernel without roller, as text (docs/artefacts.md).
 *
 * All are printed from what a launch by the library takes (KernelProgram and the op).  The parts
 * that do not depend on a kernel are the files of src/driver/launcher.  */
#ifndef ROLLER_DRIVER_ARTEFACT_LAUNCHER_H
#define ROLLER_DRIVER_ARTEFACT_LAUNCHER_H
#include "driver/handle/handle.h"

/* STEM.h: declarations, for C and C++.  */
void launcher_header(const Te *te, Buf *out);
/* STEM.c and STEM.py for kernels of one op, one per target.  */
void launcher_c(const RollerKernel *const *k, int n, Buf *out);
void launcher_python(const RollerKernel *const *k, int n, Buf *out);
/* A module of TVM-FFI: STEM.c with one function more.  */
void launcher_tvm_ffi(const RollerKernel *const *k, int n, Buf *out);

/* The lines of src/driver/launcher, each with its end; NULL after the last.  */
extern const char *const launcher_c_lines[], *const launcher_python_lines[];
extern const char *const launcher_tvm_ffi_lines[], *const launcher_tvm_ffi_abi_lines[];
#endif
