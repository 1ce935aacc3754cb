/* roller: kernels for tensor expressions by construction.
 *
 * An expression (docs/te.md) and a device profile (docs/reference/profile.md) go in.  Ranked plans,
 * CUDA C++, PTX, a cubin with its launch description, and a proof that it computes the right
 * numbers come out.  Nothing needs a CUDA header; only what names a device needs the driver and a
 * GPU.
 *
 *     RollerCtx *ctx;  RollerProfile *gpu;  RollerOp *op;  RollerKernel *k;
 *     roller_ctx_create(NULL, &ctx);
 *     roller_profile_load(ctx, "h200", &gpu);
 *     roller_parse(ctx, text, len, "matmul.te", NULL, &op);
 *     roller_compile(ctx, op, gpu, NULL, &k);
 *     roller_kernel_get(k, ROLLER_CUBIN, &data, &size);
 *
 * Lifetime: each handle has one owner and holds what it needs, so any order of destruction is
 * right.  Texts and pointers handed out live as long as the handle they came from.
 * Errors: every call returns a status; the first error stays in the context until the next call.
 * The library never prints, exits, aborts or changes signal handlers or locale.
 * Threads: a context serves one thread at a time; all other handles serve any number, and never
 * change once made, but for what roller_exec_add adds.
 * ABI: options and reports begin with struct_size; zero means default; new fields at the end.  */
#ifndef ROLLER_H
#define ROLLER_H
#define ROLLER_VERSION "0.1.0"
#define ROLLER_VERSION_HEX 0x000100
#include "roller/bind.h"
#include "roller/check.h"
#include "roller/context.h"
#include "roller/device.h"
#include "roller/plan.h"
#include "roller/profile.h"
#endif
