/* Starting a worker, and what both of its sides know.  */
#ifndef ROLLER_DRIVER_DEVICE_WORKER_SPAWN_H
#define ROLLER_DRIVER_DEVICE_WORKER_SPAWN_H
#include "driver/device/worker.h"

#include <sys/types.h>

extern const char worker_magic[], worker_argument[];
/* Executes it with a socket to `*fd` as its standard input.  ST_IO.  */
Status worker_spawn(Diag *d, const char *file, pid_t *pid, int *fd);
#endif
