"""torch.compile(backend="roller"): what becomes of a graph after aot_autograd."""
import contextlib

import torch
from torch._dynamo.backends.common import aot_autograd

from .attention import PLAIN, unify
from .decompositions import table
from .lower import is_number
from .partition import Partition
from .program import Options
from .sizes import Pin, Real, Size, Sizes, Symbols


def fit(tensor, strides):
    """The tensor with these strides (None: row-major); a copy where it has others."""
    if strides is None:
        return tensor.contiguous()
    if tensor.stride() == strides:
        return tensor
    made = torch.empty_strided(tensor.shape, strides, dtype=tensor.dtype, device=tensor.device)
    return made.copy_(tensor)


class Fused:
    """A region as a function of the graph's sizes and of tensors."""

    def __init__(self, region, sizes, host):
        self.program, self.host = region.program, host
        self.inputs = sizes.value_of_each([n.meta["val"].dense() for n in region.inputs])
        likes = [n.meta["val"] for n in region.outputs]
        self.outputs = [(v.dtype, v.device) for v in likes]
        self.shapes = sizes.value_of_each([v.shape for v in likes])
        self.strides = sizes.value_of_each([v.dense() for v in likes])
        self.told = sizes.function(f"({''.join(n + ',' for n in region.told)})")
        self.__name__ = "roller_" + region.operators[-1]

    def __call__(self, sizes, *tensors):
        given = [fit(t, s) for t, s in zip(tensors, self.inputs(*sizes))]
        made = [torch.empty(shape, dtype=dtype, device=device) if strides is None else
                torch.empty_strided(shape, strides, dtype=dtype, device=device)
                for shape, strides, (dtype, device) in zip(
                    self.shapes(*sizes), self.strides(*sizes), self.outputs)]
        if any(t.numel() for t in made):
            told = [torch.empty(1, dtype=torch.bool, device=made[0].device).expand(n)
                    for n in self.told(*sizes)]
            self.program.run([*given, *told], made, self.host)
        return made


class Emitter:
    """The graph that runs the programs, and what falls back between them.  Its first input are the
    values of the graph's symbols."""

    def __init__(self, gm, partition, host):
        self.partition, self.host, self.made = partition, host, {}
        self.graph, graph = torch.fx.Graph(), partition.graph
        self.sizes = self.graph.placeholder("sizes")
        for node in graph.nodes:
            if node.op in ("placeholder", "get_attr"):
                self.made[node] = self.graph.node_copy(node)
        for _, unit in sorted(self.units(graph), key=lambda u: u[0]):
            self.emit(unit)
        last = next(iter(reversed(graph.nodes)))
        self.graph.output(torch.fx.map_arg(last.args[0], self.get))
        self.graph.eliminate_dead_code()
        self.run = torch.fx.Interpreter(torch.fx.GraphModule(gm, self.graph)).run

    def units(self, graph):
        place, kind = self.partition.place, self.partition.kind
        for region in self.partition.regions:
            yield place[region.nodes[0]], region
        for node in graph.nodes:
            if kind.get(node) == "other":
                yield place[node], node

    def get(self, node):
        """What stands for a node; a view, or a size, is made where it is asked for."""
        if is_number(node):
            return self.number(node.meta["val"])
        if node not in self.made:
            assert self.partition.kind.get(node) in ("view", None), node
            self.made[node] = self.graph.node_copy(node, self.get)
        return self.made[node]

    def number(self, value):
        if not isinstance(value, (Size, Real)):
            return value
        if value not in self.made:
            of = self.partition.sizes.value_of(value)
            self.made[value] = self.graph.call_function(lambda sizes: of(*sizes), (self.sizes,))
        return self.made[value]

    def emit(self, unit):
        if isinstance(unit, torch.fx.Node):
            self.made[unit] = self.graph.node_copy(unit, self.get)
            self.made[unit].target = PLAIN.get(unit.target, unit.target)
            return
        fused = Fused(unit, self.partition.sizes, self.host)
        call = self.graph.call_function(fused, (self.sizes, *map(self.get, unit.inputs)))
        for k, node in enumerate(unit.outputs):
            self.made[node] = self.graph.call_function(lambda made, k: made[k], (call, k))


class Compiled:
    """A graph of PyTorch's operators, as a function of a list of its inputs: what is compiled for
    some sizes serves all for which its guards hold."""

    def __init__(self, gm, options, seen):
        self._boxed_call = True                 # what wraps it copies its own attributes alone
        self.gm, self.options, self.seen, self.known = gm, options, seen, []
        self.symbols = Symbols(gm.graph)
        self.get(tuple(self.symbols.hints))

    def __call__(self, inputs):
        given = list(inputs)
        inputs.clear()
        values = self.symbols.read(given)
        return self.get(values)(values, *given)

    def get(self, values):
        for holds, run in self.known:
            if holds(*values):
                return run
        partition = self.best(values)
        if self.seen is not None:
            self.seen(partition)
        made = Emitter(self.gm, partition, self.options.host).run
        self.known.append((partition.sizes.holds(), made))
        return made

    def best(self, values):
        """With as many run-time sizes as there can be; with none, where then more has a program."""
        made = self.partition(values, frozenset())
        if made.fallbacks and made.sizes.ranges:
            static = self.partition(values, frozenset(self.symbols.places))
            return min(made, static, key=lambda p: len(p.fallbacks))
        return made

    def partition(self, values, pinned):
        while True:
            try:
                return Partition(self.gm, self.options, Sizes(self.symbols, values, pinned))
            except Pin as pin:
                pinned |= pin.symbols


def compiler(options, seen=None):
    def compile_graph(gm, example_inputs):
        return Compiled(gm, options, seen)
    return compile_graph


@contextlib.contextmanager
def as_on_a_gpu():
    """Takes an LSTM on the CPU apart as on a GPU: PyTorch would choose a layer of oneDNN, which it
    then cannot differentiate."""
    was = torch._C._get_mkldnn_enabled()
    torch._C._set_mkldnn_enabled(False)
    try:
        yield
    finally:
        torch._C._set_mkldnn_enabled(was)


def backend(gm, example_inputs, *, options=None, seen=None, **more):
    """The function that torch.compile calls; options: {"profile": "h100", "host": "evaluate"}."""
    options = options if isinstance(options, Options) else Options(**{**(options or {}), **more})
    compile_graph = compiler(options, seen)
    with as_on_a_gpu():
        return aot_autograd(fw_compiler=compile_graph, bw_compiler=compile_graph,
                            inference_compiler=compile_graph, decompositions=table())(
                                unify(gm), example_inputs)
