#include "rtile/facts.h"

#include <string.h>

enum { READS = 256, DEFAULT_ALIGN = 16 };

static int64_t extent_of(const TeIndex *x) {
    int64_t n = x->hi.value - x->lo.value;
    return n > 0 ? n : 0;
}

/* Is the statement part of the group?  */
static bool in_group(const KernelGroup *g, int stmt) {
    if (stmt == g->root) return true;
    for (int i = 0; i < g->n_fused; i++) {
        if (g->fused[i] == stmt) return true;
    }
    return false;
}

/* Does the group store the statement's tensor: an output, or a temporary that others read?  */
static bool is_stored(const Te *te, const KernelGroup *g, int stmt) {
    int tensor = te->stmt[stmt].tensor;
    if (te->tensor[tensor].role == TE_OUTPUT) return true;
    for (int i = 0; i < te->n_stmt; i++) {
        if (!in_group(g, i) && access_reads_tensor(te->stmt[i].rhs, tensor)) return true;
    }
    return false;
}

/* The write of the root (-1) or of a fused statement in terms of the root's indices.  */
static Span stored_span(const Te *te, const KernelGroup *g, int which) {
    Span own = span_of_write(te, &te->stmt[which < 0 ? g->root : g->fused[which]]);
    return which < 0 ? own : span_through(&own, &te->stmt[g->root], g->perm[which]);
}

static int64_t points_of(const TeStmt *s) {
    int64_t n = 1;
    for (int i = 0; i < s->n_left; i++) n *= extent_of(&s->index[i]);
    return n;
}

/* The axis along which stores run: N of a contraction, the flattened domain of a stream.  */
static void describe_outputs(const FusedAxis *along, int align, Problem *p) {
    const Te *te = p->te;
    const KernelGroup *g = p->group;
    const TeStmt *root = &te->stmt[g->root];
    int64_t outputs = points_of(root);
    p->out_vec = 0;
    for (int which = -1; which < g->n_fused; which++) {
        int stmt = which < 0 ? g->root : g->fused[which];
        if (!is_stored(te, g, stmt)) continue;
        if (te->stmt[stmt].n_left != root->n_left) {      /* a value for each row */
            p->out_bytes += points_of(&te->stmt[stmt]) *
                            te_dtype_bytes(te->tensor[te->stmt[stmt].tensor].dtype);
            continue;
        }
        Span s = stored_span(te, g, which);
        int vec = span_vector(&s, along, align);
        int64_t run = span_run(&s, along);
        if (p->out_vec == 0 || vec < p->out_vec) p->out_vec = vec;
        if (p->out_run == 0 || run < p->out_run) p->out_run = run;
        p->out_bytes += outputs * s.bytes;
    }
    if (p->out_vec == 0) p->out_vec = 1;
    if (p->out_run == 0) p->out_run = 1;
}

/* Does one of the group's own statements make the tensor?  */
static bool made_here(const Problem *p, int tensor) {
    for (int i = 0; i < p->te->n_stmt; i++) {
        if (p->te->stmt[i].tensor == tensor) return in_group(p->group, i);
    }
    return false;
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

/* What statement `which` of the group reads beside what those before it do; -1: the root.  */
static int64_t unique_bytes(const Problem *p, int which) {
    const TeStmt *s = &p->te->stmt[which < 0 ? p->group->root : p->group->fused[which]];
    const TeExpr *e = s->rhs;
    const TeExpr *read[READS];
    int n = access_reads(e, read, READS);
    int64_t bytes = 0;
    for (int i = 0; i < n && i < READS; i++) {
        Access a;
        bool again = false;
        for (int j = 0; j < i; j++) again |= read[j]->v.ref == read[i]->v.ref;
        if (again || made_here(p, read[i]->v.ref) || read_before(p, which, read[i]->v.ref))
            continue;
        access_read(p->te, s, read[i], &a);
        bytes += access_unique(p->te, s, &a) * te_dtype_bytes(p->te->tensor[a.tensor].dtype);
    }
    return bytes;
}

/* Reads of fused statement `which` of tensors that no statement before it reads.  */
static int new_reads(const Problem *p, int which) {
    const TeExpr *read[READS];
    int n = access_reads(p->te->stmt[p->group->fused[which]].rhs, read, READS), new = 0;
    for (int i = 0; i < n && i < READS; i++)
        new += !made_here(p, read[i]->v.ref) && !read_before(p, which, read[i]->v.ref);
    return new;
}

static void describe_epilogue(Problem *p) {
    for (int i = 0; i < p->group->n_fused; i++) {
        const TeStmt *s = &p->te->stmt[p->group->fused[i]];
        bool reduces = s->rhs->kind == TE_REDUCE && !p->group->stats;
        *(reduces ? &p->read_bytes : &p->epilogue_bytes) += unique_bytes(p, i);
        *(reduces ? &p->body_ops : &p->epilogue_ops) += expr_ops(s->rhs, NULL, NULL) + 1;
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

/* The read that moves the most data stands for an expression.  */
static bool widest_read(const Problem *p, const TeStmt *s, const TeExpr *e, Access *out,
                        double *bytes) {
    const TeExpr *read[READS];
    int n = access_reads(e, read, READS);
    int64_t most = -1;
    *bytes = 0;
    for (int i = 0; i < n && i < READS; i++) {
        Access a;
        bool again = false;
        for (int j = 0; j < i; j++) again |= access_same(read[j], read[i]);
        if (again) continue;
        access_read(p->te, s, read[i], &a);
        int width = te_dtype_bytes(p->te->tensor[a.tensor].dtype);
        int64_t unique = access_unique(p->te, s, &a);
        *bytes += (double)unique * width;
        if (unique * width > most) {
            most = unique * width;
            *out = a;
        }
    }
    return most >= 0;
}

static bool is_zero(const TeExpr *e) {
    return (e->kind == TE_INT && e->v.i == 0) || (e->kind == TE_REAL && e->v.r == 0);
}

static TeDtype value_type(const TeExpr *e);

/* Of one of two expressions: any type holds zero.  */
static TeDtype type_of_either(const TeExpr *x, const TeExpr *y, TeDtype otherwise) {
    if (is_zero(x)) return value_type(y);
    TeDtype t = value_type(x);
    return is_zero(y) || value_type(y) == t ? t : otherwise;
}

/* The narrowest type known to hold every value of an expression.  */
static TeDtype value_type(const TeExpr *e) {
    if (e->kind == TE_READ && e->other) return is_zero(e->other) ? e->store : e->type;
    if (e->kind == TE_SELECT) return type_of_either(e->args[1], e->args[2], e->type);
    if (e->kind != TE_CAST) return e->kind == TE_READ ? e->store : e->type;
    TeDtype inner = value_type(e->args[0]);
    bool byte = te_dtype_bytes(inner) == 1 && te_dtype_bytes(e->store) > 1;
    bool half = te_dtype_bytes(inner) == 2 && te_dtype_bytes(e->store) > 2;
    bool real = te_dtype_class(e->store) == TE_CLASS_REAL;
    if (inner == TE_BOOL || (te_dtype_class(inner) == TE_CLASS_REAL && !real)) return e->store;
    return inner != TE_I16 && (byte || half) ? inner : e->store;
}

/* Digits of an axis that an access tells apart: neighbours in memory, in no guarded subscript, are
 * one.  */
static int digits_apart(const Span *s, const FusedAxis *axis) {
    int n = 0, before = -1;               /* the index with which the last digit moves */
    for (int i = 0; i < axis->n_digit; i++) {
        const AxisDigit *d = &axis->digit[i];
        int index = axis->index[d->first + d->n - 1];
        int64_t step = s->offset.coef[index];
        bool one = before >= 0 && s->offset.coef[before] == step * d->extent;
        if (step && one)
            one = !((s->varies >> index | s->varies >> before) & 1) &&
                  !access_varies(s->stmt, axis, d->first, d->n);
        for (int g = 0; g < s->n_guard && one; g++)
            one = s->guard[g].coef[index] == 0 && s->guard[g].coef[before] == 0;
        n += !one;
        before = index;
    }
    return n;
}

/* Bytes for each point of a chunk of `vec` points along an axis; what all of its points share comes
 * once for many chunks.  */
static double chunk_bytes(const Problem *p, const TeExpr *e, const FusedAxis *axis, int vec,
                          int align) {
    const TeExpr *read[RTILE_CHUNK_READS];
    int width[RTILE_CHUNK_READS];
    const TeStmt *s = &p->te->stmt[p->group->root];
    int n = vec > 1 ? rtile_chunk_reads(p->te, s, e, axis, vec, align, read, width) : 0;
    double bytes = 0;
    for (int i = 0; i < n; i++) {
        if (width[i] > 1) bytes += width[i] * te_dtype_bytes(p->te->tensor[read[i]->v.ref].dtype);
    }
    return bytes / vec;
}

/* Several points share an element, as of packed weights: as if each had its own, in rows.  */
static void chunk_rows(int64_t n, int64_t *run, int64_t *step, int64_t *other) {
    *run = *other = n;
    *step = 1;
}

static void describe_operand(const Operand *o, int side, int align, Problem *p) {
    ROperand *op = &p->op[side];
    const TeStmt *s = &p->te->stmt[p->group->root];
    const FusedAxis *mn = &p->con.axis[side ? AX_N : AX_M], *k = &p->con.axis[AX_K];
    *op = (ROperand){.vec_mn = 1, .vec_k = 1, .run_mn = 1, .run_k = 1};
    if (!o->expr) return;
    op->present = true;
    op->value = value_type(o->expr);
    op->elem = te_dtype_bytes(o->compute);
    op->bytes = op->elem;
    op->digits_mn = mn->n_digit;
    op->digits_k = k->n_digit;
    op->ops = o->read ? 0 : expr_ops(o->expr, NULL, NULL);
    Access a;
    double bytes;
    if (o->read) a = o->access;
    else if (!widest_read(p, s, o->expr, &a, &bytes)) return;
    op->bytes = te_dtype_bytes(p->te->tensor[a.tensor].dtype);
    op->unique = o->read ? access_unique(p->te, s, &a) : (int64_t)(bytes / op->bytes);
    op->affine = o->read != NULL;
    op->copyable = op->affine && o->storage == o->compute;
    if (!o->read) {
        op->vec_mn = chunk_vector(p->te, s, o->expr, mn, align);
        op->vec_k = chunk_vector(p->te, s, o->expr, k, align);
        bool along_k = op->vec_k > op->vec_mn;
        op->chunk_bytes = chunk_bytes(p, o->expr, along_k ? k : mn,
                                      along_k ? op->vec_k : op->vec_mn, align);
    }
    if (!a.affine) {
        if (op->vec_k > 1) chunk_rows(k->extent, &op->run_k, &op->stride_k, &op->stride_mn);
        if (op->vec_mn > 1) chunk_rows(mn->extent, &op->run_mn, &op->stride_mn, &op->stride_k);
        return;
    }
    Span span = span_of_read(p->te, s, &a);
    op->guarded = span.n_guard > 0;
    if (op->affine) op->digits_mn = digits_apart(&span, mn);
    if (op->affine) op->digits_k = digits_apart(&span, k);
    op->stride_mn = span_stride(&span, mn);
    op->stride_k = span_stride(&span, k);
    op->run_mn = span_run(&span, mn);
    op->run_k = span_run(&span, k);
    if (op->affine) {
        op->vec_mn = span_vector(&span, mn, align);
        op->vec_k = span_vector(&span, k, align);
    }
}

/* The spatial domain as one axis in the order of the left indices, each a digit.  */
static FusedAxis flat_axis(const TeStmt *s, bool reduction) {
    FusedAxis f = {.extent = 1};
    for (int i = reduction ? s->n_left : 0; i < (reduction ? s->n_index : s->n_left); i++) {
        f.index[f.n] = (uint8_t)i;
        f.digit[f.n_digit++] = (AxisDigit){f.n++, 1, extent_of(&s->index[i])};
        f.extent *= extent_of(&s->index[i]);
    }
    return f;
}

static void describe_stream(int align, Problem *p) {
    const TeStmt *s = &p->te->stmt[p->group->root];
    FusedAxis domain = flat_axis(s, false), loop = flat_axis(s, true);
    ROperand *op = &p->op[0];
    Access a;
    double bytes;
    p->extent[AX_M] = domain.extent;
    p->extent[AX_K] = loop.extent;
    p->body_ops = expr_ops(s->rhs, NULL, NULL);
    p->acc_bytes = te_dtype_bytes(s->rhs->type);
    *op = (ROperand){.vec_mn = 1, .vec_k = 1, .run_mn = 1, .run_k = 1, .bytes = 1, .elem = 1};
    p->op[1] = *op;
    p->flops = (double)domain.extent * (double)loop.extent * p->body_ops;
    describe_outputs(&domain, align, p);
    bool any = widest_read(p, s, s->rhs, &a, &bytes), map = s->rhs->kind != TE_REDUCE;
    if (map && domain.extent > 0) rtile_gaps(p, &domain, any ? &a : NULL);
    if (map) rtile_map_reads(p, &domain, align);
    if (!any) return;
    op->present = true;
    op->bytes = op->elem = te_dtype_bytes(p->te->tensor[a.tensor].dtype);
    op->unique = (int64_t)(bytes / op->bytes);
    op->affine = a.affine;
    op->digits_mn = domain.n_digit;
    op->digits_k = loop.n_digit;
    if (!a.affine) return;
    Span span = span_of_read(p->te, s, &a);
    op->guarded = span.n_guard > 0;
    op->stride_mn = span_stride(&span, &domain);
    op->stride_k = span_stride(&span, &loop);
    op->run_mn = span_run(&span, &domain);
    op->run_k = span_run(&span, &loop);
    op->vec_mn = span_vector(&span, &domain, align);
}

/* Elements between what neighbouring outputs read of an operand.  */
static int64_t output_step(const Problem *p, const Operand *o) {
    const TeStmt *s = &p->te->stmt[p->group->root];
    if (!o->read) return 0;
    FusedAxis domain = flat_axis(s, false);
    Span span = span_of_read(p->te, s, &o->access);
    return span_stride(&span, &domain);
}

/* Where the larger operand has one row (column) of the other to meet, as in a reduction of one
 * operand or a depthwise convolution, tiles in shared memory reuse nothing: they pay only where
 * they make accesses contiguous or where the outputs alone do not fill a device.  */
static bool tiles_pay(const Problem *p) {
    enum { SHORT_LOOP = 8, LONG_LOOP = 128, OUTPUTS = 65536, OUTPUTS_SHORT = 8192, NEAR = 2 };
    int64_t a = p->op[0].unique * p->op[0].bytes, b = p->op[1].unique * p->op[1].bytes;
    int larger = p->op[1].present && b > a;
    if (p->op[1].present && p->extent[larger ? AX_M : AX_N] > 1) return true;
    int64_t outputs = p->extent[AX_B] * p->extent[AX_M] * p->extent[AX_N], k = p->extent[AX_K];
    int64_t step = output_step(p, larger ? &p->con.b : &p->con.a);
    bool near = step >= 1 && step <= NEAR;
    if (outputs < (near && k <= LONG_LOOP / 2 ? OUTPUTS_SHORT : OUTPUTS)) return true;
    return k > SHORT_LOOP && (k > LONG_LOOP || !near);
}

static void describe_contraction(int align, Problem *p) {
    const Contraction *c = &p->con;
    const TeStmt *s = &p->te->stmt[p->group->root];
    p->accum = s->accum;
    p->tf32 = s->tf32;
    p->fp32x3 = s->fp32x3;
    p->acc_bytes = te_dtype_bytes(c->acc);
    p->flops = 2;
    for (int axis = 0; axis < AX_CLASSES; axis++) {
        p->extent[axis] = c->axis[axis].extent;
        p->flops *= (double)c->axis[axis].extent;
    }
    describe_operand(&c->a, 0, align, p);
    describe_operand(&c->b, 1, align, p);
    p->body_ops = c->product ? 0 : expr_ops(c->body, c->a.expr, c->b.expr);
}

/* A row group: M rows, N columns.  */
static void describe_rows(Arena *a, int align, Problem *p) {
    const RowGroup *g = p->group->row;
    bool stored[ROW_MAX_STMTS];
    double ops = 0;
    for (int i = 0; i < g->n; i++) stored[i] = is_stored(p->te, p->group, g->stmt[i]);
    RowFacts *f = rows_facts(a, p->te, g, align, stored);
    p->row = f;
    if (g->online) p->online = rows_facts(a, p->te, g->online, align, stored);
    p->extent[AX_M] = f->rows;
    p->extent[AX_N] = f->columns;
    p->acc_bytes = te_dtype_bytes(p->te->stmt[g->frame].rhs->type);
    p->out_vec = f->vec;
    p->out_run = f->columns;
    for (int i = 0; i < g->n; i++) {
        const TeStmt *s = &p->te->stmt[g->stmt[i]];
        int64_t n = g->role[i] == ROW_MAP ? f->columns : 1;
        if (stored[i]) p->out_bytes += f->rows * n * te_dtype_bytes(p->te->tensor[s->tensor].dtype);
    }
    for (int k = 0; k < f->n_source; k++) {
        if (!f->source[k].made) p->read_bytes += (int64_t)f->source[k].unique;
    }
    p->n_reads = f->n_source;
    for (int i = 0; i < g->n_pass; i++) ops += f->ops[i];
    p->body_ops = ops;
    p->flops = (double)f->rows * (double)f->columns * ops;
    p->op[0] = (ROperand){.vec_mn = 1, .vec_k = 1, .run_mn = 1, .run_k = 1, .bytes = 1, .elem = 1};
    p->op[1] = p->op[0];
}

/* Statements over rows of a contraction's results.  */
static void describe_stats(Arena *a, Problem *p) {
    const RowGroup *g = p->group->stats;
    bool stored[ROW_MAX_STMTS], root = is_stored(p->te, p->group, p->group->root);
    for (int i = 0; i < g->n; i++) stored[i] = is_stored(p->te, p->group, g->stmt[i]);
    p->stats = p->parts = stats_facts(a, p->te, p->group, g, stored, root);
    if (g->online) p->parts = stats_facts(a, p->te, p->group, g->online, stored, root);
}

/* What divides each extent at all sizes.  */
static void describe_multiples(Problem *p) {
    const TeStmt *root = &p->te->stmt[p->group->root];
    for (int axis = 0; axis < AX_CLASSES; axis++) {
        const FusedAxis *x = &p->con.axis[axis];
        p->multiple[axis] = p->contraction ? access_unit(root, x, 0, x->n) : 1;
    }
    if (p->contraction) return;
    for (int i = 0; i < root->n_index; i++) {
        bool second = root->index[i].reduction;
        p->multiple[second ? p->row ? AX_N : AX_K : AX_M] *= te_extent_unit(&root->index[i].hi);
    }
}

/* All that follows from the group, and for a contraction from how it was recognised.  */
static void describe(Arena *a, int align, Problem *p) {
    const TeStmt *root = &p->te->stmt[p->group->root];
    p->type = root->rhs->type;
    for (int axis = 0; axis < AX_CLASSES; axis++) p->extent[axis] = 1;
    if (p->group->row) {
        describe_rows(a, align, p);
        describe_multiples(p);
        return;
    }
    if (p->contraction) {
        describe_contraction(align, p);
        describe_outputs(&p->con.axis[AX_N], align, p);
        if (p->group->stats) describe_stats(a, p);
    } else {
        describe_stream(align, p);
    }
    if (!p->stats) rtile_views(p, align);
    const TeExpr *reads[READS];
    p->read_bytes = unique_bytes(p, -1);
    p->n_reads = access_reads(root->rhs, reads, READS);
    describe_epilogue(p);
    describe_multiples(p);
}

static bool is_positional(const TeExpr *e) {
    return e->kind == TE_REDUCE && (e->red == TE_RED_ARGMAX || e->red == TE_RED_ARGMIN);
}

Status rtile_problem(Arena *a, Diag *d, const Te *te, const KernelGroup *g, int align,
                     Problem *out) {
    (void)d;
    const TeExpr *rhs = te->stmt[g->root].rhs;
    const char *why = NULL;
    if (align <= 0) align = DEFAULT_ALIGN;
    *out = (Problem){.te = te, .group = g};
    if (!g->row && rhs->kind == TE_REDUCE && !is_positional(rhs)) {
        if (g->stats) access_group_contraction(te, g, &out->con, &why);
        else access_contraction(te, g->root, &out->con, &why);
        describe_contraction(align, out);
        out->contraction = g->stats || (tiles_pay(out) && !reduces_more(te, g));
    }
    Problem fresh = {.te = te, .group = g, .con = out->con, .contraction = out->contraction};
    *out = fresh;
    describe(a, align, out);
    return ST_OK;
}

void rtile_as_stream(Arena *a, const Problem *p, int align, Problem *out) {
    if (align <= 0) align = DEFAULT_ALIGN;
    *out = (Problem){.te = p->te, .group = p->group, .con = p->con};
    describe(a, align, out);
}

void rtile_resize(Arena *a, const Problem *p, const Te *sized, int align, Problem *out) {
    if (align <= 0) align = DEFAULT_ALIGN;
    *out = (Problem){.te = sized, .group = p->group, .con = p->con,
                     .contraction = p->contraction, .permute = p->permute};
    if (p->con.body) access_resize(sized, &out->con);
    describe(a, align, out);
}
