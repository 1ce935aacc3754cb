/* Which build this is, as far as what it keeps and sends depends on it.  */
#include "driver/build/build.h"
#include "roller.h"

const char *build_id(void) { return ROLLER_VERSION " of sources " ROLLER_SOURCES; }
