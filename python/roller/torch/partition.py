"""A graph as few fused programs, with what has no expression between them.

Nodes are views, which are free, nodes with an expression, and the others, which PyTorch runs one by
one.  A node's level is how often expressions and others alternate before it.  The expressions of
one level make one program: none of them can depend on another level and come back to its own.
"""
import dataclasses
import operator

import torch

from .._errors import Error
from .lower import is_number, is_view, lower_node, name_of
from .program import program, ready, why
from .sizes import Sized
from .values import LOWERINGS, TYPES, Graph, Unsupported

MOST_NODES = 600            # of a program: its statements stay below roller's limit


@dataclasses.dataclass
class Fallback:
    """An operator that PyTorch runs, and why."""
    operator: str
    reason: str
    node: object = None


@dataclasses.dataclass
class Region:
    """Nodes that become one program."""
    nodes: list
    inputs: list = dataclasses.field(default_factory=list)
    outputs: list = dataclasses.field(default_factory=list)
    program: object = None
    told: list = dataclasses.field(default_factory=list)       # sizes that no tensor tells

    @property
    def operators(self):
        return [name_of(n) for n in self.nodes if n.target is not operator.getitem]


def of_tensor(value):
    return isinstance(value, Sized)


def results(node):
    """What a node gives, as a list."""
    value = node.meta.get("val")
    return list(value) if isinstance(value, (tuple, list)) else [value]


def is_free(node):
    return is_view(node) or (node.target is operator.getitem)


def check_alone(node, graph_options):
    """Raises if a node has no expression by itself."""
    if draws(node) and name_of(node) not in LOWERINGS:
        raise Unsupported("its random numbers are PyTorch's own")
    if any(v is not None and not of_tensor(v) for v in results(node)):
        raise Unsupported("a result that is no tensor")
    g, values = Graph(**graph_options), {}
    for n in node.all_input_nodes:
        made = tuple(g.argument(v) if of_tensor(v) else None for v in results(n))
        values[n] = made if isinstance(n.meta["val"], (tuple, list)) else made[0]
    made = lower_node(g, node, values)
    write(g, [(m, v) for m, v in zip(made if isinstance(made, (tuple, list)) else [made],
                                     results(node)) if m is not None])


def draws(node):
    return torch.Tag.nondeterministic_seeded in getattr(node.target, "tags", ())


def in_order(node):
    return draws(node) or node.is_impure()


def write(g, made, strides=False):
    """The text, and what it takes (Graph.op); made: [(value, what it is like)]."""
    outputs = {}
    for k, (value, like) in enumerate(made):
        name = f"y{k}"
        if tuple(value.shape) != tuple(like.shape) or value.dtype != like.dtype:
            raise Unsupported(f"{TYPES.get(value.dtype)}{list(value.shape)} was made where "
                              f"{like.dtype}{list(like.shape)} is wanted")
        outputs[name] = like
        g.strides[name] = like.dense() if strides else None
        g.store(like, value.at, name=name)
    te, inputs, told = g.text(outputs)
    program(te, None)                           # refused here if it is wrong
    return te, inputs, told


class Partition:
    """The regions of a graph and its fallbacks, with these sizes."""

    def __init__(self, gm, options, sizes):
        self.graph, self.options, self.sizes = sizes.graph(gm), options, sizes
        graph = self.graph
        self.graph_options = {**tf32_of(graph, options), "own_random": options.random == "program",
                              "sizes": sizes}
        self.fallbacks, self.regions, self.kind = [], [], {}
        for node in graph.nodes:
            if node.op == "call_function":
                self.classify(node)
        self.kind.update(self.getitems())
        self.fuse()

    def classify(self, node):
        if node.target is operator.getitem or is_number(node):
            return
        try:
            check_alone(node, self.graph_options)
            self.kind[node] = "view" if is_view(node) else "fused"
        except (Unsupported, Error) as error:
            self.fall_back([node], error)

    def fall_back(self, nodes, error):
        """An operator, and what is taken of its results."""
        self.kind.update(dict.fromkeys(nodes, "other"))
        node = next(n for n in nodes if n.target is not operator.getitem)
        self.fallbacks.append(Fallback(name_of(node), why(error), node))

    def getitems(self):
        """They go with what they are taken of."""
        return {n: self.kind.get(n.args[0], "number") for n in self.graph.nodes
                if n.op == "call_function" and n.target is operator.getitem}

    def levels(self):
        level, last = {}, 0           # of what draws random numbers, whose order is PyTorch's
        for node in self.graph.nodes:
            if node.op != "call_function" or node not in self.kind:
                level[node] = -1
                continue
            mine = self.kind[node]
            below = 0 if mine != "other" else 1
            for n in node.all_input_nodes:
                if level[n] < 0:
                    continue
                other = (level[n] % 2 == 1)
                below = max(below, level[n] + (mine != "view" and other != (mine == "other")))
            if mine == "other" and in_order(node):
                below = last = max(below, last)
            level[node] = below
        return level

    def fuse(self):
        level, regions = self.levels(), {}
        self.place = {n: (level[n], k) for k, n in enumerate(self.graph.nodes)}
        for node in self.graph.nodes:
            if self.kind.get(node) == "fused":
                region = regions.setdefault(level[node], [[]])
                if len(region[-1]) >= MOST_NODES and node.target is not operator.getitem:
                    region.append([])
                region[-1].append(node)
        pending = [nodes for _, parts in sorted(regions.items()) for nodes in parts]
        while pending:
            written = self.written(pending)
            refused = ready([r.program for r in written], self.options)
            self.regions += [r for r in written if r.program not in refused]
            pending = [half for r in written if r.program in refused
                       for half in self.halves(r.nodes, refused[r.program])]

    def written(self, pending):
        """Regions that have a text: these nodes, or parts of them."""
        made = []
        while pending:
            region, *pending = Region(pending[0]), *pending[1:]
            try:
                self.lower(region)
            except (Unsupported, Error) as error:
                pending = self.halves(region.nodes, error) + pending
                continue
            if region.outputs:
                made.append(region)
        return made

    def halves(self, nodes, error):
        """Of a region that has no program; a single operator falls back."""
        calls = [n for n in nodes if n.target is not operator.getitem]
        if len(calls) > 1:
            cut = nodes.index(calls[len(calls) // 2])
            return [nodes[:cut], nodes[cut:]]
        self.fall_back(nodes, error)
        return []

    # ---- a region's program ----
    def lower(self, region):
        g, values, taken = Graph(**self.graph_options), {}, {}
        for node in region.nodes:
            for n in node.all_input_nodes:
                if not is_number(n):
                    self.bring(g, n, values, taken)
            values[node] = lower_node(g, node, values)
        inside = set(region.nodes)
        region.outputs = [n for n in region.nodes
                          if self.is_wanted(n, inside) and of_tensor(n.meta["val"])]
        if not region.outputs:
            return
        made = [(values[n], n.meta["val"]) for n in region.outputs]
        te, names, region.told = write(g, made, True)
        region.inputs = [taken[name] for name in names]
        region.program = program(te, self.options.profile)

    def bring(self, g, node, values, taken):
        """The value of a node that a region reads: a view of what it reads, or an argument."""
        if node in values:
            return
        if is_view(node) and self.kind[node] == "view":
            for n in node.all_input_nodes:
                if not is_number(n):
                    self.bring(g, n, values, taken)
            values[node] = lower_node(g, node, values)
        else:
            values[node] = g.argument(node.meta["val"], node.meta["val"].dense())
            taken[f"a{len(g.arguments) - 1}"] = node

    def is_wanted(self, node, inside):
        """Does anything outside read it, through views too?"""
        return any(self.is_wanted(user, inside) if self.kind.get(user) == "view"
                   else user not in inside for user in node.users)


def tf32_of(graph, options):
    """PyTorch's own switches hold for tensors on a GPU; on the CPU f32 is f32."""
    if options.tf32 is not None:
        return {"tf32_products": options.tf32 is True, "tf32_convolutions": bool(options.tf32)}
    on_gpu = any(of_tensor(v) and v.device.type == "cuda" for n in graph.nodes
                 if n.op == "placeholder" for v in results(n))
    return {"tf32_products": on_gpu and torch.backends.cuda.matmul.allow_tf32,
            "tf32_convolutions": on_gpu and torch.backends.cudnn.allow_tf32}
