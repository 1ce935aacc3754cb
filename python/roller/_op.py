"""Expressions by themselves: what they take and give, and their values by definition."""
from collections import namedtuple
from ctypes import byref

from . import _abi
from ._errors import ArgumentError, text
from ._library import lib, struct
from ._tensors import describe, describe_scalar, empty_like

Judgement = namedtuple("Judgement", "compared undecided wrong excess")
_ROLES = {_abi.ROLLER_INPUT: "input", _abi.ROLLER_SCALAR: "scalar", _abi.ROLLER_OUTPUT: "output"}


class OpArgument:
    """size: for each dimension which run-time size it is, -1 for none."""

    def __init__(self, a):
        self.name, self.role, self.dtype = text(a.name), _ROLES[a.role], text(a.dtype)
        self.size = list(a.size[:a.rank])
        self.shape = list(a.shape[:a.rank])


class Op:
    """A parsed expression; sizes known at run time follow from shapes."""

    def __init__(self, compiler, te, *, op=None, sizes=None, file=None):
        self._contexts = compiler._contexts
        self.parsed = compiler._parse(self._contexts.get(), te, op, sizes, file)
        args = []
        for i in range(lib.roller_op_args(self.parsed.at)):
            a = struct(_abi.RollerArg)
            lib.roller_op_arg(self.parsed.at, i, byref(a))
            args.append(OpArgument(a))
        self.ins = [a for a in args if a.role != "output"]
        self.outs = args[len(self.ins):]
        self.largest = []
        for i in range(lib.roller_op_sizes(self.parsed.at)):
            s = struct(_abi.RollerSize)
            lib.roller_op_size(self.parsed.at, i, byref(s))
            self.largest.append(s)

    def _shape(self, i, values):
        a = struct(_abi.RollerArg)
        lib.roller_op_arg_at(self.parsed.at, i, values, byref(a))
        return tuple(a.shape[:a.rank])

    def infer(self, name, shapes):
        """Shapes of the outputs for those of the inputs."""
        values = (_abi.c_int64 * max(len(self.largest), 1))(*[s.value for s in self.largest])
        for a, shape in zip(self.ins, shapes):
            if len(shape) != len(a.shape):
                raise ArgumentError(f"argument '{a.name}' of {name} has rank {len(shape)}, not "
                                    f"{len(a.shape)}", status="RANK")
            for size, extent in zip(a.size, shape):
                if size >= 0:
                    values[size] = extent
        for v, s in zip(values, self.largest):
            if s.runtime and not (s.min <= v <= s.value and v % s.multiple == 0):
                raise ArgumentError(f"{text(s.name)} = {v} of {name} is not in {s.min}..{s.value}"
                                    + (f" % {s.multiple}" if s.multiple > 1 else ""), status="SIZE")
        for i, (a, shape) in enumerate(zip(self.ins, shapes)):
            if tuple(shape) != self._shape(i, values):
                raise ArgumentError(f"argument '{a.name}' of {name} has shape {tuple(shape)}, not "
                                    f"{self._shape(i, values)}", status="SIZE")
        return [self._shape(len(self.ins) + i, values) for i in range(len(self.outs))]

    # ---- values by definition ----
    def _tensors(self, arrays, args, output):
        made = [describe_scalar(x, a.dtype) if a.role == "scalar" else describe(x, a.dtype, output)
                for x, a in zip(arrays, args, strict=True)]
        return b"".join(t for t, _ in made), len(made), [k for _, k in made]

    def _like(self, inputs):
        """An input that tells what kind of array the outputs are."""
        for a, x in zip(self.ins, inputs):
            if a.role == "input":
                return x
        raise ArgumentError("there is no input that tells what kind of array to make",
                            status="ARGS", hint="give the outputs with out=")

    def evaluate(self, inputs, out=None):
        """The outputs, each rounded once; arrays lie in host memory."""
        if out is None:
            shapes = self.infer("the op", [getattr(x, "shape", ()) for x in inputs])
            like = self._like(inputs)
            out = tuple(empty_like(like, s, a.dtype) for s, a in zip(shapes, self.outs))
        given, n, kept = self._tensors(inputs, self.ins, False)
        made, m, also = self._tensors(out, self.outs, True)
        self._contexts.get().call(lib.roller_evaluate, self.parsed.at, given, n, made, m)
        return out

    def judge(self, inputs, outputs):
        """How many elements are right: (compared, undecided, wrong, excess)."""
        given, n, kept = self._tensors(inputs, self.ins, False)
        made, m, also = self._tensors(outputs, self.outs, False)
        report = struct(_abi.RollerJudgement)
        self._contexts.get().call(lib.roller_judge, self.parsed.at, given, n, made, m,
                                  byref(report))
        return Judgement(report.compared, report.undecided, report.wrong, report.excess)
