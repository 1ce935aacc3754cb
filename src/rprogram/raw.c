/* Operands that a unit of warpgroups takes from registers: what shared memory has of them, and how
 * lanes read that.  */
#include "rprogram/matrix.h"

/* The read of the elements that move along k, the only one; all others are the same at all k of a
 * step.  */
static bool part_reads(const Problem *p, const Operand *o, int step, RRaw *out) {
    const TeStmt *s = &p->te->stmt[p->con.stmt];
    ReadList all = access_reads(o->expr);
    for (int i = 0; i < all.n; i++) {
        bool again = out->read && access_same(out->read, all.at[i]);
        for (int j = 0; j < out->n; j++) again |= access_same(out->other[j], all.at[i]);
        if (again) continue;
        if (all.at[i]->other) return false;
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

/* Is the value made of indices, beside what is read at them?  */
static bool counts_places(const TeExpr *e) {
    if (e->kind == TE_READ) return false;
    if (e->kind == TE_INDEX) return true;
    for (int i = 0; i < e->n_args; i++)
        if (counts_places(e->args[i])) return true;
    return false;
}

/* Zeros beyond the end of K are none of what the expression makes of them.  */
bool rprog_raw(const Problem *p, int side, int step, RRaw *out) {
    enum { WIDEST = 4 };
    const Operand *o = side ? &p->con.b : &p->con.a;
    AxisClass own = side ? AX_N : AX_M;
    *out = (RRaw){0};
    if (!p->te || !o->expr) return false;
    if (o->read) {
        *out = (RRaw){.read = o->read, .access = o->access, .storage = o->storage};
        return te_dtype_bytes(o->storage) <= WIDEST && rprog_box(p, side, &out->box) &&
               out->box.pixels == 0 && out->box.inner == AX_K;
    }
    if (p->multiple[AX_K] % step || counts_places(o->expr)) return false;
    if (!part_reads(p, o, step, out)) return false;
    RBox *box = &out->box;
    Access *x = &out->access;
    access_read(p->te, &p->te->stmt[p->con.stmt], out->read, x);
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
    int row = r->block.extent[AX_K] * bytes_of(r, side);
    return row < BOX_SPAN ? row : BOX_SPAN;
}

Fragment rprog_raw_fragment(const Device *dev, const RProg *r) {
    return fragment_of_operand_share(&dev->unit[r->unit]);
}

int rprog_raw_wavefronts(const Device *dev, const RProg *r, int side) {
    Fragment f = rprog_raw_fragment(dev, r);
    int elem = bytes_of(r, side), span = rprog_raw_span(r, side);
    int32_t addr[WARP];
    int at[WARP][FRAG_DIMS];
    fragment_of_lanes(&f, 0, at);
    for (int lane = 0; lane < WARP; lane++) {
        const int *x = at[lane];
        addr[lane] = rtile_at(r->load[side].layout, span / elem, elem, x[FRAG_ROW], x[FRAG_COL]);
    }
    return rtile_wavefronts(addr, UINT32_MAX, f.per_register * elem);
}
