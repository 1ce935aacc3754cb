/* roller-profile: what a GPU can do, measured once.  */
#include "base/file.h"
#include "cli/process.h"
#include "cli/profile.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int validate(ProfileTool *t) {
    RollerProfile *p;
    int code = profile_load(t, t->o.file, &p);
    if (code) return code;
    if (t->o.json)
        buf_printf(&t->report, "{\"schema\": \"roller-profile-report\", \"schema_version\": 1, "
                               "\"ok\": true, \"name\": \"%s\", \"sha256\": \"%s\"}\n",
                   roller_profile_name(p), roller_profile_sha256(p));
    else
        buf_printf(&t->report, "%s: ok, %s profile of %s (%s), %s\n",
                   roller_profile_file(p) ? roller_profile_file(p) : roller_profile_name(p),
                   roller_profile_origin(p), roller_profile_gpu(p), roller_profile_arch(p),
                   roller_profile_date(p));
    roller_profile_destroy(p);
    return 0;
}

/* FILE.json -> FILE.svg, NAME -> NAME.svg in the current folder: where the profile lies is often no
 * place to write to.  */
static const char *beside(ProfileTool *t) {
    size_t len = strlen(t->o.file);
    if (len > 5 && !strcmp(t->o.file + len - 5, ".json")) len -= 5;
    return arena_printf(t->a, "%.*s.svg", (int)len, t->o.file);
}

static int show_sheet(ProfileTool *t, const RollerProfile *p) {
    const char *text, *path = t->o.output ? t->o.output : beside(t);
    size_t len;
    const char *file = roller_profile_file(p);
    if (!t->o.dry_run && file && file_apart(&t->diag, path, &file, 1)) return profile_fail_here(t);
    RollerStatus s = roller_profile_sheet(t->ctx, p, &text, &len);
    if (s) return profile_fail(t, s);
    buf_add(&t->report, text, len);
    if (t->o.dry_run) return 0;
    s = roller_roofline(t->ctx, p, NULL, 0, &text, &len);
    if (s) return profile_fail(t, s);
    if (file_write(&t->diag, path, text, len)) return profile_fail_here(t);
    buf_printf(&t->report, "\nroofline: %s\n", path);
    return 0;
}

static int show(ProfileTool *t) {
    RollerProfile *p;
    const char *json;
    size_t len;
    int code = profile_load(t, t->o.file, &p);
    if (code) return code;
    if (t->o.json && !roller_profile_text(p, &json, &len)) buf_add(&t->report, json, len);
    else code = show_sheet(t, p);
    roller_profile_destroy(p);
    return code;
}

static int act(ProfileTool *t) {
    switch (t->o.act) {
    case PROFILE_SHEET: sheet_print(&profile_tool_sheet, t->o.form, &t->report); return 0;
    case PROFILE_VERSION: buf_printf(&t->report, "roller-profile %s\n", ROLLER_VERSION); return 0;
    case PROFILE_VALIDATE: return validate(t);
    case PROFILE_SHOW: return show(t);
    case PROFILE_LIST: return profile_list(t);
    case PROFILE_COMPARE: return profile_compare(t);
    case PROFILE_MEASURE: break;
    }
    return profile_measure(t);
}

static int run(Arena *a, int argc, char **argv, void *tool) {
    ProfileTool *t = tool;
    int code;
    t->a = a;
    t->diag = diag_new(a);
    t->report = buf_new(a);
    t->messages = buf_new(a);
    if (profile_options(a, &t->diag, argc, argv, &t->o)) {
        code = profile_fail_here(t);
    } else {
        t->color = option_color(t->o.color);
        RollerCtxOptions o = {.struct_size = sizeof o, .program = "roller-profile",
                              .color = t->color, .worker = process_worker(a)};
        code = roller_ctx_create(&o, &t->ctx) ? process_nomem() : act(t);
    }
    process_put(stderr, &t->messages);
    bool silent = t->o.verbosity < 0 && t->o.act == PROFILE_MEASURE && !t->o.output;
    int wrote = silent ? 0 : process_put(stdout, &t->report);
    return code ? code : wrote;
}

static void done(void *tool) { roller_ctx_destroy(((ProfileTool *)tool)->ctx); }

int main(int argc, char **argv) {
    roller_worker(argc, argv);
    ProfileTool t = {0};
    return process_main(&(ProcessTool){"roller-profile", run, done}, argc, argv, &t);
}
