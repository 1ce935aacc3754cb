"""Operators that move elements: most change the subscripts of those that read."""
import numpy as np

from .dtypes import array_of, dtype_of
from .extents import is_known, product
from .registry import axes_of, axis_of, constant, extents_of, lowers
from .statements import Tensor, Unsupported, broadcast, joined, literal, parted


def view(x, shape, at):
    """x's elements under other subscripts: at(subscripts) -> x's."""
    return Tensor(tuple(shape), x.dtype, lambda s: x.at(at(s)))


def taken(x, axis, i):
    """x at one place of an axis, which is gone."""
    return view(x, x.shape[:axis] + x.shape[axis + 1:],
                lambda s: [*s[:axis], str(i), *s[axis:]])


@lowers("Transpose")
def lower_transpose(g, node, x):
    order = node.list("perm", list(range(x.rank))[::-1])
    place = {d: k for k, d in enumerate(order)}
    return view(x, [x.shape[d] for d in order], lambda s: [s[place[d]] for d in range(x.rank)])


def reshape(x, shape):
    """Extents that both have in front or behind keep their indices; between them an element's
    place decides."""
    shape = tuple(shape)
    groups = _groups(x.shape, shape)

    def at(s):
        result = []
        for (i0, i1), (o0, o1) in groups:
            inside, outside = x.shape[i0:i1], shape[o0:o1]
            if [n for n in inside if n != 1] == [n for n in outside if n != 1]:
                own = iter([k for k, n in zip(s[o0:o1], outside) if n != 1])
                result += ["0" if n == 1 else next(own) for n in inside]
            else:
                result += parted(joined(s[o0:o1], outside), inside)
        return result
    return view(x, shape, at)


def _groups(a, b):
    """Parts of two shapes that have as many elements, as short as they are."""
    groups, i, j = [], 0, 0
    while i < len(a) or j < len(b):
        i0, j0 = i, j
        left, right = 1, 1
        if i < len(a):
            left, i = left * a[i], i + 1
        if j < len(b):
            right, j = right * b[j], j + 1
        while left != right:
            grow_left = _smaller(left, right, i < len(a), j < len(b))
            if grow_left is None:
                raise Unsupported(f"{a} cannot be seen as {b}")
            if grow_left:
                left, i = left * a[i], i + 1
            else:
                right, j = right * b[j], j + 1
        groups.append(((i0, i), (j0, j)))
    return groups


def _smaller(left, right, more_left, more_right):
    """Does the left part grow?  None: neither can."""
    if not more_left and not more_right:
        return None
    if not more_left or not more_right:
        return more_left
    if is_known(left) and is_known(right):
        return left < right
    return is_known(left) or not (is_known(right) or str(left) > str(right))


def _wanted(node, x, shape):
    sizes = extents_of(shape, "the shape") if shape is not None else node.list("shape")
    keeps = not node.get("allowzero", 0)
    sizes = [x.shape[d] if is_known(n) and n == 0 and keeps else n for d, n in enumerate(sizes)]
    free = [d for d, n in enumerate(sizes) if is_known(n) and n == -1]
    if free:
        rest = product([n for d, n in enumerate(sizes) if d != free[0]])
        sizes[free[0]] = x.count // rest if rest != 0 else 0
    return sizes


@lowers("Reshape")
def lower_reshape(g, node, x, shape=None):
    return reshape(x, _wanted(node, x, shape))


@lowers("Flatten")
def lower_flatten(g, node, x):
    axis = node.get("axis", 1)
    axis += x.rank if axis < 0 else 0
    return reshape(x, [product(x.shape[:axis]), product(x.shape[axis:])])


def _axes_input(node, axes):
    return [int(a) for a in constant(axes, "axes").reshape(-1)] if axes is not None \
        else node.list("axes")


@lowers("Squeeze")
def lower_squeeze(g, node, x, axes=None):
    given = _axes_input(node, axes)
    gone = axes_of(given, x.rank) if given is not None else \
        [d for d, n in enumerate(x.shape) if is_known(n) and n == 1]
    return reshape(x, [n for d, n in enumerate(x.shape) if d not in gone])


@lowers("Unsqueeze")
def lower_unsqueeze(g, node, x, axes=None):
    given = _axes_input(node, axes)
    new = axes_of(given, x.rank + len(given))
    left = iter(x.shape)
    return reshape(x, [1 if d in new else next(left) for d in range(x.rank + len(given))])


@lowers("Expand")
def lower_expand(g, node, x, shape):
    to = broadcast(x.shape, tuple(extents_of(shape, "the shape")))
    skip = len(to) - x.rank
    return view(x, to, lambda s: ["0" if n == 1 else s[d + skip] for d, n in enumerate(x.shape)])


@lowers("Tile")
def lower_tile(g, node, x, repeats):
    times = [int(n) for n in constant(repeats, "repeats").reshape(-1)]
    shape = [n * k for n, k in zip(x.shape, times)]
    return view(x, shape, lambda s: [
        "0" if n == 1 else i if k == 1 else f"({i}) % {n}"
        for i, n, k in zip(s, x.shape, times)])


@lowers("Slice")
def lower_slice(g, node, x, starts=None, ends=None, axes=None, steps=None):
    starts = extents_of(starts, "starts") if starts is not None else node.list("starts")
    ends = extents_of(ends, "ends") if ends is not None else node.list("ends")
    axes = extents_of(axes, "axes") if axes is not None else \
        node.list("axes", list(range(len(starts))))
    steps = extents_of(steps, "steps") if steps is not None else [1] * len(starts)
    shape, first, by = list(x.shape), ["0"] * x.rank, [1] * x.rank
    for axis, lo, hi, step in zip(axes, starts, ends, steps):
        axis = axis_of(axis, x.rank)
        shape[axis], first[axis], by[axis] = _range(x.shape[axis], lo, hi, step)
    return view(x, shape, lambda s: [_along(i, f, b) for i, f, b in zip(s, first, by)])


def _range(n, lo, hi, step):
    """Extent, first place and step of a slice."""
    if is_known(n):
        places = range(*slice(_whole(lo), _whole(hi), step).indices(n))
        return len(places), places.start, step
    if step != 1 or not is_known(lo) or lo < 0:
        raise Unsupported("a slice of a run-time size that is no run from a known place")
    if not is_known(hi):
        return hi - lo, lo, 1
    if hi < 0:
        return n + hi - lo, lo, 1
    if hi >= 1 << 31:
        return n - lo, lo, 1
    raise Unsupported("a slice to a place that may lie beyond the end")


def _whole(n):
    if not is_known(n):
        raise Unsupported("a slice whose end is a run-time size")
    return n


def _along(i, first, step):
    text = i if step == 1 else f"({i})*{step}" if step > 0 else f"({i})*({step})"
    return text if str(first) == "0" else f"{text} + {first}" if step > 0 else f"{first} + {text}"


@lowers("Split")
def lower_split(g, node, x, split=None):
    axis = axis_of(node.get("axis", 0), x.rank)
    sizes = extents_of(split, "split") if split is not None else node.list("split")
    n = x.shape[axis]
    if sizes is None:
        parts = node.n_outputs
        each = -(-n // parts) if is_known(n) else n // parts
        sizes = [each] * (parts - 1) + [n - each * (parts - 1)]
    results, first = [], 0
    for size in sizes:
        shape = list(x.shape)
        shape[axis] = size
        results.append(view(x, shape, lambda s, f=first: [
            _along(i, f, 1) if d == axis else i for d, i in enumerate(s)]))
        first = first + size
    return results


@lowers("Concat")
def lower_concat(g, node, *inputs):
    axis = axis_of(node["axis"], inputs[0].rank)
    return concat(g, [x for x in inputs if x.shape[axis] != 0] or inputs[:1], axis)


def concat(g, inputs, axis):
    if len(inputs) == 1:
        return inputs[0]
    shape, firsts = list(inputs[0].shape), []
    total = 0
    for x in inputs:
        firsts.append(total)
        total = total + x.shape[axis]
    shape[axis] = total

    def text(s):
        result = ""
        for k, (x, first) in enumerate(zip(inputs, firsts)):
            at = [f"{i} - ({first})" if d == axis and k else i for d, i in enumerate(s)]
            test = f"{s[axis]} < {firsts[k + 1]} ? " if k + 1 < len(inputs) else ""
            result += f"{test}{x.at(at)}" + (" : " if test else "")
        return result
    return g.store(shape, inputs[0].dtype, text)


@lowers("Gather")
def lower_gather(g, node, x, index):
    axis = axis_of(node.get("axis", 0), x.rank)
    n, k = x.shape[axis], index.rank
    shape = x.shape[:axis] + index.shape + x.shape[axis + 1:]
    if index.data is not None and index.data.size == 1:
        i = int(index.data.reshape(-1)[0])
        at = str(i) if i >= 0 else str(n + i)
        return view(x, shape, lambda s: [*s[:axis], at, *s[axis + k:]])
    source = g.whole(x)

    def text(s):
        i = wrapped(index.at(s[axis:axis + k]), n)
        return source.at([*s[:axis], i, *s[axis + k:]]) + else_of(x.dtype)
    return g.store(shape, x.dtype, text)


def wrapped(i, n):
    """An index that counts from the end where it is negative."""
    return f"({i} < 0 ? {i} + {n} : {i})"


def else_of(dtype):
    return " else false" if dtype == "bool" else " else 0"


@lowers("GatherElements")
def lower_gather_elements(g, node, x, index):
    axis = axis_of(node.get("axis", 0), x.rank)
    source = g.whole(x)

    def text(s):
        at = list(s)
        at[axis] = wrapped(index.at(s), x.shape[axis])
        return source.at(at) + else_of(x.dtype)
    return g.store(index.shape, x.dtype, text)


@lowers("GatherND")
def lower_gather_nd(g, node, x, index):
    batch, n = node.get("batch_dims", 0), index.shape[-1]
    shape = index.shape[:-1] + x.shape[batch + n:]
    source, k = g.whole(x), index.rank - 1

    def text(s):
        places = [wrapped(index.at([*s[:k], str(d)]), x.shape[batch + d]) for d in range(n)]
        return source.at([*s[:batch], *places, *s[k:]]) + else_of(x.dtype)
    return g.store(shape, x.dtype, text)


@lowers("ArrayFeatureExtractor")
def lower_features(g, node, x, index):
    i = index if index.rank == 1 else reshape(index, [index.count])
    source = g.whole(x)
    return g.store([*(x.shape[:-1] or (1,)), i.shape[0]], x.dtype, lambda s: source.at(
        [*s[:x.rank - 1], i.at([s[-1]])]) + else_of(x.dtype))


def number(dtype, value):
    if dtype == "bool":
        return "true" if value else "false"
    return literal(value, dtype in ("f64", "f32", "f16", "bf16"))


@lowers("Pad")
def lower_pad(g, node, x, pads=None, value=None, axes=None):
    widths = extents_of(pads, "pads") if pads is not None else node.list("pads") or \
        node.list("paddings")
    dims = [axis_of(int(a), x.rank) for a in constant(axes, "axes").reshape(-1)] \
        if axes is not None else list(range(x.rank))
    before, after = [0] * x.rank, [0] * x.rank
    for k, d in enumerate(dims):
        before[d], after[d] = widths[k], widths[k + len(dims)]
    shape = [n + b + a for n, b, a in zip(x.shape, before, after)]
    mode = node.get("mode", "constant")
    if mode == "constant":
        fill = value.at(["0"] * value.rank) if value is not None else number(x.dtype, node.get("value", 0))
        source = g.whole(x)
        return g.store(shape, x.dtype, lambda s: source.at(
            [i if b == 0 else f"{i} - ({b})" for i, b in zip(s, before)]) + f" else ({fill})")
    return view(x, shape, lambda s: [_mirrored(mode, i, n, b, a)
                                     for i, n, b, a in zip(s, x.shape, before, after)])


def _mirrored(mode, i, n, before, after):
    if before == 0 and after == 0:
        return i
    place = i if before == 0 else f"({i} - ({before}))"
    if mode == "edge":
        return f"min(max({place}, 0), {n} - 1)"
    if mode == "wrap":
        return f"{place} % {n}"
    period = 2 * (n - 1) if mode == "reflect" else 0
    if period == 0:
        return "0"
    return f"({n} - 1 - abs({place} % {period} - ({n} - 1)))"


@lowers("CenterCropPad")
def lower_center(g, node, x, shape):
    axes = [axis_of(a, x.rank) for a in node.list("axes", list(range(x.rank)))]
    wanted = dict(zip(axes, extents_of(shape, "the shape")))
    target, offset, pads = list(x.shape), [0] * x.rank, False
    for d, n in wanted.items():
        have = x.shape[d]
        target[d] = n
        offset[d] = (have - n) // 2 if have >= n else -((n - have) // 2)
        pads |= n > have
    source = g.whole(x) if pads else x
    guard = else_of(x.dtype) if pads else ""
    return g.store(target, x.dtype, lambda s: source.at(
        [f"{i} + ({o})" if o else i for i, o in zip(s, offset)]) + guard)


@lowers("DepthToSpace")
def lower_depth_to_space(g, node, x):
    n, c, h, w = x.shape
    b = node["blocksize"]
    depth = c // (b * b)
    if node.get("mode", "DCR") == "DCR":
        y = transposed(reshape(x, [n, b, b, depth, h, w]), [0, 3, 4, 1, 5, 2])
    else:
        y = transposed(reshape(x, [n, depth, b, b, h, w]), [0, 1, 4, 2, 5, 3])
    return reshape(y, [n, depth, h * b, w * b])


@lowers("SpaceToDepth")
def lower_space_to_depth(g, node, x):
    n, c, h, w = x.shape
    b = node["blocksize"]
    y = transposed(reshape(x, [n, c, h // b, b, w // b, b]), [0, 3, 5, 1, 2, 4])
    if node.get("mode", "DCR") == "CRD":
        y = transposed(reshape(x, [n, c, h // b, b, w // b, b]), [0, 1, 3, 5, 2, 4])
    return reshape(y, [n, c * b * b, h // b, w // b])


def transposed(x, order):
    place = {d: k for k, d in enumerate(order)}
    return view(x, [x.shape[d] for d in order], lambda s: [s[place[d]] for d in range(x.rank)])


@lowers("Trilu")
def lower_trilu(g, node, x, k=None):
    shift = int(constant(k, "k").reshape(-1)[0]) if k is not None else 0
    sign = ">=" if node.get("upper", 1) else "<="
    zero = number(x.dtype, 0)
    if x.dtype == "bool":
        return g.store(x.shape, x.dtype,
                       lambda s: f"{s[-1]} - {s[-2]} {sign} {shift} && {x.at(s)}")
    return g.store(x.shape, x.dtype,
                   lambda s: f"{s[-1]} - {s[-2]} {sign} {shift} ? {x.at(s)} : {zero}")


@lowers("ReverseSequence")
def lower_reverse(g, node, x, lengths):
    batch, time = node.get("batch_axis", 1), node.get("time_axis", 0)
    source = g.whole(x)

    def text(s):
        i, n = s[time], lengths.at([s[batch]])
        at = list(s)
        at[time] = f"(i64({i}) < {n} ? {n} - 1 - {i} : {i})"
        return source.at(at) + else_of(x.dtype)
    return g.store(x.shape, x.dtype, text)


@lowers("Range")
def lower_range(g, node, start, limit, delta):
    sizes = [extents_of(v, "a bound of Range") for v in (start, limit, delta)]
    (lo,), (hi,), (step,) = sizes
    if not is_known(step) or step != 1:
        raise Unsupported("Range by steps to a run-time size")
    return g.store([hi - lo], start.dtype, lambda s: f"{start.dtype}({s[0]}) + ({lo})")


@lowers("ConstantOfShape")
def lower_constant_of_shape(g, node, shape):
    value = array_of(node["value"]) if "value" in node.attributes else np.zeros(1, np.float32)
    dtype = dtype_of(value)
    return Tensor(tuple(extents_of(shape, "the shape")), dtype,
                  lambda s: number(dtype, value.reshape(-1)[0]))


@lowers("Shape", "Size")
def lower_shape(g, node, x):
    raise Unsupported("a shape as data")


# ---- scatters: an element is what the indices that name it say ----
@lowers("ScatterElements", "Scatter")
def lower_scatter_elements(g, node, x, index, updates):
    axis = axis_of(node.get("axis", 0), x.rank)
    kind = node.get("reduction", "none")
    n = index.shape[axis]
    full = all(a == b or d == axis for d, (a, b) in enumerate(zip(x.shape, index.shape)))
    u, w = g.whole(updates), g.whole(index)

    def text(s):
        at = list(s)
        at[axis] = "k"
        i = w.at(at) if full else f"({w.at(at)} else {-1 << 40})"
        i = f"({i} < 0 ? {i} + {x.shape[axis]} : {i})"
        hit = f"{i} == i64({s[axis]})"
        value = u.at(at) if full else f"({u.at(at)} else 0)"
        return _scattered(kind, x.at(s), hit, value, "k", n, x.dtype, last=at, u=u, axis=axis)
    return g.store(x.shape, x.dtype, text, {"k": n})


def _scattered(kind, old, hit, value, k, n, dtype, last, u, axis):
    zero = number(dtype, 0)
    if kind == "add":
        return f"{old} + sum[{k}]({hit} ? {value} : {zero})"
    if kind == "mul":
        return f"{old} * prod[{k}]({hit} ? {value} : {number(dtype, 1)})"
    if kind in ("max", "min"):
        none = "-inf" if kind == "max" else "inf"
        if dtype not in ("f64", "f32", "f16", "bf16"):
            raise Unsupported(f"{kind} of integers that are scattered")
        return f"{kind}({old}, {kind}[{k}]({hit} ? {value} : {none}))"
    named = f"max[{k}]({hit} ? {k} + 1 : 0)"
    at = list(last)
    at[axis] = f"({named} - 1)"
    return f"{named} > 0 ? ({u.at(at)} else {zero}) : {old}"


@lowers("ScatterND")
def lower_scatter_nd(g, node, x, index, updates):
    kind = node.get("reduction", "none")
    depth = index.shape[-1]
    lead = index.shape[:-1]
    count = product(lead)
    flat = reshape(index, [count, depth])
    rows = g.whole(reshape(updates, [count, *x.shape[depth:]]))

    def text(s):
        hit = " && ".join(
            f"{wrapped(flat.at(['k', str(d)]), x.shape[d])} == i64({s[d]})" for d in range(depth))
        at = ["k", *s[depth:]]
        return _scattered(kind, x.at(s), hit, rows.at(at), "k", count, x.dtype, last=at, u=rows,
                          axis=0)
    return g.store(x.shape, x.dtype, text, {"k": count})


@lowers("TensorScatter")
def lower_tensor_scatter(g, node, past, update, index=None):
    axis = axis_of(node.get("axis", -2), past.rank)
    n, most = update.shape[axis], past.shape[axis]
    circular = node.get("mode", "linear") == "circular"
    u = g.whole(update)

    def text(s):
        first = index.at([s[0]]) if index is not None else "i64(0)"
        place = f"(i64({s[axis]}) - {first})"
        place = f"({place} % {most})" if circular else place
        at = list(s)
        at[axis] = place
        return f"{place} >= 0 && {place} < {n} ? ({u.at(at)} else 0) : {past.at(s)}"
    return g.store(past.shape, past.dtype, text)
