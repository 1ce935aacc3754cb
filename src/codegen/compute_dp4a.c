#include "codegen/blocks.h"

/* Four byte products and a sum per instruction; a fragment holds words of four k.  */
void compute_dp4a(Kernel *k, const Node *n) {
    Cg *cg = k->cg;
    const Side *a = &k->c.side[0], *b = &k->c.side[1];
    const char *body = k->c.bodies > 1 ? "kb" : NULL;
    cg_line(cg, "// compute: %d k, four at a time", n->to);
    cg_line(cg, "#pragma unroll");
    cg_open(cg, "for (int kk = 0; kk < %d; kk += TK)", n->to);
    fragment_fetch(k, a, body, "kk", "0");
    fragment_fetch(k, b, body, "kk", "0");
    cg_line(cg, "#pragma unroll");
    cg_open(cg, "for (int f = 0; f < TK / 4; f++)");
    cg_line(cg, "#pragma unroll");
    cg_open(cg, "for (int i = 0; i < TM; i++)");
    cg_line(cg, "#pragma unroll");
    cg_line(cg, "for (int j = 0; j < TN; j++)");
    cg_line(cg, "    acc[i][j] = rl_dp4a_%c%c(a_frag[f][i], b_frag[f][j], acc[i][j]);",
            a->tile == TE_U8 ? 'u' : 's', b->tile == TE_U8 ? 'u' : 's');
    cg_close(cg);
    cg_close(cg);
    cg_close(cg);
}
