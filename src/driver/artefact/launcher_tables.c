/* Launchers in C: the description as tables.  */
#include "driver/artefact/launcher_tables.h"
#include "driver/handle/arguments.h"
#include "driver/artefact/artefact.h"

#include <inttypes.h>
#include <string.h>

/* ---- size expressions in C ---- */
/* Those that tables name by number: equal ones have one.  */
typedef struct {
    const Te *te;
    Buf *out;
    const char **text;
    int n, cap;
} Source;

/* All operations are calls, so that quotients round down and everything has 64 bits.  */
static void print_expr(const TeExpr *e, Buf *b) {
    static const char *const name[] = {[TE_NEG] = "minus", [TE_ADD] = "plus", [TE_SUB] = "less",
                                       [TE_MUL] = "times", [TE_DIV] = "quotient",
                                       [TE_MOD] = "rest"};
    if (e->kind == TE_INT) {
        buf_printf(b, "%" PRId64, e->v.i);
    } else if (e->kind == TE_SIZE) {
        buf_printf(b, "s[%d]", e->v.ref);
    } else {
        const char *fn = e->kind == TE_CALL ? e->v.fn == TE_FN_MIN ? "smaller" : "larger"
                                            : name[e->kind];
        for (int i = 0; i < e->n_args; i++) {
            if (i + 1 < e->n_args || e->n_args == 1) buf_printf(b, "%s(", fn);
            print_expr(e->args[i], b);
            buf_puts(b, e->n_args == 1 ? ")" : i + 1 < e->n_args ? ", " : "");
        }
        for (int i = 1; i < e->n_args; i++) buf_putc(b, ')');
    }
}

static int expression(Source *s, const TeExtent *e) {
    Buf b = buf_new(s->out->arena);
    if (e->expr) print_expr(e->expr, &b);
    else buf_printf(&b, "%" PRId64, e->value);
    for (int i = 0; i < s->n; i++)
        if (strcmp(s->text[i], b.text) == 0) return i;
    if (s->n == s->cap) {
        int cap = s->cap ? 2 * s->cap : 64;
        const char **grown = ARENA_ARRAY(s->out->arena, const char *, cap);
        if (s->n) memcpy(grown, s->text, (size_t)s->n * sizeof *grown);
        s->text = grown;
        s->cap = cap;
    }
    s->text[s->n] = b.text;
    return s->n++;
}

static const char functions[] =
    "static int64_t minus(int64_t x) { return -x; }\n"
    "static int64_t plus(int64_t x, int64_t y) { return x + y; }\n"
    "static int64_t less(int64_t x, int64_t y) { return x - y; }\n"
    "static int64_t times(int64_t x, int64_t y) { return x * y; }\n"
    "static int64_t rest(int64_t x, int64_t y) {\n"
    "    int64_t r = x % y;\n"
    "    return r && (r < 0) != (y < 0) ? r + y : r;\n"
    "}\n"
    "static int64_t quotient(int64_t x, int64_t y) { return (x - rest(x, y)) / y; }\n"
    "static int64_t smaller(int64_t x, int64_t y) { return x < y ? x : y; }\n"
    "static int64_t larger(int64_t x, int64_t y) { return x > y ? x : y; }\n\n";

static void put_expressions(Source *s) {
    const Te *te = s->te;
    buf_puts(s->out, "/* ---- sizes: expressions by number, and sizes made of others ---- */\n");
    buf_puts(s->out, functions);
    buf_puts(s->out, "static int64_t extent(int expression, const int64_t *s) {\n"
                     "    (void)minus, (void)plus, (void)less, (void)times, (void)quotient;\n"
                     "    (void)smaller, (void)larger, (void)s;\n"
                     "    switch (expression) {\n");
    for (int i = 0; i < s->n; i++) buf_printf(s->out, "    case %d: return %s;\n", i, s->text[i]);
    buf_puts(s->out, "    default: return 0;\n    }\n}\n\n"
                     "static void derive(int64_t *s) {\n    (void)s;\n");
    for (int i = 0; i < te->n_size; i++) {
        const TeSize *x = &te->size[i];
        if (x->kind != TE_SIZE_LET || !x->extent.expr) continue;
        Buf b = buf_new(s->out->arena);
        print_expr(x->extent.expr, &b);
        buf_printf(s->out, "    s[%d] = %s;\n", i, b.text);
    }
    buf_puts(s->out, "}\n\n");
}

/* ---- tables ---- */
static const char types[] =
    "/* ---- what the kernels are launched with ---- */\n"
    "/* The number of an expression, and of the run-time size that it is alone (-1: of none).  */\n"
    "typedef struct { int expression, size; } Extent;\n"
    "typedef struct {\n"
    "    int scalar, code, bits, rank;\n"
    "    Extent shape[8], stride[8];\n"
    "} Argument;\n"
    "typedef struct { int varies; int64_t least, most, multiple; } Size;\n"
    "/* The place of a tensor or scalar among the arguments, or of a size.  */\n"
    "typedef enum { P_TENSOR, P_SIZE, P_SCALAR, P_WORKSPACE } ParamKind;\n"
    "typedef struct { ParamKind kind; int ref; int64_t offset; } Param;\n"
    "/* A tensor map over argument `ref` (-1: the workspace): offset, extents, strides and\n"
    " * corners are expressions, the rest is as the driver takes it.  */\n"
    "typedef struct {\n"
    "    int ref, offset, im2col, type, rank, dim[5], stride[4], lower[3], upper[3];\n"
    "    unsigned box[5], step[5], channels, pixels;\n"
    "    int interleave, swizzle, promotion, fill;\n"
    "} Map;\n"
    "typedef struct {\n"
    "    const char *symbol;\n"
    "    int blocks;              /* expression of the grid's first extent */\n"
    "    int wanted;              /* blocks that stay: of the most that have work; -1: none do */\n"
    "    unsigned grid[2], block[3], cluster[3];\n"
    "    int smem, static_smem, split, group, program;\n"
    "    int param, n_param;      /* what it takes, in the target's list, ... */\n"
    "    int map, n_map;          /* ... and behind that its tensor maps, in the list of these */\n"
    "    int waits;               /* for the kernel before, before whose end it may begin */\n"
    "    size_t image;            /* where the image that has it begins in the cubin */\n"
    "} Kernel;\n"
    "/* Where its programs begin in the target's list: one per group of the split.  */\n"
    "typedef struct { int split, first; } Choice;\n"
    "typedef struct { int split; int64_t offset; int bytes; } Part;\n"
    "typedef struct {\n"
    "    int sm, specific;        /* specific: for this compute capability alone */\n"
    "    const unsigned char *cubin, *ptx;\n"
    "    const Param *param;\n"
    "    const Kernel *kernel;\n"
    "    const Map *map;\n"
    "    const int *measure;      /* expressions that the choice depends on */\n"
    "    const int64_t *most;     /* of each choice, of each measure */\n"
    "    const int *program;\n"
    "    const Choice *choice;    /* in the order in which they are tried */\n"
    "    const Part *part;        /* of the workspace */\n"
    "    int n_kernel, n_map, n_measure, n_choice, n_part;\n"
    "} Target;\n";

static void put_extents(Source *s, const TeExtent *e, int rank, Buf *row) {
    buf_puts(row, ", {");
    for (int d = 0; d < rank; d++) {
        const TeExpr *x = e[d].expr;
        bool alone = x && x->kind == TE_SIZE && s->te->size[x->v.ref].kind == TE_SIZE_RUNTIME;
        buf_printf(row, "%s{%d, %d}", d ? ", " : "", expression(s, &e[d]),
                   alone ? x->v.ref : -1);
    }
    buf_puts(row, rank ? "}" : "{0, -1}}");
}

static void put_arguments(Source *s, Buf *out) {
    const Te *te = s->te;
    buf_puts(out, "static const Argument argument[] = {\n");
    for (int i = 0; i < te->n_in + te->n_out; i++) {
        const TeTensor *t = &te->tensor[i];
        buf_printf(out, "    {%d, %d, %d, %d", t->role == TE_VALUE, arguments_code(t->dtype),
                   8 * te_dtype_bytes(t->dtype), t->rank);
        put_extents(s, t->shape, t->rank, out);
        put_extents(s, t->stride, t->rank, out);
        buf_printf(out, "},    /* %s */\n", t->name);
    }
    buf_puts(out, "};\nstatic const Size size[] = {\n");
    for (int i = 0; i < te->n_size; i++) {
        const TeSize *x = &te->size[i];
        buf_printf(out, "    {%d, %" PRId64 ", %" PRId64 ", %" PRId64 "},    /* %s */\n",
                   rplan_varies(te, i), rplan_varies(te, i) ? x->lo : x->extent.value,
                   rplan_varies(te, i) ? x->hi : x->extent.value,
                   rplan_varies(te, i) ? x->extent.multiple : 1, x->name);
    }
    buf_puts(out, "    {0, 0, 0, 1}\n};\n");
}

static void put_bytes(const char *name, int target, const void *data, size_t len, Buf *out) {
    const unsigned char *byte = data;
    buf_printf(out, "static const _Alignas(64) unsigned char %s_%d[] = {", name, target);
    for (size_t i = 0; i < len; i++)
        buf_printf(out, "%s%d,", i % 24 == 0 ? "\n" : "", byte[i]);
    buf_puts(out, "\n0};\n");
}

/* In braces: the numbers of expressions, or numbers as they are.  */
static void put_numbered(Source *s, const TeExtent *e, int n, Buf *out) {
    buf_puts(out, ", {");
    for (int i = 0; i < n; i++) buf_printf(out, "%s%d", i ? ", " : "", expression(s, &e[i]));
    buf_puts(out, n ? "}" : "0}");
}

static void put_numbers(const uint32_t *v, int n, Buf *out) {
    buf_puts(out, ", {");
    for (int i = 0; i < n; i++) buf_printf(out, "%s%u", i ? ", " : "", v[i]);
    buf_puts(out, n ? "}" : "0}");
}

static void put_map(Source *s, const KernelMap *m, Buf *out) {
    const TensorMap *x = &m->fixed;
    int spatial = x->im2col ? x->rank - 2 : 0;
    buf_printf(out, "    {%d, %d, %d, %d, %d", m->tensor, expression(s, &m->offset), x->im2col,
               (int)x->type, x->rank);
    put_numbered(s, m->dim, x->rank, out);
    put_numbered(s, m->stride, x->rank - 1, out);
    put_numbered(s, m->lower, spatial, out);
    put_numbered(s, m->upper, spatial, out);
    put_numbers(x->box, x->im2col ? 0 : x->rank, out);
    put_numbers(x->element_stride, x->rank, out);
    buf_printf(out, ", %u, %u, %d, %d, %d, %d},\n", x->channels, x->pixels, x->interleave,
               x->swizzle, x->promotion, x->fill);
}

static int maps_of(const KernelProgram *p) {
    int n = 0;
    for (int i = 0; i < p->n_kernel; i++) n += p->kernel[i].n_map;
    return n;
}

static void put_maps(Source *s, const KernelProgram *p, int target, Buf *out) {
    buf_printf(out, "static const Map map_%d[] = {\n", target);
    for (int i = 0; i < p->n_kernel; i++)
        for (int m = 0; m < p->kernel[i].n_map; m++) put_map(s, &p->kernel[i].map[m], out);
    buf_puts(out, "    {0, 0, 0, 0, 0, {0}, {0}, {0}, {0}, {0}, {0}, 0, 0, 0, 0, 0, 0}\n};\n");
}

static void put_kernels(Source *s, const Build *b, int target, Buf *out) {
    const KernelProgram *p = &b->program;
    int maps = 0, params = 0;
    buf_printf(out, "static const Kernel kernel_%d[] = {\n", target);
    for (int i = 0; i < p->n_kernel; i++) {
        const KernelLaunch *k = &p->kernel[i];
        const KernelChoice *c = &p->choice[k->group];
        const KernelResources *r = build_resources(b, k->symbol);
        int blocks = expression(s, &(TeExtent){.value = k->grid[0], .expr = k->blocks});
        int wanted = k->stays ? expression(s, &k->wanted) : -1;
        buf_printf(out, "    {\"%s\", %d, %d, {%" PRId64 ", %" PRId64 "}, ", k->symbol, blocks,
                   wanted, k->grid[1], k->grid[2]);
        buf_printf(out, "{%d, %d, %d}, {%d, %d, %d}, "
                        "%" PRId64 ", %" PRId64 ", %d, %d, %d, %d, %d, %d, %d, %d, %zu},\n",
                   k->block[0], k->block[1], k->block[2], k->cluster[0], k->cluster[1],
                   k->cluster[2], k->dynamic_smem, r ? r->static_smem : 0, c->strategy, c->group,
                   k->group, params, k->n_param - k->n_map, maps, k->n_map, k->waits,
                   r ? r->image : 0);
        params += k->n_param - k->n_map;
        maps += k->n_map;
    }
    buf_puts(out, "    {0, 0, -1, {0, 0}, {0, 0, 0}, {0, 0, 0}, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}\n"
                  "};\n");
}

static void put_parts(Source *s, const KernelProgram *p, int target, Buf *out) {
    int parts = 0;
    buf_printf(out, "static const Part part_%d[] = {", target);
    for (int n = 0; n < p->n_strategy; n++) {
        const Workspace *w = &p->strategy[n].workspace;
        for (int i = 0; i < w->n; i++, parts++)
            buf_printf(out, "{%d, %" PRId64 ", %d}, ", n, w->buffer[i].at,
                       expression(s, &p->strategy[n].buffer_bytes[i]));
    }
    buf_printf(out, "{0, 0, 0}};\nenum { N_PART_%d = %d };\n", target, parts);
}

/* The choices: a row of bounds, and a row of programs, for each.  */
static void put_choices(Source *s, const KernelProgram *p, int target, Buf *out) {
    const RSelector *x = p->select;
    int choices = x ? x->n : 1, at = 0;
    Buf rows = buf_new(out->arena), programs = buf_new(out->arena), list = buf_new(out->arena);
    buf_printf(out, "static const int measure_%d[] = {", target);
    for (int m = 0; x && m < x->n_measure; m++)
        buf_printf(out, "%d, ", expression(s, &x->measure[m]));
    for (int k = 0; k < choices; k++) {
        const KernelStrategy *strategy = &p->strategy[x ? x->choice[k].strategy : 0];
        buf_printf(&list, "    {%d, %d},\n", x ? x->choice[k].strategy : 0, at);
        buf_puts(&rows, "    ");
        for (int m = 0; x && m < x->n_measure; m++) {
            int64_t most = x->choice[k].most[m];
            if (most == INT64_MAX) buf_puts(&rows, "INT64_MAX, ");
            else buf_printf(&rows, "%" PRId64 ", ", most);
        }
        buf_puts(&rows, "\n");
        for (int g = 0; g < strategy->n_group; g++, at++)
            buf_printf(&programs, "%d, ", strategy->first + (x ? x->choice[k].program[g] : g));
    }
    buf_printf(out, "0};\nstatic const int64_t most_%d[] = {\n%s    0\n};\n", target,
               buf_str(&rows));
    buf_printf(out, "static const int program_%d[] = {%s0};\n", target, buf_str(&programs));
    buf_printf(out, "static const Choice choice_%d[] = {\n%s};\n", target, buf_str(&list));
}

static void put_params(const KernelProgram *p, int target, Buf *out) {
    static const char *const kind[] = {[PARAM_INPUT] = "TENSOR", [PARAM_OUTPUT] = "TENSOR",
                                       [PARAM_SIZE] = "SIZE", [PARAM_SCALAR] = "SCALAR",
                                       [PARAM_WORKSPACE] = "WORKSPACE"};
    buf_printf(out, "static const Param param_%d[] = {\n", target);
    for (int i = 0; i < p->n_kernel; i++) {
        const KernelLaunch *k = &p->kernel[i];
        buf_puts(out, "    ");
        for (int n = 0; n < k->n_param - k->n_map; n++)
            buf_printf(out, "{P_%s, %d, %" PRId64 "}, ", kind[k->param[n].kind], k->param[n].ref,
                       k->param[n].offset);
        buf_puts(out, "\n");
    }
    buf_puts(out, "    {P_SIZE, 0, 0}\n};\n");
}

static void put_target(const Build *b, int i, Buf *out) {
    int sm = 0;
    char suffix = 0;
    hal_arch(b->arch, &sm, &suffix);
    const RSelector *x = b->program.select;
    buf_printf(out, "    {%d, %d, cubin_%d, ptx_%d, param_%d, kernel_%d, map_%d, measure_%d, "
                    "most_%d, program_%d, choice_%d, part_%d, %d, %d, %d, %d, N_PART_%d},    "
                    "/* %s */\n",
               sm, suffix != 0, i, i, i, i, i, i, i, i, i, i, b->program.n_kernel,
               maps_of(&b->program), x ? x->n_measure : 0, x ? x->n : 1, i,
               b->arch);
}

static void put_counts(const RollerKernel *const *k, int n, Buf *out) {
    const Te *te = k[0]->plans->op->te;
    int kernels = 1, params = 1, maps = 0, measures = 1;
    for (int i = 0; i < n; i++) {
        const KernelProgram *p = &k[i]->build.program;
        if (p->n_kernel > kernels) kernels = p->n_kernel;
        for (int m = 0; m < p->n_kernel; m++) {
            const KernelLaunch *x = &p->kernel[m];
            if (x->n_param - x->n_map > params) params = x->n_param - x->n_map;
            if (x->n_map > maps) maps = x->n_map;
        }
        if (p->select && p->select->n_measure > measures) measures = p->select->n_measure;
    }
    buf_printf(out, "enum {\n    N_IN = %d, N_OUT = %d, N_ARG = N_IN + N_OUT, N_SIZE = %d,\n"
                    "    N_TARGET = %d, MOST_KERNELS = %d, MOST_PARAMS = %d, MOST_MAPS = %d,\n"
                    "    MOST_SIZES = %d, MOST_MEASURES = %d, ALIGN = %d, WORKSPACE_ALIGN = 256\n"
                    "};\n",
               te->n_in, te->n_out, te->n_size, n, kernels, params, maps + 1, te->n_size + 1,
               measures, kernel_align(k[0]));
}

void launcher_tables(const RollerKernel *const *k, int n, Buf *out) {
    Buf tables = buf_new(out->arena);
    Source s = {.te = k[0]->plans->op->te, .out = out};
    put_arguments(&s, &tables);
    for (int i = 0; i < n; i++) {
        const Build *b = &k[i]->build;
        put_params(&b->program, i, &tables);
        put_maps(&s, &b->program, i, &tables);
        put_kernels(&s, b, i, &tables);
        put_parts(&s, &b->program, i, &tables);
        put_choices(&s, &b->program, i, &tables);
        put_bytes("cubin", i, b->nvrtc.cubin, b->nvrtc.cubin_len, &tables);
        put_bytes("ptx", i, b->nvrtc.ptx, strlen(b->nvrtc.ptx), &tables);
    }
    buf_puts(&tables, "static const Target target[] = {\n");
    for (int i = 0; i < n; i++) put_target(&k[i]->build, i, &tables);
    put_counts(k, n, out);
    put_expressions(&s);
    buf_puts(out, types);
    buf_add(out, tables.text, tables.len);
    buf_puts(out, "};\n\n");
}
