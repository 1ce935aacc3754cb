"""Random numbers that a program draws itself: Philox by the scalar `seed`, numbered in the order of
the graph.  They are not PyTorch's, so this is for those who ask for it (`random="program"`)."""
import math

import torch

from .values import Unsupported, converted, linear, literal_in, lowers


def numbers(g, like):
    """The text of an element's 32 random bits."""
    if not g.own_random:
        raise Unsupported("its random numbers are PyTorch's own")
    first, g.drawn = g.drawn, g.drawn + math.prod(like.shape)
    return lambda s: f"philox(seed, {linear(s, like.shape)}+{first})"


def is_below(bits, s, p):
    """True with probability p."""
    return f"{bits(s)} < {round(p * 2 ** 32)}"


@lowers("rand_like", "rand")
def lower_uniform(g, out, _, *__, **___):
    """In [0, 1), 24 bits each."""
    bits = numbers(g, out)
    return g.store(out, lambda s: f"f32({bits(s)} / 256) * {2.0 ** -24}")


@lowers("bernoulli")
def lower_bernoulli(g, out, _, a, p=None, **__):
    bits = numbers(g, out)
    if p is None:
        return g.store(out, lambda s: converted(
            f"f32({bits(s)} / 256) * {2.0 ** -24} < {a.at(s)}", torch.bool, out.dtype))
    return g.store(out, lambda s: converted(is_below(bits, s, p), torch.bool, out.dtype))


@lowers("native_dropout")
def lower_dropout(g, outs, _, a, p, train):
    if not train or p in (0, 1):
        kept = g.store(outs[1], lambda s: "true" if not train or p == 0 else "false")
        return g.map(outs[0], "{0}" if not train or p == 0 else "{0} * 0", a), kept
    bits = numbers(g, outs[0])
    kept = g.store(outs[1], lambda s: f"!({is_below(bits, s, p)})")
    scale, none = (literal_in(x, outs[0].dtype) for x in (1 / (1 - p), 0))
    return g.store(outs[0], lambda s: f"{kept.at(s)} ? {a.at(s)} * {scale} : {none}"), kept
