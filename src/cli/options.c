#include "cli/options.h"
#include <stdlib.h>
#include <string.h>

typedef struct {
    const char *name;
    char letter;
    const char *arg, *text;
} OptionRow;

static const OptionRow table[] = {
#define X(id, name, letter, arg, text) {name, letter, arg, text},
    GEN_OPTIONS(X)
#undef X
};

static const char *const dump_name[] = {
#define X(id, name) name,
    GEN_DUMPS(X)
#undef X
};

static const char *const emit_name[] = {
#define X(id, name) name,
    GEN_EMITS(X)
#undef X
};

typedef struct {
    Arena *a;
    Diag *d;
    GenOptions *o;
    int argc, at;
    char **argv;
} Reader;

static Status usage(Reader *r, const char *hint, const char *fmt, const char *what) {
    Status s = diag_error(r->d, ST_USAGE, NULL, DIAG_NOWHERE, fmt, what);
    if (hint) diag_hint(r->d, "%s", hint);
    return s;
}

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
        return usage(r, buf_str(&hint), "'%s' is not in the list", w.item[i]);
    }
    return ST_OK;
}

static Status number(Reader *r, const char *text, int64_t lo, int64_t hi, int64_t *out) {
    int64_t v = 0;
    const char *p = text;
    for (; *p >= '0' && *p <= '9' && v <= hi; p++) v = v * 10 + (*p - '0');
    if (p == text || *p || v < lo || v > hi) {
        const char *hint = arena_printf(r->a, "a whole number from %lld to %lld is accepted",
                                        (long long)lo, (long long)hi);
        return usage(r, hint, "'%s' is not accepted here", text);
    }
    *out = v;
    return ST_OK;
}

static Status when(Reader *r, const char *text, When *out) {
    static const char *const name[] = {"auto", "always", "never"};
    for (int i = 0; i < 3; i++) {
        if (strcmp(text, name[i]) != 0) continue;
        *out = (When)i;
        return ST_OK;
    }
    return usage(r, "WHEN is auto, always or never", "'%s' is not accepted here", text);
}

static Status binding(Reader *r, const char *text, Binding **list, int *n) {
    const char *eq = strchr(text, '=');
    if (!eq || eq == text || !eq[1])
        return usage(r, "write NAME=FILE.npy, or NAME=NUMBER for a scalar", "'%s' names no file",
                     text);
    Binding *grown = ARENA_ARRAY(r->a, Binding, *n + 1);
    if (*n) memcpy(grown, *list, (size_t)*n * sizeof *grown);
    grown[(*n)++] = (Binding){arena_strndup(r->a, text, (size_t)(eq - text)), eq + 1};
    *list = grown;
    return ST_OK;
}

static Status act(Reader *r, GenAct what) {
    if (r->o->act != ACT_GENERATE && r->o->act != what)
        return usage(r, NULL, "only one of -h -V -M and the --list options can be given%s", "");
    r->o->act = what;
    return ST_OK;
}

static Status apply(Reader *r, GenOptionId id, const char *value) {
    GenOptions *o = r->o;
    int64_t n = 0;
    Status s = ST_OK;
    switch (id) {
    case GEN_DEFINE: add_word(r->a, &o->defines, value, strlen(value)); break;
    case GEN_OP: o->op = value; break;
    case GEN_PROFILE: add_list(r->a, &o->profiles, value); break;
    case GEN_ARCH: add_list(r->a, &o->archs, value); break;
    case GEN_OUTPUT: o->output = value; break;
    case GEN_EMIT:
        o->emit = 0;
        return bits(r, value, emit_name, EMIT_COUNT, "--emit", &o->emit);
    case GEN_TOP:
        s = number(r, value, 1, 1000, &n);
        o->top = (int)n;
        break;
    case GEN_PLAN: o->plan = value; break;
    case GEN_ALIGN:
        s = number(r, value, 1, 4096, &n);
        if (!s && (n & (n - 1)) != 0)
            return usage(r, NULL, "the alignment must be a power of two, not '%s'", value);
        o->align = (int)n;
        break;
    case GEN_WORKSPACE: s = number(r, value, 0, INT64_MAX / 16, &o->workspace_limit); break;
    case GEN_CHECK: o->check = true; break;
    case GEN_IN: return binding(r, value, &o->in, &o->n_in);
    case GEN_OUT: return binding(r, value, &o->out, &o->n_out);
    case GEN_DEVICE: o->device = value; break;
    case GEN_MEASURE: o->measure = true; break;
    case GEN_TIME_LIMIT:
        s = number(r, value, 1, 864000, &n);
        o->time_limit = (double)n;
        break;
    case GEN_WATCHDOG:
        s = number(r, value, 1, 86400, &n);
        o->watchdog = (double)n;
        break;
    case GEN_SEED:
        s = number(r, value, 1, INT64_MAX / 16, &n);
        o->seed = (uint64_t)n;
        break;
    case GEN_BUDGET:
        s = number(r, value, 1, 86400, &n);
        o->budget = (double)n;
        break;
    case GEN_COUNTERS: o->check = o->counters = true; break;
    case GEN_EXPLAIN: o->explain = true; break;
    case GEN_DUMP: return bits(r, value, dump_name, DUMP_COUNT, "--dump", &o->dump);
    case GEN_JSON: o->json = true; break;
    case GEN_DRY_RUN: o->dry_run = true; break;
    case GEN_MAKE_RULE: return act(r, ACT_MAKE_RULE);
    case GEN_LIST_ARCH: return act(r, ACT_LIST_ARCH);
    case GEN_LIST_PROFILES: return act(r, ACT_LIST_PROFILES);
    case GEN_LIST_OPS: return act(r, ACT_LIST_OPS);
    case GEN_LINE_INFO: o->line_info = true; break;
    case GEN_VERBOSE: o->verbosity = 1; break;
    case GEN_QUIET: o->verbosity = -1; break;
    case GEN_COLOR: return when(r, value, &o->color);
    case GEN_PROGRESS: {
        When unused;
        return when(r, value, &unused);
    }
    case GEN_WERROR: o->werror = true; break;
    case GEN_HELP: return act(r, ACT_HELP);
    case GEN_VERSION: return act(r, ACT_VERSION);
    case GEN_OPTION_COUNT: break;
    }
    return s;
}

/* Positions in which a and b differ, for "did you mean".  */
static size_t unlike(const char *a, const char *b) {
    size_t n = 0;
    for (; *a && *b; a++, b++) n += *a != *b;
    return n + strlen(a) + strlen(b);
}

static Status unknown(Reader *r, const char *text) {
    const char *best = NULL;
    size_t least = 3;
    for (int i = 0; i < GEN_OPTION_COUNT; i++) {
        size_t far = unlike(text + strspn(text, "-"), table[i].name);
        if (far >= least) continue;
        least = far;
        best = table[i].name;
    }
    const char *hint = best ? arena_printf(r->a, "did you mean --%s?", best)
                            : "roller-gen --help lists the options";
    return usage(r, hint, "unknown option '%s'", text);
}

static Status value_of(Reader *r, const OptionRow *row, const char *attached, const char *as,
                       const char **out) {
    *out = attached;
    if (!row->arg)
        return attached ? usage(r, NULL, "option '%s' takes no value", as) : ST_OK;
    if (attached) return ST_OK;
    if (r->at >= r->argc)
        return usage(r, arena_printf(r->a, "write %s %s", as, row->arg),
                     "option '%s' needs a value", as);
    *out = r->argv[r->at++];
    return ST_OK;
}

static Status long_option(Reader *r, const char *text) {
    const char *name = text + 2, *eq = strchr(name, '=');
    size_t len = eq ? (size_t)(eq - name) : strlen(name);
    for (int i = 0; i < GEN_OPTION_COUNT; i++) {
        if (strlen(table[i].name) != len || memcmp(table[i].name, name, len) != 0) continue;
        const char *value;
        Status s = value_of(r, &table[i], eq ? eq + 1 : NULL, text, &value);
        return s ? s : apply(r, (GenOptionId)i, value);
    }
    return unknown(r, text);
}

static Status short_option(Reader *r, const char *text) {
    if (strcmp(text, "-MD") == 0) {
        r->o->make_rule_too = true;
        return ST_OK;
    }
    if (strcmp(text, "-Werror") == 0) return apply(r, GEN_WERROR, NULL);
    for (int i = 0; i < GEN_OPTION_COUNT; i++) {
        if (!table[i].letter || table[i].letter != text[1]) continue;
        const char *value;
        if (text[2] && !table[i].arg) return unknown(r, text);
        Status s = value_of(r, &table[i], text[2] ? text + 2 : NULL, text, &value);
        return s ? s : apply(r, (GenOptionId)i, value);
    }
    return unknown(r, text);
}

static Status consistent(Reader *r) {
    const GenOptions *o = r->o;
    bool needs_file = o->act == ACT_GENERATE || o->act == ACT_LIST_OPS || o->act == ACT_MAKE_RULE;
    if (needs_file && !o->input)
        return usage(r, "usage: roller-gen [options] FILE.te (- reads standard input)",
                     "no input file%s", "");
    if (o->json && o->output && strcmp(o->output, "-") == 0)
        return usage(r, "standard output carries one thing: give -o a file",
                     "--json and '-o %s' contradict each other", o->output);
    if (o->json && o->verbosity < 0)
        return usage(r, NULL, "--json and -q contradict each other%s", "");
    if (o->plan && o->top > 1)
        return usage(r, NULL, "--plan gives one plan: it cannot be combined with --top%s", "");
    if (o->measure && o->device && strcmp(o->device, "sim") == 0)
        return usage(r, "the simulator's times are the model's own: --device N or UUID",
                     "--measure needs a device, not '%s'", o->device);
    if (o->time_limit > 0 && !o->measure)
        return usage(r, NULL, "--time-limit is for --measure%s", "");
    if (o->plan && o->archs.n + o->profiles.n > 1)
        return usage(r, NULL, "--plan '%s' is for one target", o->plan);
    return ST_OK;
}

Status gen_options(Arena *a, Diag *d, int argc, char **argv, GenOptions *out) {
    *out = (GenOptions){.emit = 1u << EMIT_CU, .align = 16, .seed = 1, .budget = 60};
    Reader r = {.a = a, .d = d, .o = out, .argc = argc, .at = 1, .argv = argv};
    bool only_files = false;
    while (r.at < argc) {
        const char *text = argv[r.at++];
        Status s = ST_OK;
        if (!only_files && strcmp(text, "--") == 0) only_files = true;
        else if (!only_files && strncmp(text, "--", 2) == 0) s = long_option(&r, text);
        else if (!only_files && text[0] == '-' && text[1]) s = short_option(&r, text);
        else if (out->input) s = usage(&r, "one file at a time", "a second input '%s'", text);
        else out->input = text;
        if (s) return s;
    }
    if (out->act == ACT_HELP || out->act == ACT_VERSION) return ST_OK;
    Status s = consistent(&r);
    if (out->top == 0) out->top = out->measure && !out->plan ? 10 : 1;
    return s;
}

void gen_help(Buf *out) {
    buf_puts(out, "usage: roller-gen [options] FILE.te     (- reads standard input)\n"
                  "Plans and writes a CUDA kernel for a tensor expression; no GPU is needed.\n\n");
    for (int i = 0; i < GEN_OPTION_COUNT; i++) {
        const OptionRow *row = &table[i];
        const char *dash = strlen(row->name) == 1 || row->name[0] == 'W' ? "-" : "--";
        Buf left = buf_new(out->arena);
        if (row->letter && strlen(row->name) > 1) buf_printf(&left, "-%c, ", row->letter);
        buf_printf(&left, "%s%s%s%s", dash, row->name, row->arg ? " " : "",
                   row->arg ? row->arg : "");
        buf_printf(out, "  %-34s %s\n", buf_str(&left), row->text);
    }
    buf_puts(out, "\nExit: 0 done, 1 the input is wrong, 2 usage, 3 environment, 4 our fault, "
                  "5 a check failed.\n");
}
