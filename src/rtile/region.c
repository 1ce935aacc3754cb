/* The region of a tensor that a block's tile reads, as it lies in shared memory.  */
#include "rtile/rtile.h"
#include "te/tree/arith.h"

enum { ELEMENTS_MAX = 1 << 18 };         /* more than shared memory holds, even of bytes */

/* The operand, seen from the digits of its axes.  */
typedef struct {
    const Access *x;
    const TeTensor *tensor;
    const TeStmt *stmt;
    const FusedAxis *own, *k, *batch;
    int rank;
} View;

static int64_t digit_extent(const FusedAxis *axis, int digit) { return axis->digit[digit].extent; }

/* What a step of a digit adds to subscript d.  */
static int64_t moves(const View *v, int d, const FusedAxis *axis, int digit) {
    const AxisDigit *g = &axis->digit[digit];
    return v->x->sub[d].coef[axis->index[g->first + g->n - 1]];
}

static bool is_static(const View *v) {
    const FusedAxis *axes[] = {v->own, v->k, v->batch};
    for (int i = 0; i < 3; i++) {
        if (access_varies(v->stmt, axes[i], 0, axes[i]->n)) return false;
        if (axes[i]->extent < 1 || axes[i]->extent > INT32_MAX / 2) return false;
    }
    for (int d = 0; d < v->rank; d++) {
        if (v->tensor->shape[d].expr || v->tensor->stride[d].expr) return false;
        if (v->tensor->stride[d].value > INT32_MAX) return false;
    }
    return !v->x->varies && !v->x->c_varies;
}

static int64_t index_extent(const View *v, const FusedAxis *axis, int i) {
    return te_index_extent(&v->stmt->index[axis->index[i]]);
}

/* Does each digit of an axis move every subscript as one index would?  Not where dimensions that
 * lie behind each other are read as one.  */
static bool separate(const View *v, const FusedAxis *axis) {
    for (int i = 0; i < axis->n_digit; i++) {
        const AxisDigit *g = &axis->digit[i];
        int64_t behind = 1;
        for (int k = g->first + g->n - 1; k >= g->first; k--) {
            int64_t extent = index_extent(v, axis, k);
            for (int d = 0; extent > 1 && d < v->rank; d++) {
                int64_t step = v->x->sub[d].coef[axis->index[k]];
                if (step != moves(v, d, axis, i) * behind) return false;
            }
            behind *= extent;
        }
    }
    return true;
}

/* The only dimension that a digit of the operand's own axis moves; -1: there is none.  */
static int moved_by(const View *v, int digit) {
    int found = -1;
    for (int d = 0; d < v->rank; d++) {
        if (!moves(v, d, v->own, digit)) continue;
        if (found >= 0) return -1;
        found = d;
    }
    return found;
}

/* How far apart the first and the last value are that K takes of subscript d.  */
static int64_t reach_of_k(const View *v, int d) {
    int64_t n = 0;
    for (int i = 0; i < v->k->n; i++)
        n += v->x->sub[d].coef[v->k->index[i]] * (index_extent(v, v->k, i) - 1);
    return n;
}

/* Rows of images may follow each other in shared memory where the digit of the rows moves nothing
 * else, and that before it, the outermost, the images alone.  Between two images lie as many rows
 * as those of K reach beyond a step.  */
static bool next_image(const View *v, RRegion *r) {
    enum { DIGITS = 3 };      /* image, row, place in it */
    if (v->own->n_digit != DIGITS) return false;
    r->image = moved_by(v, 0);
    r->rows = moved_by(v, 1);
    if (r->image < 0 || r->rows <= r->image || r->rows == v->rank - 1) return false;
    int64_t by = moves(v, r->rows, v->own, 1), reach = reach_of_k(v, r->rows);
    if (moves(v, r->image, v->own, 0) != 1 || reach_of_k(v, r->image) || by < 1) return false;
    if (moves(v, r->rows, v->own, 2) || moves(v, r->image, v->own, 2)) return false;
    if (v->x->guard[r->image]) return false;
    int64_t period = r->out * by + (reach + 1 > by ? reach + 1 - by : 0);
    if (period > INT16_MAX) return false;
    r->by = (int32_t)by;
    r->period = (int32_t)period;
    return true;
}

/* Images that a tile begins, at most, beside its first.  */
static int64_t images_begun(const RRegion *r) {
    return r->period > 0 ? (r->count_out + r->out - 2) / r->out : 0;
}

/* Values of the rows' subscript between two images.  */
static int32_t between_images(const RRegion *r) { return r->period - r->out * r->by; }

/* Which values the digits of the operand's own axis take in a tile: a part of the innermost one; or
 * all of that and some of the next, or where that is over, of the next image, or several times all
 * of both.  The others have one value each.  */
static bool tile_digits(const View *v, RRegionTile of, RRegion *r) {
    int32_t tile = of.tile;
    const FusedAxis *own = v->own;
    int n = own->n_digit;
    int64_t in = n > 0 ? digit_extent(own, n - 1) : 1;
    r->count_in = tile;
    r->count_out = 1;
    if (n <= 1 || (tile <= in && in % tile == 0)) return true;
    int64_t out = digit_extent(own, n - 2), rest = own->extent / (in * out);
    r->out = (int32_t)out;
    if (rest > 1 && in * out % tile && !next_image(v, r)) {
        if (!of.boxes || tile % (in * out)) return false;
        r->parts = (int32_t)(tile / (in * out));
        tile /= r->parts;
    }
    r->count_in = (int32_t)in;
    r->count_out = (int32_t)((in - gcd64(tile, in) + tile - 1) / in + 1);
    r->whole = true;
    return true;
}

/* How many values subscript d takes; 0: it does not grow with every index.  */
static int64_t subscript_extent(const View *v, const RRegion *r, int d) {
    const int32_t count[] = {r->count_in, r->count_out};
    int64_t n = 1;
    for (int i = 0; i < 2 && i < v->own->n_digit; i++) {
        int64_t step = moves(v, d, v->own, v->own->n_digit - 1 - i);
        if (step < 0 || step > INT16_MAX) return 0;
        n += step * (count[i] - 1);
    }
    for (int i = 0; i < v->k->n; i++) {
        int64_t step = v->x->sub[d].coef[v->k->index[i]];
        if (step < 0 || step > INT16_MAX) return 0;
        n += step * (index_extent(v, v->k, i) - 1);
    }
    if (r->period > 0 && d == r->rows) n += images_begun(r) * between_images(r);
    return n <= INT16_MAX ? n : 0;
}

/* Does every tile read all of dimension d, from its first element on?  */
static bool reads_all(const View *v, const RRegion *r, int d) {
    if (v->x->sub[d].c || r->extent[d] != v->tensor->shape[d].value) return false;
    for (int i = 0; i < v->own->n_digit; i++) {
        if (moves(v, d, v->own, i)) return false;
    }
    for (int i = 0; i < v->batch->n_digit; i++) {
        if (moves(v, d, v->batch, i)) return false;
    }
    return true;
}

/* Is what differs between the places of blocks, along dimension d, a multiple of n elements?  */
static bool places_apart(const View *v, const RRegion *r, int d, int64_t each, int32_t tile,
                         int64_t n) {
    int last = v->own->n_digit - 1;
    for (int i = 0; i < v->own->n_digit; i++) {
        int64_t step = moves(v, d, v->own, i) * each;
        if (i == last) step = r->whole ? 0 : step * tile;
        if (step % n) return false;
    }
    for (int i = 0; i < v->batch->n_digit; i++) {
        if (moves(v, d, v->batch, i) * each % n) return false;
    }
    return true;
}

/* Can lines be read `vec` elements at once: they begin and end at multiples of it?  */
static bool aligned(const View *v, const RRegion *r, int32_t tile, int vec) {
    for (int d = 0; d < v->rank; d++) {
        int64_t shape = v->tensor->shape[d].value, stride = v->tensor->stride[d].value;
        if (d < r->line && shape > 1 && stride % vec) return false;
    }
    return r->bound % vec == 0 && places_apart(v, r, r->line, r->stride, tile, vec);
}

/* Are neighbours of the innermost index of K, in whole chunks of 16 bytes, all that is read of
 * dimension d?  */
static bool by_chunks(const View *v, int d, int n) {
    int last = v->k->n - 1;
    const int64_t *by = v->x->sub[d].coef;
    if (last < 0 || by[v->k->index[last]] != 1 || index_extent(v, v->k, last) % n) return false;
    for (int i = 0; i < last; i++) {
        if (by[v->k->index[i]]) return false;
    }
    for (int i = 0; i < v->own->n_digit; i++) {
        if (moves(v, d, v->own, i)) return false;
    }
    return v->x->sub[d].c % n == 0;
}

/* Elements along the last dimension that accesses of whole words have at once, of which a chunk is
 * made for each; 0: none, or it begins within one.  */
static int turned_by(const View *v, int bytes, int align) {
    enum { WORD = 4 };        /* bytes of a register, as turning moves them */
    int last = v->rank - 1, n = rtile_widest(v->tensor, align);
    int64_t all = v->tensor->shape[last].value;
    for (int d = 0; d < last; d++)
        if (v->tensor->shape[d].value > 1) all = gcd64(all, v->tensor->stride[d].value);
    while (n > 1 && all % n) n /= 2;
    return n * bytes < WORD ? 0 : n;
}

/* Lines of chunks run along the dimension of the innermost index of K.  */
static void find_chunks(const View *v, RRegionTile of, int bytes, int align, RRegion *r) {
    int chunk = RTILE_ACCESS / bytes, last = v->rank - 1;
    r->line = last;
    if (last >= 0 && by_chunks(v, last, chunk)) r->chunk = chunk;
    if (r->chunk || of.vec != chunk || !of.registers) return;
    for (int d = 0; d < last && !r->chunk; d++) {
        if (!by_chunks(v, d, chunk)) continue;
        r->turned = turned_by(v, bytes, align);
        if (r->turned == 0) return;
        r->chunk = chunk;
        r->line = d;
    }
}

/* Are whole accesses of 16 bytes all of the tensor, so that one may read what lies around its
 * elements?  */
static bool has_whole_accesses(const View *v, int bytes, int align) {
    int64_t n = 1;
    for (int d = 0; d < v->rank; d++)
        n += (v->tensor->shape[d].value - 1) * v->tensor->stride[d].value;
    return n * bytes % RTILE_ACCESS == 0 && rtile_widest(v->tensor, align) * bytes == RTILE_ACCESS;
}

/* Lines run along the last dimension, and on along the one before where all of it is read.  But
 * those of chunks are one pixel each, so that padding can keep rows of matrices in banks apart.  */
static bool lay_lines(const View *v, RRegion *r) {
    r->stride = 1;
    if (v->rank == 0 || v->tensor->stride[v->rank - 1].value != 1) return false;
    while (r->line > 0 && !r->chunk && reads_all(v, r, r->line)) {
        int64_t n = r->stride * v->tensor->shape[r->line].value;
        if (v->tensor->stride[r->line - 1].value != n) break;
        r->stride = n;
        r->line--;
    }
    r->bound = r->stride * v->tensor->shape[r->line].value;
    return r->bound <= INT32_MAX / 2;
}

/* Elements of shared memory from one value of subscript d to the next.  */
static int64_t pitch(const View *v, const RRegion *r, int d) {
    if (rtile_in_line(r, d)) return r->turned ? 1 : v->tensor->stride[d].value;
    int64_t n = r->pitch;
    for (int i = d + 1; i < v->rank; i++)
        if (!rtile_in_line(r, i)) n *= r->extent[i];
    return n;
}

static int64_t steps_of(const View *v, const RRegion *r, const FusedAxis *axis, int digit) {
    int64_t n = 0;
    if (digit < 0) return 0;
    for (int d = 0; d < v->rank; d++) n += moves(v, d, axis, digit) * pitch(v, r, d);
    return n;
}

static void add_digit(RRegion *r, int64_t extent, int64_t step) {
    if (extent == 1) return;
    bool one = r->n_k > 0 && r->step_k[r->n_k - 1] == step * extent;
    int at = one ? r->n_k - 1 : r->n_k++;
    r->extent_k[at] = (int32_t)(one ? r->extent_k[at] * extent : extent);
    r->step_k[at] = (int32_t)step;
}

/* The digits of K: an index that goes on where the one behind it ends is one with it.  Channels are
 * those of a plane, and the planes.  */
static void digits_of_k(const View *v, RRegion *r) {
    r->n_k = 0;
    for (int i = 0; i < v->k->n; i++) {
        int64_t extent = index_extent(v, v->k, i), step = 0;
        for (int d = 0; d < v->rank; d++)
            step += v->x->sub[d].coef[v->k->index[i]] * pitch(v, r, d);
        bool parted = r->planes > 1 && i == v->k->n - 1;
        if (parted) add_digit(r, r->planes, (int64_t)r->lines * r->pitch);
        add_digit(r, parted ? extent / r->planes : extent, step);
    }
}

/* Elements from line to line: an odd number of chunks, of which eight neighbours meet no bank
 * twice.  */
static int64_t pitch_of(const RRegion *r, int64_t row) {
    if (!r->chunk) return row;
    int64_t chunks = (row + r->chunk - 1) / r->chunk;
    return (chunks + (chunks % 2 == 0)) * r->chunk;
}

enum { NARROWEST = 32, WIDEST = 128 };   /* bytes of a swizzle's rows */

int rtile_region_span(int64_t channels) {
    int span = NARROWEST;
    while (span < WIDEST && span < channels) span *= 2;
    while (channels > span && channels % span) span /= 2;
    return span < NARROWEST ? 0 : span;
}

static bool lay_planes(const View *v, int bytes, RRegion *r) {
    int64_t channels = (int64_t)r->extent[r->line] * bytes;
    if (!r->chunk || !r->whole || !(r->anywhere || r->turned || reads_all(v, r, r->line)))
        return false;
    r->span = rtile_region_span(channels);
    r->planes = channels > r->span ? (int)(channels / r->span) : 1;
    return r->span > 0;
}

/* Rows, and what the digits add to an element's place.  */
static bool lay_out(const View *v, int vec, int bytes, RRegion *r) {
    enum { PATTERN = 8 };     /* lines after which a swizzle repeats */
    int64_t first = v->x->sub[r->line].c * r->stride % vec, lines = 1;
    r->vec = vec;
    r->shift = (int32_t)(first < 0 ? first + vec : first);
    int64_t row = (r->shift + r->extent[r->line] * r->stride + vec - 1) / vec * vec;
    for (int d = 0; d < v->rank; d++) {
        if (!rtile_in_line(r, d)) lines *= r->extent[d];
        if (lines > ELEMENTS_MAX) return false;
    }
    r->read = (int32_t)lines;
    if (r->parts > 1 && !r->span) return false;
    int64_t apart = r->span ? r->span / bytes : pitch_of(r, row);
    if (r->span) lines = (lines + PATTERN - 1) / PATTERN * PATTERN * r->parts;
    if (apart * lines * r->planes > ELEMENTS_MAX) return false;
    r->row = (int32_t)row;
    r->pitch = (int32_t)apart;
    r->lines = (int32_t)lines;
    int last = v->own->n_digit - 1;
    r->step_in = (int32_t)steps_of(v, r, v->own, last);
    r->step_out = (int32_t)steps_of(v, r, v->own, last - 1);
    digits_of_k(v, r);
    r->step_image = r->period > 0 ? (int32_t)(between_images(r) * pitch(v, r, r->rows)) : 0;
    if (r->parts > 1) r->step_image = r->lines / r->parts * r->pitch - r->out * r->step_out;
    r->last = (r->count_in - 1) * r->step_in + (r->count_out - 1) * r->step_out +
              (int32_t)images_begun(r) * r->step_image;
    if (r->period > 0) r->tested |= 1u << r->image;
    for (int d = 0; d < v->rank; d++) {
        bool one = !rtile_in_line(r, d) && r->extent[d] == 1 && !v->x->guard[d];
        if (!rtile_behind_line(r, d) && !one && !reads_all(v, r, d)) r->tested |= 1u << d;
    }
    r->along = r->line;
    return true;
}

/* Accesses to the last dimension begin at multiples of their width.  */
static void lay_across(const View *v, int32_t tile, RRegion *r) {
    int n = r->turned, first = n - 1;
    r->along = v->rank - 1;
    if (places_apart(v, r, r->along, 1, tile, n))
        first = (int)((v->x->sub[r->along].c % n + n) % n);
    r->across = (first + r->extent[r->along] + n - 1) / n;
    r->tested |= 1u << r->along;
}

/* What a region's elements are apart in the tensor is an int.  */
static bool reach_fits(const View *v, const RRegion *r) {
    int64_t reach = r->row;
    for (int d = 0; d < v->rank; d++) reach += (r->extent[d] - 1) * v->tensor->stride[d].value;
    if (r->period > 0) reach += images_begun(r) * v->tensor->stride[r->image].value;
    return reach <= INT32_MAX;
}

/* Where a line of a tile begins is an int, in elements along the line.  */
static bool places_fit(const View *v, const RRegion *r, int32_t tile) {
    int64_t beyond[TE_MAX_INDICES];
    for (int i = 0; i < TE_MAX_INDICES; i++) beyond[i] = tile;
    for (int d = 0; d < v->rank && !rtile_behind_line(r, d); d++) {
        Affine f = v->x->sub[d];
        int64_t scale = d == r->line ? r->stride : 1;
        for (int i = 0; i < TE_MAX_INDICES && scale > 1; i++)
            if (!mul_fits(f.coef[i], scale, &f.coef[i])) return false;
        if (!mul_fits(f.c, scale, &f.c)) return false;
        if ((r->tested >> d & 1) && access_wide(v->stmt, &f, beyond)) return false;
    }
    return true;
}

/* Neighbours along k that one access to shared memory can read from every multiple of them on.  */
static void pair_up(RRegion *r, int bytes) {
    int most = bytes < 4 ? 4 / bytes : 1;
    int64_t run = 1;
    int i = r->n_k - 1;
    for (; i >= 0 && r->step_k[i] == run; i--) run *= r->extent_k[i];
    for (r->pair = most; r->pair > 1; r->pair /= 2) {
        int64_t all = run | r->shift | r->pitch | r->step_in | r->step_out;
        for (int j = 0; j <= i; j++) all |= r->step_k[j];
        if (all % r->pair == 0) break;
    }
}

bool rtile_region(const Problem *p, int side, RRegionTile of, RRegion *out) {
    const Operand *o = &p->con.operand[side];
    const ROperand *op = &p->op[side];
    int32_t tile = of.tile;
    int vec = of.vec;
    *out = (RRegion){.planes = 1, .parts = 1};
    if (!p->te || !o->read || !op->affine || tile < 1) return false;
    View v = {.x = &o->access, .tensor = &p->te->tensor[o->access.tensor],
              .stmt = &p->te->stmt[p->con.stmt],
              .own = &p->con.axis[side ? AX_N : AX_M], .k = &p->con.axis[AX_K],
              .batch = &p->con.axis[AX_B]};
    v.rank = v.tensor->rank;
    if (!is_static(&v) || !separate(&v, v.own) || !separate(&v, v.batch)) return false;
    if (!tile_digits(&v, of, out)) return false;
    for (int d = 0; d < v.rank; d++) {
        int64_t n = subscript_extent(&v, out, d);
        if (n == 0) return false;
        out->extent[d] = (int32_t)n;
    }
    find_chunks(&v, of, op->bytes, p->align, out);
    if (!lay_lines(&v, out) || (out->period > 0 && rtile_in_line(out, out->rows))) return false;
    int widest = rtile_widest(v.tensor, p->align);
    while (widest > 1 && !aligned(&v, out, tile, widest)) widest /= 2;
    if (vec == 0) vec = widest;
    out->anywhere = vec > widest && vec == out->chunk && !out->turned &&
                    has_whole_accesses(&v, op->bytes, p->align);
    if (widest % vec && !out->anywhere && !out->turned) return false;
    if (of.boxes && !lay_planes(&v, op->bytes, out)) return false;
    if (!lay_out(&v, vec, op->bytes, out) || !places_fit(&v, out, tile)) return false;
    if (!reach_fits(&v, out)) return false;
    if (out->turned) lay_across(&v, tile, out);
    pair_up(out, op->bytes);
    return true;
}

int32_t rtile_region_row(const RRegion *r, int32_t row) {
    if (!r->whole) return row * r->step_in;
    int32_t line = row / r->count_in, image = r->step_image ? line / r->out * r->step_image : 0;
    return row % r->count_in * r->step_in + line * r->step_out + image;
}

int32_t rtile_region_k(const RRegion *r, int64_t k) {
    int64_t at = r->shift;
    for (int i = r->n_k - 1; i >= 0; i--) {
        at += k % r->extent_k[i] * r->step_k[i];
        k /= r->extent_k[i];
    }
    return (int32_t)at;
}
