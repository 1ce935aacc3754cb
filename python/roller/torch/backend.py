"""torch.compile(backend="roller"): what becomes of a graph after aot_autograd."""
import torch
from functorch.compile import make_boxed_func
from torch._dynamo.backends.common import aot_autograd
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.passes.fake_tensor_prop import FakeTensorProp

from .decompositions import table
from .lower import is_number
from .partition import Partition
from .program import Options, dense


def fit(tensor, strides):
    """The tensor with these strides (None: row-major); a copy where it has others."""
    if strides is None:
        return tensor.contiguous()
    if tensor.stride() == strides:
        return tensor
    made = torch.empty_strided(tensor.shape, strides, dtype=tensor.dtype, device=tensor.device)
    return made.copy_(tensor)


class Fused:
    """A region as a function of tensors."""

    def __init__(self, region, host):
        self.program, self.host = region.program, host
        self.inputs = [dense(n.meta["val"]) for n in region.inputs]
        self.outputs = [(tuple(v.shape), dense(v), v.dtype, v.device)
                        for v in (n.meta["val"] for n in region.outputs)]
        self.__name__ = "roller_" + region.operators[-1]

    def __call__(self, *tensors):
        given = [fit(t, s) for t, s in zip(tensors, self.inputs)]
        made = [torch.empty(shape, dtype=dtype, device=device) if strides is None else
                torch.empty_strided(shape, strides, dtype=dtype, device=device)
                for shape, strides, dtype, device in self.outputs]
        if any(t.numel() for t in made):
            self.program.run(given, made, self.host)
        return made


class Emitter:
    """The graph that runs the programs, and what falls back between them."""

    def __init__(self, gm, partition, host):
        self.partition, self.host, self.made = partition, host, {}
        self.graph, self.root = torch.fx.Graph(), gm
        for node in gm.graph.nodes:
            if node.op in ("placeholder", "get_attr"):
                self.made[node] = self.graph.node_copy(node)
        for _, unit in sorted(self.units(gm), key=lambda u: u[0]):
            self.emit(unit)
        last = next(iter(reversed(gm.graph.nodes)))
        self.graph.output(torch.fx.map_arg(last.args[0], self.get))

    def units(self, gm):
        place, kind = self.partition.place, self.partition.kind
        for region in self.partition.regions:
            yield place[region.nodes[0]], region
        for node in gm.graph.nodes:
            if kind.get(node) == "other":
                yield place[node], node

    def get(self, node):
        """What stands for a node; a view is made where it is asked for."""
        if is_number(node):
            return node.meta["val"]
        if node not in self.made:
            assert self.partition.kind[node] == "view", node
            self.made[node] = self.graph.node_copy(node, self.get)
        return self.made[node]

    def emit(self, unit):
        if isinstance(unit, torch.fx.Node):
            self.made[unit] = self.graph.node_copy(unit, self.get)
            return
        call = self.graph.call_function(Fused(unit, self.host), tuple(map(self.get, unit.inputs)))
        for k, node in enumerate(unit.outputs):
            self.made[node] = self.graph.call_function(lambda made, k: made[k], (call, k))


class Sizes:
    """A graph whose sizes are known at run time: a program for each set of them."""

    def __init__(self, gm, options, seen):
        self.gm, self.options, self.seen, self.known = gm, options, seen, {}

    def __call__(self, inputs):
        given = list(inputs)
        inputs.clear()
        key = tuple((tuple(x.shape), x.stride()) if isinstance(x, torch.Tensor) else x
                    for x in given)
        if key not in self.known:
            self.known[key] = fixed(self.fix(given), self.options, self.seen)
        return self.known[key](given)

    def fix(self, given):
        """The graph with the sizes of these inputs."""
        graph = torch.fx.Graph()
        graph.output(graph.graph_copy(self.gm.graph, {}))
        gm = torch.fx.GraphModule(self.gm, graph)
        with FakeTensorMode(allow_non_fake_inputs=True) as mode:
            fakes = [mode.from_tensor(x) if isinstance(x, torch.Tensor) else x for x in given]
            FakeTensorProp(gm, mode).propagate_dont_convert_inputs(*fakes)
        return gm


def compiled(gm, options, seen=None):
    """A graph of PyTorch's operators, as a function of a list of its inputs."""
    values = [n.meta.get("val") for n in gm.graph.nodes if n.op == "placeholder"]
    symbols = any(isinstance(n, torch.SymInt) for v in values
                  for n in (v.shape if isinstance(v, torch.Tensor) else [v]))
    if not symbols:
        return fixed(gm, options, seen)
    made = Sizes(gm, options, seen)
    made._boxed_call = True
    return made


def fixed(gm, options, seen):
    """The same where all sizes are known."""
    partition = Partition(gm.graph, options)
    if seen is not None:
        seen(partition)
    graph = Emitter(gm, partition, options.host).graph
    graph.eliminate_dead_code()
    return make_boxed_func(torch.fx.Interpreter(torch.fx.GraphModule(gm, graph)).run)


def compiler(options, seen=None):
    def compile_graph(gm, example_inputs):
        return compiled(gm, options, seen)
    return compile_graph


def backend(gm, example_inputs, *, options=None, seen=None, **more):
    """The function that torch.compile calls; options: {"profile": "h100", "host": "evaluate"}."""
    options = options if isinstance(options, Options) else Options(**{**(options or {}), **more})
    compile_graph = compiler(options, seen)
    return aot_autograd(fw_compiler=compile_graph, bw_compiler=compile_graph,
                        inference_compiler=compile_graph, decompositions=table())(
                            gm, example_inputs)
