"""Operators that compute each element by itself."""
from .dtypes import name_of
from .registry import axis_of, constant, lowers
from .statements import Unsupported, literal

# Forms of operators of reals, and of those of all types.
REAL = {
    "Exp": "exp({0})", "Log": "log({0})", "Sqrt": "sqrt({0})", "Tanh": "tanh({0})",
    "Erf": "erf({0})", "Sin": "sin({0})", "Cos": "cos({0})", "Floor": "floor({0})",
    "Tan": "sin({0}) / cos({0})", "Sinh": "0.5 * (exp({0}) - exp(-{0}))",
    "Cosh": "0.5 * (exp({0}) + exp(-{0}))", "Ceil": "ceil({0})", "Round": "round({0})",
    "Reciprocal": "1 / {0}", "Sigmoid": "1 / (1 + exp(-{0}))",
    "Softplus": "max({0}, 0) + log(1 + exp(-abs({0})))", "Softsign": "{0} / (1 + abs({0}))",
    "HardSwish": "{0} * max(min({0} / 6 + 0.5, 1), 0)",
    "Mish": "{0} * tanh(max({0}, 0) + log(1 + exp(-abs({0}))))",
    "Asinh": "({0} < 0 ? -1.0 : 1.0) * log(abs({0}) + sqrt({0} * {0} + 1))",
    "Acosh": "log({0} + sqrt({0} * {0} - 1))", "Atanh": "0.5 * log((1 + {0}) / (1 - {0}))",
    "IsNaN": "{0} != {0}",
}
ANY = {
    "Neg": "-{0}", "Abs": "abs({0})", "Relu": "max({0}, 0)", "Not": "!{0}",
    "Sign": "{0} > 0 ? 1 : {0} < 0 ? -1 : {0}",
    "Add": "{0} + {1}", "Sub": "{0} - {1}", "Mul": "{0} * {1}",
}
RELATION = {
    "Equal": "==", "Less": "<", "LessOrEqual": "<=", "Greater": ">", "GreaterOrEqual": ">=",
}
LOGIC = {"And": "{0} && {1}", "Or": "{0} || {1}", "Xor": "{0} != {1}"}


@lowers(*REAL)
def lower_real(g, node, x):
    if not x.is_real:
        raise Unsupported(f"{node.op} of {x.dtype}")
    return g.map("bool" if node.op == "IsNaN" else x.dtype, REAL[node.op], x)


@lowers(*ANY)
def lower_any(g, node, *inputs):
    if node.op == "Sign" and not inputs[0].is_real:
        return g.map(inputs[0].dtype, "{0} > 0 ? 1 : {0} < 0 ? -1 : 0", *inputs)
    return g.map(inputs[0].dtype, ANY[node.op], *inputs)


@lowers(*RELATION)
def lower_relation(g, node, a, b):
    if a.dtype == "bool":
        return g.map("bool", f"{{0}} {RELATION[node.op]} {{1}}", a, b)
    return g.map("bool", f"{{0}} {RELATION[node.op]} {{1}}", a, b)


@lowers(*LOGIC)
def lower_logic(g, node, a, b):
    return g.map("bool", LOGIC[node.op], a, b)


@lowers("Div")
def lower_div(g, node, a, b):
    if a.is_real:
        return g.map(a.dtype, "{0} / {1}", a, b)
    # Quotients are cut toward zero; those of the language round down.
    return g.map(a.dtype, "{0} / {1} + ({0} % {1} != 0 && ({0} < 0) != ({1} < 0) ? 1 : 0)", a, b)


@lowers("Mod")
def lower_mod(g, node, a, b):
    if a.is_real:
        raise Unsupported("remainders of reals")
    if not node.get("fmod", 0):
        return g.map(a.dtype, "{0} % {1}", a, b)
    return g.map(a.dtype, "{0} % {1} - ({0} % {1} != 0 && ({0} < 0) != ({1} < 0) ? {1} : 0)", a, b)


@lowers("Pow")
def lower_pow(g, node, a, b):
    if b.data is not None and b.data.size == 1 and float(b.data.reshape(-1)[0]) in (1.0, 2.0):
        return g.map(a.dtype, "{0} * {0}" if float(b.data.reshape(-1)[0]) == 2 else "{0}", a)
    base = "{0}" if a.is_real else "f32({0})"
    power = "{1}" if b.is_real or b.data is not None and b.data.size == 1 else "f32({1})"
    form = f"pow({base}, {power})"
    return g.map(a.dtype, form if a.is_real else f"{a.dtype}({form})", a, b)


@lowers("Max", "Min")
def lower_extreme(g, node, *inputs):
    if len(inputs) == 1:
        return inputs[0]
    places = ", ".join(f"{{{i}}}" for i in range(len(inputs)))
    return g.map(inputs[0].dtype, f"{node.op.lower()}({places})", *inputs)


@lowers("Sum", "Mean")
def lower_sum(g, node, *inputs):
    total = " + ".join(f"{{{i}}}" for i in range(len(inputs)))
    return g.map(inputs[0].dtype, total if node.op == "Sum" else f"({total}) / {len(inputs)}",
                 *inputs)


@lowers("Where")
def lower_where(g, node, c, a, b):
    return g.map(a.dtype, "{0} ? {1} : {2}", c, a, b) if a.dtype != "bool" else \
        g.map("bool", "({0} && {1}) || (!{0} && {2})", c, a, b)


@lowers("Clip")
def lower_clip(g, node, x, low=None, high=None):
    form, values = "{0}", [x]
    for bound, name, function in ((low, "min", "max"), (high, "max", "min")):
        if bound is not None:
            form = f"{function}({form}, {{{len(values)}}})"
            values.append(bound)
        elif name in node.attributes:
            form = f"{function}({form}, {literal(node[name])})"
    return g.map(x.dtype, form, *values) if form != "{0}" else x


def cast(g, x, dtype):
    if dtype == x.dtype:
        return x
    if dtype == "bool":
        return g.map("bool", "{0} != 0", x)
    if x.dtype == "bool":
        return g.map(dtype, f"{dtype}({{0}} ? 1 : 0)", x)
    if x.is_real and dtype in ("u8", "i8", "i16"):        # what is outside wraps, as through i32
        return g.map(dtype, f"{dtype}(i32({{0}}))", x)
    return g.map(dtype, f"{dtype}({{0}})", x)


@lowers("Cast", "CastLike")
def lower_cast(g, node, x, like=None):
    dtype = like.dtype if like is not None else name_of(node["to"])
    if dtype in ("f8e4m3", "f8e5m2") and not node.get("saturate", 1):
        raise Unsupported("8-bit reals that do not saturate")
    return cast(g, x, dtype)


@lowers("Identity", "Dropout", "StopGradient")
def lower_identity(g, node, x, ratio=None, training=None):
    if training is not None and bool(constant(training, "training_mode").reshape(-1)[0]):
        drops = 0.5 if ratio is None else float(constant(ratio, "ratio").reshape(-1)[0])
        if drops != 0:
            raise Unsupported("dropout in training, whose random numbers are not specified")
    results = [x]
    if node.wants(1):
        results.append(g.store(x.shape, "bool", lambda s: "true"))
    return results


@lowers("LeakyRelu")
def lower_leaky_relu(g, node, x):
    return g.map(x.dtype, f"{{0}} >= 0 ? {{0}} : {literal(node.get('alpha', 0.01))} * {{0}}", x)


@lowers("PRelu")
def lower_prelu(g, node, x, slope):
    return g.map(x.dtype, "{0} >= 0 ? {0} : {1} * {0}", x, slope)


@lowers("Elu", "Celu", "Selu", "ThresholdedRelu", "HardSigmoid", "Shrink", "Gelu", "Swish",
        "Binarizer")
def lower_activation(g, node, x):
    a = literal(node.get("alpha", {"Selu": 1.6732631921768188, "HardSigmoid": 0.2}
                         .get(node.op, 1.0)))
    forms = {
        "Elu": lambda: f"{{0}} > 0 ? {{0}} : {a} * (exp({{0}}) - 1)",
        "Celu": lambda: f"max({{0}}, 0) + min({a} * (exp({{0}} / {a}) - 1), 0)",
        "Selu": lambda: f"{literal(node.get('gamma', 1.0507010221481323))} * "
                        f"({{0}} > 0 ? {{0}} : {a} * (exp({{0}}) - 1))",
        "ThresholdedRelu": lambda: f"{{0}} > {a} ? {{0}} : 0",
        "HardSigmoid": lambda: f"max(min({a} * {{0}} + {literal(node.get('beta', 0.5))}, 1), 0)",
        "Shrink": lambda: _shrink(node, x),
        "Swish": lambda: f"{{0}} / (1 + exp(-{a} * {{0}}))",
        "Gelu": lambda: _gelu(node),
        "Binarizer": lambda: f"{{0}} > {literal(node.get('threshold', 0.0))} ? 1.0 : 0.0",
    }
    return g.map(x.dtype, forms[node.op](), x)


def _shrink(node, x):
    edge, bias = node.get("lambd", 0.5), node.get("bias", 0.0)
    if not x.is_real and (edge != int(edge) or bias != int(bias)):
        return (f"{x.dtype}(f32({{0}}) < {literal(-edge)} ? f32({{0}}) + {literal(bias)} : "
                f"f32({{0}}) > {literal(edge)} ? f32({{0}}) - {literal(bias)} : 0)")
    edge, below, bias = (literal(v, x.is_real) for v in (edge, -edge, bias))
    return f"{{0}} < {below} ? {{0}} + {bias} : {{0}} > {edge} ? {{0}} - {bias} : 0"


def _gelu(node):
    if node.get("approximate", "none") == "none":
        return "0.5 * {0} * (1 + erf({0} * 0.7071067811865476))"
    return "0.5 * {0} * (1 + tanh(0.7978845608028654 * ({0} + 0.044715 * {0} * {0} * {0})))"


@lowers("IsInf")
def lower_is_inf(g, node, x):
    either = [f"{{0}} == {v}" for v, name in (("inf", "detect_positive"), ("-inf", "detect_negative"))
              if node.get(name, 1)]
    return g.map("bool", " || ".join(either) or "false && {0} == 0", x)


WIDTH = {"u8": 8, "i8": 8, "i16": 16, "i32": 32, "i64": 64}


@lowers("BitwiseAnd", "BitwiseOr", "BitwiseXor", "BitwiseNot")
def lower_bitwise(g, node, *inputs):
    x = inputs[0]
    if x.dtype not in WIDTH:
        raise Unsupported(f"{node.op} of {x.dtype}")
    form = {"BitwiseAnd": "{0} & {1}", "BitwiseOr": "{0} | {1}", "BitwiseXor": "{0} ^ {1}",
            "BitwiseNot": "~{0}"}[node.op]
    return g.map(x.dtype, f"{x.dtype}({form})", *inputs)


@lowers("BitShift")
def lower_shift(g, node, x, by):
    if x.dtype not in WIDTH:
        raise Unsupported(f"BitShift of {x.dtype}")
    """By the width or more nothing is left, where the language takes the count modulo the width."""
    mark = "<<" if node["direction"] == "LEFT" else ">>"
    none = "0" if mark == "<<" else "({0} < 0 ? -1 : 0)"
    return g.map(x.dtype, f"{x.dtype}({{1}} >= 0 && {{1}} < {WIDTH[x.dtype]} ? {{0}} {mark} {{1}} : {none})",
                 x, by)


@lowers("Asin", "Acos", "Atan")
def lower_inverse(g, node, x):
    """By the polynomial of atan on [0, tan(pi/12)] and its addition theorem, in f64: of the 11
    terms of the series that are taken, the next is below 2^-53 there."""
    if not x.is_real:
        raise Unsupported(f"{node.op} of {x.dtype}")
    v = {"Atan": "f64({0})", "Asin": "f64({0}) / sqrt(1 - f64({0}) * f64({0}))",
         "Acos": "f64({0}) / sqrt(1 - f64({0}) * f64({0}))"}[node.op]
    ratio = g.map("f64", v, x)
    small = g.map("f64", "abs({0}) > 1 ? 1 / abs({0}) : abs({0})", ratio)
    near = g.map("f64", "{0} > 0.2679491924311227 ? ({0} * 1.7320508075688772 - 1) / "
                        "(1.7320508075688772 + {0}) : {0}", small)
    series = "0"
    for k in range(14, -1, -1):
        series = f"({literal((-1) ** k / (2 * k + 1))} + {{0}} * {{0}} * {series})"
    angle = g.map("f64", f"{{0}} * {series} + ({{1}} > 0.2679491924311227 ? 0.5235987755982989 : 0)",
                  near, small)
    whole = g.map("f64", "({0} < 0 ? -1.0 : 1.0) * (abs({0}) > 1 ? 1.5707963267948966 - {1} : {1})",
                  ratio, angle)
    form = "1.5707963267948966 - {0}" if node.op == "Acos" else "{0}"
    return g.map(x.dtype, f"{x.dtype}({form})", whole)


@lowers("EyeLike")
def lower_eye(g, node, x):
    dtype = name_of(node["dtype"]) if "dtype" in node.attributes else x.dtype
    k = node.get("k", 0)
    return g.store(x.shape, dtype, lambda s: f"{s[1]} - {s[0]} == {k} ? {_one(dtype)}")


def _one(dtype):
    return "1.0 : 0.0" if dtype in ("f64", "f32", "f16", "bf16") else "1 : 0"


@lowers("OneHot")
def lower_one_hot(g, node, index, depth, values):
    n = int(constant(depth, "depth").reshape(-1)[0])
    axis = axis_of(node.get("axis", -1), index.rank + 1)
    shape = list(index.shape)
    shape.insert(axis, n)
    off, on = (values.at([str(k)]) for k in range(2))

    def text(s):
        i = index.at(s[:axis] + s[axis + 1:])
        i = f"({i} < 0 ? {i} + {n} : {i})"
        return f"{i} == {index.dtype if not index.is_real else 'f32'}({s[axis]}) ? {on} : {off}"
    return g.store(shape, values.dtype, text)


@lowers("Bernoulli", "RandomUniformLike", "RandomNormalLike", "RandomUniform", "RandomNormal")
def lower_random(g, node, *inputs):
    raise Unsupported("random numbers, whose values ONNX leaves open")
