"""Models of strangers: fuzz.py [libFuzzer's options] [FOLDER...]    (make fuzz-onnx)

Bytes become a model or are refused with a reason (Unsupported); what else is raised, takes longer
than ten seconds or more than 4 GiB is a finding.  Mutations are those of models, since checkers
refuse most of those of bytes: other operators, sizes, attributes, edges and constants.
"""
import os
import random
import sys
import warnings

import atheris

with atheris.instrument_imports(include=["roller.onnx"]):
    from roller.onnx import Unsupported, lower, read

import onnx
from onnx import AttributeProto, TensorProto

import models

NUMBERS = [-(1 << 63), -2, -1, 0, 1, 2, 3, 7, 64, 1 << 20, 1 << 31, 1 << 40, (1 << 63) - 1]
OPERATORS = sorted({s.name for s in onnx.defs.get_all_schemas() if s.domain == ""})


def _size(rng, model):
    tensors = list(model.graph.input) + list(model.graph.output) + list(model.graph.value_info)
    dims = [d for t in tensors for d in t.type.tensor_type.shape.dim]
    if dims:
        rng.choice(dims).dim_value = rng.choice(NUMBERS)


def _attribute(rng, model):
    attributes = [a for n in model.graph.node for a in n.attribute]
    if not attributes:
        return
    a = rng.choice(attributes)
    if a.type == AttributeProto.INTS and a.ints:
        a.ints[rng.randrange(len(a.ints))] = rng.choice(NUMBERS)
    elif a.type == AttributeProto.INT:
        a.i = rng.choice(NUMBERS)
    elif a.type == AttributeProto.FLOAT:
        a.f = rng.choice([0.0, -1.0, 1e38, float("inf"), float("nan")])
    else:
        a.Clear()


def _operator(rng, model):
    rng.choice(model.graph.node).op_type = rng.choice(OPERATORS)


def _edge(rng, model):
    names = [o for n in model.graph.node for o in n.output] + [i.name for i in model.graph.input] \
        + [t.name for t in model.graph.initializer] + [""]
    node = rng.choice(model.graph.node)
    if node.input:
        node.input[rng.randrange(len(node.input))] = rng.choice(names)


def _constant(rng, model):
    if not model.graph.initializer:
        return
    t = rng.choice(model.graph.initializer)
    if t.data_type == TensorProto.INT64 and t.raw_data:
        values = bytearray(t.raw_data)
        at = 8 * rng.randrange(len(values) // 8) if len(values) >= 8 else 0
        values[at:at + 8] = rng.choice(NUMBERS).to_bytes(8, "little", signed=True)
        t.raw_data = bytes(values)
    elif t.dims:
        t.dims[rng.randrange(len(t.dims))] = rng.choice(NUMBERS)
    else:
        t.data_type = rng.randrange(1, 24)


def _drop(rng, model):
    del model.graph.node[rng.randrange(len(model.graph.node))]


def mutate(data, max_size, seed):
    """A model that is near one, or libFuzzer's own mutation of its bytes."""
    rng, model = random.Random(seed), onnx.ModelProto()
    try:
        model.ParseFromString(data)
    except Exception:                     # protobuf's own exceptions have no common base
        return atheris.Mutate(data, max_size)
    if rng.random() < 0.1 or not model.graph.node:
        return atheris.Mutate(data, max_size)
    try:
        for _ in range(rng.randrange(1, 4)):
            if model.graph.node:
                rng.choice([_size, _attribute, _operator, _edge, _constant, _drop])(rng, model)
    except UnicodeDecodeError:            # a name that is none
        return atheris.Mutate(data, max_size)
    made = model.SerializeToString()
    return made if len(made) <= max_size else data


def one(data):
    try:
        lower(read(data), {"N": "1..64"})
    except Unsupported:
        pass


def seeds(folder):
    """Small models to begin with."""
    os.makedirs(folder, exist_ok=True)
    for name, model in (("mnist", models.mnist()), ("resnet", models.resnet18(1, 32, 2, 3)),
                        ("bert", models.bert(1, 4, 8, 2, 1, 9)),
                        ("llama", models.llama(1, 4, 16, 4, 2, 8))):
        with open(os.path.join(folder, name), "wb") as file:
            file.write(model.SerializeToString())


def main():
    warnings.simplefilter("ignore")
    sys.set_int_max_str_digits(0)
    seeds(sys.argv[-1])
    atheris.Setup(sys.argv, one, custom_mutator=mutate)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
