/* Measuring a device and writing its profile; --dry-run; --compare.  */
#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"
#include "cli/process.h"
#include "cli/profile.h"
#include "cli/progress.h"
#include <string.h>

/* ---- progress ---- */
static int progress(void *user, const RollerProgress *p) {
    if (strcmp(p->stage, "calibrate") == 0)
        progress_say(user, "[%2d/%2d] calibration: %s", p->done + 1, p->total, p->what);
    else if (strcmp(p->stage, "profile") == 0)
        progress_say(user, "[%2d/%2d] %s, %.0f s left", p->done + 1, p->total, p->what, p->left_s);
    return 0;
}

/* ---- files ---- */
static int refuse(ProfileTool *t, const char *path) {
    diag_error(&t->diag, ST_USAGE, NULL, DIAG_NOWHERE, "%s exists", path);
    diag_hint(&t->diag, "-f replaces it, -o writes elsewhere, --compare %s tells what changed",
              path);
    return profile_fail_here(t);
}

static const char *folder_of(Arena *a, const char *path) {
    const char *slash = strrchr(path, '/');
    if (!slash) return ".";
    return slash == path ? "/" : arena_strndup(a, path, (size_t)(slash - path));
}

/* Where a profile goes that -o does not place: every folder finds it there.  */
static int own_path(ProfileTool *t, const char *name, const char **path) {
    const char *home = roller_profile_home(t->ctx);
    if (home) {
        const char *folder = arena_strdup(t->a, home);
        *path = arena_printf(t->a, "%s/%s.json", folder, name);
        return file_make_folders(&t->diag, folder) ? profile_fail_here(t) : 0;
    }
    diag_error(&t->diag, ST_IO, NULL, DIAG_NOWHERE,
               "there is no folder for profiles: neither XDG_DATA_HOME nor HOME is an absolute "
               "path without a colon");
    diag_hint(&t->diag, "set one of them, or name a file with -o");
    return profile_fail_here(t);
}

/* Before minutes of work, not after them.  With -f a profile may replace itself.  */
static int can_write(ProfileTool *t, const char *path) {
    if (!strcmp(path, "-")) return 0;
    if (t->o.from && file_apart(&t->diag, path, &t->o.from, 1)) return profile_fail_here(t);
    if (file_exists(path) && !t->o.force) return refuse(t, path);
    return file_writable(&t->diag, path) ? profile_fail_here(t) : 0;
}

static int write_profile(ProfileTool *t, const RollerProfile *p, const char *path) {
    const char *json;
    size_t len;
    roller_profile_text(p, &json, &len);
    if (!strcmp(path, "-")) {
        buf_add(&t->report, json, len);
        return 0;
    }
    if (file_write(&t->diag, path, json, len)) return profile_fail_here(t);
    if (!t->o.set_default) return 0;
    const char *name = arena_printf(t->a, "%s\n", roller_profile_name(p));
    const char *file = arena_printf(t->a, "%s/default", folder_of(t->a, path));
    return file_write(&t->diag, file, name, strlen(name)) ? profile_fail_here(t) : 0;
}

/* ---- the report ---- */
/* What a search finds under a name (NULL: the default), and its own name; NULL: nothing, or nothing
 * that is a file.  */
static const char *found_as(ProfileTool *t, const char *name, const char **own) {
    RollerProfile *p;
    *own = NULL;
    if (roller_profile_load(t->ctx, name, &p)) return NULL;
    const char *file = roller_profile_file(p);
    file = file ? arena_strdup(t->a, file) : NULL;
    *own = arena_strdup(t->a, roller_profile_name(p));
    roller_profile_destroy(p);
    return file;
}

/* Names of the user's own profiles that here mean others.  */
static void report_search(ProfileTool *t, const RollerProfile *p, const char *path) {
    const char *name = roller_profile_name(p), *own, *chosen;
    if (t->o.output) return;
    const char *file = found_as(t, name, &own);
    if (file && strcmp(file, path))
        buf_printf(&t->messages, "note: --profile %s means %s in this folder\n", name, file);
    file = found_as(t, NULL, &chosen);
    if (t->o.set_default && !(file && strcmp(file, path) == 0))
        buf_printf(&t->messages, "note: the default is %s here ($ROLLER_PROFILE, or a file "
                                 "'default' that comes first)\n", chosen ? chosen : "another");
}

static void report_json(const RollerProfile *p, const RollerProfileReport *r, const char *path,
                        double seconds, Buf *out) {
    buf_puts(out, "{\"schema\": \"roller-profile-report\", \"schema_version\": 1, \"ok\": true,"
                  " \"name\": ");
    json_write_string(roller_profile_name(p), out);
    buf_printf(out, ", \"origin\": \"%s\"", roller_profile_origin(p));
    buf_puts(out, ", \"path\": ");
    json_write_string(path, out);
    buf_printf(out, ", \"sha256\": \"%s\", \"measured\": %d, \"noisy\": %d, \"seconds\": %.1f, "
                    "\"not_measured\": {", roller_profile_sha256(p), r->measured, r->noisy,
               seconds);
    for (int i = 0; i < r->missed; i++) {
        buf_puts(out, i ? ", " : "");
        json_write_string(r->missed_name[i], out);
        buf_puts(out, ": ");
        json_write_string(r->missed_why[i], out);
    }
    buf_puts(out, "}}\n");
}

static void report_text(const RollerProfile *p, const RollerProfileReport *r, const char *path,
                        double seconds, Buf *out) {
    enum { NAMED = 12 };
    buf_printf(out, "%s: %s (%s), %d figures %s in %.1f s, %s profile\n",
               strcmp(path, "-") ? path : roller_profile_name(p), roller_profile_gpu(p),
               roller_profile_arch(p), r->measured, r->simulated ? "simulated" : "measured",
               seconds, r->mode);
    if (r->noisy)
        buf_printf(out, "%d of them are noisy (spread above 5 %%): ", r->noisy);
    for (int i = 0; i < r->noisy && i < NAMED; i++)
        buf_printf(out, "%s%s", i ? ", " : "", r->noisy_name[i]);
    if (r->noisy) buf_puts(out, r->noisy > NAMED ? ", ...\n" : "\n");
    if (r->missed)
        buf_printf(out, "%d figure%s not measured, as in the profile it started from; "
                        "--only ROWS -f tries again:\n", r->missed, r->missed == 1 ? "" : "s");
    for (int i = 0; i < r->missed; i++)
        buf_printf(out, "  %s: %s\n", r->missed_name[i], r->missed_why[i]);
}

static void report(ProfileTool *t, const RollerProfile *p, const char *path, double seconds) {
    RollerProfileReport r = {.struct_size = sizeof r};
    Buf *out = strcmp(path, "-") ? &t->report : &t->messages;
    if (!t->o.json && t->o.verbosity >= 0) report_search(t, p, path);
    if (roller_profile_report(t->ctx, p, &r)) return;
    if (t->o.json) report_json(p, &r, path, seconds, out);
    else if (t->o.from && t->o.verbosity >= 0)
        buf_printf(out, "%s: %s (%s), from the times in %s\n",
                   strcmp(path, "-") ? path : roller_profile_name(p), roller_profile_gpu(p),
                   roller_profile_arch(p), t->o.from);
    else if (t->o.verbosity >= 0) report_text(p, &r, path, seconds, out);
}

/* ---- what would be done ---- */
static bool in_list(const char *list, const char *name) {
    size_t len = strlen(name);
    for (const char *s = list; s; s = strchr(s, ',') ? strchr(s, ',') + 1 : NULL)
        if (!strncmp(s, name, len) && (!s[len] || s[len] == ',')) return true;
    return !list;
}

static int dry_run(ProfileTool *t) {
    const char *home = roller_profile_home(t->ctx);
    double total = 0;
    RollerMeasurement m = {.struct_size = sizeof m};
    for (int i = 0; !roller_profile_measurement(i, &m); i++) {
        double seconds = t->o.quick ? m.quick_s : m.full_s;
        if (!in_list(t->o.only, m.name)) continue;
        buf_printf(&t->report, "%-12s %5.1f s  %s\n", m.name, seconds, m.text);
        total += seconds;
    }
    buf_printf(&t->report, "%-12s %5.1f s  on a large GPU, to %s\n", "all", total,
               t->o.output ? t->o.output
                           : home    ? arena_printf(t->a, "%s/NAME.json", home)
                                     : "what -o names");
    return 0;
}

/* ---- measuring ---- */
/* Times of a simulated device say nothing of how long it may take.  */
static double limit_s(const ProfileTool *t, const RollerDevice *device) {
    enum { QUICK = 60, FULL = 150 };
    if (t->o.limit_s > 0) return (double)t->o.limit_s;
    return device->simulated ? 0 : t->o.quick ? QUICK : FULL;
}

/* Puts a profile with its factors in the place of *p.  */
static RollerStatus calibrate(ProfileTool *t, RollerProfile **p) {
    RollerCalibrateOptions o = {.struct_size = sizeof o, .device = t->o.device, .seed = t->o.seed,
                                .from = t->o.from, .limit_s = (double)t->o.limit_s};
    RollerCalibration r = {.struct_size = sizeof r};
    RollerProfile *better;
    RollerStatus s = roller_profile_calibrate(t->ctx, *p, &o, &r, &better);
    if (s) return s;
    if (t->o.verbosity >= 0 && !t->o.json) buf_puts(&t->messages, r.text);
    if (t->o.verbosity > 0 && !t->o.json) buf_puts(&t->messages, r.details);
    roller_profile_destroy(*p);
    *p = better;
    return ROLLER_OK;
}

/* The profile that the result replaces, where it is one of this GPU and only some rows are
 * measured: all else stays as it is there.  NULL: none.  */
static const char *replaced(ProfileTool *t, const RollerDevice *device, const char *path) {
    RollerProfile *p;
    const char *json, *out = NULL;
    size_t len;
    if (!t->o.only || !path || !strcmp(path, "-") || !file_exists(path)) return NULL;
    const char *file = strchr(path, '/') ? path : arena_printf(t->a, "./%s", path);
    if (roller_profile_load(t->ctx, file, &p)) return NULL;
    bool same = !strcmp(roller_profile_gpu(p), device->name) &&
                !strcmp(roller_profile_arch(p), device->arch);
    if (same && !roller_profile_text(p, &json, &len)) out = arena_strndup(t->a, json, len);
    roller_profile_destroy(p);
    return out;
}

/* NULL in *p where it fails.  */
static int run(ProfileTool *t, const RollerDevice *device, const char *path,
               RollerProfile **p) {
    Progress shown = progress_new(t->o.progress, t->o.verbosity);
    RollerMeasureOptions o = {.struct_size = sizeof o,
                              .quick = t->o.quick,
                              .only = t->o.only,
                              .seed = t->o.seed,
                              .limit_s = limit_s(t, device),
                              .base = replaced(t, device, path)};
    RollerWatch watch = {.struct_size = sizeof watch, .stop = process_stop(),
                         .progress = progress, .user = &shown};
    roller_ctx_watch(t->ctx, &watch);
    RollerStatus s = roller_profile_measure(t->ctx, device->index, &o, p);
    if (!s && t->o.calibrate) s = calibrate(t, p);
    roller_ctx_watch(t->ctx, NULL);
    progress_end(&shown);
    if (!s) return 0;
    roller_profile_destroy(*p);
    *p = NULL;
    return profile_fail(t, s);
}

static int compare(ProfileTool *t, const RollerProfile *old, const RollerProfile *now) {
    const char *text;
    size_t len;
    RollerStatus s = roller_profile_differences(t->ctx, old, now, t->o.json, &text, &len);
    if (s) return profile_fail(t, s);
    buf_add(&t->report, text, len);
    if (t->o.json) buf_putc(&t->report, '\n');
    return 0;
}

/* A list that names what is no measurement is wrong before anything is asked of a device.  */
static int check_only(ProfileTool *t) {
    Buf there = buf_new(t->a);
    RollerMeasurement m = {.struct_size = sizeof m};
    for (int i = 0; !roller_profile_measurement(i, &m); i++)
        buf_printf(&there, "%s%s", there.len ? ", " : "", m.name);
    for (const char *s = t->o.only; s && *s;) {
        size_t len = strcspn(s, ",");
        const char *name = arena_strndup(t->a, s, len);
        bool known = false;
        for (int i = 0; !known && !roller_profile_measurement(i, &m); i++)
            known = strcmp(m.name, name) == 0;
        if (!known) {
            diag_error(&t->diag, ST_USAGE, NULL, DIAG_NOWHERE, "there is no measurement '%s'",
                       name);
            diag_hint(&t->diag, "there are %s", buf_str(&there));
            return profile_fail_here(t);
        }
        s += len + (s[len] != 0);
    }
    return 0;
}

/* Where it goes, once the device is known and before minutes of work.  */
static int place(ProfileTool *t, const RollerDevice *device, const char **path) {
    int code = own_path(t, device->profile_name, path);
    return code ? code : can_write(t, *path);
}

static int measure_and_tell(ProfileTool *t, const RollerDevice *device, const RollerProfile *old,
                            const char *path) {
    enum { INCOMPLETE = 5 };
    RollerProfile *p;
    RollerProfileReport r = {.struct_size = sizeof r};
    double begun = clock_now_s();
    int code = run(t, device, path, &p);
    double seconds = clock_now_s() - begun;
    if (!code && path) code = write_profile(t, p, path);
    if (!code && old) code = compare(t, old, p);
    else if (!code) report(t, p, path, seconds);
    if (!code && !roller_profile_report(t->ctx, p, &r) && r.missed) code = INCOMPLETE;
    roller_profile_destroy(p);
    return code;
}

/* The profile of a name or the default, fitted to a file of times.  */
static int fit_to_times(ProfileTool *t) {
    RollerProfile *p;
    const char *path = t->o.output;
    int code = path ? can_write(t, path) : 0;
    if (!code) code = profile_load(t, t->o.other, &p);
    if (code) return code;
    double begun = clock_now_s();
    if (!path) code = own_path(t, arena_strdup(t->a, roller_profile_name(p)), &path);
    if (!code && !t->o.output) code = can_write(t, path);
    RollerStatus s = code ? ROLLER_OK : calibrate(t, &p);
    if (s) code = profile_fail(t, s);
    if (!code) code = write_profile(t, p, path);
    if (!code) report(t, p, path, clock_now_s() - begun);
    roller_profile_destroy(p);
    return code;
}

/* Its texts are those of the last call.  */
static void keep_device(Arena *a, RollerDevice *d) {
    d->name = arena_strdup(a, d->name);
    d->arch = arena_strdup(a, d->arch);
    d->profile_name = arena_strdup(a, d->profile_name);
}

int profile_measure(ProfileTool *t) {
    if (t->o.from) return fit_to_times(t);
    bool comparing = t->o.act == PROFILE_COMPARE;
    RollerProfile *old = NULL;
    RollerDevice device = {.struct_size = sizeof device};
    const char *path = t->o.output;
    int code = check_only(t);
    if (t->o.dry_run) return code ? code : dry_run(t);
    if (!code && path) code = can_write(t, path);
    if (!code && comparing) code = profile_load(t, t->o.file, &old);
    if (!code) {
        RollerStatus s = roller_device(t->ctx, t->o.device, &device);
        if (s) code = profile_fail(t, s);
        else keep_device(t->a, &device);
    }
    if (!code && !path && !comparing) code = place(t, &device, &path);
    if (!code) code = measure_and_tell(t, &device, old, path);
    roller_profile_destroy(old);
    return code;
}

int profile_compare(ProfileTool *t) {
    if (!t->o.other) return profile_measure(t);
    RollerProfile *old = NULL, *now = NULL;
    int code = profile_load(t, t->o.other, &now);
    if (!code) code = profile_load(t, t->o.file, &old);
    if (!code) code = compare(t, old, now);
    roller_profile_destroy(old);
    roller_profile_destroy(now);
    return code;
}
