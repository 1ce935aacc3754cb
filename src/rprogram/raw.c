/* Operands that a unit of warpgroups takes from registers: what shared memory has of them, and how
 * lanes read that.  */
#include "rprogram/matrix.h"
#include "te/tree/tree.h"

/* The read of the elements that move along k, the only one; all others are the same at all k of a
 * step.  */
static bool part_reads(const Problem *p, const Operand *o, int step, RRaw *out) {
    const TeStmt *s = &p->te->stmt[p->con.stmt];
    ReadList all = access_reads(o->expr);
    for (int i = 0; i < all.n; i++) {
        bool again = out->read && access_same(out->read, all.at[i]);
        for (int j = 0; j < out->n; j++) again |= access_same(out->other[j], all.at[i]);
        if (again) continue;
        if (all.at[i]->other || !te_zero_outside(p->te, all.at[i])) return false;
        if (!rtile_same_along(s, all.at[i], &p->con.axis[AX_K], step)) {
            if (out->read) return false;
            out->read = all.at[i];
            continue;
        }
        if (out->n == RTILE_CHUNK_READS) return false;
        out->other[out->n++] = all.at[i];
    }
    return out->read != NULL;
}

/* Is the value made of indices, beside what is read at them, and which of `pack` neighbours along
 * an index it is?  */
static bool counts_places(const TeExpr *e, int index, int pack) {
    if (e->kind == TE_READ) return false;
    if (e->kind == TE_INDEX) return true;
    if (e->kind == TE_MOD && e->args[0]->kind == TE_INDEX && e->args[0]->v.ref == index &&
        e->args[1]->kind == TE_INT && e->args[1]->v.i > 0 && pack % e->args[1]->v.i == 0)
        return false;
    for (int i = 0; i < e->n_args; i++)
        if (counts_places(e->args[i], index, pack)) return true;
    return false;
}

/* The access to a read of which `pack` neighbours along an index share an element, as if the index
 * counted elements.  */
static bool packed_access(const Problem *p, const TeExpr *read, int index, int pack, Access *out) {
    const TeStmt *s = &p->te->stmt[p->con.stmt];
    TeStmt few = *s;
    TeExpr own = *read, *args[TE_MAX_RANK];
    int found = 0;
    few.index[index].hi.value /= pack;
    own.args = args;
    for (int d = 0; d < read->n_args; d++) {
        TeExpr *x = args[d] = read->args[d];
        bool shares = x->kind == TE_DIV && x->args[0]->kind == TE_INDEX &&
                      x->args[0]->v.ref == index && x->args[1]->v.i == pack;
        if (shares) args[d] = x->args[0];
        found += shares;
    }
    access_read(p->te, &few, &own, out);
    out->read = read;
    return found == 1;
}

/* Zeros beyond the end of K are none of what the expression makes of them.  */
bool rprog_raw(const Problem *p, int side, int step, RRaw *out) {
    enum { WIDEST = 4, PACKED = 2 };      /* bytes; k of the narrowest register */
    const Operand *o = &p->con.operand[side];
    AxisClass own = side ? AX_N : AX_M;
    *out = (RRaw){.pack = 1};
    if (!p->te || !o->expr) return false;
    if (o->read) {
        *out = (RRaw){.read = o->read, .access = o->access, .storage = o->storage,
                      .pack = 1};
        return te_dtype_bytes(o->storage) <= WIDEST && rprog_box(p, side, &out->box) &&
               out->box.pixels == 0 && out->box.inner == AX_K;
    }
    const TeStmt *s = &p->te->stmt[p->con.stmt];
    const FusedAxis *k = &p->con.axis[AX_K];
    int index = rtile_chunk_index(s, k);
    if (p->multiple[AX_K] % step || !part_reads(p, o, step, out)) return false;
    RBox *box = &out->box;
    Access *x = &out->access;
    int shared = rtile_shared_along(p->te, s, out->read, k, step);
    bool packed = shared > 1 && shared <= PACKED && k->n == 1;
    if (packed) out->pack = shared;
    if (counts_places(o->expr, index, out->pack)) return false;
    if (packed && !packed_access(p, out->read, index, shared, x)) return false;
    if (!packed) access_read(p->te, s, out->read, x);
    if (!x->affine || access_guarded(p->te, x)) return false;
    const TeTensor *t = &p->te->tensor[x->tensor];
    out->storage = t->dtype;
    int bytes = te_dtype_bytes(t->dtype);
    box->inner = AX_K;
    box->own = 1;
    if (bytes > WIDEST || rtile_widest(t, p->align) * bytes < RTILE_ACCESS) return false;
    return rprog_box_dims(p, x, AX_K, box) && box->dim[0].n > 0 && box->dim[0].stride == 1 &&
           rprog_box_dims(p, x, own, box) && rprog_box_dims(p, x, AX_B, box) &&
           rprog_box_aligned(p, x, box);
}

static int bytes_of(const RProg *r, int side) { return RTILE_ACCESS / r->load[side].vec; }

int rprog_raw_span(const RProg *r, int side) {
    return rprog_box_span(&r->load[side].layout);
}

Fragment rprog_raw_fragment(const Device *dev, const RProg *r) {
    return fragment_of_operand_share(&dev->unit[r->unit]);
}

int rprog_raw_wavefronts(const Device *dev, const RProg *r, int side, int pack) {
    Fragment f = rprog_raw_fragment(dev, r);
    int elem = bytes_of(r, side), span = rprog_raw_span(r, side);
    int32_t addr[WARP];
    int at[WARP][FRAG_DIMS];
    fragment_of_lanes(&f, 0, at);
    for (int lane = 0; lane < WARP; lane++) {
        const int *x = at[lane];
        addr[lane] = rtile_at(r->load[side].layout, span / elem, elem, x[FRAG_ROW],
                              x[FRAG_COL] / pack);
    }
    return rtile_wavefronts(addr, UINT32_MAX, f.per_register * elem / pack);
}
