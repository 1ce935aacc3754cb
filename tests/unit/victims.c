/* links: sim */
#include "victims.h"

#include "plan_fixture.h"

const Victim victims[VICTIMS] = {
    {"asynchronous, ragged",
     "op f(A: f32[70,197], B: f32[197,50], b: f32[50]) -> C: f32[70,50] "
     "{ t[m,n] += A[m,k] * B[k,n]; C[m,n] = max(t[m,n] + b[n], 0); }",
     "h200", .skeleton = SK_CONTRACT},
    {"asynchronous, aligned",
     "op f(A: f32[128,256], B: f32[256,128]) -> C: f32[128,128] { C[m,n] += A[m,k] * B[k,n]; }",
     "a100", .slices = true, .skeleton = SK_CONTRACT},
    {"staged",
     "op f(A: f32[70,197], B: f32[50,197]) -> C: f32[70,50] { C[m,n] += A[m,k] * B[n,k]; }",
     "tiny", .skeleton = SK_CONTRACT},
    {"converted",
     "op f(A: f16[66,200], B: f16[200,36]) -> C: f16[66,36] { C[m,n] += A[m,k] * B[k,n]; }",
     "h200", .skeleton = SK_CONTRACT},
    {"convolution",
     "op f(X: f32[2,24,9,9], K: f32[12,24,3,3]) -> Y: f32[2,12,9,9] "
     "{ Y[n,f,p,q] += (X[n,c,p+r-1,q+s-1] else 0) * K[f,c,r,s]; }",
     "a100", .skeleton = SK_CONTRACT},
    {"region",
     "op f(X: f16[1,30,32,3], K: f16[7,7,3,16]) -> Y: f16[1,15,16,16] "
     "{ Y[n,p,q,f] += (X[n,p*2+r-3,q*2+s-3,c] else 0) * K[r,s,c,f]; }",
     "a100", .matrix = true, .skeleton = SK_CONTRACT, .region = true},
    {"matrix unit, ragged",
     "op f(A: f16[70,600], B: f16[56,600], b: f16[56]) -> C: f16[70,56] "
     "{ t[m,n] += A[m,k] * B[n,k]; C[m,n] = max(t[m,n] + b[n], 0); }",
     "a100", .matrix = true, .skeleton = SK_CONTRACT},
    {"matrix unit, slices",
     "op f(A: f16[64,512], B: f16[512,64]) -> C: f16[64,64] { C[m,n] += A[m,k] * B[k,n]; }",
     "a100", .slices = true, .matrix = true, .shared = true, .skeleton = SK_CONTRACT},
    {"rows",
     "op f(X: f32[13,777]) -> Y: f32[13,777] { m[n] = sum[c](X[n,c]); "
     "z[n] = sum[c](X[n,c] - m[n]); Y[n,c] = X[n,c] - m[n] + z[n]; }",
     "h200", .skeleton = SK_ROW},
    {"several rows",
     "op f(X: f32[13,77]) -> Y: f32[13,77] { m[n] = sum[c](X[n,c]); Y[n,c] = X[n,c] - m[n]; }",
     "h200", .several = true, .skeleton = SK_ROW},
    {"elements",
     "op f(X: f32[13,77]) -> Y: f32[13,77] { Y[m,n] = X[m,n] * 2 + (X[m+1,n] else 0); }",
     "h200", .skeleton = SK_STREAM},
    {"loops",
     "op f(X: f32[19,13]) -> Y: f32[13,19] { b[n] = argmax[c](X[c,n]); Y[n,c] = X[c,n] * b[n]; }",
     "h200", .skeleton = SK_STREAM},
    {"columns", "op f(X: f32[777,66]) -> Y: f32[66] { Y[c] += X[r,c]; }",
     "h200", .skeleton = SK_COLUMN},
    {"columns, deviations",
     "op f(X: f32[777,66]) -> (M: f32[66], V: f32[66]) { M[c] = sum[r](X[r,c] + 20) / 777; "
     "V[c] = sum[r]((X[r,c] + 20 - M[c]) * (X[r,c] + 20 - M[c])); }",
     "h200", .skeleton = SK_COLUMN, .inexact = true},
    {"columns, exponentials",
     "op f(X: f32[777,66]) -> (M: f32[66], Z: f32[66]) { M[c] = max[r](X[r,c]); "
     "Z[c] = sum[r](exp(X[r,c] - M[c])); }",
     "h200", .skeleton = SK_COLUMN, .inexact = true},
    {"windows",
     "op f(X: f32[2,3,19,23]) -> Y: f32[2,3,19,23] "
     "{ Y[n,c,p,q] = max[r,s](X[n,c,p+r-1,q+s-1] else -1.0) where r in 0:3, s in 0:3; }",
     "h200", .skeleton = SK_WINDOW},
    {"stencils",
     "op f(X: f32[5,19,23]) -> Y: f32[5,19,23] { Y[n,p,q] = (X[n,p-1,q] else 2) * 3 "
     "+ (X[n,p+1,q-1] else 2) * 5 + (X[n,p,q+2] else 2) * 7 - X[n,p,q]; }",
     "h200", .skeleton = SK_WINDOW},
    {"boxes", "op f(X: f32[77,66]) -> Y: f32[66,77] { Y[n,m] = X[m,n]; }",
     "h200", .skeleton = SK_PERMUTE},
    {"whole rows of a product",
     "op f(A: f16[40,112], B: f16[100,112]) -> Y: f32[40,100] { C[m,n] += A[m,k] * B[n,k]; "
     "s[m] = sum[n](C[m,n] + 1); Y[m,n] = C[m,n] - s[m]; }",
     "a100", .matrix = true, .skeleton = SK_CONTRACT, .stats = STATS_WHOLE},
    {"parts of rows of a product",
     "op f(A: f32[40,64], B: f32[610,64]) -> Y: f32[40,610] { C[m,n] += A[m,k] * B[n,k]; "
     "s[m] = sum[n](C[m,n] + 1); Y[m,n] = C[m,n] - s[m]; }",
     "a100", .skeleton = SK_CONTRACT, .stats = STATS_PARTIAL},
    {"parts that follow a maximum",
     "op f(A: f32[24,48], B: f32[90,48]) -> (Z: f32[24], H: f32[24]) { C[m,n] += A[m,k] * B[n,k]; "
     "u[m,n] = 0 - abs(C[m,n]); H[m] = max[n](u[m,n]); Z[m] = sum[n](exp(u[m,n] - H[m])); }",
     "a100", .skeleton = SK_CONTRACT, .stats = STATS_PARTIAL, .inexact = true},
    {"row of a softmax",
     "op f(X: f32[13,777]) -> Y: f32[13,777] { m[n] = max[c](X[n,c]); "
     "z[n] = sum[c](exp(X[n,c] - m[n])); Y[n,c] = exp(X[n,c] - m[n]) / z[n]; }",
     "h200", .skeleton = SK_ROW},
    {"rows of a softmax, in halves",
     "op f(X: f16[29,72]) -> Y: f16[29,72] { m[n] = max[c](X[n,c]); "
     "z[n] = sum[c](exp(X[n,c] - m[n])); Y[n,c] = exp(X[n,c] - m[n]) / z[n]; }",
     "a100", .several = true, .skeleton = SK_ROW},
    {"positions of a maximum",
     "op f(X: f32[11,500]) -> (I: i32[11], M: f32[11]) { I[n] = argmax[c](X[n,c]); "
     "M[n] = min[c](X[n,c]); }", "h200", .skeleton = SK_ROW},
    {"positions in columns",
     "op f(X: f32[500,70]) -> I: i32[70] { I[c] = argmin[r](X[r,c]); }", "a100",
     .skeleton = SK_COLUMN},
    {"norm", "op f(X: f32[9,520], g: f32[520]) -> Y: f32[9,520] { m[n] = sum[c](X[n,c]) / 520; "
     "v[n] = sum[c]((X[n,c] - m[n]) * (X[n,c] - m[n])) / 520; "
     "Y[n,c] = (X[n,c] - m[n]) / sqrt(v[n] + 0.00001) * g[c]; }", "a100", .skeleton = SK_ROW},
    {"bytes", "op f(A: i8[66,260], B: i8[44,260]) -> C: i32[66,44] { C[m,n] += A[m,k] * B[n,k]; }",
     "a100", .matrix = true, .skeleton = SK_CONTRACT},
    {"matrix unit, transposed",
     "op f(A: bf16[600,72], B: bf16[600,56]) -> C: f32[72,56] { C[m,n] += A[k,m] * B[k,n]; }",
     "h200", .matrix = true, .skeleton = SK_CONTRACT},
    {"gathered rows",
     "op f(E: f32[30,50], I: i32[70]) -> Y: f32[70,50] { Y[t,d] = (E[I[t],d] else 0) * 2; }",
     "h200", .skeleton = SK_STREAM},
    {"sums so far", "op f(X: f32[5,700]) -> Y: f32[5,700] { Y[m,i] = sum[r](r <= i ? X[m,r] : 0) "
     "where r in 700; }", "h200", .skeleton = SK_SCAN},
    {"positions so far, down",
     "op f(X: f32[90,70]) -> Y: i32[90,70] { Y[i,m] = argmax[r](r <= i ? X[r,m] : -inf) "
     "where r in 90; }", "a100", .skeleton = SK_SCAN},
    {"attention", "op f(Q: f16[64,32], K: f16[150,32], V: f16[150,32]) -> O: f16[64,32] { "
     "t[i,j] = j < 140 ? sum[d](Q[i,d] * K[j,d]) / 8 : -inf; m[i] = max[j](t[i,j]); "
     "z[i] = sum[j](exp(t[i,j] - m[i])); "
     "O[i,e] = sum[j](f16(exp(t[i,j] - m[i])) * V[j,e]) / z[i]; }", "a100",
     .matrix = true, .skeleton = SK_CHAIN, .inexact = true},
    {"attention of warpgroups",
     "op f(Q: f16[128,64], K: f16[190,64], V: f16[190,64]) -> O: f16[128,64] { "
     "t[i,j] = j <= i + 62 ? sum[d](Q[i,d] * K[j,d]) / 8 : -inf; m[i] = max[j](t[i,j]); "
     "z[i] = sum[j](exp(t[i,j] - m[i])); "
     "O[i,e] = sum[j](f16(exp(t[i,j] - m[i])) * V[j,e]) / z[i]; }", "h200",
     .matrix = true, .skeleton = SK_CHAIN, .inexact = true, .groups = true},
};

/* Of a chain: more turns than slots, and of warpgroups two, which overlap in both ways.  */
static bool suits_chain(const Victim *v, const Device *dev, const Problem *p, const RProg *r) {
    int64_t turns = p->extent[AX_N] / r->block.extent[AX_N];
    if (dev->unit[r->unit].b_smem != v->groups || (v->groups && r->overlap != OVERLAP_BOTH))
        return false;
    return r->stages > 1 && turns > r->stages;
}

/* A plan in which everything that is spoiled matters: several warps, and more steps than
 * stages.  */
static bool suits(const Victim *v, const Device *dev, const Problem *p, const RProg *r) {
    if (r->skeleton != v->skeleton || r->split > 1 || r->stats != v->stats) return false;
    if (r->skeleton == SK_STREAM) return true;
    if (r->skeleton == SK_CHAIN) return suits_chain(v, dev, p, r);
    if (r->threads < 64) return false;
    int64_t rows = r->block.extent[AX_M];
    if (r->skeleton == SK_ROW) return v->several ? p->extent[AX_M] % rows != 0 : rows == 1;
    int64_t deep = r->thread.extent[AX_K], step = r->block.extent[AX_K], k = p->extent[AX_K];
    if (r->skeleton == SK_COLUMN)
        return deep > 1 && step >= 16 * deep && k > 2 * step && k % step &&
               p->column.out.extent % rows;
    if (r->skeleton != SK_CONTRACT) return true;
    int64_t steps = (k + step - 1) / step;
    bool slices = r->warp.extent[AX_K] < r->block.extent[AX_K];
    if ((r->load[0].region || r->load[1].region) != v->region) return false;
    if (rprog_matrix(dev, r) != v->matrix || (v->shared && r->via != VIA_SHARED)) return false;
    if (v->stats && r->block.extent[AX_N] == r->warp.extent[AX_N]) return false;
    return slices == v->slices && r->stages > 1 && steps >= r->stages + 2;
}

static const char *pick(KernelCase *c, const Victim *v) {
    enum { DRAWS = 5000 };    /* one of some 300 suits where those of other units are many */
    for (uint64_t seed = 0; seed < DRAWS; seed++) {
        const char *wrong = kernel_pick(c, seed);
        if (wrong || suits(v, c->dev, &c->plan.problem[0], &c->plan.prog[0])) return wrong;
    }
    return "no plan suits";
}

const char *victim_emit(KernelCase *c, Arena *a, const Victim *v) {
    const Device *dev = fixture_device(a, v->device);
    unsigned taken = v->skeleton == SK_CHAIN ? JOINED | CHAINS : v->stats ? JOINED : USUAL;
    const char *wrong = kernel_open_decided(c, a, dev, v->text, NULL, taken);
    if (!wrong) wrong = pick(c, v);
    return wrong ? wrong : kernel_emit(c);
}
