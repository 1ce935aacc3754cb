"""What PyTorch computes for a row of the workload sets, from the same tensors.

`eager(row, t)` gives contenders by name: a function that launches everything on the current stream
and returns its result, and how that result reads as the row's output.  Weights and inputs that a
contender wants in another layout are put there beforehand, outside of what is timed; its name then
says so (`channels_last`)."""
import math

import torch
import torch.nn.functional as F

TORCH = {"f64": torch.float64, "f32": torch.float32, "f16": torch.float16,
         "bf16": torch.bfloat16, "i64": torch.int64, "i32": torch.int32, "i16": torch.int16,
         "i8": torch.int8, "u8": torch.uint8, "bool": torch.bool,
         "f8e4m3": torch.float8_e4m3fn, "f8e5m2": torch.float8_e5m2}
# Largest relative error of a result in this type, ||a - b|| / ||b||, summed in f32.
TOLERANCE = {"f64": 1e-10, "f32": 1e-4, "f16": 4e-3, "bf16": 2e-2, "f8e4m3": 8e-2, "f8e5m2": 2e-1}


def use_plain_arithmetic():
    """Peers compute as we do: f32 means IEEE products, half types sum in f32."""
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False
    torch.backends.cuda.matmul.allow_fp16_reduced_precision_reduction = False
    torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction = False
    torch.backends.cudnn.benchmark = True


def fill(argument, generator):
    """Random data that is not zero: normal reals, integers of the middle range."""
    kind = TORCH[argument.dtype]
    if argument.dtype == "bool":
        return torch.randint(0, 2, argument.shape, device="cuda", generator=generator).to(kind)
    if not kind.is_floating_point:
        low = 0 if argument.dtype == "u8" else -64
        return torch.randint(low, 64, argument.shape, device="cuda", generator=generator,
                             dtype=kind)
    return torch.randn(argument.shape, device="cuda", generator=generator,
                       dtype=torch.float32).to(kind)


def difference(a, b):
    """Relative error of a against b; nan where a holds one.  Integers: share that differs."""
    if not a.dtype.is_floating_point:
        return (a != b).double().mean().item()
    a, b = a.double(), b.double()
    norm = b.norm().item()
    return (a - b).norm().item() / (norm if norm > 0 else 1.0)


class Row:
    """A row's keys as numbers and words."""

    def __init__(self, row):
        self.op, self.dtype, self.raw = row["op"], row["dtype"], row["params"]

    def __getattr__(self, key):
        value = self.raw.get(key, "0")
        try:
            return int(value)
        except ValueError:
            return value


def same(y):
    return y


def activation(name):
    return {"relu": F.relu, "silu": F.silu, "gelu": F.gelu, "softplus": F.softplus,
            "hardswish": F.hardswish}.get(name, same)


# ---- products ----
def product(r, a, b):
    """a * b of matrices or batches of them, as the row stores them."""
    a = a.transpose(-2, -1) if r.ta else a
    b = b.transpose(-2, -1) if r.tb else b
    if r.dtype == "i8":
        return lambda: torch._int_mm(a, b)
    if r.dtype == "f8e4m3":
        one = torch.ones((), device=a.device)
        return lambda: torch._scaled_mm(a, b, scale_a=one, scale_b=one,
                                        out_dtype=torch.bfloat16)
    return lambda: torch.matmul(a, b)


def matmul(r, t):
    return {"eager": (product(r, t["A"], t["B"]), same)}


def bmm(r, t):
    return {"eager": (product(r, t["X"], t["Y"]), same)}


def gemm_bias_act(r, t):
    f, act = product(r, t["A"], t["B"]), activation(r.act)
    bias, residual = t.get("bias"), t.get("R")

    def run():
        y = f()
        y = y + bias if bias is not None else y
        y = y + residual if residual is not None else y
        return act(y)
    found = {"eager": (run, same)}
    if bias is not None and residual is None and r.dtype in ("f16", "bf16", "f32"):
        a = t["A"].t() if r.ta else t["A"]
        b = t["B"].t() if r.tb else t["B"]
        found["addmm"] = (lambda: act(torch.addmm(bias, a, b)), same)
    return found


def b2b_gemm(r, t):
    act = activation(r.act)
    first, second = t.get("bias"), t.get("bias1")
    plus = (lambda y, b: y if b is None else y + b)
    if "A" in t:
        a, b, last = t["A"], t["B"], t["L"]
        if r.dtype == "i8":
            return {}
        return {"eager": (lambda: act(plus(act(plus(a @ b, first)) @ last, second)), same)}
    found = {}
    for name, (x, k, read) in conv_data(r, t).items():
        last = t["L"].t().contiguous()[:, :, None, None]

        def run(x=x, k=k, last=last):
            y = act(F.conv2d(x, k, first, r.stride, r.pad, r.dil or 1))
            return act(F.conv2d(y, last, second))
        found[name] = (run, read)
    return found


# ---- convolutions ----
def conv_data(r, t):
    """Input, filter and reader of the result, per layout that PyTorch takes."""
    x, k = t["X"], t["K"]
    groups = max(r.groups, 1)
    spatial = {"conv1d": 1, "conv3d": 3}.get(r.op, 2)
    first = [0, spatial + 1] + list(range(1, spatial + 1))       # NHWC to NCHW
    back = [0] + list(range(2, spatial + 2)) + [1]
    last = r.layout == "NHWC"
    depthwise = r.op == "depthwise"
    if last:
        window = list(k.shape[:spatial])
        if depthwise:
            k = k.reshape(window + [1, r.C]).permute([spatial + 1, spatial] + list(range(spatial)))
        else:
            k = k.reshape(window + [r.C // groups, -1])
            k = k.permute([spatial + 1, spatial] + list(range(spatial)))
        x = x.reshape([r.N] + list(x.shape[1:1 + spatial]) + [r.C]).permute(first)
    else:
        window = list(k.shape[-spatial:])
        if r.op == "transposed_conv":
            k = k.reshape([r.F, r.C] + window)
        elif depthwise:
            k = k.reshape([r.C, 1] + window)
        else:
            k = k.reshape([r.F, r.C // groups] + window)
        x = x.reshape([r.N, r.C] + list(x.shape[-spatial:]))
    if r.op == "transposed_conv":
        k = k.transpose(0, 1)
    layout = {2: torch.channels_last, 3: torch.channels_last_3d}.get(spatial)
    read = (lambda y: y.permute(back)) if last else same
    found = {} if last and layout else {"eager": (x.contiguous(), k.contiguous(), read)}
    if layout:
        name = "eager" if last else "channels_last"
        found[name] = (x.contiguous(memory_format=layout), k.contiguous(memory_format=layout),
                       read)
    if last and layout:
        found["nchw"] = (x.contiguous(), k.contiguous(), read)
    return found


def conv(r, t):
    groups = r.C if r.op == "depthwise" else max(r.groups, 1)
    dil = r.dil or 1
    call = {"conv1d": F.conv1d, "conv3d": F.conv3d}.get(r.op, F.conv2d)
    found = {}
    for name, (x, k, read) in conv_data(r, t).items():
        if r.op == "transposed_conv":
            def run(x=x, k=k):
                return F.conv_transpose2d(x, k, None, r.stride, r.pad, r.opad, 1, dil)
        else:
            def run(x=x, k=k):
                return call(x, k, None, r.stride, r.pad, dil, groups)
        found[name] = (run, read)
    return found


def conv_bn_relu(r, t):
    found = {}
    scale, shift, bias = t.get("scale"), t.get("shift"), t.get("bias")
    for name, (x, k, read) in conv_data(r, t).items():
        def run(x=x, k=k):
            y = F.conv2d(x, k, bias, r.stride, r.pad, r.dil or 1, max(r.groups, 1))
            if scale is not None:
                y = y * scale[:, None, None] + shift[:, None, None]
            return F.relu(y)
        found[name] = (run, read)
    return found


def capsule(r, t):
    """A convolution of N*CAP images with C*CAP channels, once the axes are in that order."""
    c = r.CAP
    x = t["X"].permute(0, 3, 4, 5, 1, 2).reshape(r.N * c, c * r.C, r.H, r.W)
    k = t["K"].permute(3, 5, 2, 4, 0, 1).reshape(c * r.F, c * r.C, r.R, r.S)

    def read(y):
        p, q = y.shape[2:]
        return y.reshape(r.N, c, c, r.F, p, q).permute(0, 4, 5, 1, 2, 3)
    found = {}
    for name, layout in (("eager", torch.contiguous_format), ("channels_last",
                                                              torch.channels_last)):
        def run(x=x.contiguous(memory_format=layout), k=k.contiguous(memory_format=layout)):
            return F.conv2d(x, k, None, r.stride, r.pad)
        found[name] = (run, read)
    return found


# ---- rows and elements ----
def attention_scores(r, t):
    q, k = t["Q"].permute(0, 2, 1, 3), t["K"].permute(0, 2, 3, 1)
    if r.softmax:
        return {"eager": (lambda: torch.softmax(q @ k / math.sqrt(r.D), -1), same)}
    return {"eager": (lambda: q @ k, same)}


def elementwise(r, t):
    if r.fn == "relu":
        return {"eager": (lambda: F.relu(t["X"]), same)}
    if r.fn == "silu_mul":
        return {"eager": (lambda: F.silu(t["X"]) * t["Z"], same)}
    x, half = t["X"], r.D // 2
    cos, sin = t["c"][:, None, :], t["s"][:, None, :]

    def rope():
        a, b = x[..., :half], x[..., half:]
        return torch.cat((a * cos - b * sin, b * cos + a * sin), -1)
    return {"eager": (rope, same)}


def pool(r, t):
    last = r.layout == "NHWC"
    x = t["X"].permute(0, 3, 1, 2) if last else t["X"]

    def run(x=x):
        if r.op == "maxpool":
            return F.max_pool2d(x, (r.R, r.S), r.stride, r.pad)
        return F.avg_pool2d(x, (r.R, r.S), r.stride, r.pad, count_include_pad=True)
    found = {"eager": (run, (lambda y: y.permute(0, 2, 3, 1)) if last else same)}
    if not last:
        other = x.contiguous(memory_format=torch.channels_last)
        found["channels_last"] = (lambda: run(other), same)
    return found


def reduce_sum(r, t):
    x = t["X"]
    kind = torch.int32 if r.dtype == "i8" else None
    return {"eager": (lambda: torch.sum(x, 1, dtype=kind), same)}


def norm(r, t):
    x = t["X"]
    return {"eager": (lambda: torch.linalg.vector_norm(x, dim=(1, 2)), same)}


def softmax(r, t):
    x = t["X"]
    return {"eager": (lambda: torch.softmax(x, -1), same)}


def layernorm(r, t):
    x, g, b = t["X"], t.get("g"), t.get("b")
    return {"eager": (lambda: F.layer_norm(x, x.shape[-1:], g, b, 1e-5), same)}


def rmsnorm(r, t):
    x, g = t["X"], t["g"]
    if "R" not in t:
        return {"eager": (lambda: F.rms_norm(x, x.shape[-1:], g, 1e-5), same)}
    residual = t["R"]

    def run():
        z = x + residual
        return z, F.rms_norm(z, z.shape[-1:], g, 1e-5)
    return {"eager": (run, same)}


def transpose(r, t):
    x = t["X"]
    order = [int(r.raw[f"P{i}"]) for i in range(r.RANK)]
    return {"eager": (lambda: x.permute(order).contiguous(), same)}


RULES = {"matmul": matmul, "bmm": bmm, "gemm_bias_act": gemm_bias_act, "b2b_gemm": b2b_gemm,
         "conv1d": conv, "conv2d": conv, "conv3d": conv, "dilated_conv": conv,
         "grouped_conv": conv, "depthwise": conv, "transposed_conv": conv,
         "conv_bn_relu": conv_bn_relu, "capsule": capsule, "attention_scores": attention_scores,
         "elementwise": elementwise, "avgpool": pool, "maxpool": pool, "reduce_sum": reduce_sum,
         "norm": norm, "softmax": softmax, "layernorm": layernorm, "rmsnorm": rmsnorm,
         "transpose": transpose}


def eager(row, tensors):
    r = Row(row)
    rule = RULES.get(r.op)
    return rule(r, tensors) if rule else {}


def compiled(run):
    """torch.compile with all its tuning; graphs are left out, since all are timed alike."""
    torch._dynamo.reset()
    return torch.compile(run, mode="max-autotune-no-cudagraphs", dynamic=False)
