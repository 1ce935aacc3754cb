/* Decisions are tried in parts of an op: kernels of a part are those of the whole, and what is
 * repeated is tried and planned once, from whatever place of a tensor on it reads.  */
#include "driver/plan/near.h"
#include "driver/plan/search.h"
#include "plan_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <math.h>
#include <string.h>

#include <cmocka.h>

typedef struct {
    Arena *a;
    Diag d;
    CompileOptions o;
    Search *x;
} Case;

/* `layers` layers of a residual network: a product, a scale, a maximum, a sum.  */
static const char *network(Arena *a, int layers) {
    Buf out = buf_new(a);
    buf_puts(&out, "op f(X: f16[512,256]");
    for (int i = 0; i < layers; i++) buf_printf(&out, ", W%d: f16[256,256], S%d: f16[256]", i, i);
    buf_puts(&out, ") -> Y: f16[512,256] {\n");
    const char *x = "X";
    for (int i = 0; i < layers; i++) {
        const char *y = i + 1 < layers ? arena_printf(a, "y%d", i) : "Y";
        buf_printf(&out, "p%d[m,n] = sum[k](%s[m,k] * W%d[k,n]) @type(f16);\n", i, x, i);
        buf_printf(&out, "q%d[m,n] = max(p%d[m,n] * S%d[n], 0) @type(f16);\n", i, i, i);
        buf_printf(&out, "%s[m,n] = q%d[m,n] + %s[m,n]%s;\n", y, i, x,
                   i + 1 < layers ? " @type(f16)" : "");
        x = y;
    }
    buf_puts(&out, "}\n");
    return buf_str(&out);
}

static void open_case(Case *c, const char *text) {
    c->a = arena_create(NULL);
    assert_non_null(c->a);
    c->d = diag_new(c->a);
    c->o = (CompileOptions){.top = 1, .align = 16, .workspace_limit = -1};
    Te *te;
    assert_int_equal(te_parse(c->a, &c->d, diag_text("t.te", text), NULL, NULL, &te), ST_OK);
    c->x = ARENA_NEW(c->a, Search);
    PlanRequest asked = {.te = te, .dev = fixture_device(c->a, "h200"), .o = &c->o};
    Planner plan = {.a = c->a, .kept = arena_beside(c->a), .part = arena_beside(c->a),
                    .asked = asked, .known = ARENA_NEW(c->a, KnownKernels)};
    *c->x = (Search){.whole = {.plan = plan}};
    assert_int_equal(te_canonical(c->a, &c->d, te, &c->x->whole.plan.op), ST_OK);
}

/* A recurrence, each step of which has its own slice of a product; gates are parts of its rows.  */
static const char *recurrence(Arena *a, int steps) {
    Buf out = buf_new(a);
    buf_printf(&out, "op f(X: f32[%d,32,64], W: f32[64,128], U: f32[64,128], H: f32[32,64]) ->"
               " Y: f32[32,64] {\nx[t,m,n] = sum[k](X[t,m,k] * W[k,n]);\n", steps);
    const char *h = "H";
    for (int t = 0; t < steps; t++) {
        const char *y = t + 1 < steps ? arena_printf(a, "h%d", t) : "Y";
        buf_printf(&out, "g%d[m,n] = sum[k](%s[m,k] * U[k,n]);\n", t, h);
        buf_printf(&out, "z%d[m,n] = tanh(g%d[m,n] + x[%d,m,n]);\n", t, t, t);
        buf_printf(&out, "%s[m,n] = z%d[m,n] * z%d[m,n+64] where n in 64;\n", y, t, t);
        h = y;
    }
    buf_puts(&out, "}\n");
    return buf_str(&out);
}

/* Kernels planned for a network, and what it takes.  */
static int planned(const char *of(Arena *a, int layers), int layers, double *us) {
    Case c;
    Arena *text = arena_create(NULL);
    open_case(&c, of(text, layers));
    assert_int_equal(search_decisions(c.x, &c.d), ST_OK);
    *us = parting_total(&c.x->whole.best);
    int n = c.x->whole.plan.planned;
    arena_destroy(c.a);
    arena_destroy(text);
    return n;
}

static void layers_are_planned_once(void **state) {
    (void)state;
    double few_us, some_us, many_us;
    int few = planned(network, 8, &few_us), some = planned(network, 16, &some_us);
    int many = planned(network, 64, &many_us);
    assert_int_equal(few, some);
    assert_int_equal(few, many);
    double layer = (some_us - few_us) / 8;
    assert_true(layer > 0);
    assert_true(fabs(many_us - some_us - 48 * layer) < 1e-6 * many_us);
}

static void steps_are_planned_once(void **state) {
    (void)state;
    double us;
    int few = planned(recurrence, 10, &us);
    assert_int_equal(planned(recurrence, 50, &us), few);
}

/* ---- what has the same text ---- */

enum { ROWS = 6, COLUMNS = 5 };
static const int column[COLUMNS] = {0, 1, 4, 8, 23};

/* Reads from all places of a tensor on, by several kinds of kernels.  $t, $c: a row, a column.  The
 * last one's rows tell where it may be left; the one before it is tested in columns alone.  */
static const char *const reader[] = {
    "Y[i,j] = X[$t,i,j+$c] * 2 where i in 6, j in 16;",
    "Y[i,j] = sum[k](X[$t,i,k+$c] * W[k,j]) where i in 6, j in 16, k in 16;",
    "Y[i,j] = sum[k](X[k,$t,i+$c] * W[k,j]) where i in 6, j in 16, k in 6;",
    "Y[i,j] = sum[k](X[$t,i,k+$c] * X[$t,i,j+k]) where i in 6, j in 16, k in 16;",
    "Y[i,j] = max[k](X[$t,k,j+$c] + i) where i in 6, j in 16, k in 6;",
    "Y[i,j] = X[$t,i,j+$c] + X[$t,i,j+$c+1] where i in 6, j in 16;",
    "Y[i,j] = X[$t,i,15-j+$c] where i in 6, j in 16;",
    "Y[j,i] = X[$t,i,j+$c] where i in 6, j in 16;",
    "Y[i,j] = j < $c ? X[$t,i,j+$c] : W[i,j] where i in 6, j in 16;",
    "Y[i,j] = (X[$t,i,j*4+$c] else 0) * 2 where i in 6, j in 16;",
    "Y[i,j] = max[r](X[$t+r-1,i,j+$c] else 0) where i in 6, j in 16, r in 3;",
};
enum { READERS = sizeof reader / sizeof *reader };

static const char *placed(Arena *a, const char *text, int row, int at) {
    Buf b = buf_new(a);
    for (; *text; text++) {
        if (*text != '$') buf_putc(&b, *text);
        else buf_printf(&b, "%d", *++text == 't' ? row : at);
    }
    return buf_str(&b);
}

typedef struct {
    const char *text;
    Ranked *best;
    int n;
} Planned;

/* The op's kernel, planned by itself.  */
static Planned plan_alone(Case *c) {
    enum { BEST = 3 };
    const PlanRequest *asked = &c->x->whole.plan.asked;
    RPlanOptions options = {.align = asked->o->align, .workspace_limit = -1};
    TeDecisions none = {0};
    Parting p;
    Problem problem;
    RProgSet set;
    Planned out;
    assert_int_equal(parting_open(&c->x->whole.plan, &c->d, &none, &p), ST_OK);
    assert_int_equal(p.set.n_group, 1);
    access_group_texts(c->a, p.set.normal, p.set.group, 1, &out.text);
    assert_int_equal(rtile_problem(c->a, &c->d, p.set.normal, p.set.group, options.align,
                                   &problem), ST_OK);
    assert_int_equal(rprog_candidates(c->a, &c->d, &problem, asked->dev, &options, &set), ST_OK);
    out.n = mp_rank(c->a, &problem, asked->dev, &set, BEST, &out.best);
    return out;
}

static void check_alike(const Planned *x, const Planned *y) {
    assert_int_equal(x->n, y->n);
    for (int i = 0; i < x->n; i++) {
        assert_memory_equal(&x->best[i].prog, &y->best[i].prog, sizeof(RProg));
        assert_true(x->best[i].estimate.us == y->best[i].estimate.us);
    }
}

/* Returns how many of a reader's kernels have the text of one before.  */
static int check_reader(const char *text, const char *type) {
    Case c[ROWS * COLUMNS];
    Planned of[ROWS * COLUMNS];
    int again = 0;
    for (int i = 0; i < ROWS * COLUMNS; i++) {
        Arena *a = arena_create(NULL);
        const char *body = placed(a, text, i / COLUMNS, column[i % COLUMNS]);
        open_case(&c[i], arena_printf(a, "op f(X: %s[%d,8,64], W: %s[16,16]) -> Y: f32[%s]"
                                      " { %s }", type, ROWS, type,
                                      text[2] == 'j' ? "16,6" : "6,16", body));
        of[i] = plan_alone(&c[i]);
        int first = 0;
        while (strcmp(of[first].text, of[i].text) != 0) first++;
        check_alike(&of[i], &of[first]);
        again += first < i;
        arena_destroy(a);
    }
    for (int i = 0; i < ROWS * COLUMNS; i++) arena_destroy(c[i].a);
    return again;
}

static void equal_texts_are_planned_alike(void **state) {
    (void)state;
    for (int i = 0; i < READERS; i++) {
        int again = check_reader(reader[i], i % 2 ? "f16" : "f32");
        if (i + 1 < READERS && again < COLUMNS * (ROWS - 3))
            fail_msg("%s: %d again", reader[i], again);
    }
}

/* Where several gains in a part are none of the whole, what they would replace is forgotten.  */
static void gains_at_cuts_are_not_kept(void **state) {
    (void)state;
    Case c;
    open_case(&c,
        "param S0=12;\n"
        "param S1=12;\n"
        "param S2=1;\n"
        "param S3=24;\n"
        "let S4=S0*2+S1;\n"
        "let S5=S0*S2;\n"
        "op f0(T0:i64[S1,S3],T1:i64[S2],T3:f8e5m2[S1,S2],T4:f16[S2,S1,S3],T6:f16[S2,"
        "S1],T7:f16[S1,S1],T12:bool[S3,S5])->(T2:i16[S2,S3],T13:f64[S3,S5],"
        "T14:bf16[S2]){\n"
        "T2[x0,x1]=i16(sum[x2]((T1[x0*1+x2-1] else 0)*T0[x2,x1])) where x2 in 0:S1"
        " @fast;\n"
        "T5[x0,x1]=sum[x2](T3[x1,x2]*T4[x2,x1,x0]) where x0 in 0:S3, x1 in 0:S1, x2"
        " in 0:S2 @tf32 @type(f8e5m2);\n"
        "T8[x0,x1]=sum[x2](T6[x0,x2]*T7[x1,x2]) where x0 in 0:S2, x1 in 0:S1, x2 in"
        " 0:S1;\n"
        "T9[x0]=sum[x1](T8[x0,x1]*T8[x0,x1]) where x0 in 0:S2, x1 in 0:S1;\n"
        "T10[x0]=sum[x1](exp(T8[x0,x1]-T9[x0])) where x0 in 0:S2, x1 in 0:S1;\n"
        "T11[x0,x1]=(T8[x0,x1]-T9[x0])/(abs(T10[x0])+1) where x0 in 0:S2, x1 in 0:S1;\n"
        "T13[x0,x1]=(T12[x0,x1]?225.0:T5[x0,0]);\n"
        "T14[x0]=((T3[0,x0-0] else ((0<=((T2[x0,"
        "0]+(((x0)<S2)?T1[x0]:T1[x0])))&&((T2[x0,"
        "0]+(((x0)<S2)?T1[x0]:T1[x0])))<S1&&0<=(x0)&&(x0)<S2)?T3[(T2[x0,"
        "0]+(((x0)<S2)?T1[x0]:T1[x0])),x0]:T8[x0,0]))+T9[x0]);\n"
        "}\n");
    assert_int_equal(search_decisions(c.x, &c.d), ST_OK);
    assert_true(parting_total(&c.x->whole.best) <= c.x->usual_us);
    arena_destroy(c.a);
}

/* A recurrence of which all steps are put together in the end.  */
static const char *kept_steps(Arena *a, int steps) {
    Buf out = buf_new(a);
    buf_puts(&out, "op f(X: f32[32,64], U: f32[64,64]) -> Y: f32[32,64] {\n");
    for (int t = 0; t < steps; t++)
        buf_printf(&out, "g%d[m,n] = sum[k](%s[m,k] * U[k,n]);\nh%d[m,n] = tanh(g%d[m,n]);\n", t,
                   t ? arena_printf(a, "h%d", t - 1) : "X", t, t);
    buf_puts(&out, "Y[m,n] = h0[m,n]");
    for (int t = 1; t < steps; t++) buf_printf(&out, " + h%d[m,n]", t);
    buf_puts(&out, ";\n}\n");
    return buf_str(&out);
}

static int largest_part(int steps) {
    Case c;
    Near near;
    Parting whole;
    NearPart p;
    TeDecisions none = {0};
    int largest = 0;
    Arena *text = arena_create(NULL);
    open_case(&c, kept_steps(text, steps));
    Planner *plan = &c.x->whole.plan;
    assert_int_equal(parting_open(plan, &c.d, &none, &whole), ST_OK);
    near_open(c.a, &plan->op, &near);
    near_part_ways(&near, &whole);
    for (int site = 0; site < plan->op.te->n_stmt; site++) {
        near_find(&near, &site, 1, &p);
        if (p.n > largest) largest = p.n;
    }
    arena_destroy(c.a);
    arena_destroy(text);
    return largest;
}

static void parts_end_at_what_meets_all(void **state) {
    (void)state;
    int few = largest_part(36);
    assert_in_range(few, 2, 36);
    assert_int_equal(largest_part(48), few);
}

/* Every kernel that is not at a cut has the text that it has in the whole.  */
static void parts_have_the_kernels_of_the_whole(void **state) {
    (void)state;
    Case c;
    Near near;
    Parting whole;
    TeDecisions none = {0};
    Arena *text = arena_create(NULL);
    open_case(&c, network(text, 9));
    Planner *plan = &c.x->whole.plan;
    assert_int_equal(parting_open(plan, &c.d, &none, &whole), ST_OK);
    near_open(c.a, &plan->op, &near);
    near_part_ways(&near, &whole);
    for (int site = 0; site < plan->op.te->n_stmt; site++) {
        NearPart p;
        Parting part;
        Planner of_part = *plan;
        near_find(&near, &site, 1, &p);
        assert_true(p.n < plan->op.te->n_stmt);
        near_cut(&near, &p);
        of_part.op = p.op;
        assert_int_equal(parting_open(&of_part, &c.d, &none, &part), ST_OK);
        assert_int_equal(part.set.n_group, p.n_group);
        for (int g = 0; g < part.set.n_group; g++)
            assert_ptr_equal(part.kernel[g], whole.kernel[p.group[g]]);
    }
    arena_destroy(c.a);
    arena_destroy(text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(layers_are_planned_once),
        cmocka_unit_test(steps_are_planned_once),
        cmocka_unit_test(equal_texts_are_planned_alike),
        cmocka_unit_test(gains_at_cuts_are_not_kept),
        cmocka_unit_test(parts_end_at_what_meets_all),
        cmocka_unit_test(parts_have_the_kernels_of_the_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
