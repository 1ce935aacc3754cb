/* What all parts of roller-profile ask.  */
#include "base/json.h"
#include "cli/process.h"
#include "cli/profile.h"

/* With --json the failure is the one thing on standard output.  */
static void json_failure(ProfileTool *t, RollerStatus s, const char *message, const char *hint) {
    t->report.len = 0;
    buf_printf(&t->report, "{\"schema\": \"roller-profile-report\", \"schema_version\": 1, "
                           "\"ok\": false, \"exit\": %d, \"error\": {\"status\": \"%s\", "
                           "\"message\": ", process_code(roller_status_exit(s)),
               roller_status_name(s));
    json_write_string(message, &t->report);
    buf_puts(&t->report, ", \"hint\": ");
    if (hint) json_write_string(hint, &t->report);
    else buf_puts(&t->report, "null");
    buf_puts(&t->report, "}}\n");
}

int profile_fail_here(ProfileTool *t) {
    const DiagMessage *m = diag_first_error(&t->diag);
    for (int i = 0; i < t->diag.count; i++)
        diag_render(&t->diag.messages[i], "roller-profile", t->color, &t->messages);
    if (t->o.json) json_failure(t, (RollerStatus)m->status, m->message, m->hint);
    return status_exit(m->status);
}

int profile_fail(ProfileTool *t, RollerStatus s) {
    const RollerError *e = roller_error(t->ctx);
    if (e) buf_puts(&t->messages, e->rendered);
    if (e && t->o.json) json_failure(t, s, e->message, e->hint);
    return roller_status_exit(s);
}

int profile_load(ProfileTool *t, const char *name, RollerProfile **out) {
    RollerStatus s = roller_profile_load(t->ctx, name, out);
    return s ? profile_fail(t, s) : 0;
}
