"""An expression as an operator of PyTorch, under autograd, vmap and torch.compile."""
import functools
import itertools
import re
import threading

import torch

from .. import _default
from .._errors import ArgumentError, Error
from .shapes import signature
from .values import TYPES

__all__ = ["TorchOp", "torch_op"]
_DTYPES = {name: dtype for dtype, name in TYPES.items()} | {
    "f8e4m3": torch.float8_e4m3fn, "f8e5m2": torch.float8_e5m2,
    "f8ue4m3": torch.float8_e4m3fn, "f8ue8m0": torch.float8_e8m0fnu,
    "f6e3m2": torch.uint8, "f6e2m3": torch.uint8, "f4e2m1x2": torch.uint8}
_SCALARS = {"f32": "float", "f64": "float", "i32": "int", "i64": "int"}
_ops, _lock = {}, threading.RLock()


class TorchOp:
    """Made by Kernel.torch_op and roller.torch.op.

    Takes the expression's inputs as declared, scalars as numbers, and gives its output, or a tuple
    of several.  Tensors in host memory run in the simulator, tensors on a CUDA device there, in the
    current stream.  `default` is PyTorch's own operator, `out` the one that writes given tensors.
    """

    def __init__(self, name, te, profile, kernel=None):
        self.name, self.te, self.profile, self._kernel = name, te, profile, kernel
        self.signature, self.shapes = signature(te)
        self.ins, self.outs = self.signature.ins, self.signature.outs
        self.real = [a.name for a in self.ins if self._is_real(a)]
        self._register()

    def __repr__(self):
        return f"roller.torch.op({self.name})"

    def __call__(self, *args, **kwargs):
        if torch.compiler.is_compiling() or not torch._C._are_functorch_transforms_active():
            return self.default(*args, **kwargs)
        named = (kwargs[a.name] for a in self.ins[len(args):])
        return self._transformed.apply(*args, *named)

    def __reduce__(self):
        """By its name: a copy, and what another process reads, is the operator of that name."""
        return torch_op, (self.name, self.te, self.profile)

    def _is_real(self, a):
        return a.role == "input" and _DTYPES[a.dtype].is_floating_point

    @property
    def kernel(self):
        if self._kernel is None:
            self._kernel = _default.compile(self.te, profile=self.profile, file=f"{self.name}.te")
        return self._kernel

    # ---- what PyTorch is told ----
    def _schema(self):
        return ", ".join(f"{'Tensor' if a.role == 'input' else _SCALARS[a.dtype]} {a.name}"
                         for a in self.ins)

    def _register(self):
        results = ", ".join(["Tensor"] * len(self.outs))
        several = len(self.outs) != 1
        self.default = torch.library.custom_op(
            self.name, self._run, mutates_args=(),
            schema=f"({self._schema()}) -> {f'({results})' if several else results}")
        self.default.register_fake(self._fake)
        self.default.register_autograd(self._backward, setup_context=self._keep)
        self.default.register_vmap(self._batch)
        types = {a.dtype for a in self.ins if a.name in self.real}
        if len(types) == 1:
            for device in ("cpu", "cuda"):
                self.default.register_autocast(device, _DTYPES[next(iter(types))])

    @functools.cached_property
    def out(self):
        """op.out(*inputs, *outputs) writes tensors that are given."""
        given = ", ".join(f"Tensor(a{k}!) {a.name}" for k, a in enumerate(self.outs))
        made = torch.library.custom_op(
            f"{self.name}_out", self._write, mutates_args=[a.name for a in self.outs],
            schema=f"({self._schema()}, {given}) -> ()")
        made.register_fake(lambda *args: None)
        return made

    @functools.cached_property
    def _transformed(self):
        """The same for torch.func, which cannot differentiate PyTorch's own of custom_op."""
        return type(self.name, (torch.autograd.Function,), {
            name: staticmethod(of) for name, of in (
                ("forward", self.default), ("setup_context", self._keep),
                ("backward", self._backward), ("vmap", self._batch))})

    # ---- running ----
    def _given(self, args):
        for a, x in zip(self.ins, args, strict=True):
            if a.role == "input" and x.dtype != _DTYPES[a.dtype]:
                raise ArgumentError(f"argument '{a.name}' of {self.name} is {x.dtype}, not "
                                    f"{_DTYPES[a.dtype]}", status="DTYPE")
        return [x if a.role != "input" or a.name in self.shapes.strided else x.contiguous()
                for a, x in zip(self.ins, args)]

    def _run(self, *args):
        made = self._empty(args)
        self.kernel(*self._given(args), out=made)
        return made[0] if len(made) == 1 else made

    def _write(self, *args):
        n = len(self.ins)
        self.kernel(*self._given(args[:n]), out=args[n:])

    def _empty(self, args):
        shapes = {a.name: x.shape for a, x in zip(self.ins, args) if a.role == "input"}
        sizes = self.shapes.sizes(self.name, shapes)
        device = next((x.device for x in args if isinstance(x, torch.Tensor)), torch.device("cpu"))
        return tuple(torch.empty(self.shapes.of(a.name, sizes), dtype=_DTYPES[a.dtype],
                                 device=device) for a in self.outs)

    def _fake(self, *args):
        for a, x in zip(self.ins, args):
            torch._check(a.role != "input" or x.dtype == _DTYPES[a.dtype], lambda: (
                f"argument '{a.name}' of {self.name} is {x.dtype}, not {_DTYPES[a.dtype]}"))
        made = self._empty(args)
        return made[0] if len(made) == 1 else made

    # ---- derivatives ----
    def _keep(self, ctx, inputs, output):
        tensors = [x for a, x in zip(self.ins, inputs) if a.role == "input"]
        ctx.save_for_backward(*tensors)
        ctx.scalars = {a.name: x for a, x in zip(self.ins, inputs) if a.role != "input"}
        outputs = output if isinstance(output, tuple) else (output,)
        ctx.outputs = [(x.shape, x.dtype, x.device) for x in outputs]

    @property
    def mark(self):
        """What stands before names of its derivative, where gradient_te writes d_: a derivative of
        a derivative has names of both."""
        names = [a.name for a in (*self.ins, *self.outs)]
        return next(m for k in itertools.count(1) if not any(
            n.startswith(m := f"d{k}_") for n in names))

    def gradient(self, wrt):
        """The operator of the derivative by some inputs; its arguments by name."""
        te = re.sub(r"\bd_(?=\w)", self.mark, _default.gradient_te(self.te, list(wrt)))
        return torch_op(f"{self.name}_by_{'_'.join(wrt)}", te, self.profile)

    def _backward(self, ctx, *grads):
        names = [a.name for a in self.ins if a.role == "input"]
        given = {**dict(zip(names, ctx.saved_tensors)), **ctx.scalars}
        for a, g, (shape, dtype, device) in zip(self.outs, grads, ctx.outputs):
            given[f"{self.mark}{a.name}"] = g if g is not None else torch.zeros(shape, dtype=dtype,
                                                                       device=device)
        wrt = tuple(a.name for a, needed in zip(self.ins, ctx.needs_input_grad)
                    if needed and a.name in self.real)
        made = {}
        if wrt:
            op = self.gradient(wrt)
            out = op(*[given[a.name] for a in op.ins])
            names = [a.name.removeprefix(self.mark) for a in op.outs]
            made = dict(zip(names, out if isinstance(out, tuple) else (out,)))
        return tuple(made.get(a.name) for a in self.ins)

    # ---- batches ----
    def _batch(self, info, dims, *args):
        which = [d is not None for d in dims]
        op = torch_op(f"{self.name}_batch{''.join('ny'[w] for w in which)}{info.batch_size}",
                      _default.batch_te(self.te, which, info.batch_size), self.profile)
        like = next(x for x in args if isinstance(x, torch.Tensor))
        given = [x.movedim(d, 0) if d is not None else x if isinstance(x, torch.Tensor) else
                 torch.tensor(x, dtype=_DTYPES[a.dtype], device=like.device)
                 for a, x, d in zip(self.ins, args, dims)]
        made = op(*given)
        return made, 0 if len(self.outs) == 1 else (0,) * len(self.outs)


def torch_op(name, te, profile=None, kernel=None):
    """The operator `name` ("mine::softmax") for a text in canonical form."""
    if not re.fullmatch(r"\w+::\w+", name):
        raise ValueError(f"{name!r} is no name of an operator: write it as 'mine::{name}'")
    with _lock:
        known = _ops.get(name)
        if known is None:
            known = _ops[name] = TorchOp(name, te, profile, kernel)
        elif (known.te, known.profile) != (te, profile):
            raise Error(f"{name} is an operator already, of another expression", status="ARGS")
        return known


def op(name, te, *, op=None, sizes=None, profile=None):
    """An expression as the operator `name`; te, op, sizes and profile are those of compile."""
    kernel = _default.compile(te, op=op, sizes=sizes, profile=profile)
    return kernel.torch_op(name)
