"""Reads and writes at places that data tell.  A write is a sum by comparison, which is the same
every time."""
import math

import torch

from .values import (WRAPPING, Like, Unsupported, Value, axis, broadcast, converted, literal_in,
                     lowers)
from .views import view_reshape


def wrapped(text, extent):
    """An index that may count from the end."""
    return f"(({text}) < 0 ? ({text}) + {extent} : ({text}))"


@lowers("gather")
def lower_gather(g, out, _, a, dim, index, **__):
    a, d, index = g.whole(a), axis(dim, a), g.whole(index)
    if not a.shape:
        return g.map(out, "{0}", a)
    zero = literal_in(0, out.dtype)

    def text(s):
        at = index.at(s if index.shape else [])
        return a.at([at if k == d else i for k, i in enumerate(s)]) + f" else {zero}"
    return g.store(out, text)


@lowers("index_select")
def lower_index_select(g, out, _, a, dim, index):
    a, d = g.whole(a), axis(dim, a)
    if not a.shape:
        return g.map(out, "{0}", a)
    at = (lambda i: index.at([i] if index.shape else []))
    return g.store(out, lambda s: a.at([at(i) if k == d else i for k, i in enumerate(s)])
                   + f" else {literal_in(0, out.dtype)}")


@lowers("embedding")
def lower_embedding(g, out, _, table, index, *__, **___):
    table = g.whole(table)
    return g.store(out, lambda s: table.at([index.at(s[:-1]), s[-1]])
                   + f" else {literal_in(0, out.dtype)}")


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


class Places:
    """x[i, :, j]: which axes are indexed, by tensors of one shape, and where their axes go."""

    def __init__(self, a, indices):
        indices = [*indices, *[None] * (len(a.shape) - len(indices))]
        self.by = {d: i for d, i in enumerate(indices) if i is not None}
        if any(i.dtype in (torch.bool, torch.uint8) for i in self.by.values()):
            raise Unsupported("indices by truths, whose count depends on data")
        self.extents = a.shape
        self.shape = broadcast([i.shape for i in self.by.values()])
        axes = list(self.by)
        together = axes == list(range(axes[0], axes[0] + len(axes)))
        self.first = axes[0] if together else 0
        self.kept = [d for d in range(len(a.shape)) if d not in self.by]

    def split(self, s):
        """The subscripts of a result: those of the indices, and of each axis that is kept."""
        n = len(self.shape)
        rest = [*s[:self.first], *s[self.first + n:]]
        return s[self.first:self.first + n], dict(zip(self.kept, rest))

    def join(self, places, rest):
        """The other way round: the subscripts of a result."""
        rest = [rest[d] for d in self.kept]
        return [*rest[:self.first], *places, *rest[self.first:]]

    def read(self, g, d, places):
        return wrapped(g.read(self.by[d], self.shape, places), self.extents[d])


@lowers("index", "_unsafe_index")
def lower_index(g, out, _, a, indices):
    where, a = Places(a, indices), g.whole(a)

    def text(s):
        places, rest = where.split(s)
        at = [where.read(g, d, places) if d in where.by else rest[d] for d in range(len(a.shape))]
        return a.at(at) + f" else {literal_in(0, out.dtype)}"
    return g.store(out, text)


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
        if out.dtype in (*WRAPPING, torch.bool):
            raise Unsupported("sums of narrow integers at places that data tell")
        return g.store(out, lambda s: f"{a.at(s)} + sum[{','.join(reduced)}]({here(s)} ? "
                       f"{value(list(reduced), s)} : 0)", reduced)
    return put_last(g, out, a, reduced, here, value)


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
def lower_scatter(g, out, name, a, dim, index, src, reduce=None):
    if reduce is not None:
        raise Unsupported(f"scatter with reduce='{reduce}'")
    if not a.shape:
        made = lower_scatter(g, Like((1,), out.dtype), name, line(g, a), 0, line(g, index),
                             line(g, src) if isinstance(src, Value) else src)
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
    reduced = {"r": index.shape[d]}
    if name == "scatter_add":
        if out.dtype in (*WRAPPING, torch.bool):
            raise Unsupported("sums of narrow integers at places that data tell")
        return g.store(out, lambda s: f"{a.at(s)} + sum[r]({match(s)} ? {source(s, 'r')} : 0)",
                       reduced)
    return put_last(g, out, a, reduced, match, lambda places, s: source(
        s, places[0] if places else "0"))


@lowers("index_add")
def lower_index_add(g, out, _, a, dim, index, src, alpha=1):
    if not a.shape:
        made = lower_index_add(g, Like((1,), out.dtype), _, line(g, a), 0, line(g, index),
                               line(g, src), alpha)
        return view_reshape(g, out, _, made)
    d, index = axis(dim, a), line(g, index)
    if out.dtype in (*WRAPPING, torch.bool):
        raise Unsupported("sums of narrow integers at places that data tell")
    return g.store(out, lambda s: f"{a.at(s)} + {literal_in(alpha, out.dtype)} * sum[r]("
                   f"{index.at(['r'])} == {s[d]} ? "
                   f"{src.at(['r' if k == d else i for k, i in enumerate(s)])} : 0)",
                   {"r": index.shape[0]})


# Orders.  An element's place is the number of those before it, so n^2 comparisons in a row of n.
MOST_SORTED = 128


def places(g, a, d, descending):
    """For each element how many of its row come before it; NaN is above all numbers."""
    a, mark = g.whole(a), ">" if descending else "<"

    def text(s):
        x, y = a.at([*s[:d], "r", *s[d + 1:]]), a.at(s)
        before, same = f"{x} {mark} {y}", f"{x} == {y}"
        if a.dtype == torch.bool:
            before = f"{x} && !{y}" if descending else f"!{x} && {y}"
        elif a.dtype.is_floating_point:
            first, second = (x, y) if descending else (y, x)
            before = f"({before} || {first} != {first} && {second} == {second})"
            same = f"({same} || {x} != {x} && {y} != {y})"
        return f"sum[r](({before}) || {same} && r < {s[d]} ? 1 : 0)"
    return g.store(Like(a.shape, torch.int32), text, {"r": a.shape[d]})


@lowers("sort", "topk")
def lower_sort(g, outs, name, a, *args, **options):
    if name == "topk":
        dim, descending = ([*args[1:], -1][0], args[2] if len(args) > 2 else True)
    else:
        given = list(args[1:] if args and isinstance(args[0], bool) and len(args) > 1 else args)
        dim = options.get("dim", given[0] if given else -1)
        descending = options.get("descending", given[1] if len(given) > 1 else False)
    d = axis(dim, a)
    if not a.shape or not a.numel or a.shape[d] > MOST_SORTED:
        raise Unsupported(f"orders of more than {MOST_SORTED} elements, or of none")
    place, a = places(g, a, d, descending), g.whole(a)
    index = g.store(outs[1], lambda s: "sum[r]({} == {} ? i64(r) : 0)".format(
        place.at([*s[:d], "r", *s[d + 1:]]), s[d]), {"r": a.shape[d]})
    return g.store(outs[0], lambda s: a.at([*s[:d], index.at(s), *s[d + 1:]])
                   + f" else {literal_in(0, a.dtype)}"), index
