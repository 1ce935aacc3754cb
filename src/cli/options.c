#include "cli/options.h"
#include "roller.h"
#include <string.h>

static const OptionRow rows[] = {
#define X(id, name, letter, arg, text) {name, letter, arg, text},
    GEN_OPTIONS(X)
#undef X
};

static const char *const dump_name[] = {
#define X(id, name) name,
    GEN_DUMPS(X)
#undef X
};

typedef struct {
    Arena *a;
    const OptionTable *t;
    GenOptions *o;
} Reader;

static void add_word(Arena *a, Words *w, const char *s, size_t len) {
    const char **grown = ARENA_ARRAY(a, const char *, w->n + 1);
    if (w->n) memcpy(grown, w->item, (size_t)w->n * sizeof *grown);
    grown[w->n++] = arena_strndup(a, s, len);
    w->item = grown;
}

static void add_list(Arena *a, Words *w, const char *s) {
    for (;;) {
        size_t n = strcspn(s, ",");
        if (n) add_word(a, w, s, n);
        if (!s[n]) return;
        s += n + 1;
    }
}

/* Comma-separated names to bits.  */
static Status bits(Reader *r, const char *list, const char *const *name, int n, const char *what,
                   uint32_t *out) {
    Words w = {0};
    add_list(r->a, &w, list);
    for (int i = 0; i < w.n; i++) {
        int k = 0;
        while (k < n && strcmp(w.item[i], name[k]) != 0) k++;
        if (k < n) {
            *out |= 1u << k;
            continue;
        }
        Buf hint = buf_new(r->a);
        buf_printf(&hint, "%s takes", what);
        for (k = 0; k < n; k++) buf_printf(&hint, " %s", name[k]);
        const char *fmt = arena_printf(r->a, "%s does not take '%%s'", what);
        return option_refuse(r->t, buf_str(&hint), fmt, w.item[i]);
    }
    return ST_OK;
}

/* "sm_90a" also as 90a, sm90a, compute_90a or 9.0.  */
static const char *arch_name(Arena *a, const char *text) {
    static const char *const prefix[] = {"sm_", "sm", "compute_"};
    const char *p = text;
    for (int i = 0; i < 3 && p == text; i++)
        if (!strncmp(text, prefix[i], strlen(prefix[i]))) p += strlen(prefix[i]);
    size_t n = strspn(p, "0123456789"), dot = p[n] == '.';
    size_t minor = dot ? strspn(p + n + 1, "0123456789") : 0;
    const char *rest = p + n + dot + minor;
    bool known = n && (minor || !dot) && (!*rest || !rest[1]);
    if (!known) return text;
    return arena_printf(a, "sm_%.*s%.*s%s", (int)n, p, (int)minor, p + n + dot, rest);
}

static const char array_hint[] = "write NAME=FILE.npy, or NAME=NUMBER for a scalar";

static Status act(Reader *r, GenAct what) {
    if (r->o->act != ACT_GENERATE && r->o->act != what)
        return option_refuse(r->t, NULL,
                             "only one of -h -V -M, lists and --cache-clear can be given%s", "");
    r->o->act = what;
    return ST_OK;
}

/* What is made, of what and for what.  */
static Status take_made(Reader *r, GenOptionId id, const char *value) {
    GenOptions *o = r->o;
    uint64_t n = 0;
    Status s = ST_OK;
    switch (id) {
    case GEN_DEFINE: add_word(r->a, &o->defines, value, strlen(value)); break;
    case GEN_OP: o->op = value; break;
    case GEN_PROFILE: add_list(r->a, &o->profiles, value); break;
    case GEN_ARCH:
        add_list(r->a, &o->archs, value);
        for (int i = 0; i < o->archs.n; i++)
            o->archs.item[i] = arch_name(r->a, o->archs.item[i]);
        break;
    case GEN_OUTPUT: o->output = value; break;
    case GEN_EMIT:
        o->emit = 0;
        o->emit_given = true;
        return bits(r, value, gen_emit_name, EMIT_COUNT, "--emit", &o->emit);
    case GEN_TOP:
        s = option_number(r->t, value, 1, 1000, &n);
        o->top = (int)n;
        break;
    case GEN_PLAN: o->plan = value; break;
    case GEN_ABI:
        o->plain_abi = strcmp(value, "plain") == 0;
        if (o->plain_abi || strcmp(value, "any") == 0) break;
        return option_refuse(r->t, "any, or plain: pointers and scalars only",
                             "--abi does not take '%s'", value);
    case GEN_ALIGN:
        s = option_number(r->t, value, 1, 4096, &n);
        if (!s && (n & (n - 1)) != 0)
            return option_refuse(r->t, NULL, "the alignment must be a power of two, not '%s'",
                                 value);
        o->align = (int)n;
        break;
    case GEN_FAST_COMPILE: o->fast_compile = true; break;
    case GEN_STATIC_SMEM: o->static_smem = true; break;
    case GEN_WORKSPACE:
        s = option_bytes(r->t, value, 0, INT64_MAX / 16, &n);
        o->workspace_limit = (int64_t)n;
        break;
    case GEN_PROGRAMS:
        s = option_number(r->t, value, 1, ROLLER_MAX_PROGRAMS, &n);
        o->programs = (int)n;
        break;
    case GEN_EINSUM: o->einsum = value; break;
    case GEN_THREADS:
        s = option_number(r->t, value, 1, 16, &n);
        o->threads = (int)n;
        break;
    case GEN_LINE_INFO: o->line_info = true; break;
    default: break;
    }
    return s;
}

/* Running it: checks and measurements.  */
static Status take_run(Reader *r, GenOptionId id, const char *value) {
    GenOptions *o = r->o;
    uint64_t n = 0;
    Status s = ST_OK;
    switch (id) {
    case GEN_CHECK: o->check = true; break;
    case GEN_AT: add_word(r->a, &o->at, value, strlen(value)); break;
    case GEN_IN: return option_binding(r->t, value, array_hint, &o->in, &o->n_in);
    case GEN_OUT: return option_binding(r->t, value, array_hint, &o->out, &o->n_out);
    case GEN_DEVICE: o->device = value; break;
    case GEN_MEASURE: o->measure = true; break;
    case GEN_TRIALS:
        s = option_number(r->t, value, 1, 1000, &n);
        o->trials = (int)n;
        break;
    case GEN_TIME_LIMIT:
        s = option_seconds(r->t, value, 1, 864000, &n);
        o->time_limit = (double)n;
        break;
    case GEN_WATCHDOG:
        s = option_seconds(r->t, value, 1, 86400, &n);
        o->watchdog = (double)n;
        break;
    case GEN_SEED: return option_number(r->t, value, 1, INT64_MAX / 16, &o->seed);
    case GEN_BUDGET:
        s = option_seconds(r->t, value, 1, 86400, &n);
        o->budget = (double)n;
        break;
    case GEN_COUNTERS: o->check = o->counters = true; break;
    default: break;
    }
    return s;
}

static Status generate(Reader *r, const char *value) {
    Status s = sheet_form(r->t, value, &r->o->form);
    return s ? s : act(r, ACT_SHEET);
}

static Status take(void *user, int id, const char *value) {
    Reader *r = user;
    GenOptions *o = r->o;
    switch ((GenOptionId)id) {
    case GEN_DEFINE:
    case GEN_OP:
    case GEN_PROFILE:
    case GEN_ARCH:
    case GEN_OUTPUT:
    case GEN_EMIT:
    case GEN_TOP:
    case GEN_PLAN:
    case GEN_ABI:
    case GEN_ALIGN:
    case GEN_FAST_COMPILE:
    case GEN_STATIC_SMEM:
    case GEN_WORKSPACE:
    case GEN_PROGRAMS:
    case GEN_EINSUM:
    case GEN_THREADS:
    case GEN_LINE_INFO: return take_made(r, (GenOptionId)id, value);
    case GEN_CHECK:
    case GEN_AT:
    case GEN_IN:
    case GEN_OUT:
    case GEN_DEVICE:
    case GEN_MEASURE:
    case GEN_TRIALS:
    case GEN_TIME_LIMIT:
    case GEN_WATCHDOG:
    case GEN_SEED:
    case GEN_BUDGET:
    case GEN_COUNTERS: return take_run(r, (GenOptionId)id, value);
    case GEN_EXPLAIN: o->explain = true; break;
    case GEN_DUMP: return bits(r, value, dump_name, DUMP_COUNT, "--dump", &o->dump);
    case GEN_JSON: o->json = true; break;
    case GEN_DRY_RUN: o->dry_run = true; break;
    case GEN_MAKE_RULE: return act(r, ACT_MAKE_RULE);
    case GEN_MAKE_RULE_TOO: o->make_rule_too = true; break;
    case GEN_LIST_ARCH: return act(r, ACT_LIST_ARCH);
    case GEN_LIST_PROFILES: return act(r, ACT_LIST_PROFILES);
    case GEN_LIST_OPS: return act(r, ACT_LIST_OPS);
    case GEN_CACHE_DIR: o->cache_dir = value; break;
    case GEN_CACHE_KEY_FILE: o->cache_key_file = value; break;
    case GEN_NO_CACHE: o->no_cache = true; break;
    case GEN_CACHE_LIST: return act(r, ACT_CACHE_LIST);
    case GEN_CACHE_CLEAR: return act(r, ACT_CACHE_CLEAR);
    case GEN_VERBOSE: o->verbosity = 1; break;
    case GEN_QUIET: o->verbosity = -1; break;
    case GEN_COLOR: return option_when(r->t, value, &o->color);
    case GEN_PROGRESS: return option_when(r->t, value, &o->progress);
    case GEN_WERROR: o->werror = true; break;
    case GEN_HELP: o->form = SHEET_HELP; return act(r, ACT_SHEET);
    case GEN_GENERATE: return generate(r, value);
    case GEN_VERSION: return act(r, ACT_VERSION);
    case GEN_OPTION_COUNT: break;
    }
    return ST_OK;
}

static Status word(void *user, const char *text) {
    Reader *r = user;
    if (r->o->input) return option_refuse(r->t, "one file at a time", "a second input '%s'", text);
    r->o->input = text;
    return ST_OK;
}

/* What -o's ending names is what is written there.  */
static Status ending(Reader *r) {
    GenOptions *o = r->o;
    int kind = gen_kind_named(o->output);
    if (kind == EMIT_COUNT || o->emit & 1u << kind) return ST_OK;
    if (o->emit_given)
        return option_refuse(r->t, "add it to --emit, or name another file",
                             "'%s' names an artefact that --emit does not list", o->output);
    o->emit = 1u << kind;
    return ST_OK;
}

static Status consistent(Reader *r) {
    const GenOptions *o = r->o;
    bool needs_file = o->act == ACT_GENERATE || o->act == ACT_LIST_OPS || o->act == ACT_MAKE_RULE;
    if (o->einsum && o->input)
        return option_refuse(r->t, "the notation stands for the file",
                             "--einsum and the file '%s' contradict each other", o->input);
    if (o->einsum && o->act == ACT_MAKE_RULE)
        return option_refuse(r->t, NULL, "-M is for files, and --einsum '%s' is none", o->einsum);
    if (needs_file && !o->input && !o->einsum)
        return option_refuse(r->t, "usage: roller-gen [options] FILE.te (- reads standard input)",
                             "no input file%s", "");
    if (o->no_cache && (o->cache_dir || o->cache_key_file || o->act == ACT_CACHE_LIST ||
                        o->act == ACT_CACHE_CLEAR))
        return option_refuse(r->t, NULL, "--no-cache and what is for the cache contradict each "
                                         "other%s", "");
    if (o->cache_dir && !*o->cache_dir)
        return option_refuse(r->t, "--no-cache uses none", "--cache-dir is empty%s", "");
    if (o->json && o->output && strcmp(o->output, "-") == 0)
        return option_refuse(r->t, "standard output carries one thing: give -o a file",
                             "--json and '-o %s' contradict each other", o->output);
    if (o->json && o->verbosity < 0)
        return option_refuse(r->t, NULL, "--json and -q contradict each other%s", "");
    if (o->plan && o->top > 1)
        return option_refuse(r->t, NULL,
                             "--plan gives one plan: it cannot be combined with --top%s", "");
    if (o->measure && o->device && strcmp(o->device, "sim") == 0)
        return option_refuse(r->t, "the simulator's times are the model's own: --device N or UUID",
                             "--measure needs a device, not '%s'", o->device);
    if (o->time_limit > 0 && !o->measure)
        return option_refuse(r->t, NULL, "--time-limit is for --measure%s", "");
    if (o->trials > 0 && !o->measure)
        return option_refuse(r->t, NULL, "--trials is for --measure%s", "");
    if (o->plan && o->archs.n + o->profiles.n > 1)
        return option_refuse(r->t, NULL, "--plan '%s' is for one target", o->plan);
    return ending(r);
}

int gen_kind_named(const char *path) {
    size_t len = path ? strlen(path) : 0, longest = 0;
    int kind = EMIT_COUNT;
    for (int i = 0; i < EMIT_COUNT; i++) {
        size_t n = strlen(gen_emit_end[i]);
        if (n <= longest || len <= n || path[len - n - 1] != '.') continue;
        if (strcmp(path + len - n, gen_emit_end[i]) != 0) continue;
        longest = n;
        kind = i;
    }
    return kind;
}

Status gen_options(Arena *a, Diag *d, int argc, char **argv, GenOptions *out) {
    *out = (GenOptions){.align = 16, .seed = 1, .budget = 60};
    Reader r = {.a = a, .o = out};
    OptionTable t = sheet_options(&gen_sheet, a, d);
    t.take = take;
    t.word = word;
    t.user = &r;
    r.t = &t;
    Status s = option_scan(&t, argc, argv);
    if (s || out->act == ACT_SHEET || out->act == ACT_VERSION) return s;
    s = consistent(&r);
    if (out->top == 0) out->top = out->measure && !out->plan ? 10 : 1;
    return s;
}

/* ---- what the reader is told ---- */
const Sheet gen_sheet = {
    .tool = "roller-gen",
    .purpose = "make a CUDA kernel of a tensor expression",
    .usage = (const char *const[]){"[options] FILE.te", NULL},
    .text = (const char *const[]){
        "Plans and writes a CUDA kernel for a tensor expression (- reads standard input); no GPU "
        "is needed.",
        "Tiles are built level by level so that they fit the units in which the device moves data "
        "and computes. The time of every program is calculated, and the best is written as CUDA "
        "C++. NVRTC compiles it; --check proves it on a device or in a simulator.",
        "Without options roller-gen plans for the default profile, writes STEM.cu into the current "
        "folder, and prints the plan, its predicted time and what limits it.",
        NULL},
    .operand = "te",
    .row = rows,
    .n = GEN_OPTION_COUNT,
    .width = 34,
    .words = (const SheetWords[]){
        {GEN_EMIT, gen_emit_name, EMIT_COUNT, NULL},
        {GEN_DUMP, dump_name, DUMP_COUNT, NULL},
        {GEN_OP, NULL, 0,
         "echo all; roller-gen --list-ops \"$input\" 2>/dev/null | sed \"s/(.*//\""},
        {GEN_PROFILE, NULL, 0, SHEET_PROFILES},
        {GEN_ARCH, NULL, 0, SHEET_ARCHS},
        {-1, NULL, 0, NULL}},
    .exits = (const SheetLine[]){
        {"0", "done"},
        {"1", "the input is wrong"},
        {"2", "wrong options"},
        {"3", "a file, profile, device, driver or NVRTC is missing"},
        {"4", "a fault of roller"},
        {"5", "a check failed"},
        {"128+n", "ended by signal n"},
        SHEET_END},
    .environment = (const SheetLine[]){
        {"ROLLER_PROFILE", "the profile to plan for when --profile is not given"},
        SHEET_PROFILE_PATH,
        {"ROLLER_CACHE_DIR", "the folder of the kernel cache; empty: none is used"}, SHEET_NVRTC,
        {"ROLLER_REFUSED", "fail: a source that NVRTC refuses is an error, no next plan is taken"},
        SHEET_LIBCUDA, SHEET_WORKER, SHEET_CUDA_PATH, {"CC", "the C compiler of --emit so (cc)"},
        SHEET_COLORS, SHEET_END},
    .files = (const SheetLine[]){
        {"./profiles", "profiles of the current folder"},
        {"$XDG_DATA_HOME/roller/profiles", "the user's own (else ~/.local/share/roller/profiles)"},
        {"PREFIX/share/roller/profiles", "those that come with roller"},
        {"$XDG_CACHE_HOME/roller", "the kernel cache (else ~/.cache/roller)"},
        SHEET_END},
    .examples = (const SheetLine[]){
        {"roller-gen matmul.te", "Plan, write matmul.cu, say what it predicts:"},
        {"roller-gen --check --dry-run matmul.te", "Prove the compiled kernel, write nothing:"},
        {"roller-gen --profile a100,rtx4090 --emit=cu,cubin,json -o mm.cu matmul.te",
         "Kernels for two GPUs, with what a launch needs:"},
        SHEET_END},
};
