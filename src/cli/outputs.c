#include "base/file.h"
#include "base/hash.h"
#include "cli/gen.h"
#include <string.h>

static const RollerArtefact artefact[] = {ROLLER_CU,   ROLLER_CL,       ROLLER_PTX,
                                          ROLLER_CUBIN, ROLLER_JSON,    ROLLER_C_HEADER,
                                          ROLLER_C_SOURCE, ROLLER_PYTHON, ROLLER_C_SOURCE,
                                          ROLLER_TVM_FFI};
_Static_assert(sizeof artefact / sizeof *artefact == EMIT_COUNT, "one artefact per kind");

/* The artefact that -o names: by its ending, else the source if it is written, else the first kind
 * of the list.  */
static GenEmit main_kind(Gen *g, const RollerProfile *p) {
    uint32_t all = gen_emits(g, p);
    int i = gen_kind_named(g->o.output);
    if (i < EMIT_COUNT && all & 1u << i) return (GenEmit)i;
    i = 0;
    while (i < EMIT_COUNT - 1 && !(all & 1u << i)) i++;
    return (GenEmit)i;
}

static const char *path_of(Gen *g, const Result *r, GenEmit kind) {
    bool all_ops = g->o.op && strcmp(g->o.op, "all") == 0;
    bool named = g->o.output && !gen_on_stdout(g) && !all_ops && g->n_target == 1;
    if (named && kind == main_kind(g, r->profile)) return g->o.output;
    if (kind >= EMIT_JSON || (kind <= EMIT_CL && g->n_target == 1))
        return arena_printf(g->a, "%s.%s", r->stem, gen_emit_end[kind]);
    return arena_printf(g->a, "%s.%s.%s", r->stem, r->arch, gen_emit_end[kind]);
}

/* ---- before there is anything to write ---- */
typedef struct {
    const char **path;
    int n;
} Inputs;

static Inputs list_inputs(Gen *g) {
    const GenOptions *o = &g->o;
    Inputs in = {ARENA_ARRAY(g->a, const char *, o->n_in + 2), 0};
    if (!o->einsum) in.path[in.n++] = o->input;
    if (o->plan) in.path[in.n++] = o->plan;
    for (int i = 0; i < o->n_in; i++) in.path[in.n++] = o->in[i].value;
    return in;
}

/* Is a file for one op and target one of the inputs, or the target's own profile?  */
static Status check_apart(Gen *g, const Result *r, const Inputs *in) {
    static const char *const more[] = {"d", "report.txt"};
    const char *profile = roller_profile_file(r->profile);
    uint32_t emits = gen_emits(g, r->profile);
    Status s = ST_OK;
    for (int i = 0; i < EMIT_COUNT + 2 && !s; i++) {
        if (i < EMIT_COUNT && !(emits & 1u << i)) continue;
        if (i == EMIT_COUNT && !g->o.make_rule_too) continue;
        if (gen_on_stdout(g) && i == (int)main_kind(g, r->profile)) continue;
        const char *path = i < EMIT_COUNT
                               ? path_of(g, r, (GenEmit)i)
                               : arena_printf(g->a, "%s.%s", r->stem, more[i - EMIT_COUNT]);
        s = file_apart(&g->diag, path, in->path, in->n);
        if (!s && profile) s = file_apart(&g->diag, path, &profile, 1);
    }
    return s;
}

int gen_check_apart(Gen *g, const char *const *op, int n) {
    Inputs in = list_inputs(g);
    Status s = ST_OK;
    for (int i = 0; i < g->o.n_out && !s; i++)
        s = file_apart(&g->diag, g->o.out[i].value, in.path, in.n);
    for (int i = 0; i < n * g->n_target && !s && !g->o.dry_run; i++) {
        Result r = {.stem = gen_result_stem(g, op[i / g->n_target])};
        int code = gen_load_target(g, i % g->n_target, &r);
        if (!code) s = check_apart(g, &r, &in);
        roller_profile_destroy(r.profile);
        if (code) return code;
    }
    return s ? gen_fail_here(g) : 0;
}

int gen_check_outputs(Gen *g) {
    Status s = ST_OK;
    bool all_ops = g->o.op && strcmp(g->o.op, "all") == 0;
    bool named = g->o.output && !gen_on_stdout(g) && !all_ops && g->n_target == 1;
    if (!g->o.dry_run) {
        bool alone = gen_on_stdout(g) && !(g->o.emit & (g->o.emit - 1)) && !g->o.make_rule_too;
        if (!alone) s = file_writable(&g->diag, named ? g->o.output : gen_source_path(g));
    }
    for (int i = 0; i < g->o.n_out && !s; i++) s = file_writable(&g->diag, g->o.out[i].value);
    return s ? gen_fail_here(g) : 0;
}

static int write_file(Gen *g, Result *r, GenEmit kind, const void *data, size_t len) {
    Written *w = &r->written[r->n_written];
    *w = (Written){.kind = gen_emit_name[kind], .bytes = len};
    sha256_text(data, len, w->sha256);
    if (gen_on_stdout(g) && kind == main_kind(g, r->profile)) {
        w->path = "-";
        buf_add(&g->artefact, data, len);
    } else {
        w->path = path_of(g, r, kind);
        if (file_write(&g->diag, w->path, data, len)) return gen_fail_here(g);
    }
    r->n_written++;
    return 0;
}

static int write_depends(Gen *g, const Result *r) {
    const char *path = arena_printf(g->a, "%s.d", r->stem), *rule = gen_make_rule(g);
    return file_write(&g->diag, path, rule, strlen(rule)) ? gen_fail_here(g) : 0;
}

int gen_write(Gen *g, Result *r) {
    for (int i = 0; i < EMIT_JSON; i++) {
        if (!(gen_emits(g, r->profile) & 1u << i)) continue;
        const void *data;
        size_t len;
        if (roller_kernel_get(r->kernel, artefact[i], &data, &len)) continue;
        int code = write_file(g, r, (GenEmit)i, data, len);
        if (code) return code;
    }
    return g->o.make_rule_too ? write_depends(g, r) : 0;
}

static int write_whole(Gen *g, Result *first, const RollerKernel *const *k, int n, GenEmit kind) {
    const void *data;
    size_t len;
    RollerStatus s = roller_artefact(g->ctx, k, n, artefact[kind], &data, &len);
    if (s) return gen_fail(g, s);
    bool shared = kind == EMIT_SO || kind == EMIT_TVMFFI;
    if (shared && gen_shared(g, data, len, &data, &len)) return gen_fail_here(g);
    return write_file(g, first, kind, data, len);
}

int gen_write_whole(Gen *g, Result *first, int n) {
    const RollerKernel **k = ARENA_ARRAY(g->a, const RollerKernel *, n);
    for (int i = 0; i < n; i++) {
        if (!first[i].kernel) return 0;
        k[i] = first[i].kernel;
    }
    int code = 0;
    for (int i = EMIT_JSON; i < EMIT_COUNT && !code; i++)
        if (g->o.emit & 1u << i) code = write_whole(g, first, k, n, (GenEmit)i);
    return code;
}

void gen_write_failure(Gen *g, const Result *r, RollerStatus s) {
    if (roller_status_exit(s) != 4 || g->o.dry_run) return;
    const RollerError *e = roller_error(g->ctx);
    Buf b = buf_new(g->a);
    buf_printf(&b, "roller-gen %s: %s: %s\n", ROLLER_VERSION, roller_status_name(s),
               e ? e->message : "");
    const char *text;
    size_t len;
    buf_printf(&b, "\n== profile ==\n%s %s\n", roller_profile_name(r->profile),
               roller_profile_sha256(r->profile));
    if (!roller_op_text(r->op, ROLLER_OP_TE, &text, &len))
        buf_printf(&b, "\n== te ==\n%s", text);
    const void *data;
    if (r->kernel && !roller_kernel_get(r->kernel, ROLLER_PLAN_USED, &data, &len))
        buf_printf(&b, "\n== plan ==\n%s", (const char *)data);
    if (r->kernel && !roller_kernel_get(r->kernel, ROLLER_LOG, &data, &len))
        buf_printf(&b, "\n== log ==\n%s", (const char *)data);
    RollerArtefact source = artefact[gen_source(g, r->profile)];
    if (r->kernel && !roller_kernel_get(r->kernel, source, &data, &len))
        buf_printf(&b, "\n== source ==\n%s", (const char *)data);
    const char *path = arena_printf(g->a, "%s.report.txt", r->stem);
    Diag quiet = diag_new(g->a);
    if (!file_write(&quiet, path, b.text, b.len))
        buf_printf(&g->messages, "roller-gen: hint: a report for the developers is in %s\n", path);
}
