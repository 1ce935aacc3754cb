/* Every status of roller with its CLI exit code (interfaces: "Errors").  include/roller.h repeats
 * the names; a test compares the two.  */
#ifndef ROLLER_BASE_STATUS_H
#define ROLLER_BASE_STATUS_H

/*          name        exit  meaning */
#define STATUS_LIST(X)                                                                             \
    X(OK,          0, "done")                                                                      \
    X(TE,          1, "the expression is wrong")                                                   \
    X(PROFILE,     1, "the device profile is wrong")                                               \
    X(PLAN_TEXT,   1, "the plan text is wrong")                                                    \
    X(USAGE,       2, "unknown or contradictory options")                                          \
    X(DEVICE,      3, "no such device")                                                            \
    X(DRIVER,      3, "the CUDA driver is missing or too old")                                     \
    X(NVRTC,       3, "NVRTC is missing or cannot target the architecture")                        \
    X(CUDA,        3, "a CUDA driver call failed")                                                 \
    X(IO,          3, "a file cannot be read or written")                                          \
    X(NOMEM,       3, "out of memory")                                                             \
    X(NO_PLAN,     4, "no valid plan")                                                             \
    X(COMPILE,     4, "NVRTC refused generated source")                                            \
    X(SIMULATOR,   4, "the simulator cannot run this PTX")                                         \
    X(INTERNAL,    4, "an internal invariant is broken")                                           \
    X(CHECK,       5, "a check failed")                                                            \
    X(ARCH,        3, "no image for the device's architecture")                                    \
    X(ARGS,        1, "wrong number of arguments")                                                 \
    X(DTYPE,       1, "an argument has the wrong dtype")                                           \
    X(RANK,        1, "an argument has the wrong rank")                                            \
    X(SIZE,        1, "sizes disagree or are out of range")                                        \
    X(STRIDE,      1, "an argument has other strides than declared")                               \
    X(ALIGN,       1, "an argument is not aligned as promised")                                    \
    X(NULLPTR,     1, "a null pointer")                                                            \
    X(WORKSPACE,   1, "the workspace is missing or too small")                                     \
    X(CANCELLED,   3, "cancelled by the caller")

typedef enum {
#define X(name, code, text) ST_##name,
    STATUS_LIST(X)
#undef X
        ST_COUNT
} Status;

const char *status_name(Status s);      /* "TE", "NO_PLAN", ... */
const char *status_text(Status s);      /* the meaning */
int status_exit(Status s);              /* exit code of the command line tools */
#endif
