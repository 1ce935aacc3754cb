"""roller.torch.explain: what becomes of a model, and what it is predicted to take on any GPU."""
import collections
import dataclasses
import html

import torch
import torch._dynamo

from .. import _default
from .backend import backend
from .exported import partition_of, taken_apart
from .program import Options

HEAD = ("<style>table.roller td, table.roller th {padding: 2px 10px; text-align: right}"
        "table.roller td:first-child, table.roller th:first-child {text-align: left}</style>")


@dataclasses.dataclass
class ProgramReport:
    """A fused program: its operators, its text, its time on each profile in microseconds, and what
    planning it took, in milliseconds of the processor."""
    graph: str
    operators: list
    te: str
    us: dict
    limiter: dict
    kernels: dict
    plan_ms: float
    count: int = 1


@dataclasses.dataclass
class FallbackReport:
    graph: str
    operator: str
    reason: str
    count: int


def time(us):
    return f"{us:.1f} us" if us < 1e3 else f"{us / 1e3:.3f} ms"


class Explanation:
    """programs, fallbacks, and their text; total(profile) is the predicted time of all programs.
    What PyTorch runs itself is not in it."""

    def __init__(self, profiles, programs, fallbacks, breaks):
        self.profiles, self.programs, self.fallbacks = profiles, programs, fallbacks
        self.graph_breaks = breaks

    @property
    def plan_ms(self):
        """What planning all programs took: equal ones are planned once, of either graph."""
        return sum({p.te: p.plan_ms for p in self.programs}.values())

    def total(self, profile):
        return sum(p.us[profile] * p.count for p in self.programs)

    def rows(self):
        yield ("program", "operators", "times", *self.profiles, "limited by")
        for k, p in enumerate(self.programs):
            first = self.profiles[0]
            yield (f"{p.graph} {k}", str(len(p.operators)), str(p.count),
                   *(time(p.us[name]) for name in self.profiles),
                   f"{p.limiter[first]}, {p.kernels[first]} kernels")
        yield ("all programs", str(sum(len(p.operators) * p.count for p in self.programs)), "",
               *(time(self.total(name)) for name in self.profiles), "")

    def __str__(self):
        rows = list(self.rows())
        wide = [max(len(r[k]) for r in rows) for k in range(len(rows[0]))]
        lines = ["  ".join(c.ljust(w) if k == 0 else c.rjust(w)
                           for k, (c, w) in enumerate(zip(r, wide))) for r in rows]
        lines += [f"predicted; what PyTorch runs is not in it. Graph breaks: {self.graph_breaks}"]
        lines += [f"planning: {self.plan_ms:.0f} ms of the processor for "
                  f"{len({p.te for p in self.programs})} distinct programs"]
        if self.fallbacks:
            lines += ["", "in PyTorch:"]
            lines += [f"  {f.graph} {f.operator} ({f.count}): {f.reason}" for f in self.fallbacks]
        return "\n".join(lines)

    def _repr_html_(self):
        head, *body = self.rows()
        cells = "".join(f"<th>{html.escape(c)}</th>" for c in head)
        text = "".join("<tr>" + "".join(f"<td>{html.escape(c)}</td>" for c in r) + "</tr>"
                       for r in body)
        said = [f"{f.graph} {f.operator} ({f.count}): {f.reason}" for f in self.fallbacks]
        fallen = "".join(f"<li>{html.escape(line)}</li>" for line in said)
        return (f'{HEAD}<table class="roller"><tr>{cells}</tr>{text}</table>'
                f"<p>Predicted; what PyTorch runs is not in it. Graph breaks: {self.graph_breaks}"
                f"</p>" + (f"<p>In PyTorch:</p><ul>{fallen}</ul>" if fallen else ""))

    html = property(_repr_html_, doc="The same as a page's part.")


def report(graph, partition, profiles):
    """The programs of one graph, at the sizes that are met; equal ones are planned once."""
    known, met = {}, partition.sizes.values()
    for region in partition.regions:
        te = region.program.te
        if te in known:
            known[te].count += 1
            continue
        plans = {name: region.program.plan(name) for name in profiles}
        sizes = {n: v for n, v in met.items() if f"param {n} =" in te}
        said = {n: p.predicted_at(**sizes) for n, p in plans.items()}
        known[te] = ProgramReport(
            graph, region.operators, te, {n: e.us for n, e in said.items()},
            {n: e.limiter for n, e in said.items()},
            {n: len(p.groups) for n, p in plans.items()}, region.program.plan_ms)
    return list(known.values())


def fallen(graph, partition):
    counts = collections.Counter((f.operator, f.reason) for f in partition.fallbacks)
    return [FallbackReport(graph, *key, n) for key, n in counts.items()]


def explain(model, inputs=(), *, profiles=None, training=None, **options):
    """What torch.compile(model, backend="roller") makes of a call with these inputs, or what becomes
    of a program of torch.export, which has its inputs.  One tensor stands for a tuple of it.

    profiles  names of GPUs, each of which gets a predicted time (the default one)
    training  with the backward pass of the sum of its results (where anything wants a gradient)
    Other options are those of the backend.
    """
    inputs = (inputs,) if isinstance(inputs, torch.Tensor) else inputs
    profiles = list(profiles or _default.profiles()[:1])
    options = Options(profile=profiles[0], host="evaluate", **options)
    if isinstance(model, torch.export.ExportedProgram):
        graphs, breaks = [("forward", partition_of(taken_apart(model), options)[0])], 0
    else:
        graphs, breaks = traced(model, inputs, options, training)
    return Explanation(profiles, [p for name, s in graphs for p in report(name, s, profiles)],
                       [f for name, s in graphs for f in fallen(name, s)], breaks)


def traced(model, inputs, options, training):
    """The partitions of a call, [(name of the graph, partition)], and how often the graph broke."""
    seen = []
    torch._dynamo.reset()
    torch._dynamo.utils.counters.clear()

    def compile_graph(gm, given):
        return backend(gm, given, options=options, seen=seen.append)
    with torch.set_grad_enabled(training is not False):
        made = torch.compile(model, backend=compile_graph)(*inputs)
        forward = len(seen)
        real = [t for t in torch.utils._pytree.tree_leaves(made)
                if isinstance(t, torch.Tensor) and t.requires_grad]
        if real:
            torch.autograd.grad([t.sum() for t in real], leaves(model, inputs), allow_unused=True)
    breaks = sum(torch._dynamo.utils.counters["graph_break"].values())
    torch._dynamo.reset()
    return [("forward" if k < forward else "backward", s) for k, s in enumerate(seen)], breaks


def leaves(model, inputs):
    """What wants a gradient."""
    own = list(model.parameters()) if isinstance(model, torch.nn.Module) else []
    given = [t for t in torch.utils._pytree.tree_leaves(inputs) if isinstance(t, torch.Tensor)]
    return [t for t in (*own, *given) if t.requires_grad]
