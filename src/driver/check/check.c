#include "driver/check/check_impl.h"
#include "driver/check/sample.h"
#include <math.h>
#include <string.h>

/* Multiply-adds (or body evaluations) up to which a program is run whole; of smaller budgets than
 * the default a share.  */
static const double whole_work = 4e7, default_s = 60;

static Status start_run(Check *c) {
    TeData *in = ARENA_ARRAY(c->a, TeData, c->te->n_in + 1);
    int n = c->te->n_tensor > c->normal->n_tensor ? c->te->n_tensor : c->normal->n_tensor;
    c->data = ARENA_ARRAY(c->a, const Lazy *, n + 1);
    RunPlace place = {.dev = c->set->dev};
    if (c->o->place) place = *c->o->place;
    for (int i = 0; i < c->te->n_in; i++) {
        const Lazy *m = c->data[i] = check_fill(c, c->te, i);
        in[i] = (TeData){m->data, m->bytes};
    }
    place.inputs = c->data;
    c->run = (Run){.te = c->te, .normal = c->normal, .build = c->build, .place = place,
                   .data = in, .size = c->size};
    Status s = run_create(&c->run, c->a, c->d);
    c->run.options = (SimOptions){.seed = check_seed(c),
                                  .errors = check_seed(c) + (uint64_t)c->fill,
                                  .threads = c->o->threads, .strict = true,
                                  .per_block = c->o->counters && !c->out->table,
                                  .watch = c->o->watch};
    c->ref = (Reference){.te = c->te, .data = in, .lazy = c->data, .exact = c->ref.exact,
                         .threads = c->o->threads, .watch = c->o->watch};
    return s;
}

/* ---- small problems: the whole program against the op as written ---- */
static Status launch_all(Check *c, void *user) {
    (void)user;
    Status s = ST_OK;
    for (int i = 0; i < c->build->program.n_kernel && !s && !c->run.fault; i++)
        s = run_launch(&c->run, c->a, c->d, i, NULL, 0);
    return s;
}

static Status launch_whole(Check *c) {
    int *out = ARENA_ARRAY(c->a, int, c->te->n_out + 1);
    for (int i = 0; i < c->te->n_out; i++) out[i] = c->te->n_in + i;
    Status s = launch_all(c, NULL);
    return s || c->run.fault ? s : check_stored(c, out, c->te->n_out, launch_all, NULL);
}

static Status check_whole(Check *c) {
    Status launched = launch_whole(c);
    if (launched || c->run.fault) return launched;
    for (int t = c->te->n_in; t < c->te->n_in + c->te->n_out; t++) {
        size_t bytes = te_tensor_bytes(&c->te->tensor[t]);
        if (!bytes) continue;
        CompareResult r = {0};
        const void *data = run_read(&c->run, c->a, c->d, c->run.at[t], bytes);
        if (!data) return diag_first_error(c->d)->status;
        const Stored stored = {t, data, &c->run, c->run.at[t]};
        Status s = compare_all(c->a, c->d, &c->ref, &stored, &r);
        if (s) return s;
        check_tally(c, c->te, t, &r);
    }
    return ST_OK;
}

static double program_work(const Check *c) {
    double work = 0;
    for (int g = 0; g < c->set->n_group; g++) {
        const Problem *p = &c->problem[g];
        double n = 1;
        for (int i = 0; i < AX_CLASSES; i++) n *= (double)p->extent[i];
        work += n;
    }
    return work;
}

/* One data set at one set of sizes.  */
static Status check_set(Check *c, TeFill fill) {
    c->fill = fill;
    c->ref.exact = check_data_set[fill].exact || (fill == TE_FILL_INTEGERS && te_exact(c->te));
    Status s = start_run(c);
    if (s) return s;
    c->out->exact |= fill == TE_FILL_INTEGERS && c->ref.exact;
    double budget = c->o->budget_s > 0 ? c->o->budget_s / default_s : 1;
    bool whole = !c->o->sampled && program_work(c) <= whole_work * fmin(budget, 1);
    s = whole ? check_whole(c) : check_groups(c);
    check_count_filled(c, c->te, c->data, 0, c->te->n_in);
    for (int t = c->te->n_in; t < c->te->n_in + c->te->n_out; t++)
        c->out->outputs += te_tensor_count(&c->te->tensor[t]);
    if (!s && c->run.fault) {
        c->out->fault = true;
        c->out->text = c->run.fault;
    }
    return s;
}

/* The strategy that is taken at these sizes.  */
static void size_strategy(Check *c, const PlanSet *set, const WholePlan *plan) {
    for (int n = cg_taken(&c->build->program, c->size).strategy; n > 0; n--) {
        set = set->other;
        plan = plan->other;
    }
    c->set = set;
    c->plan = plan;
}

/* The groups' problems, each as its program has it: programs of a group differ in more than sizes
 * where one computes tiles and another does not.  */
static void size_problems(Check *c) {
    KernelTaken taken = cg_taken(&c->build->program, c->size);
    const Te *sized = te_sized(c->a, c->set->normal, c->size);
    c->problem = ARENA_ARRAY(c->a, Problem, c->set->n_group);
    c->program = ARENA_ARRAY(c->a, int, c->set->n_group);
    for (int g = 0; g < c->set->n_group; g++) {
        c->program[g] = cg_program(&c->build->program, taken, g);
        int program = c->program[g] - c->build->program.strategy[taken.strategy].first;
        const Problem *p = &c->plan->rplan.problem[program];
        if (c->set->te->runtime)
            rtile_resize(c->a, p, sized, c->set->options.align, &c->problem[g]);
        else c->problem[g] = *p;
    }
}

static Status check_sizes(Check *c) {
    Status s = te_specialize(c->a, c->d, c->set->te, c->size, &c->te);
    if (!s) s = te_specialize(c->a, c->d, c->set->normal, c->size, &c->normal);
    if (!s) size_problems(c);
    if (!s) check_find_written(c);
    for (int k = 0; k < TE_FILLS && !s; k++) {
        watch_step(c->o->watch, "check", c->out->size_sets * TE_FILLS + k, c->n_sizes * TE_FILLS,
                   check_data_set[k].name);
        ArenaMark m = arena_mark(c->a);
        const char *before = c->out->text;
        int64_t compared = c->sum.compared;
        int left_out = c->out->left_out;
        s = check_set(c, (TeFill)k);
        if (!c->out->table && c->o->counters) {
            CounterTable *table = ARENA_NEW(c->d->arena, CounterTable);
            check_counters(c->d->arena, c->set, c->plan, &c->run, table);
            c->out->table = table;
        }
        if (c->out->text != before) c->out->text = arena_strdup(c->d->arena, c->out->text);
        arena_reset(c->a, m);
        if (c->out->text) break;
        bool done = c->sum.compared > compared || c->out->left_out == left_out;
        if (done && c->out->data_sets <= k) c->out->data_sets = k + 1;
    }
    return s;
}

const char *check_data(const CheckResult *r) {
    static const char *const sets[] = {"", "integer", "integer and real",
                                       "integer, real and extreme",
                                       "integer, real, extreme and sparse"};
    static const char *const inexact[] = {"", "real", "real", "real and extreme",
                                          "real, extreme and sparse"};
    int n = r->data_sets + !r->ok;         /* the last one failed */
    if (n > TE_FILLS) n = TE_FILLS;
    return r->exact ? sets[n] : inexact[n];
}

static void summary(Check *c) {
    CheckResult *r = c->out;
    Buf b = buf_new(c->d->arena);
    const char *verdict = r->ok ? "ok" : !r->text ? "not done" : "FAILED";
    buf_printf(&b, "check: %s (%s data, ", verdict, check_data(r));
    if (r->size_sets > 1) buf_printf(&b, "%d size sets, ", r->size_sets);
    buf_printf(&b, "%lld of %lld outputs", (long long)r->compared, (long long)r->outputs);
    if (r->undecided) buf_printf(&b, ", %lld undecided", (long long)r->undecided);
    if (r->by_normal)
        buf_printf(&b, ", %lld by the normal form alone", (long long)r->by_normal);
    buf_printf(&b, ", %s", r->where);
    if (r->left_out)
        buf_printf(&b, "; %d of %d runs left out, since an output needs too many elements: "
                   "--check-budget %.0f does them", r->left_out, r->runs, ceil(r->needed_s));
    buf_puts(&b, ")");
    if (r->text) buf_printf(&b, "\n%s", r->text);
    r->text = buf_str(&b);
}

Status check_kernel(Arena *a, Diag *d, const BuiltPlan *b, const CheckOptions *o,
                    CheckResult *out) {
    *out = (CheckResult){.where = "simulator"};
    if (o->place && o->place->context) out->where = cuda_context_device(o->place->context)->name;
    Check c = {.a = a, .d = d, .build = b->build, .o = o, .out = out,
               .failed_tensor = -1};
    int64_t **sizes = o->at ? NULL : sample_sizes(a, b->set->te, &b->build->program, &c.n_sizes);
    if (o->at) c.n_sizes = 1;
    for (int i = 0; i < c.n_sizes && !out->text; i++) {
        c.size = o->at ? o->at : sizes[i];
        size_strategy(&c, b->set, b->plan);
        Status s = check_sizes(&c);
        if (s) return s;
        out->size_sets = i + 1;
    }
    out->compared = c.sum.compared;
    out->undecided = c.sum.undecided;
    bool nothing = !out->text && out->left_out && !out->compared;
    out->ok = !out->text && !nothing;
    const char *what = nothing ? "nothing was checked: an output needs more elements than the "
                                 "budget allows"
                               : out->text;
    summary(&c);
    out->counters = out->table ? counters_text(out->table, d->arena) : "";
    out->counters_json = out->table ? counters_json(out->table, NULL, d->arena) : "";
    if (out->ok) return ST_OK;
    diag_error(d, ST_CHECK, NULL, DIAG_NOWHERE, "%s", what);
    if (nothing) diag_hint(d, "--check-budget %.0f, or smaller sizes with -D", ceil(out->needed_s));
    return ST_CHECK;
}
