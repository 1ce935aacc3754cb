#include "codegen/address.h"

/* Which chunks of a tile a thread loads, and where in shared memory they go.  */

/* What chunk i has of a quantity that is known for the chunks of one period and grows by `step`
 * from period to period.  */
const char *chunk_periodic(const Kernel *k, const Side *s, const char *name, const char *step) {
    const Cg *cg = k->cg;
    const char *x = cg_text(cg, "%c_%s", s->id, name), *turn = "i";
    if (s->period > 1) {
        x = cg_text(cg, "%s[i %% %d]", x, s->period);
        turn = cg_text(cg, "i / %d", s->period);
    }
    return step && s->per_thread > s->period
               ? cg_text(cg, "(%s + %s * %s)", x, turn, step)
               : x;
}

static const char *number_of(const Kernel *k, int64_t step) {
    return step ? cg_int(k->cg, TE_I64, step) : NULL;
}

const char *address_mn(const Kernel *k, const Side *s) {
    return chunk_periodic(k, s, "mn", number_of(k, s->step_mn));
}

const char *address_k(const Kernel *k, const Side *s) {
    return chunk_periodic(k, s, "k", number_of(k, s->step_k));
}

/* ---- shared memory ---- */

const char *address_tile(const Kernel *k, const Side *s, const char *mn, const char *kk) {
    const Cg *cg = k->cg;
    const RLayout *l = &s->l->layout;
    const char *r = s->inner_k ? mn : kk, *e = s->inner_k ? kk : mn;
    if (l->bits == 0) return cg_text(cg, "%s * %c_ROW + %s", r, s->id - 32, e);
    int log_elem = s->elem == 1 ? 0 : s->elem == 2 ? 1 : s->elem == 4 ? 2 : 3;
    return cg_text(cg, "%s * %c_ROW + (%s ^ (%s >> %d & %d) << %d)", r, s->id - 32, e, r, l->shift,
                   (1 << l->bits) - 1, l->base + 4 - log_elem);
}

/* Does a swizzle flip the same bits for all periods of a thread's chunks, and keep their order?  */
static bool constant_chunks(const Side *s) {
    const RLayout *l = &s->l->layout;
    if (l->bits == 0 || s->per_thread == s->period) return true;
    int step_row = s->inner_k ? s->step_mn : s->step_k;
    int step_inner = s->inner_k ? s->step_k : s->step_mn;
    return step_inner == 0 && step_row % (1 << (l->shift + l->bits)) == 0;
}

const char *address_chunk(const Kernel *k, const Side *s) {
    if (!constant_chunks(s)) return cg_text(k->cg, "%c_to[i]", s->id);
    int row = s->inner_k ? s->step_mn : s->step_k, inner = s->inner_k ? s->step_k : s->step_mn;
    return chunk_periodic(k, s, "to", number_of(k, row * s->row + inner));
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
    int n = constant_chunks(s) ? s->period : s->per_thread;
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
