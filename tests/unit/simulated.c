/* links: base */
#define _XOPEN_SOURCE 700
#include "simulated.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

void simulated_path(const char *file, char *path, size_t size) {
    char here[PATH_MAX] = "";
    const char *build = getenv("BUILD");
    if (!build) build = "build";
    if (*build != '/' && !getcwd(here, sizeof here)) abort();
    snprintf(path, size, "%s%s%s/%s", here, *here ? "/" : "", build, file);
}

void simulated_set(const char *variable, const char *file) {
    char path[2 * PATH_MAX];
    simulated_path(file, path, sizeof path);
    setenv(variable, path, 1);
}

void simulated_setup(const char *profiles) {
    simulated_set("ROLLER_LIBCUDA", "simdriver/libcuda.so.1");
    simulated_set("ROLLER_WORKER", "roller-worker");
    setenv("ROLLER_SIM_PROFILE", profiles, 1);
    setenv("ROLLER_SIM_THREADS", "1", 1);
}

int (*simulated_control(void))(const char *rules) {
    int (*control)(const char *rules) = NULL;
    void *library = dlopen(getenv("ROLLER_LIBCUDA"), RTLD_NOW | RTLD_LOCAL);
    if (library) *(void **)&control = dlsym(library, "roller_sim_driver_control");
    return control;
}
