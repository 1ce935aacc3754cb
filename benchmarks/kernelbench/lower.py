"""Whole graphs as one op: lower(program) for what torch.export gives after run_decompositions.

The rows are those of roller.torch.  Convolutions are @tf32 and products are not, which is what
PyTorch does with f32 by default (torch.backends.cudnn.allow_tf32, torch.backends.cuda.matmul).
"""
import dataclasses
import operator

import torch

from roller.torch.lower import lower_node, name_of
from roller.torch.values import Graph, Unsupported, Value, literal_in


@dataclasses.dataclass
class Lowered:
    te: str
    inputs: list            # names of the graph's placeholders that the op takes, in order
    draws: bool             # a scalar, the seed of its random numbers, follows them
    operators: list         # names of the graph's operators


def constant(program, node):
    """The number that a lifted constant of one element is; None for other placeholders."""
    lifted = program.graph_signature.inputs_to_lifted_tensor_constants.get(node.name)
    tensor = program.constants[lifted] if lifted else None
    return tensor.item() if tensor is not None and tensor.numel() == 1 else None


def lower(program):
    """The .te of an ExportedProgram.  Its outputs are those of the op, in order."""
    g, values, names, outputs, operators = Graph(tf32_convolutions=True, own_random=True), {}, {}, {}, []
    for node in program.graph.nodes:
        like = node.meta.get("val")
        if node.op == "placeholder" and isinstance(like, torch.Tensor):
            value = constant(program, node)
            if value is not None:
                text = literal_in(value, like.dtype)
                values[node] = Value(tuple(like.shape), like.dtype, lambda s, text=text: text)
                continue
            names[f"a{len(g.arguments)}"] = node.name
            values[node] = g.argument(like)
        elif node.op == "call_function" and like is not None:
            values[node] = lower_node(g, node, values)
            if node.target is not operator.getitem:
                turned = name_of(node) == "convolution" and node.args[6]
                operators.append("transposed convolution" if turned else name_of(node))
        elif node.op == "output":
            for k, result in enumerate(node.args[0]):
                outputs[f"y{k}"] = result.meta["val"]
                g.store(outputs[f"y{k}"], values[result].at, name=f"y{k}")
    te, inputs, _ = g.text(outputs)
    return Lowered(te, [names[i] for i in inputs], g.drawn > 0, operators)


__all__ = ["Lowered", "Unsupported", "lower"]
