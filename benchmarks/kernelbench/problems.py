"""Problems of a KernelBench checkout: their graphs, at their own sizes and at reduced ones.

A problem is a Python file with a Model, get_init_inputs() and get_inputs(), whose sizes are
constants at its top level, or literals of these functions.  Reducing changes both as the file is
run; the checkout stays as it is.
"""
import ast
import glob
import math
import os
import re
import warnings

import torch
from torch._subclasses.fake_tensor import DataDependentOutputException, FakeTensorMode

FACTORS = (0.3, 0.5, 0.6, 0.7, 0.8, 1)  # how much of a size stays, tried in this order
BATCH = "batch_size"                # what the problems call it


def names(checkout, levels):
    """Paths of the problems, in the order of their numbers."""
    def number(path):
        return int(re.match(r"(\d+)", os.path.basename(path))[1])
    folders = [os.path.join(checkout, "KernelBench", f"level{level}") for level in levels]
    return [path for folder in folders
            for path in sorted(glob.glob(os.path.join(folder, "*.py")), key=number)]


def shrink(value, factor):
    """A smaller size: of q * 2^m with odd q, both logarithms are scaled.  Up to 4, and what is no
    integer, stays; what divided another size mostly still does."""
    if isinstance(value, (tuple, list)):
        return type(value)(shrink(v, factor) for v in value)
    if type(value) is not int or value <= 4:
        return value
    m = (value & -value).bit_length() - 1
    q = value >> m
    return (q if q <= 7 else int(q ** factor) | 1) << math.ceil(m * factor)


class Literals(ast.NodeTransformer):
    def __init__(self, factor):
        self.factor = factor

    def visit_Constant(self, node):
        return ast.copy_location(ast.Constant(shrink(node.value, self.factor)), node)


def is_constant(node):
    return isinstance(node, ast.Assign) and not any(
        isinstance(n, (ast.Name, ast.Call)) for n in ast.walk(node.value))


def has_sizes(node):
    """A shape of named sizes and others, or a function that gives inputs."""
    shape = isinstance(node, ast.Assign) and isinstance(node.value, (ast.Tuple, ast.List))
    return shape or getattr(node, "name", None) in ("get_inputs", "get_init_inputs")


def load(path, factor=None, batch=None):
    """The file's names after running it, with its sizes reduced by a factor, and its batch."""
    with open(path, encoding="utf-8") as file:
        tree = ast.parse(file.read(), path)
    scope = {"__name__": "problem"}
    for node in tree.body:
        constant = is_constant(node)
        if factor and not constant and has_sizes(node):
            node = Literals(factor).visit(node)
        exec(compile(ast.Module([node], []), path, "exec"), scope)
        if factor and constant:
            for target in node.targets:
                for name in target.elts if isinstance(target, ast.Tuple) else [target]:
                    scope[name.id] = (min(batch, scope[name.id]) if batch and name.id == BATCH
                                      else shrink(scope[name.id], factor))
    return scope


def instance(scope):
    """A model and its inputs, the same each time."""
    torch.manual_seed(1)
    model = scope["Model"](*scope["get_init_inputs"]())
    torch.manual_seed(2)
    return model, scope["get_inputs"]()


def with_buffers(model):
    """The model with its plain tensors as buffers, which torch.export wants of them."""
    for module in model.modules():
        for name, value in list(vars(module).items()):
            if isinstance(value, torch.Tensor):
                delattr(module, name)
                module.register_buffer(name, value)
    return model


def whole(path):
    """The graph at the problem's own sizes.  No tensor is made, but the weights of a model that
    reads numbers of tensors as it is made."""
    mode, scope = FakeTensorMode(), load(path)
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")
        try:
            with mode:
                model, inputs = instance(scope)
        except DataDependentOutputException:
            model = scope["Model"](*scope["get_init_inputs"]())
            with mode:
                inputs = scope["get_inputs"]()
        with mode:
            return torch.export.export(with_buffers(model), tuple(inputs), strict=False)


def reduced(path, least, batch=None):
    """A model and its inputs at the smallest sizes that it takes, from factor `least`, and the
    factor.  batch: the most that its batch may be."""
    for factor in (f for f in FACTORS if f >= least):
        try:
            scope = load(path, factor, batch)
            model, inputs = instance(scope)
            model, inputs = instance(scope)
            with torch.no_grad():
                model(*inputs)
            model, inputs = instance(scope)
            return model, inputs, factor
        except (RuntimeError, ValueError, AssertionError, IndexError):
            if factor == FACTORS[-1]:
                raise
