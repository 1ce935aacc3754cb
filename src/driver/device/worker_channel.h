/* The worker's end of the socket to the host: bytes to and fro, whole or false.  */
#ifndef ROLLER_DRIVER_DEVICE_WORKER_CHANNEL_H
#define ROLLER_DRIVER_DEVICE_WORKER_CHANNEL_H
#include "driver/device/worker.h"

struct Worker {
    int out;
    char wait;                /* what a wait is for: 'O', 'W' or 'S' */
};
bool worker_put(int fd, const void *data, size_t len);
bool worker_get(int fd, void *data, size_t len);
#endif
