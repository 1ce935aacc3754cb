#include "codegen/address.h"
#include "te/tree/arith.h"

/* Which chunks of a tile a thread loads, and where in shared memory they go.  */

/* What chunk i has of quantity `name`, which is known for `n` chunks and grows by `step` (NULL:
 * not) from one n to the next.  */
static const char *known_for(const Kernel *k, const Side *s, const char *name, int n,
                             const char *step) {
    const Cg *cg = k->cg;
    const char *x = cg_text(cg, "%c_%s", s->id, name), *turn = "i";
    if (n > 1 && k->group % n == 0 && k->group > 0) {
        x = cg_text(cg, k->group > n ? "%s[j %% %d]" : "%s[j]", x, n);
        turn = cg_text(cg, "(g / %d + j / %d)", n, n);
    } else if (n > 1) {
        x = cg_text(cg, s->per_thread > n ? "%s[i %% %d]" : "%s[i]", x, n);
        turn = cg_text(cg, "i / %d", n);
    }
    return step && s->per_thread > n ? cg_text(cg, "(%s + %s * %s)", x, turn, step) : x;
}

const char *chunk_periodic(const Kernel *k, const Side *s, const char *name, const char *step) {
    return known_for(k, s, name, s->period, step);
}

static const char *number_of(const Kernel *k, int64_t step) {
    return step ? text_int(k->cg, TE_I64, step) : NULL;
}

const char *address_mn(const Kernel *k, const Side *s) {
    return chunk_periodic(k, s, "mn", number_of(k, s->step_mn));
}

const char *address_k(const Kernel *k, const Side *s) {
    return chunk_periodic(k, s, "k", number_of(k, s->step_k));
}

/* ---- shared memory ---- */

/* The lowest bit that a swizzle may flip, of a position in a row.  */
static int lowest_flipped(const Side *s) {
    int log_elem = s->elem == 1 ? 0 : s->elem == 2 ? 1 : s->elem == 4 ? 2 : 3;
    return s->l->layout.base + 4 - log_elem;
}

const char *address_tile(const Kernel *k, const Side *s, const char *mn, const char *kk) {
    const Cg *cg = k->cg;
    const RLayout *l = &s->l->layout;
    const char *r = s->inner_k ? mn : kk, *e = s->inner_k ? kk : mn;
    if (l->bits == 0) return cg_text(cg, "%s * %c_ROW + %s", r, s->id - 32, e);
    return cg_text(cg, "%s * %c_ROW + (%s ^ (%s >> %d & %d) << %d)", r, s->id - 32, e, r, l->shift,
                   (1 << l->bits) - 1, lowest_flipped(s));
}

/* What a period of chunks advances by, across the rows of the tile or along them.  */
static int step_across(const Side *s) { return s->inner_k ? s->step_mn : s->step_k; }
static int step_inside(const Side *s) { return s->inner_k ? s->step_k : s->step_mn; }

/* For how many chunks targets are known: those of the periods after which a swizzle flips the same
 * bits in the same way again.  */
static int target_count(const Side *s) {
    const RLayout *l = &s->l->layout;
    if (l->bits == 0 || s->per_thread == s->period) return s->period;
    bool across = step_across(s) != 0;
    int64_t again = (int64_t)1 << l->bits << (across ? l->shift : lowest_flipped(s));
    int64_t n = s->period * (again / gcd64(across ? step_across(s) : step_inside(s), again));
    return n < s->per_thread ? (int)n : s->per_thread;
}

int chunk_group(const Side *s, int known) {
    enum { LEAST = 8, TURNS = 3 };
    int n = target_count(s), size;
    n = n / (int)gcd64(n, known) * known;
    for (size = n; size < LEAST;) size += n;
    return s->per_thread >= TURNS * size && s->per_thread % size == 0 ? size : 0;
}

const char *address_chunk(const Kernel *k, const Side *s) {
    int n = target_count(s), step = step_across(s) * s->row + step_inside(s);
    return known_for(k, s, "to", n, number_of(k, (int64_t)step * (n / s->period)));
}

/* ---- chunks of a thread ---- */

/* Opens a loop over the chunks of one period, if there are several.  */
void chunk_open_period(Kernel *k, int n) {
    if (n == 1) return;
    cg_line(k->cg, "#pragma unroll");
    cg_open(k->cg, "for (int i = 0; i < %d; i++)", n);
}

void chunk_close_period(Kernel *k, int n) {
    if (n > 1) cg_close(k->cg);
}

static void positions(Kernel *k, const Side *s) {
    Cg *cg = k->cg;
    bool along_k = s->l->along == AX_K;
    const char *fast = along_k ? "k" : "mn", *slow = along_k ? "mn" : "k";
    const char *vec = s->l->vec > 1 ? cg_text(cg, " * %d", s->l->vec) : "";
    if (s->period == 1) {
        cg_line(cg, "const int %c_%s = tid / %du, %c_%s = tid %% %du%s;", s->id, slow, s->line,
                s->id, fast, s->line, vec);
        return;
    }
    cg_line(cg, "int %c_mn[%d], %c_k[%d];", s->id, s->period, s->id, s->period);
    chunk_open_period(k, s->period);
    cg_line(cg, "%c_%s[i] = (tid + i * THREADS) / %du;", s->id, slow, s->line);
    cg_line(cg, "%c_%s[i] = (tid + i * THREADS) %% %du%s;", s->id, fast, s->line, vec);
    chunk_close_period(k, s->period);
}

static void targets(Kernel *k, const Side *s) {
    Cg *cg = k->cg;
    int n = target_count(s);
    const char *mn = address_mn(k, s), *kk = address_k(k, s);
    if (n == 1) {
        cg_line(cg, "const int %c_to = %s;", s->id,
                address_tile(k, s, cg_text(cg, "%c_mn", s->id), cg_text(cg, "%c_k", s->id)));
        return;
    }
    cg_line(cg, "int %c_to[%d];", s->id, n);
    chunk_open_period(k, n);
    cg_line(cg, "%c_to[i] = %s;", s->id, address_tile(k, s, mn, kk));
    chunk_close_period(k, n);
}

void chunk_places(Kernel *k, const Side *s) {
    positions(k, s);
    targets(k, s);
}

const char *address_live(const Kernel *k, const Side *s) {
    if (s->chunks % k->c.r->threads == 0) return NULL;
    return cg_text(k->cg, "tid + i * THREADS < %d", s->chunks);
}
