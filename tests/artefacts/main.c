/* A host in C or C++: the header declares all that it needs.  */
#include "mm.h"
#include "scaled.h"

int main(void) {
    roller_mm_kernel *k;
    int s = roller_mm_load(&k);
    return s == ROLLER_LAUNCH_OK || !*roller_mm_status_text(s) || !*roller_scaled_status_text(s);
}
