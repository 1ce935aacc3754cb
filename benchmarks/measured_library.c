#include "measured_library.h"
#include "rprogram/derived.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- the device ---- */

static void scale(MemoryLevel *m, double by) {
    m->peak.value *= by;
    m->read.value *= by;
    m->write.value *= by;
    m->copy.value *= by;
    for (int i = 0; i < m->n_curve; i++) {
        if (strcmp(m->curve[i].unit, "B/s") != 0) continue;
        for (int k = 0; k < m->curve[i].n; k++) m->curve[i].py[k] *= by;
    }
}

/* Clocks of units' families as power allows them, where the board's differ from the profile's:
 * {"unit": [[us, MHz], ...]}.  */
static void set_clocks(Arena *a, const json_t *units, Device *dev) {
    for (int i = 0; i < dev->n_unit; i++) {
        const json_t *points = json_object_get(units, dev->unit[i].name);
        int n = (int)json_array_size(points);
        if (n < 2) continue;
        Curve *c = &hal_own_family(a, dev, &dev->unit[i])->clock;
        *c = (Curve){.of = "clock", .x = "busy", .n = n, .px = ARENA_ARRAY(a, double, n),
                     .py = ARENA_ARRAY(a, double, n)};
        for (int k = 0; k < n; k++) {
            const json_t *point = json_array_get(points, (size_t)k);
            c->px[k] = json_number_value(json_array_get(point, 0));
            c->py[k] = json_number_value(json_array_get(point, 1));
        }
    }
}

Device *measured_device(Arena *a, Diag *d, const json_t *boards, const char *gpu) {
    const json_t *board = json_object_get(boards, gpu);
    const char *name = json_string_value(json_object_get(board, "profile"));
    double clock = json_number_value(json_object_get(board, "clock_mhz"));
    double dram = json_number_value(json_object_get(board, "dram_gbs"));
    double nominal = json_number_value(json_object_get(board, "profile_dram_gbs"));
    Device *dev;
    if (!name) return NULL;
    if (hal_profile_find(a, d, name, hal_profile_path(a, false), NULL, &dev)) return NULL;
    if (clock > 0) {          /* that of L2 follows it */
        scale(&dev->memory[LEVEL_L2], clock / dev->limits.clock_sm_sustained.value);
        dev->limits.clock_sm.value = dev->limits.clock_sm_sustained.value = clock;
    }
    set_clocks(a, json_object_get(board, "unit_clock_mhz"), dev);
    dev->calls = json_number_value(json_object_get(board, "calls"));
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
    bool along_k = op->vec_k > op->vec_mn || (op->vec_k == op->vec_mn && op->stride_k == 1);
    int vec = along_k ? op->vec_k : op->vec_mn;
    int bytes = vec * op->bytes;
    bool async = t->stages > 2 && bytes >= 4;
    buf_printf(b, "  %c %s %s.%d vec %d along %s inner %s%s\n", side ? 'b' : 'a',
               async ? "async" : "staged", async ? "cp.async" : "ldg_sts", bytes, vec,
               along_k ? "k" : own, arrangement[arranged].along_k ? "k" : own,
               arrangement[arranged].apart);
}

/* What is promised less alignment moves its chunks of 16 bytes in several accesses.  */
static void narrow(const Device *dev, const Problem *p, int side, const MeasuredTile *t, RLoad *l) {
    char name[32];
    if (t->align == 0 || t->align >= l->vec) return;
    snprintf(name, sizeof name, "ldg_sts.%d", t->align * p->op[side].bytes);
    for (int i = 0; i < dev->n_mover; i++)
        if (strcmp(dev->mover[i].name, name) == 0) l->mover = (int16_t)i;
}

/* The library's block as a plan of ours, with these arrangements and k of a thread; late: fragments
 * are read right before their products.  */
static const char *plan_text(Arena *a, const Problem *p, const Shape *s, const char *unit,
                             const int arranged[2], int thread_k, bool late) {
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
    buf_printf(&b, "  unroll %d%s\n  stages %d\n", warp_k, late ? " late" : "",
               stages);
    for (int side = 0; side < 2; side++) load_text(&b, p, side, t, arranged[side]);
    int store = t->matrix ? 2 : vec_n;
    while (store > out) store /= 2;
    buf_printf(&b, "  store %d\n  raster row\n  split %lld\n  blocks_per_sm 1\n", store,
               (long long)t->split);
    return buf_str(&b);
}

bool measured_library(Arena *a, const Device *dev, const PlanSet *set, const MeasuredTile *t,
                      Estimate *out, double *worst, const char **why) {
    const Problem *p = &set->plans[0].problem;
    const char *unit = t->matrix ? "mma.m16n8k8.f16.f32" : "ffma", *refused = NULL;
    Shape shape;
    bool any = false;
    *why = NULL;
    if (set->n_group != 1 || !p->contraction || !shape_of(t, &shape)) return false;
    int pairs = ARRANGEMENTS * ARRANGEMENTS, ways = t->matrix ? 2 : 3;
    for (int i = 0; i < pairs * ways; i++) {
        ArenaMark mark = arena_mark(a);
        int arranged[2] = {i % ARRANGEMENTS, i / ARRANGEMENTS % ARRANGEMENTS}, way = i / pairs;
        bool late = t->matrix && way == 1;
        const char *text = plan_text(a, p, &shape, unit, arranged, 1 << way, late);
        RProg prog;
        Problem problem = *p;
        KernelGroup group = set->group[0];
        RPlan plan = {.te = set->normal, .group = &group, .problem = &problem, .prog = &prog,
                      .n = 1, .n_group = 1, .align = 16};
        Diag quiet = diag_new(a);
        Estimate e = {0};
        if (rprog_read(a, &quiet, diag_text("library", text), dev, &plan) == ST_OK) {
            prog = plan.prog[0];
            for (int side = 0; side < 2; side++) narrow(dev, p, side, t, &prog.load[side]);
            rprog_set_raster(p, t->group, &prog);
            rprog_derive(p, dev, &prog);
            mp_estimate(p, &prog, dev, &e);
        } else if (!refused) {
            const DiagMessage *m = diag_first_error(&quiet);
            refused = m ? arena_strdup(a, m->hint ? m->hint : m->message) : NULL;
            mark = arena_mark(a);
        }
        if (e.us > 0 && (!any || e.us < out->us)) *out = e;
        if (worst && (!any || e.us > *worst)) *worst = e.us;
        any |= e.us > 0;
        arena_reset(a, mark);
    }
    if (!any) *why = refused;
    return any;
}
