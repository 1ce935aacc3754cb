#include "cli/sim_options.h"
#include <string.h>

typedef struct {
    const char *name;
    char letter;
    const char *arg, *text;
} OptionRow;

static const OptionRow table[] = {
#define X(id, name, letter, arg, text) {name, letter, arg, text},
    SIM_TOOL_OPTIONS(X)
#undef X
};

typedef struct {
    Arena *a;
    Diag *d;
    SimToolOptions *o;
} Reader;

static Status usage(Reader *r, const char *hint, const char *fmt, const char *what) {
    Status s = diag_error(r->d, ST_USAGE, NULL, DIAG_NOWHERE, fmt, what);
    if (hint) diag_hint(r->d, "%s", hint);
    return s;
}

static Status number(Reader *r, const char *text, uint64_t most, uint64_t *out) {
    uint64_t v = 0;
    const char *p = text;
    for (; *p >= '0' && *p <= '9' && v <= most / 10; p++) v = v * 10 + (uint64_t)(*p - '0');
    if (p == text || *p || v > most) return usage(r, NULL, "'%s' is not accepted here", text);
    *out = v;
    return ST_OK;
}

/* X, X,Y or X,Y,Z; what is left out is 1.  */
static Status three(Reader *r, const char *text, uint32_t out[3]) {
    const char *p = text;
    for (int k = 0; k < 3; k++) {
        const char *end = p + strcspn(p, ",");
        uint64_t v = 1;
        if (*p || k == 0) {
            Status s = number(r, arena_strndup(r->a, p, (size_t)(end - p)), UINT32_MAX, &v);
            if (s != ST_OK) return s;
        }
        out[k] = (uint32_t)v;
        p = *end && k < 2 ? end + 1 : end;
    }
    return *p ? usage(r, "write X, X,Y or X,Y,Z", "'%s' has too many sizes", text) : ST_OK;
}

static Status binding(Reader *r, const char *text, const char *hint, SimToolBinding **list,
                      int *n) {
    const char *eq = strchr(text, '=');
    if (!eq || eq == text || !eq[1]) return usage(r, hint, "'%s' is not accepted here", text);
    SimToolBinding *grown = ARENA_ARRAY(r->a, SimToolBinding, *n + 1);
    if (*n) memcpy(grown, *list, (size_t)*n * sizeof *grown);
    grown[(*n)++] = (SimToolBinding){arena_strndup(r->a, text, (size_t)(eq - text)), eq + 1};
    *list = grown;
    return ST_OK;
}

static Status small(Reader *r, const char *text, uint64_t most, int *out) {
    uint64_t v;
    Status s = number(r, text, most, &v);
    if (s == ST_OK) *out = (int)v;
    return s;
}

static Status take(Reader *r, SimToolOption id, const char *value) {
    SimToolOptions *o = r->o;
    uint64_t v = 0;
    Status s = ST_OK;
    switch (id) {
    case SIM_OPT_ENTRY: o->entry = value; break;
    case SIM_OPT_GRID: return three(r, value, o->grid);
    case SIM_OPT_BLOCK: return three(r, value, o->block);
    case SIM_OPT_CLUSTER: return three(r, value, o->cluster);
    case SIM_OPT_SMEM:
        s = number(r, value, 1 << 24, &v);
        o->smem = (uint32_t)v;
        break;
    case SIM_OPT_IN:
        return binding(r, value, "write NAME=FILE.npy or NAME=NUMBER", &o->in, &o->n_in);
    case SIM_OPT_ALLOC:
        return binding(r, value, "write NAME=TYPE[N,M,..]", &o->alloc, &o->n_alloc);
    case SIM_OPT_OUT: return binding(r, value, "write NAME=FILE.npy", &o->out, &o->n_out);
    case SIM_OPT_PROFILE: o->profile = value; break;
    case SIM_OPT_ARCH: o->arch = value; break;
    case SIM_OPT_SEED: return number(r, value, UINT64_MAX, &o->seed);
    case SIM_OPT_LIMIT: return number(r, value, UINT64_MAX, &o->limit);
    case SIM_OPT_THREADS: return small(r, value, 16, &o->threads);
    case SIM_OPT_COLOR: o->color = value; break;
    case SIM_OPT_BENIGN: o->benign = true; break;
    case SIM_OPT_NO_RACES: o->no_races = true; break;
    case SIM_OPT_COUNTERS: o->counters = true; break;
    case SIM_OPT_PTX: o->ptx = true; break;
    case SIM_OPT_JSON: o->json = true; break;
    case SIM_OPT_QUIET: o->quiet = true; break;
    case SIM_OPT_HELP: o->help = true; break;
    default: o->version = true; break;
    }
    return s;
}

/* The row of --name, --name=value or -l; *value is what follows '=', or NULL.  */
static int find(const char *arg, const char **value) {
    *value = NULL;
    for (int k = 0; k < SIM_OPT_COUNT; k++) {
        const OptionRow *row = &table[k];
        if (arg[1] != '-') {
            if (row->letter && arg[1] == row->letter && !arg[2]) return k;
            continue;
        }
        size_t n = strlen(row->name);
        if (strncmp(arg + 2, row->name, n) != 0) continue;
        if (arg[2 + n] == '=') *value = arg + 3 + n;
        if (arg[2 + n] == '=' || !arg[2 + n]) return k;
    }
    return -1;
}

Status simtool_options(Arena *a, Diag *d, int argc, char **argv, SimToolOptions *out) {
    Reader r = {a, d, out};
    *out = (SimToolOptions){.grid = {1, 1, 1}, .seed = 1};
    for (int k = 1; k < argc; k++) {
        const char *arg = argv[k], *value;
        if (arg[0] != '-' || !arg[1]) {
            if (out->input) return usage(&r, NULL, "'%s' is one input too many", arg);
            out->input = arg;
            continue;
        }
        int id = find(arg, &value);
        if (id < 0) return usage(&r, "roller-sim --help lists them", "unknown option '%s'", arg);
        bool takes = table[id].arg != NULL;
        if (!takes && value) return usage(&r, NULL, "'%s' takes no argument", arg);
        if (takes && !value && ++k < argc) value = argv[k];
        if (takes && !value) return usage(&r, NULL, "'%s' needs an argument", arg);
        Status s = take(&r, (SimToolOption)id, value);
        if (s != ST_OK) return s;
    }
    if (out->input || out->help || out->version) return ST_OK;
    return usage(&r, "roller-sim KERNEL.cu --entry K --grid X --block X --in ...",
                 "no kernel is given%s", "");
}

void simtool_help(Buf *out) {
    buf_puts(out, "usage: roller-sim [options] KERNEL.cu | KERNEL.ptx\n\n"
                  "Runs a kernel on the CPU, checks every access and counts.  Exit code 5 when the "
                  "kernel has a fault.\n\n");
    for (int k = 0; k < SIM_OPT_COUNT; k++) {
        const OptionRow *row = &table[k];
        Buf left = buf_new(out->arena);
        if (row->letter) buf_printf(&left, "-%c, ", row->letter);
        buf_printf(&left, "--%s%s%s", row->name, row->arg ? " " : "", row->arg ? row->arg : "");
        buf_printf(out, "  %-28s  %s\n", buf_str(&left), row->text);
    }
}
