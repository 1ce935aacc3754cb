"""A model's file, as a stranger may have written it: read within limits, checked, and simplified.

onnx parses and checks it; nothing of a model is run but its operators on constants, by onnx's own
reference implementation.
"""
import os

import onnx
import onnx.checker
import onnx.inliner

from .statements import Unsupported

MOST_BYTES = 8 << 30          # of a file with its external data
MOST_NODES = 20000
MOST_RANK = 8


def read(model):
    """A ModelProto of a path, of bytes, or as it is.  Unsupported: not one that is taken."""
    folder = None
    if isinstance(model, (str, os.PathLike)):
        path = os.fspath(model)
        folder = os.path.dirname(os.path.abspath(path))
        if os.path.getsize(path) > MOST_BYTES:
            raise Unsupported(f"{path} is larger than {MOST_BYTES >> 30} GiB")
        with open(path, "rb") as file:
            model = file.read()
    if isinstance(model, (bytes, bytearray, memoryview)):
        try:
            model = onnx.load_model_from_string(bytes(model))
        except Exception as error:        # protobuf's own exceptions have no common base
            raise Unsupported(f"this is no ONNX model: {error}") from None
    _check(model, folder)
    if not model.functions:
        return model
    try:
        return onnx.inliner.inline_local_functions(model)
    except Exception as error:
        raise Unsupported(f"the model's functions: {error}") from None


def _check(model, folder):
    nodes = 0
    pending = [model.graph] + list(model.functions)
    while pending:
        graph = pending.pop()
        nodes += len(graph.node)
        for node in graph.node:
            pending += [a.g for a in node.attribute if a.type == onnx.AttributeProto.GRAPH]
        if nodes > MOST_NODES:
            raise Unsupported(f"the model has more than {MOST_NODES} nodes")
    for tensor in model.graph.initializer:
        _check_tensor(tensor, folder)
    try:
        onnx.checker.check_model(model)
    except Exception as error:            # names that are no UTF-8, too
        raise Unsupported(f"onnx's checker refuses the model: {error}") from None


def _check_tensor(tensor, folder):
    if len(tensor.dims) > MOST_RANK or any(d < 0 for d in tensor.dims):
        raise Unsupported(f"initializer {tensor.name!r} has the shape {list(tensor.dims)}")
    if tensor.data_location != onnx.TensorProto.EXTERNAL:
        return
    if folder is None:
        raise Unsupported(f"initializer {tensor.name!r} lies in another file: read the model by "
                          "its path")
    location = next((e.value for e in tensor.external_data if e.key == "location"), "")
    path = os.path.realpath(os.path.join(folder, location))
    if os.path.isabs(location) or os.path.commonpath([path, os.path.realpath(folder)]) \
            != os.path.realpath(folder):
        raise Unsupported(f"initializer {tensor.name!r} lies outside of the model's folder: "
                          f"{location!r}")
    onnx.external_data_helper.load_external_data_for_tensor(tensor, folder)
