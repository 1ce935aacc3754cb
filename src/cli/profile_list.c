/* --list: the devices the driver sees.  */
#include "base/json.h"
#include "cli/profile.h"

static void head(ProfileTool *t, const RollerDevice *d) {
    int major = d->driver / 1000, minor = d->driver % 1000 / 10;
    if (t->o.json)
        buf_printf(&t->report, "{\"driver\": \"%d.%d\", \"devices\": [", major, minor);
    else
        buf_printf(&t->report, "driver for CUDA %d.%d, %d device%s%s\n", major, minor, d->count,
                   d->count == 1 ? "" : "s", d->simulated ? " (simulated)" : "");
}

/* A row but for what comes of its profile.  */
static void row(ProfileTool *t, const RollerDevice *d) {
    Buf *out = &t->report;
    if (!t->o.json) {
        buf_printf(out, "%d: %s, %s, %s: ", d->index, d->name, d->arch, d->uuid);
        return;
    }
    buf_printf(out, "%s\n  {\"index\": %d, \"name\": ", d->index ? "," : "", d->index);
    json_write_string(d->name, out);
    buf_printf(out, ", \"arch\": \"%s\", \"uuid\": \"%s\", \"profile\": ", d->arch, d->uuid);
}

/* NULL: there is none.  */
static void fitting(ProfileTool *t, int index, const RollerProfile *p) {
    Buf *out = &t->report;
    if (t->o.json) {
        if (p) json_write_string(roller_profile_name(p), out);
        else buf_puts(out, "null");
        buf_puts(out, "}");
    } else if (p) {
        buf_printf(out, "profile %s (%s, %s)\n", roller_profile_name(p), roller_profile_origin(p),
                   roller_profile_date(p));
    } else {
        buf_printf(out, "no profile; roller-profile --device %d makes one\n", index);
    }
}

int profile_list(ProfileTool *t) {
    RollerDevice d = {.struct_size = sizeof d, .count = 1};
    for (int i = 0; i < d.count; i++) {
        RollerProfile *p;
        RollerStatus s = roller_device(t->ctx, arena_printf(t->a, "%d", i), &d);
        if (s) return profile_fail(t, s);
        if (i == 0) head(t, &d);
        row(t, &d);
        if (roller_profile_for_gpu(t->ctx, arena_strdup(t->a, d.name), &p)) p = NULL;
        fitting(t, i, p);
        roller_profile_destroy(p);
    }
    if (t->o.json) buf_puts(&t->report, "\n]}\n");
    return 0;
}
