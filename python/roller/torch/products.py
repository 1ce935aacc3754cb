"""Products, convolutions, and attention."""
import math

import torch

from .values import Like, Unsupported, Value, converted, literal, lowers, subscript
from .views import view_reshape


def product(g, out, a, b):
    """out[..., m, n] = sum over k of a[..., m, k] * b[..., k, n]."""
    def text(s):
        return f"sum[r]({a.at([*s[:-1], 'r'])} * {b.at([*s[:-2], 'r', s[-1]])})"
    if out.dtype == torch.bool:
        raise Unsupported("products of bools")
    if not out.dtype.is_floating_point:
        kind = Like(tuple(out.shape), out.dtype)
        return g.store(kind, lambda s: "sum[r]({} * {})".format(
            *(cast_integer(v, at, out) for v, at in (
                (a, [*s[:-1], "r"]), (b, [*s[:-2], "r", s[-1]])))), {"r": a.shape[-1]})
    return g.store(out, text, {"r": a.shape[-1]},
                   g.product_note if out.dtype == torch.float32 else "")


def cast_integer(v, at, out):
    return f"i64({v.at(at)})" if out.dtype == torch.int64 else v.at(at)


@lowers("mm", "bmm")
def lower_mm(g, out, _, a, b, *__):
    return product(g, out, a, b)


@lowers("mv")
def lower_mv(g, out, _, a, b):
    column = Value((*b.shape, 1), b.dtype, lambda s: b.at(s[:1]))
    made = product(g, Like((a.shape[0], 1), out.dtype), a, column)
    return view_reshape(g, out, _, made)


@lowers("dot", "vdot")
def lower_dot(g, out, _, a, b):
    return g.store(out, lambda s: f"sum[r]({a.at(['r'])} * {b.at(['r'])})", {"r": a.shape[0]})


@lowers("addmm", "baddbmm")
def lower_addmm(g, out, _, c, a, b, beta=1, alpha=1):
    made = product(g, out, a, b)
    if beta == 0:
        return made if alpha == 1 else g.map(out, "{0} * {1}", made, alpha)
    if alpha == 1 and beta == 1:
        return g.map(out, "{0} + {1}", made, c)
    return g.map(out, "{1} * {0} + {3} * {2}", made, alpha, c, beta)


@lowers("addbmm")
def lower_addbmm(g, out, _, c, a, b, beta=1, alpha=1):
    if not out.dtype.is_floating_point:
        raise Unsupported("sums of products of integers")
    made = g.store(out, lambda s: f"sum[q,r]({a.at(['q', s[0], 'r'])} * {b.at(['q', 'r', s[1]])})",
                   {"q": a.shape[0], "r": a.shape[2]}, g.product_note if out.dtype == torch.float32
                   else "")
    return g.map(out, "{1} * {0} + {3} * {2}", made, alpha, c, beta) if beta else g.map(
        out, "{1} * {0}", made, alpha)


@lowers("addmv")
def lower_addmv(g, out, _, c, a, b, beta=1, alpha=1):
    made = lower_mv(g, out, _, a, b)
    return g.map(out, "{1} * {0} + {3} * {2}", made, alpha, c, beta) if beta else g.map(
        out, "{1} * {0}", made, alpha)


@lowers("addr")
def lower_addr(g, out, _, c, a, b, beta=1, alpha=1):
    column = Value((*a.shape, 1), a.dtype, lambda s: a.at(s[:1]))
    if not beta:
        return g.map(out, "{0} * {1} * {2}", column, b, alpha)
    return g.map(out, "{3} * {0} * {1} + {4} * {2}", column, b, c, alpha, beta)


# Convolutions.  A window is n strides, paddings and dilations; channels are counted in groups.

class Window:
    def __init__(self, stride, pad, dilation, groups, n):
        self.stride, self.pad, self.dilation = (each(v, n) for v in (stride, pad, dilation))
        self.groups, self.n = groups, n
        self.taps = [f"r{d + 1}" for d in range(n)]

    def reached(self, place, taps):
        """What the output at `place` reads with these taps."""
        return [f"{subscript(i, st)}+{subscript(r, di)}{-p:+d}" for i, r, st, di, p in
                zip(place, taps, self.stride, self.dilation, self.pad)]

    def reaching(self, place, taps):
        """The outputs that read `place` with these taps, and the condition that there are any."""
        at = [f"(({i}){p:+d}-{subscript(r, di)})" for i, r, di, p in
              zip(place, taps, self.dilation, self.pad)]
        met = " && ".join(f"{a}%{st} == 0" for a, st in zip(at, self.stride) if st > 1)
        return [f"{a}/{st}" if st > 1 else a for a, st in zip(at, self.stride)], met


def each(values, n):
    values = [values] if isinstance(values, int) else list(values)
    return values * n if len(values) == 1 else values


def guarded(text, met, zero="0"):
    return f"({met} ? ({text} else {zero}) : {zero})" if met else f"({text} else {zero})"


def gather_taps(g, out, x, w, window):
    """Each result sums what its window reads: w[f, channel of the group, taps]."""
    x, channels, per_group = g.whole(x), w.shape[1], out.shape[1] // window.groups

    def text(s):
        group = "" if window.groups == 1 else f"({s[1]})/{per_group}*{channels}+"
        read = x.at([s[0], group + "r0", *window.reached(s[2:], window.taps)])
        return (f"sum[r0,{','.join(window.taps)}](({read} else 0) * "
                f"{w.at([s[1], 'r0', *window.taps])})")
    return convolved(g, out, text, [channels, *w.shape[2:]], window)


def spread_taps(g, out, x, w, window):
    """Each result sums what reaches it: w[channel of x, channel of the result's group, taps]."""
    x, channels = g.whole(x), w.shape[0] // window.groups
    per_group = out.shape[1] // window.groups

    def text(s):
        grouped = window.groups > 1
        channel = f"({s[1]})/{per_group}*{channels}+r0" if grouped else "r0"
        inner = f"({s[1]})%{per_group}" if grouped else s[1]
        at, met = window.reaching(s[2:], window.taps)
        read = guarded(x.at([s[0], channel, *at]), met)
        return (f"sum[r0,{','.join(window.taps)}]({read} * "
                f"{w.at([channel, inner, *window.taps])})")
    return convolved(g, out, text, [channels, *w.shape[2:]], window)


def weigh_taps(g, out, few, many, window):
    """out[f, c, taps]: the sum over images and places of few[n, f, place] * many[n, c, reached]."""
    many, channels = g.whole(many), out.shape[1]
    places = [f"r{d + 1}" for d in range(window.n)]
    per_group = out.shape[0] // window.groups

    def text(s):
        group = "" if window.groups == 1 else f"({s[0]})/{per_group}*{channels}+"
        read = many.at(["r0", f"{group}{s[1]}", *window.reached(places, s[2:])])
        return f"sum[r0,{','.join(places)}]({few.at(['r0', s[0], *places])} * ({read} else 0))"
    return convolved(g, out, text, [few.shape[0], *few.shape[2:]], window)


def convolved(g, out, text, extents, window):
    if not out.dtype.is_floating_point:
        raise Unsupported("convolutions of integers")
    return g.store(out, text, dict(zip(["r0", *window.taps], extents)),
                   g.convolution_note if out.dtype == torch.float32 else "")


@lowers("convolution")
def lower_convolution(g, out, _, x, w, bias, stride, pad, dilation, transposed, output_pad, groups):
    window = Window(stride, pad, dilation, groups, len(out.shape) - 2)
    made = (spread_taps if transposed else gather_taps)(g, out, x, w, window)
    if bias is None:
        return made
    along = Value((bias.shape[0],) + (1,) * window.n, bias.dtype, lambda s: bias.at(s[:1]))
    return g.map(out, "{0} + {1}", made, along)


@lowers("convolution_backward")
def lower_convolution_backward(g, outs, _, dy, x, w, bias_sizes, stride, pad, dilation, transposed,
                               output_pad, groups, wanted):
    window = Window(stride, pad, dilation, groups, len(dy.shape) - 2)
    dx = dw = db = None
    if wanted[0]:
        dx = (gather_taps if transposed else spread_taps)(g, outs[0], dy, w, window)
    if wanted[1]:
        few, many = (x, dy) if transposed else (dy, x)
        dw = weigh_taps(g, outs[1], few, many, window)
    if wanted[2]:
        db = g.reduce(outs[2], "sum", dy, [0, *range(2, len(dy.shape))], keep=False)
    return dx, dw, db


# Attention: forward and backward share the logarithm of each row's sum, so they are a pair.

def scores(g, q, k, scale, causal, mask):
    """q k^T * scale, with what the mask adds, in the type that is computed in."""
    shape = (*q.shape[:-1], k.shape[-2])
    kind = torch.float64 if q.dtype == torch.float64 else torch.float32
    scale = 1 / math.sqrt(q.shape[-1]) if scale is None else scale

    def text(s):
        b = s[:-2]
        made = (f"sum[r]({q.at([*b, s[-2], 'r'])} * {k.at([*b, s[-1], 'r'])})"
                f" * {literal(float(scale))}")
        if mask is not None:
            made = f"{made} + {g.element(mask, shape, s, kind)}"
        return made
    made = g.store(Like(shape, kind), text, {"r": q.shape[-1]})
    if not causal:
        return made
    return g.store(Like(shape, kind), lambda s: f"{s[-1]} <= {s[-2]} ? {made.at(s)} : -inf")


def for_heads(kv, q):
    """Keys or values for each head of q, where several share theirs; and how many do."""
    if len(q.shape) < 3 or kv.shape[-3] == q.shape[-3]:
        return kv, 1
    n = q.shape[-3] // kv.shape[-3]
    shape = (*kv.shape[:-3], q.shape[-3], *kv.shape[-2:])
    return Value(shape, kv.dtype, lambda s: kv.at([*s[:-3], f"({s[-3]})/{n}", *s[-2:]])), n


def over_heads(g, out, n, rows, term):
    """out[..., j, d]: the sum of term([..., head, r, j], [..., head, r, d]) over rows r, and over
    the n heads that share a head of out."""
    def text(s):
        head = s[-3:-2] if n == 1 else [f"({s[-3]})*{n}+h"]
        place = [*s[:-3], *head, "r"]
        return f"sum[{'h,' * (n > 1)}r]({term([*place, s[-2]], [*place, s[-1]])})"
    return g.store(out, text, {**({"h": n} if n > 1 else {}), "r": rows})


def weights(g, of, total):
    """exp(score - logarithm of the row's sum)."""
    return g.store(Like(of.shape, of.dtype), lambda s: f"exp({of.at(s)} - {total.at(s[:-1])})")


@lowers("_scaled_dot_product_flash_attention_for_cpu")
def lower_attention(g, outs, _, q, k, v, dropout=0.0, causal=False, attn_mask=None, scale=None):
    if dropout:
        raise Unsupported("attention with dropout")
    (k, _), (v, _) = for_heads(k, q), for_heads(v, q)
    of = scores(g, q, k, scale, causal, attn_mask)
    most = g.reduce(Like(of.shape[:-1], of.dtype), "max", of, [-1], keep=False)
    apart = g.store(Like(of.shape, of.dtype), lambda s: f"exp({of.at(s)} - {most.at(s[:-1])})")
    total = g.reduce(Like(of.shape[:-1], of.dtype), "sum", apart, [-1], keep=False)
    made = g.store(outs[0], lambda s: f"sum[r]({factor(apart, v, [*s[:-1], 'r'])} * "
                   f"{v.at([*s[:-2], 'r', s[-1]])}) / {total.at(s[:-1])}", {"r": k.shape[-2]})
    logarithm = g.store(outs[1], lambda s: f"{most.at(s)} + log({total.at(s)})")
    return made, logarithm


def factor(a, v, at):
    """Beside a narrow factor this one is rounded to its type, so that matrix units can take it."""
    return converted(a.at(at), a.dtype, v.dtype)


@lowers("_scaled_dot_product_flash_attention_for_cpu_backward")
def lower_attention_backward(g, outs, _, dy, q, k, v, y, total, dropout, causal, attn_mask=None,
                             scale=None):
    if dropout:
        raise Unsupported("attention with dropout")
    (k, n), (v, _) = for_heads(k, q), for_heads(v, q)
    of = scores(g, q, k, scale, causal, attn_mask)
    scale = literal(1 / math.sqrt(q.shape[-1]) if scale is None else float(scale))
    p = weights(g, of, total)
    row = g.store(Like(of.shape[:-1], of.dtype), lambda s:
                  f"sum[r]({dy.at([*s, 'r'])} * {y.at([*s, 'r'])})", {"r": y.shape[-1]})
    dp = g.store(Like(of.shape, of.dtype), lambda s:
                 f"sum[r]({dy.at([*s[:-1], 'r'])} * {v.at([*s[:-1][:-1], s[-1], 'r'])})",
                 {"r": v.shape[-1]})
    ds = g.store(Like(of.shape, of.dtype), lambda s:
                 f"{p.at(s)} * ({dp.at(s)} - {row.at(s[:-1])}) * {scale}")
    dq = g.store(outs[0], lambda s: f"sum[r]({factor(ds, k, [*s[:-1], 'r'])} * "
                 f"{k.at([*s[:-2], 'r', s[-1]])})", {"r": k.shape[-2]})
    dk = over_heads(g, outs[1], n, q.shape[-2],
                    lambda at, d: f"{factor(ds, q, at)} * {q.at(d)}")
    dv = over_heads(g, outs[2], n, q.shape[-2],
                    lambda at, d: f"{factor(p, dy, at)} * {dy.at(d)}")
    return dq, dk, dv
