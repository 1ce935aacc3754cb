"""Shapes of an op's arguments as PyTorch's sizes, which may be symbols."""
import re

import torch

from .. import _default
from .._op import Op

_SIZE = re.compile(r"(param|let) (\w+) = ([^;]+);")
_ARGUMENT = re.compile(r"(\w+): (\w+)(?:\[([^\]]*)\])?( strides\([^)]*\))?")
_WORDS = re.compile(r"[\w+\-*/%(), ]*")


def parts(text):
    """Extents of a shape: split at the commas outside of parentheses."""
    return [p.strip() for p in re.split(r",(?![^(]*\))", text) if p.strip()]


class Shapes:
    """Of a text in canonical form."""

    def __init__(self, te):
        head, body = te.split("op ", 1)
        head += "".join(f"{m[0]}" for m in re.finditer(r"^\s*let [^;]*;", body, re.M))
        self.ranges, self.lets = {}, []
        for kind, name, value in _SIZE.findall(head):
            if kind == "let":
                self.lets.append((name, value))
            else:
                low, _, high = value.partition("..")
                high, _, multiple = (high or low).partition("%")
                self.ranges[name] = int(low), int(high), int(multiple or 1)
        signature = body[body.index("("):body.index("{")]
        self.arguments = {name: parts(shape) for name, _, shape, _ in _ARGUMENT.findall(signature)}
        self.strided = {name for name, _, _, strides in _ARGUMENT.findall(signature) if strides}

    def value(self, text, sizes):
        assert _WORDS.fullmatch(text), text
        known = {**sizes, "min": torch.sym_min, "max": torch.sym_max, "__builtins__": {}}
        return eval(text.replace("/", "//"), known)

    def sizes(self, op, shapes):
        """The value of every size, for inputs of these shapes; what does not fit is refused."""
        sizes = {n: low for n, (low, high, _) in self.ranges.items() if low == high}
        for name, shape in shapes.items():
            wanted = self.arguments[name]
            torch._check(len(shape) == len(wanted), lambda: f"argument '{name}' of {op} has rank "
                         f"{len(shape)}, not {len(wanted)}")
            for text, extent in zip(wanted, shape):
                if text in self.ranges:
                    sizes.setdefault(text, extent)
        for name, (low, high, multiple) in self.ranges.items():
            v = sizes.setdefault(name, high)
            for holds in (v >= low, v <= high, v % multiple == 0):
                torch._check(holds, lambda: f"{name} = {v} of {op} is not in {low}..{high}"
                             + (f" % {multiple}" if multiple > 1 else ""))
        for name, text in self.lets:
            sizes[name] = self.value(text, sizes)
        for name, shape in shapes.items():
            for text, extent in zip(self.arguments[name], shape):
                torch._check(extent == self.value(text, sizes), lambda: f"argument '{name}' of "
                             f"{op} has an extent of {extent}, not {text}")
        return sizes

    def of(self, name, sizes):
        return [self.value(text, sizes) for text in self.arguments[name]]


def signature(te):
    """What a text takes and gives, and its shapes."""
    return Op(_default, te), Shapes(te)
