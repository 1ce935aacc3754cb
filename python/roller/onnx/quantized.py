"""Operators on quantized tensors: integers with scales and zero points."""
from .dtypes import name_of
from .products import convolution, matmul
from .registry import axis_of, lowers
from .statements import Tensor, Unsupported, literal
from .views import reshape

ENDS = {"u8": (0, 255), "i8": (-128, 127), "i16": (-32768, 32767)}


def _spread(g, node, x, v):
    """A scale or zero point as it is read at an element of x: one, one an axis, or one a block."""
    axis, block = axis_of(node.get("axis", 1), x.rank), node.get("block_size", 0)
    if v is None or v.count == 1:
        return lambda s: v.at(["0"] * v.rank)
    if v.rank == 1:
        return lambda s: v.at([s[axis]])
    return lambda s: v.at([f"{i}/{block}" if d == axis else i for d, i in enumerate(s)])


@lowers("DequantizeLinear")
def lower_dequantize(g, node, x, scale, zero=None):
    dtype = name_of(node["output_dtype"]) if node.get("output_dtype", 0) else scale.dtype
    of, zeros = _spread(g, node, x, scale), None if zero is None else _spread(g, node, x, zero)

    def text(s):
        value = f"f32({x.at(s)})" if x.is_real else f"i32({x.at(s)})"
        if zeros is not None and not x.is_real:
            value = f"({value} - i32({zeros(s)}))"
        return f"f32({value}) * {of(s)}"
    return g.store(x.shape, dtype, text)


@lowers("QuantizeLinear")
def lower_quantize(g, node, x, scale, zero=None):
    dtype = zero.dtype if zero is not None else \
        name_of(node["output_dtype"]) if node.get("output_dtype", 0) else "u8"
    of, zeros = _spread(g, node, x, scale), None if zero is None else _spread(g, node, x, zero)
    if dtype in ("f8e4m3", "f8e5m2"):
        return g.store(x.shape, dtype, lambda s: f"{x.at(s)} / {of(s)}")
    if dtype not in ENDS:
        raise Unsupported(f"quantized to {dtype}")
    real = "f32({})" if not x.is_real else "{}"

    def text(s):
        value = f"round({real.format(x.at(s))} / {of(s)})"
        return saturated(value + ("" if zeros is None else f" + f32({zeros(s)})"), dtype)
    return g.store(x.shape, dtype, text)


def saturated(value, dtype):
    low, high = ENDS[dtype]
    return f"i32(min(max({value}, {literal(low)}), {literal(high)}))"


@lowers("DynamicQuantizeLinear")
def lower_dynamic(g, node, x):
    axes = list(range(x.rank))
    high = g.reduce(x, "max", axes, "max({}, 0)", keep=False)
    low = g.reduce(x, "min", axes, "min({}, 0)", keep=False)
    scale = g.map("f32", "({0} - {1}) / 255", high, low)
    zero = g.map("u8", "i32(min(max(round(0 - {0} / {1}), 0), 255))", low, scale)
    y = g.map("u8", "i32(min(max(round({0} / {1}) + f32({2}), 0), 255))", x, scale, zero)
    return [y, scale, zero]


@lowers("MatMulInteger")
def lower_matmul_integer(g, node, a, b, a_zero=None, b_zero=None):
    return matmul(g, less(a, a_zero, -2), less(b, b_zero, -1), "i32")


def less(x, zero, axis=None):
    """x - zero in i32; zero is one, or one for each of an axis."""
    if zero is None:
        return Tensor(x.shape, "i32", lambda s: f"i32({x.at(s)})")

    def at(s):
        if zero.count == 1:
            z = zero.at(["0"] * zero.rank)
        elif zero.rank == x.rank:
            z = zero.at(["0" if n == 1 else i for i, n in zip(s, zero.shape)])
        else:
            z = zero.at([s[axis]])
        return f"(i32({x.at(s)}) - i32({z}))"
    return Tensor(x.shape, "i32", at)


@lowers("ConvInteger")
def lower_conv_integer(g, node, x, w, x_zero=None, w_zero=None):
    shifted = g.store(x.shape, "i32", less(x, x_zero).at)
    return convolution(g, node, shifted, less(w, w_zero, 0), "i32", "{0} * {1}")


@lowers("QLinearMatMul")
def lower_qlinear_matmul(g, node, a, a_scale, a_zero, b, b_scale, b_zero, y_scale, y_zero):
    if a.is_real:
        raise Unsupported("8-bit reals with zero points")
    total = matmul(g, less(a, a_zero, -2), less(b, b_zero, -1), "i32")
    return _requantized(g, total, a_scale, b_scale, y_scale, y_zero, None)


@lowers("QLinearConv")
def lower_qlinear_conv(g, node, x, x_scale, x_zero, w, w_scale, w_zero, y_scale, y_zero,
                       bias=None):
    shifted = g.store(x.shape, "i32", less(x, x_zero).at)
    total = convolution(g, node, shifted, less(w, w_zero, 0), "i32", "{0} * {1}")
    if bias is not None:
        total = g.store(total.shape, "i32", lambda s, t=total: f"{t.at(s)} + {bias.at([s[1]])}")
    return _requantized(g, total, x_scale, w_scale, y_scale, y_zero, 1)


def _requantized(g, total, a_scale, b_scale, y_scale, y_zero, channel):
    def one(v, s):
        if v.count == 1:
            return v.at(["0"] * v.rank)
        if v.rank == total.rank:
            return v.at(["0" if n == 1 else i for i, n in zip(s, v.shape)])
        return v.at([s[channel if channel is not None else -1]])

    def text(s):
        value = (f"round(f32({total.at(s)}) * (f32({one(a_scale, s)}) * f32({one(b_scale, s)}) / "
                 f"f32({one(y_scale, s)}))) + f32({one(y_zero, s)})")
        return saturated(value, y_zero.dtype)
    return g.store(total.shape, y_zero.dtype, text)


@lowers("MatMulNBits")
def lower_matmul_nbits(g, node, a, w, scales, zeros=None, *rest):
    """onnxruntime's: weights of 4 bits, two to a byte, in blocks with a scale each."""
    if node["bits"] != 4 or any(r is not None for r in rest):
        raise Unsupported("MatMulNBits but of 4 bits, without index and bias")
    n, k, block = node["N"], node["K"], node["block_size"]
    packed, blocks = reshape(w, [n, w.count // n]), -(-k // block)
    scale = reshape(scales, [n, blocks])

    def weight(s):
        i, j = s[-1], s[-2]
        byte = packed.at([i, f"{j}/2"])
        half = f"({j} % 2 == 0 ? {byte} % 16 : {byte} / 16)"
        zero = "8"
        if zeros is not None:
            z = reshape(zeros, [n, zeros.count // n]).at([i, f"{j}/{2 * block}"])
            zero = f"({j}/{block} % 2 == 0 ? {z} % 16 : {z} / 16)"
        return f"{a.dtype}(({half} - {zero}) * {scale.at([i, f'{j}/{block}'])})"
    return matmul(g, a, Tensor((k, n), a.dtype, weight), a.dtype)
