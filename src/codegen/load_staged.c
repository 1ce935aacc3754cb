#include "codegen/address.h"
#include "codegen/blocks.h"

/* Staged loads: global memory to registers before the multiply-adds of a step, registers to shared
 * memory after them.  Elements of one tensor come as vectors and are converted on the way to
 * shared memory; any other operand is evaluated element by element, and if those are many at once
 * to shared memory: before the multiply-adds into the other stage, or after them into the only
 * one.  */

/* Elements below four bytes travel in whole words, so that they take no register each.  */
static bool in_words(const Side *s) {
    int bytes = te_dtype_bytes(s->o->storage);
    return s->copies && bytes < 4 && bytes * s->l->vec >= 4;
}

static int words(const Side *s) { return s->l->vec * te_dtype_bytes(s->o->storage) / 4; }

static const char *register_type(const Side *s) {
    if (in_words(s)) return "unsigned";
    return s->copies ? cg_storage(s->o->storage) : cg_type(s->o->compute);
}

static int register_count(const Side *s) { return in_words(s) ? words(s) : s->l->vec; }

/* Element v of chunk i.  */
static const char *register_element(const Kernel *k, const Side *s, const char *v) {
    if (!in_words(s)) return cg_text(k->cg, "%c_reg[i].v[%s]", s->id, v);
    int per = 4 / te_dtype_bytes(s->o->storage);
    return cg_text(k->cg, "(%s)(%c_reg[i].v[%s / %d] >> %s %% %d * %d)", cg_storage(s->o->storage),
                   s->id, v, per, v, per, 32 / per);
}

void load_staged_declare(Kernel *k, const Side *s) {
    if (s->direct) return;
    if (s->n_read) {
        load_reads_declare(k, s);
        return;
    }
    cg_line(k->cg, "rl_vec<%s, %d> %c_reg[%d];", register_type(s), register_count(s), s->id,
            s->per_thread);
}

/* Whether there is a chunk i is asked first: tables have no entry for others.  */
static void load_copies(Kernel *k, const Side *s) {
    Cg *cg = k->cg;
    const char *live = address_live(k, s);
    if (live) cg_line(cg, "%c_reg[i] = {};", s->id);
    if (live) cg_open(cg, "if (%s)", live);
    const char *source = address_source(k, s), *test = address_test(k, s);
    if (test && !live) cg_line(cg, "%c_reg[i] = {};", s->id);
    if (in_words(s)) source = cg_text(cg, "reinterpret_cast<const unsigned *>(%s)", source);
    cg_line(cg, "%s%s%s%c_reg[i] = rl_load<%d>(%s);", test ? "if (" : "", test ? test : "",
            test ? ") " : "", s->id, register_count(s), source);
    if (live) cg_close(cg);
}

/* A point of the tile that begins at `k_first`.  */
typedef struct {
    const char *mn, *kk, *k_first;
} TilePoint;

/* The operand's expression there, assigned to `to`.  */
static void evaluate(Kernel *k, const Side *s, TilePoint x, const char *live, const char *to) {
    Cg *cg = k->cg;
    address_point(k, s, cg_text(cg, "%c0 + %s", s->side ? 'n' : 'm', x.mn),
                  cg_text(cg, "%s + %s", x.k_first, x.kk));
    const char *test = live;
    if (k->c.own_ragged[s->side]) test = both(cg, test, s->side ? "at_own < N" : "at_own < M");
    if (k->c.k_ragged) test = both(cg, test, "at_k < K");
    if (test) {
        cg_line(cg, "%s = 0;", to);
        cg_open(cg, "if (%s)", test);
    }
    CgPoint at = address_indices(k, s);
    const char *value = text_expr(&at, s->o->expr, s->o->compute);
    cg_line(cg, "%s = %s;", to, s->direct ? text_encode(cg, s->tile, s->o->compute, value) : value);
    if (test) cg_close(cg);
}

/* Opens a loop over the elements of a chunk, if there are several; gives their positions.  */
static void open_elements(Kernel *k, const Side *s, const char **mn, const char **kk) {
    if (s->l->vec == 1) return;
    cg_line(k->cg, "#pragma unroll");
    cg_open(k->cg, "for (int v = 0; v < %d; v++)", s->l->vec);
    const char **moves = s->l->along == AX_K ? kk : mn;
    *moves = cg_text(k->cg, "(%s + v)", *moves);
}

static void load_elements(Kernel *k, const Side *s) {
    const char *mn = address_mn(k, s), *kk = address_k(k, s);
    open_elements(k, s, &mn, &kk);
    evaluate(k, s, (TilePoint){mn, kk, "k_next"}, address_live(k, s),
             cg_text(k->cg, "%c_reg[i].v[%s]", s->id, s->l->vec > 1 ? "v" : "0"));
    if (s->l->vec > 1) cg_close(k->cg);
}

/* Operands with many elements per thread: a short loop from expression to shared memory.  */
static void load_direct(Kernel *k, const Side *s, const char *k_first) {
    Cg *cg = k->cg;
    const char *type = cg_storage(s->tile), *live = address_live(k, s);
    bool along_k = s->l->along == AX_K;
    cg_line(cg, "#pragma unroll 4");
    cg_open(cg, "for (int i = 0; i < %d; i++)", s->per_thread);
    if (live) cg_open(cg, "if (%s)", live);
    cg_line(cg, "const int %s = (tid + i * THREADS) / %du;", along_k ? "c_mn" : "c_k", s->line);
    cg_line(cg, "const int %s = (tid + i * THREADS) %% %du * %d;", along_k ? "c_k" : "c_mn",
            s->line, s->l->vec);
    const char *mn = "c_mn", *kk = "c_k";
    open_elements(k, s, &mn, &kk);
    cg_line(cg, "%s value;", type);
    evaluate(k, s, (TilePoint){mn, kk, k_first}, NULL, "value");
    cg_line(cg, "reinterpret_cast<%s *>(smem%s + %c_TILE)[%s] = value;", type,
            load_stage(k, "put"), s->id - 32, address_tile(k, s, mn, kk));
    if (s->l->vec > 1) cg_close(cg);
    if (live) cg_close(cg);
    cg_close(cg);
}

void load_staged(Kernel *k, const Side *s) {
    Cg *cg = k->cg;
    if (s->direct) {
        if (k->c.r->stages > 1) load_direct(k, s, "k_next");
        return;
    }
    cg_line(cg, "#pragma unroll");
    cg_open(cg, "for (int i = 0; i < %d; i++)", s->per_thread);
    if (s->copies) load_copies(k, s);
    else if (s->n_read) load_reads(k, s);
    else load_elements(k, s);
    cg_close(cg);
}

/* A register element in the form it has in the tile, or waits in to be rounded in pairs.  */
static const char *kept(const Kernel *k, const Side *s, bool pairs, const char *x) {
    if (s->copies && s->tile == s->o->storage) return x;
    if (s->copies) {
        x = text_decode(k->cg, s->o->storage, x);
        x = text_convert(k->cg, s->o->compute, te_dtype_compute(s->o->storage), x);
    }
    return text_wait(k->cg, s->tile, pairs, s->o->compute, x);
}

/* Index in the tile of an element of chunk i, `more` elements along the direction of the load.  */
static const char *target(const Kernel *k, const Side *s, const char *more, int factor) {
    const Cg *cg = k->cg;
    bool along_k = s->l->along == AX_K, straight = s->l->along == s->l->layout.inner;
    if (s->l->vec == 1) return address_chunk(k, s);
    const char *step = factor > 1 ? cg_text(cg, "%s * %d", more, factor) : more;
    if (s->l->layout.bits == 0)
        return straight ? cg_text(cg, "%s + %s", address_chunk(k, s), step)
                        : cg_text(cg, "%s + %s * %d", address_chunk(k, s), more, s->row);
    const char *mn = address_mn(k, s), *kk = address_k(k, s);
    if (along_k) kk = cg_text(cg, "(%s + %s)", kk, step);
    else mn = cg_text(cg, "(%s + %s)", mn, step);
    return address_tile(k, s, mn, kk);
}

/* Writes the values `from` of a chunk along the rows of the tile, `width` elements at a time by
 * `put`; as words: two elements in each.  */
static void put_straight(Kernel *k, const Side *s, const char *put, const char *from, int width,
                         bool as_words) {
    Cg *cg = k->cg;
    int parts = s->l->vec / width;
    const char *to = parts > 1 ? target(k, s, "part", width) : address_chunk(k, s);
    to = cg_text(cg, as_words ? "reinterpret_cast<unsigned *>(to + %s)" : "to + %s", to);
    if (parts == 1) {
        cg_line(cg, "%s(%s, %s);", put, to, from);
        return;
    }
    cg_line(cg, "#pragma unroll");
    cg_line(cg, "for (int part = 0; part < %d; part++)", parts);
    cg_line(cg, "    %s(%s, %s + part * %d);", put, to, from, as_words ? width / 2 : width);
}

/* Elements of one byte that become those of two.  */
static void keep_widened(Kernel *k, const Side *s, const char *widen, int width) {
    Cg *cg = k->cg;
    cg_line(cg, "unsigned x[%d];", 2 * words(s));
    cg_line(cg, "#pragma unroll");
    cg_line(cg, "for (int w = 0; w < %d; w++) %s(x + 2 * w, %c_reg[i].v[w]);", words(s), widen,
            s->id);
    put_straight(k, s, cg_text(cg, "rl_store<%d>", width / 2), "x", width, true);
}

/* Along the rows of the tile: whole vectors, of at most 16 bytes.  */
static void keep_straight(Kernel *k, const Side *s) {
    Cg *cg = k->cg;
    int vec = s->l->vec, width = vec * s->elem > RTILE_ACCESS ? RTILE_ACCESS / s->elem : vec;
    const char *from = cg_text(cg, "%c_reg[i].v", s->id);
    bool unchanged = s->copies && s->tile == s->o->storage;
    bool pairs = !unchanged && cg_pairs(s->tile, width);
    const char *widen = in_words(s) ? cg_widen(cg, s->tile, s->o->storage) : NULL;
    if (widen) {
        keep_widened(k, s, widen, width);
        return;
    }
    if (unchanged && in_words(s)) {
        cg_line(cg, "rl_store<%d>(reinterpret_cast<unsigned *>(to + %s), %s);", words(s),
                address_chunk(k, s), from);
        return;
    }
    if (s->n_read) {
        load_reads_evaluate(k, s, pairs);
        from = "x";
    } else if (!unchanged) {
        cg_line(cg, "%s x[%d];", text_waiting(s->tile, pairs), vec);
        cg_line(cg, "#pragma unroll");
        cg_line(cg, "for (int v = 0; v < %d; v++) x[v] = %s;", vec,
                kept(k, s, pairs, register_element(k, s, "v")));
        from = "x";
    }
    put_straight(k, s, text_store(cg, s->tile, pairs, width), from, width, false);
}

static void keep_across(Kernel *k, const Side *s) {
    Cg *cg = k->cg;
    const char *value = "x[v]";
    if (s->n_read) load_reads_evaluate(k, s, false);
    else value = kept(k, s, false, register_element(k, s, "v"));
    cg_line(cg, "#pragma unroll");
    cg_line(cg, "for (int v = 0; v < %d; v++) to[%s] = %s;", s->l->vec, target(k, s, "v", 1),
            value);
}

static void keep_element(Kernel *k, const Side *s) {
    Cg *cg = k->cg;
    const char *x = kept(k, s, false, cg_text(cg, "%c_reg[i].v[0]", s->id));
    cg_line(cg, "const %s x = %s;", cg_storage(s->tile), x);
    cg_line(cg, "rl_store_shared<1>(to, %s, &x);", address_chunk(k, s));
}

void load_staged_keep(Kernel *k, const Side *s) {
    Cg *cg = k->cg;
    if (s->direct) {
        if (k->c.r->stages == 1) load_direct(k, s, "k_next - BK");
        return;
    }
    const char *type = cg_storage(s->tile), *live = address_live(k, s);
    cg_line(cg, "#pragma unroll");
    cg_open(cg, "for (int i = 0; i < %d; i++)", s->per_thread);
    if (live) cg_open(cg, "if (%s)", live);
    cg_line(cg, "%s *const to = reinterpret_cast<%s *>(smem%s + %c_TILE);", type, type,
            load_stage(k, "put"), s->id - 32);
    if (s->l->vec == 1)
        keep_element(k, s);
    else if (s->l->along == s->l->layout.inner) keep_straight(k, s);
    else keep_across(k, s);
    if (live) cg_close(cg);
    cg_close(cg);
}
