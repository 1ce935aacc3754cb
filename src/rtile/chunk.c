/* Reads of an expression at neighbouring points: what one access can fetch for all of them.  */
#include "rtile/facts.h"
#include "te/tree/tree.h"

static bool is_one(const TeExtent *e) { return !e->expr && e->value == 1; }

static const Spread nowhere = {0}, same = {1, 1};

static Spread quotient(Spread x, int64_t by) {
    int64_t all = x.n * x.step;
    if (all == 0 || by <= 0) return nowhere;
    if (by % all == 0) return same;
    if (x.step % by == 0) return (Spread){x.n, x.step / by};
    return by % x.step == 0 && all % by == 0 ? (Spread){(int)(all / by), 1} : nowhere;
}

static Spread remainder_of(Spread x, int64_t by) {
    int64_t all = x.n * x.step;
    if (all == 0 || by <= 0) return nowhere;
    return by % all == 0 ? x : x.step % by == 0 ? same : nowhere;
}

/* Values of the indices that move, bits of a mask.  */
typedef struct {
    uint32_t moving;
    Spread of[TE_MAX_INDICES];
} Spreads;

/* Those of a subscript.  */
static Spread spread_of(const TeExpr *e, const Spreads *index) {
    if (!(access_uses(e) & index->moving)) return same;
    if (e->kind == TE_INDEX) return index->of[e->v.ref];
    if (e->kind == TE_CAST) {
        bool exact = e->store == TE_I64 && te_dtype_class(e->args[0]->type) == TE_CLASS_INT;
        return exact ? spread_of(e->args[0], index) : nowhere;
    }
    if (e->n_args != 2 || e->type != TE_I64 || e->args[1]->kind != TE_INT) return nowhere;
    int64_t by = e->args[1]->v.i;
    Spread x = spread_of(e->args[0], index);
    if (x.n == 0) return nowhere;
    switch (e->kind) {
    case TE_ADD:
    case TE_SUB: return by % (x.n * x.step) == 0 ? x : nowhere;
    case TE_DIV: return quotient(x, by);
    case TE_MOD: return remainder_of(x, by);
    case TE_MUL: return x.n == 1 ? x : nowhere;
    default: return nowhere;
    }
}

int rtile_subscript_width(const TeExpr *e, int index, int vec) {
    Spreads x;
    x.moving = 1u << index;
    x.of[index] = (Spread){vec, 1};
    return spread_of(e, &x).n;
}

/* Those of an axis' indices at points `at` of it, which may lie beyond its end.  */
static Spreads spreads_along(const TeStmt *s, const FusedAxis *axis, Spread at) {
    Spreads x;
    int outer = 0;
    x.moving = 0;
    while (outer < axis->n - 1 && is_one(&s->index[axis->index[outer]].hi)) outer++;
    for (int i = axis->n - 1; i >= outer; i--) {
        int index = axis->index[i];
        const TeExtent *hi = &s->index[index].hi;
        int64_t extent = hi->expr ? 0 : hi->value;
        x.of[index] = i > outer ? remainder_of(at, extent) : at;
        x.moving |= 1u << index;
        at = quotient(at, extent);
    }
    return x;
}

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
    return read->other || !te_zero_outside(te, read) ? 0 : run_width(te, s, read, index, vec);
}

int chunk_gathered(const Te *te, const TeStmt *s, const TeExpr *read, const FusedAxis *axis,
                   int align) {
    int index = rtile_chunk_index(s, axis);
    if (index < 0) return 1;
    for (int vec = RTILE_ACCESS; vec > 1; vec /= 2) {
        if (te_extent_divisor(&s->index[index].hi) % vec) continue;
        if (vec > rtile_widest(&te->tensor[read->v.ref], align)) continue;
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

/* Does dimension d take the access from one multiple of `run` elements to another?  */
static bool moves_by(const TeTensor *t, int d, int run) {
    return t->shape[d].value <= 1 || te_extent_divisor(&t->stride[d]) % run == 0;
}

bool rtile_beside(const Te *te, const TeStmt *s, const TeExpr *read, const FusedAxis *axis,
                  Spread at, int width) {
    const TeTensor *t = &te->tensor[read->v.ref];
    Spreads index = spreads_along(s, axis, at);
    int run = -1;
    for (int d = 0; d < t->rank; d++) {
        Spread x = spread_of(read->args[d], &index);
        if (x.n == 1) continue;
        bool next = x.n == at.n && x.step == 1 && !t->stride[d].expr && t->stride[d].value == width;
        if (!next || run >= 0 || te_extent_divisor(&t->shape[d]) % x.n) return false;
        run = d;
    }
    for (int d = 0; d < t->rank; d++) {
        bool within = is_one(&t->stride[d]) && !t->shape[d].expr && t->shape[d].value == width;
        if (d != run && !within && !moves_by(t, d, at.n * width)) return false;
    }
    return run >= 0 && !read->other;
}

bool rtile_row_places(const Te *te, const TeStmt *s, const TeExpr *read, const FusedAxis *axis,
                      int n, int64_t *place) {
    const TeTensor *t = &te->tensor[read->v.ref];
    Spreads index = spreads_along(s, axis, (Spread){n, 1});
    for (int i = 0; i < n; i++) place[i] = 0;
    for (int d = 0; d < t->rank; d++) {
        Spread x = spread_of(read->args[d], &index);
        if (x.n == 0) return false;
        for (int i = 0; i < n; i++) place[i] += i * x.n / n * x.step * t->stride[d].value;
    }
    return true;
}

int chunk_vector(const Te *te, const TeStmt *s, const TeExpr *e, const FusedAxis *axis, int align) {
    for (int vec = RTILE_ACCESS; vec > 1; vec /= 2) {
        if (rtile_chunk_reads(te, s, e, axis, vec, align).n) return vec;
    }
    return 1;
}
