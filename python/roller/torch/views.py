"""Views, which are other subscripts of the same elements, and movements of data."""
import math

import torch

from .values import (TYPES, Like, Unsupported, Value, axes, axis, converted, is_one, is_varying,
                     linear, literal_in, lowers, spatial, subscript, views)


def view(out, a, at):
    return Value(tuple(out.shape), a.dtype, at)


def zero_of(dtype):
    return "false" if dtype == torch.bool else f"{TYPES[dtype]}({literal_in(0, dtype)})"


@views("alias", "detach")
def view_same(g, out, _, a, *__):
    return a


@views("permute")
def view_permute(g, out, _, a, dims):
    place = [axis(d, a) for d in dims]
    return view(out, a, lambda s: a.at([s[place.index(d)] for d in range(len(place))]))


@views("transpose")
def view_transpose(g, out, _, a, d, e):
    dims = list(range(len(a.shape)))
    if dims:
        d, e = axis(d, a), axis(e, a)
        dims[d], dims[e] = dims[e], dims[d]
    return view_permute(g, out, _, a, dims)


@views("t")
def view_t(g, out, _, a):
    return view_permute(g, out, _, a, range(len(a.shape))[::-1])


@views("expand")
def view_expand(g, out, _, a, *__, **___):
    return view(out, a, lambda s: g.read(a, out.shape, s))


@views("broadcast_in_dim")
def view_broadcast(g, out, _, a, shape, places):
    return view(out, a, lambda s: a.at(["0" if a.shape[d] == 1 else s[p]
                                        for d, p in enumerate(places)]))


def clamped(start, n):
    """The first of n elements that a slice takes."""
    return 0 if start is None else max(start + n, 0) if start < 0 else min(start, n)


@views("slice")
def view_slice(g, out, _, a, dim=0, start=None, end=None, step=1):
    d = axis(dim, a)
    start = clamped(start, a.shape[d])
    return view(out, a, lambda s: a.at(
        [subscript(i, step, start) if k == d else i for k, i in enumerate(s)]))


@views("select")
def view_select(g, out, _, a, dim, index):
    d = axis(dim, a)
    return view(out, a, lambda s: a.at([*s[:d], str(index % a.shape[d]), *s[d:]]))


@views("unfold")
def view_unfold(g, out, _, a, dim, size, step):
    if not a.shape:
        return view(out, a, lambda s: a.at([]))
    d = axis(dim, a)
    return view(out, a, lambda s: a.at(
        [f"({subscript(i, step)})+{s[-1]}" if k == d else i for k, i in enumerate(s[:-1])]))


@views("diagonal")
def view_diagonal(g, out, _, a, offset=0, dim1=0, dim2=1):
    d, e = axis(dim1, a), axis(dim2, a)

    def at(s):
        rest = iter(s[:-1])
        first = {d: max(-offset, 0), e: max(offset, 0)}
        return a.at([subscript(s[-1], 1, first[k]) if k in first else next(rest)
                     for k in range(len(a.shape))])
    return view(out, a, at)


def same(a, b):
    """Equal whatever the sizes are?"""
    return a.same(b) if is_varying(a) else b.same(a) if is_varying(b) else a == b


def now(n):
    """The value that is met; for choices that are right for any."""
    return n.met() if is_varying(n) else n


def spans(old, new):
    """Parts both shapes into runs of dimensions with the same product: pairs of ranges."""
    i = j = 0
    while i < len(old) or j < len(new):
        first, second, a, b = i, j, 1, 1
        while not same(a, b) or (i == first and j == second):
            if i == len(old) and j == len(new):
                assert a == b           # by the sizes that are met, which are numbers from now on
                break
            if j >= len(new) or (i < len(old) and now(a) <= now(b)):
                a, i = a * old[i], i + 1
            else:
                b, j = b * new[j], j + 1
        yield range(first, i), range(second, j)


def cut(position, extents):
    """The subscripts of a position among dimensions of these extents."""
    wide, below, made = [d for d, n in enumerate(extents) if not is_one(n)], 1, ["0"] * len(extents)
    for d in reversed(range(len(extents))):
        text = position if below == 1 else f"({position})/{below}"
        if wide and d != wide[0]:
            text = f"({text})%{extents[d]}"
        if not is_one(extents[d]):
            made[d] = text
        below *= extents[d]
    return made


@views("view", "reshape", "_unsafe_view", "squeeze", "unsqueeze", "flatten", "_reshape_alias")
def view_reshape(g, out, _, a, *__):
    old, new = a.shape, tuple(out.shape)
    if 0 in old:
        return view(out, a, lambda s: zero_of(a.dtype))

    def at(s):
        subscripts = [None] * len(old)
        for ours, theirs in spans(old, new):
            several = sum(not is_one(new[d]) for d in theirs) > 1
            position = linear([s[d] for d in theirs], [new[d] for d in theirs])
            parts = cut(f"({position})" if several else position, [old[d] for d in ours])
            for d, text in zip(ours, parts):
                subscripts[d] = text
        return a.at(subscripts)
    return view(out, a, at)


@views("flip")
def view_flip(g, out, _, a, dims):
    dims = axes(dims, a) if dims else []
    return view(out, a, lambda s: a.at(
        [f"{a.shape[d] - 1}-({i})" if d in dims else i for d, i in enumerate(s)]))


@lowers("split_with_sizes", "split", "unbind", "chunk")
def lower_split(g, outs, name, a, sizes=0, dim=0):
    if name == "unbind":
        return tuple(view_select(g, out, name, a, sizes, k) for k, out in enumerate(outs))
    d, parts, at = axis(dim, a), [], 0
    for out in outs:
        parts.append(view_slice(g, out, name, a, d, at))
        at += out.shape[d]
    return tuple(parts)


# Movements of data.

@lowers("cat")
def lower_cat(g, out, _, parts, dim=0):
    d = axis(dim, out)
    parts = [p for p in parts if p.shape != (0,) and p.numel]
    if not parts:
        return g.store(out, lambda s: literal_in(0, out.dtype))

    def text(s):
        result, end = None, out.shape[d]
        for p in reversed(parts):
            begin = end - p.shape[d]
            element = p.at([subscript(i, 1, -begin) if k == d else i for k, i in enumerate(s)])
            element = f"({cast(element, p, out)})"
            result = element if result is None else f"({s[d]} < {end} ? {element} : {result})"
            end = begin
        return result
    return g.store(out, text)


def cast(text, v, out):
    return converted(text, v.dtype, out.dtype)


@lowers("constant_pad_nd")
def lower_pad(g, out, _, a, pads, value=0):
    a = g.whole(a)
    first = {len(a.shape) - 1 - k: pads[2 * k] for k in range(len(pads) // 2)}
    if not a.shape:
        return a
    return g.store(out, lambda s: "{} else {}".format(
        a.at([subscript(i, 1, -first.get(d, 0)) for d, i in enumerate(s)]),
        literal_in(value, out.dtype)))


@lowers("roll")
def lower_roll(g, out, _, a, shifts, dims=()):
    shifts, dims = ([x] if isinstance(x, int) else list(x) for x in (shifts, dims))
    if not dims:
        raise Unsupported("roll of a flattened tensor")
    by = {}
    for d, n in zip(dims, shifts):
        by[axis(d, a)] = by.get(axis(d, a), 0) + n
    return g.store(out, lambda s: a.at(
        [f"({i}+{-by[d] % max(n, 1)})%{n}" if d in by else i
         for d, (i, n) in enumerate(zip(s, a.shape))]))


@lowers("repeat")
def lower_repeat(g, out, _, a, repeats):
    skip = len(repeats) - len(a.shape)
    return g.store(out, lambda s: a.at(
        ["0" if is_one(n) else f"({s[d + skip]})%{n}" for d, n in enumerate(a.shape)]))


@lowers("tril", "triu")
def lower_triangle(g, out, name, a, diagonal=0):
    mark = "<=" if name == "tril" else ">="
    zero = literal_in(0, out.dtype)
    return g.store(out, lambda s:
                   f"({s[-1]}) - ({s[-2]}) {mark} {diagonal} ? {a.at(s)} : {zero}")


@lowers("slice_scatter")
def lower_slice_scatter(g, out, _, a, src, dim=0, start=None, end=None, step=1):
    d = axis(dim, a)
    start = clamped(start, a.shape[d])
    count, src = src.shape[d], g.whole(src)

    def text(s):
        at = [f"(({i})-{start})/{step}" if k == d else i for k, i in enumerate(s)]
        where = [f"{s[d]} >= {start}", f"{s[d]} < {start + (count - 1) * step + 1}"]
        if step > 1:
            where.append(f"(({s[d]})-{start})%{step} == 0")
        value = cast(src.at(at), src, out)
        return f"{' && '.join(where)} ? {value} : {a.at(s)}"
    return g.store(out, text) if count else a


@lowers("select_scatter")
def lower_select_scatter(g, out, _, a, src, dim, index):
    d = axis(dim, a)
    return g.store(out, lambda s: f"{s[d]} == {index % a.shape[d]} ? "
                   f"{cast(src.at([*s[:d], *s[d + 1:]]), src, out)} : {a.at(s)}")


@lowers("diagonal_scatter")
def lower_diagonal_scatter(g, out, _, a, src, offset=0, dim1=0, dim2=1):
    d, e, src = axis(dim1, a), axis(dim2, a), g.whole(src)

    def text(s):
        rest = [i for k, i in enumerate(s) if k not in (d, e)]
        along = subscript(s[d], 1, -max(-offset, 0))
        return (f"({s[e]}) - ({s[d]}) == {offset} ? "
                f"({src.at([*rest, along])} else {literal_in(0, out.dtype)}) : {a.at(s)}")
    if src.dtype != out.dtype:
        raise Unsupported("diagonal_scatter of another type")
    return g.store(out, text)


@lowers("diag_embed")
def lower_diag_embed(g, out, _, a, offset=0, dim1=-2, dim2=-1):
    d, e, a = axis(dim1, Value(tuple(out.shape), a.dtype, None)), axis(
        dim2, Value(tuple(out.shape), a.dtype, None)), g.whole(a)

    def text(s):
        rest = [i for k, i in enumerate(s) if k not in (d, e)]
        along = subscript(s[d], 1, -max(-offset, 0))
        zero = literal_in(0, out.dtype)
        return f"({s[e]}) - ({s[d]}) == {offset} ? ({a.at([*rest, along])} else {zero}) : {zero}"
    return g.store(out, text)


@lowers("reflection_pad1d", "reflection_pad2d", "reflection_pad3d", "replication_pad1d",
        "replication_pad2d", "replication_pad3d")
def lower_edge_pad(g, out, name, a, pads):
    n = spatial(name)
    first = [pads[2 * (n - 1 - k)] for k in range(n)]

    def at(i, before, extent):
        place = f"(({i})-{before})"
        if name.startswith("replication"):
            return f"min(max({place}, 0), {extent - 1})"
        return f"({extent - 1} - abs({extent - 1} - abs({place})))"
    return g.store(out, lambda s: a.at(
        [*s[:-n], *(at(i, b, e) for i, b, e in zip(s[-n:], first, a.shape[-n:]))]))


@lowers("replication_pad1d_backward", "replication_pad2d_backward", "replication_pad3d_backward")
def lower_edge_pad_backward(g, out, name, dy, a, pads):
    """Axis by axis the sum of what was read at each place."""
    for k in range(spatial(name)):
        d, before = len(a.shape) - 1 - k, pads[2 * k]
        dy = gathered_at(g, dy, d, a.shape[d], lambda r: f"({r})-{before}")
    return g.map(out, "{0}", dy)


def gathered_at(g, dy, d, n, place):
    """Along axis d the sums of what is nearest to each of n places."""
    shape = (*dy.shape[:d], n, *dy.shape[d + 1:])
    kind = torch.float64 if dy.dtype == torch.float64 else torch.float32
    return g.store(Like(shape, kind), lambda s: (
        f"sum[r](min(max({place('r')}, 0), {n - 1}) == {s[d]} ? "
        f"{converted(dy.at([*s[:d], 'r', *s[d + 1:]]), dy.dtype, kind)} : 0)"), {"r": dy.shape[d]})
