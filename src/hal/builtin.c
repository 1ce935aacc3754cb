/* Profiles inside the program: none.  A program that is to need no files is linked with others
 * (make static).  */
#include "hal/device.h"

const HalBuiltin hal_builtin[] = {{NULL, NULL}};
