#include "codegen/blocks.h"

bool fragment_multiplies(const Kernel *k) {
    const Contraction *con = &k->c.p->con;
    bool real = te_dtype_class(con->acc) == TE_CLASS_REAL;
    return con->product && con->red == TE_RED_SUM && (real || con->body->type == con->acc);
}

TeDtype fragment_type(const Kernel *k, const Side *s) {
    return fragment_multiplies(k) ? k->c.p->con.acc : s->o->compute;
}

static int depth_of(const Side *s) {
    return s->ahead ? 2 : s->fragment_k;
}

void fragment_declare(Kernel *k) {
    for (int i = 0; i < 2; i++) {
        const Side *s = &k->c.side[i];
        if (!s->present) continue;
        const char *type = k->c.packed ? "int" : cg_type(fragment_type(k, s));
        cg_line(k->cg, "%s %c_frag[%d][%s];", type, s->id, depth_of(s), s->side ? "TN" : "TM");
    }
}

static const char *converted(const Kernel *k, const Side *s, const char *element) {
    const char *x = cg_decode(k->cg, s->tile, element);
    return cg_convert(k->cg, fragment_type(k, s), s->o->compute, x);
}

/* k inner: for each row or column of the thread, fragment_k neighbours along k in one access.  */
static void fetch_along_k(Kernel *k, const Side *s, const char *from, const char *kk) {
    Cg *cg = k->cg;
    char axis = s->side ? 'N' : 'M';
    const char *pos = s->side ? "col" : "row";
    const char *mn = s->vec > 1 ? cg_text(cg, "(%s + i / V%c * (L%c * V%c) + i %% V%c)", pos, axis,
                                          axis, axis, axis)
                                : cg_text(cg, "(%s + i * L%c)", pos, axis);
    const char *at = address_tile(k, s, mn, kk);
    cg_line(cg, "#pragma unroll");
    cg_open(cg, "for (int i = 0; i < T%c; i++)", axis);
    if (k->c.packed)
        cg_line(cg, "const rl_vec<int, %d> x = rl_load<%d>(reinterpret_cast<const int *>(%s + %s));",
                s->fragment_k, s->fragment_k, from, at);
    else
        cg_line(cg, "const rl_vec<%s, %d> x = rl_load<%d>(%s + %s);", cg_storage(s->tile),
                s->fragment_k, s->fragment_k, from, at);
    cg_line(cg, "#pragma unroll");
    cg_line(cg, "for (int f = 0; f < %d; f++) %c_frag[f][i] = %s;", s->fragment_k, s->id,
            k->c.packed ? "x.v[f]" : converted(k, s, "x.v[f]"));
    cg_close(cg);
}

/* Its own axis inner: vectors of neighbouring rows or columns.  Also one k of an operand with k inner
 * that is fetched ahead: single elements.  */
static void fetch_across(Kernel *k, const Side *s, const char *from, const char *kk,
                         const char *buffer) {
    Cg *cg = k->cg;
    char axis = s->side ? 'N' : 'M';
    const char *pos = s->side ? "col" : "row";
    int vec = s->inner_k ? 1 : s->vec;
    const char *mn = cg_text(cg, "(%s + i * L%c)", pos, axis);
    if (s->inner_k && s->vec > 1)
        mn = cg_text(cg, "(%s + i / V%c * (L%c * V%c) + i %% V%c)", pos, axis, axis, axis, axis);
    cg_line(cg, "#pragma unroll");
    cg_open(cg, "for (int i = 0; i < T%c; i += %d)", axis, vec);
    cg_line(cg, "const rl_vec<%s, %d> x = rl_load<%d>(%s + %s);", cg_storage(s->tile), vec, vec, from,
            address_tile(k, s, mn, kk));
    cg_line(cg, "#pragma unroll");
    cg_line(cg, "for (int v = 0; v < %d; v++) %c_frag[%s][i + v] = %s;", vec, s->id, buffer,
            converted(k, s, "x.v[v]"));
    cg_close(cg);
}

void fragment_fetch(Kernel *k, const Side *s, const char *kk, const char *buffer) {
    Cg *cg = k->cg;
    const char *type = cg_storage(s->tile);
    if (k->c.warps[AX_K] > 1) kk = cg_text(cg, "(k_warp + %s)", kk);
    cg_scope(cg);
    cg_line(cg, "const %s *const from = reinterpret_cast<const %s *>(smem%s + %c_TILE);", type, type,
            load_stage(k, "take"), s->id - 32);
    if (s->fragment_k > 1 || k->c.packed)
        fetch_along_k(k, s, "from", kk);
    else
        fetch_across(k, s, "from", kk, buffer);
    cg_close(cg);
}

void fragment_first(Kernel *k) {
    const Contract *c = &k->c;
    bool certain = !c->may_be_empty && c->steps > 0;
    cg_line(k->cg, "// fragment: registers of the first k");
    if (!certain) cg_open(k->cg, "if (0 < steps)");
    for (int i = 0; i < 2; i++) {
        if (c->side[i].present && c->side[i].ahead) fragment_fetch(k, &c->side[i], "0", "0");
    }
    if (!certain) cg_close(k->cg);
    cg_blank(k->cg);
}
