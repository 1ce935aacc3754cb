#include "base/numeric.h"
#include "sim/async_target.h"

#include <math.h>
#include <string.h>

static bool is_real(PtxType t) {
    return t == PTX_F16 || t == PTX_BF16 || t == PTX_F32 || t == PTX_F64;
}

static const PtxMod operators[] = {MOD_ADD, MOD_MIN, MOD_MAX, MOD_INC, MOD_DEC, MOD_AND, MOD_OR, MOD_XOR};

bool async_reduce_allowed(const AsyncReduce *r) {
    PtxType t = r->type;
    switch (r->op) {
    case MOD_ADD: return is_real(t) || t == PTX_U32 || t == PTX_S32 || t == PTX_U64 || t == PTX_S64;
    case MOD_MIN:
    case MOD_MAX:
        return t == PTX_F16 || t == PTX_BF16 || t == PTX_U32 || t == PTX_S32 || t == PTX_U64 ||
               t == PTX_S64;
    case MOD_INC:
    case MOD_DEC: return t == PTX_U32;
    default: return t == PTX_B32 || t == PTX_B64;
    }
}

bool async_take_reduce(SimPick *k, bool typed, AsyncReduce *out) {
    out->op = MOD_COUNT;
    for (size_t i = 0; i < sizeof operators / sizeof *operators; i++) {
        if (sim_take(k, operators[i])) out->op = operators[i];
    }
    sim_take(k, MOD_NOFTZ);
    out->type = typed ? sim_take_type(k) : PTX_NONE;
    if (out->op != MOD_COUNT && (!typed || async_reduce_allowed(out))) return true;
    sim_pick_fail(k, "has no such reduction");
    return false;
}

static uint64_t integer(PtxMod op, bool is_signed, uint64_t a, uint64_t b) {
    switch (op) {
    case MOD_ADD: return a + b;
    case MOD_MIN: return (is_signed ? (int64_t)b < (int64_t)a : b < a) ? b : a;
    case MOD_MAX: return (is_signed ? (int64_t)b > (int64_t)a : b > a) ? b : a;
    case MOD_INC: return a >= b ? 0 : a + 1;
    case MOD_DEC: return a == 0 || a > b ? b : a - 1;
    case MOD_AND: return a & b;
    case MOD_OR: return a | b;
    default: return a ^ b;
    }
}

static double real(PtxMod op, double a, double b) {
    return op == MOD_ADD ? a + b : op == MOD_MIN ? fmin(a, b) : fmax(a, b);
}

static uint64_t element(const AsyncReduce *r, uint64_t a, uint64_t b) {
    switch (r->type) {
    case PTX_F16:
        return num_f16_encode(real(r->op, num_f16_decode((uint16_t)a), num_f16_decode((uint16_t)b)),
                              ROUND_NEAREST_EVEN, false);
    case PTX_BF16:
        return num_bf16_encode(real(r->op, num_bf16_decode((uint16_t)a), num_bf16_decode((uint16_t)b)),
                               ROUND_NEAREST_EVEN, false);
    case PTX_F32: {
        uint32_t x = (uint32_t)a, y = (uint32_t)b;
        float u, v;
        memcpy(&u, &x, 4);
        memcpy(&v, &y, 4);
        u += v;
        memcpy(&x, &u, 4);
        return x;
    }
    case PTX_F64: {
        double u, v;
        memcpy(&u, &a, 8);
        memcpy(&v, &b, 8);
        u += v;
        memcpy(&a, &u, 8);
        return a;
    }
    case PTX_S32:
        return integer(r->op, true, (uint64_t)(int64_t)(int32_t)a, (uint64_t)(int64_t)(int32_t)b);
    case PTX_S64: return integer(r->op, true, a, b);
    default: return integer(r->op, false, a, b);
    }
}

void async_reduce(const AsyncReduce *r, unsigned char *to, const unsigned char *from,
                  uint32_t bytes) {
    uint32_t size = (uint32_t)sim_type_bits(r->type) / 8;
    for (uint32_t at = 0; at + size <= bytes; at += size) {
        uint64_t a = 0, b = 0;
        memcpy(&a, to + at, size);
        memcpy(&b, from + at, size);
        a = element(r, a, b);
        memcpy(to + at, &a, size);
    }
}
