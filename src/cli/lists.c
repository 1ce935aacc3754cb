#include "cli/gen.h"
#include <string.h>

int gen_list_archs(Gen *g) {
    const char *const *archs, *version;
    RollerStatus s = roller_archs(g->ctx, &archs, &version);
    if (s) return gen_fail(g, s);
    buf_printf(&g->report, "NVRTC %s targets", version);
    for (int i = 0; archs[i]; i++) buf_printf(&g->report, " %s", archs[i]);
    buf_putc(&g->report, '\n');
    return 0;
}

int gen_list_profiles(Gen *g) {
    const char *const *found;
    int n;
    RollerStatus s = roller_profile_names(g->ctx, &found, &n);
    if (s) return gen_fail(g, s);
    RollerProfile *none;                        /* what says that there are none, and where */
    if (!n) return gen_fail(g, roller_profile_load(g->ctx, NULL, &none));
    const char **names = ARENA_ARRAY(g->a, const char *, n);
    for (int i = 0; i < n; i++) names[i] = arena_strdup(g->a, found[i]);
    int code = 0;
    for (int i = 0; i < n; i++) {
        RollerProfile *p;
        s = roller_profile_load(g->ctx, names[i], &p);
        if (s) {
            code = gen_fail(g, s);
            continue;
        }
        buf_printf(&g->report, "%-10s %-8s %-10s %-10s %-28s %s\n", names[i],
                   roller_profile_arch(p), roller_profile_origin(p),
                   *roller_profile_date(p) ? roller_profile_date(p) : "-", roller_profile_gpu(p),
                   roller_profile_file(p) ? roller_profile_file(p) : "(in this program)");
        roller_profile_destroy(p);
    }
    return code;
}

static void list_arg(Gen *g, const RollerArg *arg) {
    buf_printf(&g->report, "%s: %s", arg->name, arg->dtype);
    for (int k = 0; k < arg->rank; k++)
        buf_printf(&g->report, "%s%lld", k ? "," : "[", (long long)arg->shape[k]);
    if (arg->rank) buf_putc(&g->report, ']');
}

static int list_op(Gen *g, const char *name, const RollerParseOptions *base) {
    RollerParseOptions o = *base;
    o.op = name;
    RollerOp *op;
    RollerStatus s = roller_parse(g->ctx, g->text, g->len, g->o.input, &o, &op);
    if (s) return gen_fail(g, s);
    buf_printf(&g->report, "%s(", name);
    bool outputs = false;
    for (int i = 0; i < roller_op_args(op); i++) {
        RollerArg arg = {.struct_size = sizeof arg};
        roller_op_arg(op, i, &arg);
        if (arg.role == ROLLER_OUTPUT && !outputs) buf_puts(&g->report, ") -> (");
        else if (i) buf_puts(&g->report, ", ");
        outputs |= arg.role == ROLLER_OUTPUT;
        list_arg(g, &arg);
    }
    buf_puts(&g->report, ")\n");
    roller_op_destroy(op);
    return 0;
}

int gen_list_ops(Gen *g) {
    RollerParseOptions o = {.struct_size = sizeof o, .defines = g->o.defines.item,
                            .n_defines = g->o.defines.n};
    const char *const *found;
    int n;
    RollerStatus s = roller_parse_names(g->ctx, g->text, g->len, g->o.input, &o, &found, &n);
    if (s) return gen_fail(g, s);
    const char **names = ARENA_ARRAY(g->a, const char *, n);
    for (int i = 0; i < n; i++) names[i] = arena_strdup(g->a, found[i]);
    int code = 0;
    for (int i = 0; i < n && !code; i++) code = list_op(g, names[i], &o);
    return code;
}
