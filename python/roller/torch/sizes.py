"""Sizes that are known when a graph runs.

A lowering computes with sizes.  Those that vary are of class Size: their text is that of .te, and a
comparison holds for all of the ranges, or it is decided by the sizes that are met, and becomes a
guard.  What needs a number pins the symbol: it is then static, by a guard too.
"""
import dataclasses
import functools
import re

import sympy
import torch
from torch.utils._sympy.functions import (FloatTrueDiv, FloorDiv, IntTrueDiv, Max, Min, Mod,
                                          PythonMod, ToFloat)
from torch.utils._sympy.value_ranges import ValueRanges, bound_sympy

from .values import Unsupported

LARGEST = 2 ** 31 - 1       # of a run-time size in .te
ROOM = 4                    # without an upper end, as many times the size that is met: few programs
                            # serve all lengths, and none is planned for what never comes


class Pin(Exception):
    """These symbols are wanted as numbers."""

    def __init__(self, symbols):
        super().__init__("sizes that are numbers here")
        self.symbols = frozenset(symbols)


def spelled(e, quotient="/"):
    """A size as text of .te; with "//" as Python's."""
    def of(x):
        return spelled(x, quotient)
    if e.is_Symbol:
        return e.name
    if e.is_Integer:
        return str(e) if e >= 0 else f"(-{-e})"
    if e.is_Add:
        return f"({'+'.join(map(of, e.args))})"
    if e.is_Mul and all(x.is_integer for x in e.args):
        return f"({'*'.join(map(of, e.args))})"
    if e.is_Pow and e.exp.is_Integer and 0 < e.exp < 8:
        return f"({'*'.join([of(e.base)] * int(e.exp))})"
    if isinstance(e, FloorDiv):
        return f"({of(e.args[0])}{quotient}{of(e.args[1])})"
    if isinstance(e, (Mod, PythonMod, sympy.Mod)):
        return f"({of(e.args[0])}%{of(e.args[1])})"
    for kinds, name in (((Max, sympy.Max), "max"), ((Min, sympy.Min), "min")):
        if isinstance(e, kinds):
            return functools.reduce(lambda x, y: f"{name}({x},{y})", map(of, e.args))
    raise Unsupported(f"a size of {e}, which has no text in .te")


def spelled_real(e, kind, quotient="/"):
    """A real number made of sizes; kind: of its type, "f32" say, or "float" in Python."""
    def of(x):
        return spelled_real(x, kind, quotient)
    if e.is_integer:
        return f"{kind}({spelled(e, quotient)})"
    if isinstance(e, ToFloat):
        return of(e.args[0])
    if isinstance(e, (IntTrueDiv, FloatTrueDiv)):
        return f"({of(e.args[0])} / {of(e.args[1])})"
    if e.is_Float or e.is_Rational:
        return f"{kind}({float(e)!r})"
    if e.is_Add or e.is_Mul:
        return f"({(' + ' if e.is_Add else ' * ').join(map(of, e.args))})"
    if e.is_Pow and e.exp == -1:
        return f"(1 / {of(e.base)})"
    raise Unsupported(f"a number of {e}, which has no text in .te")


def _operate(make):
    def forward(a, b):
        return NotImplemented if not _is_size(b) else a.sizes.number(make(a.expr, _expr(b)))

    def backward(a, b):
        return NotImplemented if not _is_size(b) else a.sizes.number(make(_expr(b), a.expr))
    return forward, backward


def _is_size(x):
    return isinstance(x, (int, Size)) and not isinstance(x, bool)


def _expr(x):
    return x.expr if isinstance(x, Size) else sympy.Integer(x)


class Size:
    """A whole number that depends on run-time sizes."""

    __slots__ = ("expr", "sizes")

    def __init__(self, expr, sizes):
        self.expr, self.sizes = expr, sizes

    __add__, __radd__ = _operate(lambda a, b: a + b)
    __sub__, __rsub__ = _operate(lambda a, b: a - b)
    __mul__, __rmul__ = _operate(lambda a, b: a * b)
    __floordiv__, __rfloordiv__ = _operate(FloorDiv)
    __mod__, __rmod__ = _operate(PythonMod)

    def __neg__(self):
        return 0 - self

    def __abs__(self):
        return self if self >= 0 else -self

    def __eq__(self, other):
        return _is_size(other) and self.sizes.is_zero(self.expr - _expr(other))

    def __lt__(self, other):
        return self.sizes.is_negative(self.expr - _expr(other))

    def __gt__(self, other):
        return self.sizes.is_negative(_expr(other) - self.expr)

    def __le__(self, other):
        return not self > other

    def __ge__(self, other):
        return not self < other

    def __bool__(self):
        return self != 0

    def __hash__(self):
        return hash(self.expr)

    def __index__(self):
        raise Pin(self.sizes.theirs[s] for s in self.expr.free_symbols)

    __int__ = __float__ = __index__

    def same(self, other):
        """Equal whatever the sizes are?"""
        return sympy.expand(self.expr - _expr(other)) == 0

    def met(self):
        return int(self.expr.xreplace(self.sizes.met))

    def __str__(self):
        return self.sizes.name(self.expr)

    def __format__(self, spec):
        return f"+{self}" if spec == "+d" else str(self)

    __repr__ = __str__


@dataclasses.dataclass(frozen=True)
class Real:
    """A real number that depends on run-time sizes."""
    expr: sympy.Expr
    sizes: "Sizes" = dataclasses.field(compare=False, repr=False)

    def text(self, kind):
        return spelled_real(self.expr, kind)

    def __str__(self):
        return self.text("f32")


@dataclasses.dataclass
class Sized:
    """What is known of a tensor."""
    shape: tuple
    dtype: torch.dtype
    strides: tuple
    device: torch.device

    def is_contiguous(self):
        return 0 in self.shape or self.strides_are(range(len(self.shape))[::-1])

    def strides_are(self, order):
        """Do its elements fill its memory, these dimensions from the closest to the farthest?"""
        below = 1
        for d in order:
            if self.strides[d] != below and self.shape[d] != 1:
                return False
            below *= self.shape[d]
        return True

    def dense(self):
        """Its strides where it fills its memory, but not row by row; else None."""
        if self.is_contiguous():
            return None
        near = sorted(range(len(self.shape)), key=lambda d: (self.strides[d], self.shape[d]))
        return self.strides if self.strides_are(near) else None


class Unknown:
    """A value that no lowering takes."""


@dataclasses.dataclass
class Place:
    """Where a symbol is read: value = (extent - offset) / factor of a dimension of an input, or
    of the input itself."""
    input: int
    dim: int | None
    factor: int = 1
    offset: int = 0

    def read(self, inputs):
        x = inputs[self.input]
        return (int(x if self.dim is None else x.shape[self.dim]) - self.offset) // self.factor


class Symbols:
    """The symbols of a graph's inputs: where they are read, their ranges, and what is met now."""

    def __init__(self, graph):
        self.places, self.ranges, self.hints = {}, {}, []
        inputs = [n.meta.get("val") for n in graph.nodes if n.op == "placeholder"]
        for plain in (True, False):
            for k, v in enumerate(inputs):
                for d, x in self._symbolic(v):
                    self._note(k, d, x, plain)

    @staticmethod
    def _symbolic(v):
        if isinstance(v, torch.Tensor):
            return [(d, x) for d, x in enumerate(v.shape) if isinstance(x, torch.SymInt)]
        return [(None, v)] if isinstance(v, torch.SymInt) else []

    def _note(self, k, d, x, plain):
        e = x.node.expr
        for s in e.free_symbols - set(self.places):
            factor, offset = e.coeff(s), e.subs(s, 0)
            linear = factor.is_Integer and offset.is_Integer and e == factor * s + offset
            if e == s if plain else linear:
                self.places[s] = Place(k, d, int(factor), int(offset))
                self.ranges[s] = x.node.shape_env.var_to_range[s]
                self.hints.append((x.node.hint - int(offset)) // int(factor))

    def read(self, inputs):
        return tuple(p.read(inputs) for p in self.places.values())

    def range(self, symbol, value):
        r = self.ranges[symbol]
        known = isinstance(r.upper, sympy.Integer) and r.upper <= LARGEST
        upper = int(r.upper) if known else 1 << max(ROOM * value - 1, 1).bit_length()
        low = int(r.lower) if isinstance(r.lower, sympy.Integer) else 0
        return max(min(low, value), 0), min(max(upper, value), LARGEST)


class Sizes:
    """Values of the symbols for one lowering: those in `pinned` are numbers, others have ranges."""

    def __init__(self, symbols, values, pinned=frozenset()):
        self.met, self.by, self.ranges, self.guards = {}, {}, {}, []
        self.names, self.decided = {}, {}
        self.order = [sympy.Symbol(f"n{k}", integer=True, nonnegative=True)
                      for k in range(len(values))]
        for own, s, v in zip(self.order, symbols.places, values):
            self.met[own] = sympy.Integer(v)
            if s in pinned:
                self.by[s] = sympy.Integer(v)
                self.guards.append(sympy.Eq(own, v, evaluate=False))
                continue
            self.by[s], (low, high) = own, symbols.range(s, v)
            self.ranges[own] = ValueRanges(low, high)
            self.guards += [sympy.Ge(own, low, evaluate=False), sympy.Le(own, high, evaluate=False)]
        self.theirs = {own: s for s, own in self.by.items()}

    # ---- what is true of them ----
    def number(self, e):
        return int(e) if e.is_Integer else Size(e, self)

    def _bound(self, e):
        """By its terms and by its factors: an interval forgets what they have in common."""
        terms, factors = (bound_sympy(x, self.ranges) for x in (e, sympy.factor(e)))
        return max(terms.lower, factors.lower), min(terms.upper, factors.upper)

    def is_zero(self, e):
        return e == 0 if e.is_Integer else self._once(self._is_zero, e)

    def is_negative(self, e):
        return bool(e < 0) if e.is_Integer else self._once(self._is_negative, e)

    def _once(self, decide, e):
        if (decide, e) not in self.decided:
            self.decided[decide, e] = decide(sympy.expand(e))
        return self.decided[decide, e]

    def _is_zero(self, e):
        low, high = self._bound(e)
        if e == 0 or low > 0 or high < 0:
            return e == 0
        if e.xreplace(self.met) == 0:
            raise Pin(self.theirs[s] for s in e.free_symbols)
        self.guards.append(sympy.Ne(e, 0, evaluate=False))
        return False

    def _is_negative(self, e):
        low, high = self._bound(e)
        if high < 0 or low >= 0:
            return bool(high < 0)
        holds = bool(e.xreplace(self.met) < 0)
        self.guards.append((sympy.Lt if holds else sympy.Ge)(e, 0, evaluate=False))
        return holds

    # ---- values of a graph ----
    def of(self, v):
        """A node's value with these sizes."""
        if isinstance(v, (list, tuple)):
            return type(v)(map(self.of, v)) if type(v) in (list, tuple) else tuple(map(self.of, v))
        if isinstance(v, torch.SymInt):
            return self.whole(v)
        if isinstance(v, torch.SymFloat):
            e = sympy.sympify(v.node.expr).xreplace(self.by)
            known = e.free_symbols <= set(self.order)
            return Unknown() if not known else Real(e, self) if e.free_symbols else float(e)
        if not isinstance(v, torch.Tensor):
            return v
        if v.layout != torch.strided:
            return Unknown()
        shape, strides = (tuple(map(self.whole, x)) for x in (v.shape, v.stride()))
        if any(isinstance(x, Unknown) for x in (*shape, *strides)):
            return Unknown()
        return Sized(shape, v.dtype, strides, v.device)

    def whole(self, x):
        if not isinstance(x, torch.SymInt):
            return x
        e = sympy.sympify(x.node.expr).xreplace(self.by)
        return self.number(e) if e.free_symbols <= set(self.order) else Unknown()

    def graph(self, gm):
        """A copy whose nodes have these values."""
        graph = torch.fx.Graph()
        graph.output(graph.graph_copy(gm.graph, {}))
        for node in graph.nodes:
            node.meta["val"] = self.of(node.meta.get("val"))
        return graph

    # ---- in a program, and in Python ----
    def name(self, e):
        """A size in a text; what has quotients has a name."""
        if e not in self.names:
            self.names[e] = f"m{len(self.names)}" if e.atoms(FloorDiv, PythonMod) else spelled(e)
        return self.names[e]

    def declared(self, text):
        """The sizes that a text names: names of the run-time ones, and all as lines of .te."""
        words = set(re.findall(r"\b[mn]\d+\b", text))
        lets = [(name, e) for e, name in self.names.items() if name in words and not e.is_Symbol]
        words |= {s.name for _, e in lets for s in e.free_symbols}
        used = [s for s in self.ranges if s.name in words]
        return [s.name for s in used], "".join(
            [f"param {s.name} = {self.ranges[s].lower}..{self.ranges[s].upper};\n" for s in used]
            + [f"let {name} = {spelled(e)};\n" for name, e in lets])

    def function(self, made):
        """made, an expression's text or a tuple of them, as a function of the symbols' values."""
        names = ",".join(s.name for s in self.order)
        return eval(f"lambda {names}: {made}", {"min": min, "max": max, "float": float,
                                                 "__builtins__": {}})

    def value_of(self, x):
        """The same for a size, or a real number."""
        return self.function(spelled_real(x.expr, "float", "//") if isinstance(x, Real) else
                             spelled(_expr(x), "//"))

    def value_of_each(self, lists):
        """The same for lists of sizes; None stays None."""
        def one(x):
            return "None" if x is None else f"({''.join(spelled(_expr(y), '//') + ',' for y in x)})"
        return self.function(f"({''.join(one(x) + ',' for x in lists)})")

    def holds(self):
        """Whether the guards hold, as such a function."""
        return self.function(" and ".join(
            f"{spelled(g.lhs, '//')} {g.rel_op} {spelled(g.rhs, '//')}" for g in dict.fromkeys(
                self.guards)) or "True")

    def values(self):
        """What is met, by the names of .te."""
        return {s.name: int(self.met[s]) for s in self.ranges}
