/* Tests of what uses a device, on the simulated driver and the worker of $BUILD.  */
#ifndef TESTS_SIMULATED_H
#define TESTS_SIMULATED_H
#include <stddef.h>

/* The absolute path of a file of $BUILD.  */
void simulated_path(const char *file, char *path, size_t size);
/* Sets a variable of the environment to it.  */
void simulated_set(const char *variable, const char *file);
/* Sets the environment so that this process and its workers find both, with these devices and one
 * thread.  */
void simulated_setup(const char *profiles);
/* What gives the simulated driver its rules, once $ROLLER_LIBCUDA names it; NULL: it cannot be
 * loaded.  It stays loaded.  */
int (*simulated_control(void))(const char *rules);
#endif
