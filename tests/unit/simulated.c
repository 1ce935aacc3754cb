/* links: base */
#define _XOPEN_SOURCE 700
#include "simulated.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void set_path(const char *variable, const char *file) {
    char here[PATH_MAX], path[2 * PATH_MAX];
    const char *build = getenv("BUILD");
    if (!getcwd(here, sizeof here)) abort();
    if (!build) build = "build";
    snprintf(path, sizeof path, "%s%s%s/%s", *build == '/' ? "" : here, *build == '/' ? "" : "/",
             build, file);
    setenv(variable, path, 1);
}

void simulated_setup(const char *profiles) {
    set_path("ROLLER_LIBCUDA", "simdriver/libcuda.so.1");
    set_path("ROLLER_WORKER", "roller-worker");
    setenv("ROLLER_SIM_PROFILE", profiles, 1);
    setenv("ROLLER_SIM_THREADS", "1", 1);
}
