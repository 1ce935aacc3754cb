#include "cli/profile_options.h"
#include "profiler/profiler.h"
#include <string.h>

static const OptionRow rows[] = {
#define X(id, name, letter, arg, text) {name, letter, arg, text},
    PROFILE_OPTIONS(X)
#undef X
};

typedef struct {
    const OptionTable *t;
    ProfileOptions *o;
    bool full;
} Reader;

static Status act(Reader *r, ProfileAct what, const char *file) {
    if (r->o->act != PROFILE_MEASURE)
        return option_refuse(r->t, NULL,
                             "only one of --list --compare --validate --show -h -V can be given%s",
                             "");
    r->o->act = what;
    r->o->file = file;
    return ST_OK;
}

static Status take(void *user, int id, const char *value) {
    Reader *r = user;
    ProfileOptions *o = r->o;
    switch ((ProfileOptionId)id) {
    case PROFILE_OPT_DEVICE: o->device = value; break;
    case PROFILE_OPT_OUTPUT: o->output = value; break;
    case PROFILE_OPT_FORCE: o->force = true; break;
    case PROFILE_OPT_QUICK: o->quick = true; break;
    case PROFILE_OPT_FULL: r->full = true; break;
    case PROFILE_OPT_ONLY: o->only = value; break;
    case PROFILE_OPT_SEED: return option_number(r->t, value, 1, UINT64_MAX / 20, &o->seed);
    case PROFILE_OPT_LIMIT: return option_seconds(r->t, value, 1, 86400, &o->limit_s);
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
    case PROFILE_OPT_COLOR: return option_when(r->t, value, &o->color);
    case PROFILE_OPT_PROGRESS: return option_when(r->t, value, &o->progress);
    case PROFILE_OPT_HELP: o->form = SHEET_HELP; return act(r, PROFILE_SHEET, NULL);
    case PROFILE_OPT_GENERATE:
        if (sheet_form(r->t, value, &o->form)) return ST_USAGE;
        return act(r, PROFILE_SHEET, NULL);
    case PROFILE_OPT_VERSION: return act(r, PROFILE_VERSION, NULL);
    case PROFILE_OPT_COUNT: break;
    }
    return ST_OK;
}

static Status word(void *user, const char *text) {
    Reader *r = user;
    if (r->o->other) return option_refuse(r->t, NULL, "'%s' is one file too many", text);
    r->o->other = text;
    return ST_OK;
}

static Status consistent(Reader *r) {
    const ProfileOptions *o = r->o;
    if (o->quick && r->full)
        return option_refuse(r->t, NULL, "--quick and --full contradict each other%s", "");
    if (o->json && o->verbosity < 0)
        return option_refuse(r->t, NULL, "--json and -q contradict each other%s", "");
    if (o->json && o->output && !strcmp(o->output, "-"))
        return option_refuse(r->t, "standard output carries one thing: give -o a file",
                             "--json and '-o %s' contradict each other", o->output);
    if (o->other && o->act != PROFILE_COMPARE)
        return option_refuse(r->t, "a profile is named by --show, --validate or --compare",
                             "'%s' is not expected", o->other);
    if (o->set_default && o->output)
        return option_refuse(r->t, "a default is known in every folder: leave -o out; "
                                   "ROLLER_PROFILE=FILE chooses a file for a while",
                             "--set-default and '-o %s' contradict each other", o->output);
    if (o->set_default && o->act != PROFILE_MEASURE)
        return option_refuse(r->t, NULL, "--set-default is for a measurement%s", "");
    return ST_OK;
}

static OptionTable table_of(Arena *a, Diag *d, Reader *r) {
    return (OptionTable){.a = a, .d = d, .tool = "roller-profile", .row = rows,
                         .n = PROFILE_OPT_COUNT, .take = take, .word = word, .user = r};
}

Status profile_options(Arena *a, Diag *d, int argc, char **argv, ProfileOptions *out) {
    *out = (ProfileOptions){.device = "0", .seed = 1};
    Reader r = {.o = out};
    OptionTable t = table_of(a, d, &r);
    r.t = &t;
    Status s = option_scan(&t, argc, argv);
    if (s || out->act == PROFILE_SHEET || out->act == PROFILE_VERSION) return s;
    return consistent(&r);
}

/* ---- what the reader is told ---- */
static const char *const bench_name[] = {
#define X(name, quick, full, text) #name,
    PROFILER_BENCHES(X)
#undef X
};
static const char *const usage[] = {"[options]", "--compare OLD.json [NEW.json]", NULL};
static const char *const text[] = {
    "Measures a GPU by micro-benchmarks and writes its profile, which roller-gen plans with.",
    "The profile goes to NAME.json among the user's own, NAME being the GPU's name in lower case "
    "without the words of its brand. Needed are the driver and NVRTC, no counters and no "
    "privileges. Other programs that use the GPU meanwhile show up as noise.",
    NULL};
static const char found[] = "roller-gen --list-profiles 2>/dev/null | sed \"s/ .*//\"";
static const SheetWords words[] = {
    {PROFILE_OPT_ONLY, bench_name, sizeof bench_name / sizeof *bench_name, NULL},
    {PROFILE_OPT_SHOW, NULL, 0, found},
    {PROFILE_OPT_VALIDATE, NULL, 0, found}};
static const SheetLine exits[] = {{"0", "done"},
                                  {"1", "a profile is wrong"},
                                  {"2", "usage"},
                                  {"3", "environment"},
                                  {"4", "our fault"},
                                  {"5", "written, but some figures could not be measured"},
                                  {"128+n", "ended by signal n"},
                                  {NULL, NULL}};
static const SheetLine environment[] = {
    {"ROLLER_PROFILE_PATH", "folders that are searched for profiles before all others"},
    {"ROLLER_NVRTC", "absolute path of the NVRTC to compile with"},
    {"ROLLER_LIBCUDA", "absolute path of the CUDA driver"},
    {"ROLLER_WORKER", "absolute path of the worker that uses devices (the tool itself)"},
    {"CUDA_PATH", "a CUDA toolkit, whose NVRTC is used"},
    {"NO_COLOR, TERM", "a NO_COLOR that is not empty, or a TERM of dumb, keeps messages plain"},
    {NULL, NULL}};
static const SheetLine files[] = {
    {"$XDG_DATA_HOME/roller/profiles/NAME.json",
     "what is written (else ~/.local/share/roller/profiles/NAME.json)"},
    {"$XDG_DATA_HOME/roller/profiles/default", "the name that --set-default sets"},
    {NULL, NULL}};
static const SheetLine examples[] = {
    {"roller-profile --set-default", "Measure the first GPU, and plan for it from now on:"},
    {"roller-profile --compare old.json", "What has changed since:"},
    {NULL, NULL}};
const Sheet profile_tool_sheet = {.tool = "roller-profile",
                                  .purpose = "measure what a GPU can do",
                                  .usage = usage,
                                  .text = text,
                                  .operand = "json",
                                  .row = rows,
                                  .n = PROFILE_OPT_COUNT,
                                  .width = 24,
                                  .words = words,
                                  .n_words = sizeof words / sizeof *words,
                                  .exits = exits,
                                  .environment = environment,
                                  .files = files,
                                  .examples = examples};
