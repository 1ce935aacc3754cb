#include "codegen/sizes.h"
#include "codegen/blocks.h"
#include "codegen/product.h"

/* Sums of a product that several blocks have a part of: each stores its own in the workspace, a
 * second kernel adds them in a fixed order.  Of split reductions they lie as [split][B][M][N].  */

void sums_pointer(Kernel *k, const char *offset) {
    const char *type = cg_type(k->l->p->con.acc);
    cg_line(k->cg, "%s *const sums = reinterpret_cast<%s *>(%s)%s;", type, type,
            text_partials(k->cg), offset);
}

/* Pointers to the thread's sums, split or of a tail's segment.  */
void sums_pointers(Kernel *k) {
    Cg *cg = k->cg;
    Ir slice = ir_cast(cg, IR_I64, ir_block(cg, 1));
    if (k->l->r->tail > 0) {
        store_sums(k, ir_unary(cg, IR_NEG, product_first(k, AX_M)),
                   ir_unary(cg, IR_NEG, product_first(k, AX_N)), product_size(cg, 'B', AX_N));
        return;
    }
    TeExtent batch = index_extent(cg->arena, &k->l->map, AX_B);
    if (k->l->p->extent[AX_B] > 1)
        slice = ir_add(cg, ir_mul(cg, slice, size_value(cg, batch)), product_int(cg, "b"));
    store_sums(k, ir_mul(cg, slice, product_int(cg, "M")), NULL, product_int(cg, "N"));
}

void sums_open(Kernel *k) {
    elements_place_outputs(k);
    sums_pointers(k);
    elements_open_outputs(k);
}

void sums_store(Kernel *k) {
    Cg *cg = k->cg;
    Ir first = k->c.matrix.used ? mma_element(k, ir_int(cg, 0))
                                : product_sum(k, product_int(cg, "i"), product_int(cg, "j"));
    ir_store(cg, "rl_store_global", k->l->vec, k->at.sums, ir_unary(cg, IR_ADDRESS, first));
}

/* The elements at b, m, n.  */
void sums_elements(Kernel *k) {
    static const char *const name[] = {[AX_B] = "b", [AX_M] = "m", [AX_N] = "n"};
    for (int x = AX_B; x <= AX_N; x++) {
        bool wide = place_wide(k->l->p->extent[x], 0);
        place_axis(k, x, text_index(k->cg, name[x], wide), wide, k->at.index, k->at.wide);
    }
}

void sums_gather(Kernel *k, const char *array, const char *first, const char *loop,
                 const char *advance, const char *next) {
    Cg *cg = k->cg;
    int vec = k->at.vec;
    TeDtype type = k->l->p->con.acc;
    cg_line(cg, "rl_vec<%s, %d> sum = rl_load<%d>(%s + %s);", cg_type(type), vec, vec, array,
            first);
    cg_line(cg, "#pragma unroll 4");
    cg_open(cg, "for (%s)", loop);
    if (advance) cg_line(cg, "%s", advance);
    Ir sums = ir_name(cg, ir_pointer(ir_compute(type), IR_GLOBAL, false), array);
    contract_add(k, text_value(cg, type, "sum.v[v]"), vec,
                 ir_add(cg, sums, text_index(cg, next, true)));
    cg_close(cg);
    k->at.root = text_value(cg, type, vec > 1 ? "sum.v[v]" : "sum.v[0]");
    k->at.root_type = type;
}

void reduce_split_sums(Kernel *k) {
    cg_line(k->cg, "// partial: sums of this slice to the workspace");
    sums_pointer(k, "");
}

void reduce_split_elements(Kernel *k) {
    Cg *cg = k->cg;
    const Problem *p = k->l->p;
    Elements *at = &k->at;
    TeExtent size[AX_K], total;
    const char *digit[AX_K];
    for (int x = AX_B; x <= AX_N; x++) size[x] = index_extent(cg->arena, &k->l->map, x);
    total = index_total(cg->arena, &k->l->map);
    bool wide = place_wide(total.value, k->l->launch.span);
    const char *type = place_type(wide);
    elements_order(k, k->l->vec);
    cg_line(cg, "// elements: %d at a time, the domain is [B][M][N]", at->vec);
    cg_line(cg, "%s %s TOTAL = %s;", total.expr ? "const" : "constexpr", type,
            text_number(cg, total));
    sums_pointer(k, "");
    cg_line(cg, "#pragma unroll 1");
    cg_open(cg, "for (int u = threadIdx.x; u < %lld; u += %d)",
            (long long)(k->l->launch.span / at->vec), k->l->launch.block[0]);
    cg_line(cg, "const %s at = (%s)blockIdx.x * %lld + u * %d;", type, type,
            (long long)k->l->launch.span, at->vec);
    cg_line(cg, "if (at >= TOTAL) break;");
    at->open = 1;
    text_digits(cg, "at", size, AX_K, wide, digit);
    for (int x = AX_B; x <= AX_N; x++)
        cg_line(cg, "const %s %c = %s;", place_type(place_wide(p->extent[x], 0)), "bmn"[x],
                digit[x]);
    sums_elements(k);
}

void reduce_split_gather(Kernel *k) {
    cg_line(k->cg, "// gather: the slices in order");
    const char *from = text_of(k->cg, place_taken(k, IR_I64, text_index(k->cg, "at", true)));
    sums_gather(k, "sums", from, cg_text(k->cg, "int s = 1; s < %d; s++", (int)k->l->r->split),
                NULL, cg_text(k->cg, "((long long)s * TOTAL + %s)", from));
}
