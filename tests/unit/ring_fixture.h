/* Programs of rings of stages by hand: families of tiles, grids and clusters that units of
 * warpgroups take, whatever the model would choose.  */
#ifndef TESTS_RING_FIXTURE_H
#define TESTS_RING_FIXTURE_H
#include "kernel_fixture.h"

/* Instructions of a warpgroup along the unit's rows, columns of each, warpgroups of a block along M
 * and N.  */
typedef struct {
    const char *name;
    int tiles, n, warps[2];
    int stages, split;
    StoreVia via;
    Raster raster;
    int cluster;              /* where tiles allow it */
    Grid grid;
    bool swapped, tail;       /* tail: the k-steps of tiles behind whole waves are dealt out; of
                               * rows longer than the tile: blocks go along them in turns */
} RingFamily;
enum { RING_FAMILIES = 40 };
extern const RingFamily ring_family[RING_FAMILIES];

typedef struct {
    const char *unit, *type, *note, *out;
    bool turns;               /* operands may lie along M and N */
} RingUnit;
enum { RING_UNITS = 18 };
extern const RingUnit ring_unit[RING_UNITS];

/* The unit's number; -1: the device has none of this name.  */
int16_t ring_unit_of(const Device *dev, const char *name);
/* Does the unit take the family: blocks whose results lie in Tensor Memory take no turns.  */
bool ring_has(const Device *dev, int16_t unit, const RingFamily *f);
/* Takes the family's program for the only group, with at most so many columns to an instruction.
 * NULL, or the rule that it breaks.  */
const char *ring_plan(KernelCase *c, int16_t unit, const RingFamily *f, int columns);
#endif
