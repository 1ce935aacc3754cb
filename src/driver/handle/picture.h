/* The tiles of a product as a picture.  */
#ifndef ROLLER_DRIVER_HANDLE_PICTURE_H
#define ROLLER_DRIVER_HANDLE_PICTURE_H
#include "base/svg.h"
#include "rprogram/rprog.h"

/* As SVG: blocks of the result, a block's warps with what a step takes of both operands, what a
 * warp's lanes or instructions have, the chunks of operand a's shared tile, and the steps in
 * flight.  Nothing for other skeletons than `contract`.  */
void plan_picture(const Problem *p, const Device *dev, const RProg *r, Buf *out);
#endif
