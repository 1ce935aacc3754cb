"""Operators of one element each: rows of formulas.

{0}, {1}, ... are the operands, in the type that PyTorch computes in.  A row of several formulas is
a chain: {t} is what the one before gives.
"""
import torch

from .values import (NARROW, TYPES, Like, Unsupported, Value, converted, literal, lowers,
                     result_type)

LOG1P = "(1 + {x} == 1 ? {x} : ({x} < 1 ? log(1 + {x}) * ({x} / ((1 + {x}) - 1)) : log(1 + {x})))"

# After Cephes (Moshier, atan.c): beyond tan(pi/8) by the arc of a sum, then a quotient of polynomials
# in t*t.  Both are of |x|.
ARC = ("({0} > 2.414213562373095 ? -1 / {0} : ({0} > 0.66 ? ({0} - 1) / ({0} + 1) : {0}))",
       "{t} + {t} * ({t} * {t}) * ((((-0.8750608600031904 * ({t} * {t}) - 16.157537187333652)"
       " * ({t} * {t}) - 75.00855792314705) * ({t} * {t}) - 122.88666844901361) * ({t} * {t})"
       " - 64.85021904942025) / ((((({t} * {t} + 24.858464901423062) * ({t} * {t})"
       " + 165.02700983169885) * ({t} * {t}) + 432.8810604912903) * ({t} * {t})"
       " + 485.3903996359137) * ({t} * {t}) + 194.5506571482614)",
       "{t} + ({0} > 2.414213562373095 ? 1.5707963267948966 : ({0} > 0.66 ? 0.7853981633974483 : 0))")
PI = "3.141592653589793"

# Real in, real out; integers become reals first.
REAL = {
    "exp": "exp({0})", "exp2": "exp2({0})", "log": "log({0})", "log2": "log2({0})",
    "log10": "log({0}) * 0.4342944819032518", "log1p": LOG1P.format(x="{0}"),
    "expm1": "tanh({0} / 2) * (exp({0}) + 1)", "sqrt": "sqrt({0})", "rsqrt": "rsqrt({0})",
    "tanh": "tanh({0})", "erf": "erf({0})", "sin": "sin({0})", "cos": "cos({0})",
    "deg2rad": "{0} * 0.017453292519943295", "rad2deg": "{0} * 57.29577951308232",
    "tan": "sin({0}) / cos({0})", "reciprocal": "1 / {0}", "sigmoid": "1 / (1 + exp(-{0}))",
    "cosh": "exp({0}) / 2 + exp(-{0}) / 2",
    "sinh": ("tanh({0} / 2) * (exp({0}) + 1)",
             "abs({0}) < 1 ? ({t} + {t} / ({t} + 1)) / 2 : exp({0}) / 2 - exp(-{0}) / 2"),
    "asinh": ("abs({0}) + abs({0}) * (abs({0}) / (1 + sqrt(1 + {0} * {0})))", LOG1P.format(x="{t}"),
              "{0} < 0 ? -{t} : {t}"),
    "acosh": ("{0} - 1", "{t} + sqrt(2 * {t} + {t} * {t})", LOG1P.format(x="{t}")),
    "atanh": ("2 * abs({0}) / (1 - abs({0}))", LOG1P.format(x="{t}"),
              "{0} < 0 ? -{t} / 2 : {t} / 2"),
    "silu": "{0} / (1 + exp(-{0}))", "log_sigmoid": "min({0}, 0) - log(1 + exp(-abs({0})))",
}
# In the type of the operands.
SAME = {
    "relu": "max({0}, 0)", "neg": "-{0}", "abs": "abs({0})", "mul": "{0} * {1}",
    "maximum": "max({0}, {1})", "minimum": "min({0}, {1})", "square": "{0} * {0}",
    "positive": "{0}", "conj": "{0}", "conj_physical": "{0}", "real": "{0}",
    "fmax": "({0} != {0} ? {1} : ({1} != {1} ? {0} : max({0}, {1})))",
    "fmin": "({0} != {0} ? {1} : ({1} != {1} ? {0} : min({0}, {1})))",
}
# Of reals alone: integers stay what they are.
ROUNDING = {"floor": "floor({0})", "ceil": "ceil({0})",
            "trunc": "({0} < 0 ? ceil({0}) : floor({0}))", "round": "round({0})", "frac": "{0} - ({0} < 0 ? ceil({0}) : floor({0}))"}
# Comparisons, in the type in which PyTorch compares.
COMPARE = {"eq": "{0} == {1}", "ne": "{0} != {1}", "lt": "{0} < {1}", "le": "{0} <= {1}",
           "gt": "{0} > {1}", "ge": "{0} >= {1}", "isnan": "{0} != {0}",
           "isinf": "abs({0}) == inf", "isposinf": "{0} == inf", "isneginf": "{0} == -inf",
           "isfinite": "abs({0}) < inf"}
# Of truths: as operators on bools say, and what logical_... makes of numbers.
TRUTHS = {
    "logical_not": "!{0}", "logical_and": "{0} && {1}", "logical_or": "{0} || {1}",
    "logical_xor": "{0} != {1}", "bitwise_not": "!{0}", "bitwise_and": "{0} && {1}",
    "bitwise_or": "{0} || {1}", "bitwise_xor": "{0} != {1}", "mul": "{0} && {1}",
    "add": "{0} || {1}", "maximum": "{0} || {1}", "minimum": "{0} && {1}", "eq": "{0} == {1}",
    "ne": "{0} != {1}", "lt": "!{0} && {1}", "le": "!{0} || {1}", "gt": "{0} && !{1}",
    "ge": "{0} || !{1}", "fmax": "{0} || {1}", "fmin": "{0} && {1}",
}


BITS = {"bitwise_and": "&", "bitwise_or": "|", "bitwise_xor": "^"}


def chain(g, like, forms, *values):
    """The formulas of a row, one after the other; what lies between is not rounded to a narrow
    type."""
    *before, last = (forms,) if isinstance(forms, str) else forms
    kind = torch.float32 if before and like.dtype in NARROW else like.dtype
    wide, made = Like(tuple(like.shape), kind), []
    for form in before:
        made = [g.map(wide, form.replace("{t}", f"{{{len(values)}}}"), *values, *made)]
    return g.map(like, last.replace("{t}", f"{{{len(values)}}}"), *values, *made, dtype=kind)


def is_truth(*values):
    return all(v.dtype == torch.bool if isinstance(v, Value) else isinstance(v, bool)
               for v in values)


@lowers(*REAL)
def lower_real(g, out, name, a, *_):
    return chain(g, out, REAL[name], a)


def arc(g, like, form, *values):
    """The arc whose tangent is |form|, in a type that is not narrow."""
    kind = torch.float32 if like.dtype in NARROW else like.dtype
    wide = Like(tuple(like.shape), kind)
    return chain(g, wide, ARC, g.map(wide, f"abs({form})", *values))


@lowers("atan", "asin", "acos")
def lower_arc(g, out, name, a):
    of = {"atan": "{0}", "asin": "{0} / sqrt((1 - {0}) * (1 + {0}))",
          "acos": "sqrt((1 - {0}) / (1 + {0}))"}[name]
    made = arc(g, out, of, a)
    return g.map(out, "2 * {1}" if name == "acos" else "({0} == 0 ? {0} : ({0} < 0 ? -{1} : {1}))",
                 a, made, dtype=made.dtype)


@lowers("atan2")
def lower_atan2(g, out, _, a, b):
    made = arc(g, out, "({0} == 0 && {1} == {1} ? 0 : (abs({0}) == abs({1}) ? 1 : {0} / {1}))", a, b)
    left, below = (f"({{{k}}} < 0 || {{{k}}} == 0 && 1 / {{{k}}} < 0)" for k in (1, 0))
    turned = g.map(Like(tuple(out.shape), made.dtype), f"({left} ? {PI} - {{2}} : {{2}})", a, b, made)
    return g.map(out, f"({below} ? -{{1}} : {{1}})", a, turned, dtype=made.dtype)


@lowers("angle")
def lower_angle(g, out, _, a):
    return g.map(out, f"({{0}} != {{0}} ? {{0}} : ({{0}} < 0 ? {PI} : 0))", a)


@lowers(*SAME)
def lower_same_type(g, out, name, *values, **_):
    if out.dtype == torch.bool and name in TRUTHS:
        return g.map(out, TRUTHS[name], *values)
    return g.map(out, SAME[name], *values)


@lowers(*ROUNDING)
def lower_rounding(g, out, name, a, decimals=0, **options):
    decimals = options.get("decimals", decimals)
    if decimals and out.dtype.is_floating_point:
        power = 10.0 ** abs(decimals)
        form = "round({0} * {1}) / {1}" if decimals > 0 else "round({0} / {1}) * {1}"
        return g.map(out, form, a, power)
    return g.map(out, ROUNDING[name] if out.dtype.is_floating_point else "{0}", a)


@lowers(*COMPARE)
def lower_compare(g, out, name, *values):
    if name not in ("eq", "ne", "lt", "le", "gt", "ge"):
        real = values[0].dtype.is_floating_point
        form = COMPARE[name] if real else {"isfinite": "true"}.get(name, "false")
        return g.map(out, form, *values, dtype=values[0].dtype, gives=torch.bool)
    if is_truth(*values):
        return g.map(out, TRUTHS[name], *values, dtype=torch.bool)
    return g.map(out, COMPARE[name], *values, dtype=result_type(*values), gives=torch.bool)


@lowers("logical_not", "logical_and", "logical_or", "logical_xor", "bitwise_not", "bitwise_and",
        "bitwise_or", "bitwise_xor")
def lower_truth(g, out, name, *values):
    if name.startswith("bitwise") and not is_truth(*values):
        if name == "bitwise_not":
            return g.map(out, "-{0} - 1", *values)
        return g.map(out, f"{{0}} {BITS[name]} {{1}}", *values)
    return g.map(out, TRUTHS[name], *values, dtype=torch.bool)


@lowers("bitwise_left_shift", "__lshift__", "bitwise_right_shift", "__rshift__")
def lower_shift(g, out, name, a, b):
    """By less than nothing, or by all bits and more, as PyTorch does: what no bit is left of."""
    kind = torch.iinfo(out.dtype)
    if name in ("bitwise_left_shift", "__lshift__"):
        return g.map(out, f"({{1}} < 0 || {{1}} >= {kind.bits} ? 0 : {{0}} << {{1}})", a, b)
    most = kind.bits - (kind.min < 0)
    return g.map(out, f"{{0}} >> ({{1}} < 0 || {{1}} > {most} ? {most} : {{1}})", a, b)


@lowers("add", "sub", "rsub")
def lower_add(g, out, name, a, b, alpha=1):
    if name == "rsub":
        a, b = b, a
    if out.dtype == torch.bool:
        if alpha is not True and alpha != 1:
            raise Unsupported("alpha of bools")
        return g.map(out, TRUTHS["add"], a, b)
    sign = "-" if name.endswith("sub") else "+"
    if alpha == 1:
        return g.map(out, f"{{0}} {sign} {{1}}", a, b)
    return g.map(out, f"{{0}} {sign} {{2}} * {{1}}", a, b, alpha)


@lowers("div", "true_divide")
def lower_div(g, out, _, a, b, rounding_mode=None):
    if rounding_mode is None:
        return g.map(out, "{0} / {1}", a, b)
    if out.dtype.is_floating_point:
        if rounding_mode == "trunc":
            return chain(g, out, ("{0} / {1}", ROUNDING["trunc"].replace("{0}", "{t}")), a, b)
        raise Unsupported("the floor of a quotient of reals, which is by their remainder")
    if rounding_mode == "floor":
        return g.map(out, "{0} / {1}", a, b)
    return g.map(out, "(({0} < 0) == ({1} < 0) ? abs({0}) / abs({1}) : -(abs({0}) / abs({1})))",
                 a, b)


@lowers("floor_divide")
def lower_floor_divide(g, out, _, a, b):
    return lower_div(g, out, _, a, b, "floor")


@lowers("remainder", "fmod")
def lower_remainder(g, out, name, a, b):
    if out.dtype.is_floating_point:
        raise Unsupported("remainders of reals")
    return g.map(out, "{0} % {1}" if name == "remainder" else
                 "({0} < 0 ? -(abs({0}) % abs({1})) : abs({0}) % abs({1}))", a, b)


@lowers("pow")
def lower_pow(g, out, _, a, b):
    if out.dtype.is_floating_point:
        if isinstance(b, (int, float)) and b in (1, 2, 3):
            return g.map(out, " * ".join(["{0}"] * int(b)), a)
        if isinstance(b, (int, float)) and b in (0.5, -0.5):
            raised = "sqrt({0})" if b > 0 else "1 / sqrt({0})"
            return g.map(out, raised, a)
        return g.map(out, "pow({0}, {1})", a, b)
    if isinstance(b, int) and 0 <= b <= 8 and not isinstance(b, bool):
        return g.map(out, " * ".join(["{0}"] * b) if b else "0 * {0} + 1", a)
    raise Unsupported("powers of integers by what is not known")


@lowers("sign", "sgn")
def lower_sign(g, out, _, a):
    if out.dtype == torch.bool:
        return g.map(out, "{0}", a)
    return g.map(out, "({0} > 0 ? 1 : ({0} < 0 ? -1 : 0))", a)


@lowers("signbit")
def lower_signbit(g, out, _, a):
    if a.dtype.is_floating_point:
        return g.map(out, "{0} < 0 || ({0} == 0 && 1 / {0} < 0)", a, dtype=a.dtype,
                     gives=torch.bool)
    return g.map(out, "false" if a.dtype in (torch.bool, torch.uint8) else "{0} < 0", a,
                 dtype=a.dtype, gives=torch.bool)


@lowers("where")
def lower_where(g, out, _, condition, a, b):
    def text(s):
        c = converted(g.read(condition, out.shape, s), condition.dtype, torch.bool)
        values = [g.element(v, out.shape, s, out.dtype) for v in (a, b)]
        return f"({c}) ? ({values[0]}) : ({values[1]})"
    return g.store(out, text)


@lowers("masked_fill")
def lower_masked_fill(g, out, _, a, mask, value):
    return lower_where(g, out, _, mask, value, a)


@lowers("clamp", "clip", "hardtanh", "clamp_min", "clamp_max")
def lower_clamp(g, out, name, a, low=None, high=None, **options):
    low, high = options.get("min", low), options.get("max", high)
    if name == "hardtanh":
        low, high = -1.0 if low is None else low, 1.0 if high is None else high
    if name == "clamp_max":
        low, high = None, low
    if low is None and high is None:
        return g.map(out, "{0}", a)
    if low is None or high is None:
        return lower_same_type(g, out, "minimum" if low is None else "maximum", a,
                               high if low is None else low)
    return g.map(out, "min(max({0}, {1}), {2})", a, low, high)


@lowers("leaky_relu")
def lower_leaky(g, out, _, a, slope=0.01):
    return g.map(out, "({0} > 0 ? {0} : {0} * {1})", a, slope)


@lowers("elu")
def lower_elu(g, out, _, a, alpha=1, scale=1, input_scale=1):
    return chain(g, out, ("min({0}, 0) * {3}", REAL["expm1"].replace("{0}", "{t}"),
                          "({0} > 0 ? {0} * {2} : {t} * {1})"), a, alpha * scale, scale,
                 input_scale)


@lowers("gelu")
def lower_gelu(g, out, _, a, approximate="none"):
    if approximate == "none":
        return g.map(out, "0.5 * {0} * (1 + erf({0} * 0.7071067811865476))", a)
    return g.map(out, "0.5 * {0} * (1 + tanh(0.7978845608028654"
                 " * ({0} + 0.044715 * {0} * {0} * {0})))", a)


@lowers("_to_copy", "convert_element_type", "copy", "clone", "contiguous", "lift_fresh_copy")
def lower_copy(g, out, name, a, *other, **_):
    v = other[0] if name == "copy" else a
    if v.dtype == out.dtype and v.shape == tuple(out.shape):
        return v
    return g.store(out, lambda s: g.element(v, out.shape, s, out.dtype))


@lowers("full", "full_like", "scalar_tensor", "zeros", "zeros_like", "ones", "ones_like",
        "new_zeros", "new_ones", "new_full", "empty", "empty_like", "new_empty", "empty_strided",
        "new_empty_strided", "empty_permuted")
def lower_constant(g, out, name, *args, **_):
    value = 1 if "ones" in name else args[0] if name == "scalar_tensor" else (
        args[-1] if "full" in name else 0)
    if isinstance(value, Value):
        return g.store(out, lambda s: g.element(value, out.shape, s, out.dtype))
    text = literal_of(value, out.dtype)
    return Value(tuple(out.shape), out.dtype, lambda s: text)


def literal_of(value, dtype):
    """A constant where nothing else tells its type."""
    if dtype == torch.bool:
        return literal(bool(value))
    if isinstance(value, complex):
        raise Unsupported("complex numbers have no type in .te")
    return f"{TYPES[dtype] if dtype in TYPES else 'f32'}({literal(number_of(value, dtype))})"


def number_of(value, dtype):
    return float(value) if dtype.is_floating_point else int(value)


@lowers("arange", "iota")
def lower_arange(g, out, name, *args, **options):
    start, step = 0, 1
    if name == "iota":
        start, step = options["start"], options["step"]
    elif len(args) > 1:
        start, step = args[0], args[2] if len(args) > 2 else options.get("step", 1)
    kind = TYPES[out.dtype]
    wide = "f64" if isinstance(start, float) or isinstance(step, float) else "i64"
    return g.store(out, lambda s: f"{kind}({wide}({s[0]}) * {literal(step)} + {literal(start)})")


@lowers("addcmul", "addcdiv")
def lower_addc(g, out, name, a, b, c, value=1):
    mark = "*" if name == "addcmul" else "/"
    return g.map(out, f"{{0}} + {{3}} * {{1}} {mark} {{2}}", a, b, c, value)


@lowers("lerp")
def lower_lerp(g, out, _, a, b, weight):
    return g.map(out, "(abs({2}) < 0.5 ? {0} + {2} * ({1} - {0}) : {1} - ({1} - {0}) * (1 - {2}))",
                 a, b, weight)


@lowers("hypot")
def lower_hypot(g, out, _, a, b):
    return g.map(out, "sqrt({0} * {0} + {1} * {1})", a, b)


@lowers("copysign")
def lower_copysign(g, out, _, a, b):
    return g.map(out, "({1} < 0 || ({1} == 0 && 1 / {1} < 0) ? -abs({0}) : abs({0}))", a, b)


@lowers("heaviside")
def lower_heaviside(g, out, _, a, b):
    if out.dtype == torch.bool:
        return g.map(out, TRUTHS["maximum"], a, b)
    return g.map(out, "({0} == 0 ? {1} : ({0} < 0 ? 0 : 1))", a, b)


@lowers("xlogy")
def lower_xlogy(g, out, _, a, b):
    return g.map(out, "({1} != {1} ? {1} : ({0} == 0 ? 0 : {0} * log({1})))", a, b)


@lowers("logaddexp")
def lower_logaddexp(g, out, _, a, b):
    return g.map(out, "({0} == {1} && abs({0}) == inf ? {0} : max({0}, {1})"
                 " + log(1 + exp(-abs({0} - {1}))))", a, b)


@lowers("native_dropout_backward")
def lower_dropout_backward(g, out, _, grad, mask, scale):
    return g.map(out, "{0} * {1} * {2}", grad, mask, scale)
