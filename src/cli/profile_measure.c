/* Measuring a device and writing its profile; --dry-run.  */
#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"
#include "cli/process.h"
#include "cli/profile.h"
#include "cli/progress.h"
#include "profiler/profiler.h"
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* ---- progress ---- */
static int progress(void *user, const RollerProgress *p) {
    progress_say(user, "[%2d/%2d] %s, %.0f s left", p->done + 1, p->total, p->what, p->left_s);
    return 0;
}

static Progress progress_for(const ProfileTool *t) {
    return progress_new(t->o.progress, t->o.verbosity);
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
    const char *folder = hal_profile_home(t->a);
    if (folder) {
        *path = arena_printf(t->a, "%s/%s.json", folder, name);
        return file_make_folders(&t->diag, folder) ? profile_fail_here(t) : 0;
    }
    diag_error(&t->diag, ST_IO, NULL, DIAG_NOWHERE,
               "there is no folder for profiles: neither XDG_DATA_HOME nor HOME is an absolute "
               "path without a colon");
    diag_hint(&t->diag, "set one of them, or name a file with -o");
    return profile_fail_here(t);
}

/* Before minutes of work, not after them.  */
static int can_write(ProfileTool *t, const char *path) {
    if (!strcmp(path, "-")) return 0;
    if (file_exists(path) && !t->o.force) return refuse(t, path);
    return file_writable(&t->diag, path) ? profile_fail_here(t) : 0;
}

static int write_profile(ProfileTool *t, const Device *dev, ProfileText p, const char *path) {
    if (!strcmp(path, "-")) {
        buf_add(&t->report, p.text, p.len);
        return 0;
    }
    if (file_write(&t->diag, path, p.text, p.len)) return profile_fail_here(t);
    if (!t->o.set_default) return 0;
    const char *name = arena_printf(t->a, "%s\n", dev->name);
    const char *file = arena_printf(t->a, "%s/default", folder_of(t->a, path));
    return file_write(&t->diag, file, name, strlen(name)) ? profile_fail_here(t) : 0;
}

/* ---- the report ---- */
typedef struct {
    int measured, noisy;
    Buf names;                /* of the noisy ones */
} Counts;

static Counts count(Arena *a, const Device *dev) {
    enum { NAMED = 12 };
    Counts c = {.names = buf_new(a)};
    const HalFigure *row;
    int n = hal_figures(a, dev, false, &row);
    Origin own = dev->simulated ? ORIGIN_SIMULATED : ORIGIN_MEASURED;
    for (int i = 0; i < n; i++) {
        const Figure *f = row[i].figure;
        c.measured += (f ? f->origin : row[i].curve->origin) == own;
        if (!f || !f->noisy) continue;
        if (c.noisy++ < NAMED)
            buf_printf(&c.names, "%s%s", c.names.len ? ", " : "", row[i].name);
    }
    if (c.noisy > NAMED) buf_puts(&c.names, ", ...");
    return c;
}

/* Names of the user's own profiles that here mean others.  */
static void report_search(ProfileTool *t, const Device *dev, const char *path) {
    if (t->o.output) return;
    const char *file, *search = hal_profile_path(t->a, false);
    const char *chosen = hal_profile_chosen(t->a, search, false);
    Diag quiet = diag_new(t->a);
    Device *found;
    hal_profile_find(t->a, &quiet, dev->name, search, &file, &found);
    if (file && strcmp(file, path))
        buf_printf(&t->messages, "note: --profile %s means %s in this folder\n", dev->name, file);
    if (t->o.set_default && strcmp(chosen, path))
        buf_printf(&t->messages, "note: the default is %s here ($ROLLER_PROFILE, or a file "
                                 "'default' that comes first)\n", chosen);
}

static void report(ProfileTool *t, const Device *dev, const char *path, double seconds) {
    Counts c = count(t->a, dev);
    Buf *out = strcmp(path, "-") ? &t->report : &t->messages;
    if (t->o.json) {
        buf_puts(out, "{\"schema\": \"roller-profile-report\", \"schema_version\": 1, \"ok\": true,"
                      " \"name\": ");
        json_write_string(dev->name, out);
        buf_printf(out, ", \"origin\": \"%s\"", hal_profile_origin(dev));
        buf_puts(out, ", \"path\": ");
        json_write_string(path, out);
        buf_printf(out, ", \"sha256\": \"%s\", \"measured\": %d, \"noisy\": %d, "
                        "\"seconds\": %.1f, \"not_measured\": {", dev->sha256, c.measured,
                   c.noisy, seconds);
        for (int i = 0; i < dev->n_missed; i++) {
            buf_puts(out, i ? ", " : "");
            json_write_string(dev->missed[i].name, out);
            buf_puts(out, ": ");
            json_write_string(dev->missed[i].why, out);
        }
        buf_puts(out, "}}\n");
        return;
    }
    if (t->o.verbosity < 0) return;
    report_search(t, dev, path);
    buf_printf(out, "%s: %s (%s), %d figures %s in %.1f s, %s profile\n",
               strcmp(path, "-") ? path : dev->name, dev->gpu, dev->arch, c.measured,
               dev->simulated ? "simulated" : "measured", seconds,
               dev->mode);
    if (c.noisy)
        buf_printf(out, "%d of them are noisy (spread above 5 %%): %s\n", c.noisy,
                   buf_str(&c.names));
    if (dev->n_missed)
        buf_printf(out, "%d figures not measured; they stay as in the profile it started from:\n",
                   dev->n_missed);
    for (int i = 0; i < dev->n_missed; i++)
        buf_printf(out, "  %s: %s\n", dev->missed[i].name, dev->missed[i].why);
}

/* ---- what would be done ---- */
static int dry_run(ProfileTool *t) {
    static const struct {
        const char *name;
        double quick, full;
        const char *text;
    } row[] = {
#define X(name, quick, full, text) {#name, quick, full, text},
        PROFILER_BENCHES(X)
#undef X
    };
    const char *folder = hal_profile_home(t->a);
    double total = 0;
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        double seconds = t->o.quick ? row[i].quick : row[i].full;
        if (!profiler_chosen(t->o.only, row[i].name)) continue;
        buf_printf(&t->report, "%-12s %5.1f s  %s\n", row[i].name, seconds, row[i].text);
        total += seconds;
    }
    buf_printf(&t->report, "%-12s %5.1f s  on a large GPU, to %s\n", "all", total,
               t->o.output ? t->o.output
                           : folder    ? arena_printf(t->a, "%s/NAME.json", folder)
                                       : "what -o names");
    return 0;
}

/* ---- measuring ---- */
/* The device asked for.  */
static int probe(ProfileTool *t, MeasurePlace *place) {
    MeasureOptions o = {.device = t->o.device, .worker = process_worker(t->a)};
    return measure_probe(t->a, &t->diag, &o, place) ? profile_fail_here(t) : 0;
}

/* What a call of the library said.  */
static int fail(ProfileTool *t, RollerStatus s) {
    const RollerError *e = roller_error(t->ctx);
    diag_error(&t->diag, (Status)s, *e->tag ? e->tag : NULL, DIAG_NOWHERE, "%s", e->message);
    if (e->hint) diag_hint(&t->diag, "%s", e->hint);
    return profile_fail_here(t);
}

/* Times of a simulated device say nothing of how long it may take.  */
static double limit_s(const ProfileTool *t, const MeasurePlace *place) {
    enum { QUICK = 60, FULL = 150 };
    if (t->o.limit_s > 0) return (double)t->o.limit_s;
    return place->simulated ? 0 : t->o.quick ? QUICK : FULL;
}

static int measure(ProfileTool *t, const MeasurePlace *place, Progress *p, ProfileText *out) {
    RollerMeasureOptions o = {.struct_size = sizeof o,
                              .quick = t->o.quick,
                              .only = t->o.only,
                              .seed = t->o.seed,
                              .limit_s = limit_s(t, place)};
    RollerWatch watch = {.struct_size = sizeof watch, .stop = process_stop(),
                         .progress = progress, .user = p};
    RollerProfile *made;
    roller_ctx_watch(t->ctx, &watch);
    RollerStatus s = roller_profile_measure(t->ctx, place->info.index, &o, &made);
    roller_ctx_watch(t->ctx, NULL);
    if (s) return fail(t, s);
    roller_profile_text(made, &out->text, &out->len);
    out->text = arena_strndup(t->a, out->text, out->len);
    roller_profile_destroy(made);
    return 0;
}

static bool progress_of_kernels(void *user, const WatchStep *step) {
    progress_say(user, "[%2d/%2d] calibration: %s", step->done + 1, step->total, step->what);
    return false;
}

static int calibrate(ProfileTool *t, Progress *p, ProfileText *text) {
    Watch watch;
    watch_init(&watch, &(WatchCalls){.stop = process_stop(), .progress = progress_of_kernels,
                                     .user = p});
    int code = profile_calibrate(t, &watch, text);
    watch_destroy(&watch);
    return code;
}

/* The text of the profile lives on t->a.  */
static int run(ProfileTool *t, const MeasurePlace *place, ProfileText *out) {
    Progress p = progress_for(t);
    int code = measure(t, place, &p, out);
    if (!code && t->o.calibrate) code = calibrate(t, &p, out);
    progress_end(&p);
    return code;
}

static int measured_device(ProfileTool *t, ProfileText p, Device **out) {
    Status s = hal_profile_read(t->a, &t->diag, "measured profile", p.text, p.len, out);
    return s ? profile_fail_here(t) : 0;
}

static int compare_with(ProfileTool *t, const Device *now) {
    Device *old;
    const char *file;
    int code = profile_load(t, t->o.file, &file, &old);
    if (!code) profile_differences(old, now, t->o.json, &t->report);
    if (t->o.json && !code) buf_putc(&t->report, '\n');
    return code;
}

int profile_measure(ProfileTool *t) {
    enum { INCOMPLETE = 5 };
    bool comparing = t->o.act == PROFILE_COMPARE;
    Device *old;
    const char *path = t->o.output, *file;
    int code = profiler_known(&t->diag, t->o.only) ? profile_fail_here(t) : 0;
    if (t->o.dry_run) return code ? code : dry_run(t);
    if (!code && path) code = can_write(t, path);
    if (!code && comparing) code = profile_load(t, t->o.file, &file, &old);
    MeasurePlace place;
    if (!code) code = probe(t, &place);
    if (code) return code;
    if (!path && !comparing) code = own_path(t, profiler_name(t->a, place.info.name), &path);
    if (!code && path && !t->o.output) code = can_write(t, path);
    if (code) return code;
    ProfileText p = {0};
    Device *dev = NULL;
    double begun = clock_now_s();
    code = run(t, &place, &p);
    double seconds = clock_now_s() - begun;
    if (!code) code = measured_device(t, p, &dev);
    if (!code && path) code = write_profile(t, dev, p, path);
    if (!code && comparing) code = compare_with(t, dev);
    else if (!code) report(t, dev, path, seconds);
    return !code && dev->n_missed ? INCOMPLETE : code;
}

int profile_compare(ProfileTool *t) {
    if (!t->o.other) return profile_measure(t);
    Device *now;
    const char *file;
    int code = profile_load(t, t->o.other, &file, &now);
    return code ? code : compare_with(t, now);
}
