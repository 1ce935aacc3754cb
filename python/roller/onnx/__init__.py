"""ONNX models as programs of roller.

    from roller.onnx import load
    model = load("resnet18.onnx", sizes={"N": "1..32"}, profile="h200")
    y, = model(image)                    # runs in the simulator: no GPU is needed
    print(model.estimate())

A model becomes one op: statements in the order of its nodes, which roller parts into kernels as
any op's.  What it cannot express is refused, with the node and the reason.
"""
import importlib.util

if importlib.util.find_spec("onnx") is None:
    raise ModuleNotFoundError("roller.onnx needs the package onnx: pip install onnx", name="onnx")

from .lower import lower
from .model import Model, load
from .reader import read
from .statements import Malformed, Unsupported

__all__ = ["Malformed", "Model", "Unsupported", "load", "lower", "read"]
