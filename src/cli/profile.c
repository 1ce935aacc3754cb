/* What all parts of roller-profile ask.  */
#include "base/file.h"
#include "base/json.h"
#include "cli/process.h"
#include "cli/profile.h"

enum { MAX_PROFILE = 4 << 20 };

/* With --json the failure is the one thing on standard output.  */
static void json_failure(ProfileTool *t, Status s, const char *message, const char *hint) {
    t->report.len = 0;
    buf_printf(&t->report, "{\"schema\": \"roller-profile-report\", \"schema_version\": 1, "
                           "\"ok\": false, \"exit\": %d, \"error\": {\"status\": \"%s\", "
                           "\"message\": ", process_code(status_exit(s)), status_name(s));
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
    if (t->o.json) json_failure(t, m->status, m->message, m->hint);
    return status_exit(m->status);
}

int profile_load(ProfileTool *t, const char *name, const char **file, Device **out) {
    const char *path = hal_profile_path(t->a, false);
    bool is_file = file_exists(name);
    *file = name;
    if (!is_file) {
        if (hal_profile_find(t->a, &t->diag, name, path, file, out)) return profile_fail_here(t);
        if (!*file) *file = arena_printf(t->a, "%s.json", name);
        return 0;
    }
    char *text;
    size_t len;
    Status s = file_read(t->a, &t->diag, name, MAX_PROFILE, &text, &len);
    if (!s) s = hal_profile_read(t->a, &t->diag, name, text, len, out);
    return s ? profile_fail_here(t) : 0;
}
