/* Rules for make: what an artefact is made from.  */
#include "cli/gen.h"
#include <string.h>

/* A file name as make reads it.  */
static void make_name(const char *path, Buf *out) {
    for (; *path; path++) {
        if (*path == ' ' || *path == '#' || *path == '\\') buf_putc(out, '\\');
        if (*path == '$') buf_putc(out, '$');
        buf_putc(out, *path);
    }
}

const char *gen_make_rule(Gen *g) {
    Buf b = buf_new(g->a);
    bool named = g->o.output && !gen_on_stdout(g);
    make_name(named ? g->o.output : gen_source_path(g), &b);
    buf_puts(&b, ": ");
    make_name(g->o.input, &b);
    if (g->o.plan) {
        buf_putc(&b, ' ');
        make_name(g->o.plan, &b);
    }
    for (int i = 0; i < g->o.profiles.n; i++) {
        RollerProfile *p;
        if (roller_profile_load(g->ctx, g->o.profiles.item[i], &p)) continue;
        if (roller_profile_file(p)) {
            buf_putc(&b, ' ');
            make_name(roller_profile_file(p), &b);
        }
        roller_profile_destroy(p);
    }
    buf_putc(&b, '\n');
    return buf_str(&b);
}
