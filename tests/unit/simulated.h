/* Tests of what uses a device, on the simulated driver and the worker of $BUILD.  */
#ifndef TESTS_SIMULATED_H
#define TESTS_SIMULATED_H

/* Sets the environment so that this process and its workers find both, with these devices and one
 * thread.  */
void simulated_setup(const char *profiles);
#endif
