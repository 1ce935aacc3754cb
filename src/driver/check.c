#include "driver/check.h"
#include "base/pool.h"
#include "driver/compare.h"
#include "driver/sample.h"
#include "rprogram/derived.h"
#include <string.h>

/* Multiply-adds (or body evaluations) simulated whole, and the sample's share at the default
 * budget.  */
static const double whole_work = 4e7, sample_work = 1.4e8;
enum { MAX_SAMPLED_BLOCKS = 24, SAMPLED_POINTS = 2048 };

typedef struct {
    Arena *a;
    Diag *d;
    const PlanSet *set;       /* the split that is taken at these sizes, as are: */
    const WholePlan *plan;
    const Build *build;
    const CheckOptions *o;
    CheckResult *out;
    const Te *te;             /* static */
    const Te *normal;
    Problem *problem;         /* per group, at these sizes */
    int *program;             /* per group: the program that is taken at these sizes */
    const int64_t *size;
    TeFill fill;
    Reference ref;
    Run run;
    CompareResult sum;
    int failed_tensor;        /* of `normal` or `te`; -1: none */
} Check;

/* In the order in which they are tried.  */
static const struct {
    const char *name;
    bool exact;               /* compared bit for bit where the reference has no bound, if it has
                               * none anywhere on integers, or wherever it has none */
} data_set[TE_FILLS] = {
    [TE_FILL_INTEGERS] = {"integer", false},
    [TE_FILL_REALS] = {"real", false},
    [TE_FILL_EXTREMES] = {"extreme", true},
};

static const RProg *prog_of(const Check *c, int g) {
    return &c->plan->rplan.prog[c->program[g] - c->run.split->first];
}

static uint64_t seed_of(const Check *c) { return c->o->seed ? c->o->seed : 1; }

static TeData new_data(Arena *a, const Te *te, int tensor) {
    size_t bytes = te_tensor_bytes(&te->tensor[tensor]);
    return (TeData){arena_alloc(a, bytes + 16), bytes};
}

typedef struct {
    const Check *check;
    TeData *in;
} Filling;

static bool fill_input(void *user, int64_t i, int worker) {
    (void)worker;
    const Filling *f = user;
    te_fill(f->check->te, (int)i, f->check->fill, seed_of(f->check), f->in[i]);
    return true;
}

static Status start_run(Check *c, const TeData **data) {
    TeData *in = ARENA_ARRAY(c->a, TeData, c->te->n_in + 1);
    for (int i = 0; i < c->te->n_in; i++) in[i] = new_data(c->a, c->te, i);
    pool_for(c->o->threads, c->te->n_in, fill_input, &(Filling){c, in});
    *data = in;
    RunPlace place = {.dev = c->set->dev};
    if (c->o->place) place = *c->o->place;
    Status s = run_create_at(c->a, c->d, &place, c->te, c->normal, c->build, in, c->size, &c->run);
    c->run.options = (SimOptions){.seed = seed_of(c), .threads = c->o->threads,
                                  .per_block = c->o->counters && !c->out->table,
                                  .stop = c->o->stop};
    return s;
}

static void compare_text(Check *c, const Te *te, int tensor, const CompareResult *r) {
    if (!r->wrong || c->failed_tensor >= 0) return;
    c->failed_tensor = tensor;
    const TeTensor *t = &te->tensor[tensor];
    Buf b = buf_new(c->a);
    buf_printf(&b, "%s[", t->name);
    for (int i = 0; i < t->rank; i++)
        buf_printf(&b, "%s%lld", i ? "," : "", (long long)r->worst[i]);
    bool real = te_dtype_class(t->dtype) == TE_CLASS_REAL;
    buf_puts(&b, "] is ");
    if (real) buf_real(&b, r->got.v);
    else buf_printf(&b, "%lld", (long long)r->got.i);
    buf_puts(&b, ", expected ");
    if (real) buf_real(&b, r->want.v);
    else buf_printf(&b, "%lld", (long long)r->want.i);
    if (real && !c->ref.exact) {
        buf_puts(&b, " with bound ");
        buf_real(&b, r->want.bound);
    }
    buf_printf(&b, " (%s data; %lld of %lld compared elements are wrong)",
               data_set[c->fill].name, (long long)r->wrong, (long long)r->compared);
    c->out->text = buf_str(&b);
}

static void tally(Check *c, const Te *te, int tensor, const CompareResult *r) {
    compare_text(c, te, tensor, r);
    c->sum.compared += r->compared;
    c->sum.undecided += r->undecided;
    c->sum.wrong += r->wrong;
}

/* ---- small problems: the whole program against the op as written ---- */
static Status check_whole(Check *c) {
    for (int i = 0; i < c->build->program.n_kernel; i++) {
        Status s = run_launch(&c->run, c->a, c->d, i, NULL, 0);
        if (s || c->run.fault) return s;
    }
    for (int t = c->te->n_in; t < c->te->n_in + c->te->n_out; t++) {
        size_t bytes = te_tensor_bytes(&c->te->tensor[t]);
        if (!bytes) continue;
        CompareResult r = {0};
        const void *stored = run_read(&c->run, c->a, c->d, c->run.at[t], bytes);
        if (!stored) return diag_first_error(c->d)->status;
        Status s = compare_all(c->a, c->d, &c->ref, t, stored, c->o->threads, &r);
        if (s) return s;
        tally(c, c->te, t, &r);
    }
    return ST_OK;
}

/* ---- big problems: each kernel group by itself, on sampled blocks ---- */
/* Fills the temporaries that earlier groups would have made.  */
static Status give_temporaries(Check *c, int g, TeData *temp) {
    const Te *te = c->normal;
    const KernelGroup *group = &c->set->group[g];
    for (int t = te->n_in + te->n_out; t < te->n_tensor; t++) {
        if (c->run.split->temp_offset[t] < 0) continue;
        bool read = access_reads_tensor(te->stmt[group->root].rhs, t);
        bool made = te->stmt[group->root].tensor == t;
        for (int i = 0; i < group->n_fused; i++) {
            read |= access_reads_tensor(te->stmt[group->fused[i]].rhs, t);
            made |= te->stmt[group->fused[i]].tensor == t;
        }
        if (!read || made) continue;
        temp[t] = new_data(c->a, te, t);
        te_fill(te, t, c->fill, seed_of(c), temp[t]);
        Status s = run_write(&c->run, c->d, run_address(&c->run, t), temp[t].data, temp[t].bytes);
        if (s) return s;
    }
    return ST_OK;
}

static Status launch_sampled(Check *c, int g, const int64_t *x, int n, const BlockPoint *at,
                             int n_at) {
    const Problem *p = &c->problem[g];
    const RProg *r = prog_of(c, g);
    bool first = true;
    int number = 0;           /* of the kernel in its program */
    for (int i = 0; i < c->build->program.n_kernel; i++) {
        const KernelLaunch *k = &c->build->program.kernel[i];
        if (k->group != c->program[g]) continue;
        int64_t *blocks;
        int64_t count, across = cg_blocks(c->normal, &c->build->program, k, c->size);
        if (r->stats == STATS_PARTS) {
            bool values = rprog_stats_combines(p, r, number++);
            count = sample_strips(c->a, p, r, x, n, values ? k->span : 0, &blocks);
        } else if (r->tail > 0) {
            count = sample_tail(c->a, p, r, x, n, k->span, &blocks);
        } else if (first || r->skeleton == SK_ROW) {
            count = (int64_t)n * k->grid[1];
            blocks = ARENA_ARRAY(c->a, int64_t, count + 1);
            for (int64_t s = 0; s < count; s++)
                blocks[s] = x[s % n] + across * (s / n);
        } else {
            count = sample_adding(c->a, p, r, at, n_at, k->span, &blocks);
        }
        first = false;
        if (count == 0) continue;         /* no sampled tile needs adding */
        Status s = run_launch(&c->run, c->a, c->d, i, blocks, count);
        if (s || c->run.fault) return s;
    }
    return ST_OK;
}

/* Position of tensor element that statement `s` writes at the root's indices.  */
static void place(const TeStmt *s, const uint8_t *perm, const int64_t *index, int64_t *at) {
    for (int j = 0; j < s->n_left; j++) at[j] = index[perm ? perm[j] : j];
}

static Status compare_statement(Check *c, int g, int fused, const BlockPoint *at, int n) {
    const KernelGroup *group = &c->set->group[g];
    const Te *te = c->normal;
    const TeStmt *s = &te->stmt[fused < 0 ? group->root : group->fused[fused]];
    bool in_memory = te->tensor[s->tensor].role == TE_OUTPUT ||
                     c->run.split->temp_offset[s->tensor] >= 0;
    size_t bytes = te_tensor_bytes(&te->tensor[s->tensor]);
    if (!in_memory || !bytes) return ST_OK;
    CompareRow *row = ARENA_ARRAY(c->a, CompareRow, n);
    int rows = 0;
    for (int i = 0; i < n; i++) {
        int64_t index[TE_MAX_INDICES] = {0};
        if (!sample_indices(&c->problem[g], prog_of(c, g), &at[i], index))
            continue;
        place(s, fused < 0 ? NULL : group->perm[fused], index, row[rows].at);
        /* Points of a row have one value of what is computed per row.  */
        size_t key = (size_t)s->n_left * sizeof *index;
        if (rows > 0 && memcmp(row[rows].at, row[rows - 1].at, key) == 0) continue;
        row[rows++].count = 1;
    }
    CompareResult r = {0};
    const void *stored = run_read(&c->run, c->a, c->d, run_address(&c->run, s->tensor), bytes);
    if (!stored) return diag_first_error(c->d)->status;
    Status st = compare_rows(c->a, c->d, &c->ref, s->tensor, stored, row, rows, c->o->threads, &r);
    if (!st) tally(c, te, s->tensor, &r);
    return st;
}

/* Work of one block, in body evaluations.  */
static double block_work(const Problem *p, const RProg *r, int64_t span) {
    double k = (double)p->extent[AX_K];
    if (r->skeleton == SK_STREAM) return (double)span * k;
    if (r->skeleton == SK_ROW) return (double)r->block.extent[AX_M] * (double)p->extent[AX_N];
    if (r->skeleton == SK_COLUMN)
        return (double)r->block.extent[AX_M] * (double)p->column.red.extent;
    if (r->skeleton == SK_PERMUTE) return (double)rprog_permute_points(p, r);
    if (r->skeleton == SK_WINDOW)
        return (double)rprog_window_body(p, r) * (double)p->window.rest * r->threads *
               (p->window.map || r->thread.extent[AX_M] > 1 ? 1
                                                            : (double)p->window.source[0].extent_r);
    double blocks = 1;        /* where rows lie in several, those of a row in all kernels */
    if (r->stats == STATS_PARTS)
        blocks = (double)rprog_tiles(p, r, AX_N) * rprog_stats_facts(p, r)->group->n_pass;
    return blocks * r->block.extent[AX_M] * r->block.extent[AX_N] * k;
}

static bool ragged(const Problem *p, const RProg *r) {
    if (r->skeleton != SK_CONTRACT) return false;
    for (int i = AX_B; i <= AX_N; i++)
        if (p->extent[i] % r->block.extent[i]) return true;
    return false;
}

static Status check_group(Check *c, int g, const TeData *in) {
    const Problem *p = &c->problem[g];
    const RProg *r = prog_of(c, g);
    int64_t span = 0;
    const KernelProgram *program = &c->build->program;
    for (int i = program->n_kernel - 1; i >= 0; i--)
        if (program->kernel[i].group == c->program[g]) span = program->kernel[i].span;
    TeData *temp = ARENA_ARRAY(c->a, TeData, c->normal->n_tensor);
    Status s = give_temporaries(c, g, temp);
    if (s) return s;
    c->ref = (Reference){.te = c->normal, .data = in, .temp = temp, .exact = c->ref.exact,
                         .stop = c->o->stop};
    double budget = c->o->budget_s > 0 ? c->o->budget_s / 60 : 1;
    double fit = sample_work * budget / c->set->n_group / (block_work(p, r, span) + 1);
    int least = ragged(p, r) ? 2 : 1;     /* an edge and an inner block */
    int want = fit < least ? least : fit > MAX_SAMPLED_BLOCKS ? MAX_SAMPLED_BLOCKS : (int)fit;
    int64_t *x;
    int n = sample_blocks(c->a, p, r, span, want, seed_of(c) + (uint64_t)c->fill, &x);
    Rng rng = {seed_of(c) + (uint64_t)g};
    BlockPoint *at = NULL;
    int n_at = 0;
    for (int i = 0; i < n; i++) {
        BlockRange range;
        sample_range(p, r, span, x[i], &range);
        BlockPoint *more;
        int m = sample_points(c->a, &range, SAMPLED_POINTS, &rng, &more);
        BlockPoint *all = ARENA_ARRAY(c->a, BlockPoint, n_at + m + 1);
        if (n_at) memcpy(all, at, (size_t)n_at * sizeof *at);
        memcpy(all + n_at, more, (size_t)m * sizeof *more);
        at = all;
        n_at += m;
    }
    s = launch_sampled(c, g, x, n, at, n_at);
    if (s || c->run.fault) return s;
    for (int i = -1; i < p->group->n_fused && !s; i++)
        s = compare_statement(c, g, i, at, n_at);
    return s;
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
static Status check_data(Check *c, TeFill fill) {
    c->fill = fill;
    c->ref.exact = fill == TE_FILL_EXTREMES || (fill == TE_FILL_INTEGERS && te_exact(c->te));
    const TeData *in;
    Status s = start_run(c, &in);
    if (s) return s;
    c->ref = (Reference){.te = c->te, .data = in, .exact = c->ref.exact, .stop = c->o->stop};
    c->out->exact |= fill == TE_FILL_INTEGERS && c->ref.exact;
    if (program_work(c) <= whole_work) {
        s = check_whole(c);
    } else {
        for (int g = 0; g < c->set->n_group && !s && !c->run.fault; g++)
            s = check_group(c, g, in);
    }
    for (int t = c->te->n_in; t < c->te->n_in + c->te->n_out; t++)
        c->out->outputs += te_tensor_count(&c->te->tensor[t]);
    if (!s && c->run.fault) {
        c->out->fault = true;
        c->out->text = c->run.fault;
    }
    return s;
}

/* The split that is taken at these sizes.  */
static void size_split(Check *c, const PlanSet *set, const WholePlan *plan) {
    for (int n = cg_split(set->te, &c->build->program, c->size); n > 0; n--) {
        set = set->other;
        plan = plan->other;
    }
    c->set = set;
    c->plan = plan;
}

/* The groups' problems.  */
static void size_problems(Check *c) {
    const Te *sized = te_sized(c->a, c->set->normal, c->size);
    c->problem = ARENA_ARRAY(c->a, Problem, c->set->n_group);
    c->program = ARENA_ARRAY(c->a, int, c->set->n_group);
    for (int g = 0; g < c->set->n_group; g++) {
        const Problem *p = &c->set->plans[g].problem;
        if (c->set->te->runtime)
            rtile_resize(c->a, p, sized, c->set->options.align, &c->problem[g]);
        else c->problem[g] = *p;
        c->program[g] = cg_choose(c->normal, &c->build->program, g, c->size);
    }
}

static Status check_sizes(Check *c) {
    Status s = te_specialize(c->a, c->d, c->set->te, c->size, &c->te);
    if (!s) s = te_specialize(c->a, c->d, c->set->normal, c->size, &c->normal);
    if (!s) size_problems(c);
    for (int k = 0; k < TE_FILLS && !s; k++) {
        ArenaMark m = arena_mark(c->a);
        const char *before = c->out->text;
        s = check_data(c, (TeFill)k);
        if (!c->out->table && c->o->counters) {
            CounterTable *table = ARENA_NEW(c->d->arena, CounterTable);
            check_counters(c->d->arena, c->set, c->plan, &c->run, table);
            c->out->table = table;
        }
        if (c->out->text != before) c->out->text = arena_strdup(c->d->arena, c->out->text);
        arena_reset(c->a, m);
        if (c->out->text) break;
        c->out->data_sets = k + 1;
    }
    return s;
}

const char *check_data(const CheckResult *r) {
    static const char *const sets[] = {"", "integer", "integer and real",
                                       "integer, real and extreme"};
    static const char *const inexact[] = {"", "real", "real", "real and extreme"};
    int n = r->data_sets + !r->ok;         /* the last one failed */
    if (n > TE_FILLS) n = TE_FILLS;
    return r->exact ? sets[n] : inexact[n];
}

static void summary(Check *c) {
    CheckResult *r = c->out;
    Buf b = buf_new(c->d->arena);
    buf_printf(&b, "check: %s (%s data, ", r->ok ? "ok" : "FAILED", check_data(r));
    if (r->size_sets > 1) buf_printf(&b, "%d size sets, ", r->size_sets);
    buf_printf(&b, "%lld of %lld outputs", (long long)r->compared, (long long)r->outputs);
    if (r->undecided) buf_printf(&b, ", %lld undecided", (long long)r->undecided);
    buf_printf(&b, ", %s)", r->where);
    if (r->text) buf_printf(&b, "\n%s", r->text);
    r->text = buf_str(&b);
}

Status check_kernel(Arena *a, Diag *d, const PlanSet *set, const WholePlan *plan,
                    const Build *build, const CheckOptions *o, CheckResult *out) {
    *out = (CheckResult){.where = "simulator"};
    if (o->place && o->place->context) out->where = cuda_context_device(o->place->context)->name;
    Check c = {.a = a, .d = d, .build = build, .o = o, .out = out,
               .failed_tensor = -1};
    for (int i = 0; !out->text; i++) {
        c.size = !o->at ? sample_sizes(a, set->te, &build->program, i) : i == 0 ? o->at : NULL;
        if (!c.size) break;
        size_split(&c, set, plan);
        Status s = check_sizes(&c);
        if (s) return s;
        out->size_sets = i + 1;
    }
    out->compared = c.sum.compared;
    out->undecided = c.sum.undecided;
    out->ok = !out->text;
    const char *what = out->text;
    summary(&c);
    out->counters = out->table ? counters_text(out->table, d->arena) : "";
    out->counters_json = out->table ? counters_json(out->table, NULL, d->arena) : "";
    return out->ok ? ST_OK : diag_error(d, ST_CHECK, NULL, DIAG_NOWHERE, "%s", what);
}
