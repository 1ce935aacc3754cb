/* roller-sim: runs any kernel in the simulator.  Read, compile, bind the arguments, run, report. */
#include "base/file.h"
#include "base/json.h"
#include "cli/process.h"
#include "cli/sim_args.h"
#include "hal/nvrtc.h"
#include "roller.h"
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_SOURCE = 1 << 26 };

typedef struct {
    Arena *a;
    Diag diag;
    SimToolOptions o;
    Device *dev;
    const char *source, *ptx; /* source: NULL for a .ptx */
    SimModule *module;
    const char *kernel;
    SimGpu *gpu;
    SimToolArgs args;
    SimLaunch launch;
    SimReport report;
    bool ran;
    Buf printed;              /* by the kernel */
    Buf out;                  /* standard output */
} Tool;

static Status wrong(Tool *t, Status s, const char *hint, const char *fmt, const char *what) {
    diag_error(&t->diag, s, NULL, DIAG_NOWHERE, fmt, what);
    if (hint) diag_hint(&t->diag, "%s", hint);
    return s;
}

static bool ends_with(const char *s, const char *end) {
    size_t n = strlen(s), k = strlen(end);
    return n >= k && strcmp(s + n - k, end) == 0;
}

static Status compile(Tool *t) {
    NvrtcOptions options = {0};
    NvrtcRequest request = {.ptx = true, .line_info = true};
    const char *arch = t->o.arch ? t->o.arch : t->dev->arch;
    Nvrtc *nvrtc;
    NvrtcOutput output;
    Status s = nvrtc_open(t->a, &t->diag, &options, arch, &nvrtc);
    if (s == ST_OK) s = nvrtc_compile(nvrtc, t->a, &t->diag, t->source, arch, &request, &output);
    if (s == ST_OK) t->ptx = output.ptx;
    return s == ST_COMPILE ? ST_TE : s;      /* the user's source, not ours */
}

static Status check_apart(Tool *t) {
    const char **in = ARENA_ARRAY(t->a, const char *, t->o.n_in + 2);
    int n = 0;
    Status s = ST_OK;
    in[n++] = t->o.input;
    if (t->o.profile) in[n++] = t->o.profile;
    for (int i = 0; i < t->o.n_in; i++) in[n++] = t->o.in[i].value;
    for (int i = 0; i < t->o.n_out && !s; i++)
        s = file_apart(&t->diag, t->o.out[i].value, in, n);
    return s;
}

static Status read_input(Tool *t) {
    char *text;
    size_t len;
    bool set_uid = getuid() != geteuid() || getgid() != getegid();
    const char *path = hal_profile_path(t->a, set_uid);
    const char *name = t->o.profile ? t->o.profile : hal_profile_chosen(t->a, path, set_uid);
    Status s = hal_profile_find(t->a, &t->diag, name, path, NULL, &t->dev);
    if (s == ST_OK) s = file_read(t->a, &t->diag, t->o.input, MAX_SOURCE, &text, &len);
    if (s != ST_OK) return s;
    if (ends_with(t->o.input, ".ptx")) {
        t->ptx = text;
        return ST_OK;
    }
    t->source = text;
    return compile(t);
}

static Status choose_kernel(Tool *t) {
    int n = sim_kernel_count(t->module);
    Buf names = buf_new(t->a);
    for (int k = 0; k < n; k++) {
        const char *name = sim_kernel_name(t->module, k);
        buf_printf(&names, "%s%s", k ? " " : "it has ", name);
        if (t->o.entry ? strcmp(t->o.entry, name) == 0 : n == 1) t->kernel = name;
    }
    if (t->kernel) return ST_OK;
    if (n == 0) return wrong(t, ST_USAGE, "a kernel is a __global__ function, or .entry in PTX",
                             "%s has no kernel", t->o.input);
    const char *hint = buf_str(&names);
    if (!t->o.entry)
        return wrong(t, ST_USAGE, hint, "%s: --entry must say which kernel", t->o.input);
    return wrong(t, ST_USAGE, hint, "no kernel '%s' (extern \"C\" keeps names)", t->o.entry);
}

static void shape(Tool *t) {
    SimKernelInfo info;
    memcpy(t->launch.grid, t->o.grid, sizeof t->launch.grid);
    memcpy(t->launch.cluster, t->o.cluster, sizeof t->launch.cluster);
    memcpy(t->launch.block, t->o.block, sizeof t->launch.block);
    for (int k = 0; k < 3 && !t->o.block[0]; k++) {
        bool known = sim_kernel_info(t->module, t->kernel, &info) && info.block[k] > 0;
        t->launch.block[k] = known ? (uint32_t)info.block[k] : 1;
    }
    t->launch.module = t->module;
    t->launch.kernel = t->kernel;
    t->launch.dynamic_smem = t->o.smem;
    t->launch.params = t->args.params;
    t->launch.params_bytes = t->args.params_bytes;
}

/* NVRTC names the text by its own path.  */
static void name_source(const Tool *t, SimFault *f, int n) {
    for (int k = 0; t->source && k < n; k++) {
        if (f[k].cu_file) f[k].cu_file = t->o.input;
    }
}

static void print_text(void *user, const char *text, size_t n) { buf_add(user, text, n); }

static Status simulate(Tool *t) {
    const char **names = NULL;
    Status s = sim_parse(t->a, &t->diag, t->source ? "(ptx)" : t->o.input, t->ptx, strlen(t->ptx),
                         &t->module);
    if (s == ST_OK) s = choose_kernel(t);
    if (s == ST_OK) s = sim_gpu_create(t->a, &t->diag, t->dev, &t->gpu);
    if (s != ST_OK) return s;
    t->args.n = sim_kernel_params(t->module, t->kernel, &t->args.param);
    int named = t->source ? simtool_param_names(t->a, t->source, t->kernel, &names) : 0;
    if (named == t->args.n) t->args.names = names;
    s = simtool_args(t->a, &t->diag, &t->o, t->gpu, &t->args);
    if (s != ST_OK) return s;
    shape(t);
    SimOptions options = {.seed = t->o.seed, .errors = t->o.errors, .benign = t->o.benign,
                          .no_races = t->o.no_races, .strict = t->o.strict,
                          .threads = t->o.threads, .max_instructions = t->o.limit,
                          .per_block = t->o.counters, .timed = true,
                          .print = print_text, .print_user = &t->printed};
    s = sim_launch(t->gpu, t->a, &t->diag, &t->launch, &options, &t->report);
    t->ran = s == ST_OK;
    name_source(t, t->report.fault, t->report.n_fault);
    name_source(t, t->report.warning, t->report.n_warning);
    return s;
}

/* ---- reports ---- */

/* A counter of the launch, and the least and the most that a block has of it.  */
static void counter(Tool *t, size_t offset, bool of_blocks, const char *kind, const char *text) {
    const SimReport *r = &t->report;
    uint64_t total, least = UINT64_MAX, most = 0;
    memcpy(&total, (const char *)&r->total + offset, sizeof total);
    buf_printf(&t->out, "  %14llu", (unsigned long long)total);
    for (int64_t k = 0; k < r->blocks_run && of_blocks; k++) {
        uint64_t v;
        memcpy(&v, (const char *)&r->block[k].count + offset, sizeof v);
        if (v < least) least = v;
        if (v > most) most = v;
    }
    if (of_blocks && r->blocks_run) {
        buf_printf(&t->out, " %12llu %12llu", (unsigned long long)least, (unsigned long long)most);
    } else {
        buf_printf(&t->out, " %12s %12s", "", "");
    }
    buf_printf(&t->out, "  %s%s\n", kind, text);
}

static void counters(Tool *t) {
    static const char *const pipe[] = {
#define X(id, name) name,
        SIM_PIPES(X)
#undef X
    };
    buf_printf(&t->out, "  %14s %12s %12s\n", "launch", "least block", "most block");
#define X(name, text)                                                                              \
    counter(t, offsetof(SimCounters, name), strncmp(#name, "unique", 6) != 0, "", text);
    SIM_COUNTERS(X)
#undef X
    counter(t, offsetof(SimCounters, flops), true, "", "floating-point operations");
    counter(t, offsetof(SimCounters, max_bytes_in_flight), true, "",
            "most bytes in flight of one block");
    for (int k = 0; k < SIM_PIPE_COUNT; k++) {
        size_t offset = offsetof(SimCounters, pipe) + (size_t)k * sizeof(uint64_t);
        if (t->report.total.pipe[k]) counter(t, offset, true, "warp instructions: ", pipe[k]);
    }
}

static void report(Tool *t) {
    const SimReport *r = &t->report;
    buf_add(&t->out, buf_str(&t->printed), t->printed.len);
    for (int k = 0; k < r->n_fault; k++) {
        sim_fault_text(&r->fault[k], &t->out);
        buf_putc(&t->out, '\n');
    }
    if (r->faults > (uint64_t)r->n_fault) {
        buf_printf(&t->out, "and %llu more\n",
                   (unsigned long long)(r->faults - (uint64_t)r->n_fault));
    }
    if (t->o.quiet) return;
    for (int k = 0; k < r->n_warning; k++) {
        buf_puts(&t->out, "warning: ");
        sim_fault_text(&r->warning[k], &t->out);
        buf_putc(&t->out, '\n');
    }
    buf_printf(&t->out, "%s: %s, %lld blocks, %llu warp instructions, sim_time %.2f us on %s",
               t->kernel, r->faults ? "FAULT" : "ok", (long long)r->blocks_run,
               (unsigned long long)r->total.instructions, r->time_us, t->dev->name);
    if (r->untimed) buf_printf(&t->out, ", without %s", r->untimed);
    if (r->blocks_cancelled)
        buf_printf(&t->out, ", %lld blocks cancelled", (long long)r->blocks_cancelled);
    buf_putc(&t->out, '\n');
    if (t->o.counters) counters(t);
}

static json_t *fault_json(Tool *t, const SimFault *f) {
    Buf text = buf_new(t->a);
    sim_fault_text(f, &text);
    json_t *o = json_new(t->a, json_object());
    json_set(t->a, o, "text", json_text(buf_str(&text)));
    json_set(t->a, o, "block", json_triple(t->a, f->block[0], f->block[1], f->block[2]));
    json_set(t->a, o, "thread", json_triple(t->a, f->thread[0], f->thread[1], f->thread[2]));
    json_set(t->a, o, "ptx_line", json_integer(f->ptx_line));
    json_set(t->a, o, "file", json_text(f->cu_file));
    json_set(t->a, o, "line", json_integer(f->cu_line));
    return o;
}

/* Distinct sectors are those of a launch; a block has none.  */
static json_t *counters_json(Arena *a, const SimCounters *c, bool launch) {
    json_t *o = json_new(a, json_object());
#define X(name, text)                                                                              \
    if (launch || strncmp(#name, "unique", 6) != 0)                                                \
        json_set(a, o, #name, json_integer((json_int_t)c->name));
    SIM_COUNTERS(X)
#undef X
    json_set(a, o, "flops", json_integer((json_int_t)c->flops));
    return o;
}

/* What the kernel printed, as JSON can hold it: '?' for bytes that are no ASCII.  */
static const char *text_of_bytes(Tool *t) {
    char *text = arena_strndup(t->a, buf_str(&t->printed), t->printed.len);
    for (size_t k = 0; k < t->printed.len; k++) {
        if (!text[k] || (unsigned char)text[k] > 0x7e) text[k] = '?';
    }
    return text;
}

static void faults_json(Tool *t, json_t *o, const char *key, const SimFault *f, int n) {
    json_t *list = json_set(t->a, o, key, json_array());
    for (int k = 0; k < n; k++) json_push(t->a, list, fault_json(t, &f[k]));
}

static void report_json(Tool *t, int code) {
    const SimReport *r = &t->report;
    const DiagMessage *e = diag_first_error(&t->diag);
    Arena *a = t->a;
    json_t *o = json_tree(a);
    json_set(a, o, "schema", json_text("roller-sim"));
    json_set(a, o, "schema_version", json_integer(1));
    json_set(a, o, "ok", json_boolean(code == 0));
    json_set(a, o, "exit", json_integer(code));
    json_set(a, o, "error", json_text(e ? e->message : NULL));
    json_set(a, o, "kernel", json_text(t->kernel));
    json_set(a, o, "profile", json_text(t->dev ? t->dev->name : NULL));
    json_set(a, o, "blocks", json_integer(r->blocks_run));
    json_set(a, o, "blocks_cancelled", json_integer(r->blocks_cancelled));
    json_set(a, o, "sim_time_us", json_real(r->time_us));
    json_set(a, o, "untimed", json_text(r->untimed));
    json_set(a, o, "fault_count", json_integer((json_int_t)r->faults));
    faults_json(t, o, "faults", r->fault, r->n_fault);
    faults_json(t, o, "warnings", r->warning, r->n_warning);
    json_set(a, o, "printed", json_text(text_of_bytes(t)));
    json_set(a, o, "counters", counters_json(a, &r->total, true));
    json_t *blocks = t->o.counters ? json_set(a, o, "counters_per_block", json_array()) : NULL;
    for (int64_t k = 0; blocks && k < r->blocks_run; k++) {
        json_t *one = json_push(a, blocks, counters_json(a, &r->block[k].count, false));
        json_set(a, one, "block", json_integer(r->block[k].linear));
    }
    json_write(o, 2, &t->out);
    buf_putc(&t->out, '\n');
}

/* ---- the flow ---- */

static int act(Tool *t) {
    Status s = check_apart(t);
    if (s == ST_OK) s = read_input(t);
    if (s == ST_OK && t->o.ptx) {
        buf_puts(&t->out, t->ptx);
        return 0;
    }
    if (s == ST_OK) s = simulate(t);
    if (s == ST_OK && t->report.faults == 0) {
        s = simtool_outputs(t->a, &t->diag, &t->o, t->gpu, &t->args);
    }
    if (s != ST_OK) return status_exit(s);
    return t->report.faults ? status_exit(ST_CHECK) : 0;
}

static int print(Tool *t, int code) {
    Buf messages = buf_new(t->a);
    for (int k = 0; k < t->diag.count; k++) {
        diag_render(&t->diag.messages[k], "roller-sim", option_color(t->o.color), &messages);
    }
    process_put(stderr, &messages);
    if (t->o.json) report_json(t, code);
    else if (t->ran) report(t);
    int wrote = process_put(stdout, &t->out);
    return code ? code : wrote;
}

static int run(Arena *a, int argc, char **argv, void *tool) {
    Tool *t = tool;
    int code = 0;
    t->a = a;
    t->diag = diag_new(a);
    t->out = buf_new(a);
    t->printed = buf_new(a);
    Status s = simtool_options(a, &t->diag, argc, argv, &t->o);
    if (s != ST_OK) {
        code = status_exit(s);
    } else if (t->o.form) {
        sheet_print(&sim_sheet, t->o.form, &t->out);
    } else if (t->o.version) {
        buf_puts(&t->out, "roller-sim " ROLLER_VERSION "\n");
    } else {
        code = act(t);
    }
    return print(t, code);
}

int main(int argc, char **argv) {
    Tool t = {0};
    return process_main(&(ProcessTool){"roller-sim", run, NULL}, argc, argv, &t);
}
