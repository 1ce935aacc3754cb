/* Arrays of which little is touched.
 *
 * malloc gives back pages that are not there yet only for blocks above a size that it changes as it
 * goes (up to 32 MiB), and calloc clears what it had before: what an array then takes depends on
 * what was freed when.  Here pages that nobody touches take no memory, whatever ran before.  */
#ifndef ROLLER_BASE_SPARSE_H
#define ROLLER_BASE_SPARSE_H
#include <stddef.h>

/* That many zero bytes, aligned for any type; NULL if there is no memory.  */
void *sparse_new(size_t bytes);
/* Of as many bytes as it was made with; NULL is none.  */
void sparse_free(void *p, size_t bytes);
#endif
