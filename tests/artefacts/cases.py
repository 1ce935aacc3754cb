"""Expressions with what they compute, in plain Python; `python3 cases.py` writes the .te files.

A case: text; arguments at hand for each set of run-time sizes; the function that is computed.
Numbers are small integers, so that sums are exact, but for softmax.
"""
import math


def numbers(n, step, most):
    return [i * step % most - most // 2 for i in range(n)]


def matmul(a, b, m, n, k, scale=1):
    return [scale * sum(a[i * k + x] * b[x * n + j] for x in range(k))
            for i in range(m) for j in range(n)]


def mm(s, scale=1):
    m, n, k = s["M"], s["N"], s["K"]
    a, b = numbers(m * k, 7, 11), numbers(k * n, 5, 9)
    return [("A", (m, k), "f32", a), ("B", (k, n), "f32", b)], [("C", (m, n), "f32",
                                                              matmul(a, b, m, n, k, scale))]


def softmax(s):
    x = [v / 4 for v in numbers(4 * 64, 13, 31)]
    out = []
    for r in range(4):
        row = [math.exp(v) for v in x[64 * r:64 * r + 64]]
        out += [v / sum(row) for v in row]
    return [("X", (4, 64), "f32", x)], [("Y", (4, 64), "f32", out)]


def scaled(s):
    ins, outs = mm(dict(s, N=16, K=8), 3)
    return ins + [("s", None, "f32", 3)], outs


def half(s):
    m, h = s["M"], (s["M"] + 1) // 2
    a = numbers(m, 3, 17)
    return [("A", (m,), "f32", a)], [("B", (h,), "f32", [2 * a[2 * i] for i in range(h)])]


def turned(s):
    n = s["N"]
    x = numbers(n * n, 3, 17)
    y = [2 * v for v in x]
    z = [x[i * n + j] + y[j * n + i] for i in range(n) for j in range(n)]
    return [("X", (n, n), "f32", x)], [("Y", (n, n), "f32", y), ("Z", (n, n), "f32", z)]


def total(s):
    x = numbers(100, 7, 13)
    return [("X", (100,), "f32", x)], [("S", (), "f32", [sum(x)])]


def scalars(s):
    x = numbers(40, 7, 13)
    given = [("a", None, "f32", 2), ("b", None, "f64", 3), ("c", None, "i32", 5),
             ("d", None, "i64", -7)]
    return [("X", (40,), "f64", x)] + given, [("Y", (40,), "f64",
                                               [2 * v + 3 * v + 5 - 7 for v in x])]


def nothing(s):
    return [("X", (0, 8), "f32", [])], [("Y", (0, 8), "f32", [])]


def chain(x, ws, s=1):
    """Layers, each a product with its own matrix."""
    m, d = len(x) // 16, 16
    for w in ws:
        x = matmul(x, w, m, d, d, s)
    return x


def repeated(s):
    m = s["M"]
    x = numbers(m * 16, 7, 5)
    w = [numbers(256, step, 3) for step in (5, 7, 11)]
    z = chain(x, w, -2)
    return ([("X", (m, 16), "f32", x)] + [(f"W{i}", (16, 16), "f32", v) for i, v in enumerate(w)] +
            [("s", None, "f32", -2)],
            [("Y", (m, 16), "f32", chain(z, w[1:2], -2)), ("Z", (m, 16), "f32", z)])


def shifted(s):
    """Layers whose matrices move columns and scale them."""
    m, d, by = 128, 256, (1, 30, 101, 77)
    x = numbers(m * d, 7, 31)
    y, w = x, []
    for i, shift in enumerate(by):
        w.append([(i + 1) * (k == (n + shift) % d) for n in range(d) for k in range(d)])
        y = [(i + 1) * y[r * d + (n + shift) % d] for r in range(m) for n in range(d)]
    return ([("X", (m, d), "f32", x)] + [(f"W{i}", (d, d), "f32", v) for i, v in enumerate(w)],
            [("Y", (m, d), "f32", y)])


def boxes(s):
    m, k = s["M"], s["K"]
    x = numbers(m * k, 7, 31)
    y = [x[(i - 1) * k + j + 3] if i > 0 and j + 3 < k else 0 for i in range(m) for j in range(k)]
    return [("X", (m, k), "f32", x)], [("Y", (m, k), "f32", y)]


def windows(s):
    n = s["N"]
    x = numbers(n * 6 * 7 * 16, 7, 31)
    z = [x[((i * 6 + p + r - 1) * 7 + q + t - 1) * 16 + c]
         if 0 <= p + r - 1 < 6 and 0 <= q + t - 1 < 7 else 0
         for i in range(n) for p in range(6) for q in range(7) for r in range(3) for t in range(3)
         for c in range(16)]
    return [("I", (n, 6, 7, 16), "f32", x)], [("Z", (n, 6, 7, 3, 3, 16), "f32", z)]


def sums(s):
    x = numbers(s["J"] * 16, 7, 13)
    return [("A", (s["J"], 16), "f32", x)], [("S", (16,), "f32",
                                              [sum(x[c::16]) for c in range(16)])]


def picked(s):
    """A product with a matrix that picks a column and scales it."""
    m, n, k = 1024, 256, 32
    a = numbers(m * k, 7, 31)
    b = [(j // k + 1) * (x == j % k) for j in range(n) for x in range(k)]
    c = [(j // k + 1) * a[i * k + j % k] for i in range(m) for j in range(n)]
    return ([("A", (m, k), "f32", a), ("B", (n, k), "f32", b)], [("C", (m, n), "f32", c)])


CASES = {
    "mm": ("param M = 64, N = 48, K = 32;\n"
           "op mm(A: f32[M,K], B: f32[K,N]) -> C: f32[M,N] { C[m,n] += A[m,k] * B[k,n]; }\n",
           mm, [{"M": 64, "N": 48, "K": 32}]),
    "splitk": ("param M = 16, N = 16, K = 2048;\n"
               "op splitk(A: f32[M,K], B: f32[K,N]) -> C: f32[M,N] "
               "{ C[m,n] += A[m,k] * B[k,n]; }\n", mm, [{"M": 16, "N": 16, "K": 2048}]),
    "softmax": ("op softmax(X: f32[4,64]) -> Y: f32[4,64] {\n  hi[i] max= X[i,j];\n"
                "  e[i,j] = exp(X[i,j] - hi[i]);\n  z[i] += e[i,j];\n"
                "  Y[i,j] = e[i,j] / z[i];\n}\n", softmax, [{}]),
    "scaled": ("param M = 1..40;\nop scaled(A: f32[M,8], B: f32[8,16], s: f32) -> C: f32[M,16] "
               "{ C[m,n] += A[m,k] * B[k,n] * s; }\n", scaled, [{"M": 1}, {"M": 23}, {"M": 40}]),
    "halves": ("param M = 0..300;\nlet H = (M + 1) / 2;\n"
             "op halves(A: f32[M]) -> B: f32[H] { B[i] = 2.0 * A[2*i]; }\n",
             half, [{"M": 0}, {"M": 1}, {"M": 255}, {"M": 300}]),
    "turned": ("param N = 16..4096 % 16;\nop turned(X: f32[N,N]) -> (Y: f32[N,N], Z: f32[N,N]) {\n"
               "  Y[i,j] = 2.0 * X[i,j];\n  Z[i,j] = X[i,j] + Y[j,i];\n}\n",
               turned, [{"N": 16}, {"N": 80}, {"N": 272}]),
    "total": ("op total(X: f32[100]) -> S: f32[] { S[] += X[i]; }\n", total, [{}]),
    "scalars": ("op scalars(X: f64[40], a: f32, b: f64, c: i32, d: i64) -> Y: f64[40] "
                "{ Y[i] = X[i] * a + X[i] * b + c + d; }\n", scalars, [{}]),
    "repeated": ("param M = 8..40;\nop repeated(X: f32[M,16], W0: f32[16,16], W1: f32[16,16], "
                 "W2: f32[16,16], s: f32) -> (Y: f32[M,16], Z: f32[M,16]) {\n"
                 "  a[m,n] = sum[k](X[m,k] * W0[k,n]) * s;\n"
                 "  b[m,n] = sum[k](a[m,k] * W1[k,n]) * s;\n"
                 "  Z[m,n] = sum[k](b[m,k] * W2[k,n]) * s;\n"
                 "  Y[m,n] = sum[k](Z[m,k] * W1[k,n]) * s;\n}\n",
                 repeated, [{"M": 8}, {"M": 40}]),
    "shifted": ("param M = 128, D = 256;\nop shifted(X: f32[M,D], W0: f32[D,D], W1: f32[D,D], "
                "W2: f32[D,D], W3: f32[D,D]) -> Y: f32[M,D] {\n"
                "  a[m,n] = sum[k](X[m,k] * W0[n,k]) @tf32;\n"
                "  b[m,n] = sum[k](a[m,k] * W1[n,k]) @tf32;\n"
                "  c[m,n] = sum[k](b[m,k] * W2[n,k]) @tf32;\n"
                "  Y[m,n] = sum[k](c[m,k] * W3[n,k]) @tf32;\n}\n",
                shifted, [{"M": 128, "D": 256}]),
    "nothing": ("param M = 0;\nop nothing(X: f32[M,8]) -> Y: f32[M,8] { Y[i,j] = X[i,j]; }\n",
                nothing, [{"M": 0}]),
}

# Kernels with tensor maps, which a test makes by hand.
MAPPED = {
    "boxes": (None, boxes, [{"M": 1, "K": 4}, {"M": 33, "K": 20}, {"M": 70, "K": 96}]),
    "windows": (None, windows, [{"N": 1}, {"N": 3}]),
    "sums": (None, sums, [{"J": 0}, {"J": 16}, {"J": 37}]),
}

# Of boards.py.
STAYING = {name: (None, picked, [{"M": 1024, "N": 256, "K": 32}])
           for name in ("alone", "pairs", "fours", "eights", "turns", "shares")}

if __name__ == "__main__":
    for name, (text, _, _) in CASES.items():
        open(name + ".te", "w").write(text)
