"""Orders.  An element's place is the number of those before it, so n^2 comparisons in a row of n."""
import torch

from .values import Like, Unsupported, Value, axis, literal, literal_in, lowers

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


@lowers("searchsorted")
def lower_searchsorted(g, out, _, row, a, out_int32=False, right=False, side=None, sorter=None):
    """How many elements of a sorted row are below each of a; on the right, or equal to it.  A row
    with NaN has no such order, and PyTorch's search ends anywhere."""
    mark = ">" if right or side == "right" else ">="

    def place(s, r):
        return [*(s[:-1] if len(row.shape) > 1 else []), r]

    def text(s):
        r = f"({sorter.at(place(s, 'r'))})" if sorter is not None else "r"
        x = a.at(s) if isinstance(a, Value) else literal(a)
        read = row.at(place(s, r)) + (f" else {literal_in(0, row.dtype)}" if sorter else "")
        return f"sum[r](({read}) {mark} {x} ? 0 : 1)"
    if sorter is not None:
        row = g.whole(row)
    return g.store(out, text, {"r": row.shape[-1]})


@lowers("bucketize")
def lower_bucketize(g, out, name, a, row, **options):
    return lower_searchsorted(g, out, name, row, a, **options)
