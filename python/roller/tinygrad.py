"""roller's kernels in tinygrad's graphs, by Tensor.custom_kernel.

    import roller.tinygrad
    matmul = roller.tinygrad.op("op mm(A: f32[64,32], B: f32[32,48]) -> C: f32[64,48] "
                                "{ C[m,n] += A[m,k] * B[k,n]; }", profile="h200")
    c = matmul(a, b)                       # a Tensor that is not realized yet

On tinygrad's CUDA device, between its own kernels, also in TinyJit.  tinygrad's launches give no
shared memory and no clusters, and pass pointers: kernels are planned for that (static_smem,
plain_abi).  Sizes are static.
"""
import functools
from math import prod

from tinygrad import Tensor, dtypes
from tinygrad.uop.ops import KernelInfo, Ops, UOp

from . import _default
from ._errors import ArgumentError, UsageError

__all__ = ["op", "Op"]
_TYPES = {"f64": dtypes.float64, "f32": dtypes.float32, "f16": dtypes.float16,
          "bf16": dtypes.bfloat16, "i64": dtypes.int64, "i32": dtypes.int32, "i16": dtypes.int16,
          "i8": dtypes.int8, "u8": dtypes.uint8, "bool": dtypes.bool}


class Op:
    """An expression as a function of tinygrad's tensors; made by roller.tinygrad.op."""

    def __init__(self, te, profile, plan):
        self.te, self.profile = te, profile
        self.kernel = k = _default.compile(te, profile=profile, plan=plan, static_smem=True,
                                           plain_abi=True)
        self.name, self._ptx = k.name, k.ptx
        self._target = k._target
        self._ins = [a for a in k.args if a.role != "output"]
        self._outs = [a for a in k.args if a.role == "output"]
        for a in k.args:
            if a.dtype not in _TYPES:
                raise UsageError(f"tinygrad has no {a.dtype}, which '{a.name}' is")
            if not all(isinstance(n, int) for n in a.shape):
                raise UsageError(f"'{a.name}' has a size that is known at run time: tinygrad's "
                                 "custom kernels have static shapes", hint="set it by sizes=")
        for l in self._target["kernels"]:
            if l["dynamic_smem"] or prod(l["cluster"]) > 1 or l["tensor_maps"]:
                raise UsageError(f"{l['symbol']} needs what tinygrad's launches do not give")

    def __repr__(self):
        return f"roller.tinygrad.op({self.name})"

    def __call__(self, *tensors):
        """The outputs for inputs as declared, lazily; scalars are tensors of rank 0."""
        if len(tensors) != len(self._ins):
            raise ArgumentError(f"{self.name} takes {len(self._ins)} inputs "
                                f"({', '.join(a.name for a in self._ins)}), not {len(tensors)}",
                                status="ARGS")
        live = {a.name: self._input(a, x) for a, x in zip(self._ins, tensors)}
        device = next((x.device for x in live.values()), None)
        for a in self._outs:
            live[a.name] = Tensor.empty(*a.shape, dtype=_TYPES[a.dtype], device=device)
        parts = [Tensor.empty(p["bytes"], dtype=dtypes.uint8, device=device)
                 for p in self._target["workspace"]]
        for i, launch in enumerate(self._target["kernels"]):
            keys = [self._key(p, i) for p in launch["params"]]
            given = [parts[k] if isinstance(k, int) else live[k] for k in keys]
            made = given[0].custom_kernel(*given[1:], fxn=functools.partial(self._program, launch))
            for k, x in zip(keys, made):
                if isinstance(k, int):
                    parts[k] = x
                else:
                    live[k] = x
        out = [live[a.name].reshape(a.shape) for a in self._outs]
        return out[0] if len(out) == 1 else tuple(out)

    def _input(self, a, x):
        if isinstance(x, (bool, int, float)):
            x = Tensor([x], dtype=_TYPES[a.dtype]).reshape(())
        if not isinstance(x, Tensor):
            raise TypeError(f"argument '{a.name}' of {self.name} is no Tensor")
        if x.dtype in dtypes.weaks:            # of a number whose type is open
            x = x.cast(_TYPES[a.dtype])
        if x.dtype != _TYPES[a.dtype]:
            raise ArgumentError(f"argument '{a.name}' of {self.name} is {x.dtype}, not {a.dtype}",
                                status="DTYPE")
        if tuple(x.shape) != a.shape:
            raise ArgumentError(f"argument '{a.name}' of {self.name} has shape {tuple(x.shape)}, "
                                f"not {a.shape}", status="SIZE")
        if not any(u.op is Ops.BUFFER for u in x.uop.toposort()):      # it would stay a constant
            x = x * Tensor([1], dtype=x.dtype, device=x.device).reshape((1,) * x.ndim)
        return x.contiguous()

    def _key(self, param, launch):
        """The tensor that a parameter is: a name, or the number of a part of the workspace."""
        if param["kind"] in ("input", "output"):
            return param["name"]
        for n, part in enumerate(self._target["workspace"]):
            if (part["offset"] == param["offset"]
                    and part["first_kernel"] <= launch <= part["last_kernel"]):
                return n
        raise UsageError(f"{self.name} has a parameter that tinygrad cannot pass")

    def _program(self, launch, *buffers):
        grid = [UOp.special(n, f"gidx{i}") for i, n in enumerate(launch["grid"])]
        block = [UOp.special(n, f"lidx{i}") for i, n in enumerate(launch["block"])]
        sink = UOp.sink(*[b.base for b in buffers], *grid, *block, arg=KernelInfo(launch["symbol"]))
        return UOp(Ops.PROGRAM, src=(sink, UOp(Ops.LINEAR, src=(*sink.src, sink)),
                                     UOp(Ops.SOURCE, arg=self._ptx),
                                     UOp(Ops.BINARY, arg=self._ptx.encode() + b"\0")))


@functools.lru_cache(1024)
def _op(te, profile, plan):
    return Op(te, profile, plan)


def op(te, *, op=None, sizes=None, profile=None, plan=None):
    """An expression as a function of tinygrad's tensors.

    te, op, sizes, profile, plan are those of roller.compile; scalars are tensors of rank 0 here.
    """
    return _op(_default.batch_te(te, op=op, sizes=sizes), profile, plan)
