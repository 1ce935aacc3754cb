#include "cli/profile_options.h"
#include <string.h>

typedef struct {
    const char *name;
    char letter;
    const char *arg, *text;
} OptionRow;

static const OptionRow table[] = {
#define X(id, name, letter, arg, text) {name, letter, arg, text},
    PROFILE_OPTIONS(X)
#undef X
};

typedef struct {
    Arena *a;
    Diag *d;
    ProfileOptions *o;
    bool full;
} Reader;

static Status usage(Reader *r, const char *hint, const char *fmt, const char *what) {
    Status s = diag_error(r->d, ST_USAGE, NULL, DIAG_NOWHERE, fmt, what);
    if (hint) diag_hint(r->d, "%s", hint);
    return s;
}

static Status when(Reader *r, const char *text, ProfileWhen *out) {
    static const char *const name[] = {"auto", "always", "never"};
    for (int i = 0; i < 3; i++) {
        if (strcmp(text, name[i]) != 0) continue;
        *out = (ProfileWhen)i;
        return ST_OK;
    }
    return usage(r, "WHEN is auto, always or never", "'%s' is not accepted here", text);
}

static Status number(Reader *r, const char *text, uint64_t *out) {
    uint64_t v = 0;
    const char *p = text;
    for (; *p >= '0' && *p <= '9' && v < UINT64_MAX / 20; p++) v = v * 10 + (uint64_t)(*p - '0');
    if (p == text || *p || v == 0)
        return usage(r, "a whole number from 1 on is accepted", "'%s' is not accepted here", text);
    *out = v;
    return ST_OK;
}

static Status act(Reader *r, ProfileAct what, const char *file) {
    if (r->o->act != PROFILE_MEASURE)
        return usage(r, NULL,
                     "only one of --list --compare --validate --show -h -V can be given%s", "");
    r->o->act = what;
    r->o->file = file;
    return ST_OK;
}

static Status take(Reader *r, ProfileOptionId id, const char *value) {
    ProfileOptions *o = r->o;
    switch (id) {
    case PROFILE_OPT_DEVICE: o->device = value; break;
    case PROFILE_OPT_OUTPUT: o->output = value; break;
    case PROFILE_OPT_FORCE: o->force = true; break;
    case PROFILE_OPT_QUICK: o->quick = true; break;
    case PROFILE_OPT_FULL: r->full = true; break;
    case PROFILE_OPT_ONLY: o->only = value; break;
    case PROFILE_OPT_SEED: return number(r, value, &o->seed);
    case PROFILE_OPT_CALIBRATE: o->calibrate = true; break;
    case PROFILE_OPT_SET_DEFAULT: o->set_default = true; break;
    case PROFILE_OPT_DRY_RUN: o->dry_run = true; break;
    case PROFILE_OPT_LIST: return act(r, PROFILE_LIST, NULL);
    case PROFILE_OPT_COMPARE: return act(r, PROFILE_COMPARE, value);
    case PROFILE_OPT_VALIDATE: return act(r, PROFILE_VALIDATE, value);
    case PROFILE_OPT_SHOW: return act(r, PROFILE_SHOW, value);
    case PROFILE_OPT_JSON: o->json = true; break;
    case PROFILE_OPT_VERBOSE: o->verbosity = 1; break;
    case PROFILE_OPT_QUIET: o->verbosity = -1; break;
    case PROFILE_OPT_COLOR: return when(r, value, &o->color);
    case PROFILE_OPT_PROGRESS: return when(r, value, &o->progress);
    case PROFILE_OPT_HELP: return act(r, PROFILE_HELP, NULL);
    case PROFILE_OPT_VERSION: return act(r, PROFILE_VERSION, NULL);
    case PROFILE_OPT_COUNT: break;
    }
    return ST_OK;
}

/* The row of --name, --name=value or -l; *value is what follows '=' or the letter, or NULL.  */
static int find(const char *arg, const char **value) {
    *value = NULL;
    for (int k = 0; k < PROFILE_OPT_COUNT; k++) {
        const OptionRow *row = &table[k];
        if (arg[1] != '-') {
            if (!row->letter || arg[1] != row->letter || (arg[2] && !row->arg)) continue;
            if (arg[2]) *value = arg + 2;
            return k;
        }
        size_t n = strlen(row->name);
        if (strncmp(arg + 2, row->name, n) != 0) continue;
        if (arg[2 + n] == '=') *value = arg + 3 + n;
        if (arg[2 + n] == '=' || !arg[2 + n]) return k;
    }
    return -1;
}

static Status consistent(Reader *r) {
    const ProfileOptions *o = r->o;
    if (o->quick && r->full)
        return usage(r, NULL, "--quick and --full contradict each other%s", "");
    if (o->json && o->verbosity < 0)
        return usage(r, NULL, "--json and -q contradict each other%s", "");
    if (o->json && o->output && !strcmp(o->output, "-"))
        return usage(r, "standard output carries one thing: give -o a file",
                     "--json and '-o %s' contradict each other", o->output);
    if (o->other && o->act != PROFILE_COMPARE)
        return usage(r, "a profile is named by --show, --validate or --compare",
                     "'%s' is not expected", o->other);
    if (o->set_default && o->output && !strcmp(o->output, "-"))
        return usage(r, "give -o a file", "--set-default and '-o %s' contradict each other",
                     o->output);
    return ST_OK;
}

Status profile_options(Arena *a, Diag *d, int argc, char **argv, ProfileOptions *out) {
    Reader r = {.a = a, .d = d, .o = out};
    *out = (ProfileOptions){.device = "0", .seed = 1};
    for (int k = 1; k < argc; k++) {
        const char *arg = argv[k], *value;
        if (arg[0] != '-' || !arg[1]) {
            if (out->other) return usage(&r, NULL, "'%s' is one file too many", arg);
            out->other = arg;
            continue;
        }
        int id = find(arg, &value);
        if (id < 0)
            return usage(&r, "roller-profile --help lists the options", "unknown option '%s'",
                         arg);
        if (!table[id].arg && value) return usage(&r, NULL, "option '%s' takes no value", arg);
        if (table[id].arg && !value && ++k < argc) value = argv[k];
        if (table[id].arg && !value)
            return usage(&r, arena_printf(a, "write %s %s", arg, table[id].arg),
                         "option '%s' needs a value", arg);
        Status s = take(&r, (ProfileOptionId)id, value);
        if (s) return s;
    }
    return out->act == PROFILE_HELP || out->act == PROFILE_VERSION ? ST_OK : consistent(&r);
}

void profile_help(Buf *out) {
    buf_puts(out, "usage: roller-profile [options]\n"
                  "       roller-profile --compare OLD.json [NEW.json]\n"
                  "Measures a GPU by micro-benchmarks and writes its profile, which roller-gen "
                  "plans with.\n\n");
    for (int k = 0; k < PROFILE_OPT_COUNT; k++) {
        const OptionRow *row = &table[k];
        Buf left = buf_new(out->arena);
        if (row->letter) buf_printf(&left, "-%c, ", row->letter);
        buf_printf(&left, "--%s%s%s", row->name, row->arg ? " " : "", row->arg ? row->arg : "");
        buf_printf(out, "  %-24s %s\n", buf_str(&left), row->text);
    }
    buf_puts(out, "\nExit: 0 done, 1 a profile is wrong, 2 usage, 3 environment, 4 our fault, "
                  "128+n ended by signal n.\n");
}
