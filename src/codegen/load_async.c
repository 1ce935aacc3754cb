#include "codegen/blocks.h"

/* cp.async: global to shared memory without registers; what lies outside arrives as zeros.  */
void load_async(Kernel *k, const Side *s) {
    Cg *cg = k->cg;
    cg_line(cg, "#pragma unroll");
    cg_open(cg, "for (int i = 0; i < %d; i++)", s->per_thread);
    const char *live = address_live(k, s);
    if (live) cg_open(cg, "if (%s)", live);
    const char *source = address_source(k, s), *test = address_test(k, s);
    const char *to = address_chunk(k, s);
    to = s->elem > 1 ? cg_text(cg, "(%s) * %d", to, s->elem) : to;
    cg_line(cg, "rl_cp_async_%d(shared%s + %c_TILE + %s, %s, %s);", s->l->vec * s->elem,
            load_stage(k, "put"), s->id - 32, to, source, test ? test : "true");
    if (live) cg_close(cg);
    cg_close(cg);
}
