#include "rtile/facts.h"

#include <string.h>

enum { DEFAULT_ALIGN = 16 };

/* Statement i of a group, its root first.  */
static int statement_of(const KernelGroup *g, int i) { return i == 0 ? g->root : g->fused[i - 1]; }

/* Marks the tensors that statements outside of the group read.  */
static void mark_outside(const Te *te, const KernelGroup *g, bool *read) {
    bool own[TE_MAX_STMTS] = {false};
    for (int i = 0; i <= g->n_fused; i++) own[statement_of(g, i)] = true;
    for (int i = 0; i < te->n_stmt; i++) {
        ReadList reads = access_reads(te->stmt[i].rhs);
        for (int j = 0; j < reads.n && !own[i]; j++) read[reads.at[j]->v.ref] = true;
    }
}

/* stored[i]: does the group store the tensor of its statement i: an output, or a temporary that
 * others read?  */
static void find_stored(const Te *te, const KernelGroup *g, bool *stored) {
    bool read[TE_MAX_TENSORS];
    memset(read, false, (size_t)te->n_tensor * sizeof *read);
    mark_outside(te, g, read);
    for (int i = 0; i <= g->n_fused; i++) {
        int stmt = statement_of(g, i), tensor = te->stmt[stmt].tensor;
        stored[stmt] = !te_is_passing(&te->tensor[tensor]) || read[tensor];
    }
}

/* The write of the root (-1) or of a fused statement in terms of the root's indices.  */
static Span stored_span(const Te *te, const KernelGroup *g, int which) {
    Span own = span_of_write(te, &te->stmt[which < 0 ? g->root : g->fused[which]]);
    return which < 0 ? own : span_through(&own, &te->stmt[g->root], g->perm[which]);
}

/* The widest stores of it at multiples in the domain, whose end may be less.  */
static int flat_store(const Te *te, const KernelGroup *g, int which, int align) {
    const TeStmt *root = &te->stmt[g->root], *s = which < 0 ? root : &te->stmt[g->fused[which]];
    Access x;
    access_write(te, s, &x);
    if (which >= 0) rtile_row_access(g->perm[which], s->n_left, &x);
    return flat_vector(te, root, &x, align);
}

static int64_t points_of(const TeStmt *s) {
    int64_t n = 1;
    for (int i = 0; i < s->n_left; i++) n *= te_index_extent(&s->index[i]);
    return n;
}

/* From neighbour to neighbour along the axis, if they may share a sector; else 1.  */
static int64_t out_step(const Span *s, const FusedAxis *along) {
    int64_t step = span_stride(s, along);
    return step > 0 && step * s->bytes < SECTOR ? step : 1;
}

/* The axis along which stores run: N of a contraction, the flattened domain of a stream.  */
static void describe_outputs(const FusedAxis *along, int align, const bool *stored, Problem *p) {
    const Te *te = p->te;
    const KernelGroup *g = p->group;
    const TeStmt *root = &te->stmt[g->root];
    int64_t outputs = points_of(root);
    p->out_vec = p->flat_vec = 0;
    p->out_across = p->contraction;
    p->stored_alone = NOT_ALONE;
    for (int which = -1; which < g->n_fused; which++) {
        int stmt = which < 0 ? g->root : g->fused[which];
        if (!stored[stmt]) continue;
        bool points = te->stmt[stmt].n_left == root->n_left;
        p->stored_alone = p->n_stored++ > 0 || !points ? NOT_ALONE : which;
        if (!points) {                                    /* a value for each row */
            p->out_bytes += points_of(&te->stmt[stmt]) *
                            te_dtype_bytes(te->tensor[te->stmt[stmt].tensor].dtype);
            continue;
        }
        Span s = stored_span(te, g, which);
        const TeTensor *t = &te->tensor[te->stmt[stmt].tensor];
        int vec = rtile_unclipped(t, span_vector(&s, along, align));
        int flat = flat_store(te, g, which, align);
        int64_t step = out_step(&s, along), run = span_steps(&s, along, step);
        if (p->out_vec == 0 || vec < p->out_vec) p->out_vec = vec;
        if (p->flat_vec == 0 || flat < p->flat_vec) p->flat_vec = flat;
        if (p->out_run == 0 || run < p->out_run) p->out_run = run;
        if (step > p->out_step) p->out_step = step;
        p->out_bytes += outputs * s.bytes;
        p->out_across = p->out_across && span_stride(&s, &p->con.axis[AX_M]) == 1;
    }
    if (p->out_vec == 0) p->out_vec = 1;
    if (p->flat_vec < p->out_vec || root->rhs->kind == TE_REDUCE) p->flat_vec = p->out_vec;
    if (p->out_run == 0) p->out_run = p->out_step = 1;
}

/* Does a statement of the group before fused statement `which` read the tensor, too?  */
static bool read_before(const Problem *p, int which, int tensor) {
    const KernelGroup *g = p->group;
    for (int i = -1; i < which; i++) {
        const TeExpr *rhs = p->te->stmt[i < 0 ? g->root : g->fused[i]].rhs;
        if (access_reads_tensor(rhs, tensor)) return true;
    }
    return false;
}

static bool is_source(const RowFacts *f, int tensor) {
    for (int k = 0; f && k < f->n_source; k++)
        if (f->source[k].tensor == tensor) return true;
    return false;
}

/* What statement `which` of the group reads beside what those before it do; -1: the root.  Of rows
 * without their sources.  */
static int64_t unique_bytes(const Problem *p, int which) {
    const TeStmt *s = view_statement(p, which);
    const TeExpr *e = s->rhs;
    ReadList read = access_reads(e);
    int64_t bytes = 0;
    for (int i = 0; i < read.n; i++) {
        Access a;
        int tensor = read.at[i]->v.ref;
        if (access_again(p->te, e, i) || view_makes(p, tensor) || read_before(p, which, tensor) ||
            is_source(p->row, tensor))
            continue;
        access_read(p->te, s, read.at[i], &a);
        bytes += access_unique(p->te, s, &a) * te_dtype_bytes(p->te->tensor[a.tensor].dtype);
    }
    return bytes;
}

/* Reads of fused statement `which` of tensors that no statement before it reads.  */
static int new_reads(const Problem *p, int which) {
    ReadList read = access_reads(p->te->stmt[p->group->fused[which]].rhs);
    int new = 0;
    for (int i = 0; i < read.n; i++)
        new += !view_makes(p, read.at[i]->v.ref) && !read_before(p, which, read.at[i]->v.ref);
    return new;
}

/* What statement `which` of a map's group (-1: the root) reads anew and stores for an element.  */
static int64_t element_bytes(const Problem *p, int which, const bool *stored) {
    const TeStmt *s = view_statement(p, which);
    ReadList read = access_reads(s->rhs);
    int stmt = which < 0 ? p->group->root : p->group->fused[which];
    int64_t bytes = 0;
    for (int i = 0; i < read.n; i++) {
        int tensor = read.at[i]->v.ref;
        if (!view_makes(p, tensor) && !read_before(p, which, tensor))
            bytes += te_dtype_bytes(p->te->tensor[tensor].dtype);
    }
    if (stored[stmt]) bytes += te_dtype_bytes(p->te->tensor[s->tensor].dtype);
    return bytes;
}

static void describe_epilogue(const bool *stored, Problem *p) {
    bool map = p->te->stmt[p->group->root].rhs->kind != TE_REDUCE;
    for (int i = -1; map && i < p->group->n_fused; i++)
        p->element_bytes += element_bytes(p, i, stored);
    for (int i = 0; i < p->group->n_fused; i++) {
        const TeStmt *s = &p->te->stmt[p->group->fused[i]];
        bool reduces = s->rhs->kind == TE_REDUCE && !p->group->stats;
        *(reduces ? &p->read_bytes : &p->epilogue_bytes) += unique_bytes(p, i);
        *(reduces ? &p->body_ops : &p->epilogue_ops) += stmt_ops(p->te, s) + 1;
        if (!reduces) p->epilogue_functions += expr_functions(s->rhs);
        if (reduces) p->n_reads += new_reads(p, i);
    }
    if (p->column.n_sum > 1)
        p->flops = (double)p->extent[AX_M] * (double)p->extent[AX_K] * p->body_ops;
}

static bool reduces_more(const Te *te, const KernelGroup *g) {
    for (int i = 0; i < g->n_fused; i++) {
        if (te->stmt[g->fused[i]].rhs->kind == TE_REDUCE) return true;
    }
    return false;
}

/* The spatial domain as one axis in the order of the left indices, each a digit.  */
static FusedAxis flat_axis(const TeStmt *s, bool reduction) {
    FusedAxis f = {.extent = 1};
    for (int i = reduction ? s->n_left : 0; i < (reduction ? s->n_index : s->n_left); i++) {
        f.index[f.n] = (uint8_t)i;
        f.digit[f.n_digit++] = (AxisDigit){f.n++, 1, te_index_extent(&s->index[i])};
        f.extent *= te_index_extent(&s->index[i]);
    }
    return f;
}

/* A read of rows that data choose, or that wrap.  */
static void describe_gathered(Problem *p, const FusedAxis *domain, const Access *a, int align) {
    const TeStmt *s = &p->te->stmt[p->group->root];
    ROperand *op = &p->op[0];
    int index = rtile_chunk_index(s, domain);
    if (index < 0) return;
    op->run_mn = rtile_gathered_run(p->te, s, a->read, index);
    op->stride_mn = op->run_mn > 1;
    if (p->flat_vec > 1)
        op->vec_mn = rtile_gathered_width(p->te, s, a, index, p->flat_vec, align);
}

static void describe_stream(int align, const bool *stored, Problem *p) {
    const TeStmt *s = &p->te->stmt[p->group->root];
    FusedAxis domain = flat_axis(s, false), loop = flat_axis(s, true);
    ROperand *op = &p->op[0];
    Access a;
    double bytes;
    p->extent[AX_M] = domain.extent;
    p->extent[AX_K] = loop.extent;
    p->body_ops = expr_ops(s->rhs);
    p->acc_bytes = te_dtype_bytes(s->rhs->type);
    *op = (ROperand){.vec_mn = 1, .vec_k = 1, .run_mn = 1, .run_k = 1, .bytes = 1, .elem = 1};
    p->op[1] = *op;
    p->n_operand = 0;
    p->flops = (double)domain.extent * (double)loop.extent * p->body_ops;
    describe_outputs(&domain, align, stored, p);
    bool any = operand_widest(p, s, s->rhs, &a, &bytes), map = s->rhs->kind != TE_REDUCE;
    if (map && domain.extent > 0) rtile_gaps(p, &domain, any ? &a : NULL);
    if (map) rtile_map_reads(p, &domain, align);
    if (!any) return;
    p->n_operand = 1;
    op->bytes = op->elem = te_dtype_bytes(p->te->tensor[a.tensor].dtype);
    op->unique = (int64_t)(bytes / op->bytes);
    op->affine = a.affine;
    op->room = access_room(p->te, s, &a);
    op->digits_mn = domain.n_digit;
    op->digits_k = loop.n_digit;
    if (!a.affine) {
        describe_gathered(p, &domain, &a, align);
        return;
    }
    Span span = span_of_read(p->te, s, &a);
    op->guarded = span.n_guard > 0;
    op->stride_mn = span_stride(&span, &domain);
    op->stride_k = span_stride(&span, &loop);
    op->run_mn = span_run(&span, &domain);
    op->run_k = span_run(&span, &loop);
    op->vec_mn = span_vector(&span, &domain, align);
    int flat = map ? flat_vector(p->te, s, &a, align) : 1;
    if (flat > op->vec_mn) op->vec_mn = flat;
}

static void describe_contraction(int align, Problem *p) {
    const Contraction *c = &p->con;
    const TeStmt *s = &p->te->stmt[p->group->root];
    p->accum = s->accum;
    p->tf32 = s->tf32;
    p->fp32x3 = s->fp32x3;
    p->acc_bytes = te_dtype_bytes(c->acc);
    p->flops = c->within ? 2 * te_dtype_values(c->operand[0].storage) : 2;
    for (int axis = 0; axis < AX_CLASSES; axis++) {
        p->extent[axis] = c->axis[axis].extent;
        p->flops *= (double)c->axis[axis].extent;
    }
    p->n_operand = c->n_operand;
    for (int side = 0; side < p->n_operand; side++) {
        if (p->op[side].made) operand_made(&c->operand[side], p);
        else operand_describe(&c->operand[side], side, align, p);
    }
    p->body_ops = c->product ? 0 : expr_ops_without(c->body, s->rhs, c->operand[0].expr,
                                                      c->operand[1].expr);
}

/* A row group: M rows, N columns.  */
static void describe_rows(Arena *a, int align, const bool *stored_of, Problem *p) {
    const RowGroup *g = p->group->row;
    bool stored[ROW_MAX_STMTS];
    double ops = 0;
    for (int i = 0; i < g->n; i++) stored[i] = stored_of[g->stmt[i]];
    RowFacts *f = rows_facts(a, p->te, g, align, stored);
    p->row = f;
    if (g->online) p->online = rows_facts(a, p->te, g->online, align, stored);
    p->extent[AX_M] = f->rows;
    p->extent[AX_N] = f->columns;
    p->acc_bytes = te_dtype_bytes(p->te->stmt[g->frame].rhs->type);
    p->out_vec = f->vec;
    p->out_run = f->columns;
    p->out_step = 1;
    for (int i = 0; i < g->n; i++) {
        const TeStmt *s = &p->te->stmt[g->stmt[i]];
        int64_t n = g->role[i] == ROW_MAP ? f->columns : 1;
        if (stored[i]) p->out_bytes += f->rows * n * te_dtype_bytes(p->te->tensor[s->tensor].dtype);
    }
    for (int k = 0; k < f->n_source; k++) {
        if (!f->source[k].made) p->read_bytes += (int64_t)f->source[k].unique;
    }
    for (int i = -1; i < p->group->n_fused; i++) p->read_bytes += unique_bytes(p, i);
    p->n_reads = f->n_source;
    for (int i = 0; i < g->n_pass; i++) ops += f->ops[i];
    p->body_ops = ops;
    p->flops = (double)f->rows * (double)f->columns * ops;
    p->op[0] = (ROperand){.vec_mn = 1, .vec_k = 1, .run_mn = 1, .run_k = 1, .bytes = 1, .elem = 1};
    p->op[1] = p->op[0];
}

/* Statements over rows of a contraction's results.  */
static void describe_stats(Arena *a, const bool *stored_of, Problem *p) {
    const RowGroup *g = p->group->stats;
    bool stored[ROW_MAX_STMTS], root = stored_of[p->group->root];
    for (int i = 0; i < g->n; i++) stored[i] = stored_of[g->stmt[i]];
    p->stats = p->stats_online = stats_facts(a, p->te, p->group, g, stored, root);
    if (g->online) p->stats_online = stats_facts(a, p->te, p->group, g->online, stored, root);
}

/* What divides each extent at all sizes.  */
static void describe_multiples(Problem *p) {
    const TeStmt *root = &p->te->stmt[p->group->root];
    for (int axis = 0; axis < AX_CLASSES; axis++) {
        const FusedAxis *x = &p->con.axis[axis];
        p->multiple[axis] = p->contraction ? access_divisor(root, x, 0, x->n) : 1;
    }
    if (p->contraction) return;
    for (int i = 0; i < root->n_index; i++) {
        bool second = root->index[i].reduction;
        p->multiple[second ? p->row ? AX_N : AX_K : AX_M] *= te_extent_divisor(&root->index[i].hi);
    }
}

/* From the group, and for a contraction from how it was recognised.  */
void problem_describe(Arena *a, int align, Problem *p) {
    const TeStmt *root = &p->te->stmt[p->group->root];
    bool stored[TE_MAX_STMTS];
    find_stored(p->te, p->group, stored);
    p->type = root->rhs->type;
    p->align = align;
    for (int axis = 0; axis < AX_CLASSES; axis++) p->extent[axis] = 1;
    if (p->group->row) {
        describe_rows(a, align, stored, p);
        describe_multiples(p);
        return;
    }
    if (p->group->chain) {
        describe_contraction(align, p);
        chain_describe(a, align, stored, p);
        describe_multiples(p);
        return;
    }
    if (p->contraction) {
        describe_contraction(align, p);
        describe_outputs(&p->con.axis[AX_N], align, stored, p);
        if (p->group->stats) describe_stats(a, stored, p);
    } else {
        describe_stream(align, stored, p);
    }
    if (!p->stats) rtile_views(p, align);
    p->read_bytes = unique_bytes(p, -1);
    p->n_reads = access_reads(root->rhs).n;
    describe_epilogue(stored, p);
    describe_multiples(p);
}

Status rtile_problem(Arena *a, Diag *d, const Te *te, const KernelGroup *g, int align,
                     Problem *out) {
    (void)d;
    const TeExpr *rhs = te->stmt[g->root].rhs;
    const char *why = NULL;
    if (align <= 0) align = DEFAULT_ALIGN;
    *out = (Problem){.te = te, .group = g};
    Scan scan;
    if (!g->row && rhs->kind == TE_REDUCE && !te_is_paired(rhs) &&
        !access_scan(&te->stmt[g->root], &scan)) {
        if (g->stats || g->chain) access_group_contraction(te, g, &out->con, &why);
        else access_contraction(te, g->root, &out->con, &why);
        describe_contraction(align, out);
        out->contraction = g->stats || g->chain || !reduces_more(te, g);
    }
    Problem fresh = {.te = te, .group = g, .con = out->con, .contraction = out->contraction};
    *out = fresh;
    problem_describe(a, align, out);
    return ST_OK;
}

bool rtile_reuses(const Problem *p) {
    int64_t a = p->op[0].unique * p->op[0].bytes, b = p->op[1].unique * p->op[1].bytes;
    return p->n_operand > 1 && p->extent[b > a ? AX_M : AX_N] > 1;
}

bool rtile_may_stream(const Problem *p) { return p->contraction && !p->stats && !p->chain; }

void rtile_as_stream(Arena *a, const Problem *p, int align, Problem *out) {
    if (align <= 0) align = DEFAULT_ALIGN;
    *out = (Problem){.te = p->te, .group = p->group, .con = p->con};
    problem_describe(a, align, out);
}

bool rtile_as_scaled(Arena *a, const Problem *p, int align, Problem *out, const char **why) {
    if (align <= 0) align = DEFAULT_ALIGN;
    *out = (Problem){.te = p->te, .group = p->group, .contraction = true};
    if (!access_scaled(p->te, p->group, &out->con, why)) return false;
    if (p->group->chain) *why = "the kernel has a second product";
    if (!p->contraction) *why = "it is planned element by element";
    if (*why) return false;
    problem_describe(a, align, out);
    return true;
}

void rtile_resize(Arena *a, const Problem *p, const Te *sized, int align, Problem *out) {
    if (align <= 0) align = DEFAULT_ALIGN;
    *out = (Problem){.te = sized, .group = p->group, .con = p->con,
                     .contraction = p->contraction, .permute = p->permute, .next = p->next};
    out->column = (ColumnView){.read = p->column.read, .out = p->column.out, .red = p->column.red};
    if (!p->window.map) out->window.source[0].read = p->window.source[0].read;
    if (p->con.body) access_resize(sized, &out->con);
    problem_describe(a, align, out);
}
