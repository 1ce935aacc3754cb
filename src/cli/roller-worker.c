/* The program that uses a device for libroller (worker.h, docs/worker.md).  */
#include "roller.h"

#include <stdio.h>

int main(int argc, char *argv[]) {
    enum { USAGE = 2 };
    roller_worker(argc, argv);
    fputs("roller-worker: error: libroller starts it and tells it what to do; it is no command\n",
          stderr);
    return USAGE;
}
