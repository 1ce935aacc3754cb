#include "codegen/operand/address.h"
#include "codegen/operand/operand.h"

/* Staged loads of an expression, such as weights with their scales: what it reads travels to
 * registers as it lies in memory, in accesses for a whole chunk, and is evaluated on the way to
 * shared memory.  Registers of read j of chunk i are <a or b>_r<j>[i].  */

/* Elements below four bytes travel in whole words, so that they take no register each.  */
static bool in_words(const ChunkRead *r) {
    int bytes = te_dtype_bytes(r->storage);
    return bytes < 4 && bytes * r->width >= 4;
}

static int per_word(const ChunkRead *r) { return 4 / te_dtype_bytes(r->storage); }

static int registers(const ChunkRead *r) {
    return in_words(r) ? r->width / per_word(r) : r->width;
}

void load_reads_declare(Kernel *k, const Side *s) {
    for (int j = 0; j < s->n_read; j++) {
        const ChunkRead *r = &s->read[j];
        cg_line(k->cg, "rl_vec<%s, %d> %c_r%d[%d];",
                in_words(r) ? "unsigned" : cg_storage(r->storage), registers(r), s->id, j,
                s->per_thread);
    }
}

/* Is chunk i of the tile that begins at `first` there and inside?  NULL: always.  */
static const char *test_chunk(const Kernel *k, const Side *s, const char *first) {
    const Cg *cg = k->cg;
    Ir live = address_live(k, s);
    const char *test = live ? ir_string_sum(cg, live) : NULL, *own = NULL;
    if (k->c.own_ragged[s->side])
        own = cg_text(cg, "%c0 + %s < %c", s->side ? 'n' : 'm', ir_string(cg, address_mn(k, s)),
                      s->side ? 'N' : 'M');
    if (own) test = both(cg, test, own);
    if (!k->c.k_ragged) return test;
    return both(cg, test, cg_text(cg, "%s + %s < K", first, ir_string(cg, address_k(k, s))));
}

/* Where a chunk begins along its direction: at a multiple of its length, which the compiler cannot
 * see, and by which it knows what is chosen by an index modulo 2.  */
static const char *begin(const Kernel *k, const Side *s, AxisClass axis, const char *at) {
    bool along = (s->l->along == AX_K) == (axis == AX_K);
    return along && s->l->vec > 1 ? cg_text(k->cg, "(%s) & -%d", at, s->l->vec) : at;
}

/* Indices of the chunk's first element; prints their definitions.  */
static CgPoint first_point(Kernel *k, const Side *s, const char *first) {
    const char *own = ir_string_sum(k->cg, address_own(k, s));
    const char *kk = cg_text(k->cg, "%s + %s", first, ir_string(k->cg, address_k(k, s)));
    Ir at = address_point_own(k, s, text_index(k->cg, begin(k, s, s->own, own), false));
    return address_indices(
        k, s, at, address_point_k(k, text_index(k->cg, begin(k, s, AX_K, kk), false)));
}

/* Read j of the chunk whose first point is `at`, if it is inside there.  */
static void load_read(Kernel *k, const Side *s, const CgPoint *at, int j) {
    Cg *cg = k->cg;
    const ChunkRead *r = &s->read[j];
    const TeTensor *t = &cg->te->tensor[r->read->v.ref];
    const char *sub[TE_MAX_RANK], *inside = NULL;
    int64_t by[TE_MAX_RANK] = {0};
    Access x;
    access_read(cg->te, at->stmt, r->read, &x);
    for (int d = 0; d < t->rank; d++) {
        sub[d] = text_expr(at, r->read->args[d], TE_I64);
        if (!x.guard[d]) continue;
        inside = both(cg, inside, cg_text(cg, "%s >= 0 && %s < %s", sub[d], sub[d],
                                          text_extent(cg, &t->shape[d])));
        sub[d] = text_tested(at, r->read, d, &by[d]);
    }
    const char *from = text_pointer(cg, r->read->v.ref, text_offset(cg, r->read->v.ref, sub), by);
    if (in_words(r)) from = cg_text(cg, "reinterpret_cast<const unsigned *>(%s)", from);
    cg_line(cg, "%s%s%s%c_r%d[i] = rl_load<%d>(%s);", inside ? "if (" : "", inside ? inside : "",
            inside ? ") " : "", s->id, j, registers(r), from);
}

void load_reads(Kernel *k, const Side *s) {
    Cg *cg = k->cg;
    const char *test = test_chunk(k, s, "k_next");
    for (int j = 0; j < s->n_read; j++) {
        if (test || !te_always_inside(s->read[j].read)) cg_line(cg, "%c_r%d[i] = {};", s->id, j);
    }
    if (test) cg_open(cg, "if (%s)", test);
    CgPoint at = first_point(k, s, "k_next");
    for (int j = 0; j < s->n_read; j++) load_read(k, s, &at, j);
    if (test) cg_close(cg);
}

/* Element v of read j as a value.  */
static const char *element(const Kernel *k, const Side *s, int j) {
    const Cg *cg = k->cg;
    const ChunkRead *r = &s->read[j];
    int shared = s->l->vec / r->width;
    const char *v = r->width == 1 ? "0" : shared > 1 ? cg_text(cg, "(v / %d)", shared) : "v";
    if (!in_words(r))
        return text_decode(cg, r->storage, cg_text(cg, "%c_r%d[i].v[%s]", s->id, j, v));
    int per = per_word(r);
    return text_decode(cg, r->storage,
                     cg_text(cg, "(%s)(%c_r%d[i].v[%s / %d] >> %s %% %d * %d)",
                             cg_storage(r->storage), s->id, j, v, per, v, per, 32 / per));
}

/* The expression's value at `at` in the form it has in the tile; a last rounding to the tile's type
 * is made once.  */
static const char *tile_value(const CgPoint *at, const Side *s, bool pairs) {
    const TeExpr *e = s->o->expr;
    if (e->kind == TE_CAST && e->store == s->tile)
        return text_wait(at->cg, s->tile, pairs, e->args[0]->type,
                       text_expr(at, e->args[0], e->args[0]->type));
    return text_wait(at->cg, s->tile, pairs, s->o->compute, text_expr(at, e, s->o->compute));
}

Ir load_reads_evaluate(Kernel *k, const Side *s, bool pairs) {
    Cg *cg = k->cg;
    CgGiven given[RTILE_CHUNK_READS];
    const char *test = test_chunk(k, s, "k_next - BK");
    cg_line(cg, "%s x[%d]%s;", text_waiting(s->tile, pairs), s->l->vec, test ? " = {}" : "");
    if (test) cg_open(cg, "if (%s)", test);
    else cg_scope(cg);
    CgPoint at = first_point(k, s, "k_next - BK");
    int moves = rtile_chunk_index(at.stmt, &k->c.p->con.axis[s->l->along]);
    at.index[moves] = ir_add(cg, at.index[moves], text_index(cg, "v", false));
    for (int j = 0; j < s->n_read; j++)
        given[j] = (CgGiven){s->read[j].read, text_value(cg, te_dtype_compute(s->read[j].storage),
                                                         element(k, s, j))};
    at.given = given;
    at.n_given = s->n_read;
    cg_line(cg, "#pragma unroll");
    cg_open(cg, "for (int v = 0; v < %d; v++)", s->l->vec);
    cg_line(cg, "x[v] = %s;", tile_value(&at, s, pairs));
    cg_close(cg);
    cg_close(cg);
    return ir_name(cg, ir_array_of(cg_waiting(s->tile, pairs)), "x");
}
