#include "cli/profile_options.h"
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
    case PROFILE_OPT_FROM: o->from = value; break;
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
    if (o->from && (!o->calibrate || o->act != PROFILE_MEASURE))
        return option_refuse(r->t, "roller-profile --calibrate --from FILE PROFILE",
                             "--from is for --calibrate%s", "");
    if (o->from && (o->quick || r->full || o->only || o->limit_s || o->dry_run))
        return option_refuse(r->t, NULL, "--from measures nothing: --quick --full --only --limit "
                             "-n say how to measure%s", "");
    if (o->other && o->act != PROFILE_COMPARE && !o->from)
        return option_refuse(r->t, "a profile is named by --show, --validate, --compare or --from",
                             "'%s' is not expected", o->other);
    if (o->set_default && o->output)
        return option_refuse(r->t, "a default is known in every folder: leave -o out; "
                                   "ROLLER_PROFILE=FILE chooses a file for a while",
                             "--set-default and '-o %s' contradict each other", o->output);
    if (o->set_default && o->act != PROFILE_MEASURE)
        return option_refuse(r->t, NULL, "--set-default is for a measurement%s", "");
    return ST_OK;
}

Status profile_options(Arena *a, Diag *d, int argc, char **argv, ProfileOptions *out) {
    *out = (ProfileOptions){.device = "0", .seed = 1};
    Reader r = {.o = out};
    OptionTable t = sheet_options(&profile_tool_sheet, a, d);
    t.take = take;
    t.word = word;
    t.user = &r;
    r.t = &t;
    Status s = option_scan(&t, argc, argv);
    if (s || out->act == PROFILE_SHEET || out->act == PROFILE_VERSION) return s;
    return consistent(&r);
}

/* ---- what the reader is told ---- */
const Sheet profile_tool_sheet = {
    .tool = "roller-profile",
    .purpose = "measure what a GPU can do",
    .usage = (const char *const[]){"[options]", "--compare OLD.json [NEW.json]",
                                   "--calibrate --from TIMES.csv [PROFILE]", NULL},
    .text = (const char *const[]){
        "Measures a GPU by micro-benchmarks and writes its profile, which roller-gen plans with.",
        "The profile goes to NAME.json among the user's own. NAME is the GPU's name in lower case "
        "without the words of its brand. This needs the driver and NVRTC, but neither counters "
        "nor privileges. Other programs that use the GPU meanwhile show up as noise.",
        NULL},
    .operand = "json",
    .row = rows,
    .n = PROFILE_OPT_COUNT,
    .width = 24,
    .words = (const SheetWords[]){
        {PROFILE_OPT_ONLY, NULL, 0,
         "roller-profile --dry-run 2>/dev/null | sed \"s/ .*//;/^all/d\""},
        {PROFILE_OPT_SHOW, NULL, 0, SHEET_PROFILES},
        {PROFILE_OPT_VALIDATE, NULL, 0, SHEET_PROFILES},
        {-1, NULL, 0, NULL}},
    .exits = (const SheetLine[]){
        {"0", "done"},
        {"1", "a profile is wrong"},
        {"2", "wrong options"},
        {"3", "a file, profile, device, driver or NVRTC is missing"},
        {"4", "a fault of roller"},
        {"5", "written, but some figures could not be measured"},
        {"128+n", "ended by signal n"},
        SHEET_END},
    .environment = (const SheetLine[]){
        SHEET_PROFILE_PATH, SHEET_NVRTC, SHEET_LIBCUDA, SHEET_WORKER, SHEET_CUDA_PATH,
        SHEET_COLORS, SHEET_END},
    .files = (const SheetLine[]){
        {"$XDG_DATA_HOME/roller/profiles/NAME.json",
        "what is written (else ~/.local/share/roller/profiles/NAME.json)"},
        {"$XDG_DATA_HOME/roller/profiles/default", "the name that --set-default sets"},
        SHEET_END},
    .examples = (const SheetLine[]){
        {"roller-profile --set-default", "Measure the first GPU, and plan for it from now on:"},
        {"roller-profile --compare old.json", "What has changed since:"},
        {"roller-profile --calibrate --from times.csv h100 -o h100-fitted.json",
        "Fit a profile to times that are known:"},
        SHEET_END},
};
