"""roller's expressions as functions of JAX.

    import roller.jax
    matmul = roller.jax.op("op mm(A: f32[64,32], B: f32[32,48]) -> C: f32[64,48] "
                           "{ C[m,n] += A[m,k] * B[k,n]; }", profile="h200")
    c = jax.jit(matmul)(a, b)

Under jit, vmap (the expression over a batch) and grad (the expression's derivative).  On a CUDA
device the kernel is launched there by jax-tvm-ffi; on the CPU it runs in the simulator, by
jax-tvm-ffi, too, or without it by jax.pure_callback.
"""
import functools
import threading

import jax
import jax.extend.core
import jax.numpy as jnp
import numpy as np
from jax.interpreters import batching, mlir

from . import _default
from ._errors import ArgumentError
from ._library import tvm_ffi_library
from ._op import Op as Signature

try:
    import jax_tvm_ffi
    import tvm_ffi
except ImportError:
    tvm_ffi = None

__all__ = ["op", "Op"]
_TYPES = {"f64": "float64", "f32": "float32", "f16": "float16", "bf16": "bfloat16",
          "f8e4m3": "float8_e4m3fn", "f8e5m2": "float8_e5m2",
          "f6e3m2": "uint8", "f6e2m3": "uint8", "f4e2m1x2": "uint8",
          "f8ue4m3": "float8_e4m3fn", "f8ue8m0": "float8_e8m0fnu", "i64": "int64", "i32": "int32",
          "i16": "int16", "i8": "int8", "u8": "uint8", "bool": "bool"}


def _type(a):
    return jnp.dtype(_TYPES[a.dtype])


# ---- one expression ----
class Op:
    """An expression as a function of JAX; made by roller.jax.op.

    Takes its inputs and scalars as declared, and gives its output, or a tuple of several.
    """

    def __init__(self, te, profile, name):
        self.te, self.profile, self.name = te, profile, name
        self._signature = Signature(_default, te)
        self._lock, self._known = threading.Lock(), {}
        self._call = jax.custom_vjp(self._bind)
        self._call.defvjp(self._forward, self._backward, symbolic_zeros=True)

    def __repr__(self):
        return f"roller.jax.op({self.name})"

    def __call__(self, *arrays):
        ins = self._signature.ins
        if len(arrays) != len(ins):
            raise ArgumentError(f"{self.name} takes {len(ins)} inputs "
                                f"({', '.join(a.name for a in ins)}), not {len(arrays)}",
                                status="ARGS")
        out = self._call(*[_array(x, a, self.name) for x, a in zip(arrays, ins)])
        return out[0] if len(out) == 1 else tuple(out)

    def _bind(self, *arrays):
        return tuple(_primitive.bind(*arrays, op=self))

    def _once(self, key, make):
        with self._lock:
            if key not in self._known:
                self._known[key] = make()
            return self._known[key]

    # ---- derivatives ----
    def gradient(self, wrt):
        """The expression of the derivative by some inputs, as an op."""
        return self._once(("gradient", wrt), lambda: _op(
            _default.gradient_te(self.te, list(wrt)), self.profile, f"{self.name}_gradient"))

    def _forward(self, *primals):
        ins = self._signature.ins
        wrt = tuple(a.name for a, p in zip(ins, primals)
                    if p.perturbed and jnp.issubdtype(_type(a), jnp.floating))
        values = [p.value for p in primals]
        return self._call(*values), (values, _Static(wrt))

    def _backward(self, kept, cotangents):
        (values, wrt), s = kept, self._signature
        given = {a.name: v for a, v in zip(s.ins, values)}
        for a, ct in zip(s.outs, cotangents):
            zero = isinstance(ct, jax.custom_derivatives.SymbolicZero)
            given[f"d_{a.name}"] = jnp.zeros(ct.shape, _type(a)) if zero else ct
        made = {}
        if wrt.value:
            op = self.gradient(wrt.value)
            out = op._call(*[given[a.name] for a in op._signature.ins])
            made = {a.name[2:]: x for a, x in zip(op._signature.outs, out)}
        return tuple(made.get(a.name, _no_derivative(a, v)) for a, v in zip(s.ins, values))

    # ---- batches ----
    def batched(self, which, extent):
        """The op over a batch, for inputs that have one as their first dimension."""
        return self._once(("batch", which, extent), lambda: _op(
            _default.batch_te(self.te, which, extent), self.profile, self.name))

    # ---- kernels ----
    @property
    def kernel(self):
        """The compiled kernel, of the default profile where none was given."""
        return self._once("kernel", lambda: _default.compile(self.te, profile=self.profile,
                                                             file=f"{self.name}.te"))

    def target(self, platform):
        """The name under which XLA calls the kernel on a platform."""
        return self._once(("target", platform), lambda: _register(self, platform))


def _no_derivative(a, value):
    if jnp.issubdtype(_type(a), jnp.floating):
        return jnp.zeros(jnp.shape(value), _type(a))
    return np.zeros(jnp.shape(value), jax.dtypes.float0)


@jax.tree_util.register_static
class _Static:
    """A value that is known while tracing."""

    def __init__(self, value):
        self.value = value

    def __eq__(self, other):
        return self.value == other.value

    def __hash__(self):
        return hash(self.value)


def _array(x, a, name):
    """What JAX has as an array stays what it is; numbers take the type that is declared."""
    if isinstance(x, (bool, int, float)):
        return jnp.asarray(x, _type(a))
    x = jnp.asarray(x)
    if x.dtype != _type(a):
        raise ArgumentError(f"argument '{a.name}' of {name} is {x.dtype}, not {_type(a)}",
                            status="DTYPE")
    return x


@functools.lru_cache(1024)
def _op(te, profile, name):
    return Op(te, profile, name)


def op(te, *, op=None, sizes=None, profile=None):
    """An expression as a function of JAX.

    te, op, sizes, profile are those of roller.compile; scalars are arrays of rank 0 here, or
    numbers.  The same expression gives the same function.
    """
    arrays = _default.batch_te(te, op=op, sizes=sizes)
    name = arrays.partition("op ")[2].partition("(")[0]
    return _op(arrays, profile, name)


# ---- the primitive ----
_primitive = jax.extend.core.Primitive("roller")
_primitive.multiple_results = True


@_primitive.def_abstract_eval
def _abstract(*avals, op):
    s = op._signature
    shapes = s.infer(op.name, [a.shape for a in avals])
    return [jax.core.ShapedArray(shape, _type(a)) for shape, a in zip(shapes, s.outs)]


@_primitive.def_impl
def _impl(*arrays, op):
    return _compiled(op)(*arrays)


@functools.lru_cache(1024)
def _compiled(op):
    return jax.jit(lambda *arrays: _primitive.bind(*arrays, op=op))


def _batch(arrays, axes, *, op):
    extent = next(x.shape[d] for x, d in zip(arrays, axes) if d is not None)
    which = tuple(d is not None for d in axes)
    arrays = [jnp.moveaxis(x, d, 0) if mapped else x for x, d, mapped in zip(arrays, axes, which)]
    out = _primitive.bind(*arrays, op=op.batched(which, extent))
    return out, [0] * len(out)


batching.primitive_batchers[_primitive] = _batch


# ---- where it runs ----
def _results(op, arrays):
    shapes = op._signature.infer(op.name, [x.shape for x in arrays])
    return [jax.ShapeDtypeStruct(shape, _type(a)) for shape, a in zip(shapes, op._signature.outs)]


@functools.lru_cache(None)
def _module():
    return tvm_ffi.load_module(tvm_ffi_library())


def _register(op, platform):
    name = f"roller.{op.name}.{platform}.{id(op)}"
    function = _module().compile(op.te, op.profile)
    jax_tvm_ffi.register_ffi_target(name, function, platform=platform)
    return name


def _by_ffi(*arrays, op, platform):
    return jax.ffi.ffi_call(op.target(platform), _results(op, arrays))(*arrays)


def _simulate(op, *arrays):
    """In NumPy's arrays; those of types that it has not are bits."""
    bits = {2: np.uint16, 1: np.uint8}
    own = [np.asarray(x, order="C") for x in arrays]
    out = [np.empty(r.shape, r.dtype) for r in _results(op, own)]

    def view(x):
        return x.view(bits[x.dtype.itemsize]) if x.dtype.kind == "V" or x.dtype.num > 23 else x

    op.kernel(*[view(x) for x in own], out=tuple(view(x) for x in out))
    return out


def _by_callback(*arrays, op):
    return jax.pure_callback(functools.partial(_simulate, op), _results(op, arrays), *arrays)


mlir.register_lowering(_primitive, mlir.lower_fun(
    functools.partial(_by_ffi, platform="cpu") if tvm_ffi else _by_callback,
    multiple_results=True), platform="cpu")
if tvm_ffi:
    mlir.register_lowering(_primitive, mlir.lower_fun(
        functools.partial(_by_ffi, platform="gpu"), multiple_results=True), platform="cuda")
