"""Writes at places that data tell, as reductions by comparison: the same every time."""
import math

import torch

from .gathers import Places
from .values import (TYPES, WRAPPING, Like, Unsupported, Value, axis, converted, highest,
                     literal_in, lowers, lowest, real_kind)
from .views import view_reshape


@lowers("embedding_dense_backward")
def lower_embedding_backward(g, out, _, dy, index, rows, padding, scaled):
    if scaled:
        raise Unsupported("embedding gradients scaled by frequency")
    count = math.prod(index.shape)
    index = view_reshape(g, Like((count,), index.dtype), _, index)
    dy = view_reshape(g, Like((count, dy.shape[-1]), dy.dtype), _, dy)

    def text(s):
        here = f"{index.at(['r'])} == {s[0]}"
        here += f" && {s[0]} != {padding}" if padding >= 0 else ""
        return f"sum[r]({here} ? {dy.at(['r', s[1]])} : 0)"
    return g.store(out, text, {"r": count})


@lowers("index_put", "_unsafe_index_put")
def lower_index_put(g, out, _, a, indices, values, accumulate=False):
    where = Places(a, indices)
    reduced = {f"r{k}": n for k, n in enumerate(where.shape)}
    shape = where.join(where.shape, dict(enumerate(a.shape)))
    here = (lambda s: " && ".join(f"{where.read(g, d, list(reduced))} == {s[d]}"
                                  for d in where.by))

    def value(places, s):
        at = where.join(places, dict(enumerate(s)))
        return converted(g.read(values, shape, at), values.dtype, out.dtype)
    if accumulate:
        return g.store(out, lambda s: added(out, a.at(s), ",".join(reduced), here(s),
                                            value(list(reduced), s)), reduced)
    return put_last(g, out, a, reduced, here, value)


def added(out, first, reduced, here, value):
    """first, and the sum of the values that are written here."""
    if out.dtype == torch.bool:
        return f"{first} || any[{reduced}]({here} && {value})"
    made = f"{first} + sum[{reduced}]({here} ? {value} : 0)"
    return f"{TYPES[out.dtype]}({made})" if out.dtype in WRAPPING else made


def put_last(g, out, a, reduced, here, value):
    """Of several values for one place the last stays."""
    count = math.prod(reduced.values())
    if not count:
        return g.store(out, a.at)
    position = "+".join(f"{r}*{math.prod(list(reduced.values())[k + 1:])}"
                        for k, r in enumerate(reduced)) or "0"
    if not reduced:
        return g.store(out, lambda s: f"{here(s)} ? {value([], s)} : {a.at(s)}")
    last = g.store(Like(tuple(out.shape), torch.int64), lambda s:
                   f"max[{','.join(reduced)}]({here(s)} ? {position} : -1)", reduced)

    def text(s):
        found, below, places = f"max({last.at(s)}, 0)", count, []
        for n in reduced.values():
            below //= n
            places.append(f"(({found})/{below}%{n})")
        return f"{last.at(s)} >= 0 ? {value(places, s)} : {a.at(s)}"
    return g.store(out, text)


def scattered(a, dim, index, src):
    """For each element: which entries along dim are written there, if any, and their values."""
    d = axis(dim, a)
    guard = (lambda s: [f"{s[k]} < {index.shape[k]}" for k in range(len(s))
                        if k != d and index.shape[k] < a.shape[k]])

    def at(v, s, entry):
        return v.at([entry if k == d else i for k, i in enumerate(s)])
    return d, guard, at


def line(g, v):
    """A number as a tensor of one element."""
    number = isinstance(v, Value) and not v.shape
    return view_reshape(g, Like((1,), v.dtype), "", v) if number else v


@lowers("scatter", "scatter_add")
def lower_scatter(g, out, name, a, dim, index, src, reduce=None, include_self=True):
    reduce = REDUCTIONS[reduce or ("sum" if name == "scatter_add" else None)]
    if not a.shape:
        made = lower_scatter(g, Like((1,), out.dtype), name, line(g, a), 0, line(g, index),
                             line(g, src) if isinstance(src, Value) else src, reduce, include_self)
        return view_reshape(g, out, name, made)
    if not index.numel:
        return g.store(out, a.at)
    index, src = g.whole(line(g, index)), g.whole(src) if isinstance(src, Value) else src
    d, guard, at = scattered(a, dim, index, src)
    none = literal_in(0, out.dtype)

    def source(s, entry):
        if not isinstance(src, Value):
            return literal_in(src, out.dtype)
        return f"({at(src, s, entry)} else {none})"

    def match(s):
        return " && ".join([*guard(s), f"({at(index, s, 'r')} else -1) == {s[d]}"])
    if reduce is None:
        return put_last(g, out, a, {"r": index.shape[d]}, match, lambda places, s: source(
            s, places[0] if places else "0"))
    return reduced_here(g, out, a, index.shape[d], match, lambda s: source(s, "r"), reduce,
                        include_self)


# As PyTorch names what becomes of several values for one place.
REDUCTIONS = {None: None, "sum": "sum", "add": "sum", "prod": "prod", "multiply": "prod",
              "mean": "mean", "amax": "max", "amin": "min", "max": "max", "min": "min"}


def reduced_here(g, out, a, n, match, source, reduce, include_self):
    """For each element the values r < n that match, with its own first, if that counts."""
    kind = out.dtype
    if kind == torch.bool and not (reduce == "sum" and include_self):
        raise Unsupported(f"scatter with reduce='{reduce}' of bools")
    if reduce == "sum" and include_self:
        return g.store(out, lambda s: added(out, a.at(s), "r", match(s), source(s)), {"r": n})
    count = g.store(Like(tuple(out.shape), torch.int64),
                    lambda s: f"sum[r]({match(s)} ? i64(1) : 0)", {"r": n})
    none = {"sum": "0", "mean": "0", "prod": "1", "max": lowest(kind), "min": highest(kind)}[reduce]
    wide = real_kind(kind) if kind.is_floating_point else "i64"
    mark = {"sum": "+", "mean": "+", "prod": "*"}.get(reduce)
    monoid = {"+": "sum", "*": "prod"}.get(mark, reduce)

    def text(s):
        made = f"{monoid}[r]({match(s)} ? {wide}({source(s)}) : {wide}({none}))"
        own = f"{wide}({a.at(s)})"
        if include_self:
            made = f"({made} {mark} {own})" if mark else f"{monoid}({made}, {own})"
        if reduce == "mean":
            made = f"{made} / max({wide}({count.at(s)} + {int(include_self)}), 1)"
        return f"{TYPES[kind]}({count.at(s)} == 0 ? {own} : {made})"
    return g.store(out, text, {"r": n})


@lowers("scatter_reduce")
def lower_scatter_reduce(g, out, name, a, dim, index, src, reduce, include_self=True):
    return lower_scatter(g, out, name, a, dim, index, src, reduce, include_self)


@lowers("index_reduce")
def lower_index_reduce(g, out, name, a, dim, index, src, reduce, include_self=True):
    if not a.shape:
        made = lower_index_reduce(g, Like((1,), out.dtype), name, line(g, a), 0, line(g, index),
                                  line(g, src), reduce, include_self)
        return view_reshape(g, out, name, made)
    d, index = axis(dim, a), line(g, index)
    return reduced_here(g, out, a, index.shape[0], lambda s: f"{index.at(['r'])} == {s[d]}",
                        lambda s: src.at(["r" if k == d else i for k, i in enumerate(s)]),
                        REDUCTIONS[reduce], include_self)


def flat(g, v):
    return view_reshape(g, Like((v.numel,), v.dtype), "", v)


@lowers("put")
def lower_put(g, out, name, a, index, src, accumulate=False):
    line_of = Like((a.numel,), out.dtype)
    made = lower_index_put(g, line_of, name, flat(g, a), [flat(g, index)], flat(g, src), accumulate)
    return view_reshape(g, out, name, made)


def ranks(g, mask, shape):
    """For each element of a shape, row by row: is it masked, and how many up to it are."""
    size = math.prod(shape)
    over = view_reshape(g, Like((size,), torch.bool), "", Value(
        tuple(shape), torch.bool, lambda s: g.read(mask, shape, s)))
    over = g.store(over, over.at)
    return over, g.store(Like((size,), torch.int64), lambda s: (
        f"sum[r](r <= {s[0]} && {over.at(['r'])} ? i64(1) : 0)"), {"r": size})


@lowers("masked_scatter")
def lower_masked_scatter(g, out, name, a, mask, src):
    over, rank = ranks(g, mask, out.shape)
    src, own = g.whole(flat(g, src)), Value(tuple(out.shape), a.dtype,
                                            lambda s: g.read(a, out.shape, s))
    own = flat(g, own)
    made = g.store(Like((own.numel,), out.dtype), lambda s: (
        f"{over.at(s)} ? ({src.at([f'{rank.at(s)}-1'])} else {literal_in(0, out.dtype)}) : "
        f"{own.at(s)}"))
    return view_reshape(g, out, name, made)


@lowers("masked_scatter_backward")
def lower_masked_scatter_backward(g, out, name, dy, mask, sizes):
    over, rank = ranks(g, mask, dy.shape)
    given, size = flat(g, dy), math.prod(out.shape)
    made = g.store(Like((size,), out.dtype), lambda s: (
        f"sum[r]({over.at(['r'])} && {rank.at(['r'])} == {s[0]}+1 ? {given.at(['r'])} : 0)"),
        {"r": given.numel})
    return view_reshape(g, out, name, made)


@lowers("index_add")
def lower_index_add(g, out, _, a, dim, index, src, alpha=1):
    if not a.shape:
        made = lower_index_add(g, Like((1,), out.dtype), _, line(g, a), 0, line(g, index),
                               line(g, src), alpha)
        return view_reshape(g, out, _, made)
    d, index = axis(dim, a), line(g, index)

    def text(s):
        value = src.at(["r" if k == d else i for k, i in enumerate(s)])
        return added(out, a.at(s), "r", f"{index.at(['r'])} == {s[d]}",
                     value if alpha == 1 else f"{literal_in(alpha, out.dtype)} * {value}")
    return g.store(out, text, {"r": index.shape[0]})
