"""Reads at places that data tell."""
import torch

from .values import Unsupported, axis, broadcast, literal_in, lowers


def wrapped(text, extent):
    """An index that may count from the end."""
    return f"(({text}) < 0 ? ({text}) + {extent} : ({text}))"


def is_empty(v):
    """Has it no element?  Then PyTorch lets its rank be another than a table's."""
    return any(isinstance(n, int) and n == 0 for n in v.shape)


@lowers("gather")
def lower_gather(g, out, _, a, dim, index, **__):
    a, d, index = g.whole(a), axis(dim, a), g.whole(index)
    if not a.shape:
        return g.map(out, "{0}", a)
    zero = literal_in(0, out.dtype)
    if is_empty(out):
        return g.store(out, lambda s: zero)

    def text(s):
        at = index.at(s if index.shape else [])
        return a.at([at if k == d else i for k, i in enumerate(s)]) + f" else {zero}"
    return g.store(out, text)


@lowers("index_select")
def lower_index_select(g, out, _, a, dim, index):
    a, d = g.whole(a), axis(dim, a)
    if not a.shape:
        return g.map(out, "{0}", a)
    at = (lambda i: index.at([i] if index.shape else []))
    return g.store(out, lambda s: a.at([at(i) if k == d else i for k, i in enumerate(s)])
                   + f" else {literal_in(0, out.dtype)}")


@lowers("embedding")
def lower_embedding(g, out, _, table, index, *__, **___):
    table = g.whole(table)
    return g.store(out, lambda s: table.at([index.at(s[:-1]), s[-1]])
                   + f" else {literal_in(0, out.dtype)}")


class Places:
    """x[i, :, j]: which axes are indexed, by tensors of one shape, and where their axes go."""

    def __init__(self, a, indices):
        indices = [*indices, *[None] * (len(a.shape) - len(indices))]
        self.by = {d: i for d, i in enumerate(indices) if i is not None}
        if any(i.dtype in (torch.bool, torch.uint8) for i in self.by.values()):
            raise Unsupported("indices by truths, whose count depends on data")
        self.extents = a.shape
        self.shape = broadcast([i.shape for i in self.by.values()])
        axes = list(self.by)
        together = axes == list(range(axes[0], axes[0] + len(axes)))
        self.first = axes[0] if together else 0
        self.kept = [d for d in range(len(a.shape)) if d not in self.by]

    def split(self, s):
        """The subscripts of a result: those of the indices, and of each axis that is kept."""
        n = len(self.shape)
        rest = [*s[:self.first], *s[self.first + n:]]
        return s[self.first:self.first + n], dict(zip(self.kept, rest))

    def join(self, places, rest):
        """The other way round: the subscripts of a result."""
        rest = [rest[d] for d in self.kept]
        return [*rest[:self.first], *places, *rest[self.first:]]

    def read(self, g, d, places):
        return wrapped(g.read(self.by[d], self.shape, places), self.extents[d])


@lowers("index", "_unsafe_index")
def lower_index(g, out, _, a, indices):
    where, a = Places(a, indices), g.whole(a)

    def text(s):
        places, rest = where.split(s)
        at = [where.read(g, d, places) if d in where.by else rest[d] for d in range(len(a.shape))]
        return a.at(at) + f" else {literal_in(0, out.dtype)}"
    return g.store(out, text)
