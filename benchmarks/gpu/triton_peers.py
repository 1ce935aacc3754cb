"""Plain Triton kernels as Triton's own documentation would have them: products, and rows.

Tuned over a handful of shapes each, by Triton's autotuner."""
import triton
import triton.language as tl

PRODUCT_SHAPES = [
    triton.Config({"BM": m, "BN": n, "BK": k, "GROUP": 8}, num_stages=s, num_warps=w)
    for m, n, k, s, w in ((128, 256, 64, 3, 8), (128, 128, 64, 4, 4), (128, 128, 32, 4, 8),
                          (128, 64, 64, 4, 4), (64, 128, 64, 4, 4), (64, 64, 64, 4, 4),
                          (32, 64, 128, 4, 4), (16, 64, 128, 5, 4), (16, 128, 128, 4, 4))]


def short_bench(call, quantiles):
    return triton.testing.do_bench(call, warmup=3, rep=15, quantiles=quantiles)


@triton.autotune(configs=PRODUCT_SHAPES, key=["M", "N", "K"], do_bench=short_bench)
@triton.jit
def product_kernel(a, b, c, M, N, K, am, ak, bk, bn, IEEE: tl.constexpr, BM: tl.constexpr,
                   BN: tl.constexpr, BK: tl.constexpr, GROUP: tl.constexpr):
    pid = tl.program_id(0)
    rows, columns = tl.cdiv(M, BM), tl.cdiv(N, BN)
    group = pid // (GROUP * columns)
    first = group * GROUP
    height = min(rows - first, GROUP)
    m = first + (pid % (GROUP * columns)) % height
    n = (pid % (GROUP * columns)) // height
    im = (m * BM + tl.arange(0, BM)) % M
    jn = (n * BN + tl.arange(0, BN)) % N
    kk = tl.arange(0, BK)
    pa = a + im[:, None].to(tl.int64) * am + kk[None, :] * ak
    pb = b + kk[:, None] * bk + jn[None, :].to(tl.int64) * bn
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, tl.cdiv(K, BK)):
        x = tl.load(pa, mask=kk[None, :] < K - k * BK, other=0.0)
        y = tl.load(pb, mask=kk[:, None] < K - k * BK, other=0.0)
        if IEEE:
            acc = tl.dot(x, y, acc, input_precision="ieee")
        else:
            acc = tl.dot(x, y, acc)
        pa += BK * ak
        pb += BK * bk
    om = m * BM + tl.arange(0, BM)
    on = n * BN + tl.arange(0, BN)
    at = c + om[:, None].to(tl.int64) * N + on[None, :]
    tl.store(at, acc.to(c.dtype.element_ty), mask=(om[:, None] < M) & (on[None, :] < N))


@triton.jit
def softmax_kernel(x, y, N, BLOCK: tl.constexpr):
    row, col = tl.program_id(0).to(tl.int64), tl.arange(0, BLOCK)
    v = tl.load(x + row * N + col, mask=col < N, other=-float("inf")).to(tl.float32)
    e = tl.exp(v - tl.max(v, 0))
    tl.store(y + row * N + col, (e / tl.sum(e, 0)).to(y.dtype.element_ty), mask=col < N)


@triton.jit
def norm_kernel(x, g, b, y, N, CENTRE: tl.constexpr, GAIN: tl.constexpr, BIAS: tl.constexpr,
                BLOCK: tl.constexpr):
    row, col = tl.program_id(0).to(tl.int64), tl.arange(0, BLOCK)
    keep = col < N
    v = tl.load(x + row * N + col, mask=keep, other=0.0).to(tl.float32)
    if CENTRE:
        v = tl.where(keep, v - tl.sum(v, 0) / N, 0.0)
    v = v * tl.rsqrt(tl.sum(v * v, 0) / N + 1e-5)
    if GAIN:
        v = v * tl.load(g + col, mask=keep, other=0.0).to(tl.float32)
    if BIAS:
        v = v + tl.load(b + col, mask=keep, other=0.0).to(tl.float32)
    tl.store(y + row * N + col, v.to(y.dtype.element_ty), mask=keep)


WIDEST_ROW = 65536


def warps(block):
    return 16 if block >= 16384 else 8 if block >= 2048 else 4


def product(row, t, out):
    a, b = t["A"], t["B"]
    a = a.t() if row["params"].get("ta") == "1" else a
    b = b.t() if row["params"].get("tb") == "1" else b
    (m, k), n = a.shape, b.shape[1]
    plain = row["dtype"] == "f32"

    def run():
        product_kernel[lambda c: (triton.cdiv(m, c["BM"]) * triton.cdiv(n, c["BN"]),)](
            a, b, out, m, n, k, a.stride(0), a.stride(1), b.stride(0), b.stride(1), plain)
        return out
    return run


def rows(row, t, out):
    x = t["X"]
    count, width = x.shape
    block = triton.next_power_of_2(width)
    if block > WIDEST_ROW:
        return None
    if row["op"] == "softmax":
        def run():
            softmax_kernel[(count,)](x, out, width, BLOCK=block, num_warps=warps(block))
            return out
        return run
    g, b = t.get("g"), t.get("b")

    def run():
        norm_kernel[(count,)](x, x if g is None else g, x if b is None else b, out, width,
                              CENTRE=row["op"] == "layernorm", GAIN=g is not None,
                              BIAS=b is not None, BLOCK=block, num_warps=warps(block))
        return out
    return run


def peer(row, t, make):
    """A function that launches and returns the result, or None; `make()` gives an output."""
    if row["op"] == "matmul" and row["dtype"] in ("f32", "f16", "bf16"):
        return product(row, t, make())
    if row["op"] in ("softmax", "layernorm", "rmsnorm") and "R" not in t:
        return rows(row, t, make())
    return None
