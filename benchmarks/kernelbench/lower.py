"""Graphs of PyTorch as .te: lower(program) for what torch.export gives after run_decompositions.

Every operator is a statement over plain indices, in the order of the graph, as a machine writes
them.  What only renames elements (permute, expand, reshape, slice, ...) is no statement: it changes
the subscripts of those that read it.  An operator that has no row here raises Unsupported.

Convolutions are @tf32 and products are not, which is what PyTorch does with f32 by default
(torch.backends.cudnn.allow_tf32, torch.backends.cuda.matmul.allow_tf32).
"""
import dataclasses
import operator

import torch

import sums  # registers its operators
from graph import LOWERINGS, Graph, Unsupported, Value, literal
from elements import MAPS, lower_map


@dataclasses.dataclass
class Lowered:
    te: str
    inputs: list            # names of the graph's placeholders that the op takes, in order
    draws: bool             # a scalar, the seed of its random numbers, follows them
    operators: list         # names of the graph's operators


def lower_node(g, node, values):
    """values: of the nodes before; node's own is given back."""
    def of(x):
        if isinstance(x, torch.fx.Node):
            return values[x]
        return [of(y) for y in x] if isinstance(x, (list, tuple)) else x
    args, keywords = of(node.args), {k: of(v) for k, v in node.kwargs.items()}
    if node.target is operator.getitem:
        return args[0][args[1]]
    name = node.target.overloadpacket.__name__
    if name in MAPS:
        return lower_map(g, node.meta["val"], name, *args)
    if name not in LOWERINGS:
        raise Unsupported(name)
    return LOWERINGS[name](g, node.meta["val"], name, *args, **keywords)


def lower(program):
    """The .te of an ExportedProgram.  Its outputs are those of the op, in order."""
    g, values, names, outputs, operators = Graph(), {}, {}, {}, []
    constants = program.graph_signature.inputs_to_lifted_tensor_constants
    for node in program.graph.nodes:
        if node.op == "placeholder":
            like = node.meta["val"]
            if node.name in constants and program.constants[constants[node.name]].numel() == 1:
                value = program.constants[constants[node.name]].item()
                values[node] = Value(tuple(like.shape), like.dtype, lambda s, v=value: literal(v))
            elif isinstance(like, torch.Tensor):
                values[node] = g.argument(like)
                names[values[node].at([]).split("[")[0]] = node.name
        elif node.op == "call_function":
            values[node] = lower_node(g, node, values)
            if node.target is not operator.getitem:
                name = node.target.overloadpacket.__name__
                turned = name == "convolution" and node.args[6]
                operators.append("transposed convolution" if turned else name)
        elif node.op == "output":
            for k, result in enumerate(node.args[0]):
                like = result.meta["val"]
                outputs[f"y{k}"] = like
                g.store(like, values[result].at, name=f"y{k}")
    te, inputs = g.text(outputs)
    return Lowered(te, [names[i] for i in inputs], g.drawn > 0, operators)
