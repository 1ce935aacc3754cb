/* links: microperf */
#include "plan_fixture.h"

#include "base/file.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

Device *fixture_device(Arena *a, const char *name) {
    Diag d = diag_new(a);
    char *text = NULL;
    size_t len = 0;
    const char *file = arena_printf(a, "profiles/%s.json", name);
    Device *dev = NULL;
    if (file_read(a, &d, file, 1 << 22, &text, &len) != ST_OK ||
        hal_profile_read(a, &d, (DiagText){file, text, len}, &dev) != ST_OK) {
        fail_msg("%s: %s", file, d.count ? d.messages[0].message : "not read");
    }
    return dev;
}

static int64_t lowest(int64_t v) { return v & -v; }

/* The widest vector of a run of `run` elements whose neighbours lie `stride` apart.  */
static int vector(int64_t run, int64_t stride, int bytes) {
    int64_t v = lowest(run) < lowest(stride) ? lowest(run) : lowest(stride);
    return (int)(v * bytes > 16 ? 16 / bytes : v);
}

Problem fixture_matmul(int64_t b, int64_t m, int64_t n, int64_t k, bool ta, bool tb, TeDtype type) {
    int bytes = te_dtype_bytes(type);
    TeDtype compute = te_dtype_compute(type);
    int elem = te_dtype_bytes(compute);
    Problem p = {.contraction = true, .type = compute, .acc_bytes = elem};
    p.extent[AX_B] = b;
    p.extent[AX_M] = m;
    p.extent[AX_N] = n;
    p.extent[AX_K] = k;
    memcpy(p.multiple, p.extent, sizeof p.multiple);
    p.con.red = TE_RED_SUM;
    p.con.product = true;
    p.con.acc = compute;
    p.con.n_operand = p.n_operand = 2;
    p.accum = TE_DTYPE_COUNT;
    p.con.operand[0].storage = p.con.operand[1].storage = type;
    p.con.operand[0].compute = p.con.operand[1].compute = compute;
    for (int side = 0; side < 2; side++) {
        int64_t own = side ? n : m;
        bool k_contiguous = side ? tb : !ta;
        ROperand *op = &p.op[side];
        *op = (ROperand){.copyable = type == compute,
                         .affine = true,
                         .value = type,
                         .bytes = bytes,
                         .elem = elem,
                         .vec_mn = 1,
                         .vec_k = 1,
                         .run_mn = 1,
                         .run_k = 1,
                         .unique = b * own * k,
                         .digits_mn = 1,
                         .digits_k = 1};
        if (k_contiguous) {
            op->vec_k = vector(k, k, bytes);
            op->run_k = k;
            op->stride_k = 1;
            op->stride_mn = k;
        } else {
            op->vec_mn = vector(own, own, bytes);
            op->run_mn = own;
            op->stride_mn = 1;
            op->stride_k = own;
        }
    }
    p.out_vec = vector(n, n, bytes);
    p.out_run = n;
    p.out_step = 1;
    p.out_bytes = b * m * n * bytes;
    p.read_bytes = (p.op[0].unique + p.op[1].unique) * bytes;
    p.flops = 2.0 * (double)b * (double)m * (double)n * (double)k;
    return p;
}

Problem fixture_conv(int64_t n, int64_t c, int64_t hw, int64_t f, int64_t rs, int64_t stride,
                     int64_t pad) {
    int64_t out = (hw + 2 * pad - rs) / stride + 1;
    Problem p = fixture_matmul(1, f, n * out * out, c * rs * rs, false, false, TE_F32);
    ROperand *x = &p.op[1];
    bool plain = rs == 1 && stride == 1 && pad == 0;
    x->unique = n * c * hw * hw;
    x->stride_mn = stride;
    x->stride_k = rs > 1 ? 1 : hw * hw;
    x->run_mn = plain ? hw * hw : stride == 1 ? out : 1;
    x->vec_mn = plain ? vector(hw * hw, hw * hw, 4) : 1;
    x->digits_mn = plain ? 2 : 3;
    x->digits_k = rs > 1 ? 3 : 1;
    x->guarded = pad > 0;
    p.out_run = out * out;
    p.out_step = 1;
    p.out_vec = vector(out * out, out * out, 4);
    p.read_bytes = (p.op[0].unique + x->unique) * 4;
    return p;
}

Problem fixture_map(int64_t n, TeDtype type) {
    int bytes = te_dtype_bytes(type), vec = vector(n, n, bytes);
    Problem p = {.type = te_dtype_compute(type), .acc_bytes = 4, .out_vec = vec, .flat_vec = vec,
                 .out_run = n, .out_step = 1, .out_bytes = n * bytes, .read_bytes = n * bytes,
                 .epilogue_ops = 0, .body_ops = 1, .flops = (double)n};
    p.extent[AX_B] = p.extent[AX_N] = p.extent[AX_K] = 1;
    p.extent[AX_M] = n;
    memcpy(p.multiple, p.extent, sizeof p.multiple);
    p.n_operand = 1;
    p.op[0] = (ROperand){.affine = true,
                         .bytes = bytes,
                         .elem = bytes,
                         .vec_mn = vec,
                         .vec_k = 1,
                         .run_mn = n,
                         .run_k = 1,
                         .unique = n,
                         .stride_mn = 1,
                         .digits_mn = 1};
    return p;
}
