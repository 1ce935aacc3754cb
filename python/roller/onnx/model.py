"""A model that is compiled: called with arrays, priced on devices, written for other hosts."""
import os
from dataclasses import dataclass
from functools import cached_property

import numpy as np

import roller

from .dtypes import numpy_of
from .launcher import c_source, weights_of
from .lower import lower
from .reader import read
from .statements import Unsupported


def load(model, *, sizes=None, given=None, tf32=False, **options):
    """The model of a path, of bytes, or an onnx.ModelProto as one program.

    sizes    {"N": 8 or "1..64"}: what its named dimensions are; a range is a run-time size
    given    {input: array}: inputs that are constants from now on
    tf32     products of f32 may round their factors, as onnxruntime does on CUDA by default
    options  those of roller.compile, for when it is first called
    """
    return Model(read(model), sizes, given, tf32, options)


@dataclass
class Priced:
    """A kernel of the model: its predicted time, and the nodes whose results it computes."""
    us: float
    limiter: str
    skeleton: str
    nodes: list


class Model:
    """A model as one program.  `inputs` and `outputs` are names in the model's order."""

    def __init__(self, proto, sizes, given, tf32, options):
        self.lowered = lower(proto, sizes, given, tf32)
        self._options = options
        weights = {t.name for t in proto.graph.initializer}
        self.inputs = [info.name for info in proto.graph.input
                       if info.name not in (given or {}) and info.name not in weights]
        self.outputs = [info.name for info in proto.graph.output]

    @cached_property
    def kernel(self):
        """The compiled kernel, whose arguments are the model's inputs and weights; None where all
        outputs are constants."""
        if not self.te:
            return None
        return roller.compile(self.te, file=f"{self.lowered.name}.te", **self._options)

    @property
    def te(self):
        """The op that the model became."""
        return self.lowered.te

    def arguments(self, *arrays, **named):
        """The op's inputs for those of the model, given in order or by name."""
        if len(arrays) > len(self.inputs):
            raise TypeError(f"the model has {len(self.inputs)} inputs, {len(arrays)} are given")
        values = {**dict(zip(self.inputs, arrays)), **named}
        for a in self.lowered.inputs:
            value = a.data if a.data is not None else values.get(a.source)
            if value is None:
                raise TypeError(f"the model's input {a.source!r} is missing")
            yield _dense(value)

    def __call__(self, *arrays, seed=0, **named):
        """The outputs, in order.  Arrays in host memory run in the simulator."""
        made = dict(self.lowered.constants)
        if self.kernel is not None:
            given = list(self.arguments(*arrays, **named))
            results = self.kernel(*given, *[seed] * self.lowered.seed,
                                  out=None if given else self._fresh())
            results = results if isinstance(results, tuple) else (results,)
            made.update((source, r) for (source, _), r in
                        zip(self.lowered.outputs.values(), results))
        return [made[name] for name in self.outputs]

    def _fresh(self):
        """Outputs of a model that has no inputs to be like."""
        made = tuple(np.empty(t.shape, numpy_of(t.dtype))
                     for _, t in self.lowered.outputs.values())
        return made if len(made) > 1 else made[0]

    def price(self, profile=None):
        """(predicted time in us of the whole, what each kernel takes in the order of launches) on
        a device, without compiling.  A node whose statement became part of others is told with
        those that read it."""
        if not self.te:
            return 0.0, []
        plan = roller.plan(self.te, profile=profile, file=f"{self.lowered.name}.te")
        home = {name: i for i, group in enumerate(plan.groups) for name in group.makes}
        nodes = [[] for _ in plan.groups]
        for name, node in self.lowered.nodes.items():     # consumers first
            if name not in home:
                home[name] = min((home[r] for r in self.lowered.readers[name]))
            if node not in nodes[home[name]]:
                nodes[home[name]].insert(0, node)
        return plan.predicted.us, [Priced(g.us, g.limiter, g.skeleton, n)
                                   for g, n in zip(plan.groups, nodes)]

    def save(self, folder):
        """Writes NAME.c, which runs the model without roller (its head says how), NAME.weights,
        and NAME.json; gives their paths."""
        if self.kernel is None:
            raise Unsupported("all outputs are constants")
        weights, _ = weights_of(self.lowered)
        os.makedirs(folder, exist_ok=True)
        written = []
        for end, data in (("c", c_source(self).encode()), ("weights", weights),
                          ("json", self.kernel.json.encode())):
            path = os.path.join(folder, f"{self.lowered.name}.{end}")
            with open(f"{path}.tmp{os.getpid()}", "wb") as file:
                file.write(data)
            os.replace(file.name, path)
            written.append(path)
        return written


def _dense(value):
    if isinstance(value, np.ndarray) and not value.flags.c_contiguous:
        return value.copy(order="C")
    return value
