/* The reads of a map: how wide accesses can be, and how far apart those of one tensor lie.  */
#include "rtile/facts.h"

#include <string.h>

/* Does the same read occur before read n of statement `which`?  */
static bool is_repeated(const Problem *p, int which, const ReadList *read, int n) {
    for (int i = 0; i < n; i++) {
        if (access_same(read->at[i], read->at[n])) return true;
    }
    for (int k = -1; k < which; k++) {
        ReadList before = access_reads(view_statement(p, k)->rhs);
        for (int i = 0; i < before.n; i++) {
            if (access_same(before.at[i], read->at[n])) return true;
        }
    }
    return false;
}

/* The index of statement `which` along which its outputs are neighbours; -1: there is none.  */
static int view_along(const Problem *p, int which, const FusedAxis *axis) {
    int index = rtile_chunk_index(view_root(p), axis);
    for (int j = 0; which >= 0 && index >= 0 && j < view_statement(p, which)->n_left; j++)
        if (p->group->perm[which][j] == index) return j;
    return which < 0 ? index : -1;
}

static bool is_domain(const TeStmt *root, const FusedAxis *axis) {
    for (int i = 0; i < axis->n; i++) {
        if (axis->index[i] != i) return false;
    }
    return axis->n == root->n_left;
}

/* log2 of the widest access.  */
static int width_of(const Problem *p, int which, const FusedAxis *axis, int align, Access *a,
                    double *bytes) {
    const TeTensor *t = &p->te->tensor[a->tensor];
    const TeStmt *s = view_statement(p, which);
    int log = 0;
    for (int d = 0; d < t->rank && !a->joined; d++)
        a->guard[d] = access_leaves(s, a->read->args[d], &a->sub[d], &t->shape[d]);
    Span span = span_of_read(p->te, s, a);
    if (which >= 0) span = span_through(&span, view_statement(p, -1), p->group->perm[which]);
    if (span_stride(&span, axis) == 0) return READ_WIDTHS - 1;
    *bytes += span.bytes;
    int vec = span_vector(&span, axis, align), flat = 1;
    if (is_domain(view_root(p), axis)) {
        if (which >= 0) rtile_row_access(p->group->perm[which], s->n_left, a);
        flat = flat_vector(p->te, view_root(p), a, align);
    }
    for (vec = vec > flat ? vec : flat; vec > 1; vec /= 2) log++;
    return log < READ_WIDTHS ? log : READ_WIDTHS - 1;
}

/* log2 of the access to vectors of the outputs, where it can be wide.  */
static int gathered_width(const Problem *p, int which, const FusedAxis *axis, int align,
                          const Access *a) {
    int log = 0, index = view_along(p, which, axis);
    if (index < 0 || p->flat_vec < 2 || !is_domain(view_root(p), axis)) return 0;
    int width = rtile_gathered_width(p->te, view_statement(p, which), a, index, p->flat_vec, align);
    for (; width > 1; width /= 2) log++;
    return log < READ_WIDTHS ? log : READ_WIDTHS - 1;
}

ReadWidths rtile_widths(const Problem *p, const FusedAxis *axis, int align,
                        bool (*skip)(const Problem *, const TeExpr *), double *bytes) {
    ReadWidths out = {{0}};
    *bytes = 0;
    for (int which = -1; which < p->group->n_fused; which++) {
        ReadList read = access_reads(view_statement(p, which)->rhs);
        for (int i = 0; i < read.n; i++) {
            Access a;
            if (view_makes(p, read.at[i]->v.ref) || (skip && skip(p, read.at[i])) ||
                is_repeated(p, which, &read, i))
                continue;
            access_read(p->te, view_statement(p, which), read.at[i], &a);
            if (a.affine) out.of[width_of(p, which, axis, align, &a, bytes)]++;
            else out.of[gathered_width(p, which, axis, align, &a)]++;
        }
    }
    return out;
}

/* ---- divisions ---- */

/* Bit i: the element's number is divided by what lies behind index i.  An offset needs the
 * quotients at whose index it is no whole number of the next one's steps, a subscript that is
 * tested or computed those of its indices.  */
static uint32_t divided(const Problem *p, const Span *span, uint32_t uses) {
    const TeStmt *s = view_statement(p, -1);
    uint32_t bits = 0;
    int64_t inner = 0, behind = 1, coef;
    for (int i = s->n_left - 1; i >= 0; i--) {
        int64_t n = view_extent(s, i);
        coef = n == 1 ? inner : span->offset.coef[i];
        if (behind > 1 && (coef != inner || span->varies)) bits |= 1u << i;
        if (behind > 1 && (uses >> i & 1)) bits |= 1u << i;
        if (i > 0 && n > 1 && (uses >> i & 1)) bits |= 1u << (i - 1);
        inner = coef * n;
        behind *= n;
    }
    return bits;
}

static uint32_t divided_by_read(const Problem *p, int which, const TeExpr *read) {
    const TeStmt *s = view_statement(p, which);
    uint32_t uses = 0;
    Access a;
    access_read(p->te, s, read, &a);
    for (int d = 0; d < p->te->tensor[a.tensor].rank; d++) {
        if (a.guard[d] || !a.affine) uses |= access_uses(read->args[d]);
    }
    if (!a.affine) return divided(p, &(Span){.stmt = s}, uses);
    Span span = span_of_read(p->te, s, &a);
    if (which >= 0) span = span_through(&span, view_statement(p, -1), p->group->perm[which]);
    return divided(p, &span, which < 0 ? uses : 0);
}

static int count_divisions(const Problem *p) {
    uint32_t bits = 0;
    int count = 0;
    for (int which = -1; which < p->group->n_fused; which++) {
        const TeStmt *s = view_statement(p, which);
        ReadList read = access_reads(s->rhs);
        for (int i = 0; i < read.n; i++) {
            if (!view_makes(p, read.at[i]->v.ref)) bits |= divided_by_read(p, which, read.at[i]);
        }
        if (p->te->tensor[s->tensor].role != TE_OUTPUT) continue;
        Span span = span_of_write(p->te, s);
        if (which >= 0) span = span_through(&span, view_statement(p, -1), p->group->perm[which]);
        bits |= divided(p, &span, 0);
    }
    for (; bits; bits &= bits - 1) count++;
    return count;
}

/* ---- shifts ---- */

typedef struct {
    Affine offset;
    int tensor, bytes;
} ReadPlace;

static bool are_parallel(const ReadPlace *a, const ReadPlace *b) {
    return a->tensor == b->tensor &&
           memcmp(a->offset.coef, b->offset.coef, sizeof a->offset.coef) == 0;
}

/* By rising offsets.  */
static void insert(ReadPlace *place, int n, ReadPlace one) {
    for (; n > 0 && place[n - 1].offset.c > one.offset.c; n--) place[n] = place[n - 1];
    place[n] = one;
}

void rtile_map_reads(Problem *p, const FusedAxis *domain, int align) {
    const TeStmt *s = view_statement(p, -1);
    ReadPlace place[MAP_SHIFTS];
    ReadList read = access_reads(s->rhs);
    int placed = 0;
    double bytes;
    MapReads *m = &p->map;
    *m = (MapReads){.widths = rtile_widths(p, domain, align, NULL, &bytes),
                    .divisions = count_divisions(p)};
    for (int i = 0; i < read.n && placed < MAP_SHIFTS; i++) {
        Access a;
        if (is_repeated(p, -1, &read, i)) continue;
        access_read(p->te, s, read.at[i], &a);
        if (!a.affine) continue;
        int width = te_dtype_bytes(p->te->tensor[a.tensor].dtype);
        insert(place, placed++, (ReadPlace){a.offset, a.tensor, width});
    }
    for (int i = 0; i < placed; i++) {
        int k = i - 1;
        while (k >= 0 && !are_parallel(&place[k], &place[i])) k--;
        if (k < 0) continue;
        m->shift[m->n_shift] = (double)(place[i].offset.c - place[k].offset.c);
        m->bytes[m->n_shift++] = place[i].bytes;
    }
}
