#include "codegen/blocks.h"
#include <string.h>

bool fragment_multiplies(const Kernel *k) {
    const Contraction *con = &k->c.p->con;
    bool real = te_dtype_class(con->acc) == TE_CLASS_REAL;
    return con->product && con->red == TE_RED_SUM && (real || con->body->type == con->acc);
}

static TeDtype type_of(const Kernel *k, const Side *s) {
    return fragment_multiplies(k) ? k->c.p->con.acc : s->o->compute;
}

static int depth_of(const Side *s) { return s->ahead ? 2 : s->fragment_k; }

void fragment_declare(Kernel *k) {
    for (int i = 0; i < 2; i++) {
        const Side *s = &k->c.side[i];
        if (!s->present) continue;
        const char *type = k->c.packed ? "int" : cg_type(type_of(k, s));
        cg_line(k->cg, "%s %c_frag[%d][%s];", type, s->id, depth_of(s), s->side ? "TN" : "TM");
    }
}

static const char *converted(const Kernel *k, const Side *s, const char *element) {
    const char *x = text_decode(k->cg, s->tile, element);
    return text_convert(k->cg, type_of(k, s), s->o->compute, x);
}

/* Distance of register i from the thread's first row or column.  */
static const char *register_at(const Kernel *k, const Side *s) {
    char axis = s->side ? 'N' : 'M';
    if (s->vec == 1 || !s->inner_k) return cg_text(k->cg, "i * L%c", axis);
    return cg_text(k->cg, "(i / V%c * (L%c * V%c) + i %% V%c)", axis, axis, axis, axis);
}

/* Elements after which a swizzle repeats along a row, rows after which it repeats.  */
static int swizzle_elements(const Side *s) {
    return (16 / s->elem) << (s->l->layout.base + s->l->layout.bits);
}

static int swizzle_of(const RLayout *l, int row) { return row >> l->shift & ((1 << l->bits) - 1); }

/* Does a swizzle flip the same bits in all rows that a thread reads?  The first one is a multiple
 * of its vector.  */
static bool same_swizzle(const Side *s) {
    const RLayout *l = &s->l->layout;
    for (int first = 0; first < 1 << (l->shift + l->bits); first += s->vec) {
        for (int i = 0; i < s->thread; i++) {
            int at = first + i / s->vec * (s->lanes * s->vec) + i % s->vec;
            if (swizzle_of(l, at) != swizzle_of(l, first)) return false;
        }
    }
    return true;
}

/* What a swizzle flips in the positions of row r.  */
static const char *swizzle_text(const Kernel *k, const Side *s, const char *r) {
    const RLayout *l = &s->l->layout;
    int log_elem = s->elem == 1 ? 0 : s->elem == 2 ? 1 : s->elem == 4 ? 2 : 3;
    return cg_text(k->cg, "(%s >> %d & %d) << %d", r, l->shift, (1 << l->bits) - 1,
                   l->base + 4 - log_elem);
}

/* Where a fetch begins: all that is not known when the text is compiled, so that the accesses
 * differ by constants only.  `at` is k in the warp's part of the stage, `dynamic` + `fixed`.  What
 * a swizzle makes of a constant is added to the pointer first, the access's own constant to that:
 * of a sum of both the compiler makes an OR, and then each access has an address of its own.  */
typedef struct {
    const char *dynamic, *fixed;
} FragmentK;

static const char *plus(const Cg *cg, const char *x, const char *y) {
    return x && y ? cg_text(cg, "%s + %s", x, y) : x ? x : y;
}

static const char *begin_along_k(const Kernel *k, const Side *s, FragmentK at, const char **each) {
    const Cg *cg = k->cg;
    const RLayout *l = &s->l->layout;
    const char *pos = s->side ? "col" : "row", *i = register_at(k, s);
    const char *begin = cg_text(cg, "%s * %c_ROW", pos, s->id - 32);
    if (l->bits == 0) {
        *each = cg_text(cg, "(%s * %c_ROW + %s)", i, s->id - 32, at.fixed);
        return plus(cg, begin, at.dynamic);
    }
    const char *mask = swizzle_text(k, s, same_swizzle(s) ? pos : cg_text(cg, "(%s + %s)", pos, i));
    bool apart = !at.dynamic || k->c.r->unroll % swizzle_elements(s) == 0;
    const char *kk = apart ? at.fixed : cg_text(cg, "(%s + %s)", at.dynamic, at.fixed);
    *each = cg_text(cg, "(%s ^ %s) + %s * %c_ROW", kk, mask, i, s->id - 32);
    return apart ? plus(cg, begin, at.dynamic) : begin;
}

static const char *begin_across(const Kernel *k, const Side *s, FragmentK at, const char **each) {
    const Cg *cg = k->cg;
    const char *pos = s->side ? "col" : "row", *i = register_at(k, s);
    const char *begin = at.dynamic ? cg_text(cg, "(%s) * %c_ROW", at.dynamic, s->id - 32) : NULL;
    bool first = strcmp(at.fixed, "0") == 0;
    *each = first ? i : cg_text(cg, "%s * %c_ROW + %s", at.fixed, s->id - 32, i);
    if (s->l->layout.bits == 0) return plus(cg, begin, pos);
    const char *kk = at.dynamic ? cg_text(cg, "(%s + %s)", at.dynamic, at.fixed) : at.fixed;
    const char *mask = swizzle_text(k, s, kk);
    if (s->lanes * s->vec % swizzle_elements(s) == 0)
        *each = cg_text(cg, "%s + (%s ^ %s)", *each, pos, mask);
    else *each = cg_text(cg, "%s * %c_ROW + ((%s + %s) ^ %s)", at.fixed, s->id - 32, pos, i, mask);
    return begin;
}

/* k inner: for each row or column of the thread, fragment_k neighbours along k in one access.  */
static void fetch_along_k(Kernel *k, const Side *s, const char *each, const char *buffer) {
    Cg *cg = k->cg;
    bool group = !s->ahead;
    int n = group ? s->fragment_k : 1;
    cg_line(cg, "#pragma unroll");
    cg_open(cg, "for (int i = 0; i < T%c; i++)", s->side ? 'N' : 'M');
    const char *type = k->c.packed ? "int" : cg_storage(s->tile);
    const char *from = k->c.packed ? cg_text(cg, "reinterpret_cast<const int *>(from + %s)", each)
                                   : cg_text(cg, "from + %s", each);
    cg_line(cg, "const rl_vec<%s, %d> x = rl_load<%d>(%s);", type, n, n, from);
    if (group) {
        cg_line(cg, "#pragma unroll");
        cg_line(cg, "for (int f = 0; f < %d; f++) %c_frag[f][i] = %s;", n, s->id,
                k->c.packed ? "x.v[f]" : converted(k, s, "x.v[f]"));
    } else {
        cg_line(cg, "%c_frag[%s][i] = %s;", s->id, buffer, converted(k, s, "x.v[0]"));
    }
    cg_close(cg);
}

/* Its own axis inner: vectors of neighbouring rows or columns.  */
static void fetch_across(Kernel *k, const Side *s, const char *each, const char *buffer) {
    Cg *cg = k->cg;
    cg_line(cg, "#pragma unroll");
    cg_open(cg, "for (int i = 0; i < T%c; i += %d)", s->side ? 'N' : 'M', s->vec);
    cg_line(cg, "const rl_vec<%s, %d> x = rl_load<%d>(from + (%s));", cg_storage(s->tile), s->vec,
            s->vec, each);
    cg_line(cg, "#pragma unroll");
    cg_line(cg, "for (int v = 0; v < %d; v++) %c_frag[%s][i + v] = %s;", s->vec, s->id, buffer,
            converted(k, s, "x.v[v]"));
    cg_close(cg);
}

/* From the region: each row or column by itself.  */
static void fetch_region(Kernel *k, const Side *s, FragmentK at, const char *buffer) {
    Cg *cg = k->cg;
    cg_scope(cg);
    cg_line(cg, "const int from = reinterpret_cast<const int *>(smem + %c_places)[%s];", s->id,
            plus(cg, at.dynamic, at.fixed));
    cg_line(cg, "#pragma unroll");
    cg_line(cg, "for (int i = 0; i < T%c; i++) %c_frag[%s][i] = %s;", s->side ? 'N' : 'M', s->id,
            buffer, converted(k, s, region_element(k, s)));
    cg_close(cg);
}

void fragment_fetch(Kernel *k, const Side *s, const char *dynamic, const char *fixed,
                    const char *buffer) {
    Cg *cg = k->cg;
    const char *type = cg_storage(s->tile), *each;
    FragmentK at = {dynamic, fixed};
    if (k->c.warps[AX_K] > 1) at.dynamic = plus(cg, "k_warp", dynamic);
    if (s->l->region) {
        fetch_region(k, s, at, buffer);
        return;
    }
    const char *begin = s->inner_k ? begin_along_k(k, s, at, &each) : begin_across(k, s, at, &each);
    cg_scope(cg);
    cg_line(cg, "const %s *const from = reinterpret_cast<const %s *>(smem%s + %c_TILE)%s%s;", type,
            type, load_stage(k, "take"), s->id - 32, begin ? " + " : "",
            begin ? cg_text(cg, "(%s)", begin) : "");
    if (s->inner_k) fetch_along_k(k, s, each, buffer);
    else fetch_across(k, s, each, buffer);
    cg_close(cg);
}

void fragment_first(Kernel *k) {
    for (int i = 0; i < 2; i++) {
        const Side *s = &k->c.side[i];
        if (s->present && s->ahead) fragment_fetch(k, s, NULL, "0", "0");
    }
}
