"""Sizes of a model: integers where they are known, polynomials of run-time sizes where not.

A polynomial is {product of names: factor}.  A quotient that is not exact is a name of its own,
whose text is the expression.
"""
import math
from collections import Counter


class Extent:
    def __init__(self, terms):
        self.terms = {names: k for names, k in terms.items() if k}

    @staticmethod
    def symbol(text):
        return Extent({(text,): 1})

    def __str__(self):
        def term(names, k):
            factors = [str(k)] * (k != 1 or not names) + list(names)
            return "*".join(factors)
        return " + ".join(term(*t) for t in sorted(self.terms.items(), reverse=True)) or "0"

    __repr__ = __str__

    def __hash__(self):
        return hash(frozenset(self.terms.items()))

    def __eq__(self, other):
        return self.terms == _terms(other)

    def __add__(self, other):
        total = Counter(self.terms)
        for names, k in _terms(other).items():
            total[names] += k
        return known(total)

    def __mul__(self, other):
        total = Counter()
        for a, j in self.terms.items():
            for b, k in _terms(other).items():
                total[tuple(sorted(a + b))] += j * k
        return known(total)

    def __neg__(self):
        return self * -1

    def __sub__(self, other):
        return self + -other

    def __rsub__(self, other):
        return -self + other

    __radd__, __rmul__ = __add__, __mul__

    def __floordiv__(self, other):
        exact = quotient(self, other)
        return exact if exact is not None else Extent.symbol(f"(({self}) / ({other}))")

    def __rfloordiv__(self, other):
        exact = quotient(other, self)
        return exact if exact is not None else Extent.symbol(f"({other} / ({self}))")

    __truediv__, __rtruediv__ = __floordiv__, __rfloordiv__

    def __mod__(self, other):
        return self - (self // other) * other

    def names(self):
        return {name for product in self.terms for name in product}


def _terms(x):
    return x.terms if isinstance(x, Extent) else {(): int(x)} if x else {}


def known(terms):
    """An integer, if that is all."""
    x = Extent(terms)
    return x.terms.get((), 0) if not x.names() else x


def is_known(x):
    return not isinstance(x, Extent)


def product(extents):
    return math.prod(extents, start=1)


def quotient(x, y):
    """x / y, if that is exact whatever the names are: y is a product, or x itself; else None."""
    if x == y:
        return 1
    divisor = _terms(y)
    if len(divisor) != 1:
        return None
    (names, k), = divisor.items()
    result = {}
    for product_of, j in _terms(x).items():
        left = Counter(product_of)
        left.subtract(names)
        if j % k or min(left.values(), default=0) < 0:
            return None
        result[tuple(sorted(left.elements()))] = j // k
    return known(result)
