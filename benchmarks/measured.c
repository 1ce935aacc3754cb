/* measured: what the model says of kernels that others have measured.
 *
 *     measured [--boards FILE] [--sample N] [--seed N] FILE.csv...
 *
 * Prints a JSON object for each row: the measured time; `library`, the estimate of the library's
 * own tile; `top`, of the plan that comes first; `floor`, what no plan beats.  Times are in us,
 * null where there is no estimate.  --sample takes about N rows, chosen by seed; sizes of which
 * several tiles were timed are taken whole.  benchmarks/measured/report makes tables of it.  */
#include "base/file.h"
#include "base/hash.h"
#include "base/json.h"
#include "driver/compile.h"
#include "measured_row.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    Arena *a;
    json_t *boards;
    int64_t sample;           /* rows; 0: all */
    uint64_t seed;
    const char **file;
    int n_file;
} Options;

typedef struct {
    double library, top, floor;           /* us; NAN: none */
    bool has_tile;            /* the kernel's name tells the library's tile */
    const char *plan, *why;   /* why: an estimate is missing */
} Prediction;

/* ---- the device ---- */

static void scale(MemoryLevel *m, double by) {
    m->read.value *= by;
    m->write.value *= by;
    m->copy.value *= by;
    for (int i = 0; i < m->n_curve; i++) {
        if (strcmp(m->curve[i].unit, "B/s") != 0) continue;
        for (int k = 0; k < m->curve[i].n; k++) m->curve[i].py[k] *= by;
    }
}

/* The shipped profile of a board, with the clock and the DRAM that are stated for it.  The share of
 * DRAM's nominal rate that can be reached is the profile's.  */
static Device *device_of(const Options *o, Diag *d, const char *gpu) {
    const json_t *board = json_object_get(o->boards, gpu);
    const char *name = json_string_value(json_object_get(board, "profile"));
    double clock = json_number_value(json_object_get(board, "clock_mhz"));
    double dram = json_number_value(json_object_get(board, "dram_gbs"));
    double nominal = json_number_value(json_object_get(board, "profile_dram_gbs"));
    Device *dev;
    if (!name) return NULL;
    if (hal_profile_find(o->a, d, name, hal_profile_path(o->a, false), NULL, &dev)) return NULL;
    if (clock > 0) dev->limits.clock_sm_sustained.value = clock;
    if (dram > 0 && nominal > 0) scale(&dev->memory[LEVEL_DRAM], dram / nominal);
    return dev;
}

/* ---- the library's tile ---- */

typedef struct {
    const MeasuredTile *t;
    int thread_m, thread_n, warp_m, warp_n;
} Shape;

/* Threads and warps of a block as square as they can be.  */
static bool shape_of(const MeasuredTile *t, Shape *s) {
    int threads = t->threads / t->slices, outputs = t->m * t->n / (threads > 0 ? threads : 1);
    *s = (Shape){.t = t};
    if (t->matrix) {
        s->warp_m = t->m / t->warps_m;
        s->warp_n = t->n / t->warps_n;
        return s->warp_m > 0 && s->warp_n > 0;
    }
    double best = INFINITY;
    for (int tm = 1; tm <= outputs; tm *= 2) {
        for (int lanes = 1; lanes <= 32; lanes *= 2) {
            int tn = outputs / tm, wm = tm * lanes, wn = tn * (32 / lanes);
            if (tm * tn != outputs || t->m % wm || t->n % wn) continue;
            if ((t->m / wm) * (t->n / wn) * 32 != threads) continue;
            double reads = 1.0 / tm + 1.0 / tn + (1.0 / wm + 1.0 / wn) / 4;
            if (reads >= best) continue;
            best = reads;
            s->thread_m = tm, s->thread_n = tn, s->warp_m = wm, s->warp_n = wn;
        }
    }
    return best < INFINITY;
}

/* How an operand's shared tile lies: the library's way is not known.  */
static const struct {
    bool along_k;             /* rows are m or n, elements k; else rows are k */
    const char *apart;        /* what keeps banks apart */
} arrangement[] = {{true, ""}, {true, " swizzle 1 1 0"}, {true, " swizzle 2 1 0"},
                   {true, " swizzle 2 2 0"}, {true, " swizzle 3 0 0"}, {true, " pad 4"},
                   {false, ""}, {false, " pad 4"}, {false, " swizzle 3 0 0"}};
enum { ARRANGEMENTS = sizeof arrangement / sizeof *arrangement };

static int power_up_to(int n, int most) {
    int p = 1;
    while (2 * p <= most && n % (2 * p) == 0) p *= 2;
    return p;
}

static void load_text(Buf *b, const Problem *p, int side, const MeasuredTile *t, int arranged) {
    const ROperand *op = &p->op[side];
    const char *own = side ? "n" : "m";
    bool along_k = op->vec_k >= op->vec_mn;
    int vec = along_k ? op->vec_k : op->vec_mn, bytes = vec * op->bytes;
    bool async = t->stages > 2 && bytes >= 4;
    buf_printf(b, "  %c %s %s.%d vec %d along %s inner %s%s\n", side ? 'b' : 'a',
               async ? "async" : "staged", async ? "cp.async" : "ldg_sts", bytes, vec,
               along_k ? "k" : own, arrangement[arranged].along_k ? "k" : own,
               arrangement[arranged].apart);
}

/* The library's block as a plan of ours, with these arrangements and k of a thread.  */
static const char *plan_text(Arena *a, const Problem *p, const Shape *s, const char *unit,
                             const int arranged[2], int thread_k) {
    const MeasuredTile *t = s->t;
    int warp_k = t->k / t->slices, out = p->out_vec;
    int vec_m = arrangement[arranged[0]].along_k ? 1 : power_up_to(s->thread_m, 4);
    int vec_n = arrangement[arranged[1]].along_k ? 1 : power_up_to(s->thread_n, 4);
    int stages = t->stages;
    Buf b = buf_new(a);
    buf_printf(&b, "roller-plan 1\nkernel 0\n  skeleton contract\n  unit %s\n", unit);
    buf_printf(&b, "  block 1 %d %d %d\n  warp 1 %d %d %d\n", t->m, t->n, t->k, s->warp_m,
               s->warp_n, warp_k);
    if (t->matrix) buf_puts(&b, "  thread 1 16 8 8\n  vec 1 2\n");
    else
        buf_printf(&b, "  thread 1 %d %d %d\n  vec %d %d\n", s->thread_m, s->thread_n, thread_k,
                   vec_m, vec_n);
    buf_printf(&b, "  unroll %d\n  stages %d\n", warp_k, stages);
    for (int side = 0; side < 2; side++) load_text(&b, p, side, t, arranged[side]);
    int store = t->matrix ? 2 : vec_n;
    while (store > out) store /= 2;
    buf_printf(&b, "  store %d\n  raster row\n  split %lld\n  blocks_per_sm 1\n", store,
               (long long)t->split);
    return buf_str(&b);
}

/* The best estimate of the library's tile over all ways to arrange its operands.  */
static void of_library(Arena *a, const Device *dev, const PlanSet *set, const MeasuredTile *t,
                       Prediction *out) {
    const Problem *p = &set->plans[0].problem;
    const char *unit = t->matrix ? "mma.m16n8k8.f16.f32" : "ffma";
    Shape shape;
    out->has_tile = true;
    if (set->n_group != 1 || !p->contraction || !shape_of(t, &shape)) return;
    for (int i = 0; i < ARRANGEMENTS * ARRANGEMENTS * 3; i++) {
        ArenaMark mark = arena_mark(a);
        int arranged[2] = {i % ARRANGEMENTS, i / ARRANGEMENTS % ARRANGEMENTS};
        int thread_k = 1 << i / (ARRANGEMENTS * ARRANGEMENTS);
        const char *text = plan_text(a, p, &shape, unit, arranged, thread_k);
        RProg prog;
        Problem problem = *p;
        KernelGroup group = set->group[0];
        RPlan plan = {.te = set->normal, .group = &group, .problem = &problem, .prog = &prog,
                      .n = 1, .n_group = 1, .align = 16};
        Diag quiet = diag_new(a);
        Estimate e = {0};
        if (rprog_read(a, &quiet, diag_text("library", text), dev, &plan) == ST_OK) {
            prog = plan.prog[0];
            rprog_derive(p, dev, &prog);
            mp_estimate(p, &prog, dev, &e);
        } else if (!out->why) {
            const DiagMessage *m = diag_first_error(&quiet);
            out->why = m ? arena_strdup(a, m->hint ? m->hint : m->message) : NULL;
            mark = arena_mark(a);
        }
        if (e.us > 0 && !(e.us >= out->library)) out->library = e.us;
        arena_reset(a, mark);
    }
    if (isfinite(out->library)) out->why = NULL;
}

/* ---- rows ---- */

static bool predict(Arena *a, const Device *dev, const MeasuredRow *r, Prediction *out) {
    Diag d = diag_new(a);
    Buf text = buf_new(a);
    Te *te;
    PlanSet set;
    MeasuredTile tile;
    CompileOptions o = {.top = 1, .align = 16, .workspace_limit = -1};
    *out = (Prediction){.library = NAN, .top = NAN, .floor = NAN};
    if (!measured_te(r, &text)) {
        out->why = "no expression for this operator";
        return false;
    }
    Status s = te_parse(a, &d, (DiagText){"row", buf_str(&text), text.len}, NULL, NULL, &te);
    if (!s) s = compile_plan(a, &d, te, dev, &o, &set);
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
    out->plan = buf_str(&summary);
    if (measured_tile(r, &tile)) of_library(a, dev, &set, &tile, out);
    return true;
}

static void put_us(json_t *o, const char *key, double us) {
    json_object_set_new(o, key, isfinite(us) ? json_real(us) : json_null());
}

static void print_row(Arena *a, const MeasuredRow *r, const Prediction *p) {
    json_t *o = json_object();
    const char *const key[] = {"source", "gpu", "op", "dtype", "sizes", "kernel"};
    const char *const word[] = {r->source, r->gpu, r->op, r->dtype, r->sizes, r->kernel};
    for (int i = 0; i < 6; i++) json_object_set_new(o, key[i], json_string(word[i]));
    put_us(o, "us", r->us);
    put_us(o, "library", p->library);
    put_us(o, "top", p->top);
    put_us(o, "floor", p->floor);
    json_object_set_new(o, "flop", json_real(measured_flop(r)));
    json_object_set_new(o, "tile", json_boolean(p->has_tile));
    if (p->plan) json_object_set_new(o, "plan", json_string(p->plan));
    if (p->why) json_object_set_new(o, "why", json_string(p->why));
    Buf b = buf_new(a);
    json_write(o, 0, &b);
    puts(buf_str(&b));
    json_decref(o);
}

/* Of a sample, rows of one size and board are in or out together, so that tiles can be
 * compared.  */
static bool chosen(const Options *o, const MeasuredRow *r, int64_t all) {
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
    known[*n] = (Known){gpu, device_of(o, &d, gpu)};
    if (!known[*n].dev) fprintf(stderr, "measured: no profile for %s\n", gpu);
    return known[(*n)++].dev;
}

int main(int argc, char **argv) {
    enum { BOARDS = 64 };
    Arena *a = arena_create(NULL);
    if (!a) return 3;
    Options o = {.a = a, .seed = 1, .file = ARENA_ARRAY(a, const char *, argc)};
    if (!read_options(&o, argc, argv)) {
        fputs("usage: measured [--boards FILE] [--sample N] [--seed N] FILE.csv...\n", stderr);
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
            Prediction p = {.library = NAN, .top = NAN, .floor = NAN, .why = "no profile"};
            if (dev) predict(scratch, dev, r, &p);
            print_row(scratch, r, &p);
            arena_reset(scratch, mark);
        }
    }
    arena_destroy(scratch);
    json_decref(o.boards);
    arena_destroy(a);
    return 0;
}
