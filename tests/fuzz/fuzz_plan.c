/* Plan text: nothing may crash the reader; what it accepts is legal, is estimated, and prints and
 * reads back the same.  The op has a contraction and a map; the device is h200.  */
#include "base/file.h"
#include "microperf/microperf.h"
#include "rprogram/plan.h"

#include <stdlib.h>
#include <string.h>

static void expect(bool condition) {
    if (!condition) abort();
}

/* Made once, kept for the whole run.  */
typedef struct {
    Arena *arena;
    Device *dev;
    RPlan plan;
} Setting;

static void prepare(void *user) {
    static const char op[] =
        "param M = 96, N = 80, K = 72;\n"
        "op f(A: f32[M,K], B: f32[N,K]) -> (C: f32[M,N], D: f32[M]) {\n"
        "  C[m,n] += A[m,k] * B[n,k];\n  D[m] = C[m,0] + C[m,1];\n}\n";
    Setting *s = user;
    Arena *a = s->arena;
    Diag d = diag_new(a);
    char *text;
    size_t len;
    Te *te, *normal;
    expect(!file_read(a, &d, "profiles/h200.json", 1 << 22, &text, &len));
    expect(!hal_profile_read(a, &d, (DiagText){"h200.json", text, len}, &s->dev));
    expect(!te_parse(a, &d, (DiagText){"f.te", op, sizeof op - 1}, NULL, NULL, &te));
    expect(!te_normalize(a, &d, te, &normal));
    s->plan.te = normal;
    s->plan.n = access_groups(a, normal, &s->plan.group);
    s->plan.problem = ARENA_ARRAY(a, Problem, s->plan.n);
    for (int i = 0; i < s->plan.n; i++) {
        expect(!rtile_problem(a, &d, normal, &s->plan.group[i], 16, &s->plan.problem[i]));
    }
}

typedef struct {
    const Setting *setting;
    Arena *arena;
    const char *text;
    size_t len;
} Job;

static void body(void *user) {
    Job *job = user;
    Arena *a = job->arena;
    const Device *dev = job->setting->dev;
    RPlan plan = job->setting->plan;
    Diag d = diag_new(a);
    Status s = rprog_read(a, &d, (DiagText){"fuzz.plan", job->text, job->len}, dev, &plan);
    expect(s == ST_OK || s == ST_PLAN_TEXT);
    expect((s == ST_OK) == (d.errors == 0));
    if (s != ST_OK) return;
    Buf once = buf_new(a), twice = buf_new(a);
    for (int i = 0; i < plan.n; i++) {
        Estimate e;
        expect(!rprog_check(&plan.problem[i], dev, &plan.prog[i]));
        mp_estimate(&plan.problem[i], &plan.prog[i], dev, &e);
        expect(e.us > 0);
    }
    rprog_print(&plan, dev, &once);
    expect(rprog_read(a, &d, (DiagText){"once.plan", once.text, once.len}, dev, &plan) == ST_OK);
    rprog_print(&plan, dev, &twice);
    expect(once.len == twice.len && !memcmp(once.text, twice.text, once.len));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static Setting setting;
    if (!setting.arena) {
        setting.arena = arena_create(NULL);
        expect(setting.arena && arena_try(setting.arena, prepare, &setting));
    }
    Job job = {&setting, arena_create(NULL), (const char *)data, size};
    expect(job.arena && arena_try(job.arena, body, &job));
    arena_destroy(job.arena);
    return 0;
}
