/* Calibration from a file of times: its columns, its plans.  */
#include "base/csv.h"
#include "base/file.h"
#include "base/numeric.h"
#include "driver/profile/calibrate_samples.h"
#include "driver/pipeline/compile.h"

#include <math.h>
#include <string.h>

/* Columns: id, name.  Others are for the reader of the file.  */
#define COLUMNS(X) X(OP, "op") X(SIZES, "sizes") X(PLAN, "plan") X(TILE, "tile") X(US, "us")
typedef enum {
#define X(id, name) COLUMN_##id,
    COLUMNS(X)
#undef X
        COLUMN_COUNT
} Column;

enum { MAX_BYTES = 1 << 26, MAX_TE = 1 << 20 };

typedef struct {
    Arena *a;
    Diag *d;
    const Device *dev;        /* without factors */
    const char *folder;       /* of the file, "" or with a slash at its end */
    DiagText text;
    int at[COLUMN_COUNT];     /* which field; -1: none */
    CsvField row[COLUMN_COUNT];           /* of the record that is read */
    int line;                 /* where it begins */
    CalibrateSample *sample;
    int n;
    size_t cap;
    /* The op that was read last, its plans if they were asked for, and tiles to be found there.  */
    const char *op, *sizes;
    Te *te;
    PlanSet *set;
    CalibrateTile *tile;
    int n_tile;
    size_t cap_tile;
} Times;

/* ---- the table ---- */

static DiagPlace place(const Times *t, Column c) { return diag_place(t->text, t->row[c].at); }

static int line_of(const Times *t, size_t at) {
    int line = 1;
    for (size_t i = 0; i < at; i++) line += t->text.text[i] == '\n';
    return line;
}

static Status read_head(Times *t, CsvReader *r) {
    static const char *const name[] = {
#define X(id, name) name,
        COLUMNS(X)
#undef X
    };
    CsvField *field;
    int n;
    Status s = csv_next(t->a, t->d, r, &field, &n);
    for (int c = 0; c < COLUMN_COUNT; c++) {
        t->at[c] = -1;
        for (int i = 0; !s && i < n; i++)
            if (strcmp(field[i].text, name[c]) == 0) t->at[c] = i;
    }
    bool any = t->at[COLUMN_PLAN] >= 0 || t->at[COLUMN_TILE] >= 0;
    if (s || (t->at[COLUMN_OP] >= 0 && t->at[COLUMN_US] >= 0 && any)) return s;
    diag_error(t->d, ST_ARGS, "csv", diag_place(t->text, n ? field[0].at : 0),
               "no column '%s'", t->at[COLUMN_OP] < 0 ? "op" : t->at[COLUMN_US] < 0 ? "us"
                                                                                    : "plan");
    diag_hint(t->d, "the first line names the columns: op,sizes,plan,tile,us; of plan and tile "
                    "one will do, others are ignored");
    return ST_ARGS;
}

/* The next record; *more: there is one.  */
static Status read_row(Times *t, CsvReader *r, bool *more) {
    CsvField *field;
    int n, last = 0;
    Status s = csv_next(t->a, t->d, r, &field, &n);
    *more = !s && n > 0;
    if (!*more) return s;
    t->line = line_of(t, field[0].at);
    for (int c = 0; c < COLUMN_COUNT; c++) {
        bool here = t->at[c] >= 0 && t->at[c] < n;
        t->row[c] = here ? field[t->at[c]] : (CsvField){"", field[n - 1].at};
        if (t->at[c] > last) last = t->at[c];
    }
    if (last < n) return ST_OK;
    return diag_error(t->d, ST_ARGS, "csv", diag_place(t->text, field[0].at),
                      "%d field%s, where the first line names more", n, n == 1 ? "" : "s");
}

static Status read_us(const Times *t, double *us) {
    const char *text = t->row[COLUMN_US].text;
    if (num_real(text, strlen(text), us) && *us > 0 && isfinite(*us)) return ST_OK;
    diag_error(t->d, ST_ARGS, "csv", place(t, COLUMN_US), "'%s' is no time", text);
    diag_hint(t->d, "a number above 0, in microseconds");
    return ST_ARGS;
}

/* ---- the op ---- */

static Status read_sizes(const Times *t, TeDefines *out) {
    char *text = arena_strdup(t->a, t->row[COLUMN_SIZES].text);
    TeDefine *item = ARENA_ARRAY(t->a, TeDefine, strlen(text) + 1);
    *out = (TeDefines){.item = item};
    for (char *next; text && *text; text = next) {
        next = strchr(text, ';');
        if (next) *next++ = 0;
        Diag quiet = diag_new(t->a);
        TeDefine *own = &item[out->n++];
        if (!te_define_parse(t->a, &quiet, text, own) && own->lo == own->hi) continue;
        diag_error(t->d, ST_ARGS, "csv", place(t, COLUMN_SIZES), "'%s' is no size", text);
        diag_hint(t->d, "sizes are written M=4096;N=4096");
        return ST_ARGS;
    }
    return ST_OK;
}

/* What is written in a field begins with a word of the language; all else names a file.  */
static bool written(const char *op) {
    return strncmp(op, "op ", 3) == 0 || strncmp(op, "param ", 6) == 0;
}

/* Sizes of an op that is written in the field need no declaration of their own.  */
static const char *declared(Arena *a, const char *op, const TeDefines *sizes) {
    Buf text = buf_new(a);
    for (int i = 0; i < sizes->n; i++)
        buf_printf(&text, "param %s = %lld; ", sizes->item[i].name, (long long)sizes->item[i].lo);
    buf_puts(&text, op);
    return buf_str(&text);
}

/* What is wrong with a file that a row names lies there: which row it is comes behind its hint.  */
static void tell_line(const Times *t) {
    const char *own = diag_first_error(t->d)->hint;
    diag_hint(t->d, "%s%sline %d of %s asks for it", own ? own : "", own ? "; " : "", t->line,
              t->text.file);
}

static Status parse_op(Times *t) {
    const char *op = t->row[COLUMN_OP].text;
    TeDefines sizes;
    DiagText text;
    char *file;
    Status s = read_sizes(t, &sizes);
    if (s) return s;
    if (written(op)) {
        bool own = strncmp(op, "op ", 3) != 0;
        const char *whole = own ? op : declared(t->a, op, &sizes);
        text = diag_text(arena_printf(t->a, "%s:%d, op", t->text.file, t->line), whole);
        return te_parse(t->a, t->d, text, NULL, own ? &sizes : NULL, &t->te);
    }
    text.file = arena_printf(t->a, "%s%s", *op == '/' ? "" : t->folder, op);
    if (!file_exists(text.file)) {
        diag_error(t->d, ST_ARGS, "csv", place(t, COLUMN_OP), "there is no file '%s'", text.file);
        diag_hint(t->d, "an op is a text in quotes that begins with 'op', or a file beside this "
                        "one");
        return ST_ARGS;
    }
    s = file_read(t->a, t->d, text.file, MAX_TE, &file, &text.len);
    text.text = file;
    if (!s) s = te_parse(t->a, t->d, text, NULL, &sizes, &t->te);
    if (s) tell_line(t);
    return s;
}

/* Tiles of the op that was read last become plans.  */
static Status find_tiles(Times *t) {
    int n = t->n_tile;
    t->n_tile = 0;
    return n ? calibrate_tiles(t->a, t->d, t->set, t->tile, n, t->sample) : ST_OK;
}

/* Rows of one op and sizes follow each other: it is planned once.  */
static Status read_op(Times *t) {
    const char *op = t->row[COLUMN_OP].text, *sizes = t->row[COLUMN_SIZES].text;
    if (t->op && !strcmp(t->op, op) && !strcmp(t->sizes, sizes)) return ST_OK;
    t->op = NULL;
    Status s = find_tiles(t);
    t->set = NULL;
    if (!s) s = parse_op(t);
    if (s) return s;
    if (t->te->runtime)
        return diag_error(t->d, ST_ARGS, "csv", place(t, COLUMN_OP),
                          "a time is of one size, and this op has run-time sizes");
    t->op = op;
    t->sizes = sizes;
    return ST_OK;
}

/* ---- the plan ---- */

static Status plan_op(Times *t) {
    CompileOptions o = {.top = 1, .workspace_limit = -1};
    if (t->set) return ST_OK;
    t->set = ARENA_NEW(t->a, PlanSet);
    return compile_plan(t->a, t->d, &(PlanRequest){t->te, t->dev, &o}, t->set);
}

static Status by_tile(Times *t, CalibrateSample *out) {
    const char *text = t->row[COLUMN_TILE].text;
    CalibrateTile tile = {.text = text, .sample = t->n};
    if (!calibrate_tile_read(text, &tile)) {
        diag_error(t->d, ST_ARGS, "csv", place(t, COLUMN_TILE), "'%s' is no tile", text);
        diag_hint(t->d, "a block's m, n and k-step, and a warp's m and n if they are known: "
                        "128x128x32 or 128x128x32/64x64");
        return ST_ARGS;
    }
    Status s = plan_op(t);
    if (s) return s;
    if (t->set->n_group != 1 || !t->set->plans[0].problem.contraction) {
        out->failed = "a tile names the kernel of a product alone; others need a plan";
        return ST_OK;
    }
    t->tile = arena_grow(t->a, t->tile, &t->cap_tile, (size_t)t->n_tile + 1, sizeof *t->tile);
    t->tile[t->n_tile++] = tile;
    return ST_OK;
}

static Status by_plan(Times *t, CalibrateSample *out) {
    const char *name = t->row[COLUMN_PLAN].text;
    CompileOptions o = {.top = 1, .workspace_limit = -1};
    PlanSet *set = ARENA_NEW(t->a, PlanSet);
    WholePlan *plan = ARENA_NEW(t->a, WholePlan);
    char *text;
    size_t len;
    const char *file = arena_printf(t->a, "%s%s", *name == '/' ? "" : t->folder, name);
    if (!file_exists(file)) {
        diag_error(t->d, ST_ARGS, "csv", place(t, COLUMN_PLAN), "there is no file '%s'", file);
        diag_hint(t->d, "a plan is a file beside this one, as roller-gen --dump plan prints it");
        return ST_ARGS;
    }
    Status s = file_read(t->a, t->d, file, MAX_TE, &text, &len);
    if (!s)
        s = compile_read_plan(t->a, t->d, &(PlanRequest){t->te, t->dev, &o},
                              (DiagText){file, text, len}, set);
    if (s) return s;
    compile_choose(t->a, set, 0, plan);
    out->plan = &plan->rplan;
    return ST_OK;
}

static Status read_sample(Times *t, CalibrateSample *out) {
    Status s = read_us(t, &out->us);
    if (!s) s = read_op(t);
    if (s) return s;
    out->family = t->te->name;
    out->name = arena_printf(t->a, "%s, line %d", t->te->name, t->line);
    out->samples = 1;
    bool plan = *t->row[COLUMN_PLAN].text, tile = *t->row[COLUMN_TILE].text;
    if (plan != tile) return plan ? by_plan(t, out) : by_tile(t, out);
    diag_error(t->d, ST_ARGS, "csv", place(t, plan ? COLUMN_TILE : COLUMN_PLAN),
               plan ? "a plan and a tile: one of them is wanted" : "neither a plan nor a tile");
    diag_hint(t->d, "a time says something of a model only where it is known which kernel took "
                    "it");
    return ST_ARGS;
}

static Status read_all(Times *t) {
    CsvReader r = {.text = t->text};
    bool more = true;
    Status s = read_head(t, &r);
    while (!s) {
        CalibrateSample sample = {.name = ""};
        s = read_row(t, &r, &more);
        if (!s && !more) return find_tiles(t);
        if (!s) s = read_sample(t, &sample);
        if (s) break;
        t->sample = arena_grow(t->a, t->sample, &t->cap, (size_t)t->n + 1, sizeof *t->sample);
        t->sample[t->n++] = sample;
    }
    return s;
}

static const char *folder_of(Arena *a, const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? arena_strndup(a, path, (size_t)(slash + 1 - path)) : "";
}

Status calibrate_times(Arena *a, Diag *d, const Device *dev, const char *path, Calibration *out) {
    char *text;
    size_t len;
    Device *plain = ARENA_NEW(a, Device);
    *out = (Calibration){.kernel = NULL};
    *plain = *dev;
    plain->n_factor = 0;
    Status s = file_read(a, d, path, MAX_BYTES, &text, &len);
    if (s) return s;
    Times t = {.a = a, .d = d, .dev = plain, .folder = folder_of(a, path),
               .text = {path, text, len}};
    s = read_all(&t);
    return s ? s : calibrate_samples(a, d, dev, t.sample, t.n, out);
}
