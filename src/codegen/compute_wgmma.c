#include "codegen/blocks.h"
#include "codegen/prelude.h"

/* Products of warpgroups, which read both operands from the stage at hand.  */

/* Descriptor of the warpgroup's part of an operand in the first stage, the lower half; `on` and
 * `down` are what it moves by, in units of 16 bytes.  */
static void define_tile(Kernel *k, const Side *s) {
    Cg *cg = k->cg;
    const char *part = "";
    int teams = k->c.warps[s->own], extent = k->c.r->warp.extent[s->own];
    int tiles = extent / s->thread, below = rprog_team(cg->dev, k->c.r);
    if (s->own == AX_M) below *= k->c.warps[AX_N];
    if (teams > 1)
        part = cg_text(cg, " + warp / %du %% %du * %d", below, teams, tiles * s->down);
    cg_line(cg, "const unsigned %c_low = rl_wgmma_tile<%d>(shared + %c_TILE%s);", s->id, s->leading,
            s->id - 32, part);
}

void wgmma_tiles(Kernel *k) {
    for (int side = 0; side < 2; side++) {
        const Side *s = &k->c.side[side];
        if (s->l->raw) made_tile(k, s);
        else define_tile(k, s);
    }
}

/* Where the step's operands are, before they are waited for.  All lanes of a warp have the same
 * descriptors; what the compiler knows to be so it adds to apart from the lanes' registers.  */
void wgmma_stage(Kernel *k) {
    for (int side = 0; side < 2; side++) {
        char id = k->c.side[side].id;
        if (k->c.side[side].l->raw) continue;
        cg_line(k->cg, "const unsigned %c_at = rl_uniform(%c_low + stage * (STAGE / 16));", id, id);
    }
}

static const char *moved(const Kernel *k, const Side *s) {
    const char *at = wgmma_slice(k, s);
    return k->c.matrix.tiles[s->own] > 1 ? cg_text(k->cg, "%s + i * %d", at, s->down / 16) : at;
}

void compute_wgmma(Kernel *k) {
    Cg *cg = k->cg;
    bool swapped = k->c.r->swapped;
    const Side *a = &k->c.side[swapped], *b = &k->c.side[!swapped];
    const ComputeUnit *u = k->c.matrix.unit;
    cg_line(cg, "// compute: slices of %d k", (int)k->c.r->thread.extent[AX_K]);
    cg_line(cg, "rl_wgmma_begin();");
    cg_line(cg, "#pragma unroll");
    cg_open(cg, "for (int kk = 0; kk < WK; kk += TK)");
    cg_line(cg, "#pragma unroll");
    cg_line(cg, "for (int i = 0; i < IM; i++)");
    cg_line(cg, "    rl_wgmma_m64n%dk%d_%s_%s%s(%s[i][0], %s, %s);",
            b->thread, u->k.from, prelude_operand(u), te_dtype_name(u->acc),
            wgmma_orders(k, a, b), k->c.matrix.promotes ? "part" : mma_accumulators(k), moved(k, a),
            moved(k, b));
    cg_close(cg);
}

/* Zeros that are there before the first product begins, and sums behind the last.  */
void wgmma_settle(Kernel *k) {
    bool promotes = k->c.matrix.promotes;
    cg_line(k->cg, "#pragma unroll");
    cg_line(k->cg, "for (int i = 0; i < IM; i++) rl_wgmma_settle(%s[i][0]);",
            promotes ? "part" : mma_accumulators(k));
    if (!promotes) cg_blank(k->cg);
}
