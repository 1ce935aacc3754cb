/* How the loads of an operand's tile are dealt out: over threads, and over the time of a step.  */
#include "rprogram/internal.h"
#include "te/tree/arith.h"

int rprog_loaders(const RProg *r, int side) {
    return r->load[side].team > 0 ? r->load[side].team * WARP : r->threads;
}

RChunks rprog_chunks(const RProg *r, int side) {
    const RLoad *l = &r->load[side];
    int threads = rprog_loaders(r, side);
    int64_t elements = (int64_t)r->block.extent[own_axis(side)] * r->block.extent[AX_K];
    RChunks x = {.line = r->block.extent[l->along] / l->vec, .all = elements / l->vec,
                 .thread = ceil_div(elements, (int64_t)l->vec * threads)};
    int64_t period = x.thread > 1 ? x.line / gcd64(x.line, threads) : x.line > 0;
    x.period = period < x.thread ? period : x.thread;
    if (x.line == 0 || x.period == x.thread) return x;
    *(l->along == AX_K ? &x.step_mn : &x.step_k) = x.period * threads / x.line;
    return x;
}

/* One staged load limits the program to one step.  */
int rprog_steps_ahead(const Problem *p, const RProg *r) {
    for (int side = 0; side < p->n_operand; side++)
        if (rprog_waits(&r->load[side])) return 1;
    return r->stages > 1 ? r->stages - 1 : 1;
}

/* Copies hold no registers, and a matrix unit's products leave slots to issue them.  */
bool rprog_spread(const Device *dev, const RProg *r, int side) {
    const RLoad *l = &r->load[side];
    return rprog_matrix(dev, r) && rprog_copies_chunks(l) && !l->region && !l->team;
}

bool rprog_evaluates_direct(const Problem *p, const RProg *r, int side) {
    enum { IN_REGISTERS = 16 };           /* elements that a thread keeps on their way */
    const Operand *o = &p->con.operand[side];
    const RLoad *l = &r->load[side];
    if (p->op[side].gathered && rprog_copies_chunks(l)) return false;
    if ((o->read && p->op[side].affine) || rprog_chunks(r, side).thread * l->vec <= IN_REGISTERS)
        return false;
    return l->vec == 1 ||
           !rtile_chunk_reads(p->te, &p->te->stmt[p->con.stmt], o->expr, &p->con.axis[l->along],
                              l->vec, RTILE_ACCESS).n;
}
