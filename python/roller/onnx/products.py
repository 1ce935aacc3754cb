"""Sums of products: matrices, convolutions, einsum."""
import numpy as np

from .dtypes import numpy_of
from .extents import is_known, product
from .registry import constant, lowers
from .statements import Unsupported, broadcast, literal
from .views import reshape


@lowers("MatMul")
def lower_matmul(g, node, a, b):
    return matmul(g, a, b, a.dtype)


def matmul(g, a, b, dtype, element="{0} * {1}"):
    """As NumPy's: the last two axes, the others broadcast; vectors have one axis."""
    left, right = a.rank == 1, b.rank == 1
    a = reshape(a, [1, *a.shape]) if left else a
    b = reshape(b, [*b.shape, 1]) if right else b
    lead = broadcast(a.shape[:-2], b.shape[:-2])
    shape = [*lead, a.shape[-2], b.shape[-1]]

    def of(v, s, last):
        skip = len(lead) - (v.rank - 2)
        return v.at(["0" if n == 1 else s[d + skip] for d, n in enumerate(v.shape[:-2])] + last)

    def text(s):
        x, y = of(a, s, [s[-2], "k"]), of(b, s, ["k", s[-1]])
        return f"sum[k]({element.format(x, y)})"
    y = g.store_product(shape, dtype, text, {"k": a.shape[-1]})
    end = ([] if left else [a.shape[-2]]) + ([] if right else [b.shape[-1]])
    return reshape(y, [*lead, *end]) if left or right else y


@lowers("Gemm")
def lower_gemm(g, node, a, b, c=None):
    alpha, beta = node.get("alpha", 1.0), node.get("beta", 1.0)
    turned_a, turned_b = node.get("transA", 0), node.get("transB", 0)
    m, k = (a.shape[1], a.shape[0]) if turned_a else a.shape
    n = b.shape[0] if turned_b else b.shape[1]

    def text(s):
        x = a.at(["k", s[0]] if turned_a else [s[0], "k"])
        y = b.at([s[1], "k"] if turned_b else ["k", s[1]])
        return f"sum[k]({x} * {y})"
    t = g.store_product([m, n], a.dtype, text, {"k": k})
    form = "{0}" if alpha == 1 else f"{literal(alpha, a.is_real)} * {{0}}"
    if c is None or beta == 0:
        return t if alpha == 1 else g.map(a.dtype, form, t)
    form += " + {1}" if beta == 1 else f" + {literal(beta, a.is_real)} * {{1}}"
    return g.map(a.dtype, form, t, c)


@lowers("Einsum")
def lower_einsum(g, node, *inputs):
    spec = node["equation"].replace(" ", "")
    left, _, right = spec.partition("->")
    operands = left.split(",")
    sizes, dots = {}, 0
    for letters, x in zip(operands, inputs):
        dots = max(dots, x.rank - len(letters.replace("...", "")) if "..." in letters else 0)
    names = []
    for letters, x in zip(operands, inputs):
        own = x.rank - len(letters.replace("...", ""))
        rest = "".join(chr(ord("A") + k) for k in range(dots - own, dots)) if "..." in letters else ""
        names.append(letters.replace("...", rest.lower().translate(_UPPER)))
    names = ["".join(n) for n in names]
    for letters, x in zip(names, inputs):
        for letter, n in zip(letters, x.shape):
            sizes[letter] = n if sizes.get(letter, 1) == 1 else sizes[letter]
    dotted = "".join(chr(ord("A") + k) for k in range(dots)).lower().translate(_UPPER)
    if "->" in spec:
        result = right.replace("...", dotted)
    else:
        once = "".join(sorted(c for c in set("".join(names)) if "".join(names).count(c) == 1
                              and c not in dotted))
        result = dotted + once

    def text(s):
        at = dict(zip(result, s))

        def element(letters, x):
            return x.at(["0" if n == 1 and sizes[c] != 1 else at.get(c, f"s_{ord(c)}")
                         for c, n in zip(letters, x.shape)])
        body = " * ".join(f"({element(n, x)})" for n, x in zip(names, inputs))
        summed = [f"s_{ord(c)}" for c in sizes if c not in result]
        return f"sum[{','.join(summed)}]({body})" if summed else body
    return g.store([sizes[c] for c in result], inputs[0].dtype, text,
                   {f"s_{ord(c)}": n for c, n in sizes.items() if c not in result})


# Letters of the axes that `...` stands for are none that an equation may have.
_UPPER = {ord("a") + k: 0x3b1 + k for k in range(16)}


# ---- convolutions ----
def windows(node, x, kernel, outputs=None):
    """Strides, dilations, padding in front and behind, and extents of a window's results."""
    n = len(kernel)
    stride = node.list("strides", [1] * n)
    dilation = node.list("dilations", [1] * n)
    pads = node.list("pads", [0] * (2 * n))
    before, after = list(pads[:n]), list(pads[n:])
    auto, ceil = node.get("auto_pad", "NOTSET"), node.get("ceil_mode", 0)
    spatial = x.shape[-n:]
    result = []
    for d in range(n):
        span = (kernel[d] - 1) * dilation[d] + 1
        if auto.startswith("SAME"):
            extent = -(-spatial[d] // stride[d])
            total = max((extent - 1) * stride[d] + span - spatial[d], 0)
            before[d] = total // 2 if auto == "SAME_UPPER" else total - total // 2
            after[d] = total - before[d]
        elif auto == "VALID":
            before[d] = after[d] = 0
        room = spatial[d] + before[d] + after[d] - span
        extent = room // stride[d] + 1
        if ceil and auto == "NOTSET":
            extent = -(-room // stride[d]) + 1
            if (extent - 1) * stride[d] >= spatial[d] + before[d]:
                extent -= 1
        result.append(extent)
    return stride, dilation, before, after, result


def places(s, k, stride, dilation, before):
    """The subscripts of a window's element."""
    def one(i, r, st, di, b):
        text = i if st == 1 else f"{i}*{st}"
        text += f" + {r}" if di == 1 else f" + {r}*{di}"
        return f"{text} - {b}" if b > 0 else f"{text} + {-b}" if b < 0 else text
    return [one(*args) for args in zip(s, k, stride, dilation, before)]


def inside(spatial, kernel, stride, dilation, before, extents):
    """Does no window leave the tensor?"""
    return all(b <= 0 and is_known(n) and (o - 1) * st + (k - 1) * di - b < n
               for n, k, st, di, b, o in zip(spatial, kernel, stride, dilation, before, extents))


@lowers("Conv")
def lower_conv(g, node, x, w, bias=None):
    y = convolution(g, node, x, w, x.dtype, "{0} * {1}")
    return y if bias is None else g.store(
        y.shape, y.dtype, lambda s: f"{y.at(s)} + {bias.at([s[1]])}")


def convolution(g, node, x, w, dtype, element, zero="0"):
    kernel = w.shape[2:]
    stride, dilation, before, _, extents = windows(node, x, kernel)
    groups, each = node.get("group", 1), w.shape[1]
    filters = w.shape[0] // groups
    fits = inside(x.shape[2:], kernel, stride, dilation, before, extents)
    source = x if fits else g.whole(x)
    taps = [f"q{d}" for d in range(len(kernel))]
    reduced = dict(zip(taps, kernel))
    if each != 1:
        reduced = {"c": each, **reduced}

    def text(s):
        at = places(s[2:], taps, stride, dilation, before)
        c = "c" if each != 1 else ""
        if groups == 1:
            channel = c or "0"
        elif filters == 1:
            channel = s[1] if each == 1 else f"{s[1]}*{each} + c"
        else:
            channel = f"{s[1]}/{filters}" if each == 1 else f"{s[1]}/{filters}*{each} + c"
        read = source.at([s[0], channel, *at])
        read = read if fits else f"({read} else {zero})"
        tap = w.at([s[1], c or "0", *taps])
        return f"sum[{','.join(reduced)}]({element.format(read, tap)})"
    return g.store_product([x.shape[0], w.shape[0], *extents], dtype, text, reduced)


@lowers("ConvTranspose")
def lower_conv_transpose(g, node, x, w, bias=None):
    n = x.rank - 2
    kernel, groups, each = w.shape[2:], node.get("group", 1), w.shape[1]
    stride, dilation = node.list("strides", [1] * n), node.list("dilations", [1] * n)
    extra = node.list("output_padding", [0] * n)
    pads, shape = node.list("pads", [0] * (2 * n)), node.list("output_shape")
    full = [st * (e - 1) + (k - 1) * di + 1 + o
            for e, k, st, di, o in zip(x.shape[2:], kernel, stride, dilation, extra)]
    auto = node.get("auto_pad", "NOTSET")
    if shape is not None or auto.startswith("SAME"):
        extents = shape or [e * st for e, st in zip(x.shape[2:], stride)]
        total = [f - e for f, e in zip(full, extents)]
        before = [t // 2 if auto == "SAME_UPPER" else t - t // 2 for t in total]
    else:
        before = pads[:n] if auto != "VALID" else [0] * n
        extents = [f - b - a for f, b, a in zip(full, before, pads[n:] if auto != "VALID"
                                                else [0] * n)]
    channels = x.shape[1] // groups
    taps = [f"q{d}" for d in range(n)]
    source = g.whole(x)

    def text(s):
        part = f"{s[1]}/{each}*{channels} + c" if groups > 1 else "c"
        own = f"{s[1]}%{each}" if groups > 1 else s[1]
        tests, at = [], []
        for i, tap, st, di, b in zip(s[2:], taps, stride, dilation, before):
            place = f"({i} + {b} - {tap}*{di})" if di != 1 else f"({i} + {b} - {tap})"
            if st != 1:
                tests.append(f"{place} % {st} == 0")
                place = f"{place} / {st}"
            at.append(place)
        read = f"{source.at([s[0], part, *at])} else 0"
        read = f"{' && '.join(tests)} ? ({read}) : 0" if tests else read
        return f"sum[c,{','.join(taps)}](({read}) * {w.at([part, own, *taps])})"
    y = g.store_product([x.shape[0], each * groups, *extents], x.dtype, text,
                        {"c": channels, **dict(zip(taps, kernel))})
    return y if bias is None else g.store(
        y.shape, y.dtype, lambda s: f"{y.at(s)} + {bias.at([s[1]])}")


@lowers("DeformConv")
def lower_deform_conv(g, node, x, w, offset, bias=None, mask=None):
    """Bilinear reads at places that are data."""
    if x.rank != 4:
        raise Unsupported("DeformConv of other than two dimensions")
    kh, kw = w.shape[2:]
    stride, dilation, before, _, (oh, ow) = windows(node, x, [kh, kw])
    groups, parts, each = node.get("group", 1), node.get("offset_group", 1), w.shape[1]
    filters, channels = w.shape[0] // groups, x.shape[1] // parts
    source = g.whole(x)
    h, wide = x.shape[2:]

    def place(d, s):
        n, c, r, t, p, q = s
        i, tap = (p, r) if d == 0 else (q, t)
        own = f"(({c}/{channels})*{kh * kw} + {r}*{kw} + {t})*2 + {d}"
        return (f"f32({i}*{stride[d]} + {tap}*{dilation[d]} - {before[d]}) + "
                f"{offset.at([n, own, p, q])}")
    shape = [x.shape[0], x.shape[1], kh, kw, oh, ow]
    y = g.store(shape, "f32", lambda s: place(0, s))
    z = g.store(shape, "f32", lambda s: place(1, s))

    def sample(s):
        total = []
        for a in (0, 1):
            for b in (0, 1):
                i, j = f"i32(floor({y.at(s)})) + {a}", f"i32(floor({z.at(s)})) + {b}"
                u = f"({y.at(s)} - floor({y.at(s)}))"
                v = f"({z.at(s)} - floor({z.at(s)}))"
                u = u if a else f"(1 - {u})"
                v = v if b else f"(1 - {v})"
                total.append(f"({source.at([s[0], s[1], i, j])} else 0) * {u} * {v}")
        text = f"({' + '.join(total)})"
        own = f"({s[1]}/{channels})*{kh * kw} + {s[2]}*{kw} + {s[3]}"
        return text if mask is None else f"{text} * {mask.at([s[0], own, s[4], s[5]])}"
    sampled = g.store(shape, "f32", sample)

    def text(s):
        part = f"{s[1]}/{filters}*{each} + c" if groups > 1 else "c"
        return (f"sum[c,r,t]({sampled.at([s[0], part, 'r', 't', s[2], s[3]])} * "
                f"{w.at([s[1], 'c', 'r', 't'])})")
    result = g.store([x.shape[0], w.shape[0], oh, ow], x.dtype, text,
                     {"c": each, "r": kh, "t": kw})
    return result if bias is None else g.store(
        result.shape, x.dtype, lambda s: f"{result.at(s)} + {bias.at([s[1]])}")


@lowers("Col2Im")
def lower_col2im(g, node, x, image, block):
    sizes = [int(n) for n in constant(image, "image_shape")]
    kernel = [int(n) for n in constant(block, "block_shape")]
    n = len(sizes)
    stride, dilation = node.list("strides", [1] * n), node.list("dilations", [1] * n)
    pads = node.list("pads", [0] * (2 * n))
    columns = [(e + pads[d] + pads[d + n] - (kernel[d] - 1) * dilation[d] - 1) // stride[d] + 1
               for d, e in enumerate(sizes)]
    channels = x.shape[1] // product(kernel)
    source = g.whole(reshape(x, [x.shape[0], channels, *kernel, *columns]))
    taps = [f"q{d}" for d in range(n)]

    def text(s):
        tests, at = [], []
        for i, tap, st, di, b in zip(s[2:], taps, stride, dilation, pads):
            place = f"({i} + {b} - {tap}*{di})"
            tests.append(f"{place} % {st} == 0")
            at.append(f"{place} / {st}")
        read = source.at([s[0], s[1], *taps, *at])
        return f"sum[{','.join(taps)}]({' && '.join(tests)} ? ({read} else 0) : 0)"
    return g.store([x.shape[0], channels, *sizes], x.dtype, text, dict(zip(taps, kernel)))


# ---- Fourier ----
MOST_FOURIER = 4096


def fourier(g, x, axis, length, inverse, onesided, dtype):
    """Along an axis of [..., 1 or 2]: real, or real and imaginary parts.  A sum of products with
    a table, so length^2 multiply-adds."""
    have, pairs = x.shape[axis], x.shape[-1] == 2
    if length > MOST_FOURIER:
        raise Unsupported(f"a transform of more than {MOST_FOURIER} places")
    k = np.arange(length)
    angle = 2 * np.pi * np.outer(k, np.arange(length)) / length * (1 if inverse else -1)
    scale = 1 / length if inverse else 1.0
    tables = [g.constant((f(angle) * scale).astype(numpy_of(dtype)), dtype, "fourier")
              for f in (np.cos, np.sin)]
    source = x if have == length else g.whole(x)
    most = length if not onesided else length // 2 + 1

    def read(s, part):
        at = [*s[:-1], part]
        at[axis] = "k"
        return source.at(at) if have == length else f"({source.at(at)} else 0)"

    def text(s):
        c, n = (t.at([s[axis], "k"]) for t in tables)
        re, im = read(s, "0"), read(s, "1") if pairs else None
        real = f"{re} * {c}" + (f" - {im} * {n}" if pairs else "")
        imaginary = f"{re} * {n}" + (f" + {im} * {c}" if pairs else "")
        return f"sum[k]({s[-1]} == 0 ? {real} : {imaginary})"
    shape = [*x.shape[:-1], 2]
    shape[axis] = most
    return g.store(shape, dtype, text, {"k": length})


@lowers("DFT")
def lower_dft(g, node, x, length=None, axis=None):
    where = int(constant(axis, "axis").reshape(-1)[0]) if axis is not None else \
        node.get("axis", 1 if node.opset < 20 else -2)
    where += x.rank if where < 0 else 0
    n = int(constant(length, "dft_length").reshape(-1)[0]) if length is not None else \
        x.shape[where]
    inverse, onesided = node.get("inverse", 0), node.get("onesided", 0)
    if inverse and onesided:
        raise Unsupported("the inverse of half a spectrum")
    return fourier(g, x, where, n, inverse, onesided, x.dtype)


@lowers("STFT")
def lower_stft(g, node, x, step, window=None, length=None):
    by = int(constant(step, "frame_step").reshape(-1)[0])
    n = window.shape[0] if length is None else int(constant(length, "frame_length").reshape(-1)[0])
    signal = x if x.rank == 3 else reshape(x, [*x.shape, 1])
    frames = (signal.shape[1] - n) // by + 1

    def at(s):
        value = signal.at([s[0], f"({s[1]}*{by} + {s[2]})", s[3]])
        return value if window is None else f"{value} * {window.at([s[2]])}"
    parts = g.store([signal.shape[0], frames, n, signal.shape[2]], x.dtype, at)
    return fourier(g, parts, 2, n, False, node.get("onesided", 1), x.dtype)


@lowers("Det")
def lower_det(g, node, x):
    n = x.shape[-1]
    if n not in (1, 2, 3):
        raise Unsupported("determinants of more than 3 rows")

    def text(s):
        def a(i, j):
            return x.at([*s, str(i), str(j)])
        if n == 1:
            return a(0, 0)
        if n == 2:
            return f"{a(0, 0)} * {a(1, 1)} - {a(0, 1)} * {a(1, 0)}"
        return " + ".join(
            f"{a(0, j)} * ({a(1, (j + 1) % 3)} * {a(2, (j + 2) % 3)} - "
            f"{a(1, (j + 2) % 3)} * {a(2, (j + 1) % 3)})" for j in range(3))
    return g.store(x.shape[:-2], x.dtype, text)
