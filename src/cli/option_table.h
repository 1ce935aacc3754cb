/* Command lines: what the tools share.  A tool has one table of its options, from which parsing and
 * --help follow, and a function that takes an option's value.  */
#ifndef ROLLER_CLI_OPTION_TABLE_H
#define ROLLER_CLI_OPTION_TABLE_H
#include "base/diag.h"
#include <stdint.h>

/* --name, --name=value, --name value, -l, -lvalue, -l value; a name in capitals takes one dash.  */
typedef struct {
    const char *name;
    char letter;              /* 0: none */
    const char *arg;          /* what it takes, as --help names it; NULL: nothing */
    const char *text;
} OptionRow;

typedef enum { WHEN_AUTO, WHEN_ALWAYS, WHEN_NEVER } When;

/* NAME=VALUE.  */
typedef struct {
    const char *name, *value;
} Binding;

typedef struct {
    Arena *a;
    Diag *d;
    const char *tool;         /* for the hint behind an unknown option */
    const OptionRow *row;
    int n;
    const char *option;       /* the one that is read, as it was written */
    Status (*take)(void *user, int row, const char *value);   /* NULL: the row takes none */
    Status (*word)(void *user, const char *text);  /* what is no option; all behind "--" */
    void *user;
} OptionTable;

/* Reads a command line.  ST_USAGE with a hint for what is unknown, or what `take` refuses.  */
Status option_scan(OptionTable *t, int argc, char **argv);
/* One line per row, the texts from column `width` on.  */
void option_help(const OptionTable *t, int width, Buf *out);

/* ST_USAGE; fmt takes `what`, hint may be NULL.  */
Status option_refuse(const OptionTable *t, const char *hint, const char *fmt, const char *what);
/* A decimal number from lo to hi.  */
Status option_number(const OptionTable *t, const char *text, uint64_t lo, uint64_t hi,
                     uint64_t *out);
/* The same with a unit: seconds (30, 30s, 5m, 2h, 1d), bytes (65536, 64K, 64KiB, 1G).  */
Status option_seconds(const OptionTable *t, const char *text, uint64_t lo, uint64_t hi,
                      uint64_t *out);
Status option_bytes(const OptionTable *t, const char *text, uint64_t lo, uint64_t hi,
                    uint64_t *out);
Status option_when(const OptionTable *t, const char *text, When *out);
/* Whether standard error is coloured: as asked for, else on a terminal that can.  */
bool option_color(When when);
/* Adds to a list on the arena; `hint` says how to write it.  */
Status option_binding(const OptionTable *t, const char *text, const char *hint, Binding **list,
                      int *n);
#endif
