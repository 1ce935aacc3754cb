/* Pictures of a program.  */
#ifndef ROLLER_DRIVER_HANDLE_PICTURE_H
#define ROLLER_DRIVER_HANDLE_PICTURE_H
#include "base/svg.h"
#include "rprogram/rprog.h"

/* As SVG: blocks of the result, a block's warps with what a step takes of both operands, what a
 * warp's lanes or instructions have, and the chunks of operand a's shared tile.  Nothing for other
 * skeletons than `contract`.  */
void plan_picture(const Problem *p, const Device *dev, const RProg *r, Buf *out);
/* As SVG: what the roles of a block do over time, by the model (mp_timeline): copies, products of
 * each warpgroup, outputs.  Nothing for programs that have no ring.  */
void plan_timeline(const Problem *p, const Device *dev, const RProg *r, Buf *out);

/* Begins a picture in the colours of both.  */
void picture_begin(Buf *out, const char *name, int width, int height);
#endif
