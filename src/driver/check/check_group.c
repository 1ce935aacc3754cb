#include "driver/check/check_impl.h"
#include "rprogram/derived.h"
#include "rprogram/skeletons.h"
#include "te/tree/arith.h"
#include <math.h>
#include <string.h>

/* Multiply-adds (or body evaluations) of the sample at the default budget, of all data sets.  */
static const double sample_work = 2.8e8;
enum { MAX_SAMPLED_BLOCKS = 24, SAMPLED_POINTS = 2048, FEWEST_POINTS = 64 };

/* How many times its share of the work the least sample of a group may take: an element that is
 * made, loaded and added up costs more than a multiply-add, and one of a matrix unit least.  */
static double most_shares(const Device *dev, const RProg *r) {
    return r->skeleton != SK_CONTRACT ? 8 : rprog_matrix(dev, r) ? 256 : 64;
}

static const RProg *prog_of(const Check *c, int g) {
    return &c->plan->rplan.prog[c->program[g] - c->run.strategy->first];
}

/* Puts what earlier groups would have made where the group's kernels find it.  The reference has
 * that, and what was drawn; it makes all else, which may be what another group makes of this one's
 * results.  */
static Status give(Check *c, int g) {
    const KernelGroup *group = &c->set->group[g];
    const Lazy **read = ARENA_ARRAY(c->a, const Lazy *, c->normal->n_tensor + 1);
    for (int t = c->normal->n_in; t < c->normal->n_tensor; t++) {
        bool handed = c->given[t] && !check_makes(c, group, t);
        read[t] = handed && check_reads(c, group, t) ? c->given[t] : NULL;
        c->data[t] = handed && c->drawn[t] ? c->given[t] : read[t];
    }
    check_bind_written(c);
    return run_given(&c->run, c->a, c->d, read);
}

/* A group's sample.  */
typedef struct {
    int g;
    const Sample *sample;
} Sampled;

static Status launch_sampled(Check *c, void *user) {
    const Sampled *x = user;
    const int g = x->g;
    const Sample *s = x->sample;
    const Problem *p = &c->problem[g];
    const RProg *r = prog_of(c, g);
    bool first = true;
    int number = 0;           /* of the kernel in its program */
    for (int i = 0; i < c->build->program.n_kernel; i++) {
        const KernelLaunch *k = &c->build->program.kernel[i];
        if (k->group != c->program[g]) continue;
        int64_t *blocks;
        int64_t count;
        int64_t across = cg_blocks(c->normal, &c->build->program, k, c->run.taken, c->size);
        if (r->stats == STATS_PARTIAL) {
            bool values = rprog_stats_combines(p, r, number++);
            count = sample_strips(c->a, s, values ? k->span : 0, &blocks);
        } else if (r->tail > 0) {
            count = sample_tail(c->a, p, r, s, k->span, &blocks);
        } else if (first || k->span == 0) {
            count = (int64_t)s->n_block * k->grid[1];
            blocks = ARENA_ARRAY(c->a, int64_t, count + 1);
            for (int64_t b = 0; b < count; b++)
                blocks[b] = s->block[b % s->n_block] + across * (b / s->n_block);
        } else {
            count = sample_adding(c->a, s, k->span, &blocks);
        }
        first = false;
        if (rprog_persistent(r) && k->span == 0)
            count = sample_launched(blocks, (int)count, across, s->snake);
        if (count == 0) continue;         /* no sampled tile needs adding */
        Status st = run_launch(&c->run, c->a, c->d, i, blocks, count);
        if (st || c->run.fault) return st;
    }
    return ST_OK;
}

/* Multiply-adds of the sample of one group on one data set.  */
static double share_of(const Check *c) {
    double budget = c->o->budget_s > 0 ? c->o->budget_s / 60 : 1;
    return sample_work * budget / ((double)c->set->n_group * c->n_sizes * TE_FILLS);
}

/* Position of tensor element that statement `s` writes at the root's indices.  */
static void place(const TeStmt *s, const uint8_t *perm, const int64_t *index, int64_t *at) {
    for (int j = 0; j < s->n_left; j++) at[j] = index[perm ? perm[j] : j];
}

static const TeStmt *stmt_of(const Check *c, int g, int fused) {
    const KernelGroup *group = &c->set->group[g];
    return &c->normal->stmt[fused < 0 ? group->root : group->fused[fused]];
}

static const uint8_t *perm_of(const Check *c, int g, int fused) {
    return fused < 0 ? NULL : c->set->group[g].perm[fused];
}

/* Elements of the sampled points, *n of them.  */
static CompareRow *rows_of(Check *c, int g, int fused, const Sample *sample, int *n) {
    const TeStmt *s = stmt_of(c, g, fused);
    CompareRow *row = ARENA_ARRAY(c->a, CompareRow, sample->n_point + 1);
    int rows = 0;
    for (int i = 0; i < sample->n_point; i++) {
        int64_t index[TE_MAX_INDICES] = {0};
        index_point(&sample->map, sample->point[i].at, index);
        place(s, perm_of(c, g, fused), index, row[rows].at);
        /* Points of a row have one value of what is computed per row.  */
        size_t key = (size_t)s->n_left * sizeof *index;
        if (rows > 0 && memcmp(row[rows].at, row[rows - 1].at, key) == 0) continue;
        if (!te_tensor_has(&c->normal->tensor[s->tensor], row[rows].at)) continue;
        row[rows++].count = 1;
    }
    *n = rows;
    return row;
}

static Status read_stored(Check *c, int tensor, const CompareRow *row, int rows, Stored *out) {
    const TeTensor *t = &c->normal->tensor[tensor];
    size_t *offset = ARENA_ARRAY(c->a, size_t, rows + 1), size = (size_t)te_dtype_bytes(t->dtype);
    for (int i = 0; i < rows; i++) offset[i] = (size_t)te_tensor_offset(t, row[i].at) * size;
    *out = (Stored){tensor, NULL, &c->run, run_address(&c->run, tensor)};
    out->data = run_elements(&c->run, c->a, c->d, out->at, te_tensor_bytes(t),
                             &(RunElements){offset, rows, size});
    return out->data ? ST_OK : diag_first_error(c->d)->status;
}

/* With the op as written as far as that is affordable, else with its normal form; with that, too,
 * where it was given more, and so says more.  */
static Status compare_statement(Check *c, int g, int fused, const Sample *sample) {
    int tensor = stmt_of(c, g, fused)->tensor, rows;
    const TeTensor *t = &c->normal->tensor[tensor];
    if (!check_in_memory(c, tensor) || !te_tensor_bytes(t)) return ST_OK;
    CompareRow *row = rows_of(c, g, fused, sample, &rows);
    CompareRow *all = ARENA_ARRAY(c->a, CompareRow, rows + 1);
    memcpy(all, row, (size_t)rows * sizeof *row);
    int written = c->rewritten ? check_rows_written(c, tensor, row, rows, share_of(c)) : 0;
    Stored stored, there;
    Status s = read_stored(c, tensor, all, rows, &stored);
    CompareResult r = {0}, again = {0};
    CompareRows rest = {&stored, row + written, rows - written};
    if (c->loose) rest = (CompareRows){&stored, all, rows};
    if (!s && rest.n) s = compare_rows(c->a, c->d, &c->ref, &rest, &r);
    if (!s) check_tally(c, c->normal, tensor, &r);
    if (c->rewritten && t->role == TE_OUTPUT && !written) c->out->by_normal += r.compared;
    if (s || !written) return s;
    there = stored;
    there.tensor = c->as_written[tensor];
    s = compare_rows(c->a, c->d, &c->written, &(CompareRows){&there, row, written}, &again);
    if (c->loose) again.compared = again.undecided = 0;
    if (!s) check_tally(c, c->te, there.tensor, &again);
    return s;
}

/* Outputs of a block, and all their work, in body evaluations.  */
static double block_outputs(const IndexMap *m) {
    double points = (double)m->each;
    for (int i = 0; i < m->n_axis; i++)
        points *= (double)(index_dealt(m, i) ? m->axis[i].tile : m->axis[i].extent);
    return points;
}

static double block_work(const Problem *p, const RProg *r, const IndexMap *m) {
    double each = (double)rprog_evaluations(p, r);
    /* Where rows lie in several blocks, those of a row in all kernels.  */
    if (r->stats == STATS_PARTIAL)
        each *= (double)rprog_tiles(p, r, AX_N) * rprog_stats_facts(p, r)->group->n_pass;
    return block_outputs(m) * each;
}

static bool ragged(const IndexMap *m) {
    for (int i = 0; i < m->n_axis; i++)
        if (index_dealt(m, i) && m->axis[i].extent % m->axis[i].tile) return true;
    return false;
}

/* Points of the blocks that the reference evaluates, up to `most` in each.  */
static void take_points(Check *c, int g, int most, Sample *s) {
    Rng rng = {check_seed(c) + (uint64_t)g};
    size_t cap = 0;
    for (int i = 0; i < s->n_block; i++) {
        BlockPoint *more;
        int got = sample_points(c->a, &s->map, s->block[i], most, &rng, &more);
        s->point = arena_grow(c->a, s->point, &cap, (size_t)(s->n_point + got + 1),
                              sizeof *s->point);
        memcpy(s->point + s->n_point, more, (size_t)got * sizeof *more);
        s->n_point += got;
    }
}

/* And those of the points given that lie in the blocks.  */
static void add_points(Check *c, const SampleEnds *ends, Sample *s) {
    BlockPoint *all = ARENA_ARRAY(c->a, BlockPoint, s->n_point + ends->n + 1);
    memcpy(all, s->point, (size_t)s->n_point * sizeof *all);
    s->point = all;
    for (int i = 0; i < ends->n; i++) {
        int64_t x = index_number(&s->map, ends->at[i].at) / s->map.each;
        for (int b = 0; b < s->n_block; b++)
            if (s->block[b] == x) s->point[s->n_point++] = ends->at[i];
    }
}

/* How many blocks are run, and how many points of each compared; false if even the fewest take more
 * than the budget has.  */
static bool sample_size(Check *c, int g, const IndexMap *m, int *blocks, int *points) {
    const Problem *p = &c->problem[g];
    const RProg *r = prog_of(c, g);
    double outputs = block_outputs(m), share = share_of(c), work = block_work(p, r, m) + 1;
    if (rprog_persistent(r))              /* a block goes on with other tiles */
        work *= (double)ceil_div(index_blocks(m), rprog_launched(p, c->set->dev, r));
    int least = ragged(m) ? 2 : 1;     /* an edge and an inner block */
    /* The first data set may take what the later ones would, which are then left out.  */
    double most = most_shares(c->set->dev, r) * (c->fill == 0 ? TE_FILLS : 1);
    c->out->runs++;
    if (least * work > most * share) {
        double budget_s = c->o->budget_s > 0 ? c->o->budget_s : 60;
        double needed = budget_s * least * work / (most_shares(c->set->dev, r) * share);
        c->out->needed_s = fmax(c->out->needed_s, needed);
        c->out->left_out++;
        return false;
    }
    *blocks = (int)fmin(fmax(share / work, least), MAX_SAMPLED_BLOCKS);
    /* The reference makes each result from all its terms, also one of a scan.  */
    double point = fmax((double)p->extent[AX_K], work / fmax(1, outputs));
    double fit = share / *blocks / fmax(1, point);
    *points = (int)fmin(fmax(fit, FEWEST_POINTS), SAMPLED_POINTS);
    return true;
}

/* What of a group is run; no blocks: it is left out.  */
static void take_sample(Check *c, int g, Sample *s) {
    const Problem *p = &c->problem[g];
    const RProg *r = prog_of(c, g);
    const KernelProgram *program = &c->build->program;
    const KernelLaunch *first = NULL;
    for (int i = program->n_kernel - 1; i >= 0; i--)
        if (program->kernel[i].group == c->program[g]) first = &program->kernel[i];
    int want, points;
    index_map(p, r, first ? first->span : 0, &s->map);
    if (first && rprog_persistent(r))
        s->across = cg_blocks(c->normal, program, first, c->run.taken, c->size);
    s->snake = p->next && rprog_chain_parted(p, r);
    if (!sample_size(c, g, &s->map, &want, &points)) return;
    SampleEnds ends;
    sample_ends(p, &s->map, &ends);
    s->n_block = sample_blocks(c->a, &s->map, want, check_seed(c) + (uint64_t)c->fill, &ends,
                               &s->block);
    take_points(c, g, points, s);
    add_points(c, &ends, s);
}

static Status launch_stored(Check *c, Sampled *x) {
    const KernelGroup *group = &c->set->group[x->g];
    int *made = ARENA_ARRAY(c->a, int, group->n_fused + 1), n = 0;
    Status s = ST_OK;
    for (int i = -1; i < group->n_fused && !s; i++) {
        int t = stmt_of(c, x->g, i)->tensor;
        if (!check_in_memory(c, t)) continue;
        made[n++] = t;
        s = run_poison(&c->run, c->d, t);
    }
    if (!s) s = launch_sampled(c, x);
    return s || c->run.fault ? s : check_stored(c, made, n, launch_sampled, x);
}

static Status check_group(Check *c, int g, const Sample *sample) {
    Status s = give(c, g);
    if (!s) s = launch_stored(c, &(Sampled){g, sample});
    if (s || c->run.fault) return s;
    for (int i = -1; i < c->problem[g].group->n_fused && !s; i++)
        s = compare_statement(c, g, i, sample);
    if (atomic_load(&c->no_memory)) arena_fail(c->a);
    return s;
}

Status check_groups(Check *c) {
    Status s = ST_OK;
    Sample *sample = ARENA_ARRAY(c->a, Sample, c->set->n_group + 1);
    for (int g = 0; g < c->set->n_group; g++) take_sample(c, g, &sample[g]);
    check_hand_over(c, sample, share_of(c));
    c->ref.te = c->normal;
    for (int g = 0; g < c->set->n_group && !s && !c->run.fault; g++)
        if (sample[g].n_block) s = check_group(c, g, &sample[g]);
    check_count_filled(c, c->normal, c->given, c->te->n_in, c->normal->n_tensor);
    return s;
}
