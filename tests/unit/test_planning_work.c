/* Memory and work of planning grow with the kernels that differ, no faster: many statements, layers
 * that repeat, many run-time sizes.  */
#include "arena_fixture.h"
#include "driver/plan/fusion.h"
#include "driver/sizes/size_price.h"
#include "driver/pipeline/compile.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static Device *dev;
static const CompileOptions options = {.top = 1, .align = 16, .workspace_limit = -1};

static int setup(void **state) {
    (void)state;
    arena = arena_create(NULL);
    diag = diag_new(arena);
    return hal_profile_find(arena, &diag, "h200", "profiles", NULL, &dev) ? -1 : 0;
}

static PlanRequest request(const char *text) {
    Te *te;
    diag = diag_new(arena);
    must(te_parse(arena, &diag, diag_text("case.te", text), NULL, NULL, &te));
    return (PlanRequest){te, dev, &options};
}

static void plan(const char *text, PlanSet *out) {
    PlanRequest r = request(text);
    must(compile_plan(arena, &diag, &r, out));
}

/* Products of M rows, one behind the other, the first one of `width` columns, each `wider` than the
 * one before it.  */
static const char *products(int layers, int width, int wider) {
    Buf out = buf_new(arena);
    buf_printf(&out, "param M = 1..512; op f(X: f16[M,%d]", width);
    for (int i = 0; i < layers; i++)
        buf_printf(&out, ", W%d: f16[%d,%d]", i, width + i * wider, width + (i + 1) * wider);
    buf_printf(&out, ") -> Y: f16[M,%d] {\n", width + layers * wider);
    for (int i = 0; i < layers; i++) {
        const char *from = i ? arena_printf(arena, "y%d", i - 1) : "X";
        const char *to = i + 1 < layers ? arena_printf(arena, "y%d", i) : "Y";
        buf_printf(&out, "%s[m,j] = sum[k](%s[m,k] * W%d[k,j])%s;\n", to, from, i,
                   i + 1 < layers ? " @type(f16)" : "");
    }
    buf_puts(&out, "}\n");
    return buf_str(&out);
}

static const char *chain(int layers, int wider) { return products(layers, 32, wider); }

/* ---- prices at run-time sizes ---- */

/* Returns the bytes that it takes.  */
static double price(const char *text, SizedSet *out, SizePoints *at) {
    PlanRequest r = request(text);
    RSelector measures = {.te = r.te};
    int64_t *multiples = ARENA_ARRAY(arena, int64_t, r.te->n_size + 1);
    PlanSet *set = ARENA_NEW(arena, PlanSet);
    must(fusion_plan(arena, &diag, &r, set));
    size_points_find(arena, set->normal, &measures, multiples, RPLAN_USUAL, at);
    size_t before = arena_bytes(arena);
    size_price_open(arena, set, at, out);
    size_price(arena, at, &(SizeRound){0, at->n_planned, at->n}, out, 1);
    return (double)(arena_bytes(arena) - before);
}

typedef struct {
    double bytes;
    int programs;             /* that are priced at all points */
} Work;

static Work work_of(const char *text) {
    SizedSet set;
    SizePoints at;
    Work w = {.bytes = price(text, &set, &at)};
    for (int g = 0; g < set.n; g++) w.programs += set.group[g].n;
    return w;
}

static void equal_layers_are_priced_once(void **state) {
    (void)state;
    Work few = work_of(chain(8, 0)), many = work_of(chain(32, 0));
    assert_int_equal(few.programs, many.programs);
    assert_true((many.bytes - few.bytes) / 24 < few.bytes / 50);
}

static void other_kernels_take_as_much_each(void **state) {
    (void)state;
    Work few = work_of(chain(2, 8)), some = work_of(chain(4, 8)), many = work_of(chain(8, 8));
    assert_true(few.programs < some.programs && some.programs < many.programs);
    double each = (some.bytes - few.bytes) / (some.programs - few.programs);
    double then = (many.bytes - some.bytes) / (many.programs - some.programs);
    assert_true(then < 1.25 * each);
    assert_true(many.bytes < 1 << 24);
}

/* Sizes of the same range are not the same size.  */
static void sizes_are_told_apart(void **state) {
    (void)state;
    const char *text = "param M = 1..512, N = 1..512;"
                       "op f(X: f16[M,64], Y: f16[%c,64], W: f16[64,64]) ->"
                       " (A: f16[M,64], B: f16[%c,64]) {"
                       " A[m,j] = sum[k](X[m,k] * W[k,j]); B[m,j] = sum[k](Y[m,k] * W[k,j]); }";
    SizedSet set;
    SizePoints at;
    price(arena_printf(arena, text, 'M', 'M'), &set, &at);
    assert_int_equal(set.n, 1);
    assert_int_equal(set.group[0].count, 2);
    price(arena_printf(arena, text, 'N', 'N'), &set, &at);
    assert_int_equal(set.n, 2);
    int apart = 0;
    for (int i = 0; i < at.n; i++) {
        const SizedProgram *x = set.group[0].program, *y = set.group[1].program;
        assert_true(at.value[i][0] != at.value[i][1] || x->us[i] == y->us[i]);
        apart += x->us[i] != y->us[i];
    }
    assert_true(apart > 0);
}

/* What is priced in place is what the op has at those sizes.  */
static void figures_are_set_in_place(void **state) {
    static const char *const text[] = {
        "param M = 1..512, N = 8..256 % 8; op f(A: f16[M,N], B: f16[N,64]) -> C: f16[M,64]"
        " { C[m,n] += A[m,k] * B[k,n]; }",
        "param M = 1..512, N = 8..256 % 8; op f(X: f32[M,N]) -> Y: f32[M,N]"
        " { S[m] += X[m,n]; T[m] += exp(X[m,n] - S[m]); Y[m,n] = X[m,n] / T[m]; }",
        "param M = 1..512, N = 8..256 % 8; op f(A: f16[M,N], B: f16[N,96]) -> C: f32[M,96]"
        " { t[m,n] += A[m,k] * B[k,n]; s[m] = max[n](t[m,n]); C[m,n] = t[m,n] - s[m]; }",
        "param M = 1..96, N = 8..256 % 8; op f(X: f32[M,N,12]) -> (Y: f32[N,12,M], Z: f32[N,12])"
        " { Y[n,c,m] = X[m,n,c]; Z[n,c] = sum[m](X[m,n,c]); }",
        "param M = 4..64, N = 8..64 % 8; op f(X: f32[8,M,N]) -> Y: f32[8,M,N]"
        " { Y[c,p,q] = max[r,s](X[c,p+r-1,q+s-1] else -1.0) where r in 3, s in 3; }",
    };
    (void)state;
    for (size_t i = 0; i < sizeof text / sizeof *text; i++) {
        SizedSet set;
        SizePoints at;
        price(text[i], &set, &at);
        for (int k = 0; k < at.n; k += 29) {
            const Te *sized = te_sized(arena, set.set->normal, at.value[k]);
            for (int g = 0; g < set.n; g++) {
                const SizedGroup *group = &set.group[g];
                Problem p;
                Estimate e;
                rtile_resize(arena, &set.set->plans[group->number].problem, sized, 16, &p);
                mp_estimate(&p, &group->program[0].ranked->prog, dev, &e);
                assert_true(e.us == group->program[0].us[k]);
            }
        }
    }
}

/* ---- what is tried ---- */

/* Bytes of all arenas, now and at most; how often one asked for some.  */
typedef struct {
    size_t live, most, asked;
} Heap;

static void *heap_alloc(size_t size, void *user) {
    Heap *h = user;
    size_t *p = malloc(size + sizeof(max_align_t));
    if (!p) return NULL;
    *p = size;
    h->live += size;
    h->asked++;
    if (h->live > h->most) h->most = h->live;
    return (char *)p + sizeof(max_align_t);
}

static void heap_free(void *user_block, void *user) {
    Heap *h = user;
    size_t *p = (size_t *)((char *)user_block - sizeof(max_align_t));
    h->live -= *p;
    free(p);
}

/* Norms over parts of rows, each of what the one before it gives: all of them are computed again in
 * all that follow, and where not to is tried everywhere.  */
static const char *norms(int layers) {
    Buf out = buf_new(arena);
    buf_puts(&out, "op f(X: f32[16,64]");
    for (int i = 0; i < layers; i++) buf_printf(&out, ", b%d: f32[64]", i);
    buf_puts(&out, ") -> Y: f32[16,64] {\n");
    for (int i = 0; i < layers; i++) {
        const char *from = i ? arena_printf(arena, "y%d", i - 1) : "X";
        const char *to = i + 1 < layers ? arena_printf(arena, "y%d", i) : "Y";
        buf_printf(&out, "s%d[t,h] = sum[d](%s[t,h*8+d] * %s[t,h*8+d]) where h in 8, d in 8;\n", i,
                   from, from);
        buf_printf(&out, "%s[t,c] = %s[t,c] * rsqrt(s%d[t,c/8] + 1.0) + b%d[c];\n", to, from, i, i);
    }
    buf_puts(&out, "}\n");
    return buf_str(&out);
}

/* What planning takes: `exact` counts every object on its own.  */
static Heap planned(const char *text, bool exact) {
    Heap heap = {0};
    Arena *outer = arena, *own = arena_create(&(ArenaSource){heap_alloc, heap_free, &heap, exact});
    PlanRequest r = request(text);
    PlanSet set;
    arena = own;
    diag = diag_new(own);
    must(compile_plan(own, &diag, &r, &set));
    arena_destroy(own);
    arena = outer;
    diag = diag_new(arena);
    assert_int_equal(heap.live, 0);
    return heap;
}

/* The most that planning takes beside what the op itself does.  */
static double planning_takes(const char *text) { return (double)planned(text, false).most; }

static void what_was_tried_is_given_back(void **state) {
    (void)state;
    double few = planning_takes(norms(10)), many = planning_takes(norms(30));
    assert_true(many < 2 * few);
    few = planning_takes(chain(2, 8));
    many = planning_takes(chain(8, 8));
    assert_true(many < 2 * few);
}

/* ---- n, 2 n and 4 n kernels ---- */

/* The same sizes all known.  */
static const char *sized(const char *text) {
    static const char range[] = "M = 1..512";
    assert_memory_equal(text + strlen("param "), range, strlen(range));
    return arena_printf(arena, "param M = 512%s", text + strlen("param ") + strlen(range));
}

/* Layers of a product and norms over parts of its rows.  */
static const char *layers(int n) {
    Buf out = buf_new(arena);
    buf_puts(&out, "param M = 1..512; op f(X: f16[M,64]");
    for (int i = 0; i < n; i++) buf_printf(&out, ", W%d: f16[64,64], b%d: f32[64]", i, i);
    buf_puts(&out, ") -> Y: f16[M,64] {\n");
    for (int i = 0; i < n; i++) {
        const char *from = i ? arena_printf(arena, "y%d", i - 1) : "X";
        const char *to = i + 1 < n ? arena_printf(arena, "y%d", i) : "Y";
        buf_printf(&out, "p%d[m,j] = sum[k](%s[m,k] * W%d[k,j]);\n", i, from, i);
        buf_printf(&out, "s%d[m,h] = sum[d](p%d[m,h*8+d] * p%d[m,h*8+d]) where h in 8, d in 8;\n",
                   i, i, i);
        buf_printf(&out, "%s[m,j] = p%d[m,j] * rsqrt(s%d[m,j/8] + 1.0) + b%d[j]%s;\n", to, i, i, i,
                   i + 1 < n ? " @type(f16)" : "");
    }
    buf_puts(&out, "}\n");
    return buf_str(&out);
}

static const char *equal_products(int n) { return chain(n, 0); }
static const char *other_products(int n) { return chain(n, 8); }
static const char *equal_sized(int n) { return sized(chain(n, 0)); }
static const char *other_sized(int n) { return sized(chain(n, 8)); }
static const char *layers_sized(int n) { return sized(layers(n)); }

/* Twice as many more kernels take about twice as much more.  */
static void check_growth(size_t few, size_t some, size_t many, const char *what) {
    double first = (double)some - (double)few, then = (double)many - (double)some;
    if (then > 2.5 * first) fail_msg("%s: %zu, %zu, %zu", what, few, some, many);
}

/* Objects that are made, which is the work, and bytes that are there at once.  */
static void work_and_bytes_grow_with_kernels(void **state) {
    static const struct {
        const char *(*of)(int);
        int n;
    } op[] = {
        {equal_products, 8}, {other_products, 8}, {equal_sized, 8},
        {other_sized, 8},    {layers, 4},         {layers_sized, 4},
    };
    (void)state;
    for (size_t i = 0; i < sizeof op / sizeof *op; i++) {
        Heap few = planned(op[i].of(op[i].n), true), some = planned(op[i].of(2 * op[i].n), true),
             many = planned(op[i].of(4 * op[i].n), true);
        check_growth(few.asked, some.asked, many.asked, op[i].of(2));
        check_growth(few.most, some.most, many.most, op[i].of(2));
    }
}

/* ---- many of them ---- */

/* Each group takes one of its own programs, equal groups equal ones.  */
static void check_choices(const PlanSet *set) {
    assert_non_null(set->select);
    for (int c = 0; c < set->select->n; c++) {
        const RChoice *choice = &set->select->choice[c];
        for (int g = 0; g < set->n_group && choice->strategy == 0; g++)
            assert_int_equal(set->plans[choice->program[g]].group, g);
    }
}

static void more_kernels_than_any_list(void **state) {
    PlanSet set;
    (void)state;
    plan(products(70, 512, 0), &set);     /* registers do not hold a row of two of them */
    assert_int_equal(set.n_group, 70);
    check_choices(&set);
    for (int c = 0; c < set.select->n; c++) {
        const int *program = set.select->choice[c].program;
        for (int g = 2; g + 1 < set.n_group; g++)        /* behind the first, before the last */
            assert_memory_equal(&set.plans[program[g]].ranked->prog,
                                &set.plans[program[1]].ranked->prog, sizeof(RProg));
    }
}

static void more_sizes_than_any_list(void **state) {
    enum { SIZES = 70 };
    Buf out = buf_new(arena);
    PlanSet set;
    (void)state;
    for (int i = 0; i < SIZES; i++) buf_printf(&out, "param S%d = 1..4096;\n", i);
    buf_puts(&out, "op f(");
    for (int i = 0; i < SIZES; i++) buf_printf(&out, "%sX%d: f32[S%d]", i ? ", " : "", i, i);
    buf_puts(&out, ") -> (");
    for (int i = 0; i < SIZES; i++) buf_printf(&out, "%sY%d: f32[S%d]", i ? ", " : "", i, i);
    buf_puts(&out, ") {\n");
    for (int i = 0; i < SIZES; i++) buf_printf(&out, "Y%d[s] = X%d[s] + %d;\n", i, i, i);
    buf_puts(&out, "}\n");
    plan(buf_str(&out), &set);
    assert_int_equal(set.n_group, SIZES);
}

/* A sum of one element is none; what was written as an accumulation stays printable.  */
static void sums_of_one_element(void **state) {
    PlanSet set;
    (void)state;
    plan("op f(X: f32[1], Y: f32[1]) -> (A: f32, B: f32) { A[] += X[i]; B[] += Y[i]; }", &set);
    assert_in_range(set.n_group, 1, 2);
    plan("op f(X: f32[4,1], Y: f32[1,4]) -> (A: f32[4], B: f32) {"
         " t[i] *= X[i,j]; A[i] = t[i] + 1; B[] max= Y[i,0] * t[0] where i in 1; }", &set);
    assert_true(set.n_group >= 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(equal_layers_are_priced_once, setup, tear_down),
        cmocka_unit_test_setup_teardown(other_kernels_take_as_much_each, setup, tear_down),
        cmocka_unit_test_setup_teardown(sizes_are_told_apart, setup, tear_down),
        cmocka_unit_test_setup_teardown(figures_are_set_in_place, setup, tear_down),
        cmocka_unit_test_setup_teardown(what_was_tried_is_given_back, setup, tear_down),
        cmocka_unit_test_setup_teardown(work_and_bytes_grow_with_kernels, setup, tear_down),
        cmocka_unit_test_setup_teardown(more_kernels_than_any_list, setup, tear_down),
        cmocka_unit_test_setup_teardown(more_sizes_than_any_list, setup, tear_down),
        cmocka_unit_test_setup_teardown(sums_of_one_element, setup, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
