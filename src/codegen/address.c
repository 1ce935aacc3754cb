#include "codegen/address.h"
#include <string.h>

/* Where the chunks of an operand come from in global memory.  */

/* The axis as operand s sees it.  */
const FusedAxis *address_axis(const Kernel *k, const Side *s, AxisClass axis) {
    return axis == AX_K ? &s->k_axis : axis == AX_B ? &k->c.p->con.axis[AX_B] : &s->own_axis;
}

static const char *times(const Cg *cg, const char *x, const char *stride) {
    return strcmp(stride, "1") == 0 ? x : cg_text(cg, "%s * %s", x, stride);
}

/* Subscript d of an access, or its offset.  */
static const Affine *value_of(const Access *x, int d) {
    return d == OFFSET ? &x->offset : &x->sub[d];
}

const char *address_stride(const Kernel *k, const Access *x, int d, const FusedAxis *axis,
                           int digit) {
    const AxisDigit *g = &axis->digit[digit];
    int index = axis->index[g->first + g->n - 1];
    int64_t stride = rprog_stride(value_of(x, d), axis, digit);
    if (stride == 0) return NULL;
    return d == OFFSET ? text_stride(k->cg, x, index) : text_int(k->cg, TE_I64, stride);
}

const char *address_plus(const Cg *cg, const char *sum, const char *x) {
    return sum ? cg_text(cg, "%s + %s", sum, x) : x;
}

const char *address_plus_number(const Cg *cg, const char *sum, int64_t x) {
    if (x == 0 && sum) return sum;
    if (x < 0 && sum) return cg_text(cg, "%s - %s", sum, text_int(cg, TE_I64, -x));
    return address_plus(cg, sum, text_int(cg, TE_I64, x));
}

/* Digits of a position as texts; prints definitions where there are several.  */
void address_digits(Kernel *k, const FusedAxis *axis, const char *prefix, const char *at, bool wide,
                    const char **digit) {
    Cg *cg = k->cg;
    TeExtent count[TE_MAX_INDICES] = {{0}};
    if (axis->n_digit == 1) {
        digit[0] = at;
        return;
    }
    for (int i = 0; i < axis->n_digit; i++)
        count[i] = size_product(cg->arena, k->c.root, axis->index + axis->digit[i].first,
                                axis->digit[i].n);
    text_digits(cg, at, count, axis->n_digit, wide, digit);
    for (int i = axis->n_digit - 1; i >= 0; i--) {
        const char *name = cg_text(cg, "%s%d", prefix, i);
        cg_line(cg, "const %s %s = %s;", place_type(axis->digit[i].extent > INT32_MAX), name,
                digit[i]);
        digit[i] = name;
    }
}

/* Sum of digits times strides of an affine value, joined to `sum` (may be NULL).  */
const char *address_combine(const Kernel *k, const Access *x, int d, AxisPlace at,
                            const char *sum) {
    for (int i = 0; i < at.axis->n_digit; i++) {
        const char *stride = address_stride(k, x, d, at.axis, i), *digit = at.digit[i];
        if (!stride || strcmp(digit, "0") == 0) continue;
        if (at.wide) digit = cg_text(k->cg, "(long long)%s", digit);
        sum = address_plus(k->cg, sum, times(k->cg, digit, stride));
    }
    return sum;
}

bool address_axis_wide(const Kernel *k, AxisClass axis) {
    return place_wide(k->c.p->extent[axis], 2 * (int64_t)k->c.r->block.extent[axis]);
}

/* Is the position of a point along the operand's own axis a long long?  */
static bool own_wide(const Side *s) { return place_wide(s->whole, s->extent); }

void address_point(const Kernel *k, const Side *s, const char *own, const char *kk) {
    cg_line(k->cg, "const %s at_own = %s;", place_type(own_wide(s)), own);
    cg_line(k->cg, "const %s at_k = %s;", place_type(address_axis_wide(k, AX_K)), kk);
}

CgPoint address_indices(Kernel *k, const Side *s) {
    CgPoint at = {.cg = k->cg, .stmt = k->c.root};
    place_axis(k, AX_B, text_index(k->cg, "b", false), false, at.index, at.wide);
    place_axis(k, (int)s->own, text_index(k->cg, "at_own", own_wide(s)), own_wide(s), at.index,
               at.wide);
    bool wide = address_axis_wide(k, AX_K);
    place_axis(k, AX_K, text_index(k->cg, "at_k", wide), wide, at.index, at.wide);
    return at;
}

int address_rank(const Kernel *k, const Side *s) {
    return k->c.te->tensor[s->o->access.tensor].rank;
}

bool address_wide(const Kernel *k, const Side *s, int d) {
    return d == OFFSET ? s->wide : rprog_wide(k->c.p, k->c.r, &s->o->access, d);
}

/* What position kk within the tile adds, when the rest of k is added once a step.  */
static const char *local_k(const Kernel *k, const Side *s, int d, const char *kk, bool wide,
                           const char *sum) {
    const FusedAxis *axis = address_axis(k, s, AX_K);
    if (s->k_mode == K_DECODED || axis->n_digit == 0) return sum;
    const char *stride = address_stride(k, &s->o->access, d, axis, axis->n_digit - 1);
    if (!stride) return sum;
    return address_plus(k->cg, sum,
                        times(k->cg, wide ? cg_text(k->cg, "(long long)%s", kk) : kk, stride));
}

void address_batch(Kernel *k, const Side *s, const char *rest) {
    Cg *cg = k->cg;
    const Access *x = &s->o->access;
    const char *digit[TE_MAX_INDICES], *sum = NULL;
    const FusedAxis *axis = address_axis(k, s, AX_B);
    if (axis->extent > 1) {
        address_digits(k, axis, cg_text(cg, "%c_b", s->id), "b", false, digit);
        sum = address_combine(k, x, OFFSET, (AxisPlace){axis, digit, true}, NULL);
    }
    sum = rest ? address_plus(cg, sum, rest) : sum;
    cg_line(cg, "const %s *%c_src = %s%s%s;", cg_storage(s->o->storage), s->id,
            text_tensor(cg, x->tensor), sum ? " + " : "", sum ? sum : "");
}

/* One pointer per operand, chunks at constant distances.  */
static void pointer_source(Kernel *k, const Side *s) {
    Cg *cg = k->cg;
    const Access *x = &s->o->access;
    const char *mn = cg_text(cg, "(%c0 + %c_mn)", s->side ? 'n' : 'm', s->id);
    const char *kk = cg_text(cg, "(k_next + %c_k)", s->id);
    const char *sum =
        address_combine(k, x, OFFSET, (AxisPlace){address_axis(k, s, s->own), &mn, true}, NULL);
    sum = address_combine(k, x, OFFSET, (AxisPlace){address_axis(k, s, AX_K), &kk, true}, sum);
    sum = text_offset_of(cg, x, 0, sum);
    address_batch(k, s, sum);
}

/* For how many chunks offsets are kept: those of a period, or all where rows advance through
 * several digits.  */
static int gather_count(const Kernel *k, const Side *s) {
    bool moves = s->step_mn != 0 && s->per_thread > s->period;
    return moves && address_axis(k, s, s->own)->n_digit > 1 ? s->per_thread : s->period;
}

/* What `steps` steps of a digit add to an affine value, as text; NULL: nothing.  */
static const char *steps_of(const Kernel *k, const Side *s, int d, const FusedAxis *axis, int digit,
                            int steps) {
    const Access *x = &s->o->access;
    const AxisDigit *g = &axis->digit[digit];
    int64_t stride = rprog_stride(value_of(x, d), axis, digit);
    if (stride == 0 || steps == 0) return NULL;
    if (d == OFFSET && (x->varies >> axis->index[g->first + g->n - 1] & 1))
        return cg_text(k->cg, "(%s * %d)", address_stride(k, x, d, axis, digit), steps);
    bool wide = stride * s->per_thread > INT32_MAX / steps;
    bool wider = stride * s->per_thread < -INT32_MAX / steps;
    const char *text = text_int(k->cg, TE_I64, stride * steps);
    return wide || wider ? cg_text(k->cg, "(long long)%s", text) : text;
}

/* What an affine value grows by from period to period; NULL: it does not.  A step goes along one
 * axis.  */
static const char *gather_step(const Kernel *k, const Side *s, int d) {
    const FusedAxis *own = address_axis(k, s, s->own), *kx = address_axis(k, s, AX_K);
    const char *step = own->n_digit == 1 ? steps_of(k, s, d, own, 0, s->step_mn) : NULL;
    if (step || s->k_mode == K_DECODED || kx->n_digit == 0) return step;
    return steps_of(k, s, d, kx, kx->n_digit - 1, s->step_k);
}

static const char *gathered(const Kernel *k, const Side *s, const char *name, int d) {
    if (gather_count(k, s) > s->period) return cg_text(k->cg, "%c_%s[i]", s->id, name);
    return chunk_periodic(k, s, name, gather_step(k, s, d));
}

/* Where a chunk is: digits of its row and of the batch (NULL: it adds nothing), and its k.  */
typedef struct {
    const char *const *own, *const *batch, *kk;
} ChunkPlace;

/* Chunk i's part of an affine value: all but what changes from step to step.  */
static const char *chunk_value(const Kernel *k, const Side *s, int d, const ChunkPlace *at,
                               bool wide) {
    const Access *x = &s->o->access;
    const char *sum =
        address_combine(k, x, d, (AxisPlace){address_axis(k, s, s->own), at->own, wide}, NULL);
    sum = local_k(k, s, d, at->kk, wide, sum);
    if (at->batch)
        sum = address_combine(k, x, d, (AxisPlace){address_axis(k, s, AX_B), at->batch, wide}, sum);
    if (d == OFFSET && x->c_varies) return text_offset_of(k->cg, x, 0, sum);
    return address_plus_number(k->cg, sum, value_of(x, d)->c);
}

const char *const *address_batch_digits(const Kernel *k, const Side *s) {
    const FusedAxis *axis = address_axis(k, s, AX_B);
    if (axis->extent <= 1) return NULL;
    const char **digit = ARENA_ARRAY(k->cg->arena, const char *, axis->n_digit);
    for (int i = 0; i < axis->n_digit; i++)
        digit[i] = axis->n_digit == 1 ? "b" : cg_text(k->cg, "%c_b%d", s->id, i);
    return digit;
}

/* One value of each chunk: a constant, or an entry of an array.  */
static void set_value(Kernel *k, const Side *s, const char *name, bool wide, const char *value) {
    if (gather_count(k, s) == 1)
        cg_line(k->cg, "const %s %c_%s = %s;", place_type(wide), s->id, name, value);
    else cg_line(k->cg, "%c_%s[i] = %s;", s->id, name, value);
}

/* Offsets and guarded subscripts of the chunks, without what changes from step to step.  */
static void gather_source(Kernel *k, const Side *s) {
    Cg *cg = k->cg;
    const Access *x = &s->o->access;
    const char *digit[TE_MAX_INDICES];
    int n = gather_count(k, s);
    address_batch(k, s, NULL);
    if (n > 1) cg_line(cg, "%s %c_off[%d];", place_type(s->wide), s->id, n);
    for (int d = 0; d < address_rank(k, s) && n > 1; d++) {
        if (x->guard[d])
            cg_line(cg, "%s %c_at%d[%d];", place_type(address_wide(k, s, d)), s->id, d, n);
    }
    chunk_open_period(k, n);
    const char *each = n == 1 ? "" : "[i]", *mn = cg_text(cg, "%c_mn%s", s->id, each);
    const char *kk = cg_text(cg, "%c_k%s", s->id, each);
    if (n > s->period) mn = address_mn(k, s), kk = address_k(k, s);
    const char *at = cg_text(cg, "(%c0 + %s)", s->side ? 'n' : 'm', mn);
    address_digits(k, address_axis(k, s, s->own), cg_text(cg, "%c_mn", s->id), at,
                   address_axis_wide(k, s->own), digit);
    set_value(k, s, "off", s->wide,
              chunk_value(k, s, OFFSET, &(ChunkPlace){digit, NULL, kk}, s->wide));
    for (int d = 0; d < address_rank(k, s); d++) {
        if (!x->guard[d]) continue;
        bool wide = address_wide(k, s, d);
        set_value(k, s, cg_text(cg, "at%d", d), wide,
                  chunk_value(k, s, d, &(ChunkPlace){digit, address_batch_digits(k, s), kk}, wide));
    }
    chunk_close_period(k, n);
}

/* Copies whose test of the own axis' end is another for each chunk, known before the loop.  */
static int end_tests(const Kernel *k, int side) {
    const Side *s = &k->c.side[side];
    if (!s->present || !s->copies || s->table || !rprog_copies_chunks(s->l)) return 0;
    bool differ = s->period > 1 || s->step_mn != 0;
    return k->c.own_ragged[side] && differ ? s->per_thread : 0;
}

/* Are they kept as bits, one for each chunk?  A few are kept in predicates; of more the compiler
 * would keep the position of each chunk and make them again in every step.  */
static bool ends_kept(const Kernel *k, const Side *s) {
    enum { PREDICATES = 6, BITS = 31 };
    int own = end_tests(k, s->side);
    return own > 1 && own <= BITS && own + end_tests(k, !s->side) > PREDICATES;
}

static const char *inside_ends(Kernel *k, const Side *s) {
    return cg_text(k->cg, "%c0 + %s < %c", s->side ? 'n' : 'm', address_mn(k, s),
                   s->side ? 'N' : 'M');
}

/* The bits, hidden, since the compiler would take them apart again.  */
static void keep_ends(Kernel *k, const Side *s) {
    Cg *cg = k->cg;
    cg_line(cg, "int %c_in = 0;  // chunks that begin inside", s->id);
    cg_line(cg, "#pragma unroll");
    cg_open(cg, "for (int i = 0; i < %d; i++)", s->per_thread);
    cg_line(cg, "if (%s) %c_in |= 1 << i;", inside_ends(k, s), s->id);
    cg_close(cg);
    cg_line(cg, "%c_in = rl_hidden(%c_in);", s->id, s->id);
}

int address_group(const Kernel *k, const Side *s) {
    bool gathers = s->copies && !s->table && !s->pointer;
    return chunk_group(s, gathers ? gather_count(k, s) : s->period);
}

void address_thread(Kernel *k, const Side *s) {
    Cg *cg = k->cg;
    cg_line(cg, "// address: operand %c, %d x %d elements per thread along %s", s->id,
            s->per_thread, s->l->vec,
            s->l->along == AX_K ? "k"
            : s->side           ? "n"
                                : "m");
    if (!s->direct) chunk_places(k, s);
    if (s->copies) {
        if (s->table) table_rows(k, s);
        else if (s->pointer) pointer_source(k, s);
        else gather_source(k, s);
    }
    if (ends_kept(k, s)) keep_ends(k, s);
    cg_blank(cg);
}

/* The parts of k from its digits: offset and guarded subscripts, named PREFIX_koff, PREFIX_kat.  */
static void k_values(Kernel *k, const Side *s, const char *at) {
    Cg *cg = k->cg;
    const Access *x = &s->o->access;
    const FusedAxis *axis = address_axis(k, s, AX_K);
    const char *digit[TE_MAX_INDICES];
    address_digits(k, axis, cg_text(cg, "%c_k", s->id), at, address_axis_wide(k, AX_K), digit);
    const char *sum = address_combine(k, x, OFFSET, (AxisPlace){axis, digit, s->wide}, NULL);
    cg_line(cg, "const %s %c_koff = %s;", place_type(s->wide), s->id, sum ? sum : "0");
    for (int d = 0; d < address_rank(k, s); d++) {
        if (!x->guard[d]) continue;
        bool wide = address_wide(k, s, d);
        sum = address_combine(k, x, d, (AxisPlace){axis, digit, wide}, NULL);
        cg_line(cg, "const %s %c_kat%d = %s;", place_type(wide), s->id, d, sum ? sum : "0");
    }
}

/* Do all chunks of a thread lie at the same k?  */
static bool one_k(const Side *s) { return s->period == 1 && s->step_k == 0; }

void address_step(Kernel *k, const Side *s) {
    if (!s->copies || s->pointer) return;
    if (s->table) table_step(k, s);
    else if (s->k_mode != K_DECODED) k_values(k, s, "k_next");
    else if (one_k(s)) k_values(k, s, cg_text(k->cg, "(k_next + %c_k)", s->id));
}

const char *address_source(Kernel *k, const Side *s) {
    Cg *cg = k->cg;
    if (s->table) return table_source(k, s);
    if (s->pointer) return chunk_periodic(k, s, "src", gather_step(k, s, OFFSET));
    if (s->k_mode == K_DECODED && !one_k(s))
        k_values(k, s, cg_text(cg, "(k_next + %s)", address_k(k, s)));
    return cg_text(cg, "%c_src + (%s + %c_koff)", s->id, gathered(k, s, "off", OFFSET), s->id);
}

const char *address_test(Kernel *k, const Side *s) {
    Cg *cg = k->cg;
    const char *test = NULL;
    if (s->table) return table_test(k, s);
    if (ends_kept(k, s)) test = cg_text(cg, "(%c_in >> i & 1) != 0", s->id);
    else if (k->c.own_ragged[s->side]) test = inside_ends(k, s);
    if (k->c.k_ragged) test = both(cg, test, cg_text(cg, "k_next + %s < K", address_k(k, s)));
    for (int d = 0; s->copies && d < address_rank(k, s); d++) {
        if (!s->o->access.guard[d]) continue;
        const TeTensor *t = &k->c.te->tensor[s->o->access.tensor];
        bool wide = address_wide(k, s, d);
        const char *at = gathered(k, s, cg_text(cg, "at%d", d), d);
        test = both(cg, test, text_inside(cg, cg_text(cg, "%s + %c_kat%d", at, s->id, d),
                                          t->shape[d], wide));
    }
    return test;
}
