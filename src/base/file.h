/* Whole files: complete under their name, or not at all.  */
#ifndef ROLLER_BASE_FILE_H
#define ROLLER_BASE_FILE_H
#include "base/diag.h"

/* Reads a regular file (or standard input for "-") of at most max_len bytes; text gets a NUL at
 * text[*len].  ST_SIZE if it has more.  */
Status file_read(Arena *a, Diag *d, const char *path, size_t max_len, char **text, size_t *len);
/* Writes through a temporary file in the same folder and a rename; both are on the disk then.  */
Status file_write(Diag *d, const char *path, const void *data, size_t len);
/* The same for `name` in an open folder, with the permissions `mode` less the process's mask; 0 or
 * an errno.  A file beyond the limit of the process is EFBIG and raises no signal.  */
int file_write_at(int folder, const char *name, unsigned mode, const void *data, size_t len);
/* Could file_write write there, as far as can be seen?  ST_IO in its words if not.  */
Status file_writable(Diag *d, const char *path);
/* Makes a folder and those above it that are missing, for the user alone; ST_IO.  */
Status file_make_folders(Diag *d, const char *path);
bool file_exists(const char *path);
/* Is the file `out` one of these, by whatever name or link?  Then ST_USAGE.  "-" is none.  */
Status file_apart(Diag *d, const char *out, const char *const *in, int n);
#endif
