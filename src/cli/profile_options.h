/* Options of roller-profile: one table for parsing and for all that sheet.h prints.  */
#ifndef ROLLER_CLI_PROFILE_OPTIONS_H
#define ROLLER_CLI_PROFILE_OPTIONS_H
#include "cli/sheet.h"

/* Columns: id, long name, letter, argument, meaning.  */
#define PROFILE_OPTIONS(X)                                                                         \
    X(DEVICE, "device", 'd', "N|UUID", "the device to measure (0)")                                \
    X(OUTPUT, "output", 'o', "FILE",                                                               \
      "where to write, - for standard output ($XDG_DATA_HOME/roller/profiles/NAME.json)")          \
    X(FORCE, "force", 'f', NULL, "replace an existing file")                                       \
    X(QUICK, "quick", 0, NULL, "about 10 s: few points of each curve")                             \
    X(FULL, "full", 0, NULL, "up to 90 s: all curves (this is the default)")                       \
    X(ONLY, "only", 0, "LIST", "only these measurements, as --dry-run names them; the rest stays") \
    X(LIMIT, "limit", 0, "S",                                                                      \
      "stop after S seconds; the rest stays as it was (60 quick, 150 full)")                       \
    X(SEED, "seed", 0, "N", "seed of the data that is read (1)")                                   \
    X(CALIBRATE, "calibrate", 0, NULL,                                                             \
      "also time a few kernels and fit the model's efficiency factors to them")                    \
    X(FROM, "from", 0, "FILE",                                                                     \
      "calibrate to the times in a CSV file; measures nothing, needs no GPU")                      \
    X(SET_DEFAULT, "set-default", 0, NULL,                                                         \
      "make it the default of roller-gen, in every folder")                                        \
    X(DRY_RUN, "dry-run", 'n', NULL, "say what would be measured and how long it takes")           \
    X(LIST, "list", 'l', NULL, "list devices, with architecture and the profile that fits")        \
    X(COMPARE, "compare", 0, "OLD.json",                                                           \
      "measure, or read a second profile, and print the differences")                              \
    X(VALIDATE, "validate", 0, "NAME|FILE", "report all faults of a profile at once")              \
    X(SHOW, "show", 0, "NAME|FILE",                                                                \
      "print a sheet, and write a roofline (SVG) beside the file, or here for a name")             \
    X(JSON, "json", 0, NULL, "one JSON object on standard output instead of text")                 \
    SHEET_PROGRESS_OPTIONS(X)                                                                      \
    SHEET_OPTIONS(X)
typedef enum {
#define X(id, name, letter, arg, text) PROFILE_OPT_##id,
    PROFILE_OPTIONS(X)
#undef X
        PROFILE_OPT_COUNT
} ProfileOptionId;

typedef enum {
    PROFILE_MEASURE, PROFILE_LIST, PROFILE_COMPARE, PROFILE_VALIDATE, PROFILE_SHOW, PROFILE_SHEET,
    PROFILE_VERSION
} ProfileAct;

typedef struct {
    ProfileAct act;
    const char *device, *output, *only;
    const char *from;         /* times to calibrate to; NULL: a device's */
    const char *file;         /* of --compare, --validate, --show */
    /* --compare: the newer profile; NULL: measure it.  --from: the profile; NULL: the default.  */
    const char *other;
    bool force, quick, calibrate, set_default, dry_run, json;
    uint64_t seed, limit_s;   /* limit_s 0: by the mode */
    int verbosity;            /* -1 quiet, 1 verbose */
    When color, progress;
    SheetForm form;           /* of PROFILE_SHEET */
} ProfileOptions;

/* Reads a command line.  ST_USAGE with a hint for what is unknown or contradictory.  */
Status profile_options(Arena *a, Diag *d, int argc, char **argv, ProfileOptions *out);
extern const Sheet profile_tool_sheet;
#endif
