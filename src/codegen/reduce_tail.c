#include "codegen/blocks.h"

/* Tiles whose k-steps are dealt out to several blocks (stream-K): a block goes through the tiles
 * that it has steps of, partial sums lie in the workspace by block and tile, and a second kernel
 * adds them in order of the block.  */

static long long full_tiles(const Kernel *k) {
    return rprog_blocks(k->l->p, k->l->r) - k->l->r->tail;
}

static int tile_size(const Kernel *k) {
    const RTile *t = &k->l->r->block;
    return t->extent[AX_M] * t->extent[AX_N];
}

void reduce_tail_segments(Kernel *k) {
    Cg *cg = k->cg;
    const RProg *r = k->l->r;
    long long steps = k->c.steps, full = full_tiles(k), all = full + r->tail;
    long long each = rprog_tail_steps(k->l->p, r);
    cg_line(cg, "// segments: k-steps of the last %d of %lld tiles, %lld to a block", (int)r->tail,
            all, each);
    cg_line(cg, "const int u = (int)blockIdx.x - %lld;", full);
    cg_line(cg, "int at = u < 0 ? (int)blockIdx.x * %lld : %lld + u * %lld;", steps, full * steps,
            each);
    cg_line(cg, "const int end = u < 0 ? at + %lld : min(at + %lld, %lld);", steps, each,
            all * steps);
    cg_line(cg, "#pragma unroll 1");
    cg_open(cg, "for (int steps = 0; at < end; at += steps)");
    cg_line(cg, "const unsigned number = at / %lldu;", steps);
    cg_line(cg, "const int first = at %% %lldu;", steps);
    cg_line(cg, "steps = min(%lld - first, end - at);", steps);
}

/* The steps of share `own`; none of one behind the last.  */
static void print_share(Kernel *k, const char *type) {
    const RProg *r = k->l->r;
    long long steps = k->c.steps, full = full_tiles(k) * steps, each = rprog_tail_steps(k->l->p, r);
    cg_line(k->cg, "%sat = %lld + min(own, %d) * %lld;", type, full, (int)r->tail_blocks, each);
    cg_line(k->cg, "%send = min(%lld + min(own + 1, %d) * %lld, %lld);", type, full,
            (int)r->tail_blocks, each, full + r->tail * steps);
}

/* A block takes shares of these steps as it does tiles: several, where fewer blocks are launched.
 */
void reduce_tail_stays(Kernel *k) {
    Cg *cg = k->cg;
    const RProg *r = k->l->r;
    long long steps = k->c.steps, full = full_tiles(k);
    cg_line(cg, "// segments: whole tiles, then k-steps of the last %d of %lld, %lld to a share",
            (int)r->tail, full + r->tail, (long long)rprog_tail_steps(k->l->p, r));
    cg_line(cg, "unsigned next = blockIdx.x, from = 0;");
    cg_line(cg, "int own = (int)blockIdx.x;");
    print_share(k, "int ");
    cg_line(cg, "#pragma unroll 1");
    cg_open(cg, "for (int steps = 0; next < %lldu || at < end; from += steps)", full);
    cg_line(cg, "const bool whole = next < %lldu;", full);
    cg_line(cg, "const unsigned number = whole ? next : at / %lldu;", steps);
    cg_line(cg, "const int u = own, first = whole ? 0 : at %% %lldu;", steps);
    cg_line(cg, "steps = whole ? %lld : min(%lld - first, end - at);", steps, steps);
    cg_line(cg, "if (whole) next += GRID;");
    cg_open(cg, "else if ((at += steps) == end)");
    cg_line(cg, "own += GRID;");
    print_share(k, "");
    cg_close(cg);
}

void reduce_tail_sums(Kernel *k) {
    cg_line(k->cg, "// partial: sums of this segment to the workspace");
    sums_pointer(k, cg_text(k->cg, " + (u + (long long)number - %lld) * %d", full_tiles(k),
                            tile_size(k)));
}

void reduce_tail_elements(Kernel *k) {
    Cg *cg = k->cg;
    const Problem *p = k->l->p;
    const RProg *r = k->l->r;
    Elements *at = &k->at;
    long long steps = rprog_tiles(p, r, AX_K), each = rprog_tail_steps(p, r);
    long long adders = rprog_tail_adders(r, k->l->launch.span);
    elements_order(k, k->l->vec);
    cg_line(cg, "// elements: %d at a time, of tiles that several blocks have steps of", at->vec);
    cg_line(cg, "constexpr int BM = %d, BN = %d;", (int)r->block.extent[AX_M],
            (int)r->block.extent[AX_N]);
    sums_pointer(k, "");
    cg_line(cg, "const int y = blockIdx.x / %lldu;", adders);
    cg_line(cg, "const unsigned number = y + %lld;", full_tiles(k));
    place_tile(k, "number");
    cg_line(cg, "const int at = blockIdx.x %% %lldu * %lld + threadIdx.x * %d;", adders,
            (long long)k->l->launch.span, at->vec);
    cg_line(cg, "const %s m = m0 + at / BN;", place_along(k, AX_M));
    cg_line(cg, "const %s n = n0 + at %% BN;", place_along(k, AX_N));
    cg_line(cg, "const int first = y * %lld / %lldu, total = (y * %lld + %lld) / %lldu;", steps,
            each, steps, steps - 1, each);
    cg_open(cg, "if (first < total && at < %d && m < %lld && n < %lld)", tile_size(k),
            (long long)p->extent[AX_M], (long long)p->extent[AX_N]);
    at->open = 1;
    sums_elements(k);
}

void reduce_tail_gather(Kernel *k) {
    Cg *cg = k->cg;
    cg_line(cg, "// gather: the units in order");
    cg_line(cg, "const %s *from = sums + (y + first) * %dll + at;", cg_type(k->l->p->con.acc),
            tile_size(k));
    sums_gather(k, "from", "0", "int s = first; s < total; s++",
                cg_text(cg, "from += %d;", tile_size(k)), "0");
}
