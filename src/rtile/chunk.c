/* Reads of an expression at neighbouring points: what one access can fetch for all of them.  */
#include "rtile/facts.h"

int rtile_subscript_width(const TeExpr *e, int index, int vec) {
    if (!(access_uses(e) >> index & 1)) return 1;
    if (e->kind == TE_INDEX) return vec;
    if (e->kind == TE_CAST) {
        bool exact = e->store == TE_I64 && te_dtype_class(e->args[0]->type) == TE_CLASS_INT;
        return exact ? rtile_subscript_width(e->args[0], index, vec) : 0;
    }
    if (e->n_args != 2 || e->type != TE_I64 || e->args[1]->kind != TE_INT) return 0;
    int64_t by = e->args[1]->v.i;
    int width = rtile_subscript_width(e->args[0], index, vec);
    if (width == 0) return 0;
    switch (e->kind) {
    case TE_ADD:
    case TE_SUB: return by % width == 0 ? width : 0;
    case TE_DIV:
        if (by > 0 && by % width == 0) return 1;
        return by > 0 && width % by == 0 ? (int)(width / by) : 0;
    case TE_MOD: return by > 0 && by % width == 0 ? width : 0;
    case TE_MUL: return width == 1;
    default: return 0;
    }
}

static bool is_one(const TeExtent *e) { return !e->expr && e->value == 1; }

/* Elements that one access fetches for `vec` points from a multiple of vec on; 0: it cannot.  Where
 * a condition keeps it inside, all of them are, or none.  */
static int run_width(const Te *te, const TeStmt *s, const TeExpr *read, int index, int vec) {
    Access x;
    const TeTensor *t = &te->tensor[read->v.ref];
    int width = 1, run = -1;
    access_read(te, s, read, &x);
    for (int d = 0; d < t->rank; d++) {
        int w = rtile_subscript_width(read->args[d], index, vec);
        if (w > 1 && x.guard[d] && te_extent_divisor(&t->shape[d]) % w) return 0;
        if (w == 0 || (w > 1 && (run >= 0 || !is_one(&t->stride[d])))) return 0;
        if (w == 1) continue;
        width = w;
        run = d;
    }
    for (int d = 0; d < t->rank; d++) {
        if (d != run && t->shape[d].value > 1 && te_extent_divisor(&t->stride[d]) % width) return 0;
    }
    return width;
}

static int read_width(const Te *te, const TeStmt *s, const TeExpr *read, int index, int vec) {
    return read->other ? 0 : run_width(te, s, read, index, vec);
}

int chunk_gathered(const Te *te, const TeStmt *s, const TeExpr *read, const FusedAxis *axis,
                   int align) {
    int index = rtile_chunk_index(s, axis);
    if (index < 0 || s->index[index].hi.expr) return 1;
    for (int vec = RTILE_ACCESS; vec > 1; vec /= 2) {
        if (s->index[index].hi.value % vec || vec > rtile_widest(&te->tensor[read->v.ref], align))
            continue;
        if (run_width(te, s, read, index, vec) == vec) return vec;
    }
    return 1;
}

int rtile_shared_along(const Te *te, const TeStmt *s, const TeExpr *read, const FusedAxis *axis,
                       int vec) {
    int index = rtile_chunk_index(s, axis);
    if (index < 0 || s->index[index].hi.expr || s->index[index].hi.value % vec) return 0;
    int width = read_width(te, s, read, index, vec);
    return width > 1 ? vec / width : 0;
}

int rtile_chunk_index(const TeStmt *s, const FusedAxis *axis) {
    for (int i = axis->n - 1; i >= 0; i--) {
        const TeExtent *hi = &s->index[axis->index[i]].hi;
        if (hi->expr || hi->value > 1) return axis->index[i];
    }
    return -1;
}

bool rtile_same_along(const TeStmt *s, const TeExpr *read, const FusedAxis *axis, int vec) {
    int index = rtile_chunk_index(s, axis);
    uint32_t indices = 0;
    for (int i = 0; i < axis->n; i++) indices |= 1u << axis->index[i];
    if (!(access_uses(read) & indices)) return true;
    if (index < 0 || te_extent_divisor(&s->index[index].hi) % vec) return false;
    for (int d = 0; d < read->n_args; d++)
        if (rtile_subscript_width(read->args[d], index, vec) != 1) return false;
    return true;
}

ChunkReads rtile_chunk_reads(const Te *te, const TeStmt *s, const TeExpr *e, const FusedAxis *axis,
                             int vec, int align) {
    const ChunkReads none = {0};
    ChunkReads out = none;
    ReadList all = access_reads(e);
    int index = rtile_chunk_index(s, axis);
    bool runs = false;
    if (all.n > RTILE_CHUNK_READS || index < 0 || te_extent_divisor(&s->index[index].hi) % vec)
        return none;
    for (int i = 0; i < all.n; i++) {
        int w = read_width(te, s, all.at[i], index, vec);
        bool again = false;
        if (w > rtile_widest(&te->tensor[all.at[i]->v.ref], align)) w = 0;
        for (int j = 0; j < out.n; j++) again |= access_same(out.read[j], all.at[i]);
        if (w == 0) return none;
        runs |= w > 1;
        if (again) continue;
        out.read[out.n] = all.at[i];
        out.width[out.n++] = w;
    }
    return runs ? out : none;
}

int chunk_vector(const Te *te, const TeStmt *s, const TeExpr *e, const FusedAxis *axis, int align) {
    for (int vec = RTILE_ACCESS; vec > 1; vec /= 2) {
        if (rtile_chunk_reads(te, s, e, axis, vec, align).n) return vec;
    }
    return 1;
}
