/* measured: what the model says of kernels that others have measured.
 *
 *     measured [--boards FILE] [--sample N] [--seed N] [--gpu TEXT] [--op TEXT] FILE.csv...
 *
 * Prints a JSON object for each row: the measured time; `library`, the estimate of the library's
 * own tile; `top`, of the plan that comes first; `floor`, what no plan beats, and `warm_floor`, of
 * calls that follow each other.  Times are in us,
 * null where there is no estimate; `terms`, `blocks` and
 * `blocks_per_sm` are of `library`.  --sample takes about N rows,
 * chosen by seed; sizes of which several tiles were timed are taken whole.  --gpu takes boards
 * whose names begin with TEXT, --op one operator.  benchmarks/measured/report makes tables.  */
#include "base/file.h"
#include "base/hash.h"
#include "base/json.h"
#include "driver/pipeline/compile.h"
#include "driver/plan/fusion.h"
#include "measured_library.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    Arena *a;
    json_t *boards;
    int64_t sample;           /* rows; 0: all */
    uint64_t seed;
    const char *gpu, *op;     /* the boards' names begin with it; the operator; NULL: all */
    const char **file;
    int n_file;
} Options;

typedef struct {
    double library, top;      /* us; NAN: none */
    double floor, warm;       /* warm: where L2 holds what it can from call to call */
    bool has_tile;            /* the kernel's name tells the library's tile */
    double worst;             /* of the library's tile by the worst of the arrangements */
    const char *plan, *why;   /* why: an estimate is missing */
    Estimate tile;            /* the library's */
} Prediction;

/* ---- rows ---- */

static bool is_decided(const TeDecisions *d) {
    for (int i = 0; i < d->n; i++)
        if (d->taken[i]) return true;
    return false;
}

static bool predict(Arena *a, const Device *dev, const MeasuredRow *r, Prediction *out) {
    Diag d = diag_new(a);
    Buf text = buf_new(a);
    Te *te;
    PlanSet set;
    MeasuredTile tile;
    CompileOptions o = {.top = 1, .align = 16, .workspace_limit = -1};
    *out = (Prediction){.library = NAN, .top = NAN, .floor = NAN, .warm = NAN};
    if (!measured_te(r, &text)) {
        out->why = "no expression for this operator";
        return false;
    }
    Status s = te_parse(a, &d, (DiagText){"row", buf_str(&text), text.len}, NULL, NULL, &te);
    if (!s) s = compile_plan(a, &d, &(PlanRequest){te, dev, &o}, &set);
    if (s) {
        const DiagMessage *m = diag_first_error(&d);
        out->why = m ? m->message : "no plan";
        return false;
    }
    Estimate e;
    WholePlan whole;
    Buf summary = buf_new(a);
    compile_choose(a, &set, 0, &whole);
    compile_estimate(&whole, &e);
    out->top = e.us;
    Problem *problem = ARENA_ARRAY(a, Problem, set.n_group);
    for (int g = 0; g < set.n_group; g++) {
        problem[g] = set.plans[g].problem;
        mp_summary(&problem[g], dev, &whole.rplan.prog[g], &summary);
        if (g + 1 < set.n_group) buf_puts(&summary, "; ");
    }
    Floor floor;
    mp_floor(set.normal, problem, set.n_group, dev, &floor);
    out->floor = floor.us;
    out->warm = floor.warm_us;
    out->plan = buf_str(&summary);
    out->has_tile = measured_tile(r, &tile);
    if (!out->has_tile) return true;
    /* The library's kernel is one product, whatever our first plan packs or writes out.  */
    TeDecisions none = {0};
    PlanRequest asked = {te, dev, &o};
    if (is_decided(set.normal->decisions) && fusion_open(a, &d, &asked, &none, &set)) return true;
    if (measured_library(a, dev, &set, &tile, &out->tile, &out->worst, &out->why))
        out->library = out->tile.us;
    return true;
}

static void put_us(json_t *o, const char *key, double us) {
    json_object_set_new(o, key, isfinite(us) ? json_real(us) : json_null());
}

static void put_terms(json_t *o, const Estimate *e) {
    static const char *const key[] = {
#define X(id, name, text) name,
        MP_TERMS(X)
#undef X
    };
    json_t *terms = json_object();
    for (MpTerm t = 0; t < MP_COUNT; t++) put_us(terms, key[t], e->term[t]);
    json_object_set_new(o, "terms", terms);
    json_object_set_new(o, "blocks", json_integer(e->blocks));
    json_object_set_new(o, "blocks_per_sm", json_integer(e->blocks_per_sm));
}

static void print_row(Arena *a, const MeasuredRow *r, const Prediction *p) {
    json_t *o = json_object();
    const char *const key[] = {"source", "gpu", "op", "dtype", "sizes", "kernel"};
    const char *const word[] = {r->source, r->gpu, r->op, r->dtype, r->sizes, r->kernel};
    for (int i = 0; i < 6; i++) json_object_set_new(o, key[i], json_string(word[i]));
    put_us(o, "us", r->us);
    put_us(o, "library", p->library);
    put_us(o, "library_worst", p->worst > 0 ? p->worst : NAN);
    put_us(o, "top", p->top);
    put_us(o, "floor", p->floor);
    put_us(o, "warm_floor", p->warm);
    json_object_set_new(o, "flop", json_real(measured_flop(r)));
    json_object_set_new(o, "tile", json_boolean(p->has_tile));
    if (p->plan) json_object_set_new(o, "plan", json_string(p->plan));
    if (p->why) json_object_set_new(o, "why", json_string(p->why));
    if (p->tile.us > 0) put_terms(o, &p->tile);
    Buf b = buf_new(a);
    json_write(o, 0, &b);
    puts(buf_str(&b));
    json_decref(o);
}

/* Of a sample, rows of one size and board are in or out together, so that tiles can be
 * compared.  */
static bool chosen(const Options *o, const MeasuredRow *r, int64_t all) {
    if (o->gpu && strncmp(r->gpu, o->gpu, strlen(o->gpu)) != 0) return false;
    if (o->op && strcmp(r->op, o->op) != 0) return false;
    uint64_t h = hash64(r->gpu, strlen(r->gpu), o->seed);
    h = hash64(r->op, strlen(r->op), h);
    h = hash64(r->sizes, strlen(r->sizes), h);
    return o->sample == 0 || h % (uint64_t)all < (uint64_t)o->sample;
}

/* ---- the program ---- */

static bool read_options(Options *o, int argc, char **argv) {
    const char *boards = "benchmarks/measured/boards.json";
    for (int i = 1; i < argc; i++) {
        bool more = i + 1 < argc;
        if (more && strcmp(argv[i], "--boards") == 0) boards = argv[++i];
        else if (more && strcmp(argv[i], "--sample") == 0) o->sample = strtoll(argv[++i], NULL, 10);
        else if (more && strcmp(argv[i], "--seed") == 0) o->seed = strtoull(argv[++i], NULL, 10);
        else if (more && strcmp(argv[i], "--gpu") == 0) o->gpu = argv[++i];
        else if (more && strcmp(argv[i], "--op") == 0) o->op = argv[++i];
        else if (argv[i][0] == '-') return false;
        else o->file[o->n_file++] = argv[i];
    }
    json_error_t e;
    o->boards = json_load_file(boards, JSON_REJECT_DUPLICATES, &e);
    if (!o->boards) fprintf(stderr, "measured: %s: %s\n", boards, e.text);
    return o->boards && o->n_file > 0 && o->sample >= 0;
}

static void told(const Diag *d) {
    const DiagMessage *m = diag_first_error(d);
    fprintf(stderr, "measured: %s\n", m ? m->message : "failed");
}

/* Devices by board, read once.  */
typedef struct {
    const char *gpu;
    Device *dev;
} Known;

static const Device *find_device(const Options *o, Known *known, int *n, const char *gpu) {
    for (int i = 0; i < *n; i++) {
        if (strcmp(known[i].gpu, gpu) == 0) return known[i].dev;
    }
    Diag d = diag_new(o->a);
    known[*n] = (Known){gpu, measured_device(o->a, &d, o->boards, gpu)};
    if (!known[*n].dev) fprintf(stderr, "measured: no profile for %s\n", gpu);
    return known[(*n)++].dev;
}

/* FlashAttention-2 multiplies by units of warps alone.  */
static const Device *with_units_of(Arena *a, const Device *dev, const MeasuredRow *r) {
    Device *out = ARENA_NEW(a, Device);
    if (strncmp(r->kernel, "fa2@", 4) != 0) return dev;
    *out = *dev;
    out->unit = ARENA_ARRAY(a, ComputeUnit, dev->n_unit);
    out->n_unit = 0;
    for (int i = 0; i < dev->n_unit; i++)
        if (dev->unit[i].scope != SCOPE_WARPGROUP) out->unit[out->n_unit++] = dev->unit[i];
    return out;
}

int main(int argc, char **argv) {
    enum { BOARDS = 64 };
    Arena *a = arena_create(NULL);
    if (!a) return 3;
    Options o = {.a = a, .seed = 1, .file = ARENA_ARRAY(a, const char *, argc)};
    if (!read_options(&o, argc, argv)) {
        fputs("usage: measured [--boards FILE] [--sample N] [--seed N] [--gpu TEXT] [--op TEXT] "
              "FILE.csv...\n", stderr);
        return 2;
    }
    MeasuredRows *rows = ARENA_ARRAY(a, MeasuredRows, o.n_file);
    int64_t all = 0;
    Known known[BOARDS];
    int n_known = 0;
    for (int f = 0; f < o.n_file; f++) {
        Diag d = diag_new(a);
        if (measured_read(a, &d, o.file[f], &rows[f])) {
            told(&d);
            return 3;
        }
        all += rows[f].n;
    }
    Arena *scratch = arena_create(NULL);
    if (!scratch) return 3;
    for (int f = 0; f < o.n_file; f++) {
        for (int i = 0; i < rows[f].n; i++) {
            const MeasuredRow *r = &rows[f].row[i];
            if (!chosen(&o, r, all)) continue;
            const Device *dev = find_device(&o, known, &n_known, r->gpu);
            ArenaMark mark = arena_mark(scratch);
            Prediction p = {.library = NAN, .top = NAN, .floor = NAN, .warm = NAN,
                            .why = "no profile"};
            if (dev) predict(scratch, with_units_of(scratch, dev, r), r, &p);
            print_row(scratch, r, &p);
            arena_reset(scratch, mark);
        }
    }
    arena_destroy(scratch);
    json_decref(o.boards);
    arena_destroy(a);
    return 0;
}
