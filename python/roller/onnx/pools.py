"""Windows over images: pools, resizing, sampling."""
import math

import numpy as np

from .extents import is_known, product
from .products import inside, places, windows
from .registry import axis_of, constant, extents_of, lowers
from .statements import Unsupported, literal
from .views import view


def _source(g, x, kernel, shape):
    stride, dilation, before, _, extents = shape
    fits = inside(x.shape[2:], kernel, stride, dilation, before, extents)
    return (x if fits else g.whole(x)), fits


@lowers("MaxPool")
def lower_max_pool(g, node, x):
    kernel = node.list("kernel_shape")
    shape = stride, dilation, before, _, extents = windows(node, x, kernel)
    source, fits = _source(g, x, kernel, shape)
    taps = [f"q{d}" for d in range(len(kernel))]
    least = "(-inf)" if x.is_real else {"u8": "0", "i8": "(-128)"}[x.dtype]
    out = [*x.shape[:2], *extents]

    def text(s, name="max"):
        read = source.at([s[0], s[1], *places(s[2:], taps, stride, dilation, before)])
        return f"{name}[{','.join(taps)}]({read if fits else f'{read} else {least}'})"
    y = g.store(out, x.dtype, text, dict(zip(taps, kernel)))
    if not node.wants(1):
        return y
    if node.get("storage_order", 0) and len(kernel) != 2:
        raise Unsupported("indices in column order of other than two dimensions")
    where = g.store(out, "i32", lambda s: text(s, "argmax"), dict(zip(taps, kernel)))
    return [y, g.store(out, "i64", lambda s: _place(x, s, where, kernel, stride, dilation, before,
                                                    node.get("storage_order", 0)))]


def _place(x, s, where, kernel, stride, dilation, before, columns):
    """The position of a maximum in the tensor."""
    tap, behind, at = where.at(s), product(kernel), []
    for d, k in enumerate(kernel):
        behind //= k
        r = f"({tap} / {behind} % {k})"
        at.append(f"({s[2 + d]}*{stride[d]} + {r}*{dilation[d]} - {before[d]})")
    sizes = x.shape[2:]
    text = f"(i64({s[0]})*{x.shape[1]} + {s[1]})"
    if columns:
        return f"({text}*{sizes[0]} + {at[0]}) * 1 + 0 * {at[1]}" if sizes[1] == 1 else \
            f"{text}*{product(sizes)} + {at[1]}*{sizes[0]} + {at[0]}"
    for n, i in zip(sizes, at):
        text = f"({text}*{n} + {i})"
    return text


@lowers("AveragePool", "LpPool")
def lower_average_pool(g, node, x):
    kernel = node.list("kernel_shape")
    shape = stride, dilation, before, after, extents = windows(node, x, kernel)
    source, fits = _source(g, x, kernel, shape)
    taps = [f"q{d}" for d in range(len(kernel))]
    p = node.get("p", 2)
    element = "{}" if node.op == "AveragePool" else \
        "({0}) * ({0})" if p == 2 else f"pow(abs({{0}}), {p}.0)"

    def text(s):
        read = source.at([s[0], s[1], *places(s[2:], taps, stride, dilation, before)])
        read = read if fits else f"({read} else 0)"
        total = f"sum[{','.join(taps)}]({element.format(read)})"
        if node.op == "LpPool":
            return f"sqrt({total})" if p == 2 else f"pow({total}, {1 / p!r})"
        if fits:
            return f"{total} / {product(kernel)}"
        return f"{total} / f32({_counted(node, x, s, kernel, shape)})"
    return g.store([*x.shape[:2], *extents], x.dtype, text, dict(zip(taps, kernel)))


def _counted(node, x, s, kernel, shape):
    """How many elements a window has; padding counts where it shall, beyond it nothing does."""
    stride, dilation, before, after, _ = shape
    padded, factors = node.get("count_include_pad", 0), []
    for d, k in enumerate(kernel):
        first = f"({s[2 + d]}*{stride[d]} - {before[d]})"
        lo, hi = (-before[d], x.shape[2 + d] + after[d]) if padded else (0, x.shape[2 + d])
        step = dilation[d]
        # Taps below lo, and taps from hi on, in steps of the dilation.
        low = f"max(({lo} - {first} + {step - 1}) / {step}, 0)"
        high = f"min(({hi} - {first} + {step - 1}) / {step}, {k})"
        factors.append(f"({high} - {low})")
    return " * ".join(factors)


@lowers("GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool")
def lower_global(g, node, x):
    axes = list(range(2, x.rank))
    if node.op == "GlobalMaxPool":
        return g.reduce(x, "max", axes)
    if node.op == "GlobalAveragePool":
        return g.reduce(x, "sum", axes, f"{{}} / {product([x.shape[d] for d in axes])}")
    p = node.get("p", 2)
    return g.reduce(x, "sum", axes, f"pow({{}}, {1 / p!r})", element=f"pow(abs({{0}}), {p}.0)")


@lowers("MaxUnpool")
def lower_unpool(g, node, x, index, shape=None):
    kernel = node.list("kernel_shape")
    n = len(kernel)
    stride, pads = node.list("strides", [1] * n), node.list("pads", [0] * 2 * n)
    natural = [(e - 1) * st - pads[d] - pads[d + n] + k
               for d, (e, st, k) in enumerate(zip(x.shape[2:], stride, kernel))]
    out = extents_of(shape, "output_shape") if shape is not None else [*x.shape[:2], *natural]
    taps = [f"q{d}" for d in range(n)]
    # Indices count in the image that the windows cover; a larger one has zeros behind it.
    covers = " && ".join(f"{{}} < {e}" for e, m in zip(natural, out[2:]) if is_known(m) and m > e)

    def text(s):
        place = f"(i64({s[0]})*{x.shape[1]} + {s[1]})"
        for e, i in zip(natural, s[2:]):
            place = f"({place}*{e} + {i})"
        at = [s[0], s[1], *taps]
        within = [i for e, m, i in zip(natural, out[2:], s[2:]) if m > e]
        test = f"{index.at(at)} == {place}" + (f" && {covers.format(*within)}" if covers else "")
        return f"sum[{','.join(taps)}]({test} ? {x.at(at)} : 0)"
    return g.store(out, x.dtype, text, dict(zip(taps, x.shape[2:])))


# ---- resizing ----
MOST_RESIZED = 1 << 16        # an extent, of whose places tables are made


@lowers("Resize", "Upsample")
def lower_resize(g, node, x, *inputs):
    roi, scales, sizes = _resize_inputs(node, inputs)
    axes = [axis_of(a, x.rank) for a in node.list("axes", list(range(x.rank)))]
    mode, how = node.get("mode", "nearest"), node.get("coordinate_transformation_mode",
                                                      "half_pixel")
    if node.op == "Upsample" or node.opset < 11:
        how = "asymmetric"
    scale, shape = [1.0] * x.rank, list(x.shape)
    _scaled(node, x, axes, scales, sizes, scale, shape)
    for d in range(x.rank):
        if shape[d] == x.shape[d] and scale[d] == 1.0 and how != "tf_crop_and_resize":
            continue
        x = _along(g, node, x, d, shape[d], scale[d], mode, how, roi, axes)
    return x


def _resize_inputs(node, inputs):
    inputs = list(inputs) + [None] * 3
    if node.op == "Upsample":
        return None, inputs[0] if inputs[0] is not None else node.list("scales"), None
    if node.opset < 11:
        return None, inputs[0], None
    roi, scales, sizes = inputs[:3]
    scales = scales if scales is not None and scales.count != 0 else None
    return (constant(roi, "roi") if roi is not None and roi.count != 0 else None), scales, sizes


def _scaled(node, x, axes, scales, sizes, scale, shape):
    if sizes is not None:
        wanted = [int(n) for n in constant(sizes, "sizes")]
        policy = node.get("keep_aspect_ratio_policy", "stretch")
        if policy != "stretch":
            pick = min if policy == "not_larger" else max
            one = pick(n / x.shape[d] for n, d in zip(wanted, axes))
            wanted = [int(math.floor(one * x.shape[d] + 0.5)) for d in axes]
            for d, n in zip(axes, wanted):
                scale[d], shape[d] = one, n
            return
        for d, n in zip(axes, wanted):
            scale[d], shape[d] = n / x.shape[d], n
        return
    values = scales if isinstance(scales, list) else [float(v) for v in constant(scales, "scales")]
    for d, v in zip(axes, values):
        scale[d], shape[d] = v, int(math.floor(x.shape[d] * v))


def _origin(how, i, n, m, scale, roi, axes, d):
    """The coordinate in the input of place i of the result."""
    if how == "tf_crop_and_resize":
        k = axes.index(d) if d in axes else None
        start, end = (roi[k], roi[k + len(axes)]) if k is not None else (0.0, 1.0)
        if m > 1:
            return start * (n - 1) + i * (end - start) * (n - 1) / (m - 1)
        return 0.5 * (start + end) * (n - 1)
    length = scale * n
    if how == "align_corners":
        return i * (n - 1) / (length - 1) if length > 1 else 0.0
    if how == "asymmetric":
        return i / scale
    if how == "pytorch_half_pixel":
        return (i + 0.5) / scale - 0.5 if length > 1 else 0.0
    if how == "half_pixel_symmetric":
        adjust = m / length
        center = n / 2
        return center * (1 - adjust) + (i + 0.5) / scale - 0.5
    return (i + 0.5) / scale - 0.5


def _taps(node, mode, how, at, n, scale):
    """Places in the input and their weights."""
    antialias = bool(node.get("antialias", 0)) and scale < 1
    if mode == "nearest":
        rounding = node.get("nearest_mode", "round_prefer_floor")
        if node.opset < 11:
            rounding = "floor"
        near = {"floor": math.floor(at), "ceil": math.ceil(at),
                "round_prefer_floor": math.ceil(at - 0.5),
                "round_prefer_ceil": math.floor(at + 0.5)}[rounding]
        return [(min(max(near, 0), n - 1), 1.0)]
    a = node.get("cubic_coeff_a", -0.75)

    def linear(t):
        return max(1 - abs(t), 0.0)

    def cubic(t):
        t = abs(t)
        if t <= 1:
            return (a + 2) * t ** 3 - (a + 3) * t ** 2 + 1
        return a * t ** 3 - 5 * a * t ** 2 + 8 * a * t - 4 * a if t < 2 else 0.0
    weight, reach = (linear, 1) if mode == "linear" else (cubic, 2)
    stretch = scale if antialias else 1.0
    first = math.floor(at)
    wide = math.ceil(reach / stretch)
    taps = [(k, weight((k - at) * stretch)) for k in range(first - wide + 1, first + wide + 1)]
    if antialias and abs(at - first) < 1e-12:
        taps = [(k, weight((k - at) * stretch)) for k in range(first - wide + 1, first + wide)]
    if antialias:
        total = sum(w for _, w in taps)
        taps = [(k, w / total) for k, w in taps]
    if node.get("exclude_outside", 0):
        taps = [(k, w) for k, w in taps if 0 <= k < n]
        total = sum(w for _, w in taps)
        taps = [(k, w / total) for k, w in taps]
    return [(min(max(k, 0), n - 1), w) for k, w in taps if w != 0]


def _along(g, node, x, d, m, scale, mode, how, roi, axes):
    """One axis after the other: weights of an axis are the same everywhere.  Places and weights
    are tables."""
    n = x.shape[d]
    if not is_known(n):
        raise Unsupported("resizing a run-time size")
    rows, outside = [], []
    if m > MOST_RESIZED:
        raise Unsupported(f"an extent of more than {MOST_RESIZED}")
    for i in range(m):
        at = _origin(how, i, n, m, scale, roi, axes, d)
        outside.append(how == "tf_crop_and_resize" and not 0 <= at <= n - 1)
        rows.append(_taps(node, mode, how, at, n, scale))
    shape = list(x.shape)
    shape[d] = m
    width = max(map(len, rows))
    place, weight = np.zeros((m, width), np.int32), np.zeros((m, width), np.float32)
    for i, row in enumerate(rows):
        for k, (p, w) in enumerate(row):
            place[i, k], weight[i, k] = p, w
    fill = literal(node.get("extrapolation_value", 0.0))
    source = g.whole(x)
    up = m // n if n and m % n == 0 else 0
    if width == 1 and up and not any(outside) and all(p[0] == i // up for i, p in enumerate(place)):
        return view(x, shape, lambda s: [f"{i}/{up}" if k == d and up > 1 else i
                                         for k, i in enumerate(s)])
    places_at = g.constant(place, "i32", "places")
    weights_at = g.constant(weight, "f32", "weights")
    valid = g.constant(~np.array(outside), "bool", "inside") if any(outside) else None

    def text(s):
        if width == 1:
            at = [places_at.at([i, "0"]) if k == d else i for k, i in enumerate(s)]
            value = f"{source.at(at)} else 0"
        else:
            at = [places_at.at([i, "r"]) if k == d else i for k, i in enumerate(s)]
            value = f"sum[r](({source.at(at)} else 0) * {weights_at.at([s[d], 'r'])})"
        if valid is not None:
            value = f"{valid.at([s[d]])} ? ({value}) : {fill}"
        return value
    if not x.is_real and width > 1:
        raise Unsupported("resizing integers by weights")
    return g.store(shape, x.dtype, text, {"r": width} if width > 1 else {})


# ---- sampling ----
@lowers("GridSample")
def lower_grid_sample(g, node, x, grid):
    mode = node.get("mode", "linear").replace("bilinear", "linear").replace("bicubic", "cubic")
    padding, corners = node.get("padding_mode", "zeros"), node.get("align_corners", 0)
    n = x.rank - 2
    sizes, source = x.shape[2:], g.whole(x)

    def coordinate(d):
        e = sizes[d]

        def text(s):
            v = grid.at([*s, str(n - 1 - d)])
            return f"({v} + 1) / 2 * {e - 1}" if corners else f"(({v} + 1) * {e} - 1) / 2"
        at = g.store(grid.shape[:-1], "f32", text)
        if mode == "nearest":
            at = g.map("f32", "round({0})", at)
        if padding == "border" and mode != "cubic":
            return g.map("f32", f"min(max({{0}}, 0), {e - 1})", at)
        if padding == "reflection" and mode != "cubic":
            return g.map("f32", _reflected("{0}", e, corners), at)
        return at
    at = [coordinate(d) for d in range(n)]
    reach = {"nearest": 1, "linear": 2, "cubic": 4}[mode]

    def weight(v, k):
        f = f"({v} - floor({v}))"
        if mode == "linear":
            return f if k else f"(1 - {f})"
        t = {0: f"({f} + 1)", 1: f, 2: f"(1 - {f})", 3: f"(2 - {f})"}[k]
        if k in (1, 2):
            return f"((1.25 * {t} - 2.25) * {t} * {t} + 1)"
        return f"(((-0.75 * {t} + 3.75) * {t} - 6) * {t} + 3)"

    def index(v, k, e):
        first = f"i32(floor({v}))" if mode != "nearest" else f"i32({v})"
        i = f"({first} + {k - 1})" if mode == "cubic" else f"({first} + {k})"
        if mode != "cubic" or padding == "zeros":
            return i if padding == "zeros" else f"min(max({i}, 0), {e - 1})"
        if padding == "border":
            return f"min(max({i}, 0), {e - 1})"
        return f"i32({_reflected(f'f32({i})', e, corners)})"

    def text(s):
        own = [v.at([s[0], *s[2:]]) for v in at]
        total = []
        for tap in range(reach ** n):
            ks = [tap // reach ** d % reach for d in range(n)]
            places_at = [index(v, k, e) for v, k, e in zip(own, ks, sizes)]
            factors = [f"({source.at([s[0], s[1], *places_at])} else 0)"]
            if mode != "nearest":
                factors += [weight(v, k) for v, k in zip(own, ks)]
            total.append(" * ".join(factors))
        return " + ".join(total)
    return g.store([*x.shape[:2], *grid.shape[1:-1]], x.dtype, text)


def _reflected(v, e, corners):
    """A coordinate mirrored at the borders until it is inside."""
    low, span = (0.0, e - 1) if corners else (-0.5, e)
    if span == 0:
        return f"0 * {v}"
    period = 2 * span
    t = f"(({v} - ({low})) - floor(({v} - ({low})) / {period}.0) * {period})"
    inside_at = f"({t} > {span} ? {period} - {t} : {t}) + ({low})"
    return f"min(max({inside_at}, 0), {e - 1})"


@lowers("AffineGrid")
def lower_affine_grid(g, node, theta, size):
    sizes = extents_of(size, "size")
    n, corners = len(sizes) - 2, node.get("align_corners", 0)

    def text(s):
        *point, row = s[1:]
        total = [theta.at([s[0], row, str(n)])]
        for k, (i, e) in enumerate(zip(reversed(point), reversed(sizes[2:]))):
            at = f"(2 * f32({i}) / {e - 1} - 1)" if corners else f"((2 * f32({i}) + 1) / {e} - 1)"
            if corners and e == 1:
                at = "(-1.0)"
            total.append(f"{theta.at([s[0], row, str(k)])} * {at}")
        return " + ".join(total)
    return g.store([sizes[0], *sizes[2:], n], theta.dtype, text)


@lowers("RoiAlign")
def lower_roi_align(g, node, x, rois, batch):
    if node.get("mode", "avg") != "avg":
        raise Unsupported("RoiAlign by maxima")
    oh, ow = node.get("output_height", 1), node.get("output_width", 1)
    ratio, scale = node.get("sampling_ratio", 0), node.get("spatial_scale", 1.0)
    if ratio <= 0:
        raise Unsupported("RoiAlign whose number of samples is data")
    half = "half_pixel" in node.get("coordinate_transformation_mode",
                                    "half_pixel" if node.opset >= 16 else "output_half_pixel")
    half = half and not node.get("coordinate_transformation_mode", "half_pixel").startswith("out")
    off = 0.5 if half else 0.0
    h, w = x.shape[2:]
    source, count = g.whole(x), rois.shape[0]

    def axis(d, n, extent):
        def text(s):
            lo = f"({rois.at([s[0], str(1 - d)])} * {literal(scale)} - {off})"
            hi = f"({rois.at([s[0], str(3 - d)])} * {literal(scale)} - {off})"
            size = f"({hi} - {lo})" if half else f"max({hi} - {lo}, 1.0)"
            return f"{lo} + {size} / {n} * (f32({s[1]}) + (f32({s[2]}) + 0.5) / {ratio})"
        return g.store([count, n, ratio], "f32", text)
    ys, xs = axis(0, oh, h), axis(1, ow, w)

    def text(s):
        v, u = ys.at([s[0], s[2], "a"]), xs.at([s[0], s[3], "b"])
        outside = f"{v} < -1 || {v} > {h} || {u} < -1 || {u} > {w}"
        v, u = f"max({v}, 0)", f"max({u}, 0)"
        vi, ui = f"min(i32({v}), {h - 1})", f"min(i32({u}), {w - 1})"
        fv = f"({vi} == {h - 1} ? 0.0 : {v} - floor({v}))"
        fu = f"({ui} == {w - 1} ? 0.0 : {u} - floor({u}))"
        total = []
        for p in (0, 1):
            for q in (0, 1):
                at = [batch.at([s[0]]), s[1], f"min({vi} + {p}, {h - 1})", f"min({ui} + {q}, {w - 1})"]
                wv, wu = fv if p else f"(1 - {fv})", fu if q else f"(1 - {fu})"
                total.append(f"({source.at(at)} else 0) * {wv} * {wu}")
        return f"sum[a,b]({outside} ? 0.0 : {' + '.join(total)}) / {ratio * ratio}"
    return g.store([count, x.shape[1], oh, ow], x.dtype, text, {"a": ratio, "b": ratio})
