#include "te/eval/eval_impl.h"
#include "base/numeric.h"
#include <math.h>
#include <string.h>

/* What the last element would lie behind the last one that there is.  */
static int64_t beyond(const TeTensor *t, const TeClip *c) {
    int64_t last = 0, stride = 0;
    for (int d = 0; d < t->rank; d++) {
        if (c->weight[d] == 0) continue;
        last += c->weight[d] * (t->shape[d].value - 1);
        stride = t->stride[d].value / c->weight[d];
    }
    return (last - (c->end - 1)) * stride;
}

bool te_tensor_has(const TeTensor *t, const int64_t *at) {
    for (int c = 0; c < t->n_clip; c++) {
        int64_t place = 0;
        for (int d = 0; d < t->rank; d++) place += t->clip[c].weight[d] * at[d];
        if (place >= t->clip[c].end) return false;
    }
    return true;
}

size_t te_tensor_bytes(const TeTensor *t) {
    int64_t last = 0;
    for (int d = 0; d < t->rank; d++) {
        if (t->shape[d].value == 0)
            return 0;
        last += (t->shape[d].value - 1) * t->stride[d].value;
    }
    for (int c = 0; c < t->n_clip; c++) last -= beyond(t, &t->clip[c]);
    return (size_t)(last + 1) * (size_t)te_dtype_bytes(t->dtype);
}

int64_t te_tensor_count(const TeTensor *t) {
    int64_t n = 1;
    for (int d = 0; d < te_own_rank(t); d++)
        n *= t->shape[d].value;
    return n;
}

int64_t te_tensor_offset(const TeTensor *t, const int64_t *at) {
    int64_t n = 0;
    for (int d = 0; d < t->rank; d++)
        n += at[d] * t->stride[d].value;
    return n;
}

/* By falling strides, each as often as it fits.  */
bool te_tensor_at(const TeTensor *t, int64_t offset, int64_t *at) {
    int own = te_own_rank(t);
    int64_t left = offset, below = INT64_MAX;
    for (int n = 0; n < own; n++) {
        int d = -1;
        for (int k = own - 1; k >= 0; k--) {
            int64_t x = t->stride[k].value, best = d < 0 ? -1 : t->stride[d].value;
            if (x < below && x > best) d = k;
        }
        if (d < 0) break;
        below = t->stride[d].value;
        for (int k = 0; k < own; k++) {    /* dimensions of one place may share a stride */
            if (t->stride[k].value != below) continue;
            int64_t i = below ? left / below : 0, most = t->shape[k].value - 1;
            at[k] = i < most ? i : most;
            left -= at[k] * below;
        }
    }
    return left == 0 && te_tensor_has(t, at);
}

double eval_round(TeDtype t, double v) {
    switch (t) {
    case TE_F32:
        return (double)num_f32_encode(v, ROUND_NEAREST_EVEN);
    case TE_F16:
        return num_f16_decode(num_f16_encode(v, ROUND_NEAREST_EVEN, false));
    case TE_BF16:
        return num_bf16_decode(num_bf16_encode(v, ROUND_NEAREST_EVEN, false));
    case TE_F8E4M3:
        return num_e4m3_decode(num_e4m3_encode(v, ROUND_NEAREST_EVEN));
    case TE_F8E5M2:
        return num_e5m2_decode(num_e5m2_encode(v, ROUND_NEAREST_EVEN, true));
    case TE_F6E3M2:
        return num_e3m2_decode(num_e3m2_encode(v));
    case TE_F6E2M3:
        return num_e2m3_decode(num_e2m3_encode(v));
    case TE_F4E2M1:
        return num_e2m1_decode(num_e2m1_encode(v));
    case TE_F8UE4M3:
        return num_ue4m3_decode(num_ue4m3_encode(v));
    case TE_F8UE8M0:
        return num_ue8m0_decode(num_ue8m0_encode(v));
    default:
        return v;
    }
}

int64_t eval_wrap(TeDtype t, uint64_t v) {
    switch (t) {
    case TE_I32:
        return (int32_t)(uint32_t)v;
    case TE_I16:
        return (int16_t)(uint16_t)v;
    case TE_I8:
        return (int8_t)(uint8_t)v;
    case TE_U8:
    case TE_F4E2M1X2:
        return (uint8_t)v;
    case TE_BOOL:
        return v != 0;
    default:
        return (int64_t)v;
    }
}

void lanes_wrap(TeDtype t, int64_t *i, int n) {
    if (t == TE_I32) {
        for (int j = 0; j < n; j++) i[j] = (int32_t)(uint32_t)i[j];
    } else if (t != TE_I64) {
        for (int j = 0; j < n; j++) i[j] = eval_wrap(t, (uint64_t)i[j]);
    }
}

/* Truncated, with the last bit set if that lost anything: rounding this to any narrower format
 * gives what rounding i would.  */
double eval_real(int64_t i) {
    int64_t limit = (int64_t)1 << 53;
    if (i >= -limit && i <= limit)
        return (double)i;
    uint64_t mag = i < 0 ? 0 - (uint64_t)i : (uint64_t)i;
    int drop = 0;
    while (mag >> drop >= (uint64_t)limit)
        drop++;
    uint64_t kept = mag >> drop | ((mag & (((uint64_t)1 << drop) - 1)) != 0);
    double v = ldexp((double)kept, drop);
    return i < 0 ? -v : v;
}

typedef union {
    double f64;
    float f32;
    uint16_t u16;
    int64_t i64;
    int32_t i32;
    int16_t i16;
    int8_t i8;
    uint8_t u8;
} Element;

TeValue te_load(TeDtype t, const void *p) {
    TeValue out = {0};
    Element x;
    memcpy(&x, p, (size_t)te_dtype_bytes(t));
    switch (t) {
    case TE_F64: out.v = x.f64; break;
    case TE_F32: out.v = (double)x.f32; break;
    case TE_F16: out.v = num_f16_decode(x.u16); break;
    case TE_BF16: out.v = num_bf16_decode(x.u16); break;
    case TE_F8E4M3: out.v = num_e4m3_decode(x.u8); break;
    case TE_F8E5M2: out.v = num_e5m2_decode(x.u8); break;
    case TE_F6E3M2: out.v = num_e3m2_decode(x.u8); break;
    case TE_F6E2M3: out.v = num_e2m3_decode(x.u8); break;
    case TE_F4E2M1: out.v = num_e2m1_decode(x.u8); break;
    case TE_F8UE4M3: out.v = num_ue4m3_decode(x.u8); break;
    case TE_F8UE8M0: out.v = num_ue8m0_decode(x.u8); break;
    case TE_I64: out.i = x.i64; break;
    case TE_I32: out.i = x.i32; break;
    case TE_I16: out.i = x.i16; break;
    case TE_I8: out.i = x.i8; break;
    case TE_F4E2M1X2:
    case TE_U8: out.i = x.u8; break;
    default: out.i = x.u8 != 0; break;
    }
    return out;
}

void te_store(TeDtype t, const TeValue *v, void *p) {
    Element x;
    switch (t) {
    case TE_F64: x.f64 = v->v; break;
    case TE_F32: x.f32 = num_f32_encode(v->v, ROUND_NEAREST_EVEN); break;
    case TE_F16: x.u16 = num_f16_encode(v->v, ROUND_NEAREST_EVEN, false); break;
    case TE_BF16: x.u16 = num_bf16_encode(v->v, ROUND_NEAREST_EVEN, false); break;
    case TE_F8E4M3: x.u8 = num_e4m3_encode(v->v, ROUND_NEAREST_EVEN); break;
    case TE_F8E5M2: x.u8 = num_e5m2_encode(v->v, ROUND_NEAREST_EVEN, true); break;
    case TE_F6E3M2: x.u8 = num_e3m2_encode(v->v); break;
    case TE_F6E2M3: x.u8 = num_e2m3_encode(v->v); break;
    case TE_F4E2M1: x.u8 = num_e2m1_encode(v->v); break;
    case TE_F8UE4M3: x.u8 = num_ue4m3_encode(v->v); break;
    case TE_F8UE8M0: x.u8 = num_ue8m0_encode(v->v); break;
    case TE_I64: x.i64 = v->i; break;
    case TE_I32: x.i32 = (int32_t)eval_wrap(t, (uint64_t)v->i); break;
    case TE_I16: x.i16 = (int16_t)eval_wrap(t, (uint64_t)v->i); break;
    case TE_I8: x.i8 = (int8_t)eval_wrap(t, (uint64_t)v->i); break;
    case TE_F4E2M1X2:
    case TE_U8: x.u8 = (uint8_t)v->i; break;
    default: x.u8 = v->i != 0; break;
    }
    memcpy(p, &x, (size_t)te_dtype_bytes(t));
}

/* Rounding is monotonic: what rounds a value within the bound lies between the rounded ends.  The
 * bound itself was computed in f64 and is widened by what that may have lost.  Where it has room
 * for the store's rounding, that is no reason to be farther off.  */
static TeVerdict judge_real(TeDtype t, double got, const TeValue *want, bool exact) {
    double nearest = eval_round(t, want->v);    /* of NaN a number, in types without it */
    if (isnan(nearest) || isnan(got))
        return isnan(nearest) && isnan(got) ? TE_RIGHT : TE_WRONG;
    if (isnan(want->v)) return nearest == got ? TE_RIGHT : TE_WRONG;
    if (exact && want->bound == 0) {
        bool sign = !signbit(nearest) == !signbit(got) || (nearest == 0 && want->any_zero);
        return nearest == got && sign ? TE_RIGHT : TE_WRONG;
    }
    double bound = isinf(want->v) ? 0 : want->bound * (1 + 0x1p-30);
    if (want->rounded && bound > 0)
        return fabs(got - want->v) <= bound ? TE_RIGHT : TE_WRONG;
    double lo = eval_round(t, want->v - bound), hi = eval_round(t, want->v + bound);
    return lo <= got && got <= hi ? TE_RIGHT : TE_WRONG;
}

TeVerdict te_judge(TeDtype t, const void *p, const TeValue *want, bool exact) {
    if (want->undecided)
        return TE_UNDECIDED;
    TeValue got = te_load(t, p);
    if (te_dtype_class(t) == TE_CLASS_REAL)
        return judge_real(t, got.v, want, exact);
    return got.i == eval_wrap(t, (uint64_t)want->i) ? TE_RIGHT : TE_WRONG;
}
