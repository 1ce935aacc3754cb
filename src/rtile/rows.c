/* Row groups: what each pass reads, evaluates and leaves behind.  */
#include "rtile/facts.h"
#include "te/tree/tree.h"

#include <string.h>

static const TeStmt *frame_of(const Te *te, const RowGroup *g) { return &te->stmt[g->frame]; }

static void to_frame(const uint8_t *axis, int n_index, Affine *f) {
    Affine out = {.c = f->c};
    for (int j = 0; j < n_index; j++) out.coef[axis[j]] += f->coef[j];
    *f = out;
}

void rtile_row_access(const uint8_t *axis, int n_index, Access *x) {
    int64_t divisor[TE_MAX_INDICES];
    uint32_t varies = x->varies;
    memcpy(divisor, x->divisor, sizeof divisor);
    memset(x->divisor, 0, sizeof x->divisor);
    x->varies = 0;
    for (int j = 0; j < n_index; j++) {
        x->divisor[axis[j]] = gcd64(x->divisor[axis[j]], divisor[j]);
        x->varies |= (varies >> j & 1) << axis[j];
    }
    to_frame(axis, n_index, &x->offset);
    for (int d = 0; d < TE_MAX_RANK; d++) to_frame(axis, n_index, &x->sub[d]);
}

/* Statement i of a row group: an access of it over the frame's indices.  */
static void read_in_frame(const Te *te, const RowGroup *g, int i, const TeExpr *read, Access *out) {
    const TeStmt *s = &te->stmt[g->stmt[i]];
    access_read(te, s, read, out);
    if (out->affine) rtile_row_access(g->axis[i], s->n_index, out);
}

int rtile_row_vector(const Te *te, const TeStmt *frame, const Access *x, int align) {
    int most = rtile_widest(&te->tensor[x->tensor], align), v = 1;
    uint32_t covered = UINT32_MAX << frame->n_left;
    int64_t columns = 1;
    if (rtile_row_step(te, frame, x) != 1) return 1;
    for (int i = frame->n_left; i < frame->n_index; i++)
        columns *= te_extent_divisor(&frame->index[i].hi);
    while (2 * v <= most && columns % (2 * v) == 0 &&
           rtile_aligned(frame, x->divisor, x->c_divisor, covered, 2 * v))
        v *= 2;
    return v;
}

static bool moves(const TeStmt *frame, const Affine *f, int lo, int hi) {
    for (int i = lo; i < hi; i++) {
        if (f->coef[i] && te_index_extent(&frame->index[i]) > 1) return true;
    }
    return false;
}

/* Elements from row to row: of the innermost index of rows that moves.  */
static int64_t beside(const TeStmt *frame, const Access *x) {
    int i = frame->n_left - 1;
    while (i > 0 && te_index_extent(&frame->index[i]) <= 1) i--;
    return i < 0 ? 0 : x->offset.coef[i];
}

/* Neighbouring rows in a run of them, or what divides their number at all sizes.  */
static int64_t rows_beside(const TeStmt *frame, const Access *x) {
    int64_t run = 1, n = 1;
    for (int i = frame->n_left - 1; i >= 0; i--) {
        const TeExtent *e = &frame->index[i].hi;
        if (te_index_extent(&frame->index[i]) <= 1) continue;
        if (x->offset.coef[i] != run || (x->varies >> i & 1)) break;
        run *= e->value;
        n *= te_extent_divisor(e);
        if (e->expr) break;
    }
    return n;
}

static RowSteps steps_of(const Te *te, const TeStmt *frame, const Access *x, int *varies) {
    return (RowSteps){rtile_row_stride(te, frame, x, varies), beside(frame, x),
                      rows_beside(frame, x)};
}

/* Does each row have elements of its own?  A single one has.  */
static bool is_by_row(const Te *te, const RowFacts *f, const Access *x) {
    const TeStmt *frame = frame_of(te, f->group);
    return f->rows == 1 || moves(frame, &x->offset, 0, frame->n_left);
}

/* Could the read be a source: unconditional, with columns at constant distances?  */
static bool is_regular(const Te *te, const RowGroup *g, int i, const TeExpr *read, Access *x) {
    const TeStmt *frame = frame_of(te, g);
    int made = row_group_maker(te, g, read->v.ref);
    if (made >= 0 && g->role[made] != ROW_MAP) return false;
    if (g->role[i] == ROW_SCALAR) return false;
    read_in_frame(te, g, i, read, x);
    int varies;
    return x->affine && !access_guarded(te, x) && rtile_row_stride(te, frame, x, &varies) != 0 &&
           (made >= 0 || moves(frame, &x->offset, frame->n_left, frame->n_index));
}

static bool is_same(const Access *x, const Access *y) {
    return x->tensor == y->tensor && x->varies == y->varies &&
           memcmp(&x->offset, &y->offset, sizeof x->offset) == 0 &&
           (!x->varies || memcmp(x->sub, y->sub, sizeof x->sub) == 0);
}

static int find_source(const RowFacts *f, const Access *x) {
    for (int k = 0; k < f->n_source; k++) {
        if (is_same(&f->source[k].access, x)) return k;
    }
    return -1;
}

int rtile_row_source(const Te *te, const RowFacts *f, int i, const TeExpr *read) {
    Access x;
    return is_regular(te, f->group, i, read, &x) ? find_source(f, &x) : -1;
}

static int add_source(const Te *te, RowFacts *f, const TeStmt *s, const Access *x, bool made,
                      int align) {
    const TeStmt *frame = frame_of(te, f->group);
    int k = find_source(f, x);
    if (k >= 0 || f->n_source == ROW_MAX_SOURCES) return k;
    RowSource *new = &f->source[f->n_source];
    *new = (RowSource){.tensor = x->tensor, .made = made, .access = *x,
                       .bytes = te_dtype_bytes(te->tensor[x->tensor].dtype),
                       .by_row = is_by_row(te, f, x)};
    new->at = steps_of(te, frame, x, &new->varies);
    new->vec = rtile_row_vector(te, frame, x, align);
    Access own;
    if (x->read) {
        access_read(te, s, x->read, &own);
        new->unique = (double)access_unique(te, s, &own) * new->bytes;
    }
    return f->n_source++;
}

/* A map that is stored and made of several tensors is read back as one.  */
static void find_staying(const Te *te, RowFacts *f, const bool *stored) {
    const RowGroup *g = f->group;
    for (int i = 0; i < g->n; i++) {
        const TeStmt *s = &te->stmt[g->stmt[i]];
        ReadList reads = access_reads(s->rhs);
        int wide = 0;
        if (g->role[i] != ROW_MAP || !stored[i]) continue;
        if (te->tensor[s->tensor].role != TE_OUTPUT) continue;
        for (int j = 0; j < reads.n; j++) {
            Access x;
            wide += is_regular(te, g, i, reads.at[j], &x) && is_by_row(te, f, &x);
        }
        f->stays[i] = wide > 1;
    }
}

void rows_evaluated(const Te *te, const RowGroup *g, const bool *stored, const bool *stays,
                    uint64_t *folds, uint64_t *emits) {
    for (int i = g->n - 1; i >= 0; i--) {
        uint64_t own = (uint64_t)1 << g->pass[i];
        if (g->role[i] == ROW_SCALAR) continue;
        if (g->role[i] == ROW_REDUCE) folds[i] |= own;
        if (g->role[i] == ROW_MAP && stored[i]) emits[i] |= own;
        ReadList reads = access_reads(te->stmt[g->stmt[i]].rhs);
        for (int j = 0; j < reads.n; j++) {
            int m = row_group_maker(te, g, reads.at[j]->v.ref);
            if (m < 0 || g->role[m] != ROW_MAP || stays[m]) continue;
            folds[m] |= folds[i];
            emits[m] |= emits[i];
        }
    }
}

static void find_evaluations(const Te *te, RowFacts *f, const bool *stored) {
    uint64_t folds[ROW_MAX_STMTS] = {0}, emits[ROW_MAX_STMTS] = {0};
    rows_evaluated(te, f->group, stored, f->stays, folds, emits);
    for (int i = 0; i < f->group->n; i++) f->eval[i] = folds[i] | emits[i];
}

static void find_sources(const Te *te, RowFacts *f, int align) {
    const RowGroup *g = f->group;
    for (int i = 0; i < g->n; i++) {
        const TeStmt *s = &te->stmt[g->stmt[i]];
        ReadList reads = access_reads(s->rhs);
        for (int j = 0; j < reads.n; j++) {
            Access x;
            int m = row_group_maker(te, g, reads.at[j]->v.ref);
            if ((m >= 0 && !f->stays[m]) || !is_regular(te, g, i, reads.at[j], &x)) continue;
            uint64_t passes = f->eval[i];
            if (m >= 0) passes &= ~((uint64_t)1 << g->pass[m]);
            if (!passes) continue;
            int k = add_source(te, f, s, &x, m >= 0, align);
            if (k < 0) continue;
            f->source[k].passes |= passes;
            f->source[k].bare |= rows_bare(f, i, reads.at[j], passes);
        }
    }
    for (int k = 0; k < f->n_source; k++) {
        RowSource *x = &f->source[k];
        x->kept = x->made || (x->by_row && (x->passes & (x->passes - 1)) != 0);
    }
}

/* Work per element and pass.  */
static void count_work(const Te *te, RowFacts *f, const bool *stored) {
    const RowGroup *g = f->group;
    for (int i = 0; i < g->n; i++) {
        const TeStmt *s = &te->stmt[g->stmt[i]];
        double ops = stmt_ops(te, s);
        for (int p = 0; p < g->n_pass; p++) {
            if (f->eval[i] >> p & 1) f->ops[p] += ops + (g->role[i] == ROW_MAP && stored[i]);
        }
        if (g->role[i] == ROW_REDUCE) f->reduces[g->pass[i]]++;
        f->followers += g->follow[i] != FOLLOW_NONE;
    }
}

/* Do the rows of a source follow each other without gaps, from a multiple of 16 bytes on?  */
static bool is_flat(const Te *te, const TeStmt *frame, const RowFacts *f, const RowSource *s,
                    int align) {
    int64_t next = f->columns;
    int whole = RTILE_ACCESS / s->bytes;
    const Affine *at = &s->access.offset;
    if (s->made || s->at.step != 1 || rtile_widest(&te->tensor[s->tensor], align) < whole ||
        s->access.c_varies || at->c % whole)
        return false;
    for (int i = frame->n_left - 1; i >= 0; i--) {
        int64_t n = te_index_extent(&frame->index[i]);
        if (n > 1 && at->coef[i] != next) return false;
        next *= n;
    }
    return true;
}

static bool find_flat(const Te *te, const TeStmt *frame, const RowFacts *f, int align) {
    bool any = false;
    for (int k = 0; k < f->n_source; k++) {
        if (!f->source[k].by_row) continue;
        if (!is_flat(te, frame, f, &f->source[k], align)) return false;
        any = true;
    }
    return any && f->rows > 1 && !te->runtime;
}

RowFacts *rows_facts(Arena *a, const Te *te, const RowGroup *g, int align, const bool *stored) {
    RowFacts *f = ARENA_NEW(a, RowFacts);
    const TeStmt *frame = frame_of(te, g);
    *f = (RowFacts){.group = g, .rows = 1, .columns = 1, .vec = 1};
    for (int i = 0; i < frame->n_index; i++)
        *(i < frame->n_left ? &f->rows : &f->columns) *= te_index_extent(&frame->index[i]);
    find_staying(te, f, stored);
    find_evaluations(te, f, stored);
    rows_values(te, f);
    find_sources(te, f, align);
    count_work(te, f, stored);
    f->flat = find_flat(te, frame, f, align);
    const Access *beside[ROW_MAX_SOURCES + ROW_MAX_STMTS];
    int n = 0;
    for (int k = 0; k < f->n_source; k++) {
        if (f->source[k].vec > f->vec) f->vec = f->source[k].vec;
        if (f->source[k].by_row) beside[n++] = &f->source[k].access;
    }
    for (int i = 0; i < g->n; i++) {
        Access *x = ARENA_NEW(a, Access);
        const TeStmt *s = &te->stmt[g->stmt[i]];
        if (!stored[i] || g->role[i] != ROW_MAP) continue;
        access_write(te, s, x);
        rtile_row_access(g->axis[i], s->n_index, x);
        int varies, vec = rtile_row_vector(te, frame, x, align);
        f->store[f->n_store++] = (RowStore){te_dtype_bytes(te->tensor[s->tensor].dtype),
                                            steps_of(te, frame, x, &varies)};
        f->element_bytes += te_dtype_bytes(te->tensor[s->tensor].dtype);
        f->vec = vec > f->vec ? vec : f->vec;
        beside[n++] = x;
    }
    rows_peel(te, f, beside, n, align);
    return f;
}
