/* Statements in OpenCL C, run on hostile values of their operands' type.  */
#ifndef TEST_OPENCL_CASES_H
#define TEST_OPENCL_CASES_H
#include "float_bits.h"
#include "hal/device.h"
#include "opencl.h"
#include <stdbool.h>

/* Bits of the operands: the low ones of narrow types.  */
typedef struct {
    u64 x, y, z;
} OpenclGiven;

/* Types of OpenCL C.  The body makes r of x, y and z, or of p, the low bits of z.  */
typedef struct OpenclCase OpenclCase;
struct OpenclCase {
    const char *result, *operand, *body;
    bool (*right)(const OpenclCase *c, const OpenclGiven *g, u64 r);
    double (*of)(double x);   /* for `right`: what it computes, and how far it may be off */
    double ulp;
};

/* Fails the test where a result is not right, or where the prelude of `dev` has no such name.
 * Returns the source.  */
const char *opencl_cases_run(Arena *a, const Device *dev, const OpenclCase *c, int n);
/* Skips the test where there is no platform.  */
void opencl_need(Arena *a);
/* Bits of a result as the value that is expected; of a NaN any.  */
bool opencl_is_f32(u64 r, double want);
/* Is an f32 within so many ulps, and the half of its own rounding?  */
bool opencl_within(u64 r, double want, double ulp);
#endif
