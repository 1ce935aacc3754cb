#include "cli/sim_options.h"
#include <string.h>

static const OptionRow rows[] = {
#define X(id, name, letter, arg, text) {name, letter, arg, text},
    SIM_TOOL_OPTIONS(X)
#undef X
};

typedef struct {
    Arena *a;
    const OptionTable *t;
    SimToolOptions *o;
} Reader;

/* X, X,Y or X,Y,Z; what is left out is 1.  */
static Status three(Reader *r, const char *text, uint32_t out[3]) {
    const char *p = text;
    for (int k = 0; k < 3; k++) {
        const char *end = p + strcspn(p, ",");
        uint64_t v = 1;
        if (*p || k == 0) {
            Status s = option_number(r->t, arena_strndup(r->a, p, (size_t)(end - p)), 0,
                                     UINT32_MAX, &v);
            if (s != ST_OK) return s;
        }
        out[k] = (uint32_t)v;
        p = *end && k < 2 ? end + 1 : end;
    }
    if (!*p) return ST_OK;
    return option_refuse(r->t, "write X, X,Y or X,Y,Z", "'%s' has too many sizes", text);
}

static Status small(Reader *r, const char *text, uint64_t most, int *out) {
    uint64_t v;
    Status s = option_number(r->t, text, 0, most, &v);
    if (s == ST_OK) *out = (int)v;
    return s;
}

static Status take(void *user, int id, const char *value) {
    Reader *r = user;
    SimToolOptions *o = r->o;
    uint64_t v = 0;
    Status s = ST_OK;
    switch ((SimToolOption)id) {
    case SIM_OPT_ENTRY: o->entry = value; break;
    case SIM_OPT_GRID: return three(r, value, o->grid);
    case SIM_OPT_BLOCK: return three(r, value, o->block);
    case SIM_OPT_CLUSTER: return three(r, value, o->cluster);
    case SIM_OPT_SMEM:
        s = option_number(r->t, value, 0, 1 << 24, &v);
        o->smem = (uint32_t)v;
        break;
    case SIM_OPT_IN:
        return option_binding(r->t, value, "write NAME=FILE.npy or NAME=NUMBER", &o->in, &o->n_in);
    case SIM_OPT_ALLOC:
        return option_binding(r->t, value, "write NAME=TYPE[N,M,..]", &o->alloc, &o->n_alloc);
    case SIM_OPT_MAP:
        return option_binding(r->t, value, "write NAME=box=NxM,swizzle=128", &o->map, &o->n_map);
    case SIM_OPT_OUT: return option_binding(r->t, value, "write NAME=FILE.npy", &o->out, &o->n_out);
    case SIM_OPT_PROFILE: o->profile = value; break;
    case SIM_OPT_ARCH: o->arch = value; break;
    case SIM_OPT_SEED: return option_number(r->t, value, 0, UINT64_MAX, &o->seed);
    case SIM_OPT_ERRORS: return option_number(r->t, value, 0, UINT64_MAX, &o->errors);
    case SIM_OPT_LIMIT: return option_number(r->t, value, 0, UINT64_MAX, &o->limit);
    case SIM_OPT_THREADS: return small(r, value, 16, &o->threads);
    case SIM_OPT_COLOR: return option_when(r->t, value, &o->color);
    case SIM_OPT_BENIGN: o->benign = true; break;
    case SIM_OPT_STRICT: o->strict = true; break;
    case SIM_OPT_NO_RACES: o->no_races = true; break;
    case SIM_OPT_COUNTERS: o->counters = true; break;
    case SIM_OPT_PTX: o->ptx = true; break;
    case SIM_OPT_JSON: o->json = true; break;
    case SIM_OPT_QUIET: o->quiet = true; break;
    case SIM_OPT_HELP: o->form = SHEET_HELP; break;
    case SIM_OPT_GENERATE: return sheet_form(r->t, value, &o->form);
    default: o->version = true; break;
    }
    return s;
}

static Status word(void *user, const char *text) {
    Reader *r = user;
    if (r->o->input) return option_refuse(r->t, NULL, "'%s' is one input too many", text);
    r->o->input = text;
    return ST_OK;
}

Status simtool_options(Arena *a, Diag *d, int argc, char **argv, SimToolOptions *out) {
    *out = (SimToolOptions){.grid = {1, 1, 1}, .seed = 1};
    Reader r = {.a = a, .o = out};
    OptionTable t = sheet_options(&sim_sheet, a, d);
    t.take = take;
    t.word = word;
    t.user = &r;
    r.t = &t;
    Status s = option_scan(&t, argc, argv);
    if (s || out->input || out->form || out->version) return s;
    return option_refuse(&t, "roller-sim KERNEL.cu --entry K --grid X --block X --in ...",
                         "no kernel is given%s", "");
}

/* ---- what the reader is told ---- */
const Sheet sim_sheet = {
    .tool = "roller-sim",
    .purpose = "run a CUDA kernel without a GPU and find its faults",
    .usage = (const char *const[]){"[options] KERNEL.cu | KERNEL.ptx", NULL},
    .text = (const char *const[]){
        "Runs a kernel on the CPU, checks every access and counts.",
        "Races, missing waits, accesses out of bounds and reads of what was never written are "
        "faults, each with its PTX line, block and thread. Asynchronous copies land as late as "
        "the kernel's waits allow.",
        NULL},
    .operand = "cu ptx",
    .row = rows,
    .n = SIM_OPT_COUNT,
    .width = 29,
    .words = (const SheetWords[]){
        {SIM_OPT_PROFILE, NULL, 0, SHEET_PROFILES},
        {SIM_OPT_ARCH, NULL, 0, SHEET_ARCHS},
        {-1, NULL, 0, NULL}},
    .exits = (const SheetLine[]){
        {"0", "done"},
        {"1", "the input is wrong"},
        {"2", "wrong options"},
        {"3", "a file, profile, device, driver or NVRTC is missing"},
        {"4", "a fault of roller"},
        {"5", "the kernel has a fault"},
        SHEET_END},
    .environment = (const SheetLine[]){
        {"ROLLER_PROFILE", "the simulated GPU when --profile is not given"}, SHEET_PROFILE_PATH,
        SHEET_NVRTC, SHEET_CUDA_PATH, SHEET_COLORS, SHEET_END},
    .examples = (const SheetLine[]){
        {"roller-sim add.cu --grid 4 --block 256 --in x=x.npy --in n=1024 --alloc y=f32[1024] "
         "--out y=y.npy", "Run a kernel on an array and keep what it writes:"},
        SHEET_END},
};
