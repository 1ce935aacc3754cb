/* roller.h: a kernel from its files.
 *
 * Of the description only texts are taken: the expression and the plan, which are read and checked
 * as any others.  What a launch needs follows from them as when the kernel was made, and must be
 * what the description says.  The code is taken as it is.  */
#include "base/json.h"
#include "driver/artefact/artefact.h"
#include "driver/handle/handle.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_JSON = 64 << 20 };

typedef struct {
    RollerKernelFiles files;
    Arena *arena;             /* the kernel's */
    json_t *whole, *target;   /* on an arena that lives through the call */
    const char *te, *plan, *profile, *sha256, *arch;
    int align;
    bool static_smem, plain_abi;
    RollerPlans *plans;
    RollerKernel *out;
} ReadCall;

static Status refuse(Diag *d, const char *why) {
    Status s = diag_error(d, ST_PLAN_TEXT, NULL, DIAG_NOWHERE, "the description %s", why);
    diag_hint(d, "take STEM.json, cubin and PTX from one run of roller-gen");
    return s;
}

/* ---- the texts ---- */
static const char *text_of(const json_t *o, const char *key) {
    return json_string_value(json_object_get(o, key));
}

static json_t *find_target(const json_t *whole, const char *arch) {
    json_t *list = json_object_get(whole, "targets"), *t;
    size_t i;
    if (!arch) return json_array_size(list) == 1 ? json_array_get(list, 0) : NULL;
    json_array_foreach(list, i, t) {
        const char *has = text_of(t, "arch");
        if (has && strcmp(has, arch) == 0) return t;
    }
    return NULL;
}

static int align_of(const json_t *whole) {
    json_t *list = json_object_get(whole, "args"), *x;
    size_t i;
    json_array_foreach(list, i, x) {
        const char *role = text_of(x, "role");
        json_int_t v = json_integer_value(json_object_get(x, "align"));
        if (role && strcmp(role, "scalar") != 0) return v > 0 && v <= 4096 ? (int)v : 0;
    }
    return 0;
}

static Status read_texts(RollerCtx *ctx, void *user) {
    ReadCall *c = user;
    Diag *d = &ctx->diag;
    if (!c->files.json || !c->files.cubin_len != !c->files.ptx_len)
        return diag_error(d, ST_USAGE, NULL, DIAG_NOWHERE,
                          "a kernel is read from description, cubin and PTX, or bound from the "
                          "description alone");
    Status s = json_read(c->arena, d, ST_PLAN_TEXT,
                         (DiagText){"STEM.json", c->files.json, c->files.json_len}, MOST_JSON,
                         &c->whole);
    if (s) return s;
    const char *schema = text_of(c->whole, "schema");
    if (!schema || strcmp(schema, "roller-kernel") != 0)
        return refuse(d, "is no \"roller-kernel\"");
    if (json_integer_value(json_object_get(c->whole, "schema_version")) != 3) {
        Status old = diag_error(d, ST_PLAN_TEXT, NULL, DIAG_NOWHERE,
                                "the description is of another version than this one reads");
        diag_hint(d, "make it again: this one reads \"schema_version\": 3");
        return old;
    }
    c->target = find_target(c->whole, c->files.arch);
    if (!c->target) return refuse(d, "has no such target, or several and none was named");
    const json_t *profile = json_object_get(c->target, "profile");
    c->te = text_of(c->whole, "te");
    c->plan = text_of(c->target, "plan");
    c->arch = text_of(c->target, "arch");
    c->profile = text_of(profile, "name");
    c->sha256 = text_of(profile, "sha256");
    c->align = align_of(c->whole);
    c->static_smem = json_is_true(json_object_get(c->target, "static_smem"));
    c->plain_abi = json_is_true(json_object_get(c->target, "plain_abi"));
    if (!c->te || !c->plan || !c->arch || !c->profile || !c->sha256 || !c->align)
        return refuse(d, "lacks what a kernel is made of");
    return ST_OK;
}

static Status other_profile(RollerCtx *ctx, void *user) {
    const ReadCall *c = user;
    diag_error(&ctx->diag, ST_PROFILE, NULL, DIAG_NOWHERE,
               "the kernel was planned for another version of the profile '%s'", c->profile);
    diag_hint(&ctx->diag, "its SHA-256 is %s: put that profile on the search path", c->sha256);
    return ST_PROFILE;
}

static RollerStatus read_plan(RollerCtx *ctx, ReadCall *c) {
    RollerProfile *profile = NULL;
    RollerOp *op = NULL;
    RollerPlanOptions o = {.struct_size = sizeof o, .align = c->align, .arch = c->arch,
                           .static_smem = c->static_smem, .plain_abi = c->plain_abi};
    RollerStatus s = roller_profile_load(ctx, c->profile, &profile);
    if (!s && strcmp(roller_profile_sha256(profile), c->sha256) != 0)
        s = call_run(ctx, NULL, other_profile, c);
    if (!s) s = roller_parse(ctx, c->te, strlen(c->te), "STEM.json", NULL, &op);
    if (!s) s = roller_plan_read(ctx, op, profile, c->plan, strlen(c->plan), "STEM.json", &o,
                                 &c->plans);
    roller_op_destroy(op);
    roller_profile_destroy(profile);
    return s;
}

/* ---- the kernel ---- */
static int64_t number(const json_t *o, const char *key) {
    return json_integer_value(json_object_get(o, key));
}

/* What ptxas said of each kernel.  */
static void read_resources(Arena *a, const json_t *target, Build *b) {
    const json_t *list = json_object_get(target, "kernels");
    size_t n = json_array_size(list);
    KernelResources *r = ARENA_ARRAY(a, KernelResources, n);
    for (size_t i = 0; i < n; i++) {
        const json_t *k = json_array_get(list, i);
        const char *symbol = text_of(k, "symbol");
        r[i] = (KernelResources){.kernel = symbol ? arena_strdup(a, symbol) : "",
                                 .registers = (int)number(k, "registers"),
                                 .static_smem = number(k, "static_smem"),
                                 .spill_stores = number(k, "spill_bytes"),
                                 .image = (size_t)number(k, "image")};
    }
    b->nvrtc.kernel = r;
    b->nvrtc.n_kernel = (int)n;
}

static void *copy(Arena *a, const void *data, size_t len) {
    char *to = arena_alloc(a, len + 1);
    if (len) memcpy(to, data, len);
    to[len] = 0;
    return to;
}

/* Does the description say what follows from its plan?  */
static bool same(const json_t *whole, const json_t *target, const json_t *made) {
    static const char *const of_op[] = {"op", "args", "sizes", "lets"};
    static const char *const of_target[] = {"workspace_bytes", "workspace", "splits", "measures",
                                            "choices", "kernels"};
    const json_t *own = json_array_get(json_object_get(made, "targets"), 0);
    bool equal = true;
    for (size_t i = 0; i < sizeof of_op / sizeof *of_op; i++)
        equal &= json_equal(json_object_get(whole, of_op[i]), json_object_get(made, of_op[i]));
    for (size_t i = 0; i < sizeof of_target / sizeof *of_target; i++)
        equal &= json_equal(json_object_get(target, of_target[i]),
                            json_object_get(own, of_target[i]));
    return equal;
}

static Status make(RollerCtx *ctx, void *user) {
    ReadCall *c = user;
    Arena *a = c->arena;
    Diag *d = &ctx->diag;
    RollerKernel *k = ARENA_NEW(a, RollerKernel);
    handle_init(&k->h, a);
    k->plans = c->plans;
    k->plan = c->plans->plan[0];
    Build *b = &k->build;
    *b = (Build){.arch = c->plans->arch, .compiled = c->files.cubin_len > 0};
    kernel_compiler(ctx, a, b);
    const char *nvrtc = text_of(c->whole, "nvrtc"), *dot = nvrtc ? strchr(nvrtc, '.') : NULL;
    b->nvrtc_major = nvrtc ? (int)strtol(nvrtc, NULL, 10) : 0;
    b->nvrtc_minor = dot ? (int)strtol(dot + 1, NULL, 10) : 0;
    const PlanSet *set = &c->plans->set;
    Status s = hal_need_cuda(d, set->dev);
    if (!s) s = compile_emit(a, d, &k->plan.whole, set->dev, &set->options, b);
    if (s) return s;
    read_resources(a, c->target, b);
    b->nvrtc.cubin = copy(a, c->files.cubin, c->files.cubin_len);
    b->nvrtc.cubin_len = c->files.cubin_len;
    b->nvrtc.ptx = copy(a, c->files.ptx, c->files.ptx_len);
    b->nvrtc.ptx_len = c->files.ptx_len;
    b->nvrtc.log = "";
    Buf json = buf_new(a);
    artefact_json((const RollerKernel *const[]){k}, 1, &json);
    k->json = buf_str(&json);
    json_t *made;
    s = json_read(a, d, ST_INTERNAL, (DiagText){"STEM.json", json.text, json.len}, json.len, &made);
    if (s) return s;
    if (!same(c->whole, c->target, made))
        return refuse(d, "is not what follows from its expression and plan");
    c->out = k;
    return ST_OK;
}

RollerStatus roller_kernel_read(RollerCtx *ctx, const RollerKernelFiles *files,
                                RollerKernel **out) {
    *out = NULL;
    ReadCall c = {.arena = call_arena(ctx)};
    api_options(&c.files, sizeof c.files, files);
    if (!c.arena) return call_nomem(ctx);
    RollerStatus s = call_run(ctx, c.arena, read_texts, &c);
    if (!s) s = read_plan(ctx, &c);
    if (!s) s = call_run(ctx, c.arena, make, &c);
    if (s) {
        arena_destroy(c.arena);
        roller_plans_destroy(c.plans);
        return s;
    }
    handle_hold(&c.out->h, 0, &c.plans->h);
    roller_plans_destroy(c.plans);
    *out = c.out;
    return ROLLER_OK;
}
